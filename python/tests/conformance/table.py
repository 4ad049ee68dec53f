"""The published table: docs/conformance.md between its marks.

    python -m conformance.table DIR     (in python/tests)

runs the suite and renews the table; DIR is a folder for its results.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "conformance.md"
BEGIN, END = "<!-- conformance table -->\n", "<!-- end of conformance table -->\n"
HEAD = "| runtime | version | models | sequences | batch sizes | exact |\n|---|---|---|---|---|---|\n"


@dataclass(frozen=True)
class Result:
    """A runtime, and how many of the models and sequences tried had exact outputs."""

    runtime: str
    version: str
    models: int
    exact_models: int
    sequences: int
    exact_sequences: int
    sizes: tuple[int, ...]

    def row(self) -> str:
        sizes = ", ".join(map(str, self.sizes)) or "whole data sets"
        exact = "all" if self.exact_sequences == self.sequences else (
            f"{self.exact_models} models, {self.exact_sequences} sequences"
        )
        return (
            f"| {self.runtime} | {self.version} | {self.models} | {self.sequences} | {sizes} |"
            f" {exact} |\n"
        )


def published_rows() -> list[str]:
    """The rows of the page, without its head."""
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index(BEGIN) + len(BEGIN) : text.index(END)]
    assert table.startswith(HEAD)
    return table[len(HEAD) :].splitlines(keepends=True)


def renew(results: Sequence[Result]) -> None:
    """Put these results into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    PAGE.write_text(before + HEAD + "".join(r.row() for r in results) + after, encoding="utf-8")


def keep(result: Result) -> bool:
    """Leave a result for main, if it asked for it; did it?"""
    folder = os.environ.get("XF_CONFORMANCE_RESULTS")
    if folder is None:
        return False
    path = Path(folder) / "results.jsonl"
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(result)) + "\n")
    return True


def main(folder: str) -> int:
    """Run the suite, then renew the table."""
    import pytest

    os.environ["XF_CONFORMANCE_RESULTS"] = folder
    (Path(folder) / "results.jsonl").unlink(missing_ok=True)
    suite = str(Path(__file__).parent / "test_conformance.py")
    status = pytest.main([suite, "-k", "test_bits"])
    lines = (Path(folder) / "results.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    renew([Result(**(fields | {"sizes": tuple(fields["sizes"])})) for fields in found])
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
