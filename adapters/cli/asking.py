"""How is an `up` asked whose log no other process can read? As everybody outside asks: over HTTP, with the demo key."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import httpx

from adapters.settings import load
from adapters.up.folder import Running, keys_of, running

TIMEOUT_SECONDS = 60.0
"""As long as a forecast of the most leads may take."""


def embedded(data_dir: Path) -> Running | None:
    """Return the `up` of a folder where it uses the embedded log and this process has no settings of its own, else None."""
    own = load()
    if own.kafka_bootstrap or own.postgres_dsn:
        return None
    found = running(data_dir)
    return found if found is not None and found.embedded else None


def get(found: Running, data_dir: Path, path: str, **query: str) -> dict[str, Any]:
    """Return the answer of an `up` to a question about its demo company. Raises `click.ClickException`."""
    keys = keys_of(data_dir)
    url = f"{found.api_url}{path}"
    try:
        answer = httpx.get(url, params=query, auth=(keys.public_key, keys.private_key), timeout=TIMEOUT_SECONDS)
    except httpx.HTTPError as error:
        raise click.ClickException(f"{found.api_url} does not answer: {error}") from error
    content: Mapping[str, Any] = answer.json()
    if answer.is_error:
        raise click.ClickException(f"{content.get('title')}. {content.get('detail')}")
    return dict(content)
