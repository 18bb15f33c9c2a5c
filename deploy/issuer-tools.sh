#!/usr/bin/env bash
# Which identity provider do users sign in by in `make test-issuers`? That of npm's package oidc-provider.
# Installed once into a cache, in the version of its lock; `.venv/issuers` leads there.
set -euo pipefail
cd "$(dirname "$0")/.."

lock=tests/issuers/package-lock.json
cache=${XDG_CACHE_HOME:-$HOME/.cache}/leadclock/issuers-$(cat "$lock" "$0" | sha256sum | cut -c1-16)

if [ ! -f "$cache/complete" ]; then
    echo "Installing an identity provider into $cache; this takes some seconds, once."
    rm -rf "$cache"
    mkdir -p "$cache"
    cp tests/issuers/package.json "$lock" "$cache"
    (cd "$cache" && npm ci --ignore-scripts --no-audit --no-fund --silent)
    touch "$cache/complete"
fi
ln -sfn "$cache" .venv/issuers
