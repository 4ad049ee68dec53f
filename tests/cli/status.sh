# Every exit status that the interface promises.
small_data a.npz
xf build a.npz -o m.safetensors -q

# 0
expect 0 verify m.safetensors a.npz
# 1: other targets
xf generate gaussian -N 20 -d 3 --grid integer -o b.npz -q
expect 1 verify m.safetensors b.npz
silent_err
out_has "result        0 of 20 sequences exact"
out_has "mismatch      first in sequence 0"
# 2
expect 2 build a.npz
# 3: malformed data; a model that is none
echo 'not a data set' >bad.jsonl
expect 3 build bad.jsonl -o x.safetensors
expect 3 verify a.npz a.npz
# 4: missing, not writable
expect 4 verify missing.safetensors a.npz
expect 4 build a.npz -o missing/x.safetensors
err_is <<END
exactformer: build: missing/x.safetensors: its directory is missing or not writable
END
mkdir directory.safetensors
expect 4 build a.npz -o directory.safetensors
# 4: standard output is full
if [ -c /dev/full ]; then
    status=0
    xf verify m.safetensors a.npz --json >/dev/full 2>err || status=$?
    [ $status = 4 ]
    status=0
    xf verify m.safetensors a.npz >/dev/full 2>err || status=$?
    [ $status = 4 ]
fi
# 4: OpenMP gives up where it cannot start a thread (but not within a sanitizer's limits)
if (ulimit -v 500000 && xf verify m.safetensors a.npz --threads 1) >out 2>&1; then
    status=0
    (ulimit -v 500000 && OMP_STACKSIZE=1G xf verify m.safetensors a.npz --threads 2) >out 2>err || status=$?
    [ $status = 4 ] || complain "exit status $status without threads"
fi
# 5: tokens that binary32 cannot tell apart
echo '{"x": [[1]], "y": [[1]]}' >close.jsonl
echo '{"x": [[1.0000000001]], "y": [[2]]}' >>close.jsonl
expect 5 build close.jsonl -o x.safetensors --dtype f32
err_is_one_line
expect 5 build close.jsonl -o x.safetensors --dtype f32 --json
json 'o["error"]["status"] == 5 and o["error"]["kind"] == "not feasible"'
[ ! -e x.safetensors ]
xf build close.jsonl -o x.safetensors -q
