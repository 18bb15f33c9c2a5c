"""Which of the fields that were sent are asked of the account? Those of the body, in the form that JSON would have.

What they may hold is the account's to say (engine/account). Fields that are only shown are passed over, so that a record
that was read can be sent back; a misspelt one goes on and is refused there.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from adapters.http.exchange import Exchange
from adapters.http.people import country_of
from engine.account.groups import GROUP_INPUTS
from engine.account.publishing import PUBLISH_INPUTS, WRITTEN_BY_PUBLISHING
from engine.submission.fields import INTEGER_MAX
from engine.submission.numbers import read_number
from engine.views.record import RECORD_INSTANTS, record_columns
from schemas.records import RECORD_BODIES

GIVEN_BY_US: Mapping[str, frozenset[str]] = {
    "offer": frozenset({"lead_token"}),
    "schedule": frozenset({"lead_token", *WRITTEN_BY_PUBLISHING}),
    "api_key": frozenset({"public_key", "private_key_sha256"}),
    "call_disposition": frozenset({"system"}),
    "outgoing_webhook": frozenset({"secret_generation", "secret"}),
    "buyer_group": frozenset({"caps", "paused_at", "unpaused_at", "paused_by_user_id", "total_caps_reset_at"}),
}
"""Fields that no sender sets, though a record shows them."""

ACTIONS: Mapping[str, tuple[str, ...]] = {
    "offer": ("rotate_lead_token",),
    "schedule": ("rotate_lead_token",),
    "outgoing_webhook": ("rotate_secret",),
}
"""Booleans that ask for something to be given anew."""

_LISTS = frozenset(
    {
        "buyer_ids", "buyer_group_ids", "add_buyer_ids", "remove_buyer_ids", "add_user_buyer_ids", "remove_user_buyer_ids",
        "scopes", "ip_allow_list",
    }
)  # fmt: skip
"""In a form or query, with commas; or as JSON, which is how an export writes them."""

_STRUCTURES = frozenset(
    {
        "steps", "end_steps", "triggers", "windows", "headers", "pauses", "min_spacing", "rules", "holiday_sets", "on_reply",
        "on_inbound_connected", "on_conversion", "business_hours",
    }
)  # fmt: skip
"""In a form, as JSON."""

_OURS = frozenset({"auth_token", "root", "columns"})


def settable(record_type: str) -> tuple[str, ...]:
    """Return the fields that a sender may set."""
    given = GIVEN_BY_US.get(record_type, frozenset())
    own = (name for name in RECORD_BODIES[record_type].__struct_fields__ if name not in given)
    return (*own, *sorted(_BESIDE.get(record_type, ())))


_BESIDE: Mapping[str, frozenset[str]] = {"buyer_group": GROUP_INPUTS, "schedule": PUBLISH_INPUTS}


def read_record_fields(exchange: Exchange, record_type: str) -> dict[str, Any]:
    """Return the fields to ask the account for."""
    wanted = settable(record_type)
    passed_over = {
        *record_columns(record_type), *GIVEN_BY_US.get(record_type, ()), *ACTIONS.get(record_type, ()), *_OURS
    } - set(wanted)  # fmt: skip
    country = country_of(exchange.services.source.rules, exchange.company_id)
    return {
        name: _as_json(name, value, country)
        for name, value in exchange.fields.items()
        # An unknown name in the query comes this far only where the company has unknown parameters ignored.
        if name in wanted or (name not in passed_over and name not in exchange.query)
    }


def _as_json(name: str, value: Any, country: str) -> Any:
    if name in RECORD_INSTANTS and isinstance(value, int):
        return str(value)  # the account's own milliseconds; from a sender they may as well be seconds, and long past
    if not isinstance(value, str):
        return value
    if name in _STRUCTURES or (name in _LISTS and value.lstrip().startswith("[")):
        return _decoded(value)
    if name in _LISTS:
        return [int(item) if _is_whole(item) else item for item in _items(value)]
    if name == "number" and not value.lower().startswith("sip"):
        number = read_number(value, country)
        return value if number is None else number.e164
    return value


def _is_whole(item: str) -> bool:
    # Longer ones are no ids, and from some thousand digits on Python reads no number at all: the account refuses the text.
    return item.isascii() and item.isdigit() and len(item) <= len(str(INTEGER_MAX))


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
