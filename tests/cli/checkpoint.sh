# train --resume: every number of a checkpoint is checked. A changed one is found by the digest, and one that
# no run can have is refused even where the digest has been made to fit.
xf generate gaussian -N 6 -d 2 -n 3 --seed 3 -o a.npz -q
for optimiser in adam lbfgs; do
    how="a.npz --optimiser $optimiser --epochs 4 --weight-decay 0.1,0.01 --starts 2"
    xf train $how -o m.safetensors --checkpoint good.safetensors --log m.csv -q
    cp good.safetensors run.safetensors
    expect 0 train $how -o k.safetensors --checkpoint run.safetensors --resume --log k.csv
    cmp m.safetensors k.safetensors
    cmp m.csv k.csv
    rm k.safetensors k.csv

    python3 - <<'PYTHON'
import hashlib, json, struct
raw = open("good.safetensors", "rb").read()
start = 8 + struct.unpack("<Q", raw[:8])[0]
head = json.loads(raw[8:start])
old = head["__metadata__"]["values_sha256"].encode()

def spoil(array, place, value, code="<d"):
    at = start + head[array]["data_offsets"][0] + 8 * place
    return raw[:at] + struct.pack(code, value) + raw[at + 8:]

def digest(data):
    whole = hashlib.sha256()
    for name in ("theta", "m", "v", "kept", "place", "reports", "records"):
        first, last = head[name]["data_offsets"]
        whole.update(data[start + first:start + last])
    return whole.hexdigest().encode()

assert digest(raw) == old, "the digest is not that of the numbers"
cases = open("cases.txt", "w")
n = 0
for array, places in (("theta", [0]), ("m", [1]), ("v", [0]), ("kept", [2]), ("records", range(7)), ("reports", range(22))):
    for place in places:
        for value in (float("nan"), float("inf"), -5.0, 1e300, 0.3):
            data = spoil(array, place, value)
            if data == raw:
                continue
            n += 1
            open(f"spoiled_{n}.safetensors", "wb").write(data)
            print(f"spoiled_{n}.safetensors the checkpoint is damaged", file=cases)
            # Finite parameters and smaller minima are possible numbers.
            if value != value or (value in (float("inf"), -5.0) and array == "records") or (
                    value == -5.0 and array == "reports"):
                n += 1
                open(f"spoiled_{n}.safetensors", "wb").write(data.replace(old, digest(data)))
                print(f"spoiled_{n}.safetensors array '{array}' has a number that this run cannot have", file=cases)
for place, value in ((0, 3), (0, -1), (1, 2), (2, 99)):
    data = spoil("place", place, value, "<q")
    n += 1
    open(f"spoiled_{n}.safetensors", "wb").write(data.replace(old, digest(data)))
    if place != 2: # epochs count for nothing at the end
        print(f"spoiled_{n}.safetensors array 'place' is out of range", file=cases)
PYTHON
    while read -r file message; do
        expect 3 train $how -o k.safetensors --checkpoint "$file" --resume --log k.csv
        err_is_one_line
        err_has "$file: $message"
    done <cases.txt
    [ "$(wc -l <cases.txt)" -gt 100 ] || complain "only $(wc -l <cases.txt) cases"
    [ ! -e k.safetensors ] && [ ! -e k.csv ] || complain "a spoiled checkpoint has outputs"
    rm spoiled_*
done
# A checkpoint without digest is not taken at its word.
python3 - <<'PYTHON'
raw = open("good.safetensors", "rb").read()
assert raw.count(b"values_sha256") == 1
open("mute.safetensors", "wb").write(raw.replace(b"values_sha256", b"values_sha25x"))
PYTHON
expect 3 train $how -o k.safetensors --checkpoint mute.safetensors --resume
err_has "the checkpoint is damaged"
