"""What breaks the claim, shown to break it: the warnings of docs/conformance.md."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import exactformer as xf
from exactformer.layout import Tensors, checked

from .batches import Rows, make_batch, same_set
from .numpy_engines import broken
from .runtimes import module, run_torch
from .zoo import Case

SUBNORMAL = [[[1, 2.0**-1070, 0]], [[0.5, 2.0**-1074, -(2.0**-1050)]]]


@pytest.fixture(scope="module")
def narrow() -> Case:
    """A model in binary32."""
    data = xf.datasets.generate("gaussian", 12, 3, n=(3, 6), m=1, grid="f16", seed=1)
    return Case("narrow", lambda: data, {"dtype": "f32"})


@pytest.fixture(scope="module")
def wide() -> Case:
    """A model in binary64 with full significands."""
    data = xf.datasets.generate("gaussian", 12, 3, n=(3, 6), m=1, seed=1)
    return Case("wide", lambda: data, {})


@pytest.fixture(scope="module")
def subnormal() -> Case:
    data = xf.Dataset([[[0, 0, 1], [1, 2, 3]], [[0, 0, 1], [5, 2, 1]]], SUBNORMAL)
    return Case("subnormal", lambda: data, {})


def exact(case: Case, run: Callable[[Rows, Rows], Rows]) -> bool:
    batch = make_batch(case.inputs, 0)
    outputs = batch.split(run(batch.x, batch.mask))
    return all(same_set(rows, y) for rows, y in zip(outputs, case.targets, strict=True))


def torch_is_exact(case: Case) -> bool:
    outputs = run_torch(case, 64, module(case))
    return all(same_set(rows, case.targets[j]) for j, rows in outputs)


def test_bfloat16_autocast(narrow: Case) -> None:
    assert torch_is_exact(narrow)
    with torch.autocast("cpu", torch.bfloat16):
        y = module(narrow)(torch.from_numpy(narrow.inputs[0])).float()
    assert not np.array_equal(y.detach().numpy()[:1], narrow.targets[0])


@pytest.mark.parametrize("defect", ["TF32 products", "bfloat16 products"])
def test_reduced_precision_products(defect: str, narrow: Case, wide: Case) -> None:
    """As GPUs form them on request; emulated by rounding the operands."""
    for case in (narrow, wide):
        tensors = checked(case.model.tensors, case.model.config)
        engine = broken()[defect]
        assert not exact(case, lambda x, mask: engine.run(tensors, case.model.config, x, mask))


def test_conversion_to_another_precision() -> None:
    data = xf.datasets.generate("gaussian", 100, 3, n=(3, 6), m=(1, 3), seed=1)
    wide = Case("wide", lambda: data, {})
    halved = module(wide).float()
    outputs = [halved(torch.from_numpy(x.astype(np.float32))) for x in wide.inputs]
    narrow = [y.astype(np.float32) for y in wide.targets]
    found = [o.detach().numpy() for o in outputs]
    assert not all(same_set(rows, y) for rows, y in zip(found, narrow, strict=True))


def test_flushed_subnormals(subnormal: Case) -> None:
    assert torch_is_exact(subnormal)
    if not torch.set_flush_denormal(True):  # where the processor cannot, it cannot do harm
        return
    try:
        outputs = run_torch(subnormal, 64, module(subnormal))
    finally:
        torch.set_flush_denormal(False)
    assert not any(same_set(rows, subnormal.targets[j]) for j, rows in outputs)


ENGINE = r"""
/* A model without logits, one sequence, as an author might write it: sizes and arrays come from
 * standard input, the outputs go to standard output. */
#include <stdio.h>
#include <stdlib.h>

static void run(long blocks, long d, long w, long n, const double *eta, const double *W, const double *U,
         const double *b, const double *rho, const double *left, const double *right, double *x) {
    double next[64], mean[64];
    for (long k = 0; k < blocks; k++, W += d * w, U += d * w, b += w, left += d, right += d) {
        for (long i = 0; i < n; i++) {
            double *t = x + i * d;
            for (long c = 0; c < d; c++)
                next[c] = eta[k] * t[c];
            for (long j = 0; j < w; j++) {
                double a = b[j];
                for (long c = 0; c < d; c++)
                    a += U[j * d + c] * t[c];
                for (long c = 0; c < d; c++)
                    next[c] += a > 0 ? W[c * w + j] * a : 0;
            }
            for (long c = 0; c < d; c++)
                t[c] = next[c];
        }
        double s = 0;
        for (long c = 0; c < d; c++) {
            mean[c] = 0;
            for (long i = 0; i < n; i++)
                mean[c] += x[i * d + c];
            s += right[c] * (mean[c] / (double)n);
        }
        for (long i = 0; i < n * d; i++)
            x[i] = rho[k] * x[i] + left[i % d] * s;
    }
}

static double *take(long count) {
    double *out = malloc((size_t)count * sizeof *out);
    if (out == NULL || fread(out, sizeof *out, (size_t)count, stdin) != (size_t)count)
        exit(1);
    return out;
}

int main(void) {
    long s[4];
    if (fread(s, sizeof *s, 4, stdin) != 4)
        return 1;
    long L = s[0], d = s[1], w = s[2], n = s[3];
    double *a[8];
    long sizes[8] = {L, L * d * w, L * w * d, L * w, L, L * d, L * d, n * d};
    for (int i = 0; i < 8; i++)
        a[i] = take(sizes[i]);
    run(L, d, w, n, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
    return fwrite(a[7], sizeof(double), (size_t)(n * d), stdout) != (size_t)(n * d);
}
"""


def compiled_engine(folder: Path, *flags: str) -> Callable[[Tensors, Rows], Rows]:
    """The C engine above as a function of the weights and one sequence [n, d]."""
    (folder / "engine.c").write_text(ENGINE)
    program = folder / f"engine{''.join(flags)}"
    subprocess.run(["cc", *flags, "-o", program, folder / "engine.c"], check=True)

    def run(tensors: Tensors, x: Rows) -> Rows:
        names = ("ff.eta", "ff.W", "ff.U", "ff.b", "sa.rho", "sa.V.left", "sa.V.right")
        sizes = np.array([*tensors["ff.W"].shape, len(x)], np.int_)
        arrays = [sizes, *(tensors[name] for name in names), x]
        raw = b"".join(array.tobytes() for array in arrays)
        done = subprocess.run([program], input=raw, capture_output=True, check=True)
        return np.frombuffer(done.stdout).reshape(x.shape)

    return run


@pytest.mark.parametrize(
    "flags", [("-O0",), ("-O3", "-ffp-contract=fast"), ("-O3", "-march=native"), ("-Ofast",)]
)
def test_compilers(flags: tuple[str, ...], tmp_path: Path, wide: Case, subnormal: Case) -> None:
    """Optimisation, contraction and vector units do no harm; fast-math flushes subnormals."""
    run = compiled_engine(tmp_path, *flags)
    for case in (wide, subnormal):
        results = [run(case.model.tensors, x) for x in case.inputs]
        good = all(same_set(r, y) for r, y in zip(results, case.targets, strict=True))
        if flags != ("-Ofast",):
            assert good, case.name
        elif case is subnormal:
            assert not good
