"""Which submitted fields set a column of the lead, and which names no token may take?

The settable ones may be at top level or inside `data`; the top level wins.
"""

from collections.abc import Callable
from typing import Any

from engine.submission.fields import FieldError, parse_address, parse_id, parse_person_zone, parse_text
from engine.submission.numbers import REGIONS
from engine.submission.spreadsheet import read_cell
from engine.submission.states import state_code

ZIP_LENGTH_MAX = 32
"""Longer than any postal code of the Universal Postal Union, blanks included."""


_COUNTRY_NAMES = {
    **dict.fromkeys(("USA", "UNITED STATES", "UNITED STATES OF AMERICA", "AMERICA", "ESTADOS UNIDOS", "EEUU"), "US"),
    **dict.fromkeys(("UK", "GBR", "UNITED KINGDOM", "GREAT BRITAIN", "ENGLAND", "SCOTLAND", "WALES"), "GB"),
    **dict.fromkeys(("CAN", "CANADA"), "CA"),
    **dict.fromkeys(("MEX", "MEXICO", "M\u00c9XICO"), "MX"),
    **dict.fromkeys(("AUS", "AUSTRALIA"), "AU"),
    **dict.fromkeys(("NZL", "NEW ZEALAND"), "NZ"),
    **dict.fromkeys(("IRL", "IRELAND"), "IE"),
    **dict.fromkeys(("DEU", "GERMANY", "DEUTSCHLAND"), "DE"),
    **dict.fromkeys(("FRA", "FRANCE"), "FR"),
    **dict.fromkeys(("ESP", "SPAIN", "ESPA\u00d1A"), "ES"),
    **dict.fromkeys(("ITA", "ITALY", "ITALIA"), "IT"),
    **dict.fromkeys(("PRT", "PORTUGAL"), "PT"),
    **dict.fromkeys(("BRA", "BRAZIL", "BRASIL"), "BR"),
    **dict.fromkeys(("NLD", "NETHERLANDS", "THE NETHERLANDS", "NEDERLAND"), "NL"),
    **dict.fromkeys(("BEL", "BELGIUM"), "BE"),
    **dict.fromkeys(("AUT", "AUSTRIA", "\u00d6STERREICH"), "AT"),
    **dict.fromkeys(("CHE", "SWITZERLAND", "SCHWEIZ", "SUISSE"), "CH"),
    **dict.fromkeys(("PRI", "PUERTO RICO"), "PR"),
}
"""Names and ISO 3166 codes of three letters that forms send for a country: of those whose forms are in use here."""


def parse_country(value: Any) -> str:
    """Return a country as two capital letters, also from its English or own name. Raises `FieldError`."""
    code = parse_text(value).upper()
    code = _COUNTRY_NAMES.get(code.replace(".", "").strip(), code)
    if code not in REGIONS:
        raise FieldError("must be a country as two letters, such as US")
    return code


def _state(value: Any) -> str:
    text = parse_text(value)
    return state_code(text) or text


def _zip_code(value: Any) -> str:
    return parse_text(read_cell(value) if isinstance(value, str) else value, most=ZIP_LENGTH_MAX)


COLUMNS: dict[str, Callable[[Any], Any]] = {
    "time_zone": parse_person_zone,
    "country": parse_country,
    "state_province": _state,
    "zip_postal_code": _zip_code,
    "full_name": parse_text,
    "name": parse_text,
    "sub_id": parse_text,
    "traffic_source_id": parse_id,
    "external_record_id": parse_text,
    "remote_ip": parse_address,
}
"""Settable column -> its parser."""

ALIASES: dict[str, str] = {"state": "state_province", "zip": "zip_postal_code"}
"""Other names of columns."""

_LEAD_COLUMNS = """
id legacy_id type uuid created_at updated_at deleted_at user_updated_at routes_show_path routes_edit_path
external_record_id context_menu_name name caller_id email full_name contact_field_type expires_in country state_province
zip_postal_code time_zone sub_id offer_id schedule_id status human_status css_status has_next_action opt_out revenue
payout offer_converted buyer_converted traffic_source_id buyer_id lead_import_id remote_ip attempted_call_id
connected_call_id scheduled_callback_id call_buyer_conversion_id call_offer_conversion_id sms_number_id dial_number_id
dial_tier last_action_at first_action_at first_queued_at schedule_ended_at next_action_at last_call_at is_live
schedule_trigger_type blocked
"""

LEAD_COLUMNS: frozenset[str] = frozenset(_LEAD_COLUMNS.split())
"""Columns of a lead whose names no token has."""

_LATER_COLUMNS = """
callback_at cost emails_count expires_at impression_uuid is_test lead_priority outbound_calls_count planned_at
requested_next_action_at schedule_version sms_count sms_number sms_number_plain status_wait svc_number svc_number_plain
"""

SHOWN_COLUMNS: frozenset[str] = LEAD_COLUMNS | frozenset(_LATER_COLUMNS.split())
"""Every column of a lead except `data`. A token inside `data` may have the name of a later one."""

RESERVED: frozenset[str] = LEAD_COLUMNS | {"svc_number"}
"""No token inside `data` has one of these names: it would be ambiguous."""
