"""Is the page of the law in step with the pack, and does it list the rules of every place with their sources?"""

import runpy
from datetime import date
from pathlib import Path

import pytest

from engine.law.pack import default_pack
from engine.law.state_hours import MAPPED
from engine.law.wording import change_text, dates_text, hours_text, limits_text, scope_text, set_text
from engine.submission.states import STATES
from schemas.law import HolidayChange, HolidaySet, RuleRow
from schemas.schedule import Window

WRITER = runpy.run_path(str(Path(__file__).parents[3] / "deploy" / "write_law.py"))
PAGE: str = WRITER["page"]()


def test_the_committed_page_is_in_step() -> None:
    for path, text in WRITER["written"]():
        assert path.read_text() == text, "run python deploy/write_law.py and commit deploy/docs/legal-hours.md"


@pytest.mark.parametrize("state", [*MAPPED, "PR"])
def test_every_state_has_a_line_with_a_source_and_a_date(state: str) -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith(f"| {STATES[state]} |")]

    assert lines
    assert all("](http" in line and ", 2026-" in line for line in lines)


@pytest.mark.parametrize("row", default_pack().rules.values(), ids=lambda row: row.id)
def test_every_row_is_on_the_page_with_what_it_limits(row: RuleRow) -> None:
    (line,) = (line for line in PAGE.splitlines() if f" | `{row.id}` | " in line)

    assert limits_text(row) in line
    assert scope_text(row) in line
    assert all(said in line for said in (row.conflict, row.unverified, row.source_url, dates_text(row)))


def test_hours_are_said_by_runs_of_days_with_the_closed_ones() -> None:
    windows = (
        Window(days=("fri", "mon", "tue", "wed"), open="10:00", close="13:00"),
        Window(days=("mon", "tue", "wed", "fri"), open="14:00", close="20:00"),
        Window(days=("sat",), open="09:00", close="12:00"),
    )

    assert hours_text(windows) == "Mon-Wed, Fri 10:00-13:00 and 14:00-20:00, Sat 09:00-12:00, Thu, Sun closed"
    assert hours_text(()) == ""


@pytest.mark.parametrize(
    ("row_id", "limits", "scope", "dates"),
    [
        (
            "us-fl",
            "every day 08:00-20:00; at most 3 calls and texts in 24h",
            "calls and texts, sales and callbacks",
            "2021-07-01",
        ),
        ("us-me", "Mon-Fri 09:00-17:00, Sat-Sun closed; at most 1 call in 8h", "calls, sales and callbacks", ""),
        ("us-va", "opt-outs kept 10 years", "texts, sales and callbacks", "from 2026-01-01"),
        ("ca-bc", "no contact on holidays (ca-bc)", "calls and texts, telemarketing", ""),
        ("us-federal", "every day 08:00-21:00", "calls and texts, every purpose", ""),
    ],
)
def test_a_row_is_said_in_words(row_id: str, limits: str, scope: str, dates: str) -> None:
    row = default_pack().rules[row_id]

    assert (limits_text(row), scope_text(row)) == (limits, scope)
    assert dates in dates_text(row)


def test_a_set_is_said_with_what_the_statute_adds_and_takes_away() -> None:
    added = HolidayChange(name="Flag Day", on="06-14", source_url="https://example.org", sunday="monday", years="even")
    removed = HolidayChange(name="Day after", on="fri from 11-23", source_url="https://example.org")
    named = HolidaySet(id="x", country="US", state="PA", adds=(added,), removes=(removed,), dates=(date(2026, 12, 24),))

    assert change_text(added) == "Flag Day (06-14, even years, on a Sunday Monday too)"
    said = f"public holidays of US PA with {change_text(added)} without Day after (fri from 11-23)"
    assert set_text(named) == f"{said} 2026-12-24"
    assert set_text(HolidaySet(id="x", country="DE", in_any_part=True)) == "public holidays of DE, those of every part of it"
