"""Which columns has each table of the read schema, and which of them are its key?"""

from msgspec import Struct

BIGINT_MAX = 2**63 - 1


class Table(Struct, frozen=True):
    """A table of the read schema whose rows are replaced whole.

    `key` counts the columns of the primary key, which come first; then `version`, `partition` and `sequence` stand
    where `version_at` says. `marks` says that a removed row stays, with `deleted_at`. Rows are sent as `row_type`: columns
    that end in `_at` as milliseconds, `jsonb` as text, `lists` as text with commas.
    """

    name: str
    row_type: str
    columns: tuple[str, ...]
    key: int
    version_at: int
    marks: bool = False
    jsonb: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()


LEAD_ADDED: tuple[str, ...] = ()
"""Fields of `schemas.contact.Lead` that became columns by later migrations, in that order: PostgreSQL adds a field only at
the end of a row type. The projector reads them by name."""

LEADS = Table(
    "leads",
    "lead_row",
    (
        *("company_id", "id", "uuid", "contact_key", "version", "partition", "sequence", "created_at", "updated_at"),
        *("status", "status_wait", "end_status", "is_live", "offer_id", "schedule_id", "schedule_version"),
        *("caller_id", "email", "name", "full_name", "external_record_id", "contact_field_type", "country"),
        *("state_province", "zip_postal_code", "time_zone", "sub_id", "remote_ip", "traffic_source_id"),
        *("columns", "data", "zones", "zone_source", "zone_deciding", "states", "lead_priority", "urgency_class"),
        *("enrolment", "step", "ending", "step_attempts", "attempts", "attempts_max", "flight"),
        *("next_action_at", "planned_at", "requested_next_action_at", "expires_at", "callback_at", "wake_at", "reasons"),
        *("opt_out", "blocked", "buyer_converted", "offer_converted", "connected", "revenue", "payout", "cost"),
        *("buyer_id", "svc_number", "sms_number", "outbound_calls_count", "sms_count", "emails_count"),
        *("attempted_call_id", "connected_call_id", "first_queued_at", "first_action_at", "last_action_at"),
        *("last_call_at", "schedule_ended_at", "schedule_trigger_type", "failed_channels", "slot_queue", "rest"),
        *LEAD_ADDED,
    ),
    key=2,
    version_at=4,
    marks=True,
    jsonb=frozenset({"columns", "data", "flight", "rest"}),
    lists=frozenset({"zones", "states", "reasons", "failed_channels"}),
)
CALLS = Table(
    "calls",
    "call_row",
    (
        *("company_id", "id", "uuid", "contact_key", "version", "partition", "sequence", "created_at", "updated_at"),
        *("user_updated_at", "lead_id", "contact_id", "offer_id", "schedule_id", "schedule_action_id"),
        *("traffic_source_id", "buyer_id", "buyer_group_id", "number_id", "command_id", "provider", "provider_sid"),
        *("direction", "origin", "status", "sub_status", "outcome", "answered_by", "caller_number", "number_called"),
        *("from_number", "country", "state", "city", "zip", "time_zone", "token_values", "revenue", "payout", "cost"),
        *("profit", "buyer_converted", "offer_converted", "buyer_conversion_duplicated_call"),
        *("offer_conversion_duplicated_call", "buyer_repeat_caller", "offer_repeat_caller", "no_buyer"),
        *("placed_on_hold", "in_progress", "hold_duration", "ring_duration", "talk_duration", "total_duration"),
        *("initiated_at", "ringing_at", "answered_at", "buyer_answered_at", "ended_at", "hangup_cause", "hung_up_by"),
        *("detail", "has_recording", "recording_url", "call_disposition_id", "agent_call_disposition_notes"),
        *("attempt_number", "is_callback", "contact_field_type", "ring_pool_id", "provider_configuration_id", "agent_id"),
        *("scheduled_callback_id", "dial_tier", "transcription_status", "impression_uuid"),
    ),
    key=2,
    version_at=4,
    marks=True,
    jsonb=frozenset({"token_values"}),
)
CONTACTS = Table(
    "contacts",
    "contact_row",
    (
        *("contact_key", "company_id", "contact_id", "version", "partition", "sequence", "lead_ids", "opted_out_at"),
        *("blocked_at", "attempts_count", "last_attempt_at", "last_call_at", "disabled_until", "moved", "rest"),
    ),
    key=1,
    version_at=3,
    jsonb=frozenset({"lead_ids", "disabled_until", "moved", "rest"}),
)
RECORDS = Table(
    "records",
    "record_row",
    (
        *("company_id", "type", "id", "uuid", "version", "partition", "sequence"),
        *("created_at", "updated_at", "user_updated_at", "deleted_at", "name", "body"),
    ),
    key=3,
    version_at=4,
    jsonb=frozenset({"body"}),
)
SLOTS = Table(
    "slots",
    "slots_row",
    (
        *("company_id", "resource", "version", "partition", "sequence", "in_use", "waiting_count", "tallies"),
        "last_granted_at",
    ),
    key=2,
    version_at=2,
    jsonb=frozenset({"tallies"}),
)
SLOT_QUEUES = Table(
    "slot_queues",
    "slot_queue_row",
    (
        *("company_id", "queue", "contact_partition", "version", "partition", "sequence", "lines", "open_count"),
        *("closed_at", "closed_reason", "opens_at", "resets_at"),
    ),
    key=3,
    version_at=3,
)
UNBLOCK_SWEEPS = Table(
    "unblock_sweeps",
    "unblock_sweep_row",
    (
        *("company_id", "job_id", "contact_partition", "version", "partition", "sequence", "unblock_count", "failed_count"),
        *("last_contact_id", "last_unblocked_at", "ended_at", "canceled_at"),
    ),
    key=3,
    version_at=3,
)
SUPPRESSIONS = Table(
    "suppressions",
    "suppression_row",
    (
        *("company_id", "list_id", "contact_key", "contact_id", "version", "partition", "sequence"),
        *("created_at", "updated_at", "source", "expires_at"),
    ),
    key=3,
    version_at=4,
)
KEPT_SUBMISSIONS = Table(
    "kept_submissions",
    "kept_submission_row",
    (
        *("company_id", "id", "lead_id", "contact_key", "version", "partition", "sequence", "created_at"),
        *("email", "columns", "data", "schedule_callback_at"),
    ),
    key=2,
    version_at=4,
    jsonb=frozenset({"columns", "data"}),
)
RING_POOLS = Table(
    "ring_pools",
    "ring_pool_row",
    (
        *("company_id", "ring_pool_id", "version", "partition", "sequence"),
        *("numbers", "overflow_count", "last_overflow_at"),
    ),
    key=2,
    version_at=2,
    jsonb=frozenset({"numbers"}),
)
TABLES = (LEADS, CALLS, CONTACTS, RECORDS, SLOTS, SLOT_QUEUES, UNBLOCK_SWEEPS, SUPPRESSIONS, KEPT_SUBMISSIONS, RING_POOLS)
"""In the order in which a batch writes them: all writers lock in the same order, which prevents deadlocks."""

IMPRESSION_FIELDS = (
    *("visitor_id", "session_id", "offer_id", "traffic_source_id", "page_url", "referrer", "landing_url"),
    *("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "gclid", "fbclid", "sub_id"),
    *("ip", "user_agent", "device", "country", "state", "city"),
)
"""Fields of `schemas.impressions.Impression` that are columns of the same name and type."""

IMPRESSION_NUMBER = ("ring_pool_id", "number_id", "number_shown", "held_until")
"""Fields of the number that the page showed, which are columns as well; `held_until` as milliseconds."""

HISTORY_COLUMNS = (
    *("topic", "partition", "sequence", "ordinal", "at", "type", "company_id", "contact_key", "lead_id", "call_id", "data"),
    "digest",
)
"""Columns of table `history`, whose rows are inserted once and never replaced, and of `history_row`."""

IMPRESSION_COLUMNS = (
    *("company_id", "id", "uuid", "partition", "offset", "created_at", *IMPRESSION_FIELDS, "tokens"),
    *IMPRESSION_NUMBER,
)
"""Columns of table `impressions`, whose rows are inserted once and never replaced, and of `impression_row`."""

SUBMITTED_TEXT_COLUMNS = (
    *("name", "full_name", "external_record_id", "contact_field_type", "country", "state_province"),
    *("zip_postal_code", "time_zone", "sub_id", "remote_ip"),
)
SUBMITTED_COLUMNS = frozenset({*SUBMITTED_TEXT_COLUMNS, "traffic_source_id"})
"""Keys of `Lead.columns` that are columns of the table; other keys stay in its column `columns`."""
