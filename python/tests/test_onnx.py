"""Models as ONNX graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from conformance.batches import make_batch, same_set
from conformance.runtimes import onnx_session

import exactformer as xf
from exactformer import DataError, Dataset, FileError, Model, UsageError
from exactformer.layout import expected_shapes
from exactformer.onnx_export import onnx_model, to_onnx

LEVEL = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL


def outputs(path: Path, data: Dataset, dtype: Any) -> list[np.ndarray[Any, Any]]:
    batch = make_batch([x.astype(dtype) for x in data.inputs], 0)
    feeds = {"x": batch.x, "mask": batch.mask}
    return batch.split(onnx_session(path, LEVEL, 1).run(None, feeds)[0])


def operators(graph: onnx.GraphProto) -> list[str]:
    """All operators, those of subgraphs included."""
    found = []
    for node in graph.node:
        found.append(node.op_type)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                found += operators(attribute.g)
    return found


@pytest.mark.parametrize("attention", ["hardmax", "softmax"])
@pytest.mark.parametrize("order", ["ff-sa", "sa-ff"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scan_from", [2, 100])
@pytest.mark.parametrize("dtype", ["F64", "F32"])
def test_semantics_of_random_weights(
    attention: str, order: str, causal: bool, scan_from: int, dtype: str, tmp_path: Path
) -> None:
    """Close to the C engine in every variant of a block, unrolled and as a Scan."""
    config = {
        "d": 3, "width": 2, "blocks": 7, "dtype": dtype, "attention": attention,
        "tau": None if attention == "hardmax" else 0.7, "tau_max": 0, "construction": "edited",
        "sequences": 1, "targets": 1, "tokens": 1, "order": order, "causal": causal,
        "phases": [{"name": "edited", "first": 0, "count": 7}], "positions": None,
    }  # fmt: skip
    rng = np.random.default_rng(3)
    tensors = {
        name: (0.3 * rng.standard_normal(shape)).astype(np.float32).astype(np.float64)
        for name, shape in expected_shapes(config).items()
    }
    for name in ("sa.A.alpha", "sa.A.left", "sa.A.full"):
        tensors[name][3:5] = 0  # plain means
    for name in ("sa.V.alpha", "sa.V.right", "sa.V.full"):
        tensors[name][5] = 0  # no mean at all
    tensors["ff.eta"][4], tensors["ff.W"][4], tensors["sa.rho"][2:4] = 0, 0, 0
    model = Model.from_tensors(tensors, config)
    data = Dataset([rng.standard_normal((n, 3)) for n in (1, 4, 6)])
    to_onnx(tensors, config, tmp_path / "m.onnx", scan_from=scan_from)
    wanted, got = model.predict(data), outputs(tmp_path / "m.onnx", data, model.dtype)
    tolerance = 1e-9 if dtype == "F64" else 1e-3
    np.testing.assert_allclose(
        np.concatenate(got), np.concatenate(wanted), rtol=tolerance, atol=tolerance
    )


def test_opset_and_operators(three: Dataset, model: Model, tmp_path: Path) -> None:
    data = xf.datasets.generate("gaussian", 6, 3, n=(3, 5), m=1, grid="f32", seed=1)
    published = xf.fit(data, construction="published")
    graph = onnx_model(published.tensors, published.config)
    assert graph.ir_version <= 8 and graph.opset_import[0].version == 13
    used = operators(graph.graph)
    assert {"ReduceMax", "Equal", "Cast", "MatMul", "Div", "ReduceSum"} <= set(used)
    assert "Hardmax" not in used and "Softmax" not in used
    # One block has logits, the separation and pooling blocks have plain means.
    assert used.count("ReduceMax") == 1
    pooled = operators(onnx_model(model.tensors, model.config).graph)
    assert "ReduceMax" not in pooled and pooled.count("Gemm") == 2 * model.n_blocks
    names = {p.key: p.value for p in graph.metadata_props}
    assert names["format"] == "exactformer"


def test_attention_may_be_replaced(three: Dataset, model: Model, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    to_onnx(model.tensors, model.config, path, attention="softmax", tau=0.01)
    for rows, y in zip(outputs(path, three, np.float64), three.targets, strict=True):
        assert same_set(rows, y)


def test_long_models_become_scans(tmp_path: Path) -> None:
    data = xf.datasets.generate("gaussian", 200, 4, n=(5, 8), m=5, seed=3)
    model = xf.fit(data, writer="sorted", self_check=False)
    graph = onnx_model(model.tensors, model.config).graph
    assert model.n_blocks > 1000 and len(operators(graph)) < 60
    assert [n.op_type for n in graph.node].count("Scan") >= 1
    to_onnx(model.tensors, model.config, tmp_path / "m.onnx")
    some = Dataset(data.inputs[:10], data.targets[:10])
    for rows, y in zip(outputs(tmp_path / "m.onnx", some, np.float64), some.targets, strict=True):
        assert same_set(rows, y)


def test_padding_has_no_influence(three: Dataset, model: Model, tmp_path: Path) -> None:
    to_onnx(model.tensors, model.config, tmp_path / "m.onnx")
    session = onnx_session(tmp_path / "m.onnx", LEVEL, 1)
    x = np.full((1, 5, 2), np.nan)
    x[0, 1:4] = three.inputs[0]
    mask = np.array([[False, True, True, True, False]])
    y = session.run(None, {"x": x, "mask": mask})[0]
    assert same_set(y[0, 1:4], three.targets[0])
    assert not y[0, [0, 4]].any()


def test_files_are_the_same_every_time(model: Model, tmp_path: Path) -> None:
    for name in ("a", "b"):
        to_onnx(model.tensors, model.config, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_errors(model: Model, tmp_path: Path) -> None:
    tensors, config = dict(model.tensors), model.config
    path = tmp_path / "m.onnx"
    with pytest.raises(UsageError, match="neither hardmax nor softmax"):
        to_onnx(tensors, config, path, attention="sparsemax")
    with pytest.raises(UsageError, match="tau is -1.0, not above 0"):
        to_onnx(tensors, config, path, attention="softmax", tau=-1)
    with pytest.raises(DataError, match="'ff.eta' is missing"):
        to_onnx({k: v for k, v in tensors.items() if k != "ff.eta"}, config, path)
    with pytest.raises(FileError):
        to_onnx(tensors, config, tmp_path / "none" / "m.onnx")
    assert list(tmp_path.iterdir()) == []
