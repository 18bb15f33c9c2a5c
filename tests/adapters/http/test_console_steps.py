"""Does the table of a schedule's steps say what the API counted, with the right shares?"""

from typing import Any

from msgspec import convert

from adapters.http.console.step_table import StepTable, make_step_table, shares_of
from schemas.records import Schedule

STEPS = [
    {"id": "first", "kind": "sms", "template": "Hi"},
    {"id": "pause", "kind": "wait", "duration": "1d"},
    {"id": "second", "kind": "sms", "template": "Hi"},
    {"id": "rest", "kind": "wait", "duration": "1d"},
    {"id": "out", "kind": "exit"},
]
BODY = convert({"name": "Solar", "lead_token": "solar", "steps": STEPS}, Schedule)


def counted(step: str, *, next_steps: dict[str, int], there: int = 0, endings: dict[str, int]) -> dict[str, Any]:
    """Return a row of the API."""
    went_on, ended = sum(next_steps.values()), sum(endings.values())
    return {
        "step_id": step,
        "reached_count": went_on + there + ended,
        "went_on_count": went_on,
        "next_steps": [{"step_id": name, "leads_count": count} for name, count in next_steps.items()],
        "still_there_count": there,
        "ended_count": ended,
        "endings": [{"status": name, "leads_count": count} for name, count in endings.items()],
    }


def table(*rows: dict[str, Any]) -> StepTable:
    report = {"leads_count": 40, "is_complete": False, "at_no_step_count": 3, "cut_count": 2, "reached_steps": rows}
    found = make_step_table(report, BODY)
    assert found is not None
    return found


def test_the_share_that_went_on_is_of_the_leads_that_are_no_longer_there() -> None:
    found = table(counted("first", next_steps={"second": 6, "rest": 3}, there=20, endings={"dnc": 3}))
    first = found.rows[0]
    assert (first.reached, first.went_on, first.still_there, first.ended, first.share) == (32, 9, 20, 3, 75)
    assert shares_of(found) == {"first": {"second": 50, "rest": 25}}


def test_a_step_that_no_lead_left_has_no_share() -> None:
    found = table(counted("first", next_steps={}, there=4, endings={}))
    assert found.rows[0].share is None
    assert shares_of(found) == {}


def test_steps_without_leads_have_zeros_and_waits_and_exits_a_row_where_leads_were() -> None:
    assert [row.step for row in table(counted("first", next_steps={}, there=1, endings={})).rows] == ["first", "second"]
    rows = table(*(counted(step, next_steps={}, there=1, endings={}) for step in ("rest", "out", "gone"))).rows
    assert [(row.step, row.reached) for row in rows] == [("first", 0), ("second", 0), ("rest", 1), ("out", 1), ("gone", 1)]


def test_endings_have_the_labels_of_their_statuses() -> None:
    assert table(counted("first", next_steps={}, endings={"opt_out": 2})).rows[0].endings == [("Opted out", 2)]


def test_there_is_no_table_without_leads_or_where_a_team_hides_what_became_of_them() -> None:
    nothing = {"leads_count": 0, "is_complete": True, "at_no_step_count": 0, "cut_count": 0, "reached_steps": []}
    row = counted("first", next_steps={}, there=1, endings={})
    hidden = {name: value for name, value in row.items() if name not in {"ended_count", "endings", "still_there_count"}}
    unnamed = {**counted("first", next_steps={}, endings={"dnc": 1}), "endings": [{"leads_count": 1}]}
    withheld = ({**nothing, "leads_count": 1, "reached_steps": [one]} for one in (hidden, unnamed))
    for report in (None, nothing, *withheld):
        assert make_step_table(report, BODY) is None
