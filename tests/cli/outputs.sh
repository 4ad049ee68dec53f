# What run writes: a row a token; with --distinct the targets, in order of first appearance;
# with --positions without the last coordinate.
xf generate gaussian -N 15 -d 2 -n 3:6 -m 1:3 -o a.jsonl -q
xf build a.jsonl -o m.safetensors -q
xf run m.safetensors a.jsonl -o all.jsonl -q
xf run m.safetensors a.jsonl -o sets.jsonl --distinct -q
python3 - <<'END'
import json
read = lambda name: [json.loads(line) for line in open(name)]
data, everything, sets = read("a.jsonl"), read("all.jsonl"), read("sets.jsonl")
assert len(data) == len(everything) == len(sets) == 15
for pair, rows, distinct in zip(data, everything, sets):
    assert len(rows["y"]) == len(pair["x"])
    first = []
    for row in rows["y"]:
        if row not in first:
            first.append(row)
    assert first == distinct["y"]
    assert sorted(first) == sorted(pair["y"])
END

# Inputs without targets.
python3 - <<'END'
import json
with open("inputs.jsonl", "w") as out:
    for line in open("a.jsonl"):
        out.write(json.dumps({"x": json.loads(line)["x"]}) + "\n")
END
xf run m.safetensors inputs.jsonl -o again.jsonl -q
cmp all.jsonl again.jsonl
expect 3 verify m.safetensors inputs.jsonl

# Repeated tokens and positions.
echo '{"x": [[1], [1], [2]], "y": [[5], [5]]}' >words.jsonl
echo '{"x": [[2], [1], [1]], "y": [[7], [6]]}' >>words.jsonl
expect 3 build words.jsonl -o w.safetensors
err_has "--positions append"
[ ! -e w.safetensors ]
xf build words.jsonl -o w.safetensors --positions append -q
expect 0 verify w.safetensors words.jsonl
expect 0 inspect w.safetensors words.jsonl
out_has "positions"
expect 0 run w.safetensors words.jsonl -o with.jsonl --distinct
out_has "d = 2"
expect 0 run w.safetensors words.jsonl -o without.jsonl --distinct --positions
out_has "d = 1"
python3 - <<'END'
import json
rows = [json.loads(line)["y"] for line in open("without.jsonl")]
assert rows[0] == [[5], [5]] and sorted(rows[1]) == [[6], [7]], rows
END
expect 2 run m.safetensors a.jsonl -o x.jsonl --positions
err_is <<END
exactformer: run: --positions: the model has no position coordinate
END
