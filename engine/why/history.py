"""What was the state of a lead at an instant? A fold of its facts, in the order of decisions.

No rule runs here: the plan, and what moved it, is what the decision of that time recorded.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from schemas.instant import MINUTE, Instant

ANSWER_SPAN = MINUTE
"""A question about 19:58 means the minute that begins then, whatever the milliseconds of the action."""

ACTION_FACTS = ("command.emitted", "reach.requested")
"""Facts of an emitted action; the second asks another contact to emit it."""

_RETURNED = frozenset({"outcome.recorded", "reach.refused"})
_BEGUN = frozenset({"lead.created", "lead.enrolled", "lead.taken_in"})
_AFTER_THE_END = _BEGUN | {"lead.deleted", "lead.ended"}
"""A lead that has ended can start again, be deleted, or end otherwise, as by a later opt-out."""


class LeadFact(Struct, frozen=True, kw_only=True):
    """A fact of a lead, and the position of its decision; its offset where known."""

    at: Instant
    type: str
    data: Mapping[str, Any]
    topic: str
    partition: int
    sequence: int
    offset: int | None = None


class LeadState(Struct, kw_only=True):
    """The state of a lead and the facts behind it: the last change, its plan, its command in flight.

    `denied` is the step that a veto hook denied since the last action, `failed` the last one that could not be taken.
    """

    kind: Literal["absent", "queued", "planned", "held", "running", "ending", "ended", "gone"] = "absent"
    fact: LeadFact | None = None
    plan: LeadFact | None = None
    flight: LeadFact | None = None
    status: str | None = None
    reason: str | None = None
    denied: LeadFact | None = None
    failed: LeadFact | None = None


def state_at(facts: Iterable[LeadFact], at: Instant) -> LeadState:
    """Return the state of the lead at an instant; facts in the order of decisions."""
    found = LeadState()
    for fact in facts:
        if fact.at > at:
            break
        if fact.type == "step.skipped" and fact.data.get("reason") == "veto_denied":
            found.denied = fact
        if fact.type == "step.failed":
            found.failed = fact
        _apply(found, fact)
    return found


def first_action_within(facts: Iterable[LeadFact], at: Instant) -> LeadFact | None:
    """Return the first action that was emitted in the requested minute, or None."""
    return next((fact for fact in facts if at <= fact.at < at + ANSWER_SPAN and is_action(fact)), None)


def next_action_after(facts: Iterable[LeadFact], at: Instant) -> LeadFact | None:
    """Return the first action that was emitted after an instant, or None."""
    return next((fact for fact in facts if fact.at > at and is_action(fact)), None)


_HELD_BY = {"veto.asked": "veto_asked", **dict.fromkeys(("slot.requested", "slot.awaited"), "concurrency_cap")}
"""Fact that holds a lead -> the code of what it waits for."""


def is_action(fact: LeadFact) -> bool:
    """Return whether a fact is an action of the lead; a mere notification has no source."""
    return fact.type in ACTION_FACTS and "source" in fact.data


def _apply(found: LeadState, fact: LeadFact) -> None:  # noqa: C901 - one line per kind of fact
    """Apply one fact to the state; skip facts that do not change it."""
    kind, data = fact.type, fact.data
    if found.kind in {"ended", "gone"} and kind not in _AFTER_THE_END:
        return  # late outcomes, and webhooks about the end
    if kind in _BEGUN:
        found.kind, found.plan, found.flight, found.status, found.reason = "queued", None, None, None, None
    elif kind in {"lead.scheduled", "lead.waiting"} and "at" in data:
        found.kind, found.plan, found.flight, found.reason = "planned", fact, None, None
    elif kind == "lead.waiting":
        found.kind, found.reason = "held", data.get("reason")
    elif kind in _HELD_BY:
        found.kind, found.reason = "held", data.get("reason") or _HELD_BY[kind]
    elif is_action(fact):
        found.kind, found.plan, found.flight, found.reason, found.denied = "running", None, fact, None, None
    elif kind in _RETURNED and not data.get("late"):
        found.kind, found.flight = "queued", None
    elif kind == "lead.ending":
        found.kind, found.status, found.plan = "ending", data.get("status"), None
    elif kind == "lead.ended":
        found.kind, found.status, found.reason = "ended", data.get("status"), data.get("reason")
    elif kind in {"lead.deleted", "lead.sent_away"}:
        found.kind, found.status = "gone", kind.removeprefix("lead.")
    else:
        return
    found.fact = fact
