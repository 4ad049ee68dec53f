#!/usr/bin/env python3
"""Trained families that contain the exact interpolant (docs/training.md).

    bench/study/interpolants.py PROGRAM [--only NAME]

For the published problem and for 10, 30 and 100 images of digits_class the interpolant of small norm
is built, and its family (as many blocks, width, order) is trained at four weight decays, each anew:
by L-BFGS from the interpolant, where the loss is exactly 0; by Adam from random parameters with rho,
eta and alpha 0.5 or 0; and, for the two small problems, by Adam from the interpolant. Each log is diagnosed. Writes
interpolants_NAME.csv beside this script and figures for docs/; the logs go to build/study. About
ten minutes of one core.
"""

import argparse
import ast
import json
import pathlib
import struct
import zipfile

from common import FIGURES, ROOT, run, write_table

# data: weight decays, epochs of Adam, iterations of L-BFGS
PLANS = {
    "published": ("1e-1,1e-2,1e-3,1e-4", 500, 150),
    "digits_10": ("1e-2,1e-3,1e-4,1e-5", 2000, 400),
    "digits_30": ("1e-2,1e-3,1e-4,1e-5", 1000, 200),
    "digits_100": ("1e-2,1e-3,1e-4,1e-5", 150, 40),
}
DRAWN = {"published": ["L-BFGS from the interpolant", "Adam from the interpolant"],
         "digits_10": ["Adam from random, residual 0.5", "Adam from random, residual 0"]}
COLUMNS = ["data", "blocks", "norm2", "run", "weight_decay", "threshold", "loss", "min_loss", "J",
           "J_over_threshold", "verdict", "constant_loss"]


def read_array(archive, name):
    """Values and shape of a .npy file in a zip: a header in Python's notation, then the numbers."""
    codes = {"|u1": "B", "<f8": "d", "<f4": "f", "<i8": "q", "<i4": "i", "<u2": "H"}
    raw = archive.read(name + ".npy")
    start = 10 + struct.unpack("<H", raw[8:10])[0]
    head = ast.literal_eval(raw[10:start].decode("ascii"))
    code = codes[head["descr"]]
    n = (len(raw) - start) // struct.calcsize(code)
    return struct.unpack(f"<{n}{code}", raw[start:]), head["shape"]


def subset(work, n_images):
    """The first images of digits_class as .jsonl."""
    with zipfile.ZipFile(ROOT / "data" / "digits_class.npz") as archive:
        x, (_, d) = read_array(archive, "x")
        offsets, _ = read_array(archive, "x_offsets")
        y, _ = read_array(archive, "y")
    path = work / f"digits_{n_images}.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        for j in range(n_images):
            tokens = [x[i * d:(i + 1) * d] for i in range(offsets[j], offsets[j + 1])]
            file.write(json.dumps({"x": tokens, "y": [y[j * d:(j + 1) * d]]}) + "\n")
    return path


def constant_loss(program, data, work):
    """Least mean over the sequences of |y_j - c|^2, which the mean of the y_j attains."""
    path = work / "constant.jsonl"
    run(program, "run", work / "exact.safetensors", data, "-o", path, "--distinct")
    rows = [json.loads(line)["y"][0] for line in path.read_text(encoding="utf-8").splitlines()]
    mean = [sum(column) / len(rows) for column in zip(*rows)]
    return sum(sum((a - m) ** 2 for a, m in zip(row, mean)) for row in rows) / len(rows)


def study(program, work, name, data):
    work = work / name
    work.mkdir(parents=True, exist_ok=True)
    exact = work / "exact.safetensors"
    run(program, "build", data, "-o", exact, "--optimise", "norm")
    shape = run(program, "inspect", exact)
    constant = constant_loss(program, data, work)
    decays, epochs, iterations = PLANS[name]
    random = ["--blocks", shape["blocks"], "--value", "low-rank", "--learning-rate", 3e-3]
    ways = {"L-BFGS from the interpolant": ["--init", exact, "--optimiser", "lbfgs"],
            "Adam from random, residual 0.5": [*random, "--residual", 0.5],
            "Adam from random, residual 0": [*random, "--residual", 0]}
    if name in ("published", "digits_10"):
        ways["Adam from the interpolant"] = ["--init", exact]
    rows = []
    for way, options in ways.items():
        tag = way.lower().replace("-", "").replace(" from ", "_").replace(", residual ", "_")
        tag = tag.replace("the ", "")
        log = work / f"{tag}.csv"
        how = ["--epochs", epochs if "Adam" in way else iterations]
        run(program, "train", data, "-o", work / f"{tag}.safetensors", *options, *how,
            "--weight-decay", decays, "--cold", "--log", log, "--log-every", 5, "--threads", 1)
        figure = []
        if way in DRAWN.get(name, ()):
            figure = ["--figure-epochs", FIGURES / f"study_{name}_{tag.replace('.', '')}.svg"]
        said = run(program, "diagnose", log, "--model", exact, "--data", data, *figure)
        for stage in said["stages"]:
            rows.append([name, shape["blocks"], f"{said['norm2']:.6g}", way, stage["weight_decay"],
                         *(f"{stage[key]:.6g}" for key in ("threshold", "loss", "min_loss", "J")),
                         f"{stage['J'] / stage['threshold']:.4f}", stage["verdict"],
                         f"{constant:.6g}"])
    return rows


def main():
    parser = argparse.ArgumentParser(description="Families that contain the exact interpolant.")
    parser.add_argument("program")
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    work = ROOT / "build" / "study"
    work.mkdir(parents=True, exist_ok=True)
    problems = {"published": ROOT / "data" / "tikhonov.npz"}
    problems |= {f"digits_{n}": subset(work, n) for n in (10, 30, 100)}
    for name, data in problems.items():
        if not options.only or name in options.only:
            write_table(f"interpolants_{name}.csv", COLUMNS, study(program, work, name, data))


if __name__ == "__main__":
    main()
