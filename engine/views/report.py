"""How are leads and calls grouped in reports? Rows of sums and rates, and buckets of time.

Buckets follow the wall clock of a zone: a short day is one bucket of 23 hours, a repeated hour is two buckets. The edges
are instants computed here, so that the database's zone tables do not matter. A rate with the denominator 0 is None, never
0. Group values come from the sums of the rows, never from averages.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from heapq import merge
from operator import itemgetter
from typing import Any, TypeVar

from msgspec import Struct

from engine.calendar.zones import day_start, local_datetime
from engine.views.profit import profit
from schemas.errors import SenderError
from schemas.instant import HOUR, MINUTE, Instant, to_datetime
from schemas.money import AMOUNT_DIGITS, amount

BUCKETS_MAX = 10_000
"""A year of hours, or a month of five minutes: nobody reads a longer table."""

CELLS_MAX = 100_000
"""Categories times pivots of one report: some 30 MB of JSON, more than anybody reads."""

FIVE_MINUTES = 5 * MINUTE
MONTHS_A_YEAR = 12

LOCAL_TIMES_MAX = 16
"""Local times remembered: a bucket asks for those of its edges several times, then never again."""

ADDED_AT_ONCE = 200
"""Groups that are added up without a break: some 0.3 ms, during which other threads hardly run."""

SORTED_AT_ONCE = 1_000
"""Groups that are sorted without a break: some 0.5 ms. Sorting 40,000 at once held up all other threads for 50 ms."""

Key = str | int | float | bool | None
Number = int | float | Decimal
"""A count, seconds, or an amount of money; a rate of them."""

Sums = Mapping[str, Any]

NO_VALUE = "(none)"
"""The label of the group of rows without a value."""

TIME_UNITS = ("created_at_day", "created_at_month", "created_at_week", "created_at_five_minutes", "created_at_hour")

BELOW_DAYS = frozenset({"created_at_five_minutes", "created_at_hour"})
"""Units of time that are shorter than a day."""

LEAD_DAYS: Mapping[str, str] = {"first_action_at_day": "first_action_at", "last_action_at_day": "last_action_at"}
CALL_DAYS: Mapping[str, str] = {"ended_at_day": "ended_at"}
CALLBACK_DAYS: Mapping[str, str] = {"promised_at_day": "promised_at"}
"""Grouping by the day of an activity -> the instant of it. Days without any have no row."""

ACTIVITY_DAYS = frozenset({*LEAD_DAYS, *CALL_DAYS, *CALLBACK_DAYS})

LEAD_CATEGORIES: tuple[str, ...] = (
    "status", "offer_id", "schedule_id", "schedule_action_id", "buyer_converted_schedule_action_id", "lead_import_id",
    "traffic_source_id", "outbound_calls_count", "inbound_calls_count", "recent_call_disposition_id",
    "buyer_converted_days", "buyer_id", "country", "call_center_id", "state", "sub_id", "dial_tier",
    "contact_field_type", *TIME_UNITS, "schedule_trigger_type", "zip_postal_code", "state_province", "token_values_map",
    *LEAD_DAYS,
)  # fmt: skip
"""What leads can be grouped by."""

CALL_GROUPS: tuple[str, ...] = (
    "buyer_converted", "offer_converted", "status", *TIME_UNITS, "outcome", "offer_id", "schedule_id",
    "schedule_action_id", "traffic_source_id", "buyer_id", "buyer_group_id", "state", "disposition_id", "origin",
    "lead_import_id", "call_center_id", "ring_pool_id", "number_id", *CALL_DAYS,
)  # fmt: skip
"""What statistics of calls can be grouped by."""

CALL_CATEGORIES: tuple[str, ...] = (*CALL_GROUPS, "hour_of_day", "attempt_number")


CALLBACK_CATEGORIES: tuple[str, ...] = (
    "agent_id", "promised_at_day", "called_agent_id", "call_center_id", "callback_status", "promised_by", "offer_id",
    "schedule_id", "buyer_id", "buyer_group_id",
)  # fmt: skip
"""What callbacks can be grouped by. The agent, buyer or group is the owner; the agent without one is who promised it."""


class TooManyBucketsError(SenderError, ValueError):
    """The span has more than `BUCKETS_MAX` buckets of the unit."""


class BeyondCalendarError(SenderError, ValueError):
    """A bucket would begin or end in no year from 1 to 9999."""


class Measure(Struct, frozen=True):
    """The sums that a group needs, and the columns that follow from them."""

    sums: tuple[str, ...]
    columns: Mapping[str, Callable[[Sums], Number | None]]


def _sum(name: str) -> Callable[[Sums], Number | None]:
    return lambda sums: sums[name]


def _amount(name: str) -> Callable[[Sums], Number | None]:
    return lambda sums: amount(sums[name])


def _rate(part: str, whole: str) -> Callable[[Sums], Number | None]:
    return lambda sums: round(sums[part] / sums[whole], AMOUNT_DIGITS) if sums[whole] else None


def _answer_rate(sums: Sums) -> float | None:
    outbound = sums["calls_count"] - sums["inbound_count"]
    return round(sums["answered_count"] / outbound, AMOUNT_DIGITS) if outbound else None


MONEY: Mapping[str, Callable[[Sums], Number | None]] = {
    "revenue": _amount("revenue"),
    "payout": _amount("payout"),
    "cost": _amount("cost"),
    "profit": lambda sums: profit(sums["revenue"], sums["payout"], sums["cost"]),
}
"""Columns of money, the same in reports of leads and of calls."""

LEADS = Measure(
    sums=(
        "leads_count", "live_count", "attempted_count", "connected_count", "converted_count", "opt_out_count",
        "outbound_calls_count", "sms_count", "emails_count", "revenue", "payout", "cost",
        "connected_calls_count",
        "first_attempts_count", "first_attempts_seconds",
    ),
    columns={
        **{
            name: _sum(name)
            for name in (
                "leads_count", "live_count", "attempted_count", "connected_count", "converted_count", "opt_out_count",
                "outbound_calls_count", "sms_count", "emails_count",
            )
        },
        **MONEY,
        "conversion_rate": _rate("converted_count", "leads_count"),
        "connect_rate": _rate("connected_count", "attempted_count"),
        "avg_attempts_to_connect": _rate("connected_calls_count", "connected_count"),
        "avg_speed_to_first_attempt_seconds": _rate("first_attempts_seconds", "first_attempts_count"),
    },
)  # fmt: skip
"""Of leads. Attempted: a call, text or e-mail was sent. Attempts to connect: the calls made to leads that were connected."""

CALLS = Measure(
    sums=(
        "calls_count", "inbound_count", "connected_count", "converted_count", "buyer_converted_count",
        "offer_converted_count", "no_buyer_count", "answered_count", "abandoned_count", "talk_duration", "total_duration",
        "revenue", "payout", "cost", "connected_talk_duration",
    ),
    columns={
        **{
            name: _sum(name)
            for name in (
                "calls_count", "inbound_count", "connected_count", "converted_count", "buyer_converted_count",
                "offer_converted_count", "no_buyer_count", "answered_count", "abandoned_count", "talk_duration",
                "total_duration",
            )
        },
        **MONEY,
        "conversion_rate": _rate("converted_count", "calls_count"),
        "connect_rate": _rate("connected_count", "calls_count"),
        "answer_rate": _answer_rate,
        "abandoned_rate": _rate("abandoned_count", "answered_count"),
        "avg_talk_duration": _rate("connected_talk_duration", "connected_count"),
    },
)  # fmt: skip
"""Of calls. Durations are seconds; the average is over calls that were connected.

Answered: a person answered a call of ours. Abandoned: such a call was given nobody to talk to. Of the answered calls of a
campaign in 30 days at most 3 % may be (16 CFR 310.4(b)(4)(i)).
"""

CALLBACKS = Measure(
    sums=(
        "promised_count", "pending_count", "overdue_count", "kept_count", "kept_late_count", "missed_count",
        "cancelled_count", "reached_count", "judged_count", "late_seconds",
    ),
    columns={
        **{
            name: _sum(name)
            for name in (
                "promised_count", "pending_count", "overdue_count", "kept_count", "kept_late_count", "missed_count",
                "cancelled_count", "reached_count",
            )
        },
        "kept_rate": _rate("kept_count", "judged_count"),
        "avg_late_seconds": _rate("late_seconds", "kept_late_count"),
    },
)  # fmt: skip
"""Of callbacks. Overdue: pending, and its time is over. The rate is of those that were made or missed."""

STATS: Mapping[str, str] = {
    "count": "calls_count",
    **{
        name: name
        for name in (
            "revenue", "profit", "cost", "payout", "talk_duration", "total_duration", "connected_count", "converted_count",
            "avg_talk_duration",
        )
    },
}  # fmt: skip
"""Name of a statistic -> its column."""


T = TypeVar("T")
Pace = Callable[[Iterable[T]], Iterable[T]]


class Group(Struct, frozen=True):
    """The sums of the rows that share a category, and a pivot where there is one."""

    category: Key
    pivot: Key
    sums: Sums


class Grouping(Struct, frozen=True):
    """What rows are grouped by: a name, and for a unit of time the edges and names of its buckets.

    A group of a unit of time is known by the number of its bucket, from 1. The days of an activity are those of a zone.
    """

    name: str
    edges: tuple[Instant, ...] = ()
    names: tuple[str, ...] = ()
    zone: str = ""

    def has(self, value: Key) -> bool:
        """Return whether a group is in a bucket: newer rows than the edges are in none."""
        return not self.names or value is None or 1 <= int(value) <= len(self.names)

    def key(self, value: Key) -> Key:
        """Return the label of a group's category."""
        return self.names[int(value) - 1] if self.names and value is not None else value


class Report(Struct, frozen=True):
    """A row per category in order, each with the metrics of its pivots and of all of it, and the metrics of everything."""

    categories: tuple[Key, ...]
    pivots: tuple[Key, ...]
    cells: "LazyMetrics"
    totals: "LazyMetrics"
    overall: Mapping[str, Number | None]


def grouping(
    name: str, since: Instant | None, until: Instant | None, zone_name: str, pace: Pace[Instant] = iter
) -> Grouping:
    """Return how rows between two instants are grouped. Raises `TooManyBucketsError`, `BeyondCalendarError`.

    `pace` iterates the edges of buckets, such as in slices: the hours of a year take a tenth of a second.
    """
    if name in ACTIVITY_DAYS:
        return Grouping(name, zone=zone_name)
    if name not in TIME_UNITS or since is None or until is None:
        return Grouping(name)
    try:
        named = [(edge, _name(name, edge, zone_name)) for edge in pace(_edges(name, since, until, zone_name))]
        edges, names = zip(*named, strict=True)
        to_datetime(edges[-1])
        return Grouping(name, edges, names[:-1])
    except TooManyBucketsError:
        raise
    except (OverflowError, ValueError):
        raise BeyondCalendarError("reaches beyond the calendar; choose dates from the year 2 to 9998") from None


def bucket_of(unit: str, at: Instant, zone_name: str) -> tuple[Instant, Instant]:
    """Return when the bucket of a unit of time that an instant lies in begins, and when the next one does."""
    start = _start(unit, at, zone_name)
    return start, _next(unit, start, zone_name)


def _edges(unit: str, since: Instant, until: Instant, zone_name: str) -> Iterable[Instant]:
    """Return the edges of the buckets that hold the span: the first not after it begins, the last not before it ends."""
    edge = _start(unit, since, zone_name)
    yield edge
    count = 0
    while edge < until or count == 0:
        count += 1
        if count > BUCKETS_MAX:
            raise TooManyBucketsError(f"has more than {BUCKETS_MAX} buckets between these dates; choose fewer days")
        edge = _next(unit, edge, zone_name)
        yield edge


@lru_cache(maxsize=LOCAL_TIMES_MAX)
def _local(at: Instant, zone_name: str) -> datetime:
    return local_datetime(at, zone_name)


def _start(unit: str, at: Instant, zone_name: str) -> Instant:
    local = _local(at, zone_name)
    if unit in BELOW_DAYS:
        into = (local.minute * 60 + local.second) * 1000 + at % 1000
        start = at - into % (HOUR if unit == "created_at_hour" else FIVE_MINUTES)
        return _after_change(start, zone_name) if unit == "created_at_hour" else start
    return day_start(_first_day(unit, local.date()), zone_name)


def _after_change(start: Instant, zone_name: str) -> Instant:
    """Return the start of an hour that would begin within another: the clock changed by half an hour since."""
    minute = _local(start, zone_name).minute
    return _next("created_at_hour", start - minute * MINUTE, zone_name) if minute else start


def _next(unit: str, edge: Instant, zone_name: str) -> Instant:
    if unit == "created_at_five_minutes":
        return edge + FIVE_MINUTES
    local = _local(edge, zone_name)
    if unit == "created_at_hour":
        return _next_hour(edge, edge + HOUR - local.minute * MINUTE, zone_name)
    day = _first_day(unit, local.date())
    following = day + timedelta(days=7 if unit == "created_at_week" else 1)
    if unit == "created_at_month":
        following = date(day.year + day.month // MONTHS_A_YEAR, day.month % MONTHS_A_YEAR + 1, 1)
    start = day_start(following, zone_name)
    # A date that a zone left out (Samoa, 30 December 2011) begins where the next one does.
    return start if start > edge else _next(unit, start + HOUR, zone_name)


def _next_hour(edge: Instant, due: Instant, zone_name: str) -> Instant:
    """Return when the hour from `edge` ends: at `due`, or earlier where the clock jumped from half past to a full hour."""
    jumped_at = due - _local(due, zone_name).minute * MINUTE
    is_full_hour = _local(jumped_at, zone_name).minute == 0
    return jumped_at if edge < jumped_at and is_full_hour else due


def _first_day(unit: str, day: date) -> date:
    if unit == "created_at_week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if unit == "created_at_month" else day


def _name(unit: str, edge: Instant, zone_name: str) -> str:
    local = _local(edge, zone_name)
    if unit in BELOW_DAYS:
        return local.isoformat(timespec="minutes")  # with its offset: 01:00 may come twice
    return local.strftime("%Y-%m" if unit == "created_at_month" else "%Y-%m-%d")


class LazyMetrics(dict[Any, Mapping[str, Number | None]]):
    """The metrics of each group, computed on access: of ten thousand groups a page shows twenty-five."""

    def __init__(self, sums: dict[Any, Sums], measure: Measure) -> None:
        super().__init__()
        self._sums = sums
        self._measure = measure
        self._nothing: Sums = dict.fromkeys(measure.sums, 0)  # whole, as counts are

    def __missing__(self, key: Any) -> Mapping[str, Number | None]:
        found = self[key] = metrics(self._sums.get(key, self._nothing), self._measure)
        return found

    def discard(self, pace: Pace[int] = iter) -> None:
        """Forget every group one by one: to free 40,000 at once holds up all other threads for 40 ms."""
        for known in (self._sums, self):
            for _ in pace(range(len(known))):
                known.popitem()


def report(groups: Sequence[Group], measure: Measure, category: Grouping, pivot: Grouping, pace: Pace[Any] = iter) -> Report:
    """Return a report; categories of time are in their order, others by how many rows they have.

    `pace` iterates what takes long otherwise, such as in slices.
    """
    by_category = _sums_by(groups, measure, lambda group: group.category)
    by_pivot = {group.pivot for group in groups}
    cells = _sums_by(groups, measure, lambda group: (group.category, group.pivot)) if pivot.name else {}
    first = measure.sums[0] if category.name not in ACTIVITY_DAYS else None
    categories = _in_order(category, by_category, lambda key: -by_category[key][first] if first else 0, pace)
    pivots = _in_order(pivot, by_pivot, lambda _: 0, pace)
    return Report(
        categories=tuple(category.key(key) for key in categories),
        pivots=tuple(pivot.key(key) for key in pivots),
        cells=LazyMetrics(
            {
                (category.key(row), pivot.key(column)): sums
                for (row, column), sums in cells.items()
                if category.has(row) and pivot.has(column)
            },
            measure,
        ),
        totals=LazyMetrics({category.key(key): sums for key, sums in by_category.items() if category.has(key)}, measure),
        overall=metrics(_added_up(groups, measure, pace), measure),
    )


def _in_order(by: Grouping, keys: Iterable[Key], rank: Callable[[Key], float], pace: Pace[Key]) -> Sequence[Key]:
    """Return the buckets of a unit of time, else the keys by rank and value."""
    if by.names:
        return range(1, len(by.names) + 1)
    ranked = [(rank(key), _sort_key(key), key) for key in pace(keys)]
    return [key for _, _, key in sort_in_pieces(ranked, itemgetter(0, 1), pace)]


def sort_in_pieces(items: Sequence[T], key: Callable[[T], Any], pace: Pace[Any] = iter) -> list[T]:
    """Return items as `sorted` does, a piece at a time."""
    starts = range(0, len(items), SORTED_AT_ONCE)
    pieces = [sorted(items[start : start + SORTED_AT_ONCE], key=key) for start in pace(starts)]
    return list(pace(merge(*pieces, key=key)))


def metrics(sums: Sums, measure: Measure) -> dict[str, Number | None]:
    """Return every column of a group."""
    return {name: column(sums) for name, column in measure.columns.items()}


def _sums_by(groups: Sequence[Group], measure: Measure, key: Callable[[Group], Any]) -> Mapping[Any, Sums]:
    """Return the sums of all groups of a key."""
    alone = {key(group): group.sums for group in groups}
    if len(alone) == len(groups):
        return alone
    found: dict[Any, dict[str, float]] = {}
    for group in groups:
        sums = found.setdefault(key(group), dict.fromkeys(measure.sums, 0))
        for name in measure.sums:
            sums[name] += group.sums[name]
    return found


def _added_up(groups: Sequence[Group], measure: Measure, pace: Pace[int]) -> Sums:
    """Return the sums of all groups, column by column: several times faster than group by group."""
    found: Sums = dict.fromkeys(measure.sums, 0)
    waiting = [group.sums for group in groups]
    for start in pace(range(0, len(waiting), ADDED_AT_ONCE)):
        some = waiting[start : start + ADDED_AT_ONCE]
        found = {name: sum(map(itemgetter(name), some), found[name]) for name in measure.sums}
    return found


def _sort_key(key: Key) -> tuple[bool, float, str]:
    """Sort numbers by value and texts as text; None comes last."""
    if key is None:
        return True, 0.0, ""
    return (False, float(key), "") if isinstance(key, int | float) else (False, 0.0, key)
