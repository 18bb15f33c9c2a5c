"""Does the console say what a change of a schedule would change, to who may ask, and what is wrong beside its field?"""

from html import unescape
from typing import Any

import pytest

from adapters.http.console.what_if_page import describe_change
from tests.adapters.http.console_browser import READER, visitor
from tests.adapters.http.test_what_if import waiting

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/console/forecast/what-if"
EVERY_DAY = {f"windows.any.0.days.{day}": "1" for day in ("mon", "tue", "wed", "thu", "fri", "sat", "sun")}
WIDE = {"channel": "call", **EVERY_DAY, "windows.any.0.open": "08:00", "windows.any.0.close": "21:00"}


async def test_wider_hours_are_asked_for_and_answered_with_a_sentence_and_the_leads(town: Any, company: Any) -> None:
    schedule, ids = await waiting(company, 2, name="Solar <b>leads")
    browser = await visitor(town, company)
    form = await browser.get("/console/forecast")
    assert f'action="{PATH}"' in form.text
    assert "Solar &lt;b&gt;leads" in form.text

    page = await browser.get(PATH, params={"schedule_id": str(schedule["id"]), **WIDE})

    assert page.status_code == 200, page.text
    assert "2 of 2 waiting leads would be contacted earlier, by " in page.text
    assert "Sat from 12:00 to 13:00" in page.text
    assert all(f'href="/console/leads/{lead_id}"' in page.text for lead_id in ids)
    assert 'value="08:00"' in page.text, "the form keeps what was typed"
    assert "/api/v1/leads/forecast/what_if" in page.text, "the call is listed"
    assert "<b>leads" not in page.text


async def test_what_holds_the_others_is_said_in_words(town: Any, company: Any) -> None:
    schedule, _ = await waiting(company, 1)
    page = await (await visitor(town, company)).get(PATH, params={"schedule_id": schedule["uuid"], "min_spacing": "1h"})
    assert "0 of 1 waiting leads would be contacted earlier" in page.text
    assert "outside the hours of the schedule" in page.text


@pytest.mark.parametrize(
    ("typed", "place", "said"),
    [
        ({}, "windows.any", "must be given"),
        ({**WIDE, "windows.any.0.open": "9"}, "windows.any.0.open", "must be a time of day"),
        ({"windows.any.0.open": "08:00", "windows.any.0.close": "21:00"}, "windows.any.0.days", ""),
        ({"min_spacing": "soon"}, "min_spacing", "must have under call"),
        ({"max_contact_attempts": "0"}, "max_contact_attempts", "must be"),
    ],
)
async def test_what_is_wrong_stands_beside_its_field(
    town: Any, company: Any, typed: dict[str, str], place: str, said: str
) -> None:
    schedule, _ = await waiting(company, 1)
    page = await (await visitor(town, company)).get(PATH, params={"schedule_id": str(schedule["id"]), **typed})
    assert page.status_code == 422, page.text
    fault = unescape(page.text).partition(f'id="fault-{place}" data-fault>')[2].partition("</p>")[0]
    assert fault, page.text
    assert said in fault


async def test_a_schedule_that_is_not_there_is_said(town: Any, company: Any, other: Any) -> None:
    schedule, _ = await waiting(other, 1)
    page = await (await visitor(town, company)).get(PATH, params={"schedule_id": str(schedule["id"]), **WIDE})
    assert page.status_code == 404
    assert "There is no schedule yet" not in page.text
    assert 'class="says warn"' in page.text


async def test_who_may_not_read_schedules_is_not_shown_the_form(town: Any, company: Any) -> None:
    browser = await visitor(town, company, permissions=READER)
    assert PATH not in (await browser.get("/console/forecast")).text
    assert (await browser.get(PATH)).status_code == 404


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "1,200 of 1,500 waiting leads would be contacted earlier, by 2.5 hours in the median and 12 at most"),
        (
            {"earlier": {"leads": 1, "hours_median": 12.5, "hours_max": 12.5, "unmeasured": 0}},
            "1 of 1,500 waiting leads would be contacted earlier, by 12.5 hours",
        ),
        ({"judged": 0, "waiting": 0}, "No lead of this schedule waits now"),
        ({"judged": 0, "waiting": None}, "No waiting lead could be judged in time"),
        (
            {
                "earlier": {"leads": 0, "hours_median": None, "hours_max": None, "unmeasured": 0},
                "later": {"leads": 7, "hours_median": 1.0, "hours_max": 1.0, "unmeasured": 0},
                "expiring": {"no_longer": 3},
            },
            "0 of 1,500 waiting leads would be contacted earlier; 7 later, or not within a week; 3 would no longer expire",
        ),
    ],
)
async def test_an_answer_reads_as_a_sentence(changed: dict[str, Any], said: str) -> None:
    found = {
        "judged": 1_500,
        "waiting": 1_500,
        "earlier": {"leads": 1_200, "hours_median": 2.5, "hours_max": 12.0, "unmeasured": 0},
        "later": {"leads": 0, "hours_median": None, "hours_max": None, "unmeasured": 0},
        "expiring": {"no_longer": 0},
    }
    assert describe_change({**found, **changed}) == said
