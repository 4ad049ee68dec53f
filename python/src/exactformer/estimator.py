"""The estimator: `fit` with scikit-learn's manners, without scikit-learn."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from . import fitting
from .dataset import Sequences
from .errors import UsageError
from .model import Model
from .model_input import Input


@dataclass(kw_only=True, eq=False, repr=False)
class Exactformer:
    """Construct on `fit`, then predict; parameters are those of `exactformer.fit`.

    It interpolates: on the data it was fitted to the score is 1.0, and it makes no promise about
    other data. For pipelines, parameter grids and `sklearn.base.clone`.

    Attributes
    ----------
    model_ : Model
        After `fit`.
    n_features_in_ : int
        d, after `fit`.

    Examples
    --------
    >>> estimator = Exactformer(dtype="f32").fit([[[0.0, 1.0]]], [[[0.5, 0.25]]])
    >>> estimator.score([[[0.0, 1.0]]], [[[0.5, 0.25]]])
    1.0
    >>> estimator
    Exactformer(dtype='f32')
    """

    construction: str = "pooled"
    attention: str = "hardmax"
    tau: float | None = None
    dtype: Any = "f64"
    seed: int = 0
    threads: int = 0
    optimise: str = "depth"
    front: str | None = None
    writer: str | None = None
    hardmax_only: bool = False
    balanced: bool = False
    progress: bool = False

    model_: Model = field(init=False)
    n_features_in_: int = field(init=False)

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls).parameters
        return {name: parameter.default for name, parameter in parameters.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Exactformer:
        """Set parameters by name; UsageError for an unknown one."""
        known = self._defaults()
        for name, value in params.items():
            if name not in known:
                raise UsageError(f"unknown parameter {name!r}: use {', '.join(known)}")
            setattr(self, name, value)
        return self

    def fit(self, X: Input, y: Sequences | None = None) -> Exactformer:
        """Construct the model; shapes and errors as for `exactformer.fit`."""
        self.model_ = fitting.fit(X, y, **self.get_params())
        self.n_features_in_ = self.model_.d
        return self

    def predict(self, X: Input) -> list[npt.NDArray[Any]]:
        """Output tokens, [n_j, d] for each sequence."""
        return self._fitted().predict(X)

    def predict_sets(self, X: Input) -> list[npt.NDArray[Any]]:
        """Output sets, [m_j, d] for each sequence."""
        return self._fitted().predict_sets(X)

    def score(self, X: Input, y: Sequences | None = None) -> float:
        """Share of the sequences whose output set equals the targets."""
        return self._fitted().score(X, y)

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise UsageError("call fit first")
        return self.model_

    def __repr__(self) -> str:
        set_here = (
            f"{name}={getattr(self, name)!r}"
            for name, default in self._defaults().items()
            if getattr(self, name) != default
        )
        return f"Exactformer({', '.join(set_here)})"
