"""A model's way to PyTorch and back, to ONNX, and to a hub, by its methods."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import exactformer
from conftest import X, Y
from exactformer import Model


def test_torch_and_back(model: Model) -> None:
    again = exactformer.from_torch(model.to_torch())
    assert again.config == model.config and again.verify(X, Y)


def test_onnx(tmp_path: Path, model: Model) -> None:
    import onnxruntime

    model.to_onnx(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    for x, expected in zip(X, model(X)):
        feeds = {"x": np.array([x], float), "mask": np.ones((1, len(x)), bool)}
        assert np.array_equal(session.run(None, feeds)[0][0], expected)


def test_hub(tmp_path: Path, model: Model) -> None:
    model.certify(X, Y).save(tmp_path / "c.json")
    model.export_hub(tmp_path / "hub", name="three", certificate=tmp_path / "c.json")
    assert json.loads((tmp_path / "hub" / "config.json").read_text())
    assert "three" in (tmp_path / "hub" / "README.md").read_text()
