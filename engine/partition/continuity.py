"""Are the topics of a partition those that it has read and written so far? Ids, positions and digests say so.

An offset alone says nothing: a topic that was made again, cut, or restored from an older copy grows past it in time. So a
partition that meets another topic, another record or another decision than it remembers stays stopped, whatever comes since.
What retention or compaction has taken is no fault: then the id of the topic and the chain of decisions decide.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from engine.partition.aggregate import Aggregate
from engine.partition.ports import Log, LogError, LogRecord, Reader
from engine.partition.state import State
from schemas.decisions import Position
from schemas.envelope import DecisionNumber, EnvelopeError, emitted_by
from schemas.records import Record
from schemas.topics import ACCOUNTS_RULES, Topic
from schemas.wire import UNREADABLE, Entity, digest, to_pack

CURE = "Nothing is decided here, and nobody is contacted, before it is settled: run `leadclock recover`."

TAIL_OFFSETS = (20, 1_000)
"""How far before its end a topic is read for its last record, before all of it: aborted transactions leave empty offsets."""

NameOf = Callable[[str], str]
"""Returns the name of a topic in this deployment."""

POLL_SECONDS = 0.5
POLLS_MAX = 20
LIMIT = 2_000


class ContinuityError(LogError):
    """A topic is not the one that was read so far, or lacks records of it. No retry helps, and nothing that comes later."""

    def __init__(self, topic: str, what: str) -> None:
        super().__init__(f"{topic} {what}. {CURE}", retryable=False)
        self.topic = topic
        self.what = what


class Newest(Struct, frozen=True):
    """The newest decision that a topic holds: its number and digest."""

    sequence: int
    chain: str


class ReadMark(Struct, frozen=True):
    """How far a partition of a topic was read: up to `offset`. Its last record stood at `last_offset` (-1: unknown)."""

    topic_id: str
    offset: int
    last_offset: int = -1
    last_digest: str = ""
    newest: DecisionNumber | None = None
    """Of commands: the highest decision that emitted one of those that were read."""

    def after(self, last: LogRecord | None, offset: int) -> "ReadMark":
        """Return the mark after the partition was read up to `offset`; `last` is the last record of it, None for none."""
        if last is None:
            return msgspec.structs.replace(self, offset=offset)
        return ReadMark(self.topic_id, offset, last.offset, request_digest(last))


class _Published(Entity, kw_only=True):
    type: str
    id: int
    version: int


_RECORDS = "record/"


class _Numbered(Struct, frozen=True):
    sequence: int


_NUMBERED = msgspec.json.Decoder(_Numbered)


def remembered_topics(aggregate: Aggregate) -> tuple[Topic, ...]:
    """Return the topics whose ids a partition remembers: what it reads, and what another owner restores from."""
    return aggregate.requests_topic, aggregate.decisions_topic, aggregate.state_topic, ACCOUNTS_RULES


async def topic_ids(log: Log, of: NameOf, aggregate: Aggregate) -> dict[str, str]:
    """Return the ids that the topics of an aggregate have now, by name without the prefix. Raises `LogError`."""
    return {topic.name: await log.topic_id(of(topic.name)) for topic in remembered_topics(aggregate)}


def check_ids(of: NameOf, known: Mapping[str, str], found: Mapping[str, str]) -> None:
    """Raise `ContinuityError` for the first topic whose id is not the one that was recorded."""
    for name, topic_id in known.items():
        check_id(of(name), topic_id, found.get(name, topic_id))


def check_id(topic: str, known: str, found: str) -> None:
    """Raise `ContinuityError` where a topic has another id than the one that was read so far."""
    if known != found:
        raise ContinuityError(topic, f"was deleted and made again: its id is {found}, not {known}")


async def check_decisions(log: Log, of: NameOf, aggregate: Aggregate, partition: int, position: Position) -> None:
    """Compare the position that the changelog holds with the newest decision. Raises `ContinuityError`, `LogError`."""
    topic = of(aggregate.decisions_topic.name)
    reader = await log.reader(topic, [partition])
    try:
        newest, is_deleted = await _newest_decision(reader, partition), await reader.start(partition) > 0
    finally:
        await reader.close()
    compare_decisions(
        position,
        newest,
        decisions=f"{topic}[{partition}]",
        state=f"{of(aggregate.state_topic.name)}[{partition}]",
        is_deleted=is_deleted,
    )


def compare_decisions(
    position: Position, newest: Newest | None, *, decisions: str, state: str, is_deleted: bool = False
) -> None:
    """Raise `ContinuityError` where the changelog and the decisions do not end with the same decision.

    `is_deleted` says that retention has deleted decisions: then there may be none.
    """
    if newest is None:
        if position.sequence and not is_deleted:
            raise ContinuityError(decisions, f"is empty, and {state} holds decision {position.sequence}")
        return
    if newest.sequence > position.sequence:
        held = f"ends at decision {position.sequence}" if position.sequence else "holds no decision"
        raise ContinuityError(
            state, f"{held}, and {decisions} at decision {newest.sequence}: it lost records, or is an older copy"
        )
    if newest.sequence < position.sequence:
        raise ContinuityError(
            decisions, f"ends at decision {newest.sequence}, and {state} at decision {position.sequence}: it lost records"
        )
    if newest.chain != position.chain:
        raise ContinuityError(decisions, f"holds another decision {newest.sequence} than {state}")


async def check_inputs(reader: Reader, topic: str, partition: int, position: Position) -> None:
    """Compare the requests with those that were decided, and leave the reader at the next one.

    Raises `ContinuityError` where records are missing before or at the position, or the last one is another one.
    """
    offset = position.input_offset
    start = await reader.start(partition)
    if start > offset:
        raise ContinuityError(
            f"{topic}[{partition}]", f"begins at {start}: the requests from {offset} were deleted before they were decided"
        )
    await check_read(reader, topic, partition, offset=offset, last=(offset - 1, position.input_digest))


async def check_mark(reader: Reader, topic: str, partition: int, mark: ReadMark, topic_id: str) -> None:
    """Compare a partition with what was read of it, and leave the reader at the next record. `topic_id` is the present one.

    Raises `ContinuityError`, `LogError`.
    """
    check_id(topic, mark.topic_id, topic_id)
    await check_read(reader, topic, partition, offset=mark.offset, last=(mark.last_offset, mark.last_digest))
    if mark.newest is not None:
        await check_numbers(reader, topic, partition, offset=mark.offset, newest=mark.newest)
        await reader.seek(partition, mark.offset)


async def check_read(
    reader: Reader, topic: str, partition: int, *, offset: int, last: tuple[int, str], is_compacted: bool = False
) -> None:
    """Compare a partition with what was read of it, and leave the reader at `offset`, the next one to read.

    `last` is the offset and `request_digest` of the last record that was read; an empty digest is not compared, and neither
    is a record that retention, or in a topic that `is_compacted` a later one of its key, has taken. Other partitions of the
    reader may move on: seek them again.
    Raises `ContinuityError`, `LogError`.
    """
    place, (last_offset, last_digest) = f"{topic}[{partition}]", last
    start, end = await reader.start(partition), await reader.end(partition)
    if end < offset:
        raise ContinuityError(place, f"ends at {end}, and the records before {offset} were read from it: it lost records")
    if last_digest and start <= last_offset:
        await reader.seek(partition, last_offset)
        found = await _next_record(reader, partition, last_offset)
        is_other = not is_compacted if found is None else request_digest(found) != last_digest
        if is_other:
            raise ContinuityError(place, f"holds another record at {last_offset} than the one that was read from it")
    await reader.seek(partition, offset)


async def check_numbers(reader: Reader, topic: str, partition: int, *, offset: int, newest: DecisionNumber) -> None:
    """Compare commands with those that were read: before `offset` none was emitted by a later decision than `newest`.

    Numbers only rise, so a topic that was cut and has grown again holds later ones there. The reader is moved.
    Raises `ContinuityError`, `LogError`.
    """
    place, start, end = f"{topic}[{partition}]", await reader.start(partition), await reader.end(partition)
    if end < offset:
        raise ContinuityError(place, f"ends at {end}, and the records before {offset} were read from it: it lost records")
    first = max(start, offset - TAIL_OFFSETS[0])
    if first >= offset:
        return
    await reader.seek(partition, first)
    for record in await _records_to(reader, partition, offset):
        if record.partition == partition and record.offset < offset and number_of(record) > newest:
            raise ContinuityError(place, f"holds another command at {record.offset} than the one that was read from it")


def number_of(record: LogRecord) -> DecisionNumber:
    """Return which decision emitted a command; the lowest for what is not ours."""
    try:
        return emitted_by(record.headers)
    except EnvelopeError:
        return DecisionNumber()


def check_rules(topic: str, adopted: Mapping[str, int], newest: Mapping[int, int]) -> None:
    """Raise `ContinuityError` where adopted rules are newer than all that the topic holds. By partition, both."""
    for partition, sequence in adopted.items():
        if sequence > (found := newest.get(int(partition), 0)):
            raise ContinuityError(
                f"{topic}[{partition}]", f"ends at change {found}, and change {sequence} was adopted: it lost records"
            )


def check_published(topic: str, partition: int, state: State, published: Iterable[tuple[int, Record]]) -> None:
    """Raise `ContinuityError` where the topic lacks the newest version of a record of the account state.

    Each version has a key of its own there, so compaction takes none.
    """
    found = {(record.type, record.id, record.version) for number, record in published if number == partition}
    for key in [key for key, _ in state.items() if key.startswith(_RECORDS)]:
        one = state.get(key, _Published)
        if one is not None and (one.type, one.id, one.version) not in found:
            raise ContinuityError(
                f"{topic}[{partition}]", f"lacks version {one.version} of {one.type} {one.id}: it lost records"
            )


def request_digest(record: LogRecord) -> str:
    """Return the digest of a request as decisions record it: MessagePack, so that no two lists of parts look alike."""
    return digest(to_pack((record.key, record.value, record.headers)))


async def _newest_decision(reader: Reader, partition: int) -> Newest | None:
    start, end = await reader.start(partition), await reader.end(partition)
    for tail in (*TAIL_OFFSETS, end - start):
        first = max(start, end - tail)
        if first < end:
            await reader.seek(partition, first)
            found = _last_decision(await _records_to(reader, partition, end))
            if found is not None:
                return found
        if first == start:
            break
    return None


def _last_decision(records: Sequence[LogRecord]) -> Newest | None:
    for record in reversed(records):
        value = record.value or b""
        try:
            return Newest(_NUMBERED.decode(value).sequence, digest(value))
        except UNREADABLE:  # not ours; an audit names it
            continue
    return None


async def _records_to(reader: Reader, partition: int, end: int) -> list[LogRecord]:
    """Return what is left before an offset; only the last records are kept. Raises `LogError` where the reader stalls."""
    kept: list[LogRecord] = []
    stalls = 0
    while reader.position(partition) < end:
        found = await reader.poll(limit=LIMIT, timeout_seconds=POLL_SECONDS)
        kept = [*kept, *found][-LIMIT:]
        stalls = 0 if found else stalls + 1
        if stalls > POLLS_MAX:
            raise LogError(f"the records before {end} cannot be read")
        if not found:
            await reader.end(partition)  # tells a log that is away from silence
    return kept


async def _next_record(reader: Reader, partition: int, offset: int) -> LogRecord | None:
    """Return the record at an offset at which a reader stands, or None."""
    for _ in range(POLLS_MAX):
        for found in await reader.poll(limit=LIMIT, timeout_seconds=POLL_SECONDS):
            if found.partition == partition:
                return found if found.offset == offset else None
        if reader.position(partition) > offset:
            return None
        await reader.end(partition)  # tells a log that is away from silence
    raise LogError(f"the record at {offset} cannot be read")
