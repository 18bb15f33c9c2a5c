"""Does what an earlier release decided stay provable? On a recorded history, and on one that this code goes on with."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
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
from engine.decision_rules import VERSION, VERSIONS
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
from tests.engine.partition.test_runner import HandClock
from tests.histories.history import (
    EIGHTH_RULES,
    ELEVENTH_RULES,
    FIFTH_RULES,
    FIRST_RULES,
    FOURTH_RULES,
    NINTH_RULES,
    SECOND_RULES,
    SEVENTH_RULES,
    SIXTH_RULES,
    TENTH_RULES,
    THIRD_RULES,
    TWELFTH_RULES,
    last_append,
    log_of,
)

PARTITIONS = 2
AGGREGATES: tuple[Aggregate, ...] = (AccountAggregate(), ContactAggregate())
KEY = "1|+13055550123"


class Deployment:
    """A recorded history, and runners of the present code that go on with it."""

    def __init__(self, history: Path) -> None:
        self.clock = HandClock()
        self.versions = versions()
        self._history = history

    async def open(self) -> "Deployment":
        self.log: EmbeddedLog = await log_of(self._history, lambda: self.clock.time)
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
            **about, caller_id=KEY[2:], zones=("America/New_York",), received_at=self.clock.time, data={"first_name": "Ada"}
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
            await verify(self.log, TopicNames(), aggregate, number, self._feed(aggregate), versions=self.versions)
            for aggregate in AGGREGATES
            for number in range(PARTITIONS)
        ]

    def _feed(self, aggregate: Aggregate) -> Any:
        return self.rules.entries if isinstance(aggregate, ContactAggregate) else ()

    async def close(self) -> None:
        await self.rules.close()


@pytest.fixture
async def deployment() -> AsyncIterator[Deployment]:
    deployment = await Deployment(FIRST_RULES).open()
    yield deployment
    await deployment.close()


HISTORIES = [
    (FIRST_RULES, 1),
    (SECOND_RULES, 2),
    (THIRD_RULES, 3),
    (FOURTH_RULES, 4),
    (FIFTH_RULES, 5),
    (SIXTH_RULES, 6),
    (SEVENTH_RULES, 7),
    (EIGHTH_RULES, 8),
    (NINTH_RULES, 9),
    (TENTH_RULES, 10),
    (ELEVENTH_RULES, 11),
    (TWELFTH_RULES, 12),
]


@pytest.fixture(params=HISTORIES, ids=[f"rules {version}" for _, version in HISTORIES])
async def recorded(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Deployment, int]]:
    """Each history with the version of the rules that decided it."""
    history, version = request.param
    deployment = await Deployment(history).open()
    yield deployment, version
    await deployment.close()


async def test_a_history_of_earlier_rules_is_folded_and_its_release_is_named(recorded: tuple[Deployment, int]) -> None:
    deployment, version = recorded

    results = await deployment.verified()

    assert [result.difference for result in results] == [None] * 4
    assert [result.decided_again for result in results] == [0] * 4
    assert sum(result.decisions for result in results) == len(deployment.decided()) > 700
    for result in results:
        (folded,) = result.folded
        assert folded.decisions == result.decisions
        assert (folded.decision_rules, folded.decided_by) == (version, VERSIONS[version].decided_by)
    assert all(result.keys > 10 for result in results)


async def test_a_history_that_newer_rules_go_on_with_is_verified_with_both_counts(recorded: tuple[Deployment, int]) -> None:
    deployment, _ = recorded
    before = deployment.decided()
    await deployment.go_on()
    since = [one for one in deployment.decided() if one not in before]

    results = await deployment.verified()

    assert [result.difference for result in results] == [None] * 4
    assert sum(folded.decisions for result in results for folded in result.folded) == len(before)
    assert sum(result.decided_again for result in results) == len(since)
    assert {one.cause.kind for one in since} == {"adoption", "request", "tick"}
    assert {fact.type for one in since for fact in one.facts} >= {"lead.submitted", "contact.opted_out", "lead.ended"}


@pytest.mark.parametrize("goes_on", [False, True], ids=["as recorded", "gone on with"])
@pytest.mark.parametrize("place", [0, 1, 100, 101, -1])
async def test_a_changed_byte_in_the_folded_part_is_found(deployment: Deployment, place: int, goes_on: bool) -> None:
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
    assert result.difference.what in {
        "the hash chain is broken: the decision before this one was changed",
        "the changelog holds another digest of this decision",
    }
    assert result.difference.sequence in {index + 1, index + 2}


async def test_a_changed_input_of_the_folded_part_is_found(deployment: Deployment) -> None:
    requests = deployment.log.partition("contacts.requests", 0).records
    index = next(place for place, record in enumerate(requests) if b'"first_name":"Ada"' in (record.value or b""))
    value = (requests[index].value or b"").replace(b"Ada", b"Eve")
    requests[index] = msgspec.structs.replace(requests[index], value=value)

    difference = (await deployment.verified())[2].difference

    assert difference is not None
    assert difference.what == "the input was changed"


async def test_inputs_that_retention_deleted_are_counted(deployment: Deployment) -> None:
    await deployment.log.delete_records("contacts.requests", 0, before=30)

    result = (await deployment.verified())[2]

    assert result.difference is None
    assert 20 < result.inputs_gone <= 30


async def test_a_decision_about_an_input_that_never_was_is_found(deployment: Deployment) -> None:
    records = deployment.log.partition("contacts.requests", 0).records
    gone = records.pop(10)

    difference = (await deployment.verified())[2].difference

    assert difference is not None
    assert difference.what == f"there is no input at offset {gone.offset}"


async def test_decisions_that_were_cut_off_are_found(deployment: Deployment) -> None:
    del deployment.log.partition("contacts.decisions", 0).records[-1]

    difference = (await deployment.verified())[2].difference

    assert difference is not None
    assert difference.what == "decisions are missing at the end"


async def test_rules_that_are_missing_are_found_in_the_folded_part(deployment: Deployment) -> None:
    deployment.rules._entries = [entry for entry in deployment.rules.entries if entry[1].type != "schedule"]

    difference = (await deployment.verified())[2].difference

    assert difference is not None
    assert difference.what == "accounts.rules does not hold the rules that were adopted"


async def test_a_decision_of_a_newer_release_is_folded_and_that_release_is_named(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(decision_rules, "VERSION", VERSION + 1)
        deployment.versions = {**versions(), "leadclock": "9.9"}
        await deployment.go_on()

    results = await deployment.verified()

    assert [result.difference for result in results] == [None] * 4
    named = {(folded.decision_rules, folded.decided_by) for result in results for folded in result.folded}
    assert named == {(1, VERSIONS[1].decided_by), (VERSION + 1, "leadclock 9.9")}
    assert sum(result.decided_again for result in results) == 0


async def test_what_other_data_decides_otherwise_is_folded_with_the_data_named(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment.versions = {**versions(), "law": "2099"}
    await deployment.go_on()
    timeout = emission._timeout
    monkeypatch.setattr(emission, "_timeout", lambda kind, text: timeout(kind, text) + 1)

    assert {result.difference is None for result in await deployment.verified()} == {True, False}, "the same data"

    deployment.versions = versions()
    results = await deployment.verified()

    assert [result.difference for result in results] == [None] * 4
    named = {folded.data for result in results for folded in result.folded if folded.reason == "other_data"}
    assert named == {f"law 2099 (here {versions()['law']})"}
    assert sum(result.decided_again for result in results) > 0


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
