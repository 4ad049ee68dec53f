"""Models as PyTorch modules and back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conformance.batches import make_batch, same_set
from conformance.numpy_engines import ENGINES
from torch import nn

import exactformer as xf
from exactformer import DataError, Dataset, Model
from exactformer.torch_export import from_torch, to_torch
from exactformer.torch_module import ExactTransformer


def outputs(module: Any, data: Dataset, dtype: Any) -> list[np.ndarray[Any, Any]]:
    batch = make_batch([x.astype(dtype) for x in data.inputs], 0)
    with torch.no_grad():
        y = module(torch.from_numpy(batch.x), torch.from_numpy(batch.mask)).numpy()
    return batch.split(y)


def exact(module: Any, data: Dataset, dtype: Any) -> bool:
    results = zip(outputs(module, data, dtype), data.targets, strict=True)
    return all(same_set(rows, y.astype(dtype)) for rows, y in results)


@pytest.fixture(scope="module")
def published() -> tuple[Model, Dataset]:
    data = xf.datasets.generate("gaussian", 6, 3, n=(3, 5), m=(1, 2), grid="f32", seed=1)
    options: dict[str, Any] = {"construction": "published", "attention": "softmax", "tau": 0.5}
    return xf.fit(data, **options), data


@pytest.fixture(scope="module")
def random_model() -> tuple[dict[str, Any], dict[str, Any]]:
    """Three blocks of random weights with everything a model may have."""
    rng = np.random.default_rng(7)
    config = {
        "d": 3, "width": 2, "blocks": 3, "dtype": "F64", "attention": "softmax", "tau": 0.7,
        "tau_max": 0, "construction": "edited", "sequences": 1, "targets": 1, "tokens": 1,
        "phases": [{"name": "edited", "first": 0, "count": 3}], "positions": None,
    }  # fmt: skip
    shapes = xf.layout.expected_shapes(config)
    return {name: rng.standard_normal(shape) for name, shape in shapes.items()}, config


@pytest.mark.parametrize("mode", [True, False])
def test_exact_in_both_modes(
    mode: bool, three: Dataset, model: Model, published: tuple[Model, Dataset]
) -> None:
    assert exact(to_torch(model.tensors, model.config).train(mode), three, np.float64)
    deep, data = published
    assert exact(to_torch(deep.tensors, deep.config).train(mode), data, np.float64)


def test_float32(vocabulary: Dataset) -> None:
    model = xf.fit(vocabulary, dtype="f32")
    module = to_torch(model.tensors, model.config)
    assert {p.dtype for p in module.parameters()} == {torch.float32}
    assert exact(module, vocabulary, np.float32)
    with pytest.raises(TypeError, match="the tokens are torch.float64"):
        module(torch.zeros(1, 2, 16, dtype=torch.float64))


def test_state_dict_has_the_names_of_the_file(model: Model, tmp_path: Path) -> None:
    module = to_torch(model.tensors, model.config)
    assert set(module.state_dict()) == set(model.tensors)
    model.save(tmp_path / "m.safetensors")
    loaded = ExactTransformer.load(str(tmp_path / "m.safetensors"))
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, loaded.state_dict()[name])


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("full", [False, True])
def test_load_of_the_compact_layout(
    dtype: str, full: bool, vocabulary: Dataset, tmp_path: Path
) -> None:
    """The same weights, also with a full matrix, and with steps of more than one byte."""
    model = xf.fit(vocabulary, dtype=dtype)
    if full:
        wide = np.zeros((model.n_blocks, 16, 16), model.tensors["ff.W"].dtype)
        wide[-1, 3, 5] = 2.5
        wide[-1, 15, 15] = -0.0
        model = Model.from_tensors(dict(model.tensors) | {"sa.A.full": wide}, model.config)
    model.save(tmp_path / "compact.safetensors", layout="compact")
    loaded = ExactTransformer.load(str(tmp_path / "compact.safetensors")).state_dict()
    assert set(loaded) == set(model.tensors)
    for name, tensor in model.tensors.items():
        stored = loaded[name].numpy()
        assert stored.tobytes() == np.asarray(tensor, stored.dtype).tobytes(), name


@pytest.mark.parametrize("attention", ["hardmax", "softmax"])
@pytest.mark.parametrize("order", ["ff-sa", "sa-ff"])
@pytest.mark.parametrize("causal", [False, True])
def test_semantics_of_random_weights(
    attention: str, order: str, causal: bool, random_model: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    """Close to the C engine in every variant of a block, padded or not, in both modes."""
    tensors, config = random_model
    config = config | {"attention": attention, "order": order, "causal": causal}
    if attention == "hardmax":
        config["tau"] = None
    model = Model.from_tensors(tensors, config)
    rng = np.random.default_rng(1)
    data = Dataset([rng.standard_normal((n, 3)) for n in (1, 4, 7)])
    wanted = np.concatenate(model.predict(data))
    for mode in (True, False):
        got = np.concatenate(outputs(to_torch(tensors, config).train(mode), data, np.float64))
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


def test_padding_has_no_influence(three: Dataset, model: Model) -> None:
    module = to_torch(model.tensors, model.config)
    x = torch.from_numpy(np.array(three.inputs[0]))
    alone = module(x)
    padded = torch.cat([torch.full((2, 2), torch.nan, dtype=x.dtype), x])
    mask = torch.tensor([False, False, True, True, True])
    y = module(padded[None], mask[None])[0]
    assert torch.equal(y[2:], alone) and torch.equal(y[:2], torch.zeros(2, 2, dtype=x.dtype))
    nothing = module(padded[None], torch.zeros(1, 5, dtype=torch.bool))
    assert torch.equal(nothing, torch.zeros_like(nothing))


def test_round_trip_and_training(three: Dataset, model: Model) -> None:
    module = to_torch(model.tensors, model.config)
    tensors, config = from_torch(module)
    assert config == model.config
    assert all(np.array_equal(tensors[n], model.tensors[n]) for n in model.tensors)
    assert Model.from_tensors(tensors, config).verify(three)

    module.train()
    x = torch.from_numpy(np.array(three.inputs[0]))
    module(x).square().sum().backward()
    gradients = {n: p.grad for n, p in module.named_parameters()}
    # A steers an argmax only: it has no gradient.
    assert {n for n, g in gradients.items() if g is None} == {f"sa.A.{p}" for p in ("alpha", "left", "right")}
    assert all(torch.isfinite(g).all() for g in gradients.values() if g is not None)
    some = [gradients[n] for n in ("ff.W", "ff.eta", "sa.rho", "sa.V.alpha")]
    assert all(g is not None and g.any() for g in some)
    torch.optim.SGD(module.parameters(), lr=1e-3).step()
    tensors, config = from_torch(module)
    assert config["construction"] == "trained" and config["tau_max"] == 0
    again = Model.from_tensors(tensors, config)
    assert again.config["phases"] == [{"name": "trained", "first": 0, "count": model.n_blocks}]
    np.testing.assert_allclose(again.predict([x.numpy()])[0], module(x).detach().numpy())


def test_methods_of_the_model(three: Dataset, model: Model) -> None:
    module = model.to_torch()
    assert exact(module, three, np.float64)
    assert xf.from_torch(module).config == model.config


def test_evaluation_mode_follows_loaded_weights(
    model: Model, published: tuple[Model, Dataset]
) -> None:
    deep, data = published
    module = ExactTransformer(deep.config)
    module.load_state_dict(to_torch(deep.tensors, deep.config).state_dict())
    assert exact(module, data, np.float64)
    assert from_torch(module)[1]["construction"] == "trained"  # nobody vouches for them


def test_export_is_clean(three: Dataset, model: Model, published: tuple[Model, Dataset]) -> None:
    for m, data in ((model, three), published):
        module = to_torch(m.tensors, m.config)
        batch = make_batch(data.inputs, 0)
        arguments = (torch.from_numpy(batch.x), torch.from_numpy(batch.mask))
        sizes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
        program = torch.export.export(module, arguments, dynamic_shapes=(sizes, sizes))
        assert exact(program.module(), data, np.float64)
        shorter = [x[:2] for x in data.inputs[:2]]
        batch = make_batch(shorter, 0)
        arguments = (torch.from_numpy(batch.x), torch.from_numpy(batch.mask))
        assert torch.equal(program.module()(*arguments), module(*arguments))


def test_module_file_needs_no_package(
    tmp_path: Path, three: Dataset, model: Model
) -> None:
    """A script loads the model with the generated file in a process that cannot see exactformer."""
    model.save(tmp_path / "m.safetensors")
    xf.write_module_file(tmp_path / "exact_transformer.py")
    np.save(tmp_path / "x.npy", three.inputs[0])
    script = (
        "import sys; sys.modules['exactformer'] = None\n"
        "import numpy as np, torch; from exact_transformer import ExactTransformer\n"
        "model = ExactTransformer.load('m.safetensors')\n"
        "with torch.no_grad(): y = model(torch.from_numpy(np.load('x.npy')))\n"
        "np.save('y.npy', y.numpy())\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    assert same_set(np.load(tmp_path / "y.npy"), three.targets[0])


def test_errors(model: Model, tmp_path: Path) -> None:
    tensors, config = dict(model.tensors), model.config
    with pytest.raises(DataError, match="a Linear is no ExactTransformer"):
        from_torch(nn.Linear(2, 2))
    with pytest.raises(DataError, match="'ff.b' is missing"):
        to_torch({k: v for k, v in tensors.items() if k != "ff.b"}, config)
    with pytest.raises(DataError, match="'ff.b' has shape"):
        to_torch(tensors | {"ff.b": tensors["ff.b"][1:]}, config)
    with pytest.raises(DataError, match="no finite float32 numbers"):
        to_torch(tensors, config | {"dtype": "F32"})
    with pytest.raises(DataError, match="'more' is none"):
        to_torch(tensors | {"more": tensors["ff.b"]}, config)
    with pytest.raises(DataError, match="neither 'F64' nor 'F32'"):
        to_torch(tensors, config | {"dtype": "F16"})
    with pytest.raises(DataError, match="'width' is missing"):
        to_torch(tensors, {k: v for k, v in config.items() if k != "width"})
    with pytest.raises(xf.FileError):
        xf.write_module_file(tmp_path / "none" / "file.py")


def test_numpy_engines_agree_on_random_weights() -> None:
    """They are the reference of the kit's tests: tested against the C engine like the rest."""
    data = xf.datasets.generate("gaussian", 5, 3, n=(2, 5), m=1, seed=2)
    model = xf.fit(data, construction="published")
    batch = make_batch(data.inputs, 0)
    for engine in ENGINES.values():
        got = batch.split(engine.run(model.tensors, model.config, batch.x, batch.mask))
        for rows, wanted in zip(got, model.predict(data), strict=True):
            assert np.array_equal(rows, wanted)
