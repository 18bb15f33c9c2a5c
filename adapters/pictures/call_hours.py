"""In which hours of the week are calls made, and answered? Two heat maps of weekday by hour."""

from collections.abc import Mapping, Sequence

from adapters.pictures.heat_map import HOURS_OF_DAY, HeatMap, HeatRow, draw_heat_map
from adapters.pictures.picture import Picture

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

NO_CALL = "no call"

Hours = Mapping[tuple[int, int], int]
"""Weekday (0 is Monday) and hour of the day -> calls; none where it is left out."""


def draw_connect_rates(calls: Hours, connected: Hours, zone: str, width: float, name: str) -> Picture:
    """Return how many of a hundred calls were connected, by hour and weekday."""
    rows = []
    for day, label in enumerate(DAYS):
        made, met = _day(calls, day), _day(connected, day)
        rates = [round(100 * met[hour] / count) if count else None for hour, count in enumerate(made)]
        rows.append(HeatRow(label, rates, f"{sum(met) / sum(made):.0%}" if sum(made) else "-"))
    return draw_heat_map(
        HeatMap(
            title="Connected, in per cent of calls",
            sentence=_sentence(zone),
            unit="%",
            columns=HOURS_OF_DAY,
            rows=rows,
            row_heading="Weekday",
            each="",
            absent=NO_CALL,
            end="all",
        ),
        width=width,
        name=name,
    )


def draw_calls(calls: Hours, zone: str, width: float, name: str) -> Picture:
    """Return how many calls began, by hour and weekday."""
    return draw_heat_map(
        HeatMap(
            title="Calls",
            sentence=_sentence(zone),
            unit="calls",
            columns=HOURS_OF_DAY,
            rows=[HeatRow(label, _day(calls, day)) for day, label in enumerate(DAYS)],
            row_heading="Weekday",
        ),
        width=width,
        name=name,
    )


def _day(counts: Hours, day: int) -> Sequence[int]:
    return [counts.get((day, hour), 0) for hour in range(24)]


def _sentence(zone: str) -> str:
    return f"By the hour in which a call began, on the clock of {zone}"
