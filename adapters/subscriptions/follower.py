"""How do committed decisions become stored events? Partition by partition, from the position behind the last stored one.

The position is stored with the events. A decision that is read again gives events with the same ids, which are stored once:
a former owner of a partition can do no harm, so there is no fence.
"""

import asyncio
from collections.abc import Callable, Sequence

from adapters.errors import StoreError
from adapters.partitions.feed import RulesTopic
from adapters.retry import Backoff, pause
from adapters.subscriptions.matching import UnreadableDecisionError, deliveries_of
from adapters.subscriptions.ports import NewDelivery, SubscriptionStore
from engine.partition.continuity import ReadMark, check_mark
from engine.partition.ports import Log, LogError, LogRecord, Reader
from engine.partition.runner import TopicNames
from schemas.topics import ACCOUNTS_DECISIONS, CONTACTS_DECISIONS

RECORDS_MAX = 1_000
"""Decisions of one batch: their events are stored in one transaction."""

POLL_SECONDS = 0.25
GAP_SECONDS = 0.2
"""Between two batches: what comes meanwhile shares one look for new subscriptions and one transaction."""

LAG_SECONDS = 2.0
"""How often the ends of the partitions are looked up."""

IDLE_SAVE_SECONDS = 5.0
"""How often positions are stored while no event is: read again, decisions without events cost little."""

TOPICS = (CONTACTS_DECISIONS.name, ACCOUNTS_DECISIONS.name)

ReportFault = Callable[[str, int, int, str], None]
"""Called for each decision that cannot be read: topic, partition, offset, reason."""


class Follower:
    """Follows the assigned partitions of both decisions topics; `stored` is set whenever events were stored."""

    def __init__(
        self,
        log: Log,
        store: SubscriptionStore,
        rules: RulesTopic,
        *,
        names: TopicNames,
        skip: ReportFault,
        describe: Callable[[Exception], str] = str,
    ) -> None:
        """`describe` turns an error of the log or the database into a sentence that says what to do."""
        self._topics = tuple(_FollowedTopic(name, names.of(name), log, store, rules) for name in TOPICS)
        for topic in self._topics:
            topic.skip = skip
        self._describe = describe
        self.stored = asyncio.Event()

    @property
    def lag(self) -> dict[tuple[str, int], int]:
        """Return how many decisions of each partition are not read yet."""
        return {place: lag for topic in self._topics for place, lag in topic.lag.items()}

    def assign(self, partitions: frozenset[int]) -> None:
        """Set the partitions to follow from now on."""
        for topic in self._topics:
            topic.assign(partitions)

    def problems(self) -> dict[str, str]:
        """Return what keeps events from being stored: topic -> sentence."""
        return {topic.name: topic.problem for topic in self._topics if topic.problem is not None}

    async def run(self, stop: asyncio.Event) -> None:
        """Follow until `stop` is set; retry when the log or the database fails."""
        await asyncio.gather(*(self._follow(topic, stop) for topic in self._topics))

    async def _follow(self, topic: "_FollowedTopic", stop: asyncio.Event) -> None:
        backoff = Backoff()
        try:
            while not stop.is_set():
                try:
                    if await topic.step():
                        self.stored.set()
                    backoff.reset()
                except (StoreError, LogError) as error:
                    topic.problem = self._describe(error)
                    await topic.close()
                    await pause(stop, backoff.next_seconds())
        finally:
            await topic.close()


class _FollowedTopic:
    """One topic: its reader, and how far its events are stored."""

    def __init__(self, name: str, deployed: str, log: Log, store: SubscriptionStore, rules: RulesTopic) -> None:
        self.name = name
        self.problem: str | None = "starting"
        self.lag: dict[tuple[str, int], int] = {}
        self.skip: ReportFault = lambda _topic, _partition, _offset, _reason: None
        self._deployed = deployed
        self._log = log
        self._store = store
        self._rules = rules
        self._wanted: frozenset[int] = frozenset()
        self._reader: Reader | None = None
        self._read: frozenset[int] = frozenset()
        self._marks: dict[int, ReadMark] = {}
        self._saved: dict[int, int] = {}
        self._saved_at = self._lag_read_at = float("-inf")

    def assign(self, partitions: frozenset[int]) -> None:
        self._wanted = partitions

    async def close(self) -> None:
        """Stop reading; the next step begins at the stored positions."""
        reader, self._reader, self._read = self._reader, None, frozenset()
        self.lag.clear()
        if reader is not None:
            await reader.close()

    async def step(self) -> bool:
        """Read once and store what was read; return whether there were events."""
        if self._wanted != self._read:
            await self.close()
            await self._open()
        if self._reader is None:
            self.problem = None
            await asyncio.sleep(POLL_SECONDS)
            return False
        records = await self._reader.poll(limit=RECORDS_MAX, timeout_seconds=POLL_SECONDS)
        found = await self._events(records)
        await self._save(records, found)
        await self._read_lag(self._reader)
        self.problem = None
        if records:
            await asyncio.sleep(GAP_SECONDS)
        return bool(found)

    async def _read_lag(self, reader: Reader) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._lag_read_at >= LAG_SECONDS:
            ends = {number: await reader.end(number) for number in self._read}
            self.lag = {(self.name, number): max(0, end - reader.position(number)) for number, end in ends.items()}
            self._lag_read_at = now

    async def _open(self) -> None:
        if not self._wanted:
            return
        wanted = self._wanted
        topic_id = await self._log.topic_id(self._deployed)
        await self._rules.refresh()
        reader = self._reader = await self._log.reader(self._deployed, sorted(wanted))
        for number in sorted(wanted):
            stored = await self._store.progress(self.name, number)
            if stored is None:
                # Nothing was ever stored: what is decided before there is a subscription is for none.
                new = 0 if self._rules.rules.any_of("subscription") else await reader.end(number)
                await reader.seek(number, new)
                self._marks[number] = ReadMark(topic_id, new)
                continue
            await check_mark(reader, self._deployed, number, stored, topic_id)
            self._marks[number] = stored
            if (start := await reader.start(number)) > stored.offset:
                self.skip(self.name, number, stored.offset, f"deleted by retention up to {start}: their events are not sent")
        for number in wanted:  # to compare one has moved the others on
            await reader.seek(number, self._marks[number].offset)
        self._saved = {}
        self._read = wanted

    async def _events(self, records: Sequence[LogRecord]) -> list[NewDelivery]:
        if not records:
            return []
        await self._rules.refresh()  # a subscription that was acknowledged before a decision gets its events
        if not self._rules.rules.any_of("subscription"):
            return []
        found: list[NewDelivery] = []
        for record in records:
            try:
                found += deliveries_of(record, self.name, self._rules.rules)
            except UnreadableDecisionError as error:
                self.skip(self.name, record.partition, record.offset, str(error))
        return found

    async def _save(self, records: Sequence[LogRecord], found: Sequence[NewDelivery]) -> None:
        """Store events and positions; positions alone now and then."""
        assert self._reader is not None  # noqa: S101 - `step` has opened it
        offsets = {number: self._reader.position(number) for number in self._read}
        last = {record.partition: record for record in records}
        for number, offset in offsets.items():
            self._marks[number] = self._marks[number].after(last.get(number), offset)
        moved = {number: offset for number, offset in offsets.items() if self._saved.get(number) != offset}
        now = asyncio.get_running_loop().time()
        if not found and (not moved or now - self._saved_at < IDLE_SAVE_SECONDS):
            return
        await self._store.store(self.name, {number: self._marks[number] for number in moved}, found)
        self._saved, self._saved_at = offsets, now
