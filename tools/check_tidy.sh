#!/bin/bash
# clang-tidy over our own C files (.clang-tidy), warnings are errors.
#
#   tools/check_tidy.sh BUILD_DIR [JOBS] [FILE...]
#
# The findings of clang-tidy 14 (Debian 12's) count; another release knows other checks,
# so its findings are shown but do not fail.
set -euo pipefail
build=${1:?usage: check_tidy.sh BUILD_DIR [JOBS] [FILE...]}
jobs=${2:-2}
shift $(($# < 2 ? $# : 2))
build=$(cd "$build" && pwd)
cd "$(dirname "$0")/.."
tool=clang-tidy
if command -v clang-tidy-14 >/dev/null; then
    tool=clang-tidy-14
fi

# Sanitizers and OpenMP are taken out of the compilation database: clang's own run-time
# headers need not be installed. These declarations stand in for its omp.h.
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
sed 's/-fopenmp//g; s/-fsanitize=[^ ]*//g' "$build/compile_commands.json" >"$stage/compile_commands.json"
cat >"$stage/omp.h" <<'OMP'
int omp_get_max_threads(void);
int omp_get_num_procs(void);
int omp_get_num_threads(void);
int omp_get_thread_num(void);
int omp_in_parallel(void);
void omp_set_num_threads(int n);
OMP

if [ $# -eq 0 ]; then
    # Only what the build compiles: fuzz targets and the like have other flags.
    while read -r file; do
        if grep -qF "$PWD/$file\"" "$stage/compile_commands.json"; then
            set -- "$@" "$file"
        fi
    done < <(find src cli tests examples bench -name '*.c' | sort)
fi
if printf '%s\0' "$@" |
    xargs -0 -n 4 -P "$jobs" "$tool" --quiet -p "$stage" --extra-arg=-idirafter"$stage" \
        --extra-arg=-Wno-unknown-pragmas --extra-arg=-Wno-unknown-warning-option 2>/dev/null
then
    echo "clang-tidy: $# files fine"
elif [[ $("$tool" --version) != *" 14."* ]]; then
    echo "clang-tidy: not judged, since this is another release than 14"
else
    exit 1
fi
