"""A model's weights, files, measurements and traces."""

from __future__ import annotations

import copy
import gc
import json
import math
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactformer
from conftest import PROGRAM, X, Y
from exactformer import Dataset, Model


def assert_same(a: Model, b: Model) -> None:
    assert a.config == b.config and list(a.tensors) == list(b.tensors)
    assert all(np.array_equal(a.tensors[name], b.tensors[name]) for name in a.tensors)


def with_full_matrices(model: Model) -> Model:
    """The same function, with A and V as full matrices."""
    n, d = model.n_blocks, model.d
    tensors: dict[str, Any] = dict(model.tensors)
    for name in ("sa.A", "sa.V"):
        part = name.removeprefix("sa.")
        tensors[f"{name}.full"] = np.stack([getattr(b, part).dense() for b in model.blocks])
        tensors[f"{name}.alpha"] = np.zeros(n)
        tensors[f"{name}.left"] = tensors[f"{name}.right"] = np.zeros((n, d))
    return Model.from_tensors(tensors, {**model.config, "construction": "edited"})


def test_views_are_not_copies(model: Model) -> None:
    arrays = model.tensors
    shapes = {name: array.shape for name, array in arrays.items()}
    n, d, w = model.n_blocks, model.d, model.width
    assert shapes["ff.W"] == (n, d, w) and shapes["ff.U"] == (n, w, d)
    assert shapes["sa.V.left"] == (n, d) and shapes["sa.rho"] == (n,)
    block = model.blocks[2]
    for view, whole in [(block.W, "ff.W"), (block.U, "ff.U"), (block.V.left, "sa.V.left")]:
        assert np.shares_memory(view, arrays[whole])
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 0
    with pytest.raises(TypeError):
        arrays["ff.b"] = np.zeros(3)  # type: ignore[index]


def test_views_keep_the_model_alive() -> None:
    def first_column() -> Any:
        return exactformer.fit(X, Y).blocks[0].U

    view, kept = first_column(), first_column().copy()
    gc.collect()
    ballast = [exactformer.fit(X, [[y[0]] for y in Y]) for _ in range(20)]
    assert np.array_equal(view, kept) and ballast
    rows = Dataset(X, Y).x
    gc.collect()
    assert np.array_equal(rows[:3], X[0])


def test_blocks_are_a_sequence(model: Model) -> None:
    assert len(model.blocks) == model.n_blocks == len(list(model.blocks))
    assert [b.index for b in model.blocks[1:3]] == [1, 2]
    assert model.blocks[-1].index == model.n_blocks - 1
    assert [b.phase for b in model.blocks] == [p.name for p in model.phases for _ in range(p.count)]
    with pytest.raises(IndexError):
        print(model.blocks[model.n_blocks])


def test_blocks_compute_the_model(model: Model) -> None:
    """The formula of the model with NumPy, hardmax at equal logits."""
    for x, y in zip(X, Y):
        h = np.array(x, float)
        for b in model.blocks:
            h = b.eta * h + np.maximum(h @ b.U.T + b.b, 0) @ b.W.T
            assert not b.A.dense().any()
            h = b.rho * h + h.mean(axis=0) @ b.V.dense().T
        assert {tuple(row) for row in h.tolist()} == {tuple(map(float, row)) for row in y}


def test_files(tmp_path: Path, model: Model) -> None:
    model.save(tmp_path / "m.safetensors")
    again = exactformer.load(str(tmp_path / "m.safetensors"))
    assert_same(model, again)
    assert again.report is None and again.verify(X, Y)
    again.save(tmp_path / "again.safetensors")
    assert (tmp_path / "m.safetensors").read_bytes() == (
        tmp_path / "again.safetensors"
    ).read_bytes()
    model.save(tmp_path / "compact.safetensors", layout="compact")
    assert_same(model, exactformer.load(tmp_path / "compact.safetensors"))


def test_file_is_read_by_the_safetensors_library(tmp_path: Path, vocabulary: Dataset) -> None:
    from safetensors import safe_open

    model = exactformer.fit(vocabulary, dtype="f32")
    model.save(tmp_path / "m.safetensors")
    with safe_open(tmp_path / "m.safetensors", "np") as file:
        assert json.loads(file.metadata()["config"]) == model.config
        assert set(file.keys()) == set(model.tensors)
        for name in file.keys():
            tensor = file.get_tensor(name)
            assert tensor.dtype == np.float32 and np.array_equal(tensor, model.tensors[name])


def test_from_tensors_and_pickle(model: Model) -> None:
    for again in (
        Model.from_tensors(model.tensors, model.config),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ):
        assert_same(model, again)
        assert again.verify(X, Y)
    full = with_full_matrices(model)
    assert full.tensors["sa.A.full"].shape == (model.n_blocks, 2, 2)
    assert full.verify(X, Y) and full.blocks[0].V.full is not None
    assert_same(full, pickle.loads(pickle.dumps(full)))


def test_properties(model: Model) -> None:
    assert repr(model) == "Model(7 blocks, d = 2, width 4, float64, hardmax, pooled)"
    assert (model.tau, model.tau_max, model.positions, model.bound) == (1.0, math.inf, None, 15)
    assert sum(phase.count for phase in model.phases) == model.n_blocks


@pytest.mark.parametrize("construction", ["pooled", "published"])
def test_inspect_agrees_with_the_program(tmp_path: Path, construction: str) -> None:
    model = exactformer.fit(X, Y, construction=construction)
    model.save(tmp_path / "m.safetensors")
    Dataset(X, Y).save(tmp_path / "d.npz")
    command = [PROGRAM, "inspect", str(tmp_path / "m.safetensors"), str(tmp_path / "d.npz")]
    printed = subprocess.run([*command, "--json"], check=True, capture_output=True).stdout
    theirs, ours = json.loads(printed), model.inspect(X, Y)
    assert set(ours) >= set(theirs)
    for name, value in theirs.items():
        mine = ours[name]
        if name == "dtype":
            mine = mine.lower()
        if isinstance(mine, float) and math.isinf(mine):
            mine = None
        assert (list(mine) if isinstance(mine, tuple) else mine) == value, name
    assert "margin" in ours and "margin" not in model.inspect()


def test_trace(model: Model) -> None:
    trace = model.trace(X)
    assert trace.tokens.shape == (model.n_blocks + 1, 7, 2)
    assert np.array_equal(trace.tokens[0], Dataset(X).x)
    assert np.array_equal(trace.tokens[-1], np.concatenate(model(X)))
    assert trace.phase[0] == "input" and trace.phase[1:] == tuple(b.phase for b in model.blocks)
    assert trace.blocks_done.tolist() == list(range(model.n_blocks + 1))
    assert trace.x_offsets.tolist() == [0, 3, 5, 7]
    kept = trace.tokens
    del trace
    gc.collect()
    assert np.array_equal(kept[0], Dataset(X).x)
    part = model.trace(X, phase="write", every=100)
    assert part.phase[-1] == "write" and len(part.tokens) == 2


def test_a_dataset_unpacks() -> None:
    x, y = Dataset(X, Y)
    assert [len(a) for a in x] == [3, 2, 2] and [len(a) for a in y] == [2, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        x[0][0] = 1
