"""Data for a model, in its coordinates: with an appended position where it wants one."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

from .dataset import Dataset, Sequences, flatten
from .errors import UsageError

Input: TypeAlias = Sequences | Dataset | str | os.PathLike[str]
"""Input sequences: arrays, a `Dataset`, or the path of one."""


def model_dataset(
    X: Input, Y: Sequences | None, d: int, positions: int | None, with_targets: bool
) -> tuple[Dataset, bool]:
    """The data for a model of dimension d, and whether positions were appended.

    positions is `Model.positions`. Targets of a data set or file are left out unless with_targets.
    """
    bits = None if positions is None else positions + 1
    if isinstance(X, (str, os.PathLike)):
        return Dataset._load(X, bits, not with_targets), bits is not None
    if isinstance(X, Dataset):
        if Y is not None:
            raise UsageError("a data set has its own targets: leave Y out")
        if bits is None or X.d != d - 1:
            return X, False
        x: Any = (X.x, X.x_offsets)
        y: Any = (X.y, X.y_offsets) if with_targets and X.y is not None else None
    else:
        x, y = flatten(X, "X"), None if Y is None else flatten(Y, "Y")
    if bits is not None and x[0].shape[1] != d - 1:
        bits = None
    return Dataset._from_flat(x, y, bits), bits is not None
