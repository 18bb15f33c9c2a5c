"""Is the recorded history what this code decides, and does it stay provable once other rules decide?

The same history is read in two ways: decided again by the version that it names, and folded by code of a made-up version.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from adapters.audit.verify import Verified, verify
from adapters.embedded.log import EmbeddedLog
from adapters.partitions.feed import RulesTopic
from adapters.partitions.outbox import OutboxSender
from adapters.partitions.routing import partition_of
from adapters.roles.context import versions
from adapters.why.proof import prove
from engine import decision_rules
from engine.account.aggregate import AccountAggregate
from engine.contact.aggregate import ContactAggregate
from engine.contact.commands import emission
from engine.decision_rules import VERSIONS
from engine.partition.aggregate import Aggregate
from engine.partition.ports import Outgoing
from engine.partition.runner import CycleLimits, Runner, TopicNames
from engine.why.answer import explain
from schemas.contact import Lead
from schemas.decisions import REMOVED, Decision
from schemas.envelope import Envelope, to_headers
from schemas.instant import HOUR
from schemas.requests import REQUEST_TYPES, CallerActed, LeadSubmitted
from schemas.wire import Message, to_json
from tests.engine.other_rules import make_up_version
from tests.engine.partition.runner_world import HandClock
from tests.histories.history import HISTORY, last_append, log_of
from tests.histories.kinds import missing_from

PARTITIONS = 2
AGGREGATES: tuple[Aggregate, ...] = (AccountAggregate(), ContactAggregate())
KEY = "1|+13055550123"
RECORD = "if a decision was changed on purpose, record the history again: .venv/bin/python -m tests.histories.record"


class Deployment:
    """A recorded history, and runners of the present code that go on with it."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.versions = versions()

    async def open(self) -> "Deployment":
        self.log: EmbeddedLog = await log_of(HISTORY, lambda: self.clock.time)
        self.clock.time = max(last_append(self.log), *(one.decided_at for one in self.decided())) + HOUR
        self.rules = RulesTopic(self.log, TopicNames())
        await self.rules.refresh()
        return self

    def decided(self) -> list[Decision]:
        """Return every decision that the log holds."""
        records = [
            record
            for aggregate in AGGREGATES
            for number in range(PARTITIONS)
            for record in self.log.partition(aggregate.decisions_topic.name, number).records
        ]
        return [msgspec.json.decode(record.value or b"", type=Decision) for record in records]

    async def go_on(self) -> None:
        """Run every partition for a day, in which somebody submits a lead and another opts out."""
        appender = await self.log.appender()
        runners = [
            Runner(
                aggregate,
                number,
                log=self.log,
                clock=self.clock,
                outbox=lambda stream: OutboxSender(stream, log=self.log, names=TopicNames(), appender=appender),
                versions=self.versions,
                rules_feed=self.rules if isinstance(aggregate, ContactAggregate) else None,
                limits=CycleLimits(idle_poll_seconds=0.0),
            )
            for aggregate in AGGREGATES
            for number in range(PARTITIONS)
        ]
        for runner in runners:
            await runner.open()
        schedule = self.rules.rules.records("schedule", 1)[0]
        about: dict[str, Any] = {"company_id": 1, "contact_key": KEY, "schedule_id": schedule.id}
        submitted = LeadSubmitted(
            **about,
            caller_id=KEY[2:],
            zones=("America/New_York",),
            received_at=self.clock.time,
            data={"first_name": "Ada"},
            with_key=True,
        )
        await self._ask("new-1", submitted)
        for hour in range(24):
            if hour == 12:
                await self._ask("new-2", CallerActed(**about, action="opt_out"))
            for _ in range(3):
                await asyncio.gather(*(runner.cycle() for runner in runners))
            await self.rules.refresh()
            self.clock.time += HOUR
        for runner in runners:
            await runner.close()

    async def _ask(self, request_id: str, request: Message) -> None:
        appender = await self.log.appender()
        headers = to_headers(Envelope(id=request_id, type=REQUEST_TYPES[type(request)], source="/test"))
        outgoing = Outgoing("contacts.requests", KEY.encode(), to_json(request), headers)
        await appender.append(partition_of(KEY.encode(), PARTITIONS), [outgoing])

    async def verified(self) -> list[Verified]:
        return [
            await verify(
                self.log,
                TopicNames(),
                aggregate,
                number,
                self._feed(aggregate),
                versions=self.versions,
            )
            for aggregate in AGGREGATES
            for number in range(PARTITIONS)
        ]

    def _feed(self, aggregate: Aggregate) -> Any:
        return self.rules if isinstance(aggregate, ContactAggregate) else None

    async def close(self) -> None:
        await self.rules.close()


@pytest.fixture
async def deployment() -> AsyncIterator[Deployment]:
    deployment = await Deployment().open()
    yield deployment
    await deployment.close()


@pytest.fixture
def other_rules(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let this code decide by a made-up version, so that the history is one of earlier rules; return the version."""
    return make_up_version(monkeypatch)


@pytest.fixture(params=["decided again", "folded"])
def is_folded(request: pytest.FixtureRequest) -> bool:
    """In which of the two ways the history is read."""
    if request.param == "folded":
        request.getfixturevalue("other_rules")
    return bool(request.param == "folded")


async def test_the_history_is_what_this_code_decides(deployment: Deployment) -> None:
    results = await deployment.verified()

    assert [result.difference for result in results] == [None] * 4, RECORD
    assert [result.folded for result in results] == [()] * 4, RECORD
    assert [result.decided_again for result in results] == [result.decisions for result in results]
    assert sum(result.decisions for result in results) == len(deployment.decided()) > 700
    assert all(result.keys > 10 for result in results)


async def test_the_history_holds_every_kind_of_cause_fact_and_request(deployment: Deployment) -> None:
    missing = missing_from(deployment.decided())

    assert not missing, "choose another seed or add a scene: see tests/histories/record.py"


async def test_a_history_of_earlier_rules_is_folded_and_its_release_is_named(
    deployment: Deployment, other_rules: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeout = emission._timeout
    monkeypatch.setattr(emission, "_timeout", lambda kind, text: timeout(kind, text) + 1)

    results = await deployment.verified()

    assert [result.difference for result in results] == [None] * 4
    assert [result.decided_again for result in results] == [0] * 4
    assert sum(result.decisions for result in results) == len(deployment.decided()) > 700
    for result in results:
        (folded,) = result.folded
        assert folded.decisions == result.decisions
        assert (folded.decision_rules, folded.decided_by) == (1, VERSIONS[1].decided_by)
        assert folded.reason == "other_rules"
    assert all(result.keys > 10 for result in results)
    assert other_rules > 1


async def test_rules_that_decide_otherwise_need_a_version_of_their_own(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeout = emission._timeout
    monkeypatch.setattr(emission, "_timeout", lambda kind, text: timeout(kind, text) + 1)

    differences = [result.difference for result in await deployment.verified()]

    assert any(difference and difference.what.startswith("this code decides differently at") for difference in differences)


async def test_a_history_that_this_code_goes_on_with_is_verified_with_both_counts(
    deployment: Deployment, is_folded: bool
) -> None:
    before = deployment.decided()
    await deployment.go_on()
    since = [one for one in deployment.decided() if one not in before]

    results = await deployment.verified()

    assert [result.difference for result in results] == [None] * 4
    folded = sum(folded.decisions for result in results for folded in result.folded)
    decided_again = sum(result.decided_again for result in results)
    assert (folded, decided_again) == ((len(before), len(since)) if is_folded else (0, len(before) + len(since)))
    assert {one.cause.kind for one in since} == {"adoption", "request", "tick"}
    assert {fact.type for one in since for fact in one.facts} >= {"lead.submitted", "contact.opted_out", "lead.ended"}


@pytest.mark.parametrize("goes_on", [False, True], ids=["as recorded", "gone on with"])
@pytest.mark.parametrize("place", [0, 1, 100, 101, -1])
async def test_a_changed_byte_is_found(deployment: Deployment, place: int, goes_on: bool, is_folded: bool) -> None:
    """Where nothing follows, the digest in the changelog shows it."""
    last = len(deployment.log.partition("contacts.decisions", 1).records)
    if goes_on:
        await deployment.go_on()
    records = deployment.log.partition("contacts.decisions", 1).records
    index = range(last)[place]
    value = records[index].value or b""
    changed = value.replace(b'"decided_at":1', b'"decided_at":2', 1)
    assert changed != value
    records[index] = msgspec.structs.replace(records[index], value=changed)

    result = (await deployment.verified())[3]

    assert result.difference is not None
    is_decided_differently = result.difference.what.startswith("this code decides differently at")
    assert (is_decided_differently and not is_folded) or result.difference.what in {
        "the hash chain is broken: the decision before this one was changed",
        "the changelog holds another digest of this decision",
    }
    assert result.difference.sequence in {index + 1, index + 2}


async def test_a_changed_input_is_found(deployment: Deployment) -> None:
    requests = deployment.log.partition("contacts.requests", 0).records
    index = next(place for place, record in enumerate(requests) if b'"first_name":"Ada"' in (record.value or b""))
    value = (requests[index].value or b"").replace(b"Ada", b"Eve")
    requests[index] = msgspec.structs.replace(requests[index], value=value)

    difference = (await deployment.verified())[2].difference

    assert difference is not None
    assert (difference.what, difference.cause) == ("the input was changed", "request")


@pytest.mark.usefixtures("is_folded")
async def test_inputs_that_retention_deleted_are_counted(deployment: Deployment) -> None:
    await deployment.log.delete_records("contacts.requests", 0, before=30)

    result = (await deployment.verified())[2]

    assert result.difference is None
    assert 20 < result.inputs_gone <= 30


async def test_a_decision_about_an_input_that_never_was_is_found(deployment: Deployment, is_folded: bool) -> None:
    records = deployment.log.partition("contacts.requests", 0).records
    gone = records.pop(10)

    difference = (await deployment.verified())[2].difference

    assert difference is not None
    folded, decided = (
        f"there is no input at offset {gone.offset}",
        f"the input at offset {gone.offset} is not in the log any more",
    )
    assert difference.what == (folded if is_folded else decided)


@pytest.mark.usefixtures("is_folded")
async def test_decisions_that_were_cut_off_are_found(deployment: Deployment) -> None:
    del deployment.log.partition("contacts.decisions", 0).records[-1]

    difference = (await deployment.verified())[2].difference

    assert difference is not None
    assert difference.what == "decisions are missing at the end"


async def test_rules_that_are_missing_are_found(deployment: Deployment, is_folded: bool) -> None:
    deployment.rules._entries = [entry for entry in deployment.rules.entries if entry[1].type != "schedule"]

    difference = (await deployment.verified())[2].difference

    assert difference is not None
    if is_folded:
        assert difference.what == "accounts.rules does not hold the rules that were adopted"
    else:
        assert difference.what.startswith("this code decides differently at $.cause.rules")


async def test_a_decision_of_a_newer_release_is_folded_and_that_release_is_named(
    deployment: Deployment, is_folded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = deployment.decided()
    newer_version = decision_rules.VERSION + 1
    with monkeypatch.context() as newer:
        newer.setattr(decision_rules, "VERSION", newer_version)
        deployment.versions = {**versions(), "leadclock": "9.9"}
        await deployment.go_on()

    results = await deployment.verified()

    assert [result.difference for result in results] == [None] * 4
    named = {(folded.decision_rules, folded.decided_by) for result in results for folded in result.folded}
    recorded = {(1, VERSIONS[1].decided_by)} if is_folded else set()
    assert named == {*recorded, (newer_version, "leadclock 9.9")}
    assert sum(result.decided_again for result in results) == (0 if is_folded else len(before))


@pytest.mark.parametrize("name", ["law", "phonenumbers", "cldr"])
@pytest.mark.usefixtures("other_rules")
async def test_what_other_data_decides_otherwise_is_folded_with_the_data_named(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    deployment.versions = {**versions(), name: "2099"}
    await deployment.go_on()
    timeout = emission._timeout
    monkeypatch.setattr(emission, "_timeout", lambda kind, text: timeout(kind, text) + 1)

    assert {result.difference is None for result in await deployment.verified()} == {True, False}, "the same data"

    deployment.versions = versions()
    results = await deployment.verified()

    assert [result.difference for result in results] == [None] * 4
    named = {folded.data for result in results for folded in result.folded if folded.reason == "other_data"}
    assert named == {f"{name} 2099 (here {versions()[name]})"}
    assert sum(result.decided_again for result in results) > 0


@pytest.mark.usefixtures("other_rules")
async def test_every_lead_of_earlier_rules_can_still_be_explained_from_the_log(deployment: Deployment) -> None:
    """No rule runs for that: state and rules are as they were recorded."""
    leads = {
        (number, lead.id): lead
        for number in range(PARTITIONS)
        for record in deployment.log.partition("contacts.decisions", number).records
        for lead in leads_in(record.value or b"")
    }
    assert len(leads) > 50
    for (number, lead_id), lead in leads.items():
        now = deployment.clock.time
        proof = await prove(
            deployment.log,
            "contacts.decisions",
            number,
            deployment.rules.entries,
            lead_id=lead_id,
            contact_key=lead.contact_key,
            at=now,
        )
        case = proof.lead_history()
        answer = explain(case, now, now)
        record = proof.record(answer)
        assert case.facts
        assert record is None or record["decision_rules"] == 1


def leads_in(decision: bytes) -> Iterator[Lead]:
    """Yield the leads that a decision changed."""
    for change in msgspec.json.decode(decision, type=Decision).changes:
        if change.key.startswith("lead/") and change.value != REMOVED:
            yield msgspec.json.decode(change.value, type=Lead)
