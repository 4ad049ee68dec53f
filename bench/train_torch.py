#!/usr/bin/env python3
"""One training step of the published problem: this library against PyTorch, side by side.

    bench/train_torch.py XF_BENCH_TRAIN [--steps S] [--rounds R] [--write bench/training.csv]

One block, attention first, 422 parameters, 10 sequences of 100 tokens in R^16, binary32,
Adam with coupled weight decay and a cosine schedule, from data/tikhonov.npz and
data/tikhonov_initial.safetensors, on one thread. PyTorch runs it vectorised over the
sequences ("batch") and one sequence at a time ("loop"), as a script for sequences of
different lengths would. The three take turns; the least time of each counts, as other work on
the machine can only add. Needs torch:

    python3 -m venv build/venv && build/venv/bin/pip install numpy torch==2.13.0
    cmake --build build/dev --target xf_bench_train
    build/venv/bin/python bench/train_torch.py build/dev/xf_bench_train
"""

import argparse
import json
import pathlib
import struct
import subprocess
import time

import numpy as np
import torch
import torch.nn.functional as F

DATA = pathlib.Path(__file__).resolve().parent.parent / "data"


def read_model(path):
    """The tensors of a .safetensors file by name, of the one block that the file has."""
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + size])
    header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        first, last = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(raw[first:last], "<f4").reshape(entry["shape"])[0].copy()
    return tensors


class Block(torch.nn.Module):
    """x <- rho x + attention(x), then x <- eta x + W relu(U x + b)."""

    def __init__(self, start):
        super().__init__()
        tensors = {"rho": start["sa.rho"], "Q": start["sa.A.right"][None],
                   "K": start["sa.A.left"][None], "V": start["sa.V.full"], "eta": start["ff.eta"],
                   "W": start["ff.W"], "U": start["ff.U"], "b": start["ff.b"]}
        for name, value in tensors.items():
            setattr(self, name, torch.nn.Parameter(torch.tensor(value)))

    def forward(self, x):
        """x [..., n, d]"""
        logits = (x @ self.Q.T) @ (x @ self.K.T).transpose(-1, -2)
        mean = torch.softmax(logits, dim=-1) @ x
        x = self.rho * x + F.linear(mean, self.V)
        return self.eta * x + F.linear(torch.relu(F.linear(x, self.U, self.b)), self.W)


def loss_vectorised(model, x, y):
    return ((model(x) - y) ** 2).sum(-1).max(dim=1).values.mean()


def loss_loop(model, x, y):
    terms = [((model(x[j]) - y[j]) ** 2).sum(-1).max() for j in range(len(x))]
    return torch.stack(terms).mean()


def run_torch(loss_of, steps):
    """Microseconds a step."""
    data = np.load(DATA / "tikhonov.npz")
    x, y = torch.tensor(data["x"]), torch.tensor(data["y"])
    model = Block(read_model(DATA / "tikhonov_initial.safetensors"))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=steps)
    start = time.perf_counter()
    for _ in range(steps):
        optimiser.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        optimiser.step()
        schedule.step()
        loss.item()
    return 1e6 * (time.perf_counter() - start) / steps


def run_ours(program, steps):
    files = [str(DATA / "tikhonov.npz"), str(DATA / "tikhonov_initial.safetensors")]
    return float(subprocess.run([program, *files, str(steps)], check=True, text=True,
                                capture_output=True).stdout)


def main():
    parser = argparse.ArgumentParser(description="One training step against PyTorch.")
    parser.add_argument("program", help="xf_bench_train")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--write", metavar="FILE.csv")
    options = parser.parse_args()
    torch.set_num_threads(1)
    contestants = {"exactformer": lambda: run_ours(options.program, 10 * options.steps),
                   "torch batch": lambda: run_torch(loss_vectorised, options.steps),
                   "torch loop": lambda: run_torch(loss_loop, options.steps)}
    times = {name: [] for name in contestants}
    for _ in range(options.rounds):
        for name, contestant in contestants.items():
            times[name].append(contestant())
    lines = [f"# torch {torch.__version__}, one thread, binary32, microseconds a step, "
             f"{options.rounds} rounds in turn", "program,least,median,least_over_ours"]
    ours = min(times["exactformer"])
    for name, values in times.items():
        lines.append(f"{name},{min(values):.1f},{sorted(values)[len(values) // 2]:.1f},"
                     f"{min(values) / ours:.1f}")
    print("\n".join(lines))
    if options.write:
        pathlib.Path(options.write).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
