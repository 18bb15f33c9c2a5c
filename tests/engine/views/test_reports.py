"""Does a report tell of each group what its sums say, of many groups as of few?"""

from engine.views.report import LEADS, Group, Grouping, report

DAYS = Grouping("created_at_day", (0, 10, 20), ("first", "second"))
ANY = Grouping("")


def group(category: object, leads: int, pivot: object = None) -> Group:
    return Group(category, pivot, {**dict.fromkeys(LEADS.sums, 0), "leads_count": leads})  # type: ignore[arg-type]


def test_groups_of_one_name_are_added_up_and_others_told_as_they_are() -> None:
    made = report([group("a", 2), group("b", 3), group("a", 5)], LEADS, Grouping("status"), ANY)
    assert made.categories == ("a", "b")
    assert [made.totals[key]["leads_count"] for key in made.categories] == [7, 3]
    assert made.overall["leads_count"] == 10


def test_a_bucket_without_rows_is_told_with_nothing_in_it() -> None:
    made = report([group(2, 4)], LEADS, DAYS, ANY)
    assert made.categories == ("first", "second")
    assert [made.totals[key]["leads_count"] for key in made.categories] == [0, 4]


def test_what_was_created_since_the_edges_were_worked_out_is_in_no_bucket() -> None:
    made = report([group(1, 4), group(3, 1)], LEADS, DAYS, ANY)
    assert [made.totals[key]["leads_count"] for key in made.categories] == [4, 0]
    crossed = report([group("a", 4, 1), group("a", 1, 3)], LEADS, Grouping("status"), DAYS)
    assert [crossed.cells["a", pivot]["leads_count"] for pivot in crossed.pivots] == [4, 0]
