"""Which type has each request field? JSON Schemas for the OpenAPI document.

A field has the same type in every operation, so there is one table by name; a row of `OPERATIONS` overrides it. Fields of
account records have the types of their msgspec structs, refined here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from adapters.http.exchange.answers import CURSOR_PER_PAGE_MAX
from adapters.http.exchange.passwords import PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN
from adapters.http.schema.record_descriptions import sentence_of
from engine.account import teams, values
from engine.account.contact_fields import FIELDS_MAX, LABEL_LENGTH_MAX, OPTIONS_MAX, SCRIPT_LENGTH_MAX
from engine.account.groups import CAP_MAX
from engine.account.issuers import CLIENT_ID_LENGTH_MAX, ISSUER_LENGTH_MAX, NAME_LENGTH_MAX
from engine.account.provider_configurations import FALLBACK_ORDER_MAX, SETTINGS_MAX
from engine.account.public_fields import DIAL_COUNTRIES_MAX, PUBLIC_UPDATES_MAX
from engine.account.ring_pools import GRACE_SECONDS_MAX, HOLD_SECONDS
from engine.account.values import GRACE_MINUTES_MAX
from engine.calendar.rails_names import RAILS_NAMES
from engine.calendar.windows import WINDOW_ROWS_MAX
from engine.calendar.zone_words import WINDOWS_NAMES, place_names
from engine.contact.schedule.filters import FILTER_LENGTH_MAX
from engine.submission.columns import ZIP_LENGTH_MAX
from engine.submission.consents import TEXT_LENGTH_MAX as CONSENT_LENGTH_MAX
from engine.submission.consents import URL_LENGTH_MAX
from engine.submission.fields import EMAIL_LENGTH_MAX, INTEGER_MAX, TEXT_LENGTH_MAX
from engine.submission.normalise import CONTACT_ATTEMPTS_MAX, HOURS_TO_EXPIRE_MAX
from engine.submission.numbers import NUMBER_LENGTH_MAX, REGIONS
from engine.submission.public_rights import PUBLIC_PARAMETERS
from engine.submission.reading import AHEAD_MAX, TOKEN_NAME_LENGTH_MAX, TOKENS_MAX
from engine.subscriptions.events import EVENT_NAMES
from engine.views.hidden_fields import HIDEABLE
from engine.views.record import RECORD_INSTANTS
from schemas.contact import LeadStatus
from schemas.instant import SECOND
from schemas.law import SECTORS
from schemas.money import AMOUNT_DIGITS, AMOUNT_MAX
from schemas.records import PUBLIC_CONTACTS_MAX, RECORD_BODIES, ContactFieldKind
from schemas.schedule import Day

Schema = Mapping[str, Any]

_YEAR = "(19[7-9][0-9]|2[01][0-9]{2})"
_DAY = "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
_DATE = f"{_YEAR}-{_DAY}"
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_OFFSET = "(Z| ?[+-](0[0-9]|1[0-3]):?[0-5][0-9])"


def whole(least: int, most: int) -> dict[str, Any]:
    """Return the schema of a whole number within its bounds, as a number or as text.

    The pattern of the text is stricter than the parser: it allows one digit less than the bound has.
    """
    number = {"type": "integer", "minimum": least, "maximum": most}
    longest = len(str(most)) - 1
    if least > 1 or not longest:
        return {"anyOf": [number, {"type": "string", "enum": [str(least), str(most)]}]}
    return {"anyOf": [number, {"type": "string", "pattern": f"^[1-9][0-9]{{0,{longest - 1}}}$"}]}


def text(most: int, *, least: int = 0) -> dict[str, Any]:
    """Return the schema of text of at most so many characters, with `least` 1 a visible one among them; a number is text."""
    visible = {"minLength": 1, "pattern": "[!-~]"} if least else {}
    return {"anyOf": [{"type": "string", "maxLength": most, **visible}, {"type": "number"}]}


def decimal(least: float, most: float, digits: int = 9) -> dict[str, Any]:
    """Return the schema of a decimal number within its bounds, as a number or as text of at most so many decimals."""
    sign = "[+-]?" if least < 0 else "[+]?"
    pattern = f"^{sign}[0-9]{{1,{len(str(int(most))) - 1}}}([.][0-9]{{1,{digits}}})?$"
    return {"anyOf": [{"type": "number", "minimum": least, "maximum": most}, {"type": "string", "pattern": pattern}]}


NOTES_LENGTH_MAX = 4_000
"""Longest note of an agent about a call."""

TOKEN_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": TOKEN_NAME_LENGTH_MAX, "pattern": "[!-~]"}

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
        "pattern": f"^{_DATE}[T ]{_TIME}{_OFFSET}$",
        "examples": ["2026-03-07 21:30:00 -0500", "2026-03-08T02:30:00Z"],
    },
    "LocalMomentInput": {
        "description": "`YYYY-MM-DD HH:MM:SS +ZZZZ` or RFC 3339; without an offset, or as a date alone, in `time_zone`",
        "type": "string",
        "pattern": f"^{_DATE}([T ]{_TIME}{_OFFSET}?)?$",
        "examples": ["2026-03-07 21:30:00 -0500", "2026-03-07"],
    },
    "DecimalInput": {
        "description": "a decimal number, as a number or as text",
        **decimal(-AMOUNT_MAX, AMOUNT_MAX),
    },
    "AmountInput": {
        "description": f"an amount of money, also below nothing, as a number or as text; at most {AMOUNT_DIGITS} decimals",
        **decimal(-AMOUNT_MAX, AMOUNT_MAX, AMOUNT_DIGITS),
    },
    "MoneyInput": {
        "description": f"an amount of money, as a number or as text; at most {AMOUNT_DIGITS} decimals",
        **decimal(0, AMOUNT_MAX, AMOUNT_DIGITS),
    },
    "CapInput": {
        "description": "a cap, as a number or as text. Calls under way may pass one on conversions or revenue; promised "
        "calls and calls by hand one of a number",
        **decimal(0, CAP_MAX, AMOUNT_DIGITS),
    },
    "ReferenceInput": {
        "description": "an internal id or a uuid",
        "anyOf": [*whole(1, INTEGER_MAX)["anyOf"], {"type": "string", "format": "uuid"}],
    },
    "IdInput": {"description": "an internal id", **whole(1, INTEGER_MAX)},
    "IdsInput": {
        "description": "internal ids: an array, or text with commas",
        "anyOf": [
            {"type": "array", "items": {"$ref": "#/components/schemas/IdInput"}, "maxItems": values.REFERENCES_MAX},
            {"type": "string", "pattern": "^[1-9][0-9]{0,14}(,[1-9][0-9]{0,14}){0,99}$"},
        ],
    },
    "WordsInput": {
        "description": "an array, or text with commas",
        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}],
    },
    "PhoneInput": {
        "description": "a telephone number such as +13055550123; a national one is of the offer's country",
        "anyOf": [
            {"type": "string", "minLength": 1, "maxLength": NUMBER_LENGTH_MAX, "pattern": "[0-9]"},
            {"type": "integer"},
        ],
    },
    "TextInput": {"anyOf": [{"type": "string", "maxLength": TEXT_LENGTH_MAX}, {"type": "number"}]},
    "EmailInput": {
        "description": "an e-mail address",
        "type": "string",
        "maxLength": EMAIL_LENGTH_MAX,
        "pattern": "^[A-Za-z0-9_-]{1,64}([.+][A-Za-z0-9_-]+)*@([A-Za-z0-9]{1,63}[.])+[A-Za-z]{2,63}$",
    },
    "LeadTokenInput": {
        "description": "the lead token of an offer or a schedule: an unknown one is answered with 404",
        "type": "string",
        "minLength": 1,
        "maxLength": TEXT_LENGTH_MAX,
        "pattern": "[A-Za-z0-9_-]",
    },
    "CountryInput": {"description": "a country as two letters", "type": "string", "enum": sorted(REGIONS)},
    "ZoneInput": {
        "description": "an IANA, Rails or Windows name of `/api/v1/collections/time_zone`, in any case",
        "type": "string",
        "enum": list(dict.fromkeys((*place_names(), *sorted(RAILS_NAMES), *sorted(WINDOWS_NAMES)))),
        "examples": ["America/New_York", "Eastern Time (US & Canada)"],
    },
    "AddressInput": {
        "description": "an IP address",
        "anyOf": [{"type": "string", "format": "ipv4"}, {"type": "string", "format": "ipv6"}],
    },
    "TokensInput": {
        "description": "an object of tokens; in a form `data[name]=…`, or its JSON as text",
        "type": "object",
        "propertyNames": TOKEN_NAME,
        "maxProperties": TOKENS_MAX,
    },
}
"""Types of request fields. Blank (empty text, null) means left out wherever a field is optional."""


def ref(name: str) -> Schema:
    """Return a reference to a named schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def choice(options: Iterable[str]) -> Schema:
    """Return the schema of an enumeration; blank means left out."""
    return {"type": "string", "enum": list(options)}


BOOLEAN, MOMENT, DECIMAL = ref("BooleanInput"), ref("MomentInput"), ref("DecimalInput")
LOCAL_MOMENT, LEAD_TOKEN, COUNTRY = ref("LocalMomentInput"), ref("LeadTokenInput"), ref("CountryInput")
MONEY, REFERENCE = ref("MoneyInput"), ref("ReferenceInput")
ID, IDS, WORDS = ref("IdInput"), ref("IdsInput"), ref("WordsInput")
PHONE, TEXT, EMAIL, ZONE, TOKENS = (
    ref("PhoneInput"), ref("TextInput"), ref("EmailInput"), ref("ZoneInput"), ref("TokensInput")
)  # fmt: skip

_NAMES: Mapping[str, Schema] = {
    """
    blocked opt_out unblock_contact update_all_matching_leads assign_svc_number svc_assign_number assign_trackdrive_number
    assign_sms_number
    expire_existing delete_existing update_only restart_schedule auto_format_nested_fields schedule_start schedule_stop
    buyer_converted offer_converted either_converted has_next_action has_invalid_fields
    is_test root paused rotate_lead_token rotate_secret
    remove_second_factor remove_identity rotate_signing_secret remove_signing_secret
    rotate_callback_url
    offer_repeat_caller buyer_repeat_caller in_progress placed_on_hold has_recording buyer_conversion_duplicated_call
    offer_conversion_duplicated_call no_buyer manual_transcribe reset_total_caps force connected
    resume_on_unblock keep_callback hangup_live opted_out suppressed
    """: BOOLEAN,
    """
    created_at_from created_at_to next_action_at_from next_action_at_to ended_at_from ended_at_to updated_at_from
    updated_at_to at due_before recorded_at_from recorded_at_to promised_at_from promised_at_to
    """: LOCAL_MOMENT,
    "schedule_callback_at next_action_at expires_at revoked_at unpause_at": MOMENT,
    "page": whole(1, INTEGER_MAX),
    "per_page": whole(1, CURSOR_PER_PAGE_MAX),
    "cursor": {"anyOf": [{"type": "integer", "minimum": -1, "maximum": INTEGER_MAX}, {"type": "string", "pattern": "^-1$"}]},
    "hours_to_expire": whole(1, HOURS_TO_EXPIRE_MAX),
    "max_contact_attempts": whole(1, CONTACT_ATTEMPTS_MAX),
    "callback_grace_minutes callback_team_grace_minutes": whole(0, GRACE_MINUTES_MAX),
    "schedule_callback_in_seconds": whole(0, AHEAD_MAX // SECOND),
    "lead_priority": DECIMAL,
    "revenue payout add_revenue add_payout": ref("AmountInput"),
    """
    callback_buyer_id callback_buyer_group_id callback_agent_id
    offer_id schedule_id traffic_source_id buyer_id contact_id move_to_another_schedule_id lead_id number_id ring_pool_id
    provider_configuration_id call_disposition_id recent_call_disposition_id id outgoing_webhook_id
    buyer_group_id lead_import_id agent_id
    """: ID,
    "ids buyer_group_ids buyer_ids fire_outgoing_webhook_ids": IDS,
    "columns states": WORDS,
    "caller_id from to number": PHONE,
    "email": EMAIL,
    "remote_ip": ref("AddressInput"),
    "zip_postal_code": text(ZIP_LENGTH_MAX),
    "agent_call_disposition_notes": text(NOTES_LENGTH_MAX),
    "country": COUNTRY,
    "lead_token offer_token": LEAD_TOKEN,
    "time_zone": ZONE,
    "data post_call_tokens": TOKENS,
    """
    state_province full_name name sub_id external_record_id
    contact_field_type fulltext status_wait order token_key token_value tag digits
    svc_buyer_id svc_traffic_source_id category pivot group_by stat serializer created_at_label apply_to reason
    """: TEXT,
    "form_signature form_signed_at form_nonce form_signed_fields": {"type": "string"},
    "order_dir": choice(("desc", "asc")),
    "status": choice(get_args(LeadStatus)),
}

PARAMETERS: Mapping[str, Schema] = {name: schema for names, schema in _NAMES.items() for name in names.split()}
"""Field -> its type."""


def record_inputs(record_type: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the schema of each field that a sender may set of a record."""
    own = RECORD_BODIES[record_type].__struct_fields__
    struct = RECORD_BODIES[record_type].__name__
    types = {name: _input(struct, name) if name in own else _INPUTS_BESIDE.get(name, DECIMAL_OR_NULL) for name in names}
    return {name: {**schema, "description": sentence_of(record_type, name)} for name, schema in types.items()}


DECIMAL_OR_NULL: Schema = {"anyOf": [ref("CapInput"), {"type": "null"}]}
"""Of a cap: null removes it."""

PASSWORD: Schema = {
    "type": "string",
    "minLength": PASSWORD_LENGTH_MIN,
    "maxLength": PASSWORD_LENGTH_MAX,
    "pattern": "^[!-~]*$",
}
GIVEN_PASSWORD: Schema = {"type": "string", "minLength": 1, "maxLength": PASSWORD_LENGTH_MAX, "pattern": "[!-~]"}
"""A password that is compared, not chosen: it may be older than the rules for new ones."""

_SETTING_NAME = "^[a-z][a-z0-9_]{0,63}$"


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [*schema.get("anyOf", [schema]), {"type": "null"}]}


_INPUTS_BESIDE: Mapping[str, Schema] = {
    "add_buyer_ids": IDS,
    "remove_buyer_ids": IDS,
    "add_user_buyer_ids": WORDS,
    "remove_user_buyer_ids": WORDS,
    "reset_total_caps": BOOLEAN,
    "generate_team": BOOLEAN,
    "team_users_emails": {"type": "array", "maxItems": teams.MEMBERS_MAX, "items": {"type": "string", "allOf": [EMAIL]}},
    "team_offer_ids": IDS,
    "draft": BOOLEAN,
    "password": PASSWORD,
    "sign_in_client_secret": _or_null(text(TEXT_LENGTH_MAX)),
    "secrets": _or_null(
        {
            "type": "object",
            "propertyNames": {"pattern": _SETTING_NAME},
            "additionalProperties": {"type": ["string", "null"], "maxLength": 8_000},
        }
    ),
}


_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]"
_BUSINESS_HOURS: Schema = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["days", "open", "close"],
        "properties": {
            "days": {"type": "array", "minItems": 1, "items": {"enum": list(get_args(Day))}},
            "open": {"type": "string", "pattern": f"^{_CLOCK}$"},
            "close": {"type": "string", "pattern": f"^({_CLOCK}|24:00)$", "description": "not that of `open`"},
        },
    },
    "maxItems": WINDOW_ROWS_MAX,
}

_NAMED_BY_ID = RECORD_BODIES.keys() - {"company"}
"""Models of which a team may reach some: leads and calls are chosen by lead_filters, a company has one record."""


def _permission(model: str, actions: Sequence[str]) -> Schema:
    """Return the schema of what a team may do with records of a model; of account records it may name some by id."""
    scope = {"anyOf": [choice(("all",)), {**IDS, "minItems": 1}]} if model in _NAMED_BY_ID else choice(("all",))
    hidden = {name: choice(teams.FIELD_MODES) for name in sorted(HIDEABLE.get(model, ()))}
    fields = {"type": "object", "properties": hidden, "additionalProperties": False}
    return {
        "type": "object",
        "required": ["actions"],
        "properties": {
            "actions": {"type": "array", "minItems": 1, "items": choice(actions)},
            "scope": scope,
            "fields": fields,
        },
        "additionalProperties": False,
    }


LEAD_MAP: Schema = {"$ref": "#/components/schemas/TrafficSource/properties/lead_map"}

_RECORD_INPUTS: Mapping[str, Schema] = {
    "name": text(TEXT_LENGTH_MAX, least=1),
    "description": _or_null(text(values.DESCRIPTION_LENGTH_MAX)),
    "time_zone": ZONE,
    "country": COUNTRY,
    **dict.fromkeys(
        (
            *("paused", "require_auth", "voice", "sms", "end_steps_may_contact", "real_time_priority", "is_final"),
            *("counts_as_contact", "sets_opt_out", "sets_suppression", "requires_callback_time", "allow_auth_token"),
            "is_refusal",
            "confirm_links",
            *("confirm_all", "superuser", "sign_in_required"),
        ),
        BOOLEAN,
    ),
    **dict.fromkeys(
        (
            *("offer_id", "action_group_id", "call_center_id", "agent_status_id", "default_number_id"),
            "suppression_list_id",
        ),
        _or_null(ID),
    ),
    "hold_seconds": whole(*HOLD_SECONDS),
    "grace_seconds": whole(0, GRACE_SECONDS_MAX),
    **dict.fromkeys(("buyer_ids", "buyer_group_ids", "agent_ids", "call_center_ids", "number_ids"), IDS),
    "provider": {"type": "string", "pattern": _SETTING_NAME, "examples": ["twilio"]},
    "settings": _or_null(
        {
            "type": "object",
            "maxProperties": SETTINGS_MAX,
            "propertyNames": {"pattern": _SETTING_NAME},
            "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
        }
    ),
    "fallback_order": whole(0, FALLBACK_ORDER_MAX),
    "content": text(values.DESCRIPTION_LENGTH_MAX),
    "buyer_fleet_ids": {**IDS, "maxItems": values.FLEETS_MAX},
    "suppression_list_ids": {**IDS, "maxItems": values.SUPPRESSION_LISTS_MAX},
    "schedule_ids": {**IDS, "maxItems": values.REFERENCES_MAX},
    "script": _or_null(text(SCRIPT_LENGTH_MAX)),
    "fields": {
        "type": "array",
        "maxItems": FIELDS_MAX,
        "items": {
            "type": "object",
            "required": ["key"],
            "properties": {
                "key": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,62}$"},
                "label": _or_null(text(LABEL_LENGTH_MAX)),
                "kind": choice(get_args(ContactFieldKind)),
                "options": {"type": "array", "maxItems": OPTIONS_MAX, "items": text(LABEL_LENGTH_MAX)},
            },
            "additionalProperties": False,
        },
    },
    "first_date": {"type": "string", "format": "date"},
    "last_date": _or_null({"type": "string", "format": "date"}),
    "dtmf_tones": _or_null({"type": "string", "pattern": f"^[0-9*#A-Da-dwW]{{1,{values.DTMF_TONES_MAX}}}$"}),
    "filters": _or_null(
        {
            "type": "array",
            "maxItems": values.BUYER_FILTERS_MAX,
            "items": {"type": "string", "maxLength": FILTER_LENGTH_MAX},
            "examples": [["state:FL|GA", "loan:>=5000"]],
        }
    ),
    "user_fleet_id": {"type": "string", "pattern": "^[a-z0-9_]{1,64}$"},
    **dict.fromkeys(
        (
            *("user_buyer_id", "user_traffic_source_id", "external_record_id", "first_name", "last_name"),
            "company_name",
        ),
        _or_null(text(TEXT_LENGTH_MAX)),
    ),
    "last_contact_id": _or_null(text(values.CONTACT_ID_LENGTH_MAX)),
    "request_ip": _or_null(
        {"anyOf": [{"type": "string", "format": "ipv4"}, {"type": "string", "format": "ipv6"}], "examples": ["192.0.2.7"]}
    ),
    "optout_confirmation": _or_null(text(values.CONFIRMATION_LENGTH_MAX)),
    "help_answer": _or_null(text(values.CONFIRMATION_LENGTH_MAX)),
    "no_buyer_message": _or_null(text(values.NO_BUYER_MESSAGE_LENGTH_MAX)),
    "business_hours": _BUSINESS_HOURS,
    "hours_to_expire": _or_null(whole(1, HOURS_TO_EXPIRE_MAX)),
    "max_contact_attempts": _or_null(whole(1, CONTACT_ATTEMPTS_MAX)),
    "retry_max": _or_null(whole(0, CONTACT_ATTEMPTS_MAX)),
    "close_margin_seconds": whole(0, values.CLOSE_MARGIN_SECONDS_MAX),
    "jitter_seconds": whole(0, values.JITTER_SECONDS_MAX),
    "priority_aging": {"type": "number", "minimum": 0, "maximum": values.AGING_MAX},
    "timeout_seconds": whole(*values.TIMEOUT_SECONDS),
    "dial_buyers_type": choice(("sequentially", "simultaneously")),
    "route_by_type": choice(("tier", "revenue", "epc")),
    "bid_price": _or_null({"type": "number", "minimum": 0, "maximum": values.BID_PRICE_MAX}),
    "recording_retention_days": whole(1, values.RECORDING_RETENTION_DAYS_MAX),
    **dict.fromkeys(("callback_grace_minutes", "callback_team_grace_minutes"), whole(0, GRACE_MINUTES_MAX)),
    "wrap_up_seconds": _or_null(whole(1, values.WRAP_UP_SECONDS_MAX)),
    "spacing_seconds": whole(0, values.SPACING_SECONDS_MAX),
    "tier": whole(-values.TIER_MAX, values.TIER_MAX),
    "weight": whole(0, values.WEIGHT_MAX),
    "concurrency_cap_limit": _or_null(whole(0, values.CONCURRENCY_MAX)),
    "sortable_order": _or_null(whole(0, values.TIER_MAX)),
    "retry_delay_seconds": _or_null(whole(0, values.RETRY_SECONDS_MAX)),
    "code": _or_null(
        {
            "anyOf": [
                {"type": "string", "pattern": "^[A-Za-z0-9_]{1,16}$"},
                {"type": "integer", "minimum": 0, "maximum": 10**9},
            ]
        }
    ),
    "number": {
        "description": "a telephone number as +13055550123; of a buyer also sip:…",
        "type": "string",
        "pattern": "[0-9]",
    },
    "url": {
        "type": "string",
        "maxLength": values.URL_LENGTH_MAX,
        "pattern": "^https?://[a-z0-9]{1,30}([.][a-z0-9]{1,30})*(/[!-~]*)?$",
    },
    "sign_in_issuer": _or_null(
        {
            "type": "string",
            "maxLength": ISSUER_LENGTH_MAX,
            "pattern": "^https://[a-z0-9.-]{1,100}(:[0-9]{1,4})?(/[A-Za-z0-9._/-]*)?$",
        }
    ),
    "sign_in_client_id": _or_null({"type": "string", "maxLength": CLIENT_ID_LENGTH_MAX, "pattern": "^[!-~]*$"}),
    "sign_in_name": _or_null(text(NAME_LENGTH_MAX)),
    "sign_in_email_domain": _or_null({"type": "string", "pattern": "^([a-z0-9]{1,30}[.]){1,5}[a-z]{2,30}$"}),
    "headers": {
        "type": "object",
        "maxProperties": values.HEADERS_MAX,
        "propertyNames": {"pattern": "^[Xx]-[A-Za-z0-9-]{1,50}$"},
        "additionalProperties": {"type": "string", "maxLength": values.HEADER_LENGTH_MAX, "pattern": "^[!-~]*$"},
    },
    "body_template": _or_null({"type": "string", "maxLength": values.BODY_TEMPLATE_LENGTH_MAX}),
    "scopes": {
        "anyOf": [
            {
                "type": "array",
                "items": {"type": "string", "pattern": r"^([*]|[a-z_]{1,40}(:[a-z_]{1,40})?)$"},
                "minItems": 1,
                "maxItems": values.SCOPES_MAX,
            },
            {"type": "string", "pattern": "^([*]|[a-z_]{1,40}(:[a-z_]{1,40})?)$"},
        ]
    },
    "user_email": _or_null(EMAIL),
    "email": EMAIL,
    "users_emails": {
        "type": "array",
        "items": {"type": "string", "allOf": [EMAIL]},
        "maxItems": teams.MEMBERS_MAX,
    },
    "permissions": {
        "type": "object",
        "properties": {model: _permission(model, actions) for model, actions in teams.PERMISSIONS.items()},
        "additionalProperties": False,
        "examples": [{"lead": {"actions": ["read", "update"]}, "buyer": {"actions": ["read"], "scope": "all"}}],
    },
    "events": {"type": "array", "minItems": 1, "items": choice(EVENT_NAMES)},
    "trigger_fields": _or_null(
        {
            "type": "object",
            "properties": {
                **dict.fromkeys(("offer_id", "schedule_id", "traffic_source_id", "buyer_id", "number_id"), _or_null(ID)),
                **dict.fromkeys(("buyer_converted", "offer_converted"), _or_null(BOOLEAN)),
            },
            "additionalProperties": False,
            "examples": [{"offer_id": 70003, "buyer_converted": True}],
        }
    ),
    "lead_filters": _or_null(
        {
            "type": "object",
            "minProperties": 1,
            "properties": {
                **{
                    name: {**IDS, "minItems": 1} for name in ("offer_ids", "schedule_ids", "buyer_ids", "traffic_source_ids")
                },
                "token_filters": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": teams.TOKEN_FILTERS_MAX,
                    "items": {
                        "type": "object",
                        "required": ["key", "value"],
                        "properties": {name: text(TEXT_LENGTH_MAX, least=1) for name in ("key", "value")},
                        "additionalProperties": False,
                    },
                },
            },
            "additionalProperties": False,
        }
    ),
    "ip_allow_list": {
        "description": "addresses and networks from which the key is taken",
        "type": "array",
        "items": {
            "type": "string",
            "description": "an IP address, or a network by its first address and the length of its prefix",
        },
        "maxItems": values.NETWORKS_MAX,
        "examples": [["192.0.2.0/24", "2001:db8::7"]],
    },
    "public_parameters": {"type": "array", "items": choice(PUBLIC_PARAMETERS), "maxItems": len(PUBLIC_PARAMETERS)},
    "public_updates": {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": TEXT_LENGTH_MAX},
        "maxItems": PUBLIC_UPDATES_MAX,
    },
    "dial_countries": {"type": "array", "items": COUNTRY, "maxItems": DIAL_COUNTRIES_MAX},
    "sector": _or_null(choice(SECTORS)),
    "consent_text": _or_null(text(CONSENT_LENGTH_MAX)),
    "consent_url": _or_null({**text(URL_LENGTH_MAX), "pattern": "^https?://"}),
    "public_contacts": whole(0, PUBLIC_CONTACTS_MAX),
    "origins": {
        "type": "array",
        "items": {"type": "string", "pattern": f"^{values.ORIGIN_PATTERN}$"},
        "maxItems": values.ORIGINS_MAX,
        "examples": [["https://www.example.com"]],
    },
}
"""Types that the account accepts (`engine.account.values`) and the struct does not express."""


def _input(struct: str, name: str) -> Schema:
    if name in RECORD_INSTANTS:
        return _or_null(MOMENT)
    return _RECORD_INPUTS.get(name) or {"$ref": f"#/components/schemas/{struct}/properties/{name}"}
