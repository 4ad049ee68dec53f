# diagnose: which models belong to the family, and what the report says of it.
small_data data.npz
xf build data.npz -o exact.safetensors --optimise norm -q
blocks=$("$EXACTFORMER" inspect exact.safetensors --json | python3 -c 'import json; print(json.load(open(0))["blocks"])')
family="--blocks $blocks --order ff-sa --value low-rank --epochs 3 --weight-decay 0.1"

# The columns of the phases stand below each other, whatever their names.
python3 - <<'PYTHON'
import struct
raw = open("exact.safetensors", "rb").read()
start = 8 + struct.unpack("<Q", raw[:8])[0]
head = raw[8:start].replace(b"quantise", b"quantise-split")
head += b" " * (-len(head) % 8)
open("split.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + raw[start:])
PYTHON
expect 0 inspect split.safetensors
out_has "phases        pooling        blocks 0 to 0"
out_has "              quantise-split blocks 1 to "

# The example of the manual page: its family contains the model, the one of a plain `train` does not.
xf train data.npz $family --log run.csv -o trained.safetensors -q
expect 0 diagnose run.csv --model exact.safetensors --data data.npz
out_has "family        ff-sa, $blocks blocks, width 4, rank 1, V low-rank, tau 1,"
out_has "threshold"
xf train data.npz --epochs 3 --weight-decay 0.1 --log plain.csv -o trained.safetensors -q
expect 0 diagnose plain.csv --model exact.safetensors
out_has "not comparable: the model does not belong to the family: with the layers in the family's order its blocks are $blocks, the family has 1"

# The mask counts where there is attention: who has it is told. A model without values has both.
xf train data.npz $family --causal --tau 0.5 --log causal.csv -o trained.safetensors -q
expect 0 diagnose causal.csv --model exact.safetensors
out_has "V low-rank, causal, tau 0.5,"
out_has "the family is causal, the model is not"
xf train data.npz --causal --epochs 3 --weight-decay 0.1 --log causal.csv -o causal.safetensors -q
xf train data.npz --epochs 3 --weight-decay 0.1 --log plain.csv -o trained.safetensors -q
expect 0 diagnose plain.csv --model causal.safetensors
out_has "the model is causal, the family is not"
expect 0 build data.npz --construction resnet -o resnet.safetensors
! grep -q "published bound" out || complain "a ResNet beside a bound that is not for it"
for command in "inspect resnet.safetensors" "verify resnet.safetensors data.npz"; do
    expect 0 $command
    grep -qE '^blocks +[0-9]+$' out || complain "blocks of a ResNet"
done
blocks=$("$EXACTFORMER" inspect resnet.safetensors --json | python3 -c 'import json; print(json.load(open(0))["blocks"])')
for mask in "" --causal; do
    xf train data.npz --blocks $blocks --value low-rank --tau 0.25 $mask --residual 0 --epochs 2 --weight-decay 1e-3 \
        --log resnet.csv -o trained.safetensors -q
    expect 0 diagnose resnet.csv --model resnet.safetensors --data data.npz --json
    json 'o["comparable"] and o["norm2"] == o["model_norm2"]'
done

# Positions: as the log says, or, where it says nothing, the option.
cat >repeated.jsonl <<'JSON'
{"x": [[1, 0], [1, 0]], "y": [[1, 2]]}
{"x": [[0, 1], [1, 0]], "y": [[2, 1]]}
JSON
xf train repeated.jsonl --positions append --blocks 30 --epochs 2 --weight-decay 0.1 --log positions.csv -o trained.safetensors -q
sed '1s/,"dataset":{[^}]*}//' positions.csv >silent.csv
expect 0 diagnose positions.csv --data repeated.jsonl --json
json 'o["comparable"] and o["same_data"]'
expect 3 diagnose silent.csv --data repeated.jsonl
err_has "--positions append"
expect 0 diagnose silent.csv --data repeated.jsonl --positions append --json
json 'o["comparable"] and o["scale_known"]'

# One weight decay tried thrice has no slope, and decoupled decay no J to speak of.
xf train data.npz --epochs 3 --weight-decay 1e-2,1e-2,1e-2 --cold --log same.csv -o trained.safetensors -q
expect 0 diagnose same.csv
! grep -qiE 'nan|slope' out || complain "a slope of one weight decay"
xf train data.npz --optimiser adamw --epochs 3 --weight-decay 1e-1,1e-2,1e-3 --log decoupled.csv -o trained.safetensors -q
expect 0 diagnose decoupled.csv
out_has "slope         loss"
! grep -qE '^slope +J|^J / eps' out || complain "a slope of J, which was not minimised"
expect 0 diagnose decoupled.csv --json
json 'o["trend"] == "unknown" and o["local_slope"] is None and o["slope_J"]["slope"] is None'
! grep -q 'epoch -1' out || complain "epoch -1"

# L-BFGS has neither schedule nor learning rate.
xf train data.npz --optimiser lbfgs --epochs 3 --weight-decay 0.1 --log lbfgs.csv -o trained.safetensors -q
! head -1 lbfgs.csv | grep -qE 'schedule|learning_rate' || complain "L-BFGS with a learning rate"
expect 0 diagnose lbfgs.csv

# A slope beyond 1 is no minimum's.
python3 - <<'PYTHON'
import json
head = {"family": {"order": "ff-sa", "blocks": 1, "d": 3, "width": 4, "rank": 1}, "dtype": "f64"}
rows = [(e, 1.0123456789 * e ** 1.05, 0.1123456789 * e ** 0.05) for e in (0.1, 0.01, 0.001)]
with open("steep.csv", "w") as file:
    file.write("# " + json.dumps(head) + "\nstage,epoch,weight_decay,loss,norm2,J\n")
    for i, (e, loss, norm2) in enumerate(rows):
        file.write(f"{i},1,{e!r},{loss!r},{norm2!r},{loss + e / 2 * norm2!r}\n")
PYTHON
expect 0 diagnose steep.csv
out_has "levelling off: local slope of J 1.050"
out_has "at global minima it is at most 1: unless the log's digits explain it, some run is not at one"
