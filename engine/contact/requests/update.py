"""What does an update of a lead do? Its fields first, then stops, moves and the plan."""

from msgspec import UNSET

from engine.contact.commands.emission import email_key
from engine.contact.commands.hanging_up import hang_up_all
from engine.contact.facts import conversions
from engine.contact.facts.call_record import copy_data_to_calls
from engine.contact.facts.invalid_fields import take_off_corrected
from engine.contact.facts.person import Person
from engine.contact.facts.references import check_references
from engine.contact.facts.result import REVIVABLE
from engine.contact.lifecycle import callbacks
from engine.contact.lifecycle.ending import revive
from engine.contact.lifecycle.enrolment import enrol, schedule_of
from engine.contact.lifecycle.moving import forward, move_out
from engine.contact.lifecycle.promises import Promiser
from engine.contact.lifecycle.removal import delete, remove
from engine.contact.lifecycle.resuming import resume
from engine.contact.lifecycle.stop import block, end_reason, mark, opt_in, opt_out, stop, stop_reason, unblock
from engine.contact.lifecycle.walk import advance, plan_inputs, replan_lead
from engine.contact.requests.reactions import apply_conversion
from engine.contact.requests.submission import check_ahead, check_callback, merge_fields
from engine.contact.timing.suppression import is_suppressed
from engine.identity import identity_number
from engine.partition.draft import RefusedError
from engine.submission.numbers import EXTENSION
from schemas.contact import LIVE_STATUSES, CallbackOwner, Lead
from schemas.decisions import Answer
from schemas.money import amount
from schemas.records import Record
from schemas.requests import LeadDeleteRequested, LeadUpdateRequested

RESUMABLE = frozenset({"blocked", "opt_out", "dnc"})
"""Statuses of ended leads that may resume once the stop of their person is lifted."""

_STOPPED = "The person opted out or is blocked; lift that first."
_LISTED = "The person is on a suppression list; take them off it first."

CONVERSIONS = {"buyer_converted": "call_buyer_conversion_id", "offer_converted": "call_offer_conversion_id"}
"""Conversion flag of a lead or call -> field of the lead that names the call."""


def update(person: Person, request: LeadUpdateRequested) -> None:
    """Change a lead and answer with it. Raises `RefusedError` and changes nothing."""
    lead = person.lead(request.lead_id)
    if lead is None:
        _answer_elsewhere(person, request)
        return
    target = _check(person, lead, request)
    contact_key = _contact_key(lead, request)
    before = plan_inputs(lead)
    _change_fields(person, lead, request)
    _stop_or_lift(person, lead, request)
    if target is not None and end_reason(person, lead.offer_id, target.id) is None:
        enrol(person, lead, target)
    _change_plan(person, lead, request)
    if contact_key != person.key:
        move_out(person, lead, contact_key, opt_out=request.opt_out is True, blocked=request.blocked is True)
    elif request.resume_on_unblock and _may_resume(person, lead):
        resume(person, lead)
        advance(person, lead)
    elif lead.status in LIVE_STATUSES:
        replan_lead(person, lead, before)
    person.draft.answer = Answer(status=200, record_type="lead", record_id=lead.id, record_ids=(lead.id,))


def delete_lead(person: Person, request: LeadDeleteRequested) -> None:
    """Delete a lead and answer. Raises `RefusedError` where it does not exist."""
    lead = person.lead(request.lead_id)
    if lead is None:
        _answer_elsewhere(person, request)
        return
    delete(person, lead)
    person.draft.answer = Answer(status=200, record_type="lead", record_id=lead.id, record_ids=(lead.id,))


def _answer_elsewhere(person: Person, request: LeadUpdateRequested | LeadDeleteRequested) -> None:
    if not forward(person, request, request.lead_id):
        raise RefusedError("not_found", "There is no such lead.")
    person.draft.answer = Answer(status=202, record_type="lead", record_id=request.lead_id)


def _check(person: Person, lead: Lead, request: LeadUpdateRequested) -> Record | None:
    """Refuse an invalid change; return the schedule to start, if any."""
    if request.if_versions is not None and lead.version not in request.if_versions:
        raise RefusedError("version_conflict", "The lead was changed since; read it again and resend the change.")
    caller_id = lead.caller_id if request.caller_id is UNSET else request.caller_id
    known_id = request.scheduled_callback_id
    if known_id is not None and (lead.callback_at is None or lead.scheduled_callback_id != known_id):
        raise RefusedError("not_found", "There is no such callback: it was made, cancelled or replaced.")
    next_action_at = request.next_action_at or None
    callback_at = request.schedule_callback_at or None
    check_ahead("next_action_at", next_action_at, person.now)
    check_callback(callback_at, caller_id, person.now)
    _check_owner(person, lead, request)
    has_ended = lead.status not in LIVE_STATUSES and not _starts_schedule(request)
    is_refused = callback_at is not None and not _may_be_called_back(person, lead)
    if has_ended and (next_action_at is not None or is_refused):
        raise RefusedError("lead_not_live", f"The lead has ended ({lead.status}); no action of it can be planned.")
    target = _target(person, lead, request)
    if request.hangup_live and request.blocked is not True and request.opt_out is not True:
        problem = "goes with blocked=true or opt_out=true"
        raise RefusedError("validation_failed", f"hangup_live {problem}", {"hangup_live": [problem]})
    if request.resume_on_unblock and request.blocked is not False and request.opt_out is not False:
        problem = "goes with blocked=false or opt_out=false"
        raise RefusedError("validation_failed", f"resume_on_unblock {problem}", {"resume_on_unblock": [problem]})
    is_out = stop_reason(person.head, lead.offer_id) == "opt_out" or person.head.suppressed_at is not None
    stays_out = is_out and request.opt_out is not False
    stays_blocked = person.head.blocked_at is not None and request.blocked is not False
    is_listed = target is not None and is_suppressed(person, lead.offer_id, target.id)
    if target is not None and (stays_out or stays_blocked or is_listed):
        raise RefusedError("suppressed_contact", _LISTED if is_listed else _STOPPED)
    return target


def _check_owner(person: Person, lead: Lead, request: LeadUpdateRequested) -> None:
    owner = request.callback_owner
    if owner is UNSET or owner is None or (request.scheduled_callback_id is not None and owner == lead.callback_owner):
        return  # the owner whom it has may be gone by now
    if request.schedule_callback_at is UNSET:
        problem = "goes with schedule_callback_at or schedule_callback_in_seconds"
        named = {"callback_agent_id": owner.agent_id, "callback_buyer_id": owner.buyer_id}
        field = next((name for name, found in named.items() if found is not None), "callback_buyer_group_id")
        raise RefusedError("validation_failed", f"{field} {problem}", {field: [problem]})
    check_owner_references(person, owner)


def check_owner_references(person: Person, owner: CallbackOwner) -> None:
    """Refuse an owner of a callback that is not there. Raises `RefusedError`."""
    named = [
        ("callback_agent_id", "agent", owner.agent_id),
        ("callback_buyer_id", "buyer", owner.buyer_id),
        ("callback_buyer_group_id", "buyer_group", owner.buyer_group_id),
    ]
    check_references(person, named)


def _may_resume(person: Person, lead: Lead) -> bool:
    """Return whether a lead was ended by a stop of its person before its end, and the stop is lifted."""
    is_stopped = lead.status in RESUMABLE and lead.stopped is not None and not lead.stopped.at_its_end
    return is_stopped and end_reason(person, lead.offer_id, lead.schedule_id) is None


def _may_be_called_back(person: Person, lead: Lead) -> bool:
    """Return whether a callback revives the lead: it ended as completed, and nothing stops its person."""
    return lead.status in REVIVABLE and end_reason(person, lead.offer_id, lead.schedule_id) is None


def _starts_schedule(request: LeadUpdateRequested) -> bool:
    return request.schedule_start or request.move_to_another_schedule_id is not None


def _target(person: Person, lead: Lead, request: LeadUpdateRequested) -> Record | None:
    field, schedule_id = "move_to_another_schedule_id", request.move_to_another_schedule_id
    if schedule_id is None and request.schedule_start:
        if lead.status in LIVE_STATUSES and lead.schedule_id is not None:
            return None
        field, schedule_id = "schedule_start", lead.schedule_id or _only_schedule(person, lead)
    if schedule_id is None and not request.schedule_start:
        return None
    found = None if schedule_id is None else schedule_of(person, schedule_id)
    if found is None:
        problem = "names no schedule of this company" if schedule_id is not None else "needs a lead of an offer or schedule"
        raise RefusedError("validation_failed", f"{field} {problem}", {field: [problem]})
    return found[0]


def _only_schedule(person: Person, lead: Lead) -> int | None:
    """Return the one active schedule of the lead's offer. Raises `RefusedError` where there are none or several."""
    if lead.offer_id is None:
        return None
    active = [
        record.id
        for record in person.rules.records("schedule", person.company_id)
        if (found := schedule_of(person, record.id)) is not None
        and found[1].offer_id == lead.offer_id
        and found[1].steps
        and not found[1].paused
    ]
    if len(active) == 1:
        return active[0]
    problem = "needs an active schedule of the lead's offer, which has none"
    if active:
        problem = f"cannot choose among the {len(active)} active schedules of the offer: send move_to_another_schedule_id"
    raise RefusedError("validation_failed", f"schedule_start {problem}", {"schedule_start": [problem]})


def _contact_key(lead: Lead, request: LeadUpdateRequested) -> str:
    """Return the key of the contact that the lead belongs to after the change. Raises `RefusedError` for none at all."""
    caller_id = lead.caller_id if request.caller_id is UNSET else request.caller_id
    email = lead.email if request.email is UNSET else request.email
    if caller_id:
        return f"{lead.company_id}|{identity_number(caller_id)}"
    if email:
        return email_key(lead.company_id, email)
    field = "email" if request.caller_id is UNSET else "caller_id"
    problem = "cannot be emptied: a lead needs a number or an e-mail address"
    raise RefusedError("validation_failed", f"{field} {problem}", {field: [problem]})


def _change_fields(person: Person, lead: Lead, request: LeadUpdateRequested) -> None:
    if request.caller_id is not UNSET and request.caller_id != lead.caller_id:
        lead.data = {name: value for name, value in lead.data.items() if name != EXTENSION}  # it was the other number's
    merge_fields(lead, request.columns, request.data)
    converted = [flag for flag in CONVERSIONS if getattr(request, flag) is True and not getattr(lead, flag)]
    had_converted = conversions.converted_values(lead)
    for field in (
        "caller_id",
        "email",
        "lead_priority",
        "zones",
        "zone_source",
        "states",
        "buyer_converted",
        "offer_converted",
    ):
        value = getattr(request, field)
        if value is not UNSET:
            setattr(lead, field, value)
            take_off_corrected(lead, [field])
    if request.caller_id is not UNSET or request.email is not UNSET:
        lead.failed_channels = ()
    for flag, call in CONVERSIONS.items():
        value = getattr(request, flag)
        if value is not UNSET:
            setattr(lead, call, (request.call_id or getattr(lead, call)) if value else None)
    _record_conversions(person, lead, request, had_converted)
    if request.call_id is None:
        lead.user_updated_at = person.now
    lead.revenue = amount(lead.revenue + request.add_revenue)
    lead.payout = amount(lead.payout + request.add_payout)
    lead.cost = amount(lead.cost + request.add_cost)
    if request.apply_to == "calls":
        copy_data_to_calls(person, lead, request.data)
    person.draft.fact("lead.updated", lead_id=lead.id)
    if converted:
        person.draft.fact("lead.converted", lead_id=lead.id, converted=converted)
    person.save(lead)


def _record_conversions(
    person: Person, lead: Lead, request: LeadUpdateRequested, before: conversions.ConvertedValues
) -> None:
    """Record the lead's own conversions, those without a call, and name the ones that it has now."""
    after = conversions.converted_values(lead)
    is_own = request.call_id is None
    # One that a call brought is the call's; a lead that no longer converted takes its own back in any case.
    own = {side: before[side] if is_own or after[side] is None else after[side] for side in conversions.SIDES}
    conversions.record_change(person, lead, own, conversions.LEAD_UPDATE)
    for side in conversions.SIDES:
        if after[side] is None:
            setattr(lead, f"{side}_conversion_id", None)
        elif getattr(request, f"{side}_converted") is True:
            named = getattr(request, f"{side}_conversion_id") or conversions.current_id(lead, side)
            setattr(lead, f"{side}_conversion_id", named or getattr(lead, f"{side}_conversion_id"))


def _stop_or_lift(person: Person, lead: Lead, request: LeadUpdateRequested) -> None:
    if request.opt_out is False:
        opt_in(person, lead.offer_id)
        lead.opt_out = False
    if request.blocked is False:
        unblock(person)
        lead.blocked = False
    if request.hangup_live:
        hang_up_all(person)
    if request.blocked is True:
        block(person, "lead_update")
        if lead.status not in {"blocked", "opt_out"}:
            stop(person, lead, "blocked")
        mark(person, lead, "blocked")  # also where it had ended as opted out
    if request.opt_out is True:
        opt_out(person, "lead_update", offer_id=lead.offer_id)
        if lead.status != "opt_out":
            stop(person, lead, "opt_out")
        mark(person, lead, "opt_out")  # also where an earlier one was lifted
    if request.schedule_stop:
        remove(person, lead, "schedule_stop")


def _change_plan(person: Person, lead: Lead, request: LeadUpdateRequested) -> None:
    if request.schedule_callback_at is None:
        callbacks.cancel_callback(person, lead)
    if lead.status not in LIVE_STATUSES and request.schedule_callback_at and _may_be_called_back(person, lead):
        revive(person, lead)
    if lead.status not in LIVE_STATUSES:
        return
    if request.next_action_at is not UNSET:
        lead.requested_next_action_at, lead.planned_at = request.next_action_at, None
        lead.pause = None
    if request.schedule_callback_at:
        known_id = request.scheduled_callback_id
        promiser = Promiser(request.promised_by, request.promised_agent_id)
        callbacks.schedule_callback(person, lead, request.schedule_callback_at, request.callback_owner, known_id, promiser)
    if request.buyer_converted is True or request.offer_converted is True:
        apply_conversion(person, lead, ("buyer_converted",) if request.buyer_converted is True else ())
