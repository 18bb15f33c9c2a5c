#!/usr/bin/env bash
# Which programs generate and compile clients of the API? openapi-python-client, openapi-typescript and the TypeScript compiler.
# Installed once into a cache, in the versions of their locks; `.venv/clients` leads there.
set -euo pipefail
cd "$(dirname "$0")/.."

locks=(deploy/requirements-clients.lock tests/clients/package-lock.json)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/leadclock/clients-$(cat "${locks[@]}" .venv/pyvenv.cfg | sha256sum | cut -c1-16)

if [ ! -f "$cache/complete" ]; then
    echo "Installing the client generators into $cache; this takes a minute, once."
    rm -rf "$cache"
    mkdir -p "$cache"
    .venv/bin/python -m venv "$cache/python"
    "$cache/python/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "${locks[0]}"
    cp tests/clients/package.json tests/clients/package-lock.json "$cache"
    (cd "$cache" && npm ci --ignore-scripts --no-audit --no-fund --silent)
    touch "$cache/complete"
fi
ln -sfn "$cache" .venv/clients
