"""How does one partition run? Own, restore, then cycle: read, decide, fire due timers, commit all of it or nothing.

State in memory changes only after a commit. Any error kills the ownership; `open` takes a new one and reads what was
committed since from the changelog, so a transaction in doubt needs no guessing.
Inputs keep the order of the log; timers come after them, most urgent first.

Where the log refuses a record that our own limits allow (its topic is set to take less), each input of that transaction is
decided again in a transaction of its own. One that is refused alone is decided as failed, with the refusal in its cause.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Literal

import msgspec
from msgspec import Struct

from engine.decision_rules import with_version
from engine.partition.aggregate import Aggregate, Timer
from engine.partition.broker_clock import BrokerTime, ahead_seconds, clocks_disagree
from engine.partition.continuity import (
    ContinuityError,
    check_decisions,
    check_ids,
    check_inputs,
    check_published,
    check_rules,
    topic_ids,
)
from engine.partition.decider import REFUSALS_MAX, Decider, Sealed
from engine.partition.gates import gate_of
from engine.partition.ports import (
    Clock,
    Log,
    LogError,
    LogRecord,
    Outbox,
    Outgoing,
    Ownership,
    Reader,
    RecordRefusedError,
    RulesFeed,
    Snapshot,
    Snapshots,
)
from engine.partition.state import State, unpack_any
from engine.partition.timers import PROMOTE_BATCH, TimerQueue
from engine.rules import Rules
from schemas.decisions import Cause, OutboxEntry, Position, Refusal
from schemas.envelope import rules_seen
from schemas.errors import InternalError
from schemas.instant import EPOCH, HOUR, Instant, to_rfc3339
from schemas.records import Record as RuleRecord
from schemas.state import ENTITIES, ENTITY_PREFIXES, OUTBOX_PREFIX, OWN_PREFIX, POSITION_KEY
from schemas.topics import ACCOUNTS_RULES, TOMBSTONE_RETENTION_MS, WRITTEN_WITH
from schemas.wire import UNREADABLE, from_pack, packed_name, to_pack

RESTORE_BATCH = 5_000
RESTORE_POLL_SECONDS = 0.1
RESTORE_STALLS_MAX = 150
"""Empty polls, each followed by a pause of the same length: after 30 s the restore fails and starts again."""

MARK_KEY = f"{OUTBOX_PREFIX}0".encode()
"""Outbox entries are numbered from 1, so a reader of the changelog skips this key."""

MARK_HEADER = "owner"

YIELD_EVERY = 50
"""Decisions (about 4 ms) after which the event loop may run the other partitions of this process: a commit takes several
round trips to the broker, and would miss its deadline beside a dozen partitions that decide whole cycles at a time."""

TIMER_CACHE_MAX = 20_000
"""Decoded timers that are cached until they fire (some 5 MB); further ones are decoded twice."""

SNAPSHOT_SLICE = 2_000
"""Values per slice: about 2 ms of work before the cycle may run again."""

REASON_LENGTH_MAX = 300
"""Of the reason for which the log refused a record: its topic, the size and the limit."""

Input = tuple[str | int | Instant, ...]
"""The identity of an input: its kind with an offset, or with the key and instant of a timer."""

ADOPTION: Input = ("adoption",)


class CycleLimits(Struct, frozen=True, kw_only=True):
    """The bounds of a cycle."""

    inputs_max: int = 2_000
    timers_max: int = 1_000
    large_inputs: int = 4
    """Requests and due timers from which a cycle waits for its turn among the partitions of its process."""
    turn_poll_seconds: float = 0.004
    """A cycle that has its turn reads for so long what came while it waited: a fetch takes some 3 ms."""
    cycle_gap_seconds: float = 0.03
    """From the begin of a cycle that commits to the next one: single requests share a commit."""
    commit_gap_seconds: float = 0.008
    """From a commit to the next cycle, however long the last one took. An aiokafka transaction that begins before the
    markers of the last one are written waits 20 ms; they mostly are by then."""
    idle_poll_seconds: float = 0.5
    behind_poll_seconds: float = 0.1
    behind_seconds: float = 2.0
    """Requests unread for longer than this stop contact commands (an opt-out may be among them)."""
    sample_gap_seconds: float = 0.5
    identity_gap_seconds: float = 10.0
    """Between two looks at the ids of the topics: one that was made again while a partition ran is found by then."""
    answer_seconds: float = 3.0
    """A broker answers within milliseconds; one that takes longer was away."""
    ahead_seconds: float = 30.0
    """Wall seconds by which the time of a partition may be ahead of the clock: the most by which two clocks may differ."""
    records_bytes_max: int = 8_000_000
    """Per transaction, over all records: a cycle stops there, so that a commit stays well below its deadline."""
    compare_gap_seconds: float = 30.0
    """Between two comparisons with the broker's clock while ours differs: either may have been corrected."""
    unacknowledged_max: int = 1_000
    """Acknowledged outbox entries that wait for a transaction to remove them; beyond it they get one of their own."""


class StateUnreadableError(LogError):
    """A value of the changelog that is the partition's own cannot be read: nothing may be decided without it."""

    def __init__(self, where: str, error: Exception | str) -> None:
        cure = "the partition stays stopped: see 'Records that cannot be read' in operators.md"
        super().__init__(f"{where} cannot be read ({error}); {cure}", retryable=False)


class _SnapshotMismatchError(InternalError):
    """A snapshot is not of this changelog, or memory is older than a recovery, which has written all values again."""


class TopicNames(Struct, frozen=True):
    """The names of the topics in this deployment: each has one prefix, which is empty by default."""

    prefix: str = ""

    def of(self, name: str) -> str:
        """Return the deployed name of a topic of `schemas.topics`."""
        return self.prefix + name


class CycleReport(Struct, frozen=True, kw_only=True):
    """What one cycle did, for logs and metrics: one per transaction."""

    decisions: Sequence[Sealed] = ()
    inputs: int = 0
    ticks: int = 0
    behind: bool = False
    commit_seconds: float = 0.0
    input_offset: int = 0
    records: Sequence[LogRecord] = ()
    """What was read, the inputs first."""


class Runner:
    """One partition of one aggregate. `open` before `cycle`; after any error of `cycle`, `open` again or `close`."""

    def __init__(
        self,
        aggregate: Aggregate,
        partition: int,
        *,
        log: Log,
        clock: Clock,
        outbox: Callable[[str], Outbox],
        versions: Mapping[str, str],
        rules_feed: RulesFeed | None = None,
        published: RulesFeed | None = None,
        made_topics: Callable[[], Mapping[str, str]] = dict,
        snapshots: Snapshots | None = None,
        names: TopicNames = TopicNames(),  # noqa: B008 - frozen
        limits: CycleLimits = CycleLimits(),  # noqa: B008 - frozen
        skip: Callable[[str, int, int, str], None] = lambda _topic, _partition, _offset, _reason: None,
        turn: Callable[[], AbstractAsyncContextManager[bool]] = lambda: nullcontext(False),
    ) -> None:
        """`rules_feed` holds the rules that are adopted, `published` those that this aggregate has published.

        `made_topics` returns the ids of the topics that were made for the deployment, by name without the prefix.

        `skip` receives each foreign record of the changelog: topic, partition, offset, reason.

        `turn` is held while a cycle that has much to decide does that and commits (`CycleLimits.large_inputs`); it says
        whether the cycle waited for it.
        """
        self.aggregate = aggregate
        self.partition = partition
        self.state = State()
        self._log = log
        self._clock = clock
        self._make_outbox = outbox
        self._versions = with_version(versions)
        self._feed = rules_feed
        self._published = published
        self._made_topics = made_topics
        self._snapshots = snapshots
        self._names = names
        self._limits = limits
        self._skip = skip
        self._turn = turn
        self._position = Position()
        self._changelog_offset = self._position_offset = 0
        """Where a further restore reads on: at the last position that was read, or before the next one."""
        self._has_later_position = False
        self._rules = Rules()
        self._feed_index = 0
        self._unadopted: list[tuple[int, RuleRecord]] = []
        self._timers = TimerQueue(self._timer_of, partial(gate_of, self.state))
        self._timer_cache: dict[str, tuple[bytes, Timer]] = {}
        self._outbox: Outbox | None = None
        self._entries: dict[int, OutboxEntry] = {}
        self._unreadable: dict[str, StateUnreadableError] = {}
        self._acknowledged: dict[int, None] = {}
        self._ownership: Ownership | None = None
        self._reader: Reader | None = None
        self._takeover_end = 0
        self._was_behind = False
        self._samples: deque[tuple[float, int]] = deque(maxlen=16)
        self._last_begin = float("-inf")
        self._last_commit = float("-inf")
        self._appended_at: Instant | None = None
        self._broker_time: BrokerTime | None = None
        self._mark_round_trip: tuple[float, float] = (0.0, 0.0)
        self._compared_seconds = float("-inf")
        self.ahead_since: Instant | None = None
        """Since when the partition waits because its last decision lies ahead of the clock; None: it does not."""
        self._suspects: dict[Input, Refusal | None] = {}
        self._refused = ""
        self.topic_id = ""
        self._topics: dict[str, str] = {}
        self._identified_seconds = float("-inf")
        self._kept = (1, 0)
        """Epoch and number of the last decision that memory or a snapshot has held: the changelog must not end before it."""
        self.restored_from: Literal["memory", "snapshot", "changelog"] = "changelog"

    @property
    def position(self) -> Position:
        """Where the partition stands: the last committed position."""
        return self._position

    @property
    def outbox_pending(self) -> int:
        """The committed messages that are not acknowledged yet."""
        return len(self._entries)

    @property
    def timers_pending(self) -> int:
        """The timers that are set; one that moved or ended counts until its old time."""
        return len(self._timers)

    @property
    def lag_records(self) -> int:
        """The consumer lag: unread requests when the end of the input was last sampled."""
        end = self._samples[-1][1] if self._samples else self._takeover_end
        return max(0, end - self._position.input_offset)

    @property
    def problem(self) -> str | None:
        """What keeps the partition from doing all its work, since when, and the cure; None where nothing does."""
        if self._suspects:
            return (
                f"the log refused a record: {self._refused}. {len(self._suspects)} inputs are decided one by one, to find "
                "the one that cannot be written. `leadclock topics check` shows which topic is set to take too little."
            )
        if clocks_disagree(apart := self._clock_ahead_seconds()):
            return (
                f"the clock of this machine is {abs(apart):.0f} s {'ahead of' if apart > 0 else 'behind'} the broker's. "
                "Requests are decided, and nothing that depends on time is done, also after a restart. Set the wrong clock "
                "of the two; the partition then goes on by itself."
            )
        if self.ahead_since is None:
            return None
        decided_at = to_rfc3339(self._position.decided_at)
        return (
            f"a process whose clock was ahead decided here at {decided_at}. Since {to_rfc3339(self.ahead_since)} requests "
            "are decided, and nothing that depends on time is done. Stop any process that runs on another clock, and set "
            f"this machine's clock if it is wrong; otherwise the partition goes on at {decided_at}."
        )

    @property
    def next_due_at(self) -> Instant | None:
        """When the next timer is due."""
        return self._timers.next_due_at()

    async def open(self) -> None:
        """Take the partition: fence the former owner, restore the committed state, seek to the next input.

        Raises `LogError`; `ContinuityError` where a topic is not the one that was read and written so far.
        """
        await self._release()
        input_topic = self._names.of(self.aggregate.requests_topic.name)
        written = WRITTEN_WITH.get(self.aggregate.requests_topic.name, ())
        # First, so that a topic that does not exist is named: to take the partition would only get no answer.
        self._topics = await topic_ids(self._log, self._names.of, self.aggregate)
        self._identified_seconds = self._clock.monotonic()
        ownership = self._ownership = await self._log.own(
            input_topic, self.partition, writes=[self._names.of(topic.name) for topic in written]
        )
        self.topic_id = self._topics[self.aggregate.state_topic.name]
        # Before the mark of a restore is written. A partition that knows nothing may have lost all: the deployment knows.
        check_ids(self._names.of, {**self._made_topics(), **self._position.topics}, self._topics)
        await self._restore(ownership)
        check_ids(self._names.of, self._position.topics, self._topics)
        await check_decisions(self._log, self._names.of, self.aggregate, self.partition, self._position)
        if self._feed is not None:
            await self._restore_rules(self._feed)
        if self._published is not None:
            await self._published.refresh()
            rules_topic = self._names.of(ACCOUNTS_RULES.name)
            check_published(rules_topic, self.partition, self.state, self._published.entries)
        self._reader = await self._log.reader(input_topic, [self.partition])
        await check_inputs(self._reader, input_topic, self.partition, self._position)
        self._takeover_end = await self._reader.end(self.partition)
        self._samples.clear()
        if self._outbox is None:
            self._outbox = self._make_outbox(self._stream())
        # A commit in doubt may have removed acknowledged entries; those that are still there need not be sent again.
        self._acknowledged = {number: None for number in self._acknowledged if number in self._entries}
        self._outbox.offer([entry for number, entry in self._entries.items() if number not in self._acknowledged])

    async def close(self) -> None:
        """Release the partition. Never raises."""
        await self._release()
        if self._outbox is not None:
            await self._outbox.close()
            self._outbox = None

    async def cycle(self) -> CycleReport:
        """Read, decide, fire, commit; wait where there is nothing to do. Raises `LogError`, `FencedError`."""
        if self._reader is None or self._ownership is None:
            raise LogError("the partition is not open")
        if clocks_disagree(self._clock_ahead_seconds()):
            await self._compare_clocks(self._ownership)
        if self._gap_ends_at() > self._clock.monotonic():  # the answer takes nothing but a part of the gap
            await self._sample(self._reader)
        records = await self._read(self._reader)
        await self._sample(self._reader)
        if not self._is_large(records):
            return await self._decide_and_commit(self._reader, self._ownership, records)
        async with self._turn() as has_waited:
            if has_waited:  # what came meanwhile need not wait for one more cycle
                await self._read_until(self._clock.monotonic() + self._limits.turn_poll_seconds, self._reader, records)
            return await self._decide_and_commit(self._reader, self._ownership, records)

    def _is_large(self, records: Sequence[LogRecord]) -> bool:
        large = self._limits.large_inputs
        return len(records) + self._timers.count_due(self._now(), large) >= large

    async def _decide_and_commit(self, reader: Reader, ownership: Ownership, records: list[LogRecord]) -> CycleReport:
        began = self._clock.monotonic()
        if records:
            self._appended_at = records[-1].appended_at
        if self._must_not_begin():  # checked without an await before `now` is taken: a clock may be set at any moment
            await reader.seek(self.partition, self._position.input_offset)
            await self._clock.sleep(self._limits.idle_poll_seconds)
            return CycleReport(behind=True, input_offset=self._position.input_offset)
        now = self._now()
        behind = self._was_behind = self._is_behind(reader)
        sealed: list[Sealed] = []
        decider = Decider(self.aggregate, self.partition, self.state, self._rules, self._position)
        try:
            done = await self._decide(decider, records, now, sealed, behind=behind)
            ticks = [] if behind or done < len(records) or self._is_alone(sealed) else await self._fire(decider, now, sealed)
            seconds = await self._commit(ownership, decider, sealed, began)
        except BaseException as error:
            self.state.rollback()
            if isinstance(error, RecordRefusedError):
                self._suspect_inputs(sealed, str(error)[:REASON_LENGTH_MAX])
            raise
        if done < len(records):
            await reader.seek(self.partition, self._position.input_offset)
        return CycleReport(
            decisions=sealed,
            inputs=done,
            ticks=len(ticks),
            behind=behind,
            commit_seconds=seconds,
            input_offset=self._position.input_offset,
            records=records,
        )

    async def begin_snapshot(self) -> Iterator[Snapshot]:
        """Return the slices of a snapshot that begins now; call it between two cycles, write the slices while they run on.

        Later slices may hold values newer than the offset; reading the changelog from there makes them right, because
        every record of it holds a whole value. The first slice holds the position and the outbox. Raises `LogError` and
        `FencedError`, as `cycle` does.
        """
        ownership = self._ownership
        if ownership is None:
            raise LogError("the partition is not open")
        reader = await self._changelog(start=self._changelog_offset)
        try:
            end = await reader.end(self.partition)
        finally:
            await reader.close()
        if self._ownership is not ownership:
            raise LogError("the partition was closed meanwhile")
        # A former owner would mistake its successor's records for its own: a commit that succeeds proves that there is none.
        await ownership.commit(self._transaction(self._position, []))
        self._apply_commit(self._position, [])
        self._changelog_offset = self._position_offset = end
        begun_at, offset = self._clock.now(), self._changelog_offset
        sequence, chain = self._position.sequence, self._position.chain
        own = [(POSITION_KEY, to_pack(self._position))]
        own += [(f"{OUTBOX_PREFIX}{number}", to_pack(entry)) for number, entry in self._entries.items()]
        keys = [key for key, _ in self.state.items()]

        def slices() -> Iterator[Snapshot]:
            yield Snapshot(begun_at, offset, own, sequence, chain)
            for start in range(0, len(keys), SNAPSHOT_SLICE):
                values = ((key, self.state.committed(key)) for key in keys[start : start + SNAPSHOT_SLICE])
                items = [(key, value) for key, value in values if value is not None]
                yield Snapshot(begun_at, offset, items, sequence, chain)

        return slices()

    # -- one cycle -----------------------------------------------------------------------------------------------------

    async def _read(self, reader: Reader) -> list[LogRecord]:
        """Return the next inputs, not before the gap after the last cycle is over; where there are none, wait for one.

        A reader fetches again only when its buffer is empty, and what it fetched while the last cycle ran is as old as that
        cycle is long. It is emptied all through the gap: what comes meanwhile need not wait for one more cycle.
        """
        records: list[LogRecord] = []
        await self._read_until(self._gap_ends_at(), reader, records)
        if (left_seconds := self._gap_ends_at() - self._clock.monotonic()) > 0:
            await self._clock.sleep(left_seconds)
        timeout_seconds = 0.0 if records else self._poll_timeout_seconds()
        if room := self._limits.inputs_max - len(records):
            records += await reader.poll(limit=room, timeout_seconds=timeout_seconds)
        return records

    async def _read_until(self, ends_at: float, reader: Reader, records: list[LogRecord]) -> None:
        """Add what comes until a monotonic second, as long as each poll finds something.

        The first poll may find only what was fetched before; a later one asks the broker again.
        """
        while (room := self._limits.inputs_max - len(records)) and (left_seconds := ends_at - self._clock.monotonic()) > 0:
            found = await reader.poll(limit=room, timeout_seconds=left_seconds)
            if not found:
                break
            records += found

    def _gap_ends_at(self) -> float:
        """Return the monotonic second until which the next cycle must wait for the last one that committed."""
        return max(self._last_commit + self._limits.commit_gap_seconds, self._last_begin + self._limits.cycle_gap_seconds)

    async def _decide(
        self, decider: Decider, records: Sequence[LogRecord], now: Instant, sealed: list[Sealed], *, behind: bool
    ) -> int:
        """Decide the records in order; return how many fit into the transaction."""
        self._adopt(decider, now, sealed)
        size = 0
        for index, record in enumerate(records):
            if self._feed is not None and self._lacks_rules(record):
                await self._feed.refresh()
                self._adopt(decider, now, sealed)
            if self._must_defer(("request", record.offset), sealed):
                return index
            if index % YIELD_EVERY == YIELD_EVERY - 1:
                await self._clock.sleep(0)
            refusal = self._suspects.get(("request", record.offset)) if self._suspects else None
            decision = decider.request(record, now, behind=behind, refusal=refusal)
            sealed.append(decision)
            size += decision.size_bytes
            if size > self._limits.records_bytes_max:
                return index + 1
        return len(records)

    async def _fire(self, decider: Decider, now: Instant, sealed: list[Sealed]) -> list[Timer]:
        """Decide the due timers, most urgent first; return those that fit into the transaction."""
        while self._timers.promote_due(now, PROMOTE_BATCH):
            await self._clock.sleep(0)
        due = self._timers.pop_due(now, self._limits.timers_max)
        size = sum(one.size_bytes for one in sealed)
        for index, timer in enumerate(due):
            mark = ("tick", timer.key, timer.due_at)
            if size > self._limits.records_bytes_max or self._must_defer(mark, sealed):
                self._timers.give_back(due[index:])
                return due[:index]
            try:
                if index % YIELD_EVERY == YIELD_EVERY - 1:
                    await self._clock.sleep(0)
                refusal = self._suspects.get(mark) if self._suspects else None
                sealed.append(decider.tick(timer.key, timer.due_at, now, refusal=refusal))
            except BaseException:
                self._timers.give_back(due[index:])
                raise
            size += sealed[-1].size_bytes
        return due

    async def _commit(self, ownership: Ownership, decider: Decider, sealed: list[Sealed], began: float) -> float:
        assert self._outbox is not None  # noqa: S101 - opened with the reader
        self._acknowledged |= {number: None for number in self._outbox.delivered() if number in self._entries}
        if not sealed and len(self._acknowledged) < self._limits.unacknowledged_max:
            return 0.0
        started = self._clock.monotonic()
        await ownership.commit(self._transaction(decider.position, sealed))
        self._last_begin, self._last_commit = began, self._clock.monotonic()
        self._apply_commit(decider.position, sealed)
        return self._last_commit - started

    def _transaction(self, position: Position, sealed: list[Sealed]) -> list[Outgoing]:
        changelog = self._names.of(self.aggregate.state_topic.name)
        records = [record for one in sealed for record in one.records]
        if self._names.prefix:
            of = self._names.of
            records = [Outgoing(of(record.topic), record.key, record.value, record.headers) for record in records]
        records += [Outgoing(changelog, key.encode(), packed) for key, packed in self.state.pending().items()]
        records += [
            Outgoing(changelog, f"{OUTBOX_PREFIX}{entry.number}".encode(), to_pack(entry))
            for one in sealed
            for entry in one.entries
        ]
        records += [Outgoing(changelog, f"{OUTBOX_PREFIX}{number}".encode(), None) for number in self._acknowledged]
        records.append(Outgoing(changelog, POSITION_KEY.encode(), to_pack(position)))
        return records

    def _apply_commit(self, position: Position, sealed: list[Sealed]) -> None:
        """Apply a committed transaction to memory."""
        assert self._outbox is not None  # noqa: S101 - opened with the reader
        self.state.commit()
        self._position = position
        if self._suspects:
            self._clear_suspects(sealed)
        for number in self._acknowledged:
            del self._entries[number]
        self._acknowledged.clear()
        entries = [entry for one in sealed for entry in one.entries]
        self._entries.update((entry.number, entry) for entry in entries)
        if entries:
            self._outbox.offer(entries)
        for one in sealed:
            self._set_timers(one)
        if self._timers.is_bloated(len(self.state)):
            self._timers.rebuild(self._all_timers())

    def _set_timers(self, sealed: Sealed) -> None:
        cause = sealed.decision.cause
        due_at = cause.due_at or EPOCH
        has_moved_on = False
        for key, entity in sealed.changes:
            timer = None if entity is None else self.aggregate.timer(key, entity)
            if timer is not None:
                self._timers.push(timer)
            if key == cause.key:
                has_moved_on = timer is None or timer.due_at > due_at or timer.gate != ""
        if cause.kind == "tick" and cause.key is not None and not has_moved_on:
            self._park_if_stuck(cause.key, due_at)

    def _park_if_stuck(self, key: str, due_at: Instant) -> None:
        """Park a timer whose decision failed or did not move it: it must not keep the partition busy."""
        timer = self._timer_of(key)
        if timer is not None and timer.due_at <= due_at:
            self._timers.park(timer, self._position.decided_at + HOUR)

    # -- what the log refuses ------------------------------------------------------------------------------------------

    def _suspect_inputs(self, sealed: list[Sealed], reason: str) -> None:
        """Suspect every input of a refused transaction. A suspect that is refused alone is the cause.

        So each is refused twice: the limits of the topics are read again after a refusal, and may be higher by then.
        """
        self._refused = reason
        inputs = [_input_of(one.decision.cause) for one in sealed]
        if len(inputs) == 1 and inputs[0] in self._suspects:
            before = self._suspects[inputs[0]]
            times = 1 if before is None else min(REFUSALS_MAX, before.times + 1)
            self._suspects[inputs[0]] = Refusal(reason=reason, times=times)
        else:
            self._suspects.update((one, self._suspects.get(one)) for one in inputs)

    def _must_defer(self, one: Input, sealed: list[Sealed]) -> bool:
        """Return whether an input must wait for the next transaction: it, or one in this transaction, is a suspect."""
        return bool(sealed and self._suspects) and (one in self._suspects or self._is_alone(sealed))

    def _is_alone(self, sealed: list[Sealed]) -> bool:
        """Return whether a transaction holds a suspect: a suspect gets a transaction of its own."""
        return bool(sealed and self._suspects) and _input_of(sealed[-1].decision.cause) in self._suspects

    def _clear_suspects(self, sealed: list[Sealed]) -> None:
        """Clear the suspects that were written, and those that are gone: timers that moved meanwhile."""
        for one in sealed:
            self._suspects.pop(_input_of(one.decision.cause), None)
        for suspect in list(self._suspects):
            if suspect[0] == "request":
                is_there = int(suspect[1]) >= self._position.input_offset
            else:
                timer = self._timer_of(str(suspect[1])) if suspect[0] == "tick" else None
                is_there = timer is not None and timer.due_at == suspect[2]
            if not is_there:
                del self._suspects[suspect]

    # -- rules ---------------------------------------------------------------------------------------------------------

    def _adopt(self, decider: Decider, now: Instant, sealed: list[Sealed]) -> None:
        """Adopt the rules that the feed read since, the versions of this process, and at first the topics."""
        entries = [] if self._feed is None else [*self._unadopted, *self._feed.entries[self._feed_index :]]
        topics = {} if decider.position.topics else self._topics
        if entries or topics or self._versions != decider.position.versions:
            refusal = self._suspects.get(ADOPTION)
            sealed.append(decider.adoption(entries, self._versions, now, topics=topics, refusal=refusal))
            self._feed_index += len(entries) - len(self._unadopted)
            self._unadopted = []

    def _lacks_rules(self, record: LogRecord) -> bool:
        """Return whether the sender of a request had seen newer rules than are adopted: they must be adopted first."""
        partition, sequence = rules_seen(record.headers)
        return partition is not None and sequence > self._rules.positions.get(partition, 0)

    async def _restore_rules(self, feed: RulesFeed) -> None:
        """Fold the rules again, up to the position that the partition has adopted."""
        adopted = self._position.rules
        newest = _newest_sequences(feed)
        is_read = all(sequence <= newest.get(int(partition), 0) for partition, sequence in adopted.items())
        if feed.contact_ids is None or not is_read:
            await feed.refresh()
            newest = _newest_sequences(feed)
        check_rules(self._names.of(ACCOUNTS_RULES.name), adopted, newest)
        self._rules = Rules(feed.contact_ids)
        self._unadopted = []
        self._feed_index = len(feed.entries)
        for partition, record in feed.entries:
            if record.sequence <= adopted.get(str(partition), 0):
                self._rules.apply(partition, record)
            else:
                self._unadopted.append((partition, record))

    # -- time ----------------------------------------------------------------------------------------------------------

    def _now(self) -> Instant:
        """Return the instant of this cycle: it never goes back, and stops while the clock cannot be trusted.

        A decision in the future would move the partition there: leads would expire, and request ids be forgotten.
        """
        decided_at = self._position.decided_at
        if decided_at > EPOCH and clocks_disagree(self._clock_ahead_seconds()):
            return decided_at
        return max(self._clock.now(), decided_at)

    def _poll_timeout_seconds(self) -> float:
        """Return how long to wait for input: until the next timer, and no longer than the idle poll."""
        if self._was_behind:  # due timers do not fire: a clock that differs must not make the partition spin
            return self._limits.behind_poll_seconds
        due_at = self._timers.next_due_at()
        if due_at is None:
            return self._limits.idle_poll_seconds
        return min(self._limits.idle_poll_seconds, max(0.0, self._clock.seconds_until(due_at)))

    async def _sample(self, reader: Reader) -> None:
        """Sample the end of the input, at most twice a second.

        A log that took long to answer may have been away. What it acknowledged before shows only after a new take-over
        (`Log.own`); until then a lead would wait for the outcome of its command.
        """
        now = self._clock.monotonic()
        if now - self._identified_seconds >= self._limits.identity_gap_seconds:
            check_ids(self._names.of, self._topics, await topic_ids(self._log, self._names.of, self.aggregate))
            self._identified_seconds = now
        if not self._samples or now - self._samples[-1][0] >= self._limits.sample_gap_seconds:
            self._samples.append((now, await reader.end(self.partition)))
            if self._clock.monotonic() - now > self._limits.answer_seconds:
                raise LogError("the log was away for a while: take the partition again")

    def _is_behind(self, reader: Reader) -> bool:
        """Return whether unread requests may forbid a contact (an opt-out), or whether the clock is in doubt."""
        position = reader.position(self.partition)
        if self._check_position_ahead() or position < self._takeover_end or clocks_disagree(self._clock_ahead_seconds()):
            return True
        before = self._clock.monotonic() - self._limits.behind_seconds
        return any(sampled <= before and end > position for sampled, end in self._samples)

    def _clock_ahead_seconds(self) -> float:
        """Return by how much the clock is ahead of the broker's (negative: behind), as far as that is certain."""
        return ahead_seconds(self._clock.wall(), self._clock.elapsed(), self._broker_time, self._appended_at)

    def _must_not_begin(self) -> bool:
        """Return whether a wrong clock would date the first decision ever; a later one keeps the instant of the last."""
        return self._position.decided_at == EPOCH and clocks_disagree(self._clock_ahead_seconds())

    async def _compare_clocks(self, ownership: Ownership) -> None:
        """Compare with the broker's clock again, where the last comparison is long enough ago."""
        if self._clock.elapsed() - self._compared_seconds < self._limits.compare_gap_seconds:
            return
        reader = await self._changelog(start=None)
        try:
            await self._read_up_to(reader, await self._set_mark(ownership, await reader.end(self.partition)))
        finally:
            await reader.close()

    def _check_position_ahead(self) -> bool:
        """Return whether a clock ahead of ours decided here, so that nothing may fire; note since when."""
        if self._clock.seconds_until(self._position.decided_at) <= self._limits.ahead_seconds:
            self.ahead_since = None
            return False
        self.ahead_since = self.ahead_since or self._clock.now()
        return True

    # -- restoring -----------------------------------------------------------------------------------------------------

    async def _restore(self, ownership: Ownership) -> None:
        """Read the changelog from where memory (or the snapshot) ends up to a mark that this owner writes.

        The end that a broker reports may lie before what a former owner committed, if the broker has just restarted. A
        mark that can be read lies behind all of it.
        """
        self._kept = max(self._kept, (self._position.epoch, self._position.sequence))
        self._unreadable.clear()
        is_restored = self._changelog_offset > 0 and await self._restore_memory(ownership)
        if not is_restored and not await self._restore_snapshot(ownership):
            self._reset()
            self.restored_from = "changelog"
            await self._read_changelog(ownership)
        if (self._position.epoch, self._position.sequence) < self._kept:
            held = f"ends at decision {self._position.sequence}"
            self._changelog_offset = 0  # memory is newer than the changelog: an operator decides which of them holds
            raise self._other_changelog(f"{held}, and this process knows decision {self._kept[1]}")
        self.state.places.clear()
        self._timers.rebuild(self._all_timers())

    def _other_changelog(self, what: str) -> ContinuityError:
        return ContinuityError(f"{self._names.of(self.aggregate.state_topic.name)}[{self.partition}]", what)

    async def _restore_memory(self, ownership: Ownership) -> bool:
        """Read on behind what memory holds; return False where a recovery has written the changelog again since then.

        It is read from the last position on, which must still be there: one that was cut behind it may have grown again.
        """
        self.restored_from, self._has_later_position = "memory", False
        try:
            await self._read_changelog(ownership)
        except _SnapshotMismatchError:
            return False
        if self._position.sequence and not self._has_later_position:
            self._changelog_offset = 0
            raise self._other_changelog(f"lacks decision {self._position.sequence}, which this process knows")
        return True

    async def _restore_snapshot(self, ownership: Ownership) -> bool:
        """Restore from a snapshot; return False where none fits: the caller must reset what it read."""
        self._reset()
        try:
            self._load_snapshot()
            if self._changelog_offset == 0:
                return False
            self.restored_from, self._has_later_position = "snapshot", False
            await self._read_changelog(ownership)
            if not self._has_later_position:  # to begin a snapshot is to commit the position behind its offset
                return False
        except _SnapshotMismatchError:
            return False
        except BaseException:
            self._changelog_offset = 0  # it is not known to fit: the next attempt starts over
            raise
        return True

    async def _read_changelog(self, ownership: Ownership) -> None:
        """Read on from where memory or snapshot ends. Raises `_SnapshotMismatchError` where that is another changelog."""
        reader = await self._changelog(start=self._changelog_offset)
        try:
            end = await reader.end(self.partition)
            if end < self._changelog_offset:  # what it holds is read from the beginning, and compared with the decisions
                raise _SnapshotMismatchError
            await self._read_up_to(reader, await self._set_mark(ownership, end))
            self._changelog_offset = self._position_offset or reader.position(self.partition)
        finally:
            await reader.close()

    def _reset(self) -> None:
        """Drop what a failed restore has read: a newer snapshot does not say what was removed since."""
        self._changelog_offset = self._position_offset = 0
        self.restored_from = "changelog"
        self._unreadable.clear()
        self.state.clear()
        self._entries.clear()
        self._position = Position()

    async def _set_mark(self, ownership: Ownership, end: int) -> bytes:
        """Write the tombstone of an outbox entry that never existed, with a header that is unique to this owner."""
        mark = f"{end}/{self._clock.now()}/{self._clock.monotonic()}".encode()
        topic = self._names.of(self.aggregate.state_topic.name)
        sent_seconds = self._clock.elapsed()
        await ownership.commit([Outgoing(topic, MARK_KEY, None, ((MARK_HEADER, mark),))])
        self._mark_round_trip = sent_seconds, self._clock.elapsed()
        return mark

    def _read_broker_time(self, mark: LogRecord) -> None:
        """Take the broker's time from the mark that this owner wrote."""
        self._broker_time = BrokerTime(mark.appended_at, *self._mark_round_trip)
        self._compared_seconds = self._clock.elapsed()
        # An append time in our future is outdated by this: the broker's clock may have been corrected since.
        self._appended_at = None

    async def _read_up_to(self, reader: Reader, mark: bytes) -> None:
        stalls = 0
        while True:
            records = await reader.poll(limit=RESTORE_BATCH, timeout_seconds=RESTORE_POLL_SECONDS)
            if self._apply_records(records, mark):
                for error in self._unreadable.values():
                    raise error
                return
            stalls = 0 if records else stalls + 1
            if stalls > RESTORE_STALLS_MAX:
                raise LogError(f"the changelog stalls at {reader.position(self.partition)}, before the mark of this owner")
            if not records:
                await self._clock.sleep(RESTORE_POLL_SECONDS)
                await reader.end(self.partition)

    def _apply_records(self, records: Sequence[LogRecord], mark: bytes) -> bool:
        """Apply records of the changelog; return whether this owner's mark is among them."""
        is_marked, restore = False, self.state.restore
        for record in records:
            try:
                key = (record.key or b"").decode()
                if key.startswith(ENTITY_PREFIXES):  # nearly all: a restore reads millions
                    restore(key, record.value)
                elif key.startswith(OWN_PREFIX):
                    self._apply_record(key, record.value)
                    self._unreadable.pop(key, None)
                    if key == POSITION_KEY:
                        self._position_offset = record.offset
                    if record.key == MARK_KEY and (MARK_HEADER, mark) in record.headers:
                        self._read_broker_time(record)
                        is_marked = True
                else:
                    self._skip(record.topic, record.partition, record.offset, "its key is not that of a value of state")
            except (*UNREADABLE, ValueError) as error:
                self._refuse(record, error)
        return is_marked

    def _refuse(self, record: LogRecord, error: Exception) -> None:
        """Skip a record with a foreign key. A value of the runner's own must be followed by one that can be read."""
        key = (record.key or b"").decode(errors="replace")
        if key.startswith(OWN_PREFIX):
            where = f"{record.topic}[{record.partition}] offset {record.offset}"
            self._unreadable[key] = StateUnreadableError(where, error)
        else:
            self._skip(record.topic, record.partition, record.offset, f"its key cannot be read: {error}")

    async def _changelog(self, *, start: int | None) -> Reader:
        topic = self._names.of(self.aggregate.state_topic.name)
        return await self._log.reader(topic, [self.partition], start=start)

    def _load_snapshot(self) -> None:
        if self._snapshots is None:
            return
        begun_after = self._clock.now() - TOMBSTONE_RETENTION_MS // 2
        for one in self._snapshots.load(self.partition, self.topic_id, begun_after=begun_after) or ():
            self._changelog_offset = one.offset
            for key, packed in one.items:
                self._apply_record(key, packed)
            self._kept = max(self._kept, (self._position.epoch, one.sequence))
            if (self._position.sequence, self._position.chain) != (one.sequence, one.chain):
                raise _SnapshotMismatchError

    def _apply_record(self, key: str, packed: bytes | None) -> None:
        if key == POSITION_KEY:
            position = msgspec.msgpack.decode(packed or b"", type=Position)
            if self.restored_from == "snapshot" and not _can_follow(self._position, position):
                raise _SnapshotMismatchError
            if self.restored_from == "memory" and position.epoch != self._position.epoch:
                raise _SnapshotMismatchError
            self._position, self._has_later_position = position, True
        elif key.startswith(OUTBOX_PREFIX):
            self._apply_outbox_entry(int(key.removeprefix(OUTBOX_PREFIX)), packed)
        else:
            self.state.restore(key, packed)

    def _apply_outbox_entry(self, number: int, packed: bytes | None) -> None:
        if packed is None:
            self._entries.pop(number, None)
        else:
            self._entries[number] = msgspec.msgpack.decode(packed, type=OutboxEntry)

    def _timer_of(self, key: str) -> Timer | None:
        """Return the timer that an entity has now. The queue asks when it is promoted and when it fires: decode it once."""
        packed = self.state.packed(key)
        if packed is None:
            return None
        known = self._timer_cache.pop(key, None)
        if known is not None and known[0] is packed:
            return known[1]
        timer = self.aggregate.timer(key, unpack_any(key, packed))
        if timer is not None:
            if len(self._timer_cache) >= TIMER_CACHE_MAX:
                self._timer_cache.clear()  # also drops entries whose entity has changed since: those are never read again
            self._timer_cache[key] = packed, timer
        return timer

    def _all_timers(self) -> Iterator[Timer]:
        """Yield the timer of every value that has one, and note its claim. Most have none: their bytes show it."""
        marks = {kind: packed_name(field) if field else None for kind, field in self.aggregate.timer_fields.items()}
        for key, packed in self.state.items():
            kind = key.partition("/")[0]
            mark = marks.get(kind, b"")
            if mark is None or mark not in packed:
                continue
            try:
                entity = from_pack(packed, ENTITIES[kind])
                timer = self.aggregate.timer(key, entity)
            except UNREADABLE as error:
                topic = self._names.of(self.aggregate.state_topic.name)
                raise StateUnreadableError(f"the value of {key} in {topic}[{self.partition}]", error) from error
            claim = self.aggregate.claim(entity)
            if claim is not None:
                self.state.places.put(key, claim)
            if timer is not None:
                yield timer

    def _stream(self) -> str:
        """Return the name of this partition's numbered message stream."""
        return stream_name(self.aggregate.state_topic.name, self._position.stream or self.topic_id, self.partition)

    async def _release(self) -> None:
        """Close reader and ownership; memory stays as of the last commit."""
        self.state.rollback()
        if self._reader is not None:
            await self._reader.close()
            self._reader = None
        if self._ownership is not None:
            await self._ownership.close()
            self._ownership = None


def stream_name(state_topic: str, stream: str, partition: int) -> str:
    """Return the name of the numbered messages of a partition. `stream` is the id of its first changelog, for ever."""
    return f"{state_topic}/{stream}/{partition}"


def _input_of(cause: Cause) -> Input:
    """Return the identity of an input."""
    match cause.kind:
        case "request":
            return "request", cause.offset or 0
        case "tick":
            return "tick", cause.key or "", cause.due_at or EPOCH
        case _:
            return ADOPTION


def _can_follow(known: Position, position: Position) -> bool:
    """Return whether a committed position can follow another: decisions are never undone, and a recovery begins again."""
    return position.epoch == known.epoch and _is_later(known, position)


def _is_later(known: Position, position: Position) -> bool:
    return position.sequence > known.sequence or (position.sequence, position.chain) == (known.sequence, known.chain)


def _newest_sequences(feed: RulesFeed) -> dict[int, int]:
    """Return the number of the newest change of each accounts partition."""
    newest: dict[int, int] = {}
    for partition, record in feed.entries:
        newest[partition] = max(newest.get(partition, 0), record.sequence)
    return newest
