"""An exact transformer as a plain PyTorch module.

This file needs PyTorch alone (and ``safetensors`` to read model files): a copy of it, made by
``exactformer.write_module_file``, is all that a script needs to load a model::

    from exact_transformer import ExactTransformer

    model = ExactTransformer.load("model.safetensors")
    y = model(x, mask)  # x [batch, tokens, d], mask [batch, tokens], True at tokens

A block maps the tokens of a sequence, in order "ff-sa", by

    FF(x)   = eta x + W relu(U x + b)
    SA_i(X) = rho x_i + V sum_l pi_il x_l        A, V = alpha I + left right^T (+ full)

where pi_i is uniform on the argmax of the logits <A x_i, x_l> (hardmax) or their softmax at
temperature tau. The names in the state dict are those of the model file, with all blocks of a
weight in one tensor.

The outputs of a constructed model are its targets bit for bit in the model's own precision, on any
device that computes in IEEE arithmetic. They are not under autocast, with TF32, or with
``torch.set_flush_denormal(True)``.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

DTYPES = {"F64": torch.float64, "F32": torch.float32}


class FeedForward(nn.Module):
    """The feed-forward layers of all blocks."""

    def __init__(self, blocks: int, d: int, width: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.eta = nn.Parameter(torch.zeros(blocks, dtype=dtype))
        self.W = nn.Parameter(torch.zeros(blocks, d, width, dtype=dtype))
        self.U = nn.Parameter(torch.zeros(blocks, width, d, dtype=dtype))
        self.b = nn.Parameter(torch.zeros(blocks, width, dtype=dtype))


class LowRank(nn.Module):
    """One matrix alpha I + left right^T (+ full) for each block."""

    def __init__(self, blocks: int, d: int, dtype: torch.dtype, full: bool) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(blocks, dtype=dtype))
        self.left = nn.Parameter(torch.zeros(blocks, d, dtype=dtype))
        self.right = nn.Parameter(torch.zeros(blocks, d, dtype=dtype))
        self.full = nn.Parameter(torch.zeros(blocks, d, d, dtype=dtype)) if full else None

    def nonzero(self) -> Tensor:
        """Which blocks' matrices are not zero: bool [blocks]."""
        some = (self.alpha != 0) | ((self.left != 0).any(1) & (self.right != 0).any(1))
        return some if self.full is None else some | (self.full != 0).flatten(1).any(1)

    def forward(self, block: int, x: Tensor) -> Tensor:
        """The matrix of one block times every row of x [..., d]."""
        y = self.alpha[block] * x + (x @ self.right[block]).unsqueeze(-1) * self.left[block]
        return y if self.full is None else y + functional.linear(x, self.full[block])


class Attention(nn.Module):
    """The attention layers of all blocks."""

    def __init__(self, blocks: int, d: int, dtype: torch.dtype, full: tuple[bool, bool]) -> None:
        super().__init__()
        self.rho = nn.Parameter(torch.zeros(blocks, dtype=dtype))
        self.A = LowRank(blocks, d, dtype, full[0])
        self.V = LowRank(blocks, d, dtype, full[1])


class ExactTransformer(nn.Module):
    """A transformer with the weights of a model file.

    In training mode everything is computed, so that every weight has a gradient. In evaluation
    mode, the mode of a model just loaded, attention with V = 0 is only rho x, attention with A = 0 a
    plain mean, and nothing is multiplied by an eta or rho of 1 or 0. That gives the same bits; which
    blocks these are is found out when ``eval()`` or ``load_state_dict()`` is called. ``attention``
    ("hardmax" or "softmax") and ``tau`` may be set at any time.
    """

    def __init__(self, config: Mapping[str, Any], full: tuple[bool, bool] = (False, False)) -> None:
        """A module of zeros. ``full`` says whether there are tensors sa.A.full, sa.V.full."""
        super().__init__()
        self.config = dict(config)
        self.attention = str(config["attention"])
        self.tau = float(config.get("tau") or 1.0)
        self.order = str(config.get("order") or "ff-sa")
        self.causal = bool(config.get("causal"))
        self.made_with: str | None = None  # digest of the weights that the config is about
        blocks, d, dtype = int(config["blocks"]), int(config["d"]), DTYPES[str(config["dtype"])]
        self.ff = FeedForward(blocks, d, int(config["width"]), dtype)
        self.sa = Attention(blocks, d, dtype, full)
        self._eta: list[float] = []  # 0, 1, or NaN for a weight
        self._rho: list[float] = []
        self._mixes: list[bool] = []  # is V nonzero?
        self._has_logits: list[bool] = []  # is A nonzero?
        self.register_load_state_dict_post_hook(_plan_again)  # type: ignore[no-untyped-call]
        self.eval()

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], config: Mapping[str, Any]
    ) -> ExactTransformer:
        """A module with these weights: the tensors and the config of a model file."""
        model = cls(config, ("sa.A.full" in tensors, "sa.V.full" in tensors))
        model.load_state_dict(dict(tensors))
        model.made_with = model.digest()
        return model

    @classmethod
    def load(cls, path: str) -> ExactTransformer:
        """Read a model file (.safetensors) of either layout. Needs the package safetensors."""
        from safetensors import safe_open

        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}
            metadata = file.metadata() or {}
        config = json.loads(metadata["config"])
        if metadata.get("layout") == "compact":
            tensors = _spread(tensors, config)
        return cls.from_tensors(tensors, config)

    def digest(self) -> str:
        """A digest of all weights, which changes when any of their bits does."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def train(self, mode: bool = True) -> ExactTransformer:
        """Training mode computes every layer; evaluation mode leaves out what does nothing."""
        super().train(mode)
        if mode:
            blocks = len(self.ff.eta)
            self._eta = self._rho = [math.nan] * blocks
            self._mixes = self._has_logits = [True] * blocks
        else:
            self._eta, self._rho = _trivial(self.ff.eta), _trivial(self.sa.rho)
            self._mixes = self.sa.V.nonzero().tolist()
            self._has_logits = self.sa.A.nonzero().tolist()
        return self

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The output tokens, 0 where there is no token.

        x is [..., n, d] in the model's dtype. mask is bool [..., n], True at tokens and False at
        padding, whose values (even NaN) have no influence; None if there is no padding.
        """
        if x.dtype != self.ff.eta.dtype:
            raise TypeError(f"the tokens are {x.dtype}, the model is {self.ff.eta.dtype}")
        x = _only(x, mask)
        ff = self.ff
        for block, (U, b, W) in enumerate(zip(ff.U.unbind(), ff.b.unbind(), ff.W.unbind())):
            if self.order == "sa-ff":
                x = self._attend(block, x, mask)
            r = functional.relu(functional.linear(x, U, b))
            x = _add(_times(ff.eta, self._eta, block, x), functional.linear(r, W))
            if self.order != "sa-ff":
                x = self._attend(block, x, mask)
        return _only(x, mask)

    def _attend(self, block: int, x: Tensor, mask: Tensor | None) -> Tensor:
        kept = _times(self.sa.rho, self._rho, block, x)
        if not self._mixes[block]:
            return torch.zeros_like(x) if kept is None else kept
        x = _only(x, mask)
        mixed = self.sa.V(block, self._mean(block, x, mask))
        return _add(kept, mixed).expand_as(x)

    def _mean(self, block: int, x: Tensor, mask: Tensor | None) -> Tensor:
        """sum_l pi_il x_l for tokens x that are 0 at padding: [..., n, d] or [..., 1, d]."""
        if not self._has_logits[block]:
            there = torch.ones_like(x[..., :1]) if mask is None else mask.unsqueeze(-1).to(x.dtype)
            if self.causal:
                return x.cumsum(-2) / there.cumsum(-2).clamp(min=1)
            return x.sum(-2, keepdim=True) / there.sum(-2, keepdim=True).clamp(min=1)
        logits = self.sa.A(block, x) @ x.transpose(-1, -2)
        allowed = self._allowed(logits, mask)
        logits = logits.masked_fill(~allowed, torch.finfo(x.dtype).min)
        top = logits.amax(-1, keepdim=True)
        if self.attention == "hardmax":
            weights = ((logits == top) & allowed).to(x.dtype)
        else:
            weights = torch.exp((logits - top) / self.tau) * allowed
        # The largest logit has weight 1, so only sums over nothing are below 1.
        total = weights.sum(-1, keepdim=True).clamp(min=1)
        mean: Tensor = (weights @ x) / total
        return mean

    def _allowed(self, logits: Tensor, mask: Tensor | None) -> Tensor:
        """Which tokens l token i may see: bool, of the shape of the logits."""
        allowed = torch.ones_like(logits, dtype=torch.bool)
        if self.causal:
            allowed = allowed.tril()
        return allowed if mask is None else allowed & mask.unsqueeze(-2)


def _only(x: Tensor, mask: Tensor | None) -> Tensor:
    """x with 0 where there is no token."""
    return x if mask is None else torch.where(mask.unsqueeze(-1), x, torch.zeros_like(x))


def _times(weights: Tensor, trivial: list[float], block: int, x: Tensor) -> Tensor | None:
    """weights[block] x; None for 0."""
    if trivial[block] == 0:
        return None
    return x if trivial[block] == 1 else weights[block] * x


def _add(x: Tensor | None, y: Tensor) -> Tensor:
    return y if x is None else x + y


def _trivial(weights: Tensor) -> list[float]:
    """Weights that are 0 or 1, NaN in place of all others."""
    return [w if w in (0, 1) else math.nan for w in weights.tolist()]


def _spread(stored: Mapping[str, Tensor], config: Mapping[str, Any]) -> dict[str, Tensor]:
    """All tensors of a model from those of the compact layout, which leaves out zeros."""
    full = ("sa.A.full.values" in stored, "sa.V.full.values" in stored)
    tensors: dict[str, Tensor] = ExactTransformer(config, full).state_dict()
    for name, tensor in tensors.items():
        if name + ".values" in stored:
            places = stored[name + ".steps"].to(torch.int64).cumsum(0) - 1
            tensor.view(-1)[places] = stored[name + ".values"]
    return tensors | {"ff.eta": stored["ff.eta"], "sa.rho": stored["sa.rho"]}


def _plan_again(model: nn.Module, _: Any) -> None:
    model.train(model.training)
