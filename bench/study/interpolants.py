#!/usr/bin/env python3
"""Trained families that contain the exact interpolant (docs/training.md).

    bench/study/interpolants.py PROGRAM [--only NAME] [--jobs K]

For the published problem and for 10, 30 and 100 images of digits_class the interpolant of small norm
is built, and its family (as many blocks, width, order) is trained at four weight decays, each anew:
by L-BFGS from the interpolant, where the loss is exactly 0; by Adam from random parameters with rho,
eta and alpha 0.5 or 0, for 30 images also 0.7; and, for the two small problems, by Adam from the
interpolant. Each log is diagnosed. Writes
interpolants_NAME.csv beside this script and figures for docs/; the logs go to build/study. The last
column is the processor time of a run's four weight decays together. About 18 minutes in all.
"""

import argparse
import ast
import concurrent.futures
import json
import os
import pathlib
import struct
import subprocess
import zipfile

from common import FIGURES, ROOT, run, write_table

# data: weight decays, epochs of Adam from random, of Adam from the interpolant, of L-BFGS
PLANS = {
    "published": ("1e-1,1e-2,1e-3,1e-4", 500, 500, 150),
    "digits_10": ("1e-2,1e-3,1e-4,1e-5", 20000, 2000, 400),
    "digits_30": ("1e-2,1e-3,1e-4,1e-5", 3000, 0, 200),
    "digits_100": ("1e-2,1e-3,1e-4,1e-5", 400, 0, 40),
}
BETWEEN = {"digits_30": 6000}  # epochs of Adam where a residual of 0.7 neither dies nor explodes
DRAWN = {"published": ["L-BFGS from the interpolant", "Adam from the interpolant"],
         "digits_10": ["Adam from random, residual 0.5", "Adam from random, residual 0"]}
COLUMNS = ["data", "blocks", "norm2", "run", "weight_decay", "threshold", "loss", "min_loss", "J",
           "J_over_threshold", "verdict", "constant_loss", "epochs", "run_seconds"]


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


def timed(program, *arguments):
    """Run a command and return its processor time in seconds."""
    with subprocess.Popen([program, *map(str, arguments), "-q"], stderr=subprocess.PIPE,
                          text=True) as process:
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, arguments))}: {said.strip()}")
    return used.ru_utime + used.ru_stime


def train(program, work, data, way, plan, decays, facts, constant):
    """One row for each weight decay."""
    exact, name, (length, *options) = work / "exact.safetensors", facts[0], plan
    tag = way.lower().replace("-", "").replace(" from ", "_").replace(", residual ", "_")
    tag = tag.replace("the ", "")
    log = work / f"{tag}.csv"
    seconds = timed(program, "train", data, "-o", work / f"{tag}.safetensors", *options,
                    "--epochs", length, "--weight-decay", decays, "--cold", "--log", log,
                    "--log-every", max(5, length // 400), "--threads", 1)
    figure = []
    if way in DRAWN.get(name, ()):
        figure = ["--figure-epochs", FIGURES / f"study_{name}_{tag.replace('.', '')}.svg"]
    said = run(program, "diagnose", log, "--model", exact, "--data", data, *figure)
    return [[*facts, f"{said['norm2']:.6g}", way, stage["weight_decay"],
             *(f"{stage[key]:.6g}" for key in ("threshold", "loss", "min_loss", "J")),
             f"{stage['J'] / stage['threshold']:.4f}", stage["verdict"], f"{constant:.6g}", length,
             f"{seconds:.1f}"] for stage in said["stages"]]


def study(program, work, name, data, jobs):
    work = work / name
    work.mkdir(parents=True, exist_ok=True)
    exact = work / "exact.safetensors"
    run(program, "build", data, "-o", exact, "--optimise", "norm")
    shape = run(program, "inspect", exact)
    constant = constant_loss(program, data, work)
    decays, epochs, from_exact, iterations = PLANS[name]
    random = ["--blocks", shape["blocks"], "--value", "low-rank", "--learning-rate", 3e-3]
    ways = {"L-BFGS from the interpolant": (iterations, "--init", exact, "--optimiser", "lbfgs"),
            "Adam from random, residual 0.5": (epochs, *random, "--residual", 0.5),
            "Adam from random, residual 0": (epochs, *random, "--residual", 0)}
    if name in BETWEEN:
        ways["Adam from random, residual 0.7"] = (BETWEEN[name], *random, "--residual", 0.7)
    if from_exact > 0:
        ways["Adam from the interpolant"] = (from_exact, "--init", exact)
    facts = [name, shape["blocks"]]

    def rows_of(way):
        return train(program, work, data, way, ways[way], decays, facts, constant)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [row for rows in pool.map(rows_of, ways) for row in rows]


def main():
    parser = argparse.ArgumentParser(description="Families that contain the exact interpolant.")
    parser.add_argument("program")
    parser.add_argument("--only", action="append", choices=PLANS, help="this data set only; may be repeated")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    options = parser.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    work = ROOT / "build" / "study"
    work.mkdir(parents=True, exist_ok=True)
    for name in options.only or PLANS:
        data = ROOT / "data" / "tikhonov.npz"
        if name != "published":
            data = subset(work, int(name.removeprefix("digits_")))
        rows = study(program, work, name, data, options.jobs)
        write_table(f"interpolants_{name}.csv", COLUMNS, rows)


if __name__ == "__main__":
    main()
