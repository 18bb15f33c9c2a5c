"""When is the next action of a lead? The first instant from its base on that every rule allows, and what moved it."""

from typing import Any

from msgspec import Struct

from engine.calendar import Opening
from engine.contact import ledger
from engine.contact.cadence import Cadence
from engine.contact.hours import PREFERRED_CODE, PROMISED, SELLING, legal_opening, limits, opening
from engine.contact.person import Person
from engine.law.caps import FREQUENCY_CAP_CODE, last_release
from schemas.contact import Lead
from schemas.instant import MINUTE, SECOND, Instant
from schemas.law import Purpose
from schemas.records import Company, Offer, Schedule
from schemas.schedule import Step

SCHEDULE_PAUSED = "schedule_paused"
MIN_SPACING = "min_spacing"
NEVER_OPEN = "window_never_open"
EXPIRES_FIRST = "expires_first"
"""The lead will expire before the step is due; where hours moved the step, their code says so instead."""

RECHECK_SOONEST = 5 * SECOND
RECHECK_LATEST = 15 * MINUTE
"""A held lead is looked at again after a quarter of the time that it has been held, within these bounds: what was
paused for a moment goes on at once, and a million leads that are held for hours cost some thousand looks a second."""

CLASS_CALLBACK = 1
CLASS_FIRST_ATTEMPT = 2
CLASS_RETRY = 3
CLASS_MESSAGE = 4
CLASS_OTHER = 5
"""Which of the due leads goes first (research/domain.md 3.8); 0 is left to calls that somebody asked for just now."""


def channel_of(step: Step) -> str:
    """Return the kind of a step: its channel, where it reaches a person."""
    return str(step.__struct_config__.tag)


SCHEDULE_STEP = "schedule_step"
RETRY = "retry"
CALLBACK = "callback"
EXPLICIT = "explicit"
"""Where the base of a plan came from (research/domain.md 3.9): the schedule, a retry, a promise, a `next_action_at`."""


class Constraint(Struct, frozen=True, omit_defaults=True):
    """One rule that moved a plan: until when, the zone of that edge, and the rows of the rule pack that say so.

    Without an `until` it never allows the action. `rules` are empty where the schedule, not the law, demands it.
    """

    code: str
    until: Instant | None = None
    zone: str | None = None
    rules: tuple[str, ...] = ()


class Earliest(Struct, frozen=True):
    """The first allowed instant (None: never), the codes that moved it, which did last, and in which zone.

    `constraints` say of each code until when it moved the action, and by which rules.
    """

    at: Instant | None
    codes: tuple[str, ...] = ()
    decider: str | None = None
    zone: str | None = None
    constraints: tuple[Constraint, ...] = ()


def plan(person: Person, lead: Lead, cadence: Cadence, step: Step) -> bool:
    """Work out `next_action_at` of the step that the lead stands before; True where it is now."""
    lead.urgency_class = _class_of(lead, step)
    channel = channel_of(step)
    base = _base(person, lead)
    start, held = _past_caps(person, lead, channel, base, SELLING)
    found = opening(lead, cadence, channel, start)
    return _schedule(person, lead, _earliest(lead, channel, SELLING, start, held, found), _source(lead), base)


def plan_callback(person: Person, lead: Lead, cadence: Cadence) -> bool:
    """Work out when the promised call can be placed (True: now): the law holds, preferred hours do not."""
    lead.urgency_class = CLASS_CALLBACK
    base = max(lead.callback_at or 0, person.now)
    start, held = _past_caps(person, lead, "call", base, PROMISED)
    found = legal_opening(lead, cadence, "call", start)
    is_due = _schedule(person, lead, _earliest(lead, "call", PROMISED, start, held, found), CALLBACK, base)
    lead.status, lead.status_wait = "waiting", "callback_pending"
    return is_due


def stand(person: Person, lead: Lead, reason: str | None = None) -> bool:
    """Let the lead stand before a step without hours, and say what for; True where it is due."""
    lead.urgency_class = CLASS_OTHER
    base = _base(person, lead)
    return _schedule(person, lead, Earliest(base, decider=reason), _source(lead), base)


def look_again(person: Person, lead: Lead, after: Instant) -> None:
    """Leave a due lead as it is for a moment: requests are unread that may forbid what it is about to do."""
    lead.status, lead.status_wait = "scheduled", None
    lead.recheck_at = person.now + after


def hold(person: Person, lead: Lead, reason: str) -> None:
    """Keep a due lead back, and look again ever less often."""
    now = person.now
    if lead.status_wait != reason:
        person.draft.fact("lead.waiting", lead_id=lead.id, reason=reason)
    if lead.held_at is None:
        lead.held_at = now
    lead.status, lead.status_wait = "waiting", reason
    lead.recheck_at = now + min(RECHECK_LATEST, max(RECHECK_SOONEST, (now - lead.held_at) // 4))
    person.keep(lead)


def paused(person: Person, lead: Lead) -> str | None:
    """Return which pause holds the lead, or None."""
    rules = person.rules
    company = rules.body(Company, "company", lead.company_id)
    if company is not None and company.paused:
        return "company_paused"
    offer = rules.body(Offer, "offer", lead.offer_id)
    if offer is not None and offer.paused:
        return "offer_paused"
    schedule = rules.body(Schedule, "schedule", lead.schedule_id)
    return SCHEDULE_PAUSED if schedule is not None and schedule.paused else None


def _base(person: Person, lead: Lead) -> Instant:
    base = lead.base_at if lead.requested_next_action_at is None else lead.requested_next_action_at
    return max(base or 0, person.now)


def _source(lead: Lead) -> str:
    """Return where the base of the step to come is from."""
    if lead.requested_next_action_at is not None:
        return EXPLICIT
    return RETRY if lead.retries else SCHEDULE_STEP


def _past_guard(person: Person, kind: str, base: Instant) -> tuple[Instant, tuple[Constraint, ...]]:
    until = ledger.guarded_until(person.head, kind)
    return (until, (Constraint(MIN_SPACING, until),)) if until is not None and until > base else (base, ())


def _past_caps(
    person: Person, lead: Lead, kind: str, base: Instant, purpose: Purpose
) -> tuple[Instant, tuple[Constraint, ...]]:
    """Return the first instant >= base at which neither the guard nor a legal cap on contacts to this number forbids one."""
    start, held = _past_guard(person, kind, base)
    last = last_release(person.head.ledger, limits(lead, kind, start, purpose).caps, start)
    if last is None:
        return start, held
    return last.at, (*held, Constraint(FREQUENCY_CAP_CODE, last.at, None, last.cap.rule_ids))


def _earliest(  # noqa: PLR0917 - what was asked, and what was found
    lead: Lead, channel: str, purpose: Purpose, start: Instant, held: tuple[Constraint, ...], found: Opening | None
) -> Earliest:
    codes = tuple([rule.code for rule in held])
    if found is None:
        law = limits(lead, channel, start, purpose)
        rules = tuple([rule_id for hours in law.hours for rule_id in hours.rule_ids])
        return Earliest(None, (*codes, NEVER_OPEN), NEVER_OPEN, None, (*held, Constraint(NEVER_OPEN, None, None, rules)))
    if not found.moves:
        return Earliest(found.at, codes, codes[-1] if codes else None, None, held)
    moves = found.moves
    if len(moves) == 1 and moves[0].code == PREFERRED_CODE:  # the most common plan by far is the schedule's own hours
        (last,) = moves
        return Earliest(
            found.at, (*codes, last.code), last.code, found.zone, (*held, Constraint(last.code, last.until, last.zone))
        )
    law = limits(lead, channel, start, purpose)
    moved = [Constraint(move.code, move.until, move.zone, law.rule_of(move.code)) for move in moves]
    last = max(moves, key=lambda move: move.until)
    return Earliest(found.at, (*codes, *found.codes), last.code, found.zone, (*held, *moved))


def _schedule(person: Person, lead: Lead, earliest: Earliest, source: str, base: Instant) -> bool:
    """Write the plan into the lead; True where it is due now, and whoever carries it out says what it then is.

    The fact of a plan holds what was weighed (research/domain.md 3.9); what the lead itself says (zones, states, attempts,
    schedule version) stands beside it in the same decision.
    """
    before = lead.status, lead.next_action_at
    at, reasons, reason = earliest.at, earliest.codes, earliest.decider
    if at is not None and not lead.ending and lead.expires_at is not None and at >= lead.expires_at:
        at, reasons, reason = None, reasons or (EXPIRES_FIRST,), reason or EXPIRES_FIRST
    lead.next_action_at, lead.reasons, lead.zone_deciding = at, reasons, earliest.zone
    if at is not None and (lead.planned_at is None or lead.planned_at > person.now):
        # What was due once stays measured from then: lateness is not forgotten by planning again.
        lead.planned_at = at
    person.keep(lead)
    person.source = source
    if at == person.now:
        return True
    lead.status, lead.status_wait = ("scheduled", None) if reason is None else ("waiting", reason)
    lead.held_at = None
    if before != (lead.status, at):
        found = _weighed(lead, earliest, source, base)
        person.draft.fact(f"lead.{lead.status}", lead_id=lead.id, step_id=lead.step, at=at, reasons=list(reasons), **found)
    return False


def _weighed(lead: Lead, earliest: Earliest, source: str, base: Instant) -> dict[str, Any]:
    """Return what was weighed, as far as it is not said by `at`: a plan that nothing moved began and ended there."""
    found: dict[str, Any] = {"source": source}
    if base != lead.next_action_at:
        found["base"] = base
    if earliest.constraints:
        found["constraints"] = earliest.constraints
    if earliest.at != lead.next_action_at:
        found["earliest"] = earliest.at
    if source not in {SCHEDULE_STEP, RETRY} and lead.base_at is not None:
        found["passed_over"] = [{"source": SCHEDULE_STEP, "base": lead.base_at}]
    return found


def _class_of(lead: Lead, step: Step) -> int:
    match channel_of(step):
        case "call":
            return CLASS_RETRY if lead.attempts else CLASS_FIRST_ATTEMPT
        case "sms" | "email":
            return CLASS_MESSAGE
        case _:
            return CLASS_OTHER
