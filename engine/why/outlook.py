"""What will be due in the next hours, where, and what blocks it? Sums over a simulation of every lead.

Each lead is simulated alone: its effect on the caps of other leads of the person is not seen.
"""

from collections import Counter
from typing import Any

from msgspec import Struct

from engine.contact.schedule.cadence import cadence_of
from engine.contact.timing.contact_hours import countries_of
from engine.law.caps import FREQUENCY_CAP_CODE
from engine.law.company import law_of
from engine.why.history import LeadFact
from engine.why.simulation import ASSUMPTIONS, LeadContext, LeadSimulation
from schemas.contact import Lead
from schemas.instant import HOUR, Instant, to_rfc3339
from schemas.records import Schedule

HOURS_MAX = 168
"""A week ahead; beyond it outcomes matter more than rules."""

EXPIRING_SHOWN_MAX = 100
"""Expiring leads that are listed; all are counted."""

NOWHERE = ""
"""The state of a lead without a known state."""


class Expiring(Struct, frozen=True):
    """A lead that expires before its next legal instant, `allowed_at`; None where it has none."""

    lead_id: int
    expires_at: Instant
    allowed_at: Instant | None
    reasons: tuple[str, ...]


class Outlook:
    """The sums over the leads that were added."""

    def __init__(self, now: Instant, hours: int) -> None:
        self.now = now
        self.until = now + hours * HOUR
        self.leads = 0
        self.was_cut = 0
        self.due: Counter[tuple[Instant, str, str]] = Counter()
        self.expiring: list[Expiring] = []
        self.expiring_count = 0
        self.capped: Counter[str] = Counter()
        self.held: Counter[str] = Counter()

    def add(self, known: LeadContext) -> None:
        """Simulate a lead to the end of the span and add its actions; add nothing where that raises."""
        course = LeadSimulation(known, self.now)
        base_at = _planned_base_at(known.lead, self.now)
        allowed = course.allowed(base_at) if _has_no_allowed_time(known.lead) else None
        course.run(self.until)
        lead = known.lead
        self.leads += 1
        self.was_cut += course.was_cut
        state = lead.states[0] if lead.states else NOWHERE
        for fact in course.facts:
            if fact.type == "command.emitted":  # an e-mail is also asked of the contact of its address
                self.due[fact.at - fact.at % HOUR, state, str(fact.data.get("kind"))] += 1
        self._expires(known, course, None if allowed is None else allowed[1].at)
        for rule in _caps(known, course):
            self.capped[rule] += 1
        then = course.lead
        if then is not None and then.held_at is not None:
            self.held[then.status_wait or ""] += 1

    def leave_out(self) -> None:
        """Count a lead that cannot be simulated."""
        self.leads += 1
        self.was_cut += 1

    def shown(self) -> dict[str, Any]:
        """Return the sums as the API shows them: hours that begin in UTC, without empty ones."""
        return {
            "from": to_rfc3339(self.now),
            "to": to_rfc3339(self.until),
            "leads": self.leads,
            "hours": [self._hour(begins) for begins in sorted({begins for begins, _, _ in self.due})],
            "expiring": {
                "count": self.expiring_count,
                "leads": [
                    {
                        "lead_id": one.lead_id,
                        "expires_at": to_rfc3339(one.expires_at),
                        "allowed_at": None if one.allowed_at is None else to_rfc3339(one.allowed_at),
                        "reasons": list(one.reasons),
                    }
                    for one in self.expiring
                ],
            },
            "caps": [{"rule": rule, "leads": count} for rule, count in sorted(self.capped.items())],
            "held": [{"status_wait": code, "leads": count} for code, count in sorted(self.held.items())],
            "cut": self.was_cut,
            "assumed": list(ASSUMPTIONS),
        }

    def _hour(self, begins: Instant) -> dict[str, Any]:
        rows = sorted((state, kind, count) for (at, state, kind), count in self.due.items() if at == begins)
        kinds: Counter[str] = Counter()
        for _, kind, count in rows:
            kinds[kind] += count
        by = [{"state": state or None, "kind": kind, "count": count} for state, kind, count in rows]
        return {"from": to_rfc3339(begins), **{kind: kinds[kind] for kind in ("call", "sms", "email", "webhook")}, "by": by}

    def _expires(self, known: LeadContext, course: LeadSimulation, allowed_at: Instant | None) -> None:
        lead = known.lead
        plan = next((fact for fact in reversed(course.facts) if _expires_first(fact)), None)
        if plan is not None and lead.expires_at is not None and lead.expires_at < self.until:
            self._note(Expiring(lead.id, lead.expires_at, plan.data["earliest"], tuple(plan.data.get("reasons", ()))))
        elif plan is None and _has_no_allowed_time(lead) and lead.expires_at is not None and lead.expires_at < self.until:
            self._note(Expiring(lead.id, lead.expires_at, allowed_at, lead.reasons))

    def _note(self, found: Expiring) -> None:
        self.expiring_count += 1
        if len(self.expiring) < EXPIRING_SHOWN_MAX:
            self.expiring.append(found)


def _expires_first(fact: LeadFact) -> bool:
    return fact.type in {"lead.scheduled", "lead.waiting"} and "earliest" in fact.data and fact.data.get("at") is None


def _planned_base_at(lead: Lead, now: Instant) -> Instant:
    """Return the base of the next step, before rules move it."""
    meant = lead.base_at if lead.requested_next_action_at is None else lead.requested_next_action_at
    return max(meant or now, now)


def _has_no_allowed_time(lead: Lead) -> bool:
    """Return whether a lead waits for an allowed time that comes after its expiry, or never."""
    return lead.status == "waiting" and lead.next_action_at is None and lead.flight is None and lead.held_at is None


def _caps(known: LeadContext, course: LeadSimulation) -> set[str]:
    """Return the frequency caps that delay the lead; for an earlier plan, all that may."""
    found = {
        rule
        for fact in course.facts
        for moved in fact.data.get("constraints", ())
        if moved["code"] == FREQUENCY_CAP_CODE
        for rule in moved.get("rules", ())
    }
    lead = known.lead
    if found or FREQUENCY_CAP_CODE not in lead.reasons:
        return found
    law = law_of(known.rules, lead.company_id)
    schedule = known.rules.schedule(lead.schedule_id or 0, lead.schedule_version or 0)
    purpose = cadence_of(schedule or Schedule(name="", lead_token="")).schedule.purpose
    caps = law.limits(lead.states, countries_of(lead), "call", purpose, course.now).caps
    return {rule for cap in caps for rule in cap.rule_ids}
