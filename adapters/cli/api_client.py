"""How does a command speak with the HTTP API? By the address and the key of a running `up`, or by those that were typed.

The key is read from a file, as `leadclock keys create --json` writes it: a private key on the command line would be seen by
every process of the machine, and kept by the shell.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import httpx
import msgspec
from msgspec import Struct

from adapters.cli.deployment import find_running
from adapters.up.folder import load_keys

T = TypeVar("T")

TIMEOUT_SECONDS = 30.0
"""Longer than the API waits for a decision before it answers 202."""


class KeyFile(Struct, frozen=True):
    """What `leadclock keys create --json` writes, as far as it is needed here."""

    public_key: str
    private_key: str


key_option = click.option(
    "--key",
    "key_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="What `leadclock keys create --json` wrote.  [default: the demo company's]",
)
"""Adds `--key` to a command that speaks with the API of an `up`."""


def api_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--api` and `--key` to a command that speaks with the API."""
    api_url = click.option("--api", "api_url", help="Address of the API, with --key.  [default: that of the `up`]")
    return api_url(key_option(command))


def ask_api(
    ask: Callable[[httpx.AsyncClient], Awaitable[T]],
    *,
    api_url: str | None = None,
    key_file: Path | None,
    data_dir: Path,
    elsewhere: str | None = None,
) -> T:
    """Return what `ask` does with a client of the API. Raises `click.ClickException` where the API does not answer.

    `elsewhere`: see `find_running`.
    """
    if api_url is not None and key_file is None:
        raise click.UsageError("--api needs --key: a file that `leadclock keys create --json` wrote")
    if api_url is None:
        found = find_running(data_dir, elsewhere=elsewhere)
        base_url, data_dir = found.api_url, Path(found.data_folder)
    else:
        base_url = api_url
    auth = _demo_key(data_dir) if key_file is None else _read_key(key_file)

    async def asking() -> T:
        async with httpx.AsyncClient(base_url=base_url, auth=auth, timeout=TIMEOUT_SECONDS) as client:
            return await ask(client)

    try:
        return asyncio.run(asking())
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise click.ClickException(f"{base_url} does not answer: {error}") from error


def _demo_key(data_dir: Path) -> tuple[str, str]:
    keys = load_keys(data_dir)
    return keys.public_key, keys.private_key


def _read_key(key_file: Path) -> tuple[str, str]:
    try:
        key = msgspec.json.decode(key_file.read_bytes(), type=KeyFile)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        sentence = f"{key_file} holds no key; write it with `leadclock keys create --json`"
        raise click.BadParameter(sentence, param_hint="--key") from error
    return key.public_key, key.private_key
