#!/bin/bash
# Growth of the construction with tokens and targets, and its cost in passes over the tokens.
#
#   bench/scaling.sh XF_BENCH_SCALING [THREADS]
#
# Prints a table for docs/performance.md. Times are processor time of all threads, the least of up to
# seven runs; the largest sizes need about 3 GB.
set -euo pipefail
program=$(realpath "${1:?usage: scaling.sh XF_BENCH_SCALING [THREADS]}")
threads=${2:-1}
echo "| N | n | d | writer | blocks | one pass (s) | build (s) | passes |"
echo "|---|---|---|---|---|---|---|---|"
while read -r N n d writer; do
    "$program" "$N" "$n" 1 "$d" "$writer" "$threads" |
        awk -F, '{printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", $1, $2, $4, $5, $13, $10, $11, $12}'
done <<'SIZES'
1000 100 64 grid
10000 100 64 grid
10000 4 16 grid
100000 4 16 grid
1000000 4 16 grid
10000 10 64 grid
100000 10 64 grid
SIZES
