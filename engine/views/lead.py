"""How does the API show a lead? Its columns, rendered from its row at a moment.

Times are RFC 3339 in UTC. A column without a value is null, never missing.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from engine.calendar.zones import is_zone
from engine.law.pack import CompiledRulePack, default_pack
from engine.views.cells import cell, moment
from engine.views.lead_columns import COLUMNS, LEAD_COLUMNS
from engine.why.reason_texts import ACTIONS, LAW_CODES, clock, describe_reason, describe_wait
from schemas.contact import LIVE_STATUSES
from schemas.instant import SECOND, Instant, from_datetime, to_rfc3339

Row = Mapping[str, Any]

MESSAGE_CLASS = 4
"""The `urgency_class` of texts and e-mails (engine/contact/timing/plan.py)."""

CSS_STATUSES: dict[str, str] = {
    "captured": "muted",
    "queue": "info",
    "scheduled": "info",
    "waiting": "warning",
    "running": "active",
    "success": "success",
    "completed_converted": "success",
    "completed_connected": "success",
    "completed_attempted": "muted",
    "completed": "muted",
    "expired": "muted",
    "exceeded_max_calls": "muted",
    "exceeded_short_calls": "muted",
    "removed": "muted",
    "opt_out": "danger",
    "dnc": "danger",
    "blocked": "danger",
    "failure": "danger",
    "disabled": "muted",
}
"""Status -> the CSS class of its label."""

SENTENCES: dict[str, str] = {
    "captured": "Captured: the data waits for an inbound call",
    "queue": "Queued: the first step is being planned",
    "success": "Success: the schedule reached its goal",
    "completed_converted": "Completed: the lead converted",
    "completed_connected": "Completed: the lead was connected",
    "completed_attempted": "Completed: every step was tried, nobody was connected",
    "completed": "Completed: the schedule reached its end",
    "expired": "Expired: the time to reach this lead is over",
    "exceeded_max_calls": "Attempt limit reached",
    "exceeded_short_calls": "Short-call limit reached",
    "removed": "Removed from the schedule",
    "opt_out": "Opted out: this person must not be contacted",
    "dnc": "On a do-not-call list: this person must not be contacted",
    "blocked": "Blocked: no action is taken for this lead",
    "failure": "Failed: no usable way to reach this lead is left",
    "disabled": "Disabled: the schedule or offer is no longer there",
}

TEST_SENTENCE = "Test: nobody is contacted for this lead"

OF_REST = (
    *("rule_deciding", "user_updated_at", "buyer_conversion_id", "offer_conversion_id"),
    *("scheduled_callback_id", "dial_tier", "lead_import_id", "impression_uuid", "is_test"),
)
"""Read from `rest`, which holds all values without a column of their own."""

PENDING_STATUSES = frozenset({"scheduled", "waiting"})
"""Leads whose next action is still to come: of one that is running, `next_action_at` is that of the action under way."""


def is_live(row: Row) -> bool:
    """Return whether the lead has not ended."""
    return row["status"] in LIVE_STATUSES


def expires_in(row: Row, now: Instant) -> int | None:
    """Return the seconds left, 0 where the lead has ended, None where it does not expire."""
    if not is_live(row):
        return 0
    expires_at = row["expires_at"]
    return None if expires_at is None else max(0, (from_datetime(expires_at) - now) // SECOND)


def human_status(row: Row, now: Instant, law: CompiledRulePack | None = None) -> str:
    """Return one sentence: the state of the lead, why, and when it goes on, in its local time.

    `law` is that of the lead's company; without it, the shipped one.
    """
    status = row["status"]
    if status == "disabled" and _rest(row).get("is_test"):
        return TEST_SENTENCE
    if status in SENTENCES:
        return SENTENCES[status]
    if status == "running":
        flight = row["flight"] or {}
        if flight.get("asks") is not None:
            return f"Running: {describe_wait('veto_asked')}"
        return f"Running: {ACTIONS.get(flight.get('kind', ''), 'an action')} is on its way"
    if status == "waiting":
        return f"Waiting: {_cause(row, law)}{_when(row, now, 'next try')}"
    return f"Scheduled{_when(row, now, 'next action')}"


def _cause(row: Row, law: CompiledRulePack | None) -> str:
    """Return what the lead waits for; for a legal reason, whose law and what it allows."""
    code = row["status_wait"]
    rule = (law or default_pack()).rules.get(_rule_deciding(row) or "") if code in LAW_CODES else None
    return describe_wait(code) if rule is None else describe_reason(code, rule, rule.windows, _channel(row))


def _rule_deciding(row: Row) -> str | None:
    rule: str | None = _rest(row).get("rule_deciding")
    return rule


def _channel(row: Row) -> str:
    """Return the channel that a legal rule delays: of messages only texts have legal hours and caps."""
    return "sms" if row["urgency_class"] == MESSAGE_CLASS else "call"


WHOSE = "lead's time"
"""Said beside a time on the clock of the person."""


def _when(row: Row, now: Instant, what: str) -> str:
    at: datetime | None = row["next_action_at"]
    if at is None:
        return _EXPIRES if row["status_wait"] in _HOURS_AND_CAPS and row["expires_at"] is not None else ""
    if row["expires_at"] is not None and at >= row["expires_at"]:
        return _EXPIRES
    if from_datetime(at) <= now:
        return ", due when that ends" if row["status_wait"] in _PAUSED else ", due now"
    zone = _zone(row)
    return f", {what} {clock(from_datetime(at), now, zone or 'UTC')} ({'UTC' if zone is None else WHOSE})"


_PAUSED = frozenset({"schedule_paused", "offer_paused", "company_paused", "on_hold"})
_EXPIRES = ", and will expire before the next allowed time"
_HOURS_AND_CAPS = LAW_CODES | {
    "preferred_window",
    "company_holiday",
    "min_spacing",
    "reply_pause",
    "inbound_pause",
    "optout_review",
    "text_incomplete",
    "public_cap",
}
"""A lead that waits for one of these without a time has none left: the next allowed instant comes after its expiry."""


def _zone(row: Row) -> str | None:
    """Return the zone of the person, None where none is known."""
    candidates = (row["zone_deciding"], row["time_zone"], *row["zones"])
    return next((name for name in candidates if name and is_zone(name)), None)


def _plain(name: str) -> Callable[[Row, Instant], Any]:
    return lambda row, _: row[name]


def _moment(name: str) -> Callable[[Row, Instant], Any]:
    return lambda row, _: moment(row[name])


def _rest(row: Row) -> Mapping[str, Any]:
    return row["rest"] or {}


def _of_rest(name: str) -> Callable[[Row, Instant], Any]:
    return lambda row, _: _rest(row).get(name)


def _moment_of_rest(row: Row, name: str) -> str | None:
    at = _rest(row).get(name)
    return None if at is None else to_rfc3339(at)


def _nothing(_row: Row, _now: Instant) -> None:
    return None


def _name(row: Row, _now: Instant) -> Any:
    return row["name"] or row["full_name"] or row["caller_id"] or row["email"]


def _path(row: Row, _now: Instant) -> str:
    return f"/api/v1/leads/{row['id']}"


_DERIVED: dict[str, Callable[[Row, Instant], Any]] = {
    "id": _plain("id"),
    "legacy_id": _nothing,
    "type": lambda _row, _now: "Lead",
    "uuid": lambda row, _: cell(row["uuid"]),
    "user_updated_at": lambda row, _: _moment_of_rest(row, "user_updated_at"),
    "call_buyer_conversion_id": _of_rest("buyer_conversion_id"),
    "call_offer_conversion_id": _of_rest("offer_conversion_id"),
    "scheduled_callback_id": lambda row, _: None if row["callback_at"] is None else _rest(row).get("scheduled_callback_id"),
    "dial_tier": _of_rest("dial_tier"),
    "lead_import_id": _of_rest("lead_import_id"),
    "impression_uuid": _of_rest("impression_uuid"),
    "is_test": lambda row, _: _rest(row).get("is_test", False),
    "sms_number_id": _nothing,
    "dial_number_id": _nothing,
    "routes_show_path": _path,
    "routes_edit_path": _path,
    "context_menu_name": _name,
    "name": _name,
    "expires_in": expires_in,
    "human_status": human_status,
    "css_status": lambda row, _: CSS_STATUSES.get(row["status"], "muted"),
    "has_next_action": lambda row, _: row["status"] in PENDING_STATUSES and row["next_action_at"] is not None,
    "is_live": lambda row, _: is_live(row),
    "svc_number_plain": _plain("svc_number"),
    "sms_number_plain": _plain("sms_number"),
}
"""Columns that are not shown as their row has them; any other column is."""

_STORED: tuple[str, ...] = tuple(column.name for column in COLUMNS if column.name not in _DERIVED)
"""Columns that the row holds under the same name, in the order of the API."""

_MOMENTS = tuple(column.name for column in COLUMNS if column.type == "date-time" and column.name in _STORED)
_PLAIN = tuple(name for name in _STORED if name not in _MOMENTS)
_COLUMNS: dict[str, Callable[[Row, Instant], Any]] = {
    **_DERIVED,
    **{name: _plain(name) for name in _PLAIN},
    **{name: _moment(name) for name in _MOMENTS},
}

ROW_COLUMNS: tuple[str, ...] = (
    *("company_id", "id", "uuid", "version", "contact_key", "name", "flight", "zones", "zone_deciding", "urgency_class"),
    "rest",
    *_PLAIN,
    *_MOMENTS,
)
"""The columns of the row that the API needs; as many again are for the engine alone."""

GRID_COLUMNS: tuple[str, ...] = (
    "id", "uuid", "created_at", "context_menu_name", "name", "caller_id", "email", "offer_id", "schedule_id", "status",
    "human_status", "css_status", "status_wait", "has_next_action", "next_action_at", "last_action_at",
    "outbound_calls_count", "sms_count", "emails_count", "routes_show_path",
)  # fmt: skip
"""The few columns of a list on a screen."""

_INTERNAL = frozenset(
    {"revenue", "payout", "cost", "routes_show_path", "routes_edit_path", "contact_field_type", "dial_tier", "id"}
)
"""Beside the ids of other records: money, and what an internal id stands in."""

SERIALIZERS: dict[str, tuple[str, ...]] = {
    "lead": LEAD_COLUMNS,
    "lead_grid": GRID_COLUMNS,
    "lead_external": tuple(
        name
        for name in LEAD_COLUMNS
        if name not in _INTERNAL and (not name.endswith("_id") or name in {"external_record_id", "sub_id", "caller_id"})
    ),
}
"""The serializers of a lead: all columns, the few of a list, or none with internal ids or money."""

SORTABLE_COLUMNS = frozenset(
    {
        "created_at", "updated_at", "next_action_at", "last_action_at", "first_action_at", "last_call_at", "status",
        "caller_id", "email", "offer_id", "schedule_id", "buyer_id", "traffic_source_id", "revenue", "payout",
        "lead_priority", "expires_at", "id",
    }
)  # fmt: skip
"""What a list of leads can be sorted by: columns of the row itself."""

_plain_of, _moments_of = itemgetter(*_PLAIN), itemgetter(*_MOMENTS)
_RENDERED = tuple((name, render) for name, render in _DERIVED.items() if render is not _nothing)


NumberId = Callable[[str], int | None]
"""Gives the id of one of the company's own telephone numbers."""

_NUMBER_IDS = {"sms_number_id": "sms_number", "dial_number_id": "svc_number"}


def lead_view(
    row: Row,
    now: Instant,
    columns: Sequence[str] | None = None,
    number_id: NumberId | None = None,
    law: CompiledRulePack | None = None,
) -> dict[str, Any]:
    """Return a lead as the API shows it: all columns, or the given ones in their order.

    `law` is that of the lead's company, for the words of `human_status`.
    """
    shown: dict[str, Any]
    if columns is not None:
        shown = {name: _COLUMNS[name](row, now) for name in columns}
    else:
        # One call per column would cost as much as the query that brought the row.
        shown = dict.fromkeys(LEAD_COLUMNS)
        shown.update(zip(_PLAIN, _plain_of(row), strict=True))
        for name, at in zip(_MOMENTS, _moments_of(row), strict=True):
            if at is not None:
                shown[name] = moment(at)
        for name, render in _RENDERED:
            shown[name] = render(row, now)
    for name, number in _NUMBER_IDS.items():
        if number_id is not None and name in shown and row[number] is not None:
            shown[name] = number_id(row[number])
    if law is not None and "human_status" in shown and _rule_deciding(row) is not None:
        shown["human_status"] = human_status(row, now, law)
    return shown
