"""Can a person change the leads of a view, and only those, after typing how many they are?"""

import re
from html import unescape
from typing import Any

import pytest

from tests.adapters.http import test_lead_imports
from tests.adapters.http.console_browser import READER, visitor
from tests.adapters.http.test_lead_bulk_jobs import lead, leads_of, run

pytestmark = pytest.mark.asyncio(loop_scope="session")

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


async def test_the_leads_of_an_import_are_counted_once_it_has_ended(town: Any, company: Any) -> None:
    token = (await company.schedule())["lead_token"]
    job = (await test_lead_imports.upload(company, lead_token=token, content="caller_id\n+12125550241\n"))["lead_import"]
    browser = await visitor(town, company)
    wanted = {"lead_import_id": job["lead_import_id"]}
    waiting = (await browser.get(NEW, params=wanted)).text
    assert "has not ended: they are counted once it has" in waiting
    assert "Choose leads first" not in waiting
    assert "leads_max" not in waiting
    made = await company.send("POST", "/api/v1/lead_bulk_jobs", json={"action": "stop", "leads_max": 9, "filter": wanted})
    shown = (await browser.get(f"{JOBS}/{made.json()['lead_bulk_job']['id']}")).text
    assert "its leads are counted and changed once it has" in shown
    await test_lead_imports.run(town)
    await run(town)
    assert "<h2>1 lead</h2>" in (await browser.get(NEW, params=wanted)).text
    assert "<h2>1 lead " in (await browser.get(f"{JOBS}/{made.json()['lead_bulk_job']['id']}")).text


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


def undo_of(page: str) -> str:
    (link,) = re.findall(r'href="(/console/bulk-jobs/new[^"]*)">Undo', page)
    return unescape(link)


def fields_of(form: str) -> dict[str, str]:
    """Return the fields that a form sends as it is shown."""
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form))
    (action,) = re.findall(r'value="(\w+)" required checked', form)
    chosen = re.findall(r'<option value="(\d+)" selected', form)
    return {**hidden, "action": action, **({"move_to_another_schedule_id": chosen[0]} if chosen else {})}


async def test_a_stop_is_undone_for_the_leads_that_it_stopped_alone(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    before, stopped, deleted, opted_out = await leads_of(town, company, 4, schedule)
    await company.send("PUT", f"/api/v1/leads/{before}", json={"schedule_stop": True})
    browser = await visitor(town, company)
    await browser.get(NEW, params={"schedule_id": schedule["id"]})
    job = await browser.post(JOBS, {"action": "stop", "leads_max": "4", "schedule_id": schedule["id"]})
    page = job.headers["location"]
    assert "Undo" not in (await browser.get(page)).text, "it has not ended"
    await run(town)
    await town.pool.execute(
        "UPDATE read.leads SET schedule_ended_at = schedule_ended_at - interval '1 hour' WHERE id = $1", before
    )
    assert (await company.send("DELETE", f"/api/v1/leads/{deleted}/id")).status_code == 200
    await company.send("PUT", f"/api/v1/leads/{opted_out}", json={"opt_out": True})

    form = (await browser.get(undo_of((await browser.get(page)).text))).text
    assert "<h2>1 lead</h2>" in form
    undone = await browser.post(JOBS, {**fields_of(form), "leads_max": "1"})
    assert undone.status_code == 303, undone.text
    await run(town)

    shown = (await browser.get(undone.headers["location"])).text
    assert "<dt>Done</dt><dd>1</dd>" in shown
    assert f'href="{page}">The job that changed them' in shown
    assert "A restart is not undone at once" in shown
    assert [(await lead(company, one))["is_live"] for one in (before, stopped, opted_out)] == [False, True, False]


async def test_a_move_is_undone_where_its_leads_came_from_one_schedule(town: Any, company: Any) -> None:
    first, second = await company.schedule(name="First"), await company.schedule(name="Second")
    ids = await leads_of(town, company, 2, first, tags="old")
    browser = await visitor(town, company)
    to_second = {"action": "move", "leads_max": "2", "move_to_another_schedule_id": second["id"]}

    await browser.get(NEW, params={"schedule_id": first["id"]})
    job = await browser.post(JOBS, {**to_second, "schedule_id": first["id"]})
    await run(town)
    assert [(await lead(company, one))["schedule_id"] for one in ids] == [second["id"]] * 2
    form = (await browser.get(undo_of((await browser.get(job.headers["location"])).text))).text
    assert (await browser.post(JOBS, {**fields_of(form), "leads_max": "2"})).status_code == 303
    await run(town)
    assert [(await lead(company, one))["schedule_id"] for one in ids] == [first["id"]] * 2

    several = await browser.post(JOBS, {**to_second, "tag": "old"})
    await run(town)
    shown = (await browser.get(several.headers["location"])).text
    assert "Undo" not in shown
    assert "its leads may have come from several" in shown


async def test_an_opt_out_has_no_undo(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    await leads_of(town, company, 1, schedule)
    browser = await visitor(town, company)
    await browser.get(NEW, params={"schedule_id": schedule["id"]})
    job = await browser.post(JOBS, {"action": "opt_out", "leads_max": "1", "schedule_id": schedule["id"]})
    await run(town)
    shown = (await browser.get(job.headers["location"])).text
    assert "An opt-out is not undone here" in shown
    assert "Undo" not in shown


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
