#!/bin/bash
# Install into an empty prefix, then build and run examples/quickstart.c as a stranger
# would: through pkg-config and through CMake, shared and static; and move the prefix.
#
#   tests/package/install.sh BUILD_DIR [CMAKE]
set -euo pipefail
build=$(cd "$1" && pwd)
cmake=${2:-cmake}
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Installed in one place and moved to another: nothing may remember the first.
"$cmake" --install "$build" --prefix "$work/first" >/dev/null
mv first prefix
prefix=$work/prefix
libdir=$(dirname "$(find "$prefix" -name libexactformer.a)")
if grep -rIl -e "$work/first" -e "$build" "$prefix" --include='*.pc' --include='*.cmake'; then
    echo "a package file names a build path" >&2
    exit 1
fi

version=$(cat "$source/VERSION")
expect() { # NAME COMMAND...
    local name=$1
    shift
    if ! "$@" >"$name.out" 2>&1; then
        cat "$name.out" >&2
        echo "$name: failed" >&2
        exit 1
    fi
}
same() { # NAME: its output is that of the first consumer
    if ! diff shared.out "$1.out"; then
        echo "$1: another output" >&2
        exit 1
    fi
}

export PKG_CONFIG_PATH=$libdir/pkgconfig
[ "$(pkg-config --modversion exactformer)" = "$version" ]
read -ra cflags <<<"$(pkg-config --cflags exactformer)"
read -ra libs <<<"$(pkg-config --libs exactformer)"
read -ra static_libs <<<"$(pkg-config --libs --static exactformer)"

${CC:-cc} -std=c11 "${cflags[@]}" "$source/examples/quickstart.c" -o shared "${libs[@]}" -Wl,-rpath,"$libdir"
expect shared ./shared
grep -q 'exact' shared.out

${CC:-cc} -std=c11 "${cflags[@]}" "$source/examples/quickstart.c" -o static \
    "${static_libs[@]/-lexactformer/-l:libexactformer.a}"
expect static ./static
same static

expect configure "$cmake" -S "$source/tests/package/consumer" -B consumer -DCMAKE_PREFIX_PATH="$prefix" \
    -DQUICKSTART="$source/examples/quickstart.c" -DWANTED_VERSION="$version"
expect compile "$cmake" --build consumer
for kind in shared static; do
    expect cmake_$kind consumer/quickstart_$kind
    same cmake_$kind
done

# The program runs from its new place, without the shared library.
if [ -e "$prefix/bin/exactformer" ]; then
    expect program "$prefix/bin/exactformer" --version
    grep -qF "$version" program.out
    if ldd "$prefix/bin/exactformer" | grep -q libexactformer; then
        echo "the program needs libexactformer.so" >&2
        exit 1
    fi
fi
cat shared.out
