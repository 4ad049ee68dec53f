"""The examples of the pages are what Python prints."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"```pycon\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "python/README.md", "docs/python.md"])
def test_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sessions = FENCE.findall((ROOT / page).read_text(encoding="utf-8"))
    assert sessions
    test = doctest.DocTestParser().get_doctest("\n".join(sessions), {}, page, page, 0)
    report: list[str] = []
    results = doctest.DocTestRunner().run(test, out=report.append)
    assert results.attempted > 2 and results.failed == 0, "".join(report)
