"""The figures show what they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot

import exactformer
from exactformer import Dataset, Model, UsageError, datasets, plot


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    pyplot.close("all")


def points(panel: Any, collection: int) -> set[tuple[float, ...]]:
    return {tuple(row) for row in np.asarray(panel.collections[collection].get_offsets()).tolist()}


def test_the_five_panels() -> None:
    data = datasets.three_sequences()
    figure = plot.phases(exactformer.fit(data, construction="published"), data)
    panels = figure.axes
    assert [p.get_title() for p in panels] == [
        "separation", "leaders", "collapse", "project", "write",
    ]  # fmt: skip
    assert data.y is not None
    targets = {tuple(row) for row in data.y.tolist()}
    assert points(panels[0], 1) == {tuple(row) for row in data.x.tolist()}
    assert points(panels[-1], 2) == targets
    assert points(panels[-1], 3) == targets
    assert len(points(panels[2], 2)) == len(targets) < len(points(panels[1], 2))


def test_phases_of_other_models(model: Model, three: Dataset, tmp_path: Path) -> None:
    figure = plot.phases(model, three, axes=(1, 0))
    assert [p.get_title() for p in figure.axes] == [p.name for p in model.phases]
    three.save(tmp_path / "d.npz")
    plot.phases(model, tmp_path / "d.npz").savefig(tmp_path / "phases.png")
    assert (tmp_path / "phases.png").read_bytes().startswith(b"\x89PNG")
    line = datasets.generate("gaussian", 5, 1, n=3, m=1, grid="integer")
    assert plot.phases(exactformer.fit(line), line).axes
    with pytest.raises(UsageError, match="coordinates 0 to 1"):
        plot.phases(model, three, axes=(0, 2))
    unnamed = Model.from_tensors(model.tensors, {**model.config, "phases": []})
    with pytest.raises(UsageError, match="does not name"):
        plot.phases(unnamed, three)


def test_depth(model: Model) -> None:
    other = exactformer.fit(datasets.generate("gaussian", 30, 4), attention="softmax")
    bound, ours, lower = plot.depth([other, model]).axes[0].lines
    assert np.asarray(bound.get_ydata()).tolist() == [model.bound, other.bound]
    assert np.asarray(ours.get_ydata()).tolist() == [model.n_blocks, other.n_blocks]
    assert all(np.asarray(lower.get_ydata()) <= np.asarray(ours.get_ydata()))
    assert len(plot.depth(model).axes[0].lines) == 3
    with pytest.raises(UsageError, match="no model"):
        plot.depth([])
