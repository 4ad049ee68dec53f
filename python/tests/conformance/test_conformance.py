"""The outputs of every runtime are the targets, bit for bit (docs/conformance.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from .batches import same_set
from .runtimes import Runtime, runtimes
from .table import Result, keep, published_rows
from .zoo import COMPILED, Case, cases

CASES = cases()
NAMES = [runtime.name for runtime in runtimes(Path(), CASES)]


@pytest.fixture(scope="module")
def by_name(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Runtime]:
    return {r.name: r for r in runtimes(tmp_path_factory.mktemp("conformance"), CASES)}


def test_there_are_enough_models() -> None:
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)
    small = [case for case in CASES if case.compiled]
    assert len(small) == len(COMPILED) >= 10
    assert all(case.model.n_blocks <= 32 for case in small)


def test_the_page_tells_of_all_runtimes() -> None:
    assert [row.split(" | ")[0].removeprefix("| ") for row in published_rows()] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_bits(name: str, by_name: dict[str, Runtime]) -> None:
    runtime = by_name[name]
    chosen = [case for case in CASES if runtime.takes(case)]
    wrong = {case.name: wrong_sequences(case, runtime) for case in chosen}
    sequences = sum(len(case.data) for case in chosen)
    result = Result(
        name,
        runtime.version,
        len(chosen),
        sum(not found for found in wrong.values()),
        sequences,
        sequences - sum(map(len, wrong.values())),
        runtime.sizes,
    )
    if not keep(result):
        assert result.row() in published_rows(), "renew docs/conformance.md: see table.py"
    assert not any(wrong.values()), {name: found[:5] for name, found in wrong.items() if found}


def wrong_sequences(case: Case, runtime: Runtime) -> list[int]:
    """Sequences whose outputs are not the targets at some batch size."""
    wrong = set()
    for size in runtime.sizes or (0,):
        outputs = runtime.run(case, size)
        assert [j for j, _ in outputs] == list(range(case.tried(size)))
        wrong |= {j for j, rows in outputs if not same_set(rows, case.targets[j])}
    return sorted(wrong)
