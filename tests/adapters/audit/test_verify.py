"""Does the auditor find what was changed, left out, or is decided otherwise now? On a real partition of the embedded log."""

from collections.abc import Callable

import msgspec
import pytest

from adapters.audit.verify import Verified, verify
from adapters.embedded.log import EmbeddedLog
from adapters.embedded.partition import Partition
from adapters.partitions.feed import RulesTopic
from adapters.partitions.outbox import OutboxSender
from engine.account.aggregate import AccountAggregate
from engine.contact.aggregate import ContactAggregate
from engine.contact.commands import emission
from engine.partition.aggregate import Aggregate
from engine.partition.ports import Outgoing
from engine.partition.runner import Runner, TopicNames
from schemas.envelope import Envelope, to_headers
from schemas.instant import HOUR, Instant
from schemas.requests import REQUEST_TYPES, CallerActed, LeadSubmitted, RecordChangeRequested
from schemas.topics import TOPICS
from schemas.wire import Message, to_json
from tests.contact_ids import identity_record
from tests.engine.partition.runner_world import HandClock

KEY = "1|+13055550100"
AT = Instant(1_784_134_800_000)  # 2026-07-15 13:00 in New York
STEPS = [{"kind": "sms", "id": "s", "template": "Hello"}, {"kind": "wait", "id": "w", "duration": "1h"}]


class RecordedRun:
    """A company, its schedule and a lead that was texted, decided by real runners."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.clock.time = AT
        self.log = EmbeddedLog(None, now=lambda: self.clock.time)
        self.number = 0

    async def build(self) -> "RecordedRun":
        for topic in TOPICS:
            await self.log.create_topic(topic.name, 1)
        self.appender = await self.log.appender()
        partition, identity = identity_record(AT)
        await self.appender.append(partition, [identity])
        self.rules = RulesTopic(self.log, TopicNames())
        self.accounts, self.contacts = self.runner(AccountAggregate()), self.runner(ContactAggregate(), self.rules)
        await self.accounts.open()
        await self.contacts.open()
        await self.change("company", {"id": 1, "name": "Sunny"})
        await self.change("offer", {"name": "Solar", "lead_token": "offer-token-00001"})
        offer_id = (await self.records())["offer"]
        schedule = {"name": "s", "lead_token": "schedule-token-0001", "offer_id": offer_id, "steps": STEPS}
        await self.change("schedule", schedule)
        await self.live()
        return self

    def runner(self, aggregate: Aggregate, feed: RulesTopic | None = None) -> Runner:
        return Runner(
            aggregate,
            0,
            log=self.log,
            clock=self.clock,
            outbox=lambda stream: OutboxSender(stream, log=self.log, names=TopicNames(), appender=self.appender),
            versions={"leadclock": "1"},
            rules_feed=feed,
        )

    async def live(self) -> None:
        """Let a lead come, be texted, and opt out."""
        schedule_id = (await self.records())["schedule"]
        zones = ("America/New_York",)
        submitted = LeadSubmitted(
            company_id=1,
            contact_key=KEY,
            schedule_id=schedule_id,
            caller_id=KEY[2:],
            zones=zones,
            received_at=AT,
            with_key=True,
        )
        await self.ask("contacts.requests", KEY, submitted)
        await self.contacts.cycle()
        self.clock.time += HOUR
        await self.contacts.cycle()
        out = CallerActed(company_id=1, contact_key=KEY, action="opt_out", schedule_id=schedule_id)
        await self.ask("contacts.requests", KEY, out)
        await self.appender.append(0, [Outgoing("contacts.requests", b"junk", b"{")])
        await self.contacts.cycle()

    async def change(self, record_type: str, fields: dict[str, object]) -> None:
        request = RecordChangeRequested(company_id=1, type=record_type, operation="create", fields=fields)
        await self.ask("accounts.requests", "1", request)
        await self.accounts.cycle()

    async def records(self) -> dict[str, int]:
        await self.rules.refresh()
        return {record.type: record.id for _, record in self.rules.entries}

    async def ask(self, topic: str, key: str, request: Message) -> None:
        self.number += 1
        envelope = Envelope(id=f"r{self.number}", type=REQUEST_TYPES[type(request)], source="/test")
        await self.appender.append(0, [Outgoing(topic, key.encode(), to_json(request), to_headers(envelope))])

    async def verified(self, aggregate: Aggregate) -> Verified:
        feed = self.rules if isinstance(aggregate, ContactAggregate) else None
        return await verify(self.log, TopicNames(), aggregate, 0, feed)

    def decisions(self) -> Partition:
        return self.log.partition("contacts.decisions", 0)

    async def close(self) -> None:
        await self.accounts.close()
        await self.contacts.close()
        await self.rules.close()


@pytest.fixture
async def run() -> RecordedRun:
    run = await RecordedRun().build()
    await run.close()
    return run


async def found(run: RecordedRun) -> tuple[int, str]:
    """Return at which decision and what the auditor found."""
    difference = (await run.verified(ContactAggregate())).difference
    assert difference is not None
    return difference.sequence, difference.what


@pytest.mark.parametrize("aggregate", [ContactAggregate(), AccountAggregate()], ids=["contacts", "accounts"])
async def test_what_was_decided_is_decided_again_to_the_byte(run: RecordedRun, aggregate: Aggregate) -> None:
    runner = run.contacts if isinstance(aggregate, ContactAggregate) else run.accounts
    verified = await run.verified(aggregate)

    assert verified.difference is None
    assert verified.decisions == runner.position.sequence
    assert verified.chain == runner.position.chain
    assert verified.keys == len(runner.state)


async def test_the_recorded_run_has_every_kind_of_cause_and_verdict(run: RecordedRun) -> None:
    decisions = [msgspec.json.decode(record.value or b"") for record in run.decisions().records]

    assert {one["cause"]["kind"] for one in decisions} == {"adoption", "request", "tick"}
    assert {one.get("verdict", "done") for one in decisions} == {"done", "refused"}


CHANGES: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("another instant", lambda value: value.replace(b'"decided_at":1', b'"decided_at":2', 1)),
    ("another body", lambda value: value.replace(b"+13055550100", b"+13055550101", 1)),
    ("a space", lambda value: value.replace(b",", b", ", 1)),
    ("nothing at all", lambda _: b""),
    ("no JSON", lambda value: value[:-1]),
]


@pytest.mark.parametrize(("what", "change"), CHANGES, ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("index", [1, 2, 3])
async def test_a_changed_record_is_found_where_it_is(
    run: RecordedRun, what: str, change: Callable[[bytes], bytes], index: int
) -> None:
    records = run.decisions().records
    value = records[index].value or b""
    changed = change(value)
    assert changed != value, what
    records[index] = msgspec.structs.replace(records[index], value=changed)

    verified = await run.verified(ContactAggregate())

    assert verified.difference is not None
    assert (verified.difference.sequence, verified.difference.offset) == (index + 1, records[index].offset)
    assert verified.decisions == index


async def test_a_missing_record_is_found(run: RecordedRun) -> None:
    del run.decisions().records[2]

    assert await found(run) == (3, "decisions are missing")


async def test_a_record_that_was_exchanged_with_its_chain_intact_is_found_by_deciding_again(run: RecordedRun) -> None:
    """Rewriting the last record keeps the chain whole; deciding its input again shows it."""
    records = run.decisions().records
    last = records[-1]
    records[-1] = msgspec.structs.replace(last, value=(last.value or b"").replace(b"malformed", b"wellformed"))

    assert await found(run) == (len(records), "this code decides differently at $.answer.code")


async def test_a_decision_whose_request_retention_has_deleted_is_folded_and_not_called_proved(run: RecordedRun) -> None:
    whole = await run.verified(ContactAggregate())
    await run.log.delete_records("contacts.requests", 0, before=1)

    verified = await run.verified(ContactAggregate())

    assert verified.difference is None
    assert (verified.is_whole, verified.inputs_gone) == (False, 1)
    assert [(one.reason, one.decisions) for one in verified.folded] == [("input_gone", 1)]
    assert (verified.chain, verified.decisions) == (whole.chain, whole.decisions)


async def test_a_request_that_is_missing_within_what_the_log_holds_is_reported(run: RecordedRun) -> None:
    del run.log.partition("contacts.requests", 0).records[0]

    _, what = await found(run)

    assert what == "the input at offset 0 is not in the log any more"


@pytest.mark.parametrize("aggregate", [ContactAggregate(), AccountAggregate()], ids=["contacts", "accounts"])
async def test_what_retention_left_is_checked_along_the_chain_and_not_called_proved(
    run: RecordedRun, aggregate: Aggregate
) -> None:
    whole = await run.verified(aggregate)
    topic = aggregate.decisions_topic.name
    records = run.log.partition(topic, 0).records
    await run.log.delete_records(topic, 0, before=records[2].offset)

    verified = await run.verified(aggregate)

    assert verified.difference is None
    assert (verified.begins_at, verified.is_whole, verified.decided_again) == (3, False, 0)
    assert (verified.decisions, verified.chain) == (whole.decisions - 2, whole.chain)
    assert [one.reason for one in verified.folded] == ["no_anchor"]


@pytest.mark.parametrize(("what", "change"), CHANGES, ids=lambda value: value if isinstance(value, str) else "")
async def test_a_change_in_what_retention_left_is_found(
    run: RecordedRun, what: str, change: Callable[[bytes], bytes]
) -> None:
    records = run.decisions().records
    await run.log.delete_records("contacts.decisions", 0, before=records[1].offset)
    records = run.decisions().records
    changed = change(records[1].value or b"")
    assert changed != records[1].value, what
    records[1] = msgspec.structs.replace(records[1], value=changed)

    verified = await run.verified(ContactAggregate())

    assert verified.difference is not None
    assert verified.begins_at == 2
    assert verified.difference.sequence in {3, 4}  # or the decision behind it, whose chain tells


async def test_decisions_of_which_retention_left_none_are_no_difference(run: RecordedRun) -> None:
    whole = await run.verified(ContactAggregate())
    await run.log.delete_records("contacts.decisions", 0, before=run.decisions().stable_end)

    verified = await run.verified(ContactAggregate())

    assert verified.difference is None
    assert (verified.begins_at, verified.decisions, verified.is_whole) == (whole.decisions + 1, 0, False)


async def test_a_first_decision_that_is_missing_without_retention_is_a_difference(run: RecordedRun) -> None:
    del run.decisions().records[0]

    assert await found(run) == (1, "decisions are missing")


async def test_a_changed_input_is_found(run: RecordedRun) -> None:
    requests = run.log.partition("contacts.requests", 0).records
    requests[0] = msgspec.structs.replace(requests[0], value=(requests[0].value or b"").replace(b"York", b"Pork"))

    _, what = await found(run)

    assert what == "the input was changed"


async def test_a_rule_that_decides_otherwise_now_is_named_by_the_first_field_that_differs(
    run: RecordedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeout = emission._timeout
    monkeypatch.setattr(emission, "_timeout", lambda kind, text: timeout(kind, text) + 1)

    difference = (await run.verified(ContactAggregate())).difference

    assert difference is not None
    assert difference.what.startswith("this code decides differently at $.")
    assert (difference.recorded, difference.decided) != (None, None)


async def test_rules_that_are_not_the_adopted_ones_are_found(run: RecordedRun) -> None:
    run.rules._entries = run.rules._entries[:-1]  # without the schedule

    sequence, _ = await found(run)

    assert sequence > 0


@pytest.mark.parametrize(
    ("recorded", "replaced", "what"),
    [
        (b'"decision_rules":"1"', b'"decision_rules":"first"', "the version of the decision rules is not a number"),
        (b',"decision_rules":"1"', b"", "no version of the decision rules was adopted before this decision"),
    ],
)
async def test_an_adoption_without_a_version_of_the_rules_is_found(
    run: RecordedRun, recorded: bytes, replaced: bytes, what: str
) -> None:
    records = run.log.partition("contacts.decisions", 0).records
    value = records[0].value or b""
    assert recorded in value
    records[0] = msgspec.structs.replace(records[0], value=value.replace(recorded, replaced))

    difference = (await run.verified(ContactAggregate())).difference

    assert difference is not None
    assert (difference.what, difference.sequence) == (what, 1)


async def test_progress_is_reported(run: RecordedRun) -> None:
    reported: list[int] = []
    await verify(run.log, TopicNames(), ContactAggregate(), 0, run.rules, progress=reported.append)

    assert sum(reported) == len(run.decisions().records)
