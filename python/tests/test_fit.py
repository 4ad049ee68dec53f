"""Constructing from every form of data, with every option; the outputs are the targets."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactformer
from conftest import PROGRAM, X, Y
from exactformer import Dataset, Model


def sets(arrays: Any) -> list[set[tuple[float, ...]]]:
    return [{tuple(row) for row in np.asarray(array).tolist()} for array in arrays]


def test_lists_of_lists() -> None:
    model = exactformer.fit(X, Y)
    assert sets(model(X)) == sets(Y)
    assert [rows.shape for rows in model(X)] == [(3, 2), (2, 2), (2, 2)]
    assert [rows.shape for rows in model.predict_sets(X)] == [(2, 2), (1, 2), (1, 2)]


def test_rectangular_arrays() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 5, 3)), rng.normal(size=(20, 2, 3))
    assert sets(exactformer.fit(x, y).predict_sets(x)) == sets(y)
    single = y[:, 0]
    assert sets(exactformer.fit(x, single)(x)) == sets(single[:, None])


def test_other_containers() -> None:
    data = Dataset(X, Y)
    objects = np.empty(3, object)
    objects[:] = [np.array(x) for x in X]
    for same in (Dataset(tuple(map(np.array, X)), Y), Dataset(objects, Y)):
        assert np.array_equal(same.x, data.x) and np.array_equal(same.x_offsets, data.x_offsets)
    vectors = Dataset([[[1, 2], [3, 4]]], [np.array([5, 6])])
    assert np.array_equal(vectors.targets[0], [[5.0, 6.0]])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u2", "i8", ">f8"])
def test_types_of_numbers(dtype: str) -> None:
    assert np.array_equal(Dataset([np.array([[1, 2], [3, 4]], dtype)]).x, [[1, 2], [3, 4]])


def test_a_torch_tensor() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([[[1, 2], [3, 4]]], dtype=torch.bfloat16)
    with pytest.raises(exactformer.DataError, match="X is no array"):
        Dataset(x)
    assert np.array_equal(Dataset(x.float()).x, [[1, 2], [3, 4]])


def test_paths(tmp_path: Path, three: Dataset) -> None:
    for name in ("d.npz", "d.safetensors", "d.jsonl"):
        three.save(tmp_path / name)
        model = exactformer.fit(tmp_path / name)
        assert model.verify(str(tmp_path / name))
        assert sets(model(tmp_path / name)) == sets(Y)


@pytest.mark.parametrize(
    "options",
    [
        {"construction": "published"},
        {"attention": "softmax"},
        {"attention": "softmax", "tau": 0.25, "construction": "published"},
        {"seed": 2**64 - 1, "threads": 1},
        {"optimise": "norm"},
        {"balanced": True, "writer": "sorted"},
        {"front": "kinks"},
        {"hardmax_only": True, "self_check": False},
    ],
    ids=str,
)
def test_options(three: Dataset, options: dict[str, Any]) -> None:
    model = exactformer.fit(three, **options)
    report = model.verify(three, strict=True)
    assert report and (report.sequences, report.exact, report.hausdorff_max) == (3, 3, 0.0)
    assert model.n_blocks <= model.bound
    assert model.attention == options.get("attention", "hardmax")
    assert model.config["construction"] == options.get("construction", "pooled")
    assert options.get("tau") in (None, model.tau)
    assert options.get("writer") in (None, model.config["writer"])


@pytest.mark.parametrize("dtype", ["f32", "float32", np.float32, np.dtype("f4")])
def test_float32(vocabulary: Dataset, dtype: Any) -> None:
    model = exactformer.fit(vocabulary, dtype=dtype)
    assert model.dtype == np.float32 and model.score(vocabulary) == 1.0
    assert model(vocabulary)[0].dtype == np.float32
    assert all(np.array_equal(t, t.astype(np.float32)) for t in model.tensors.values())


def test_every_engine_attention_and_temperature(model: Model, three: Dataset) -> None:
    for engine in ("sparse", "dense", "blas"):
        for options in ({}, {"attention": "softmax", "tau": 1e-3}, {"attention": "hardmax"}):
            assert model.verify(three, engine=engine, threads=2, **options)
            assert sets(model(three, engine=engine, **options)) == sets(Y)


def test_positions_are_appended_and_stripped() -> None:
    x, y = [[[7], [7], [7]], [[7], [8]]], [[[1], [2]], [[3]]]
    with pytest.raises(exactformer.DataError, match="tokens 0 and 1 are equal"):
        exactformer.fit(x, y)
    model = exactformer.fit(x, y, positions="append")
    assert (model.d, model.positions) == (2, 2)
    assert model.verify(x, y)
    assert sets(model(x)) == sets(y) == sets(model.predict_sets(x))
    data = Dataset(x, y, positions="append")
    assert data.d == 2 and model.verify(data) and model(data)[0].shape == (3, 2)
    assert sets(model(Dataset([[[7], [9]]]))) == sets(model([[[7], [9]]]))


def test_same_bytes_as_the_program(tmp_path: Path, vocabulary: Dataset) -> None:
    vocabulary.save(tmp_path / "d.npz")
    ours, theirs = tmp_path / "ours.safetensors", tmp_path / "theirs.safetensors"
    exactformer.fit(vocabulary, dtype="f32", seed=3).save(ours)
    command = ["build", str(tmp_path / "d.npz"), "-o", str(theirs), "--dtype", "f32", "--seed", "3"]
    subprocess.run([PROGRAM, *command, "--quiet"], check=True)
    assert ours.read_bytes() == theirs.read_bytes()


def test_repeated_pair_warns() -> None:
    with pytest.warns(exactformer.DataWarning, match="sequence 1 repeats sequence 0"):
        data = Dataset([[[1, 2]], [[1, 2]], [[3, 4]]], [[[5, 6]], [[5, 6]], [[7, 8]]])
    assert len(data) == 2


def test_report(three: Dataset) -> None:
    report = exactformer.fit(three).report
    assert report is not None
    assert (report.front, report.writer, report.folds) == ("plain", "sorted", 0)
    assert report.margin > 1 and report.margin_sequences == (0, 0)
    assert report.seconds_construct >= 0
