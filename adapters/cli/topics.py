"""Are the topics there, and as they should be? Created where missing, compared where present, never altered."""

from pathlib import Path

import click
import msgspec

from adapters.cli.deployment import option, run, settings_of
from adapters.cli.failures import told
from adapters.kafka.topics import Drift
from adapters.roles.context import compare, open_context, prepare
from adapters.settings import Settings
from schemas.topics import TOPICS


@click.group()
def topics() -> None:
    """Create the topics, compare them, or list what they hold."""


@topics.command()
@click.option("--partitions", type=click.IntRange(1, 1024), help="Of every topic; fixed for good. [LEADCLOCK_PARTITIONS]")
@option
@told
def create(partitions: int | None, data_dir: Path, as_json: bool) -> None:
    """Create what is missing and compare the rest; exit 1 where something differs."""
    settings = settings_of(data_dir)
    if partitions is not None:
        settings = msgspec.structs.replace(settings, partitions=partitions)
    created, drifts = run(_create(settings))
    _show(list(created), list(drifts), as_json=as_json)


@topics.command()
@option
@told
def check(data_dir: Path, as_json: bool) -> None:
    """Compare the topics with what is needed and print what mends a difference; exit 1 where there is one."""
    _show([], run(_compare(settings_of(data_dir))), as_json=as_json)


@topics.command(name="list")
@option
@told
def list_(data_dir: Path, as_json: bool) -> None:  # noqa: ARG001 - the options of every command
    """List every topic, its key, and what it holds."""
    if as_json:
        click.echo(msgspec.json.encode(TOPICS))
        return
    for topic in TOPICS:
        click.echo(f"{topic.name:20} {topic.cleanup:8} key: {topic.key:22} {topic.content}")


async def _create(settings: Settings) -> tuple[list[str], list[Drift]]:
    async with open_context(settings) as context:
        created, drifts = await prepare(context)
        return list(created), list(drifts)


async def _compare(settings: Settings) -> list[Drift]:
    async with open_context(settings) as context:
        return list(await compare(context))


def _show(created: list[str], drifts: list[Drift], *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode({"created": created, "drifts": drifts}))
    else:
        for name in created:
            click.echo(f"created {name}")
        for drift in drifts:
            click.echo(f"{drift.topic}: {drift.setting} is {drift.found}, needed is {drift.wanted}\n  {drift.mend}")
        if not created and not drifts:
            click.echo("every topic is as it should be")
    if drifts:
        raise click.exceptions.Exit(1)
