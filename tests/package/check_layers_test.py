#!/usr/bin/env python3
"""tools/check_layers.py finds each kind of offence in a small made-up tree."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"

LAWFUL = {
    "include/exactformer/status.h": "",
    "src/base/error.h": "#include <exactformer/status.h>\n",
    "src/base/error.c": '#include "base/error.h"\n',
    "src/core/shape.h": '#include "base/error.h"\n',
    "src/engine/dense.c": '#include "core/shape.h"\n#include <math.h>\n',
    "cli/main.c": '#include "command.h"\n#include <exactformer/status.h>\n',
    "cli/command.h": "",
}


def listing(files):
    """A docs/files.md that lists these files."""
    folders = {}
    for path in map(pathlib.PurePosixPath, files):
        if path.parts[0] in ("src", "cli"):
            folders.setdefault(str(path.parent), []).append(f"- `{path.stem}` something\n")
    return "# Files\n" + "".join(f"\n## {name}/\n{''.join(rows)}" for name, rows in folders.items())


def check(files):
    """Exit status and output for a tree with these files, all of them listed if no list is among them."""
    files = {"docs/files.md": listing(files), **files}
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        run = subprocess.run(
            [sys.executable, TOOL, "--root", root], capture_output=True, text=True
        )
    return run.returncode, run.stdout


class CheckLayers(unittest.TestCase):
    def offence(self, name, text, wanted):
        status, output = check({**LAWFUL, name: text})
        self.assertEqual(status, 1)
        self.assertIn(wanted, output)
        self.assertEqual(output.count("\n"), 1, output)

    def test_lawful(self):
        self.assertEqual(check(LAWFUL), (0, "dependency law: kept, list of files: complete\n"))

    def test_up(self):
        self.offence("src/base/up.c", '\n#include "core/shape.h"\n', "src/base/up.c:2: ")

    def test_sideways(self):
        self.offence("src/fmt/side.c", '#include "num/x.h"\n', "not found")
        status, output = check(
            {**LAWFUL, "src/num/x.h": "", "src/fmt/side.c": '#include "num/x.h"\n'}
        )
        self.assertEqual(status, 1)
        self.assertIn("fmt/ may use base", output)

    def test_judge_and_accused(self):
        files = {"src/engine/run.h": "", "src/certify/judge.c": '#include "engine/run.h"\n'}
        status, output = check({**LAWFUL, **files})
        self.assertEqual(status, 1)
        self.assertIn("src/certify/judge.c:1: ", output)

    def test_unknown_folder(self):
        self.offence("src/other/thing.c", "", "unknown folder")

    def test_program_looks_inside(self):
        self.offence("cli/spy.c", '#include "base/error.h"\n', "only public headers")
        self.offence("cli/spy.c", '#include "../src/base/error.h"\n', "only public headers")

    def test_public_header_looks_inside(self):
        self.offence("include/exactformer/run.h", '#include "base/error.h"\n', "include/exactformer/run.h:1")

    def test_list(self):
        whole = listing(LAWFUL)
        for old, new, wanted in (
            ("- `dense` something\n", "", "docs/files.md:10: src/engine/dense.c is not listed"),
            ("`dense`", "`dense.h`", "src/engine/dense.c is not listed"),
            ("`dense`", "`dense.c`, `sparse`", "src/engine/ has no file sparse"),
            ("## src/engine/\n- `dense` something\n", "", "no section about src/engine/"),
            ("## cli/", "## cli/\n- `main` `command`\n\n## bin/", "a section about bin/"),
        ):
            with self.subTest(wanted):
                self.assertIn(old, whole)
                status, output = check({**LAWFUL, "docs/files.md": whole.replace(old, new)})
                self.assertEqual(status, 1)
                self.assertIn(wanted, output)
        self.assertEqual(check({**LAWFUL, "docs/files.md": whole.replace("`dense`", "`dense.c`")})[0], 0)
        status, output = check({**LAWFUL, "docs/files.md": ""})
        self.assertEqual((status, output.count("no section about")), (1, 4))

    def test_names(self):
        self.offence("src/core/error.c", "", "taken by src/base/error.c")


if __name__ == "__main__":
    unittest.main()
