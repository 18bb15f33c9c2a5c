"""Which records were refused, and how is one sent again? Read newest first; redriven as a new record linked to the old.

A redriven record is named by its dead letter, and by the new content where that was edited. So the same redrive twice is a
repeat, which its receiver refuses; the dead letter itself stays as it was.
"""

from collections.abc import Callable, Collection, Mapping
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import structs

from engine.partition.deadletters import ORIGIN, PREFIX, digest_of, is_excerpt
from engine.partition.ports import Log, LogError, LogRecord, Outgoing, Reader, RecordRefusedError
from schemas.errors import SenderError
from schemas.instant import Instant, to_rfc3339
from schemas.topics import DEADLETTER
from schemas.wire import digest

BATCH = 20
"""Dead letters of one poll: 40 MB where each is as large as it can be."""

PREVIEW_BYTES = 200
RENEWED = frozenset({"ce_id", "ce_stream", "ce_number"})
"""Headers that a redriven record does not keep: with its old id or number it would be refused as a repeat."""

OFFSETS_EACH = 2
"""Offsets of a dead letter: its own, and that of the control record that ends its transaction."""

POLL_SECONDS = 1.0
STALLS_MAX = 10
"""Empty polls in a row, after which the log is said not to answer."""

DIGEST_LENGTH = 16


class RedriveError(SenderError):
    """This dead letter cannot be sent again; `str(error)` says why."""


class DeadLetters:
    """The dead letters of a deployment; `topic` is the name of `deadletter` with its prefix."""

    def __init__(self, log: Log, topic: str = DEADLETTER.name) -> None:
        self._log = log
        self._topic = topic

    async def newest(
        self, limit: int, *, partition: int | None = None, before: int | None = None
    ) -> tuple[list[dict[str, Any]], dict[int, int]]:
        """Return rows of the newest dead letters, newest first, and from which offset on each partition was read.

        With `partition` only of that one, and with `before` only those before an offset. Raises `LogError`.
        """
        count = await self._log.partition_count(self._topic)
        numbers = [number for number in range(count) if partition in {None, number}]
        if not numbers:
            return [], {}
        reader = await self._log.reader(self._topic, numbers)
        try:
            ends = {number: await reader.end(number) for number in numbers}
            if before is not None:
                ends = {number: min(end, before) for number, end in ends.items()}
            begins = {}
            for number, end in ends.items():
                begins[number] = min(end, max(await reader.start(number), end - OFFSETS_EACH * limit))
                await reader.seek(number, begins[number])
            found: list[tuple[tuple[Instant, int, int], dict[str, Any]]] = []

            def note(record: LogRecord) -> None:
                if record.offset < ends[record.partition]:
                    # Not the record: its bytes are let go.
                    found.append(((record.appended_at, record.partition, record.offset), row_of(record)))

            await _read_to(reader, ends, note)
        finally:
            await reader.close()
        found.sort(key=itemgetter(0))
        return [row for _, row in reversed(found[-limit:])], begins

    async def one(self, partition: int, offset: int) -> LogRecord | None:
        """Return the dead letter at an offset, or None. Raises `LogError`."""
        if partition >= await self._log.partition_count(self._topic):
            return None
        reader = await self._log.reader(self._topic, [partition])
        try:
            end = await reader.end(partition)
            if not await reader.start(partition) <= offset < end:
                return None
            await reader.seek(partition, offset)
            found: list[LogRecord] = []
            await _read_to(reader, {partition: offset + 1}, found.append, batch=1)
            return next((record for record in found if record.offset == offset), None)
        finally:
            await reader.close()


async def _read_to(
    reader: Reader, ends: Mapping[int, int], note: Callable[[LogRecord], None], *, batch: int = BATCH
) -> None:
    """Read up to an offset in each partition. Raises `LogError` where the log stays silent."""
    stalls = 0
    while any(reader.position(partition) < end for partition, end in ends.items()):
        records = await reader.poll(limit=batch, timeout_seconds=POLL_SECONDS)
        for record in records:
            note(record)
        stalls = 0 if records else stalls + 1
        if stalls > STALLS_MAX:
            raise LogError("the log does not answer", retryable=True)


async def redrive_record(
    log: Log, dead_letter: LogRecord, *, value: bytes | None = None, to: Collection[str] | None = None
) -> tuple[str, int]:
    """Append the record of a dead letter to its topic; return the topic and the offset.

    `value` replaces what the record held. `to` names the topics that may be written to, None all. Raises `RedriveError`,
    `LogError`.
    """
    headers = dict(dead_letter.headers)
    topic, partition = headers["dl_topic"].decode(), int(headers["dl_partition"])
    if "dl_sequence" in headers:
        raise RedriveError(
            f"decision {headers['dl_sequence'].decode()} of {topic}[{partition}] failed on a timer, which has no record. "
            "A lead that waits is tried again by itself; one that ended can be started again over the API."
        )
    if to is not None and topic not in to:
        raise RedriveError(
            f"this process may not write to {topic}; type `leadclock deadletter redrive "
            f"{dead_letter.partition}:{dead_letter.offset}`"
        )
    record = await _origin(log, dead_letter) if is_excerpt(dead_letter.headers) else dead_letter
    if value is not None:
        record = structs.replace(record, value=value)
    appender = await log.appender()
    try:
        [offset] = await appender.append(partition, [_linked(topic, record, dead_letter, value)])
    except RecordRefusedError as error:
        raise RedriveError(f"{topic} does not take the record: {error}; shorten it and resend it") from error
    finally:
        await appender.close()
    return topic, offset


def _linked(topic: str, record: LogRecord, dead_letter: LogRecord, value: bytes | None) -> Outgoing:
    kept = (header for header in record.headers if not header[0].startswith(PREFIX) and header[0] not in RENEWED)
    edited = "" if value is None else f"/{digest(value)[:DIGEST_LENGTH]}"
    name = f"redrive/{dead_letter.partition}/{dead_letter.offset}{edited}"
    place = f"{dead_letter.partition}:{dead_letter.offset}"
    return Outgoing(topic, record.key, record.value, (*kept, ("ce_id", name.encode()), (ORIGIN, place.encode())))


async def _origin(log: Log, dead_letter: LogRecord) -> LogRecord:
    """Return the whole record that a dead letter excerpts. Raises `RedriveError` where it is gone."""
    headers = dict(dead_letter.headers)
    topic, partition, offset = headers["dl_topic"].decode(), int(headers["dl_partition"]), int(headers["dl_offset"])
    reader = await log.reader(topic, [partition], start=max(0, offset))
    try:
        start, end = await reader.start(partition), await reader.end(partition)
        while reader.position(partition) < min(end, offset + 1):
            for record in await reader.poll(limit=1, timeout_seconds=POLL_SECONDS):
                if record.offset == offset and digest_of(record) == headers["dl_digest"].decode():
                    return record
    finally:
        await reader.close()
    size = headers["dl_size"].decode()
    raise RedriveError(
        f"the record is gone: only the beginning of its {size} bytes was kept, and {topic}[{partition}] does not hold "
        f"offset {offset} any more (it starts at {start})"
    )


def row_of(record: LogRecord) -> dict[str, Any]:
    """Return what a list shows of a dead letter: why, from where, and the beginning of its value."""
    headers = {name: value.decode(errors="replace") for name, value in record.headers}
    value = record.value or b""
    return {
        "id": f"{record.partition}:{record.offset}",
        "appended_at": to_rfc3339(record.appended_at),
        "code": headers.get("dl_code", ""),
        "detail": headers.get("dl_detail", ""),
        "topic": headers.get("dl_topic", ""),
        "partition": headers.get("dl_partition", ""),
        "offset": headers.get("dl_offset", ""),
        "sequence": headers.get("dl_sequence", ""),
        "size": headers.get("dl_size", ""),
        "digest": headers.get("dl_digest", ""),
        "origin": headers.get(ORIGIN, ""),
        "value": value[:PREVIEW_BYTES].decode(errors="replace") + ("…" if len(value) > PREVIEW_BYTES else ""),
    }


def whole_row_of(record: LogRecord) -> dict[str, Any]:
    """Return everything of a dead letter, with all that was kept of its key, value and headers, as text."""
    key = None if record.key is None else record.key.decode(errors="replace")
    value = None if record.value is None else record.value.decode(errors="replace")
    headers = [{"name": name, "value": held.decode(errors="replace")} for name, held in record.headers]
    return {**row_of(record), "key": key, "value": value, "headers": headers}


def read_place(text: str) -> tuple[int, int] | None:
    """Return partition and offset of `3:17`, or None where the text is no such place."""
    partition, _, offset = text.partition(":")
    is_place = text.isascii() and partition.isdecimal() and offset.isdecimal() and len(text) <= len("1023:") + 18
    return (int(partition), int(offset)) if is_place else None


def encode_value(given: Any) -> bytes:
    """Return the bytes of an edited value: a JSON object, or its text. Raises `RedriveError`."""
    try:
        value = given.encode() if isinstance(given, str) else msgspec.json.encode(given)
        msgspec.json.decode(value, type=dict[str, Any])
    except (msgspec.MsgspecError, TypeError, RecursionError) as error:
        raise RedriveError("must be a JSON object, or its text") from error
    return value
