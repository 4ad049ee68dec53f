#!/usr/bin/env python3
"""Compare an engine's outputs with the expected bits of the conformance kit that this file is in.

    check.py OUT [NAME...]

OUT holds NAME.bin for every model, or for those named: raw little-endian numbers [T, d] in the model's
precision. Exit status: 0 all equal, 1 differences, 2 usage. Needs Python alone.
"""

from __future__ import annotations

import json
import struct
import sys
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CODES = {"float64": "d", "float32": "f"}


def numbers(raw: bytes, dtype: str) -> "array[float]":
    """Little-endian numbers."""
    values: array[float] = array(CODES[dtype])
    values.frombytes(raw)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def tensor(path: Path, name: str) -> bytes:
    """The bytes of one tensor of a .safetensors file."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    start, end = json.loads(raw[8 : 8 + length])[name]["data_offsets"]
    return raw[8 + length + start : 8 + length + end]


def difference(kit: Path, model: Mapping[str, Any], out: Path) -> str | None:
    """What is wrong with an engine's outputs for a model; None if nothing is."""
    dtype, d = str(model["dtype"]), int(model["d"])
    expected = numbers(tensor(kit / model["name"] / "data.safetensors", "expected"), dtype)
    path = out / f"{model['name']}.bin"
    if not path.is_file():
        return f"{path} is missing"
    raw = path.read_bytes()
    if len(raw) != len(expected) * expected.itemsize:
        return f"{path} has {len(raw)} bytes, not {len(expected) * expected.itemsize}"
    got = numbers(raw, dtype)
    # Numbers are equal iff their bits are, but for zeros; a NaN is equal to nothing.
    wrong = [i for i, (a, b) in enumerate(zip(got, expected)) if a != b]
    if not wrong:
        return None
    token, coordinate = divmod(wrong[0], d)
    return (
        f"{len(wrong)} of {len(expected)} values differ, first in token {token}, coordinate"
        f" {coordinate}: {got[wrong[0]].hex()}, expected {expected[wrong[0]].hex()}"
    )


def main(arguments: Sequence[str]) -> int:
    """Check all models, or those named; returns the exit status."""
    kit = Path(__file__).resolve().parent
    models = {model["name"]: model for model in json.loads((kit / "kit.json").read_text())["models"]}
    names = arguments[1:] or list(models)
    if not arguments or arguments[0].startswith("-") or not set(names) <= set(models):
        print(__doc__, file=sys.stderr)
        return 2
    failed = 0
    for name in names:
        found = difference(kit, models[name], Path(arguments[0]))
        print(f"{name:<18}{'equal' if found is None else found}")
        if found is not None:
            failed += 1
            print(f"{'':<18}this model catches: {'; '.join(models[name]['catches'])}")
    print(f"{len(names) - failed} of {len(names)} models equal")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
