"""Transformers that are exact by construction.

`fit` writes down, without training, the weights of a transformer that maps every input sequence of
a data set exactly to its output sequence: Hausdorff distance 0, as real numbers and bit for bit in
IEEE arithmetic, in whatever order a runtime sums.

>>> import exactformer
>>> X = [[[0, 0], [1, 2], [3, 1]], [[0, 0], [1, 2]], [[3, 1], [0, 0]]]
>>> Y = [[[0.1, 0.2], [0.3, 0.7]], [[-5, 1e-9]], [[0.1, 0.2]]]
>>> model = exactformer.fit(X, Y)
>>> model
Model(7 blocks, d = 2, width 4, float64, hardmax, pooled)
>>> model.predict_sets(X)[0]
array([[0.3, 0.7],
       [0.1, 0.2]])
>>> model.verify(X, Y).exact
3
"""

from . import datasets, plot
from ._bind import text as _text
from ._core import lib as _lib
from .blocks import Block, LowRank, Phase
from .certifying import Certificate, Claim, certify
from .dataset import Dataset
from .diagnosing import Diagnosis, Stage, diagnose
from .errors import (
    CancelledError,
    DataError,
    DataWarning,
    ExactformerError,
    FileError,
    NotExactError,
    OutOfMemoryError,
    RefusalError,
    UsageError,
)
from .estimator import Exactformer
from .fitting import FRONTS, WRITERS, fit
from .model import Model, from_torch
from .module_file import write_module_file
from .reports import BuildReport, Report, Trace

load = Model.load
__version__ = _text(_lib.xf_version())

__all__ = [
    "FRONTS",
    "WRITERS",
    "Block",
    "BuildReport",
    "CancelledError",
    "Certificate",
    "Claim",
    "DataError",
    "DataWarning",
    "Dataset",
    "Diagnosis",
    "ExactformerError",
    "Exactformer",
    "FileError",
    "LowRank",
    "Model",
    "NotExactError",
    "OutOfMemoryError",
    "Phase",
    "RefusalError",
    "Report",
    "Stage",
    "Trace",
    "UsageError",
    "certify",
    "datasets",
    "diagnose",
    "fit",
    "from_torch",
    "load",
    "plot",
    "write_module_file",
]
