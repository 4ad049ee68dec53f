#!/usr/bin/env python3
"""Check the dependency law of docs/architecture.md and the list of files; print every offender.

    tools/check_layers.py [--root DIR] [--objects BUILD_DIR]

1. A folder of src/ includes only from folders on lower floors, and never sideways.
   Some folders are held to less than their floor allows (LAW below).
2. The program (cli/) and the examples see the public headers only; public headers
   see only public headers.
3. The names of .c files are unique in the tree, and so are the names of .h files.
4. docs/files.md lists, in a section for each folder, the files of this folder: every
   one, under its name with or without the ending, and no others.
5. With --objects: what a folder *calls* keeps the law too, found by nm in the object
   files. A public function may be declared in a header that everyone sees, so
   includes alone do not show such a call.

Exit status 1 if the law is broken.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

# Folder: the folders of src/ that it may use besides itself.
LAW = {
    "base": set(),
    "num": {"base"},
    "fmt": {"base"},
    "core": {"base", "num"},
    "io": {"base", "num", "fmt", "core"},
    "engine": {"base", "num", "core"},
    "generate": {"base", "num", "core"},
    "train": {"base", "num", "core"},
    "certify": {"base", "num", "core"},  # the judge shares nothing with the accused
    "construct": {"base", "num", "core", "engine"},
    "api": {"base", "num", "fmt", "core", "io", "engine", "generate", "train", "certify", "construct"},
}

# What docs/files.md has sections about, besides the folders of src/.
LISTED = ("cli", "mpi", "python/src/exactformer", "python/tests/conformance", "tests/support")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def includes(path):
    """(line, bracket, name) of every include of a file."""
    text = path.read_text(encoding="utf-8")
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[1], match[2]


def sources(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in (".c", ".h"))


def sections(text):
    """Line, heading and body of every section of docs/files.md."""
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    line = 1 + parts[0].count("\n")
    for heading, body in zip(parts[1::2], parts[2::2]):
        yield line, heading.strip().rstrip("/"), body
        line += 1 + body.count("\n")


class Tree:
    def __init__(self, root):
        self.root = root
        self.offences = []

    def report(self, path, line, text):
        where = path.relative_to(self.root) if path.is_relative_to(self.root) else path
        self.offences.append(f"{where}:{line}: {text}" if line else f"{where}: {text}")

    def check_public_include(self, path, line, name):
        if name.startswith("exactformer/") and not (self.root / "include" / name).is_file():
            self.report(path, line, f"<{name}> is no public header")

    def check_library(self):
        for folder in sorted(p for p in (self.root / "src").iterdir() if p.is_dir()):
            if folder.name not in LAW:
                self.report(folder, 0, "unknown folder: give it a floor in tools/check_layers.py")
                continue
            for path in sources(folder):
                self.check_library_file(folder.name, path)

    def check_library_file(self, folder, path):
        for line, bracket, name in includes(path):
            if bracket == "<":
                self.check_public_include(path, line, name)
                continue
            if (path.parent / name).is_file():
                continue
            target = name.split("/")[0]
            if not (self.root / "src" / name).is_file():
                self.report(path, line, f'"{name}" is not found from src/')
            elif target != folder and target not in LAW[folder]:
                allowed = ", ".join(sorted(LAW[folder])) or "nothing"
                self.report(path, line, f'"{name}": {folder}/ may use {allowed}')

    def check_clients(self):
        for top in ("include", "cli", "examples"):
            for path in sources(self.root / top):
                for line, bracket, name in includes(path):
                    if bracket == "<":
                        self.check_public_include(path, line, name)
                    elif top == "include":
                        self.report(path, line, f'"{name}": write <exactformer/...>')
                    elif not (path.parent / name).is_file() or ".." in name:
                        self.report(path, line, f'"{name}": only public headers and those of {top}/')

    def check_names(self):
        seen = collections.defaultdict(list)
        for top in ("include", "src", "cli", "tests", "examples", "fuzz", "bench"):
            for path in sources(self.root / top):
                seen[path.name].append(path)
        for name, paths in sorted(seen.items()):
            for path in paths[1:]:
                self.report(path, 0, f"the name {name} is taken by {paths[0].relative_to(self.root)}")

    def check_list(self):
        page = self.root / "docs" / "files.md"
        folders = {f"src/{p.name}" for p in (self.root / "src").iterdir() if p.is_dir()}
        folders |= {name for name in LISTED if (self.root / name).is_dir()}
        text = page.read_text(encoding="utf-8") if page.is_file() else ""
        for line, name, body in sections(text):
            if name not in folders:
                self.report(page, line, f"a section about {name}/, which is no folder to list")
                continue
            folders.remove(name)
            self.check_section(page, line, name, set(re.findall(r"`([^`]+)`", body)))
        for name in sorted(folders):
            self.report(page, 0, f"no section about {name}/")

    def check_section(self, page, line, folder, named):
        files = [p for p in sorted((self.root / folder).iterdir()) if p.suffix in (".c", ".h", ".py")]
        for path in files:
            if not named & {path.name, path.stem}:
                self.report(page, line, f"{folder}/{path.name} is not listed")
        for name in sorted(named - {n for p in files for n in (p.name, p.stem)}):
            self.report(page, line, f"{folder}/ has no file {name}")

    def check_calls(self, build):
        objects = sorted((build / "CMakeFiles" / "xf_objects.dir" / "src").rglob("*.o"))
        if not objects:
            self.report(build, 0, "no object files of the library")
        home, uses = {}, []
        for path in objects:
            folder = path.parent.name
            listing = subprocess.run(["nm", path], check=True, capture_output=True, text=True)
            for row in listing.stdout.splitlines():
                kind, name = row.split()[-2:]
                if not name.startswith(("xf_", "xfi_")):
                    continue
                if kind == "U":
                    uses.append((path, folder, name))
                elif kind.isupper() or kind == "i":
                    home[name] = folder
        for path, folder, name in uses:
            target = home.get(name)
            if target is None:
                self.report(self.root / "src" / folder / path.stem, 0, f"{name} is defined nowhere")
            elif target != folder and folder in LAW and target not in LAW[folder]:
                self.report(self.root / "src" / folder / path.stem, 0, f"calls {name} of {target}/")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--root", type=pathlib.Path, default=default)
    parser.add_argument("--objects", type=pathlib.Path, metavar="BUILD_DIR")
    arguments = parser.parse_args()
    tree = Tree(arguments.root.resolve())
    tree.check_library()
    tree.check_clients()
    tree.check_names()
    tree.check_list()
    if arguments.objects:
        tree.check_calls(arguments.objects)
    for offence in tree.offences:
        print(offence)
    if tree.offences:
        sys.exit(1)
    print("dependency law: kept, list of files: complete")


if __name__ == "__main__":
    main()
