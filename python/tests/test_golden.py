"""The kit for authors of inference engines: conforming engines pass, each kind of defect is caught."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from conformance.batches import Batch, Rows, make_batch
from conformance.numpy_engines import ENGINES, Engine, broken
from conformance.runtimes import onnx_session
from safetensors import safe_open
from safetensors.numpy import load_file

import exactformer as xf
from exactformer import golden
from exactformer.golden import DEFECTS, main, write_kit

DEFECT_OF = {
    "ties to the first": golden.TIES,
    "flushed subnormals": golden.FLUSH,
    "no maximum subtracted": golden.MAXIMUM,
    "dropped residual": golden.RESIDUAL,
    "misplaced residual": golden.MISPLACED,
    "TF32 products": golden.PRECISION,
    "bfloat16 products": golden.PRECISION,
}


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden") / "kit"
    write_kit(folder)
    return folder


@pytest.fixture(scope="module")
def models(kit: Path) -> list[dict[str, Any]]:
    listing: list[dict[str, Any]] = json.loads((kit / "kit.json").read_text())["models"]
    return listing


def batch_of(kit: Path, name: str) -> Batch:
    data = load_file(kit / name / "data.safetensors")
    return make_batch(np.split(data["x"], data["x_offsets"][1:-1]), 0)


def save_outputs(out: Path, name: str, batch: Batch, y: Rows) -> None:
    (out / f"{name}.bin").write_bytes(np.concatenate(batch.split(y)).tobytes())


def run_engine(kit: Path, out: Path, engine: Engine, names: list[str]) -> None:
    """As an author would: from the safetensors file to raw outputs."""
    for name in names:
        path = kit / name / "model.safetensors"
        with safe_open(path, "numpy") as file:
            config = json.loads(file.metadata()["config"])
        batch = batch_of(kit, name)
        save_outputs(out, name, batch, engine.run(load_file(path), config, batch.x, batch.mask))


def check(kit: Path, out: Path, *names: str) -> subprocess.CompletedProcess[str]:
    """The kit's own checker, without any package."""
    command = [sys.executable, "-I", str(kit / "check.py"), str(out), *names]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_models_are_what_the_kit_promises(kit: Path, models: list[dict[str, Any]]) -> None:
    blocks = [model["blocks"] for model in models]
    assert min(blocks) == 1 and max(blocks) >= 10_000
    assert {model["dtype"] for model in models} == {"float64", "float32"}
    assert {model["attention"] for model in models} == {"hardmax", "softmax"}
    assert {defect for model in models for defect in model["catches"]} == set(DEFECTS)
    page = (kit / "README.md").read_text()
    for model in models:
        assert f"| {model['name']} |" in page
    files = [path.name for path in kit.rglob("*") if path.is_file()]
    assert len(files) == 3 + 3 * len(models)


@pytest.mark.parametrize("name", ENGINES)
def test_conforming_engines_pass(
    name: str, kit: Path, models: list[dict[str, Any]], tmp_path: Path
) -> None:
    names = [model["name"] for model in models if model["blocks"] < 2000 or name == "matmul"]
    run_engine(kit, tmp_path, ENGINES[name], names)
    done = check(kit, tmp_path, *names)
    assert done.returncode == 0, done.stdout


def test_onnx_files_pass(kit: Path, models: list[dict[str, Any]], tmp_path: Path) -> None:
    level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    for model in models:
        name, batch = model["name"], batch_of(kit, model["name"])
        session = onnx_session(kit / name / "model.onnx", level, 1)
        y = session.run(None, {"x": batch.x, "mask": batch.mask})[0]
        save_outputs(tmp_path, name, batch, y)
    done = check(kit, tmp_path)
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith(f"{len(models)} of {len(models)} models equal\n")


@pytest.mark.parametrize("name", DEFECT_OF)
def test_defects_are_caught(
    name: str, kit: Path, models: list[dict[str, Any]], tmp_path: Path
) -> None:
    """By every model that the kit names for the defect."""
    names = [model["name"] for model in models if DEFECT_OF[name] in model["catches"]]
    run_engine(kit, tmp_path, broken()[name], names)
    done = check(kit, tmp_path, *names)
    assert done.returncode == 1
    assert done.stdout.endswith(f"0 of {len(names)} models equal\n"), done.stdout
    assert done.stdout.count(DEFECT_OF[name]) == len(names)


def test_float32_products_are_caught_in_float64_models(
    kit: Path, models: list[dict[str, Any]], tmp_path: Path
) -> None:
    names = [m["name"] for m in models if m["dtype"] == "float64" and m["blocks"] > 100]
    run_engine(kit, tmp_path, broken()["float32 products"], names)
    assert check(kit, tmp_path, *names).stdout.endswith(f"0 of {len(names)} models equal\n")


def test_checker_reports(kit: Path, tmp_path: Path) -> None:
    done = check(kit, tmp_path, "three")
    assert done.returncode == 1 and "three.bin is missing" in done.stdout
    (tmp_path / "three.bin").write_bytes(b"1234")
    expected = load_file(kit / "three" / "data.safetensors")["expected"]
    size = expected.size
    assert f"has 4 bytes, not {8 * size}" in check(kit, tmp_path, "three").stdout
    (tmp_path / "three.bin").write_bytes(np.full(size, np.nan).tobytes())
    wanted = f"{size} of {size} values differ, first in token 0, coordinate 0: nan"
    assert wanted in check(kit, tmp_path, "three").stdout
    negative = np.where(expected == 0, -0.0, expected)
    (tmp_path / "three.bin").write_bytes(negative.tobytes())
    assert check(kit, tmp_path, "three").returncode == 0
    for wrong in ((), ("--help",), (str(tmp_path), "none")):
        command = [sys.executable, str(kit / "check.py"), *wrong]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 2


def test_existing_folder_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").write_text("mine")
    assert main([str(tmp_path)]) == 4
    assert capsys.readouterr().err.startswith("exactformer: golden: ")
    assert main([str(tmp_path), "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["error"]["status"] == 4
    assert main([str(tmp_path / "none" / "kit")]) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> tuple[xf.Model, xf.Dataset]:
        raise xf.RefusalError("no")

    listing = [golden.Golden("none", "", fail)]
    monkeypatch.setattr(golden, "goldens", lambda: listing)
    assert main([str(tmp_path / "kit"), "--quiet"]) == 5
    assert list(tmp_path.iterdir()) == []
