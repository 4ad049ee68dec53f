"""Engines in NumPy, as their authors would write them: with loops, products of matrices, einsum.

`broken` engines have one defect each, of the kinds that inference engines have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exactformer.layout import Config, Tensors

from .batches import Rows

Contract = Callable[[str, Rows, Rows], Rows]


def by_loops(spec: str, a: Rows, b: Rows) -> Rows:
    """einsum of two operands that are summed over one letter, term by term in index order."""
    ins, out = spec.split("->")
    of_a, of_b = ins.split(",")
    (summed,) = (set(of_a) & set(of_b)) - set(out)
    axis_a, axis_b = of_a.index(summed), of_b.index(summed)
    rest = f"{of_a.replace(summed, '')},{of_b.replace(summed, '')}->{out}"
    terms = (
        np.einsum(rest, a.take(k, axis_a), b.take(k, axis_b)) for k in range(a.shape[axis_a])
    )
    total: Rows = next(terms)
    for term in terms:
        total = total + term
    return total


def by_einsum(spec: str, a: Rows, b: Rows) -> Rows:
    """NumPy's own order of summation."""
    return np.asarray(np.einsum(spec, a, b))


PRODUCTS: dict[str, Callable[[Rows, Rows], Rows]] = {
    "bnd,wd->bnw": lambda a, b: a @ b.T,
    "bnw,dw->bnd": lambda a, b: a @ b.T,
    "bid,bld->bil": lambda a, b: a @ b.transpose(0, 2, 1),
    "bil,bld->bid": lambda a, b: a @ b,
    "bnd,d->bn": lambda a, b: a @ b,
}


def by_matmul(spec: str, a: Rows, b: Rows) -> Rows:
    """Whatever the BLAS does."""
    return PRODUCTS[spec](a, b)


@dataclass(frozen=True)
class Engine:
    """How sums are formed, and the rules that a conforming engine follows."""

    contract: Contract
    ties: str = "average"  # or "first"
    subtract_maximum: bool = True
    residual: str = "right"  # or "dropped", "misplaced": added before the feed-forward layer
    flush: bool = False  # subnormal numbers become 0
    round_product: Callable[[Rows], Rows] | None = None  # operands of products, rounded

    def run(self, tensors: Tensors, config: Config, x: Rows, mask: Rows) -> Rows:
        """The outputs [B, n, d] for x [B, n, d]; mask bool [B, n]."""
        x = np.where(mask[..., None], x, 0).astype(x.dtype)
        with np.errstate(all="ignore"):
            for k in range(int(config["blocks"])):
                x = self._flushed(self._block(tensors, config, k, x, mask))
        return x

    def _block(self, t: Tensors, config: Config, k: int, x: Rows, mask: Rows) -> Rows:
        z = self._product("bnd,wd->bnw", x, t["ff.U"][k]) + t["ff.b"][k]
        y = self._product("bnw,dw->bnd", np.maximum(self._flushed(z), 0), t["ff.W"][k])
        kept = t["ff.eta"][k] * x
        y = y if self.residual == "dropped" else y + kept
        if not any(t[f"sa.V.{part}"][k].any() for part in ("alpha", "left")):
            return np.asarray(t["sa.rho"][k] * y)
        own = x if self.residual == "misplaced" else y
        return np.asarray(t["sa.rho"][k] * own + self._mixed(t, config, k, y, mask))

    def _mixed(self, t: Tensors, config: Config, k: int, x: Rows, mask: Rows) -> Rows:
        seen = mask[:, None, :]
        tokens = np.where(mask[..., None], x, 0).astype(x.dtype)
        logits = self._product("bid,bld->bil", self._matrix(t, "sa.A", k, tokens), tokens)
        if config["attention"] == "hardmax":
            weights = self._hardmax(np.where(seen, logits, -np.inf)).astype(x.dtype)
        else:
            weights = self._exponentials(logits, seen, float(config["tau"]))
        weights = weights / weights.sum(axis=2, keepdims=True)
        return self._matrix(t, "sa.V", k, self._product("bil,bld->bid", weights, tokens))

    def _hardmax(self, logits: Rows) -> Rows:
        if self.ties == "first":
            return np.asarray(np.arange(logits.shape[2]) == logits.argmax(2)[..., None])
        return np.asarray(logits == logits.max(axis=2, keepdims=True))

    def _exponentials(self, logits: Rows, seen: Rows, tau: float) -> Rows:
        tau = logits.dtype.type(tau)
        if self.subtract_maximum:
            logits = logits - np.where(seen, logits, -np.inf).max(axis=2, keepdims=True)
        return np.asarray(np.where(seen, np.exp(logits / tau), 0), logits.dtype)

    def _matrix(self, t: Tensors, name: str, k: int, x: Rows) -> Rows:
        inner = self._product("bnd,d->bn", x, t[f"{name}.right"][k])
        return np.asarray(t[f"{name}.alpha"][k] * x + inner[..., None] * t[f"{name}.left"][k])

    def _product(self, spec: str, a: Rows, b: Rows) -> Rows:
        if self.round_product is not None:
            a, b = self.round_product(a), self.round_product(b)
        return self._flushed(self.contract(spec, a, b))

    def _flushed(self, x: Rows) -> Rows:
        return np.where(np.abs(x) < np.finfo(x.dtype).tiny, 0, x) if self.flush else x


def rounded_to(bits_kept: int) -> Callable[[Rows], Rows]:
    """Round significands to so many bits, as TF32 (11) and bfloat16 (8) products do."""

    def rounded(x: Rows) -> Rows:
        mantissa, exponent = np.frexp(x)
        scale = x.dtype.type(2.0**bits_kept)
        return np.asarray(np.ldexp(np.rint(mantissa * scale) / scale, exponent), x.dtype)

    return rounded


ENGINES = {
    "loops": Engine(by_loops),
    "matmul": Engine(by_matmul),
    "einsum": Engine(by_einsum),
}


def broken() -> dict[str, Engine]:
    """Engines with one defect each."""
    good: Any = ENGINES["matmul"]
    return {
        "ties to the first": replace(good, ties="first"),
        "flushed subnormals": replace(good, flush=True),
        "no maximum subtracted": replace(good, subtract_maximum=False),
        "dropped residual": replace(good, residual="dropped"),
        "misplaced residual": replace(good, residual="misplaced"),
        "TF32 products": replace(good, round_product=rounded_to(11)),
        "bfloat16 products": replace(good, round_product=rounded_to(8)),
        "float32 products": replace(good, round_product=rounded_to(24)),
    }
