"""How is a forecast read into heat maps? By day and hour, and by state and hour, on the clock of one zone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from adapters.pictures.heat_map import HOURS_OF_DAY, HeatMap, HeatRow, draw_heat_map
from adapters.pictures.picture import Picture
from adapters.pictures.wall_clock import skipped_minutes
from engine.calendar import local_datetime
from schemas.instant import Instant, from_datetime

UNITS = {"call": "calls", "sms": "texts", "email": "e-mails", "webhook": "webhooks"}
UNIT = "actions"
NOWHERE_LABEL = "no state"


def draw_forecast(found: Mapping[str, Any], *, zone: str, width: float = 960, name: str = "forecast") -> tuple[Picture, ...]:
    """Return the heat maps of a forecast, as the API and `leadclock leads forecast --json` give it."""
    by_day, by_state = _counts(found, zone)
    first, last = (_local_day(found[field], zone) for field in ("from", "to"))
    days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
    states = sorted({state for state, _ in by_state}, key=lambda state: (-_sum(by_state, state), state))
    said = describe_forecast(found)
    day_map = HeatMap(
        title="What will be due, by day",
        sentence=said,
        unit=UNIT,
        columns=HOURS_OF_DAY,
        rows=[HeatRow(f"{day:%a} {day.day} {day:%b}", _hours_of(by_day, day, zone)) for day in days],
        row_heading="Day",
    )
    state_map = HeatMap(
        title="What will be due, by state",
        sentence=f"Each hour of the clock of {zone}, over all days of the forecast",
        unit=UNIT,
        columns=HOURS_OF_DAY,
        rows=[HeatRow(state, [by_state[state, hour] for hour in range(24)]) for state in states],
        row_heading="State",
    )
    return (
        draw_heat_map(day_map, width=width, name=f"{name}-day"),
        draw_heat_map(state_map, width=width, name=f"{name}-state"),
    )


def describe_forecast(found: Mapping[str, Any]) -> str:
    """Return in words how much is due, and of how many of the due leads that was judged."""
    sums = {kind: sum(hour[kind] for hour in found["hours"]) for kind in UNITS}
    due = ", ".join(f"{count:,} {UNITS[kind]}" for kind, count in sums.items() if count) or "Nothing is due"
    left_out, judged = found["left_out"], found["limit"]
    if left_out == 0:
        return f"{due} of {found['leads']:,} leads"
    total = "more than 10,000" if left_out is None else f"{judged + left_out:,}"
    return f"{due}. Judged: {judged:,} of {total} due leads, the soonest first"


def _counts(found: Mapping[str, Any], zone: str) -> tuple[Counter[tuple[date, int]], Counter[tuple[str, int]]]:
    by_day: Counter[tuple[date, int]] = Counter()
    by_state: Counter[tuple[str, int]] = Counter()
    for hour in found["hours"]:
        local = local_datetime(_instant(hour["from"]), zone)
        for row in hour["by"]:
            by_day[local.date(), local.hour] += row["count"]
            by_state[row["state"] or NOWHERE_LABEL, local.hour] += row["count"]
    return by_day, by_state


def _hours_of(by_day: Counter[tuple[date, int]], day: date, zone: str) -> Sequence[int | None]:
    """Return the counts of a day; None for an hour that its clock skips whole."""
    skipped = skipped_minutes(day, zone)
    begins, ends = (0.0, 0.0) if skipped is None else skipped
    return [None if begins <= hour * 60 and hour * 60 + 60 <= ends else by_day[day, hour] for hour in range(24)]


def _local_day(text: str, zone: str) -> date:
    return local_datetime(_instant(text), zone).date()


def _instant(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))


def _sum(by_state: Counter[tuple[str, int]], state: str) -> int:
    return sum(by_state[state, hour] for hour in range(24))
