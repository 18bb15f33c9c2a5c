"""Which deployment does a command use? That of its settings, or the `up` that runs in the current folder.

Where both are there, the command refuses until one is typed: `--deployment up`, `--deployment env` or `--data-dir`.
"""

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Literal, TypeVar

import click
import structlog
from click.core import ParameterSource

from adapters.settings import Settings, SettingsError, check_variables, database_location, load, require
from adapters.up.folder import DEFAULT, Running, running

T = TypeVar("T")

ID = click.IntRange(1, 2**53 - 1)
"""An internal id: the largest integer that JSON numbers hold exactly (RFC 8259, section 6)."""

Choice = Literal["up", "env"]
TYPED = "leadclock.deployment"
"""Key in click's context for the deployment that was typed."""


def option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--data-dir` (where to look for an `up`), `--deployment` and `--json` to a command."""
    command = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")(command)
    command = click.option(
        "--deployment",
        type=click.Choice(["up", "env"]),
        expose_value=False,
        callback=_remember,
        help="The `up` that runs here, or the settings of this shell; needed where there are both.",
    )(command)
    data_dir = click.Path(path_type=Path, file_okay=False)
    return click.option("--data-dir", type=data_dir, default=DEFAULT, help="Data folder of a running `leadclock up`.")(
        command
    )


def _remember(context: click.Context, _parameter: click.Parameter, value: Choice | None) -> None:
    typed = context.meta.get(TYPED)  # by --profile, which comes before the command
    if typed is not None and value not in {None, typed}:
        raise click.UsageError(f"--profile names a deployment, and --deployment {value} another: type one of them")
    context.meta[TYPED] = value or typed


BY_SETTINGS = "for a deployment that runs elsewhere, set LEADCLOCK_KAFKA_BOOTSTRAP and LEADCLOCK_POSTGRES_DSN"
BY_ADDRESS = "for a deployment that runs elsewhere, type --api with the address of its API, and --key"


def _typed() -> Choice | None:
    """Return the deployment that was typed: `--data-dir` names an `up` as well. Raises `click.UsageError`."""
    context = click.get_current_context()
    typed: Choice | None = context.meta.get(TYPED)
    if context.get_parameter_source("data_dir") is not ParameterSource.COMMANDLINE:
        return typed
    if typed == "env":
        raise click.UsageError(
            "--data-dir names an `up`, --deployment env and --profile another deployment: type one of them"
        )
    return "up"


def resolve_settings(data_dir: Path) -> Settings:
    """Return the settings of this shell, or those of the `up` that runs in a folder.

    Raises `SettingsError` where there is none, or both and none was typed.
    """
    check_variables()
    typed = _typed()
    if typed == "up":
        return load(environ=find_running(data_dir).environment)
    own = load()
    if typed == "env" and not _names_servers(own):
        require(own, "kafka_bootstrap", "postgres_dsn")
    if not _names_servers(own):
        return load(environ=find_running(data_dir, elsewhere=BY_SETTINGS).environment)
    found = running(data_dir) if typed is None else None
    if found is not None:
        raise _ambiguous(found, own, "Type --deployment up or --deployment env")
    return own


def _names_servers(settings: Settings) -> bool:
    return bool(settings.kafka_bootstrap or settings.postgres_dsn)


def _ambiguous(found: Running, own: Settings, cure: str) -> SettingsError:
    return SettingsError(
        f"two deployments are in reach: the `up` at {found.api_url} ({_place(found)}) and that of this shell "
        f"({_described(own)}). {cure}"
    )


def _place(found: Running) -> str:
    return "started here with --ephemeral" if found.ephemeral_in else found.data_folder


def _described(settings: Settings) -> str:
    """Return where the servers of settings are, without user and password."""
    parts = [f"broker {settings.kafka_bootstrap}"] if settings.kafka_bootstrap else []
    parts += [f"topics {settings.topic_prefix}*"] if settings.topic_prefix else []
    parts += [f"database {database_location(settings.postgres_dsn)}"] if settings.postgres_dsn else []
    return ", ".join(parts)


def find_running(data_dir: Path, *, elsewhere: str | None = None) -> Running:
    """Return the `up` that runs in a folder, and report it.

    Raises `SettingsError` where none runs, or the shell's settings are there as well and none was typed.

    `elsewhere` says how the command works with a deployment that is no `up`; None: not at all.
    """
    typed = _typed()
    if typed == "env":
        works = "this command works with an `up` only" if elsewhere is None else elsewhere
        raise click.UsageError(f"--deployment env has no effect on this command: {works}")
    found = running(data_dir)
    if found is None:
        only, other = (", and this command works with one only", "") if elsewhere is None else ("", f"; {elsewhere}")
        cure = "start one with `leadclock up`, or name its folder with --data-dir"
        raise SettingsError(f"no `leadclock up` runs in {data_dir}{only}: {cure}{other}")
    if typed is None and _names_servers(own := load()):
        raise _ambiguous(found, own, f"Type --deployment up{'' if elsewhere is None else f'; {elsewhere}'}")
    report_running(found)
    return found


def report_running(found: Running) -> None:
    """Report on standard error which `up` is used; not with `--json` in a script, which may read both streams."""
    context = click.get_current_context(silent=True)
    is_json = context is not None and bool(context.params.get("as_json"))
    if not is_json or sys.stderr.isatty():
        click.echo(f"(using the `up` at {found.api_url})", err=True)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run the work of a command. Logs go to standard error; standard output is for results alone.

    Silence the Kafka client's log: our own errors already report a broker that is away.
    """
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    return asyncio.run(work)
