"""Which of the sent fields go into the request to the account? Those that a sender may set, as JSON values.

The account validates their values (engine/account). A read-only field may be sent back unchanged, so a record that was
read can be sent back; a changed one, and an unknown field, are refused by name.
"""

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from adapters.body_fields import LIST_FIELDS, PATH_LENGTH_MAX
from adapters.http.exchange.binding import FIELDS_SHOWN_MAX
from adapters.http.exchange.exchange import Exchange
from adapters.http.exchange.passwords import BODY_ONLY, HASH_OF_NO_PASSWORD, parse_password
from adapters.http.exchange.people import country_of
from adapters.http.exchange.problems import ProblemError
from engine.account.bodies import read_body
from engine.account.did_you_mean import did_you_mean
from engine.account.groups import CAP_FIELDS, CAP_INPUTS_OF, GROUP_INPUTS
from engine.account.publishing import PUBLISH_INPUTS, WRITTEN_BY_PUBLISHING
from engine.partition.draft import RefusedError
from engine.submission.fields import INTEGER_MAX, FieldError, is_blank, parse_integer, parse_moment, parse_text
from engine.submission.numbers import find_number
from engine.views.record import RECORD_INSTANTS, counted_columns
from schemas.records import RECORD_BODIES, ActionGroup, Body, called

Faults = dict[str, list[str]]

NAMED_MAX = 5
"""Most fields that the sentence of a problem names; `errors` has all."""

SIGNING_SECRET = ("sealed_signing_secret", "has_form_secret", "signing_secret")
"""Names of the secret that signs forms with a lead token: stored, shown, and shown once."""

GIVEN_BY_US: Mapping[str, frozenset[str]] = {
    "company": frozenset({"sealed_sign_in_secret", "has_sign_in_client_secret"}),
    "offer": frozenset({"lead_token", *SIGNING_SECRET}),
    "schedule": frozenset({"lead_token", *SIGNING_SECRET, *WRITTEN_BY_PUBLISHING}),
    "api_key": frozenset({"public_key", "private_key_sha256"}),
    "call_disposition": frozenset({"system"}),
    "outgoing_webhook": frozenset({"secret_generation", "secret"}),
    "subscription": frozenset({"secret_generation", "secret_rotated_at", "secret"}),
    "user": frozenset(
        {
            *("password_hash", "second_factor_salt", "has_password", "has_second_factor"),
            *("invitation_sha256", "invitation_expires_at", "identity_issuer", "identity_sha256"),
        }
    ),
    "provider_configuration": frozenset({"sealed_secrets", "callback_generation", "callback_url"}),
    "buyer": CAP_FIELDS,
    "buyer_group": frozenset({*CAP_FIELDS, "paused_at", "unpaused_at", "paused_by_user_id"}),
    "traffic_source": CAP_FIELDS,
    "number": CAP_FIELDS,
    "unblock_contact_job": frozenset({"user_id", "contact_partitions"}),
    "contact_hold": frozenset({"user_id", "request_id"}),
    "agent_message": frozenset({"user_id"}),
}
"""Read-only fields; a record shows those of them that are no hashes."""

ACTIONS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("offer", "schedule"), ("rotate_lead_token", "rotate_signing_secret", "remove_signing_secret")),
    **dict.fromkeys(("outgoing_webhook", "subscription"), ("rotate_secret",)),
    "user": ("remove_second_factor", "remove_identity"),
    "provider_configuration": ("rotate_callback_url",),
}
"""Booleans that request a new token or secret, or that one is removed."""

_LISTS = LIST_FIELDS - {"columns", "fire_outgoing_webhook_ids", "ids", "states"}
"""Lists of records. In a form or query: comma-separated, or JSON as in an export."""

_STRUCTURES = frozenset(
    {
        "steps", "end_steps", "triggers", "windows", "headers", "pauses", "min_spacing", "rules", "holiday_sets", "on_reply",
        "on_inbound_connected", "on_conversion", "business_hours", "permissions", "lead_filters", "trigger_fields",
        "settings", "secrets", "fields",
    }
)  # fmt: skip
"""In a form, as JSON."""

_OURS = frozenset({"auth_token", "root", "columns"})


def settable(record_type: str) -> tuple[str, ...]:
    """Return the fields that a sender may set."""
    given = GIVEN_BY_US.get(record_type, frozenset())
    own = (name for name in RECORD_BODIES[record_type].__struct_fields__ if name not in given)
    return (*own, *sorted(_BESIDE.get(record_type, ())))


_SECRET = "password"  # noqa: S105 - its name
"""The field of a user that is hashed here: it never goes into a request."""

CLIENT_SECRET = "sign_in_client_secret"  # noqa: S105 - its name
"""The field of a company that is encrypted before it goes into a request."""

_BESIDE: Mapping[str, frozenset[str]] = {
    **CAP_INPUTS_OF,
    "buyer_group": GROUP_INPUTS,
    "schedule": PUBLISH_INPUTS,
    "user": frozenset({_SECRET}),
    "company": frozenset({CLIENT_SECRET}),
    "provider_configuration": frozenset({"secrets"}),
}


def read_record_fields(exchange: Exchange, record_type: str, shown: Mapping[str, Any], body: Body | None) -> dict[str, Any]:
    """Return the fields for the request to the account.

    `shown` is the record as it is shown, which may be sent back; `body` is its body (None: the record is created). If the
    whole record with its `version` is sent back, read-only fields that calls or a later change have moved since are ignored.
    Raises `ProblemError` validation_failed with every bad field if one of them is unknown or read-only.
    """
    wanted = settable(record_type)
    passed_over = {*_OURS, *(ACTIONS.get(record_type, ()) if body is not None else ())}
    country = country_of(exchange.services.source.rules, exchange.company_id)
    moved = counted_columns(record_type) if "version" in exchange.fields else frozenset()
    if _has_moved_on(exchange.fields, shown):
        moved |= shown.keys() - _FOR_GOOD
    fields: dict[str, Any] = {}
    faults: Faults = {}
    for name, value in exchange.fields.items():
        if name in wanted:
            fields[name] = _as_json(name, value, country)
            faults |= _secret_faults(exchange, name, value)
        elif name in passed_over or name in exchange.query:
            # An unknown query parameter gets here only if the company's `unknown_parameters` is `ignore`.
            continue
        elif name not in shown:
            if len(faults) < FIELDS_SHOWN_MAX:
                faults[name[:PATH_LENGTH_MAX]] = [_unknown(record_type, name, wanted)]
        elif not (name in moved or _is_as_shown(value, shown[name])):
            faults[name] = [_unwritable(record_type, name, is_new=body is None)]
    if faults:
        others = other_faults(exchange, record_type, fields, body)
        detail = f"Correct {', '.join(list(faults)[:NAMED_MAX])} and resend; nothing was changed."
        raise ProblemError("validation_failed", detail, {**others, **faults})
    return fields


def _secret_faults(exchange: Exchange, name: str, value: Any) -> Faults:
    if name not in {_SECRET, CLIENT_SECRET} or is_blank(value):
        return {}
    if name in exchange.query:
        return {name: [BODY_ONLY]}
    try:
        _ = parse_password(value) if name == _SECRET else parse_text(value)
    except FieldError as error:
        return {name: [str(error)]}
    return {}


def _unknown(record_type: str, name: str, known: Collection[str]) -> str:
    hint = did_you_mean(name, (*known, *ACTIONS.get(record_type, ())))
    return f"is no field of {called(record_type)}{hint}; those are {', '.join(known)}"


def _unwritable(record_type: str, name: str, *, is_new: bool) -> str:
    action = _RENEWED_BY.get(name, "")
    if is_new:
        return "cannot be written, it is given by us; leave it out"
    if action in ACTIONS.get(record_type, ()):
        return f"cannot be written; leave it out, or send {action}=true for another"
    return "cannot be written; leave it out, or send it back as it was read"


_RENEWED_BY: Mapping[str, str] = {
    "lead_token": "rotate_lead_token",
    **dict.fromkeys(SIGNING_SECRET, "rotate_signing_secret"),
    "secret": "rotate_secret",
    "secret_generation": "rotate_secret",
    "secret_rotated_at": "rotate_secret",
    **dict.fromkeys(("callback_url", "callback_generation"), "rotate_callback_url"),
}


def _has_moved_on(fields: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    """Return whether the record that is sent back is older than the last change, by its `version`."""
    known = shown["version"]
    try:
        return isinstance(known, int) and parse_integer(fields.get("version"), least=1) < known
    except FieldError:
        return False


_FOR_GOOD = frozenset(
    {"id", "legacy_id", "type", "uuid", "company_id", "created_at", "routes_show_path", "routes_edit_path"}
)
"""Fields that no change of a record moves."""


def _is_as_shown(value: Any, known: Any) -> bool:
    """Return whether a read-only field is sent as it is shown."""
    if is_blank(value) or known is None:
        return is_blank(value) and is_blank(known)
    return _is_same(value, known)


def _is_same(value: Any, known: Any) -> bool:
    """Return whether a sent value equals the shown one; in a form all is text, and instants have several spellings."""
    if isinstance(value, str) and not isinstance(known, str):
        if not isinstance(known, int | float | Decimal | list | dict):
            return False
        value = _decoded(value)
    if isinstance(known, Decimal) and isinstance(value, int | float):
        return Decimal(repr(value)) == known
    if isinstance(value, bool) != isinstance(known, bool):
        return False
    if isinstance(value, str) and isinstance(known, str) and value != known:
        try:
            return parse_moment(value) == parse_moment(known)
        except FieldError:
            return False
    return bool(value == known)


def other_faults(exchange: Exchange, record_type: str, fields: Mapping[str, Any], body: Body | None) -> Faults:
    """Return the faults that the account would find in the other fields, so that one answer lists every bad field."""
    rules, company_id = exchange.services.source.rules, exchange.company_id

    def exists(of_type: str, record_id: int) -> bool:
        record = rules.record(of_type, record_id)
        return record is not None and record.company_id == company_id and record.deleted_at is None

    def group_of(group_id: int) -> ActionGroup | None:
        return rules.body(ActionGroup, "action_group", group_id) if exists("action_group", group_id) else None

    given = {name: value for name, value in fields.items() if name not in _NOT_OF_ACCOUNT}
    if not is_blank(fields.get(_SECRET)):
        given["password_hash"] = HASH_OF_NO_PASSWORD  # its own is made once all is right: that takes long
    try:
        read_body(record_type, given, body, now=exchange.now, exists=exists, group_of=group_of)
    except RefusedError as error:
        ours = GIVEN_BY_US.get(record_type, frozenset())
        return {name: faults for name, faults in error.errors.items() if name not in ours}
    return {}


_NOT_OF_ACCOUNT = frozenset({"add_user_buyer_ids", "remove_user_buyer_ids", "secrets", _SECRET, CLIENT_SECRET})
"""References to buyers, which only the account can resolve, and what never gets there."""


def _as_json(name: str, value: Any, country: str) -> Any:
    if name in RECORD_INSTANTS and isinstance(value, int):
        return str(value)  # milliseconds inside the account; a sender may mean seconds, which would be long past
    if not isinstance(value, str):
        return value
    if name in _STRUCTURES or (name in _LISTS and value.lstrip().startswith("[")):
        return _decoded(value)
    if name in _LISTS:
        return [int(item) if _is_whole(item) else item for item in _items(value)]
    if name == "number" and not value.lower().startswith("sip"):
        number = find_number(value, country)
        return value if number is None else number.e164
    return value


def _is_whole(item: str) -> bool:
    # Longer text is no id, and Python converts no number of more than 4,300 digits: the account refuses the text.
    return item.isascii() and item.isdigit() and len(item) <= len(str(INTEGER_MAX))


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
