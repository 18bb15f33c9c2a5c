#!/usr/bin/env bash
# How does a fresh checkout become one that runs? A virtual environment with the pinned packages, then Kafka's jars.
# Repeatable: a stamp inside the environment names what it was made from, so a second run does nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
. deploy/python.sh

wanted_python=${1:-}
venv=.venv
stamp=$venv/.installed-from

python_of() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true; }

sources() { python_of "$venv/bin/python"; cksum deploy/requirements-dev.lock pyproject.toml; }

# Scripts in an environment name their interpreter by its full path, so one that was moved here does not run.
is_at_home() { head -2 "$venv/bin/pip" 2>/dev/null | grep -qF "$(pwd)/$venv/bin/"; }

is_of_the_wanted_python() {
    [ -z "$wanted_python" ] || [ "$(python_of "$wanted_python")" = "$(python_of "$venv/bin/python")" ]
}

is_current() {
    is_at_home && is_of_the_wanted_python && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(sources)" ]
}

make_environment() {
    local python
    python=$(fitting_python "$wanted_python")
    "$python" -m venv --clear "$venv" || {
        echo "$python cannot make a virtual environment; install its venv module (Debian: python3-venv) or choose another with PYTHON=." >&2
        exit 1
    }
}

install() {
    is_at_home && is_of_the_wanted_python || make_environment
    echo "Installing the pinned packages into $venv with Python $(python_of "$venv/bin/python"); this takes about a minute."
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r deploy/requirements-dev.lock
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable '.[local]'
    # Each process would else compile what it imports, wherever compiled modules are not written (PYTHONDONTWRITEBYTECODE).
    "$venv/bin/python" -m compileall -q -j 0 adapters engine schemas
    sources >"$stamp"
}

is_current || install
# Never fails: without a broker of its own leadclock still runs, and this says so in one sentence.
"$venv/bin/python" -m adapters.local.jars
"$venv/bin/python" -m adapters.local.class_archive
