"""What if an outcome comes late, twice, or contradicts another? One stands, and who was reached is left alone."""

from collections.abc import Iterator
from typing import Any

import msgspec

from engine.contact.commands.emission import MANUAL
from engine.contact.facts.ledger import row_of
from schemas.contact import LIVE_STATUSES, Call, Lead
from schemas.decisions import REMOVED, Decision, Fact
from schemas.outcomes import standing
from tests.simulation.decided import Decided

UNKNOWN = "unknown"
OUTCOME = "outcome.recorded"

Place = tuple[int, str, int]
"""A lead at a step that it has entered for the n-th time: its run, the step, the count."""


def last_outcomes_in(contacts: list[Decided]) -> Iterator[str]:
    """A call ends once; what is known of it later names what it corrects, and the call has the last."""
    for decided in contacts:
        stands: dict[int, str] = {}
        calls: dict[int, Call | None] = {}
        for decision in decided.decisions:
            for fact in decision.facts:
                if fact.type in {"call.ended", "call.corrected"} and fact.call_id is not None:
                    yield from _follow(decided, decision, fact, fact.call_id, stands)
            for change in decision.changes:
                if change.key.startswith("call/"):
                    call = None if change.value == REMOVED else msgspec.json.decode(change.value, type=Call)
                    calls[int(change.key.partition("/")[2])] = call
        for call_id, call in calls.items():
            is_ours = call is not None and call.command_id is not None  # reports of an inbound call complete each other
            if call is not None and is_ours and call_id in stands and call.outcome != stands[call_id]:
                yield f"{decided.name}: call {call_id} is {call.outcome}, its last outcome is {stands[call_id]}"


def _follow(decided: Decided, decision: Decision, fact: Fact, call_id: int, stands: dict[int, str]) -> Iterator[str]:
    before, outcome = stands.get(call_id), str(fact.data["outcome"])
    corrects = fact.data.get("corrects", {}).get("outcome")
    if corrects != before:
        yield f"{decided.name} #{decision.sequence}: {outcome} of call {call_id} corrects {corrects}, but {before} stands"
    elif before is not None and standing("call", before, outcome) not in {"replaces", "later", "repeated"}:
        yield f"{decided.name} #{decision.sequence}: {outcome} of call {call_id} replaces {before}, which proves more"
    stands[call_id] = outcome


def corrections_in(contacts: list[Decided]) -> Iterator[str]:
    """A command becomes known once after `unknown`."""
    for decided in contacts:
        known: set[str] = set()
        for decision in decided.decisions:
            for fact in decision.facts:
                if fact.type == OUTCOME and fact.data.get("corrects") == UNKNOWN:
                    command_id = str(fact.data["command_id"])
                    if command_id in known:
                        yield f"{decided.name} #{decision.sequence}: {command_id} becomes known again"
                    known.add(command_id)


def plans_in(contacts: list[Decided]) -> Iterator[str]:
    """Whose newest attempt was `unknown` and is known to have reached the person, is not contacted again by its step."""
    for decided in contacts:
        leads: dict[int, Lead] = {}
        reached: dict[int, Place] = {}
        for decision in decided.decisions:
            _take_reached(decision, leads, reached)
            for fact in decision.facts:
                if fact.type == "disposition.timed_out" or "disposition" in fact.data:
                    reached.pop(fact.lead_id or 0, None)  # somebody has said what the call was: it may be repeated
            for lead_id, lead in _leads_of(decision):
                before = leads.pop(lead_id, None)
                if lead is None:
                    continue
                leads[lead_id] = lead
                if _is_new_contact(before, lead) and reached.get(lead_id) == _place(lead):
                    yield f"{decided.name} #{decision.sequence}: lead {lead_id} was reached, and is contacted again"


def _take_reached(decision: Decision, leads: dict[int, Lead], reached: dict[int, Place]) -> None:
    for fact in decision.facts:
        lead = leads.get(fact.lead_id or 0)
        if fact.type != OUTCOME or fact.data.get("corrects") != UNKNOWN or lead is None or lead.unknown is None:
            continue
        row, attempt = row_of(fact.data["kind"], fact.data["outcome"]), lead.unknown
        is_newest = attempt.flight.command_id == fact.data["command_id"]
        if is_newest and lead.status in LIVE_STATUSES and row is not None and row.good:
            reached[lead.id] = attempt.flight.enrolment, attempt.flight.step_id, attempt.step_entered


def _leads_of(decision: Decision) -> Iterator[tuple[int, Lead | None]]:
    for change in decision.changes:
        if change.key.startswith("lead/"):
            lead: Any = None if change.value == REMOVED else msgspec.json.decode(change.value, type=Lead)
            yield int(change.key.partition("/")[2]), lead


def _is_new_contact(before: Lead | None, lead: Lead) -> bool:
    flight = lead.flight
    known = None if before is None or before.flight is None else before.flight.command_id
    if flight is None or flight.command_id == known or flight.callback or flight.kind == "webhook":
        return False
    return flight.step_id != MANUAL


def _place(lead: Lead) -> Place:
    return lead.enrolment, lead.step or "", lead.step_entered
