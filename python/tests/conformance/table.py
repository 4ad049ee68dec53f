"""The published table: docs/conformance.md between its marks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """A runtime all of whose outputs were the targets."""

    runtime: str
    version: str
    models: int
    sizes: tuple[int, ...]
