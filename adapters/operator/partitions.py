"""Who works on each partition, and how far behind? From the log, its consumer groups, and the positions in the database.

A process that decides keeps its position in its own changelog, and knows alone how far a restore is. The others commit
offsets to their group or write them into the database. Where there are no groups (the embedded log), only those are known.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from msgspec import Struct

from adapters.kafka.members import Member
from adapters.projector.store import PartitionPosition
from adapters.roles.context import Context
from adapters.roles.intake import GROUPS
from schemas.instant import Instant
from schemas.topics import (
    ACCOUNTS_DECISIONS,
    ACCOUNTS_REQUESTS,
    COMMAND_TOPICS,
    CONTACTS_DECISIONS,
    CONTACTS_REQUESTS,
    IMPRESSIONS,
    INBOXES,
    Topic,
)


class Work(Struct, frozen=True):
    """What a role reads: a topic, by the consumer group of that name."""

    role: str
    topic: Topic
    group: str


WORK: tuple[Work, ...] = (
    *(Work("intake", topic, GROUPS[topic.name]) for topic in INBOXES),
    Work("scheduler", CONTACTS_REQUESTS, "scheduler"),
    Work("accounts", ACCOUNTS_REQUESTS, "accounts"),
    *(Work("projector", topic, "projector") for topic in (CONTACTS_DECISIONS, ACCOUNTS_DECISIONS, IMPRESSIONS)),
    *(Work("gateway", topic, f"gateway.{channel}") for channel, topic in COMMAND_TOPICS.items()),
    *(Work("deliverer", topic, "deliverer") for topic in (CONTACTS_DECISIONS, ACCOUNTS_DECISIONS)),
)
"""Every role that reads a topic as its work. The projector and the deliverer take partition N of each of their topics."""

COMMITTED = frozenset({"intake", "scheduler", "accounts"})
"""Roles whose progress is what their group has committed."""

RESTORE = "Only its owner knows how far the restore of a partition is: read /readyz on the owner's health port."
NO_GROUPS = (
    "The embedded log has no consumer groups: owners, and the lag of intake, scheduler and accounts, are not known here."
)


class PartitionWork(Struct, frozen=True, kw_only=True):
    """One partition as the work of one role, which is called as its consumer group is.

    `lag` counts offsets, which include control records of transactions. `owner` and `owner_host` are those of the consumer
    group's member; `sequence`, `decided_at` and `epoch` (which counts the owners) are those of the projector. What is null
    is not known, or there is none.
    """

    role: str
    topic: str
    partition: int
    owner: str | None
    owner_host: str | None
    start: int
    end: int
    next_offset: int | None
    lag: int | None
    sequence: int | None = None
    decided_at: Instant | None = None
    epoch: int | None = None


class RoleLag(Struct, frozen=True, kw_only=True):
    """How far one role is behind on one topic; `lag` is null where that is not known of some partition."""

    role: str
    topic: str
    partitions: int
    owned: int
    members: int
    lag: int | None


class Offsets(Protocol):
    """The offsets that the database knows.

    No contract suite: one adapter (`adapters.operator.deployment`), tested in tests/adapters/http/test_operator.py.
    """

    async def worked(self) -> Mapping[tuple[str, str, int], int]:
        """Return the next offset of each (role, topic, partition) of gateways and deliverers."""
        ...

    async def projected(self) -> list[PartitionPosition]:
        """Return the positions of the projection."""
        ...


async def list_work(context: Context, offsets: Offsets) -> tuple[list[PartitionWork], dict[str, list[Member]]]:
    """Return each partition of each role, and the members of each group. Raises `LogError`, and what `offsets` raises."""
    groups = await context.owners(list(dict.fromkeys(work.group for work in WORK)))
    worked = {
        (role, topic.removeprefix(context.names.prefix), partition): offset
        for (role, topic, partition), offset in (await offsets.worked()).items()
    }
    projected = {(one.topic, one.partition): one for one in await offsets.projected()}
    bounds: dict[str, dict[int, tuple[int, int]]] = {}
    rows: list[PartitionWork] = []
    for work in WORK:
        if work.topic.name not in bounds:
            bounds[work.topic.name] = await _bounds(context, work.topic)
        known = {
            **{place[2]: offset for place, offset in worked.items() if place[:2] == (work.role, work.topic.name)},
            **await _committed(context, work),
        }
        owners = {partition: member for member in groups.get(work.group, ()) for partition in member.partitions}
        for partition, (start, end) in bounds[work.topic.name].items():
            position = projected.get((work.topic.name, partition)) if work.role == "projector" else None
            next_offset = known.get(partition) if position is None else position.next_offset
            owner = owners.get(partition)
            rows.append(
                PartitionWork(
                    role=work.group,
                    topic=work.topic.name,
                    partition=partition,
                    owner=None if owner is None else owner.name,
                    owner_host=None if owner is None else owner.host,
                    start=start,
                    end=end,
                    next_offset=next_offset,
                    lag=None if next_offset is None else max(0, end - max(start, next_offset)),
                    sequence=None if position is None else position.sequence,
                    decided_at=None if position is None else position.decided_at,
                    epoch=None if position is None else position.epoch,
                )
            )
    return rows, groups


def sum_lags(rows: Iterable[PartitionWork], members: Mapping[str, list[Member]]) -> list[RoleLag]:
    """Return the lag of each role on each of its topics, in the order of the rows."""
    of_role: dict[tuple[str, str], list[PartitionWork]] = {}
    for row in rows:
        of_role.setdefault((row.role, row.topic), []).append(row)
    return [
        RoleLag(
            role=role,
            topic=topic,
            partitions=len(some),
            owned=sum(row.owner is not None for row in some),
            members=len(members.get(role, ())),
            lag=None if any(row.lag is None for row in some) else sum(row.lag or 0 for row in some),
        )
        for (role, topic), some in of_role.items()
    ]


async def _bounds(context: Context, topic: Topic) -> dict[int, tuple[int, int]]:
    name = context.names.of(topic.name)
    partitions = range(await context.log.partition_count(name))
    reader = await context.log.reader(name, partitions)
    try:
        return {partition: (await reader.start(partition), await reader.end(partition)) for partition in partitions}
    finally:
        await reader.close()


async def _committed(context: Context, work: Work) -> dict[int, int]:
    """Return what a group has committed; nothing where there are no groups, or where the role commits none."""
    progress = context.progress(work.group, work.topic) if work.role in COMMITTED else None
    if progress is None:
        return {}
    try:
        return await progress.offsets()
    finally:
        await progress.close()
