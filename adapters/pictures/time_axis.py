"""Which instants are labelled below a span of time? Round ones on the wall clock of a zone, as many as have room."""

from collections.abc import Iterator
from datetime import timedelta

from msgspec import Struct

from engine.calendar import day_start, local_datetime
from schemas.instant import DAY, HOUR, MINUTE, SECOND, Instant, Millis

STEPS: tuple[Millis, ...] = (
    *(SECOND, 5 * SECOND, 15 * SECOND, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR),
    *(days * DAY for days in (1, 2, 7, 14, 28, 91, 182, 364, 1_820, 7_280, 36_400)),
)
"""Between two labels: hours that divide a day, and weeks, so that labels keep their weekday."""

TICKS_MAX = 60
"""Labels of one axis, whatever its width."""


class Tick(Struct, frozen=True):
    """A label of an axis; `is_day`: where a day begins."""

    at: Instant
    label: str
    is_day: bool


def ticks(begins_at: Instant, ends_at: Instant, zone: str, *, room: int) -> list[Tick]:
    """Return at most `room` labels within a span."""
    step = next((step for step in STEPS if (ends_at - begins_at) / step <= room), STEPS[-1])
    found = _days(begins_at, ends_at, zone, step // DAY) if step >= DAY else _times(begins_at, ends_at, zone, step)
    return [tick for _, tick in zip(range(min(room + 1, TICKS_MAX)), found, strict=False)]


def _days(begins_at: Instant, ends_at: Instant, zone: str, every: int) -> Iterator[Tick]:
    """Yield the first instants of days."""
    day = local_datetime(begins_at, zone).date() + timedelta(days=1)
    while True:
        at = day_start(day, zone)
        if at > ends_at:
            return
        if at >= begins_at:
            year = f" {day.year}" if every >= 91 else ""  # noqa: PLR2004 - a quarter
            yield Tick(at, f"{day.day} {day:%b}{year}" if every > 1 else f"{day:%a} {day.day} {day:%b}", is_day=True)
        day += timedelta(days=every)


def _times(begins_at: Instant, ends_at: Instant, zone: str, step: Millis) -> Iterator[Tick]:
    """Yield round times of day: counted from midnight, so that a change of the clock moves them with it."""
    day = local_datetime(begins_at, zone).date()
    midnight = day_start(day, zone)
    while midnight <= ends_at:
        following = day_start(day + timedelta(days=1), zone)
        at = midnight + max(0, (begins_at - midnight) // step) * step
        while at < following and at <= ends_at:
            if at >= begins_at and _is_round(at, zone, step):
                local = local_datetime(at, zone)
                is_day = at == midnight
                form = "%H:%M" if step >= MINUTE else "%H:%M:%S"
                yield Tick(at, f"{local:%a} {local.day} {local:%b}" if is_day else local.strftime(form), is_day)
            at += min(step, HOUR)
        day, midnight = day + timedelta(days=1), following


def _is_round(at: Instant, zone: str, step: Millis) -> bool:
    local = local_datetime(at, zone)
    return ((local.hour * 60 + local.minute) * 60 + local.second) * SECOND % step == 0
