# The published construction: phases and margins shown, softmax at a temperature of one's choice,
# refusals.
expect 0 generate pairs -N 15 -d 2 -o a.npz --quiet
expect 0 build a.npz -o m.safetensors --construction published
out_has "construction  published, front end leaders, writer sorted"
out_has "separations   1"
out_has "exact for softmax up to tau = "
expect 0 verify m.safetensors a.npz
silent_err

# The phases with their block ranges and counts, the paper's counts, the margins found again.
expect 0 inspect m.safetensors a.npz
for phase in separation quantise leaders collapse project code write; do
    out_has "$phase "
done
out_has "(1)"
out_has "paper         at most "
out_has "collapse      logits at least "
expect 0 inspect m.safetensors a.npz --json
json 'o["construction"] == "published" and o["separations"] == 1 and o["collapse_margin"] > 0'
json 'o["tau_max_found"] == o["tau_max"] > 0 and o["margin"] > 1'
json 'o["blocks"] <= 2 * o["targets"] + o["sequences"] + 4'
json '[p["name"] for p in o["phases"]] == ["separation", "quantise", "leaders", "collapse", "project", "code", "write"]'
expect 0 inspect m.safetensors --json
json '"collapse_margin" not in o'

# Any temperature can be asked for; beyond tau_max there is a note and no promise.
expect 0 build a.npz -o s.safetensors --construction published --attention softmax --tau 1000 --json
json 'o["tau"] == 1000 and 1000 <= o["tau_max"] < 2000 and o["collapse_margin"] > 0'
expect 0 verify s.safetensors a.npz
silent_err
expect 1 verify s.safetensors a.npz --tau 8000
err_has "only known to be exact up to tau = "

# Refusals: one line, status 5, who and how much.
echo '{"x": [[0, 0], [1, 1], [1, 1.000000001]], "y": [[1, 2], [3, 4], [5, 6.1]]}' >close.jsonl
expect 5 build close.jsonl -o c.safetensors --construction published
err_is_one_line
err_has "of sequence 0 to be moved alone: isolation "
[ ! -e c.safetensors ] || complain "refused, but left a model"
expect 5 build a.npz -o c.safetensors --construction published --dtype f32
err_is_one_line
expect 2 build a.npz -o c.safetensors --construction published --front plain
err_has "leave out --front"

# The pooled construction's last resort.
expect 0 generate equal-means -N 6 -d 2 -o e.npz --quiet
expect 0 build e.npz -o t.safetensors --front tree
out_has "front end tree"
expect 0 verify t.safetensors e.npz
