"""Is a training certainly not at a global minimum? The verdicts of the C library on its log."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._bind import Choice, Float64, Int64, c_path, call, text
from ._core import ffi, lib
from .model import Model

VERDICT = Choice("xf_verdict", "XF_")


def _verdict(value: int) -> str:
    """As the program says it."""
    name = VERDICT.names[value].replace("_", " ")
    return "not a global minimum" if name == "not a minimum" else name


@dataclass(frozen=True)
class Stage:
    """The training at one weight decay epsilon, from the start that was kept.

    Attributes
    ----------
    weight_decay : float
    epoch, loss, norm2, J : ndarray
        Its records; J = loss + (epsilon / 2) norm2.
    min_loss, min_J : float
        Over all epochs.
    threshold : float or None
        (epsilon / 2) |theta*|^2 with theta* in the trained family; None if it does not belong to it.
    verdict : {"undecided", "not a global minimum", "not comparable"}
        On the last record. Only the second is certain; undecided says nothing.
    margin : float or None
        By how much J exceeds the threshold or the better J, relative to it.
    better : tuple of int, int, float or None
        Stage, epoch and J here of another state of the log that is certainly better at this epsilon.
    """

    weight_decay: float
    epoch: Int64
    loss: Float64
    norm2: Float64
    J: Float64
    min_loss: float
    min_J: float
    threshold: float | None
    verdict: str
    margin: float | None
    better: tuple[int, int, float] | None


@dataclass(frozen=True)
class Diagnosis:
    """What `diagnose` found.

    Attributes
    ----------
    comparable : bool
        The exact model belongs to the trained family, so that there are thresholds.
    why_not : str
        Why not; empty if it does.
    norm2 : float or None
        |theta*|^2 in the family, identity blocks that fill it up included.
    stages : tuple of Stage
    """

    comparable: bool
    why_not: str
    norm2: float | None
    stages: tuple[Stage, ...]


def diagnose(log: str | os.PathLike[str], model: Model | None = None) -> Diagnosis:
    """Judge a training by its log, as ``exactformer diagnose`` does (docs/yardstick.md).

    Parameters
    ----------
    log : path
        A .csv or .json file as ``exactformer train`` writes it, or another program in the same format.
    model : Model, optional
        An exact model; that it is exact on the data of the training is the caller's word.

    Returns
    -------
    Diagnosis

    Raises
    ------
    DataError, FileError, UsageError
        The log is malformed or contradicts itself; it cannot be read; it has another extension.
    """
    read = ffi.new("xf_training_log *")
    found = ffi.new("xf_diagnosis *")
    lib.xf_training_log_init(read)
    lib.xf_diagnosis_init(found)
    try:
        call(lib.xf_training_log_load, read, c_path(log))
        call(lib.xf_diagnose, found, read, ffi.NULL if model is None else model._pointer)
        stages = (_stage(read, read.stages[i], found.stages[i]) for i in range(found.n_stages))
        return Diagnosis(
            bool(found.comparable), text(found.why), _known(found.norm2), tuple(stages)
        )
    finally:
        lib.xf_diagnosis_clear(found)
        lib.xf_training_log_clear(read)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _stage(log: Any, stage: Any, said: Any) -> Stage:
    records = [log.records[i] for i in range(stage.first, stage.first + stage.count)]
    kept = [r for r in records if r.start == stage.start]
    better = (int(said.better.stage), int(said.better.epoch), float(said.better_objective))
    return Stage(
        float(stage.weight_decay),
        np.array([r.epoch for r in kept], np.int64),
        np.array([r.loss for r in kept]),
        np.array([r.norm2 for r in kept]),
        np.array([r.objective for r in kept]),
        float(stage.min_loss),
        float(stage.min_objective),
        _known(said.threshold),
        _verdict(said.verdict),
        _known(said.margin),
        better if said.beaten else None,
    )
