"""Which columns does an impression have? Each with its type and the rule that fills it, in the order of the API."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.views.cells import cell
from engine.views.column import Column

COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "its place in the log; below 2^53, rising with each impression of a visitor"),
    Column("uuid", "uuid", "as posted, else made of the request and the place in it"),
    Column("created_at", "date-time", "when it was posted"),
    Column("visitor_id", "string", "as posted"),
    Column("session_id", "string", "as posted"),
    Column("offer_id", "integer", "as posted"),
    Column("traffic_source_id", "integer", "as posted"),
    Column("page_url", "string", "as posted"),
    Column("referrer", "string", "as posted"),
    Column("landing_url", "string", "as posted"),
    Column("utm_source", "string", "as posted"),
    Column("utm_medium", "string", "as posted"),
    Column("utm_campaign", "string", "as posted"),
    Column("utm_term", "string", "as posted"),
    Column("utm_content", "string", "as posted"),
    Column("gclid", "string", "as posted"),
    Column("fbclid", "string", "as posted"),
    Column("sub_id", "string", "as posted"),
    Column("ip", "string", "the network of the posted address: a /24, or for IPv6 a /48"),
    Column("user_agent", "string", "as posted, at most 512 characters"),
    Column("device", "string", "as posted"),
    Column("country", "string", "as posted"),
    Column("state", "string", "as posted; a state of the USA or Canada as its letters"),
    Column("city", "string", "as posted"),
    Column("tokens", "object", "as posted", initial={}),
    Column("ring_pool_id", "integer", "as posted: the pool that it asked for a number"),
    Column("number_id", "integer", "the number that the page was given to show; null: none was asked for, or none was left"),
    Column("number_shown", "string", "that number, as it was then"),
    Column("converted_call_id", "integer", "the first call that is attributed to it"),
    Column("held_until", "date-time", "until when it is held for the visitor; null: the default number is held for nobody"),
)

IMPRESSION_COLUMNS: tuple[str, ...] = tuple(column.name for column in COLUMNS)
"""Every column, in the order of the API."""


def impression_view(row: Mapping[str, Any], columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return an impression as the API shows it: all columns, or the given ones in their order."""
    return {name: cell(row[name]) for name in columns or IMPRESSION_COLUMNS}
