#!/bin/bash
# Names: the shared library shows only xf_ symbols; the static one has only xf_ and
# xfi_ globals.
#
#   tools/check_symbols.sh BUILD_DIR
set -euo pipefail
build=${1:?usage: check_symbols.sh BUILD_DIR}
shared=$build/libexactformer.so
static=$build/libexactformer.a

# Defined global symbols; type A is the name of the version node.
names() {
    nm --defined-only "$@" | awk 'NF == 3 && $2 ~ /^[B-Z]$/ {sub(/@.*/, "", $3); print $3}'
}

offenders() {
    grep -Ev "^($1|__gcov_|__odr_asan|__asan_)" || true
}

bad_shared=$(names -D "$shared" | offenders 'xf_')
# (gcc makes a common symbol of the name of an OpenMP critical section.)
bad_static=$(names -g "$static" | offenders 'xfi?_|\.gomp_critical_user_xfi_')
status=0
if [ -n "$bad_shared" ]; then
    printf '%s shows a name without xf_:\n%s\n' "$shared" "$bad_shared"
    status=1
fi
if [ -n "$bad_static" ]; then
    printf '%s has a global without xf_ or xfi_:\n%s\n' "$static" "$bad_static"
    status=1
fi
if [ -z "$(names -D "$shared")" ]; then
    echo "$shared shows nothing"
    status=1
fi
[ $status -ne 0 ] || echo "symbols: fine"
exit $status
