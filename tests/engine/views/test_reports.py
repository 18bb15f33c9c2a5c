"""Does a report derive each group's measures from its sums, for many groups as for few?"""

from decimal import Decimal
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.views import report as reports
from engine.views.report import (
    BUCKETS_MAX,
    CALLS,
    LEADS,
    Group,
    Grouping,
    Measure,
    TooManyBucketsError,
    grouping,
    metrics,
    report,
    sort_in_pieces,
)
from schemas.instant import EPOCH, HOUR, Instant

DAYS = Grouping("created_at_day", tuple(map(Instant, (0, 10, 20))), ("first", "second"))
ANY = Grouping("")


def group(category: object, leads: int, pivot: object = None) -> Group:
    return Group(category, pivot, {**dict.fromkeys(LEADS.sums, 0), "leads_count": leads})  # type: ignore[arg-type]


def test_groups_of_one_name_are_added_up_and_others_stay_as_they_are() -> None:
    made = report([group("a", 2), group("b", 3), group("a", 5)], LEADS, Grouping("status"), ANY)
    assert made.categories == ("a", "b")
    assert [made.totals[key]["leads_count"] for key in made.categories] == [7, 3]
    assert made.overall["leads_count"] == 10


def test_a_bucket_without_rows_is_listed_empty() -> None:
    made = report([group(2, 4)], LEADS, DAYS, ANY)
    assert made.categories == ("first", "second")
    assert [made.totals[key]["leads_count"] for key in made.categories] == [0, 4]
    assert repr(made.totals["first"]["leads_count"]) == "0"  # of leads there is no half


def test_what_was_created_since_the_edges_were_worked_out_is_in_no_bucket() -> None:
    made = report([group(1, 4), group(3, 1)], LEADS, DAYS, ANY)
    assert [made.totals[key]["leads_count"] for key in made.categories] == [4, 0]
    crossed = report([group("a", 4, 1), group("a", 1, 3)], LEADS, Grouping("status"), DAYS)
    assert [crossed.cells["a", pivot]["leads_count"] for pivot in crossed.pivots] == [4, 0]


LEAD_SUMS: dict[str, Any] = {
    "leads_count": 200, "live_count": 31, "attempted_count": 160, "connected_count": 40, "converted_count": 10,
    "opt_out_count": 7, "outbound_calls_count": 301, "sms_count": 53, "emails_count": 59, "revenue": Decimal("610.12346"),
    "payout": Decimal("210.1"), "cost": Decimal("100.3"), "connected_calls_count": 90, "first_attempts_count": 150,
    "first_attempts_seconds": 9_000.0,
}  # fmt: skip
CALL_SUMS: dict[str, Any] = {
    "calls_count": 400, "inbound_count": 11, "connected_count": 80, "converted_count": 20, "buyer_converted_count": 17,
    "offer_converted_count": 13, "no_buyer_count": 19, "answered_count": 120,
    "abandoned_count": 3, "talk_duration": 5_003, "total_duration": 9_007,
    "revenue": Decimal("610.5"), "payout": Decimal("210.1"), "cost": Decimal("100.3"), "connected_talk_duration": 4_000,
}  # fmt: skip


@pytest.mark.parametrize(
    ("measure", "sums", "reported"),
    [
        (
            LEADS,
            LEAD_SUMS,
            {
                **{name: value for name, value in LEAD_SUMS.items() if not name.startswith(("connected_calls", "first_"))},
                "revenue": Decimal("610.1235"), "profit": Decimal("299.7235"), "conversion_rate": 0.05, "connect_rate": 0.25,
                "avg_attempts_to_connect": 2.25, "avg_speed_to_first_attempt_seconds": 60.0,
            },
        ),
        (
            CALLS,
            CALL_SUMS,
            {
                **{name: value for name, value in CALL_SUMS.items() if name != "connected_talk_duration"},
                "profit": Decimal("300.1"), "conversion_rate": 0.05, "connect_rate": 0.2, "avg_talk_duration": 50.0,
                "answer_rate": 0.3085, "abandoned_rate": 0.025,
            },
        ),
    ],
)  # fmt: skip
def test_every_figure_follows_from_the_sums_of_its_group(
    measure: Measure, sums: dict[str, Any], reported: dict[str, Any]
) -> None:
    assert metrics(sums, measure) == reported


@pytest.mark.parametrize("measure", [LEADS, CALLS])
def test_a_rate_of_nothing_is_unknown_and_a_sum_of_nothing_is_nothing(measure: Measure) -> None:
    reported = metrics(dict.fromkeys(measure.sums, 0), measure)
    assert {name for name, value in reported.items() if value is None} == {
        name for name in reported if name.startswith("avg_") or name.endswith("_rate")
    }
    assert {value for value in reported.values() if value is not None} == {0}


def test_the_largest_group_comes_first_equal_ones_by_value_and_what_has_none_last() -> None:
    some = [group("b", 2), group(None, 3), group("a", 2), group("c", 9)]
    assert report(some, LEADS, Grouping("status"), ANY).categories == ("c", None, "a", "b")
    numbers = [group(10, 1), group(9, 1), group(None, 1)]
    assert report(numbers, LEADS, Grouping("offer_id"), ANY).categories == (9, 10, None)
    crossed = report([group("a", 1, pivot) for pivot in (3, None, 1)], LEADS, Grouping("status"), Grouping("offer_id"))
    assert crossed.pivots == (1, 3, None)
    assert crossed.cells["a", None]["leads_count"] == 1


def test_the_most_buckets_are_listed_and_one_more_is_refused() -> None:
    assert len(grouping("created_at_hour", EPOCH, EPOCH + BUCKETS_MAX * HOUR, "UTC").names) == BUCKETS_MAX
    with pytest.raises(TooManyBucketsError):
        grouping("created_at_hour", EPOCH, EPOCH + BUCKETS_MAX * HOUR + 1, "UTC")


def test_a_span_without_length_lies_in_one_bucket() -> None:
    assert grouping("created_at_hour", EPOCH + HOUR, EPOCH + HOUR, "UTC").names == ("1970-01-01T01:00+00:00",)
    assert grouping("created_at_week", EPOCH, EPOCH + 1, "UTC").names == ("1969-12-29",)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers())))
def test_a_list_that_is_sorted_in_pieces_is_in_the_order_of_one_that_is_sorted_at_once(items: list[tuple[int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports, "SORTED_AT_ONCE", 3)
        assert sort_in_pieces(items, itemgetter(0)) == sorted(items, key=itemgetter(0))


def test_a_report_that_is_discarded_keeps_no_group() -> None:
    made = report([group(f"c{n}", n, pivot="p") for n in range(9)], LEADS, Grouping("status"), Grouping("state"))
    assert made.totals["c3"]["leads_count"] == 3
    made.totals.discard()
    made.cells.discard()
    assert (made.totals["c3"]["leads_count"], made.cells["c3", "p"]["leads_count"]) == (0, 0)
