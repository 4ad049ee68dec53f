#!/bin/bash
# Measure everything, against the alternatives in the same run, and write bench/results.csv and the
# tables in docs/performance.md, both committed: a change of speed is a diff.
#
#   bench/run.sh [--quick] BUILD      (make bench, make bench QUICK=1)
#
# BUILD holds the program and the target `bench`. --quick takes about two minutes in place of ten or so. Parts
# that need PyTorch run where build/venv (tools/python_env.sh) has it, and are left out elsewhere.
set -euo pipefail
options=()
if [ "${1:-}" = --quick ]; then
    options=(--quick)
    shift
fi
build=$(realpath "${1:?usage: run.sh [--quick] BUILD}")
cd "$(dirname "$0")/.."
python=build/venv/bin/python
[ -x "$python" ] || python=python3
# Waiting threads sleep: other work on the machine would otherwise pay for their spinning, and they for it.
export OMP_WAIT_POLICY=passive
exec "$python" bench/measure_all.py "${options[@]}" "$build"
