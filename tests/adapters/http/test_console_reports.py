"""Do the pages of reports show the figures of the API, as picture, table and file, and nothing that a team hides?"""

import csv
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
import pytest_asyncio

from adapters.http.console.reports_page import (
    _by_weekday,
    _cut,
    _draw,
    _short,
    show_figure,
    words_of,
)
from adapters.pictures.bars import BARS_MAX, Bar, Bars, draw_bars
from adapters.pictures.call_hours import draw_connect_rates
from adapters.pictures.picture import to_inline_svg
from adapters.pictures.style import stylesheet
from engine.views.hidden_fields import HIDEABLE
from schemas.instant import HOUR
from tests.adapters.http.console_browser import Browser, visitor
from tests.adapters.http.test_hidden_fields import hidden
from tests.adapters.postgres.projected_rows import Shown, call, lead

pytestmark = pytest.mark.asyncio(loop_scope="session")

REPORTS = "/console/reports"
PART = {"HX-Request": "true"}
HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>"


@pytest_asyncio.fixture(loop_scope="session")
async def reported(town: Any, company: Any) -> AsyncIterator[Any]:
    """A company with three leads and four calls of the last hours."""
    shown, first, now = Shown(town.pool, topic=f"console.{company.id}"), company.id * 100_000, town.context.clock.now()
    recent = {"company": company.id, "created_at": now - HOUR}
    leads = [
        lead(first, **recent, status="scheduled", data={"roof": HOSTILE}),
        lead(first + 1, **recent, status="completed", connected=True, first_action_at=now, revenue=12.5),
        lead(first + 2, **recent, status="completed", columns={"sub_id": HOSTILE[:60]}),
    ]
    outcomes = ("no_answer", "connected_human", "busy", "connected_human")
    calls = [
        call(first + place, **recent, outcome=outcome, ended_at=now, lead_id=first + place % 3)
        for place, outcome in enumerate(outcomes)
    ]
    await shown.decide(*leads, *calls)
    company.reported_at = recent["created_at"]
    yield company
    await shown.store.close()


def cells(text: str) -> str:
    """Return the text of a page without its markup."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


async def test_figures_are_written_as_a_person_reads_them() -> None:
    assert show_figure("connect_rate", 0.256) == "25.6%"
    assert show_figure("revenue", 1234.5) == "1,234.50"
    assert show_figure("avg_talk_duration", 125.0) == "2 min"
    assert show_figure("leads_count", 12345) == "12,345"
    assert show_figure("avg_attempts_to_connect", 1.5) == "1.5"
    assert show_figure("profit", None) == "-"
    assert [words_of(name) for name in ("created_at_day", "leads_count", "buyer_id")] == ["day", "leads", "buyer"]
    assert [_short(pivot) for pivot in ("2026-03-07", "no_answer", "2026-03")] == ["03-07", "no answer", "2026-03"]


async def test_a_chart_of_days_shows_the_last_ones_and_says_so() -> None:
    rows = [{"category_label": str(number), "leads_count": number} for number in range(40)]
    shown, sentence = _cut(rows, "created_at_day")
    assert (shown[-1], len(shown)) == (rows[-1], BARS_MAX)
    assert sentence == f"The last {BARS_MAX} of 40 rows of this page"
    assert _cut(rows, "status")[0][0] == rows[0]
    assert _cut(rows[:3], "status") == (rows[:3], "3 rows")
    for width in (960, 326):
        picture = _draw(rows, {"category": "created_at_day"}, "leads_count", [], width, "report")
        assert picture.rows[-1] == ("39", "39")


async def test_the_last_day_of_a_month_is_on_the_map_of_a_pivot() -> None:
    cell = {"leads_count": 1, "connect_rate": 0.5}
    rows = [{"category_label": f"{day}", "pivots": {"a_b": cell}, "total": cell} for day in range(1, 32)]
    asked = {"category": "created_at_day", "pivot": "status"}
    counts = _draw(rows, asked, "leads_count", ["a_b"], 960, "map")
    assert counts.columns == ("Day", "a b", "All")
    assert counts.rows[-1] == ("31", "1", "1")
    rates = _draw(rows, asked, "connect_rate", ["a_b"], 960, "map")
    assert rates.rows[-1] == ("31", "50", "50.0%")
    assert "1550" not in rates.description, "rates are not summed"


@pytest.mark.parametrize("width", [960, 326])
async def test_bars_stay_within_the_picture_and_no_text_becomes_markup(width: int) -> None:
    bars = [Bar(HOSTILE, 10.0, "10"), Bar("loss", -4.0, "-4.00"), Bar("unknown", None, "-"), Bar("nothing", 0.0, "0")]
    data = Bars(title=HOSTILE, sentence="x", heading="By", figure="leads", bars=bars * 20, nothing="Nothing")
    picture = draw_bars(data, width=width, name="bars")
    drawn = to_inline_svg(picture)
    root = ET.fromstring(drawn)  # noqa: S314 - what we drew ourselves
    for node in root.iter():
        if node.tag.endswith("}rect"):
            x, y, across, down = (float(node.get(name) or 0) for name in ("x", "y", "width", "height"))
            assert 0 <= x <= x + across <= width
            assert 0 <= y <= y + down <= picture.height
        for name in (node.get("class") or "").split():
            assert f".{name}" in stylesheet(), name
    assert "<script" not in drawn
    assert len(picture.rows) == BARS_MAX
    assert (
        "Nothing" in draw_bars(Bars(title="t", sentence="", heading="h", figure="f", bars=[], nothing="Nothing")).description
    )


async def test_hours_are_those_of_the_clock_of_the_keys_and_a_rate_needs_calls() -> None:
    stats = [
        {"key": "2026-03-02T09:00-05:00", "value": 4},
        {"key": "2026-03-09T09:00-04:00", "value": 1},
        {"key": "2026-03-03T10:00-05:00", "value": 0},
    ]
    calls = _by_weekday(stats)
    assert calls == {(0, 9): 5}
    picture = draw_connect_rates(calls, _by_weekday(stats[1:2]), "America/New_York", 960, "rates")
    assert picture.rows[0][10] == "20"
    assert picture.rows[0][-1] == "20%"
    assert picture.rows[1][10:] == ("",) * 15 + ("-",)


async def test_a_report_is_shown_as_a_chart_a_table_and_a_funnel(town: Any, reported: Any) -> None:
    browser = await visitor(town, reported)
    page = await browser.get(REPORTS, params={"of": "leads", "category": "status"})
    assert page.status_code == 200, page.text
    text = cells(page.text)
    assert "Leads by status" in text
    assert "Submitted" in text
    assert "3 (100.0%)" in text
    answer = (await reported.send("GET", "/api/v1/leads/reports", params={"category": "status"})).json()
    for row in answer["reports"]:
        assert f"{row['category_label']} {row['leads_count']}" in text
    assert page.text.count('class="pic"') == 4
    assert 'href="/console/leads?' in page.text
    assert "status=completed" in page.text
    assert "GET /api/v1/leads/reports?category=status&amp;created_at_label=This+Month" in page.text


async def test_a_pivot_is_shown_as_a_map_and_a_table(town: Any, reported: Any) -> None:
    browser = await visitor(town, reported)
    query = {"of": "leads", "category": "created_at_day", "pivot": "status", "created_at_label": "Last 2 Days"}
    page = await browser.get(REPORTS, params=query)
    assert page.status_code == 200, page.text
    text = cells(page.text)
    assert "Leads by day and status" in text
    assert "day completed scheduled total" in text or "day scheduled completed total" in text
    part = await browser.get(f"{REPORTS}/part", params={**query, "figure": "revenue"}, headers=PART)
    assert "12.50" in part.text
    assert "<html" not in part.text
    assert part.headers["hx-replace-url"].startswith(f"{REPORTS}?of=leads&category=created_at_day&pivot=status")


@pytest.mark.parametrize("category", ["hour_of_day", "attempt_number", "outcome", "created_at_hour", "buyer_id"])
async def test_calls_are_reported_by_every_category(town: Any, reported: Any, category: str) -> None:
    browser = await visitor(town, reported)
    query = {"of": "calls", "category": category, "figure": "connect_rate", "created_at_label": "Last Day"}
    page = await browser.get(REPORTS, params=query)
    assert page.status_code == 200, page.text
    assert 'role="alert"' not in page.text
    assert "50.0%" in page.text


async def test_the_file_has_every_row_of_the_view(town: Any, reported: Any) -> None:
    browser = await visitor(town, reported)
    page = await browser.get(REPORTS, params={"of": "calls", "category": "outcome", "figure": "revenue"})
    (url,) = {unescape(found) for found in re.findall(r'href="(/console/reports\.csv[^"]*)"', page.text)}
    answer = await browser.get(url)
    assert answer.headers["content-disposition"] == 'attachment; filename="report.csv"'
    rows = {row["category"]: row["calls_count"] for row in csv.DictReader(io.StringIO(answer.text))}
    assert rows == {"connected_human": "2", "no_answer": "1", "busy": "1"}
    assert (await Browser(town).get(url)).status_code == 303


async def test_the_connect_rate_is_shown_by_hour_and_weekday(town: Any, reported: Any) -> None:
    browser = await visitor(town, reported)
    page = await browser.get(f"{REPORTS}/hours")
    assert page.status_code == 200, page.text
    at = datetime.fromtimestamp(reported.reported_at / 1000, UTC)
    assert f"{at:%A}, {at.hour:02}: 50 %" in page.text
    assert f"{at:%A}, {at.hour:02}: 4 calls" in page.text
    (url,) = {unescape(found) for found in re.findall(r'href="(/console/reports/hours\.csv[^"]*)"', page.text)}
    answer = await browser.get(url)
    assert answer.headers["content-disposition"] == 'attachment; filename="connect-rate.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == 7 * 24
    (row,) = [row for row in rows if row["calls"] != "0"]
    assert row == {
        "weekday": f"{at:%A}",
        "hour": str(at.hour),
        "calls": "4",
        "connected": "2",
        "connect_rate": "0.5000",
        "time_zone": "UTC",
    }
    none = await browser.get(f"{REPORTS}/hours", params={"weeks": "<b>", "call_disposition_id": "7"})
    assert "No call began" in none.text
    assert "call disposition id: 7" in none.text
    assert "<b>" not in none.text


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"of": "leads", "category": "nothing"}, 200),
        ({"of": "leads", "figure": "nothing"}, 422),
        ({"of": "leads", "page": "x"}, 200),
        ({"of": "nothing"}, 404),
        ({"of": "calls", "pivot": "outcome"}, 200),
    ],
)
async def test_a_bad_parameter_is_refused_by_name_and_the_form_stays(
    town: Any, company: Any, query: dict[str, str], status: int
) -> None:
    page = await (await visitor(town, company)).get(REPORTS, params=query)
    assert page.status_code == status
    assert 'role="alert"' in page.text
    assert ('id="category"' in page.text) is (status == 200)


async def test_a_report_that_no_team_grants_is_not_there(town: Any, reported: Any) -> None:
    browser = await visitor(town, reported, permissions={"call": {"actions": ["read"]}})
    page = await browser.get(REPORTS)
    assert page.status_code == 200, page.text
    assert "of=leads" not in page.text
    assert (await browser.get(REPORTS, params={"of": "leads"})).status_code == 404
    nobody = await visitor(town, reported, "bob@example.com", permissions={"offer": {"actions": ["read"]}})
    for path in (REPORTS, f"{REPORTS}/part", f"{REPORTS}.csv", f"{REPORTS}/hours", f"{REPORTS}/hours.csv"):
        assert (await nobody.get(path)).status_code == 404, path


async def test_reports_render_where_a_team_hides_every_field(town: Any, reported: Any) -> None:
    team = {model: {"actions": ["read"], "fields": hidden(*HIDEABLE[model])} for model in ("lead", "call")}
    browser = await visitor(town, reported, permissions=team)
    for query in ({}, {"of": "calls"}, {"of": "leads", "figure": "revenue"}, {"of": "leads", "category": "status"}):
        page = await browser.get(REPORTS, params=query)
        assert page.status_code == 200, (query, page.text)
        assert not re.search(r"\b12\.50\b", page.text)  # nor in an attribute; the microseconds of a time may begin so
    assert (await browser.get(f"{REPORTS}/hours")).status_code in {200, 403}


async def test_reports_are_of_one_company_and_what_a_stranger_wrote_is_text(town: Any, reported: Any, other: Any) -> None:
    page = await (await visitor(town, other)).get(REPORTS, params={"of": "calls"})
    assert "connected_human" not in page.text
    browser = await visitor(town, reported)
    for category in ("sub_id", "token_values_map"):
        page = await browser.get(REPORTS, params={"of": "leads", "category": category})
        assert page.status_code == 200
        assert "alert(" in page.text, category
        assert "<img src=x" not in page.text
        assert "<script>alert" not in page.text


async def test_a_company_without_data_reads_what_to_do_first(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    page = (await browser.get(REPORTS, params={"category": "status"})).text
    assert "No lead fits" in page
    assert "POST /api/v1/leads" in page
    assert "No call fits" in (await browser.get(REPORTS, params={"of": "calls", "category": "outcome"})).text
    assert "No call began" in (await browser.get(f"{REPORTS}/hours")).text
