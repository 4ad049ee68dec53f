"""The Python file with which scripts load models without this package."""

from __future__ import annotations

import os
from pathlib import Path

from .atomic import write_atomically


def write_module_file(path: str | os.PathLike[str]) -> None:
    """Write a Python file that defines ExactTransformer, for scripts that load models without us.

    It needs PyTorch, and safetensors to read model files; this function needs neither.

    Raises
    ------
    FileError, UsageError
        It cannot be written; the path is none.
    """
    write_atomically(path, module_source())


def module_source() -> str:
    """The text of torch_module.py, which is read, not imported."""
    return Path(__file__).with_name("torch_module.py").read_text(encoding="utf-8")
