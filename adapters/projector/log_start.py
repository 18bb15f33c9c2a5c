"""Where does the log of each partition begin? Retention deletes the oldest decisions.

Rows that no later decision changed can be neither rebuilt nor verified: a rebuild copies them from the read schema.
"""

from collections.abc import Sequence

from msgspec import Struct

from adapters.postgres.tables import TABLES
from adapters.projector.batch import DECISIONS, UNREADABLE
from adapters.projector.catch_up import TOPICS, TopicPartition
from adapters.projector.store import PartitionPosition
from adapters.reads.ports import RESULT_RETENTION
from engine.partition.ports import Log, LogError, Reader
from engine.partition.runner import TopicNames
from schemas.instant import Instant, to_rfc3339
from schemas.topics import ACCOUNTS_DECISIONS, IMPRESSION_RETENTION_MS, IMPRESSIONS

POLL_SECONDS = 1.0
STALLS_MAX = 30
"""Empty polls in a row, after which the log counts as failed."""

READ_AT_ONCE = 100
"""Records per poll: the first decision that can be read is nearly always the first record."""

ABOVE_ALL_SEQUENCES = 2**62
"""Higher than every sequence number."""

_OF_ACCOUNTS = frozenset({"records", "slots"})


class LogStart(Struct, frozen=True, kw_only=True):
    """Where the log of a partition begins after retention deleted earlier records.

    `sequence` and `decided_at` are of the first decision that it holds; both are null if it holds none. `offset` is the
    first offset.
    """

    topic: str
    partition: int
    offset: int
    sequence: int | None = None
    decided_at: Instant | None = None

    @property
    def before(self) -> int:
        """Return the sequence number below which rows cannot be rebuilt."""
        return ABOVE_ALL_SEQUENCES if self.sequence is None else self.sequence


async def find_log_starts(log: Log, names: TopicNames, places: Sequence[TopicPartition]) -> list[LogStart]:
    """Return the start of each partition whose first decisions were deleted. Raises `LogError`."""
    found = []
    for topic in TOPICS:
        numbers = [number for name, number in places if name == topic]
        reader = await log.reader(names.of(topic), numbers)
        try:
            starts = {number: await reader.start(number) for number in numbers}
        finally:
            await reader.close()
        for number, start in starts.items():
            if start > 0:
                reader = await log.reader(names.of(topic), [number])
                try:
                    log_start = await _find_log_start(reader, topic, number)
                finally:
                    await reader.close()
                found += [] if log_start is None else [log_start]
    return found


async def _find_log_start(reader: Reader, topic: str, number: int) -> LogStart | None:
    start, end = await reader.start(number), await reader.end(number)
    if topic == IMPRESSIONS.name:  # without sequence numbers
        return LogStart(topic=topic, partition=number, offset=start)
    await reader.seek(number, start)
    stalls = 0
    while reader.position(number) < end:
        records = await reader.poll(limit=READ_AT_ONCE, timeout_seconds=POLL_SECONDS)
        stalls = 0 if records else stalls + 1
        if stalls > STALLS_MAX:
            raise LogError(f"{topic}[{number}] cannot be read from its start {start}")
        for record in records:
            try:
                decision = DECISIONS.decode(record.value or b"")
            except UNREADABLE:
                continue
            if decision.sequence == 1:
                return None
            return LogStart(
                topic=topic, partition=number, offset=start, sequence=decision.sequence, decided_at=decision.decided_at
            )
    return LogStart(topic=topic, partition=number, offset=start)


def carry_over_statements(
    one: LogStart, shown: PartitionPosition, read: str, rebuild_schema: str, now: Instant
) -> list[str]:
    """Return the SQL that copies rows which a partition's log no longer holds, and sets the rebuild's position after them.

    Only for a partition of which the rebuild schema holds nothing. A row that a later decision marked as deleted is copied
    unmarked: that decision will mark it again.
    """
    place, before = f"t.partition = {one.partition}", one.before
    of_topic = f"t.topic = '{one.topic}' AND {place}"
    of_accounts, decides = one.topic == ACCOUNTS_DECISIONS.name, one.topic != IMPRESSIONS.name
    tables = [table for table in TABLES if decides and (table.name in _OF_ACCOUNTS) == of_accounts]
    marked = [table.name for table in tables if table.marks]
    rows = {
        **({"token_parts": f"{place} AND t.sequence < {before}"} if marked else {}),
        **{
            table.name: f"{place} AND (t.sequence < {before}{' OR t.deleted_at IS NOT NULL' if table.marks else ''})"
            for table in tables
        },
        "history": f"{of_topic} AND t.sequence < {before}",
        **({"request_results": _results(one, now)} if decides else {"impressions": _impressions(one, now)}),
        "faults": f'{of_topic} AND t."offset" < {one.offset}',
    }
    fill = "INSERT INTO {rebuild}.{table} SELECT t.* FROM {read}.{table} AS t WHERE {only} ON CONFLICT DO NOTHING"
    back = "UPDATE {rebuild}.{table} AS t SET deleted_at = NULL, sequence = {last} WHERE {only}"
    begin = (
        "UPDATE {rebuild}.positions AS t SET next_offset = {offset}, sequence = {last}, decided_at = r.decided_at "
        "FROM {read}.positions AS r WHERE r.topic = t.topic AND r.partition = t.partition AND {only}"
    )
    last = shown.sequence if one.sequence is None else one.sequence - 1
    offset = str(min(one.offset, shown.next_offset))
    statements = [
        *((fill, table, only) for table, only in rows.items()),
        *((back, table, f"{place} AND t.sequence >= {before}") for table in marked),
        (begin, "positions", of_topic),
    ]
    return [
        text.replace("{rebuild}", rebuild_schema)
        .replace("{read}", read)
        .replace("{table}", table)
        .replace("{last}", str(last))
        .replace("{offset}", offset)
        .replace("{only}", only)
        for text, table, only in statements
    ]


def _impressions(one: LogStart, now: Instant) -> str:
    """Copy impressions that retention of the topic deleted before their rows were to go: an operator may shorten it."""
    kept = f"t.created_at > '{to_rfc3339(now - IMPRESSION_RETENTION_MS)}'"
    return f't.partition = {one.partition} AND t."offset" < {one.offset} AND {kept}'


def _results(one: LogStart, now: Instant) -> str:
    """Copy results that may be older than the log: a result does not say of which partition it is."""
    kept = f"t.decided_at > '{to_rfc3339(now - RESULT_RETENTION)}'"
    return kept if one.decided_at is None else f"{kept} AND t.decided_at <= '{to_rfc3339(one.decided_at)}'"
