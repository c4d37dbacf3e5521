#!/bin/sh
# install_chromium.sh PYTHON: makes sure that the browser tests find a Chromium, and fails when it cannot.
set -eu
find_browser() { command -v chromium || command -v chromium-browser || command -v google-chrome || command -v google-chrome-stable; }

if found=$(find_browser); then
    echo "browser: $found"
    exit 0
fi
if command -v apt-get >/dev/null; then
    as_root=$([ "$(id -u)" = 0 ] || echo sudo)
    $as_root apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq chromium >/dev/null
else
    "$1" -m playwright install chromium
    exit 0
fi
find_browser || { echo "no Chromium could be installed: install one, then run the tests again" >&2; exit 1; }
