"""Which programs check the kit? Those that deploy/kit-tools.sh installs; a test whose program is missing fails."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.roles.process import check
from adapters.settings import Settings, load

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "leadclock"
KUBERNETES = "1.34"

SECRETS = {
    "LEADCLOCK_POSTGRES_DSN": "postgresql://leadclock:x@db:5432/leadclock",
    "LEADCLOCK_SECRET_KEY": "0123456789abcdef0123456789abcdef",
    "LEADCLOCK_KAFKA_PASSWORD": "x",
    "LEADCLOCK_SMTP_PASSWORD": "x",
    "LEADCLOCK_RECORDINGS_SECRET_KEY": "x",
}
"""What an operator puts into secrets."""

Run = Callable[..., subprocess.CompletedProcess[str]]


def program(name: str) -> str:
    """Return where a program is."""
    found = shutil.which(name) or next((str(path) for path in CACHE.glob(f"{name}-*/{name}")), None)
    if found is None:
        pytest.fail(f"{name} is not installed: run `make test-kit`, which installs it", pytrace=False)
    return found


def run(name: str, *arguments: str | Path, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a program in the repository's root."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("LEADCLOCK_")}
    command = [program(name), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=own | dict(environ or {}), capture_output=True, text=True, check=False)


def rendered(*arguments: str | Path) -> list[dict[str, Any]]:
    """Return the manifests of the chart."""
    result = run("helm", "template", "crm", "deploy/chart", "--kube-version", KUBERNETES, *arguments)
    assert result.returncode == 0, result.stderr
    return [manifest for manifest in yaml.safe_load_all(result.stdout) if manifest]


def started(role: str, environ: Mapping[str, str]) -> Settings:
    """Return the settings with which a role would start. Raises `SettingsError` where it would refuse to."""
    settings = load(environ=dict(environ))
    check(role, settings)
    return settings
