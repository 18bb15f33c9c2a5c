"""Which requests are there? All messages on `contacts.requests` and `accounts.requests`, by the `ce_type` of the envelope.

A request is an event (`lead.submitted`, `outcome.recorded`): it has happened, whatever the decision on it.
`UNSET` means the sender did not mention the field; `None` means the sender emptied it.
"""

from decimal import Decimal
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from schemas.contact import CallbackOwner, CallbackPromiser
from schemas.instant import EPOCH, Instant
from schemas.law import Purpose
from schemas.money import NOTHING
from schemas.records import LeadFilters
from schemas.schedule import RouteBy
from schemas.wire import Message

TranscriptionStatus = Literal["none", "pending", "completed", "failed"]
"""The transcription status of a recording, as the gateway reports it."""


class ContactRequest(Message, frozen=True, kw_only=True):
    """A request to one contact; `contact_key` is the key of the record.

    It is `company|+E.164`, `company|email:address`, `company|raw:text` for what was sent as a number and cannot be read, or
    `company|withheld:hash` for one call of a person without a number.
    """

    company_id: int
    contact_key: str


class UnsignedFields(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a signed form brought without signing it: it counts as sent without a key. The zones are those of all fields."""

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
    lead_import_id: int | None = None


class UnreadNumber(Struct, frozen=True):
    """What was sent for a telephone number and cannot be read as one; `keys` are the contacts that it may mean.

    An opt-out is taken all the same: by the contact `company|raw:text`, which passes it on to these.
    """

    text: str
    keys: tuple[str, ...] = ()


class LeadSubmitted(ContactRequest, frozen=True, kw_only=True):
    """A lead was sent to an offer or a schedule; numbers, zones and fields are already normalised by intake.

    `columns` holds the lead's own columns (country, zip_postal_code, ...), `data` the tokens. `zones` and `states` are
    the candidates that were found, `zone_source` says how (stated, zip, state, number, default). `lead_import_id` names the
    import of a file that brought it. `with_key`: its sender proved a right of the company; without it, it makes leads and
    changes none (`engine.submission.public_rights`). With `opt_out` the person opts out. `unsigned` is not None where a form
    signed the rest, which counts as sent with a key. `vendor_key` is the sender's own id of the post, by the lead map that
    read it: a repeat within 24 h changes nothing. A lead that `is_test` contacts nobody.
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
    received_at: Instant = EPOCH
    lead_import_id: int | None = None
    with_key: bool = False
    opt_out: bool = False
    unsigned: UnsignedFields | None = None
    unread: UnreadNumber | None = None
    vendor_key: str | None = None
    is_test: bool = False


class LeadUpdateRequested(ContactRequest, frozen=True, kw_only=True):
    """A caller of the API changes one lead. A new `caller_id` or `email` may move the lead to another contact.

    `visible` are the filters of the sender's teams, here and of other requests: a lead or call that fits none of them is
    changed as little as one that does not exist. None: all are visible.

    `if_versions` are the versions that the sender has seen: of any other the lead is left as it is. `call_id` is the call
    whose change caused this one; a conversion is attributed to it, and `buyer_conversion_id` or `offer_conversion_id` names
    that conversion of the call. With `resume_on_unblock`, lifting a block or opt-out resumes the lead at its step. With
    `hangup_live` a block or opt-out also ends a call that is answered.

    `schedule_callback_at` None cancels the promised call. `scheduled_callback_id` is the promise that is changed: where the
    lead has another one, or none, nothing is changed. `promised_by` and `promised_agent_id` say who promises; without a
    `callback_owner` (UNSET) that agent makes it, with None anyone does.
    """

    lead_id: int
    visible: tuple[LeadFilters, ...] | None = None
    if_versions: tuple[int, ...] | None = None
    call_id: int | None = None
    columns: dict[str, Any] = {}
    data: dict[str, Any] = {}
    caller_id: str | UnsetType | None = UNSET
    email: str | UnsetType | None = UNSET
    blocked: bool | UnsetType = UNSET
    opt_out: bool | UnsetType = UNSET
    next_action_at: Instant | UnsetType | None = UNSET
    schedule_callback_at: Instant | UnsetType | None = UNSET
    lead_priority: float | UnsetType = UNSET
    schedule_start: bool = False
    schedule_stop: bool = False
    resume_on_unblock: bool = False
    callback_owner: CallbackOwner | UnsetType | None = UNSET
    promised_by: CallbackPromiser = "api"
    promised_agent_id: int | None = None
    hangup_live: bool = False
    move_to_another_schedule_id: int | None = None
    zones: tuple[str, ...] | UnsetType = UNSET
    zone_source: str | UnsetType = UNSET
    states: tuple[str, ...] | UnsetType = UNSET
    buyer_converted: bool | UnsetType = UNSET
    offer_converted: bool | UnsetType = UNSET
    add_revenue: Decimal = NOTHING
    add_payout: Decimal = NOTHING
    add_cost: Decimal = NOTHING
    apply_to: str | None = None
    buyer_conversion_id: int | None = None
    offer_conversion_id: int | None = None
    scheduled_callback_id: int | None = None


class LeadDeleteRequested(ContactRequest, frozen=True, kw_only=True):
    """A caller of the API destroys one lead; the legal ledger of its number stays."""

    lead_id: int
    visible: tuple[LeadFilters, ...] | None = None


class KeptSubmissionDecided(ContactRequest, frozen=True, kw_only=True):
    """A user accepts a submission that is kept beside its lead, which updates the lead, or discards it."""

    submission_id: int
    lead_id: int
    accept: bool
    visible: tuple[LeadFilters, ...] | None = None


class CallerActed(ContactRequest, frozen=True, kw_only=True):
    """The person, or somebody for them, opted out, left, or skipped to the end; found by token and number.

    `lead_id` is that of the sealed link of an e-mail: no other lead is meant. With `keep_callback` a callback survives the
    skip.
    """

    action: Literal["opt_out", "remove", "move_to_end"]
    offer_id: int | None = None
    schedule_id: int | None = None
    lead_id: int | None = None
    update_all_matching_leads: bool = False
    keep_callback: bool = False
    unread: UnreadNumber | None = None


class CallProgressed(ContactRequest, frozen=True, kw_only=True):
    """A gateway saw a call move on before its outcome.

    `buyer_id`, with `established`, is the buyer that answered, of several that are rung at once.
    """

    lead_id: int
    command_id: str
    state: Literal["initiated", "ringing", "established", "on-hold", "resumed"]
    occurred_at: Instant
    call_id: int | None = None
    provider: str | None = None
    provider_ref: str | None = None
    buyer_id: int | None = None


class RulesPlace(Struct, frozen=True):
    """Where the version of an account record is: partition of `accounts.rules`, and the sequence of its account decision."""

    partition: int
    sequence: int


class OutcomeRecorded(ContactRequest, frozen=True, kw_only=True):
    """A gateway reports the outcome of a command. `rang` says whether the telephone rang, for the legal ledger.

    `kind` is call, sms, email or webhook; `outcome` is one of `schemas.outcomes` for that kind, or `rejected_at_gate`,
    `expired` or `held`: then nothing reached anybody. `call_id` is that of the `PlaceCall`, so that a late outcome still
    finds its call. `reached` is set where an outcome is passed on to the lead's contact: the
    contact whose number or address the command was for. `fire_id` is that of a webhook that was fired by hand.
    `allows` is the answer of a veto hook, None where it gave none. `hold` is where the hold is
    recorded for which a command was returned (`held`).
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
    buyer_answered_at: Instant | None = None
    talk_seconds: int = 0
    hung_up_by: str | None = None
    hangup_cause: str | None = None
    cost: Decimal | None = None
    recording_url: str | None = None
    detail: str | None = None
    agent_id: int | None = None
    provider_configuration_id: int | None = None
    transcription_status: TranscriptionStatus | None = None
    fire_id: int | None = None
    allows: bool | None = None
    hold: RulesPlace | None = None


class CallUpdateRequested(ContactRequest, frozen=True, kw_only=True):
    """A caller of the API changes one call, or (`call_id` None) all of the person's calls of an offer since an instant.

    `data` is merged into the tokens of the call, None deletes one. `add_revenue` and `add_payout` come on top of what
    stands, after `revenue` and `payout`. `outgoing_webhook_ids` are fired again for the call. `callback_at` is when the
    person is to be called back, for a disposition that needs it: by the `callback_owner`, else (UNSET) by the agent who
    promises it, `promised_agent_id` or the agent of the call.

    `deleted_recording_url` is a recording that is deleted: the call that refers to it does so no more. With `call_id` None
    that call is found by it. `transcription_status` is what came of transcribing the recording `transcribed_recording_url`;
    where the call refers to another one or to none, nothing changes.
    """

    call_id: int | None = None
    visible: tuple[LeadFilters, ...] | None = None
    offer_id: int | None = None
    since: Instant | None = None
    data: dict[str, Any] = {}
    revenue: Decimal | UnsetType = UNSET
    add_revenue: Decimal = NOTHING
    payout: Decimal | UnsetType = UNSET
    add_payout: Decimal = NOTHING
    buyer_converted: bool | UnsetType = UNSET
    offer_converted: bool | UnsetType = UNSET
    buyer_id: int | UnsetType = UNSET
    traffic_source_id: int | UnsetType = UNSET
    contact_field_type: str | UnsetType | None = UNSET
    outgoing_webhook_ids: tuple[int, ...] = ()
    call_disposition_id: int | UnsetType | None = UNSET
    agent_call_disposition_notes: str | UnsetType | None = UNSET
    callback_at: Instant | None = None
    callback_owner: CallbackOwner | UnsetType | None = UNSET
    promised_agent_id: int | None = None
    deleted_recording_url: str | None = None
    transcribed_recording_url: str | None = None
    transcription_status: TranscriptionStatus | None = None


class CallDeleteRequested(ContactRequest, frozen=True, kw_only=True):
    """A caller of the API deletes one call; the legal ledger of the number stays."""

    call_id: int
    visible: tuple[LeadFilters, ...] | None = None


class CallStartRequested(ContactRequest, frozen=True, kw_only=True):
    """A call by hand: this person is to be called now.

    For the lead of `lead_id`; else for the one on the schedule or offer, which is made where there is none: on the schedule
    if `enrols`, else on its offer. `force` ignores the hours of the schedule, never those of the law; those need a written
    `override_reason` and a key that may override (`override_key_id`). `agent_id` is the agent who calls, and gets the call.
    """

    lead_id: int | None = None
    schedule_id: int | None = None
    offer_id: int | None = None
    enrols: bool = True
    caller_id: str | None = None
    from_number: str | None = None
    force: bool = False
    override_reason: str | None = None
    override_key_id: int | None = None
    agent_id: int | None = None
    columns: dict[str, Any] = {}
    zones: tuple[str, ...] = ()
    zone_source: str = "default"
    states: tuple[str, ...] = ()


class CallKeysRequested(ContactRequest, frozen=True, kw_only=True):
    """A caller of the API has keys pressed on a call in progress; `data` is merged into its tokens."""

    call_id: int
    visible: tuple[LeadFilters, ...] | None = None
    digits: str
    data: dict[str, Any] = {}


class WebhookFireRequested(ContactRequest, frozen=True, kw_only=True):
    """A caller of the API fires an outgoing webhook for one lead or call of the person.

    `created_at` and `updated_at` are shown of the firing in place of when it happened; nothing else goes by them.
    `buyer_conversion_id` and `offer_conversion_id` name conversions of that lead or call, which the webhook then describes.
    `hidden`: model -> fields that the teams of the sender hide, which the webhook leaves out.
    """

    outgoing_webhook_id: int
    lead_id: int | None = None
    call_id: int | None = None
    created_at: Instant | None = None
    updated_at: Instant | None = None
    buyer_conversion_id: int | None = None
    offer_conversion_id: int | None = None
    hidden: dict[str, tuple[str, ...]] = {}


class ContactBlockRequested(ContactRequest, frozen=True, kw_only=True):
    """A caller of the API blocks the person, whether they have leads or not, or lifts the block.

    A call that rings ends; with `hangup_live` one that is answered too.
    """

    blocked: bool
    hangup_live: bool = False


class SuppressionChangeRequested(ContactRequest, frozen=True, kw_only=True):
    """A caller of the API puts the person on a suppression list, or on it with other terms, or takes them off it."""

    list_id: int
    listed: bool
    source: str | None = None
    expires_at: Instant | None = None
    unread: UnreadNumber | None = None


class OptOutReviewed(ContactRequest, frozen=True, kw_only=True):
    """Somebody has read a doubtful text of the person, and says whether it is an opt-out.

    Of an opt-out whose number could not be read, `keys` are the contacts that were meant.
    """

    opt_out: bool
    keys: tuple[str, ...] = ()


class UnsubscribeRequested(ContactRequest, frozen=True, kw_only=True):
    """The person used the unsubscribe link of an e-mail, or their mail program did for them (RFC 8058)."""

    channel: Literal["email"]


class CallReceived(ContactRequest, frozen=True, kw_only=True):
    """A gateway saw a call of the person to one of the company's numbers begin, move on or end.

    `gateway_ref` names the call for as long as it lasts, and in every report of it. `from_number` is in E.164, or what the
    carrier said instead of a number: then the contact is that of a withheld number. The columns, zones and states are what
    the number itself says, for a lead that is made of it. With `wants_route` the gateway will connect the call to the buyer
    or agent that it is given; `unanswered_buyer_id` or `unanswered_agent_id` was given before and did not answer. With
    `rings_several` it can ring several buyers at once; then `unanswered_buyer_id` is any of them, and none has answered.
    """

    gateway_ref: str
    state: Literal["ringing", "connected", "on-hold", "resumed", "ended"]
    from_number: str
    number_called: str
    occurred_at: Instant
    provider: str | None = None
    provider_ref: str | None = None
    buyer_id: int | None = None
    buyer_answered_at: Instant | None = None
    talk_seconds: int = 0
    hung_up_by: str | None = None
    hangup_cause: str | None = None
    cost: Decimal | None = None
    recording_url: str | None = None
    detail: str | None = None
    agent_id: int | None = None
    ring_pool_id: int | None = None
    provider_configuration_id: int | None = None
    transcription_status: TranscriptionStatus | None = None
    columns: dict[str, Any] = {}
    zones: tuple[str, ...] = ()
    zone_source: str = "default"
    states: tuple[str, ...] = ()
    wants_route: bool = False
    unanswered_buyer_id: int | None = None
    unanswered_agent_id: int | None = None
    rings_several: bool = False


CarrierMeaning = Literal["opt_out", "opt_in", "help"]


class TextPart(Struct, frozen=True, kw_only=True):
    """Which part of a longer text this is: `number` of `count`, the first being 1.

    Parts of one text have one `reference`, which its telephone uses again after some texts. `octets` are what the part holds
    without its header, in the alphabet of `data_coding` (SMPP 3.4, 5.2.19): a character may go on in the next part.
    """

    reference: str
    number: int
    count: int
    octets: bytes
    data_coding: int = 0


class SmsReceived(ContactRequest, frozen=True, kw_only=True):
    """The person sent a text: `contact_key` is that of the number it came from, `to_number` ours that it was sent to.

    `provider_ref` is the provider's own name of the text, under which a repeat is known for 24 h. `carrier_meaning` is what
    the carrier took the text for, whatever its words; the carrier has acted on it and answered. Of a longer text that
    comes in parts, `body` is this `part` alone.
    """

    body: str
    received_at: Instant
    to_number: str | None = None
    provider: str | None = None
    provider_ref: str | None = None
    carrier_meaning: CarrierMeaning | None = None
    unread: UnreadNumber | None = None
    part: TextPart | None = None


class ReachRequested(ContactRequest, frozen=True, kw_only=True):
    """A lead under another key asks the contact of an address for permission, and to emit the command.

    `command` is the whole command as it will be emitted; the answer goes to `reply_to` (a contact key). `states`,
    `countries` and `purpose` choose the caps of the law, which are kept by the contact that is reached. `offer_id` is what
    an opt-out of the person may be about; the lists of `schedule_id` may suppress them.
    """

    lead_id: int
    reply_to: str
    kind: Literal["call", "sms", "email"]
    command: msgspec.Raw
    states: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    purpose: Purpose = "telemarketing"
    offer_id: int | None = None
    schedule_id: int | None = None


class ReachWithdrawn(ContactRequest, frozen=True, kw_only=True):
    """A lead must no longer reach the contact of an address: its commands there are fenced."""

    lead_id: int
    command_id: str
    reason: str


class ReachAnswered(ContactRequest, frozen=True, kw_only=True):
    """The contact of the address answers: emitted, or refused with a reason (opt_out, blocked, channel_disabled, ...).

    `until` is when a contact that was refused for its cap is free again.
    """

    lead_id: int
    command_id: str
    emitted: bool
    reason: str | None = None
    until: Instant | None = None


class SlotAnswered(ContactRequest, frozen=True, kw_only=True):
    """The account grants or refuses a slot; `request_id` is the contact's own, so that an old answer is recognised.

    `call_id` is the inbound call that it was requested for. `buyer_ids` are several buyers to ring at once,
    `agent_id` is the agent who is reserved for the call, `number_id` the number with caps whose use is reserved.
    """

    lead_id: int
    request_id: str
    granted: bool
    buyer_id: int | None = None
    buyer_group_id: int | None = None
    reason: str | None = None
    until: Instant | None = None
    call_id: int | None = None
    buyer_ids: tuple[int, ...] = ()
    agent_id: int | None = None
    number_id: int | None = None


class LeadMoved(ContactRequest, frozen=True, kw_only=True):
    """A lead arrives from the contact that it was keyed by before its number changed; `lead` is its whole value.

    With `opt_out` or `blocked`, the same change suppressed the person.
    """

    lead: msgspec.Raw
    from_contact_key: str
    opt_out: bool = False
    blocked: bool = False


class AccountRequest(Message, frozen=True, kw_only=True):
    """A request to one company, whose id is the key of the record."""

    company_id: int

    @property
    def partition_key(self) -> str:
        """The key of the record, which chooses the partition."""
        return str(self.company_id)


class RecordChangeRequested(AccountRequest, frozen=True, kw_only=True):
    """Create (`id` None), update or delete a record; `fields` are those of its type, only the given ones change.

    `publish` is for a schedule: what waits in its draft, and the fields given, become its present version. Where the record
    has none of `if_versions`, nothing is changed (`version_conflict`). `contact_partitions` is how many partitions of
    contacts there are, where the record is one that each of them works on.
    """

    type: str
    operation: Literal["create", "update", "delete", "publish"]
    id: int | None = None
    fields: dict[str, Any] = {}
    if_versions: tuple[int, ...] | None = None
    contact_partitions: int | None = None


class SlotRequested(AccountRequest, frozen=True, kw_only=True):
    """A contact asks for the right to call with a limited resource, named by group, groups or buyers.

    Where `buyer_group_ids` are named, their buyers are asked first, and `buyer_ids` where none of them takes the call.
    `excluded_buyer_ids` are those whose filters do not hold for the lead. With `agent_ids` or `call_center_ids` the call is
    for an agent who is available, and no buyer is asked.
    Granted in order of `urgency_class` (0 call-now ... 5), `priority` (lower first; less `aging` for every hour since
    `due_at`), `due_at`, then arrival. With `call_id`, an inbound call is ringing: it is granted or refused at once, and
    never waits; it gets several buyers only where its gateway `rings_several`. `route_by_type` says how buyers of one tier
    compete. `number_id` is the number that the call is placed from, if it has a cap; a call that `is_promised` is counted
    there, and not held back. `excluded_agent_ids` were rung for this call and did not answer.

    With `is_placed` the call is on its way: nothing is asked, it is counted. The first of `agent_ids` has placed it by hand,
    and is reserved for it unless another call has the agent.
    """

    contact_key: str
    lead_id: int
    request_id: str
    buyer_group_id: int | None = None
    buyer_ids: tuple[int, ...] = ()
    urgency_class: int = 3
    priority: float = 100.0
    due_at: Instant = EPOCH
    aging: float = 0.0
    buyer_group_ids: tuple[int, ...] = ()
    traffic_source_id: int | None = None
    excluded_buyer_ids: tuple[int, ...] = ()
    call_id: int | None = None
    agent_ids: tuple[int, ...] = ()
    call_center_ids: tuple[int, ...] = ()
    route_by_type: RouteBy = "tier"
    number_id: int | None = None
    excluded_agent_ids: tuple[int, ...] = ()
    is_promised: bool = False
    is_placed: bool = False
    rings_several: bool = False


class SlotReleased(AccountRequest, frozen=True, kw_only=True):
    """The contact releases its slot, or withdraws its request.

    `ended` says what the caps count: nothing (`unused`), an attempt (`attempted`), with a connection (`connected`), or all
    that the slot had reserved, because the end was never reported (`unknown`).

    Of several buyers that were rung at once, `buyer_id` answered: the others count an attempt alone. With `goes_on` the call
    goes on: the slots of the others are released, and the slot becomes one of that buyer.
    """

    contact_key: str
    lead_id: int
    request_id: str
    ended: Literal["unused", "attempted", "connected", "unknown"] = "unknown"
    buyer_id: int | None = None
    goes_on: bool = False


class CallEarned(AccountRequest, frozen=True, kw_only=True):
    """What a call of an instant brought to records with caps: resource (`buyer_group/7`) -> metric -> amount.

    A reversal is negative. A call that was `routed_by_epc` changes what its buyer earns by each call.
    """

    call_id: int
    at: Instant
    amounts: dict[str, dict[str, Decimal]] = {}
    routed_by_epc: bool = False


class AgentStatusChangeRequested(AccountRequest, frozen=True, kw_only=True):
    """Set the status of an agent; `agent_widget_id` is the page of the agent, as its program numbers it."""

    agent_id: int
    agent_status_id: int
    agent_widget_id: int | None = None


class AgentSilenceReported(AccountRequest, frozen=True, kw_only=True):
    """The page of an agent has sent no heartbeat for a time: set `offline`, unless another status was set meanwhile.

    `status_timestamp_id` is the change that set the status that the agent had then, None for none.
    """

    agent_id: int
    status_timestamp_id: int | None = None


class UnblockSweepEnded(AccountRequest, frozen=True, kw_only=True):
    """One partition of contacts has lifted the blocks of an unblock contact job, as one of `contact_partitions`."""

    job_id: int
    contact_partitions: int
    unblock_count: int = 0
    failed_count: int = 0


class AgentMessageAcknowledged(AccountRequest, frozen=True, kw_only=True):
    """An agent has read a message."""

    agent_message_id: int
    agent_id: int


class RingPoolRequest(AccountRequest, frozen=True, kw_only=True):
    """A request to one ring pool of a company; its key is `company_id|ring_pool/ring_pool_id`.

    So each pool has a partition of its own: however many visitors ask, no slot is granted later.
    """

    ring_pool_id: int

    @property
    def partition_key(self) -> str:
        """The key of the record, which chooses the partition."""
        return f"{self.company_id}|ring_pool/{self.ring_pool_id}"


class NumberHoldRequested(RingPoolRequest, frozen=True, kw_only=True):
    """A page asks for the number that it shows to a visitor.

    `impression_uuid`, `offer_id`, `traffic_source_id` and `tokens` are those of the impression by which it asks: a call to
    the number is attributed to that. The partition of the pool has no account records, so the numbers and times of the pool
    come along, as they are in its `pool_version`; the newest version that a pool knows counts.
    """

    visitor_id: str
    impression_uuid: str
    pool_version: int
    number_ids: tuple[int, ...]
    hold_seconds: int
    grace_seconds: int
    default_number_id: int | None = None
    offer_id: int | None = None
    traffic_source_id: int | None = None
    tokens: dict[str, Any] = {}


class AttributionRequested(RingPoolRequest, frozen=True, kw_only=True):
    """A contact asks for whom a number was held when it was called."""

    contact_key: str
    call_id: int
    number_id: int
    at: Instant


class AttributionAnswered(ContactRequest, frozen=True, kw_only=True):
    """The ring pool answers: the number was held for this visitor, by this impression; without one, for nobody."""

    call_id: int
    impression_uuid: str | None = None
    visitor_id: str | None = None
    traffic_source_id: int | None = None
    tokens: dict[str, Any] = {}


CONTACT_REQUESTS: dict[str, type[ContactRequest]] = {
    "lead.submitted": LeadSubmitted,
    "lead.update_requested": LeadUpdateRequested,
    "lead.delete_requested": LeadDeleteRequested,
    "submission.decided": KeptSubmissionDecided,
    "caller.acted": CallerActed,
    "call.progressed": CallProgressed,
    "outcome.recorded": OutcomeRecorded,
    "call.update_requested": CallUpdateRequested,
    "call.delete_requested": CallDeleteRequested,
    "call.start_requested": CallStartRequested,
    "call.keys_requested": CallKeysRequested,
    "call.received": CallReceived,
    "webhook.fire_requested": WebhookFireRequested,
    "contact.block_requested": ContactBlockRequested,
    "suppression.change_requested": SuppressionChangeRequested,
    "contact.optout_review_decided": OptOutReviewed,
    "contact.unsubscribe_requested": UnsubscribeRequested,
    "sms.received": SmsReceived,
    "reach.requested": ReachRequested,
    "reach.answered": ReachAnswered,
    "reach.withdrawn": ReachWithdrawn,
    "slot.answered": SlotAnswered,
    "lead.moved": LeadMoved,
    "attribution.answered": AttributionAnswered,
}
ACCOUNT_REQUESTS: dict[str, type[AccountRequest]] = {
    "record.change_requested": RecordChangeRequested,
    "slot.requested": SlotRequested,
    "slot.released": SlotReleased,
    "call.earned": CallEarned,
    "agent.status_change_requested": AgentStatusChangeRequested,
    "agent.message_acknowledged": AgentMessageAcknowledged,
    "agent.silence_reported": AgentSilenceReported,
    "unblock_sweep.ended": UnblockSweepEnded,
    "number_hold.requested": NumberHoldRequested,
    "attribution.requested": AttributionRequested,
}

REQUEST_TYPES: dict[type[Message], str] = {
    kind: name for table in (CONTACT_REQUESTS, ACCOUNT_REQUESTS) for name, kind in table.items()
}
