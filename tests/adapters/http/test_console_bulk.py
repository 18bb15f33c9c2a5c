"""Can a person change the leads of a view, and only those, after typing how many they are?"""

import re
from typing import Any

import pytest

from tests.adapters.http.console_browser import READER, visitor
from tests.adapters.http.test_lead_bulk_jobs import lead, leads_of, run

pytestmark = pytest.mark.asyncio(loop_scope="module")

JOBS = "/console/bulk-jobs"
NEW = f"{JOBS}/new"


async def test_the_leads_of_a_view_are_stopped_by_a_job_that_shows_how_far_it_is(town: Any, company: Any) -> None:
    schedule, other = await company.schedule(), await company.schedule(name="Other")
    ids = await leads_of(town, company, 3, schedule)
    (kept,) = await leads_of(town, company, 1, other)
    browser = await visitor(town, company)
    view = (await browser.get("/console/leads", params={"schedule_id": schedule["id"]})).text
    (link,) = re.findall(r'href="(/console/bulk-jobs/new[^"]*)"', view)
    form = (await browser.get(link)).text
    assert "<h2>3 leads</h2>" in form
    assert f'name="schedule_id" value="{schedule["id"]}"' in form

    made = await browser.post(JOBS, {"action": "stop", "leads_max": "3", "schedule_id": schedule["id"]})
    assert made.status_code == 303, made.text
    begun = (await browser.get(made.headers["location"])).text
    assert 'hx-trigger="every 2s"' in begun
    await run(town)
    ended = (await browser.get(f"{made.headers['location']}/part")).text

    assert "succeeded" in ended
    assert "<dt>Done</dt><dd>3</dd>" in ended
    assert "hx-trigger" not in ended, "nothing moves any more"
    assert [(await lead(company, one))["is_live"] for one in [*ids, kept]] == [False, False, False, True]
    assert made.headers["location"] in (await browser.get(JOBS)).text


async def test_a_number_that_is_not_that_of_the_leads_changes_nothing_and_keeps_what_was_typed(
    town: Any, company: Any
) -> None:
    schedule = await company.schedule()
    (one, _) = await leads_of(town, company, 2, schedule)
    browser = await visitor(town, company)
    wanted = {"schedule_id": schedule["id"], "description": "Spring <b>clean</b>"}
    await browser.get(NEW, params={"schedule_id": schedule["id"]})
    for typed in ("1", "two", ""):
        refused = await browser.post(JOBS, {**wanted, "action": "opt_out", "leads_max": typed})
        assert refused.status_code == 422, typed
        assert "<strong>leads max</strong>" in refused.text, typed
        assert 'value="Spring &lt;b&gt;clean&lt;/b&gt;"' in refused.text
        assert 'value="opt_out" required checked' in refused.text
    await run(town)
    assert (await lead(company, one))["is_live"]
    assert (await company.send("GET", "/api/v1/lead_bulk_jobs")).json()["lead_bulk_jobs"] == []


async def test_without_a_filter_no_lead_is_changed(town: Any, company: Any) -> None:
    await leads_of(town, company, 1, await company.schedule())
    browser = await visitor(town, company)
    assert "Choose leads first" in (await browser.get(NEW)).text
    assert NEW not in (await browser.get("/console/leads")).text
    refused = await browser.post(JOBS, {"action": "stop", "leads_max": "1"})
    assert refused.status_code == 422
    assert "<strong>filter</strong>" in refused.text


async def test_a_job_is_canceled(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    (one,) = await leads_of(town, company, 1, schedule)
    browser = await visitor(town, company)
    await browser.get(NEW, params={"schedule_id": schedule["id"]})
    made = await browser.post(JOBS, {"action": "stop", "leads_max": "1", "schedule_id": schedule["id"]})
    page = made.headers["location"]
    assert f'action="{page}/cancel"' in (await browser.get(page)).text
    assert (await browser.post(f"{page}/cancel")).status_code == 303
    await run(town)
    shown = (await browser.get(page)).text
    assert "canceled" in shown
    assert "/cancel" not in shown
    assert (await lead(company, one))["is_live"]


async def test_who_may_not_change_leads_at_once_has_no_page_for_it(town: Any, company: Any, other: Any) -> None:
    schedule = await company.schedule()
    await leads_of(town, company, 1, schedule)
    browser = await visitor(town, company, permissions=READER)
    view = await browser.get("/console/leads", params={"schedule_id": schedule["id"]})
    assert JOBS not in view.text
    for path in (JOBS, f"{NEW}?schedule_id={schedule['id']}", f"{JOBS}/1"):
        assert (await browser.get(path)).status_code == 404, path
    assert (await browser.post(JOBS, {"action": "stop", "leads_max": "1", "schedule_id": schedule["id"]})).status_code == 404

    stranger = await visitor(town, other, "eve@example.com")
    owner = await visitor(town, company, "boss@example.com")
    await owner.get(NEW, params={"schedule_id": schedule["id"]})
    made = await owner.post(JOBS, {"action": "stop", "leads_max": "1", "schedule_id": schedule["id"]})
    for path in (made.headers["location"], f"{made.headers['location']}/part"):
        assert (await stranger.get(path)).status_code == 404
    assert (await stranger.post(f"{made.headers['location']}/cancel")).status_code == 404
    assert made.headers["location"] not in (await stranger.get(JOBS)).text
