"""How does the API show a call? Its columns, each with a type and the rule that fills it.

Times are RFC 3339 in UTC, durations whole seconds rounded down, amounts numbers in the company's currency. A column without
a value is null, never missing.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Any

from engine.identity import is_withheld
from engine.submission.numbers import country_of_number
from engine.views.cells import cell, moment
from engine.views.column import Column
from engine.views.profit import profit
from schemas.contact import Call
from schemas.instant import DAY, SECOND, Instant
from schemas.outcomes import TIMED_OUT

Row = Mapping[str, Any]


COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "given out by the partition of the person; below 2^53, rising"),
    Column("legacy_id", "integer", "null: there is no older system"),
    Column("type", "string", "always Call"),
    Column("uuid", "uuid", "a hash of the id"),
    Column("created_at", "date-time", "when the call was ordered, or began to ring here"),
    Column("updated_at", "date-time", "when anything about it changed last"),
    Column("deleted_at", "date-time", "when it was deleted"),
    Column("user_updated_at", "date-time", "when somebody changed it through the interface last"),
    Column("routes_show_path", "string", "where it is read"),
    Column("routes_edit_path", "string", "where it is changed"),
    Column("external_record_id", "string", "the token external_record_id of the call"),
    Column("lead_id", "integer", "the lead that it was placed for, or that was found or made for an inbound call"),
    Column("contact_id", "integer", "a hash of the company and the person's number (or e-mail): the same for all calls"),
    Column("offer_id", "integer", "the lead's; of an inbound call that of the number called"),
    Column("schedule_id", "integer", "the lead's when the call began"),
    Column("schedule_action_id", "string", "the step that ordered it; null for all but scheduled calls"),
    Column(
        "traffic_source_id",
        "integer",
        "the lead's when the call began, else that of its impression, until an update replaces it",
    ),
    Column("buyer_id", "integer", "who was or is to be connected; an update may replace it"),
    Column("buyer_group_id", "integer", "the group that the buyer was taken from"),
    Column("ring_pool_id", "integer", "the pool of the number called; where that is in none, as its gateway says"),
    Column("number_id", "integer", "the company's own number in use: called from, or called"),
    Column("provider_configuration_id", "integer", "the account or trunk that carried it, as its gateway says"),
    Column("provider_sid", "string", "the provider's own id of the call"),
    Column("provider", "string", "the gateway's provider"),
    Column("direction", "string", "outbound or inbound"),
    Column("origin", "string", "schedule, callback, api or inbound"),
    Column("status", "string", "where it is; in the end a literal for its outcome"),
    Column(
        "sub_status", "string", "what an outcome says more precisely: the machine met, the gate that refused, a time-out"
    ),
    Column("outcome", "string", "null until it has ended; one of a closed list (schemas.outcomes)"),
    Column("answered_by", "string", "human, machine or unknown"),
    Column("caller_number", "string", "the person's number, in whichever direction; null of a caller without one"),
    Column("number_called", "string", "the number that was dialled: the person's, or ours for an inbound call"),
    Column(
        "from_number",
        "string",
        "the number that it came from: ours; of an inbound call what the carrier said",
    ),
    Column("country", "string", "the lead's when the call began, else that of the person's number"),
    Column("state", "string", "the lead's state_province when the call began, else the first candidate"),
    Column("city", "string", "the token city of the lead when the call began"),
    Column("zip", "string", "the lead's zip_postal_code when the call began"),
    Column("time_zone", "string", "the lead's when the call began, else the first candidate"),
    Column("token_values", "object", "the lead's data when the call began, and what was written to the call since"),
    Column("revenue", "number", "what the buyer pays"),
    Column("payout", "number", "what the traffic source is paid"),
    Column("cost", "number", "what the provider charges, as its gateway says"),
    Column("profit", "number", "revenue - payout - cost"),
    Column("buyer_converted", "boolean", "set by an update"),
    Column("offer_converted", "boolean", "set by an update"),
    Column("buyer_conversion_duplicated_call", "boolean", "an earlier call of the person converted with the same buyer"),
    Column("offer_conversion_duplicated_call", "boolean", "an earlier call of the person converted on the same offer"),
    Column("buyer_repeat_caller", "boolean", "an earlier call of the person was for the same buyer"),
    Column("offer_repeat_caller", "boolean", "an earlier call of the person was for the same offer"),
    Column("no_buyer", "boolean", "no buyer has answered"),
    Column("placed_on_hold", "boolean", "it was on hold at least once"),
    Column("in_progress", "boolean", "it has not ended"),
    Column("hold_duration", "integer", "seconds on hold, as the gateway says"),
    Column("ring_duration", "integer", "seconds from ringing to the answer, or to the end"),
    Column("talk_duration", "integer", "seconds of talk as the gateway says, else from the answer to a known end"),
    Column("total_duration", "integer", "seconds from the order, or from when it came in, to the end; 0 until then"),
    Column("initiated_at", "date-time", "when the provider took it"),
    Column("ringing_at", "date-time", "when it rang first"),
    Column("answered_at", "date-time", "when the person (outbound) or we (inbound) answered"),
    Column("buyer_answered_at", "date-time", "when the buyer answered"),
    Column("ended_at", "date-time", "when it ended"),
    Column("hangup_cause", "string", "the provider's own cause, else the outcome"),
    Column("hung_up_by", "string", "caller, buyer or us, where the gateway says so"),
    Column("has_recording", "boolean", "there is a recording_url"),
    Column("recording_url", "string", "where the recording is, as the gateway says"),
    Column(
        "transcription_status",
        "string",
        "none, pending, completed or failed: as manual_transcribe led to, or the gateway says",
    ),
    Column("call_disposition_id", "integer", "how somebody said that it went; a later one replaces it"),
    Column("agent_call_disposition_notes", "string", "what they noted"),
    Column("agent_id", "integer", "who spoke for us, as its gateway says"),
    Column("attempt_number", "integer", "which of the lead's counted attempts it was; 0 for an inbound call"),
    Column("is_callback", "boolean", "it was promised"),
    Column("scheduled_callback_id", "integer", "the promise that the call kept; null for all but callbacks"),
    Column("dial_tier", "integer", "the tier of the buyer that it is for: its group's, else its own"),
    Column("contact_field_type", "string", "the lead's when the call began, until an update replaces it"),
    Column("detail", "string", "what the gateway adds"),
    Column("impression_uuid", "string", "the impression by which the number called was held for its visitor"),
)

CALL_COLUMNS: tuple[str, ...] = tuple(column.name for column in COLUMNS)
"""Every column, in the order of the API."""

SORTABLE_COLUMNS = frozenset(
    {"created_at", "ended_at", "total_duration", "talk_duration", "revenue", "payout", "status", "attempt_number", "id"}
)
"""What a list of calls can be sorted by."""

DURATION_MAX = DAY // SECOND
"""Of a call, in seconds: none lasts longer than a day, whatever the clock of its gateway says, and sums stay sums."""

_DERIVED: dict[str, Callable[[Row], Any]] = {
    "uuid": lambda row: str(row["uuid"]),
    "legacy_id": lambda _: None,
    "type": lambda _: "Call",
    "routes_show_path": lambda row: f"/api/v1/calls/{row['id']}",
    "routes_edit_path": lambda row: f"/api/v1/calls/{row['id']}",
    "external_record_id": lambda row: row["token_values"].get("external_record_id"),
}
"""Columns that are not shown as their row has them."""

_STORED = tuple(column for column in COLUMNS if column.name not in _DERIVED)
_MOMENTS = tuple(column.name for column in _STORED if column.type == "date-time")
_PLAIN = tuple(column.name for column in _STORED if column.type != "date-time")
_plain_of, _moments_of = itemgetter(*_PLAIN), itemgetter(*_MOMENTS)


def call_view(row: Row, columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a call as the API shows it: all columns, or the given ones in their order."""
    if columns is not None:
        return {name: _DERIVED[name](row) if name in _DERIVED else cell(row[name]) for name in columns}
    # By type of column: a look at each value of a page of 1,000 calls takes longer than its query.
    shown: dict[str, Any] = dict.fromkeys(CALL_COLUMNS)
    shown.update(zip(_PLAIN, _plain_of(row), strict=True))
    for name, at in zip(_MOMENTS, _moments_of(row), strict=True):
        if at is not None:
            shown[name] = moment(at)
    for name, render in _DERIVED.items():
        shown[name] = render(row)
    return shown


# -- derived from the fields of a call, and stored by the projection for lists and reports -------------------------------


def caller_number(call: Call) -> str | None:
    """Return the person's number; None of a caller without one."""
    if call.direction != "inbound":
        return call.number_called
    return None if is_withheld(call.contact_key) else call.from_number


def call_country(call: Call) -> str | None:
    """Return the country: as the lead said, else as the person's number does."""
    number = caller_number(call)
    return call.country or (None if number is None else country_of_number(number))


def call_profit(call: Call) -> Decimal:
    """Return the profit of a call."""
    return profit(call.revenue, call.payout, call.cost)


def has_no_buyer(call: Call) -> bool:
    """Return whether no buyer has answered."""
    return call.buyer_answered_at is None and call.outcome != "connected_buyer"


def ring_seconds(call: Call) -> int:
    """Return for how long it rang: until the answer, or until the end."""
    return _between(call.ringing_at, call.ended_at if call.answered_at is None else call.answered_at)


def talk_seconds(call: Call) -> int:
    """Return for how long was talked: as the gateway says, else from the answer to the end without what was on hold.

    A call without a reported end has 0, not the hours until its time-out.
    """
    if call.sub_status == TIMED_OUT:
        return 0
    talked = call.talk_seconds or _between(call.answered_at, call.ended_at) - call.hold_seconds
    return min(max(0, talked), DURATION_MAX)


def total_seconds(call: Call) -> int:
    """Return for how long the call took: from its order to its end, where the person called us from when it came in."""
    is_told = call.direction == "inbound" and call.initiated_at is not None
    return _between(call.initiated_at if is_told else call.created_at, call.ended_at)


def hold_seconds(call: Call) -> int:
    """Return for how long it was on hold."""
    return min(call.hold_seconds, DURATION_MAX)


def _between(start: Instant | None, end: Instant | None) -> int:
    return 0 if start is None or end is None else min(max(0, (end - start) // SECOND), DURATION_MAX)
