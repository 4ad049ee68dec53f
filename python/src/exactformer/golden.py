"""A conformance kit for the authors of inference engines: ``exactformer golden DIR``.

Constructed models have outputs that no order of summation changes, so an engine either gives the
expected bits or breaks a rule. The kit holds models from one block to 10,000, in ONNX and in
safetensors, inputs, expected outputs, and a checker that needs Python alone. Each model is there to
catch certain defects.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import golden_check
from .atomic import write_atomically
from .dataset import Dataset
from .datasets import digits, generate, three_sequences
from .errors import ExactformerError, FileError, NotExactError
from .fitting import fit
from .layout import Array, Config, Tensors, expected_shapes
from .model import Model
from .paths import path_text

TIES = "ties not averaged"
FLUSH = "subnormal numbers flushed to zero"
MAXIMUM = "softmax without the maximum subtracted"
RESIDUAL = "a residual dropped"
MISPLACED = "attention's residual taken from the block's input"
PRECISION = "products in reduced precision (TF32, bfloat16, float16)"
DEFECTS = (TIES, FLUSH, MAXIMUM, RESIDUAL, MISPLACED, PRECISION)


@dataclass(frozen=True)
class Golden:
    """One model of the kit: make() gives it and the data whose inputs are used."""

    name: str
    about: str
    make: Callable[[], tuple[Model, Dataset]]
    catches: tuple[str, ...] = field(default=(RESIDUAL, PRECISION))


def goldens() -> list[Golden]:
    """All models of the kit, from small to large."""
    return [
        Golden("ties", "one attention layer whose logits tie exactly", _ties, (TIES,)),
        Golden("three", "three sequences in the plane", _three("f64"), (TIES, RESIDUAL, MISPLACED)),
        Golden("three_f32", "the same in binary32", _three("f32"), (TIES, RESIDUAL, MISPLACED)),
        Golden(
            "subnormal",
            "targets with subnormal entries",
            _subnormal("f64", 2.0**-1074),
            (TIES, FLUSH, RESIDUAL, MISPLACED),
        ),
        Golden(
            "subnormal_f32",
            "the same in binary32",
            _subnormal("f32", 2.0**-149),
            (TIES, FLUSH, RESIDUAL, MISPLACED),
        ),
        Golden(
            "published_hardmax",
            "the four phases of the published construction: attention with real logits",
            _published("hardmax", 1.0),
            (RESIDUAL, PRECISION),
        ),
        Golden(
            "published_softmax",
            "softmax at the largest temperature that is exact",
            _published("softmax", 1.0),
            (RESIDUAL, PRECISION),
        ),
        Golden(
            "published_logits",
            "softmax with logits of some ten thousand: exp overflows unless the maximum is subtracted",
            _published("softmax", 2.0**-9),
            (MAXIMUM, RESIDUAL, PRECISION),
        ),
        Golden(
            "medium_f32",
            "binary32, 64 sequences of a shared vocabulary",
            _built("vocabulary", 64, 16, (4, 12), 1, "f32", dtype="f32"),
            (TIES, RESIDUAL, PRECISION),
        ),
        Golden(
            "medium",
            "targets with full significands of all sizes",
            _built("hard-floats", 64, 5, (3, 8), (1, 3), "full"),
            (TIES, RESIDUAL, MISPLACED, PRECISION),
        ),
        Golden(
            "digits",
            "images of handwritten digits to their classes",
            _digits,
            (TIES, RESIDUAL, PRECISION),
        ),
        Golden(
            "deep",
            "1,000 blocks",
            _built("gaussian", 200, 4, (5, 8), 5, "full", writer="sorted"),
            (TIES, RESIDUAL, MISPLACED, PRECISION),
        ),
        Golden(
            "deepest",
            "10,000 blocks",
            _built("gaussian", 2000, 4, (5, 8), 5, "full", writer="sorted"),
            (TIES, RESIDUAL, MISPLACED, PRECISION),
        ),
    ]


def write_kit(folder: str | os.PathLike[str], tell: Callable[[str], object] = str) -> list[str]:
    """Make the folder, which appears complete or not at all; returns the names of the models.

    tell is called with a line about each model. Raises FileError if the folder exists and is not
    empty, or cannot be made. Needs the packages onnx and safetensors.
    """
    folder = Path(path_text(folder))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileError(f"{folder}: exists and is not an empty directory")
    try:
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
    except OSError as error:
        raise FileError(f"{folder}: {error.strerror}") from error
    try:
        entries = [_write_golden(golden, draft, tell) for golden in goldens()]
        write_atomically(draft / "kit.json", json.dumps({"models": entries}, indent=1) + "\n")
        checker = Path(golden_check.__file__).read_text(encoding="utf-8")
        write_atomically(draft / "check.py", checker)
        write_atomically(draft / "README.md", _readme(entries))
        draft.chmod(0o755)
        draft.replace(folder)
    except BaseException:
        shutil.rmtree(draft)
        raise
    return [str(entry["name"]) for entry in entries]


def main(arguments: Sequence[str] | None = None) -> int:
    """The program exactformer-golden, which ``exactformer golden`` calls. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="exactformer golden",
        description="Write a conformance kit for inference engines: models from 1 to 10,000 blocks"
        " in ONNX and safetensors, inputs, expected bits, and a checker.",
    )
    parser.add_argument("directory", metavar="DIR", help="the folder to make; empty if it exists")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no report")
    options = parser.parse_args(arguments)
    silent = options.json or options.quiet
    try:
        names = write_kit(options.directory, str if silent else print)
    except (ExactformerError, ImportError) as error:
        return _complain(error, options.json)
    if options.json:
        print(json.dumps({"models": names, "output": options.directory}))
    elif not options.quiet:
        print(f"{'written':<18}{options.directory}")
    return 0


def _complain(error: ExactformerError | ImportError, as_json: bool) -> int:
    status, kind = (5, "not feasible") if isinstance(error, ArithmeticError) else (4, "file")
    if as_json:
        print(json.dumps({"error": {"status": status, "kind": kind, "message": str(error)}}))
    else:
        print(f"exactformer: golden: {error}", file=sys.stderr)
    return status


# --- one model ------------------------------------------------------------------------------------


def _write_golden(
    golden: Golden, kit: Path, tell: Callable[[str], object]
) -> dict[str, Any]:
    from .hub import model_file
    from .onnx_export import to_onnx

    model, data = golden.make()
    x, offsets = data.x.astype(model.dtype), data.x_offsets
    expected = np.concatenate(model.predict(data)) + model.dtype.type(0)
    folder = kit / golden.name
    folder.mkdir()
    write_atomically(folder / "model.safetensors", model_file(model.tensors, model.config))
    to_onnx(model.tensors, model.config, folder / "model.onnx")
    write_atomically(folder / "data.safetensors", _data_file(x, offsets, expected))
    entry = {
        "name": golden.name,
        "about": golden.about,
        "blocks": model.n_blocks,
        "d": model.d,
        "width": model.width,
        "dtype": model.dtype.name,
        "attention": model.attention,
        "tau": model.tau if model.attention == "softmax" else None,
        "sequences": len(data),
        "tokens": len(x),
        "catches": list(golden.catches),
    }
    tell(f"{golden.name:<18}{model.n_blocks} blocks, {golden.about}")
    return entry


def _data_file(x: Array, offsets: Array, expected: Array) -> bytes:
    from safetensors.numpy import save

    return save(
        {"x": x, "x_offsets": offsets.astype(np.int64), "expected": expected},
        {"format": "exactformer-golden", "version": "1"},
    )


def _first(data: Dataset, count: int) -> Dataset:
    """The first sequences of a data set."""
    X, Y = data
    return Dataset(X[:count], Y[:count])


def _verified(model: Model, data: Dataset) -> tuple[Model, Dataset]:
    model.verify(data, strict=True)
    return model, data


# --- the models -----------------------------------------------------------------------------------


def _three(dtype: str) -> Callable[[], tuple[Model, Dataset]]:
    def make() -> tuple[Model, Dataset]:
        data = three_sequences()
        return _verified(fit(data, dtype=dtype), data)

    return make


def _subnormal(dtype: str, least: float) -> Callable[[], tuple[Model, Dataset]]:
    def make() -> tuple[Model, Dataset]:
        X = [[[0, 0, 1], [1, 2, 3]], [[0, 0, 1], [5, 2, 1]], [[2, 2, 3], [1, 5, 5], [9, 1, 2]]]
        Y = [
            [[1, 3 * least, 2.0**19 * least]],
            [[0.5, least, -(2.0**9) * least]],
            [[2, 0, 5 * least], [3, -7 * least, 1]],
        ]
        data = Dataset(X, Y)
        return _verified(fit(data, dtype=dtype), data)

    return make


def _published(attention: str, share: float) -> Callable[[], tuple[Model, Dataset]]:
    """Softmax at a share of the largest temperature that is exact."""

    def make() -> tuple[Model, Dataset]:
        data = generate("gaussian", 12, 3, n=(3, 6), m=(1, 2), grid="f32", seed=5)
        model = fit(data, construction="published", attention=attention)
        if attention == "softmax":
            config = model.config | {"tau": share * model.tau_max}
            model = Model.from_tensors(model.tensors, config)
        return _verified(model, data)

    return make


def _built(
    kind: str,
    n_sequences: int,
    d: int,
    n: tuple[int, int],
    m: int | tuple[int, int],
    grid: str,
    **options: Any,
) -> Callable[[], tuple[Model, Dataset]]:
    """A model for all sequences, tried on the first 32."""

    def make() -> tuple[Model, Dataset]:
        data = generate(kind, n_sequences, d, n=n, m=m, grid=grid, seed=3)
        return _verified(fit(data, self_check=False, **options), _first(data, 32))

    return make


def _digits() -> tuple[Model, Dataset]:
    data = digits()
    return _verified(fit(data), _first(data, 32))


def _ties() -> tuple[Model, Dataset]:
    """ff the identity, A = V = I, rho = 0: every token becomes the mean of those that its logits
    single out. Small integers, and 1, 2 or 4 of them at a time: exact in every order."""
    X = [
        [[1, 0], [0, 1], [-1, 0], [0, -1]],
        [[2, 2], [2, -2], [-2, 2], [-2, -2], [0, 0]],
        [[3, 1], [1, 3], [1, 1]],
        [[0, 0], [1, 5]],
    ]
    config: dict[str, Any] = {
        "d": 2,
        "width": 1,
        "blocks": 1,
        "attention": "hardmax",
        "tau": None,
        "tau_max": 0,
        "dtype": "F64",
        "construction": "edited",
        "sequences": len(X),
        "targets": sum(map(len, X)),
        "tokens": sum(map(len, X)),
        "phases": [{"name": "ties", "first": 0, "count": 1}],
        "positions": None,
    }
    shapes = expected_shapes(config).items()
    tensors = {name: np.zeros(shape) for name, shape in shapes if not name.endswith(".full")}
    for name in ("ff.eta", "sa.A.alpha", "sa.V.alpha"):
        tensors[name][:] = 1
    model, data = Model.from_tensors(tensors, config), Dataset(X)
    for tokens, outputs in zip(data.inputs, model.predict(data), strict=True):
        logits = tokens @ tokens.T  # of small integers: exact
        wanted = [tokens[row == row.max()].mean(axis=0) for row in logits]
        if not np.array_equal(outputs, wanted):
            raise NotExactError("the model of ties has other outputs than its definition")
    return model, data


# --- the page -------------------------------------------------------------------------------------


def _readme(entries: Sequence[Config]) -> str:
    rows = "".join(
        f"| {e['name']} | {e['about']} | {e['blocks']} | {e['d']} | {e['dtype']} | {e['attention']} |\n"
        for e in entries
    )
    defects = "".join(
        f"| {defect} | {', '.join(e['name'] for e in entries if defect in e['catches'])} |\n"
        for defect in DEFECTS
    )
    return README.replace("ROWS\n", rows).replace("DEFECTS\n", defects)


README = """\
# A conformance kit for inference engines

Transformers whose outputs are known bit for bit. Their weights are constructed such that no order of summation and
no fused multiply-add changes an output: an engine that computes in IEEE arithmetic gives exactly the
expected bits, so there is no tolerance to choose. An engine that does not has one of the defects below.

| model | | blocks | d | precision | attention |
|---|---|---|---|---|---|
ROWS

## Files
`kit.json` lists the models. Each folder has

- `model.onnx` (opset 13): inputs `x` [batch, tokens, d] and `mask` bool [batch, tokens], True at tokens, False at padding;
  output `y` [batch, tokens, d];
- `model.safetensors`: the same model as tensors, for engines with a graph of their own. Blocks in order, each
  `x <- eta x + W relu(U x + b)`, then `x_i <- rho x_i + V sum_l pi_il x_l`, with A, V = alpha I + left right^T. pi_i
  is uniform on the argmax over l of <A x_i, x_l> (hardmax, ties averaged), or the softmax of <A x_i, x_l>/tau. With V = 0
  attention is rho x_i;
- `data.safetensors`: `x` [T, d], `x_offsets` [N+1] (sequence j is rows x_offsets[j] to x_offsets[j+1]), and
  `expected` [T, d], the output for every token.

## Checking
Write your engine's outputs for `x`, sequence by sequence, as raw little-endian numbers of the model's
precision to `OUT/NAME.bin`, [T, d] in C order, and run

    python3 check.py OUT

It needs Python alone, compares bits (the sign of a zero disregarded), says where the first difference is and
which defects the model that failed is there to catch, and exits with status 0 if all is well, 1 if not.

| defect | is caught by |
|---|---|
DEFECTS

Inputs are in the model's precision already. Subnormal numbers count; fast-math, TF32, and lower
precision inside products do not conform.
"""


if __name__ == "__main__":
    sys.exit(main())
