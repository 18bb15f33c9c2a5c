"""What was refused, why, and can it be sent again? Lists `deadletter`, and redrives as new records linked to the old."""

from pathlib import Path
from typing import Any

import click
import msgspec

from adapters.cli.deployment import option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.identity_check import open_checked
from adapters.operator.dead_letters import DeadLetters, RedriveError, read_place, redrive_record, row_of
from adapters.roles.context import Context, open_context
from adapters.roles.identity import find_identity
from adapters.settings import Settings
from engine.partition.ports import LogRecord
from schemas.topics import DEADLETTER

BATCH = 500


@click.group()
def deadletter() -> None:
    """Look at refused records, or send them again."""


@deadletter.command(name="list")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="The newest so many.")
@option
@report_errors
def list_(limit: int, data_dir: Path, as_json: bool) -> None:
    """List dead letters, oldest first."""
    rows = [_row(record) for record in run(_read(resolve_settings(data_dir)))][-limit:]
    if as_json:
        click.echo(msgspec.json.encode(rows))
        return
    for row in rows:
        place = f"@{row['offset']}" if row["offset"] else f"#{row['sequence']}"
        click.echo(f"{row['at']:12} {row['code']:20} from {row['topic']}[{row['partition']}]{place}: {row['detail']}")
        if row["size"]:
            click.echo(f"{'':12} (the beginning of {row['size']} bytes; the rest is where it came from, until retention)")
        click.echo(f"{'':12} {row['value']}")
    if not rows:
        click.echo("no dead letters")


@deadletter.command()
@click.argument("place")
@option
@report_errors
def redrive(place: str, data_dir: Path, as_json: bool) -> None:
    """Send the dead letter at PARTITION:OFFSET to the topic that it came from, as a new record linked to it.

    Where only the beginning of a large record was kept, the whole is read from its original topic.
    """
    found = read_place(place)
    if found is None:
        raise click.BadParameter("give PARTITION:OFFSET, as `deadletter list` shows it")
    topic, new_offset = run(_redrive(resolve_settings(data_dir), *found))
    if as_json:
        click.echo(msgspec.json.encode({"topic": topic, "offset": new_offset}))
    else:
        click.echo(f"sent again to {topic} at offset {new_offset}")


async def _read(settings: Settings) -> list[LogRecord]:
    async with open_context(settings) as context:
        await find_identity(context)  # refuses the topics of another development version
        return await _read_dead_letters(context)


async def _read_dead_letters(context: Context) -> list[LogRecord]:
    topic = context.names.of(DEADLETTER.name)
    partitions = range(await context.log.partition_count(topic))
    reader = await context.log.reader(topic, partitions)
    try:
        ends = {partition: await reader.end(partition) for partition in partitions}
        found: list[LogRecord] = []
        while any(reader.position(partition) < end for partition, end in ends.items()):
            found += await reader.poll(limit=BATCH, timeout_seconds=1.0)
        return sorted(found, key=lambda record: (record.appended_at, record.partition, record.offset))
    finally:
        await reader.close()


async def _redrive(settings: Settings, partition: int, offset: int) -> tuple[str, int]:
    async with open_checked(settings) as context:
        found = await DeadLetters(context.log, context.names.of(DEADLETTER.name)).one(partition, offset)
        if found is None:
            raise RedriveError(f"there is no dead letter at {partition}:{offset}")
        return await redrive_record(context.log, found)


def _row(record: LogRecord) -> dict[str, Any]:
    """Return a row under the names that scripts know."""
    row = row_of(record)
    names = ("code", "detail", "topic", "partition", "offset", "sequence", "size", "digest", "value")
    return {"at": row["id"], **{name: row[name] for name in names}}
