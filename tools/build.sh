#!/bin/bash
# Configure and build a preset; says more only when something goes wrong.
#
#   tools/build.sh PRESET [JOBS] [TARGET...]
#
# XF_OPTIONS in the environment: more options for cmake, such as -DXF_PYTHON_TESTS=ON.
set -euo pipefail
preset=${1:?usage: build.sh PRESET [JOBS] [TARGET...]}
jobs=${2:-$(nproc)}
shift $(($# < 2 ? $# : 2))
cd "$(dirname "$0")/.."

XF_OPTIONS=${XF_OPTIONS:-}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "building build/$preset"
if ! { cmake --preset "$preset" $XF_OPTIONS && cmake --build --preset "$preset" -j "$jobs" --target "${@:-all}"; } >"$log" 2>&1; then
    grep -v '^\[[0-9]*/[0-9]*\]' "$log" >&2
    echo "build/$preset: failed" >&2
    exit 1
fi
