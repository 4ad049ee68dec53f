"""What was found out about a model: how it was built, how exact it is, what its tokens do."""

from __future__ import annotations

from dataclasses import dataclass

from ._bind import Float64, Int64


@dataclass(frozen=True)
class Report:
    """What `Model.verify` found; true if every output set equals its targets.

    Attributes
    ----------
    sequences, exact : int
        All sequences, and those with T(X_j) = Y_j as sets, compared with ``==``.
    hausdorff_max : float
        Largest Hausdorff distance; 0.0 if all are exact, inf if an output is not finite.
    first_mismatch, worst_sequence : int or None
        Sequences, where there is one.
    """

    sequences: int
    exact: int
    hausdorff_max: float
    first_mismatch: int | None
    worst_sequence: int | None

    def __bool__(self) -> bool:
        return self.exact == self.sequences


@dataclass(frozen=True)
class BuildReport:
    """How a model was built (`Model.report`).

    Attributes
    ----------
    front, writer : str
        Front end and writer chosen.
    folds, extra_blocks, separations : int
        Fold blocks; blocks beyond the writer's regular depth; separation blocks.
    left_out : bool
        Ways of building that hold numbers of every token were not tried, for lack of memory.
    margin : float
        Smallest gap between neighbouring groups of tokens over the sum of their rigorous rounding
        bounds; above 1 it proves the front end.
    margin_sequences : tuple of int
        The two sequences where it occurs.
    collapse_margin : float
        Published construction: lower bound of the smallest gap of logits.
    seconds_construct, seconds_check : float
    """

    front: str
    writer: str
    folds: int
    extra_blocks: int
    separations: int
    left_out: bool
    margin: float
    margin_sequences: tuple[int, int]
    collapse_margin: float
    seconds_construct: float
    seconds_check: float


@dataclass(frozen=True, eq=False)
class Trace:
    """The tokens at S moments (`Model.trace`).

    Attributes
    ----------
    tokens : ndarray [S, T, d]
    blocks_done : ndarray [S]
        0: the input itself.
    phase : tuple of str
        Phase of the last block done, "input" if there is none.
    x_offsets : ndarray [N + 1]
        Sequence j is rows x_offsets[j] to x_offsets[j + 1].
    """

    tokens: Float64
    blocks_done: Int64
    phase: tuple[str, ...]
    x_offsets: Int64
