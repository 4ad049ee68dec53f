# Tokens that take more than the memory: they stay in the file, or go to a nameless one.
limit=36000 # KiB of data, libraries included, below the 40,000,000 bytes of the tokens
export OMP_NUM_THREADS=1 TMPDIR=$PWD
within() { (ulimit -d $limit && "$@"); }

# Sanitizers reserve more than that for themselves.
within "$EXACTFORMER" --version >/dev/null 2>&1 || exit 0

xf generate gaussian -N 50 -n 2000 -m 1 -d 50 --grid f32 -o a.safetensors --quiet
xf generate gaussian -N 50 -n 2000 -m 1 -d 50 --grid f32 -o a.npz --quiet
xf build a.npz -o whole.safetensors --quiet
[ "$(stat -c %s a.npz)" -gt $((limit * 1024)) ] || complain "the data are too small for this test"
for data in a.safetensors a.npz; do
    within "$EXACTFORMER" build $data -o m.safetensors --quiet >out 2>err || complain "build $data"
    cmp m.safetensors whole.safetensors || complain "another model from $data"
    within "$EXACTFORMER" verify m.safetensors $data --json >out 2>err || complain "verify $data"
    json 'o["exact"] == 50'
done

# Writers on cells would take more than half: left out unless asked for.
xf generate gaussian -N 200 -n 1000 -m 1 -d 4 --grid f32 -o c.safetensors -q
xf build c.safetensors -o c-whole.safetensors --json >out 2>err
silent_err
json 'o["writer"] == "diamond"'
within "$EXACTFORMER" build c.safetensors -o c-model.safetensors --json >out 2>err || complain "cells"
err_has "for lack of memory"
json 'o["writer"] == "grid"'
status=0
within "$EXACTFORMER" build c.safetensors -o n.safetensors --writer diamond >out 2>err || status=$?
[ $status = 4 ] || complain "exit status $status without room for cells"
err_is_one_line
err_has "numbers a token"
err_has "--writer grid"

# What may help is told where it would: 12,800,000 bytes of tokens that have to be in memory.
xf generate gaussian -N 200 -n 1000 -m 1 -d 8 --grid integer --scale 50 -o lines.jsonl -q
out_of_memory() { # ARGUMENT...
    local status=0
    (ulimit -d 16000 && exec "$EXACTFORMER" "$@") >out 2>err || status=$?
    [ $status = 4 ] || complain "exit status $status without room for tokens"
    err_is_one_line
}
if (ulimit -d 16000 && exec "$EXACTFORMER" --version) >out 2>&1; then
    out_of_memory build lines.jsonl -o n.safetensors
    err_has "out of memory; what may help: --threads 1, --writer grid, the data as .npz or .safetensors"
    out_of_memory build lines.jsonl -o n.safetensors --writer grid --threads 1
    err_has "out of memory; what may help: the data as .npz or .safetensors"
fi

# -0.0 in a file that is mapped: the tokens are copied, and it becomes +0.0.
put() {
    python3 - "$1" "$2" <<'PYTHON'
import struct, sys
with open(sys.argv[1], "r+b") as file:
    start = 8 + struct.unpack("<Q", file.read(8))[0]
    header = __import__("json").loads(file.read(start - 8))
    file.seek(start + header["x"]["data_offsets"][0])
    file.write(struct.pack("<d", float(sys.argv[2])))
PYTHON
}
put a.safetensors 0.0
within "$EXACTFORMER" build a.safetensors -o plus.safetensors --quiet >out 2>err || complain "+0.0"
put a.safetensors -0.0
within "$EXACTFORMER" build a.safetensors -o minus.safetensors --quiet >out 2>err || complain "-0.0"
cmp plus.safetensors minus.safetensors || complain "the sign of zero matters"

# No room for the temporary file.
status=0
TMPDIR=$PWD/absent within "$EXACTFORMER" build a.npz -o n.safetensors >out 2>err || status=$?
[ $status = 4 ] || complain "exit status $status without a directory for temporary files"
err_is_one_line
err_has "TMPDIR"
[ ! -e n.safetensors ] || complain "a model without data"
ls exactformer-* 2>/dev/null && complain "a temporary file is left"
exit 0
