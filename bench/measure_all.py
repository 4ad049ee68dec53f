#!/usr/bin/env python3
"""Runs every measurement and writes bench/results.csv and the tables of docs/performance.md.

    bench/measure_all.py [--quick] BUILD          (called by bench/run.sh)

Every part is a program of its own that can be run alone. results.csv has one figure a line: part, case,
quantity, value, unit. A part that fails or exceeds its time limit stops the run, and nothing is written.
"""

import argparse
import csv
import importlib.util
import json
import math
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "bench/results.csv", ROOT / "docs/performance.md"
BEGIN, END = "<!-- bench/run.sh writes from here -->", "<!-- to here -->"

# N, n, d of the growth in one letter each, quick and full; m = 1, so that M = N and T = N n.
GROWTH = {
    "T": ([(100, 100, 64), (1000, 100, 64)], [(1000, 100, 64), (10000, 100, 64)]),
    "M": (
        [(2000, 4, 16), (20000, 4, 16)],
        [(10000, 4, 16), (100000, 4, 16), (1000000, 4, 16)],
    ),
    "M, n = 10": ([(1000, 10, 64), (10000, 10, 64)], [(10000, 10, 64), (100000, 10, 64)]),
    "d": ([(1000, 20, 16), (1000, 20, 128)], [(5000, 20, 16), (5000, 20, 128)]),
    "n": ([(1000, 10, 32), (1000, 100, 32)], [(5000, 10, 32), (5000, 100, 32)]),
}


class Bench:
    def __init__(self, build, quick):
        self.build, self.quick, self.rows = build, quick, []
        self.threads = len(os.sched_getaffinity(0))
        self.torch = importlib.util.find_spec("torch") is not None

    def add(self, part, case, quantity, value, unit):
        if isinstance(value, float):
            value = f"{value:.6g}"
        self.rows.append((part, case, quantity, "" if value is None else value, unit))

    def run(self, *command, limit=900):
        print("...", pathlib.Path(command[0]).name, *command[1:], flush=True)
        command = [str(part) for part in command]
        return subprocess.run(
            command, check=True, text=True, timeout=limit, stdout=subprocess.PIPE, cwd=ROOT
        ).stdout

    def python(self, script, *arguments, limit=900):
        return self.run(sys.executable, f"bench/{script}", *arguments, limit=limit)

    def limits(self):
        for threads in sorted({1, self.threads}):
            found = json.loads(self.run(self.build / "xf_bench_limits", threads, 1))
            case = f"{threads} threads"
            self.add("limits", case, "triad", found["triad_gb_per_s"], "GB/s")
            self.add("limits", case, "dgemm", found["dgemm_gflop_per_s"], "GFLOP/s")

    def digits(self):
        files = ["data/digits_class.npz", "data/digits_inpaint.npz"]
        output = self.run(self.build / "xf_bench", *files)
        for row in csv.DictReader(output.splitlines()):
            case = row["data"].removesuffix(".npz")
            self.add("digits", case, row["step"], float(row["seconds_median"]), "s, median")

    def engine(self):
        """Dense forward passes of the same weights."""
        blocks, seconds = ("1000,4000", 1) if self.quick else ("1000,10000", 3)
        arguments = ["--blocks", blocks, "--threads", self.threads, "--seconds", seconds, "--json"]
        programs = [self.build / "exactformer", self.build / "xf_bench_engine"]
        for found in json.loads(self.python("engine_torch.py", *programs, *arguments)):
            case, ours = f"L = {found['L']}", found["sparse"]
            self.add("engine", case, "sparse", 1e3 * ours["run"], "ms")
            self.add("engine", case, "sparse, prepare once", 1e3 * ours["prepare"], "ms")
            for name, value in found["torch"].items():
                self.add("engine", case, f"torch {name}", 1e3 * value, "ms")
            for name, value in found["onnx"].items():
                self.add("engine", case, name, 1e3 * value, "ms")
            best = min(found["torch"].values())
            self.add("engine", case, "fastest torch / sparse", best / ours["run"], "")
            total = ours["run"] + ours["prepare"]
            self.add("engine", case, "fastest torch / (sparse + prepare)", best / total, "")
            for name, same in found["same_bits"].items():
                self.add("engine", case, f"{name}: same bits", "yes" if same else "no", "")

    def memorise(self):
        limit = 30 if self.quick else 120
        arguments = ["--limit", limit, "--threads", self.threads]
        found = json.loads(
            self.python("memorise_torch.py", self.build / "exactformer", *arguments)
        )
        case, torch = f"N = {found['sequences']}", found["torch"]
        self.add("memorise", case, "exactformer build", found["build_seconds"], "s")
        self.add("memorise", case, "exactformer error", found["build_error"], "")
        for name in ("1e-3", "1e-6"):
            self.add("memorise", case, f"Adam to {name}", torch[f"seconds_to_{name}"], "s")
        self.add("memorise", case, "Adam time", torch["seconds"], "s")
        self.add("memorise", case, "Adam steps", torch["steps"], "")
        self.add("memorise", case, "Adam final error", torch["final_error"], "")
        self.add("memorise", case, "Adam least error", torch["least_error"], "")

    def train(self):
        rounds, steps = (3, 100) if self.quick else (15, 300)
        output = self.python(
            "train_torch.py", self.build / "xf_bench_train", "--rounds", rounds, "--steps", steps
        )
        for row in csv.DictReader(line for line in output.splitlines() if line[:1] != "#"):
            self.add("train", "one step", row["program"], float(row["least"]), "us")

    def growth(self):
        """Processor time of one thread, in passes over the tokens too, and the exponents between the
        least and the largest size."""
        for name, sizes in GROWTH.items():
            found = []
            for N, n, d in sizes[0 if self.quick else 1]:
                arguments = [N, n, 1, d, "grid", 1]
                row = self.run(self.build / "xf_bench_scaling", *arguments).strip().split(",")
                part, case = f"growth in {name}", f"N={N} n={n} d={d}"
                seconds = {"build": float(row[10]), "verify": float(row[15])}
                self.add(part, case, "blocks", int(row[12]), "")
                self.add(part, case, "build", seconds["build"], "s")
                self.add(part, case, "build", float(row[11]), "passes over the tokens")
                self.add(part, case, "verify", seconds["verify"], "s")
                found.append(({"T": N * n, "M": N, "d": d, "n": n}[name[0]], seconds))
            (a, first), (b, last) = found[0], found[-1]
            for step in ("build", "verify"):
                exponent = math.log(last[step] / first[step]) / math.log(b / a)
                self.add(f"growth in {name}", "exponent", step, exponent, "")

    def measure(self):
        self.limits()
        self.digits()
        self.growth()
        if self.torch:
            self.engine()
            self.memorise()
            self.train()


def description(bench):
    """Of the machine, the mode and what else went on."""
    version = (ROOT / "VERSION").read_text().strip()
    cpu = platform.machine()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    load = max(os.getloadavg()[:2])
    parts = [f"exactformer {version}", f"{bench.threads} x {cpu}"]
    if bench.torch:
        import torch

        parts.append(f"torch {torch.__version__}")
    parts += ["quick" if bench.quick else "full", f"load average {load:.1f}"]
    return ", ".join(parts)


def table(rows):
    lines = ["| part | case | what | | |", "|---|---|---|---|---|"]
    shown = None
    for part, case, quantity, value, unit in rows:
        first = (part, case) != shown
        shown = (part, case)
        what = value if value != "" else "not reached"
        lines.append(
            f"| {part if first else ''} | {case if first else ''} | {quantity} | {what} | {unit} |"
        )
    return lines


def write(bench):
    title = description(bench)
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        file.write(f"# {title}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("part", "case", "quantity", "value", "unit"))
        writer.writerows(bench.rows)
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(BEGIN)
    tail = rest.split(END)[1]
    body = "\n".join(["", "", f"{title}.", "", *table(bench.rows), "", ""])
    PAGE.write_text(head + BEGIN + body + END + tail, encoding="utf-8")
    print(f"written: {RESULTS.relative_to(ROOT)}, {PAGE.relative_to(ROOT)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="two minutes")
    arguments = parser.parse_args()
    bench = Bench(arguments.build.resolve(), arguments.quick)
    bench.measure()
    write(bench)


if __name__ == "__main__":
    main()
