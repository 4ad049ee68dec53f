"""Figures with matplotlib (``pip install './python[plot]'`` in the source tree).

Every function returns the matplotlib figure; show or save it as usual.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ._bind import Float64
from .dataset import Dataset
from .diagnosing import Stage, diagnose
from .errors import UsageError
from .model import Model
from .model_input import Input

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Log: TypeAlias = "str | os.PathLike[str]"
"""The path of a training log, .csv or .json."""

# Told apart with any kind of colour vision (Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_PUBLISHED = ("separation", "leaders", "collapse", "project", "write")
_FAINT = "#bbbbbb"


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise UsageError("figures need matplotlib: pip install matplotlib") from None
    return pyplot


def phases(model: Model, data: Input, *, axes: tuple[int, int] = (0, 1)) -> Figure:
    """What the phases of a model do to the tokens, a panel each.

    For the published construction the five panels are those of the paper: separation, leaders,
    collapse, projection, writing. A line leads from where a token is in the panel before to where
    it is after the phase, out of the picture if that is far away; rings are the targets.

    Parameters
    ----------
    model : Model
    data : arrays, Dataset or path
        Input sequences; targets are drawn if there are any.
    axes : (int, int)
        The two coordinates shown. For d = 1 the other axis is the sequence.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UsageError
        The model does not name its phases, or there is no such coordinate; no matplotlib.
    """
    steps = _steps(model)
    if model.d > 1 and not all(0 <= k < model.d for k in axes):
        raise UsageError(f"axes {axes}: the model has coordinates 0 to {model.d - 1}")
    figure, panels = _pyplot().subplots(
        1, len(steps), figsize=(3.2 * len(steps), 3.4), squeeze=False, layout="constrained"
    )
    before: Float64 | None = None
    for name, panel in zip(steps, panels[0]):
        trace = model.trace(data, phase=name, every=model.n_blocks)
        sequence = np.repeat(np.arange(len(trace.x_offsets) - 1), np.diff(trace.x_offsets))
        start, after = (_plane(rows, sequence, axes) for rows in trace.tokens[[0, -1]])
        _draw_step(panel, start if before is None else before, after, sequence)
        panel.set_title(name)
        before = after
    targets = _targets(data)
    if targets is not None and targets.y is not None and targets.d == model.d:
        assert targets.y_offsets is not None
        sequence = np.repeat(np.arange(len(targets)), np.diff(targets.y_offsets))
        _draw_targets(panels[0][-1], _plane(targets.y, sequence, axes), sequence)
    figure.suptitle(repr(model))
    return figure  # type: ignore[no-any-return]


def _steps(model: Model) -> list[str]:
    named = list(dict.fromkeys(phase.name for phase in model.phases))
    if model.config["construction"] == "published":
        named = [name for name in _PUBLISHED if name in named]
    if not named:
        raise UsageError("the model does not name its phases")
    return named


def _targets(data: Input) -> Dataset | None:
    if isinstance(data, (str, os.PathLike)):
        return Dataset.load(data)
    return data if isinstance(data, Dataset) else None


def _plane(rows: Float64, sequence: npt.NDArray[Any], axes: tuple[int, int]) -> Float64:
    """Two coordinates of every token, [T, 2]."""
    if rows.shape[1] == 1:
        return np.column_stack([rows[:, 0], sequence])
    return rows[:, list(axes)]


def _colours(sequence: npt.NDArray[Any]) -> list[str]:
    return [COLOURS[j % len(COLOURS)] for j in sequence]


def _draw_step(
    panel: Axes, before: Float64, after: Float64, sequence: npt.NDArray[Any]
) -> None:
    from matplotlib.collections import LineCollection

    moves = np.stack([before, after], axis=1)
    colours = _colours(sequence)
    panel.add_collection(LineCollection(list(moves), colors=colours, linewidths=0.6, alpha=0.4))
    panel.scatter(before[:, 0], before[:, 1], s=8, c=_FAINT, zorder=2)
    panel.scatter(after[:, 0], after[:, 1], s=18, c=colours, zorder=3)
    panel.grid(color="#eeeeee")
    panel.set_axisbelow(True)
    panel.set_xlim(_window(before[:, 0], after[:, 0]))
    panel.set_ylim(_window(before[:, 1], after[:, 1]))
    panel.tick_params(labelsize=7)


def _window(before: Float64, after: Float64) -> tuple[float, float]:
    """Room for all points, or for the later ones alone if the others would dwarf them."""
    both = np.concatenate([before, after])
    dwarfed = 0 < 4 * np.ptp(after) < np.ptp(both)
    shown = after if dwarfed else both
    margin = 0.1 * float(np.ptp(shown)) or 0.5
    return float(shown.min()) - margin, float(shown.max()) + margin


def _draw_targets(panel: Axes, targets: Float64, sequence: npt.NDArray[Any]) -> None:
    x, y = targets[:, 0], targets[:, 1]
    rings = panel.scatter(x, y, s=70, edgecolors=_colours(sequence), zorder=4)
    rings.set_facecolor("none")


def depth(models: Model | Iterable[Model]) -> Figure:
    """Blocks against the number of targets, between the published bound and the lower bound.

    The lower bound is ceil((M d - 1) / (10 d)) for hardmax, 12 d in place of 10 d for softmax:
    with fewer blocks of width 4 almost all real targets cannot be reached (docs/writers.md).

    Parameters
    ----------
    models : Model or iterable of Model

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UsageError
        No model, or no matplotlib.
    """
    listed = [models] if isinstance(models, Model) else list(models)
    if not listed:
        raise UsageError("no model to draw")
    listed.sort(key=lambda model: int(model.config["targets"]))
    targets = [int(model.config["targets"]) for model in listed]
    figure, panel = _pyplot().subplots(figsize=(6, 4), layout="constrained")
    for values, style, colour, label in (
        ([model.bound for model in listed], "--v", COLOURS[1], "published bound"),
        ([model.n_blocks for model in listed], "-o", COLOURS[0], "exactformer"),
        ([_lower(model) for model in listed], ":^", COLOURS[2], "lower bound"),
    ):
        panel.plot(targets, values, style, color=colour, label=label)
    panel.set(xscale="log", yscale="log", xlabel="targets M", ylabel="blocks L")
    panel.xaxis.set_minor_formatter("")
    panel.grid(color="#eeeeee")
    panel.legend()
    return figure  # type: ignore[no-any-return]


def _lower(model: Model) -> int:
    n, d = int(model.config["targets"]), model.d
    return max(1, math.ceil((n * d - 1) / ((10 if model.attention == "hardmax" else 12) * d)))


def diagnosis(log: Log | Sequence[Log], model: Model) -> Figure:
    """A training against what an exact model shows to be possible.

    With weight decay epsilon the objective is J = loss + (epsilon / 2) |theta|^2. A model theta* of
    the trained family with loss 0 has J = (epsilon / 2) |theta*|^2: a run that ends with its J above
    this threshold is not at a global minimum; below it nothing is known. On the left loss (solid) and J
    (dotted) of every stage with its threshold (dashed) and the verdict, on the right the least J against
    epsilon. All is computed by `exactformer.diagnose`; where the model does not belong to the family
    there is no threshold, and the title says why.

    Parameters
    ----------
    log : path, or several of them
        Logs as `exactformer.diagnose` reads them, each with its stages.
    model : Model
        The exact model theta*.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    DataError, FileError, UsageError
        As `exactformer.diagnose`; no log, or no matplotlib.
    """
    paths = [log] if isinstance(log, (str, os.PathLike, Mapping)) else list(log)
    if not paths or not all(isinstance(path, (str, os.PathLike)) for path in paths):
        raise UsageError("a log is the path of a file .csv or .json, as `exactformer train` writes it")
    found = [diagnose(path, model) for path in paths]
    stages = [stage for one in found for stage in one.stages]
    figure, (left, right) = _pyplot().subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for i, stage in enumerate(stages):
        _draw_stage(left, right, stage, COLOURS[i % len(COLOURS)])
    for norm2 in sorted({one.norm2 for one in found if one.norm2 is not None}):
        ends = np.array(sorted({stage.weight_decay for stage in stages}))
        right.plot(ends, ends / 2 * norm2, "--", color=_FAINT, label=r"$(\epsilon/2)\,|\theta^*|^2$")
    left.set(xscale="log", yscale="log", xlabel="epoch", ylabel="loss, J (dashed: threshold)")
    right.set(xscale="log", yscale="log", xlabel=r"$\epsilon$", ylabel="least J")
    _explain(left, {one.why_not for one in found if not one.comparable})
    left.legend(fontsize=7)
    if right.get_legend_handles_labels()[0]:
        right.legend()
    return figure  # type: ignore[no-any-return]


def _draw_stage(left: Axes, right: Axes, stage: Stage, colour: str) -> None:
    label = f"$\\epsilon$ = {stage.weight_decay:.3g}: {stage.verdict}"
    left.plot(stage.epoch, stage.loss, color=colour, label=label)
    left.plot(stage.epoch, stage.J, ":", color=colour)
    if stage.threshold is not None:
        left.axhline(stage.threshold, color=colour, linestyle="--", linewidth=0.9)
    right.plot(stage.weight_decay, stage.min_J, "o", color=colour)


def _explain(panel: Axes, reasons: set[str]) -> None:
    """Why there is no threshold."""
    lines = [line for why in sorted(reasons) for line in wrap(f"not comparable: {why}", 60)]
    panel.set_title("\n".join(lines), fontsize=7)
