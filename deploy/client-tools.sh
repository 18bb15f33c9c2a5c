#!/usr/bin/env bash
# Which programs generate and compile clients of the API? openapi-python-client, openapi-typescript with the TypeScript compiler,
# and openapi-generator, a program in Java, for Go.
# Installed once into a cache, in the versions of their locks; `.venv/clients` leads there.
set -euo pipefail
cd "$(dirname "$0")/.."

generator=org.openapitools:openapi-generator-cli:7.14.0
generator_sha256=e03186835022ca02da4aa95e3967b6a3b6d44c2e5f7606e6d5c22466f519c757
locks=(deploy/requirements-clients.lock tests/clients/package-lock.json)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/leadclock/clients-$(cat "${locks[@]}" .venv/pyvenv.cfg "$0" | sha256sum | cut -c1-16)

if [ ! -f "$cache/complete" ]; then
    echo "Installing the client generators into $cache; this takes a minute, once."
    rm -rf "$cache"
    mkdir -p "$cache"
    .venv/bin/python -m venv "$cache/python"
    "$cache/python/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "${locks[0]}"
    cp tests/clients/package.json tests/clients/package-lock.json "$cache"
    (cd "$cache" && npm ci --ignore-scripts --no-audit --no-fund --silent)
    mvn --quiet --batch-mode dependency:copy -Dartifact="$generator" -DoutputDirectory="$cache" -Dmdep.stripVersion=true
    echo "$generator_sha256  $cache/openapi-generator-cli.jar" | sha256sum --check --quiet
    touch "$cache/complete"
fi
ln -sfn "$cache" .venv/clients
