#!/usr/bin/env python3
"""How far the published training deviates from itself when only rounding changes.

    bench/study/rounding.py PROGRAM [--stages K] [--write FILE.csv]

Trains the published problem (bench/train_torch.py has the model) with PyTorch in several forms of
the same formulas, and with PROGRAM (`exactformer train`), and compares the loss at epochs
1 .. 1000 of every stage: the largest |a / b - 1| of each form from the stored reference
(data/tikhonov_losses.csv), from PyTorch's plain form, from the nearest and the farthest of the
other forms of PyTorch in binary32, and from PyTorch in binary64. Forms:

    plain          vectorised over the sequences, 1 thread, binary32; the others differ by:
    2 threads      two threads
    loop           one sequence at a time
    loop 2 threads both
    products       logits as x (Q'K) x' instead of (x Q') (x K')'
    cdist          distances by torch.cdist, squared
    ulp up, down   V[0, 0], or b[0], at the start the next binary32 number
    binary64       parameters, data and all arithmetic in binary64
    ours           PROGRAM, binary32 and binary64

Stages: 1e-1, 1e-2 and 1e-3, the model handed on, as published (5000, 10000 and 50000 epochs, of the
last only the first 1000), and a fresh run at 1e-4. The version of PyTorch and the machine's vector
instructions determine every number. Needs torch as bench/train_torch.py does; about nine minutes of
processor time.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import train_torch as published  # noqa: E402  (needs the path above)

EPOCHS = 1000  # compared
WARM = [("1e-1", 5000), ("1e-2", 10000), ("1e-3", 50000)]
FRESH = [("1e-4", 50000)]
STORED = {"1e-1": "wd1e-1", "1e-2": "wd1e-2_warm", "1e-3": "wd1e-3_warm", "1e-4": "wd1e-4"}
COLUMNS = ["form", "weight_decay", "from_reference", "at_epoch", "from_plain", "from_nearest",
           "from_farthest", "from_binary64", "loss_at_1000"]


class Products(published.Block):
    """The same block, the matrix of the logits multiplied first."""

    def forward(self, x):
        mean = torch.softmax(x @ (self.Q.T @ self.K) @ x.transpose(-1, -2), dim=-1) @ x
        x = self.rho * x + mean @ self.V.T
        return self.eta * x + torch.relu(x @ self.U.T + self.b) @ self.W.T


def loss_cdist(model, x, y):
    return (torch.cdist(model(x), y)[..., 0] ** 2).max(dim=1).values.mean()


def moved(name, index, up):
    """A change of the initial parameters by one unit in the last place of one entry."""
    def change(start):
        entry = start[name].reshape(-1)
        entry[index] = np.nextafter(entry[index], np.float32(np.inf if up else -np.inf))
    return change


def unchanged(start):
    del start


def train(stages, block=published.Block, loss_of=published.loss_vectorised, threads=1,
          dtype=torch.float32, change=unchanged, last=EPOCHS):
    """The losses of the first epochs of every stage, by weight decay; of the last stage only its
    first `last` epochs are run."""
    torch.set_num_threads(threads)
    data = np.load(ROOT / "data" / "tikhonov.npz")
    x, y = (torch.tensor(data[name], dtype=dtype) for name in "xy")
    start = published.read_model(ROOT / "data" / "tikhonov_initial.safetensors")
    change(start)
    model = block(start).to(dtype)
    losses = {}
    for i, (decay, epochs) in enumerate(stages):
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=float(decay))
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=epochs)
        losses[decay] = []
        for epoch in range(epochs if i + 1 < len(stages) else last):
            optimiser.zero_grad()
            loss = loss_of(model, x, y)
            loss.backward()
            optimiser.step()
            schedule.step()
            if epoch < EPOCHS:
                losses[decay].append(loss.item())
    return losses


def forms():
    loop = published.loss_loop
    return {
        "plain": {}, "2 threads": {"threads": 2}, "loop": {"loss_of": loop},
        "loop 2 threads": {"loss_of": loop, "threads": 2}, "products": {"block": Products},
        "cdist": {"loss_of": loss_cdist},
        "V ulp up": {"change": moved("sa.V.full", 0, True)},
        "V ulp down": {"change": moved("sa.V.full", 0, False)},
        "b ulp up": {"change": moved("ff.b", 0, True)},
        "binary64": {"dtype": torch.float64},
    }


def ours(program, stages, dtype):
    with tempfile.TemporaryDirectory() as work:
        log = pathlib.Path(work) / "log.csv"
        subprocess.run([program, "train", ROOT / "data" / "tikhonov.npz", "--init",
                        ROOT / "data" / "tikhonov_initial.safetensors", "--dtype", dtype,
                        "--weight-decay", ",".join(decay for decay, _ in stages), "--epochs",
                        ",".join(str(epochs) for _, epochs in stages), "--threads", "1", "-q",
                        "-o", pathlib.Path(work) / "model.safetensors", "--log", log], check=True)
        with open(log, encoding="utf-8") as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return {decay: [float(row["loss"]) for row in rows if row["stage"] == str(i)][:EPOCHS]
            for i, (decay, _) in enumerate(stages)}


def reference():
    losses = {decay: {} for decay in STORED}
    names = {name: decay for decay, name in STORED.items()}
    with open(ROOT / "data" / "tikhonov_losses.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            losses[names[row["run"]]][int(row["epoch"])] = float(row["loss"])
    return {decay: [by_epoch[e] for e in range(1, EPOCHS + 1)] for decay, by_epoch in losses.items()}


def deviation(a, b):
    """The largest relative one, and its epoch."""
    d = np.abs(np.array(a) / np.array(b) - 1)
    return float(d.max()), int(d.argmax()) + 1


def table(runs, stored, decays):
    rows = []
    for decay in decays:
        single = {name: run[decay] for name, run in runs.items()
                  if name != "binary64" and not name.startswith("ours")}
        for name, run in runs.items():
            others = sorted(deviation(run[decay], other)[0] for key, other in single.items()
                            if key != name)
            worst, epoch = deviation(run[decay], stored[decay])
            numbers = [worst, deviation(run[decay], runs["plain"][decay])[0], others[0], others[-1],
                       deviation(run[decay], runs["binary64"][decay])[0]]
            texts = [f"{number:.2g}" for number in numbers]
            rows.append([name, decay, texts[0], epoch, *texts[1:], f"{run[decay][-1]:.6g}"])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="exactformer")
    parser.add_argument("--stages", type=int, default=3, choices=(1, 2, 3),
                        help="of the run whose model is handed on (default 3)")
    parser.add_argument("--write", metavar="FILE.csv")
    parser.add_argument("--losses", metavar="FILE.json", help="all losses, for a closer look")
    options = parser.parse_args()
    warm = WARM[:options.stages]
    runs = {}
    for name, how in forms().items():
        runs[name] = train(warm, **how) | train(FRESH, **how)
        print(f"{name}: done", file=sys.stderr)
    for dtype in ("f32", "f64"):
        runs[f"ours {dtype}"] = (ours(options.program, warm, dtype)
                                 | ours(options.program, FRESH, dtype))
    stored = reference()
    rows = [COLUMNS, *table(runs, stored, [decay for decay, _ in warm + FRESH])]
    lines = [",".join(map(str, row)) for row in rows]
    print("\n".join(lines))
    if options.write:
        head = f"# torch {torch.__version__}, epochs 1 to {EPOCHS}\n"
        pathlib.Path(options.write).write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    if options.losses:
        pathlib.Path(options.losses).write_text(json.dumps(runs | {"reference": stored}),
                                                encoding="utf-8")


if __name__ == "__main__":
    main()
