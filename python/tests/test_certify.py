"""Certificates: proofs for models and data in memory and in files."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pytest

import exactformer
from conftest import X, Y
from exactformer import Dataset, Model, datasets


def spoiled(model: Model) -> Model:
    """One weight of the last block changed."""
    tensors = {name: array.copy() for name, array in model.tensors.items()}
    tensors["ff.W"][-1] *= 1 + 2.0**-40
    return Model.from_tensors(tensors, model.config)


def test_proved(model: Model, three: Dataset) -> None:
    certificate = model.certify(X, Y)
    assert certificate and certificate.real and certificate.ieee
    assert repr(certificate) == "Certificate(real: yes, ieee: yes)"
    claim = certificate.ieee
    assert (claim.proved, claim.disproved, claim.sequence, claim.reason) == (3, 0, None, "")
    assert claim.tau_max == math.inf
    assert model.certify(three, attention="softmax", tau=0.5, threads=1, exp_ulp=8)


def test_disproved(model: Model) -> None:
    wrong = spoiled(model)
    assert not wrong.verify(X, Y)
    certificate = wrong.certify(X, Y)
    assert not certificate and certificate.real.answer == "no"
    assert certificate.real.sequence is not None and certificate.real.reason
    with pytest.raises(exactformer.NotExactError) as caught:
        wrong.certify(X, Y, strict=True)
    assert caught.value.sequence == certificate.real.sequence


def test_softmax_of_the_published_construction() -> None:
    data = datasets.three_sequences()
    model = exactformer.fit(data, construction="published", attention="softmax")
    claim = model.certify(data, strict=True).ieee
    assert claim.uses_exp and claim.tau_max >= model.tau


def test_files_are_named_by_their_digests(tmp_path: Path, model: Model, three: Dataset) -> None:
    model_file, data_file = tmp_path / "m.safetensors", tmp_path / "d.npz"
    model.save(model_file)
    three.save(data_file)
    exactformer.certify(model_file, data_file, strict=True).save(tmp_path / "c.json")
    written = json.loads((tmp_path / "c.json").read_text())
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (model_file, data_file)]
    assert [written["model"]["sha256"], written["dataset"]["sha256"]] == digests
    assert written["claims"]["real"]["answer"] == written["claims"]["ieee"]["answer"] == "yes"
    with pytest.raises(exactformer.FileError):
        exactformer.certify(model, three).save(tmp_path / "absent" / "c.json")
    with pytest.raises(exactformer.FileError, match="absent"):
        exactformer.certify(tmp_path / "absent.safetensors", three)

    def tamper(phase: str, done: float) -> None:
        model_file.write_bytes(b"")

    with pytest.raises(exactformer.FileError, match="changed"):
        exactformer.certify(model_file, data_file, progress=tamper)


def test_bad_calls(model: Model, three: Dataset) -> None:
    for options in ({"exp_ulp": 0}, {"tau": 0}, {"attention": "x"}, {"threads": -1}):
        with pytest.raises(exactformer.UsageError):
            model.certify(three, **options)
    with pytest.raises(exactformer.ExactformerError, match="targets"):
        model.certify(X)
    with pytest.raises(exactformer.UsageError, match="d = 3"):
        model.certify(np.zeros((1, 1, 3)), np.zeros((1, 3)))
