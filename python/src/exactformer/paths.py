"""Paths as callers give them."""

from __future__ import annotations

import os

from .errors import UsageError


def path_text(path: object) -> str:
    """A path as text; UsageError if it is none."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise UsageError(f"a path is needed, a str or an os.PathLike, not {path!r}")
    text = os.fsdecode(path)
    if "\0" in text:
        raise UsageError(f"a path must not contain a null character: {path!r}")
    return text
