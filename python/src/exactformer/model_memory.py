"""Models in the C library's memory: made, seen as NumPy arrays, and made of NumPy arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ._bind import Float64, call, floats, text
from ._core import ffi, lib
from .errors import DataError


def new_model() -> Any:
    """An empty xf_model that clears itself."""
    pointer = ffi.new("xf_model *")
    lib.xf_model_init(pointer)
    return ffi.gc(pointer, lib.xf_model_clear)


def weights(pointer: Any) -> dict[str, Float64]:
    """Writable views of the weights of an xf_model."""
    p, n, d, w = pointer, int(pointer.n_blocks), int(pointer.d), int(pointer.width)
    arrays = {
        "ff.eta": floats(p, p.ff_eta, n),
        "ff.W": floats(p, p.ff_W, n, d, w),
        "ff.U": floats(p, p.ff_U, n, w, d),
        "ff.b": floats(p, p.ff_b, n, w),
        "sa.rho": floats(p, p.sa_rho, n),
    }
    for name, matrix in (("sa.A", p.sa_A), ("sa.V", p.sa_V)):
        arrays[f"{name}.alpha"] = floats(p, matrix.alpha, n)
        arrays[f"{name}.left"] = floats(p, matrix.left, n, d)
        arrays[f"{name}.right"] = floats(p, matrix.right, n, d)
        if matrix.full != ffi.NULL:
            arrays[f"{name}.full"] = floats(p, matrix.full, n, d, d)
    return arrays


def read_config(pointer: Any) -> dict[str, Any]:
    """Everything but the weights, as in the model file."""
    out = ffi.new("char **")
    call(lib.xf_model_config, out, pointer)
    config: dict[str, Any] = json.loads(text(out[0]))
    lib.xf_text_free(out[0])
    return config


def assembled(tensors: Mapping[str, npt.ArrayLike], config: Mapping[str, Any]) -> Any:
    """A checked xf_model of given weights; DataError for what does not fit."""
    for name, value in (("tensors", tensors), ("config", config)):
        if not isinstance(value, Mapping):
            raise DataError(f"{name} is a {type(value).__name__}, not a mapping")
    pointer = new_model()
    try:
        line = json.dumps(dict(config)).encode()
    except (TypeError, ValueError) as error:
        raise DataError(f"the config is no JSON object: {error}") from None
    call(
        lib.xf_model_from_config, pointer, line, "sa.A.full" in tensors, "sa.V.full" in tensors
    )
    for name, view in weights(pointer).items():
        if name not in tensors:
            raise DataError(f"there is no tensor '{name}'")
        values = np.asarray(tensors[name])
        if values.shape != view.shape:
            raise DataError(f"tensor '{name}' has shape {values.shape}, not {view.shape}")
        view[...] = values
    call(lib.xf_model_check, pointer)
    return pointer
