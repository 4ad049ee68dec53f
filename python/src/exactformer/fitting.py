"""Constructing models."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._bind import (
    ATTENTION,
    CONSTRUCTION,
    DTYPE,
    OPTIMISE,
    Progress,
    call,
    integer,
    names,
    temperature,
    text,
    threads_value,
    watched,
)
from ._core import ffi, lib
from .dataset import Dataset, Positions, Sequences
from .errors import UsageError
from .model import Model
from .model_input import Input
from .model_memory import new_model
from .reports import BuildReport

FRONTS = names(lib.xf_build_fronts())
"""The front ends that can be asked for."""
WRITERS = names(lib.xf_build_writers())
"""The writers that can be asked for."""


def fit(
    X: Input,
    Y: Sequences | None = None,
    *,
    construction: str = "pooled",
    attention: str = "hardmax",
    tau: float | None = None,
    dtype: Any = "f64",
    seed: int = 0,
    threads: int = 0,
    optimise: str = "depth",
    front: str | None = None,
    writer: str | None = None,
    hardmax_only: bool = False,
    balanced: bool = False,
    self_check: bool = True,
    positions: Positions = None,
    progress: Progress = False,
) -> Model:
    """Construct a transformer T with T(X_j) = Y_j, as sets, for every j, exactly.

    Exactly means: in real arithmetic with the stored weights, and bit for bit in the model's dtype
    for every order of summation, with and without FMA. Nothing is trained. The same data, options
    and seed give the same weights on every machine.

    Parameters
    ----------
    X : sequence of [n_j, d] arrays, [N, n, d] array, Dataset, or path
        Inputs; a path is a .npz, .safetensors or .jsonl file with inputs and targets.
    Y : sequence of [m_j, d] arrays, [N, m, d] or [N, d] array
        Targets, 1 <= m_j <= n_j; left out for a Dataset or a path.
    construction : {"pooled", "published", "resnet"}
    attention : {"hardmax", "softmax"}
    tau : float, optional
        Softmax temperature written into the model; 1 if left out.
    dtype : {"f64", "f32"} or NumPy dtype
        Precision of weights and evaluation.
    seed : int
        Of the random candidate directions.
    threads : int
        0: as many as there are cores; negative numbers are refused.
    optimise : {"depth", "norm"}
        What to make small among all that can be built.
    front, writer : str, optional
        One of `FRONTS` and `WRITERS`, in place of the best.
    hardmax_only : bool
        The model need not be exact under softmax.
    balanced : bool
        Rescale every neuron by a power of two to the least norm.
    self_check : bool
        Evaluate every sequence at the end and compare.
    positions : {None, "append"}
        "append" adds a coordinate with each token's position, so that sequences may repeat tokens;
        predictions append and strip it by themselves.
    progress : bool or callable
        True: a tqdm bar. A callable gets (phase, share done) and may return True to stop.

    Returns
    -------
    Model

    Raises
    ------
    RefusalError
        The data do not allow exactness in this dtype; the message names the sequences and says
        what would help.
    DataError, UsageError, FileError, CancelledError, OutOfMemoryError
    KeyboardInterrupt
        Ctrl-C stops the work.

    Examples
    --------
    >>> model = fit([[[0, 0], [1, 2], [3, 1]], [[0, 0], [1, 2]]], [[[0.1, 0.2]], [[-5, 1e-9]]])
    >>> model.predict_sets([[[0, 0], [1, 2]]])
    [array([[-5.e+00,  1.e-09]])]
    """
    options = ffi.new("xf_build_options *")
    options.construction = CONSTRUCTION.value("construction", construction)
    options.attention = ATTENTION.value("attention", attention)
    options.dtype = DTYPE.value("dtype", _dtype_name(dtype))
    options.optimise = OPTIMISE.value("optimise", optimise)
    options.seed = integer("seed", seed, 0, 2**64 - 1)
    options.threads = threads_value(threads)
    options.hardmax_only = bool(hardmax_only)
    options.balanced = bool(balanced)
    options.no_self_check = not self_check
    if tau is not None:
        if attention != "softmax":
            raise UsageError("tau needs attention='softmax'")
        options.tau = temperature(tau)
    keep = [_name("front", front, FRONTS), _name("writer", writer, WRITERS)]
    options.front, options.writer = keep
    return _build(_data(X, Y, positions), options, progress)


def _dtype_name(dtype: Any) -> Any:
    """ "f64" for anything that NumPy calls float64, and so on."""
    if isinstance(dtype, str) and dtype in DTYPE.values:
        return dtype
    try:
        kind = np.dtype(dtype)
    except TypeError:
        return dtype
    return {np.dtype(np.float64): "f64", np.dtype(np.float32): "f32"}.get(kind, dtype)


def _name(parameter: str, value: str | None, known: tuple[str, ...]) -> Any:
    if value is None:
        return ffi.NULL
    if not isinstance(value, str) or value not in known:
        raise UsageError(f"unknown {parameter} {value!r}: use {', '.join(map(repr, known))}")
    return ffi.new("char[]", value.encode())


def _data(X: Input, Y: Sequences | None, positions: Positions) -> Dataset:
    if isinstance(X, Dataset):
        if Y is not None or positions is not None:
            raise UsageError("a data set has its own targets and positions: leave them out")
        return X
    if isinstance(X, (str, os.PathLike)):
        if Y is not None:
            raise UsageError("the file holds the targets: leave Y out")
        return Dataset.load(X, positions=positions)
    if Y is None:
        raise UsageError("targets are missing: fit(X, Y)")
    return Dataset(X, Y, positions=positions)


def _build(data: Dataset, options: Any, progress: Progress) -> Model:
    pointer, report = new_model(), ffi.new("xf_build_report *")
    with watched(options, progress):
        call(lib.xf_build, pointer, data._pointer, options, report)
    return Model(
        pointer,
        BuildReport(
            front=text(report.front),
            writer=text(report.writer),
            folds=int(report.n_folds),
            extra_blocks=int(report.extra_blocks),
            separations=int(report.n_separations),
            left_out=bool(report.left_out),
            margin=float(report.margin),
            margin_sequences=(int(report.margin_sequence[0]), int(report.margin_sequence[1])),
            collapse_margin=float(report.collapse_margin),
            seconds_construct=float(report.seconds_construct),
            seconds_check=float(report.seconds_check),
        ),
    )
