# exactformer train: a model, its log, checkpoints, and what is refused.
xf generate gaussian -N 12 -d 3 -n 4:6 -m 1:2 --seed 3 -o a.npz -q

# The same seed gives the same bytes, whatever the threads, also when interrupted and resumed.
expect 0 train a.npz -o m.safetensors --epochs 40 --weight-decay 0.1,0.01 --blocks 2 --log m.csv
out_has "family        ff-sa, 2 blocks, width 4, rank 1, V full"
xf train a.npz -o n.safetensors --epochs 40 --weight-decay 0.1,0.01 --blocks 2 --log n.csv --threads 1 -q
cmp m.safetensors n.safetensors
cmp m.csv n.csv
[ "$(wc -l <m.csv)" = 84 ] # description, header, 2 x (40 + 1)
[ "$(sed -n 2p m.csv)" = stage,weight_decay,start,epoch,loss,norm2,J,lr ]
xf train a.npz -o n.safetensors --epochs 40 --weight-decay 0.1,0.01 --blocks 2 --checkpoint run.safetensors -q
xf train a.npz -o k.safetensors --epochs 40 --weight-decay 0.1,0.01 --blocks 2 --checkpoint run.safetensors --resume -q
cmp m.safetensors k.safetensors


# The run knows its data by their numbers, whatever file they come from: SHA-256 as defined in dataset.h.
xf generate gaussian -N 12 -d 3 -n 4:6 -m 1:2 --seed 3 -o a.jsonl -q
xf generate gaussian -N 12 -d 3 -n 4:6 -m 1:2 --seed 4 -o a4.npz -q
resume() { expect "$1" train "$2" -o k.safetensors --epochs 40 --weight-decay 0.1,0.01 --blocks 2 \
               --checkpoint run.safetensors --resume -q --log k.json; }
rm k.safetensors
resume 3 a4.npz
err_is_one_line
err_has "run.safetensors: the checkpoint is of a training on other data"
[ ! -e k.safetensors ] && [ ! -e k.json ] || complain "a resumed training on other data has outputs"
resume 0 a.jsonl
cmp m.safetensors k.safetensors
python3 - <<'PYTHON'
import hashlib, json, struct
pairs = [json.loads(line) for line in open("a.jsonl")]
xs, ys = [p["x"] for p in pairs], [p["y"] for p in pairs]
def offsets(sets):
    return [sum(map(len, sets[:i])) for i in range(len(sets) + 1)]
integers, reals = (lambda v: struct.pack(f"<{len(v)}q", *v)), (lambda v: struct.pack(f"<{len(v)}d", *v))
flat = lambda sets: [c for s in sets for token in s for c in token]
bytes_ = (integers([3, 12, sum(map(len, xs)), sum(map(len, ys))]) + integers(offsets(xs)) + reals(flat(xs))
          + integers(offsets(ys)) + reals(flat(ys)))
said = json.load(open("k.json"))["dataset"]
first = json.loads(open("m.csv").readline()[2:])["dataset"]
assert said == first, (said, first)
assert said["values_sha256"] == hashlib.sha256(bytes_).hexdigest(), said
assert (said["sequences"], said["tokens"], said["targets"], said["positions"]) == (
    12, sum(map(len, xs)), sum(map(len, ys)), -1), said
# A checkpoint that does not say is not taken at its word.
raw = open("run.safetensors", "rb").read()
assert b'\\"dataset\\"' in raw
open("mute.safetensors", "wb").write(raw.replace(b'\\"dataset\\"', b'\\"datasat\\"'))
PYTHON
expect 3 train a.npz -o k.safetensors --epochs 40 --weight-decay 0.1,0.01 --blocks 2 --checkpoint mute.safetensors --resume
err_has "does not say on which data"

# What was trained is a model like others.
expect 0 inspect m.safetensors
out_has "construction  trained"
expect 1 verify m.safetensors a.npz
expect 0 run m.safetensors a.npz -o out.npz

expect 0 train a.npz -o m.safetensors --optimiser lbfgs --starts 2 --epochs 30 --order sa-ff --rank 2 \
    --causal --scalar --value low-rank --tau 0.5 --log m.json --log-every 10 --json
json 'o["family"] == {"order": "sa-ff", "blocks": 1, "d": 3, "width": 4, "rank": 2, "scalar": True,
      "value": "low-rank", "causal": True, "tau": 0.5, "parameters": 50}'
json 'o["stages"][0]["J"] <= o["stages"][0]["min_J"] * (1 + 1e-12) and o["optimiser"] == "lbfgs"'
python3 -c 'import json; o = json.load(open("m.json")); assert len(o["records"]) == 2, o'

# Training that starts from an exact model starts at loss 0.
for dtype in f64 f32; do
    xf generate gaussian -N 12 -d 3 -n 4:6 -m 1:2 --grid f32 --input-grid f32 -o b.npz -q
    xf build b.npz -o exact.safetensors --dtype $dtype -q
    expect 0 train b.npz --init exact.safetensors -o m.safetensors --epochs 1 --log m.csv --json
    json "o['dtype'] == '$dtype' and o['stages'][0]['min_loss'] == 0 and o['stages'][0]['min_loss_epoch'] == 1"
done

usage() {
    local message=$1
    shift
    expect 2 train a.npz -o m.safetensors "$@"
    err_is_one_line
    err_has "$message"
}
usage "bad --weight-decay '1,,2'" --weight-decay 1,,2
usage "bad --weight-decay '-1'" --weight-decay=-1
usage "bad --epochs '1,2,3': use whole numbers" --weight-decay 1,2 --epochs 1,2,3
usage "bad --epochs '0'" --epochs 0
usage "bad --epochs '1.5'" --epochs 1.5
usage "L-BFGS has no learning rate" --optimiser lbfgs --learning-rate 1
usage "--resume needs --checkpoint" --resume
usage "a log is a file .csv or .json" --log m.txt
usage "the output would overwrite an input" --log a.npz --log ./a.npz.csv --checkpoint a.npz
usage "the output would overwrite an input" --init ./m.safetensors
usage "exact.safetensors: the output would overwrite an input" --init exact.safetensors --checkpoint ./exact.safetensors
usage "two outputs would be the same file" --checkpoint m.safetensors
usage "two outputs would be the same file" --checkpoint both.csv --log both.csv
expect 3 train a.npz -o k.safetensors --epochs 40 --checkpoint run.safetensors --resume
err_has "run.safetensors: the checkpoint is of another training"
expect 3 train a.npz -o k.safetensors --epochs 40 --checkpoint m.safetensors --resume
err_has "this is no checkpoint of a training"

# Numbers that lead out of range: one line with the cause, and what was there stays.
out_of_range() {
    local message=$1
    shift
    echo old >k.safetensors
    echo old >k.csv
    expect 3 train a.npz -o k.safetensors --log k.csv --epochs 5 "$@"
    err_is_one_line
    err_has "$message"
    [ "$(cat k.safetensors k.csv)" = "$(printf 'old\nold')" ] || complain "an output was touched: $*"
}
for dtype in f64 f32; do
    out_of_range "epoch 2 of stage 0; try a smaller learning rate" --learning-rate 1e300 --dtype $dtype
    out_of_range "the temperature 9.99989e-321 is too small" --tau 1e-320 --dtype $dtype
    out_of_range "the weight decay 1e+308 is too large" --weight-decay 1e308 --dtype $dtype
    out_of_range "the weight decay 1e+308 is too large" --weight-decay 0.1,1e308 --dtype $dtype
    out_of_range "the weight decay 1e+308 is too large" --weight-decay 1e308 --optimiser lbfgs --dtype $dtype
    out_of_range "the weight decay 1e+308 is too large" --weight-decay 1e308 --optimiser adamw --dtype $dtype
    out_of_range "try a smaller weight decay" --weight-decay 1e200 --optimiser adamw --dtype $dtype
done
out_of_range "overflows in binary32 at epoch 1 of stage 0: the weight decay 1e+20 is too large" --weight-decay 1e20 --dtype f32
out_of_range "the tokens outgrow binary32" --residual 1e15 --blocks 3 --dtype f32
out_of_range "the tokens outgrow binary32" --residual 1e30 --dtype f32 --weight-decay 0.1
usage "the residual 1e+308 is no finite binary32 number" --residual 1e308
expect 0 train a.npz -o k.safetensors --epochs 2 --weight-decay 1e18 --dtype f32
expect 0 train a.npz -o k.safetensors --epochs 2 --width 5000 # wide: d = 3
xf generate gaussian -N 5 -d 4 -o c.npz -q
expect 5 train c.npz -o k.safetensors --init exact.safetensors
err_has "does not belong to the family: its dimension is 3, the family has 4"
expect 4 train a.npz -o k.safetensors --log no/where.csv
expect 4 train missing.npz -o k.safetensors
