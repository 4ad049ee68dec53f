#!/usr/bin/env python3
"""The sparse engine against PyTorch's dense binary64 forward of the same weights.

    bench/engine_torch.py PROGRAM BENCH_ENGINE [--blocks 1000,10000] [--threads 2] [--json]

PROGRAM is exactformer, BENCH_ENGINE is xf_bench_engine (cmake --build ... --target xf_bench_engine).
Needs torch==2.13.0, numpy and safetensors. For every depth a data set with d = 64 and n = 100 tokens
a sequence is generated and built; one sequence of 100 tokens is run. PyTorch has three loops, weights
laid out beforehand, and the fastest counts: modules, functional addmm, and addmm into buffers.
ONNX Runtime runs the exported model where onnx, onnxruntime and the Python package are installed.
Everything is measured in turn within one process tree, the shortest of many runs counts, and the
outputs are compared bit for bit.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import torch
from safetensors.numpy import load_file

D, N = 64, 100


def make(program, blocks, folder):
    """Data set, model and one sequence; the writer needs a quarter of a block per target."""
    sequences = max(1, round(4 * blocks / N))
    data, model, one = (folder / name for name in ("data.npz", "model.safetensors", "one.npz"))
    command = [program, "generate", "gaussian", "-N", str(sequences), "-n", str(N), "-m", str(N)]
    subprocess.run(command + ["-d", str(D), "--grid", "integer", "-o", data, "-q"], check=True)
    subprocess.run([program, "build", data, "-o", model, "-q"], check=True)
    x = np.load(data)["x"][:N]
    np.savez(one, x=x, x_offsets=np.array([0, N]))
    return model, one, x


def coupled(weights, block):
    v = [weights[f"sa.V.{part}"][block] for part in ("alpha", "left", "right")]
    return v[0] != 0 or (np.any(v[1]) and np.any(v[2]))


class Attention(torch.nn.Module):
    """rho x + V mean, for blocks with A = 0."""

    def __init__(self, weights, block):
        super().__init__()
        assert weights["sa.A.alpha"][block] == 0 and not np.any(weights["sa.A.left"][block])
        self.rho = float(weights["sa.rho"][block])
        self.alpha = float(weights["sa.V.alpha"][block])
        self.left = torch.from_numpy(weights["sa.V.left"][block].copy())
        self.right = torch.from_numpy(weights["sa.V.right"][block].copy())

    def forward(self, x):
        mean = x.sum(0) / x.shape[0]
        return self.rho * x + (self.alpha * mean + self.left * (self.right @ mean))


class FeedForward(torch.nn.Module):
    def __init__(self, weights, block):
        super().__init__()
        width = weights["ff.b"].shape[1]
        self.eta = float(weights["ff.eta"][block])
        self.inner = torch.nn.Linear(D, width, dtype=torch.float64)
        self.outer = torch.nn.Linear(width, D, bias=False, dtype=torch.float64)
        with torch.no_grad():
            self.inner.weight.copy_(torch.from_numpy(weights["ff.U"][block]))
            self.inner.bias.copy_(torch.from_numpy(weights["ff.b"][block]))
            self.outer.weight.copy_(torch.from_numpy(weights["ff.W"][block]))

    def forward(self, x):
        return self.eta * x + self.outer(torch.relu(self.inner(x)))


def module_loop(weights):
    layers = []
    for block in range(len(weights["ff.eta"])):
        layers.append(FeedForward(weights, block))
        if coupled(weights, block):
            layers.append(Attention(weights, block))
    return torch.nn.Sequential(*layers)


def addmm_parts(weights):
    b, ut, wt = (
        list(torch.from_numpy(a).unbind())
        for a in (
            weights["ff.b"],
            np.ascontiguousarray(weights["ff.U"].transpose(0, 2, 1)),
            np.ascontiguousarray(weights["ff.W"].transpose(0, 2, 1)),
        )
    )
    attention = [
        Attention(weights, i) if coupled(weights, i) else None for i in range(len(b))
    ]
    return list(zip([float(e) for e in weights["ff.eta"]], b, ut, wt, attention))


def addmm_loop(weights):
    parts = addmm_parts(weights)

    def forward(x):
        for eta, b, ut, wt, attention in parts:
            x = torch.addmm(x, torch.addmm(b, x, ut).relu_(), wt, beta=eta)
            if attention is not None:
                x = attention(x)
        return x

    return forward


def buffer_loop(weights):
    parts = addmm_parts(weights)

    def forward(x):
        x = x.clone()
        r = torch.empty(len(x), weights["ff.b"].shape[1], dtype=torch.float64)
        for eta, b, ut, wt, attention in parts:
            torch.addmm(b, x, ut, out=r)
            r.relu_()
            x.addmm_(r, wt, beta=eta)
            if attention is not None:
                x = attention(x)
        return x

    return forward


def shortest(forward, x, seconds):
    best, start = float("inf"), time.perf_counter()
    while time.perf_counter() - start < seconds:
        begin = time.perf_counter()
        forward(x)
        best = min(best, time.perf_counter() - begin)
    return best


def torch_times(weights, x, threads, seconds):
    """Seconds of every loop, with one thread and with all."""
    times, outputs = {}, {}
    for name, make_loop in (
        ("modules", module_loop),
        ("addmm", addmm_loop),
        ("addmm, buffers", buffer_loop),
    ):
        loop = make_loop(weights)
        for count in sorted({1, threads}):
            torch.set_num_threads(count)
            outputs[name] = loop(x).numpy()
            times[f"{name}, {count} threads"] = shortest(loop, x, seconds)
    return times, outputs


def onnx_times(model, x, threads, seconds, folder):
    """Seconds and outputs of ONNX Runtime; nothing where it is not installed."""
    try:
        import exactformer
        import onnx  # noqa: F401  (Model.to_onnx needs it)
        import onnxruntime
    except ImportError:
        return {}, {}
    path = str(folder / "model.onnx")
    exactformer.Model.load(model).to_onnx(path)
    inputs = {"x": x[None], "mask": np.ones((1, len(x)), dtype=bool)}
    times, outputs = {}, {}
    for count in sorted({1, threads}):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = count
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        outputs["ONNX Runtime"] = session.run(None, inputs)[0][0]
        times[f"ONNX Runtime, {count} threads"] = shortest(
            lambda _, run=session.run: run(None, inputs), x, seconds
        )
    return times, outputs


def sparse_time(bench_engine, model, one, threads, seconds):
    """The better of one thread and all, as for PyTorch."""
    best = None
    for count in sorted({1, threads}):
        command = [bench_engine, model, one, "sparse", str(count), str(seconds)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        if best is None or found["run"] < best["run"]:
            best = found | {"threads": count}
    return best


def output_of(program, model, one, folder):
    out = folder / "out.npz"
    subprocess.run([program, "run", model, one, "-o", out, "-q"], check=True)
    return np.load(out)["y"]


def compare(arguments, blocks, folder):
    model, one, x = make(arguments.program, blocks, folder)
    weights = load_file(model)
    with torch.inference_mode():
        times, outputs = torch_times(
            weights, torch.from_numpy(x), arguments.threads, arguments.seconds
        )
    ours = sparse_time(arguments.bench_engine, model, one, arguments.threads, arguments.seconds)
    others, their_outputs = {}, {}
    if blocks <= arguments.onnx_most:
        others, their_outputs = onnx_times(
            model, x, arguments.threads, arguments.seconds, folder
        )
    expected = output_of(arguments.program, model, one, folder)
    same = {
        name: bool(np.array_equal(y, expected)) for name, y in (outputs | their_outputs).items()
    }
    return {
        "L": len(weights["ff.eta"]),
        "torch": times,
        "onnx": others,
        "sparse": ours,
        "same_bits": same,
    }


def report(found):
    ours, best = found["sparse"], min(found["torch"].values())
    for name, seconds in found["torch"].items():
        print(f"  torch {name:<28} {1e3 * seconds:10.3f} ms")
    for name, seconds in found["onnx"].items():
        print(f"  {name:<34} {1e3 * seconds:10.3f} ms")
    print(
        f"  sparse, {ours['threads']} threads {'':<17} {1e3 * ours['run']:10.3f} ms"
        f"  (and once {1e3 * ours['prepare']:.3f} ms to prepare the model)"
    )
    differing = [name for name, same in found["same_bits"].items() if not same]
    print(
        f"  L = {found['L']}: {best / ours['run']:.0f} times faster than PyTorch's "
        f"fastest, {best / (ours['run'] + ours['prepare']):.1f} times with the preparation; "
        + (f"outputs DIFFER: {', '.join(differing)}" if differing else "outputs equal bit for bit")
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("bench_engine", type=pathlib.Path)
    parser.add_argument("--blocks", default="1000,10000")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each loop")
    parser.add_argument("--onnx-most", type=int, default=2000, help="most blocks for ONNX Runtime")
    parser.add_argument("--json", action="store_true", help="print a JSON list and nothing else")
    arguments = parser.parse_args()
    all_found = []
    for blocks in arguments.blocks.split(","):
        with tempfile.TemporaryDirectory() as folder:
            all_found.append(compare(arguments, int(blocks), pathlib.Path(folder)))
    if arguments.json:
        print(json.dumps(all_found))
        return
    print(f"torch {torch.__version__}, d = {D}, n = {N}")
    for found in all_found:
        report(found)


if __name__ == "__main__":
    main()
