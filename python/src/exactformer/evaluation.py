"""Evaluation of a model: its outputs, compared with targets, and its tokens between the blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._bind import (
    ATTENTION,
    ENGINE,
    Float64,
    Progress,
    call,
    floats,
    integer,
    integers,
    position,
    temperature,
    text,
    threads_value,
    watched,
)
from ._core import ffi, lib
from .dataset import Dataset
from .errors import NotExactError, UsageError
from .reports import Report, Trace


def replace_attention(options: Any, attention: str | None, tau: float | None) -> None:
    """Attention and temperature in place of the model's, where they are given."""
    if attention is not None:
        options.override_attention = 1
        options.attention = ATTENTION.value("attention", attention)
    if tau is not None:
        options.tau = temperature(tau)


@dataclass(frozen=True)
class RunOptions:
    """How to evaluate; the parameters of `Model.predict`."""

    attention: str | None = None
    tau: float | None = None
    engine: str = "sparse"
    threads: int = 0
    progress: Progress = False

    def fill(self, options: Any) -> None:
        """Into the C library's run options; UsageError for what makes no sense."""
        options.engine = ENGINE.value("engine", self.engine)
        options.threads = threads_value(self.threads)
        replace_attention(options, self.attention, self.tau)


def run(pointer: Any, data: Dataset, how: RunOptions) -> Float64:
    """The output tokens of all sequences, [T, d]."""
    options = ffi.new("xf_run_options *")
    how.fill(options)
    out = np.empty((len(data.x), int(pointer.d)))
    with watched(options, how.progress):
        call(lib.xf_run, ffi.from_buffer("double[]", out), pointer, data._pointer, options)
    return out


def verify(pointer: Any, data: Dataset, how: RunOptions) -> Report:
    """Compare the output sets with the targets."""
    options, found = ffi.new("xf_run_options *"), ffi.new("xf_verify_report *")
    how.fill(options)
    with watched(options, how.progress):
        call(lib.xf_verify, found, pointer, data._pointer, options)
    return Report(
        sequences=int(found.n_sequences),
        exact=int(found.n_exact),
        hausdorff_max=float(found.hausdorff_max),
        first_mismatch=position(found.first_mismatch),
        worst_sequence=position(found.worst_sequence),
    )


def insist(report: Report) -> None:
    """NotExactError unless all sequences are exact."""
    if not report:
        raise NotExactError(
            f"{report.exact} of {report.sequences} sequences are exact, the first that is not"
            f" is {report.first_mismatch}",
            sequence=report.first_mismatch,
        )


def trace(
    pointer: Any, data: Dataset, every: int, phase: str | None, max_bytes: int, how: RunOptions
) -> Trace:
    """The tokens after every k-th block, or every k-th of a phase."""
    options, found = ffi.new("xf_trace_options *"), ffi.new("xf_snapshots *")
    options.every = integer("every", every, 1, 2**62)
    options.max_bytes = integer("max_bytes", max_bytes, 0, 2**62)
    if not isinstance(phase, (str, type(None))):
        raise UsageError(f"phase must be the name of one: {phase!r}")
    name = ffi.NULL if phase is None else ffi.new("char[]", phase.encode())
    options.phase = name
    how.fill(options.run)
    found = ffi.gc(found, lib.xf_snapshots_clear)
    with watched(options.run, how.progress):
        call(lib.xf_trace, found, pointer, data._pointer, options)
    count = int(found.n_snapshots)
    return Trace(
        tokens=floats(found, found.tokens, count, int(found.n_tokens), int(pointer.d)),
        blocks_done=integers(found, found.blocks_done, count),
        phase=tuple(text(found.phase[s]) for s in range(count)),
        x_offsets=integers(found, found.x_offsets, int(found.n_sequences) + 1),
    )


def distinct(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Rows without repetitions, in order of first appearance; 0 and -0 are equal."""
    first: dict[tuple[float, ...], int] = {}
    for i, row in enumerate(rows.tolist()):
        first.setdefault(tuple(row), i)
    return rows[list(first.values())]
