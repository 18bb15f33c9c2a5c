"""Which instants does a label of time mean, in a zone, at its edges?"""

from datetime import datetime

import pytest

from engine.views.periods import LABELS, span_of
from schemas.instant import EPOCH, Instant, from_datetime, to_rfc3339


def at(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))


NOW = at("2026-03-08T16:30:00+00:00")
"""A Sunday at 12:30 in New York, on the day whose third hour its clocks skip."""


@pytest.mark.parametrize(
    ("label", "first", "behind"),
    [
        ("Last 5 Min", "2026-03-08T16:25:00Z", None),
        ("Last 15 Min", "2026-03-08T16:15:00Z", None),
        ("Last 30 Min", "2026-03-08T16:00:00Z", None),
        ("Last Hour", "2026-03-08T15:30:00Z", None),
        ("Last 4 Hours", "2026-03-08T12:30:00Z", None),
        ("Last 6 Hours", "2026-03-08T10:30:00Z", None),
        ("Last 12 Hours", "2026-03-08T04:30:00Z", None),
        ("Last Day", "2026-03-07T16:30:00Z", None),
        ("Last 2 Days", "2026-03-06T16:30:00Z", None),
        ("Today", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"),
        ("Yesterday", "2026-03-07T05:00:00Z", "2026-03-08T05:00:00Z"),
        ("This Week", "2026-03-02T05:00:00Z", "2026-03-09T04:00:00Z"),
        ("Last Week", "2026-02-23T05:00:00Z", "2026-03-02T05:00:00Z"),
        ("This Month", "2026-03-01T05:00:00Z", "2026-04-01T04:00:00Z"),
        ("Last Month", "2026-02-01T05:00:00Z", "2026-03-01T05:00:00Z"),
        ("This Quarter", "2026-01-01T05:00:00Z", "2026-04-01T04:00:00Z"),
        ("Last Quarter", "2025-10-01T04:00:00Z", "2026-01-01T05:00:00Z"),
        ("Last 6 Months", "2025-09-08T16:30:00Z", None),
        ("This Year", "2026-01-01T05:00:00Z", "2027-01-01T05:00:00Z"),
        ("Last Year", "2025-01-01T05:00:00Z", "2026-01-01T05:00:00Z"),
        ("Lifetime", None, None),
        ("Custom Range", None, None),
    ],
)
def test_a_label_means_a_span(label: str, first: str | None, behind: str | None) -> None:
    span = span_of(label, NOW, "America/New_York")
    assert tuple(None if edge is None else to_rfc3339(edge) for edge in span) == (first, behind)


def test_every_label_of_the_interface_is_known() -> None:
    assert len(LABELS) == 22
    for label in LABELS:
        span_of(label, NOW, "Pacific/Apia")


@pytest.mark.parametrize(
    ("now", "first"),
    [
        ("2026-08-31T12:00:00+00:00", "2026-02-28T12:00:00Z"),
        ("2026-08-30T12:00:00+00:00", "2026-02-28T12:00:00Z"),
        ("2028-08-31T12:00:00+00:00", "2028-02-29T12:00:00Z"),
        ("2026-03-31T12:00:00+00:00", "2025-09-30T12:00:00Z"),
        ("2026-01-31T12:00:00+00:00", "2025-07-31T12:00:00Z"),
        ("2026-12-30T12:00:00+00:00", "2026-06-30T12:00:00Z"),
    ],
)
def test_six_months_ago_is_the_same_day_or_the_last_one_of_a_month_that_has_no_such_day(now: str, first: str) -> None:
    span = span_of("Last 6 Months", at(now), "UTC")
    assert (to_rfc3339(span[0] or EPOCH), span[1]) == (first, None)


@pytest.mark.parametrize(
    ("label", "now", "first", "behind"),
    [
        ("This Quarter", "2026-05-31T16:00:00+00:00", "2026-03-31T15:00:00Z", "2026-06-30T15:00:00Z"),
        ("Last Quarter", "2026-02-10T00:00:00+00:00", "2025-09-30T15:00:00Z", "2025-12-31T15:00:00Z"),
        ("This Week", "2026-05-31T16:00:00+00:00", "2026-05-31T15:00:00Z", "2026-06-07T15:00:00Z"),
        ("This Month", "2025-12-31T16:00:00+00:00", "2025-12-31T15:00:00Z", "2026-01-31T15:00:00Z"),
        ("Last Month", "2025-12-31T16:00:00+00:00", "2025-11-30T15:00:00Z", "2025-12-31T15:00:00Z"),
        ("This Year", "2025-12-31T16:00:00+00:00", "2025-12-31T15:00:00Z", "2026-12-31T15:00:00Z"),
        ("Today", "2026-05-31T15:00:00+00:00", "2026-05-31T15:00:00Z", "2026-06-01T15:00:00Z"),
        ("Today", "2026-05-31T14:59:59+00:00", "2026-05-30T15:00:00Z", "2026-05-31T15:00:00Z"),
    ],
)
def test_the_calendar_is_that_of_the_zone_where_a_day_month_or_year_may_have_begun_already(
    label: str, now: str, first: str, behind: str
) -> None:
    span = span_of(label, at(now), "Asia/Tokyo")
    assert tuple(None if edge is None else to_rfc3339(edge) for edge in span) == (first, behind)
