"""Does the series begin at the submission and end at the first command, and count only leads that were due at once?"""

from typing import Any

import pytest
from msgspec.structs import replace

from adapters.observability import first_commands
from adapters.observability.first_commands import FirstCommands
from engine.partition.decider import Sealed
from engine.partition.ports import LogRecord
from engine.partition.runner import CycleReport
from schemas.contact import Flight, Lead
from schemas.decisions import Cause, Decision, Emitted, Fact
from schemas.instant import EPOCH, SECOND
from schemas.requests import LeadSubmitted
from schemas.wire import to_json

RECEIVED_AT = EPOCH + 1_000 * SECOND
DECIDED_AT = RECEIVED_AT + 2 * SECOND
COMMIT_SECONDS = 0.5

LEAD = Lead(
    id=9, uuid="u", company_id=3, contact_key="3|+1", created_at=DECIDED_AT, updated_at=DECIDED_AT, planned_at=DECIDED_AT
)


def in_flight(lead: Lead, **more: Any) -> Lead:
    flight = Flight(command_id="c", kind="call", step_id="call-1", emitted_at=DECIDED_AT, due_at=DECIDED_AT, **more)
    return replace(lead, flight=flight)


def transaction(lead: Lead, *, seconds: int = 0, type: str = "slot.answered", emits: str = "") -> CycleReport:  # noqa: A002 - that of the input
    """Return the report of one decision, made some seconds after the submission was decided."""
    facts = (Fact(type="lead.created", lead_id=lead.id),) if type == "lead.submitted" else ()
    decision = Decision(
        sequence=7,
        decided_at=DECIDED_AT + seconds * SECOND,
        prev="",
        cause=Cause(kind="request", offset=12, type=type),
        facts=facts,
        commands=(Emitted(topic="x.commands.call", id=emits, digest=""),) if emits else (),
    )
    sealed = Sealed(decision=decision, value=b"", records=(), entries=(), changes=((f"lead/{lead.id}", lead),), size_bytes=0)
    body = to_json(LeadSubmitted(company_id=3, contact_key="3|+1", received_at=RECEIVED_AT))
    records = [LogRecord("contacts.requests", 0, offset, b"k", body, (), EPOCH) for offset in (11, 12)]
    return CycleReport(decisions=[sealed], records=records, commit_seconds=COMMIT_SECONDS)


def observed(*reports: CycleReport) -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    commands = FirstCommands(lambda kind, seconds: found.append((kind, seconds)))
    for report in reports:
        commands.committed(report)
    return found


def test_a_command_of_the_submissions_own_decision_counts_from_its_receipt_to_its_commit() -> None:
    assert observed(transaction(in_flight(LEAD), type="lead.submitted", emits="c")) == [("call", 2.5)]


def test_a_wait_for_a_slot_counts_and_later_commands_of_the_lead_do_not() -> None:
    submitted = transaction(LEAD, type="lead.submitted")
    granted = transaction(in_flight(LEAD), seconds=30, emits="c")
    assert observed(submitted, granted, granted) == [("call", 32.5)]


@pytest.mark.parametrize(
    ("submitted", "changed"),
    [
        (replace(LEAD, planned_at=DECIDED_AT + SECOND), replace(LEAD, planned_at=DECIDED_AT + SECOND)),
        (replace(LEAD, planned_at=None), LEAD),
        (LEAD, replace(LEAD, planned_at=DECIDED_AT + 60 * SECOND)),
    ],
    ids=["due later", "held without a plan", "planned again"],
)
def test_a_lead_that_was_not_due_at_once_does_not_count(submitted: Lead, changed: Lead) -> None:
    first = transaction(submitted, type="lead.submitted")
    assert observed(first, transaction(changed, seconds=5), transaction(in_flight(changed), seconds=60, emits="c")) == []


def test_a_veto_hook_that_is_asked_before_is_not_the_command() -> None:
    asked = transaction(in_flight(LEAD, asks=4), type="lead.submitted", emits="c")
    assert observed(asked) == []
    assert observed(asked, transaction(in_flight(LEAD), seconds=3, emits="c")) == [("call", 5.5)]


def test_a_fence_and_a_lead_that_waited_before_this_process_do_not_count() -> None:
    submitted = transaction(LEAD, type="lead.submitted", emits="fence/9")
    assert observed(submitted) == []
    assert observed(transaction(in_flight(LEAD), seconds=3, emits="c")) == []


def test_leads_that_wait_are_bounded_and_the_oldest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_commands, "WAITING_MAX", 1)
    other = replace(LEAD, id=10)
    reports = [transaction(lead, type="lead.submitted") for lead in (LEAD, other)]
    assert observed(*reports, transaction(in_flight(LEAD), emits="c"), transaction(in_flight(other), emits="c")) == [
        ("call", 2.5)
    ]
