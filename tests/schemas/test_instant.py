"""Are instants and durations kept apart by mypy, and plain integers everywhere else?"""

from collections.abc import Callable

import msgspec
import pytest

from schemas.instant import EPOCH, HOUR, Instant, Millis, to_rfc3339

AT = Instant(1_784_131_200_000)


class Planned(msgspec.Struct):
    due_at: Instant
    retry_delay: Millis


def postponed(at: Instant, delay: Millis) -> Instant:
    return at + delay


def test_an_instant_is_a_plain_integer_at_run_time_and_in_json() -> None:
    assert [type(value).__name__ for value in (AT, AT + HOUR, AT - EPOCH)] == ["int", "int", "int"]
    assert msgspec.json.encode(Planned(AT, HOUR)) == b'{"due_at":1784131200000,"retry_delay":3600000}'
    assert msgspec.json.decode(b'{"due_at":1784131200000,"retry_delay":3600000}', type=Planned) == Planned(AT, HOUR)
    assert msgspec.json.schema(Instant) == msgspec.json.schema(Millis) == {"type": "integer"}


def test_what_instants_and_durations_give() -> None:
    later: Instant = AT + 2 * HOUR
    earlier: Instant = AT - HOUR
    between: Millis = later - earlier
    into_the_hour: Millis = later % HOUR
    assert (later, earlier, between, into_the_hour) == (HOUR + AT + HOUR, postponed(AT, -HOUR), 3 * HOUR, 0)
    assert earlier < AT < later


# mypy runs over the tests with `warn_unused_ignores`: an ignore on a line that it accepts is an error.
REFUSED_BY_MYPY: dict[str, Callable[[], object]] = {
    "two instants added": lambda: AT + AT,  # type: ignore[operator]
    "an instant subtracted from a duration": lambda: HOUR - AT,  # type: ignore[operator]
    "an instant multiplied": lambda: 2 * AT,  # type: ignore[operator]
    "an instant before a duration": lambda: AT < HOUR,  # type: ignore[operator]
    "a duration before an instant": lambda: HOUR < AT,  # type: ignore[operator]
    "an instant equal to a duration": lambda: AT == HOUR,  # type: ignore[comparison-overlap]
    "a duration for an instant": lambda: postponed(HOUR, HOUR),  # type: ignore[arg-type]
    "an instant for a duration": lambda: postponed(AT, AT),  # type: ignore[arg-type]
    "a difference for an instant": lambda: postponed(AT - EPOCH, HOUR),  # type: ignore[arg-type]
    "an integer for an instant": lambda: to_rfc3339(1_784_131_200_000),  # type: ignore[arg-type]
    "a field of the wrong kind": lambda: Planned(due_at=HOUR, retry_delay=AT),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("mixed", REFUSED_BY_MYPY.values(), ids=REFUSED_BY_MYPY)
def test_what_mypy_refuses_costs_nothing_at_run_time(mixed: Callable[[], object]) -> None:
    mixed()
