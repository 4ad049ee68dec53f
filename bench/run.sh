#!/bin/bash
# Measure and write bench/results.csv, which is committed: a change of speed is a diff.
#
#   bench/run.sh XF_BENCH
set -euo pipefail
program=$(realpath "${1:?usage: run.sh XF_BENCH}")
cd "$(dirname "$0")/.."

cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
result=$(mktemp)
trap 'rm -f "$result"' EXIT
{
    echo "# exactformer $(cat VERSION), $(nproc) x ${cpu:-$(uname -m)}, $(${CC:-cc} --version | head -n 1)"
    "$program" data/digits_class.npz data/digits_inpaint.npz
} | tee "$result"
cp "$result" bench/results.csv
echo "written: bench/results.csv"
