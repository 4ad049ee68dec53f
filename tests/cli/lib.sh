# Functions for the test scripts.

xf() { "$EXACTFORMER" "$@"; }

complain() {
    echo "FAILED: $*" >&2
    echo "--- stdout" >&2
    head -c 2000 out >&2 || true
    echo "--- stderr" >&2
    head -c 2000 err >&2 || true
    exit 1
}

# expect STATUS ARGUMENT...: run exactformer; its outputs are in the files out and err.
expect() {
    local wanted=$1 status=0
    shift
    "$EXACTFORMER" "$@" >out 2>err </dev/null || status=$?
    [ "$status" = "$wanted" ] || complain "exactformer $*: exit status $status, not $wanted"
}

# The whole of standard output or error is the text given on standard input.
out_is() { diff -u - out >diff.txt || { cat diff.txt >&2; complain "standard output differs"; }; }
err_is() { diff -u - err >diff.txt || { cat diff.txt >&2; complain "standard error differs"; }; }
silent_out() { [ ! -s out ] || complain "standard output is not empty"; }
silent_err() { [ ! -s err ] || complain "standard error is not empty"; }
err_has() { grep -qF -- "$1" err || complain "standard error does not say: $1"; }
out_has() { grep -qF -- "$1" out || complain "standard output does not say: $1"; }

# A failure is one line on standard error, beginning with the program's name.
err_is_one_line() {
    [ "$(wc -l <err)" = 1 ] && grep -q '^exactformer: ' err || complain "not one line of error"
}

# json CONDITION: standard output is exactly one JSON object and CONDITION, Python
# about the object o, holds.
json() {
    python3 - "$1" <<'PYTHON' || complain "json: $1"
import json, sys
text = open("out").read()
def refuse(name):
    raise ValueError("not JSON: " + name)
o = json.loads(text, parse_constant=refuse)
assert isinstance(o, dict) and text.endswith("}\n") and text.count("\n") == 1
sys.exit(0 if eval(sys.argv[1]) else 1)
PYTHON
}

# A small data set in the format that the name says, exact with every option.
small_data() { xf generate gaussian -N 20 -d 3 --grid f32 -o "$1" --quiet; }
