"""How does a filter become SQL? By fixed pieces, chosen by name and joined by AND. Values are always parameters."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec.structs import asdict

from adapters.postgres.tables import BIGINT_MAX
from adapters.reads.ports import (
    AgentStatusFilter,
    AuditLogFilter,
    CallbackFilter,
    CallFilter,
    ContactFilter,
    ConversionFilter,
    DeliveryFilter,
    ImpressionFilter,
    KeptSubmissionFilter,
    LeadBulkJobFilter,
    LeadBulkResultFilter,
    LeadFilter,
    LeadImportErrorFilter,
    LeadImportFilter,
    ManualFireFilter,
    RecordFilter,
    SuppressionFilter,
    WebhookLogFilter,
)
from schemas.instant import DAY, to_datetime
from schemas.records import LeadFilters

NEVER = "false"
"""The condition for a value that no row can have: an id beyond bigint, text that PostgreSQL cannot store."""

RECENT_DISPOSITION = (
    "(SELECT c.call_disposition_id FROM {read}.calls AS c WHERE c.company_id = leads.company_id AND c.lead_id = leads.id"
    " AND c.call_disposition_id IS NOT NULL AND c.deleted_at IS NULL ORDER BY c.created_at DESC, c.id DESC LIMIT 1)"
)
"""The disposition of a lead: that of its newest call that has one."""

DISPOSED = (
    "id IN (SELECT d.lead_id FROM {read}.calls AS d WHERE d.company_id = $1 AND d.call_disposition_id = ?"
    " AND d.deleted_at IS NULL)"
)
"""Whether a lead has a call with a disposition: it finds the few leads of a rare one by an index."""

LEAD_STATE = "coalesce(state_province, states[1])"
"""The state of a lead: as submitted, else the first one that its number or zip code may lie in."""

LEAD_IMPORT = "(rest ->> 'lead_import_id')::bigint"
"""The import that made a lead."""

CALLS_OF_IMPORT = (
    "lead_id = ANY (ARRAY(SELECT i.id FROM {read}.leads AS i WHERE i.company_id = $1 AND i.deleted_at IS NULL"
    " AND (i.rest ->> 'lead_import_id')::bigint = ?))"
)
"""Whether an import made the lead of a call. As an array: the leads are found by their index, then their calls by theirs."""

TAGGED = (
    "({tokens} -> 'tags' @> to_jsonb(?::text) OR (jsonb_typeof({tokens} -> 'tags') = 'string'"
    " AND ?::text = ANY (regexp_split_to_array(btrim({tokens} ->> 'tags'), '\\s*,\\s*'))))"
)
"""Whether a tag is among the tokens of a lead: a tag step stores a list; a sender may have submitted text with commas."""

CALLS_TAGGED = (
    "EXISTS (SELECT 1 FROM {read}.leads AS t WHERE t.company_id = calls.company_id AND t.id = calls.lead_id"
    " AND t.deleted_at IS NULL AND {tagged})"
).replace("{tagged}", TAGGED.replace("{tokens}", "t.data"))
"""Whether the lead of a call has a tag now."""

LEAD_PIECES: dict[str, str] = {
    "ids": "id = ANY (?::bigint[])",
    "created_from": "created_at >= ?",
    "created_to": "created_at < ?",
    "next_action_from": "next_action_at >= ?",
    "next_action_to": "next_action_at < ?",
    "offer_id": "offer_id = ?",
    "schedule_id": "schedule_id = ?",
    "traffic_source_id": "traffic_source_id = ?",
    "buyer_id": "buyer_id = ?",
    "contact_id": "contact_key IN (SELECT contact_key FROM {read}.contacts WHERE company_id = $1 AND contact_id = ?)",
    "status": "status = ?",
    "status_wait": "status_wait = ?",
    "caller_id": "caller_id = ?",
    "scheduled_callback_id": "(rest ->> 'scheduled_callback_id')::bigint = ?",
    "lead_import_id": f"{LEAD_IMPORT} = ?",
    "states": f"{LEAD_STATE} = ANY (?::text[])",
    "recent_call_disposition_id": " AND ".join([DISPOSED, f"{RECENT_DISPOSITION} = ?"]),
    "tag": TAGGED.replace("{tokens}", "data"),
    "token_key": "data -> ?::text IS NOT NULL",
    # As a subquery: the planner does not know how few leads share an address, and would scan all leads.
    "email": "id = ANY (ARRAY(SELECT e.id FROM {read}.leads AS e WHERE e.company_id = $1 AND e.deleted_at IS NULL"
    " AND e.email IS NOT NULL AND lower(e.email) = lower(?::text)))",
    "fulltext": "EXISTS (SELECT 1 FROM {read}.lead_words AS w"
    " WHERE w.company_id = leads.company_id AND w.id = leads.id AND w.words @@ ?::text::tsquery)",
}
LEAD_FLAGS: dict[str, str] = {
    "has_next_action": "(status IN ('scheduled', 'waiting') AND next_action_at IS NOT NULL)",
    "buyer_converted": "buyer_converted",
    "offer_converted": "offer_converted",
    "either_converted": "(buyer_converted OR offer_converted)",
    "has_invalid_fields": "(data -> 'invalid_fields' IS NOT NULL)",
    "is_test": "COALESCE((rest ->> 'is_test')::boolean, false)",
    "opt_out": "opt_out",
    "has_callback": "(callback_at IS NOT NULL)",
}
COMPLETED = "status IN ('completed', 'completed_attempted', 'completed_connected', 'completed_converted')"
CALL_PIECES: dict[str, str] = {
    "ids": "id = ANY (?::bigint[])",
    "created_from": "created_at >= ?",
    "created_to": "created_at < ?",
    "ended_from": "ended_at >= ?",
    "ended_to": "ended_at < ?",
    "lead_id": "lead_id = ?",
    "offer_id": "offer_id = ?",
    "schedule_id": "schedule_id = ?",
    "traffic_source_id": "traffic_source_id = ?",
    "buyer_id": "buyer_id = ?",
    "buyer_group_ids": "buyer_group_id = ANY (?::bigint[])",
    "number_id": "number_id = ?",
    "ring_pool_id": "ring_pool_id = ?",
    "provider_configuration_id": "provider_configuration_id = ?",
    "call_disposition_id": "call_disposition_id = ?",
    "agent_id": "agent_id = ?",
    "lead_import_id": CALLS_OF_IMPORT,
    "tag": CALLS_TAGGED,
    "states": "state = ANY (?::text[])",
    "contact_id": "contact_id = ?",
    "caller_number": "caller_number = ?",
    "status": "status = ?",
    "token_key": "token_values -> ?::text IS NOT NULL",
    "fulltext": "EXISTS (SELECT 1 FROM {read}.call_words AS w"
    " WHERE w.company_id = calls.company_id AND w.id = calls.id AND w.words @@ ?::text::tsquery)",
}
_PLAIN_FLAGS = (
    *("buyer_converted", "offer_converted", "buyer_conversion_duplicated_call", "offer_conversion_duplicated_call"),
    *("buyer_repeat_caller", "offer_repeat_caller", "in_progress", "placed_on_hold", "has_recording", "no_buyer"),
)
CALL_FLAGS: dict[str, str] = {
    **{name: name for name in _PLAIN_FLAGS},
    "either_converted": "(buyer_converted OR offer_converted)",
}
IMPRESSION_PIECES: dict[str, str] = {"created_from": "created_at >= ?", "created_to": "created_at < ?"}
MANUAL_FIRE_PIECES: dict[str, str] = {
    "ids": "id = ANY (?::bigint[])",
    "uuid": "uuid = ?::uuid",
    "created_from": "created_at >= ?",
    "created_to": "created_at < ?",
    "fulltext": "EXISTS (SELECT 1 FROM {read}.records AS w WHERE w.company_id = $1 AND w.type = 'outgoing_webhook'"
    " AND w.id = outgoing_webhook_id AND strpos(lower(w.name), lower(?)) > 0)",
}
AUDIT_LOG_PIECES: dict[str, str] = {
    "created_from": "created_at >= ?",
    "created_to": "created_at < ?",
    "record_type": "record_type = ?",
    "record_id": "record_id = ?",
    "key_id": "key_id = ?",
    "fulltext": "strpos(lower(concat_ws(' ', user_email, record_type, fields::text)), lower(?)) > 0",
}
CONTACT_PIECES: dict[str, str] = {
    "ids": "id = ANY (?::bigint[])",
    "keys": "contact_key = ANY (?::text[])",
    # As a subquery: the planner does not know how few leads share an address.
    "email": "(contact_key = $1::text || '|email:' || lower(?::text) OR contact_key = ANY (ARRAY(SELECT e.contact_key"
    " FROM {read}.leads AS e WHERE e.company_id = $1 AND e.deleted_at IS NULL AND e.email IS NOT NULL"
    " AND lower(e.email) = lower(?::text))))",
}
CONTACT_FLAGS: dict[str, str] = {
    "opted_out": "(opted_out_at IS NOT NULL OR rest ? 'opt_outs')",
    "blocked": "(blocked_at IS NOT NULL)",
    "suppressed": "(rest ? 'suppressed_at')",
    "in_review": "(rest ? 'review_until')",
}
_OF_LISTS: dict[str, str] = {
    "ids": "id = ANY (?::bigint[])",
    "created_from": "created_at >= ?",
    "created_to": "created_at < ?",
}
CONVERSION_PIECES: dict[str, str] = {
    "side": "side = ?",
    **_OF_LISTS,
    "uuid": "uuid = ?::uuid",
    **{name: f"{name} = ?" for name in ("lead_id", "call_id", "buyer_id", "traffic_source_id")},
}
OWNER_OF_CALLBACK = "coalesce(owner_agent_id, promised_agent_id)"
"""The agent whose callback it is: the owner, else who promised it."""

LEAD_OF_CALLBACK = "EXISTS (SELECT 1 FROM {read}.leads AS s WHERE s.company_id = $1 AND s.id = c.lead_id"
"""The lead of a callback, to be continued by a condition and a parenthesis."""

CALLBACK_PIECES: dict[str, str] = {
    **_OF_LISTS,
    "promised_from": "promised_at >= ?",
    "promised_to": "promised_at < ?",
    **{name: f"{name} = ?" for name in ("callback_status", "lead_id", "offer_id", "schedule_id", "promised_by")},
    "agent_id": f"{OWNER_OF_CALLBACK} = ?",
    "contact_id": LEAD_OF_CALLBACK + " AND s." + LEAD_PIECES["contact_id"] + ")",
}
WEBHOOK_LOG_PIECES: dict[str, str] = {
    **_OF_LISTS,
    **{name: f"{name} = ?" for name in ("outgoing_webhook_id", "webhook_manual_fire_id", "lead_id", "call_id")},
}
LEAD_BULK_JOB_PIECES: dict[str, str] = {
    **_OF_LISTS,
    "action": "action = ?",
    "user_email": "user_email = ?",
}
LEAD_BULK_RESULT_PIECES: dict[str, str] = {
    "job_id": "job_id = ?",
    "ids": "lead_id = ANY (?::bigint[])",
    "state": "state = ?",
}
LEAD_IMPORT_PIECES: dict[str, str] = {
    **_OF_LISTS,
    "user_email": "user_email = ?",
}
LEAD_IMPORT_ERROR_PIECES: dict[str, str] = {
    "job_id": "job_id = ?",
    "severities": "severity = ANY (?::text[])",
}
CALL_OF_CONVERSION = "EXISTS (SELECT 1 FROM {read}.calls AS s WHERE s.company_id = $1 AND s.id = c.call_id"
LEAD_OF_CONVERSION = "EXISTS (SELECT 1 FROM {read}.leads AS s WHERE s.company_id = $1 AND s.id = c.lead_id"
"""What converted, to be continued by a condition and a parenthesis."""

LEAD_OF_OUTCOME = "EXISTS (SELECT 1 FROM {read}.leads WHERE company_id = $1 AND id = newest.lead_id AND deleted_at IS NULL"
"""The lead that an outcome is about, to be continued by conditions and a parenthesis."""

KEPT_SUBMISSION_PIECES: dict[str, str] = {"ids": "id = ANY (?::bigint[])", "lead_id": "lead_id = ?"}
LEAD_OF_SUBMISSION = "EXISTS (SELECT 1 FROM {read}.leads AS s WHERE s.company_id = $1 AND s.id = k.lead_id"
"""The lead that a submission is kept beside, to be continued by a condition and a parenthesis."""

SUPPRESSION_PIECES: dict[str, str] = {
    "keys": "contact_key = ANY (?::text[])",
    "source": "source = ?",
    "expires_from": "expires_at >= ?",
    "expires_to": "expires_at < ?",
}
DELIVERY_PIECES: dict[str, str] = {
    "ids": "id = ANY (?::bigint[])",
    "subscription_id": "subscription_id = ?",
    "created_from": "created_at >= ?",
    "created_to": "created_at < ?",
    "state": "state = ?",
    "event": "event = ?",
    "lead_id": "lead_id = ?",
}
AGENT_STATUS_PIECES: dict[str, str] = {
    "created_from": "created_at >= ?",
    "created_to": "created_at < ?",
    "fulltext": "(strpos(lower(key), lower(?)) > 0 OR EXISTS (SELECT 1 FROM {read}.records AS w WHERE w.company_id = $1"
    " AND w.type = 'agent' AND w.id = collaborator_id AND strpos(lower(w.name), lower(?)) > 0))",
}
RECORD_PIECES: dict[str, str] = {
    "ids": "id = ANY (?::bigint[])",
    "created_from": "created_at >= ?",
    "created_to": "created_at < ?",
    "paused": "coalesce((body->>'paused')::boolean, false) = ?",
    "fulltext": "strpos(lower(concat_ws(' ', name, body->>'description', body->>'number', body->>'external_record_id',"
    " body->>'content', body->>'user_email', body->>'users_emails', body->>'email')), lower(?)) > 0",
}
INSTANTS = frozenset(
    {
        "created_from",
        "created_to",
        "promised_from",
        "promised_to",
        "next_action_from",
        "next_action_to",
        "ended_from",
        "ended_to",
        "expires_from",
        "expires_to",
    }
)


TAG_LENGTH = 200
"""Characters of a tag, at which the read schema cuts it."""

EXPONENTIAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?[eE][+-]?[0-9]{1,3}")
"""A number of JSON (RFC 8259, 6) with an exponent; those of more digits are outside the range of numbers of leads."""


class Statement:
    """Builds SQL: pieces with `?` in place of a value, and the values as `$1`, `$2` and so on.

    `is_frequent`: more rows match than are ever counted. `is_old`: many more rows came after those that match, so a scan
    from the newest would skip many in vain.
    """

    def __init__(self, *values: Any) -> None:
        self.values: list[Any] = list(values)
        self.where = ""
        self.is_frequent = False
        self.is_old = False

    def bind(self, value: Any) -> str:
        """Add a value and return its placeholder."""
        self.values.append(value)
        return f"${len(self.values)}"

    def add_condition(self, piece: str, value: Any) -> None:
        """Add a condition; it is false for a value that no row can have."""
        self.where += " AND " + (piece.replace("?", self.bind(value)) if is_storable(value) else NEVER)


def add_lead_conditions(wanted: LeadFilter, statement: Statement) -> None:
    """Add the conditions of a filter of leads, whose `fulltext` is a tsquery here."""
    fields = asdict(wanted)
    _add_visible_condition(statement, "data", fields.pop("visible"))
    _add_token_condition(statement, "data", fields.pop("token_value"))
    calls = fields.pop("completed_calls")
    if calls is not None:
        statement.where += f" AND {COMPLETED} AND least(outbound_calls_count, 2) = {2 if calls > 1 else 1}"
    _add_conditions(statement, LEAD_PIECES, LEAD_FLAGS, fields)


def add_call_conditions(wanted: CallFilter, statement: Statement) -> None:
    """Add the conditions of a filter of calls, whose `fulltext` is a tsquery here."""
    fields = asdict(wanted)
    _add_visible_condition(statement, "token_values", fields.pop("visible"))
    _add_token_condition(statement, "token_values", fields.pop("token_value"))
    if wanted.ended_to is not None and wanted.created_to is None:
        # A call ends after its creation, up to clock skew: this bound lets an index on creation serve an old span.
        statement.add_condition("created_at < ?", to_datetime(wanted.ended_to + DAY))
    _add_conditions(statement, CALL_PIECES, CALL_FLAGS, fields)


def add_record_conditions(wanted: RecordFilter, statement: Statement) -> None:
    """Add the conditions of a filter of account records."""
    _add_conditions(statement, RECORD_PIECES, {}, asdict(wanted))


def add_impression_conditions(wanted: ImpressionFilter, statement: Statement) -> None:
    """Add the conditions of a filter of impressions."""
    _add_conditions(statement, IMPRESSION_PIECES, {}, asdict(wanted))


def add_audit_log_conditions(wanted: AuditLogFilter, statement: Statement) -> None:
    """Add the conditions of a filter of the audit log."""
    _add_conditions(statement, AUDIT_LOG_PIECES, {}, asdict(wanted))


def add_agent_status_conditions(wanted: AgentStatusFilter, statement: Statement) -> None:
    """Add the conditions of a filter of the log of agent statuses."""
    _add_conditions(statement, AGENT_STATUS_PIECES, {}, asdict(wanted))


def add_manual_fire_conditions(wanted: ManualFireFilter, statement: Statement) -> None:
    """Add the conditions of a filter of webhooks that were fired by hand."""
    _add_conditions(statement, MANUAL_FIRE_PIECES, {}, asdict(wanted))


def add_contact_conditions(wanted: ContactFilter, statement: Statement) -> None:
    """Add the conditions of a filter of contacts."""
    _add_conditions(statement, CONTACT_PIECES, CONTACT_FLAGS, asdict(wanted))


def add_conversion_conditions(wanted: ConversionFilter, statement: Statement) -> None:
    """Add the conditions of a filter of conversions."""
    fields = asdict(wanted)
    visible = fields.pop("visible")
    _add_conditions(statement, CONVERSION_PIECES, {"taken_back": "taken_back"}, fields)
    if visible is not None:
        of_lead = f"{LEAD_OF_CONVERSION} AND {_fits_any(statement, 's.data', visible, 's.')})"
        of_call = f"{CALL_OF_CONVERSION} AND {_fits_any(statement, 's.token_values', visible, 's.')})"
        statement.where += f" AND CASE WHEN c.call_id IS NULL THEN {of_lead} ELSE {of_call} END"


def add_callback_conditions(wanted: CallbackFilter, statement: Statement) -> None:
    """Add the conditions of a filter of callbacks."""
    fields = asdict(wanted)
    visible = fields.pop("visible")
    del fields["overdue_before"]  # of sums
    _add_conditions(statement, CALLBACK_PIECES, {}, fields)
    if visible is not None:
        statement.where += f" AND {LEAD_OF_CALLBACK} AND {_fits_any(statement, 's.data', visible, 's.')})"


def add_kept_submission_conditions(wanted: KeptSubmissionFilter, statement: Statement) -> None:
    """Add the conditions of a filter of submissions that are kept beside leads."""
    fields = asdict(wanted)
    visible = fields.pop("visible")
    _add_conditions(statement, KEPT_SUBMISSION_PIECES, {}, fields)
    if visible is not None:
        statement.where += f" AND {LEAD_OF_SUBMISSION} AND {_fits_any(statement, 's.data', visible, 's.')})"


def add_webhook_log_conditions(wanted: WebhookLogFilter, statement: Statement) -> None:
    """Add the conditions of a filter of attempts to post outgoing webhooks."""
    _add_conditions(statement, WEBHOOK_LOG_PIECES, {"accepted": "accepted"}, asdict(wanted))


def add_suppression_conditions(wanted: SuppressionFilter, statement: Statement) -> None:
    """Add the conditions of a filter of the entries of a suppression list."""
    _add_conditions(statement, SUPPRESSION_PIECES, {}, asdict(wanted))


def add_lead_bulk_job_conditions(wanted: LeadBulkJobFilter, statement: Statement) -> None:
    """Add the conditions of a filter of bulk jobs."""
    _add_conditions(statement, LEAD_BULK_JOB_PIECES, {}, asdict(wanted))


def add_lead_bulk_result_conditions(wanted: LeadBulkResultFilter, statement: Statement) -> None:
    """Add the conditions of a filter of the leads of a bulk job."""
    _add_conditions(statement, LEAD_BULK_RESULT_PIECES, {}, asdict(wanted))


def add_lead_import_conditions(wanted: LeadImportFilter, statement: Statement) -> None:
    """Add the conditions of a filter of imports of uploaded files."""
    _add_conditions(statement, LEAD_IMPORT_PIECES, {"dry_run": "dry_run"}, asdict(wanted))


def add_lead_import_error_conditions(wanted: LeadImportErrorFilter, statement: Statement) -> None:
    """Add the condition that an error is of one import."""
    _add_conditions(statement, LEAD_IMPORT_ERROR_PIECES, {}, asdict(wanted))


def add_delivery_conditions(wanted: DeliveryFilter, statement: Statement) -> None:
    """Add the conditions of a filter of deliveries to subscriptions."""
    _add_conditions(statement, DELIVERY_PIECES, {}, asdict(wanted))


def is_storable(value: Any) -> bool:
    """Return whether a column can store a value at all."""
    if isinstance(value, str):
        return "\0" not in value and _is_encodable(value)
    if isinstance(value, int):
        return abs(value) <= BIGINT_MAX
    return all(is_storable(item) for item in value) if isinstance(value, list | tuple) else True


def token_texts(value: str) -> list[str]:
    """Return what a token that is shown as `value` may be in a column: `jsonb` writes a number without its exponent."""
    return [value, format(Decimal(value), "f")] if EXPONENTIAL.fullmatch(value) else [value]


def tag_query(key: str, value: str | None = None) -> str:
    """Return the tsquery of the calls with a token, as `keep_call_words` of the read schema marks them."""
    tags = [key] if value is None else [f"{key}:{text}" for text in token_texts(value)]
    either = " | ".join(_quoted(f"={tag[:TAG_LENGTH]}") for tag in tags)
    return f"({either})"


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _add_visible_condition(statement: Statement, tokens: str, visible: Sequence[LeadFilters] | None) -> None:
    """Add that a row fits one of the filters of teams."""
    if visible is not None:
        statement.where += f" AND {_fits_any(statement, tokens, visible)}"


def _fits_any(statement: Statement, tokens: str, visible: Sequence[LeadFilters], prefix: str = "") -> str:
    fitting = [_fits(statement, tokens, one, prefix) for one in visible]
    return f"({' OR '.join(fitting) or NEVER})"


def _fits(statement: Statement, tokens: str, wanted: LeadFilters, prefix: str) -> str:
    listed = {
        "offer_id": wanted.offer_ids,
        "schedule_id": wanted.schedule_ids,
        "buyer_id": wanted.buyer_ids,
        "traffic_source_id": wanted.traffic_source_ids,
    }
    pieces = [f"{prefix}{name} = ANY ({statement.bind(ids)}::bigint[])" for name, ids in listed.items() if ids]
    pieces += [_holds_token(statement, tokens, token.key, token.value) for token in wanted.token_filters]
    return f"({' AND '.join(pieces)})"


def _holds_token(statement: Statement, tokens: str, key: str, value: str) -> str:
    texts = statement.bind(token_texts(value))
    return f"{tokens} ->> {statement.bind(key)}::text = ANY ({texts}::text[])"


def _add_token_condition(statement: Statement, column: str, token: tuple[str, str] | None) -> None:
    if token is not None and is_storable(list(token)):
        statement.where += f" AND {_holds_token(statement, column, *token)}"
    elif token is not None:
        statement.where += f" AND {NEVER}"


def _add_conditions(
    statement: Statement, pieces: Mapping[str, str], flags: Mapping[str, str], fields: Mapping[str, Any]
) -> None:
    for name, value in fields.items():
        if value is None:
            continue
        if name in flags:
            # Not compared with a parameter: partial indexes are only used for the bare column.
            statement.where += f" AND {flags[name]}" if value else f" AND NOT {flags[name]}"
        else:
            statement.add_condition(pieces[name], to_datetime(value) if name in INSTANTS else value)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
