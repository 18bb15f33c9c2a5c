#!/usr/bin/env bash
# Which programs do the tests of the deployment kit run? helm, promtool, docker-compose, systemd-analyze, hadolint.
# Installs what is missing: Debian's packages (as root), Go's module of helm into a cache, two Python packages into .venv.
set -euo pipefail
cd "$(dirname "$0")/.."

helm_version=v3.22.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/leadclock/helm-$helm_version

packages=()
command -v promtool >/dev/null || packages+=(prometheus)
command -v docker-compose >/dev/null || packages+=(docker-compose)
command -v systemd-analyze >/dev/null || packages+=(systemd)
if [ ${#packages[@]} -gt 0 ]; then
    echo "Installing Debian's ${packages[*]}."
    apt-get update -qq
    # Installed, not started: only promtool is needed of prometheus.
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
fi

if [ ! -x "$cache/helm" ]; then
    echo "Building helm $helm_version into $cache; this takes two minutes, once."
    GOBIN=$cache CGO_ENABLED=0 GOFLAGS=-trimpath go install "helm.sh/helm/v3/cmd/helm@$helm_version"
fi

.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r deploy/requirements-kit.lock
