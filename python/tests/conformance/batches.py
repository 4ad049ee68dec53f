"""Sequences padded to batches, and exact comparison of sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[Any]


@dataclass
class Batch:
    """x [B, n, d] with NaN at padding, mask [B, n] True at tokens, the first sequence's number."""

    x: Rows
    mask: npt.NDArray[np.bool_]
    first: int

    def split(self, y: Rows) -> list[Rows]:
        """The tokens of each sequence of an output [B, n, d]."""
        return [rows[there] for rows, there in zip(y, self.mask, strict=True)]


def make_batch(sequences: list[Rows], first: int) -> Batch:
    """Pad with NaN, which shows if padding has an influence."""
    n, d = max(map(len, sequences)), sequences[0].shape[1]
    x = np.full((len(sequences), n, d), np.nan, sequences[0].dtype)
    mask = np.zeros((len(sequences), n), np.bool_)
    for row, there, sequence in zip(x, mask, sequences, strict=True):
        row[: len(sequence)] = sequence
        there[: len(sequence)] = True
    return Batch(x, mask, first)


def bits(rows: Rows) -> set[bytes]:
    """The set of rows by their bits, -0 as 0."""
    return {row.tobytes() for row in rows + 0.0}


def same_set(output: Rows, targets: Rows) -> bool:
    """Are these the same sets of tokens, bit for bit? The dtypes must agree, too."""
    return output.dtype == targets.dtype and bits(output) == bits(targets)
