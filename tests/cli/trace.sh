# What trace writes: the tokens between the blocks, from the input to what run writes.
cat >npz.py <<'PYTHON'
"""Reading .npz with the standard library: {name: (descr, shape, flat list)}."""
import ast, struct, zipfile

CODES = {"<f8": "d", "<i8": "q", "|S16": "16s"}

def read(name):
    arrays = {}
    with zipfile.ZipFile(name) as archive:
        for member in archive.namelist():
            data = archive.read(member)
            assert data[:8] == b"\x93NUMPY\x01\x00"
            size = struct.unpack("<H", data[8:10])[0]
            assert (10 + size) % 64 == 0
            header = ast.literal_eval(data[10:10 + size].decode())
            assert header["fortran_order"] is False
            values = [v for v, in struct.iter_unpack("<" + CODES[header["descr"]], data[10 + size:])]
            if header["descr"] == "|S16":
                values = [v.rstrip(b"\0").decode() for v in values]
            arrays[member[:-4]] = header["descr"], header["shape"], values
    return arrays
PYTHON
xf generate gaussian -N 12 -d 3 -n 2:5 -m 1:2 --grid f32 --seed 4 -o a.npz -q
xf build a.npz -o m.safetensors -q
xf inspect m.safetensors --json >inspect.json
xf run m.safetensors a.npz -o out.npz -q

expect 0 trace m.safetensors a.npz -o t.npz
silent_err
out_has "tokens, d = 3"
out_has "written       t.npz"
expect 0 trace m.safetensors a.npz -o again.npz --threads 1 --json
silent_err
json 'set(o) == {"snapshots", "sequences", "tokens", "d", "first", "last", "output"}'
json 'o["snapshots"] == o["last"] + 1 and o["first"] == 0 and o["sequences"] == 12 and o["d"] == 3 and o["output"] == "again.npz"'
cmp t.npz again.npz

# One file for each phase; together they are the whole.
python3 -c 'import json; [print(p["name"]) for p in json.load(open("inspect.json"))["phases"]]' >phases
while read -r phase; do xf trace m.safetensors a.npz -o phase-$phase.npz --phase $phase -q; done <phases
xf trace m.safetensors a.npz -o sparse.npz --every 3 -q
xf trace m.safetensors a.npz -o ends.npz --every 1000000 -q
python3 - <<'PYTHON'
import json
from npz import read
model = json.load(open("inspect.json"))
t, data, out = read("t.npz"), read("a.npz"), read("out.npz")
L, T, d = model["blocks"], len(data["x"][2]) // 3, 3
assert list(t) == ["tokens", "blocks_done", "phase", "x_offsets"]
assert t["tokens"][:2] == ("<f8", (L + 1, T, d)) and t["phase"][:2] == ("|S16", (L + 1,))
assert t["blocks_done"] == ("<i8", (L + 1,), list(range(L + 1)))
assert t["x_offsets"] == data["x_offsets"]
names = ["input"] + [p["name"] for p in model["phases"] for _ in range(p["count"])]
assert t["phase"][2] == names

def moment(trace, s):
    return trace["tokens"][2][s * T * d:(s + 1) * T * d]

assert moment(t, 0) == data["x"][2]
assert moment(t, L) == out["y"][2]
for p in model["phases"]:
    part = read("phase-%s.npz" % p["name"])
    done = list(range(p["first"], p["first"] + p["count"] + 1))
    assert part["blocks_done"][2] == done
    assert part["phase"][2] == [names[b] for b in done]
    for s, b in enumerate(done):
        assert moment(part, s) == moment(t, b)
for name, every in (("sparse.npz", 3), ("ends.npz", 1000000)):
    part = read(name)
    done = sorted({*range(0, L, every), L})
    assert part["blocks_done"][2] == done, part["blocks_done"]
    assert all(moment(part, s) == moment(t, b) for s, b in enumerate(done))
PYTHON

# Other attentions, engines, precisions and containers; inputs without targets; positions.
for options in "--attention softmax --tau 0.25" "--engine blas" "--attention hardmax"; do
    xf run m.safetensors a.npz -o run.npz -q $options
    expect 0 trace m.safetensors a.npz -o t.npz --every 7 $options
    python3 -c 'from npz import read
t, y = read("t.npz")["tokens"][2], read("run.npz")["y"][2]
assert t[-len(y):] == y'
done
xf build a.npz -o narrow.safetensors --dtype f32 -q
xf run narrow.safetensors a.npz -o run.npz -q
xf trace narrow.safetensors a.npz -o t.npz -q
python3 -c 'from npz import read
t, y = read("t.npz")["tokens"][2], read("run.npz")["y"][2]
assert t[-len(y):] == y'
echo '{"x": [[1], [1], [2]], "y": [[5], [5]]}' >words.jsonl
echo '{"x": [[2], [1], [1]], "y": [[7], [6]]}' >>words.jsonl
xf build words.jsonl -o w.safetensors --positions append -q
sed 's/, "y".*/}/' words.jsonl >inputs.jsonl
expect 0 trace w.safetensors inputs.jsonl -o w.npz --json
json 'o["d"] == 2 and o["tokens"] == 6'

# Refusals: one line that helps, no file, and an existing one stays as it is.
echo precious >kept.npz
refused() {
    local status=$1 message=$2
    shift 2
    expect $status trace "$@"
    silent_out
    err_is_one_line
    err_has "$message"
    [ "$(cat kept.npz)" = precious ] || complain "the output was touched"
}
refused 2 "m.safetensors: the model has no phase 'leaders': use one of $(paste -sd, phases | sed 's/,/, /g')" \
    m.safetensors a.npz -o kept.npz --phase leaders
refused 2 "the model has no phase '': use one of " m.safetensors a.npz -o kept.npz --phase ''
for every in 0 -1 1.5 '' 2x 2147483648; do
    refused 2 "trace: bad --every '$every': use a whole number from 1 to 2147483647" \
        m.safetensors a.npz -o kept.npz --every "$every"
done
xf generate gaussian -N 5 -d 4 -o wide.npz -q
refused 2 "the model has dimension 3, the data set has dimension 4" m.safetensors wide.npz -o kept.npz
refused 2 "kept.txt: a trace is written as .npz" m.safetensors a.npz -o kept.txt
refused 2 "no output file" m.safetensors a.npz
refused 2 "the output would overwrite an input" m.safetensors a.npz -o a.npz
refused 2 "--tau needs softmax attention" m.safetensors a.npz -o kept.npz --tau 1
refused 2 "DATASET is missing" m.safetensors -o kept.npz
refused 3 "" a.npz a.npz -o kept.npz
refused 4 "missing.npz" m.safetensors missing.npz -o kept.npz
refused 4 "its directory is missing or not writable" m.safetensors a.npz -o missing/t.npz
ls | grep -v -e '\.npz$' -e '\.safetensors$' -e '\.jsonl$' >files
! grep -q -e '\.npz\.' -e tmp files || complain "a temporary file was left"
