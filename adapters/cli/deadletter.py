"""What was refused, why, and can it be sent again? Looks at `deadletter`, and redrives as new records linked to the old."""

from pathlib import Path
from typing import Any

import click
import msgspec

from adapters.cli.deployment import option, run, settings_of
from adapters.cli.failures import told
from adapters.roles.context import Context, open_context
from adapters.settings import Settings
from engine.partition.ports import Outgoing, Record
from schemas.topics import DEADLETTER

BATCH = 500
PREVIEW_BYTES = 200
RENEWED = frozenset({"ce_id", "ce_stream", "ce_number"})
"""A record that is sent again is another one: under its old id or number it would be refused as a repeat."""


@click.group()
def deadletter() -> None:
    """Look at refused records, or send them again."""


@deadletter.command(name="list")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="The newest so many.")
@option
@told
def list_(limit: int, data_dir: Path, as_json: bool) -> None:
    """List dead letters, oldest first."""
    rows = [_row(record) for record in run(_read(settings_of(data_dir)))][-limit:]
    if as_json:
        click.echo(msgspec.json.encode(rows))
        return
    for row in rows:
        click.echo(
            f"{row['at']:12} {row['code']:20} from {row['topic']}[{row['partition']}]@{row['offset']}: {row['detail']}"
        )
        click.echo(f"{'':12} {row['value']}")
    if not rows:
        click.echo("no dead letters")


@deadletter.command()
@click.argument("place")
@option
@told
def redrive(place: str, data_dir: Path, as_json: bool) -> None:
    """Send the dead letter at PARTITION:OFFSET to the topic that it came from, as a new record linked to it."""
    partition, _, offset = place.partition(":")
    if not (place.isascii() and partition.isdecimal() and offset.isdecimal()):
        raise click.BadParameter("give PARTITION:OFFSET, as `deadletter list` shows it")
    topic, new_offset = run(_redrive(settings_of(data_dir), int(partition), int(offset)))
    if as_json:
        click.echo(msgspec.json.encode({"topic": topic, "offset": new_offset}))
    else:
        click.echo(f"sent again to {topic} at offset {new_offset}")


async def _read(settings: Settings) -> list[Record]:
    async with open_context(settings) as context:
        return await _letters(context)


async def _letters(context: Context) -> list[Record]:
    topic = context.names.of(DEADLETTER.name)
    partitions = range(await context.log.partition_count(topic))
    reader = await context.log.reader(topic, partitions)
    try:
        ends = {partition: await reader.end(partition) for partition in partitions}
        found: list[Record] = []
        while any(reader.position(partition) < end for partition, end in ends.items()):
            found += await reader.poll(limit=BATCH, timeout_seconds=1.0)
        return sorted(found, key=lambda record: (record.appended_at, record.partition, record.offset))
    finally:
        await reader.close()


async def _redrive(settings: Settings, partition: int, offset: int) -> tuple[str, int]:
    async with open_context(settings) as context:
        wanted = [one for one in await _letters(context) if (one.partition, one.offset) == (partition, offset)]
        if not wanted:
            raise click.ClickException(f"there is no dead letter at {partition}:{offset}")
        [letter] = wanted
        headers = dict(letter.headers)
        topic, origin = headers["dl_topic"].decode(), int(headers["dl_partition"])
        kept = tuple((name, value) for name, value in letter.headers if not name.startswith("dl_") and name not in RENEWED)
        linked = (
            *kept,
            ("ce_id", f"redrive/{partition}/{offset}".encode()),
            ("dl_origin", f"{partition}:{offset}".encode()),
        )
        appender = await context.log.appender()
        try:
            [new_offset] = await appender.append(origin, [Outgoing(topic, letter.key, letter.value, linked)])
        finally:
            await appender.close()
        return topic, new_offset


def _row(record: Record) -> dict[str, Any]:
    headers = {name: value.decode(errors="replace") for name, value in record.headers}
    value = record.value or b""
    return {
        "at": f"{record.partition}:{record.offset}",
        "code": headers.get("dl_code", ""),
        "detail": headers.get("dl_detail", ""),
        "topic": headers.get("dl_topic", ""),
        "partition": headers.get("dl_partition", ""),
        "offset": headers.get("dl_offset", ""),
        "value": value[:PREVIEW_BYTES].decode(errors="replace") + ("…" if len(value) > PREVIEW_BYTES else ""),
    }
