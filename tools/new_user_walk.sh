#!/usr/bin/env bash
# A new user's walk: a fresh clone, `make reproduce`, the page of its results in a browser, the tutorial word for word.
#   tools/new_user_walk.sh [REPOSITORY]
set -euo pipefail

repository=$(cd "${1:-$(dirname "$0")/..}" && pwd)
clone=$(mktemp -d)
trap 'rm -rf "$clone"' EXIT

git clone --quiet "$repository" "$clone/eluder"
cd "$clone/eluder"
make reproduce
test -s results/summary.csv && test -s results/figure-2.png

.venv/bin/eluder report results
tools/ensure_chromium.sh
# The page draws its charts: their SVG is there after the scripts have run.
chromium --headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --user-data-dir="$clone/profile" --virtual-time-budget=20000 \
    --dump-dom "file://$PWD/results/report.html" 2>/dev/null | grep -q 'class="main-svg"'

# The tutorial's blocks in their order, commands included, in an empty folder.
.venv/bin/python -m pytest tests/test_docs.py -k tutorial.md
echo "The walk ended well."
