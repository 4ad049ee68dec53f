"""Models as ONNX graphs: opset 13, IR version 8, in binary64 or binary32.

The graph has the inputs ``x`` [batch, tokens, d] and ``mask`` bool [batch, tokens], True at tokens and
False at padding, and the output ``y`` [batch, tokens, d], 0 at padding. Every operation is of the
kind that docs/theory.md admits: a sum of terms in whatever order the runtime likes, exact products
with 0 and 1, a mean as sum / n.

Hardmax is written as ReduceMax, Equal, Cast, MatMul and a division by ReduceSum: runtimes lack a Hardmax
in double precision, and its tie rule is another one.

A run of equal-looking blocks (most have the identity as attention) becomes one Scan over stacked
weights once it is long: loading a graph with a node for every block takes time that grows faster than
its length.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from .atomic import write_atomically
from .errors import DataError, UsageError
from .layout import DTYPES, Array, Config, Tensors, checked, part_nonzero

OPSET = 13
IR_VERSION = 8
SCAN_FROM = 64  # blocks; see docs/runtimes.md for the measurement
LARGEST = 2**31 - 1  # bytes of a protocol buffer


@dataclass(frozen=True)
class Shape:
    """What a block computes; blocks of one shape differ in their weights only."""

    eta: float | None  # 0 or 1, or None for a weight
    neurons: bool
    rho: float | None
    A: tuple[bool, bool, bool]  # has alpha, a rank-one part, a full part
    V: tuple[bool, bool, bool]

    @property
    def mixes(self) -> bool:
        return any(self.V)


def to_onnx(
    tensors: Tensors,
    config: Config,
    path: str | os.PathLike[str],
    *,
    attention: str | None = None,
    tau: float | None = None,
    scan_from: int = SCAN_FROM,
) -> None:
    """Write a model as an ONNX file, which appears complete or not at all.

    tensors and config are those of the interchange layout. attention ("hardmax" or "softmax") and tau
    replace those of the config. A run of at least scan_from alike blocks becomes a Scan.

    Raises DataError for tensors that do not fit the config, and for models beyond the 2 GB that
    an ONNX file holds; UsageError for an attention or tau that is none; FileError.
    """
    model = onnx_model(tensors, config, attention=attention, tau=tau, scan_from=scan_from)
    write_atomically(path, model.SerializeToString(deterministic=True))


def onnx_model(
    tensors: Tensors,
    config: Config,
    *,
    attention: str | None = None,
    tau: float | None = None,
    scan_from: int = SCAN_FROM,
) -> onnx.ModelProto:
    """The graph of a model, checked by onnx.checker and by shape inference. Arguments as for to_onnx."""
    tensors = checked(tensors, config)
    if sum(tensor.nbytes for tensor in tensors.values()) > LARGEST:
        raise DataError("the model has more than 2 GB of weights, too many for an ONNX file")
    options = _Options(
        attention or str(config["attention"]),
        float(tau or config.get("tau") or 1.0),
        str(config.get("order") or "ff-sa"),
        bool(config.get("causal")),
    )
    if options.attention not in ("hardmax", "softmax"):
        raise UsageError(f"attention is '{options.attention}', neither hardmax nor softmax")
    if not options.tau > 0:
        raise UsageError(f"tau is {options.tau}, not above 0")
    writer = _Writer(tensors, config, options, scan_from)
    model = helper.make_model(
        writer.graph(),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="exactformer",
    )
    helper.set_model_props(model, {"format": "exactformer", "config": json.dumps(config)})
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    return model


@dataclass(frozen=True)
class _Options:
    attention: str
    tau: float
    order: str
    causal: bool


class _Nodes:
    """Nodes and constants of a graph under construction; names are unique in the whole model."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output; returns the output's name."""
        name = f"{self.prefix}{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, name: str, value: Array) -> str:
        """Add a constant, once for each name."""
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name


class _Writer:
    """The graph of one model."""

    def __init__(
        self, tensors: Tensors, config: Config, options: _Options, scan_from: int
    ) -> None:
        self.tensors = _columns(tensors)
        self.options = options
        self.scan_from = scan_from
        self.d, self.blocks = int(config["d"]), int(config["blocks"])
        self.dtype: np.dtype[Any] = DTYPES[str(config["dtype"])]
        self.type = helper.np_dtype_to_tensor_dtype(self.dtype)
        self.nodes = _Nodes()
        self.main = self.nodes  # constants go to the outer graph
        self.shapes = _shapes(tensors, self.blocks)

    def graph(self) -> onnx.GraphProto:
        x = self._prologue()
        for shape, first, count in _runs(self.shapes):
            if count >= self.scan_from:
                x = self._scan(shape, first, count, x)
            else:
                for block in range(first, first + count):
                    x = self._block(shape, self._weights(block), x)
        self._only(self.nodes.op("Reshape", x, "shape"), output="y")
        tokens: list[str | int | None] = ["batch", "tokens", self.d]
        return helper.make_graph(
            self.nodes.nodes,
            "exactformer",
            [
                helper.make_tensor_value_info("x", self.type, tokens),
                helper.make_tensor_value_info("mask", TensorProto.BOOL, tokens[:2]),
            ],
            [helper.make_tensor_value_info("y", self.type, tokens)],
            list(self.main.constants.values()),
        )

    def _prologue(self) -> str:
        """Quantities that all blocks share, under fixed names; returns the tokens as [batch tokens, d].

        shape   of x
        there   bool [batch, tokens, 1], a token's place
        count   [batch, 1, 1], the number of tokens, if a block has use for it
        """
        axis = self.main.constant("axis_2", np.array([2], np.int64))
        add = self.nodes.nodes.append
        add(helper.make_node("Shape", ["x"], ["shape"], name="shape"))
        add(helper.make_node("Unsqueeze", ["mask", axis], ["there"], name="there"))
        mixing = [shape for shape in self.shapes if shape.mixes]
        if any(self._is_mean(shape) for shape in mixing):
            counted = self.nodes.op("Cast", "there", to=self.type)
            axis_1 = self.main.constant("axis_1", np.array([1], np.int64))
            add(helper.make_node("ReduceSum", [counted, axis_1], ["count"], name="count"))
        if not all(self._is_mean(shape) for shape in mixing):
            self._allowed()
        return self.nodes.op("Reshape", self._only("x"), self._rows())

    def _allowed(self) -> None:
        """allowed bool [batch, 1 or tokens, tokens]: which tokens l token i may see."""
        add = self.nodes.nodes.append
        axis = self.main.constant("axis_1", np.array([1], np.int64))
        if not self.options.causal:
            add(helper.make_node("Unsqueeze", ["mask", axis], ["allowed"], name="allowed"))
            return
        seen = self.nodes.op("Unsqueeze", "mask", axis)
        second = self.main.constant("second", np.array(1, np.int64))
        zero = self.main.constant("index_0", np.array(0, np.int64))
        one = self.main.constant("index_1", np.array(1, np.int64))
        places = self.nodes.op("Range", zero, self.nodes.op("Gather", "shape", second), one)
        axis_0 = self.main.constant("axis_0", np.array([0], np.int64))
        row = self.nodes.op("Unsqueeze", places, axis_0)
        column = self.nodes.op("Unsqueeze", places, axis)
        earlier = self.nodes.op("LessOrEqual", row, column)
        add(helper.make_node("And", [seen, earlier], ["allowed"], name="allowed"))

    def _rows(self) -> str:
        return self.main.constant("rows", np.array([-1, self.d], np.int64))

    def _only(self, x: str, output: str | None = None) -> str:
        """x [batch, tokens, d] with 0 where there is no token."""
        zero = self.main.constant("zero", np.zeros((), self.dtype))
        if output is None:
            return self.nodes.op("Where", "there", x, zero)
        self.nodes.nodes.append(helper.make_node("Where", ["there", x, zero], [output], name=output))
        return output

    # Weights

    def _weights(self, block: int) -> Mapping[str, str]:
        """The weights of one block as constants, added when they are asked for."""
        return _Constants(self.main, self.tensors, block)

    def _used(self, shape: Shape) -> Iterator[str]:
        """The weights that a block of this shape has."""
        if shape.eta is None:
            yield "ff.eta"
        if shape.neurons:
            yield from ("ff.U", "ff.b", "ff.W")
        if shape.rho is None:
            yield "sa.rho"
        if shape.mixes:
            for matrix, parts in (("sa.A", shape.A), ("sa.V", shape.V)):
                if parts[0]:
                    yield f"{matrix}.alpha"
                if parts[1]:
                    yield from (f"{matrix}.left", f"{matrix}.right")
                if parts[2]:
                    yield f"{matrix}.full"

    def _scan(self, shape: Shape, first: int, count: int, x: str) -> str:
        """A run of blocks as one Scan over their weights; returns the tokens behind it."""
        names = list(self._used(shape))
        if not names:
            return x
        rows = [None, self.d]
        body = _Nodes(f"run{first}_")
        inside = {name: f"run{first}.{name}" for name in names}
        self.nodes, start = body, f"run{first}.x"
        out = self._block(shape, inside, start)
        out = body.op("Identity", out)
        self.nodes = self.main
        graph = helper.make_graph(
            body.nodes,
            f"blocks{first}",
            [helper.make_tensor_value_info(start, self.type, rows)]
            + [
                helper.make_tensor_value_info(inside[n], self.type, self.tensors[n].shape[1:])
                for n in names
            ],
            [helper.make_tensor_value_info(out, self.type, rows)],
        )
        stacks = [
            self.main.constant(f"{n}[{first}:{first + count}]", self.tensors[n][first : first + count])
            for n in names
        ]
        return self.nodes.op("Scan", x, *stacks, body=graph, num_scan_inputs=len(names))

    # Layers

    def _block(self, shape: Shape, weights: Mapping[str, str], x: str) -> str:
        """One block; x is [batch tokens, d]."""
        if self.options.order == "sa-ff":
            return self._feed_forward(shape, weights, self._attention(shape, weights, x))
        return self._attention(shape, weights, self._feed_forward(shape, weights, x))

    def _feed_forward(self, shape: Shape, weights: Mapping[str, str], x: str) -> str:
        kept = self._scaled(shape.eta, weights, "ff.eta", x)
        if not shape.neurons:
            return kept if kept is not None else self._times_zero(x)
        r = self.nodes.op("Gemm", x, weights["ff.U"], weights["ff.b"], transB=1)
        r = self.nodes.op("Relu", r)
        added = [] if kept is None else [kept]
        return self.nodes.op("Gemm", r, weights["ff.W"], *added, transB=1)

    def _attention(self, shape: Shape, weights: Mapping[str, str], x: str) -> str:
        kept = self._scaled(shape.rho, weights, "sa.rho", x)
        if not shape.mixes:
            return kept if kept is not None else self._times_zero(x)
        tokens = self._only(self.nodes.op("Reshape", x, "shape"))
        mean = self._mean(shape, weights, tokens)
        mixed = self._matrix(shape.V, weights, "sa.V", mean)
        if kept is not None:
            kept = self.nodes.op("Reshape", kept, "shape")
            mixed = self.nodes.op("Add", kept, mixed)
        elif self._is_mean(shape):
            mixed = self.nodes.op("Expand", mixed, "shape")
        return self.nodes.op("Reshape", mixed, self._rows())

    def _scaled(
        self, value: float | None, weights: Mapping[str, str], name: str, x: str
    ) -> str | None:
        """value x, where None means the weight of that name; None if value is 0."""
        if value == 0:
            return None
        return x if value == 1 else self.nodes.op("Mul", x, weights[name])

    def _times_zero(self, x: str) -> str:
        return self.nodes.op("Mul", x, self.main.constant("zero", np.zeros((), self.dtype)))

    def _matrix(
        self, parts: tuple[bool, bool, bool], weights: Mapping[str, str], name: str, x: str
    ) -> str:
        """alpha x + left (right^T x) + full x for every row of x; at least one part is there."""
        terms = []
        if parts[0]:
            terms.append(self.nodes.op("Mul", x, weights[f"{name}.alpha"]))
        if parts[1]:
            inner = self.nodes.op("MatMul", x, weights[f"{name}.right"])
            terms.append(self.nodes.op("MatMul", inner, weights[f"{name}.left"]))
        if parts[2]:
            terms.append(self.nodes.op("MatMul", x, weights[f"{name}.full"]))
        total = terms[0]
        for term in terms[1:]:
            total = self.nodes.op("Add", total, term)
        return total

    def _is_mean(self, shape: Shape) -> bool:
        """Do all tokens of a sequence receive the same plain mean?"""
        return not any(shape.A) and not self.options.causal

    def _mean(self, shape: Shape, weights: Mapping[str, str], tokens: str) -> str:
        """sum_l pi_il x_l, [batch, tokens or 1, d]."""
        op = self.nodes.op
        if self._is_mean(shape):
            axis = self.main.constant("axis_1", np.array([1], np.int64))
            return op("Div", op("ReduceSum", tokens, axis), "count")
        if not any(shape.A):
            chosen = op("Cast", "allowed", to=self.type)
        else:
            chosen = self._chosen(self._logits(shape, weights, tokens))
        axis = self.main.constant("axis_2", np.array([2], np.int64))
        return op("Div", op("MatMul", chosen, tokens), op("ReduceSum", chosen, axis))

    def _logits(self, shape: Shape, weights: Mapping[str, str], tokens: str) -> str:
        """<A x_i, x_l>, the least number where token i may not see token l."""
        queries = self._matrix(shape.A, weights, "sa.A", tokens)
        keys = self.nodes.op("Transpose", tokens, perm=[0, 2, 1])
        logits = self.nodes.op("MatMul", queries, keys)
        least = np.nextafter(np.array(-np.inf, self.dtype), np.array(0, self.dtype))
        return self.nodes.op("Where", "allowed", logits, self.main.constant("least", least))

    def _chosen(self, logits: str) -> str:
        """Weights before their division by their sum: the largest is 1."""
        op = self.nodes.op
        top = op("ReduceMax", logits, axes=[2], keepdims=1)
        if self.options.attention == "hardmax":
            chosen = op("And", op("Equal", logits, top), "allowed")
            return op("Cast", chosen, to=self.type)
        tau = self.main.constant("tau", np.array(self.options.tau, self.dtype))
        weights = op("Exp", op("Div", op("Sub", logits, top), tau))
        zero = self.main.constant("zero", np.zeros((), self.dtype))
        return op("Where", "allowed", weights, zero)


class _Constants(Mapping[str, str]):
    """Names of one block's weights, which become constants of the graph at first use."""

    def __init__(self, nodes: _Nodes, tensors: Tensors, block: int) -> None:
        self.nodes, self.tensors, self.block = nodes, tensors, block

    def __getitem__(self, name: str) -> str:
        return self.nodes.constant(f"{name}.{self.block}", self.tensors[name][self.block])

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


def _columns(tensors: Tensors) -> dict[str, Array]:
    """The weights as the graph needs them: right [L, d, 1], left [L, 1, d], full transposed."""
    out = {}
    for name, tensor in tensors.items():
        if name.endswith(".left"):
            tensor = tensor[:, np.newaxis, :]
        elif name.endswith(".right"):
            tensor = tensor[:, :, np.newaxis]
        elif name.endswith(".full"):
            tensor = tensor.transpose(0, 2, 1)
        out[name] = tensor
    return out


def _shapes(tensors: Tensors, blocks: int) -> list[Shape]:
    parts = {name: part_nonzero(tensors, name) for name in ("sa.A", "sa.V")}
    neurons = np.any(tensors["ff.W"], axis=(1, 2))

    def trivial(value: Any) -> float | None:
        return float(value) if value in (0, 1) else None

    return [
        Shape(
            trivial(tensors["ff.eta"][k]),
            bool(neurons[k]),
            trivial(tensors["sa.rho"][k]),
            parts["sa.A"][k],
            parts["sa.V"][k],
        )
        for k in range(blocks)
    ]


def _runs(shapes: list[Shape]) -> Iterator[tuple[Shape, int, int]]:
    """Runs of equal shapes: shape, first block, number of blocks."""
    first = 0
    for k in range(1, len(shapes) + 1):
        if k == len(shapes) or shapes[k] != shapes[first]:
            yield shapes[first], first, k - first
            first = k
