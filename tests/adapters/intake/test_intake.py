"""What becomes of every record of the inbox, whatever its bytes and whatever breaks? On the embedded log."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from adapters.clock import SystemClock, wall_now
from adapters.embedded.assignment import StaticAssignment
from adapters.embedded.faults import FaultPoint
from adapters.embedded.log import EmbeddedLog
from adapters.intake import intake
from adapters.intake.backpressure import WINDOW_START, Backpressure, InboxPartition
from adapters.intake.intake import BODY_BYTES_MAX, IntakePartition
from adapters.intake.rights import InboxRights
from adapters.partitions.checkpoint import Checkpoint
from adapters.partitions.feed import RulesTopic
from adapters.partitions.routing import partition_of
from engine.partition.ports import LogError, LogRecord, Outgoing
from engine.partition.runner import TopicNames
from engine.submission.normalise import normalise
from schemas.envelope import Envelope, from_headers
from schemas.instant import EPOCH, HOUR
from schemas.records import Body, Company, Offer, Schedule, plain, rules_key
from schemas.records import Record as RuleRecord
from schemas.requests import LeadSubmitted
from schemas.schedule import SmsStep
from schemas.topics import LEADS_INBOX, TOPICS
from schemas.wire import to_json

PARTITIONS = 2
TOKEN = "schedule-token-0001"
LEAD = {"lead_token": TOKEN, "caller_id": "+13055550123", "first_name": "Ada"}


class Failing:
    """Fails the next appends to one topic."""

    def __init__(self) -> None:
        self.times = 0
        self.point = FaultPoint.BEFORE_APPEND
        self.topic = "contacts.requests"

    def reach(self, point: FaultPoint, topic: str, partition: int) -> None:
        if self.times and point is self.point and topic == self.topic:
            self.times -= 1
            raise LogError(f"made to fail {point}")


class IntakeWorld:
    """An inbox of one partition and one intake after the other."""

    def __init__(self) -> None:
        self.faults = Failing()
        self.log = EmbeddedLog(None, now=lambda: EPOCH, faults=self.faults)
        self.clock = SystemClock()
        self.sequence = 0
        self.group = StaticAssignment(1)
        self.decided: dict[int, int] = {}
        self.observed: list[tuple[int, int]] = []
        self.unread = 0

    async def build(self) -> "IntakeWorld":
        for topic in TOPICS:
            count = 1 if topic.name == "leads.inbox" else PARTITIONS
            await self.log.create_topic(topic.name, count, record_bytes_max=2_000_000)
        self.appender = await self.log.appender()
        self.owner = await self.log.own("accounts.requests", partition_of(b"1", PARTITIONS))
        self.rules = RulesTopic(self.log, TopicNames())
        await self.rule("company", 1, Company(name="Sunny"))
        await self.rule("offer", 2, Offer(name="Solar", lead_token="offer-token-00001"))
        steps = (SmsStep(id="s", template="Hello"),)
        await self.rule("schedule", 3, Schedule(name="Five days", lead_token=TOKEN, offer_id=2, steps=steps))
        await self.rules.refresh()
        return self

    async def rule(self, record_type: str, record_id: int, body: Body, *, version: int = 1) -> None:
        """Let the account decide a record."""
        self.sequence += 1
        record = RuleRecord(
            type=record_type,
            id=record_id,
            uuid=f"{record_type}-{record_id}",
            company_id=1,
            version=version,
            sequence=self.sequence,
            created_at=EPOCH,
            updated_at=EPOCH,
            body=plain(body),
        )
        await self.owner.commit([Outgoing("accounts.rules", rules_key(record).encode(), to_json(record))])

    async def intake(self) -> IntakePartition:
        """Start an intake where the group says that the last one was."""

        async def decided() -> dict[int, int]:
            return self.decided

        made = IntakePartition(
            LEADS_INBOX,
            0,
            log=self.log,
            names=TopicNames(),
            rules=self.rules,
            appender=self.appender,
            clock=self.clock,
            checkpoints=self.group,
            backpressure=Backpressure(decided, self.clock),
            observe=self._observe,
            rights=InboxRights("", trusts_inboxes=True),
        )
        await made.open()
        return made

    def _observe(self, passed_on: int, dead: int, unread: int) -> None:
        if passed_on or dead:
            self.observed.append((passed_on, dead))
        self.unread = unread

    async def put(self, *values: Any, headers: tuple[tuple[str, bytes], ...] = ()) -> None:
        """Put records into the inbox; what is no bytes is sent as JSON."""
        for value in values:
            data = value if value is None or isinstance(value, bytes) else to_json(value)
            await self.appender.append(0, [Outgoing("leads.inbox", None, data, headers)])

    def records(self, topic: str) -> list[LogRecord]:
        return [record for number in range(PARTITIONS) for record in self.log.partition(topic, number).records]

    def requests(self) -> list[tuple[Envelope, LeadSubmitted]]:
        """Return what was asked of contacts, in the order of the inbox."""
        found = [
            (from_headers(record.headers), msgspec.json.decode(record.value or b"", type=LeadSubmitted))
            for record in self.records("contacts.requests")
        ]
        return sorted(found, key=lambda pair: pair[0].number or 0)

    def dead(self) -> list[dict[str, bytes]]:
        return [dict(record.headers) for record in self.records("deadletter")]


@pytest.fixture
async def world() -> AsyncIterator[IntakeWorld]:
    world = await IntakeWorld().build()
    yield world
    await world.log.close()


async def test_a_submission_becomes_a_request_in_the_partition_of_its_contact(world: IntakeWorld) -> None:
    await world.put(LEAD)
    done = await (await world.intake()).cycle()

    [(envelope, request)] = world.requests()
    [record] = world.records("contacts.requests")

    assert done == 1
    assert (request.contact_key, request.schedule_id) == ("1|+13055550123", 3)
    assert record.key == b"1|+13055550123"
    assert record.partition == partition_of(record.key, PARTITIONS)
    assert (envelope.type, envelope.number) == ("lead.submitted", 0)
    assert envelope.stream is not None
    assert envelope.stream.startswith("leads.inbox/")


async def test_the_request_says_which_rules_were_seen(world: IntakeWorld) -> None:
    await world.put(LEAD)
    await (await world.intake()).cycle()

    [(envelope, _)] = world.requests()

    assert (envelope.rules_partition, envelope.rules_sequence) == world.rules.seen(1)


async def test_the_id_and_the_trace_of_the_producer_are_kept(world: IntakeWorld) -> None:
    trace = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await world.put(LEAD, headers=(("ce_id", b"mine-1"), ("ce_type", b"lead.submitted"), ("traceparent", trace)))
    await (await world.intake()).cycle()

    [(envelope, _)] = world.requests()

    assert (envelope.id, envelope.traceparent) == ("mine-1", trace.decode())


@pytest.mark.parametrize("name", ["ce_id", "ce_source"])
@pytest.mark.parametrize(
    ("value", "detail"),
    [(b"x" * 200, None), (b"x" * 201, "has 201 characters; 200 is the most"), (b"caf\xe9", "is no UTF-8")],
)
async def test_an_id_that_is_too_long_or_unreadable_is_a_dead_letter_and_is_not_cut(
    world: IntakeWorld, name: str, value: bytes, detail: str | None
) -> None:
    await world.put(LEAD, headers=((name, value),))
    await (await world.intake()).cycle()
    if detail is None:
        assert (len(world.requests()), world.dead()) == (1, [])
        return
    [letter] = world.dead()
    assert (letter["dl_code"], world.requests()) == (b"malformed_envelope", [])
    assert f"{name} {detail}" in letter["dl_detail"].decode()


async def test_a_key_that_stands_twice_is_a_dead_letter(world: IntakeWorld) -> None:
    body = msgspec.json.encode(LEAD).replace(b"{", b'{"caller_id" : "+13055550199", ', 1)
    await world.put(body)
    await (await world.intake()).cycle()
    [letter] = world.dead()
    assert (letter["dl_code"], world.requests()) == (b"malformed_json", [])
    assert "The key 'caller_id' stands twice" in letter["dl_detail"].decode()


async def test_a_token_that_the_rules_do_not_know_yet_is_looked_up_again_before_it_is_refused(world: IntakeWorld) -> None:
    await world.rule("offer", 4, Offer(name="Roofs", lead_token="offer-token-00002"))
    await world.put({**LEAD, "lead_token": "offer-token-00002"}, {**LEAD, "lead_token": "nobody-has-this-one"})
    await (await world.intake()).cycle()

    [(_, request)] = world.requests()
    [letter] = world.dead()

    assert request.offer_id == 4
    assert letter["dl_code"] == b"unknown_lead_token"


GROWING = {**LEAD, "data": {f"list-{place}": [1e15] * 200 for place in range(100)}}
"""Its tokens are bounded as they are stored."""

JUNK = [
    pytest.param(None, "malformed_json", id="null"),
    pytest.param(b"", "malformed_json", id="empty"),
    pytest.param(b"{", "malformed_json", id="cut off"),
    pytest.param(b"\xff\xfe", "malformed_json", id="no UTF-8"),
    pytest.param(b"[1]", "malformed_json", id="a list"),
    pytest.param(b"[" * 100_000, "malformed_json", id="deeply nested"),
    pytest.param(b'{"a":' * 50_000, "malformed_json", id="deeply nested objects"),
    pytest.param(b"{}", "validation_failed", id="no fields"),
    pytest.param(to_json({**LEAD, "caller_id": "12"}), "validation_failed", id="a bad number"),
    pytest.param(to_json({**LEAD, "lead_priority": 1})[:-2] + b"9" * 400 + b"}", "validation_failed", id="a huge number"),
    pytest.param(to_json({**LEAD, "lead_token": ["x"]}), "unknown_lead_token", id="a token of another type"),
    pytest.param(b'{"lead_token":"' + b"x" * BODY_BYTES_MAX + b'"}', "too_large", id="too large"),
    pytest.param(to_json(GROWING).replace(b"1000000000000000.0", b"1e15"), "too_large", id="too large when stored"),
]


@pytest.mark.parametrize(("value", "code"), JUNK)
async def test_any_bytes_end_as_a_dead_letter_and_the_next_record_goes_on(world: IntakeWorld, value: Any, code: str) -> None:
    await world.put(value, LEAD, headers=(("mine", b"1"),))
    await (await world.intake()).cycle()

    [letter] = world.dead()
    [kept] = world.records("deadletter")

    assert letter["dl_code"] == code.encode()
    assert (letter["dl_topic"], letter["dl_partition"], letter["dl_offset"]) == (b"leads.inbox", b"0", b"0")
    assert (kept.value, letter["mine"]) == (value, b"1")
    assert len(world.requests()) == 1
    assert world.observed == [(1, 1)]


async def test_a_record_on_which_reading_fails_is_a_dead_letter_too(
    world: IntakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(raw: Any, *rest: Any, **more: Any) -> Any:
        return 1 / 0 if "poison" in raw else normalise(raw, *rest, **more)

    monkeypatch.setattr(intake, "normalise", failing)
    await world.put({**LEAD, "poison": 1}, LEAD)
    await (await world.intake()).cycle()

    assert [letter["dl_code"] for letter in world.dead()] == [b"internal_error"]
    assert len(world.requests()) == 1


async def test_a_request_that_the_log_refuses_for_its_size_is_a_dead_letter_and_its_neighbours_are_passed_on(
    world: IntakeWorld,
) -> None:
    topic = "contacts.requests"
    world.log._topics[topic] = msgspec.structs.replace(world.log._topics[topic], record_bytes_max=5_000)
    large = {**LEAD, **{f"note_{place}": "x" * 3_000 for place in range(3)}}
    await world.put(LEAD, large, {**LEAD, "first_name": "Bob"}, large, {**LEAD, "caller_id": "+13055550199"})
    done = await (await world.intake()).cycle()

    assert done == 5
    assert [envelope.number for envelope, _ in world.requests()] == [0, 2, 4]
    assert [(letter["dl_code"], letter["dl_offset"]) for letter in world.dead()] == [
        (b"too_large", b"1"),
        (b"too_large", b"3"),
    ]
    assert world.observed == [(3, 2)]


ADF = (
    b"<adf><prospect><vendor><contact><phone>+12125550100</phone></contact></vendor><customer><contact>"
    b'<name part="first">Ada</name><phone>(305) 555-0123</phone></contact></customer></prospect></adf>'
)


@pytest.mark.parametrize(
    ("body", "headers", "first_name"),
    [
        (ADF, {"content-type": "application/xml", "lead_token": TOKEN, "auto_format_nested_fields": "true"}, "Ada"),
        (
            f"lead_token={TOKEN}&caller_id=%2B13055550123&first_name=Zo%EB".encode(),
            {"content-type": "application/x-www-form-urlencoded"},
            "Zo\u00eb",
        ),
        (
            f"lead_token={TOKEN}&caller_id=%2B13055550123&first_name=Zo\u00eb".encode("latin-1"),
            {"Content-Type": "application/x-www-form-urlencoded; charset=ISO-8859-1"},
            "Zo\u00eb",
        ),
        (to_json({**LEAD, "first_name": "Bob"}), {"content-type": "application/json", "lead_token": "another"}, "Bob"),
    ],
    ids=["ADF", "a form in Latin-1", "one that says so", "what the body says goes before a header"],
)
async def test_the_post_of_a_vendor_is_read_as_over_http(
    world: IntakeWorld, body: bytes, headers: dict[str, str], first_name: str
) -> None:
    await world.put(body, headers=tuple((name, value.encode()) for name, value in headers.items()))
    await (await world.intake()).cycle()

    assert world.dead() == []
    [(_, request)] = world.requests()
    assert (request.caller_id, request.data["first_name"]) == ("+13055550123", first_name)


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        (b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>", b"text/xml", b"malformed_body"),
        (b"<a>", b"text/xml", b"malformed_body"),
        (b"hello", b"text/plain", b"unsupported_media_type"),
    ],
)
async def test_a_post_that_cannot_be_read_is_a_dead_letter(
    world: IntakeWorld, body: bytes, kind: bytes, code: bytes
) -> None:
    await world.put(body, LEAD, headers=(("content-type", kind),))
    await (await world.intake()).cycle()

    assert world.dead()[0]["dl_code"] == code


async def test_a_record_of_another_type_is_a_dead_letter(world: IntakeWorld) -> None:
    await world.put(LEAD, headers=(("ce_type", b"lead.update_requested"),))
    await (await world.intake()).cycle()

    assert [letter["dl_code"] for letter in world.dead()] == [b"unknown_type"]
    assert world.requests() == []


async def test_a_dead_letter_tells_every_bad_field(world: IntakeWorld) -> None:
    await world.put({"lead_token": TOKEN, "caller_id": "12", "lead_priority": "high"})
    await (await world.intake()).cycle()

    [letter] = world.dead()

    assert b"caller_id" in letter["dl_detail"]
    assert b"lead_priority" in letter["dl_detail"]


async def test_reading_again_after_a_crash_gives_the_same_numbers_so_that_a_repeat_is_refused(world: IntakeWorld) -> None:
    await world.put(LEAD, {**LEAD, "caller_id": "+13055550124"})
    first = await world.intake()
    await first.cycle()  # nobody notes how far it was: the crash
    second = await world.intake()
    await second.cycle()

    numbers = [(envelope.stream, envelope.number, envelope.id) for envelope, _ in world.requests()]

    assert len(numbers) == 4
    assert len(set(numbers)) == 2


async def test_a_new_intake_begins_where_the_group_says_that_the_last_one_was(world: IntakeWorld) -> None:
    await world.put(LEAD)
    world.group.report(0, await (await world.intake()).cycle())
    await world.put({**LEAD, "caller_id": "+13055550124"})
    await (await world.intake()).cycle()

    assert [envelope.number for envelope, _ in world.requests()] == [0, 1]


IN_TWO_COUNTRIES = "2079460958"
"""A number of Maine to somebody in the United States, and one of London to somebody in Britain."""


async def test_a_record_that_is_read_again_goes_to_the_contact_that_it_went_to_before(world: IntakeWorld) -> None:
    lead = {"lead_token": "offer-token-00001", "caller_id": IN_TWO_COUNTRIES}
    await world.put(lead)
    await (await world.intake()).cycle()  # nobody notes how far it was: the crash
    await world.rule("offer", 2, Offer(name="Solar", lead_token="offer-token-00001", country="GB"), version=2)
    await world.rules.refresh()
    again = await world.intake()
    await again.cycle()
    await world.put(lead)
    await again.cycle()

    keys = [(envelope.number, request.contact_key) for envelope, request in world.requests()]

    assert keys == [(0, "1|+12079460958"), (0, "1|+12079460958"), (1, "1|+442079460958")]


async def test_newer_rules_are_noted_before_a_record_is_read_by_them(world: IntakeWorld) -> None:
    intake = await world.intake()
    await world.put(LEAD)
    await intake.cycle()
    await world.rule("offer", 4, Offer(name="Roofs", lead_token="offer-token-00002"))
    await world.put(LEAD, {**LEAD, "lead_token": "offer-token-00002"}, LEAD)
    await intake.cycle()

    assert await world.group.load_checkpoint(0) == Checkpoint(2, '{"1":4}')
    assert [envelope.number for envelope, _ in world.requests()] == [0, 1, 2, 3]


@pytest.mark.parametrize("topic", ["contacts.requests", "deadletter"])
@pytest.mark.parametrize("point", [FaultPoint.BEFORE_APPEND, FaultPoint.AFTER_APPEND])
async def test_nothing_is_passed_over_when_an_append_fails(world: IntakeWorld, point: FaultPoint, topic: str) -> None:
    world.faults.times, world.faults.point, world.faults.topic = 1, point, topic
    people = [{**LEAD, "caller_id": f"+130555501{number:02}"} for number in range(10)]
    await world.put(*people, b"junk")
    intake = await world.intake()
    with pytest.raises(LogError):
        await intake.cycle()
    await intake.open()
    done = await intake.cycle()

    assert done == 11
    assert {envelope.number for envelope, _ in world.requests()} == set(range(10))
    assert {letter["dl_offset"] for letter in world.dead()} == {b"10"}


async def test_submissions_of_one_contact_keep_their_order(world: IntakeWorld) -> None:
    await world.put(*({**LEAD, "first_name": f"n{number}"} for number in range(20)))
    await (await world.intake()).cycle()

    [records] = [records for n in range(PARTITIONS) if (records := world.log.partition("contacts.requests", n).records)]

    assert [from_headers(record.headers).number for record in records] == list(range(20))


async def test_nothing_more_is_passed_on_while_the_schedulers_backlog_fills_the_window(world: IntakeWorld) -> None:
    intake = await world.intake()
    intake._backpressure.record_append(InboxPartition(0), 0, WINDOW_START - 1, WINDOW_START)
    await world.put(LEAD)

    assert await intake.cycle() == 0
    assert world.requests() == []

    world.decided = {0: WINDOW_START}
    async with asyncio.timeout(60):
        while await intake.cycle() == 0:
            pass
    assert len(world.requests()) == 1


async def test_a_partition_that_is_held_back_counts_what_it_has_not_passed_on(world: IntakeWorld) -> None:
    """Its lag read 0 for ten minutes while new leads waited."""
    intake = await world.intake()
    intake._backpressure.record_append(InboxPartition(0), 0, WINDOW_START - 1, WINDOW_START)
    await world.put(LEAD, LEAD)
    await intake.cycle()

    assert world.unread == 2
    assert intake.problem is None


async def test_a_partition_that_is_held_back_for_long_says_what_it_waits_for_until_it_goes_on(
    world: IntakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "PAUSE_SECONDS_MAX", 0.0)
    made = await world.intake()
    made._backpressure.record_append(InboxPartition(0), 0, WINDOW_START - 1, WINDOW_START)
    await made.cycle()
    assert made.problem == intake.SCHEDULERS_STALL

    world.decided = {0: WINDOW_START}
    async with asyncio.timeout(60):
        while made.problem is not None:
            await made.cycle()


async def test_submissions_wait_while_the_clock_is_behind_the_broker_s_and_are_dated_by_a_right_one(
    world: IntakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    appended_at = wall_now()
    monkeypatch.setattr(world.log, "_now", lambda: appended_at)
    monkeypatch.setattr("adapters.clock.wall_now", lambda: appended_at - 25 * HOUR)
    started = await world.intake()
    await world.put(LEAD, {**LEAD, "caller_id": "+13055550124"})

    assert await started.cycle() == 0
    assert await started.cycle() == 0
    assert started.problem is not None
    assert "90000 s behind the broker's" in started.problem
    assert (world.requests(), world.unread) == ([], 2)

    monkeypatch.setattr("adapters.clock.wall_now", lambda: appended_at + HOUR)  # it may have waited: no fault of the clock
    assert await started.cycle() == 2
    assert started.problem is None
    assert {request.received_at for _, request in world.requests()} == {appended_at + HOUR}
    await started.close()


async def test_an_intake_that_is_not_open_says_so(world: IntakeWorld) -> None:
    intake = await world.intake()
    await intake.close()
    with pytest.raises(LogError):
        await intake.cycle()
