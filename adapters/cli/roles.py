"""How is one role run as a process of its own? With settings from flags, variables or a file, until SIGTERM or Ctrl-C."""

import asyncio
from pathlib import Path
from typing import Any

import click

from adapters.cli.failures import told
from adapters.roles.process import run_role
from adapters.settings import load

OPTIONS = [
    click.option("--config", type=click.Path(path_type=Path, exists=True), help="A TOML file of settings."),
    click.option("--kafka-bootstrap", help="host:port of a broker. [LEADCLOCK_KAFKA_BOOTSTRAP]"),
    click.option("--postgres-dsn", help="The database; better given as variable or file. [LEADCLOCK_POSTGRES_DSN]"),
    click.option("--topic-prefix", help="Before every topic name. [LEADCLOCK_TOPIC_PREFIX]"),
    click.option("--state-dir", help="Folder for snapshots. [LEADCLOCK_STATE_DIR]"),
    click.option("--health-port", type=int, help="Port of /livez, /readyz and /metrics. [LEADCLOCK_HEALTH_PORT]"),
    click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="[LEADCLOCK_LOG_LEVEL]"),
]
HTTP_OPTIONS = [
    click.option("--http-host", help="Address to listen on. [LEADCLOCK_HTTP_HOST]"),
    click.option("--http-port", type=int, help="Port to listen on. [LEADCLOCK_HTTP_PORT]"),
]


def _command(name: str, sentence: str, *, options: list[Any]) -> click.Command:
    @told
    def run(config: Path | None, **flags: Any) -> None:
        asyncio.run(run_role(name, load(flags, file=config)))

    run.__doc__ = f"{sentence}\n\nEvery setting can be a LEADCLOCK_… variable or stand in the TOML file given by --config."
    command: Any = run
    for option in reversed(options):
        command = option(command)
    return click.command(name)(command)


api = _command("api", "Run the HTTP interface.", options=OPTIONS + HTTP_OPTIONS)
intake = _command("intake", "Pass on what producers put into leads.inbox.", options=OPTIONS)
scheduler = _command("scheduler", "Decide on leads: own partitions of contacts.requests.", options=OPTIONS)
accounts = _command("accounts", "Decide on account records and slots.", options=OPTIONS)
projector = _command("projector", "Write the read schema from the decisions.", options=OPTIONS)
gateway = _command("gateway", "Carry out commands on every channel.", options=OPTIONS)
