"""Exceptions: one for each status of the C library, with its text and its positions.

Every exception of this package is an `ExactformerError`; each also is the built-in exception that a
Python programmer would look for.
"""

from __future__ import annotations


class ExactformerError(Exception):
    """What went wrong and where.

    Attributes
    ----------
    message : str
        One line, as the C library writes it.
    sequence, token : int or None
        Zero-based positions in the data set, where they apply.
    """

    def __init__(
        self, message: str, *, sequence: int | None = None, token: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.sequence = sequence
        self.token = token

    def __str__(self) -> str:
        return self.message


class UsageError(ExactformerError, ValueError):
    """The arguments of a call make no sense."""


class DataError(ExactformerError, ValueError):
    """A data set or model is malformed or breaks a condition."""


class FileError(ExactformerError, OSError):
    """A file could not be read or written."""


class RefusalError(ExactformerError, ArithmeticError):
    """The data do not allow the requested exactness; the message says why and what would help.

    `sequence` is one of the two sequences that come closest, where that is the reason.
    """


class NotExactError(ExactformerError, AssertionError):
    """An output set differs from its targets, where exactness was insisted on."""


class OutOfMemoryError(ExactformerError, MemoryError):
    """An allocation failed."""


class CancelledError(ExactformerError):
    """The progress callback asked to stop."""


class DataWarning(UserWarning):
    """A remark about a data set that is no error, for example a dropped repetition."""
