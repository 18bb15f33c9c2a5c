"""Is a span of time answered for once and whole, whatever sums there are and wherever buckets end?"""

from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from adapters.postgres.spans import HOURS, TIERS, RollupState, cover
from schemas.instant import DAY, HOUR, MINUTE, Instant, from_datetime

YEARS = (2025, 2026)
MONTHS = [from_datetime(datetime(year, month, 1, tzinfo=UTC)) for year in YEARS for month in range(1, 13)]
DAYS = [Instant(at) for at in range(MONTHS[0], MONTHS[-1] + 31 * DAY, DAY)]
moments = st.one_of(
    st.integers(0, len(DAYS) * 24).map(lambda hours: MONTHS[0] + hours * HOUR),
    st.integers(0, len(DAYS) * 96).map(lambda quarters: MONTHS[0] + quarters * 15 * MINUTE),
)

STARTS = st.fixed_dictionaries(
    {
        "day": st.sets(st.sampled_from(DAYS)),
        "month": st.sets(st.sampled_from(MONTHS)),
        "year": st.sets(st.sampled_from([MONTHS[0], MONTHS[12]])),
    }
)


@given(
    ends=st.tuples(moments, moments).map(sorted),
    rolled=st.builds(RollupState, STARTS, st.sets(st.sampled_from(DAYS), max_size=3)),
    tiers=st.sampled_from([TIERS, TIERS[:-1], TIERS[1:], (*TIERS, HOURS)]),
    cuts=st.lists(moments, max_size=5).map(sorted),
)
def test_spans_and_gaps_are_the_whole_span_and_no_sum_reaches_over_a_cut_or_a_mark(
    ends: list[Instant], rolled: RollupState, tiers: tuple[str, ...], cuts: list[Instant]
) -> None:
    since, until = ends
    found = cover(since, until, rolled, tiers, cuts)
    parts = sorted([(span.start, span.until) for span in found.spans] + list(found.gaps))
    assert parts == [] if since == until else (parts[0][0], parts[-1][1]) == (since, until)
    assert all(first[1] == second[0] for first, second in pairwise(parts))
    for span in found.spans:
        day = span.start - span.start % DAY
        assert span.start in rolled.starts[span.tier] if span.tier != HOURS else day in rolled.starts["day"]
        assert span.tier in tiers
        assert (span.start % HOUR, span.until % HOUR) == (0, 0)
        assert not any(span.start < marked + DAY and marked < span.until for marked in rolled.marked)
        assert not any(span.start < cut < span.until for cut in cuts)


def test_hours_answer_for_the_parts_of_a_day_and_only_parts_of_hours_are_left() -> None:
    monday = DAYS[0]
    rolled = RollupState({"day": {monday, monday + DAY}}, set())
    found = cover(monday + 90 * MINUTE, monday + 2 * DAY, rolled, (*TIERS, HOURS), (monday + DAY + 5 * HOUR + 15 * MINUTE,))
    found_tiers = [(span.tier, (span.start - monday) / HOUR, (span.until - monday) / HOUR) for span in found.spans]
    assert found_tiers == [("hour", 2, 24), ("hour", 24, 29), ("hour", 30, 48)]
    assert [((since - monday) / HOUR, (until - monday) / HOUR) for since, until in found.gaps] == [(1.5, 2), (29, 30)]
    marked = RollupState(rolled.starts, {monday})
    assert cover(monday, monday + 5 * HOUR, marked, (*TIERS, HOURS)).spans == []
    assert cover(monday + 10 * MINUTE, monday + 50 * MINUTE, rolled, (*TIERS, HOURS)).spans == []
