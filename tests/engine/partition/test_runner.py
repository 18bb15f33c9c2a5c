"""Does a partition decide every input once, whatever breaks? A small aggregate on the embedded log."""

import asyncio
from collections.abc import Mapping, Sequence

import msgspec
import pytest

from adapters.embedded.faults import FaultPoint
from adapters.embedded.log import EmbeddedLog
from engine.partition.aggregate import Adoption, Timer
from engine.partition.draft import Draft, RefusedError
from engine.partition.ports import FencedError, LogError, Outgoing
from engine.partition.runner import Runner
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

    def wake(self, draft: Draft, key: str, due_at: Instant) -> None:
        head = draft.get(key, Head)
        assert head is not None
        if head.company_id == 666:
            raise ZeroDivisionError("never")
        head.opted_out_at = draft.now
        head.last_call_at = None
        draft.put(key, head)

    def adopt(self, draft: Draft, adoption: Adoption) -> None:
        """Nothing here rests on rules."""

    def timer(self, key: str, entity: Entity) -> Timer | None:
        if isinstance(entity, Head) and entity.last_call_at is not None:
            return Timer(entity.last_call_at, 0, 0.0, 1, key)
        return None


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time = 1_000_000
        self.is_trusted = True

    def now(self) -> Instant:
        return self.time

    def monotonic(self) -> float:
        return self.time / 1000

    def seconds_until(self, instant: Instant) -> float:
        return (instant - self.time) / 1000

    def agrees(self, appended_at: Instant | None) -> bool:
        return self.is_trusted

    async def sleep(self, seconds: float) -> None:
        self.time += int(seconds * 1000) + 1


class KeptOutbox:
    """An outbox that keeps what it is offered and acknowledges when told."""

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


class FailOnce:
    """Fails the writer the first time a point is reached after `arm`."""

    def __init__(self) -> None:
        self.point: FaultPoint | None = None

    def reach(self, point: FaultPoint, topic: str, partition: int) -> None:
        if point is self.point:
            self.point = None
            raise LogError(f"made to fail at {point}")


class House:
    """One partition in one embedded log."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.faults = FailOnce()
        self.log = EmbeddedLog(None, now=lambda: self.clock.time, faults=self.faults)
        self.outboxes: list[KeptOutbox] = []
        self.number = 0

    async def build(self) -> "House":
        for topic in TOPICS:
            await self.log.create_topic(topic.name, 1)
        self.appender = await self.log.appender()
        return self

    def runner(self) -> Runner:
        return Runner(Counting(), 0, log=self.log, clock=self.clock, outbox=self._outbox, versions={"engine": "1"})

    def _outbox(self, stream: str) -> KeptOutbox:
        self.outboxes.append(KeptOutbox(stream))
        return self.outboxes[-1]

    async def ask(self, request: Message | bytes, kind: str = "caller.acted", **envelope: object) -> None:
        self.number += 1
        headers = to_headers(Envelope(id=f"r{self.number}", type=kind, source="/test", **envelope))  # type: ignore[arg-type]
        value = request if isinstance(request, bytes) else to_json(request)
        await self.appender.append(0, [Outgoing("contacts.requests", KEY.encode(), value, headers)])

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


@pytest.fixture
async def house() -> House:
    return await House().build()


async def head_of(runner: Runner) -> Head:
    head = runner.state.get(head_key(KEY), Head)
    assert head is not None
    return head


async def test_every_request_gets_one_decision_in_the_order_of_the_log(house: House) -> None:
    runner = house.runner()
    await runner.open()
    for _ in range(3):
        await house.ask(ACT)
    await runner.cycle()

    decisions = await house.decisions()

    assert [one.cause.kind for one in decisions] == ["adoption", "request", "request", "request"]
    assert [one.sequence for one in decisions] == [1, 2, 3, 4]
    assert (await head_of(runner)).version == 3


async def test_a_new_owner_knows_everything_that_was_committed(house: House) -> None:
    first, second = house.runner(), house.runner()
    await first.open()
    await house.ask(ACT)
    await first.cycle()

    await second.open()

    assert (await head_of(second)).version == 1
    assert second.position == first.position
    assert second.next_due_at == first.next_due_at


async def test_a_fenced_owner_cannot_commit_and_nothing_is_decided_twice(house: House) -> None:
    first, second = house.runner(), house.runner()
    await first.open()
    await second.open()
    await house.ask(ACT)

    with pytest.raises(FencedError):
        await first.cycle()
    await second.cycle()

    assert [one.cause.offset for one in await house.decisions() if one.cause.kind == "request"] == [0]


@pytest.mark.parametrize("point", [FaultPoint.BEFORE_COMMIT, FaultPoint.AFTER_COMMIT])
async def test_a_commit_in_doubt_is_settled_by_the_changelog(house: House, point: FaultPoint) -> None:
    runner = house.runner()
    await runner.open()
    await house.ask(ACT)
    house.faults.point = point

    with pytest.raises(LogError):
        await runner.cycle()
    await runner.open()
    await runner.cycle()

    assert [one.cause.offset for one in await house.decisions() if one.cause.kind == "request"] == [0]
    assert (await head_of(runner)).version == 1


async def test_a_timer_fires_once_when_it_is_due_and_survives_a_new_owner(house: House) -> None:
    runner = house.runner()
    await runner.open()
    await house.ask(ACT)
    await runner.cycle()
    await runner.open()
    await runner.cycle()
    assert (await head_of(runner)).opted_out_at is None

    house.clock.time += 5000
    report = await runner.cycle()
    again = await runner.cycle()

    assert (report.ticks, again.ticks) == (1, 0)
    assert (await head_of(runner)).opted_out_at == (await house.decisions())[-1].decided_at


async def test_a_message_waits_in_the_outbox_until_it_was_acknowledged_whoever_owns_the_partition(house: House) -> None:
    runner = house.runner()
    await runner.open()
    await house.ask(CallerActed(company_id=1, contact_key=KEY, action="opt_out"))
    await runner.cycle()
    successor = house.runner()
    await successor.open()
    assert list(house.outboxes[-1].entries) == [1]

    house.outboxes[-1].acknowledged = [1]
    await house.ask(ACT)
    await successor.cycle()
    third = house.runner()
    await third.open()

    assert house.outboxes[-1].entries == {}
    assert third.outbox_pending == 0


async def test_a_number_of_a_stream_is_decided_once_and_later_numbers_go_on(house: House) -> None:
    runner = house.runner()
    await runner.open()
    for number in (1, 2, 2, 1, 3):
        await house.ask(ACT, stream="s", number=number)
    await runner.cycle()

    verdicts = [one.verdict for one in await house.decisions() if one.cause.kind == "request"]

    assert verdicts == ["done", "done", "repeated", "repeated", "done"]


BAD_RECORDS = [
    pytest.param(b"{", "caller.acted", "malformed_json", id="not JSON"),
    pytest.param(b"", "caller.acted", "malformed_json", id="empty"),
    pytest.param(b"[1]", "caller.acted", "validation_failed", id="another shape"),
    pytest.param(b'{"company_id":1}', "caller.acted", "validation_failed", id="fields missing"),
    pytest.param(b"[" * 100_000, "caller.acted", "validation_failed", id="deeply nested"),
    pytest.param(b"{}", "no.such.type", "unknown_type", id="unknown type"),
    pytest.param(
        to_json(CallerActed(company_id=1, contact_key="1|+1", action="remove")),
        "caller.acted",
        "wrong_partition",
        id="wrong key",
    ),
]


@pytest.mark.parametrize(("value", "kind", "code"), BAD_RECORDS)
async def test_a_bad_record_is_refused_and_kept_and_the_partition_goes_on(
    house: House, value: bytes, kind: str, code: str
) -> None:
    runner = house.runner()
    await runner.open()
    await house.ask(value, kind)
    await house.ask(ACT)
    await runner.cycle()

    refused, done = (await house.decisions())[1:]
    [letter] = await house.dead_letters()

    assert (refused.verdict, done.verdict) == ("refused", "done")
    assert refused.answer is not None
    assert refused.answer.code == code
    assert (letter["dl_code"], letter["dl_offset"]) == (code.encode(), b"0")


async def test_when_deciding_raises_the_input_is_recorded_as_failed_and_kept(house: House) -> None:
    runner = house.runner()
    await runner.open()
    await house.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=13), "lead.delete_requested")
    await house.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=1), "lead.delete_requested")
    await runner.cycle()

    failed, refused = (await house.decisions())[1:]

    assert (failed.verdict, failed.error) == ("failed", "ZeroDivisionError: thirteen")
    assert (refused.verdict, refused.answer and refused.answer.status) == ("refused", 404)
    assert [letter["dl_code"] for letter in await house.dead_letters()] == [b"decision_failed"]


async def test_nothing_fires_while_old_requests_are_unread(house: House) -> None:
    runner = house.runner()
    await runner.open()
    await house.ask(ACT)
    await runner.cycle()
    for _ in range(2001):
        await house.ask(ACT)
    successor = house.runner()
    await successor.open()
    house.clock.time += 60_000

    first, second = await successor.cycle(), await successor.cycle()

    assert (first.behind, first.ticks) == (True, 0)
    assert second.behind is False


async def test_the_chain_of_decisions_has_no_gap(house: House) -> None:
    runner = house.runner()
    await runner.open()
    for _ in range(3):
        await house.ask(ACT)
        await runner.cycle()

    decisions = await house.decisions()

    assert decisions[0].prev == ""
    assert len({one.prev for one in decisions}) == len(decisions)
    await asyncio.sleep(0)


async def test_time_stands_still_while_the_clock_cannot_be_trusted_and_nothing_spins(house: House) -> None:
    runner = house.runner()
    await runner.open()
    await house.ask(ACT)
    await runner.cycle()
    decided_at = runner.position.decided_at
    house.clock.is_trusted = False
    house.clock.time += 86_400_000
    await house.ask(ACT)
    await runner.cycle()
    await house.ask(ACT)  # the third one has a timer that is due
    await runner.cycle()

    assert runner.position.decided_at == decided_at
    assert runner._patience() > 0

    house.clock.is_trusted = True
    await runner.cycle()
    await runner.cycle()
    assert runner.position.decided_at >= decided_at + 86_400_000
