"""Data sets: pairs of token sets, from whatever Python holds them in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ._bind import Float64, Int64, c_path, call, floats, integers, notes_as_warnings
from ._core import ffi, lib
from .errors import DataError, UsageError

Sequences: TypeAlias = Sequence[npt.ArrayLike] | npt.NDArray[Any]
"""One [n_j, d] array a sequence, or a rectangular [N, n, d] array."""

Positions: TypeAlias = Literal["append"] | None


class Dataset:
    """N pairs of an input sequence [n_j, d] and its targets [m_j, d].

    Parameters
    ----------
    x : sequence of [n_j, d] arrays, or [N, n, d] array
        Inputs, of a real or integer type that float64 holds exactly.
    y : sequence of [m_j, d] (or [d], for one target) arrays, [N, m, d] or [N, d] array, optional
        Targets, 1 <= m_j <= n_j.
    positions : {None, "append"}
        "append" adds a coordinate that holds the position of each token, which makes repeated
        tokens of a sequence distinct.

    Raises
    ------
    DataError
        A condition is broken: values that are not finite, repeated tokens in a sequence, more
        targets than tokens, the same input set with two different target sets, other shapes or
        types. `sequence` and `token` of the exception say where.

    Warns
    -----
    DataWarning
        A pair that repeats an earlier one is dropped.

    Examples
    --------
    >>> data = Dataset([[[0, 0], [1, 2]], [[3, 1]]], [[[0.5, 1]], [[7, 7]]])
    >>> data
    Dataset(2 sequences, 2 targets, 3 tokens, d = 2)
    >>> data.inputs[1]
    array([[3., 1.]])
    """

    def __init__(
        self, x: Sequences, y: Sequences | None = None, *, positions: Positions = None
    ) -> None:
        inputs, targets = flatten(x, "X"), None if y is None else flatten(y, "Y")
        self._fill(inputs, targets, _append(positions))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        positions: Positions = None,
        inputs_only: bool = False,
    ) -> Dataset:
        """Read a .npz, .safetensors or .jsonl file.

        Raises
        ------
        FileError, DataError, UsageError
            It cannot be read; it is malformed or breaks a condition; its extension is unknown, or the
            path is none.
        """
        return cls._load(path, _append(positions), inputs_only)

    @classmethod
    def _load(
        cls, path: str | os.PathLike[str], position_bits: int | None, inputs_only: bool
    ) -> Dataset:
        options = _options(position_bits)
        options.inputs_only = inputs_only
        pointer = new_dataset()
        with notes_as_warnings(options):
            call(lib.xf_dataset_load, pointer, c_path(path), options)
        return cls._owning(pointer)

    @classmethod
    def _from_flat(cls, x: Flat, y: Flat | None, position_bits: int | None) -> Dataset:
        self = cls.__new__(cls)
        self._fill(x, y, position_bits)
        return self

    @classmethod
    def _owning(cls, pointer: Any) -> Dataset:
        self = cls.__new__(cls)
        self._own(pointer)
        return self

    def _fill(self, x: Flat, y: Flat | None, position_bits: int | None) -> None:
        if y is not None:
            _check_alike(x, y)
        pointer, options = new_dataset(), _options(position_bits)
        with notes_as_warnings(options):
            call(
                lib.xf_dataset_from_arrays,
                pointer,
                len(x[1]) - 1,
                x[0].shape[1],
                *_pointers(x),
                *(_pointers(y) if y is not None else (ffi.NULL, ffi.NULL)),
                options,
            )
        self._own(pointer)

    def _own(self, pointer: Any) -> None:
        """Take over a filled xf_dataset."""
        self._pointer = pointer
        n = int(pointer.n_sequences)
        self.d = int(pointer.d)
        """Dimension of a token, appended position included."""
        self.positions: int | None = None if pointer.positions < 0 else int(pointer.positions)
        """k if the last coordinate holds the position times 2**-k."""
        self.x: Float64 = _frozen(floats(pointer, pointer.x, int(pointer.n_tokens), self.d))
        """All input tokens, [T, d]; read-only, like all views of the data."""
        self.x_offsets: Int64 = _frozen(integers(pointer, pointer.x_offsets, n + 1))
        """Sequence j is rows x_offsets[j] to x_offsets[j + 1] of x."""
        self.y: Float64 | None = None
        """All targets, [M, d]."""
        self.y_offsets: Int64 | None = None
        if pointer.y != ffi.NULL:
            self.y = _frozen(floats(pointer, pointer.y, int(pointer.n_targets), self.d))
            self.y_offsets = _frozen(integers(pointer, pointer.y_offsets, n + 1))

    @property
    def inputs(self) -> list[Float64]:
        """The input sequences, views of [n_j, d]."""
        return split(self.x, self.x_offsets)

    @property
    def targets(self) -> list[Float64]:
        """The target sets, views of [m_j, d]; DataError if there are none."""
        if self.y is None or self.y_offsets is None:
            raise DataError("the data set has no targets")
        return split(self.y, self.y_offsets)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to .npz, .safetensors or .jsonl; the file appears complete or not at all.

        Raises
        ------
        FileError, UsageError
            It cannot be written; the extension is unknown, or the path is none.
        """
        call(lib.xf_dataset_save, self._pointer, c_path(path))

    def __len__(self) -> int:
        return len(self.x_offsets) - 1

    def __iter__(self) -> Iterator[list[Float64]]:
        """Inputs, then targets: ``X, Y = data``."""
        return iter((self.inputs, self.targets))

    def __repr__(self) -> str:
        n_targets = 0 if self.y is None else len(self.y)
        return (
            f"Dataset({len(self)} sequences, {n_targets} targets, {len(self.x)} tokens,"
            f" d = {self.d})"
        )


Flat: TypeAlias = tuple[Float64, Int64]
"""Rows of all sequences [rows, d], and where each sequence starts [N + 1]."""


def new_dataset() -> Any:
    """An empty xf_dataset that clears itself."""
    pointer = ffi.new("xf_dataset *")
    lib.xf_dataset_init(pointer)
    return ffi.gc(pointer, lib.xf_dataset_clear)


def _append(positions: Positions) -> int | None:
    if positions not in (None, "append"):
        raise UsageError(f"positions must be None or 'append': {positions!r}")
    return None if positions is None else 0


def _options(position_bits: int | None) -> Any:
    options = ffi.new("xf_dataset_options *")
    options.append_positions = position_bits is not None
    options.position_bits = position_bits or 0
    return options


def _pointers(flat: Flat) -> tuple[Any, Any]:
    return ffi.from_buffer("double[]", flat[0]), ffi.from_buffer("int64_t[]", flat[1])


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def split(rows: npt.NDArray[Any], offsets: Int64) -> list[npt.NDArray[Any]]:
    """The rows of every sequence, as views."""
    return [rows[a:b] for a, b in zip(offsets[:-1], offsets[1:])]


# --- from what Python holds -----------------------------------------------------------------------


def flatten(values: Sequences, name: str) -> Flat:
    """The rows of all sequences in one float64 array, and their offsets.

    Raises
    ------
    DataError
        Shapes that do not fit, an empty sequence, a value that float64 does not hold exactly.
    """
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__len__"):
        raise DataError(f"{name} is a {type(values).__name__}, not a list of arrays")
    if not isinstance(values, (list, tuple)):
        array = _array(values, name, None)
        if array.dtype != object:
            return _rectangular(array, name)
        values = list(array)
    if len(values) == 0:
        raise DataError(f"{name} is empty: at least one sequence is needed")
    matrices = [_matrix(value, name, j) for j, value in enumerate(values)]
    for j, matrix in enumerate(matrices):
        if matrix.shape[1] != matrices[0].shape[1]:
            raise DataError(
                f"{name}[{j}] has {matrix.shape[1]} coordinates, {name}[0] has"
                f" {matrices[0].shape[1]}",
                sequence=j,
            )
    offsets = np.zeros(len(matrices) + 1, np.int64)
    np.cumsum([len(matrix) for matrix in matrices], out=offsets[1:])
    return np.concatenate(matrices), offsets


def _check_alike(x: Flat, y: Flat) -> None:
    if len(x[1]) != len(y[1]):
        raise DataError(f"X has {len(x[1]) - 1} sequences, Y has {len(y[1]) - 1}")
    if x[0].shape[1] != y[0].shape[1]:
        raise DataError(
            f"tokens of X have {x[0].shape[1]} coordinates, targets have {y[0].shape[1]}"
        )


def _array(value: object, name: str, sequence: int | None) -> npt.NDArray[Any]:
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{name} is no array: {error}", sequence=sequence) from None


def _rectangular(array: npt.NDArray[Any], name: str) -> Flat:
    if array.ndim == 2 and name == "Y":
        array = array[:, None, :]
    if array.ndim != 3 or 0 in array.shape:
        wanted = "[N, m, d] or [N, d]" if name == "Y" else "[N, n, d]"
        raise DataError(
            f"{name} has shape {array.shape}; a rectangular array has the axes {wanted}, none empty"
        )
    n_sequences, n, d = array.shape
    offsets = np.arange(0, n * n_sequences + 1, n, dtype=np.int64)
    return _exact(array, name, None).reshape(n * n_sequences, d), offsets


def _matrix(value: object, name: str, j: int) -> Float64:
    where = f"{name}[{j}]"
    array = _array(value, where, j)
    if array.ndim == 1 and name == "Y" and array.dtype != object:
        array = array[None, :]
    if array.dtype == object:
        raise DataError(f"{where} is not a matrix of numbers", sequence=j)
    if array.ndim != 2 or array.shape[1] == 0:
        raise DataError(f"{where} has shape {array.shape}, not [tokens, d]", sequence=j)
    if len(array) == 0:
        raise DataError(f"{where} has no tokens", sequence=j)
    return _exact(array, where, j)


def _exact(array: npt.NDArray[Any], where: str, sequence: int | None) -> Float64:
    """The same numbers as contiguous float64, none rounded."""
    if array.dtype.kind not in "fiu" and array.dtype.name != "bfloat16":
        raise DataError(
            f"{where} has dtype {array.dtype}; use a real or integer type", sequence=sequence
        )
    wide = np.ascontiguousarray(array, np.float64)
    rounded = np.flatnonzero(~_survives(array, wide))
    if len(rounded) > 0:
        value = array.flat[rounded[0]]
        raise DataError(f"{where} holds {value}, which float64 cannot hold", sequence=sequence)
    return wide


def _survives(array: npt.NDArray[Any], wide: Float64) -> npt.NDArray[np.bool_]:
    """Which numbers the conversion left as they are (NaN among them: others complain of it)."""
    if array.dtype.kind in "iu":
        large = np.abs(wide) >= 2.0**53
        same = np.ones(array.shape, np.bool_)
        same[large] = [int(a) == int(b) for a, b in zip(array[large], wide[large])]
        return same
    back: npt.NDArray[np.bool_] = (wide.astype(array.dtype) == array) | (array != array)
    return back
