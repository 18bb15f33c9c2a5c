"""How is one partition run by hand? A small aggregate, a clock that is moved, and one embedded log."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

import msgspec

from adapters.embedded.faults import FaultPoint
from adapters.embedded.log import EmbeddedLog
from engine.partition.aggregate import Adoption, Timer
from engine.partition.draft import Draft, RefusedError
from engine.partition.places import PlaceClaim
from engine.partition.ports import LogError, Outgoing, Snapshots
from engine.partition.runner import CycleLimits, Runner
from schemas.contact import Head
from schemas.decisions import Decision, OutboxEntry
from schemas.envelope import Envelope, to_headers
from schemas.instant import Instant
from schemas.requests import CallerActed, LeadDeleteRequested
from schemas.state import head_key
from schemas.topics import CONTACTS_DECISIONS, CONTACTS_REQUESTS, CONTACTS_STATE, TOPICS, Topic
from schemas.wire import Entity, Message, to_json

KEY = "1|+13055550100"


class Counting:
    """Counts requests per contact; an odd count wants to be woken a second later; an opt-out sends a message."""

    requests_topic: Topic = CONTACTS_REQUESTS
    decisions_topic: Topic = CONTACTS_DECISIONS
    state_topic: Topic = CONTACTS_STATE
    request_types: Mapping[str, type[Message]] = {"caller.acted": CallerActed, "lead.delete_requested": LeadDeleteRequested}
    timer_fields: Mapping[str, str | None] = {"head": "last_call_at", "stream": None}

    def key_of(self, request: Message) -> str:
        assert isinstance(request, CallerActed | LeadDeleteRequested)
        return request.contact_key

    def decide(self, draft: Draft, request: Message, envelope: Envelope) -> None:
        assert isinstance(request, CallerActed | LeadDeleteRequested)
        if isinstance(request, LeadDeleteRequested):
            if request.lead_id == 13:
                raise ZeroDivisionError("thirteen")
            raise RefusedError("not_found", "no such lead")
        head = draft.get(head_key(KEY), Head) or Head(company_id=1, contact_key=KEY)
        head.version += 1
        head.last_call_at = draft.now + 1000 if head.version % 2 else None
        draft.put(head_key(KEY), head)
        if request.action == "opt_out":
            draft.send("contacts.requests", KEY, CallerActed(company_id=1, contact_key=KEY, action="remove"))

    def stop_at_least(self, draft: Draft, request: Message, envelope: Envelope) -> bool:
        return False

    def wake(self, draft: Draft, key: str, due_at: Instant) -> None:
        head = draft.get(key, Head)
        assert head is not None
        if head.company_id == 666:
            raise ZeroDivisionError("never")
        head.opted_out_at = draft.now
        head.last_call_at = None
        draft.put(key, head)

    def give_up(self, draft: Draft, key: str, reason: str) -> None:
        """What fails is tried again by the runner."""

    def adopt(self, draft: Draft, adoption: Adoption) -> None:
        """Nothing here rests on rules."""

    claim_fields: Mapping[str, Sequence[str]] = {}

    def claim(self, entity: Entity) -> PlaceClaim | None:
        """Nothing here is ordered."""

    def timer(self, key: str, entity: Entity) -> Timer | None:
        if isinstance(entity, Head) and entity.last_call_at is not None:
            return Timer(entity.last_call_at, 0, 0.0, 1, key)
        return None


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = Instant(1_000_000)
        self.ahead = 0
        """Milliseconds by which it is wrong; the log's own clock is right."""

    def now(self) -> Instant:
        return self.time + self.ahead

    def monotonic(self) -> float:
        return self.time / 1000

    def wall(self) -> Instant:
        return self.time + self.ahead

    def elapsed(self) -> float:
        return self.time / 1000

    def seconds_until(self, instant: Instant) -> float:
        return (instant - self.now()) / 1000

    async def sleep(self, seconds: float) -> None:
        self.time += int(seconds * 1000) + 1


class KeptOutbox:
    """An outbox that stores what it is offered and acknowledges when the test says so."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.entries: dict[int, OutboxEntry] = {}
        self.acknowledged: list[int] = []

    def offer(self, entries: Sequence[OutboxEntry]) -> None:
        self.entries.update((entry.number, entry) for entry in entries)

    def delivered(self) -> list[int]:
        found, self.acknowledged = self.acknowledged, []
        return found

    async def close(self) -> None:
        return None


class FailingOnce:
    """Fails the writer the first time a point is reached after `arm`."""

    def __init__(self) -> None:
        self.point: FaultPoint | None = None

    def reach(self, point: FaultPoint, topic: str, partition: int) -> None:
        if point is self.point:
            self.point = None
            raise LogError(f"made to fail at {point}")


EAGER = CycleLimits(idle_poll_seconds=0.0)
"""What is to be read is in the log before a cycle begins: an idle one waits for nothing."""


class RunnerWorld:
    """One partition in one embedded log."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.faults = FailingOnce()
        self.log_ahead = 0
        self.log = EmbeddedLog(None, now=lambda: self.clock.time + self.log_ahead, faults=self.faults)
        self.outboxes: list[KeptOutbox] = []
        self.number = 0

    async def build(self) -> "RunnerWorld":
        for topic in TOPICS:
            await self.log.create_topic(topic.name, 1)
        self.appender = await self.log.appender()
        return self

    def runner(
        self,
        aggregate: Counting | None = None,
        limits: CycleLimits = EAGER,
        turn: Callable[[], AbstractAsyncContextManager[bool]] = lambda: nullcontext(False),
        snapshots: Snapshots | None = None,
        made: Mapping[str, str] | None = None,
    ) -> Runner:
        return Runner(
            aggregate or Counting(),
            0,
            log=self.log,
            clock=self.clock,
            outbox=self._outbox,
            versions={"engine": "1"},
            limits=limits,
            turn=turn,
            snapshots=snapshots,
            made_topics=lambda: made or {},
        )

    def _outbox(self, stream: str) -> KeptOutbox:
        self.outboxes.append(KeptOutbox(stream))
        return self.outboxes[-1]

    async def ask(self, request: Message | bytes, kind: str = "caller.acted", key: str = KEY, **envelope: object) -> None:
        self.number += 1
        headers = to_headers(Envelope(id=f"r{self.number}", type=kind, source="/test", **envelope))  # type: ignore[arg-type]
        value = request if isinstance(request, bytes) else to_json(request)
        await self.appender.append(0, [Outgoing("contacts.requests", key.encode(), value, headers)])

    async def decisions(self) -> list[Decision]:
        reader = await self.log.reader("contacts.decisions", [0])
        return [
            msgspec.json.decode(record.value or b"", type=Decision)
            for record in await reader.poll(limit=1000, timeout_seconds=0)
        ]

    async def dead_letters(self) -> list[dict[str, bytes]]:
        reader = await self.log.reader("deadletter", [0])
        return [dict(record.headers) for record in await reader.poll(limit=1000, timeout_seconds=0)]


ACT = CallerActed(company_id=1, contact_key=KEY, action="remove")
