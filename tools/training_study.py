#!/usr/bin/env python3
"""The regularised-training study on the published problem (docs/training.md).

    tools/training_study.py PROGRAM [--only STUDY] [--work DIR] [--write FILE.csv] [--jobs K]

Trains with `exactformer train` and writes one row for each weight decay of each study:
    published      the published run: Adam in binary32, one model warm-started down the list
    published-1e-4 the same, a fresh model at 1e-4
    cold           the published initial parameters anew at every weight decay
    lbfgs          L-BFGS in binary64: each stage from the end of the one before and from
                   random starts, the best J kept
    polish         L-BFGS on J from an exact interpolant (build --optimise norm), each weight
                   decay anew; its loss at the start is exactly 0
and first the squared norms of the teacher and of the interpolant in the families. The logs
of the runs stay in DIR (default build/training_study). Three and a half minutes of processor time in all.
"""

import argparse
import concurrent.futures
import csv
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = "data/tikhonov.npz"
INITIAL = ["--init", "data/tikhonov_initial.safetensors"]
TEACHER = ["--init", "data/tikhonov_teacher.safetensors", "--value", "full"]
DECAYS = "1e-1,1e-2,1e-3,1e-4"
COLUMNS = ["study", "weight_decay", "epochs", "start", "loss", "min_loss", "norm2", "J", "J_first"]


def studies(exact):
    lbfgs = ["--optimiser", "lbfgs"]
    return {
        "published": INITIAL + ["--weight-decay", "1e-1,1e-2,1e-3", "--epochs", "5000,10000,50000"],
        "published-1e-4": INITIAL + ["--weight-decay", "1e-4", "--epochs", "50000"],
        "cold": INITIAL + ["--weight-decay", "1e-2,1e-3", "--cold", "--epochs", "10000,50000"],
        "lbfgs": lbfgs + ["--order", "sa-ff", "--weight-decay", DECAYS, "--starts", "4",
                          "--epochs", "3000,5000,8000,15000"],
        "polish": lbfgs + ["--init", exact, "--weight-decay", DECAYS, "--cold", "--epochs", "1000"],
    }


def run(program, *arguments):
    out = subprocess.run([program, *map(str, arguments), "--json"], cwd=ROOT, check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out)


def read_log(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def train(program, work, name, options):
    log = work / f"{name}.csv"
    report = run(program, "train", DATA, "-o", work / f"{name}.safetensors", "--log", log,
                 "--threads", "1", *options)
    records = read_log(log)
    rows = []
    for i, stage in enumerate(report["stages"]):
        first = next(r for r in records if r["stage"] == str(i) and r["start"] == str(stage["start"]))
        rows.append([name, f"{stage['weight_decay']:g}", stage["epochs"], stage["start"],
                     *(f"{stage[key]:.6g}" for key in ("loss", "min_loss", "norm2", "J")),
                     f"{float(first['J']):.6g}"])
    return rows


def norm_of(program, work, name, options):
    """|theta|^2 of a model as a member of its family, and its loss."""
    log = work / f"{name}.csv"
    run(program, "train", DATA, "-o", work / "ignored.safetensors", "--log", log, "--epochs", "1",
        *options)
    first = read_log(log)[0]
    return [name, "", 0, 0, first["loss"], first["loss"], f"{float(first['norm2']):.6g}", "", ""]


def main():
    parser = argparse.ArgumentParser(description="The regularised-training study.")
    parser.add_argument("program")
    parser.add_argument("--only", action="append", help="this study only; may be repeated")
    parser.add_argument("--work", default=str(ROOT / "build" / "training_study"))
    parser.add_argument("--write", metavar="FILE.csv")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    work = pathlib.Path(options.work).resolve()
    work.mkdir(parents=True, exist_ok=True)
    exact = str(work / "exact.safetensors")
    run(program, "build", DATA, "-o", exact, "--optimise", "norm")
    rows = [norm_of(program, work, "teacher", TEACHER),
            norm_of(program, work, "interpolant", ["--init", exact])]
    chosen = {name: how for name, how in studies(exact).items()
              if not options.only or name in options.only}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for part in pool.map(lambda item: train(program, work, *item), chosen.items()):
            rows += part
    lines = [",".join(COLUMNS)] + [",".join(map(str, row)) for row in rows]
    print("\n".join(lines))
    if options.write:
        pathlib.Path(options.write).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
