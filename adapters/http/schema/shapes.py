"""Which schema has each answer? JSON Schemas for the OpenAPI document.

Records have the types of their msgspec structs, leads and calls those of their columns.
"""

from collections.abc import Mapping
from typing import Any, get_args

from adapters.gateway.signing import SIGNED_TYPES
from adapters.http.schema.inputs import INPUTS, Schema, ref
from adapters.http.schema.record_descriptions import sentence_of
from engine.submission.fields import INTEGER_MAX
from engine.views.agent_event import COLUMNS as AGENT_EVENT_TABLE
from engine.views.agent_status_timestamp import COLUMNS as AGENT_STATUS_TIMESTAMP_TABLE
from engine.views.audit_log import COLUMNS as AUDIT_LOG_TABLE
from engine.views.call import COLUMNS as CALL_TABLE
from engine.views.circuit import COLUMNS as CIRCUIT_TABLE
from engine.views.circuit import STATES as CIRCUIT_STATES
from engine.views.contact import COLUMNS as CONTACT_TABLE
from engine.views.contact import REVIEW_COLUMNS, SUPPRESSION_COLUMNS
from engine.views.conversion import COLUMNS as CONVERSION_TABLES
from engine.views.delivery import COLUMNS as DELIVERY_TABLE
from engine.views.delivery import STATES as DELIVERY_STATES
from engine.views.impression import COLUMNS as IMPRESSION_TABLE
from engine.views.kept_submission import COLUMNS as KEPT_SUBMISSION_TABLE
from engine.views.lead_bulk_job import ACTIONS as BULK_ACTIONS
from engine.views.lead_bulk_job import COLUMNS as LEAD_BULK_JOB_TABLE
from engine.views.lead_bulk_job import RESULT_COLUMNS as LEAD_BULK_RESULT_TABLE
from engine.views.lead_bulk_job import RESULT_STATES as BULK_RESULT_STATES
from engine.views.lead_bulk_job import STATES as BULK_STATES
from engine.views.lead_columns import COLUMNS as LEAD_TABLE
from engine.views.lead_import import COLUMNS as LEAD_IMPORT_TABLE
from engine.views.lead_import import ERROR_COLUMNS as LEAD_IMPORT_ERROR_TABLE
from engine.views.manual_fire import COLUMNS as MANUAL_FIRE_TABLE
from engine.views.record import FLEET_TYPE, MADE_ONCE, RECORD_INSTANTS, TYPE_NAMES, record_columns
from engine.views.scheduled_callback import COLUMNS as CALLBACK_TABLE
from engine.views.unblock_job import JOB_STATES
from engine.views.webhook_log import COLUMNS as WEBHOOK_LOG_TABLE
from schemas.contact import LeadStatus
from schemas.documents import schema_components
from schemas.records import RECORD_BODIES, called


def nullable(*types: str, **more: Any) -> Schema:
    """Return the schema of a value that may be null."""
    return {"type": [*types, "null"], **more}


MOMENT_SHOWN = nullable("string", format="date-time")
ID_SHOWN: Schema = {"type": "integer", "minimum": 1, "maximum": INTEGER_MAX}
COUNT_SHOWN: Schema = {"type": "integer", "minimum": 0}
UUID_SHOWN: Schema = {"type": "string", "format": "uuid"}

_CELLS: Mapping[str, Schema] = {
    "integer": nullable("integer"),
    "number": nullable("number"),
    "string": nullable("string"),
    "boolean": {"type": "boolean"},
    "object": {"type": "object"},
    "date-time": MOMENT_SHOWN,
    "uuid": UUID_SHOWN,
}
"""Type of a column -> its schema."""

LEAD_TYPES: Mapping[str, Schema] = {
    **{column.name: {"type": "number"} if column.type == "number" else _CELLS[column.type] for column in LEAD_TABLE},
    "id": ID_SHOWN,
    "type": {"type": "string", "const": "Lead"},
    "status": {"type": "string", "enum": list(get_args(LeadStatus))},
}
"""Column of a lead -> its schema. In a lead of `/leads/new`, id, uuid and paths are null."""

CALL_TYPES: Mapping[str, Schema] = {column.name: _CELLS[column.type] for column in CALL_TABLE}
"""Column of a call -> its schema."""

KEPT_SUBMISSION_TYPES: Mapping[str, Schema] = {column.name: _CELLS[column.type] for column in KEPT_SUBMISSION_TABLE}
CALLBACK_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in CALLBACK_TABLE},
    **dict.fromkeys(("id", "lead_id"), ID_SHOWN),
}
"""Column of a scheduled callback -> its schema."""

IMPRESSION_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in IMPRESSION_TABLE},
    "id": ID_SHOWN,
}
"""Column of an impression -> its schema."""

CONVERSION_TYPES: Mapping[str, Mapping[str, Schema]] = {
    side: {**{column.name: _CELLS[column.type] for column in table}, "id": ID_SHOWN}
    for side, table in CONVERSION_TABLES.items()
}
"""Side -> column of a conversion -> its schema."""

MANUAL_FIRE_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in MANUAL_FIRE_TABLE if column.type != "array"},
    "id": ID_SHOWN,
    "webhook_log_ids": {"type": "array", "items": ID_SHOWN},
}
"""Column of a webhook that was fired by hand -> its schema."""

_MOMENTS_SHOWN: Schema = {"type": "object", "additionalProperties": MOMENT_SHOWN}
CONTACT_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in CONTACT_TABLE if column.type != "array"},
    "id": ID_SHOWN,
    "time_zones": {"type": "array", "items": {"type": "string"}},
    **{name: {"type": "array", "items": ID_SHOWN} for name in ("lead_ids", "call_ids", "suppression_list_ids")},
    **dict.fromkeys(("opt_outs", "disabled_until"), _MOMENTS_SHOWN),
}
"""Column of a contact -> its schema."""

SUPPRESSION_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in SUPPRESSION_COLUMNS},
    "id": ID_SHOWN,
}
"""Column of an entry of a suppression list -> its schema."""

REVIEW_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in REVIEW_COLUMNS},
    "id": ID_SHOWN,
}
"""Column of a text that waits for a review -> its schema."""

SUPPRESSION_BATCH: Schema = {
    "type": "object",
    "required": ["accepted_count", "decided_count", "not_found_count", "refused_count"],
    "properties": dict.fromkeys(("accepted_count", "decided_count", "not_found_count", "refused_count"), COUNT_SHOWN),
}

SUPPRESSION_IMPORT: Schema = {
    "type": "object",
    "required": ["lines_count", "bad_lines_count", *SUPPRESSION_BATCH["required"], "errors"],
    "properties": {
        **dict.fromkeys(("lines_count", "bad_lines_count"), COUNT_SHOWN),
        **SUPPRESSION_BATCH["properties"],
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["line", "field", "problem"],
                "properties": {
                    "line": {"type": "integer", "minimum": 1},
                    **{name: {"type": "string"} for name in ("field", "problem")},
                },
            },
        },
    },
}

_CONTACT_FACT: Schema = {
    "type": "object",
    "required": ["at", "type", "lead_id", "data"],
    "properties": {
        "at": MOMENT_SHOWN,
        "type": {"type": "string"},
        "lead_id": nullable("integer"),
        "data": {"type": "object"},
    },
}
_CONTACT_DETAIL: Mapping[str, Schema] = {
    **CONTACT_TYPES,
    "history": {"type": "array", "items": _CONTACT_FACT, "description": "what was decided about the contact, newest first"},
}

WEBHOOK_LOG_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in WEBHOOK_LOG_TABLE},
    "id": ID_SHOWN,
}
"""Column of an attempt to post an outgoing webhook -> its schema."""

CIRCUIT_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in CIRCUIT_TABLE},
    **{f"{name}_count": COUNT_SHOWN for name in ("failure", "waiting", "gateway")},
    "state": {"type": "string", "enum": list(CIRCUIT_STATES)},
}
"""Column of a circuit -> its schema."""

LEAD_BULK_JOB_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in LEAD_BULK_JOB_TABLE},
    **{f"{name}_count": COUNT_SHOWN for name in ("done", "refused", "unknown")},
    "action": {"type": "string", "enum": list(BULK_ACTIONS)},
    "state": {"type": "string", "enum": list(BULK_STATES)},
}
LEAD_BULK_RESULT_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in LEAD_BULK_RESULT_TABLE},
    "id": ID_SHOWN,
    "state": {"type": "string", "enum": list(BULK_RESULT_STATES)},
}
"""Column of a bulk job, or of what came of one of its leads -> its schema."""

LEAD_IMPORT_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in LEAD_IMPORT_TABLE},
    "id": ID_SHOWN,
    **dict.fromkeys(("file_bytes", "line"), COUNT_SHOWN),
    **{f"{name}_count": COUNT_SHOWN for name in ("good", "refused", "waiting", "decided", "rejected", "unknown")},
    "columns": {"type": "object", "additionalProperties": nullable("string")},
    "state": {"type": "string", "enum": list(BULK_STATES)},
}
LEAD_IMPORT_ERROR_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in LEAD_IMPORT_ERROR_TABLE},
    "id": ID_SHOWN,
}
"""Column of an import, or of what is wrong with a line of it -> its schema."""

DELIVERY_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in DELIVERY_TABLE},
    **dict.fromkeys(("id", "subscription_id"), ID_SHOWN),
    "state": {"type": "string", "enum": list(DELIVERY_STATES)},
}
"""Column of a delivery to a subscription -> its schema."""

_ATTEMPT: Schema = {
    "type": "object",
    "required": ["number", "at", "milliseconds", "status", "detail"],
    "properties": {
        "number": {"type": "integer", "minimum": 1},
        "at": MOMENT_SHOWN,
        "milliseconds": COUNT_SHOWN,
        "status": nullable("integer"),
        "detail": {"type": "string"},
    },
}
_DELIVERY_DETAIL: Mapping[str, Schema] = {
    **DELIVERY_TYPES,
    "body": {"type": "string", "description": "the JSON that is signed and sent"},
    "attempts_log": {"type": "array", "items": _ATTEMPT, "description": "the attempts, newest first"},
}
REPLAY: Schema = {
    "type": "object",
    "required": ["subscription_id", "replayed_count"],
    "properties": {"subscription_id": ID_SHOWN, "replayed_count": COUNT_SHOWN},
}

HEARTBEAT: Schema = {
    "type": "object",
    "required": ["collaborator_id", "offline_after_seconds"],
    "properties": {"collaborator_id": ID_SHOWN, "offline_after_seconds": {"type": "integer", "minimum": 1}},
}

AUDIT_LOG_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in AUDIT_LOG_TABLE if column.name != "fields"},
    "id": ID_SHOWN,
    "fields": {"type": ["array", "null"], "items": {"type": "string"}},
}
"""Column of an entry of the audit log -> its schema."""

AGENT_STATUS_TIMESTAMP_TYPES: Mapping[str, Schema] = {
    **{column.name: _CELLS[column.type] for column in AGENT_STATUS_TIMESTAMP_TABLE},
    **dict.fromkeys(("id", "company_id", "collaborator_id"), ID_SHOWN),
}
"""Column of an entry in the log of agent statuses -> its schema."""

AGENT_EVENT_TYPES: Mapping[str, Schema] = {
    **{column.name: {**_CELLS[column.type], "description": column.rule} for column in AGENT_EVENT_TABLE},
    "id": ID_SHOWN,
}
"""Member of an event of an agent -> its schema."""

_BASE_TYPES: Mapping[str, Schema] = {
    "id": ID_SHOWN,
    "legacy_id": {"type": "null"},
    "uuid": UUID_SHOWN,
    "routes_show_path": {"type": "string"},
    "routes_edit_path": {"type": "string"},
    "company_id": ID_SHOWN,
    "version": {"type": "integer", "minimum": 1},
    "external_record_id": nullable("string"),
    **dict.fromkeys(("created_at", "updated_at", "deleted_at", "user_updated_at"), MOMENT_SHOWN),
    "buyers_count": {"type": "integer"},
    "concurrency_cap_used": {"type": "integer"},
    "maxed_out": {"type": "boolean"},
    "epc": nullable("number"),
    "epc_calls_count": COUNT_SHOWN,
    "user_id": nullable("integer"),
    "state": {"type": "string", "enum": list(JOB_STATES)},
    **dict.fromkeys(("unblock_count", "failed_count"), COUNT_SHOWN),
    "succeeded_at": MOMENT_SHOWN,
    "status_changed_at": MOMENT_SHOWN,
    "agent_status_id": nullable("integer"),
    "agent_status_key": nullable("string"),
    "agent_widget_id": nullable("integer"),
    "agent_widget_count": COUNT_SHOWN,
    **dict.fromkeys(("waiting_count", "dropped_count"), COUNT_SHOWN),
    **dict.fromkeys(("last_delivered_at", "failing_since", "disabled_at", "dropped_since"), MOMENT_SHOWN),
    "disabled_reason": nullable("string"),
    **{
        name: {"type": "boolean"}
        for name in ("has_password", "has_second_factor", "has_sign_in_client_secret", "has_form_secret")
    },
    "secret_names": {"type": "array", "items": {"type": "string"}},
    "holds": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "number_id": ID_SHOWN,
                "visitor_id": nullable("string"),
                "impression_uuid": nullable("string"),
                "held_until": MOMENT_SHOWN,
            },
        },
    },
}


def components() -> dict[str, Any]:
    """Return every named schema of the document."""
    structs = schema_components(RECORD_BODIES.values(), "#/components/schemas/{name}")[1]
    records = {view_name(kind): _record(kind, structs) for kind in RECORD_BODIES}
    shown = {
        "Lead": lead(),
        "Call": columned("A call", CALL_TYPES),
        "Impression": columned("An impression", IMPRESSION_TYPES),
        "KeptSubmission": columned("A submission without a key that waits beside its lead", KEPT_SUBMISSION_TYPES),
        "ScheduledCallback": columned("A call that is promised", CALLBACK_TYPES),
        "BuyerConversion": columned("A conversion of a buyer", CONVERSION_TYPES["buyer"]),
        "OfferConversion": columned("A conversion of an offer", CONVERSION_TYPES["offer"]),
        "LeadBulkJob": columned("A bulk job", LEAD_BULK_JOB_TYPES),
        "LeadBulkResult": columned("What came of a lead of a bulk job", LEAD_BULK_RESULT_TYPES),
        "LeadImport": columned("An import of an uploaded file", LEAD_IMPORT_TYPES),
        "LeadImportError": columned("What is wrong with a line of an import", LEAD_IMPORT_ERROR_TYPES),
        "WebhookLog": columned("An attempt to post an outgoing webhook", WEBHOOK_LOG_TYPES),
        "Circuit": columned("An endpoint that is spared now", CIRCUIT_TYPES),
        "WebhookManualFire": columned("A webhook fired by hand", MANUAL_FIRE_TYPES),
        "NewWebhookManualFire": _unborn(columned("A webhook fired by hand", MANUAL_FIRE_TYPES)),
        "Contact": columned("A contact", CONTACT_TYPES),
        "ContactWithHistory": columned("A contact with its history", _CONTACT_DETAIL),
        "OptOutReview": columned("A text that may be an opt-out", REVIEW_TYPES),
        "SuppressionEntry": columned("An entry of a suppression list", SUPPRESSION_TYPES),
        "SuppressionBatch": SUPPRESSION_BATCH,
        "SuppressionImport": SUPPRESSION_IMPORT,
        "Delivery": columned("A delivery to a subscription", DELIVERY_TYPES),
        "DeliveryWithAttempts": columned("A delivery with what it sends and its attempts", _DELIVERY_DETAIL),
        "Replay": REPLAY,
        "AuditLog": columned("An entry of the audit log", AUDIT_LOG_TYPES),
        "AgentStatusTimestamp": columned("An entry in the log of agent statuses", AGENT_STATUS_TIMESTAMP_TYPES),
        "AgentEvent": columned("An event of an agent", AGENT_EVENT_TYPES),
        "NewLead": _unborn(lead()),
        "TokenAccepted": TOKEN_ACCEPTED,
        "Paging": PAGING,
        "Accepted": ACCEPTED,
    }
    return {**INPUTS, **shown, **structs, **records, **_unborn_records(records)}


def lead() -> Schema:
    """Return the schema of a lead; a list or `columns` may show only some of its columns."""
    return columned("A lead", LEAD_TYPES)


def columned(title: str, properties: Mapping[str, Schema]) -> dict[str, Any]:
    """Return the schema of a record from which `columns` may select: nothing is required, nothing else is allowed."""
    return {"title": title, "type": "object", "properties": dict(properties), "additionalProperties": False}


def view_name(record_type: str) -> str:
    """Return the schema name of a record as it is shown."""
    return f"{TYPE_NAMES[record_type]}Record"


def one_of(root: str, shown: Schema | str, **more: Schema) -> Schema:
    """Return the schema of an answer with one record, bare with `root=false`."""
    record = ref(shown) if isinstance(shown, str) else shown
    return {"anyOf": [_envelope(root, record, more), record]}


def many_of(root: str, shown: Schema | str) -> Schema:
    """Return the schema of an answer with a list, bare with `root=false`."""
    rows = {"type": "array", "items": ref(shown) if isinstance(shown, str) else shown}
    return {"anyOf": [_envelope(root, rows, {}, ref("Paging")), rows]}


def _envelope(root: str, record: Schema, more: Mapping[str, Schema], metadata: Schema | None = None) -> Schema:
    return {
        "type": "object",
        "required": ["status", "errors", root, "metadata"],
        "properties": {
            "status": {"type": "integer"},
            "errors": {"type": "object", "maxProperties": 0},
            root: record,
            **more,
            "metadata": metadata or {"type": "object", "properties": {"root": {"type": "string", "const": root}}},
        },
    }


PAGING: Schema = {
    "title": "Paging of a list",
    "type": "object",
    "required": ["root", "per_page", "next_cursor"],
    "properties": {
        "root": {"type": "string"},
        "page": {"type": "integer"},
        "per_page": {"type": "integer"},
        "total_count": nullable("integer", description="exact to 10,000, null beyond"),
        "total_pages": nullable("integer"),
        "next_cursor": nullable("integer", description="with cursor: send it next; 0 at the end"),
    },
}

ACCEPTED: Schema = {
    "title": "Stored, not decided or not shown yet",
    "type": "object",
    "required": ["status", "request"],
    "properties": {
        "status": {"type": "integer", "const": 202},
        "errors": {"type": "object"},
        "request": {
            "type": "object",
            "required": ["id", "path"],
            "properties": {"id": UUID_SHOWN, "path": {"type": "string"}},
        },
        "metadata": {"type": "object"},
    },
}

LEAD_ANSWER: Schema = one_of(
    "lead",
    "Lead",
    created={"type": "boolean"},
    dedupe_action=nullable("string", description="what was done with existing leads"),
    schedule_id=nullable("integer"),
    next_action_at=MOMENT_SHOWN,
    svc_number_plain=nullable("string"),
    sms_number_plain=nullable("string"),
    request_id={"type": "string"},
    warnings={"type": "array", "items": {"type": "string"}},
    lead_ids={"type": "array", "items": {"type": "integer"}},
)
"""Answer to every change of a lead with a key."""

TOKEN_ACCEPTED: Schema = {
    "title": "Answer to a sender with a lead token and no key, which says nothing of who is stored",
    "type": "object",
    "required": ["status"],
    "properties": {
        "status": {"type": "string", "const": "accepted"},
        "svc_number_plain": nullable("string"),
        "sms_number_plain": nullable("string"),
        "warnings": {"type": "array", "items": {"type": "string"}},
    },
    "additionalProperties": False,
}

TOKEN_ANSWER: Schema = {"anyOf": [*LEAD_ANSWER["anyOf"], ref("TokenAccepted")]}
"""Answer where a lead token suffices: the lead with a key, else that the request was accepted."""


ANY_RECORD: Schema = {
    "description": "the answer that the request itself would have had",
    "anyOf": [
        {
            "type": "object",
            "required": ["status", "metadata"],
            "properties": {"status": {"type": "integer"}, "errors": {"type": "object"}, "metadata": {"type": "object"}},
        },
        {"type": "object"},
    ],
}

_TIME_ZONES: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["name", "iana"],
        "properties": {"name": {"type": "string"}, "iana": {"type": "string"}},
    },
}
TIME_ZONES: Schema = {
    "anyOf": [
        {
            "type": "object",
            "required": ["status", "time_zones"],
            "properties": {"status": {"type": "integer"}, "time_zones": _TIME_ZONES},
        },
        _TIME_ZONES,
    ]
}


WARNINGS: Schema = {
    "type": "array",
    "items": {"type": "string"},
    "description": "what to know about the record although it is valid, such as a country whose law is not kept; left out "
    "where there is nothing",
}


COUNTED_MAX = 100_000
"""Most live leads that an answer counts: a tenth of a second. Where there are more, the counts are null."""

READ_SCHEMA = "read_schema"
"""From what these counts are: the projection, as it was when the request came."""

_FROM: Mapping[str, Any] = {
    "type": "string",
    "const": READ_SCHEMA,
    "description": "the counts are those of the lists of leads at the time of the request; the leads follow by and by",
}
_COUNT = nullable("integer", description=f"null: more than {COUNTED_MAX:,}, or your teams hide leads of the company")

_ENDS: Schema = {
    "type": "object",
    "description": "what the deletion ends: of a schedule the live leads on it, of an offer those that run no schedule",
    "properties": {"live_leads_count": _COUNT, "scheduled_callbacks_count": _COUNT, "counted_from": _FROM},
}
_STAYING: Schema = {
    "type": "object",
    "properties": {
        "step_id": {"type": "string"},
        "live_leads_count": {"type": "integer"},
        "reason": {"type": "string", "const": "step_gone", "description": "the new version has no step of this id"},
    },
}
_MIGRATION: Schema = {
    "type": "object",
    "description": "with migrate=by_step_id: who goes over to the new version, and who stays on an earlier one",
    "properties": {
        "live_leads_count": _COUNT,
        "staying_count": _COUNT,
        "staying": {"type": "array", "items": _STAYING},
        "counted_from": _FROM,
    },
}

WARNED_TYPES = frozenset({"company", "offer", "schedule"})
"""Types of records about which there may be something to know although they are valid."""

_SAID: Mapping[str, Mapping[str, Schema]] = {
    "company": {"warnings": WARNINGS},
    "offer": {"warnings": WARNINGS, "ends": _ENDS},
    "schedule": {"warnings": WARNINGS, "migration": _MIGRATION, "ends": _ENDS},
}
"""Type of record -> what answers say beside it, where there is something to say."""


def record_answer(record_type: str, root: str, *, unborn: bool = False) -> Schema:
    """Return the schema of an answer with one account record, and what is said beside it."""
    more = {} if unborn else _SAID.get(record_type, {})
    return one_of(root, ("New" if unborn else "") + view_name(record_type), **more)


def _record(record_type: str, structs: Mapping[str, Any]) -> dict[str, Any]:
    own: Mapping[str, Any] = structs[RECORD_BODIES[record_type].__name__]["properties"]
    found: dict[str, Schema] = {}
    for name in record_columns(record_type):
        if name in RECORD_INSTANTS:
            found[name] = MOMENT_SHOWN
        elif name == "routes_edit_path" and record_type in MADE_ONCE:
            found[name] = {"type": "null"}
        elif name == "type":
            found[name] = {"type": "string", "const": TYPE_NAMES[record_type]}
        elif name in own:
            found[name] = _without_default(own[name])
        else:
            found[name] = _BASE_TYPES.get(name, nullable("number"))
    if record_type == FLEET_TYPE:
        found["buyer_ids"] = {"type": "array", "items": ID_SHOWN}
    found |= {"private_key": {"type": "string"}} if record_type == "api_key" else {}
    found |= {"signing_secret": {"type": "string"}} if record_type in {"offer", "schedule"} else {}
    found |= {"secret": {"type": "string"}} if record_type in SIGNED_TYPES else {}
    found |= {"callback_url": nullable("string")} if record_type == "provider_configuration" else {}
    found = {name: {**schema, "description": sentence_of(record_type, name)} for name, schema in found.items()}
    return columned(called(record_type).replace("a", "A", 1), found)


def _without_default(schema: Schema) -> Schema:
    return {name: value for name, value in schema.items() if name != "default"}


def _unborn(schema: Schema) -> dict[str, Any]:
    """Return the schema of an unsaved record: fields that its creation sets are null."""
    properties = {name: {"anyOf": [shown, {"type": "null"}]} for name, shown in schema["properties"].items()}
    return {**schema, "title": f"{schema['title']} that does not exist, with the defaults", "properties": properties}


def _unborn_records(records: Mapping[str, Schema]) -> dict[str, Any]:
    return {f"New{name}": _unborn(schema) for name, schema in records.items()}
