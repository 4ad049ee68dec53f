#!/usr/bin/env python3
"""Run the unit tests under Valgrind, without those labelled slow.

    tools/memcheck.py BUILD_DIR [REGEX]

Errors and definite leaks fail. What OpenMP's and OpenBLAS's thread pools keep until the
end is reachable, not lost, and is no error.
"""

import json
import os
import re
import subprocess
import sys
import time

VALGRIND = [
    "valgrind",
    "--quiet",
    "--error-exitcode=99",
    "--leak-check=full",
    "--show-leak-kinds=definite",
    "--errors-for-leak-kinds=definite",
]
# Valgrind knows neither rounding modes nor FTZ: tests that change them look for the variable.
ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XF_UNDER_VALGRIND": "1",
}


def unit_tests(build, pattern):
    """(name, command, folder) of the tests to run."""
    listing = subprocess.run(
        ["ctest", "--test-dir", build, "-L", "unit", "-LE", "slow", "--show-only=json-v1"],
        check=True,
        capture_output=True,
        text=True,
    )
    for test in json.loads(listing.stdout)["tests"]:
        if re.search(pattern, test["name"]):
            properties = {p["name"]: p["value"] for p in test["properties"]}
            yield test["name"], test["command"], properties["WORKING_DIRECTORY"]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    tests = list(unit_tests(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""))
    failed = []
    for name, command, folder in tests:
        start = time.monotonic()
        run = subprocess.run(
            VALGRIND + command,
            cwd=folder,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        verdict = "clean" if run.returncode == 0 else f"exit status {run.returncode}"
        print(f"valgrind {name}: {verdict}, {time.monotonic() - start:.1f} s", flush=True)
        if run.returncode != 0:
            print(run.stdout)
            failed.append(name)
    if failed or not tests:
        sys.exit(f"valgrind: {', '.join(failed) or 'no test'}")


if __name__ == "__main__":
    main()
