#!/bin/bash
# Make build/venv: the pinned packages of requirements/python.txt, Node.js among them, and the
# Python package itself as it is now; and build/web: the npm packages of requirements/web. Does nothing, quickly, when all is up to date.
#
#   tools/python_env.sh [PYTHON]       (default: $PYTHON, else python3)
#
# Needs what tools/install_deps.sh build python installs.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-${PYTHON:-python3}}
venv=$PWD/build/venv
mkdir -p build
exec 9>build/venv.lock
flock 9

log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() { # the output matters only when it fails
    if ! "$@" >"$log" 2>&1; then
        cat "$log" >&2
        echo "failed: $*" >&2
        exit 1
    fi
}

# A stamp holds the digest of everything that a step was made from.
fresh() {
    [ -e "$venv/$1" ] && [ "$(cat "$venv/$1")" = "$2" ]
}

wanted=$({ "$python" -VV; cat requirements/python.txt; } | sha256sum)
if ! fresh requirements.stamp "$wanted"; then
    echo "making build/venv"
    rm -rf "$venv" build/python
    quietly "$python" -m venv "$venv"
    quietly "$venv/bin/pip" --disable-pip-version-check install -r requirements/python.txt
    echo "$wanted" >"$venv/requirements.stamp"
fi

sources=(python/pyproject.toml python/CMakeLists.txt python/binding.py python/README.md python/core python/src)
wanted=$(find -L "${sources[@]}" -name __pycache__ -prune -o -type f -printf '%p %s %T@\n' | sort | sha256sum)
if ! fresh package.stamp "$wanted"; then
    echo "building the Python package"
    quietly "$venv/bin/pip" --disable-pip-version-check install --no-build-isolation --no-deps \
        --force-reinstall -C build-dir="$PWD/build/python" ./python
    echo "$wanted" >"$venv/package.stamp"
fi

wanted=$(cat requirements/web/*.json "$venv/requirements.stamp" | sha256sum)
if [ ! -e build/web/stamp ] || [ "$(cat build/web/stamp)" != "$wanted" ]; then
    echo "making build/web"
    rm -rf build/web
    mkdir build/web
    cp requirements/web/*.json build/web
    PATH=$venv/bin:$PATH quietly "$venv/bin/npm" --prefix build/web ci --ignore-scripts --no-audit --no-fund
    echo "$wanted" >build/web/stamp
fi
