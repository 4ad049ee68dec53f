#!/bin/bash
# Install the Debian or Ubuntu packages that exactformer needs.
#
#   tools/install_deps.sh [build] [test] [check] [python]      (default: build test)
#
# Does nothing, quickly, when all are present. Otherwise uses apt as root or through
# sudo; where that is impossible it prints the exact command and exits with status 1.
# CI sets no terminal: nothing here asks a question.
set -euo pipefail

# A package, or package:command where having the command in PATH is enough.
build=(build-essential:c++ cmake:cmake ninja-build:ninja pkg-config:pkg-config git:git
       gnuplot-nox:gnuplot libopenblas-dev libjansson-dev libzip-dev liblbfgs-dev nettle-dev libgmp-dev libmpfr-dev
       libflint-dev)
test=(libcmocka-dev python3:python3 libopenmpi-dev openmpi-bin:mpirun)
check=(clang-format:clang-format clang-tidy:clang-tidy mandoc:mandoc valgrind:valgrind)
python=(python3:python3 python3-venv python3-dev)

wanted=()
flint=no
for group in "${@:-build test}"; do
    for name in $group; do
        case $name in
            build) wanted+=("${build[@]}"); flint=yes ;;
            test) wanted+=("${test[@]}") ;;
            check) wanted+=("${check[@]}") ;;
            python) wanted+=("${python[@]}") ;;
            *) echo "usage: $0 [build] [test] [check] [python]" >&2; exit 2 ;;
        esac
    done
done

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    absent=()
    for command in cc cmake ninja pkg-config; do
        command -v $command >/dev/null || absent+=("$command")
    done
    for module in jansson libzip liblbfgs nettle; do
        pkg-config --exists $module 2>/dev/null || absent+=("$module")
    done
    [ ${#absent[@]} -eq 0 ] && exit 0
    echo "This is no Debian or Ubuntu; please install by hand: ${absent[*]}" >&2
    echo "All that is needed, by Debian's names: ${wanted[*]%%:*}" >&2
    exit 1
fi

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Which of the wanted packages are absent?
missing=()
for item in "${wanted[@]}"; do
    if [ "$item" != "${item#*:}" ] && command -v "${item#*:}" >/dev/null; then
        continue
    fi
    installed "${item%%:*}" || missing+=("${item%%:*}")
done

# Before FLINT 3, Arb is a package of its own. FLINT 3 contains it and there is none.
arb_wanted() {
    [ $flint = yes ] && [ ! -e /usr/include/flint/arb.h ] && ! installed libflint-arb-dev
}

if [ ${#missing[@]} -eq 0 ] && ! arb_wanted; then
    exit 0
fi

if [ "$(id -u)" -eq 0 ]; then
    as_root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
elif command -v sudo >/dev/null && [ -t 0 ] && [ -z "${CI:-}" ]; then
    as_root=(sudo)
else
    if arb_wanted && ! [[ " ${missing[*]} " == *" libflint-dev "* ]]; then
        missing+=(libflint-arb-dev)
    fi
    echo "Some packages are missing. As root, please run" >&2
    echo "    apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    if [ $flint = yes ] && arb_wanted; then
        echo "(and on Debian 12, whose FLINT has Arb apart, libflint-arb-dev too)" >&2
    fi
    exit 1
fi

apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 "$@" </dev/null
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
run() {
    if ! apt "$@" >"$log" 2>&1; then
        cat "$log" >&2
        echo "apt-get $* failed" >&2
        exit 1
    fi
}

run update
if arb_wanted && [[ $(LC_ALL=C apt-cache policy libflint-arb-dev 2>/dev/null) == *"Candidate: "[0-9]* ]]; then
    missing+=(libflint-arb-dev)
fi
if [ ${#missing[@]} -gt 0 ]; then
    echo "installing ${missing[*]}"
    run install --no-install-recommends "${missing[@]}"
fi
