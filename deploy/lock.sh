#!/usr/bin/env bash
# What exactly gets installed? Every package with its version and hashes, for Python 3.11 and newer on every system.
# The product's lock serves images, with the extras `s3` and `tracing`, which are loaded only where they are set; the other adds the
# extra `local` and what developing needs. Both hold what an editable build needs.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/python.sh

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"$(fitting_python "${1:-}")" -m venv "$tools"
"$tools/bin/python" -m pip install --quiet --disable-pip-version-check uv

compile() {
    printf 'hatchling>=1.27\neditables\n' |
        UV_NO_CONFIG=1 UV_PYTHON_DOWNLOADS=never "$tools/bin/uv" pip compile --quiet --universal --python-version 3.11 \
            --generate-hashes --no-emit-index-url --no-annotate --no-header pyproject.toml - "$@"
}

compile --extra local --extra s3 --extra tracing --group dev --output-file deploy/requirements-dev.lock
# The product's pins are those that were tested: the developers' lock is its constraint.
compile --extra s3 --extra tracing --constraint deploy/requirements-dev.lock --output-file deploy/requirements.lock

# What `make test-kit` adds to a developer's environment, in the versions that fit it.
UV_NO_CONFIG=1 UV_PYTHON_DOWNLOADS=never "$tools/bin/uv" pip compile --quiet --universal --python-version 3.11 \
    --generate-hashes --no-emit-index-url --no-annotate --no-header --constraint deploy/requirements-dev.lock \
    --group kit --output-file deploy/requirements-kit.lock

# What `make test-clients` generates a client with, in an environment of its own: its pins need not fit ours.
UV_NO_CONFIG=1 UV_PYTHON_DOWNLOADS=never "$tools/bin/uv" pip compile --quiet --universal --python-version 3.11 \
    --generate-hashes --no-emit-index-url --no-annotate --no-header \
    --group clients --output-file deploy/requirements-clients.lock
