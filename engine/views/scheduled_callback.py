"""Which columns has a scheduled callback? Each with its type and the rules that fill it.

While it is pending it is a row of its lead; once it is over, a row of its record.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from engine.views.cells import cell
from engine.views.column import Column
from schemas.contact import GRACE_MINUTES
from schemas.instant import SECOND, Instant, from_datetime, to_rfc3339

Row = Mapping[str, Any]
Fill = Callable[[Row], Any]


class _Rules(Struct, frozen=True):
    """What fills a column: from the row of a lead whose callback is pending, and from the row of a record."""

    of_lead: Fill
    of_record: Fill


def _of_row(name: str) -> Fill:
    return lambda row: cell(row[name])


def _of_rest(name: str, default: Any = None) -> Fill:
    return lambda row: row["rest"].get(name, default)


def _of_promise(name: str, default: Any = None) -> Fill:
    return lambda row: (row["rest"].get("promise") or {}).get(name, default)


def _instant_of_promise(name: str) -> Fill:
    def fill(row: Row) -> str | None:
        at = _of_promise(name)(row)
        return None if at is None else to_rfc3339(Instant(at))

    return fill


def _same(name: str) -> _Rules:
    return _Rules(_of_row(name), _of_row(name))


def _promise(name: str, of_record: str | None = None, default: Any = None) -> _Rules:
    return _Rules(_of_promise(name, default), _of_row(of_record or name))


def _instant(name: str, of_record: str | None = None) -> _Rules:
    return _Rules(_instant_of_promise(name), _of_row(of_record or name))


def _owner(name: str) -> _Rules:
    default = GRACE_MINUTES if name == "grace_minutes" else None

    def of(owner: Mapping[str, Any] | None) -> Any:
        return None if owner is None else owner.get(name, default)

    return _Rules(lambda row: of(row["rest"].get("callback_owner")), lambda row: of(row["owner"]))


def _zone(row: Row) -> str | None:
    return next(iter(row["zones"] or ()), None)


def _late(row: Row) -> int | None:
    called_at = _of_promise("called_at")(row)
    return None if called_at is None else max(0, called_at - promised_at(row)) // SECOND


def promised_at(row: Row) -> Instant:
    """Return the agreed instant of the callback of a lead; of a promise older than that field, when it is due."""
    at = row["rest"].get("callback_promised_at")
    return from_datetime(row["callback_at"]) if at is None else Instant(at)


_FILLED: Mapping[Column, _Rules] = {
    Column("id", "integer", "of the promise: the call that keeps it names it as scheduled_callback_id"): (
        _Rules(_of_rest("scheduled_callback_id"), _of_row("id"))
    ),
    Column("created_at", "date-time", "when it was promised first"): _instant("made_at", "created_at"),
    Column(
        "callback_status",
        "string",
        "pending; kept: called on time; late: called later; missed: not called; cancelled",
    ): (_promise("state", "callback_status", "pending")),
    Column("lead_id", "integer", "the lead that is called"): _Rules(_of_row("id"), _of_row("lead_id")),
    Column("caller_id", "string", "number that is called"): _same("caller_id"),
    Column("full_name", "string", "of the lead"): _same("full_name"),
    Column("offer_id", "integer", "offer of the lead"): _same("offer_id"),
    Column("schedule_id", "integer", "schedule of the lead"): _same("schedule_id"),
    Column("time_zone", "string", "first time zone of the lead"): _Rules(_zone, _zone),
    Column("promised_at", "date-time", "the agreed instant"): (
        _Rules(lambda row: to_rfc3339(promised_at(row)), _of_row("promised_at"))
    ),
    Column("promised_by", "string", "agent; api: a program; caller: nobody was free for a call; form; schedule: a step"): (
        _promise("promised_by", default="api")
    ),
    Column("promised_agent_id", "integer", "agent who promised it"): _promise("agent_id", "promised_agent_id"),
    Column("callback_at", "date-time", "when it is due: later than agreed once nobody answered; null once it is over"): (
        _same("callback_at")
    ),
    Column("tries_count", "integer", "how often nobody answered; null once it is over"): (
        _Rules(_of_rest("callback_tries", 0), _of_row("tries_count"))
    ),
    Column("callback_agent_id", "integer", "agent who makes it, then the call center; null: not of an agent"): (
        _owner("agent_id")
    ),
    Column("callback_buyer_id", "integer", "buyer who makes it; null: the group, or anyone"): _owner("buyer_id"),
    Column("callback_buyer_group_id", "integer", "group that makes it; null: anyone"): _owner("buyer_group_id"),
    Column("callback_grace_minutes", "integer", "how long the owner has alone; null without one"): _owner("grace_minutes"),
    Column("callback_team_grace_minutes", "integer", "how long the team has then; null: as long as the owner"): (
        _owner("team_grace_minutes")
    ),
    Column("called_at", "date-time", "when its first call was placed"): _instant("called_at"),
    Column("called_agent_id", "integer", "agent who made that call"): _promise("called_agent_id"),
    Column("called_buyer_id", "integer", "buyer who made that call"): _promise("called_buyer_id"),
    Column("call_id", "integer", "that call; of a person who called first, theirs"): _promise("call_id"),
    Column("late_seconds", "integer", "how long after the agreed instant it was placed"): (
        _Rules(_late, _of_row("late_seconds"))
    ),
    Column("is_reached", "boolean", "the person was reached"): _promise("is_reached", default=False),
    Column("end_reason", "string", "why no call is made: requested, replaced, nobody_came, or the end of the lead"): (
        _Rules(lambda _: None, _of_row("end_reason"))
    ),
}
_RULES = {column.name: rules for column, rules in _FILLED.items()}

COLUMNS: tuple[Column, ...] = tuple(_FILLED)
CALLBACK_COLUMNS: tuple[str, ...] = tuple(_RULES)
"""Every column, in the order of the API."""


def callback_view(row: Row, columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the pending callback of a lead as the API shows it: all columns, or the given ones in their order."""
    return {name: _RULES[name].of_lead(row) for name in columns or CALLBACK_COLUMNS}


def callback_record_view(row: Row, columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the record of a callback as the API shows it."""
    return {name: _RULES[name].of_record(row) for name in columns or CALLBACK_COLUMNS}
