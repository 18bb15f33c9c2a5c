"""When may a step be carried out at the earliest? The first instant that no rule forbids, and which rules moved it."""

from collections.abc import Callable
from functools import partial

import msgspec
from msgspec import Struct

from engine.calendar import Opening, country_zones
from engine.contact.facts import ledger
from engine.contact.facts.person import Person
from engine.contact.facts.public_contacts import cap_ends_at
from engine.contact.schedule.cadence import CONTACTS, Cadence, channel_of
from engine.contact.timing.contact_hours import (
    CALLBACK_PURPOSE,
    OPENING_HORIZON,
    TELEPHONE,
    UNKNOWN_ZONE_CODE,
    closing,
    countries_of,
    hours_unchanged_until,
    is_zone_unknown,
    legal_opening,
    limits,
    opening,
    same_time_opening,
)
from engine.contact.timing.places import why_not_contacted
from engine.identity import command_id, share_of
from engine.law.caps import FREQUENCY_CAP_CODE, Cap, last_release
from schemas.contact import Lead
from schemas.instant import EPOCH, SECOND, Instant, Millis
from schemas.law import CHANNELS, Purpose
from schemas.schedule import Step

REPLY_PAUSE = "reply_pause"
INBOUND_PAUSE = "inbound_pause"
INBOUND_MISSED = "inbound_missed"
OPTOUT_REVIEW = "optout_review"
TEXT_INCOMPLETE = "text_incomplete"
"""Pauses after a reply, an inbound call, a missed inbound call, a doubtful opt-out text, or a part of a longer text."""

REFUSAL_PAUSE = "refusal_pause"
"""The pause of a law after the person has refused an offer."""

MIN_SPACING = "min_spacing"
PUBLIC_CAP = "public_cap"
"""The cap of a day's further leads without a key, which all of a person share."""
NEVER_OPEN = "window_never_open"

CAP_CHECKS_MAX = 50
"""Rounds of checking hours, then caps: hours may open under another law, and its caps may end outside hours."""


class MovedBy(Struct, frozen=True, omit_defaults=True):
    """One rule that moved a plan: until when, the zone of that edge, and the rows of the rule pack behind it.

    Without `until` it never allows the action. `rules` are empty where the schedule, not the law, requires it.
    """

    code: str
    until: Instant | None = None
    zone: str | None = None
    rules: tuple[str, ...] = ()


DEFAULT_PURPOSE: Purpose = "telemarketing"
"""The default purpose: decisions record only other ones."""

KEEPS_TIME = "same_time_next_allowed_day"


class Earliest(Struct, frozen=True):
    """The first allowed instant (None: never), the codes that moved it, the last of them (`decider`), and its zone.

    `constraints` hold for each code until when it moved the action, and by which rules; `rule` is the row of the rule pack
    behind the decider.
    """

    at: Instant | None
    codes: tuple[str, ...] = ()
    decider: str | None = None
    zone: str | None = None
    constraints: tuple[MovedBy, ...] = ()
    purpose: Purpose = DEFAULT_PURPOSE
    rule: str | None = None


def _never(code: str) -> Earliest:
    """Return the answer for a telephone that is not contacted at all while a code holds."""
    return Earliest(None, (code,), code, None, (MovedBy(code),))


ZONE_UNKNOWN = Earliest(None, (UNKNOWN_ZONE_CODE,), UNKNOWN_ZONE_CODE, None, (MovedBy(UNKNOWN_ZONE_CODE),))
"""The answer for a telephone of unknown time zone, on a schedule that holds these."""


def base_of(person: Person, lead: Lead) -> Instant:
    """Return the base time of the lead's next step: the requested one, else the schedule's; never in the past."""
    base = lead.base_at if lead.requested_next_action_at is None else lead.requested_next_action_at
    return max(base or EPOCH, person.now)


def first_allowed_with_spread(person: Person, lead: Lead, cadence: Cadence, step: Step, base: Instant) -> Earliest:
    """Return the first instant for a step with jitter and window rules; for a plain cadence that is `first_allowed`.

    Jitter and a fixed time of day count from the start of the wait: else the plan would move every time it is computed.
    """
    spread = _jitter(lead, cadence, step)
    keeps_time = isinstance(step, CONTACTS) and (step.window_miss or cadence.schedule.window_miss) == KEEPS_TIME
    if not spread and not keeps_time:
        return first_allowed(person, lead, cadence, step, base)
    began = lead.base_at if lead.requested_next_action_at is None else lead.requested_next_action_at
    found = first_allowed(person, lead, cadence, step, base if began is None else began, keeps_time=keeps_time)
    if found.at is not None and spread:
        found = msgspec.structs.replace(found, at=_spread(person, lead, cadence, step, found.at, spread))
    return first_allowed(person, lead, cadence, step, base) if found.at is not None and found.at < person.now else found


def first_allowed(
    person: Person, lead: Lead, cadence: Cadence, step: Step, base: Instant, *, keeps_time: bool = False
) -> Earliest:
    """Return the first instant >= base that every rule allows; `keeps_time`: at the same wall time of a later day."""
    channel = channel_of(step)
    if not lead.zones and is_zone_unknown(lead, cadence, channel):
        return ZONE_UNKNOWN
    code = why_not_contacted(person, lead, channel, cadence.schedule.purpose)
    if code is not None:
        return _never(code)
    head = person.head
    start, held = _past_limits(person, lead, cadence, step, base) if head.version or lead.pause else (base, ())
    if not held and not head.ledger and not keeps_time:
        return _first_open(person, lead, cadence, channel, start)
    find = partial(same_time_opening if keeps_time else opening, person.law, lead, cadence, channel)
    return _first_open_under_caps(person, lead, channel, cadence.schedule.purpose, start, held, find)


def earliest_callback(person: Person, lead: Lead, cadence: Cadence, base: Instant) -> Earliest:
    """Return the first instant >= base for a callback: the law applies, preferred hours do not."""
    if is_zone_unknown(lead, cadence, "call"):
        return ZONE_UNKNOWN
    code = why_not_contacted(person, lead, "call", CALLBACK_PURPOSE)
    if code is not None:
        return _never(code)
    start, held = _past_guard(person, lead, "call", base)
    find = partial(legal_opening, person.law, lead, cadence, "call")
    return _first_open_under_caps(person, lead, "call", CALLBACK_PURPOSE, start, held, find)


def misses_window(person: Person, lead: Lead, cadence: Cadence, step: Step) -> bool:
    """Return whether a step with `window_miss: skip_step` misses its hours; False for a plain cadence."""
    if not isinstance(step, CONTACTS):
        return False
    channel = channel_of(step)
    if (step.window_miss or cadence.schedule.window_miss) != "skip_step":
        return False
    if is_zone_unknown(lead, cadence, channel) or why_not_contacted(person, lead, channel, cadence.schedule.purpose):
        return False
    start, held = _past_limits(person, lead, cadence, step, base_of(person, lead))
    start, _ = _past_caps(person, lead, channel, cadence.schedule.purpose, start, held)
    found = opening(person.law, lead, cadence, channel, start)
    return found is None or bool(found.moves)


class _CachedOpening(Struct, frozen=True):
    """The answer for a base is valid for every base from `since` on and before `until`."""

    since: Instant
    until: Instant
    earliest: Earliest


_OPENINGS: dict[tuple[object, ...], _CachedOpening] = {}
OPENINGS_CACHED = 8_192
"""Openings in the cache: schedule versions in use x channels x zones of their leads. The oldest is evicted first."""


def _first_open(person: Person, lead: Lead, cadence: Cadence, channel: str, start: Instant) -> Earliest:
    """Return the first instant >= start within all hours, for a lead that no cap, guard or pause holds.

    Leads of one schedule version in one zone share the cached answer until something opens or closes there.
    """
    law = person.law
    asked = law, cadence, channel, lead.zones, lead.states, countries_of(lead)
    cached = _OPENINGS.get(asked)
    purpose = cadence.schedule.purpose
    if cached is None or not cached.since <= start < cached.until:
        found = opening(law, lead, cadence, channel, start)
        earliest = _earliest(person, lead, channel, purpose, start, (), found)
        if found is None or found.at - start > OPENING_HORIZON:
            return earliest
        if len(_OPENINGS) >= OPENINGS_CACHED and asked not in _OPENINGS:
            del _OPENINGS[next(iter(_OPENINGS))]
        until = hours_unchanged_until(law, lead, cadence, channel, start)
        cached = _OPENINGS[asked] = _CachedOpening(start, until, earliest)
    return cached.earliest if cached.earliest.constraints else Earliest(start, purpose=purpose)


def _first_open_under_caps(  # noqa: PLR0917 - what is asked, and what was found so far
    person: Person,
    lead: Lead,
    channel: str,
    purpose: Purpose,
    start: Instant,
    held: tuple[MovedBy, ...],
    find: Callable[[Instant], Opening | None],
) -> Earliest:
    """Return the first instant >= start that is under every cap and within all hours.

    A free cap stays free, as no contact comes before. Only if another law applies when the hours open, check its caps.
    """
    if not person.head.ledger:
        return _earliest(person, lead, channel, purpose, start, held, find(start))
    found: Opening | None = None
    for _ in range(CAP_CHECKS_MAX):
        start, held = _past_caps(person, lead, channel, purpose, start, held)
        found = find(start)
        if found is None or _past_caps(person, lead, channel, purpose, found.at, ())[0] == found.at:
            break
        law = limits(person.law, lead, channel, start, purpose)
        for move in found.moves:
            rules = law.rule_of(move.code, move.until, move.zone)
            held = _with_constraint(held, MovedBy(move.code, move.until, move.zone, rules))
        start, found = found.at, None
    again = () if found is None else found.codes
    held = tuple([rule for rule in held if rule.code not in again]) if again else held
    return _earliest(person, lead, channel, purpose, start, held, found)


def _with_constraint(held: tuple[MovedBy, ...], constraint: MovedBy) -> tuple[MovedBy, ...]:
    """Return the constraints with one more; of one code the last counts."""
    return (*(rule for rule in held if rule.code != constraint.code), constraint)


def _past_guard(person: Person, lead: Lead, kind: str, base: Instant) -> tuple[Instant, tuple[MovedBy, ...]]:
    """Return the first instant >= base after what holds whatever the schedule says: reviews, guards, the public cap."""
    head = person.head
    start: Instant = base
    held: tuple[MovedBy, ...] = ()
    if kind not in CHANNELS:
        return start, held
    if head.review_until is not None and head.review_until > start:
        start, held = head.review_until, (MovedBy(OPTOUT_REVIEW, head.review_until),)
    if head.incomplete_until is not None and head.incomplete_until > start:
        start, held = head.incomplete_until, (*held, MovedBy(TEXT_INCOMPLETE, head.incomplete_until))
    # After the person has hung up, the pause after a missed call remains; before, the end of the call is unknown.
    rest_until = head.inbound_until if head.inbound_call_id is None else None
    if rest_until is not None and rest_until > start:
        start, held = rest_until, (*held, MovedBy(INBOUND_MISSED, rest_until))
    until = ledger.guard_ends_at(head, kind)
    if until is not None and until > start:
        start, held = until, (*held, MovedBy(MIN_SPACING, until))
    until = cap_ends_at(person.rules, head, start) if lead.is_capped else None
    if until is not None:
        start, held = until, (*held, MovedBy(PUBLIC_CAP, until))
    return start, held


def _jitter(lead: Lead, cadence: Cadence, step: Step) -> Millis:
    """Return the jitter of a step; the schedule's does not delay the first contact of a run."""
    if not isinstance(step, CONTACTS):
        return 0
    if step.jitter_seconds is not None:
        return step.jitter_seconds * SECOND
    is_first = lead.attempts == 0 and lead.emails_count == 0
    return 0 if is_first else cadence.schedule.jitter_seconds * SECOND


def _spread(  # noqa: PLR0917 - whose step it is, and where it may lie
    person: Person, lead: Lead, cadence: Cadence, step: Step, at: Instant, most: Millis
) -> Instant:
    """Return a later instant within the same hours, always the same one for the same attempt.

    It is a share of the time left until the hours close. Cutting off at the close would crowd the last minute.
    """
    closes = closing(person.law, lead, cadence, channel_of(step), at)
    room = most if closes is None else min(most, closes - at)
    attempt = command_id(lead.uuid, lead.enrolment, lead.step_entered, step.id, 1 + sum(lead.retries.values()))
    return at + share_of(attempt, room)


def _past_limits(
    person: Person, lead: Lead, cadence: Cadence, step: Step, base: Instant
) -> tuple[Instant, tuple[MovedBy, ...]]:
    """Return the first instant >= base at which the person may be disturbed, by what the schedule says of it too."""
    kind = channel_of(step)
    start, held = _past_guard(person, lead, kind, base)
    if lead.pause is not None and lead.pause.until > start and isinstance(step, CONTACTS):
        start, held = lead.pause.until, (*held, MovedBy(lead.pause.code, lead.pause.until))
    refused = refusal_ends_at(person, lead, cadence, kind, start)
    if refused is not None and refused.until is not None:
        start, held = refused.until, (*held, refused)
    if cadence.spacing and not _is_explicit_retry(lead, step):
        until = ledger.spacing_ends_at(person, kind, cadence.spacing)
        if until is not None and until > start:
            start, held = until, _with_constraint(held, MovedBy(MIN_SPACING, until))
    return start, held


def refusal_ends_at(person: Person, lead: Lead, cadence: Cadence, kind: str, base: Instant) -> MovedBy | None:
    """Return the pause of the law after a refusal that is not over at base: whole days of the calendar in every zone.

    A callback is none of its business: its hour was named by the person.
    """
    refused_at = person.head.refused_at
    if refused_at is None or kind not in TELEPHONE:
        return None
    refusal = limits(person.law, lead, kind, base, cadence.schedule.purpose).refusal
    if refusal is None:
        return None
    zones = lead.zones or tuple(zone for country in countries_of(lead) for zone in country_zones(country))
    until, zone = refusal.ends_at(refused_at, zones or (cadence.schedule.time_zone,))
    return MovedBy(REFUSAL_PAUSE, until, zone, refusal.rule_ids) if until > base else None


def _is_explicit_retry(lead: Lead, step: Step) -> bool:
    """Return whether the step is retried after its own delay: spacing does not extend that."""
    if not isinstance(step, CONTACTS) or lead.last_outcome is None or not lead.retries.get(lead.last_outcome):
        return False
    retry = step.retry.get(lead.last_outcome)
    return retry is not None and retry.delay is not None


def _past_caps(  # noqa: PLR0917 - what is asked, and what was found so far
    person: Person, lead: Lead, kind: str, purpose: Purpose, start: Instant, held: tuple[MovedBy, ...]
) -> tuple[Instant, tuple[MovedBy, ...]]:
    """Return the first instant >= start at which no legal cap on contacts to this number forbids one."""
    if not person.head.ledger:
        return start, held
    last = last_release(ledger.attempts_of(person.head), _caps(person, lead, kind, purpose, start), start)
    if last is None:
        return start, held
    held = tuple([rule for rule in held if rule.code != MIN_SPACING])  # the longer wait includes the shorter one
    return last.at, _with_constraint(held, MovedBy(FREQUENCY_CAP_CODE, last.at, None, last.cap.rule_ids))


def _caps(person: Person, lead: Lead, kind: str, purpose: Purpose, at: Instant) -> tuple[Cap, ...]:
    return limits(person.law, lead, kind, at, purpose).caps


def _earliest(  # noqa: PLR0917 - what was asked, and what was found
    person: Person,
    lead: Lead,
    channel: str,
    purpose: Purpose,
    start: Instant,
    held: tuple[MovedBy, ...],
    found: Opening | None,
) -> Earliest:
    law = limits(person.law, lead, channel, start, purpose)
    if found is None:
        never = MovedBy(NEVER_OPEN, None, None, tuple([rule_id for hours in law.hours for rule_id in hours.rule_ids]))
        return _with_decider(None, (*held, never), NEVER_OPEN, None, purpose)
    if not found.moves:
        return _with_decider(found.at, held, held[-1].code if held else None, None, purpose)
    moved = [
        MovedBy(move.code, move.until, move.zone, law.rule_of(move.code, move.until, move.zone)) for move in found.moves
    ]
    last = max(found.moves, key=lambda move: move.until)
    return _with_decider(found.at, (*held, *moved), last.code, found.zone, purpose)


def _with_decider(
    at: Instant | None, constraints: tuple[MovedBy, ...], decider: str | None, zone: str | None, purpose: Purpose
) -> Earliest:
    codes = tuple([constraint.code for constraint in constraints])
    # The row behind the code that moved it last; the first where several rows say the same.
    rows = next((constraint.rules for constraint in constraints if constraint.code == decider), ())
    return Earliest(at, codes, decider, zone, constraints, purpose, rows[0] if rows else None)
