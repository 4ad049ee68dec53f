#!/usr/bin/env python3
"""Run every command of the README and compare what it prints.

    readme.py PROGRAM README [--update]

Blocks fenced as ```console hold commands ("$ ...") and what they print, standard error
included. They run in order, in one fresh directory in which `exactformer` is PROGRAM, data/ is the
project's, and the files that the README shows with `cat` exist. Lines of times are not compared
in their numbers. --update writes the output into the README. Standard library only.
"""

import os
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"```console\n(.*?)```", re.S)
# What differs from run to run.
VARIABLE = re.compile(r'("seconds\w*": ?|time +|, )[0-9.e+-]+( s\b|(?=[,}]))')


def commands(block):
    """Pairs (command, expected output) of one block."""
    pairs = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            pairs.append([line[2:].rstrip("\n"), ""])
        else:
            pairs[-1][1] += line
    return pairs


def masked(text):
    return VARIABLE.sub(r"\1#\2", text)


def prepare(folder, program, root):
    os.mkdir(os.path.join(folder, "bin"))
    os.symlink(program, os.path.join(folder, "bin", "exactformer"))
    work = os.path.join(folder, "work")
    os.mkdir(work)
    os.symlink(os.path.join(root, "data"), os.path.join(work, "data"))
    environment = dict(os.environ, LC_ALL="C")
    environment["PATH"] = os.path.join(folder, "bin") + os.pathsep + environment["PATH"]
    return work, environment


def run(command, expected, work, environment):
    shown = re.fullmatch(r"cat (\S+)", command)
    if shown and not os.path.exists(os.path.join(work, shown[1])):
        with open(os.path.join(work, shown[1]), "w", encoding="utf-8") as file:
            file.write(expected)
    done = subprocess.run(["bash", "-c", command], cwd=work, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout


def main():
    program, readme = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    update = sys.argv[3:] == ["--update"]
    with open(readme, encoding="utf-8") as file:
        text = file.read()
    count, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        work, environment = prepare(folder, program, os.path.dirname(readme))

        def replay(match):
            nonlocal count
            lines = []
            for command, expected in commands(match[1]):
                printed = run(command, expected, work, environment)
                count += 1
                same = masked(printed) == masked(expected)
                if not same:
                    wrong.append(f"$ {command}\n--- in the README\n{expected}--- printed\n{printed}")
                lines.append(f"$ {command}\n{expected if same else printed}")
            return "```console\n" + "".join(lines) + "```"

        renewed = FENCE.sub(replay, text)
    if count < 10:
        sys.exit(f"only {count} commands found in {readme}")
    if update:
        with open(readme, "w", encoding="utf-8") as file:
            file.write(renewed)
    elif wrong:
        sys.exit("\n".join(wrong) + f"{len(wrong)} of {count} commands differ")
    print(f"{count} commands, {len(wrong)} {'updated' if update else 'differ'}")


if __name__ == "__main__":
    main()
