"""Do the buckets of a unit of time follow each other without gap and overlap, also where clocks change by half an hour?"""

import operator
from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.views.report import TIME_UNITS, bucket_of
from schemas.instant import HOUR, MINUTE, Instant, from_datetime

ZONES = [
    "America/Caracas",
    "America/New_York",
    "America/St_Johns",
    "Asia/Kathmandu",
    "Asia/Pyongyang",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Chatham",
    "UTC",
]
CHANGES = [
    from_datetime(datetime.fromisoformat(text))
    for text in (
        "2026-04-04T15:00+00:00",  # Lord Howe: 02:00 becomes 01:30
        "2026-10-03T15:30+00:00",  # Lord Howe: 02:00 becomes 02:30
        "2026-04-04T14:00+00:00",  # Chatham: 03:45 becomes 02:45
        "2026-03-08T05:30+00:00",  # St. John's: 02:00 becomes 03:00
        "2026-11-01T06:00+00:00",  # New York: 02:00 becomes 01:00
        "2016-05-01T07:00+00:00",  # Caracas: 02:30 becomes 03:00
        "2018-05-04T15:00+00:00",  # Pyongyang: 23:30 becomes 00:00
        "2011-12-30T10:00+00:00",  # Apia: a day is left out
    )
]
instants = st.builds(operator.add, st.sampled_from(CHANGES), st.integers(-3 * HOUR, 3 * HOUR))


@given(st.sampled_from(TIME_UNITS), st.sampled_from(ZONES), instants)
def test_an_instant_lies_in_its_bucket_and_the_next_begins_where_it_ends(unit: str, zone: str, at: Instant) -> None:
    start, end = bucket_of(unit, at, zone)
    assert start <= at < end
    assert bucket_of(unit, start, zone) == bucket_of(unit, end - 1, zone) == (start, end)
    assert bucket_of(unit, end, zone)[0] == end


@pytest.mark.parametrize("changed_at", CHANGES[:2])
def test_a_change_by_half_an_hour_begins_an_hour_of_thirty_minutes(changed_at: Instant) -> None:
    buckets = {
        bucket_of("created_at_hour", changed_at + minute * MINUTE, "Australia/Lord_Howe") for minute in range(-60, 90)
    }
    assert (changed_at, changed_at + HOUR // 2) in buckets
    assert all(end == start for (_, end), (start, _) in pairwise(sorted(buckets)))


@pytest.mark.parametrize(("zone", "changed_at"), [("America/Caracas", CHANGES[5]), ("Asia/Pyongyang", CHANGES[6])])
def test_a_jump_from_half_past_to_a_full_hour_ends_an_hour_of_thirty_minutes(zone: str, changed_at: Instant) -> None:
    assert bucket_of("created_at_hour", changed_at - 1, zone) == (changed_at - HOUR // 2, changed_at)
