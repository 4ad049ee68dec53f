"""Data sets that come with the package, and seeded synthetic ones."""

from __future__ import annotations

from importlib import resources

from ._bind import GRID, call, integer, names, text
from ._core import ffi, lib
from .dataset import Dataset, new_dataset
from .errors import UsageError

KINDS: dict[str, str] = {
    kind: text(lib.xf_generate_describe(kind.encode())) for kind in names(lib.xf_generate_kinds())
}
"""The kinds that `generate` knows, with a line about each."""


def digits(task: str = "class") -> Dataset:
    """1,797 images of handwritten digits, 8 x 8 pixels.

    Parameters
    ----------
    task : {"class", "inpaint"}
        "class": inked pixels (row, column, ink) to the digit; "inpaint": upper half to lower half.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> digits()
    Dataset(1797 sequences, 1797 targets, 58736 tokens, d = 3)
    """
    if task not in ("class", "inpaint"):
        raise UsageError(f"unknown task {task!r}: use 'class' or 'inpaint'")
    return _shipped(f"digits_{task}.npz")


def three_sequences() -> Dataset:
    """Three sequences in the plane that share all their tokens: small enough to draw."""
    return _shipped("three_sequences.jsonl")


def _shipped(name: str) -> Dataset:
    with resources.as_file(resources.files("exactformer") / "data" / name) as path:
        return Dataset.load(path)


def generate(
    kind: str,
    n_sequences: int = 0,
    d: int = 0,
    *,
    n: int | tuple[int, int] = 0,
    m: int | tuple[int, int] = 0,
    vocabulary: int = 0,
    grid: str = "full",
    input_grid: str = "full",
    scale: float = 1.0,
    offset: float = 0.0,
    seed: int = 0,
) -> Dataset:
    """A seeded synthetic data set; the same arguments give the same values on every machine.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    n_sequences, d, vocabulary : int
        Sizes; 0 means the kind's default.
    n, m : int or (low, high)
        Tokens and targets of a sequence.
    grid, input_grid : {"full", "f32", "f16", "integer"}
        How targets and inputs are rounded.
    scale, offset : float
        Inputs become scale * x + offset.
    seed : int

    Returns
    -------
    Dataset

    Raises
    ------
    UsageError
        An unknown kind, or sizes that it cannot have.

    Examples
    --------
    >>> generate("gaussian", 10, 4, n=(3, 6), m=2)
    Dataset(10 sequences, 20 targets, 46 tokens, d = 4)
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise UsageError(f"unknown kind {kind!r}: use {', '.join(map(repr, KINDS))}")
    if scale == 0:
        raise UsageError("scale 0 would make every token the same")
    options, name = ffi.new("xf_generate_options *"), ffi.new("char[]", kind.encode())
    options.kind = name
    options.n_sequences = integer("n_sequences", n_sequences, 0, 2**62)
    options.d = integer("d", d, 0, 2**62)
    options.n_min, options.n_max = _range("n", n)
    options.m_min, options.m_max = _range("m", m)
    options.vocabulary = integer("vocabulary", vocabulary, 0, 2**62)
    options.grid = GRID.value("grid", grid)
    options.input_grid = GRID.value("input_grid", input_grid)
    options.scale, options.offset = scale, offset
    options.seed = integer("seed", seed, 0, 2**64 - 1)
    pointer = new_dataset()
    call(lib.xf_generate, pointer, options)
    return Dataset._owning(pointer)


def _range(parameter: str, value: int | tuple[int, int]) -> tuple[int, int]:
    low, high = value if isinstance(value, tuple) else (value, value)
    return integer(parameter, low, 0, 2**62), integer(parameter, high, 0, 2**62)
