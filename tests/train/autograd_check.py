#!/usr/bin/env python3
"""The library's gradients against PyTorch's autograd, and a run against PyTorch's Adam.

    tests/train/autograd_check.py EXACTFORMER XF_GRADIENT

Trains small models of several families for a few steps, so that the parameters are no
special ones, and compares loss and gradient with those of the same formula written in
PyTorch, in binary64. Then trains two stages of the published problem in binary64 with both, as
bench/study/rounding.py does. Says so and ends with status 77 if torch is not installed.
"""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    print("skipped: torch is not installed (pip install torch==2.13.0)")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "bench" / "study"))
import rounding  # noqa: E402  (needs the path above)


def split(theta, f):
    """One dictionary of parameters a block."""
    d, w, h = f["d"], f["width"], f["rank"]
    shapes = [("rho", ()), ("Q", (h, d)), ("K", (h, d))]
    shapes += [("A_alpha", ())] if f["scalar"] else []
    shapes += [("V", (d, d))] if f["full"] else [("alpha", ()), ("left", (d,)), ("right", (d,))]
    shapes += [("eta", ()), ("W", (d, w)), ("U", (w, d)), ("b", (w,))]
    position = 0
    for _ in range(f["blocks"]):
        block = {}
        for name, shape in shapes:
            size = torch.Size(shape).numel()
            block[name] = theta[position:position + size].reshape(shape)
            position += size
        yield block


def attention(x, p, f):
    logits = (x @ p["Q"].T) @ (x @ p["K"].T).T
    if f["scalar"]:
        logits = logits + p["A_alpha"] * x @ x.T
    if f["causal"]:
        later = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
        logits = logits.masked_fill(later, -torch.inf)
    mean = torch.softmax(logits / f["tau"], dim=-1) @ x
    value = (mean @ p["V"].T if f["full"]
             else p["alpha"] * mean + torch.outer(mean @ p["right"], p["left"]))
    return p["rho"] * x + value


def feed_forward(x, p, f):
    return p["eta"] * x + torch.relu(x @ p["U"].T + p["b"]) @ p["W"].T


def loss_of(theta, f, pairs):
    total = 0.0
    layers = [attention, feed_forward] if f["sa_first"] else [feed_forward, attention]
    for x, y in pairs:
        for p in split(theta, f):
            for layer in layers:
                x = layer(x, p, f)
        distance = ((x[:, None] - y[None]) ** 2).sum(-1)
        total = total + torch.maximum(distance.min(1).values.max(), distance.min(0).values.max())
    return total / len(pairs)


def check(exactformer, xf_gradient, work, options):
    subprocess.run([exactformer, "train", work / "data.jsonl", "-o", work / "m.safetensors", "-q",
                    "--epochs", "5", "--learning-rate", "0.05", *options], check=True)
    ours = json.loads(subprocess.run([xf_gradient, work / "m.safetensors", work / "data.jsonl"],
                                     check=True, capture_output=True, text=True).stdout)
    lines = (work / "data.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [tuple(torch.tensor(json.loads(line)[key], dtype=torch.float64) for key in "xy")
             for line in lines]
    theta = torch.tensor(ours["theta"], dtype=torch.float64, requires_grad=True)
    loss = loss_of(theta, ours["family"], pairs)
    loss.backward()
    gradient = torch.tensor(ours["gradient"], dtype=torch.float64)
    error = ((gradient - theta.grad).abs().max() / theta.grad.abs().max()).item()
    assert abs(loss.item() - ours["loss"]) <= 1e-12 * loss.item(), (options, loss.item(), ours["loss"])
    assert error < 1e-10, (options, error)
    return error


def check_run(exactformer):
    """The largest relative difference of the losses of a run handed on from stage to stage."""
    stages = [("1e-1", 150), ("1e-2", 100)]
    theirs = rounding.train(stages, dtype=torch.float64, last=100)
    ours = rounding.ours(exactformer, stages, "f64")
    assert [len(theirs[decay]) for decay, _ in stages] == [150, 100]
    worst = max(rounding.deviation(ours[decay][:len(theirs[decay])], theirs[decay])[0]
                for decay, _ in stages)  # ours has the state after the last step too
    assert worst < 1e-11, worst
    return worst


def main():
    exactformer, xf_gradient = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:3])
    worst, count = 0.0, 0
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        subprocess.run([exactformer, "generate", "gaussian", "-N", "6", "-d", "5", "-n", "3:20", "-m",
                        "1:3", "-o", work / "data.jsonl", "-q"], check=True)
        for order, causal, value, scalar, blocks in itertools.product(
                ("ff-sa", "sa-ff"), (False, True), ("full", "low-rank"), (False, True), (1, 3)):
            options = ["--order", order, "--value", value, "--blocks", str(blocks), "--tau", "0.7",
                       "--seed", str(count)]
            options += ["--causal"] * causal + ["--scalar"] * scalar
            worst = max(worst, check(exactformer, xf_gradient, work, options))
            count += 1
    print(f"{count} families, largest difference {worst:.2g} of the largest entry")
    print(f"published problem, binary64: losses differ by {check_run(exactformer):.2g} at most")


if __name__ == "__main__":
    main()
