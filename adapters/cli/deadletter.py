"""What was refused, why, and can it be sent again? Lists `deadletter`, and redrives as new records linked to the old."""

from pathlib import Path
from typing import Any

import click
import msgspec

from adapters.cli.deployment import option, resolve_settings, run
from adapters.cli.failures import report_errors
from adapters.cli.identity_check import open_checked
from adapters.roles.context import Context, open_context
from adapters.settings import Settings
from engine.partition.deadletters import ORIGIN, PREFIX, digest_of, is_excerpt
from engine.partition.ports import Log, LogRecord, Outgoing, RecordRefusedError
from schemas.topics import DEADLETTER

BATCH = 500
PREVIEW_BYTES = 200
RENEWED = frozenset({"ce_id", "ce_stream", "ce_number"})
"""Headers that a redriven record does not keep: with its old id or number it would be refused as a repeat."""


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
    partition, _, offset = place.partition(":")
    if not (place.isascii() and partition.isdecimal() and offset.isdecimal()):
        raise click.BadParameter("give PARTITION:OFFSET, as `deadletter list` shows it")
    topic, new_offset = run(_redrive(resolve_settings(data_dir), int(partition), int(offset)))
    if as_json:
        click.echo(msgspec.json.encode({"topic": topic, "offset": new_offset}))
    else:
        click.echo(f"sent again to {topic} at offset {new_offset}")


async def _read(settings: Settings) -> list[LogRecord]:
    async with open_context(settings) as context:
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
        wanted = [one for one in await _read_dead_letters(context) if (one.partition, one.offset) == (partition, offset)]
        if not wanted:
            raise click.ClickException(f"there is no dead letter at {partition}:{offset}")
        return await redrive_record(context.log, wanted[0])


async def redrive_record(log: Log, dead_letter: LogRecord) -> tuple[str, int]:
    """Append the record of a dead letter to its topic; return the topic and the offset. Raises `click.ClickException`."""
    headers = dict(dead_letter.headers)
    topic, partition = headers["dl_topic"].decode(), int(headers["dl_partition"])
    if "dl_sequence" in headers:
        raise click.ClickException(
            f"decision {headers['dl_sequence'].decode()} of {topic}[{partition}] failed on a timer, which has no record. "
            "A lead that waits is tried again by itself; one that ended can be started again over the API."
        )
    record = await _origin(log, dead_letter) if is_excerpt(dead_letter.headers) else dead_letter
    kept = (header for header in record.headers if not header[0].startswith(PREFIX) and header[0] not in RENEWED)
    place = f"{dead_letter.partition}:{dead_letter.offset}".encode()
    linked = (*kept, ("ce_id", b"redrive/%d/%d" % (dead_letter.partition, dead_letter.offset)), (ORIGIN, place))
    appender = await log.appender()
    try:
        [offset] = await appender.append(partition, [Outgoing(topic, record.key, record.value, linked)])
    except RecordRefusedError as error:
        raise click.ClickException(f"{topic} does not take the record: {error}; shorten it and resend it") from error
    finally:
        await appender.close()
    return topic, offset


async def _origin(log: Log, dead_letter: LogRecord) -> LogRecord:
    """Return the whole record that a dead letter excerpts. Raises `click.ClickException` where it is gone."""
    headers = dict(dead_letter.headers)
    topic, partition, offset = headers["dl_topic"].decode(), int(headers["dl_partition"]), int(headers["dl_offset"])
    reader = await log.reader(topic, [partition], start=max(0, offset))
    try:
        start, end = await reader.start(partition), await reader.end(partition)
        while reader.position(partition) < min(end, offset + 1):
            for record in await reader.poll(limit=1, timeout_seconds=1.0):
                if record.offset == offset and digest_of(record) == headers["dl_digest"].decode():
                    return record
    finally:
        await reader.close()
    size = headers["dl_size"].decode()
    raise click.ClickException(
        f"the record is gone: only the beginning of its {size} bytes was kept, and {topic}[{partition}] does not hold "
        f"offset {offset} any more (it starts at {start})"
    )


def _row(record: LogRecord) -> dict[str, Any]:
    headers = {name: value.decode(errors="replace") for name, value in record.headers}
    value = record.value or b""
    return {
        "at": f"{record.partition}:{record.offset}",
        "code": headers.get("dl_code", ""),
        "detail": headers.get("dl_detail", ""),
        "topic": headers.get("dl_topic", ""),
        "partition": headers.get("dl_partition", ""),
        "offset": headers.get("dl_offset", ""),
        "sequence": headers.get("dl_sequence", ""),
        "size": headers.get("dl_size", ""),
        "digest": headers.get("dl_digest", ""),
        "value": value[:PREVIEW_BYTES].decode(errors="replace") + ("…" if len(value) > PREVIEW_BYTES else ""),
    }
