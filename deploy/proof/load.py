"""How do leads get in as fast as a broker takes them? In batches, all partitions at once; what is acknowledged counts."""

import asyncio
from collections.abc import Iterable
from itertools import islice

from adapters.partitions.routing import partition_of
from adapters.roles.context import Context
from deploy.proof.submissions import SentSubmission
from deploy.proof.verdict import Accepted
from engine.partition.ports import Appender, LogError
from schemas.topics import LEADS_INBOX

BATCH = 2_000
TRIES = 30
PAUSE_SECONDS = 1.0


async def post(context: Context, sent: Iterable[SentSubmission]) -> Accepted:
    """Append everything to the inbox; return what was acknowledged. Raises `LogError` where the log stays away."""
    count = await context.log.partition_count(context.names.of(LEADS_INBOX.name))
    accepted = Accepted(ids=set(), bad={}, records=0)
    appender = await context.log.appender()
    rest = iter(sent)
    try:
        while batch := list(islice(rest, BATCH)):
            parts: dict[int, list[SentSubmission]] = {}
            for one in batch:
                parts.setdefault(partition_of(one.record.key or b"", count), []).append(one)
            await asyncio.gather(*(_append(appender, partition, part, accepted) for partition, part in parts.items()))
    finally:
        await appender.close()
    return accepted


async def _append(appender: Appender, partition: int, part: list[SentSubmission], accepted: Accepted) -> None:
    offsets = await _acknowledged(appender, partition, part)
    accepted.records += len(part)
    for one, offset in zip(part, offsets, strict=True):
        if one.id is None:
            accepted.bad[partition, offset] = one.record.value
        else:
            accepted.ids.add(one.id)


async def _acknowledged(appender: Appender, partition: int, part: list[SentSubmission]) -> list[int]:
    for _ in range(TRIES):
        try:
            return list(await appender.append(partition, [one.record for one in part]))
        except LogError:
            await asyncio.sleep(PAUSE_SECONDS)
    raise LogError(f"partition {partition} took nothing in {TRIES} tries")
