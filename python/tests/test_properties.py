"""Any valid ragged data set either builds exactly or is refused as documented."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import exactformer
from exactformer import Dataset, ExactformerError, RefusalError

Pairs = tuple[list[Any], list[Any]]

COMMON = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
VALUES = {
    "integers": st.integers(-4, 4).map(float),
    "binary32": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "binary64": st.floats(allow_nan=False, allow_infinity=False),
    "moderate": st.floats(-1e6, 1e6),
}


@st.composite
def token_sets(draw: st.DrawFn, d: int, low: int, high: int) -> list[tuple[float, ...]]:
    """Distinct tokens; 0 and -0 are the same."""
    values = VALUES[draw(st.sampled_from(sorted(VALUES)))].map(lambda v: v + 0.0)
    return draw(st.lists(st.tuples(*[values] * d), min_size=low, max_size=high, unique=True))


@st.composite
def pairs(draw: st.DrawFn) -> Pairs:
    """Up to 6 sequences of up to 6 tokens in up to 4 dimensions, ragged."""
    d = draw(st.integers(1, 4))
    x: list[list[tuple[float, ...]]] = []
    y = []
    for _ in range(draw(st.integers(1, 6))):
        tokens = draw(token_sets(d, 1, 6))
        assume(all(set(tokens) != set(other) for other in x))
        x.append(tokens)
        y.append(draw(token_sets(d, 1, len(tokens))))
    return x, y


def as_sets(arrays: list[Any]) -> list[set[tuple[float, ...]]]:
    return [{tuple(row) for row in np.asarray(array).tolist()} for array in arrays]


def check(data: Pairs, **options: Any) -> None:
    x, y = data
    try:
        model = exactformer.fit(x, y, threads=1, **options)
    except RefusalError as refusal:
        assert len(str(refusal)) > 20
        assert refusal.sequence is None or 0 <= refusal.sequence < len(x)
        return
    assert model.n_blocks <= model.bound
    assert as_sets(model.predict_sets(x, threads=1)) == as_sets(y)
    assert model.verify(x, y, strict=True, engine="blas", threads=1)
    order = np.random.default_rng(0).permutation(len(x))
    shuffled = [x[j][::-1] for j in order]
    assert as_sets(model(shuffled, threads=1)) == [as_sets(y)[j] for j in order]


@COMMON
@given(pairs())
def test_pooled(data: Pairs) -> None:
    check(data)


@COMMON
@given(pairs(), st.sampled_from([0.01, 1.0, 100.0]))
def test_softmax(data: Pairs, tau: float) -> None:
    check(data, attention="softmax", tau=tau)


@COMMON
@given(pairs())
def test_binary32(data: Pairs) -> None:
    check(data, dtype="f32")


@COMMON
@given(pairs())
def test_published(data: Pairs) -> None:
    check(data, construction="published")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=12,
)


@settings(COMMON, max_examples=200)
@given(ANYTHING, ANYTHING)
def test_nonsense_is_refused_or_works(x: Any, y: Any) -> None:
    try:
        data = Dataset(x, y)
    except ExactformerError as error:
        assert str(error) and "\n" not in str(error)
    else:
        assert len(data) == len(x)
