"""The outputs of every runtime are the targets, bit for bit (docs/conformance.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from .batches import same_set
from .runtimes import Runtime, runtimes
from .table import Result
from .zoo import COMPILED, Case, cases

CASES = cases()


@pytest.fixture(scope="module")
def by_name(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Runtime]:
    return {r.name: r for r in runtimes(tmp_path_factory.mktemp("conformance"), CASES)}


def test_there_are_enough_models() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)
    small = [case for case in CASES if case.compiled]
    assert len(small) == len(COMPILED) >= 10
    assert all(case.model.n_blocks <= 32 for case in small)


@pytest.mark.parametrize("name", [r.name for r in runtimes(Path(), CASES)])
def test_bits(name: str, by_name: dict[str, Runtime], results: list[Result]) -> None:
    runtime = by_name[name]
    chosen = [case for case in CASES if runtime.takes(case)]
    compared = 0
    for case in chosen:
        for size in runtime.sizes:
            wrong = wrong_sequences(case, runtime, size)
            assert not wrong, f"{case.name}, batches of {size}: sequences {wrong[:5]} differ"
            compared += len(case.data)
    results.append(Result(runtime.name, runtime.version, len(chosen), runtime.sizes))


def wrong_sequences(case: Case, runtime: Runtime, size: int) -> list[int]:
    outputs = runtime.run(case, size)
    assert len(outputs) == (len(case.data) if size > 1 else min(64, len(case.data)))
    return [j for j, rows in outputs if not same_set(rows, case.targets[j])]
