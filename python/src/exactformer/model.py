"""The model: evaluation, verification, measurement, weights as NumPy views."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from ._bind import (
    ATTENTION,
    ENGINE,
    LAYOUT,
    Float64,
    Int64,
    Progress,
    c_path,
    call,
    floats,
    integer,
    integers,
    position,
    temperature,
    text,
    watched,
)
from ._core import ffi, lib
from .dataset import Dataset, Sequences, flatten, split
from .errors import DataError, NotExactError, UsageError

if TYPE_CHECKING:
    from .certifying import Certificate
    from .torch_module import ExactTransformer

Input: TypeAlias = Sequences | Dataset | str | os.PathLike[str]
"""Input sequences: arrays, a `Dataset`, or the path of one."""


@dataclass(frozen=True)
class Phase:
    """A run of blocks with one job."""

    name: str
    first: int
    count: int


@dataclass(frozen=True, eq=False)
class LowRank:
    """alpha I + left right^T (+ full): the matrices A and V of an attention layer.

    Attributes
    ----------
    alpha : float
    left, right : ndarray [d]
    full : ndarray [d, d] or None
    """

    alpha: float
    left: Float64
    right: Float64
    full: Float64 | None

    def dense(self) -> Float64:
        """The whole matrix, [d, d]."""
        matrix = self.alpha * np.eye(len(self.left)) + np.outer(self.left, self.right)
        return matrix if self.full is None else matrix + self.full


@dataclass(frozen=True, eq=False)
class Block:
    """One block: ``FF(x) = eta x + W relu(U x + b)``, then attention with residual rho.

    Attributes
    ----------
    index : int
    phase : str
        Name of the phase it belongs to, "" if the model does not say.
    eta, rho : float
    W : ndarray [d, w]
        Columns are the neurons' output directions.
    U : ndarray [w, d]
        Rows are the neurons' input directions.
    b : ndarray [w]
    A, V : LowRank
    """

    index: int
    phase: str
    eta: float
    W: Float64
    U: Float64
    b: Float64
    rho: float
    A: LowRank
    V: LowRank


class Blocks(Sequence[Block]):
    """The blocks of a model; their arrays are read-only views of the model's memory."""

    def __init__(self, model: Model) -> None:
        self._tensors = model.tensors
        self._phases = [phase.name for phase in model.phases for _ in range(phase.count)]
        self._count = model.n_blocks

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Block: ...
    @overload
    def __getitem__(self, index: slice) -> list[Block]: ...
    def __getitem__(self, index: int | slice) -> Block | list[Block]:
        if isinstance(index, slice):
            return [self._block(i) for i in range(*index.indices(self._count))]
        return self._block(range(self._count)[index])

    def _block(self, i: int) -> Block:
        t = self._tensors
        return Block(
            index=i,
            phase=self._phases[i] if self._phases else "",
            eta=float(t["ff.eta"][i]),
            W=t["ff.W"][i],
            U=t["ff.U"][i],
            b=t["ff.b"][i],
            rho=float(t["sa.rho"][i]),
            A=self._matrix("sa.A", i),
            V=self._matrix("sa.V", i),
        )

    def _matrix(self, name: str, i: int) -> LowRank:
        t, full = self._tensors, self._tensors.get(f"{name}.full")
        return LowRank(
            alpha=float(t[f"{name}.alpha"][i]),
            left=t[f"{name}.left"][i],
            right=t[f"{name}.right"][i],
            full=None if full is None else full[i],
        )


@dataclass(frozen=True)
class Report:
    """What `Model.verify` found; true if every output set equals its targets.

    Attributes
    ----------
    sequences, exact : int
        All sequences, and those with T(X_j) = Y_j as sets, compared with ``==``.
    hausdorff_max : float
        Largest Hausdorff distance; 0.0 if all are exact, inf if an output is not finite.
    first_mismatch, worst_sequence : int or None
        Sequences, where there is one.
    """

    sequences: int
    exact: int
    hausdorff_max: float
    first_mismatch: int | None
    worst_sequence: int | None

    def __bool__(self) -> bool:
        return self.exact == self.sequences


@dataclass(frozen=True)
class BuildReport:
    """How a model was built (`Model.report`).

    Attributes
    ----------
    front, writer : str
        Front end and writer chosen.
    folds, extra_blocks, separations : int
        Fold blocks; blocks beyond the writer's regular depth; separation blocks.
    margin : float
        Smallest gap between neighbouring groups of tokens over the sum of their rigorous rounding
        bounds; above 1 it proves the front end.
    margin_sequences : tuple of int
        The two sequences where it occurs.
    collapse_margin : float
        Published construction: lower bound of the smallest gap of logits.
    seconds_construct, seconds_check : float
    """

    front: str
    writer: str
    folds: int
    extra_blocks: int
    separations: int
    margin: float
    margin_sequences: tuple[int, int]
    collapse_margin: float
    seconds_construct: float
    seconds_check: float


@dataclass(frozen=True, eq=False)
class Trace:
    """The tokens at S moments (`Model.trace`).

    Attributes
    ----------
    tokens : ndarray [S, T, d]
    blocks_done : ndarray [S]
        0: the input itself.
    phase : tuple of str
        Phase of the last block done, "input" if there is none.
    x_offsets : ndarray [N + 1]
        Sequence j is rows x_offsets[j] to x_offsets[j + 1].
    """

    tokens: Float64
    blocks_done: Int64
    phase: tuple[str, ...]
    x_offsets: Int64


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
        self.config: dict[str, Any] = _config(pointer)
        arrays = weights(pointer)
        for array in arrays.values():
            array.flags.writeable = False
        self.tensors: Mapping[str, Float64] = MappingProxyType(arrays)
        self.blocks = Blocks(self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model file (.safetensors, of either layout).

        Raises
        ------
        FileError, DataError
            It cannot be read; it is no model, or a damaged one.
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
            A tensor or a key is missing or has the wrong shape; a weight is not finite, or no
            float32 number though the config says F32.
        """
        return cls(_assembled(tensors, config))

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
            It cannot be written; there is no such layout.
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
            It cannot be written; there is no such attention or temperature.
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
        FileError, DataError
            Something cannot be read or written; the certificate is no JSON object.
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
            0: as many as there are cores.
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
        data, appended = self._dataset(X, None)
        out = self._run(data, attention, tau, engine, threads, progress)
        return split(out[:, : self.d - appended], data.x_offsets)

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
        data, appended = self._dataset(X, None)
        out = self._run(data, attention, tau, engine, threads, progress)
        return [_distinct(rows)[:, : self.d - appended] for rows in split(out, data.x_offsets)]

    def _run(
        self,
        data: Dataset,
        attention: str | None,
        tau: float | None,
        engine: str,
        threads: int,
        progress: Progress,
    ) -> npt.NDArray[Any]:
        options = ffi.new("xf_run_options *")
        fill_run_options(options, attention, tau, engine, threads)
        out = np.empty((len(data.x), self.d))
        with watched(options, progress):
            call(
                lib.xf_run, ffi.from_buffer("double[]", out), self._pointer, data._pointer, options
            )
        return out.astype(self.dtype, copy=False)

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
        options, found = ffi.new("xf_run_options *"), ffi.new("xf_verify_report *")
        fill_run_options(options, attention, tau, engine, threads)
        with watched(options, progress):
            call(lib.xf_verify, found, self._pointer, data._pointer, options)
        report = Report(
            sequences=int(found.n_sequences),
            exact=int(found.n_exact),
            hausdorff_max=float(found.hausdorff_max),
            first_mismatch=position(found.first_mismatch),
            worst_sequence=position(found.worst_sequence),
        )
        if strict and not report:
            raise NotExactError(
                f"{report.exact} of {report.sequences} sequences are exact, the first that is not"
                f" is {report.first_mismatch}",
                sequence=report.first_mismatch,
            )
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
        found = ffi.new("xf_inspection *")
        call(lib.xf_inspect, found, self._pointer, ffi.NULL if data is None else data._pointer)
        result: dict[str, Any] = {
            "blocks": int(found.blocks),
            "bound": int(found.bound),
            "parameters_dense": int(found.parameters_dense),
            "parameters_nonzero": int(found.parameters_nonzero),
            "target_values": self.d * int(self._pointer.n_targets),
            "nonzero_ratio": float(found.nonzero_ratio),
            "cell_bits": int(found.cell_bits),
            "l2_norm_squared": float(found.l2_norm_squared),
            "max_abs_weight": float(found.max_abs_weight),
        }
        if found.has_margin:
            result["margin"] = float(found.margin)
            result["margin_sequences"] = tuple(int(j) for j in found.margin_sequence)
        if found.has_collapse:
            result["separations"] = int(found.n_separations)
            result["collapse_margin"] = float(found.collapse_margin)
            result["tau_max_found"] = float(found.tau_max)
        result |= self.config | {"blocks": self.n_blocks, "tau_max": self.tau_max}
        result["phases"] = [
            phase | {"l2_norm_squared": self._norm(phase)} for phase in self.config["phases"]
        ]
        return result

    def _norm(self, phase: dict[str, Any]) -> float:
        return float(lib.xf_norm_squared(self._pointer, phase["first"], phase["count"]))

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
        options, found = ffi.new("xf_trace_options *"), ffi.new("xf_snapshots *")
        options.every = integer("every", every, 1, 2**62)
        options.max_bytes = integer("max_bytes", max_bytes, 0, 2**62)
        name = ffi.NULL if phase is None else ffi.new("char[]", phase.encode())
        options.phase = name
        fill_run_options(options.run, attention, tau, engine, threads)
        found = ffi.gc(found, lib.xf_snapshots_clear)
        with watched(options.run, progress):
            call(lib.xf_trace, found, self._pointer, data._pointer, options)
        count = int(found.n_snapshots)
        return Trace(
            tokens=floats(found, found.tokens, count, int(found.n_tokens), self.d),
            blocks_done=integers(found, found.blocks_done, count),
            phase=tuple(text(found.phase[s]) for s in range(count)),
            x_offsets=integers(found, found.x_offsets, int(found.n_sequences) + 1),
        )

    def certify(self, X: Input, Y: Sequences | None = None, **options: Any) -> Certificate:
        """Try to prove exactness on a data set; parameters and errors as for `certify`."""
        from .certifying import certify

        return certify(self, X, Y, **options)

    def _dataset(
        self, X: Input, Y: Sequences | None, *, with_targets: bool = False
    ) -> tuple[Dataset, bool]:
        """The data with the coordinates of the model, and whether positions were appended."""
        bits = None if self.positions is None else self.positions + 1
        if isinstance(X, (str, os.PathLike)):
            return Dataset._load(X, bits, not with_targets), bits is not None
        if isinstance(X, Dataset):
            if Y is not None:
                raise UsageError("a data set has its own targets: leave Y out")
            if bits is None or X.d != self.d - 1:
                return X, False
            x: Any = (X.x, X.x_offsets)
            y: Any = (X.y, X.y_offsets) if with_targets and X.y is not None else None
        else:
            x, y = flatten(X, "X"), None if Y is None else flatten(Y, "Y")
        if bits is not None and x[0].shape[1] != self.d - 1:
            bits = None
        return Dataset._from_flat(x, y, bits), bits is not None


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


# --- the C side -----------------------------------------------------------------------------------


def new_model() -> Any:
    """An empty xf_model that clears itself."""
    pointer = ffi.new("xf_model *")
    lib.xf_model_init(pointer)
    return ffi.gc(pointer, lib.xf_model_clear)


def weights(pointer: Any) -> dict[str, Float64]:
    """Writable views of the weights of an xf_model."""
    p, n, d, w = pointer, int(pointer.n_blocks), int(pointer.d), int(pointer.width)
    arrays = {
        "ff.eta": floats(p, p.ff_eta, n),
        "ff.W": floats(p, p.ff_W, n, d, w),
        "ff.U": floats(p, p.ff_U, n, w, d),
        "ff.b": floats(p, p.ff_b, n, w),
        "sa.rho": floats(p, p.sa_rho, n),
    }
    for name, matrix in (("sa.A", p.sa_A), ("sa.V", p.sa_V)):
        arrays[f"{name}.alpha"] = floats(p, matrix.alpha, n)
        arrays[f"{name}.left"] = floats(p, matrix.left, n, d)
        arrays[f"{name}.right"] = floats(p, matrix.right, n, d)
        if matrix.full != ffi.NULL:
            arrays[f"{name}.full"] = floats(p, matrix.full, n, d, d)
    return arrays


def fill_run_options(
    options: Any, attention: str | None, tau: float | None, engine: str, threads: int
) -> None:
    """Run options from Python's; UsageError for what makes no sense."""
    options.engine = ENGINE.value("engine", engine)
    options.threads = integer("threads", threads, 0, 2**31 - 1)
    if attention is not None:
        options.override_attention = 1
        options.attention = ATTENTION.value("attention", attention)
    if tau is not None:
        options.tau = temperature(tau)


def _config(pointer: Any) -> dict[str, Any]:
    out = ffi.new("char **")
    call(lib.xf_model_config, out, pointer)
    config: dict[str, Any] = json.loads(text(out[0]))
    lib.xf_text_free(out[0])
    return config


def _assembled(tensors: Mapping[str, npt.ArrayLike], config: Mapping[str, Any]) -> Any:
    pointer = new_model()
    try:
        line = json.dumps(dict(config)).encode()
    except (TypeError, ValueError) as error:
        raise DataError(f"the config is no JSON object: {error}") from None
    call(
        lib.xf_model_from_config, pointer, line, "sa.A.full" in tensors, "sa.V.full" in tensors
    )
    for name, view in weights(pointer).items():
        if name not in tensors:
            raise DataError(f"there is no tensor '{name}'")
        values = np.asarray(tensors[name])
        if values.shape != view.shape:
            raise DataError(f"tensor '{name}' has shape {values.shape}, not {view.shape}")
        view[...] = values
    call(lib.xf_model_check, pointer)
    return pointer


def _unpickled(
    tensors: Mapping[str, Float64], config: Mapping[str, Any], report: BuildReport | None
) -> Model:
    model = Model.from_tensors(tensors, config)
    model.report = report
    return model


def _distinct(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Rows without repetitions, in order of first appearance; 0 and -0 are equal."""
    first: dict[tuple[float, ...], int] = {}
    for i, row in enumerate(rows.tolist()):
        first.setdefault(tuple(row), i)
    return rows[list(first.values())]

