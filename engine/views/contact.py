"""Which columns does a contact have? What is true of a number or address itself, across all its leads."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.identity import WITHHELD_PREFIX, contact_uuid
from engine.submission.unread_numbers import RAW_PREFIX, unread_text
from engine.views.cells import cell
from engine.views.column import Column
from schemas.instant import Instant, to_rfc3339

Row = Mapping[str, Any]

EMAIL_PREFIX = "email:"
"""How a contact key says that it is of an address (`engine.identity.contact_key`)."""

HISTORY_COLUMNS = ("at", "type", "lead_id", "data")


def _whole(name: str) -> Callable[[Row], Any]:
    return lambda row: row[name]


def _rest(name: str, default: Any = None) -> Callable[[Row], Any]:
    return lambda row: row["rest"].get(name, default)


def _instant(at: Instant | None) -> str | None:
    return None if at is None else to_rfc3339(at)


def _moment(name: str) -> Callable[[Row], Any]:
    return lambda row: _instant(row["rest"].get(name))


def _moments(found: Mapping[str, Instant]) -> dict[str, str | None]:
    return {name: _instant(at) for name, at in found.items()}


def _address(row: Row) -> str:
    """Return the number or address of a contact."""
    return str(row["contact_key"]).partition("|")[2]


def _caller_id(row: Row) -> str | None:
    address = _address(row)
    return None if address.startswith((EMAIL_PREFIX, RAW_PREFIX, WITHHELD_PREFIX)) else address


def _unread(row: Row) -> str | None:
    held = row["rest"].get("unread_number")
    return unread_text(str(row["contact_key"])) if held is None else str(held)


def _email(row: Row) -> str | None:
    address = _address(row)
    return address.removeprefix(EMAIL_PREFIX) if address.startswith(EMAIL_PREFIX) else None


def _is_opted_out(row: Row) -> bool:
    return row["opted_out_at"] is not None or bool(row["rest"].get("opt_outs"))


_FILLED: Mapping[Column, Callable[[Row], Any]] = {
    Column("id", "integer", "internal id, as leads and calls are filtered by (contact_id)"): _whole("id"),
    Column("uuid", "uuid", "of the contact"): lambda row: contact_uuid(row["id"]),
    Column("caller_id", "string", "telephone number; null of an e-mail address and of a withheld number"): _caller_id,
    Column("email", "string", "e-mail address of a contact without a number"): _email,
    Column("unread_number", "string", "what was sent for a number of somebody who opted out, and cannot be read"): _unread,
    Column("opted_out", "boolean", "opted out of the company, an offer or a channel"): _is_opted_out,
    Column("opted_out_at", "date-time", "when the person opted out of the whole company"): _whole("opted_out_at"),
    Column("opted_out_source", "string", "how the last opt-out came, such as sms"): _whole("opted_out_source"),
    Column("opt_outs", "object", "narrower opt-outs, such as channel/sms or offer/7, each with its instant"): (
        lambda row: _moments(row["rest"].get("opt_outs", {}))
    ),
    Column("blocked", "boolean", "blocked by the company"): lambda row: row["blocked_at"] is not None,
    Column("blocked_at", "date-time", "when the company blocked the person"): _whole("blocked_at"),
    Column("suppressed_at", "date-time", "since when on the company's do-not-call list"): _moment("suppressed_at"),
    Column("suppression_list_ids", "array", "suppression lists that the person is on"): _rest("suppressed_by", []),
    Column("opted_in_at", "date-time", "when the person texted a word of consent"): _moment("opted_in_at"),
    Column("review_until", "date-time", "no contact before: a text of theirs waits for review"): _moment("review_until"),
    Column("refused_at", "date-time", "when the person last refused an offer; laws may have a pause after it"): (
        _moment("refused_at")
    ),
    Column("time_zones", "array", "time zones in which the person may be, by their leads"): _whole("time_zones"),
    Column("attempts_count", "integer", "attempts that the limits of the law count"): _whole("attempts_count"),
    Column("last_attempt_at", "date-time", "the last of them"): _whole("last_attempt_at"),
    Column("last_call_at", "date-time", "the last call to the number"): _whole("last_call_at"),
    Column("disabled_until", "object", "channels that do not reach the person, such as call, each until when"): (
        lambda row: _moments(row["disabled_until"])
    ),
    Column("lead_ids", "array", "newest leads of the person, oldest first"): _whole("lead_ids"),
    Column("call_ids", "array", "newest calls of the person, oldest first"): _rest("call_ids", []),
}
_FILLS = {column.name: fill for column, fill in _FILLED.items()}

COLUMNS: tuple[Column, ...] = tuple(_FILLED)
CONTACT_COLUMNS: tuple[str, ...] = tuple(_FILLS)
"""Every column, in the order of the API."""


def contact_view(row: Row, columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a contact as the API shows it: all columns, or the given ones in their order."""
    return {name: cell(_FILLS[name](row)) for name in columns or CONTACT_COLUMNS}


SUPPRESSION_COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "internal id of the contact"),
    Column("caller_id", "string", "telephone number; null of an e-mail address"),
    Column("email", "string", "e-mail address"),
    Column("source", "string", "where the entry comes from, as its sender said"),
    Column("created_at", "date-time", "when the contact was put on the list"),
    Column("updated_at", "date-time", "when the terms of the entry last changed"),
    Column("expires_at", "date-time", "when the contact comes off the list by itself; null: never"),
)
"""Columns of an entry of a suppression list."""

REVIEW_COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "internal id of the contact"),
    Column("caller_id", "string", "telephone number that the text came from"),
    Column("unread_number", "string", "what was sent for a number that cannot be read: say which numbers were meant"),
    Column("body", "string", "the newest text of theirs that may be an opt-out"),
    Column("received_at", "date-time", "when it was decided to hold it"),
    Column("review_until", "date-time", "nothing is sent before; once this has passed, contact has gone on"),
    Column("lead_id", "integer", "the lead that the text was about"),
)
"""Columns of a text that waits for a review."""


def review_view(row: Row, columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a text that waits for a review as the API shows it: all columns, or the given ones in their order."""
    until = _instant(row["rest"]["review_until"])
    shown = {**row, "caller_id": _caller_id(row), "unread_number": _unread(row), "review_until": until}
    return {name: cell(shown[name]) for name in columns or tuple(column.name for column in REVIEW_COLUMNS)}


_ADDRESSES = {"caller_id": _caller_id, "email": _email}


def suppression_view(row: Row, columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return an entry of a suppression list as the API shows it: all columns, or the given ones in their order."""
    names = columns or tuple(column.name for column in SUPPRESSION_COLUMNS)
    return {name: cell(_ADDRESSES[name](row) if name in _ADDRESSES else row[name]) for name in names}


def history_view(row: Row) -> dict[str, Any]:
    """Return a fact about a contact as the API shows it."""
    return {name: cell(row[name]) for name in HISTORY_COLUMNS}
