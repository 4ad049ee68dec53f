"""The tutorial runs, and prints what it shows.

Run as a script this file executes the notebook and stores its outputs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[1] / "notebooks" / "tutorial.ipynb"


def executed(folder: Path) -> Any:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    return notebook


def texts(notebook: Any) -> list[tuple[str, str]]:
    """What every cell does and prints."""
    cells = (cell for cell in notebook.cells if cell.cell_type == "code")
    return [(cell.source, "".join(map(text, cell.outputs))) for cell in cells]


def text(output: Any) -> str:
    return str(output.get("text") or output.data.get("text/plain", ""))


def test_tutorial(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    shown = texts(notebook)
    assert len(shown) >= 7 and shown == texts(executed(tmp_path))
    assert len([line for line in shown[0][0].splitlines() if line]) <= 10
    assert (tmp_path / "model.onnx").exists()


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        result = executed(Path(temporary))
        for cell in result.cells:
            cell.metadata.pop("execution", None)
        nbformat.write(result, NOTEBOOK)  # type: ignore[no-untyped-call]
