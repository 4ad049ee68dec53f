#!/bin/bash
# Man pages have no errors or warnings (mandoc), and every page has a name. They carry no
# date, on purpose: the version tells their age.
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob
pages=(docs/man/*.1)
if [ ${#pages[@]} -eq 0 ]; then
    echo "man pages: none" >&2
    exit 1
fi
findings=$(mandoc -T lint -W warning "${pages[@]}" | grep -v 'missing date' || true)
if [ -n "$findings" ]; then
    echo "$findings" >&2
    exit 1
fi
for page in "${pages[@]}"; do
    if ! grep -q '^\.S[Hh] "\?NAME' "$page"; then
        echo "$page: no NAME section" >&2
        exit 1
    fi
done
echo "man pages: ${#pages[@]} fine"
