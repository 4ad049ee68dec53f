"""Python says of a training what the program says, and draws no threshold that is none."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import PROGRAM
from matplotlib import pyplot

import exactformer
from exactformer import DataError, Dataset, FileError, Model, UsageError, plot


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, three: Dataset, small: Model) -> Path:
    path = tmp_path_factory.mktemp("diagnose")
    three.save(path / "data.npz")
    small.save(path / "exact.safetensors")
    return path


@pytest.fixture(scope="module")
def small(three: Dataset) -> Model:
    return exactformer.fit(three, optimise="norm")


def program(*arguments: object) -> str:
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], check=True, capture_output=True, text=True
    ).stdout


def train(folder: Path, name: str, blocks: int, *options: object) -> Path:
    log = folder / name
    program("train", folder / "data.npz", "-o", folder / "m.safetensors", "--log", log, "-q",
            "--blocks", blocks, "--value", "low-rank", "--epochs", 20, "--threads", 1,
            "--weight-decay", "1,1e-1,1e-6", *options)  # fmt: skip
    return log


def thresholds(panel: Any) -> list[float]:
    """Of the dashed horizontal lines."""
    return [float(np.asarray(l.get_ydata())[0]) for l in panel.lines if l.get_linestyle() == "--"]


def test_python_says_what_the_program_says(folder: Path, small: Model) -> None:
    for name, extra in (("same.csv", 0), ("deeper.json", 3)):
        log = train(folder, name, small.n_blocks + extra)
        said = json.loads(
            program("diagnose", log, "--model", folder / "exact.safetensors", "--json")
        )
        found = exactformer.diagnose(log, small)
        assert found.comparable and said["comparable"] and found.why_not == ""
        assert found.norm2 == said["norm2"]
        # Identity blocks are counted.
        assert found.norm2 == pytest.approx(small.inspect()["l2_norm_squared"] + 2 * extra)
        for stage, its in zip(found.stages, said["stages"], strict=True):
            assert stage.verdict == its["verdict"]
            for key in ("weight_decay", "threshold", "margin", "min_loss", "min_J"):
                assert getattr(stage, key) == its[key]
            assert (stage.better is None) == (its["better"] is None)
            assert stage.epoch[-1] == its["epoch"] and stage.J[-1] == its["J"]
        left, right = plot.diagnosis(log, small).axes
        assert thresholds(left) == [its["threshold"] for its in said["stages"]]
        assert left.get_title() == ""
        labels = left.get_legend_handles_labels()[1]
        assert [label.split(": ")[1] for label in labels] == [s.verdict for s in found.stages]
        reference = right.lines[-1]
        line = np.array([1e-6, 0.1, 1]) * (found.norm2 or 0) / 2
        assert np.allclose(np.asarray(reference.get_ydata()), line)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--blocks", 1], "blocks"),
        (["--causal"], "the family is causal"),
        (["--optimiser", "adamw"], "decoupled"),
        (["--width", 3], "width"),
    ],
)
def test_no_threshold_that_is_none(
    folder: Path, small: Model, options: list[Any], why: str
) -> None:
    log = train(folder, "other.csv", small.n_blocks, *options)
    found = exactformer.diagnose(log, small)
    assert not found.comparable and why in found.why_not and found.norm2 is None
    assert all(s.threshold is None and s.verdict != "undecided" for s in found.stages)
    left, right = plot.diagnosis([log], small).axes
    assert thresholds(left) == [] == thresholds(right)
    assert "not comparable" in left.get_title()


def test_every_stage_is_a_curve_of_its_own(folder: Path, small: Model) -> None:
    log = train(folder, "run.csv", small.n_blocks)
    left, right = plot.diagnosis([log, log], small).axes
    solid = [line for line in left.lines if line.get_linestyle() == "-"]
    assert len(solid) == 6 and all(len(np.asarray(line.get_xdata())) == 21 for line in solid)
    assert [float(np.asarray(l.get_xdata())[0]) for l in right.lines[:3]] == [1, 1e-1, 1e-6]


def test_bad_logs(folder: Path, small: Model, tmp_path: Path) -> None:
    good = train(folder, "good.csv", small.n_blocks).read_text().splitlines()
    path = tmp_path / "log.csv"
    for row, message in (
        ("0,1,0,1,NaN,1,1,0", "not valid JSON"),
        ("0,1,0,1,1,2,5,0", "J is not loss"),
        ("0,1,0,1,1", "number of columns"),
    ):
        path.write_text("\n".join([*good[:2], row, *good[3:]]) + "\n")
        with pytest.raises(DataError, match=message):
            exactformer.diagnose(path, small)
        with pytest.raises(DataError, match=r"log\.csv"):
            plot.diagnosis(path, small)
    with pytest.raises(FileError, match=r"absent\.csv"):
        plot.diagnosis(tmp_path / "absent.csv", small)
    columns: Any = {"epoch": [1], "loss": [1], "norm2": [1], "J": [1]}
    for wrong in (columns, [columns], []):
        with pytest.raises(UsageError, match="a log is the path"):
            plot.diagnosis(wrong, small)
    with pytest.raises(UsageError, match=r"\.csv or \.json"):
        exactformer.diagnose(tmp_path / "log.txt")
