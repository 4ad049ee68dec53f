"""What pip installs, and what an sdist holds."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path

import exactformer
from conftest import PROGRAM

ROOT = Path(__file__).resolve().parents[2]
VERSION = (ROOT / "VERSION").read_text(encoding="utf-8").strip()


def test_the_installed_package() -> None:
    files = {Path(str(file)).name: file for file in metadata.files("exactformer") or []}
    wanted = {"_core.abi3.so", "py.typed", "exactformer", "exactformer.1", "digits_class.npz"}
    assert wanted <= set(files)
    assert "Tag: cp310-abi3-linux" in files["WHEEL"].read_text()
    assert metadata.version("exactformer") == exactformer.__version__ == VERSION


def test_the_program() -> None:
    printed = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True)
    assert printed.stdout.strip() == f"exactformer {VERSION}"


def test_importing_needs_no_optional_package() -> None:
    """Not matplotlib, torch, onnx or safetensors."""
    code = (
        "import sys, exactformer\n"
        "heavy = {'matplotlib', 'torch', 'onnx', 'safetensors', 'tqdm'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_sdist_holds_the_sources_of_the_core(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path)]
    subprocess.run([*build, str(ROOT / "python")], check=True, capture_output=True)
    with tarfile.open(tmp_path / f"exactformer-{VERSION}.tar.gz") as archive:
        members = {m.name.split("/", 1)[1]: m for m in archive.getmembers()}
        assert all(member.isfile() for member in members.values())
        needed = ["CMakeLists.txt", "VERSION", "LICENSE"]
        for folder in ("src", "include", "cli", "cmake", "data"):
            found = (path for path in (ROOT / folder).rglob("*") if path.is_file())
            needed += [str(path.relative_to(ROOT)) for path in found]
        for name in needed:
            content = archive.extractfile(members[f"core/{name}"])
            assert content is not None and content.read() == (ROOT / name).read_bytes(), name
    assert {"pyproject.toml", "PKG-INFO", "binding.py", "src/exactformer/py.typed"} <= set(members)
