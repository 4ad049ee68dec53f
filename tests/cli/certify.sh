# What certify writes: claims, digests, margins; yes, no and unknown; exit statuses.
small_data a.npz
xf build a.npz -o m.safetensors -q
expect 0 certify m.safetensors a.npz -o c.json
silent_err
out_has "real          yes: exact in real arithmetic, 20 sequences proved, 0 disproved"
out_has "ieee          yes: exact in every order of summation, with and without FMA, 20 sequences proved, 0 disproved"
out_has "written       c.json"
expect 0 certify m.safetensors a.npz -o d.json --threads 1 --json
silent_err
json 'set(o) == {"real", "ieee", "subnormals_absent", "exp_ulp", "margin", "seconds", "output"}'
json 'o["real"]["answer"] == o["ieee"]["answer"] == "yes" and o["exp_ulp"] is None and o["subnormals_absent"] and o["margin"] > 1'
diff <(sed 's/"threads": [0-9]*//' c.json) <(sed 's/"threads": [0-9]*//' d.json) || complain "threads change the certificate"

python3 - <<'PYTHON'
import hashlib, json
c = json.load(open("c.json"))
assert c["format"] == "exactformer-certificate" and c["version"] == 1
assert c["tool"]["name"] == "exactformer" and "FLINT" in c["tool"]["backend"]
for key, name in ("model", "m.safetensors"), ("dataset", "a.npz"):
    data = open(name, "rb").read()
    assert c[key]["sha256"] == hashlib.sha256(data).hexdigest() and c[key]["bytes"] == len(data)
assert c["model"]["dtype"] == "F64" and c["model"]["d"] == 3 and c["model"]["width"] == 4
assert c["dataset"]["sequences"] == 20
assert c["options"] == {"exp_ulp": 4, "threads": c["options"]["threads"]}
for name in "real", "ieee":
    claim = c["claims"][name]
    assert claim["answer"] == "yes" and claim["proved"] == 20 and claim["disproved"] == 0
    assert all(claim[k] is None for k in ("tau_min", "tau_max", "sequence", "token", "block", "reason"))
assert c["claims"]["ieee"]["conditions"] == {"subnormals": "absent", "exp_ulp": None}
first = 0
for phase in c["phases"]:
    assert phase["first"] == first
    first += phase["count"]
    for sense in "real", "ieee":
        assert (phase[sense]["margin"] is None) == (phase[sense]["block"] is None)
assert first == c["model"]["blocks"] and any(p["ieee"]["margin"] for p in c["phases"])
assert len(c["trusted"]) > 3
PYTHON

# Other targets: no, and the sequence is named; the certificate is written all the same.
xf generate gaussian -N 20 -d 3 --grid f32 --seed 1 -o b.npz -q
expect 1 certify m.safetensors b.npz -o no.json
silent_err
out_has "real          no: "
out_has "sequence 0"
expect 1 certify m.safetensors b.npz -o no.json --json
json 'o["real"]["answer"] == o["ieee"]["answer"] == "no" and o["real"]["sequence"] == 0'
python3 -c 'import json; c = json.load(open("no.json")); assert c["claims"]["ieee"]["disproved"] == 1 and c["claims"]["ieee"]["sequence"] == 0'

# What verify cannot see: x + 1 - 1 is x in index order, and not in every other.
python3 - <<'PYTHON'
import json, struct
L, d, w = 1, 2, 2
config = {"d": d, "width": w, "blocks": L, "attention": "hardmax", "tau": None, "tau_max": None,
          "dtype": "F64", "construction": "edited", "sequences": 1, "targets": 1, "tokens": 1,
          "phases": [{"name": "all", "first": 0, "count": 1}], "positions": None}
# FF: x_0 + relu(x_1) - relu(x_1) + ...: eta x_0 + r_0 - r_1 with r_0 = r_1 = 2^60
tensors = [("ff.eta", [L], [1]), ("ff.W", [L, d, w], [1, -1, 0, 0]), ("ff.U", [L, w, d], [0, 1, 0, 1]),
           ("ff.b", [L, w], [0, 0]), ("sa.rho", [L], [1])]
for m in "A", "V":
    tensors += [(f"sa.{m}.alpha", [L], [0]), (f"sa.{m}.left", [L, d], [0] * d), (f"sa.{m}.right", [L, d], [0] * d)]
header, body = {"__metadata__": {"format": "exactformer", "version": "1", "config": json.dumps(config)}}, b""
for name, shape, values in tensors:
    data = struct.pack("<%dd" % len(values), *values)
    header[name] = {"dtype": "F64", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
    body += data
text = json.dumps(header).encode()
open("order.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + body)
one = 2.0 ** 60
open("order.jsonl", "w").write(json.dumps({"x": [[256.0, one]], "y": [[256.0, one]]}) + "\n")
open("orders.jsonl", "w").write(json.dumps({"x": [[0.1, one]], "y": [[0.1, one]]}) + "\n")
open("rounded.jsonl", "w").write(json.dumps({"x": [[0.1, one]], "y": [[0.0, one]]}) + "\n")
PYTHON
expect 0 certify order.safetensors order.jsonl -o o.json
expect 0 verify order.safetensors rounded.jsonl
expect 1 certify order.safetensors rounded.jsonl -o o.json --json
json 'o["real"]["answer"] == "no" and o["ieee"]["answer"] == "no" and "order" in o["ieee"]["reason"]'
expect 1 certify order.safetensors orders.jsonl -o o.json --json
json 'o["real"]["answer"] == "yes" and o["ieee"]["answer"] == "no" and o["ieee"]["sequence"] == 0'

# Softmax with logits: the temperatures are part of the claim.
xf generate gaussian -N 6 -d 3 -n 2:4 -m 1:2 -o p.npz -q
xf build p.npz -o p.safetensors --construction published --attention softmax --tau 0.5 -q
expect 0 certify p.safetensors p.npz -o p.json --exp-ulp 8 --json
json 'o["exp_ulp"] == 8 and o["real"]["tau_min"] == 0 and o["real"]["tau_max"] == o["ieee"]["tau_max"] >= 0.5'
expect 1 certify p.safetensors p.npz -o p.json --tau 1000
expect 0 certify p.safetensors p.npz -o p.json --attention hardmax --json
json 'o["exp_ulp"] is None and o["real"]["tau_max"] is None'

expect 2 certify m.safetensors p.jsonl
echo '{"x": [[1, 2]], "y": [[3, 4]]}' >d2.jsonl
expect 2 certify m.safetensors d2.jsonl -o x.json
err_is_one_line
expect 4 certify missing.safetensors a.npz -o x.json
err_is_one_line
[ ! -e x.json ]
expect 4 certify /dev/zero a.npz -o x.json
err_has "/dev/zero: cannot read: it is not a regular file"
