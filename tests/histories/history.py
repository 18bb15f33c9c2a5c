"""What did an earlier release write? A recorded history as an embedded log, with its offsets, topic ids and append times."""

import base64
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from adapters.embedded.log import EmbeddedLog
from engine.partition.ports import LogRecord
from schemas.instant import Instant

FOLDER = Path(__file__).parent

FIRST_RULES = FOLDER / "1390c62.jsonl.xz"
"""Recorded by `record.py` at commit 1390c62, which decides by version 1 of the decision rules."""

SECOND_RULES = FOLDER / "b6317d7.jsonl.xz"
"""Recorded at commit b6317d7, which decides by version 2."""

THIRD_RULES = FOLDER / "65662b1.jsonl.xz"
"""Recorded at commit 65662b1, which decides by version 3."""

FOURTH_RULES = FOLDER / "e5f0855.jsonl.xz"
"""Recorded at commit e5f0855, which decides by version 4."""

FIFTH_RULES = FOLDER / "44a45ee.jsonl.xz"
"""Recorded at commit 44a45ee, which decides by version 5."""

SIXTH_RULES = FOLDER / "ae4c449.jsonl.xz"
"""Recorded at commit ae4c449, which decides by version 6."""

SEVENTH_RULES = FOLDER / "45df17e.jsonl.xz"
"""Recorded at commit 45df17e, which decides by version 7."""

EIGHTH_RULES = FOLDER / "be378fd.jsonl.xz"
"""Recorded at commit be378fd, which decides by version 8."""

NINTH_RULES = FOLDER / "9942af5.jsonl.xz"
"""Recorded at commit 9942af5, which decides by version 9."""

TENTH_RULES = FOLDER / "e98619b.jsonl.xz"
"""Recorded at commit e98619b, which decides by version 10."""

ELEVENTH_RULES = FOLDER / "f2c5c71.jsonl.xz"
"""Recorded at commit f2c5c71, which decides by version 11."""

TWELFTH_RULES = FOLDER / "2f2cfb7.jsonl.xz"
"""Recorded at commit 2f2cfb7, which decides by version 12."""


async def log_of(path: Path, now: Callable[[], Instant]) -> EmbeddedLog:
    """Return a log in memory that holds a history and can be written on."""
    head, *lines = [msgspec.json.decode(line) for line in lzma.decompress(path.read_bytes()).splitlines()]
    topic_ids = iter([*head["topic_ids"].values(), "inbox"])
    log = EmbeddedLog(None, now=now, new_topic_id=lambda: next(topic_ids))
    for name in (*head["topic_ids"], "leads.inbox"):
        await log.create_topic(name, head["partitions"])
    for one in lines:
        log.partition(one["topic"], one["partition"]).records.append(_record(one))
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


def _part(found: dict[str, str], name: str) -> bytes | None:
    if name in found:
        return found[name].encode()
    return base64.b64decode(found[f"{name}_base64"]) if f"{name}_base64" in found else None
