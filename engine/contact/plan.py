"""When is the next action of a lead? The first instant from its base on that every rule allows, and what moved it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from engine.calendar import Opening
from engine.contact import ledger
from engine.contact.cadence import CONTACTS, Cadence
from engine.contact.hours import (
    PROMISED,
    SEEN_AT_ONCE,
    UNKNOWN_ZONE_CODE,
    closing,
    countries_of,
    hours_hold_until,
    is_lost,
    legal_opening,
    limits,
    opening,
    same_time_opening,
)
from engine.contact.person import PAUSES, Person
from engine.identity import command_id, share_of
from engine.law.caps import FREQUENCY_CAP_CODE, Cap, last_release
from schemas.contact import ContactPause, Lead, LeadStatus
from schemas.decisions import Fact
from schemas.instant import MINUTE, SECOND, Instant
from schemas.law import CHANNELS, Purpose
from schemas.records import Company, Offer, Schedule
from schemas.schedule import KIND_OF_STEP, Step

SCHEDULE_PAUSED = "schedule_paused"
REPLIED = "reply_pause"
CALLED = "inbound_pause"
CALLED_IN_VAIN = "inbound_missed"
OPTOUT_REVIEW = "optout_review"
"""The person texted, called us, rang and reached nobody, or may have opted out: what a `ContactPause` or the head says."""

MIN_SPACING = "min_spacing"
NEVER_OPEN = "window_never_open"
EXPIRES_FIRST = "expires_first"
"""The lead will expire before the step is due; where hours moved the step, their code says so instead."""

RECHECK_SOONEST = 5 * SECOND
RECHECK_LATEST = 15 * MINUTE
"""A held lead is looked at again after a quarter of the time that it has been held, within these bounds: what was
paused for a moment goes on at once, and a million leads that are held for hours cost some thousand looks a second."""

CAPS_LOOKED_AT_MAX = 50
"""Hours open into the caps of another law, and those end outside hours: so often at most is the one asked after both."""

CLASS_CALLBACK = CLASS_REAL_TIME = 1
CLASS_FIRST_ATTEMPT = 2
CLASS_RETRY = 3
CLASS_MESSAGE = 4
CLASS_OTHER = 5
"""Which of the due leads goes first (research/domain.md 3.8); 0 is left to calls that somebody asked for just now."""


def channel_of(step: Step) -> str:
    """Return the kind of a step: its channel, where it reaches a person."""
    return KIND_OF_STEP[type(step)]  # asked several times a decision: its struct would make the answer anew each time


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


SELLING: Purpose = "telemarketing"
"""What contacts are for where nothing else is said: decisions name other purposes only."""

KEEPS_TIME = "same_time_next_allowed_day"


class Earliest(Struct, frozen=True):
    """The first allowed instant (None: never), the codes that moved it, which did last, and in which zone.

    `constraints` say of each code until when it moved the action, and by which rules; `rule` is the row of the rule pack
    behind the decider.
    """

    at: Instant | None
    codes: tuple[str, ...] = ()
    decider: str | None = None
    zone: str | None = None
    constraints: tuple[Constraint, ...] = ()
    purpose: Purpose = SELLING
    rule: str | None = None


LOST = Earliest(None, (UNKNOWN_ZONE_CODE,), UNKNOWN_ZONE_CODE, None, (Constraint(UNKNOWN_ZONE_CODE),))
"""Of a telephone of which nothing tells where it is, on a schedule that holds such."""


def plan(person: Person, lead: Lead, cadence: Cadence, step: Step) -> bool:
    """Work out `next_action_at` of the step that the lead stands before; True where it is now."""
    lead.urgency_class = _class_of(lead, cadence, step)
    lead.aging = cadence.schedule.priority_aging
    base = _base(person, lead)
    earliest = (_first if cadence.is_plain else _planned)(person, lead, cadence, step, base)
    is_due = _schedule(person, lead, earliest, _source(lead), base)
    if lead.pause is not None and isinstance(step, CONTACTS):
        _heed_pause(person, lead, lead.pause)
    return is_due


def misses_window(person: Person, lead: Lead, cadence: Cadence, step: Step) -> bool:
    """Tell whether a step that is passed over where its hours are missed would miss them; never where all is plain."""
    if not isinstance(step, CONTACTS):
        return False
    channel = channel_of(step)
    if (step.window_miss or cadence.schedule.window_miss) != "skip_step":
        return False
    if is_lost(lead, cadence, channel):
        return False
    start, held = _past_limits(person, lead, cadence, step, _base(person, lead))
    start, _ = _past_caps(person, lead, channel, cadence.schedule.purpose, start, held)
    found = opening(person.law, lead, cadence, channel, start)
    return found is None or bool(found.moves)


def plan_callback(person: Person, lead: Lead, cadence: Cadence) -> bool:
    """Work out when the promised call can be placed (True: now): the law holds, preferred hours do not."""
    lead.urgency_class = CLASS_CALLBACK
    base = max(lead.callback_at or 0, person.now)
    if is_lost(lead, cadence, "call"):
        earliest = LOST
    else:
        start, held = _past_guard(person, "call", base)
        find = partial(legal_opening, person.law, lead, cadence, "call")
        earliest = _open(person, lead, "call", PROMISED, start, held, find)
    is_due = _schedule(person, lead, earliest, CALLBACK, base)
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
    if reason in PAUSES:  # whoever lifts the pause wakes them (engine/contact/replan.py)
        lead.recheck_at = None
        person.keep(lead)
        return
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
    """Return the first instant >= base at which the person may be disturbed, whatever the schedule says."""
    head = person.head
    start: Instant = base
    held: tuple[Constraint, ...] = ()
    if kind not in CHANNELS:
        return start, held
    if head.review_until is not None and head.review_until > start:
        start, held = head.review_until, (Constraint(OPTOUT_REVIEW, head.review_until),)
    # Once the person has hung up, what is left of the call is the rest after it; before, nobody knows its end.
    rest_until = head.inbound_until if head.inbound_call_id is None else None
    if rest_until is not None and rest_until > start:
        start, held = rest_until, (*held, Constraint(CALLED_IN_VAIN, rest_until))
    until = ledger.guarded_until(head, kind)
    if until is not None and until > start:
        start, held = until, (*held, Constraint(MIN_SPACING, until))
    return start, held


def _heed_pause(person: Person, lead: Lead, pause: ContactPause) -> None:
    """Say of a lead that waits because the person answered that it does; who called in vain is called back soon."""
    if pause.code == CALLED_IN_VAIN:
        lead.urgency_class = CLASS_CALLBACK
    if pause.code in lead.reasons and lead.next_action_at is not None and lead.next_action_at > person.now:
        lead.status, lead.status_wait = "waiting", pause.code


def _planned(person: Person, lead: Lead, cadence: Cadence, step: Step, base: Instant) -> Earliest:
    """Return the first instant for a step, spread and moved as its schedule says; where all is plain, that is `_first`.

    What is spread, or kept to its time of day, is worked out from where the wait began: else it would move with every look.
    """
    spread = _jitter(lead, cadence, step)
    keeps_time = isinstance(step, CONTACTS) and (step.window_miss or cadence.schedule.window_miss) == KEEPS_TIME
    if not spread and not keeps_time:
        return _first(person, lead, cadence, step, base)
    began = lead.base_at if lead.requested_next_action_at is None else lead.requested_next_action_at
    found = _first(person, lead, cadence, step, base if began is None else began, keeps_time=keeps_time)
    if found.at is not None and spread:
        found = msgspec.structs.replace(found, at=_spread(person, lead, cadence, step, found.at, spread))
    return _first(person, lead, cadence, step, base) if found.at is not None and found.at < person.now else found


def _first(person: Person, lead: Lead, cadence: Cadence, step: Step, base: Instant, *, keeps_time: bool = False) -> Earliest:
    channel = channel_of(step)
    if not lead.zones and is_lost(lead, cadence, channel):
        return LOST
    head = person.head
    start, held = _past_limits(person, lead, cadence, step, base) if head.version or lead.pause else (base, ())
    if not held and not head.ledger and not keeps_time:
        return _unhindered(person, lead, cadence, channel, start)
    find = partial(same_time_opening if keeps_time else opening, person.law, lead, cadence, channel)
    return _open(person, lead, channel, cadence.schedule.purpose, start, held, find)


class _Kept(Struct, frozen=True):
    """What was found for a base stands for every base from there on and before `until`."""

    since: Instant
    until: Instant
    earliest: Earliest


_KEPT: dict[tuple[object, ...], _Kept] = {}
KEPT_MAX = 8_192
"""Openings kept ready: schedule versions in use x channels x places of their leads; the oldest goes first."""


def _unhindered(person: Person, lead: Lead, cadence: Cadence, channel: str, start: Instant) -> Earliest:
    """Return the first instant >= start that all hours allow to somebody whom nothing else holds back.

    Leads of one schedule version in one place share the answer until something opens or closes there.
    """
    law = person.law
    asked = law, cadence, channel, lead.zones, lead.states, countries_of(lead)
    kept = _KEPT.get(asked)
    purpose = cadence.schedule.purpose
    if kept is None or not kept.since <= start < kept.until:
        found = opening(law, lead, cadence, channel, start)
        earliest = _earliest(person, lead, channel, purpose, start, (), found)
        if found is None or found.at - start > SEEN_AT_ONCE:
            return earliest
        if len(_KEPT) >= KEPT_MAX and asked not in _KEPT:
            del _KEPT[next(iter(_KEPT))]
        until = hours_hold_until(law, lead, cadence, channel, start)
        kept = _KEPT[asked] = _Kept(start, until, earliest)
    return kept.earliest if kept.earliest.constraints else Earliest(start, purpose=purpose)


def _open(  # noqa: PLR0917 - what is asked, and what was found so far
    person: Person,
    lead: Lead,
    channel: str,
    purpose: Purpose,
    start: Instant,
    held: tuple[Constraint, ...],
    find: Callable[[Instant], Opening | None],
) -> Earliest:
    """Return the first instant >= start that is under every cap and in all hours.

    A cap is free for good once it is free, as nothing else is contacted before; only where the law is another one by the
    time that the hours open, its caps have to be asked as well.
    """
    if not person.head.ledger:
        return _earliest(person, lead, channel, purpose, start, held, find(start))
    found: Opening | None = None
    for _ in range(CAPS_LOOKED_AT_MAX):
        start, held = _past_caps(person, lead, channel, purpose, start, held)
        found = find(start)
        if found is None or _past_caps(person, lead, channel, purpose, found.at, ())[0] == found.at:
            break
        law = limits(person.law, lead, channel, start, purpose)
        for move in found.moves:
            held = _also(held, Constraint(move.code, move.until, move.zone, law.rule_of(move.code)))
        start, found = found.at, None
    again = () if found is None else found.codes
    held = tuple([rule for rule in held if rule.code not in again]) if again else held
    return _earliest(person, lead, channel, purpose, start, held, found)


def _also(held: tuple[Constraint, ...], constraint: Constraint) -> tuple[Constraint, ...]:
    """Return what holds with one more that moves it further; of one code the last counts."""
    return (*(rule for rule in held if rule.code != constraint.code), constraint)


def allowed_from(person: Person, lead: Lead, cadence: Cadence, step: Step, at: Instant) -> Earliest:
    """Return the first instant >= at that every rule allows to a step, whenever its own time comes: why not then?"""
    return _first(person, lead, cadence, step, at)


def _jitter(lead: Lead, cadence: Cadence, step: Step) -> Instant:
    """Return over how long a step is spread; the schedule's own does not delay the first contact of a run."""
    if not isinstance(step, CONTACTS):
        return 0
    if step.jitter_seconds is not None:
        return step.jitter_seconds * SECOND
    is_first = lead.attempts == 0 and lead.emails_count == 0
    return 0 if is_first else cadence.schedule.jitter_seconds * SECOND


def _spread(  # noqa: PLR0917 - whose step it is, and where it may lie
    person: Person, lead: Lead, cadence: Cadence, step: Step, at: Instant, most: Instant
) -> Instant:
    """Return a later instant within the same hours, always the same one for the same attempt.

    A share of the room that is left, and not of `most` cut off at the close: the last minute would get a crowd.
    """
    closes = closing(person.law, lead, cadence, channel_of(step), at)
    room = most if closes is None else min(most, closes - at)
    order = command_id(lead.uuid, lead.enrolment, lead.step_entered, step.id, 1 + sum(lead.retries.values()))
    return at + share_of(order, room)


def _past_limits(
    person: Person, lead: Lead, cadence: Cadence, step: Step, base: Instant
) -> tuple[Instant, tuple[Constraint, ...]]:
    """Return the first instant >= base at which the person may be disturbed, by what the schedule says of it too."""
    kind = channel_of(step)
    start, held = _past_guard(person, kind, base)
    if lead.pause is not None and lead.pause.until > start and isinstance(step, CONTACTS):
        start, held = lead.pause.until, (*held, Constraint(lead.pause.code, lead.pause.until))
    if cadence.spacing and not _is_explicit_retry(lead, step):
        until = ledger.spaced_until(person, kind, cadence.spacing)
        if until is not None and until > start:
            start, held = until, _also(held, Constraint(MIN_SPACING, until))
    return start, held


def _is_explicit_retry(lead: Lead, step: Step) -> bool:
    """Tell whether the step is tried again after a delay that is written in it: that is not stretched by spacing."""
    if not isinstance(step, CONTACTS) or lead.last_outcome is None or not lead.retries.get(lead.last_outcome):
        return False
    retry = step.retry.get(lead.last_outcome)
    return retry is not None and retry.delay is not None


def _past_caps(  # noqa: PLR0917 - what is asked, and what was found so far
    person: Person, lead: Lead, kind: str, purpose: Purpose, start: Instant, held: tuple[Constraint, ...]
) -> tuple[Instant, tuple[Constraint, ...]]:
    """Return the first instant >= start at which no legal cap on contacts to this number forbids one."""
    if not person.head.ledger:
        return start, held
    last = last_release(person.head.ledger, _caps(person, lead, kind, purpose, start), start)
    if last is None:
        return start, held
    held = tuple([rule for rule in held if rule.code != MIN_SPACING])  # the longer rest from contacts holds the shorter one
    return last.at, _also(held, Constraint(FREQUENCY_CAP_CODE, last.at, None, last.cap.rule_ids))


def _caps(person: Person, lead: Lead, kind: str, purpose: Purpose, at: Instant) -> tuple[Cap, ...]:
    return limits(person.law, lead, kind, at, purpose).caps


def _earliest(  # noqa: PLR0917 - what was asked, and what was found
    person: Person,
    lead: Lead,
    channel: str,
    purpose: Purpose,
    start: Instant,
    held: tuple[Constraint, ...],
    found: Opening | None,
) -> Earliest:
    law = limits(person.law, lead, channel, start, purpose)
    if found is None:
        never = Constraint(NEVER_OPEN, None, None, tuple([rule_id for hours in law.hours for rule_id in hours.rule_ids]))
        return _told(None, (*held, never), NEVER_OPEN, None, purpose)
    if not found.moves:
        return _told(found.at, held, held[-1].code if held else None, None, purpose)
    moved = [Constraint(move.code, move.until, move.zone, law.rule_of(move.code)) for move in found.moves]
    last = max(found.moves, key=lambda move: move.until)
    return _told(found.at, (*held, *moved), last.code, found.zone, purpose)


def _told(
    at: Instant | None, constraints: tuple[Constraint, ...], decider: str | None, zone: str | None, purpose: Purpose
) -> Earliest:
    codes = tuple([constraint.code for constraint in constraints])
    # The row behind the code that moved it last; the first where several rows say the same.
    rows = next((constraint.rules for constraint in constraints if constraint.code == decider), ())
    return Earliest(at, codes, decider, zone, constraints, purpose, rows[0] if rows else None)


def _schedule(person: Person, lead: Lead, earliest: Earliest, source: str, base: Instant) -> bool:
    """Write the plan into the lead; True where it is due now, and whoever carries it out says what it then is.

    The fact of a plan holds what was weighed (research/domain.md 3.9); what the lead itself says (zones, states, attempts,
    schedule version) stands beside it in the same decision.
    """
    status_before, now = lead.status, person.now
    at, reasons, reason = earliest.at, earliest.codes, earliest.decider
    if at is not None and lead.expires_at is not None and at >= lead.expires_at and not lead.ending:
        at, reasons, reason = None, reasons or (EXPIRES_FIRST,), reason or EXPIRES_FIRST
    is_new = at != lead.next_action_at or reasons != lead.reasons
    lead.next_action_at, lead.reasons, lead.zone_deciding = at, reasons, earliest.zone
    lead.rule_deciding = earliest.rule
    if at is not None and (lead.planned_at is None or lead.planned_at > now):
        # What was due once stays measured from then: lateness is not forgotten by planning again.
        lead.planned_at = at
    person.source = source
    if at == now:
        return True
    status: LeadStatus = "scheduled" if reason is None else "waiting"
    lead.status, lead.status_wait, lead.held_at = status, reason, None
    if is_new or status != status_before:
        found = {"step_id": lead.step, "at": at, "reasons": reasons, **_weighed(person, lead, earliest, source, base)}
        person.draft.facts.append(Fact(type=f"lead.{status}", lead_id=lead.id, data=found))
    return False


def _weighed(person: Person, lead: Lead, earliest: Earliest, source: str, base: Instant) -> dict[str, Any]:
    """Return what was weighed, as far as it is not said by `at`: a plan that nothing moved began and ended there."""
    found: dict[str, Any] = {"source": source}
    if base != lead.next_action_at:
        found["base"] = base
    if earliest.constraints:
        found["constraints"] = earliest.constraints
    elif earliest.decider is not None:
        found["waits_for"] = earliest.decider
    if earliest.at != lead.next_action_at:
        found["earliest"] = earliest.at
    if earliest.purpose != SELLING:
        found["purpose"] = earliest.purpose
    if earliest.constraints and person.rules.rule_packs(person.company_id):
        found["law"] = person.law.stamp
    if source != SCHEDULE_STEP and source != RETRY and lead.base_at is not None:  # noqa: PLR1714 - a set would be made anew
        found["passed_over"] = [{"source": SCHEDULE_STEP, "base": lead.base_at}]
    return found


def _class_of(lead: Lead, cadence: Cadence, step: Step) -> int:
    channel = channel_of(step)
    if channel != "call":
        return CLASS_MESSAGE if channel in CHANNELS else CLASS_OTHER
    if lead.attempts:
        return CLASS_RETRY
    return CLASS_REAL_TIME if cadence.schedule.real_time_priority else CLASS_FIRST_ATTEMPT
