"""The weights of a model block by block, and its phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from ._bind import Float64


@dataclass(frozen=True)
class Phase:
    """A run of blocks with one job."""

    name: str
    first: int
    count: int


@dataclass(frozen=True, eq=False)
class LowRank:
    """alpha I + left right^T (+ full): the matrices A and V of an attention layer.

    Attributes
    ----------
    alpha : float
    left, right : ndarray [d]
    full : ndarray [d, d] or None
    """

    alpha: float
    left: Float64
    right: Float64
    full: Float64 | None

    def dense(self) -> Float64:
        """The whole matrix, [d, d]."""
        matrix = self.alpha * np.eye(len(self.left)) + np.outer(self.left, self.right)
        return matrix if self.full is None else matrix + self.full


@dataclass(frozen=True, eq=False)
class Block:
    """One block: ``FF(x) = eta x + W relu(U x + b)``, then attention with residual rho.

    Attributes
    ----------
    index : int
    phase : str
        Name of the phase it belongs to, "" if the model does not say.
    eta, rho : float
    W : ndarray [d, w]
        Columns are the neurons' output directions.
    U : ndarray [w, d]
        Rows are the neurons' input directions.
    b : ndarray [w]
    A, V : LowRank
    """

    index: int
    phase: str
    eta: float
    W: Float64
    U: Float64
    b: Float64
    rho: float
    A: LowRank
    V: LowRank


class Blocks(Sequence[Block]):
    """The blocks of a model; their arrays are read-only views of the model's memory."""

    def __init__(
        self, count: int, tensors: Mapping[str, Float64], phases: Sequence[Phase]
    ) -> None:
        self._tensors = tensors
        self._phases = [phase.name for phase in phases for _ in range(phase.count)]
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Block: ...
    @overload
    def __getitem__(self, index: slice) -> list[Block]: ...
    def __getitem__(self, index: int | slice) -> Block | list[Block]:
        if isinstance(index, slice):
            return [self._block(i) for i in range(*index.indices(self._count))]
        return self._block(range(self._count)[index])

    def _block(self, i: int) -> Block:
        t = self._tensors
        return Block(
            index=i,
            phase=self._phases[i] if self._phases else "",
            eta=float(t["ff.eta"][i]),
            W=t["ff.W"][i],
            U=t["ff.U"][i],
            b=t["ff.b"][i],
            rho=float(t["sa.rho"][i]),
            A=self._matrix("sa.A", i),
            V=self._matrix("sa.V", i),
        )

    def _matrix(self, name: str, i: int) -> LowRank:
        t, full = self._tensors, self._tensors.get(f"{name}.full")
        return LowRank(
            alpha=float(t[f"{name}.alpha"][i]),
            left=t[f"{name}.left"][i],
            right=t[f"{name}.right"][i],
            full=None if full is None else full[i],
        )
