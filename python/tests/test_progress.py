"""Long work reports, can be stopped, and leaves the interpreter to others."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator

import pytest

import exactformer
from exactformer import Dataset


@pytest.fixture(scope="module")
def large() -> Dataset:
    """Data whose model takes a second or so."""
    return exactformer.datasets.generate("gaussian", 4000, 16, n=8, m=1)


@pytest.fixture()
def long_intervals() -> Iterator[None]:
    """Threads give up the GIL of their own accord only."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(100)
    yield
    sys.setswitchinterval(before)


def test_reports(three: Dataset) -> None:
    told: list[tuple[str, float]] = []
    model = exactformer.fit(three, progress=lambda *report: told.append(report))
    phases = {phase for phase, _ in told}
    assert "run" in phases and len(phases) > 1
    assert all(0 <= done <= 1 for _, done in told)
    del told[:]
    for work in (model.predict, model.predict_sets, model.verify, model.score, model.trace):
        work(three, progress=lambda *report: told.append(report))
        assert told[-1][1] == 1.0
        assert {phase for phase, _ in told} == {"trace" if work == model.trace else "run"}
        del told[:]


def test_bar(three: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    exactformer.fit(three)
    assert capsys.readouterr().err == ""
    exactformer.fit(three, progress=True)
    captured = capsys.readouterr()
    assert "directions" in captured.err and captured.out == ""


def test_stopping(three: Dataset) -> None:
    with pytest.raises(exactformer.CancelledError, match="cancelled"):
        exactformer.fit(three, progress=lambda phase, done: True)

    def fails(phase: str, done: float) -> None:
        raise LookupError(phase)

    with pytest.raises(LookupError):
        exactformer.fit(three, progress=fails)
    assert exactformer.fit(three).verify(three)


def test_work_within_progress(three: Dataset) -> None:
    models: list[exactformer.Model] = []

    def another(phase: str, done: float) -> None:
        if not models:
            models.append(exactformer.fit(three))

    models.append(exactformer.fit(three, progress=another))
    assert [model.score(three) for model in models] == [1, 1]


def test_keyboard_interrupt(large: Dataset) -> None:
    """A signal that arrives while C works, from another thread."""
    working = threading.Event()

    def interrupt() -> None:
        working.wait()
        os.kill(os.getpid(), signal.SIGINT)

    def tell(phase: str, done: float) -> None:
        working.set()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            exactformer.fit(large, progress=tell)
    thread.join()


def test_the_gil_is_released(large: Dataset, long_intervals: None) -> None:
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        for _ in range(3):
            exactformer.fit(large)
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    assert not ended.is_set()
    thread.join()


def test_threads_have_their_own_reports(large: Dataset, three: Dataset) -> None:
    phases: dict[str, set[str]] = {"a": set(), "b": set()}
    failures: list[str] = []

    def work(name: str, data: Dataset) -> None:
        caller = threading.get_ident()

        def tell(phase: str, done: float) -> None:
            phases[name].add(phase)
            if threading.get_ident() != caller:
                failures.append(name)

        exactformer.fit(data, progress=tell)

    threads = [
        threading.Thread(target=work, args=arguments) for arguments in (("a", large), ("b", three))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(phases.values()) and not failures
