"""Is the `work` schema older than the log? Then gateways have carried out what it does not know of.

A gateway reports to its consumer group how far each partition is done, as it saves that in the database. Where the group has
come further than the database, an older copy of the database was restored. It gets a new incarnation: commands that were
decided before now, and that it does not know to be finished, count as `unknown`.
"""

from typing import Protocol

import structlog

from adapters.gateway.ports import Deliveries, SavedProgress
from engine.partition.ports import Log, LogError
from schemas.instant import Instant

LOOKED_AT = 200
"""Records before the group's offset that are looked at for the newest append: some of them are control records."""

POLL_SECONDS = 1.0
STALLS_MAX = 10

logger = structlog.get_logger(__name__)


class ReachedOffsets(Protocol):
    """How far a channel's consumer group has come, as its gateways reported.

    No contract suite: one adapter (`adapters.roles.group_membership.GroupMembership`); gateways of tests have `NoReports`.
    """

    async def reached(self, partition: int) -> int | None:
        """Return the offset before which everything was done, None where nothing was reported. Raises `LogError`."""
        ...

    def report(self, partition: int, offset: int) -> None:
        """Note that everything before an offset is done; it is committed soon."""
        ...


class NoReports:
    """Nothing was ever reported."""

    async def reached(self, partition: int) -> int | None:  # noqa: ARG002
        """Return None."""
        return None

    def report(self, partition: int, offset: int) -> None:
        """Forget it."""


async def settle_older_work(
    log: Log, topic: str, partition: int, saved: SavedProgress, *, reached: int | None, deliveries: Deliveries
) -> None:
    """Begin a new incarnation of `work` where the group has come further than it. Raises `LogError`, `StoreError`.

    One that was born after the newest of those records was appended is none that is older: `work` was lost and made again.
    """
    if reached is None or reached <= saved.offset:
        return
    newest = await _newest_append(log, topic, partition, saved.offset, reached)
    if newest is not None and await deliveries.renew_incarnation(newest):
        logger.error("work.older", topic=topic, partition=partition, saved=saved.offset, reached=reached)


async def _newest_append(log: Log, topic: str, partition: int, first: int, end: int) -> Instant | None:
    """Return when the newest record of a span was appended, None where the log holds none of it any more."""
    reader = await log.reader(topic, [partition])
    newest: Instant | None = None
    stalls = 0
    try:
        end = min(end, await reader.end(partition))
        await reader.seek(partition, max(first, end - LOOKED_AT))
        while reader.position(partition) < end:
            records = await reader.poll(limit=LOOKED_AT, timeout_seconds=POLL_SECONDS)
            newest = max([record.appended_at for record in records if record.offset < end], default=newest)
            stalls = 0 if records else stalls + 1
            if stalls > STALLS_MAX:
                raise LogError(f"{topic}[{partition}] cannot be read to {end}")
    finally:
        await reader.close()
    return newest
