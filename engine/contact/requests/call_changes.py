"""How is a call changed by hand? Its money, tokens, conversion and disposition; keys are pressed; it is deleted."""

from collections.abc import Mapping
from decimal import Decimal
from itertools import islice
from typing import Any

from msgspec import UNSET, UnsetType

from engine.contact.commands.emission import call_command_header, call_webhook
from engine.contact.facts import conversions, earnings
from engine.contact.facts.call_record import (
    CALLS_COMPARED_MAX,
    REPEAT_FLAGS,
    delete_call,
    listed_calls,
    mark_repeat_caller,
    merge_tokens,
)
from engine.contact.facts.person import Person, bounded_batch
from engine.contact.facts.references import Reference, check_references
from engine.contact.lifecycle.charging import charge_lead
from engine.contact.lifecycle.moving import forward
from engine.contact.lifecycle.promises import promiser_of
from engine.contact.requests import inbound_routing, reactions
from engine.contact.requests.dispositions import disposition_of, stops_contact
from engine.contact.requests.update import CONVERSIONS, check_owner_references
from engine.contact.requests.update import update as update_lead
from engine.identity import command_id
from engine.partition.draft import RefusedError
from schemas.commands import PressKeys
from schemas.contact import Call, CallbackOwner, Lead
from schemas.decisions import Answer
from schemas.instant import EPOCH, SECOND, Instant
from schemas.money import AMOUNT_MAX, NOTHING, amount
from schemas.records import CallDisposition
from schemas.requests import CallDeleteRequested, CallKeysRequested, CallUpdateRequested, LeadUpdateRequested

FIRED = "(fired)"
KEYS = "(keys)"
"""Step ids of commands that belong to no step."""

FIRED_EVENT = "call.fired"

KEYS_WITHIN = 10 * SECOND
"""A key that is pressed later answers another prompt."""

RECORDED_SEARCHED_MAX = 1_000
"""Newest calls that are searched for the one of a recording: of a person, those of some years."""


def update(person: Person, request: CallUpdateRequested) -> None:
    """Change one call, or the person's calls of an offer, and answer with them. Raises `RefusedError`, changing nothing."""
    _check_references(person, request)
    calls = _calls_to_change(person, request)
    not_called_back = None
    for call in calls:
        said = _change(person, call, request, callback_at=request.callback_at if call is calls[0] else None)
        not_called_back = not_called_back or said
    ids = tuple(call.id for call in calls)
    person.draft.answer = Answer(status=200, record_type="call", record_id=ids[0], record_ids=ids, detail=not_called_back)


def delete(person: Person, request: CallDeleteRequested) -> None:
    """Delete a call and answer. Its money and conversions are taken back, so that reports of leads, calls and both agree.

    Its attempt stays in the ledger of the number.
    """
    call = _one(person, request.call_id)
    if call.direction == "inbound" and call.ended_at is None:
        reactions.end_inbound(person, call, connected=call.answered_at is not None)  # its end will not be reported
        inbound_routing.end(person, call)
    _take_back(person, call)
    charge_lead(person, call, -call.cost)
    delete_call(person, call)
    _judge_later_calls(person, call)
    person.draft.fact("call.deleted", lead_id=call.lead_id, call_id=call.id)
    person.draft.answer = Answer(status=200, record_type="call", record_id=call.id, record_ids=(call.id,))


def _take_back(person: Person, call: Call) -> None:
    """Take back the money and the conversions of a call, as an update of it would, also of a lead at another contact."""
    converted = {flag: False for flag in CONVERSIONS if getattr(call, flag)}
    if not (converted or call.revenue or call.payout):
        return
    message = CallUpdateRequested(
        company_id=person.company_id,
        contact_key=person.key,
        call_id=call.id,
        revenue=NOTHING,
        payout=NOTHING,
        buyer_converted=converted.get("buyer_converted", UNSET),
        offer_converted=converted.get("offer_converted", UNSET),
    )
    _change(person, call, message, callback_at=None)


def _judge_later_calls(person: Person, call: Call) -> None:
    """Judge the later calls of the person again: what an earlier call converted made them duplicates."""
    later = islice(listed_calls(person), CALLS_COMPARED_MAX)
    for other in bounded_batch([other for other in later if other.id > call.id]):
        before = {flag: getattr(other, flag) for flag in REPEAT_FLAGS}
        mark_repeat_caller(person, other)
        changed = [flag for flag, was in before.items() if getattr(other, flag) != was]
        if changed:
            person.save_call(other)
            person.draft.fact("call.updated", lead_id=other.lead_id, call_id=other.id, fields=changed)


def press_keys(person: Person, request: CallKeysRequested) -> None:
    """Emit the command to press keys on a call in progress. Raises `RefusedError` where it has ended, or nobody could."""
    call = _one(person, request.call_id)
    if call.ended_at is not None:
        raise RefusedError("call_ended", f"The call has ended ({call.status}); no key can be pressed.")
    if call.command_id is None and (call.provider_configuration_id is None or call.provider_ref is None):
        raise RefusedError("not_supported", "The call came by a gateway of yours, not by a provider; press the keys there.")
    if request.data:
        merge_tokens(call, request.data, field="post_call_tokens")
    call.user_updated_at = person.now
    person.save_call(call)
    person.draft.fact("call.keys_pressed", lead_id=call.lead_id, call_id=call.id, digits=request.digits)
    person.draft.emit(_press_command(person, call, request.digits))
    person.draft.answer = Answer(status=200, record_type="call", record_id=call.id, record_ids=(call.id,))


def _press_command(person: Person, call: Call, digits: str) -> PressKeys:
    # The version rises with every change of the call: no two presses share an id.
    identity = command_id(call.uuid, 0, call.version + 1, KEYS, 1)
    return PressKeys(
        **call_command_header(person, call, KEYS, identity),
        not_after=person.now + KEYS_WITHIN,
        urgency_class=0,
        call_id=call.id,
        call_command_id=call.command_id,
        digits=digits,
        **({} if call.command_id is not None else _inbound_leg(call)),
    )


def _inbound_leg(call: Call) -> dict[str, Any]:
    return {"provider_configuration_id": call.provider_configuration_id, "provider_ref": call.provider_ref}


def _one(person: Person, call_id: int) -> Call:
    call = person.call(call_id)
    if call is None:
        raise RefusedError("not_found", "There is no such call.")
    return call


def _calls_to_change(person: Person, request: CallUpdateRequested) -> list[Call]:
    """Return the named call, or the newest calls of the offer, as many as one decision may change."""
    if request.call_id is not None:
        return [_one(person, request.call_id)]
    recording_url = request.deleted_recording_url or request.transcribed_recording_url
    if recording_url is not None:
        return [_recorded_at(person, recording_url)]
    since = request.since or EPOCH
    found = [call for call in listed_calls(person) if call.offer_id == request.offer_id and call.created_at >= since]
    if not found:
        raise RefusedError("not_found", "There is no call of this number and offer within the time.")
    return list(bounded_batch(found))


def _recorded_at(person: Person, recording_url: str) -> Call:
    """Return the call that refers to a recording."""
    for call in islice(listed_calls(person), RECORDED_SEARCHED_MAX):
        if call.recording_url == recording_url:
            return call
    raise RefusedError("not_found", "No call of this person refers to the recording.")


def _check_references(person: Person, request: CallUpdateRequested) -> None:
    named: list[Reference] = [
        ("svc_buyer_id", "buyer", request.buyer_id),
        ("svc_traffic_source_id", "traffic_source", request.traffic_source_id),
        ("call_disposition_id", "call_disposition", request.call_disposition_id),
        *(("fire_outgoing_webhook_ids", "outgoing_webhook", found) for found in request.outgoing_webhook_ids),
    ]
    check_references(person, named)
    if isinstance(request.callback_owner, CallbackOwner):
        check_owner_references(person, request.callback_owner)


def _change(person: Person, call: Call, request: CallUpdateRequested, *, callback_at: Instant | None) -> str | None:
    """Change one call; `callback_at` schedules a callback of its lead, whatever the disposition.

    Where no callback can be made, a disposition and its notes are stored all the same; return why it cannot.
    """
    before = call.revenue, call.payout
    had_brought = earnings.earnings_of(call)
    had_recorded = conversions.converted_values(call)
    had_disposition = call.call_disposition_id
    had_converted = {flag: getattr(call, flag) for flag in CONVERSIONS}
    changed = _write(call, request)
    if {"buyer_id", "traffic_source_id", "buyer_converted", "offer_converted"} & set(changed):
        mark_repeat_caller(person, call)
    if changed:
        call.user_updated_at = person.now
        person.draft.fact("call.updated", lead_id=call.lead_id, call_id=call.id, fields=changed)
        source = conversions.CALLER_UPDATE if request.call_id is None else conversions.CALL_UPDATE
        conversions.record_change(person, call, had_recorded, source)
        if any(was and not getattr(call, flag) for flag, was in had_converted.items()):
            _judge_later_calls(person, call)
    if changed or request.outgoing_webhook_ids:  # each firing has its id from the version of the call
        person.save_call(call)
        earnings.report_change(person, call, had_brought)
    is_dispositioned = request.call_disposition_id is not UNSET and request.call_disposition_id != had_disposition
    said = None
    if callback_at is not None:  # first: the callback outlives a conversion or disposition that ends the lead
        is_judged = is_dispositioned or request.agent_call_disposition_notes is not UNSET
        said = _schedule_callback(person, call, request, callback_at, is_judged=is_judged)
    stops = is_dispositioned and stops_contact(person, disposition_of(person, call))
    if stops:
        _apply_disposition(person, call, request)  # before the lead goes on with a contact that was due meanwhile
    _update_lead(person, call, request, had_converted, revenue=call.revenue - before[0], payout=call.payout - before[1])
    if is_dispositioned and not stops:
        _apply_disposition(person, call, request)
    for webhook_id in request.outgoing_webhook_ids:
        _fire(person, call, webhook_id)
    return said


def _write(call: Call, request: CallUpdateRequested) -> list[str]:
    """Write the requested values into the call; return the names of changed fields."""
    changed: list[str] = []
    for field in (
        "buyer_converted",
        "offer_converted",
        "buyer_id",
        "traffic_source_id",
        "contact_field_type",
        "call_disposition_id",
        "agent_call_disposition_notes",
    ):
        value = getattr(request, field)
        if value is not UNSET and value != getattr(call, field):
            setattr(call, field, value)
            changed.append(field)
    for field, added in (("revenue", request.add_revenue), ("payout", request.add_payout)):
        value, before = getattr(request, field), getattr(call, field)
        after = amount((before if value is UNSET else value) + added)
        if abs(after) > AMOUNT_MAX:
            sentence = f"of the call would be {after}; it lies between {-AMOUNT_MAX} and {AMOUNT_MAX}"
            raise RefusedError("validation_failed", f"The {field} {sentence}. Nothing was changed.", {field: [sentence]})
        if after != before:
            setattr(call, field, after)
            changed.append(field)
    changed += _write_recording(call, request)
    tokens = call.token_values
    if request.data:
        merge_tokens(call, request.data)
    if call.token_values != tokens:
        changed.append("token_values")
    return changed


def _write_recording(call: Call, request: CallUpdateRequested) -> list[str]:
    """Write what became of the call's recording and of its transcription, which goes with it; return the changed fields."""
    if call.recording_url is None:
        return []
    before = call.recording_url, call.transcription_status
    if call.recording_url == request.transcribed_recording_url:
        call.transcription_status = request.transcription_status or call.transcription_status
    if call.recording_url == request.deleted_recording_url:
        call.recording_url = None
        call.transcription_status = None if call.transcription_status is None else "none"
    after = call.recording_url, call.transcription_status
    fields = ("recording_url", "transcription_status")
    return [field for field, was, now in zip(fields, before, after, strict=True) if was != now]


def _update_lead(
    person: Person,
    call: Call,
    request: CallUpdateRequested,
    had_converted: Mapping[str, bool],
    *,
    revenue: Decimal,
    payout: Decimal,
) -> None:
    """Apply money and conversion of the call to its lead, as an update of the lead would, also at another contact."""
    if call.lead_id is None:
        return
    lead = person.lead(call.lead_id)
    if lead is not None:
        _copy_to_lead(person, lead, call, request)
    message = LeadUpdateRequested(
        company_id=person.company_id,
        contact_key=person.key,
        lead_id=call.lead_id,
        call_id=call.id,
        buyer_converted=_changed_flag(person, call, "buyer_converted", had_converted),
        offer_converted=_changed_flag(person, call, "offer_converted", had_converted),
        add_revenue=amount(revenue),
        add_payout=amount(payout),
        buyer_conversion_id=conversions.current_id(call, "buyer"),
        offer_conversion_id=conversions.current_id(call, "offer"),
    )
    flags = (message.buyer_converted, message.offer_converted)
    if flags == (UNSET, UNSET) and not message.add_revenue and not message.add_payout:
        return
    if lead is not None:
        update_lead(person, message)
    else:
        forward(person, message, call.lead_id)


def _copy_to_lead(person: Person, lead: Lead, call: Call, request: CallUpdateRequested) -> None:
    """Write the buyer to the lead, and the other call of its conversion if this call no longer converted."""
    if request.buyer_id is not UNSET:
        lead.buyer_id = request.buyer_id
    for flag, named in CONVERSIONS.items():
        other = None if getattr(call, flag) or getattr(lead, named) != call.id else _other_converted(person, call, flag)
        if other is not None:
            side = flag.removesuffix("_converted")
            setattr(lead, named, other.id)
            setattr(lead, f"{side}_conversion_id", conversions.current_id(other, side))
    person.save(lead)


def _changed_flag(person: Person, call: Call, flag: str, had_converted: Mapping[str, bool]) -> bool | UnsetType:
    """Return the new value of the lead's flag, UNSET where it does not change.

    A repeated conversion does not move the lead again; one is revoked only if no other call of the lead converted.
    """
    has_converted: bool = getattr(call, flag)
    if has_converted == had_converted[flag] or (not has_converted and _other_converted(person, call, flag) is not None):
        return UNSET
    return has_converted


def _other_converted(person: Person, call: Call, flag: str) -> Call | None:
    """Return the newest other call of the lead that converted."""
    others = (other for other in listed_calls(person) if other.lead_id == call.lead_id and other.id != call.id)
    return next((other for other in others if getattr(other, flag)), None)


def _schedule_callback(
    person: Person, call: Call, request: CallUpdateRequested, callback_at: Instant, *, is_judged: bool
) -> str | None:
    """Schedule a callback of the call's lead, as an update of the lead would.

    Where the lead has ended: return why there is none for a call that is judged, else raise `RefusedError`.
    """
    try:
        _promise(person, call, request, callback_at)
    except RefusedError as error:
        if error.code != "lead_not_live" or not is_judged:
            raise
        person.draft.fact("callback.refused", lead_id=call.lead_id, call_id=call.id, reason=error.code)
        return f"No callback is made. {error.detail}"
    return None


def _promise(person: Person, call: Call, request: CallUpdateRequested, callback_at: Instant) -> None:
    """Promise the callback for the agent who asks, else for the agent of the call."""
    promiser = promiser_of(call.agent_id if request.promised_agent_id is None else request.promised_agent_id)
    message = LeadUpdateRequested(
        company_id=person.company_id,
        contact_key=person.key,
        lead_id=call.lead_id or 0,
        call_id=call.id,
        schedule_callback_at=callback_at,
        callback_owner=request.callback_owner,
        promised_by=promiser.by,
        promised_agent_id=promiser.agent_id,
    )
    if person.lead(message.lead_id) is not None:
        update_lead(person, message)
    elif not forward(person, message, message.lead_id):
        raise RefusedError("lead_not_live", "The call has no lead that could be called back.")


def _apply_disposition(person: Person, call: Call, request: CallUpdateRequested) -> None:
    body = person.rules.body(CallDisposition, "call_disposition", call.call_disposition_id)
    lead = None if call.lead_id is None else person.lead(call.lead_id)
    reactions.apply_disposition(person, lead, call, body, callback_at=request.callback_at)


def _fire(person: Person, call: Call, webhook_id: int) -> None:
    identity = command_id(call.uuid, webhook_id, call.version + 1, FIRED, 1)
    person.draft.emit(call_webhook(person, call, webhook_id, identity, step_id=FIRED, event=FIRED_EVENT))
    about: dict[str, Any] = {"command_id": identity, "kind": "webhook", "step_id": FIRED, "outgoing_webhook_id": webhook_id}
    person.draft.fact("command.emitted", lead_id=call.lead_id, call_id=call.id, **about)
