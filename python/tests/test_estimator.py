"""The estimator behaves as scikit-learn's do."""

from __future__ import annotations

import inspect

import numpy as np

from conftest import X, Y
from exactformer import Exactformer, fit


def test_fit_predict_score() -> None:
    estimator = Exactformer(seed=1)
    assert estimator.fit(X, Y) is estimator
    assert estimator.n_features_in_ == 2 and estimator.model_.n_blocks == 7
    assert estimator.score(X, Y) == 1.0
    assert [len(rows) for rows in estimator.predict(X)] == [3, 2, 2]
    assert np.array_equal(estimator.predict_sets(X)[1], Y[1])


def test_parameters() -> None:
    estimator = Exactformer(dtype="f32", tau=2.0, attention="softmax")
    assert repr(estimator) == "Exactformer(attention='softmax', tau=2.0, dtype='f32')"
    params = estimator.get_params()
    clone = Exactformer(**params)
    assert clone.get_params() == params and not hasattr(clone, "model_")
    assert clone.set_params(seed=3, dtype="f64") is clone
    assert clone.get_params() == {**params, "seed": 3, "dtype": "f64"}


def test_parameters_are_those_of_fit() -> None:
    wanted = inspect.signature(fit).parameters
    left_out = {"X", "Y", "self_check", "positions"}
    found = inspect.signature(Exactformer).parameters
    assert list(found) == [name for name in wanted if name not in left_out]
    assert all(found[name].default == wanted[name].default for name in found)
