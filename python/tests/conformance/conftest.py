from __future__ import annotations

import pytest

from .table import Result


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return []
