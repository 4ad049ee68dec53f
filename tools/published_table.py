#!/usr/bin/env python3
"""Build the published construction for many data sets and print a table (Markdown).

    tools/published_table.py EXACTFORMER XF_SENSES [--write FILE | --check FILE]

EXACTFORMER is the program, XF_SENSES the program of that name among the tests. Each data set is
generated, read or written here, then built, inspected, verified in every sense; one that is not
exact, or deeper than the paper allows, ends the script with status 1. --write puts the table between
the markers in FILE, --check compares it with what is there. Standard library only.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

BEGIN, END = "<!-- published table -->", "<!-- end of published table -->"
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
COLUMNS = ["data", "N", "M", "T", "d", "separate", "quantise", "leaders", "collapse", "project",
           "write", "blocks L", "2M+2N+1", "2M+3N", "parameters/(dM)", "largest weight", "(R)", "(F)",
           "softmax at τ\\*", "τ\\*"]
# The phases with a column of their own; what follows them is the writer's.
PHASES = ["separation", "quantise", "leaders", "collapse", "project"]

SINGLE = [([[1, 2]], [[3, 4]])]
EQUAL_MEANS = [([[-1, -1], [0, 0], [1, 1]], [[1, 0], [2, 0], [3, 0]]),
               ([[-2, -2], [0, 0], [2, 2]], [[1, 1], [2, 1], [3, 1]])]
COLLINEAR = [([[k + 3 * j * j, 2 * k + 6 * j * j - 1, 5 - k - 3 * j * j] for k in range(3)],
              [[j, 1, 0.5], [j, 2, 0.25]]) for j in range(8)]

# Name, and arguments of `generate`, a file in data/, or the pairs themselves.
ROWS = [
    ("a single token", SINGLE),
    ("three sequences of [phases.md](phases.md)", "three_sequences.jsonl"),
    ("off grid: 7 targets of one sequence", "gaussian -N 1 -d 5 -n 7 -m 7 --seed 1"),
    ("all pairs of 3 tokens", "pairs -N 3 -d 2 --vocabulary 3 -m 2 --seed 1"),
    ("nested {a}, {a, b}, …", "nested -N 4 -d 2 -n 4 -m 1:4 --seed 1"),
    ("equal means {−k, 0, k}", EQUAL_MEANS),
    ("mirrored X and −X", "mirrored -N 10 -d 3 -n 4 -m 2 --seed 1"),
    ("all 3-subsets of 6 tokens", "subsets -N 20 -d 2 --vocabulary 6 -m 3 --seed 1"),
    ("vocabulary of 30 tokens", "vocabulary -N 30 -d 4 -n 6 -m 1:6 --vocabulary 30 --seed 1"),
    ("integer lattice", "lattice -N 15 -d 3 -n 3:6 -m 1:3 --seed 1"),
    ("permutations", "permutation -N 12 -d 2 -n 4 -m 4 --grid integer --input-grid integer --seed 1"),
    ("random, d = 16, full targets", "gaussian -N 10 -d 16 -n 30 -m 5 --seed 1"),
    ("random, d = 16, binary32 targets", "gaussian -N 10 -d 16 -n 30 -m 5 --grid f32 --seed 1"),
    ("many sequences, m = 1", "gaussian -N 200 -d 4 -n 3:6 -m 1 --grid f32 --seed 1"),
    ("d = 64", "gaussian -N 8 -d 64 -n 6 -m 3 --grid f16 --seed 1"),
    ("long sequences", "long -N 4 -d 4 -n 500 -m 2 --grid f16 --seed 1"),
    ("offset 10⁶", "gaussian -N 10 -d 4 -n 5 -m 2 --grid f32 --offset 1e6 --seed 1"),
    ("scale 10⁶⁰", "gaussian -N 10 -d 4 -n 5 -m 2 --grid f32 --scale 1e60 --seed 1"),
    ("anisotropic, 2⁻²⁰ to 2²⁰", "anisotropic -N 8 -d 4 -n 5 -m 2 --seed 1"),
    ("collinear tokens", COLLINEAR),
]


def run(*command):
    """What a program says in JSON; any failure is the end."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"published_table: {' '.join(command)} ended with status {done.returncode}")
    return json.loads(done.stdout)


def data_file(program, source, folder):
    """The path of a data set."""
    if isinstance(source, str) and source.endswith(".jsonl"):
        return os.path.join(FOLDER, source)
    if isinstance(source, str):
        path = os.path.join(folder, "data.npz")
        run(program, "generate", *source.split(), "-o", path, "--json")
        return path
    path = os.path.join(folder, "data.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"x": x, "y": y}) + "\n" for x, y in source)
    return path


def has_leaders(found):
    """Where it would exceed the bound the construction hands over to the pooled one."""
    return found["front"] == "leaders"


def count_blocks(found):
    """Blocks of each phase that has a column, then of the rest."""
    if not has_leaders(found):
        return ["–"] * len(PHASES) + [found["blocks"]]
    counts = {name: 0 for name in PHASES + ["rest"]}
    for phase in found["phases"]:
        counts[phase["name"] if phase["name"] in counts else "rest"] += phase["count"]
    return list(counts.values())


def measure(programs, row, folder):
    """One line of the table."""
    (program, senses), (name, source) = programs, row
    data, model = data_file(program, source, folder), os.path.join(folder, "model.safetensors")
    run(program, "build", data, "-o", model, "--construction", "published", "--json")
    found, verdict = run(program, "inspect", model, data, "--json"), run(senses, model, data)
    n, m, blocks = found["sequences"], found["targets"], found["blocks"]
    hard, soft = 2 * m + 2 * n + 1, 2 * m + 3 * n
    if blocks > min(hard, soft) or not (verdict["real"] and verdict["float"] and verdict["softmax"]):
        sys.exit(f"published_table: {name}: {blocks} blocks for {hard} and {soft}, {verdict}")
    tau = found["tau_max"]
    cells = [name if has_leaders(found) else f"{name} ¹", n, m, found["tokens"], found["d"], *count_blocks(found), f"**{blocks}**", hard, soft,
             f"{found['parameters_nonzero'] / (found['d'] * m):.1f}", f"{found['max_abs_weight']:.2g}",
             "yes", "yes", "yes", "∞" if tau is None else f"{tau:.2g}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def table(programs):
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    with tempfile.TemporaryDirectory() as folder:
        lines += [measure(programs, row, folder) for row in ROWS]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", metavar="EXACTFORMER", type=os.path.abspath)
    parser.add_argument("senses", metavar="XF_SENSES", type=os.path.abspath)
    parser.add_argument("--write", metavar="FILE", help="put the table into this file")
    parser.add_argument("--check", metavar="FILE", help="compare it with the table in this file")
    arguments = parser.parse_args()
    text = table((arguments.program, arguments.senses))
    path = arguments.write or arguments.check
    if path is None:
        print(text)
        return
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
    inside, after = rest.split(END)
    if arguments.write:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{before}{BEGIN}\n{text}\n{END}{after}")
    elif inside.strip() != text:
        sys.exit(f"published_table: {path} is out of date; it should read\n{text}")
    print(f"{len(ROWS)} data sets, all exact")


if __name__ == "__main__":
    main()
