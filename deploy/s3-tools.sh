#!/usr/bin/env bash
# Which S3 server do the tests of recordings store in? Versity's gateway over a folder, which checks signatures as S3 does.
# Built once into a cache, in a version whose modules Go's checksum database knows; `.venv/s3-server` leads there.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v1.8.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/leadclock/versitygw-$version

if [ ! -x "$cache/versitygw" ]; then
    if ! command -v go >/dev/null; then
        echo "Install Go (Debian: golang-go), which builds the S3 server of the tests." >&2
        exit 1
    fi
    echo "Building versitygw $version into $cache; this takes two minutes, once."
    GOBIN=$cache CGO_ENABLED=0 GOFLAGS=-trimpath go install "github.com/versity/versitygw/cmd/versitygw@$version"
fi
ln -sfn "$cache" .venv/s3-server
