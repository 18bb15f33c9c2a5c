"""What can be asked? Everything on `contacts.requests` and `accounts.requests`, chosen by the `ce_type` of the envelope.

A request is a fact about the asking (`lead.submitted`, `outcome.recorded`): it has happened, whatever is decided on it.
`UNSET` means the sender did not mention the field; `None` means the sender emptied it.
"""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from schemas.instant import Instant
from schemas.wire import Message


class ContactRequest(Message, frozen=True, kw_only=True):
    """Asked of one contact: `contact_key` is `company|+E.164` or `company|email:address`, and the key of the record."""

    company_id: int
    contact_key: str


class LeadSubmitted(ContactRequest, frozen=True, kw_only=True):
    """A lead was sent to an offer or a schedule; numbers, zones and fields are already normalised by intake.

    `columns` holds the lead's own columns (country, zip_postal_code, ...), `data` the tokens. `zones` and `states` are
    the candidates that were found, `zone_source` says how (stated, zip, state, number, default).
    """

    offer_id: int | None = None
    schedule_id: int | None = None
    caller_id: str | None = None
    email: str | None = None
    columns: dict[str, Any] = {}
    data: dict[str, Any] = {}
    zones: tuple[str, ...] = ()
    zone_source: str = "default"
    states: tuple[str, ...] = ()
    lead_priority: float | None = None
    hours_to_expire: int | None = None
    max_contact_attempts: int | None = None
    next_action_at: Instant | None = None
    schedule_callback_at: Instant | None = None
    blocked: bool | None = None
    create_or_update: bool = False
    update_only: bool = False
    update_all_matching_leads: bool = False
    expire_existing: bool = False
    delete_existing: bool = False
    restart_schedule: bool = False
    unblock_contact: bool = False
    assign_svc_number: bool = False
    assign_sms_number: bool = False
    apply_to: str | None = None
    idempotency_key: str | None = None
    received_at: Instant = 0


class LeadUpdateRequested(ContactRequest, frozen=True, kw_only=True):
    """A caller of the API changes one lead. A new `caller_id` or `email` may move the lead to another contact."""

    lead_id: int
    columns: dict[str, Any] = {}
    data: dict[str, Any] = {}
    caller_id: str | UnsetType | None = UNSET
    email: str | UnsetType | None = UNSET
    blocked: bool | UnsetType = UNSET
    opt_out: bool | UnsetType = UNSET
    next_action_at: Instant | UnsetType | None = UNSET
    schedule_callback_at: Instant | UnsetType = UNSET
    lead_priority: float | UnsetType = UNSET
    schedule_start: bool = False
    schedule_stop: bool = False
    move_to_another_schedule_id: int | None = None
    zones: tuple[str, ...] | UnsetType = UNSET
    zone_source: str | UnsetType = UNSET
    states: tuple[str, ...] | UnsetType = UNSET
    buyer_converted: bool | UnsetType = UNSET
    offer_converted: bool | UnsetType = UNSET


class LeadDeleteRequested(ContactRequest, frozen=True, kw_only=True):
    """A caller of the API destroys one lead; the legal ledger of its number stays."""

    lead_id: int


class CallerActed(ContactRequest, frozen=True, kw_only=True):
    """The person, or somebody for them, opted out, left, or skipped to the end; found by token and number."""

    action: Literal["opt_out", "remove", "move_to_end"]
    offer_id: int | None = None
    schedule_id: int | None = None
    update_all_matching_leads: bool = False


class CallProgressed(ContactRequest, frozen=True, kw_only=True):
    """A gateway saw a call move on before its outcome."""

    lead_id: int
    command_id: str
    state: Literal["initiated", "ringing", "established"]
    occurred_at: Instant
    call_id: int | None = None
    provider: str | None = None
    provider_ref: str | None = None


class OutcomeRecorded(ContactRequest, frozen=True, kw_only=True):
    """A gateway tells what came of a command. `rang` says whether the telephone was heard, for the legal ledger.

    `kind` is call, sms, email or webhook; `outcome` is one of `schemas.outcomes` for that kind, or a rejection at the
    gate (`rejected_at_gate`, `expired`), in which case nothing reached anybody. `call_id` is that of the `PlaceCall`, so
    that a late outcome still finds its call. `reached` is set where an outcome is passed on to the lead's contact: the
    contact whose number or address the command was for.
    """

    lead_id: int
    command_id: str
    kind: Literal["call", "sms", "email", "webhook"]
    outcome: str
    occurred_at: Instant
    call_id: int | None = None
    reached: str | None = None
    final: bool = True
    rang: bool = True
    provider: str | None = None
    provider_ref: str | None = None
    answered_by: Literal["human", "machine", "unknown"] | None = None
    buyer_id: int | None = None
    ringing_at: Instant | None = None
    answered_at: Instant | None = None
    talk_seconds: int = 0
    detail: str | None = None


class ReachRequested(ContactRequest, frozen=True, kw_only=True):
    """A lead that is keyed otherwise asks the contact of an address whether it may be reached, and to send the command.

    `command` is the whole command as it will be emitted; the answer goes to `reply_to` (a contact key).
    """

    lead_id: int
    reply_to: str
    kind: Literal["call", "sms", "email"]
    command: msgspec.Raw


class ReachWithdrawn(ContactRequest, frozen=True, kw_only=True):
    """A lead must not reach the contact of an address any more: what was ordered for it there is fenced."""

    lead_id: int
    command_id: str
    reason: str


class ReachAnswered(ContactRequest, frozen=True, kw_only=True):
    """The contact of the address answers: emitted, or refused with a reason (opt_out, blocked, channel_disabled, ...)."""

    lead_id: int
    command_id: str
    emitted: bool
    reason: str | None = None


class SlotAnswered(ContactRequest, frozen=True, kw_only=True):
    """The account grants or refuses a slot; `request_id` is the contact's own, so that an old answer is recognised."""

    lead_id: int
    request_id: str
    granted: bool
    buyer_id: int | None = None
    buyer_group_id: int | None = None
    reason: str | None = None


class LeadMoved(ContactRequest, frozen=True, kw_only=True):
    """A lead arrives from the contact that it was keyed by before its number changed; `lead` is its whole value."""

    lead: msgspec.Raw
    from_contact_key: str


class AccountRequest(Message, frozen=True, kw_only=True):
    """Asked of one company, the key of the record."""

    company_id: int


class RecordChangeRequested(AccountRequest, frozen=True, kw_only=True):
    """Create (`id` None), update or delete a record; `fields` are those of its type, only the given ones change."""

    type: str
    operation: Literal["create", "update", "delete"]
    id: int | None = None
    fields: dict[str, Any] = {}


class SlotRequested(AccountRequest, frozen=True, kw_only=True):
    """A contact asks for the right to call with a limited resource, named by group or buyers.

    Granted in order of `urgency_class` (0 call-now ... 5), `priority` (lower first), `due_at`, then arrival.
    """

    contact_key: str
    lead_id: int
    request_id: str
    buyer_group_id: int | None = None
    buyer_ids: tuple[int, ...] = ()
    urgency_class: int = 3
    priority: float = 100.0
    due_at: Instant = 0


class SlotReleased(AccountRequest, frozen=True, kw_only=True):
    """The contact ends its slot, or takes its request back."""

    contact_key: str
    lead_id: int
    request_id: str


CONTACT_REQUESTS: dict[str, type[ContactRequest]] = {
    "lead.submitted": LeadSubmitted,
    "lead.update_requested": LeadUpdateRequested,
    "lead.delete_requested": LeadDeleteRequested,
    "caller.acted": CallerActed,
    "call.progressed": CallProgressed,
    "outcome.recorded": OutcomeRecorded,
    "reach.requested": ReachRequested,
    "reach.answered": ReachAnswered,
    "reach.withdrawn": ReachWithdrawn,
    "slot.answered": SlotAnswered,
    "lead.moved": LeadMoved,
}
ACCOUNT_REQUESTS: dict[str, type[AccountRequest]] = {
    "record.change_requested": RecordChangeRequested,
    "slot.requested": SlotRequested,
    "slot.released": SlotReleased,
}

REQUEST_TYPES: dict[type[Message], str] = {
    kind: name for table in (CONTACT_REQUESTS, ACCOUNT_REQUESTS) for name, kind in table.items()
}
