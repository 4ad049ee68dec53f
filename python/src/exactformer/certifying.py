"""Certificates: proofs that a model maps every input of a data set exactly to its targets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ._bind import Choice, Progress, c_path, call, integer, position, text, threads_value, watched
from ._core import ffi, lib
from .dataset import Sequences
from .errors import FileError, NotExactError
from .evaluation import replace_attention
from .model import Model
from .model_input import Input

ANSWER = Choice("xf_answer", "XF_")


@dataclass(frozen=True)
class Claim:
    """One claim of a certificate; true if it is proved.

    Attributes
    ----------
    answer : {"yes", "no", "unknown"}
        Proved, disproved, or neither.
    proved, disproved : int
        Sequences.
    tau_min, tau_max : float
        It is about temperatures in (tau_min, tau_max], or tau_max alone if they are equal; inf: about
        all, and hardmax too.
    sequence, token, block : int or None
        The first sequence that is disproved, else the first that is not proved; its token and the
        block where that shows.
    subnormals_absent : bool
        No nonzero subnormal number can occur: the claim holds where they are flushed as well.
    uses_exp : bool
        It rests on the error of the machine's exp.
    reason : str
        Why it is not proved; empty if it is.
    """

    answer: str
    proved: int
    disproved: int
    tau_min: float
    tau_max: float
    sequence: int | None
    token: int | None
    block: int | None
    subnormals_absent: bool
    uses_exp: bool
    reason: str

    def __bool__(self) -> bool:
        return self.answer == "yes"


class Certificate:
    """What `certify` proved; true if both claims are proved.

    Attributes
    ----------
    real : Claim
        In real arithmetic, with the stored weights, T(X_j) = Y_j as sets for every j.
    ieee : Claim
        Every evaluation in the model's format gives these bits, in any order of summation, with and
        without FMA.
    """

    def __init__(self, pointer: Any) -> None:
        """For `certify`: take over a filled xf_certificate."""
        self._pointer = pointer
        self.real = _claim(pointer.real)
        self.ieee = _claim(pointer.ieee)

    def __bool__(self) -> bool:
        return bool(self.real) and bool(self.ieee)

    def __repr__(self) -> str:
        return f"Certificate(real: {self.real.answer}, ieee: {self.ieee.answer})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON (docs/certify.md); the file appears complete or not at all.

        Raises
        ------
        FileError, UsageError
            It cannot be written; the path is none.
        """
        call(lib.xf_certificate_save, self._pointer, c_path(path))


def certify(
    model: Model | str | os.PathLike[str],
    X: Input,
    Y: Sequences | None = None,
    *,
    attention: str | None = None,
    tau: float | None = None,
    exp_ulp: int = 4,
    threads: int = 0,
    progress: Progress = False,
    strict: bool = False,
) -> Certificate:
    """Try to prove, from the weights, that a model is exact on a data set.

    Parameters
    ----------
    model : Model or path
        Given as files, model and data are named in the certificate by their SHA-256.
    X, Y : as for `fit`
    attention, tau :
        In place of the model's, as for `Model.predict`.
    exp_ulp : int
        Error of the machine's exp in ulp that is to be allowed for, 1 to 1024.
    threads, progress :
        As for `Model.predict`.
    strict : bool
        Raise NotExactError unless both claims are proved.

    Returns
    -------
    Certificate

    Raises
    ------
    DataError, UsageError, FileError, NotExactError

    Examples
    --------
    >>> from exactformer import fit
    >>> X, Y = [[[0, 0], [1, 2]]], [[[0.1, 0.2]]]
    >>> certify(fit(X, Y), X, Y)
    Certificate(real: yes, ieee: yes)
    """
    options, found = ffi.new("xf_certify_options *"), ffi.new("xf_certificate *")
    options.exp_ulp = integer("exp_ulp", exp_ulp, 1, 1024)
    options.threads = threads_value(threads)
    replace_attention(options, attention, tau)
    lib.xf_certificate_init(found)
    found = ffi.gc(found, lib.xf_certificate_clear)
    with _digest(model) as model_file, _digest(X) as data_file:
        if not isinstance(model, Model):
            model = Model.load(model)
        data, _ = model._dataset(X, Y, with_targets=True)
        with watched(options, progress):
            call(lib.xf_certify, found, model._pointer, data._pointer, options)
    found.model_file, found.data_file = model_file[0], data_file[0]
    certificate = Certificate(found)
    if strict and not certificate:
        claim = certificate.real if not certificate.real else certificate.ieee
        raise NotExactError(claim.reason, sequence=claim.sequence, token=claim.token)
    return certificate


def _claim(claim: Any) -> Claim:
    return Claim(
        answer=ANSWER.names[claim.answer],
        proved=int(claim.n_proved),
        disproved=int(claim.n_disproved),
        tau_min=float(claim.tau_min),
        tau_max=float(claim.tau_max),
        sequence=position(claim.sequence),
        token=position(claim.token),
        block=position(claim.block),
        subnormals_absent=bool(claim.is_subnormal_free),
        uses_exp=bool(claim.uses_exp),
        reason=text(claim.reason),
    )


@contextmanager
def _digest(source: object) -> Iterator[Any]:
    """The digest of a file, which must not change in this context; empty for anything else."""
    before, after = ffi.new("xf_file_digest *"), ffi.new("xf_file_digest *")
    if not isinstance(source, (str, os.PathLike)):
        yield before
        return
    call(lib.xf_digest_file, before, c_path(source))
    yield before
    call(lib.xf_digest_file, after, c_path(source))
    if text(before.sha256) != text(after.sha256):
        raise FileError(f"{os.fspath(source)}: the file changed while it was certified")
