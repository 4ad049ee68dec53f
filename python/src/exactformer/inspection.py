"""Size, norms, phases and margins of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._bind import call
from ._core import ffi, lib
from .dataset import Dataset

if TYPE_CHECKING:
    from .model import Model


def inspect(model: Model, data: Dataset | None) -> dict[str, Any]:
    """The keys of ``exactformer inspect --json``."""
    found = ffi.new("xf_inspection *")
    call(lib.xf_inspect, found, model._pointer, ffi.NULL if data is None else data._pointer)
    result: dict[str, Any] = {
        "blocks": int(found.blocks),
        "bound": int(found.bound),
        "parameters_dense": int(found.parameters_dense),
        "parameters_nonzero": int(found.parameters_nonzero),
        "target_values": model.d * int(model._pointer.n_targets),
        "nonzero_ratio": float(found.nonzero_ratio),
        "cell_bits": int(found.cell_bits),
        "l2_norm_squared": float(found.l2_norm_squared),
        "max_abs_weight": float(found.max_abs_weight),
    }
    if found.has_margin:
        result["margin"] = float(found.margin)
        result["margin_sequences"] = tuple(int(j) for j in found.margin_sequence)
    if found.has_collapse:
        result["separations"] = int(found.n_separations)
        result["collapse_margin"] = float(found.collapse_margin)
        result["tau_max_found"] = float(found.tau_max)
    result |= model.config | {"blocks": model.n_blocks, "tau_max": model.tau_max}
    result["phases"] = [
        phase | {"l2_norm_squared": _norm(model, phase)} for phase in model.config["phases"]
    ]
    return result


def _norm(model: Model, phase: dict[str, Any]) -> float:
    return float(lib.xf_norm_squared(model._pointer, phase["first"], phase["count"]))
