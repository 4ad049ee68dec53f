#!/usr/bin/env python3
"""Parameters over n, and norms over N, of every construction (docs/training.md).

    bench/study/constructions.py PROGRAM

writes parameters.csv and norms.csv beside this script, and docs/figures/study_parameters.svg and
study_norms.svg. About two minutes of one core.
"""

import pathlib
import sys
import tempfile

from common import draw, run, write_table

WAYS = {  # name: options of build
    "pooled": [],
    "pooled, norm": ["--optimise", "norm"],
    "published": ["--construction", "published"],
    "resnet": ["--construction", "resnet"],
    "resnet, norm": ["--construction", "resnet", "--optimise", "norm"],
}
LENGTHS = [2, 4, 8, 16, 32, 64, 128, 256]
SEQUENCES = [5, 10, 20, 40, 80, 160]
BLOCKS = [1, 2, 4, 8]  # of the families that are trained; the best J counts
DECAY, EPOCHS = 1e-3, 1000


def make(program, folder, **sizes):
    path = folder / "data.npz"
    options = [text for key, value in sizes.items() for text in (f"-{key}", value)]
    run(program, "generate", "gaussian", *options, "-m", 1, "--grid", "f16", "--seed", 1, "-o", path)
    return path


def build(program, folder, data, way):
    """What inspect says of the model, or None if the construction refuses."""
    model = folder / "model.safetensors"
    if run(program, "build", data, "-o", model, *WAYS[way], accept=(0, 5)) is None:
        return None
    return run(program, "inspect", model)


def parameters(program, folder):
    rows = []
    for n in LENGTHS:
        data = make(program, folder, N=20, d=8, n=n)
        for way in ("pooled", "published", "resnet"):
            found = build(program, folder, data, way)
            if found is not None:
                rows.append([n, 20 * n, 20, way, found["blocks"], found["parameters_dense"],
                             found["parameters_nonzero"]])
    write_table("parameters.csv", ["n", "tokens", "targets", "construction", "blocks",
                                   "parameters_dense", "parameters_nonzero"], rows)
    curves = [(way, [(r[0], r[6]) for r in rows if r[3] == way], "")
              for way in ("pooled", "published", "resnet")]
    first = next(r for r in rows if r[3] == "resnet" and r[0] == 64)
    draw("study_parameters.svg", "tokens a sequence, n", "nonzero parameters", curves,
         [("proportional to n", f"{first[6] / 64}*x")])


def train(program, folder, data, blocks):
    """The state that L-BFGS finds in the published family, with so many blocks."""
    report = run(program, "train", data, "-o", folder / "trained.safetensors", "--order", "sa-ff",
                 "--blocks", blocks, "--residual", 0 if blocks == 1 else 0.5,
                 "--optimiser", "lbfgs", "--weight-decay", DECAY, "--epochs", EPOCHS,
                 "--starts", 3, "--threads", 1)
    return report["stages"][0]


def norms(program, folder):
    rows = []
    for N in SEQUENCES:
        data = make(program, folder, N=N, d=8, n=8)
        for way in WAYS:
            found = build(program, folder, data, way)
            if found is not None:
                rows.append([N, way, found["blocks"], f"{found['l2_norm_squared']:.6g}", ""])
        stages = {blocks: train(program, folder, data, blocks) for blocks in BLOCKS}
        blocks = min(stages, key=lambda blocks: stages[blocks]["J"])
        rows.append([N, "trained, 2 J / eps", blocks, f"{2 * stages[blocks]['J'] / DECAY:.6g}",
                     f"{stages[blocks]['loss']:.3g}"])
    write_table("norms.csv", ["N", "construction", "blocks", "norm2", "loss"], rows)
    names = [*WAYS, "trained, 2 J / eps"]
    draw("study_norms.svg", "sequences, N", "squared norm",
         [(name, [(r[0], r[3]) for r in rows if r[1] == name], "") for name in names])


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        parameters(sys.argv[1], pathlib.Path(name))
        norms(sys.argv[1], pathlib.Path(name))


if __name__ == "__main__":
    main()
