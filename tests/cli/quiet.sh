# --quiet: no report, no notes; failures still speak, and --json still prints its object.
small_data a.npz
quiet() {
    expect "$@"
    silent_out
    silent_err
}
quiet 0 generate gaussian -o b.npz --quiet
quiet 0 generate --list --quiet
quiet 0 build a.npz -o m.safetensors --quiet
quiet 0 verify m.safetensors a.npz -q
quiet 0 certify m.safetensors a.npz -o c.json -q
quiet 0 inspect m.safetensors a.npz -q
quiet 0 export m.safetensors -o n.safetensors -q
quiet 0 run m.safetensors a.npz -o o.npz -q
expect 2 build a.npz -q
silent_out
err_is_one_line
expect 0 verify m.safetensors a.npz -q --json
json 'o["exact"] == 20'

# Notes: a repeated pair is dropped.
echo '{"x": [[1], [2]], "y": [[3]]}' >twice.jsonl
echo '{"x": [[2], [1]], "y": [[3]]}' >>twice.jsonl
expect 0 build twice.jsonl -o t.safetensors
grep -q '^exactformer: note: ' err || complain "no note"
expect 0 build twice.jsonl -o t.safetensors --json
grep -q '^exactformer: note: ' err || complain "no note"
json 'o["sequences"] == 1'
quiet 0 build twice.jsonl -o t.safetensors --quiet

# A temperature beyond the one that the model is known to be exact for.
python3 - <<'PYTHON'
import json, struct
data = open("m.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
config = json.loads(header["__metadata__"]["config"])
for name, limit in (("warm", 0.5), ("hard", 0)):
    config["tau_max"] = limit
    header["__metadata__"]["config"] = json.dumps(config)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(name + ".safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data[8 + size:])
PYTHON
expect 0 verify warm.safetensors a.npz --attention softmax --tau 0.5
silent_err
expect 0 verify warm.safetensors a.npz --attention softmax --tau 0.75
err_is <<END
exactformer: note: the model is only known to be exact up to tau = 0.5
END
expect 0 verify hard.safetensors a.npz --attention softmax --json
json 'o["attention"] == "softmax"'
err_is <<END
exactformer: note: the model is only known to be exact with hardmax attention
END
quiet 0 verify hard.safetensors a.npz --attention softmax -q
expect 0 inspect warm.safetensors
out_has "for softmax with tau up to 0.5"
