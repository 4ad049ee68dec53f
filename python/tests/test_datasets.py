"""The data sets of the package."""

from __future__ import annotations

import numpy as np
import pytest

import exactformer
from exactformer import datasets


@pytest.mark.parametrize("kind", sorted(datasets.KINDS))
def test_every_kind(kind: str) -> None:
    data, again = datasets.generate(kind, seed=5), datasets.generate(kind, seed=5)
    assert np.array_equal(data.x, again.x) and len(data) >= 1
    assert data.y is not None and len(datasets.KINDS[kind]) > 10


def test_sizes_and_grids() -> None:
    data = datasets.generate(
        "gaussian", 7, 3, n=(2, 5), m=(1, 2), grid="integer", input_grid="f16", scale=4, offset=8
    )
    assert (len(data), data.d) == (7, 3)
    assert all(2 <= len(x) <= 5 for x in data.inputs)
    assert all(1 <= len(y) <= 2 for y in data.targets)
    assert np.array_equal(data.x, data.x.astype(np.float16))
    assert data.y is not None and np.array_equal(data.y, np.rint(data.y))


def test_digits() -> None:
    data = datasets.digits()
    assert exactformer.fit(data).verify(data).exact == 1797
    inpaint = datasets.digits("inpaint")
    assert repr(inpaint) == "Dataset(1797 sequences, 57504 targets, 57504 tokens, d = 3)"
    assert len(datasets.three_sequences()) == 3
