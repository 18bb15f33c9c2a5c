#!/usr/bin/env bash
# Which browser do the tests of the console drive? A Chromium of this machine, first found wins; playwright's own is never downloaded.
# Without an argument it installs Debian's where there is none; `--find` prints the path of the one that is there, or fails.
set -euo pipefail

names=(chromium chromium-browser google-chrome-stable google-chrome)

find_browser() {
    local name
    for name in "${names[@]}"; do command -v "$name" && return; done
    return 1
}

# Debian's own tools, without a question and with an end: a mirror that does not answer must not hold CI for good.
apt() {
    DEBIAN_FRONTEND=noninteractive timeout 900 apt-get -qq \
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Acquire::http::Timeout=60 "$@" </dev/null >/dev/null
}

if [ "${1:-}" = --find ] || find_browser >/dev/null; then
    find_browser
    exit
fi
if ! command -v apt-get >/dev/null; then
    echo "Install Chromium by this system's packages, so that one of ${names[*]} is on the PATH; this system has no apt-get." >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "Install Chromium as root (sudo apt-get install chromium); only root may install packages here." >&2
    exit 1
fi
echo "Installing Debian's chromium; this takes a minute."
apt update || echo "The lists of packages are not renewed; going on with those that are here." >&2
apt install -y --no-install-recommends chromium
find_browser
