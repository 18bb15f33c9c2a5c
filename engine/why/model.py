"""Which structs make up an explanation of a lead, and how does the API show them?"""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from engine.calendar import local_datetime
from engine.why.history import LeadFact
from engine.why.simulation import LeadContext
from schemas.contact import Lead
from schemas.instant import SECOND, Instant, to_rfc3339

Verdict = Literal["acted", "would_act", "running", "due", "not_due", "held", "captured", "stopped", "ended", "absent", "cut"]

VERDICTS: tuple[str, ...] = Verdict.__args__  # type: ignore[attr-defined]


class Reason(Struct, frozen=True, kw_only=True):
    """One rule that delays an action: until when, in which zone, and the row of the rule pack with its source."""

    code: str
    sentence: str
    until: Instant | None = None
    zone: str | None = None
    rule: str | None = None
    source_url: str | None = None


class NextContact(Struct, frozen=True, kw_only=True):
    """The next contact step, and the rules that would forbid it at the instant, if any."""

    step_id: str
    kind: str
    reasons: tuple[Reason, ...] = ()


class QueuePlace(Struct, frozen=True, kw_only=True):
    """Where a lead is in its queue for a line: how many go before it, how many wait, and how fast lines become free.

    `lines` is None where no lead of the queue has an open request.
    """

    before: int
    waiting: int
    lines: int | None
    calls_last_hour: int

    @property
    def minutes_left(self) -> int | None:
        """About how long it takes until its turn at the pace of the last hour; None where no call was made."""
        return minutes_until(self.before, self.calls_last_hour)


def minutes_until(leads: int, calls_an_hour: int) -> int | None:
    """Return about how long it takes until so many leads were called; None where no call was made."""
    return None if calls_an_hour == 0 else -(-leads * 60 // calls_an_hour)


class Explanation(Struct, frozen=True, kw_only=True):
    """The answer for the minute that begins at `at`.

    `acted`, `would_act`: an action is emitted at `acts_at`. `running`: an outcome is pending. `due`: no rule forbids the
    next action, but the scheduler has not acted yet. `not_due`: its time has not come. `held`: `reasons` delay it.
    `captured`: no schedule. `stopped`: the person must not be contacted. `ended`: the lead is over. `absent`: it did not
    exist yet. `cut`: the simulation would take too long. `decision` is the record behind it, None where it is simulated.
    """

    at: Instant
    verdict: Verdict
    sentence: str
    zone: str
    reasons: tuple[Reason, ...] = ()
    next_action_at: Instant | None = None
    acts_at: Instant | None = None
    step_id: str | None = None
    kind: str | None = None
    source: str | None = None
    base: Instant | None = None
    status: str | None = None
    decision: LeadFact | None = None
    assumed: tuple[str, ...] = ()
    contact: NextContact | None = None
    queue: QueuePlace | None = None


class LeadHistory(Struct, frozen=True, kw_only=True):
    """The input of an explanation: the lead now with its context, and its facts in the order of decisions."""

    known: LeadContext
    facts: Sequence[LeadFact]
    queue: QueuePlace | None = None


def shown(answer: Explanation, lead: Lead) -> dict[str, Any]:
    """Return an explanation as the API shows it: RFC 3339 in UTC, local times with the offset of the zone."""
    decision = answer.decision
    return {
        "lead_id": lead.id,
        "uuid": lead.uuid,
        "at": to_rfc3339(answer.at),
        "local_at": _local(answer.at, answer.zone),
        "time_zone": answer.zone,
        "verdict": answer.verdict,
        "sentence": answer.sentence,
        "reasons": [_reason(reason) for reason in answer.reasons],
        "next_action_at": _moment(answer.next_action_at),
        "acts_at": _moment(answer.acts_at),
        "step_id": answer.step_id,
        "kind": answer.kind,
        "source": answer.source,
        "base_at": _moment(answer.base),
        "status": answer.status,
        "decision": None if decision is None else _evidence(decision),
        "assumed": list(answer.assumed),
        "contact": None if answer.contact is None else _contact(answer.contact),
        "queue": None if answer.queue is None else _queue(answer.queue),
    }


def _reason(reason: Reason) -> dict[str, Any]:
    return {**msgspec.structs.asdict(reason), "until": _moment(reason.until)}


def _contact(contact: NextContact) -> dict[str, Any]:
    """Return whether a contact would be allowed, and what forbids it."""
    reasons = [_reason(reason) for reason in contact.reasons]
    return {"step_id": contact.step_id, "kind": contact.kind, "allowed": not reasons, "reasons": reasons}


def _queue(place: QueuePlace) -> dict[str, Any]:
    return {**msgspec.structs.asdict(place), "minutes_left": place.minutes_left}


def _evidence(fact: LeadFact) -> dict[str, Any]:
    """Return where the record is, and what it says."""
    place = {"topic": fact.topic, "partition": fact.partition, "sequence": fact.sequence, "offset": fact.offset}
    return {**place, "decided_at": to_rfc3339(fact.at), "fact": fact.type, "data": dict(fact.data)}


def _moment(at: Instant | None) -> str | None:
    return None if at is None else to_rfc3339(at)


def _local(at: Instant, zone: str) -> str:
    return local_datetime(at, zone).isoformat(timespec="milliseconds" if at % SECOND else "seconds")
