"""Bad input is answered by the right exception, which says what and where."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exactformer
from conftest import X, Y
from exactformer import DataError, Dataset, Model, UsageError

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("x", "y", "message", "sequence"),
    [
        ([], [], "X is empty", None),
        (np.zeros((0, 2, 2)), None, "none empty", None),
        ([[]], None, r"X\[0\] has shape \(0,\)", 0),
        ([np.zeros((0, 2))], None, r"X\[0\] has no tokens", 0),
        ([np.zeros((2, 0))], None, r"X\[0\] has shape \(2, 0\)", 0),
        ([[1, 2]], None, r"X\[0\] has shape \(2,\)", 0),
        (np.zeros((2, 2)), None, r"X has shape \(2, 2\)", None),
        (np.zeros((1, 1, 1, 1)), None, "has shape", None),
        ([[[1, 2], [3]]], None, r"X\[0\] is no array", 0),
        ([[[1, 2]], [[1]]], None, r"X\[1\] has 1 coordinates, X\[0\] has 2", 1),
        ("data", None, "X is a str", None),
        ({"x": 1}, None, "X is a dict", None),
        (3, None, "X is a int", None),
        (None, None, "X is a NoneType", None),
        ([[["a", "b"]]], None, "dtype <U1", 0),
        ([[[1j, 2]]], None, "dtype complex128", 0),
        ([[[True, False]]], None, "dtype bool", 0),
        ([[[None, 1]]], None, "not a matrix of numbers", 0),
        ([np.array([["2020-01-01"]], "M8[D]")], None, "dtype datetime64", 0),
        ([[[2**53 + 1, 0]]], None, "9007199254740993, which float64 cannot hold", 0),
        ([[[2**63 - 1, 0]]], None, "9223372036854775807, which", 0),
        ([np.array([[2**64 - 1]], np.uint64)], None, "18446744073709551615, which", 0),
        ([np.array([[1, 3]], np.longdouble) / 3], None, "float64 cannot hold", 0),
        ([[[2**100, 0]]], None, "not a matrix of numbers", 0),
        (X, Y[:2], "X has 3 sequences, Y has 2", None),
        (X, [[[1]], [[2]], [[3]]], "tokens of X have 2 coordinates, targets have 1", None),
        ([[[0, 1]], [[2, NAN]]], None, "sequence 1.*NaN", 1),
        ([[[0, INF]]], [[[0, 0]]], "sequence 0.*inf", 0),
        ([[[0, 1]]], [[[0, -INF]]], "sequence 0.*inf", 0),
        ([[[1, 2], [0, 0], [1, 2]]], [[[0, 0]]], "tokens 0 and 2 are equal", 0),
        ([[[0.0], [-0.0]]], [[[0]]], "tokens 0 and 1 are equal", 0),
        ([[[1], [2]]], [[[3], [3]]], "targets 0 and 1 are equal", 0),
        ([[[1]]], [[[3], [4]]], "2 targets.* 1 input token", 0),
        ([[[1], [2]], [[2], [1]]], [[[3]], [[4]]], "sequence", 1),
    ],
)
def test_bad_data(x: Any, y: Any, message: str, sequence: int | None) -> None:
    with pytest.raises(DataError, match=message) as caught:
        Dataset(x, y)
    assert caught.value.sequence == sequence
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore")
def test_positions_of_tokens() -> None:
    with pytest.raises(DataError) as caught:
        Dataset([[[1.0, 2.0]], [[3.0, 4.0], [5.0, NAN]]])
    assert (caught.value.sequence, caught.value.token) == (1, 1)


def test_refusal_carries_text_and_sequence(three: Dataset) -> None:
    with pytest.raises(exactformer.RefusalError, match="which is not a binary32 number") as caught:
        exactformer.fit(three, dtype="f32")
    assert caught.value.sequence == 0 and isinstance(caught.value, ArithmeticError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.sequence) == (str(caught.value), 0)


@pytest.mark.parametrize(
    "options",
    [
        {"construction": "magic"},
        {"attention": "linear"},
        {"attention": None},
        {"dtype": "f16"},
        {"dtype": np.float16},
        {"dtype": object()},
        {"seed": -1},
        {"seed": 2**64},
        {"seed": 1.0},
        {"seed": True},
        {"threads": -1},
        {"optimise": "luck"},
        {"front": "door"},
        {"writer": "author"},
        {"tau": 1.0},
        {"tau": 0.0, "attention": "softmax"},
        {"tau": NAN, "attention": "softmax"},
        {"tau": INF, "attention": "softmax"},
        {"tau": "1", "attention": "softmax"},
        {"positions": "prepend"},
        {"progress": 3},
    ],
    ids=str,
)
def test_bad_options(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        exactformer.fit(X, Y, **options)


def test_bad_calls(model: Model, three: Dataset, tmp_path: Path) -> None:
    calls: list[Callable[[], object]] = [
        lambda: exactformer.fit(X),
        lambda: exactformer.fit(""),
        lambda: exactformer.fit("data.csv"),
        lambda: exactformer.fit(three, Y),
        lambda: exactformer.fit(three, positions="append"),
        lambda: exactformer.fit(tmp_path / "a.npz", Y),
        lambda: model.verify(three, Y),
        lambda: model(X, engine="steam"),
        lambda: model(X, threads=-1),
        lambda: model(X, tau=-1),
        lambda: model(X, attention="none"),
        lambda: model([[[1, 2, 3]]]),
        lambda: model.trace(X, every=0),
        lambda: model.trace(X, phase="of the moon"),
        lambda: model.trace(X, max_bytes=8),
        lambda: model.save("m.safetensors", layout="scattered"),
        lambda: model.save("a\0b.safetensors"),
        lambda: three.save(tmp_path / "data.txt"),
        lambda: exactformer.datasets.generate("chaos"),
        lambda: exactformer.datasets.generate("gaussian", -1),
        lambda: exactformer.datasets.generate("gaussian", scale=0),
        lambda: exactformer.datasets.generate("gaussian", grid="f8"),
        lambda: exactformer.datasets.digits("letters"),
        lambda: exactformer.Exactformer().predict(X),
        lambda: exactformer.Exactformer().set_params(depth=3),
    ]
    for number, attempt in enumerate(calls):
        with pytest.raises(UsageError):
            print(number, attempt())
    with pytest.raises(DataError, match="no targets"):
        model.verify(X)
    with pytest.raises(DataError, match="no targets"):
        print(Dataset(X).targets)


@pytest.mark.parametrize("path", [None, 3, 2.5, [], object()], ids=["None", "int", "float", "list", "object"])
def test_no_paths(path: Any, model: Model, three: Dataset, tmp_path: Path) -> None:
    calls: list[Callable[[], object]] = [
        lambda: exactformer.load(path),
        lambda: Model.load(path),
        lambda: Dataset.load(path),
        lambda: exactformer.certify(path, three),
        lambda: exactformer.diagnose(path, model),
        lambda: model.save(path),
        lambda: three.save(path),
        lambda: exactformer.certify(model, three).save(path),
        lambda: model.to_onnx(path),
        lambda: model.export_hub(path),
        lambda: exactformer.write_module_file(path),
    ]
    if path is not None:
        calls.append(lambda: model.export_hub(tmp_path, certificate=path))
    for number, attempt in enumerate(calls):
        with pytest.raises(UsageError, match="a path is needed, a str or an os.PathLike, not") as caught:
            print(number, attempt())
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [3, 2.5, [], object()], ids=["int", "float", "list", "object"])
def test_no_names(value: Any, model: Model) -> None:
    calls: list[Callable[[], object]] = [
        lambda: model.trace(X, phase=value),
        lambda: exactformer.datasets.generate(value),
        lambda: exactformer.fit(X, Y, front=value),
        lambda: exactformer.fit(X, Y, writer=value),
    ]
    for number, attempt in enumerate(calls):
        with pytest.raises(UsageError):
            print(number, attempt())


@pytest.mark.parametrize("threads", [-1, -(2**40), 2**31, 1.0, "2", True, None], ids=repr)
def test_numbers_of_threads(threads: Any, model: Model, three: Dataset) -> None:
    calls: list[Callable[[], object]] = [
        lambda: exactformer.fit(three, threads=threads),
        lambda: exactformer.Exactformer(threads=threads).fit(three),
        lambda: exactformer.certify(model, three, threads=threads),
        lambda: model.predict(X, threads=threads),
        lambda: model.predict_sets(X, threads=threads),
        lambda: model.verify(three, threads=threads),
        lambda: model.trace(X, threads=threads),
    ]
    for number, attempt in enumerate(calls):
        with pytest.raises(UsageError, match="threads must be .* as there are cores"):
            print(number, attempt())


def test_files(tmp_path: Path, model: Model, three: Dataset) -> None:
    with pytest.raises(exactformer.FileError, match="absent.npz") as caught:
        exactformer.fit(tmp_path / "absent.npz")
    assert isinstance(caught.value, OSError)
    with pytest.raises(exactformer.FileError):
        model.save(tmp_path / "absent" / "m.safetensors")
    with pytest.raises(exactformer.FileError):
        three.save(tmp_path / "absent" / "d.npz")
    (tmp_path / "m.safetensors").write_bytes(b"no model")
    with pytest.raises(DataError, match="m.safetensors"):
        exactformer.load(tmp_path / "m.safetensors")
    (tmp_path / "d.jsonl").write_text('{"x": [[1, 2], [1, 2]], "y": [[1, 2]]}\n')
    with pytest.raises(DataError, match="d.jsonl.*tokens 0 and 1 are equal") as data:
        Dataset.load(tmp_path / "d.jsonl")
    assert data.value.sequence == 0


def test_not_exact(model: Model) -> None:
    wrong = [Y[0], [[1, 1]], Y[2]]
    report = model.verify(X, wrong)
    assert not report and (report.exact, report.first_mismatch) == (2, 1)
    assert report.hausdorff_max > 1 and model.score(X, wrong) == 2 / 3
    with pytest.raises(exactformer.NotExactError, match="2 of 3") as caught:
        model.verify(X, wrong, strict=True)
    assert caught.value.sequence == 1


def test_tensors_and_config(model: Model) -> None:
    tensors, config = dict(model.tensors), model.config
    no_mapping: Any = None
    changes: list[tuple[Callable[[], object], str]] = [
        (lambda: Model.from_tensors({**tensors, "ff.b": np.zeros(3)}, config), "shape"),
        (lambda: Model.from_tensors({"ff.b": tensors["ff.b"]}, config), "no tensor"),
        (lambda: Model.from_tensors(tensors, {**config, "d": 0}), "dimension"),
        (lambda: Model.from_tensors(tensors, {**config, "dtype": "F16"}), "dtype"),
        (lambda: Model.from_tensors(tensors, {**config, "dtype": "F32"}), "binary32"),
        (lambda: Model.from_tensors(tensors, {**config, "tau": object()}), "JSON"),
        (lambda: Model.from_tensors(tensors, {}), "missing"),
        (lambda: Model.from_tensors(no_mapping, config), "tensors is a NoneType, not a mapping"),
        (lambda: Model.from_tensors(tensors, no_mapping), "config is a NoneType, not a mapping"),
        (lambda: Model.from_tensors({**tensors, "sa.rho": np.full(7, NAN)}, config), "finite|nan"),
    ]
    for change, message in changes:
        with pytest.raises(DataError, match=message):
            change()


@pytest.mark.parametrize("method", ["verify", "certify", "inspect", "score"])
def test_targets_of_another_number_or_dimension(method: str) -> None:
    ask = getattr(exactformer.fit(X, Y), method)
    with pytest.raises(DataError, match="X has 3 sequences, Y has 1"):
        ask(X, Y[:1])
    with pytest.raises(DataError, match="coordinates, targets have 3"):
        ask(X, [[[1.0, 2.0, 3.0]]] * 3)
