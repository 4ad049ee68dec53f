#!/bin/bash
# Construct exact transformers for real handwritten digits, and check them.
#
#   tools/demo.sh PROGRAM
set -euo pipefail
export LC_ALL=C
program=$(realpath "${1:?usage: demo.sh PROGRAM}")
cd "$(dirname "$0")/.."
models=build/demo
mkdir -p $models

say() {
    echo
    printf '%s\n' "$@"
}

run() { # show the command, then run it
    echo "\$ exactformer $*"
    "$program" "$@"
}

field() { # NAME: a number in the JSON on standard input
    sed -n "s/.*\"$1\": *\(-\{0,1\}[0-9.e+-]*\).*/\1/p" | head -n 1
}

# NAME SEQUENCES BLOCKS: build, verify, inspect, and hold the result to what is promised.
prove() {
    local data=data/$1.npz model=$models/$1.safetensors
    run build "$data" -o "$model"
    run verify "$model" "$data"
    run inspect "$model" "$data"

    local json exact distance blocks bound
    json=$("$program" verify "$model" "$data" --json)
    blocks=$(field blocks <<<"$json")
    bound=$(field bound <<<"$json")
    exact=$(field exact <<<"$json")
    distance=$(printf '%g' "$(field hausdorff_max <<<"$json")")
    if [ "$exact" != "$2" ] || [ "$distance" != 0 ] || [ "$blocks" -gt "$3" ]; then
        echo "$1: $exact of $2 exact, Hausdorff distance $distance, $blocks blocks (at most $3 expected)" >&2
        exit 1
    fi
    proofs+=("$1: $exact of $2 sequences exact, Hausdorff distance $distance, $blocks blocks (published bound $bound)")
}

proofs=()
say "1. Classification. 1,797 images of handwritten digits; tokens are the inked pixels" \
    "   (row, column, ink), and the target of an image is its class."
prove digits_class 1797 901

say "2. Completion. The tokens are the 32 pixels of an image's upper half, the targets" \
    "   the 32 pixels of its lower half: 57,504 targets in all."
prove digits_inpaint 1797 28754

say "Nothing was trained. Every output equals its target to the last bit:"
printf '  %s\n' "${proofs[@]}"
echo "The models are in $models/."
