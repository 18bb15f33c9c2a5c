"""What did a deployment write? A recorded history as an embedded log, with its offsets, topic ids and append times.

`record.py` records it.
"""

import base64
import lzma
from collections.abc import Callable
from itertools import chain, count
from pathlib import Path
from typing import Any

import msgspec

from adapters.embedded.log import EmbeddedLog
from engine.partition.ports import LogRecord
from schemas.instant import Instant

FOLDER = Path(__file__).parent

HISTORY = FOLDER / "recorded.jsonl.xz"
"""Decided by version 1 of the decision rules."""


async def log_of(path: Path, now: Callable[[], Instant]) -> EmbeddedLog:
    """Return a log in memory that holds a history and can be written on."""
    head, *lines = [msgspec.json.decode(line) for line in lzma.decompress(path.read_bytes()).splitlines()]
    made_later = (f"made-later-{number}" for number in count())
    topic_ids = chain(head["topic_ids"].values(), ["inbox"], made_later)
    log = EmbeddedLog(None, now=now, new_topic_id=lambda: next(topic_ids))
    for name in (*head["topic_ids"], "leads.inbox"):
        await log.create_topic(name, head["partitions"])
    for line in lines:
        log.partition(line["topic"], line["partition"]).records.append(_record(line))
    for name, ends in head["ends"].items():
        for number, end in enumerate(ends):
            log.partition(name, number).end = end
    return log


def last_append(log: EmbeddedLog) -> Instant:
    """Return when the newest record was appended."""
    partitions = log._partitions.values()
    return max(partition.records[-1].appended_at for partition in partitions if partition.records)


def _record(line: dict[str, Any]) -> LogRecord:
    return LogRecord(
        topic=line["topic"],
        partition=line["partition"],
        offset=line["offset"],
        key=_part(line, "key"),
        value=_part(line, "value"),
        headers=tuple((name, _part(value, "value") or b"") for name, value in line.get("headers", ())),
        appended_at=line["at"],
    )


def _part(line: dict[str, str], name: str) -> bytes | None:
    if name in line:
        return line[name].encode()
    return base64.b64decode(line[f"{name}_base64"]) if f"{name}_base64" in line else None
