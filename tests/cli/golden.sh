# The kit is made by exactformer-golden of the Python package, found on PATH.
mkdir bin
cat >bin/exactformer-golden <<'END'
#!/bin/sh
printf '%s\n' "$@"
exit 5
END
chmod +x bin/exactformer-golden
system=$PATH
PATH=$PWD/bin:$system expect 5 golden --quiet -- -kit
out_is <<END
--quiet
--
-kit
END
PATH=$PWD/bin:$system expect 5 golden kit --json
out_is <<END
--json
--
kit
END
# Wrong usage is found before.
PATH=$PWD/bin:$system expect 2 golden
PATH=$PWD/bin:$system expect 2 golden a b

# It is not there.
rm bin/exactformer-golden
PATH=$PWD/bin expect 4 golden kit
PATH=$system
silent_out
err_is_one_line
err_has "exactformer-golden is not on the PATH; it comes with the Python package: pip install"
PATH=$PWD/bin expect 4 golden kit --json
PATH=$system
json 'o["error"]["status"] == 4 and "exactformer-golden" in o["error"]["message"]'
# It cannot be started.
touch bin/exactformer-golden
PATH=$PWD/bin expect 4 golden kit
PATH=$system
err_is_one_line
[ ! -e kit ]
