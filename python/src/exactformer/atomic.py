"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .errors import FileError
from .paths import path_text


def write_atomically(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a file of these bytes, or of this text in UTF-8; an existing one stays until then.

    Raises FileError; UsageError if it is no path.
    """
    path = Path(path_text(path))
    raw = content.encode("utf-8") if isinstance(content, str) else content
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(raw)
            os.chmod(draft, 0o666 & ~_umask())
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
