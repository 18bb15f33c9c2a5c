"""Was everything decided by the rules? `leadclock audit verify` decides every recorded input again."""

from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from adapters.audit.verify import Verified
from adapters.audit.verify import verify as verify_partition
from adapters.cli.deployment import option, run, settings_of
from adapters.cli.failures import told
from adapters.roles.context import Context, open_context
from adapters.settings import Settings
from engine.account.aggregate import AccountAggregate
from engine.contact.aggregate import ContactAggregate
from engine.partition.aggregate import Aggregate


@click.group()
def audit() -> None:
    """Prove what was decided."""


@audit.command()
@click.option("--partition", type=click.IntRange(0), multiple=True, help="Only this one; may be repeated.")
@option
@told
def verify(partition: tuple[int, ...], data_dir: Path, as_json: bool) -> None:
    """Decide every recorded input again and compare the bytes and the hash chain; exit 1 with the first difference."""
    results = run(_verify(settings_of(data_dir), partition))
    if as_json:
        click.echo(msgspec.json.encode(results))
    else:
        _print(results)
    if any(result.difference is not None for result in results):
        raise click.exceptions.Exit(1)


async def _verify(settings: Settings, wanted: tuple[int, ...]) -> list[Verified]:
    async with open_context(settings) as context:
        await context.rules.refresh()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            aggregates: list[Aggregate] = [AccountAggregate(), ContactAggregate()]
            places = [(aggregate, partition) for aggregate in aggregates for partition in await _held(context, aggregate)]
            unknown = sorted({*wanted} - {partition for _, partition in places})
            if unknown:
                raise click.BadParameter(f"there is no partition {unknown[0]}", param_hint="--partition")
            return [
                await _partition(context, aggregate, partition, progress)
                for aggregate, partition in places
                if not wanted or partition in wanted
            ]


async def _held(context: Context, aggregate: Aggregate) -> range:
    return range(await context.log.partition_count(context.names.of(aggregate.decisions_topic.name)))


async def _partition(context: Context, aggregate: Aggregate, partition: int, progress: Progress) -> Verified:
    task = progress.add_task(f"{aggregate.decisions_topic.name}[{partition}]", total=None)
    rules = context.rules.entries if isinstance(aggregate, ContactAggregate) else ()
    return await verify_partition(
        context.log,
        context.names,
        aggregate,
        partition,
        rules,
        progress=lambda count: progress.advance(task, count),
    )


def _print(results: list[Verified]) -> None:
    for result in results:
        verdict = "verified" if result.difference is None else "DIFFERS"
        click.echo(f"{result.topic}[{result.partition}]  {result.decisions} decisions, {result.keys} values: {verdict}")
        if result.difference is not None:
            found = result.difference
            click.echo(f"  offset {found.offset}, decision {found.sequence}: {found.what}")
            click.echo(f"  recorded: {found.recorded!r}\n  decided:  {found.decided!r}")
    total = sum(result.decisions for result in results)
    if all(result.difference is None for result in results):
        click.echo(f"all {total} decisions are what this code decides on the recorded inputs")
