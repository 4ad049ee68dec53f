#!/bin/sh
# run.sh PROGRAM SCRIPT: run a test script in a fresh directory of its own.
# The script sees the program as $EXACTFORMER, the man pages in $MAN, and the functions of lib.sh.
# It fails at the first command that fails or differs.
set -eu
EXACTFORMER=$(realpath "$1")
script=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
MAN=$(realpath "$here/../../docs/man")
export EXACTFORMER MAN
LC_ALL=C
export LC_ALL
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
bash -eu -o pipefail -c '. "$1"; . "$2"' bash "$here/lib.sh" "$script"
