# With --json every command prints one object with the promised keys, and nothing else.
expect 0 generate gaussian -N 20 -d 3 --grid f32 -o a.npz --json
json 'o == {"kind": "gaussian", "sequences": 20, "targets": o["targets"], "tokens": o["tokens"], "d": 3, "output": "a.npz"}'
expect 0 generate --list --json
json 'len(o["kinds"]) == 13 and all(k["name"] and k["description"] for k in o["kinds"])'
expect 0 build a.npz -o m.safetensors --json
silent_err
json '{"blocks", "bound", "construction", "front", "writer", "folds", "extra_blocks", "left_out", "margin", "margin_sequences", "sequences", "targets", "tokens", "d", "width", "dtype", "attention", "tau", "tau_max", "seconds_construct", "seconds_check", "output"} == set(o)'
json 'o["blocks"] <= o["bound"] == 2 * o["targets"] + 41 and o["margin"] > 1 and len(o["margin_sequences"]) == 2'
json 'o["dtype"] == "f64" and o["attention"] == "hardmax" and o["tau"] is None and o["tau_max"] is None'
expect 0 verify m.safetensors a.npz --json
silent_err
json 'o["sequences"] == o["exact"] == 20 and o["hausdorff_max"] == 0 and o["first_mismatch"] is None and o["blocks"] <= o["bound"]'
json '{"attention", "tau", "engine", "seconds"} <= set(o) and o["engine"] == "sparse"'
expect 0 verify m.safetensors a.npz --json --attention softmax --tau 1e-3 --engine blas
json 'o["attention"] == "softmax" and o["tau"] == 1e-3 and o["engine"] == "blas"'
expect 0 inspect m.safetensors --json
json '{"blocks", "bound", "parameters_dense", "parameters_nonzero", "targets", "d", "width", "l2_norm_squared", "max_abs_weight", "phases"} <= set(o) and "margin" not in o'
json 'o["phases"][0]["first"] == 0 and sum(p["count"] for p in o["phases"]) == o["blocks"]'
json 'o["nonzero_ratio"] == o["parameters_nonzero"] / o["target_values"] and o["cell_bits"] >= 0'
json '0 < o["parameters_nonzero"] < o["parameters_dense"] == o["blocks"] * (4 + 4 * o["d"] + o["width"] * (2 * o["d"] + 1))'
expect 0 inspect m.safetensors a.npz --json
json 'o["margin"] > 1 and len(o["margin_sequences"]) == 2'
expect 0 export m.safetensors -o n.safetensors --json
json 'o["d"] == 3 and o["output"] == "n.safetensors"'
expect 0 run m.safetensors a.npz -o out.npz --json
json 'o["sequences"] == 20 and o["distinct"] is False and o["d"] == 3'
expect 0 --version --json
out_has "exactformer "

# A single pair: nothing to tell apart, so no margin.
echo '{"x": [[1]], "y": [[2]]}' >one.jsonl
expect 0 build one.jsonl -o one.safetensors --json
json 'o["margin"] is None and o["margin_sequences"] is None'

# Mismatches.
xf generate gaussian -N 20 -d 3 --grid integer -o b.npz -q
expect 1 verify m.safetensors b.npz --json
json 'o["exact"] == 0 and o["hausdorff_max"] > 0 and o["first_mismatch"] == 0 and o["worst_sequence"] >= 0'

# Failures are objects too, and lines on standard error unless --quiet.
expect 2 --json
json 'set(o["error"]) == {"status", "kind", "message", "sequence", "token"} and o["error"]["status"] == 2'
err_is_one_line
expect 2 frobnicate --json
json '"frobnicate" in o["error"]["message"]'
expect 2 verify m.safetensors --json
json '"DATASET" in o["error"]["message"]'
expect 2 verify --tau x --json
json '"--tau" in o["error"]["message"]'
expect 2 build --frobnicate --json
json '"--frobnicate" in o["error"]["message"]'
echo '{"x": [[1], [2]], "y": [[2]]}' >bad.jsonl
echo '{"x": [[1], [3], [3]], "y": [[2]]}' >>bad.jsonl
expect 3 build bad.jsonl -o x.safetensors --json
json 'o["error"]["status"] == 3 and o["error"]["kind"] == "bad data" and o["error"]["sequence"] == 1 and o["error"]["token"] == 2'
err_is_one_line
expect 3 build bad.jsonl -o x.safetensors --json --quiet
json 'o["error"]["status"] == 3'
silent_err
expect 4 verify m.safetensors missing.npz --json
json 'o["error"]["status"] == 4 and "missing.npz" in o["error"]["message"]'

# Names that are not UTF-8 or not printable.
name=$(printf 'caf\351\033[31m.npz')
expect 4 verify m.safetensors "$name" --json
json 'o["error"]["status"] == 4'
! grep -q "$(printf '\033')" err
