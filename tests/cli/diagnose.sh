# diagnose: every verdict on made-up logs, logs that are broken, figures.
small_data data.npz
xf build data.npz -o exact.safetensors --optimise norm --quiet
expect 0 inspect exact.safetensors --json
cp out shape.json
xf generate gaussian -N 3 -d 3 --grid f32 --seed 9 -o other.npz --quiet

# log NAME [KEY=VALUE...]: a log of stages given as stages=[(eps, [(loss, norm2), ...]), ...], in
# units of the exact model's norm squared; other keys change the family or the description.
log() {
    python3 - "$@" <<'PYTHON'
import json, sys
name, settings = sys.argv[1], dict(a.split("=", 1) for a in sys.argv[2:])
shape = json.load(open("shape.json"))
stages = eval(settings.pop("stages"))
family = {"order": "ff-sa", "blocks": shape["blocks"], "d": 3, "width": 4, "rank": 1,
          "value": "low-rank"}
head = {"format": "exactformer-training", "version": 1, "family": family}
for key, value in settings.items():
    (family if key in family or key in ("causal", "tau") else head)[key] = json.loads(value)
unit = shape["l2_norm_squared"]
rows = [(i, eps, 0, k + 1, loss * unit, norm * unit, loss * unit + eps / 2 * norm * unit, 0.001)
        for i, (eps, states) in enumerate(stages) for k, (loss, norm) in enumerate(states)]
names = ["stage", "weight_decay", "start", "epoch", "loss", "norm2", "J", "lr"]
with open(name, "w") as file:
    if name.endswith(".csv"):
        file.write("# " + json.dumps(head) + "\n" + ",".join(names) + "\n")
        file.writelines(",".join(map(repr, row)) + "\n" for row in rows)
    else:
        head["stages"] = [{"stage": i, "weight_decay": eps} for i, (eps, _) in enumerate(stages)]
        head["records"] = [dict({"stage": i, "start": 0},
            **{n: [r[k] for r in rows if r[0] == i] for k, n in enumerate(names) if k >= 3})
            for i in range(len(stages))]
        json.dump(head, file)
PYTHON
}
diagnosed() { expect 0 diagnose "$@" --model exact.safetensors --json; silent_err; }

# The loss above the threshold of 0.05 norms; then J only; then neither.
log a.csv 'stages=[(0.1, [(9, 2), (0.06, 0.2)])]'
diagnosed a.csv
json 'o["comparable"] and o["why_not"] is None and abs(o["norm2"] / o["model_norm2"] - 1) < 1e-12'
json 'abs(o["stages"][0]["threshold"] / o["norm2"] - 0.05) < 1e-12'
json 'o["stages"][0]["verdict"] == "not a global minimum" and o["stages"][0]["loss_above"]'
log b.csv 'stages=[(0.1, [(9, 2), (0.04, 0.4)])]'
diagnosed b.csv
json 'o["stages"][0]["verdict"] == "not a global minimum" and o["stages"][0]["J_above"]'
json 'not o["stages"][0]["loss_above"] and o["stages"][0]["loss_below_epoch"] == 2'
json 'o["stages"][0]["J_below_epoch"] == -1 and o["stages"][0]["better"] is None'
log c.csv 'stages=[(0.1, [(9, 2), (0.01, 0.5)])]'
diagnosed c.csv
json 'o["stages"][0]["verdict"] == "undecided" and o["stages"][0]["J_below_epoch"] == 2'
json 'o["trend"] == "unknown" and o["slope_J"]["points"] == 1 and o["slope_J"]["slope"] is None'

# Exactly on the threshold: nothing is certain. Without weight decay any loss is too much.
log d.csv 'stages=[(0.1, [(0.0, 1.0)])]'
diagnosed d.csv
json 'o["stages"][0]["verdict"] == "undecided"'
log d.csv 'stages=[(0, [(1e-9, 1.0)])]'
diagnosed d.csv
json 'o["stages"][0]["verdict"] == "not a global minimum" and o["stages"][0]["threshold"] == 0'
log d.csv 'stages=[(0, [(0, 1.0)])]'
diagnosed d.csv
json 'o["stages"][0]["verdict"] == "undecided"'

# A state of another stage that is better at this weight decay proves it without any model.
log e.csv 'stages=[(0.1, [(0.02, 0.5)]), (0.01, [(0.002, 0.3)])]'
expect 0 diagnose e.csv --json
json 'o["stages"][0]["verdict"] == "not a global minimum" and o["stages"][0]["better"]["stage"] == 1'
json 'o["stages"][1]["verdict"] == "not comparable" and "no exact model" in o["why_not"]'
# ... and an earlier epoch likewise.
log e.csv 'stages=[(0.1, [(0.01, 0.2), (0.02, 0.2)])]'
diagnosed e.csv
json 'o["stages"][0]["better"]["epoch"] == 1 and o["stages"][0]["verdict"] == "not a global minimum"'

# Slopes: J = eps exactly; loss = eps^1/2 roughly. Levelling, growing, falling.
log f.json 'stages=[(0.1, [(0, 0.2)]), (0.01, [(0, 0.2)]), (0.001, [(0, 0.2)])]'
diagnosed f.json
json 'abs(o["slope_J"]["slope"] - 1) < 1e-9 and o["slope_J"]["standard_error"] < 1e-9'
json 'o["trend"] == "levelling off" and abs(o["local_slope"] - 1) < 1e-9'
json 'o["slope_loss"]["points"] == 0 and o["slope_loss"]["slope"] is None'
log f.json 'stages=[(e, [(v, 0)]) for e, v in ((1e-1, 1e-2), (1e-2, 4e-3), (1e-3, 1e-3))]'
diagnosed f.json
json 'abs(o["slope_loss"]["slope"] - 0.5) < 1e-9 and o["trend"] == "growing"'
json 'abs(o["slope_loss"]["standard_error"] - 0.0589) < 1e-3 and o["slope_loss"]["points"] == 3'
log f.json 'stages=[(e, [(e * e, 0)]) for e in (1e-1, 1e-2)]'
diagnosed f.json
json 'o["trend"] == "falling" and o["slope_J"]["standard_error"] is None'

# Families that do not contain the model, and some that do after padding.
json_why() { json "not o['comparable'] and '$1' in o['why_not'] and o['norm2'] is None"; }
one='stages=[(0.1, [(9, 2)])]'
blocks=$(python3 -c 'import json; print(json.load(open("shape.json"))["blocks"])')
log g.csv "$one" blocks=$((blocks - 1));                diagnosed g.csv; json_why 'blocks'
log g.csv "$one" width=3;                               diagnosed g.csv; json_why 'width'
log g.csv "$one" causal=true;                           diagnosed g.csv; json_why 'causal'
log g.csv "$one" d=4;                                   diagnosed g.csv; json_why 'dimension'
log g.csv "$one" 'order="sa-ff"';                       diagnosed g.csv; json_why 'blocks'
log g.csv "$one" 'penalty="decoupled"';                 diagnosed g.csv; json_why 'decoupled'
json 'o["stages"][0]["verdict"] == "not comparable" and o["stages"][0]["threshold"] is None'
log g.csv "$one" blocks=$((blocks + 3)); diagnosed g.csv
json 'o["comparable"] and abs(o["norm2"] - o["model_norm2"] - 6) < 1e-9'
log g.csv "$one" blocks=$((blocks + 1)) 'order="sa-ff"' width=6; diagnosed g.csv
json 'o["comparable"] and abs(o["norm2"] - o["model_norm2"] - 2) < 1e-9'
log g.csv "$one" rank=0 tau=0.01; diagnosed g.csv; json 'o["comparable"]'
log g.csv "$one" 'value="full"'; diagnosed g.csv; json 'o["comparable"]'

# The model is checked on data, or made from them.
expect 0 diagnose a.csv --data data.npz --json
json 'o["comparable"]'
expect 0 diagnose a.csv --data data.npz --model exact.safetensors --json
expect 1 diagnose a.csv --data other.npz --model exact.safetensors
err_is_one_line; err_has "exact on 0 of 3 sequences"

# Logs that say on which data they are hold others back; older ones say nothing.
expect 0 diagnose a.csv --data data.npz
out_has "not compared: the log does not say"
xf train data.npz -o m.safetensors --epochs 3 --weight-decay 0.1 --log own.csv --quiet
xf train data.npz -o m.safetensors --epochs 3 --weight-decay 0.1 --log own.json --quiet
for log in own.csv own.json; do
    expect 0 diagnose $log --data data.npz
    out_has "those of the run"
    expect 0 diagnose $log --data data.npz --model exact.safetensors --json
    json 'o["same_data"] is True'
    expect 0 diagnose $log --model exact.safetensors --json
    json 'o["same_data"] is None'
    for model in "" "--model exact.safetensors"; do
        expect 3 diagnose $log --data other.npz $model --figure-epochs x.svg
        silent_out; err_is_one_line; err_has "other.npz: not the data of this run"
        [ ! -e x.svg ] || complain "a figure of other data"
    done
done
sed '1s/,"dataset":{[^}]*}//' own.csv >old.csv
[ "$(head -1 old.csv | grep -c values_sha256)" = 0 ] || complain "the digest is still there"
expect 0 diagnose old.csv --data data.npz --json
json 'o["same_data"] is None'
xf train data.npz -o m.safetensors --positions append --epochs 3 --weight-decay 0.1 --log own.csv --quiet
expect 0 diagnose own.csv --data data.npz --json # with the coordinate appended as the log says
json 'o["same_data"] is True'

# binary32 logs must exceed by more.
log h.csv 'stages=[(0.1, [(0.05, 0.0001)])]' 'dtype="f64"'; diagnosed h.csv
json 'o["stages"][0]["verdict"] == "not a global minimum"'
log h.csv 'stages=[(0.1, [(0.05, 0.0001)])]' 'dtype="f32"'; diagnosed h.csv
json 'o["stages"][0]["verdict"] == "undecided"'
log h.csv 'stages=[(0.1, [(0.05, 0.0001)])]';               diagnosed h.csv # does not say: the coarser
json 'o["stages"][0]["verdict"] == "undecided"'

# Text.
expect 0 diagnose b.csv --model exact.safetensors
out_has "certainly not a global minimum"
out_has "J is above the threshold, by 20 % of it; the loss by itself is not"
expect 0 diagnose c.csv --model exact.safetensors --quiet
silent_out; silent_err

# Broken logs: one line of error each, status 3, no figure.
bad() { expect 3 diagnose bad.csv --model exact.safetensors --figure-epochs x.svg; err_is_one_line
        err_has "$1"; [ ! -e x.svg ] || complain "a figure of a broken log"; }
edit() { sed "$1" c.csv >bad.csv; }
: >bad.csv;                             bad "a log begins with"
echo hello >bad.csv;                    bad "a log begins with"
echo '# {' >bad.csv;                    bad "not valid JSON"
echo '# [1]' >bad.csv;                  bad "no JSON object"
head -1 c.csv >bad.csv;                 bad "there are no columns"
head -2 c.csv >bad.csv;                 bad "no records"
head -c -5 c.csv >bad.csv;              bad "record 1: its line is cut short"
edit '4s/,/,nan,/4';                    bad "not valid JSON"
edit '4s/[0-9.]*$/NaN/';                bad "not valid JSON"
edit '4s/[0-9.]*$/1e999/';              bad "not valid JSON"
edit '4s/[0-9.]*$/-1/';                 bad "record 1: a number is negative or not finite"
edit '4s/[0-9.]*$/"1"/';                bad "record 1: a value is no number"
edit '4s/[0-9.]*$/1,1/';                bad "record 1: it has another number of columns"
edit '4s/,0.001$//';                    bad "record 1: it has another number of columns"
edit '4s/^0,0.1,0,2/0,0.1,0,1/';        bad "record 1: it is out of order"
edit '4s/^0,0.1,0,2/2,0.1,0,2/';        bad "record 1: it is out of order"
edit '4s/^0,0.1,0,2/0,0.2,0,2/';        bad "record 1: the weight decay changes"
edit '4s/^0,0.1,0,2/0,0.1,0,2.5/';      bad "whole numbers"
edit '4s/^0,0.1,0,2/0,0.1,0,1e300/';    bad "whole numbers"
edit '2s/loss/lass/';                   bad "there is no column 'loss'"
edit '2s/loss/J/';                      bad "a column occurs twice"
edit '1s/"family"/"familie"/';          bad '"family"'
edit '1s/"ff-sa"/"ff"/';                bad '"family"'
edit '1s/"width": 4/"width": 0/';       bad "width"
edit '1s/"blocks": [0-9]*/"blocks": 1e3/';               bad '"family"'
edit '1s/"blocks": [0-9]*/"blocks": 999999999999999/';   bad "bad.csv"
edit '1s/"version": 1/"version": 2/';   bad '"version"'
edit '1s/"version": 1/"penalty": "l1"/'; bad '"penalty"'
edit '1s/"version": 1/"dataset": {}/';  bad '"dataset"'
edit '1s/"version": 1/"dataset": 7/';   bad '"dataset"'
edit '1s/"version": 1/"dataset": {"values_sha256": "0AF"}/'; bad '"dataset"'
edit '1s/}}$/}, "stages": [{"weight_decay": 0.1, "J": 1}]}/'; bad "the log is cut short"
edit '1s/}}$/}, "stages": []}/';        bad "the log is cut short"
head -c 300 /dev/urandom >bad.csv;      expect 3 diagnose bad.csv; err_is_one_line
expect 2 diagnose c.txt;                err_has "a log is a file .csv or .json"
expect 4 diagnose absent.csv;           err_is_one_line
python3 - <<'PYTHON'
import json
log = json.load(open("f.json"))
log["records"][0]["loss"].append(1)
json.dump(log, open("lengths.json", "w"))
log["records"][0]["loss"].pop()
log["records"][0]["stage"] = 7
json.dump(log, open("stage.json", "w"))
PYTHON
expect 3 diagnose lengths.json;         err_has "different lengths"
expect 3 diagnose stage.json;           err_has "its stage is not described"

# Figures, complete or not at all.
diagnosed e.csv --figure-epochs epochs.svg --figure-scaling scaling.png
grep -q "</svg>" epochs.svg || complain "no SVG"
[ "$(head -c 4 scaling.png | tail -c 3)" = PNG ] || complain "no PNG"
grep -q "threshold" epochs.svg || complain "no threshold in the figure"
diagnosed d.csv --figure-epochs zeros.svg --figure-scaling none.svg
diagnosed f.json --figure-scaling two.svg
echo old >keep.svg
expect 2 diagnose e.csv --figure-epochs picture.pdf;   err_has ".svg or .png"
expect 2 diagnose e.csv --figure-epochs e.svg --figure-scaling e.svg
expect 4 diagnose e.csv --figure-epochs absent/e.svg;  err_is_one_line
status=0
PATH=/nowhere "$EXACTFORMER" diagnose e.csv --figure-epochs keep.svg >out 2>err || status=$?
[ $status = 4 ] || complain "without gnuplot: exit status $status"
err_is_one_line; err_has "install gnuplot-nox"
[ "$(cat keep.svg)" = old ] || complain "the old figure was touched"
[ "$(echo *.svg.*)" = '*.svg.*' ] || complain "a temporary file was left behind"
