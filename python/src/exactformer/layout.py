"""The interchange layout of a model: named arrays and a config, checked.

tensors is a mapping from names to arrays:

    ff.eta [L]   ff.W [L, d, w]   ff.U [L, w, d]   ff.b [L, w]   sa.rho [L]
    sa.A.alpha, sa.V.alpha [L]    sa.A.left, sa.A.right, sa.V.left, sa.V.right [L, d]
    sa.A.full, sa.V.full [L, d, d], both optional

and config the JSON object of the model file. Weights may be held as float64 although the config says
F32, as long as all of them are binary32 numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .errors import DataError

Array: TypeAlias = npt.NDArray[Any]
Tensors: TypeAlias = Mapping[str, Array]
Config: TypeAlias = Mapping[str, Any]

DTYPES: dict[str, np.dtype[Any]] = {"F64": np.dtype("f8"), "F32": np.dtype("f4")}


def expected_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """The name and shape of every tensor that a model of this config has or may have."""
    blocks, d, w = (int(config[key]) for key in ("blocks", "d", "width"))
    shapes: dict[str, tuple[int, ...]] = {
        "ff.eta": (blocks,),
        "ff.W": (blocks, d, w),
        "ff.U": (blocks, w, d),
        "ff.b": (blocks, w),
        "sa.rho": (blocks,),
    }
    for matrix in ("sa.A", "sa.V"):
        shapes[f"{matrix}.alpha"] = (blocks,)
        shapes[f"{matrix}.left"] = shapes[f"{matrix}.right"] = (blocks, d)
        shapes[f"{matrix}.full"] = (blocks, d, d)
    return shapes


def checked(tensors: Tensors, config: Config) -> dict[str, Array]:
    """The tensors in the dtype of the config, none of them rounded.

    Raises DataError, naming the first offender, unless these are the tensors of such a model.
    """
    for key in ("d", "width", "blocks", "attention", "dtype"):
        if key not in config:
            raise DataError(f"config key '{key}' is missing")
    if config["dtype"] not in DTYPES:
        raise DataError(f"config key 'dtype' is {config['dtype']!r}, neither 'F64' nor 'F32'")
    dtype = DTYPES[str(config["dtype"])]
    shapes = expected_shapes(config)
    for name in tensors:
        if name not in shapes:
            raise DataError(f"tensor '{name}' is none that a model has")
    out = {}
    for name, shape in shapes.items():
        if name in tensors:
            out[name] = _exact(name, tensors[name], shape, dtype)
        elif not name.endswith(".full"):
            raise DataError(f"tensor '{name}' is missing")
    return out


def _exact(name: str, tensor: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if tensor.shape != shape:
        raise DataError(f"tensor '{name}' has shape {tensor.shape}, not {shape}")
    with np.errstate(over="ignore"):
        narrow = tensor.astype(dtype)
    if not np.array_equal(narrow, tensor):
        raise DataError(f"tensor '{name}' has values that are no finite {dtype} numbers")
    return narrow


def part_nonzero(tensors: Tensors, matrix: str) -> list[tuple[bool, bool, bool]]:
    """For each block, which parts of "sa.A" or "sa.V" are not zero: alpha, rank one, full."""
    alpha = tensors[f"{matrix}.alpha"].astype(np.bool_)
    left, right = tensors[f"{matrix}.left"], tensors[f"{matrix}.right"]
    one: Array = np.any(left, axis=1) & np.any(right, axis=1)
    full = tensors.get(f"{matrix}.full")
    rest: Array = np.zeros_like(alpha) if full is None else np.any(full, axis=(1, 2))
    return [(bool(a), bool(b), bool(c)) for a, b, c in zip(alpha, one, rest, strict=True)]
