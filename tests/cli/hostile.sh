# Broken inputs end with status 3 or 4 and one line, whatever they are.
small_data a.npz
small_data a.safetensors
small_data a.jsonl
xf build a.npz -o m.safetensors -q

refused() {
    local status=0
    timeout 60 "$EXACTFORMER" "$@" >out 2>err </dev/null || status=$?
    [ $status = 3 ] || [ $status = 4 ] || complain "exactformer $*: exit status $status"
    silent_out
    err_is_one_line
}

# Data that end early, or with one byte changed (which may still be good data).
for data in a.npz a.safetensors a.jsonl; do
    size=$(stat -c %s $data)
    for part in 0 1 7 8 9 30 $((size / 2)) $((size - 2)); do
        head -c $part $data >cut.${data#a.}
        [ $data = a.jsonl ] && [ $part -gt 30 ] || refused build cut.${data#a.} -o x.safetensors
    done
    for seed in 1 2 3 4 5 6 7 8 9 10; do
        python3 - $data $seed <<'PYTHON'
import random, sys
name, seed = sys.argv[1], int(sys.argv[2])
data = bytearray(open(name, "rb").read())
r = random.Random(seed)
for _ in range(seed):
    data[r.randrange(len(data))] ^= 1 << r.randrange(8)
open("flipped" + name[1:], "wb").write(data)
PYTHON
        status=0
        timeout 60 "$EXACTFORMER" build flipped${data#a} -o x.safetensors >out 2>err || status=$?
        case $status in 0 | 3 | 4 | 5) ;; *) complain "flipped${data#a}, seed $seed: $status" ;; esac
    done
    head -c 5000 /dev/urandom >noise.${data#a.}
    refused build noise.${data#a.} -o x.safetensors
    refused verify noise.${data#a.} a.npz
    mkdir directory.${data#a.}
    refused build directory.${data#a.} -o x.safetensors
done

# Models.
size=$(stat -c %s m.safetensors)
for part in 0 7 8 100 $((size / 2)) $((size - 1)); do
    head -c $part m.safetensors >cut-model.safetensors
    for command in "verify cut-model.safetensors a.npz" "inspect cut-model.safetensors" \
        "export cut-model.safetensors -o x.safetensors" "run cut-model.safetensors a.npz -o x.npz" \
        "certify cut-model.safetensors a.npz -o x.json"; do
        refused $command
    done
done

# Conditions on the values, each named with its place.
condition() {
    local words=$1
    shift
    printf '%s\n' "$@" >c.jsonl
    refused build c.jsonl -o x.safetensors
    err_has "$words"
    err_has "c.jsonl"
}
good='{"x": [[1, 2], [3, 4]], "y": [[5, 6]]}'
condition "no lines" ''
condition "no key 'x'" '{}'
condition "not a JSON object" '[]'
condition "no key 'y'" '{"x": [[1, 2]]}'
condition "no key 'x'" '{"x": [], "y": []}' "$good"
condition "another number of coordinates" "$good" '{"x": [[1, 2, 3]], "y": [[5, 6, 7]]}'
condition "line 2 is not valid JSON" "$good" '{"x": [[1, NaN]], "y": [[5, 6]]}'
condition "overflow" "$good" '{"x": [[1, 1e999]], "y": [[5, 6]]}'
condition "2 targets but only 1 input" "$good" '{"x": [[1, 2]], "y": [[5, 6], [7, 8]]}'
condition "same input tokens but different targets" "$good" '{"x": [[3, 4], [1, 2]], "y": [[7, 8]]}'
condition "sequence 0: tokens 0 and 1 are equal" '{"x": [[1, 2], [1, 2]], "y": [[5, 6]]}'
condition "targets 0 and 1 are equal" '{"x": [[1, 2], [3, 4]], "y": [[5, 6], [5, 6]]}'
condition "not a number" '{"x": [[1, 2], ["3", 4]], "y": [[5, 6]]}'
python3 -c 'print("[" * 100000)' >deep.jsonl
refused build deep.jsonl -o x.safetensors
python3 -c 'print("{\"x\":" + "[" * 100000)' >deep.jsonl
refused build deep.jsonl -o x.safetensors

# The dimension of model and data differ.
xf generate gaussian -N 5 -d 4 -o wide.npz -q
status=0
xf verify m.safetensors wide.npz >out 2>err || status=$?
[ $status = 2 ] || [ $status = 3 ]
err_is_one_line
