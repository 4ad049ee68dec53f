#!/bin/bash
# Every public header compiles alone, as C11 and as C++11, without a warning.
set -euo pipefail
include=$(cd "$(dirname "$0")/../../include" && pwd)

compile() { # language standard compiler...
    local language=$1 standard=$2
    shift 2
    for header in "$include"/exactformer/*.h; do
        name=exactformer/$(basename "$header")
        printf '#include <%s>\n#include <%s>\nint main(void);\n' "$name" "$name" |
            "$@" -x "$language" -std="$standard" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$include" -
    done
}

compile c c11 "${CC:-cc}"
compile c++ c++11 "${CXX:-c++}"
