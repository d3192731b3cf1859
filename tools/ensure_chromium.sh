#!/usr/bin/env bash
# The browser for tests/test_browser.py, from the system's packages. Quick when it is there; a loud line when it cannot be had.
set -uo pipefail

have() { command -v chromium >/dev/null && command -v chromedriver >/dev/null; }

have && exit 0
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    echo "Installing chromium and chromium-driver for the browser tests ..."
    (apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium chromium-driver) \
        >/dev/null 2>&1
fi
have && exit 0
echo "WARNING: no chromium and chromedriver: the browser tests will not run (install them, e.g. apt-get install chromium chromium-driver)." >&2
# In continuous integration a missing browser is a failure.
[ "${CI:-}" != true ]
