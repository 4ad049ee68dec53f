"""Folders for model hubs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

import exactformer as xf
from exactformer import DataError, Dataset, FileError, Model
from exactformer.hub import export_hub


def test_folder(three: Dataset, model: Model, tmp_path: Path) -> None:
    folder = tmp_path / "a model"
    export_hub(model.tensors, model.config, folder)
    export_hub(model.tensors, model.config, folder)  # again: refreshed
    assert {p.name for p in folder.iterdir()} == {
        "model.safetensors", "config.json", "README.md", "exact_transformer.py",
    }  # fmt: skip
    with safe_open(folder / "model.safetensors", "numpy") as file:
        assert file.metadata()["format"] == "pt"
        assert np.array_equal(file.get_tensor("ff.W"), model.tensors["ff.W"])
    config = json.loads((folder / "config.json").read_text())
    assert config["model_type"] == "exactformer" and config["torch_dtype"] == "float64"
    assert config["num_hidden_layers"] == config["blocks"] == model.n_blocks
    assert xf.load(folder / "model.safetensors").verify(three)


def test_card(model: Model, tmp_path: Path) -> None:
    proof: dict[str, Any] = {"format": "exactformer-certificate", "version": 1, "claims": {}}
    (tmp_path / "proof.json").write_text(json.dumps(proof))
    export_hub(model.tensors, model.config, tmp_path / "m", name="Three",
               certificate=tmp_path / "proof.json", license="cc0-1.0")  # fmt: skip
    card = (tmp_path / "m" / "README.md").read_text()
    assert card.startswith("---\nlicense: cc0-1.0\n")
    assert "\n# Three\n" in card and "3 sequences" in card and "4 targets" in card
    assert "at every temperature" in card and "bfloat16" in card
    assert "| `format` | exactformer-certificate |" in card
    assert json.loads((tmp_path / "m" / "certificate.json").read_text()) == proof


def test_card_claims_nothing_for_trained_weights(model: Model, tmp_path: Path) -> None:
    config = model.config | {"construction": "trained", "tau_max": 0}
    export_hub(model.tensors, config, tmp_path / "m")
    card = (tmp_path / "m" / "README.md").read_text()
    assert "No exactness is claimed" in card and "maps each" not in card


def test_card_code_runs(model: Model, tmp_path: Path) -> None:
    """The example of the card, in the folder, without the package."""
    export_hub(model.tensors, model.config, tmp_path / "m")
    card = (tmp_path / "m" / "README.md").read_text()
    code = card.split("```python\n")[1].split("```")[0]
    code = "import sys; sys.modules['exactformer'] = None\n" + code + "assert y.shape == x.shape\n"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "m", check=True)


def test_errors(model: Model, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("[1]")
    with pytest.raises(DataError, match="not a JSON object"):
        export_hub(model.tensors, model.config, tmp_path / "m", certificate=bad)
    bad.write_text("{")
    with pytest.raises(DataError, match="not JSON"):
        export_hub(model.tensors, model.config, tmp_path / "m", certificate=bad)
    with pytest.raises(FileError):
        export_hub(model.tensors, model.config, tmp_path / "m", certificate=tmp_path / "none")
    with pytest.raises(FileError):
        export_hub(model.tensors, model.config, bad / "m")
    assert not (tmp_path / "m").exists()
