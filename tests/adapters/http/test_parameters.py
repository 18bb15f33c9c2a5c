"""Is every fault of a request collected, reported once, and under the one code that fits them all?"""

from collections.abc import Callable
from typing import Any

import pytest

from adapters.http.calls.call_lists import PAGE_PER_PAGE_MAX, read_call_paging
from adapters.http.exchange.answers import CURSOR_PER_PAGE_MAX, PER_PAGE_MAX, read_columns, read_paging
from adapters.http.exchange.parameters import LIST_LENGTH_MAX, Parameters, read_span
from adapters.http.exchange.problems import ProblemError
from adapters.reads.ports import Paging
from schemas.instant import DAY, EPOCH, HOUR, Instant, to_rfc3339

NOW = Instant(1_773_000_000_000)


def refused(parameters: Parameters) -> tuple[str, set[str]]:
    with pytest.raises(ProblemError) as caught:
        parameters.finish()
    return caught.value.code, set(caught.value.errors)


def test_faults_of_one_kind_keep_their_code_and_a_mixture_is_of_none() -> None:
    dates = Parameters({"from": "noon", "to": "never"})
    dates.instant("from", "UTC")
    dates.instant("to", "UTC")
    assert refused(dates) == ("bad_date", {"from", "to"})
    mixed = Parameters({"from": "noon", "id": "x"})
    mixed.instant("from", "UTC")
    mixed.id("id")
    assert refused(mixed) == ("validation_failed", {"from", "id"})
    Parameters({"id": "x"}).finish()


def test_what_must_be_there_and_is_wrong_is_reported_once() -> None:
    parameters = Parameters({"stat": "mean"})
    assert parameters.choice("stat", ("count",)) is None
    parameters.require("stat", "group_by")
    assert {name: len(sentences) for name, sentences in parameters.errors.items()} == {"stat": 1, "group_by": 1}


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_a_blank_field_is_as_good_as_left_out(blank: Any) -> None:
    parameters = Parameters(dict.fromkeys(("a", "b", "c", "d", "e", "f", "g"), blank))
    found = [
        *(parameters.text("a"), parameters.flag("b"), parameters.id("c"), parameters.instant("d", "UTC")),
        *(parameters.choice("e", ("x",)), parameters.ids("f"), parameters.words("g")),
    ]
    assert found == [None] * 7
    parameters.finish()


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("3,5", (3, 5)),
        (" 3 , ,5,", (3, 5)),
        ("[3,5]", (3, 5)),
        ('["3", 5]', (3, 5)),
        ("[]", ()),
        (["3", 5], (3, 5)),
        (7, (7,)),
        (",", ()),
        ("1," * 999 + "1", (1,) * 1_000),
    ],
)
def test_a_list_comes_with_commas_or_as_an_array(value: Any, found: tuple[int, ...]) -> None:
    parameters = Parameters({"ids": value})
    assert parameters.ids("ids") == found
    parameters.finish()


@pytest.mark.parametrize(
    ("value", "zone", "instant"),
    [
        ("2026-11-29", "UTC", "2026-11-30T00:00:00Z"),
        ("2026-11-29", "America/New_York", "2026-11-30T05:00:00Z"),
        ("2026-11-01", "America/New_York", "2026-11-02T05:00:00Z"),  # a day of 25 hours
        ("2026-03-08", "America/New_York", "2026-03-09T04:00:00Z"),  # a day of 23 hours
        ("2026-02-28", "UTC", "2026-03-01T00:00:00Z"),
        ("2026-12-31", "UTC", "2027-01-01T00:00:00Z"),
        ("2026-11-29 00:00", "UTC", "2026-11-29T00:00:00Z"),
        ("2026-11-29 00:00:00 +0000", "UTC", "2026-11-29T00:00:00Z"),
    ],
)
def test_a_date_without_a_time_as_an_upper_bound_includes_its_day(value: str, zone: str, instant: str) -> None:
    parameters = Parameters({"created_at_to": value, "created_at_from": value})
    last, first = parameters.instant("created_at_to", zone), parameters.instant("created_at_from", zone)
    assert last is not None
    assert first is not None
    assert to_rfc3339(last) == instant
    assert first <= last


@pytest.mark.parametrize("value", ["2026-02-30", "9999-12-31", "2026-13-01"])
def test_an_upper_bound_that_does_not_exist_is_refused(value: str) -> None:
    parameters = Parameters({"created_at_to": value})
    assert parameters.instant("created_at_to", "UTC") is None
    assert refused(parameters) == ("bad_date", {"created_at_to"})


@pytest.mark.parametrize("value", ["1," * LIST_LENGTH_MAX + "1", ["1"] * (LIST_LENGTH_MAX + 1), "0", "1,x", [[1]]])
def test_what_is_no_list_of_ids_is_refused(value: Any) -> None:
    parameters = Parameters({"ids": value})
    assert parameters.ids("ids") is None
    assert refused(parameters) == ("validation_failed", {"ids"})


@pytest.mark.parametrize(
    ("query", "span"),
    [
        ({}, (None, None)),
        ({"created_at_label": "Last Hour"}, (NOW - HOUR, None)),
        ({"created_at_label": "Last Hour", "created_at_from": to_rfc3339(NOW - DAY)}, (NOW - HOUR, None)),
        ({"created_at_label": "Last Day", "created_at_from": to_rfc3339(NOW - HOUR)}, (NOW - HOUR, None)),
        ({"created_at_from": to_rfc3339(NOW - DAY), "created_at_to": to_rfc3339(NOW)}, (NOW - DAY, NOW)),
        ({"created_at_label": "Yesterday", "created_at_to": to_rfc3339(NOW + DAY)}, "as without"),
        ({"created_at_label": "Yesterday", "created_at_from": to_rfc3339(NOW - 300 * DAY)}, "as without"),
    ],
)
def test_a_label_and_both_bounds_mean_what_they_have_in_common(query: dict[str, str], span: Any) -> None:
    label = {"created_at_label": query.get("created_at_label", "")}
    expected = read_span(Parameters(label), NOW, "UTC") if span == "as without" else span
    assert read_span(Parameters(query), NOW, "UTC") == expected


def test_a_date_without_an_offset_is_of_the_zone() -> None:
    query = {"created_at_from": "2026-03-07 12:00:00", "created_at_to": "2026-03-07"}
    since, until = read_span(Parameters(query), NOW, "Pacific/Honolulu")
    assert [to_rfc3339(at or EPOCH) for at in (since, until)] == ["2026-03-07T22:00:00Z", "2026-03-08T10:00:00Z"]


def leads(parameters: Parameters) -> Paging:
    return read_paging(parameters, ("id", "revenue"))


@pytest.mark.parametrize(
    ("read", "query", "paging"),
    [
        (leads, {}, Paging()),
        (leads, {"page": "3", "per_page": PER_PAGE_MAX}, Paging(page=3, per_page=100)),
        (leads, {"cursor": "-1", "per_page": CURSOR_PER_PAGE_MAX}, Paging(cursor=-1, per_page=1_000)),
        (leads, {"cursor": "0", "order_dir": "desc"}, Paging(cursor=0)),
        (leads, {"order": "revenue", "order_dir": "asc"}, Paging(order="revenue", descending=False)),
        (read_call_paging, {}, Paging(cursor=-1)),
        (read_call_paging, {"cursor": "7", "per_page": "1000"}, Paging(cursor=7, per_page=1_000)),
        (read_call_paging, {"page": "2"}, Paging(page=2, per_page=10)),
        (read_call_paging, {"page": "2", "per_page": PAGE_PER_PAGE_MAX}, Paging(page=2, per_page=10)),
        (read_call_paging, {"order": "revenue"}, Paging(per_page=10, order="revenue")),
        (read_call_paging, {"order_dir": "asc"}, Paging(per_page=10, descending=False)),
        (read_call_paging, {"order_dir": "desc", "per_page": "500"}, Paging(cursor=-1, per_page=500)),
    ],
)
def test_a_page_is_the_one_that_was_asked_for(
    read: Callable[[Parameters], Paging], query: dict[str, Any], paging: Paging
) -> None:
    parameters = Parameters(query)
    assert read(parameters) == paging
    parameters.finish()


@pytest.mark.parametrize(
    ("read", "query", "code", "bad"),
    [
        (leads, {"per_page": PER_PAGE_MAX + 1}, "validation_failed", "per_page"),
        (leads, {"per_page": "0"}, "validation_failed", "per_page"),
        (leads, {"page": "0"}, "validation_failed", "page"),
        (leads, {"cursor": "1", "per_page": CURSOR_PER_PAGE_MAX + 1}, "validation_failed", "per_page"),
        (leads, {"cursor": "-2"}, "bad_cursor", "cursor"),
        (leads, {"cursor": "1", "order": "id"}, "validation_failed", "order"),
        (leads, {"cursor": "1", "order_dir": "asc"}, "validation_failed", "order_dir"),
        (leads, {"order": "shoe"}, "validation_failed", "order"),
        (read_call_paging, {"page": "1", "per_page": "11"}, "per_page_requires_cursor", "per_page"),
        (read_call_paging, {"order_dir": "asc", "per_page": "11"}, "per_page_requires_cursor", "per_page"),
        (read_call_paging, {"per_page": "1001"}, "validation_failed", "per_page"),
        (read_call_paging, {"cursor": "1", "order_dir": "asc"}, "validation_failed", "order_dir"),
        (read_call_paging, {"cursor": "-2"}, "bad_cursor", "cursor"),
    ],
)
def test_a_page_that_no_list_has_is_refused(
    read: Callable[[Parameters], Paging], query: dict[str, Any], code: str, bad: str
) -> None:
    parameters = Parameters(query)
    read(parameters)
    assert refused(parameters) == (code, {bad})


def test_columns_are_shown_in_the_order_asked_for_and_each_once() -> None:
    known = ("id", "name", "status")
    assert read_columns(Parameters({"columns": "status,id,status"}), known) == ("status", "id")
    assert read_columns(Parameters({}), known) is None
    parameters = Parameters({"columns": "id,shoe"})
    read_columns(parameters, known)
    assert refused(parameters) == ("validation_failed", {"columns"})
