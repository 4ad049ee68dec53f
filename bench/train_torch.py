#!/usr/bin/env python3
"""Time one training step of the published problem in PyTorch, for comparison with
`xf_bench train`.

    bench/train_torch.py [--threads K] [--steps S] [--loop] [--json]

One block, attention first, 422 parameters, 10 sequences of 100 tokens in R^16, binary32,
Adam with coupled weight decay and a cosine schedule: data and initial parameters are those
of data/tikhonov.npz. The forward pass is vectorised over the sequences; with --loop it goes
through them one by one, as a script for sequences of different lengths would.
Needs torch (2.13.0 was used for bench/training.csv).
"""

import argparse
import json
import pathlib
import time

import numpy as np
import torch
import torch.nn.functional as F

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "tikhonov.npz"


class Block(torch.nn.Module):
    """x <- rho x + attention(x), then x <- eta x + W relu(U x + b)."""

    def __init__(self, start):
        super().__init__()
        for name in ("rho", "Q", "K", "V", "eta", "W", "U", "b"):
            setattr(self, name, torch.nn.Parameter(torch.tensor(start[f"init_{name}"])))

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


def run(loss_of, data, steps, weight_decay):
    """Losses before each step, and the seconds that all of them took."""
    x, y = torch.tensor(data["x"]), torch.tensor(data["y"])
    model = Block(data)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=steps)
    losses = []
    start = time.perf_counter()
    for _ in range(steps):
        optimiser.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
    return losses, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--loop", action="store_true", help="one sequence at a time")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    data = np.load(DATA)
    loss_of = loss_loop if options.loop else loss_vectorised
    best = min(run(loss_of, data, options.steps, 1e-4)[1] for _ in range(options.repeats))
    micros = 1e6 * best / options.steps
    if options.json:
        print(json.dumps({"torch": torch.__version__, "threads": options.threads,
                          "loop": options.loop, "microseconds": micros}))
    else:
        form = "one sequence at a time" if options.loop else "vectorised"
        print(f"torch {torch.__version__}, {options.threads} threads, {form}: {micros:.1f} us a step")


if __name__ == "__main__":
    main()
