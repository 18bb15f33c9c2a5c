"""How does a partition go on after a topic lost records? Its changelog is made whole, and an operator's decision says so.

The recovery owns the partition, so its role is fenced meanwhile. What it writes counts only with the decision that it writes
last: one that broke off is run again, and begins again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, structs

from adapters.audit.recorded import batches
from adapters.partitions.routing import partition_of
from adapters.recovery.folding import FoldedPartition, NotRecoverableError, fold_decisions
from adapters.recovery.losses import aggregates, losses_of, published_losses, record_state
from adapters.recovery.stored import StoredPartition, read_stored
from adapters.roles.context import Context
from engine.partition.aggregate import Aggregate
from engine.partition.continuity import ContinuityError, check_inputs, check_read, request_digest, topic_ids
from engine.partition.decider import Decider, published_rule
from engine.partition.ports import LogRecord, Outgoing, Ownership, Reader
from engine.partition.runner import stream_name
from engine.partition.state import State
from engine.rules import Rules
from schemas.decisions import OutboxEntry, Position, TopicRecovery
from schemas.envelope import EnvelopeError, from_headers
from schemas.records import Record
from schemas.state import OUTBOX_PREFIX, POSITION_KEY, Stream, stream_key
from schemas.topics import ACCOUNTS_REQUESTS, ACCOUNTS_RULES, WRITTEN_WITH
from schemas.wire import from_pack, to_pack

TRANSACTION_RECORDS_MAX = 5_000
"""Values of one transaction: some megabytes."""

Place = tuple[str, int]
"""A requests topic, by name without the prefix, and a partition of it."""


class Settled(Struct, frozen=True, kw_only=True):
    """What a recovery did to one partition: what had been lost, and how much was made again."""

    topic: str
    partition: int
    losses: tuple[str, ...]
    values_written: int = 0
    messages_offered: int = 0
    rules_published: int = 0
    input_offset: int = 0


class _Whole(Struct):
    """A partition as it was before its loss. `is_folded` says that its changelog has to be written again.

    `marks` is how far each stream of messages to it was decided; `sent` are the numbers of its own, which are known whole.
    """

    place: Place
    losses: tuple[str, ...]
    marks: dict[str, int]
    stream: str
    sent: frozenset[int]
    position: Position
    is_folded: bool


async def settle(
    context: Context, *, by: str, reason: str, done: Callable[[Settled], None], losses: Sequence[str] = ()
) -> list[Settled]:
    """Settle every loss of accounts and contacts; `done` receives each partition. `losses` are further ones of each.

    Raises `LogError`, `NotRecoverableError`.
    """
    wholes = {
        (aggregate.requests_topic.name, partition): await _examine(context, aggregate, partition, losses)
        for aggregate in aggregates()
        for partition in range(await context.log.partition_count(context.names.of(aggregate.requests_topic.name)))
    }
    recoveries = {
        whole.place: _PartitionRecovery(context, aggregate, whole, wholes, by=by, reason=reason)
        for aggregate in aggregates()
        for whole in wholes.values()
        if whole.place[0] == aggregate.requests_topic.name
    }
    # Before any loss is settled: once it is, a recovery that is run again no longer sees what was lost on its way there.
    for recovery in recoveries.values():
        await recovery.offer()
    settled = []
    for aggregate in aggregates():
        for place in [one for one in wholes if one[0] == aggregate.requests_topic.name]:
            one = await recoveries[place].run()
            if one.losses or one.messages_offered:
                done(one)
                settled.append(one)
        await context.rules.refresh()  # contacts adopt what the accounts have published again
    return settled


async def _examine(context: Context, aggregate: Aggregate, partition: int, further: Sequence[str]) -> _Whole:
    """Return what a partition lost, and how far each stream of messages to it was decided."""
    found = await losses_of(context, aggregate, partition)
    stored, folded = await _read(context, aggregate, partition)
    values, position, is_folded = await _whole(context, aggregate, partition, stored, folded)
    losses = (*found.losses, *further)
    if aggregate.requests_topic == ACCOUNTS_REQUESTS:
        losses += published_losses(context, partition, record_state(values))
    marks = {key: from_pack(packed, Stream).number for key, packed in values.items() if key.startswith(stream_key(""))}
    return _Whole(
        (aggregate.requests_topic.name, partition),
        losses,
        marks,
        stream_name(aggregate.state_topic.name, position.stream, partition),
        frozenset(folded.messages),
        position,
        is_folded,
    )


async def _read(context: Context, aggregate: Aggregate, partition: int) -> tuple[StoredPartition, FoldedPartition]:
    of = context.names.of
    stored = await read_stored(context.log, of(aggregate.state_topic.name), partition)
    return stored, await fold_decisions(context.log, of(aggregate.decisions_topic.name), partition)


async def _whole(
    context: Context, aggregate: Aggregate, partition: int, stored: StoredPartition, folded: FoldedPartition
) -> tuple[dict[str, bytes], Position, bool]:
    """Return values and position as of the newest decision, and whether they are folded from decisions.

    A changelog that was made again may end with the newest decision, and hold only what its owner has written since.
    """
    state = aggregate.state_topic.name
    state_id = await context.log.topic_id(context.names.of(state))
    is_other_state = stored.position.topics.get(state, state_id) != state_id
    if folded.position.sequence <= stored.position.sequence and not is_other_state:
        return stored.values, stored.position, False
    of = context.names.of
    if folded.begins_at > 1:
        raise NotRecoverableError(
            f"{of(aggregate.state_topic.name)}[{partition}] cannot be made again from {of(aggregate.decisions_topic.name)}: "
            f"the decisions before {folded.begins_at} are gone. Restore both topics from a copy"
        )
    if folded.position.sequence < stored.position.sequence:
        raise NotRecoverableError(
            f"{of(state)}[{partition}] was made again and cannot be made whole: the decisions behind "
            f"{folded.position.sequence} are gone. Restore both topics from a copy"
        )
    return folded.values, folded.position, True


class _PartitionRecovery:
    """The recovery of one partition; `wholes` are all, to know what has arrived elsewhere."""

    def __init__(
        self, context: Context, aggregate: Aggregate, whole: _Whole, wholes: Mapping[Place, _Whole], *, by: str, reason: str
    ) -> None:
        self._context = context
        self._log = context.log
        self._of = context.names.of
        self._aggregate = aggregate
        self._whole = whole
        self._wholes = wholes
        self._counts = {topic: sum(place[0] == topic for place in wholes) for topic, _ in wholes}
        self._partition = whole.place[1]
        self._by = by
        self._reason = reason
        self._offered = 0

    async def offer(self) -> None:
        """Put undecided messages back into the outbox; a state that is folded gets them with its values."""
        if self._whole.is_folded or not any(one.losses for one in self._wholes.values()):
            return
        topic = self._whole.place[0]
        stored, folded = await _read(self._context, self._aggregate, self._partition)
        entries = [one for number, one in self._unsent(folded).items() if number not in stored.entries]
        if not entries:
            return
        changelog = self._of(self._aggregate.state_topic.name)
        records = [Outgoing(changelog, f"{OUTBOX_PREFIX}{one.number}".encode(), to_pack(one)) for one in entries]
        position = Outgoing(changelog, POSITION_KEY.encode(), to_pack(stored.position))
        written = [self._of(one.name) for one in WRITTEN_WITH.get(topic, ())]
        ownership = await self._log.own(self._of(topic), self._partition, writes=written)
        try:
            await ownership.commit([*records, position])
        finally:
            await ownership.close()
        self._offered = len(entries)

    async def run(self) -> Settled:
        """Own the partition, make whole what it lost, and decide that it goes on."""
        topic, partition = self._whole.place
        nothing = Settled(topic=topic, partition=partition, losses=())
        if not self._whole.losses and not any(one.losses for one in self._wholes.values()):
            return nothing
        written = [self._of(one.name) for one in WRITTEN_WITH.get(topic, ())]
        ownership = await self._log.own(self._of(topic), partition, writes=written)
        try:
            return await self._settle(ownership)
        finally:
            await ownership.close()

    async def _settle(self, ownership: Ownership) -> Settled:
        stored, folded = await _read(self._context, self._aggregate, self._partition)
        values, position, is_folded = await _whole(self._context, self._aggregate, self._partition, stored, folded)
        entries = [one for number, one in self._unsent(folded).items() if number not in stored.entries]
        losses, published = self._whole.losses, self._missing_rules(folded, values)
        records: list[Outgoing] = []
        if losses:
            if is_folded:
                await self._write_values(ownership, stored.values, values)
            for some in _slices([self._named(published_rule(one)) for one in published]):
                await ownership.commit(some)
            records, position = await self._decide(folded, position, losses)
        if losses or entries:
            changelog = self._of(self._aggregate.state_topic.name)
            kept = entries if not is_folded else [*entries, *stored.entries.values()]
            records += [Outgoing(changelog, f"{OUTBOX_PREFIX}{one.number}".encode(), to_pack(one)) for one in kept]
            await ownership.commit([*records, Outgoing(changelog, POSITION_KEY.encode(), to_pack(position))])
        return Settled(
            topic=self._whole.place[0],
            partition=self._partition,
            losses=losses,
            values_written=len(values) if is_folded and losses else 0,
            messages_offered=self._offered + len(entries),
            rules_published=len(published),
            input_offset=position.input_offset,
        )

    def _unsent(self, folded: FoldedPartition) -> dict[int, OutboxEntry]:
        """Return the messages that no receiver has decided: to targets that lost requests, or to all after a lost state."""
        key = stream_key(self._whole.stream)
        found = {}
        for number, message in folded.messages.items():
            place = message.topic, partition_of(message.key.encode(), self._counts[message.topic])
            target = self._wholes[place]
            if number > target.marks.get(key, 0) and (self._whole.is_folded or target.losses):
                found[number] = message
        return found

    def _missing_rules(self, folded: FoldedPartition, values: Mapping[str, bytes]) -> Sequence[Record]:
        """Return the published records that `accounts.rules` lacks, the oldest first. Raises `NotRecoverableError`.

        Of those whose decisions are lost too, the state holds the newest version.
        """
        if self._aggregate.requests_topic != ACCOUNTS_REQUESTS:
            return []
        newest_of = {key: from_pack(packed, Record) for key, packed in values.items() if key.startswith("record/")}
        recorded = {(one.type, one.id, one.version): one for one in (*folded.records, *newest_of.values())}
        held = [record for number, record in self._context.rules.entries if number == self._partition]
        known = {(record.type, record.id, record.version) for record in held}
        missing = sorted((one for key, one in recorded.items() if key not in known), key=lambda one: one.sequence)
        newest = max((record.sequence for record in held), default=0)
        if missing and missing[0].sequence < newest:
            raise NotRecoverableError(
                f"{self._of(ACCOUNTS_RULES.name)}[{self._partition}] lacks version {missing[0].version} of "
                f"{missing[0].type} {missing[0].id} and holds later ones, before which it cannot be published. "
                "Restore the topic from a copy"
            )
        return missing

    async def _write_values(self, ownership: Ownership, before: Mapping[str, bytes], values: Mapping[str, bytes]) -> None:
        changelog = self._of(self._aggregate.state_topic.name)
        written = [Outgoing(changelog, key.encode(), packed) for key, packed in values.items()]
        written += [Outgoing(changelog, key.encode(), None) for key in before if key not in values]
        for some in _slices(written):
            await ownership.commit(some)

    async def _decide(
        self, folded: FoldedPartition, position: Position, losses: Sequence[str]
    ) -> tuple[list[Outgoing], Position]:
        """Return the records of the decision that the partition goes on, and its position after it."""
        ids = await topic_ids(self._log, self._of, self._aggregate)
        offset, last_digest = await self._next_request(folded, position, ids)
        sent_again: list[Outgoing] = []
        lost_from = offset
        if (offset, last_digest) != (position.input_offset, position.input_digest):
            offset, last_digest, sent_again = await self._behind_messages(offset, last_digest)
        decider = Decider(self._aggregate, self._partition, State(), Rules(), position)
        recovery = TopicRecovery(
            by=self._by,
            reason=self._reason,
            lost=tuple(losses),
            input_offset=offset,
            input_digest=last_digest,
            lost_from=None if lost_from == offset else lost_from,
        )
        sealed = decider.recovery(recovery, ids, max(self._context.clock.now(), position.decided_at))
        return [*sent_again, *(self._named(record) for record in sealed.records)], decider.position

    async def _behind_messages(self, offset: int, last_digest: str) -> tuple[int, str, list[Outgoing]]:
        """Return where requests are decided from so that messages which are sent again come before those that followed them.

        A stream takes no number below one that it has decided. So where some came after the loss, decisions begin behind
        them: their sender sends them again, in order, and the other requests are written once more, with their ids.
        """
        topic = self._of(self._aggregate.requests_topic.name)
        reader = await self._log.reader(topic, [self._partition])
        try:
            if offset >= await reader.end(self._partition):
                return offset, last_digest, []
            await reader.seek(self._partition, offset)
            waiting = [record async for batch in batches(reader, self._partition) for record in batch]
        finally:
            await reader.close()
        others = [record for record in waiting if not self._is_sent_again(record)]
        if len(others) == len(waiting):
            return offset, last_digest, []
        copies = [Outgoing(topic, record.key, record.value, record.headers) for record in others]
        return waiting[-1].offset + 1, request_digest(waiting[-1]), copies

    def _is_sent_again(self, record: LogRecord) -> bool:
        """Return whether a request is a message that its sender knows, and sends again."""
        try:
            envelope = from_headers(record.headers)
        except EnvelopeError:
            return False
        return any(whole.stream == envelope.stream and envelope.number in whole.sent for whole in self._wholes.values())

    async def _next_request(self, folded: FoldedPartition, position: Position, ids: Mapping[str, str]) -> tuple[int, str]:
        """Return the first request that was not decided, and the digest of the one before it."""
        name = self._aggregate.requests_topic.name
        reader = await self._log.reader(self._of(name), [self._partition])
        try:
            start = await reader.start(self._partition)
            if position.topics.get(name, ids[name]) != ids[name]:
                return start, ""
            try:
                await check_inputs(reader, self._of(name), self._partition, position)
            except ContinuityError:
                is_whole = folded.position.sequence >= position.sequence
                return await self._after_last_decided(reader, folded.requests, start, is_whole=is_whole)
            return position.input_offset, position.input_digest
        finally:
            await reader.close()

    async def _after_last_decided(
        self, reader: Reader, decided: Sequence[tuple[int, str]], start: int, *, is_whole: bool
    ) -> tuple[int, str]:
        """Find the last decided request that the topic still holds, by bisection: what was cut off is at the end.

        Where later decisions are lost too, and all of these requests are there, nobody knows which of those behind them were
        decided: none is decided again.
        """
        low, high = 0, len(decided)
        while low < high:
            middle = (low + high) // 2
            if await self._holds(reader, decided[middle]):
                low = middle + 1
            else:
                high = middle
        if low == len(decided) and not is_whole:
            return await reader.end(self._partition), ""
        if low == 0:
            return start, ""
        offset, last_digest = decided[low - 1]
        return max(offset + 1, start), last_digest if offset + 1 > start else ""

    async def _holds(self, reader: Reader, request: tuple[int, str]) -> bool:
        offset = request[0]
        try:
            await check_read(reader, "", self._partition, offset=offset + 1, last=request)
        except ContinuityError:
            return False
        return True

    def _named(self, record: Outgoing) -> Outgoing:
        return structs.replace(record, topic=self._of(record.topic))


def _slices(records: Sequence[Outgoing]) -> Iterable[Sequence[Outgoing]]:
    for start in range(0, len(records), TRANSACTION_RECORDS_MAX):
        yield records[start : start + TRANSACTION_RECORDS_MAX]
