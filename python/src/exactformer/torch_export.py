"""Models to PyTorch and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .errors import DataError
from .layout import Array, Config, Tensors, checked
from .torch_module import ExactTransformer


def to_torch(tensors: Tensors, config: Config) -> ExactTransformer:
    """A plain nn.Module with these weights, in evaluation mode; see torch_module.

    Raises DataError for tensors that do not fit the config.
    """
    weights = {name: torch.from_numpy(array) for name, array in checked(tensors, config).items()}
    return ExactTransformer.from_tensors(weights, config)


def from_torch(module: Any) -> tuple[dict[str, Array], dict[str, Any]]:
    """The weights and the config of a module made by to_torch or by a module file.

    Claims that its config makes are for the weights it was made with: once training has changed them,
    the config says construction "trained", exact at no temperature, and one phase "trained".

    A class ExactTransformer from a copied module file serves as well as ours. Raises DataError for any
    other module, and for weights in a dtype that is not the config's.
    """
    if type(module).__name__ != ExactTransformer.__name__:
        raise DataError(f"a {type(module).__name__} is no {ExactTransformer.__name__}")
    config: dict[str, Any] = dict(module.config)
    config["attention"] = module.attention
    config["tau"] = module.tau if module.attention == "softmax" else None
    if module.made_with != module.digest():
        config.update(_unclaimed(config))
    state = module.state_dict().items()
    tensors = {name: np.array(tensor.detach().cpu().numpy()) for name, tensor in state}
    return checked(tensors, config), config


def _unclaimed(config: Config) -> dict[str, Any]:
    return {
        "construction": "trained",
        "tau_max": 0,
        "phases": [{"name": "trained", "first": 0, "count": config["blocks"]}],
        "alternatives": [],
    }
