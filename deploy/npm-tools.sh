#!/usr/bin/env bash
# Where do programs of npm come from that stand in for somebody's server in tests? From the lock in the tests' folder.
#   deploy/npm-tools.sh FOLDER NAME WHAT
# Installed once into a cache, in the versions of that lock; `.venv/NAME` leads there.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1 name=$2 what=$3
lock=$folder/package-lock.json
cache=${XDG_CACHE_HOME:-$HOME/.cache}/leadclock/$name-$(cat "$lock" "$0" | sha256sum | cut -c1-16)

if [ ! -f "$cache/complete" ]; then
    echo "Installing $what into $cache; this takes some seconds, once."
    rm -rf "$cache"
    mkdir -p "$cache"
    cp "$folder/package.json" "$lock" "$cache"
    (cd "$cache" && npm ci --ignore-scripts --no-audit --no-fund --silent)
    touch "$cache/complete"
fi
ln -sfn "$cache" ".venv/$name"
