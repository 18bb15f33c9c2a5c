"""What does the body of an event say? The lead and call as the decision left them, under the names of the API.

Standard Webhooks asks for `type`, `timestamp` and `data`. The body is a function of the decision, so that a repeated
delivery is the same bytes.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from engine.subscriptions.events import Event
from schemas.contact import Call, Lead
from schemas.instant import Instant, to_rfc3339
from schemas.records import Subscription, TriggerFields
from schemas.wire import to_json

BODY_BYTES_MAX = 65_536
"""A longer body is sent without tokens and details: receivers take little more, and rows of the database stay small."""

SEQUENCE_STEP = 1_000
"""Events of one lead in one decision, at most: its version rises by one, its sequence by this."""

LEAD_FIELDS = (
    *("id", "uuid", "status", "status_wait", "offer_id", "schedule_id", "schedule_version", "caller_id", "email"),
    *("lead_priority", "opt_out", "blocked", "buyer_id", "buyer_converted", "offer_converted"),
    *("revenue", "payout", "svc_number", "sms_number", "outbound_calls_count", "sms_count", "emails_count"),
    *("attempted_call_id", "connected_call_id", "schedule_trigger_type"),
)
LEAD_MOMENTS = (
    *("created_at", "updated_at", "next_action_at", "expires_at", "callback_at", "first_action_at", "last_action_at"),
    "schedule_ended_at",
)
LEAD_SUBMITTED = (
    *("external_record_id", "full_name", "country", "state_province", "zip_postal_code", "time_zone", "sub_id"),
    "traffic_source_id",
)
"""Fields that a submission gives."""

CALL_FIELDS = (
    *("id", "uuid", "lead_id", "offer_id", "schedule_id", "schedule_action_id", "traffic_source_id", "number_id"),
    *("direction", "origin", "status", "outcome", "answered_by", "number_called", "from_number", "buyer_id"),
    *("buyer_group_id", "attempt_number", "hangup_cause", "hung_up_by", "recording_url"),
    *("revenue", "payout", "cost", "buyer_converted", "offer_converted", "call_disposition_id", "agent_id"),
)
CALL_MOMENTS = (*("created_at", "updated_at", "initiated_at", "ringing_at", "answered_at", "buyer_answered_at", "ended_at"),)

Shown = dict[str, Any]


class ShownEvent(Struct, frozen=True):
    """An event with the lead and call that it is about, as far as its decision changed them.

    `contact` is the number or address of the person, `sequence` rises with each event of the lead.
    """

    event: Event
    contact: str | None
    sequence: int | None
    lead: Shown | None
    call: Shown | None


def show_event(event: Event, contact: str | None, lead: Lead | None, call: Call | None) -> ShownEvent:
    """Return an event as its body shows it."""
    sequence = None if lead is None else _sequence(lead, event)
    return ShownEvent(
        event, contact, sequence, None if lead is None else _show_lead(lead), None if call is None else _show_call(call)
    )


def is_wanted(subscription: Subscription, shown: ShownEvent) -> bool:
    """Return whether a subscription asks for an event.

    Its `trigger_fields` are compared with the call, else with the lead; an event of neither has no such field.
    """
    if shown.event.name not in subscription.events:
        return False
    about = {**(shown.lead or {}), **(shown.call or {})}
    wanted = {name: getattr(subscription.trigger_fields, name) for name in TriggerFields.__struct_fields__}
    return all(value is None or about.get(name) == value for name, value in wanted.items())


def body_of(shown: ShownEvent, *, delivery_id: str, company_id: int, decided_at: Instant) -> bytes:
    """Return the JSON that is signed and sent."""
    event = shown.event
    data: Shown = {
        "company_id": company_id,
        "contact": shown.contact,
        "lead_id": event.lead_id,
        "call_id": event.call_id,
        "sequence": shown.sequence,
        "details": event.details,
        "lead": shown.lead,
        "call": shown.call,
        "is_shortened": False,
    }
    message = {"id": delivery_id, "type": event.name, "timestamp": to_rfc3339(decided_at), "data": data}
    body = to_json(message)
    return body if len(body) <= BODY_BYTES_MAX else to_json({**message, "data": _shortened(data)})


def _sequence(lead: Lead, event: Event) -> int:
    """Return a number that rises with each event of a lead: by its version, then by the order in the decision."""
    return SEQUENCE_STEP * lead.version + min(event.ordinal, SEQUENCE_STEP - 1)


def _show_lead(lead: Lead) -> Shown:
    """Return a lead; `data` is null where its tokens are stored apart, beyond 2 KiB."""
    submitted = {name: lead.columns.get(name) for name in LEAD_SUBMITTED}
    own = {name: getattr(lead, name) for name in LEAD_FIELDS}
    return {**own, **_moments(lead, LEAD_MOMENTS), **submitted, "data": _tokens(lead.data, lead.data_parts)}


def _show_call(call: Call) -> Shown:
    """Return a call; `token_values` is null as `data` of a lead."""
    own = {name: getattr(call, name) for name in CALL_FIELDS}
    return {**own, **_moments(call, CALL_MOMENTS), "token_values": _tokens(call.token_values, call.token_parts)}


def _shortened(data: Shown) -> Shown:
    lead = None if data["lead"] is None else {**data["lead"], "data": None}
    call = None if data["call"] is None else {**data["call"], "token_values": None}
    return {**data, "lead": lead, "call": call, "details": {}, "is_shortened": True}


def _moments(entity: Lead | Call, names: tuple[str, ...]) -> Shown:
    found: Mapping[str, Instant | None] = {name: getattr(entity, name) for name in names}
    return {name: None if at is None else to_rfc3339(at) for name, at in found.items()}


def _tokens(tokens: Mapping[str, Any], parts: int) -> Mapping[str, Any] | None:
    return None if parts else tokens
