"""Which deployment does a command talk to? The one in its settings, else the `up` that runs in the current folder."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click

from adapters.settings import Settings, SettingsError, load
from adapters.up.folder import DEFAULT, Running, running

T = TypeVar("T")

ID = click.IntRange(1, 2**53 - 1)
"""An internal id (contracts.md 3): the database holds no larger number."""


def option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--data-dir` (where to look for an `up`) and `--json` to a command."""
    command = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")(command)
    data_dir = click.Path(path_type=Path, file_okay=False)
    return click.option("--data-dir", type=data_dir, default=DEFAULT, help="Data folder of a running `leadclock up`.")(
        command
    )


def settings_of(data_dir: Path) -> Settings:
    """Return the settings of this process, or those of the `up` that runs in a folder. Raises `SettingsError`."""
    own = load()
    if own.kafka_bootstrap or own.postgres_dsn:
        return own
    return load(environ={**os.environ, **running_of(data_dir).environment})


def running_of(data_dir: Path) -> Running:
    """Return the `up` that runs in a folder; say so. Raises `SettingsError` where none runs."""
    found = running(data_dir)
    if found is None:
        raise SettingsError(
            f"no `leadclock up` runs in {data_dir}, and LEADCLOCK_KAFKA_BOOTSTRAP and LEADCLOCK_POSTGRES_DSN are not set; "
            "start one with `leadclock up`, or name its folder with --data-dir"
        )
    say_where(found)
    return found


def say_where(found: Running) -> None:
    """Tell on standard error which `up` is used; a script that reads JSON, perhaps of both streams, is not told."""
    context = click.get_current_context(silent=True)
    is_json = context is not None and bool(context.params.get("as_json"))
    if not is_json or sys.stderr.isatty():
        click.echo(f"(using the `up` at {found.api_url})", err=True)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run the work of a command."""
    return asyncio.run(work)
