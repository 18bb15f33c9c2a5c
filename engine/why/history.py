"""Where did a lead stand at an instant? Read off its facts: each says what a decision made true, in the order of decisions.

No rule runs here: what was planned, and what moved it, is what the decision of that time recorded.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from schemas.instant import MINUTE, Instant

ANSWER_SPAN = MINUTE
"""Who asks about 19:58 means the minute that begins then, whatever the milliseconds of the action were."""

ACTION_FACTS = ("command.emitted", "reach.requested")
"""Facts that say that an action was on its way; the second asks another contact to emit it."""

_RETURNED = frozenset({"outcome.recorded", "reach.refused"})
_BEGUN = frozenset({"lead.created", "lead.enrolled", "lead.taken_in"})
_AFTER_THE_END = _BEGUN | {"lead.deleted", "lead.ended"}
"""A lead that has ended can begin again, go, or end as something else: who opts out later has opted out."""


class LeadFact(Struct, frozen=True, kw_only=True):
    """A fact of a lead, and the place of the decision that stated it; its offset where that is known."""

    at: Instant
    type: str
    data: Mapping[str, Any]
    topic: str
    partition: int
    sequence: int
    offset: int | None = None


class LeadState(Struct, kw_only=True):
    """Where the lead stood, and the facts that it rests on: the last one that changed it, its plan, what was on its way."""

    kind: Literal["absent", "queued", "planned", "held", "running", "ending", "ended", "gone"] = "absent"
    fact: LeadFact | None = None
    plan: LeadFact | None = None
    flight: LeadFact | None = None
    status: str | None = None
    reason: str | None = None


def state_at(facts: Iterable[LeadFact], at: Instant) -> LeadState:
    """Return where the lead stood after everything that was decided up to an instant; facts in the order of decisions."""
    found = LeadState()
    for fact in facts:
        if fact.at > at:
            break
        _apply(found, fact)
    return found


def first_action_within(facts: Iterable[LeadFact], at: Instant) -> LeadFact | None:
    """Return the first action that was ordered in the span that is asked about, or None."""
    return next((fact for fact in facts if at <= fact.at < at + ANSWER_SPAN and is_action(fact)), None)


def next_action_after(facts: Iterable[LeadFact], at: Instant) -> LeadFact | None:
    """Return the first action that was ordered after an instant, or None."""
    return next((fact for fact in facts if fact.at > at and is_action(fact)), None)


def is_action(fact: LeadFact) -> bool:
    """Tell whether a fact says that an action of the lead is on its way; what is only told somebody has no source."""
    return fact.type in ACTION_FACTS and "source" in fact.data


def _apply(found: LeadState, fact: LeadFact) -> None:  # noqa: C901 - one line per kind of fact
    """Let one fact change where the lead stands; facts that change nothing about that are passed over."""
    kind, data = fact.type, fact.data
    if found.kind in {"ended", "gone"} and kind not in _AFTER_THE_END:
        return  # late outcomes, and the webhooks that are told of the end
    if kind in _BEGUN:
        found.kind, found.plan, found.flight, found.status, found.reason = "queued", None, None, None, None
    elif kind in {"lead.scheduled", "lead.waiting"} and "at" in data:
        found.kind, found.plan, found.flight, found.reason = "planned", fact, None, None
    elif kind == "lead.waiting":
        found.kind, found.reason = "held", data.get("reason")
    elif kind in {"slot.requested", "slot.awaited"}:
        found.kind, found.reason = "held", "concurrency_cap"
    elif is_action(fact):
        found.kind, found.plan, found.flight, found.reason = "running", None, fact, None
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
