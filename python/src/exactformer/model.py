"""The model: what it is, what it does, where else it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import evaluation
from ._bind import ATTENTION, LAYOUT, Float64, Int64, Progress, c_path, call, text
from ._core import lib
from .blocks import Blocks, Phase
from .dataset import Dataset, Sequences, split
from .evaluation import RunOptions, distinct
from .inspection import inspect
from .model_input import Input, model_dataset
from .model_memory import assembled, new_model, read_config, weights
from .reports import BuildReport, Report, Trace

if TYPE_CHECKING:
    from .certifying import Certificate
    from .torch_module import ExactTransformer


class Model:
    """A transformer of L blocks. `fit` makes one, `load` reads one.

    ``model(X)`` is ``model.predict(X)``.

    Attributes
    ----------
    tensors : mapping of str to ndarray
        The weights by the names of the interchange layout: ``ff.eta`` [L], ``ff.W`` [L, d, w],
        ``ff.U`` [L, w, d], ``ff.b`` [L, w], ``sa.rho`` [L]; ``sa.A.alpha`` [L], ``sa.A.left``,
        ``sa.A.right`` [L, d] and the same for V; ``sa.A.full``, ``sa.V.full`` [L, d, d] where the
        model has them. Read-only float64 views of the model's memory; for a float32 model every
        value is a float32 number.
    blocks : sequence of Block
        The same weights, block by block.
    config : dict
        Everything but the weights, as in the model file.
    n_blocks, d, width : int
    phases : tuple of Phase
    report : BuildReport or None
        How it was built, if `fit` built it.
    """

    def __init__(self, pointer: Any, report: BuildReport | None = None) -> None:
        """For `fit` and `load`: take over a checked xf_model."""
        self._pointer = pointer
        self.report = report
        self.n_blocks = int(pointer.n_blocks)
        self.d = int(pointer.d)
        self.width = int(pointer.width)
        self.phases = tuple(
            Phase(text(p.name), int(p.first), int(p.count))
            for p in (pointer.phases[i] for i in range(pointer.n_phases))
        )
        self.config: dict[str, Any] = read_config(pointer)
        arrays = weights(pointer)
        for array in arrays.values():
            array.flags.writeable = False
        self.tensors: Mapping[str, Float64] = MappingProxyType(arrays)
        self.blocks = Blocks(self.n_blocks, self.tensors, self.phases)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model file (.safetensors, of either layout).

        Raises
        ------
        FileError, DataError, UsageError
            It cannot be read; it is no model, or a damaged one; the path is none.
        """
        pointer = new_model()
        call(lib.xf_model_load, pointer, c_path(path))
        return cls(pointer)

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, npt.ArrayLike], config: Mapping[str, Any]
    ) -> Model:
        """A model of given weights.

        Parameters
        ----------
        tensors : mapping of str to array
            As `Model.tensors`; all but the two ``full`` are needed.
        config : mapping
            As `Model.config`.

        Raises
        ------
        DataError
            These are no mappings; a tensor or a key is missing or has the wrong shape; a weight is not finite, or no
            float32 number though the config says F32.
        """
        return cls(assembled(tensors, config))

    def save(self, path: str | os.PathLike[str], *, layout: str = "dense") -> None:
        """Write a model file; it appears complete or not at all.

        Parameters
        ----------
        path : path
        layout : {"dense", "compact"}
            "dense" is the interchange layout, which any safetensors library reads; "compact" leaves
            out the zeros.

        Raises
        ------
        FileError, UsageError
            It cannot be written; there is no such layout; the path is none.
        """
        chosen = LAYOUT.value("layout", layout)
        call(lib.xf_model_save_as, self._pointer, c_path(path), chosen)

    # --- where else it runs -----------------------------------------------------------------------

    def to_torch(self) -> ExactTransformer:
        """A plain ``torch.nn.Module`` with these weights, in evaluation mode.

        ``module(x, mask)`` takes x [batch, n, d] in the model's dtype and mask bool [batch, n], True
        at tokens. The state dict has the names of the model file. After ``module.train()`` every
        weight takes part. `from_torch` is the way back. Needs PyTorch.
        """
        from .torch_export import to_torch

        return to_torch(self.tensors, self.config)

    def to_onnx(
        self,
        path: str | os.PathLike[str],
        *,
        attention: str | None = None,
        tau: float | None = None,
    ) -> None:
        """Write an ONNX file (opset 13) with inputs x [batch, n, d] and mask bool [batch, n].

        attention and tau replace the model's own. Needs the package onnx.

        Raises
        ------
        FileError, UsageError
            It cannot be written; there is no such attention or temperature; the path is none.
        """
        from .onnx_export import to_onnx

        to_onnx(self.tensors, self.config, path, attention=attention, tau=tau)

    def export_hub(
        self,
        folder: str | os.PathLike[str],
        *,
        name: str | None = None,
        certificate: str | os.PathLike[str] | None = None,
        license: str = "mit",
    ) -> None:
        """Make or refresh a folder for a model hub: weights, config, model card, module file.

        certificate is the path of a certificate to go with it. Needs the package safetensors.

        Raises
        ------
        FileError, DataError, UsageError
            Something cannot be read or written; the certificate is no JSON object; a path is none.
        """
        from .hub import export_hub

        export_hub(
            self.tensors,
            self.config,
            folder,
            name=name,
            certificate=certificate,
            license=license,
        )

    # --- what it is -------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision that the model is made for, float64 or float32."""
        return np.dtype(np.float32 if self._pointer.dtype == lib.XF_F32 else np.float64)

    @property
    def attention(self) -> str:
        """ "hardmax" or "softmax"."""
        return ATTENTION.names[self._pointer.attention]

    @property
    def tau(self) -> float:
        """Temperature of the softmax."""
        return float(self._pointer.tau)

    @property
    def tau_max(self) -> float:
        """Exact for every temperature up to this one; inf: for every one, 0: hardmax only."""
        return float(self._pointer.tau_max)

    @property
    def positions(self) -> int | None:
        """k if the last coordinate holds the position times 2**-k.

        Predictions append that coordinate and strip it again.
        """
        return None if self._pointer.positions < 0 else int(self._pointer.positions)

    @property
    def bound(self) -> int:
        """The paper's bound on the number of blocks, for the model's attention."""
        p = self._pointer
        return int(lib.xf_published_bound(p.n_sequences, p.n_targets, p.attention))

    def __repr__(self) -> str:
        return (
            f"Model({self.n_blocks} blocks, d = {self.d}, width {self.width}, {self.dtype},"
            f" {self.attention}, {self.config['construction']})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (dict(self.tensors), self.config, self.report)

    # --- what it does -----------------------------------------------------------------------------

    def predict(
        self,
        X: Input,
        *,
        attention: str | None = None,
        tau: float | None = None,
        engine: str = "sparse",
        threads: int = 0,
        progress: Progress = False,
    ) -> list[npt.NDArray[Any]]:
        """The output tokens of every sequence.

        Parameters
        ----------
        X : arrays, Dataset or path
            Input sequences, [n_j, d] each; targets are ignored.
        attention : {None, "hardmax", "softmax"}
            In place of the model's.
        tau : float, optional
            Temperature in place of the model's.
        engine : {"sparse", "dense", "blas"}
            "dense" is the definition of the bits, every sum in index order; "sparse" gives the same
            and leaves out zeros; "blas" sums in CBLAS's order.
        threads : int
            0: as many as there are cores; negative numbers are refused.
        progress : bool or callable
            True: a tqdm bar. A callable gets (phase, share done) and may return True to stop.

        Returns
        -------
        list of ndarray [n_j, d]
            In the model's dtype, one row for each input token.

        Raises
        ------
        DataError, UsageError, FileError
        """
        how = RunOptions(attention, tau, engine, threads, progress)
        rows, offsets, d = self._outputs(X, how)
        return split(rows[:, :d], offsets)

    __call__ = predict

    def predict_sets(
        self,
        X: Input,
        *,
        attention: str | None = None,
        tau: float | None = None,
        engine: str = "sparse",
        threads: int = 0,
        progress: Progress = False,
    ) -> list[npt.NDArray[Any]]:
        """As `predict`, each output set without repetitions, in order of first appearance.

        Returns
        -------
        list of ndarray [m_j, d]
        """
        how = RunOptions(attention, tau, engine, threads, progress)
        rows, offsets, d = self._outputs(X, how)
        return [distinct(sequence)[:, :d] for sequence in split(rows, offsets)]

    def _outputs(self, X: Input, how: RunOptions) -> tuple[npt.NDArray[Any], Int64, int]:
        """All output rows, where each sequence starts, and how many coordinates the data have."""
        data, appended = self._dataset(X, None)
        rows = evaluation.run(self._pointer, data, how).astype(self.dtype, copy=False)
        return rows, data.x_offsets, self.d - appended

    def verify(
        self,
        X: Input,
        Y: Sequences | None = None,
        *,
        attention: str | None = None,
        tau: float | None = None,
        engine: str = "sparse",
        threads: int = 0,
        progress: Progress = False,
        strict: bool = False,
    ) -> Report:
        """Run every input and compare the output sets with the targets, with ``==``.

        Parameters
        ----------
        X, Y : as for `fit`
        strict : bool
            Raise NotExactError, with the first wrong sequence, unless all are exact.
        attention, tau, engine, threads, progress :
            As for `predict`.

        Returns
        -------
        Report

        Raises
        ------
        DataError, UsageError, FileError, NotExactError
        """
        data, _ = self._dataset(X, Y, with_targets=True)
        how = RunOptions(attention, tau, engine, threads, progress)
        report = evaluation.verify(self._pointer, data, how)
        if strict:
            evaluation.insist(report)
        return report

    def score(self, X: Input, Y: Sequences | None = None, **options: Any) -> float:
        """Share of the sequences whose output set equals the targets; 1.0 is exact."""
        report = self.verify(X, Y, **options)
        return report.exact / report.sequences

    def inspect(self, X: Input | None = None, Y: Sequences | None = None) -> dict[str, Any]:
        """Size, norms, phases, margins and alternatives; infinities are ``math.inf``.

        Parameters
        ----------
        X, Y : optional
            With data the certificate of the front end is computed again from the stored weights.

        Returns
        -------
        dict
            The keys of ``exactformer inspect --json``.
        """
        data = None if X is None else self._dataset(X, Y, with_targets=True)[0]
        return inspect(self, data)

    def trace(
        self,
        X: Input,
        *,
        every: int = 1,
        phase: str | None = None,
        max_bytes: int = 0,
        attention: str | None = None,
        tau: float | None = None,
        engine: str = "sparse",
        threads: int = 0,
        progress: Progress = False,
    ) -> Trace:
        """The tokens between the blocks.

        Parameters
        ----------
        X : arrays, Dataset or path
        every : int
            Keep the result of every k-th block, and the last.
        phase : str, optional
            Only the blocks of this phase, and their input.
        max_bytes : int
            Refuse to keep more than so much; 0: 2 GiB.
        attention, tau, engine, threads, progress :
            As for `predict`.

        Returns
        -------
        Trace

        Raises
        ------
        DataError, UsageError, FileError
        """
        data, _ = self._dataset(X, None)
        how = RunOptions(attention, tau, engine, threads, progress)
        return evaluation.trace(self._pointer, data, every, phase, max_bytes, how)

    def certify(self, X: Input, Y: Sequences | None = None, **options: Any) -> Certificate:
        """Try to prove exactness on a data set; parameters and errors as for `certify`."""
        from .certifying import certify

        return certify(self, X, Y, **options)

    def _dataset(
        self, X: Input, Y: Sequences | None, *, with_targets: bool = False
    ) -> tuple[Dataset, bool]:
        """The data in the coordinates of the model, and whether positions were appended."""
        return model_dataset(X, Y, self.d, self.positions, with_targets)


def from_torch(module: Any) -> Model:
    """The model of a module made by `Model.to_torch`, or by a copy of its module file.

    Once training has changed the weights, the config says construction "trained" and claims nothing.
    Needs PyTorch.

    Raises
    ------
    DataError
        The module is another one, or in another dtype than its config says.
    """
    from .torch_export import from_torch

    return Model.from_tensors(*from_torch(module))


def _unpickled(
    tensors: Mapping[str, Float64], config: Mapping[str, Any], report: BuildReport | None
) -> Model:
    model = Model.from_tensors(tensors, config)
    model.report = report
    return model
