#!/usr/bin/env python3
"""How far below the constructed interpolant can an exact one be? (docs/training.md)

    bench/study/polish.py PROGRAM

On the published problem: the norm that factors other than powers of two would give (no longer exact
in floating point); the least norm over 16 seeds; and L-BFGS on J from the interpolant, its result
rounded to multiples of 2^-k and verified. Writes polish.csv. A minute of one core.
"""

import json
import math
import pathlib
import struct
import sys
import tempfile

from common import ROOT, run, write_table

DATA = ROOT / "data" / "tikhonov.npz"
DECAYS = ["1e-1", "1e-2", "1e-3", "1e-4"]
SEEDS = 16
BITS = [4, 8, 12, 16, 20, 24, 32, 40]


def read(path):
    """Names to (shape, values), the header, and where the numbers begin."""
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    tensors = {}
    for name, what in header.items():
        if name != "__metadata__":
            first, last = what["data_offsets"]
            body = raw[8 + size + first:8 + size + last]
            tensors[name] = (what["shape"], list(struct.unpack(f"<{len(body) // 8}d", body)))
    return raw, header, size, tensors


def balanced(tensors):
    """Squared norm if every neuron and every rank-one V were rescaled by the best real factor."""
    blocks, width, d = tensors["ff.U"][0]
    U, W, b = (tensors[name][1] for name in ("ff.U", "ff.W", "ff.b"))
    left, right = tensors["sa.V.left"][1], tensors["sa.V.right"][1]
    total = sum(v * v for name in ("ff.eta", "sa.rho") for v in tensors[name][1])
    for i in range(blocks):
        for k in range(width):
            into = sum(v * v for v in U[(i * width + k) * d:(i * width + k + 1) * d])
            into += b[i * width + k] ** 2
            out = sum(W[(i * d + c) * width + k] ** 2 for c in range(d))
            total += 2 * math.sqrt(into * out)
        total += 2 * math.sqrt(sum(v * v for v in left[i * d:(i + 1) * d]) *
                               sum(v * v for v in right[i * d:(i + 1) * d]))
    return total


def rounded(path, bits, out):
    raw, header, size, _ = read(path)
    values = struct.unpack(f"<{(len(raw) - 8 - size) // 8}d", raw[8 + size:])
    body = struct.pack(f"<{len(values)}d", *(round(v * 2.0**bits) / 2.0**bits for v in values))
    out.write_bytes(raw[:8 + size] + body)


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    program = sys.argv[1]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        exact, best = folder / "exact.safetensors", []
        for seed in range(SEEDS):
            run(program, "build", DATA, "-o", exact, "--optimise", "norm", "--seed", seed)
            best.append((run(program, "inspect", exact)["l2_norm_squared"], seed))
        rows.append(["least of 16 seeds", "", f"{min(best)[0]:.6g}", f"seed {min(best)[1]}", 10])
        rows.append(["largest of 16 seeds", "", f"{max(best)[0]:.6g}", f"seed {max(best)[1]}", 10])
        run(program, "build", DATA, "-o", exact, "--optimise", "norm")
        rows.append(["interpolant, seed 0", "", f"{best[0][0]:.6g}", "", 10])
        rows.append(["with real factors", "", f"{balanced(read(exact)[3]):.6g}", "", ""])
        for decay in DECAYS:
            polished, again = folder / "polished.safetensors", folder / "rounded.safetensors"
            stage = run(program, "train", DATA, "-o", polished, "--init", exact, "--optimiser", "lbfgs",
                        "--weight-decay", decay, "--epochs", 150, "--threads", 1)["stages"][0]
            rows.append(["L-BFGS", decay, f"{stage['norm2']:.6g}", f"loss {stage['loss']:.3g}", 0])
            most = 0
            for bits in BITS:
                rounded(polished, bits, again)
                checked = run(program, "verify", again, DATA, accept=(0, 1, 3))
                most = max(most, 10 if checked else 0)
            rows.append(["L-BFGS, rounded", decay, "", "exact at some 2^-k" if most else
                         "exact at none of 2^-4 to 2^-40", most])
    write_table("polish.csv", ["what", "weight_decay", "norm2", "remark", "exact"], rows)


if __name__ == "__main__":
    main()
