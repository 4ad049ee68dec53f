"""The interchange layout of a model: named arrays and a config, checked.

tensors is a mapping from names to arrays, all of one dtype (float64 or float32):

    ff.eta [L]   ff.W [L, d, w]   ff.U [L, w, d]   ff.b [L, w]   sa.rho [L]
    sa.A.alpha, sa.V.alpha [L]    sa.A.left, sa.A.right, sa.V.left, sa.V.right [L, d]
    sa.A.full, sa.V.full [L, d, d], both optional

and config the JSON object of the model file.
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

DTYPES = {"F64": np.dtype(np.float64), "F32": np.dtype(np.float32)}


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


def check_model(tensors: Tensors, config: Config) -> None:
    """Raise DataError, naming the first offender, unless the tensors are those of the config."""
    for key in ("d", "width", "blocks", "attention", "dtype"):
        if key not in config:
            raise DataError(f"config key '{key}' is missing")
    if config["dtype"] not in DTYPES:
        raise DataError(f"config key 'dtype' is {config['dtype']!r}, neither 'F64' nor 'F32'")
    dtype = DTYPES[str(config["dtype"])]
    shapes = expected_shapes(config)
    for name, shape in shapes.items():
        if name not in tensors:
            if name.endswith(".full"):
                continue
            raise DataError(f"tensor '{name}' is missing")
        if tensors[name].shape != shape:
            raise DataError(f"tensor '{name}' has shape {tensors[name].shape}, not {shape}")
        if tensors[name].dtype != dtype:
            raise DataError(f"tensor '{name}' is {tensors[name].dtype}, the config says {dtype}")
    for name in tensors:
        if name not in shapes:
            raise DataError(f"tensor '{name}' is none that a model has")


def part_nonzero(tensors: Tensors, matrix: str) -> list[tuple[bool, bool, bool]]:
    """For each block, which parts of "sa.A" or "sa.V" are not zero: alpha, rank one, full."""
    alpha = tensors[f"{matrix}.alpha"] != 0
    one = tensors[f"{matrix}.left"].any(axis=1) & tensors[f"{matrix}.right"].any(axis=1)
    full = tensors.get(f"{matrix}.full")
    rest = np.zeros_like(alpha) if full is None else full.any(axis=(1, 2))
    return list(zip(alpha.tolist(), one.tolist(), rest.tolist(), strict=True))
