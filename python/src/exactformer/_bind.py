"""Between Python and the C library: calls, errors, names of enumerations, progress, views.

cffi releases the GIL during every call. Long work calls back now and then, in the thread that
started it; that is where Ctrl-C and exceptions of a progress callback stop it.
"""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import errors
from ._core import ffi, lib
from .paths import path_text

Float64: TypeAlias = npt.NDArray[np.float64]
Int64: TypeAlias = npt.NDArray[np.int64]
Progress: TypeAlias = bool | Callable[[str, float], object]

_EXCEPTIONS: dict[int, type[errors.ExactformerError]] = {
    lib.XF_ERR_ARGUMENT: errors.UsageError,
    lib.XF_ERR_DATA: errors.DataError,
    lib.XF_ERR_IO: errors.FileError,
    lib.XF_ERR_INFEASIBLE: errors.RefusalError,
    lib.XF_ERR_MEMORY: errors.OutOfMemoryError,
    lib.XF_ERR_CANCELLED: errors.CancelledError,
}


def call(function: Any, *arguments: Any) -> int:
    """Call a fallible function with an error record; return XF_OK or XF_NOT_EXACT, or raise."""
    error = ffi.new("xf_error *")
    status = int(function(*arguments, error))
    if status in (lib.XF_OK, lib.XF_NOT_EXACT):
        return status
    raise _EXCEPTIONS[status](
        text(error.message),
        sequence=position(error.sequence),
        token=position(error.token),
    )


def text(value: Any) -> str:
    """A C string."""
    return str(ffi.string(value).decode("utf-8", "replace"))


def names(array: Any) -> tuple[str, ...]:
    """A NULL-terminated list of C strings."""
    found: list[str] = []
    while array[len(found)] != ffi.NULL:
        found.append(text(array[len(found)]))
    return tuple(found)


def c_path(path: str | os.PathLike[str]) -> bytes:
    """A path for the C library; UsageError if it is none."""
    return os.fsencode(path_text(path))


class Choice:
    """An enumeration of the C library by short names: XF_GRID_F32 is "f32"."""

    def __init__(self, c_type: str, prefix: str) -> None:
        elements: dict[int, str] = ffi.typeof(c_type).elements
        self.names = {value: name.removeprefix(prefix).lower() for value, name in elements.items()}
        self.values = {name: value for value, name in self.names.items()}

    def value(self, parameter: str, name: object) -> int:
        """The C value of a name; UsageError if there is no such name."""
        if isinstance(name, str) and name in self.values:
            return self.values[name]
        known = " or ".join(", ".join(map(repr, self.values)).rsplit(", ", 1))
        raise errors.UsageError(f"unknown {parameter} {name!r}: use {known}")


CONSTRUCTION = Choice("xf_construction", "XF_")
ATTENTION = Choice("xf_attention", "XF_")
DTYPE = Choice("xf_dtype", "XF_")
ORDER = Choice("xf_order", "XF_")
OPTIMISE = Choice("xf_optimise", "XF_OPTIMISE_")
ENGINE = Choice("xf_engine", "XF_ENGINE_")
LAYOUT = Choice("xf_layout", "XF_LAYOUT_")
GRID = Choice("xf_grid", "XF_GRID_")


def integer(parameter: str, value: object, low: int, high: int) -> int:
    """A whole number in [low, high]; UsageError if it is none."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        if low <= int(value) <= high:
            return int(value)
    raise errors.UsageError(f"{parameter} must be a whole number from {low} to {high}: {value!r}")


def threads_value(threads: object) -> int:
    """A number of threads, 0 for as many as there are cores; UsageError if it is none."""
    try:
        return integer("threads", threads, 0, 2**31 - 1)
    except errors.UsageError as error:
        raise errors.UsageError(f"{error} (0: as many as there are cores)") from None


def temperature(tau: float) -> float:
    """A softmax temperature; UsageError if it is none."""
    if not isinstance(tau, (int, float, np.number)) or not 0 < tau < math.inf:
        raise errors.UsageError(f"tau must be a positive number: {tau!r}")
    return float(tau)


def position(value: int) -> int | None:
    """A position in a data set; None for the C library's -1."""
    return None if value < 0 else int(value)


# --- progress and Ctrl-C --------------------------------------------------------------------------


class _Bar:
    """A tqdm bar for each phase in turn."""

    def __init__(self) -> None:
        self.phase = ""
        self.bar: Any = None

    def __call__(self, phase: str, done: float) -> None:
        if phase != self.phase:
            from tqdm import tqdm

            self.close()
            self.phase = phase
            self.bar = tqdm(total=100, desc=phase, unit="%", leave=False)
        self.bar.update(int(100 * done) - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


class _Watch:
    """Whom to tell about the work under way, and what stopped it."""

    def __init__(self, progress: Progress) -> None:
        self.tell: Callable[[str, float], object] | None = None
        self.stopped_by: BaseException | None = None
        if progress is True:
            self.tell = _Bar()
        elif callable(progress):
            self.tell = progress
        elif progress is not False and progress is not None:
            raise errors.UsageError(f"progress must be True, False or callable: {progress!r}")


_current = threading.local()


def _stopped(kind: object, exception: BaseException, traceback: object) -> None:
    _current.watch.stopped_by = exception


@ffi.def_extern(error=1, onerror=_stopped)  # type: ignore[untyped-decorator]
def xfpy_progress(context: Any, phase: Any, done: float) -> int:
    """Exceptions, KeyboardInterrupt among them, go to `_stopped` and cancel the work."""
    tell = _current.watch.tell
    return int(tell is not None and tell(text(phase), done) is True)


@contextmanager
def watched(options: Any, progress: Progress) -> Iterator[None]:
    """Let the work done in this context with these C options report, and be interrupted."""
    watch, outer = _Watch(progress), getattr(_current, "watch", None)
    options.progress = lib.xfpy_progress
    _current.watch = watch
    try:
        yield
        if watch.stopped_by is not None:
            raise watch.stopped_by
    except errors.CancelledError:
        if watch.stopped_by is not None:
            raise watch.stopped_by from None
        raise
    finally:
        _current.watch = outer
        if isinstance(watch.tell, _Bar):
            watch.tell.close()


@ffi.def_extern()  # type: ignore[untyped-decorator]
def xfpy_note(context: Any, note: Any) -> None:
    """Collect remarks in the list behind the context."""
    ffi.from_handle(context).append(text(note))


@contextmanager
def notes_as_warnings(options: Any) -> Iterator[None]:
    """Turn the remarks made in this context with these C options into warnings."""
    notes: list[str] = []
    handle = ffi.new_handle(notes)
    options.note, options.note_context = lib.xfpy_note, handle
    yield
    for note in notes:
        warnings.warn(note, errors.DataWarning, stacklevel=5)


# --- views ----------------------------------------------------------------------------------------


class _Memory:
    """An array of the C library's for NumPy, with what keeps it alive."""

    def __init__(self, owner: Any, pointer: Any, shape: tuple[int, ...], kind: str) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "typestr": kind,
            "shape": shape,
            "data": (int(ffi.cast("uintptr_t", pointer)), False),
        }


def _view(owner: Any, pointer: Any, shape: tuple[int, ...], kind: str) -> npt.NDArray[Any]:
    if 0 in shape:
        return np.zeros(shape, kind)
    return np.asarray(_Memory(owner, pointer, shape, kind))


def floats(owner: Any, pointer: Any, *shape: int) -> Float64:
    """A writable view of doubles that keeps `owner` alive."""
    return _view(owner, pointer, shape, "=f8")


def integers(owner: Any, pointer: Any, *shape: int) -> Int64:
    """A writable view of int64 that keeps `owner` alive."""
    return _view(owner, pointer, shape, "=i8")
