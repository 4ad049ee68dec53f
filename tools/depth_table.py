#!/usr/bin/env python3
"""Build the data sets of the README's depth table and print the table (Markdown).

    tools/depth_table.py EXACTFORMER [--check README.md]

Each data set is generated or read, built and verified; a model that is not exact ends the
script with status 1. With --check the table between the two markers in the file must be
the one printed. Standard library only.
"""

import json
import os
import subprocess
import sys
import tempfile

BEGIN, END = "<!-- depth table -->", "<!-- end of depth table -->"

# Name, arguments of `generate` (None: a file in data/), arguments of `build`.
ROWS = [
    ("handwritten digits, class of each image", "digits_class.npz", ""),
    ("handwritten digits, lower half from upper half", "digits_inpaint.npz", ""),
    ("Gaussian, d = 16, m = 1, binary32 targets",
     "gaussian -N 1000 -d 16 -n 8 -m 1 --grid f32 --seed 1", ""),
    ("Gaussian, d = 16, 1 to 4 targets, binary32 targets",
     "gaussian -N 1000 -d 16 -n 8 -m 1:4 --grid f32 --seed 1", ""),
    ("Gaussian, d = 16, m = 1, full binary64 targets",
     "gaussian -N 1000 -d 16 -n 8 -m 1 --seed 1", ""),
    ("permutations, d = 2, n = m = 10, integers",
     "permutation -N 300 -d 2 -n 10 -m 10 --grid integer --input-grid integer --seed 2", ""),
    ("shared vocabulary, d = 16, integer targets",
     "vocabulary -N 500 -d 16 -n 4:12 -m 1:4 --grid integer --seed 1", ""),
    ("all pairs of a set, d = 4", "pairs -N 100 -d 4 -m 1:2 --seed 1", ""),
    ("equal means, d = 3", "equal-means -N 50 -d 3 -m 1:2 --seed 1", ""),
    ("hard floats, d = 5", "hard-floats -N 100 -d 5 -n 4:8 -m 1:8 --seed 1", ""),
    ("long sequences, n = 5000, d = 8",
     "long -N 20 -d 8 -n 5000 -m 1:4 --grid f16 --seed 1", ""),
    ("Gaussian, d = 16, m = 1, a binary32 model",
     "gaussian -N 400 -d 16 -n 8 -m 1 --grid f32 --seed 1", "--dtype f32"),
]


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"depth_table: {' '.join(command)} ended with status {done.returncode}")
    return json.loads(done.stdout)


def measure(program, row, folder):
    name, source, options = row
    if source.endswith(".npz"):
        data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", source)
    else:
        data = os.path.join(folder, "data.npz")
        run([program, "generate", *source.split(), "-o", data, "--json"])
    model = os.path.join(folder, "model.safetensors")
    built = run([program, "build", data, "-o", model, "--json", *options.split()])
    verified = run([program, "verify", model, data, "--json"])
    return (f"| {name} | {built['sequences']} | {built['targets']} | {built['front']}, "
            f"{built['writer']} | **{built['blocks']}** | {built['bound']} | "
            f"{verified['exact']} of {verified['sequences']} |")


def table(program):
    lines = ["| data | N | M | front end, writer | blocks | published bound | exact |",
             "|---|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        lines += [measure(program, row, folder) for row in ROWS]
    return "\n".join(lines)


def main():
    text = table(sys.argv[1])
    if len(sys.argv) == 2:
        print(text)
        return
    with open(sys.argv[3], encoding="utf-8") as file:
        inside = file.read().split(BEGIN)[1].split(END)[0].strip()
    if inside != text:
        sys.exit(f"depth_table: {sys.argv[3]} is out of date; it should read\n{text}")
    print(f"{len(ROWS)} rows agree")


if __name__ == "__main__":
    main()
