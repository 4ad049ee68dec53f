"""The models of the conformance suite: every construction, front end and writer, both precisions,
hardmax and softmax, small but for the handwritten digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import exactformer as xf
from exactformer.datasets import KINDS, digits, generate

from .batches import Batch, Rows, make_batch


@dataclass
class Case:
    """A data set, and how a model of it is built and evaluated."""

    name: str
    make: Callable[[], xf.Dataset]
    options: dict[str, Any]

    @cached_property
    def data(self) -> xf.Dataset:
        return self.make()

    @cached_property
    def model(self) -> xf.Model:
        return xf.fit(self.data, **self.options)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.model.dtype

    @property
    def compiled(self) -> bool:
        """Is it one of the small models that PyTorch compiles?"""
        return self.name in COMPILED

    @cached_property
    def inputs(self) -> list[Rows]:
        """Input sequences in the model's precision."""
        return [x.astype(self.dtype) for x in self.data.inputs]

    @cached_property
    def targets(self) -> list[Rows]:
        return [y.astype(self.dtype) for y in self.data.targets]

    def batches(self, size: int) -> list[Batch]:
        """The first `tried(size)` sequences in batches of this size."""
        count = self.tried(size)
        return [make_batch(self.inputs[a : min(a + size, count)], a) for a in range(0, count, size)]

    def tried(self, size: int) -> int:
        """How many sequences: all, but few of the digits in small batches."""
        return min(len(self.data), {1: 64, 8: 256}.get(size, len(self.data)))


COMPILED = (
    "lattice f64",
    "gaussian f32",
    "lattice softmax tau=0.3",
    "writer sorted f64",
    "writer diamond f64",
    "writer cube f32",
    "writer offgrid f32",
    "front kinks f64",
    "front folds f32",
    "published lattice hardmax",
    "published gaussian hardmax",
    "published equal-means softmax",
)


def cases() -> list[Case]:
    """All of them, in a fixed order."""
    return list(_cases())


def _small(kind: str, grid: str, n_sequences: int, targets: int) -> Callable[[], xf.Dataset]:
    n: int | tuple[int, int] = 3 if kind in ("pairs", "subsets") else (3, 6)
    return lambda: generate(kind, n_sequences, 3, n=n, m=(1, targets), grid=grid, seed=1)


def _wide(grid: str, d: int, m: int | tuple[int, int] = 1) -> Callable[[], xf.Dataset]:
    return lambda: generate("gaussian", 16, d, n=(3, 6), m=m, grid=grid, seed=2)


def _cases() -> Iterator[Case]:
    for kind in KINDS:
        yield Case(f"{kind} f64", _small(kind, "full", 12, 3), {})
        yield Case(f"{kind} f32", _small(kind, "f16", 12, 3), {"dtype": "f32"})
    for kind, tau in (("lattice", 0.3), ("gaussian", 1e-3), ("hard-floats", 1.0), ("nested", 1e6)):
        options: dict[str, Any] = {"attention": "softmax", "tau": tau}
        yield Case(f"{kind} softmax tau={tau}", _small(kind, "f32", 12, 3), options)
        options |= {"dtype": "f32"}
        yield Case(f"{kind} softmax f32 tau={tau}", _small(kind, "f16", 12, 3), options)
    for writer, d in (
        ("grid", 3),
        ("sorted", 3),
        ("diamond", 3),
        ("diamond-sorted", 3),
        ("cube", 8),
        ("cubeoff", 8),
        ("offgrid", 8),
    ):
        yield Case(f"writer {writer} f64", _wide("f32", d), {"writer": writer})
        yield Case(f"writer {writer} f32", _wide("f16", d), {"writer": writer, "dtype": "f32"})
    for front in ("kinks", "folds", "displacement"):
        yield Case(f"front {front} f64", _wide("f32", 3), {"front": front})
        yield Case(f"front {front} f32", _wide("f16", 3), {"front": front, "dtype": "f32"})
    yield Case("front tree f64", _small("equal-means", "f32", 12, 1), {"front": "tree"})
    for kind in ("gaussian", "vocabulary", "equal-means", "lattice", "permutation", "hard-floats"):
        options = {"construction": "published"}
        yield Case(f"published {kind} hardmax", _small(kind, "f32", 6, 2), options)
        options = options | {"attention": "softmax", "tau": 0.5}
        yield Case(f"published {kind} softmax", _small(kind, "f32", 6, 2), options)
    yield Case("least norm", _wide("f32", 3), {"optimise": "norm"})
    yield Case("balanced", _wide("f32", 3), {"balanced": True})
    yield Case("many targets", _wide("full", 16, (2, 3)), {})
    yield Case("one dimension", lambda: generate("lattice", 8, 1, n=3, m=1, seed=1), {})
    yield Case("positions", _repeated_tokens, {})
    yield Case("digits f64", digits, {})
    yield Case("digits f32", digits, {"dtype": "f32"})


def _repeated_tokens() -> xf.Dataset:
    x = [[[1, 2], [1, 2], [0, 1]], [[1, 2], [3, 4]], [[3, 4], [3, 4]]]
    return xf.Dataset(x, [[[1, 1]], [[2, 2]], [[0.1, -3]]], positions="append")
