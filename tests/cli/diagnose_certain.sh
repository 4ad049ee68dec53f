# diagnose: a verdict is certain, or there is none. Rounded logs, rounding of losses, narrow margins.
small_data data.npz
xf build data.npz -o exact.safetensors --optimise norm --quiet
expect 0 inspect exact.safetensors --json
cp out shape.json

# rows NAME FORMAT ROW...: a log whose rows are "weight_decay,loss,norm2" in norms of the model, printed with
# FORMAT; without "J" at the end of a row it is computed. DTYPE and SCALE say what the log says.
rows() {
    python3 - "$@" <<'PYTHON'
import json, os, sys
name, form, *rows = sys.argv[1:]
shape = json.load(open("shape.json"))
unit = shape["l2_norm_squared"]
head = {"family": {"order": "ff-sa", "blocks": shape["blocks"], "d": 3, "width": 4, "rank": 1, "value": "low-rank"}}
if "DTYPE" in os.environ:
    head["dtype"] = os.environ["DTYPE"]
if "SCALE" in os.environ:
    head["dataset"] = {"values_sha256": "0" * 64, "largest_target": float(os.environ["SCALE"])}
with open(name, "w") as file:
    file.write("# " + json.dumps(head) + "\nstage,epoch,weight_decay,loss,norm2,J\n")
    stages = []
    for epoch, row in enumerate(rows):
        eps, loss, norm2 = (float(v) for v in row.split(","))
        loss, norm2 = loss * unit, norm2 * unit
        if eps not in stages:
            stages.append(eps)
        file.write("%d,%d,%r," % (len(stages) - 1, epoch + 1, eps))
        file.write(",".join(form % v for v in (loss, norm2, loss + eps / 2 * norm2)) + "\n")
PYTHON
}
verdict() { # LOG VERDICT...: of the stages
    local log=$1
    shift
    expect 0 diagnose "$log" --model exact.safetensors --json
    json "[s['verdict'] for s in o['stages']] == '$*'.replace('-', ' ').split(',')"
}
export DTYPE=f64
no=not-a-global-minimum

# A state is not better than itself, whatever its J was rounded to, nor than the threshold that it is.
for form in %.3g %.4g %.5g %.6g %.7g %.3e %.2f %.4f %.6f %.17g; do
    for loss in 0.000000912345678 0.0000123457 0.00333333333 0.037; do
        rows one.csv $form "0.01,$loss,0.0123456789"
        expect 0 diagnose one.csv --json
        json 'o["stages"][0]["verdict"] == "not comparable" and o["stages"][0]["better"] is None'
    done
    rows one.csv $form 0.01,0,1
    verdict one.csv undecided
done

# One digit of J more than was printed decides nothing; above it, it does.
rows near.csv %.6g 0.1,0.00123456,0.99
rows far.csv %.6g 0.1,0.00223456,0.99
sed 's/^\(0,1,.*,\)[0-9.]*$/\11/' near.csv >bad.csv
expect 3 diagnose bad.csv
err_has "J is not loss"
verdict near.csv $no      # 0.001234 + 0.0495 > 0.05
rows near.csv %.6g 0.1,0.0005000001,0.99
verdict near.csv undecided
rows near.csv %.17g 0.1,0.0005000001,0.99
SCALE=0.001 rows near.csv %.17g 0.1,0.000501,0.99
verdict near.csv $no

# Two states that differ by less than the printed digits; the same numbers in full are told apart.
rows two.csv %.6g 0.1,0.0100000,0.4 0.1,0.01000002,0.4
verdict two.csv undecided
SCALE=0.0001 rows two.csv %.17g 0.1,0.0100000,0.4 0.1,0.01000002,0.4
verdict two.csv $no
json '0 < o["stages"][0]["margin"] < 1e-3 and o["stages"][0]["better"]["epoch"] == 1'
expect 0 diagnose two.csv --model exact.safetensors
out_has "certainly not a global minimum, but by a narrow margin"
out_has "J is above that of epoch 1 of stage 0"
out_has "% of it"
out_has "loss at epoch 1, J at epoch 1"
# Decimals count as digits do: 0.0001 of 6 decimals is known to 1 %.
rows three.csv %.6f 0.1,0.00000000741,0.4 0.1,0.0000000074101,0.4
verdict three.csv undecided

# A loss of the size of rounding is none: without weight decay only more than that is too much.
rows zero.csv %.17g 0,1e-32,1
verdict zero.csv undecided
rows zero.csv %.17g 0,1e-9,1
verdict zero.csv $no
DTYPE=f32 rows zero.csv %.17g 0,3.6e-13,1
verdict zero.csv undecided
SCALE=1e6 rows zero.csv %.17g 0,1e-9,1 # the outputs have 1e6, so that 1e-2 is rounding
verdict zero.csv undecided
json 'o["scale"] == 1e6 and o["scale_known"]'
# 49 tokens of R^1 whose mean is 1/49, times V = 49: exact in real arithmetic, not in binary64.
python3 -c 'import json; print(json.dumps({"x": [[v] for v in [*range(-24, 24), 25]], "y": [[1]]}))' >mean.jsonl
xf train mean.jsonl -o m.safetensors --value low-rank --width 1 --epochs 1 -q
python3 - <<'PYTHON'
import json, struct
raw = open("m.safetensors", "rb").read()
start = 8 + struct.unpack("<Q", raw[:8])[0]
for name, array in json.loads(raw[8:start]).items():
    if name != "__metadata__":
        first, last = (start + at for at in array["data_offsets"])
        value = {"ff.eta": 1.0, "sa.V.alpha": 49.0}.get(name, 0.0)
        raw = raw[:first] + struct.pack("<d", value) * ((last - first) // 8) + raw[last:]
open("mean.safetensors", "wb").write(raw)
PYTHON
expect 1 certify mean.safetensors mean.jsonl -o mean.cert
out_has "real          yes: exact in real arithmetic"
xf train mean.jsonl --init mean.safetensors --value low-rank -o m.safetensors --learning-rate 1e-300 \
    --weight-decay 0,1e-300 --epochs 3 --log mean.csv -q
expect 0 diagnose mean.csv --model mean.safetensors --json
json 'o["comparable"] and o["stages"][0]["loss"] > 0 and o["stages"][0]["threshold"] == 0'
json 'all(s["verdict"] == "undecided" for s in o["stages"])'

# A minimum in the description that no record has is refused where every epoch has a record.
xf train data.npz -o m.safetensors --epochs 5 --weight-decay 0.1 --log run.csv -q
sed '1s/"min_J":[^}]*}/"min_J":1e-9}/' run.csv >bad.csv
expect 3 diagnose bad.csv
err_is_one_line
err_has "stage 0: every epoch has a record, and none has the least loss or J"
sed '1s/"min_loss":[^,]*,/"min_loss":0,/' run.csv >bad.csv
expect 3 diagnose bad.csv
xf train data.npz -o m.safetensors --epochs 50 --weight-decay 0.1 --log-every 7 --log run.csv -q
expect 0 diagnose run.csv

# A log that was rewritten with fewer digits, description and all, is still read.
python3 - <<'PYTHON'
lines = open("run.csv").read().splitlines()
def short(row):
    return ",".join("%.6g" % float(v) for v in row.split(","))
open("short.csv", "w").write("\n".join(lines[:2] + [short(row) for row in lines[2:]]) + "\n")
PYTHON
expect 0 diagnose short.csv
