"""What does firing a webhook by hand do? It orders one delivery about a lead or a call; no step waits for it.

A firing is a fact of the contact's history and no entity: a state that kept every firing would grow for ever.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from engine.contact.commands.emission import call_webhook, lead_webhook
from engine.contact.facts.conversions import SIDES, conversion_payload, current_id
from engine.contact.facts.person import Person
from engine.contact.facts.references import check_references
from engine.identity import command_id, uuid_of
from engine.partition.draft import RefusedError
from schemas.commands import PostWebhook
from schemas.contact import Call, Lead
from schemas.decisions import Answer
from schemas.records import OutgoingWebhook
from schemas.requests import WebhookFireRequested

FIRED_BY_HAND = "(fired by hand)"
"""In place of a step: none ordered the delivery."""

CONVERSION_FIELDS = {side: f"{side}_conversion_id" for side in SIDES}

LEAD_EVENT, CALL_EVENT = "lead.fired", "call.fired"

CREATED = 201


def fire(person: Person, request: WebhookFireRequested) -> None:
    """Order the delivery of a webhook. Raises `RefusedError` for a lead, call or webhook that is not there."""
    call = _call(person, request)
    lead_id = call.lead_id if request.lead_id is None and call is not None else request.lead_id
    _check_webhook(person, request.outgoing_webhook_id)
    conversions = _conversions(person, request, call)
    fire_id = person.draft.next_id()
    uuid = uuid_of("webhook_manual_fire", fire_id)
    identity = command_id(uuid, 0, 1, FIRED_BY_HAND, 1)
    command = structs.replace(_command(person, request, call, identity), fire_id=fire_id)
    command.payload["data"] |= conversions
    _leave_out(command.payload["data"], request.hidden)
    person.draft.emit(command)
    about = {"command_id": identity, "outgoing_webhook_id": request.outgoing_webhook_id}
    call_id = None if call is None else call.id
    person.draft.fact("command.emitted", lead_id=lead_id, call_id=call_id, kind="webhook", step_id=FIRED_BY_HAND, **about)
    shown = {"created_at": request.created_at, "updated_at": request.updated_at}
    named = {name: getattr(request, name) for name in CONVERSION_FIELDS.values()}
    given = {name: value for name, value in {**shown, **named}.items() if value is not None}
    person.draft.fact(
        "webhook.fired_by_hand", lead_id=lead_id, call_id=call_id, fire_id=fire_id, uuid=uuid, **about, **given
    )
    person.draft.answer = Answer(status=CREATED, record_type="webhook_manual_fire", record_id=fire_id, extra={"uuid": uuid})


def _leave_out(data: dict[str, Any], hidden: Mapping[str, tuple[str, ...]]) -> None:
    """Take the fields out of a payload that the teams of the sender hide."""
    for name, model in _PAYLOAD_MODELS.items():
        if isinstance(data.get(name), dict):
            data[name] = {field: value for field, value in data[name].items() if field not in hidden.get(model, ())}


_PAYLOAD_MODELS = {"lead": "lead", "call": "call", **{f"{side}_conversion": "conversion" for side in SIDES}}
"""Part of a payload -> the model that its fields are of."""


def _call(person: Person, request: WebhookFireRequested) -> Call | None:
    if request.call_id is None:
        return None
    call = person.call(request.call_id)
    if call is None:
        raise RefusedError("not_found", "There is no such call.")
    if request.lead_id not in {None, call.lead_id}:
        problem = "is not the lead of the call"
        raise RefusedError("validation_failed", f"lead_id {problem}", {"lead_id": [problem]})
    return call


def _conversions(person: Person, request: WebhookFireRequested, call: Call | None) -> dict[str, Any]:
    """Return the named conversions for the payload. Raises `RefusedError` for one that does not hold now."""
    subject: Lead | Call | None = person.lead(request.lead_id or 0) if call is None else call
    found: dict[str, Any] = {}
    for side, field in CONVERSION_FIELDS.items():
        named = getattr(request, field)
        if named is None:
            continue
        if subject is None or current_id(subject, side) != named:
            problem = "names no conversion of this lead or call that holds now"
            raise RefusedError("validation_failed", f"{field} {problem}", {field: [problem]})
        found[f"{side}_conversion"] = conversion_payload(subject, side)
    return found


def _check_webhook(person: Person, webhook_id: int) -> None:
    check_references(person, [("outgoing_webhook_id", "outgoing_webhook", webhook_id)])
    body = person.rules.body(OutgoingWebhook, "outgoing_webhook", webhook_id)
    if body is not None and body.paused:
        problem = "names a paused outgoing webhook; unpause it, then fire it"
        raise RefusedError("validation_failed", f"outgoing_webhook_id {problem}", {"outgoing_webhook_id": [problem]})


def _command(person: Person, request: WebhookFireRequested, call: Call | None, identity: str) -> PostWebhook:
    webhook_id = request.outgoing_webhook_id
    if call is not None:
        return call_webhook(person, call, webhook_id, identity, step_id=FIRED_BY_HAND, event=CALL_EVENT)
    lead = person.lead(request.lead_id or 0)
    if lead is None:
        raise RefusedError("not_found", "There is no such lead.")
    return lead_webhook(person, lead, webhook_id, identity, step_id=FIRED_BY_HAND, event=LEAD_EVENT)
