"""Which type has each field that is sent, and what does each answer hold? JSON Schemas for the OpenAPI document.

A field has the same type wherever it is sent, so there is one table by name; a row of `OPERATIONS` overrides it where it
means something else there. Record bodies come from their msgspec structs.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from engine.submission.fields import INTEGER_MAX, TEXT_LENGTH_MAX
from engine.views.lead_columns import LEAD_COLUMNS
from engine.views.record import RECORD_INSTANTS, TYPE_NAMES, record_columns
from schemas.contact import LeadStatus
from schemas.records import RECORD_BODIES

Schema = Mapping[str, Any]

DIGITS = f"^[+-]?[0-9]{{1,{len(str(INTEGER_MAX)) - 1}}}$"

INPUTS: Mapping[str, Schema] = {
    "BooleanInput": {
        "description": "1, true, yes, on, 0, false, no, off, in any case",
        "anyOf": [
            {"type": "boolean"},
            {"enum": [0, 1]},
            {"type": "string", "enum": ["1", "true", "yes", "on", "0", "false", "no", "off"]},
        ],
    },
    "MomentInput": {
        "description": "`YYYY-MM-DD HH:MM:SS +ZZZZ` or RFC 3339",
        "type": "string",
        "examples": ["2026-03-07 21:30:00 -0500", "2026-03-08T02:30:00Z"],
    },
    "WholeNumberInput": {
        "description": "a whole number, as a number or as text",
        "anyOf": [{"type": "integer"}, {"type": "string", "pattern": DIGITS}],
    },
    "DecimalInput": {
        "description": "a decimal number, as a number or as text",
        "anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[+-]?[0-9]{1,15}(\.[0-9]{1,9})?$"}],
    },
    "IdInput": {
        "description": "an internal id",
        "anyOf": [{"type": "integer", "minimum": 1, "maximum": INTEGER_MAX}, {"type": "string", "pattern": "^[0-9]{1,15}$"}],
    },
    "IdsInput": {
        "description": "internal ids: an array, or text with commas",
        "anyOf": [{"type": "array", "items": {"$ref": "#/components/schemas/IdInput"}}, {"type": "string"}],
    },
    "WordsInput": {
        "description": "an array, or text with commas",
        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}],
    },
    "PhoneInput": {
        "description": "a telephone number such as +13055550123; a national one is of the offer's country",
        "anyOf": [{"type": "string"}, {"type": "integer"}],
    },
    "TextInput": {"anyOf": [{"type": "string", "maxLength": TEXT_LENGTH_MAX}, {"type": "number"}]},
    "EmailInput": {"type": "string", "description": "an e-mail address"},
    "ZoneInput": {
        "description": "an IANA name or a Rails name of `/api/v1/collections/time_zone`",
        "type": "string",
        "examples": ["America/New_York", "Eastern Time (US & Canada)"],
    },
    "TokensInput": {
        "description": "an object of at most 200 tokens, or its JSON as text",
        "anyOf": [{"type": "object", "additionalProperties": True}, {"type": "string"}],
    },
}
"""What a sender may write. Blank (empty text, null) means left out, wherever a field is optional."""


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def choice(options: Iterable[str]) -> Schema:
    """Return the schema of one of a few words, blank being left out."""
    return {"type": "string", "enum": list(options)}


BOOLEAN, MOMENT, WHOLE, DECIMAL = _ref("BooleanInput"), _ref("MomentInput"), _ref("WholeNumberInput"), _ref("DecimalInput")
ID, IDS, WORDS = _ref("IdInput"), _ref("IdsInput"), _ref("WordsInput")
PHONE, TEXT, EMAIL, ZONE, TOKENS = (
    _ref("PhoneInput"), _ref("TextInput"), _ref("EmailInput"), _ref("ZoneInput"), _ref("TokensInput")
)  # fmt: skip

_NAMES: Mapping[str, Schema] = {
    """
    blocked opt_out unblock_contact update_all_matching_leads assign_svc_number assign_trackdrive_number assign_sms_number
    expire_existing delete_existing update_only restart_schedule auto_format_nested_fields schedule_start schedule_stop
    buyer_converted offer_converted either_converted has_next_action root paused rotate_lead_token rotate_secret
    offer_repeat_caller buyer_repeat_caller in_progress placed_on_hold has_recording buyer_conversion_duplicated_call
    offer_conversion_duplicated_call no_buyer manual_transcribe reset_total_caps force connected
    """: BOOLEAN,
    """
    schedule_callback_at next_action_at created_at_from created_at_to next_action_at_from next_action_at_to ended_at_from
    ended_at_to at expires_at revoked_at updated_at_from updated_at_to
    """: MOMENT,
    "page per_page cursor hours_to_expire max_contact_attempts schedule_callback_in_seconds call_timeframe limit": WHOLE,
    "lead_priority revenue add_revenue payout add_payout": DECIMAL,
    """
    offer_id schedule_id traffic_source_id buyer_id contact_id move_to_another_schedule_id lead_id number_id ring_pool_id
    provider_configuration_id call_disposition_id id outgoing_webhook_id buyer_group_id
    """: ID,
    "ids buyer_group_ids buyer_ids fire_outgoing_webhook_ids": IDS,
    "columns": WORDS,
    "caller_id from to number": PHONE,
    "email": EMAIL,
    "time_zone": ZONE,
    "data post_call_tokens": TOKENS,
    """
    lead_token offer_token country state_province zip_postal_code full_name name sub_id external_record_id remote_ip
    contact_field_type fulltext status status_wait order token_key token_value digits agent_call_disposition_notes
    svc_buyer_id svc_traffic_source_id category pivot group_by stat serializer created_at_label apply_to reason
    """: TEXT,
    "order_dir": choice(("desc", "asc")),
}

PARAMETERS: Mapping[str, Schema] = {name: schema for names, schema in _NAMES.items() for name in names.split()}
"""Field -> its type."""


def nullable(*types: str, **more: Any) -> Schema:
    """Return the schema of a value that may be null."""
    return {"type": [*types, "null"], **more}


MOMENT_SHOWN = nullable("string", format="date-time")
ID_SHOWN: Schema = {"type": "integer", "minimum": 1, "maximum": INTEGER_MAX}
UUID_SHOWN: Schema = {"type": "string", "format": "uuid"}

_LEAD_NAMES: Mapping[str, Schema] = {
    "id": ID_SHOWN,
    "uuid": UUID_SHOWN,
    "type": {"type": "string", "const": "Lead"},
    """
    created_at updated_at deleted_at user_updated_at last_action_at first_action_at first_queued_at schedule_ended_at
    next_action_at last_call_at expires_at planned_at requested_next_action_at callback_at
    """: MOMENT_SHOWN,
    """
    routes_show_path routes_edit_path external_record_id context_menu_name name caller_id email full_name
    contact_field_type country state_province zip_postal_code time_zone sub_id remote_ip schedule_trigger_type status_wait
    svc_number sms_number svc_number_plain sms_number_plain human_status css_status
    """: nullable("string"),
    """
    legacy_id expires_in offer_id schedule_id traffic_source_id buyer_id lead_import_id attempted_call_id
    connected_call_id scheduled_callback_id call_buyer_conversion_id call_offer_conversion_id sms_number_id dial_number_id
    dial_tier schedule_version recent_call_disposition_id
    """: nullable("integer"),
    "revenue payout lead_priority": {"type": "number"},
    "outbound_calls_count sms_count emails_count inbound_calls_count": nullable("integer"),
    "status": {"type": "string", "enum": list(LeadStatus.__args__)},  # type: ignore[attr-defined]
    "has_next_action opt_out offer_converted buyer_converted is_live blocked": {"type": "boolean"},
    "data": {"type": "object"},
}
LEAD_TYPES: Mapping[str, Schema] = {name: schema for names, schema in _LEAD_NAMES.items() for name in names.split()}
"""Column of a lead -> its type. Of a lead that is only built (`/leads/new`), id, uuid and paths are null."""

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
}


def components() -> dict[str, Any]:
    """Return every named schema of the document."""
    structs = msgspec.json.schema_components(RECORD_BODIES.values(), ref_template="#/components/schemas/{name}")[1]
    records = {view_name(kind): _record(kind, structs) for kind in RECORD_BODIES}
    shown = {"Lead": lead(), "NewLead": _unborn(lead()), "TokenLead": TOKEN_LEAD, "Paging": PAGING, "Accepted": ACCEPTED}
    return {**INPUTS, **shown, **structs, **records, **_unborn_records(records)}


def lead() -> Schema:
    """Return the schema of a lead; a list or `columns` may show a part of it."""
    return columned("A lead", {name: LEAD_TYPES.get(name, {}) for name in LEAD_COLUMNS})


def columned(title: str, properties: Mapping[str, Schema]) -> dict[str, Any]:
    """Return the schema of a record of which `columns` may choose: nothing is required, nothing else is there."""
    return {"title": title, "type": "object", "properties": dict(properties), "additionalProperties": False}


def view_name(record_type: str) -> str:
    """Return what a record as it is shown is called in the document."""
    return f"{TYPE_NAMES[record_type]}Record"


def one_of(root: str, shown: Schema | str, **more: Schema) -> Schema:
    """Return the schema of an answer with one record, bare where `root=false`."""
    record = _ref(shown) if isinstance(shown, str) else shown
    return {"anyOf": [_envelope(root, record, more), record]}


def many_of(root: str, shown: Schema | str) -> Schema:
    """Return the schema of an answer with a list, bare where `root=false`."""
    rows = {"type": "array", "items": _ref(shown) if isinstance(shown, str) else shown}
    return {"anyOf": [_envelope(root, rows, {}, _ref("Paging")), rows]}


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
    "title": "Where a page is in its list",
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
    {"anyOf": [_ref("Lead"), _ref("TokenLead")]},
    created={"type": "boolean"},
    dedupe_action=nullable("string", description="what was done with leads that were there"),
    schedule_id=nullable("integer"),
    next_action_at=MOMENT_SHOWN,
    svc_number_plain=nullable("string"),
    sms_number_plain=nullable("string"),
    request_id={"type": "string"},
    warnings={"type": "array", "items": {"type": "string"}},
    lead_ids={"type": "array", "items": {"type": "integer"}},
)
"""Of every change of a lead: the lead, or with a lead token and no key the little that its sender is told."""

TOKEN_LEAD: Schema = {
    "title": "What the sender with a lead token and no key is told",
    "type": "object",
    "properties": {
        **{name: LEAD_TYPES[name] for name in ("id", "uuid", "status", "schedule_id", "next_action_at")},
        "created": {"type": "boolean"},
        "dedupe_action": nullable("string"),
        "svc_number_plain": nullable("string"),
        "sms_number_plain": nullable("string"),
    },
    "additionalProperties": False,
}


ANY_RECORD: Schema = {
    "description": "what the request itself would have been answered with",
    "type": "object",
    "required": ["status", "metadata"],
    "properties": {"status": {"type": "integer"}, "errors": {"type": "object"}, "metadata": {"type": "object"}},
}

TIME_ZONES: Schema = {
    "type": "object",
    "required": ["status", "time_zones"],
    "properties": {
        "status": {"type": "integer"},
        "time_zones": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "iana"],
                "properties": {"name": {"type": "string"}, "iana": {"type": "string"}},
            },
        },
    },
}


def record_answer(record_type: str, root: str, *, unborn: bool = False) -> Schema:
    """Return the schema of an answer with one account record."""
    return one_of(root, ("New" if unborn else "") + view_name(record_type))


def record_inputs(record_type: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the schema of each field that a sender may set of a record."""
    own = RECORD_BODIES[record_type].__struct_fields__
    struct = RECORD_BODIES[record_type].__name__
    return {name: _input(struct, name) if name in own else _INPUTS_BESIDE.get(name, DECIMAL_OR_NULL) for name in names}


DECIMAL_OR_NULL: Schema = {"anyOf": [DECIMAL, {"type": "null"}]}
"""Of a cap: null takes it away."""

_INPUTS_BESIDE: Mapping[str, Schema] = {
    "add_buyer_ids": IDS,
    "remove_buyer_ids": IDS,
    "add_user_buyer_ids": WORDS,
    "remove_user_buyer_ids": WORDS,
    "reset_total_caps": BOOLEAN,
    "draft": BOOLEAN,
}


def _input(struct: str, name: str) -> Schema:
    return MOMENT if name in RECORD_INSTANTS else {"$ref": f"#/components/schemas/{struct}/properties/{name}"}


def _record(record_type: str, structs: Mapping[str, Any]) -> dict[str, Any]:
    own: Mapping[str, Any] = structs[RECORD_BODIES[record_type].__name__]["properties"]
    found: dict[str, Schema] = {}
    for name in record_columns(record_type):
        if name in RECORD_INSTANTS:
            found[name] = MOMENT_SHOWN
        elif name == "type":
            found[name] = {"type": "string", "const": TYPE_NAMES[record_type]}
        elif name in own:
            found[name] = _without_default(own[name])
        else:
            found[name] = _BASE_TYPES.get(name, nullable("number"))
    found |= {"private_key": {"type": "string"}} if record_type == "api_key" else {}
    found |= {"secret": {"type": "string"}} if record_type == "outgoing_webhook" else {}
    return columned(f"A {record_type.replace('_', ' ')}", found)


def _without_default(schema: Schema) -> Schema:
    return {name: value for name, value in schema.items() if name != "default"}


def _unborn(schema: Schema) -> dict[str, Any]:
    """Return the schema of a record that is only built: whatever follows from its creation is null."""
    properties = {name: {"anyOf": [shown, {"type": "null"}]} for name, shown in schema["properties"].items()}
    return {**schema, "title": f"{schema['title']} that does not exist, with the defaults", "properties": properties}


def _unborn_records(records: Mapping[str, Schema]) -> dict[str, Any]:
    return {f"New{name}": _unborn(schema) for name, schema in records.items()}
