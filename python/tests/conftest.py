"""Small data and models for the tests."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any

import matplotlib
import pytest

import exactformer
from exactformer import Dataset, Model

matplotlib.use("agg")

PROGRAM = str(Path(sysconfig.get_path("scripts")) / "exactformer")
"""The program that comes with the package."""

X: list[Any] = [[[0, 0], [1, 2], [3, 1]], [[0, 0], [1, 2]], [[3, 1], [0, 0]]]
Y: list[Any] = [[[0.1, 0.2], [0.3, 0.7]], [[-5, 1e-9]], [[0.1, 0.2]]]


@pytest.fixture(scope="session")
def three() -> Dataset:
    """Three sequences in the plane that share tokens."""
    return Dataset(X, Y)


@pytest.fixture(scope="session")
def model(three: Dataset) -> Model:
    """Exact on `three`."""
    return exactformer.fit(three)


@pytest.fixture(scope="session")
def vocabulary() -> Dataset:
    """A hundred sequences whose targets are float32 numbers."""
    return exactformer.datasets.generate("vocabulary", 100, 16, n=(4, 12), m=1, grid="f32", seed=1)
