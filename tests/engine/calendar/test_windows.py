"""What can the rows of a window set say, and what is refused?"""

import pytest

from engine.calendar import WindowError, WindowSet, window_errors, window_set
from engine.calendar.windows import WINDOW_ROWS_MAX
from schemas.instant import DAY, HOUR
from schemas.schedule import Day, Window

EVERY_DAY: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def row(opens: str, closes: str, *days: Day) -> Window:
    return Window(days=days or EVERY_DAY, open=opens, close=closes)


def rows(*found: Window) -> WindowSet:
    return window_set(found)


def test_rows_of_a_day_are_sorted_and_merged() -> None:
    found = rows(row("13:00", "17:00", "mon"), row("09:00", "12:00", "mon"), row("11:00", "13:00", "mon", "mon"))

    assert found.days == (((9 * HOUR, 17 * HOUR),), (), (), (), (), (), ())


@pytest.mark.parametrize(
    ("opens", "closes", "hours"),
    [
        ("08:00", "21:00", (8 * HOUR, 21 * HOUR)),
        ("22:00", "02:00", (22 * HOUR, 26 * HOUR)),
        ("22:00", "24:00", (22 * HOUR, DAY)),
        ("22:00", "00:00", (22 * HOUR, DAY)),
        ("00:00", "24:00", (0, DAY)),
    ],
)
def test_a_close_before_the_opening_lies_on_the_next_day(opens: str, closes: str, hours: tuple[int, int]) -> None:
    assert rows(row(opens, closes, "fri")).days[4] == (hours,)


@pytest.mark.parametrize(
    ("found", "always"),
    [
        ([row("00:00", "24:00")], True),
        ([row("00:00", "12:00"), row("12:00", "24:00")], True),
        ([row("18:00", "09:00"), row("09:00", "18:00")], True),
        ([row("00:00", "23:59")], False),
        ([row("00:00", "24:00", *EVERY_DAY[:6])], False),
        ([row("00:00", "24:00", *EVERY_DAY[:6]), row("00:00", "20:00", "sun"), row("20:00", "00:00", "sun")], True),
    ],
)
def test_a_week_without_a_gap_is_always_open(found: list[Window], *, always: bool) -> None:
    assert rows(*found).always is always


@pytest.mark.parametrize(
    ("mine", "theirs", "meets"),
    [
        (row("08:00", "12:00"), row("11:59", "13:00"), True),
        (row("08:00", "12:00"), row("12:00", "13:00"), False),
        (row("22:00", "02:00", "sun"), row("01:00", "03:00", "mon"), True),
        (row("22:00", "02:00", "sun"), row("01:00", "03:00", "sun"), False),
    ],
)
def test_two_sets_meet_where_some_hour_of_the_week_is_in_both(mine: Window, theirs: Window, *, meets: bool) -> None:
    assert rows(mine).meets(rows(theirs)) is meets
    assert rows(theirs).meets(rows(mine)) is meets


def test_every_fault_of_every_row_is_reported_at_once() -> None:
    faulty = (
        row("08:00", "21:00"),
        Window(days=("mon", "Monday"), open="24:00", close="25:00"),  # type: ignore[arg-type]
        Window(days=(), open="9:00", close="09:00"),
        row("09:00", "09:00"),
    )

    assert window_errors(faulty) == {
        "1.days": ["must be one of mon, tue, wed, thu, fri, sat, sun"],
        "1.open": ["must be a time of day as HH:MM such as 09:00, from 00:00 to 23:59"],
        "1.close": ["must be a time of day as HH:MM such as 09:00, from 00:00 to 24:00"],
        "2.days": ["must name at least one day"],
        "2.open": ["must be a time of day as HH:MM such as 09:00, from 00:00 to 23:59"],
        "3.close": ["must differ from open; a whole day is 00:00 to 24:00"],
    }
    with pytest.raises(WindowError) as refused:
        window_set(faulty)
    assert refused.value.errors == window_errors(faulty)


@pytest.mark.parametrize("count", [0, WINDOW_ROWS_MAX + 1])
def test_no_rows_and_too_many_rows_are_refused(count: int) -> None:
    assert list(window_errors((row("08:00", "21:00"),) * count)) == [""]
