"""How does a decision become rows? Pure functions from changes and facts to rows, without a database.

A row is a tuple in the order of the columns of its table (`adapters.postgres.tables`). Instants stay whole milliseconds,
jsonb is JSON text, lists of codes and zones are joined by commas (none contains one); SQL converts them to column types.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Struct

from adapters.postgres.jsonb_numbers import encode_for_jsonb
from adapters.postgres.tables import (
    BIGINT_MAX,
    CALLS,
    CONTACTS,
    KEPT_SUBMISSIONS,
    LEAD_ADDED,
    LEADS,
    RECORDS,
    RING_POOLS,
    SLOT_QUEUES,
    SLOTS,
    SUBMITTED_COLUMNS,
    SUBMITTED_TEXT_COLUMNS,
    SUPPRESSIONS,
    UNBLOCK_SWEEPS,
    Table,
)
from engine.contact.facts.ledger import attempts_of
from engine.identity import ContactIds
from engine.views.call import (
    call_country,
    call_profit,
    caller_number,
    has_no_buyer,
    hold_seconds,
    ring_seconds,
    talk_seconds,
    total_seconds,
)
from schemas.contact import LIVE_STATUSES, Call, Head, KeptSubmission, Lead, Suppression, UnblockSweep
from schemas.instant import Instant
from schemas.records import Record
from schemas.wire import to_json

Row = tuple[Any, ...]


class RawLead(Lead, kw_only=True):
    """A lead whose free-form parts stay JSON; they are stored unchanged."""

    data: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]
    flight: msgspec.Raw = msgspec.Raw(b"null")  # type: ignore[assignment]


class RawKept(KeptSubmission, kw_only=True):
    """A kept submission whose free-form parts stay JSON."""

    columns: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]
    data: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]


class RawCall(Call, kw_only=True):
    """A call whose tokens stay JSON."""

    token_values: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]


class RawRecord(Record, kw_only=True):
    """An account record whose body stays JSON."""

    body: msgspec.Raw  # type: ignore[assignment]


class CountedQueue(Struct, frozen=True, kw_only=True):
    """A queue for slots, of which the open requests are counted."""

    company_id: int
    queue: str
    heads_max: int = 1
    open: tuple[msgspec.Raw, ...] = ()
    closed_at: Instant | None = None
    closed_reason: str | None = None
    opens_at: Instant | None = None
    resets_at: Instant | None = None


class RawHead(Head, kw_only=True):
    """A contact's head; `seen`, most of its bytes, is not decoded."""

    lead_ids: msgspec.Raw = msgspec.Raw(b"[]")  # type: ignore[assignment]
    seen: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]
    disabled_until: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]
    moved: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]


class CountedRingPool(Struct, frozen=True):
    """A ring pool, of which is projected which numbers are held."""

    company_id: int
    ring_pool_id: int
    version: int = 0
    numbers: msgspec.Raw = msgspec.Raw(b"[]")
    overflow_count: int = 0
    last_overflow_at: Instant | None = None


class CountedSlots(Struct, frozen=True):
    """The slots of a resource, of which only counts are projected, what is used of its caps, and its last grant."""

    company_id: int
    resource: str
    version: int = 0
    in_use: int = 0
    waiting: int = 0
    tallies: msgspec.Raw = msgspec.Raw(b"{}")
    last_granted_at: Instant | None = None


def fields_getter(names: Sequence[str]) -> Callable[[Any], Row]:
    """Return a function that reads these fields as a tuple; `attrgetter` of one name would give no tuple."""
    if not names:
        return lambda _entity: ()
    if len(names) == 1:
        only = attrgetter(names[0])
        return lambda entity: (only(entity),)
    return attrgetter(*names)


# `attrgetter` of several names builds a tuple in one step, which is faster: a lead has 73 columns.
_identity = attrgetter("company_id", "id", "uuid", "contact_key", "version")
_standing = attrgetter("created_at", "updated_at", "status", "status_wait", "end_status")
_target = attrgetter("offer_id", "schedule_id", "schedule_version", "caller_id", "email")
_progress = attrgetter(
    *("lead_priority", "urgency_class", "enrolment", "step", "ending", "step_attempts", "attempts", "attempts_max")
)
_moments = attrgetter(*("next_action_at", "planned_at", "requested_next_action_at", "expires_at", "callback_at", "wake_at"))
_results = attrgetter(
    *("opt_out", "blocked", "buyer_converted", "offer_converted", "connected", "revenue", "payout", "cost"),
    *("buyer_id", "svc_number", "sms_number", "outbound_calls_count", "sms_count", "emails_count"),
    *("attempted_call_id", "connected_call_id", "first_queued_at", "first_action_at", "last_action_at"),
    *("last_call_at", "schedule_ended_at", "schedule_trigger_type"),
)
_added = fields_getter(LEAD_ADDED)


def lead_row(lead: RawLead, partition: int, sequence: int) -> Row:
    """Return the row of a lead."""
    own = lead.columns
    return (
        *_identity(lead),
        partition,
        sequence,
        *_standing(lead),
        lead.status in LIVE_STATUSES,
        *_target(lead),
        *map(_text, map(own.get, SUBMITTED_TEXT_COLUMNS)),
        _whole(own.get("traffic_source_id")),
        "{}" if own.keys() <= SUBMITTED_COLUMNS else _json({key: own[key] for key in own if key not in SUBMITTED_COLUMNS}),
        _tokens(lead.data),
        ",".join(lead.zones),
        lead.zone_source,
        lead.zone_deciding,
        ",".join(lead.states),
        *_progress(lead),
        _unless_null(_raw(lead.flight)),
        *_moments(lead),
        ",".join(lead.reasons),
        *_results(lead),
        ",".join(lead.failed_channels),
        lead.slot_queue,
        _rest_of_lead(lead),
        *_added(lead),
    )


def call_row(contact_ids: ContactIds, call: RawCall, partition: int, sequence: int) -> Row:
    """Return the row of a call, with derived columns (`engine.views.call`)."""
    is_callback = call.origin == "callback"
    return (
        *(call.company_id, call.id, call.uuid, call.contact_key, call.version, partition, sequence),
        *(call.created_at, call.updated_at, call.user_updated_at, call.lead_id, contact_ids.id_of(call.contact_key)),
        *(call.offer_id, call.schedule_id, call.schedule_action_id, call.traffic_source_id, call.buyer_id),
        *(call.buyer_group_id, call.number_id, call.command_id, call.provider, call.provider_ref, call.direction),
        *(call.origin, call.status, call.sub_status, call.outcome, call.answered_by, caller_number(call)),
        *(call.number_called, call.from_number, call_country(call), call.state, call.city, call.zip, call.time_zone),
        *(_tokens(call.token_values), call.revenue, call.payout, call.cost, call_profit(call)),
        *(call.buyer_converted, call.offer_converted, call.buyer_conversion_duplicated_call),
        *(call.offer_conversion_duplicated_call, call.buyer_repeat_caller, call.offer_repeat_caller, has_no_buyer(call)),
        *(call.placed_on_hold, call.ended_at is None, hold_seconds(call), ring_seconds(call), talk_seconds(call)),
        *(total_seconds(call), call.initiated_at, call.ringing_at, call.answered_at, call.buyer_answered_at),
        *(call.ended_at, call.hangup_cause, call.hung_up_by, call.detail, call.recording_url is not None),
        *(call.recording_url, call.call_disposition_id, call.agent_call_disposition_notes, call.attempt_number),
        *(is_callback, call.contact_field_type, call.ring_pool_id, call.provider_configuration_id, call.agent_id),
        *(call.scheduled_callback_id, call.dial_tier, call.transcription_status),
        None if call.attribution is None else call.attribution.impression_uuid,
    )


def contact_row(contact_ids: ContactIds, head: RawHead, partition: int, sequence: int) -> Row:
    """Return the row of a contact's head."""
    attempts = attempts_of(head)
    return (
        *(head.contact_key, head.company_id, contact_ids.id_of(head.contact_key), head.version, partition, sequence),
        _raw(head.lead_ids),
        *(head.opted_out_at, head.blocked_at, len(attempts), attempts[-1].at if attempts else None),
        *(head.last_call_at, _raw(head.disabled_until), _raw(head.moved), _rest_of_head(head)),
    )


def record_row(record: RawRecord, partition: int, sequence: int) -> Row:
    """Return the row of an account record; column `name` is its `name`, or the number of a number."""
    body = _raw(record.body)
    named = NAMES.decode(body)
    return (
        *(record.company_id, record.type, record.id, record.uuid, record.version, partition, sequence),
        *(record.created_at, record.updated_at, record.user_updated_at, record.deleted_at),
        *(named.name or named.number, body),
    )


def slots_row(slots: CountedSlots, partition: int, sequence: int) -> Row:
    """Return the row of a limited resource."""
    return (
        *(slots.company_id, slots.resource, slots.version, partition, sequence),
        *(slots.in_use, slots.waiting, _raw(slots.tallies), slots.last_granted_at),
    )


def slot_queue_row(queue: CountedQueue, partition: int, sequence: int) -> Row:
    """Return the row of a queue for slots. Its partition is part of the key, so its sequence number is version enough."""
    return (
        *(queue.company_id, queue.queue, partition, sequence, partition, sequence, queue.heads_max, len(queue.open)),
        *(queue.closed_at, queue.closed_reason, queue.opens_at, queue.resets_at),
    )


def unblock_sweep_row(contact_ids: ContactIds, sweep: UnblockSweep, partition: int, sequence: int) -> Row:
    """Return the row of a partition's sweep for an unblock contact job; its partition is part of the key."""
    last = sweep.last_contact_key
    return (
        *(sweep.company_id, sweep.job_id, partition, sweep.version, partition, sequence),
        *(sweep.unblock_count, sweep.failed_count, None if last is None else contact_ids.id_of(last)),
        *(sweep.last_unblocked_at, sweep.ended_at, sweep.canceled_at),
    )


def suppression_row(contact_ids: ContactIds, entry: Suppression, partition: int, sequence: int) -> Row:
    """Return the row of a contact on a suppression list."""
    return (
        *(entry.company_id, entry.list_id, entry.contact_key, contact_ids.id_of(entry.contact_key)),
        *(entry.version, partition, sequence),
        *(entry.created_at, entry.updated_at, entry.source, entry.expires_at),
    )


def kept_submission_row(kept: RawKept, partition: int, sequence: int) -> Row:
    """Return the row of a submission that is kept beside its lead."""
    return (
        *(kept.company_id, kept.id, kept.lead_id, kept.contact_key, kept.version, partition, sequence, kept.created_at),
        *(kept.email, _raw(kept.columns), _raw(kept.data), kept.schedule_callback_at),
    )


def ring_pool_row(pool: CountedRingPool, partition: int, sequence: int) -> Row:
    """Return the row of a ring pool."""
    return (
        *(pool.company_id, pool.ring_pool_id, pool.version, partition, sequence),
        *(_raw(pool.numbers), pool.overflow_count, pool.last_overflow_at),
    )


def _rest(kind: type[Struct], shown: Container[str]) -> Callable[[Any], str]:
    """Return a function that writes the fields without a column, if not at their defaults, as one JSON object.

    A new field of the state is in it until it gets a column, so that a row alone suffices to compute what the engine does
    next (`adapters.why.lead_history`).
    """
    fields = [field for field in msgspec.structs.fields(kind) if field.name not in shown]
    values = attrgetter(*(field.name for field in fields))
    defaults = [
        field.default if field.default_factory is msgspec.NODEFAULT else msgspec.field(default_factory=field.default_factory)
        for field in fields
    ]
    named = [(field.name, Any, default) for field, default in zip(fields, defaults, strict=True)]
    packed = msgspec.defstruct("Rest", named, omit_defaults=True)
    return lambda entity: _json(packed(*values(entity)))


_rest_of_lead = _rest(Lead, LEADS.columns)
_rest_of_head = _rest(Head, {*CONTACTS.columns, "seen"})


PART = "part"
"""Kind of keys that hold some of the tokens of a lead or call."""

PARTS = frozenset({"lead", "call"})
"""Kinds of keys whose tokens may be in parts; the store joins the parts of their rows."""


class Shape(Struct, frozen=True):
    """How the values of one kind of key become rows of one table.

    `parts_count` is the field that says in how many parts the tokens are, for kinds that have such.
    """

    table: Table
    decoder: msgspec.json.Decoder[Any]
    row: Callable[[Any, int, int], Row]
    parts_count: str | None = None


def _shape(table: Table, kind: type[Struct], row: Callable[[Any, int, int], Row], parts_count: str | None = None) -> Shape:
    return Shape(table, msgspec.json.Decoder(kind), row, parts_count)


def shapes_of(contact_ids: ContactIds) -> Mapping[str, Shape]:
    """Return the shapes of a deployment's rows: first part of a state key -> shape."""
    return {
        "lead": _shape(LEADS, RawLead, lead_row, "data_parts"),
        "call": _shape(CALLS, RawCall, partial(call_row, contact_ids), "token_parts"),
        "head": _shape(CONTACTS, RawHead, partial(contact_row, contact_ids)),
        "record": _shape(RECORDS, RawRecord, record_row),
        "slots": _shape(SLOTS, CountedSlots, slots_row),
        "asking": _shape(SLOT_QUEUES, CountedQueue, slot_queue_row),
        "unblock": _shape(UNBLOCK_SWEEPS, UnblockSweep, partial(unblock_sweep_row, contact_ids)),
        "suppression": _shape(SUPPRESSIONS, Suppression, partial(suppression_row, contact_ids)),
        "kept": _shape(KEPT_SUBMISSIONS, RawKept, kept_submission_row),
        "ring_pool": _shape(RING_POOLS, CountedRingPool, ring_pool_row),
    }


PROJECTED = frozenset({"lead", "call", "head", "record", "slots", "asking", "unblock", "suppression", "kept", "ring_pool"})
"""First parts of the state keys that have a shape; other keys (relays, tokens, streams) are not projected."""


def without_nul(raw: bytes) -> bytes:
    """Replace U+0000, which PostgreSQL stores in neither text nor jsonb, by U+FFFD."""
    if b"\\u0000" not in raw:
        return raw
    return to_json(_replaced(msgspec.json.decode(raw)))


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, list):
        return [_replaced(item) for item in value]
    if isinstance(value, dict):
        return {_replaced(key): _replaced(item) for key, item in value.items()}
    return value


class _Named(Struct):
    name: str | None = None
    number: str | None = None


NAMES = msgspec.json.Decoder(_Named)


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else _json(value)


def _whole(value: Any) -> int | None:
    """Return an id that a sender wrote as a number or as text; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:20])
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= BIGINT_MAX else None


def _json(value: object) -> str:
    return to_json(value).decode()


def _raw(value: Any) -> str:
    """Return the text of a `msgspec.Raw`; mypy sees the type of the original field."""
    return bytes(value).decode()


def _tokens(value: Any) -> str:
    """Return tokens with numbers that jsonb keeps: senders write numbers of any size."""
    return encode_for_jsonb(bytes(value)).decode()


def _unless_null(text: str) -> str | None:
    return None if text == "null" else text
