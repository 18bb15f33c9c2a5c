"""How is one role run as a process of its own? With settings from flags, variables or a file, until SIGTERM or Ctrl-C."""

import asyncio
from pathlib import Path
from typing import Any

import click

from adapters.cli.failures import report_errors
from adapters.roles.process import run_role
from adapters.settings import CHANNELS, SANDBOX_CHANNELS, load

OPTIONS = [
    click.option("--config", type=click.Path(path_type=Path, exists=True), help="A TOML file of settings."),
    click.option("--kafka-bootstrap", help="host:port of a broker. [LEADCLOCK_KAFKA_BOOTSTRAP]"),
    click.option("--postgres-dsn", help="The database; better given as variable or file. [LEADCLOCK_POSTGRES_DSN]"),
    click.option("--topic-prefix", help="Before every topic name. [LEADCLOCK_TOPIC_PREFIX]"),
    click.option("--state-dir", help="Folder for snapshots. [LEADCLOCK_STATE_DIR]"),
    click.option("--health-port", type=int, help="Port of /livez, /readyz, /startupz, /metrics. [LEADCLOCK_HEALTH_PORT]"),
    click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="[LEADCLOCK_LOG_LEVEL]"),
]


class ChannelNames(click.ParamType[tuple[str, ...]]):
    """Names of channels, separated by commas; refuses none and unknown ones."""

    name = "names"

    def __init__(self, known: tuple[str, ...]) -> None:
        self._known = known

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002 - click asks so
        """Return what stands for the value in the help."""
        return ",".join(self._known)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return the names. Fails with those that are known."""
        names = tuple(dict.fromkeys(name.strip() for name in str(value).split(",")))
        if not all(name in self._known for name in names):
            self.fail(f"name channels, of {','.join(self._known)}", param, ctx)
        return names


class ProviderNames(click.ParamType[tuple[str, ...]]):
    """Names of providers, separated by commas; the gateway refuses those that are not installed."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:  # noqa: ARG002
        """Return the names."""
        return tuple(dict.fromkeys(name.strip() for name in str(value).split(",") if name.strip()))


CHANNEL_OPTIONS = [
    click.option(
        "--providers", type=ProviderNames(), help="Installed providers to use for calls and texts. [LEADCLOCK_PROVIDERS]",
    ),
    click.option(
        "--channels", type=ChannelNames(CHANNELS), is_flag=False, flag_value="",
        help="What this process serves; each channel needs a provider.  [default: all] [LEADCLOCK_CHANNELS]",
    ),
    click.option(
        "--sandbox", type=ChannelNames(SANDBOX_CHANNELS), is_flag=False, flag_value="",
        help="Serve these by the sandbox, which reaches no one. [LEADCLOCK_SANDBOX]",
    ),
]  # fmt: skip
HTTP_OPTIONS = [
    click.option("--http-host", help="Address to listen on. [LEADCLOCK_HTTP_HOST]"),
    click.option("--http-port", type=int, help="Port to listen on. [LEADCLOCK_HTTP_PORT]"),
]


def _command(name: str, sentence: str, *, options: list[Any]) -> click.Command:
    @report_errors
    def run(config: Path | None, **flags: Any) -> None:
        asyncio.run(run_role(name, load(flags, file=config)))

    run.__doc__ = f"{sentence}\n\nEvery setting can be a LEADCLOCK_… variable or stand in the TOML file given by --config."
    command: Any = run
    for option in reversed(options):
        command = option(command)
    return click.command(name)(command)


api = _command("api", "Run the HTTP interface.", options=OPTIONS + HTTP_OPTIONS)
intake = _command("intake", "Pass on what producers put into leads.inbox and leads.inbox.bulk.", options=OPTIONS)
scheduler = _command("scheduler", "Decide on leads: own partitions of contacts.requests.", options=OPTIONS)
accounts = _command("accounts", "Decide on account records and slots.", options=OPTIONS)
projector = _command("projector", "Write the read schema from the decisions.", options=OPTIONS)
deliverer = _command("deliverer", "Post events to subscriptions.", options=OPTIONS)
gateway = _command("gateway", "Carry out commands on the channels that it serves.", options=OPTIONS + CHANNEL_OPTIONS)
