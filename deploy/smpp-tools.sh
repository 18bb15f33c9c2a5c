#!/usr/bin/env bash
# Which program plays the carrier of texts in `make test-providers`? The SMPP server of npm's package smpp.
# Installed once into a cache, in the version of its lock; `.venv/smpp-server` leads there.
set -euo pipefail
cd "$(dirname "$0")/.."

lock=tests/providers/package-lock.json
cache=${XDG_CACHE_HOME:-$HOME/.cache}/leadclock/smpp-server-$(cat "$lock" "$0" | sha256sum | cut -c1-16)

if [ ! -f "$cache/complete" ]; then
    echo "Installing an SMPP server into $cache; this takes some seconds, once."
    rm -rf "$cache"
    mkdir -p "$cache"
    cp tests/providers/package.json "$lock" "$cache"
    (cd "$cache" && npm ci --ignore-scripts --no-audit --no-fund --silent)
    touch "$cache/complete"
fi
ln -sfn "$cache" .venv/smpp-server
