"""May a person be called now on request? Checks in a fixed sequence, then the command.

A manual call counts to the lead's attempts and to every legal cap. The agent who calls gets it, and is reserved for it.
"""

from typing import Any

import msgspec

from engine.contact.commands import slots
from engine.contact.commands.emission import CALL_NOW, MANUAL, BuyerConnection, place_call
from engine.contact.consent.opt_in import CONSENT_MISSING
from engine.contact.facts import ledger
from engine.contact.facts.person import Person
from engine.contact.facts.references import check_references
from engine.contact.lifecycle.enrolment import expiry, new_lead, schedule_of
from engine.contact.lifecycle.stop import is_opted_out_of, stop_reason
from engine.contact.lifecycle.walk import IS_TEST
from engine.contact.schedule.cadence import Cadence, cadence_for
from engine.contact.timing.contact_hours import is_zone_unknown, limits, opening
from engine.contact.timing.earliest import OPTOUT_REVIEW, REFUSAL_PAUSE, TEXT_INCOMPLETE, refusal_ends_at
from engine.contact.timing.places import SECTOR_BARRED, UNREVIEWED_COUNTRY, why_not_contacted
from engine.contact.timing.plan import pause_reason
from engine.contact.timing.suppression import is_suppressed
from engine.law.caps import last_release
from engine.partition.draft import RefusedError
from engine.submission.dialling import COUNTRY_NOT_DIALLED, NUMBER_NOT_DIALLED
from schemas.contact import LIVE_STATUSES, Lead
from schemas.decisions import Answer
from schemas.instant import EPOCH, SECOND, Instant, to_rfc3339
from schemas.records import Agent, Number, Record, Schedule
from schemas.requests import CallStartRequested
from schemas.schedule import CallStep

CLASS_NOW = 0
"""The urgency class of a manual call: before all that is due (`timing/plan.py`)."""

CAP_CHECKS_MAX = 50
"""Rounds of checking caps, then hours: caps may end outside hours, and hours open into a cap."""


def start(person: Person, request: CallStartRequested) -> None:
    """Place the call and answer with it. Raises `RefusedError` for the first check that fails, and changes nothing."""
    _check_caller(person, request)
    check_references(person, [("collaborator_id", "agent", request.agent_id)])
    lead = _find_lead(person, request)
    schedule = _schedule(person, request, lead)
    _check_active(person, lead, schedule, request)
    _check_person(person, _offer_id(person, request) if lead is None else lead.offer_id, _schedule_id(request, lead))
    is_new = lead is None
    lead = lead or _create_lead(person, request, schedule)
    _check_place(person, lead, is_overridden=request.override_reason is not None)
    if request.override_reason is None:
        _check_refusal(person, lead)
        _check_hours(person, lead, force=request.force)
    _check_recent(person)
    _check_in_progress(person, lead)
    if is_new:
        person.add(lead)
        person.draft.fact(
            "lead.created", lead_id=lead.id, offer_id=lead.offer_id, schedule_id=lead.schedule_id, source="call_start"
        )
    call_id = _place_call(person, lead, request)
    if request.override_reason is not None:
        about: dict[str, Any] = {"reason": request.override_reason, "key_id": request.override_key_id}
        person.draft.fact("law.overridden", lead_id=lead.id, call_id=call_id, **about)
    person.draft.answer = Answer(status=201, record_type="call", record_id=call_id, record_ids=(call_id,))


def _find_lead(person: Person, request: CallStartRequested) -> Lead | None:
    """Return the lead to call: the one named, else the live one of the schedule or offer, else the person's newest."""
    if request.lead_id is not None:
        lead = person.lead(request.lead_id)
        if lead is None:
            raise RefusedError("not_found", "There is no such lead.")
        return lead
    offer_id = _offer_id(person, request)
    of_offer = person.live_leads(lambda outline: offer_id is not None and outline.offer_id == offer_id)
    if request.schedule_id is not None:
        on_it = next(person.live_leads(lambda outline: outline.schedule_id == request.schedule_id), None)
        return on_it if on_it is not None or request.enrols else next(of_offer, None)
    return person.newest_lead() if offer_id is None else next(of_offer, None)


def _offer_id(person: Person, request: CallStartRequested) -> int | None:
    """Return the offer of the call: the named one, the schedule's, or that of the calling number."""
    if request.offer_id is not None:
        return request.offer_id
    if request.schedule_id is not None:
        schedule = person.rules.body(Schedule, "schedule", request.schedule_id)
        return None if schedule is None else schedule.offer_id
    number = person.rules.number(person.company_id, request.from_number)
    own = None if number is None else person.rules.body(Number, "number", number.id)
    return None if own is None else own.offer_id


def _schedule(person: Person, request: CallStartRequested, lead: Lead | None) -> Record | None:
    schedule_id = request.schedule_id if lead is None else lead.schedule_id
    if schedule_id is None:
        check_references(person, [("offer_id", "offer", request.offer_id)])
        return None
    found = schedule_of(person, schedule_id)
    if found is None:
        if lead is not None:
            raise RefusedError("schedule_inactive", "The schedule of the lead was deleted.")
        problem = f"names no schedule: {schedule_id}"
        raise RefusedError("validation_failed", f"schedule_id {problem}", {"schedule_id": [problem]})
    return found[0]


def _check_caller(person: Person, request: CallStartRequested) -> None:
    """Refuse a calling number that is not the company's, or that places no calls."""
    if request.from_number is None:
        return
    record = person.rules.number(person.company_id, request.from_number)
    body = None if record is None else person.rules.body(Number, "number", record.id)
    if body is None:
        problem = f"{request.from_number} is no number of this company; GET /api/v1/numbers lists those"
    elif body.paused:
        problem = f"{request.from_number} is paused"
    elif not body.voice:
        problem = f"{request.from_number} places no calls (voice is false)"
    else:
        return
    raise RefusedError("validation_failed", "Correct from and resend.", {"from": [problem]})


def _check_active(person: Person, lead: Lead | None, schedule: Record | None, request: CallStartRequested) -> None:
    """Refuse where the lead is a test, or the company, the offer or the schedule is paused."""
    if lead is not None and lead.is_test:
        detail = "This lead is a test, for which nobody is contacted."
        raise RefusedError("suppressed_contact", detail, extra={"reason": IS_TEST})
    schedule_id = None if schedule is None else schedule.id
    offer_id = _offer_id(person, request) if lead is None else lead.offer_id
    reason = pause_reason(person, offer_id, schedule_id)
    if reason is not None:
        raise RefusedError("schedule_inactive", f"No call is placed: {reason.replace('_', ' is ')}.")
    held = person.rules.contact_hold(person.company_id, "call")
    if held is not None:
        raise RefusedError("on_hold", f"No call is placed while contacting is on hold: {held.body['reason']}")


def _schedule_id(request: CallStartRequested, lead: Lead | None) -> int | None:
    return request.schedule_id if lead is None else lead.schedule_id


def _check_person(person: Person, offer_id: int | None, schedule_id: int | None) -> None:
    until = person.head.disabled_until.get("call")
    if until is not None and until > person.now:
        raise RefusedError(
            "invalid_number",
            "The carrier said that this number is not in service.",
            {"to": ["was found to be no number in service"]},
            extra={"next_allowed_at": to_rfc3339(until)},
        )
    reason = stop_reason(person.head, offer_id) or ("opt_out" if is_opted_out_of(person.head, "call") else None)
    if reason is not None:
        state_text = {"opt_out": "opted out", "blocked": "is blocked", "dnc": "is on the do-not-call list"}.get(
            reason, reason
        )
        raise RefusedError("suppressed_contact", f"This person {state_text} and is not called.", extra={"reason": reason})
    if is_suppressed(person, offer_id, schedule_id):
        detail = "This person is on a suppression list and is not called."
        raise RefusedError("suppressed_contact", detail, extra={"reason": "dnc"})
    review_until = person.head.review_until
    if review_until is not None and review_until > person.now:
        raise RefusedError(
            "suppressed_contact",
            "A text of this person may be an opt-out: read it, then opt them out, or lift the doubt with opt_out=false.",
            extra={"reason": OPTOUT_REVIEW, "next_allowed_at": to_rfc3339(review_until)},
        )
    incomplete_until = person.head.incomplete_until
    if incomplete_until is not None and incomplete_until > person.now:
        raise RefusedError(
            "suppressed_contact",
            "Parts of a text of this person are missing, and it may be an opt-out. Try again in two minutes.",
            extra={"reason": TEXT_INCOMPLETE, "next_allowed_at": to_rfc3339(incomplete_until)},
        )


def _check_place(person: Person, lead: Lead, *, is_overridden: bool) -> None:
    """Refuse a number that is not dialled, and whom the law lets nobody call; an override passes over the law alone."""
    code = why_not_contacted(person, lead, "call", cadence_for(person, lead).schedule.purpose)
    if code in {NUMBER_NOT_DIALLED, COUNTRY_NOT_DIALLED}:
        raise RefusedError("invalid_number", f"The number {_UNCALLED[code]}.", {"to": [_UNCALLED[code]]})
    if code is not None and not is_overridden:
        raise RefusedError("suppressed_contact", f"No call is placed: {_UNCALLED[code]}.", extra={"reason": code})


def _check_refusal(person: Person, lead: Lead) -> None:
    """Refuse a call within the pause of the law after a refusal."""
    pause = refusal_ends_at(person, lead, cadence_for(person, lead), "call", person.now)
    if pause is not None and pause.until is not None:
        raise RefusedError(
            "suppressed_contact",
            "No call is placed: the person has refused an offer, and the law has a pause after that.",
            extra={"reason": REFUSAL_PAUSE, "next_allowed_at": to_rfc3339(pause.until)},
        )


_UNCALLED = {
    SECTOR_BARRED: "a law lets nobody be called about what the offer sells (sector)",
    NUMBER_NOT_DIALLED: "is of a premium, shared-cost, personal or satellite service, which is never dialled",
    COUNTRY_NOT_DIALLED: "is of a country that neither the offer nor the company dials (dial_countries)",
    CONSENT_MISSING: "the law where the person is asks for consent first, and the lead states none (consent)",
    UNREVIEWED_COUNTRY: "no law of the country is kept, and the company holds telemarketing there (unreviewed_countries)",
}


def _check_hours(person: Person, lead: Lead, *, force: bool) -> None:
    """Refuse outside the hours of the law and over its caps; outside those of the schedule as well, unless forced."""
    cadence = cadence_for(person, lead)
    legal = Cadence(msgspec.structs.replace(cadence.schedule, windows={}, pauses=(), steps=(), end_steps=(), triggers=()))
    if is_zone_unknown(lead, cadence, "call"):
        raise RefusedError(
            "quiet_hours", "Nothing tells in which time zone this person is.", extra={"next_allowed_at": None}
        )
    wanted = legal if force else cadence
    now = person.now
    allowed_at = _first_allowed(person, lead, wanted, now)
    if allowed_at == now:
        return
    extra = {"next_allowed_at": None if allowed_at is None else to_rfc3339(allowed_at)}
    if not _is_open(person, lead, legal):
        raise RefusedError("quiet_hours", "The law allows no call to this person at this hour.", extra=extra)
    if _release(person, lead, legal, now) is not None:
        raise RefusedError("frequency_cap", "The law allows no further call to this number yet.", extra=extra)
    raise RefusedError(
        "outside_hours", "The schedule makes no calls at this hour; force=true passes over that.", extra=extra
    )


def _first_allowed(person: Person, lead: Lead, cadence: Cadence, at: Instant) -> Instant | None:
    """Return the first instant >= at in all hours and under all caps, or None."""
    for _ in range(CAP_CHECKS_MAX):
        release = _release(person, lead, cadence, at)
        found = opening(person.law, lead, cadence, "call", at if release is None else release)
        if found is None or found.at == at:
            return None if found is None else found.at
        at = found.at
    return None


def _release(person: Person, lead: Lead, cadence: Cadence, at: Instant) -> Instant | None:
    """Return when the caps allow a call again, or None where they allow one at the instant."""
    caps = limits(person.law, lead, "call", at, cadence.schedule.purpose).caps
    last = last_release(ledger.attempts_of(person.head), caps, at)
    return None if last is None else last.at


def _is_open(person: Person, lead: Lead, cadence: Cadence) -> bool:
    found = opening(person.law, lead, cadence, "call", person.now)
    return found is not None and found.at == person.now


def _check_recent(person: Person) -> None:
    if person.draft.behind:
        detail = "An opt-out may be among what is still being read; try again in a moment."
        raise RefusedError("requests_unread", detail, extra={"retry_after_seconds": 1})
    until = ledger.guard_ends_at(person.head, "call")
    if until is not None and until > person.now:
        seconds = -(-(until - person.now) // SECOND)
        raise RefusedError("number_recently_dialed", f"Try again in {seconds} s.", extra={"retry_after_seconds": seconds})


def _check_in_progress(person: Person, lead: Lead) -> None:
    head = person.head
    if head.inbound_call_id is not None and (head.inbound_until or EPOCH) > person.now:
        raise RefusedError("call_in_progress", "This person is calling us right now.")
    if any(other.flight is not None and other.flight.kind == "call" for other in person.outlines()):
        raise RefusedError("call_in_progress", "A call to this person is on its way.")
    if lead.flight is not None:
        what = {"sms": "A text", "email": "An e-mail", "webhook": "A webhook"}.get(lead.flight.kind, "An action")
        raise RefusedError("call_in_progress", f"{what} of this lead is on its way; try again when its outcome is known.")


def _create_lead(person: Person, request: CallStartRequested, schedule: Record | None) -> Lead:
    """Return a new lead: on the schedule if the call enrols, else of the offer alone."""
    lead = new_lead(person)
    lead.status, lead.offer_id = "captured", _offer_id(person, request)
    lead.caller_id = request.caller_id
    lead.columns, lead.zones = dict(request.columns), request.zones
    lead.zone_source, lead.states = request.zone_source, request.states
    if schedule is not None and request.enrols:
        lead.schedule_id, lead.schedule_version = schedule.id, schedule.version
        lead.status, lead.first_queued_at = "queue", person.now
    lead.expires_at = expiry(person, lead, person.now, None)
    return lead


def _connection(person: Person, request: CallStartRequested) -> BuyerConnection:
    """Return whom the call is connected to: the agent who calls, else whom the gateway has."""
    agent = person.rules.body(Agent, "agent", request.agent_id)
    return BuyerConnection(
        number=None if agent is None else agent.number,
        agent_id=request.agent_id,
        manual=True,
        forced=request.force,
        overrides_law=request.override_reason is not None,
    )


def _place_call(person: Person, lead: Lead, request: CallStartRequested) -> int:
    """Emit the command of the call; an ended lead keeps its status."""
    if not person.draft.has_place("call", lead.company_id, is_in_turn=True):
        raise RefusedError("commands_open", "As many calls are on their way as may be; try again in a moment.")
    slots.withdraw(person, lead)
    status, wait, expires_at = lead.status, lead.status_wait, lead.expires_at
    if status not in LIVE_STATUSES:
        lead.expires_at = None  # the expiry of the lead does not limit the call
    cadence = cadence_for(person, lead)
    lead.urgency_class = CLASS_NOW
    step = CallStep(id=MANUAL, from_number=request.from_number)
    place_call(person, lead, cadence, step, _connection(person, request), source=CALL_NOW)
    slots.count_placed(person, lead, request.agent_id)
    if status not in LIVE_STATUSES:
        lead.status, lead.status_wait, lead.expires_at = status, wait, expires_at
        person.save(lead)
    assert lead.attempted_call_id is not None  # noqa: S101 - just placed
    return lead.attempted_call_id
