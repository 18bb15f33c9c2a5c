"""Do the pages of a lead, a schedule and the forecast show what the API says, to those alone who may see it, and as text?"""

import re
from html import unescape
from typing import Any

import pytest

from tests.adapters.http.console_browser import READER, visitor
from tests.adapters.http.test_hidden_fields import hidden

pytestmark = pytest.mark.asyncio(loop_scope="session")

NUMBER = "+12125550123"
WAIT = {"id": "pause", "kind": "wait", "duration": "2h"}
CALL = {"id": "call-1", "kind": "call"}
MAIL = {"id": "mail-1", "kind": "email", "subject": "Hi", "template": "x"}
HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>{{7*7}}\u202e🦊"
MARKUP = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>🦊"
"""A subject must be printable, and braces are tokens in it."""

DANGEROUS = re.compile(r"<img src=x|<script>alert|onerror=alert\(1\)>(?!&quot;)")


async def submitted(company: Any, *steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    schedule = await company.schedule(steps=list(steps) or [WAIT, MAIL])
    lead = {"lead_token": schedule["lead_token"], "caller_id": NUMBER, "email": "ada@example.com", **fields}
    answer = await company.send("POST", "/api/v1/leads", json={**lead, "time_zone": "America/New_York"})
    assert answer.status_code < 300, answer.text
    found: dict[str, Any] = answer.json()["lead"]
    return found


async def test_a_lead_is_shown_with_its_timeline_its_reason_and_its_decisions(town: Any, company: Any) -> None:
    lead = await submitted(company)
    browser = await visitor(town, company)

    page = await browser.get(f"/console/leads/{lead['id']}")

    assert page.status_code == 200, page.text
    why = (await company.send("GET", f"/api/v1/leads/{lead['id']}/why")).json()["why"]
    assert why["sentence"].split(" at ")[0] in page.text
    assert page.text.count('<svg xmlns="http://www.w3.org/2000/svg" class="pic"') == 2
    events = (await company.send("GET", f"/api/v1/leads/{lead['id']}/events")).json()["lead"]["events"]
    assert all(f"{event['sequence']} of {event['topic']}[{event['partition']}]" in page.text for event in events)
    assert f"GET /api/v1/leads/{lead['id']}/events" in page.text
    for below in ("", "/part"):
        answer = await browser.get(f"/console/leads/{lead['uuid']}{below}")
        assert answer.status_code == 200
        assert " style=" not in answer.text
        assert "<style" not in answer.text


async def test_a_lead_with_ten_thousand_events_is_shown_by_its_newest(town: Any, company: Any) -> None:
    lead = await submitted(company)
    added = await town.pool.execute(
        """
        INSERT INTO read.history (
            topic, partition, sequence, ordinal, at, type, company_id, contact_key, lead_id, data, digest
        )
        SELECT 'contacts.decisions', -1, place, 0, h.at + place * interval '1 second', 'lead.updated', h.company_id,
               h.contact_key, h.lead_id, '{}', h.digest
        FROM (SELECT * FROM read.history WHERE company_id = $1 AND lead_id = $2 ORDER BY at LIMIT 1) AS h,
             generate_series(1, 10000) AS place
        """,
        company.id,
        lead["id"],
    )
    assert added == "INSERT 0 10000"

    page = await (await visitor(town, company)).get(f"/console/leads/{lead['id']}")

    assert page.status_code == 200, page.text
    assert "Earlier events are not shown: these are the newest" in page.text
    assert "; the API has more" in page.text
    assert len(page.content) < 1_000_000, "of what a browser draws at once"


async def test_the_reason_is_that_of_the_instant_that_is_asked_about(town: Any, company: Any) -> None:
    lead = await submitted(company)
    browser = await visitor(town, company)
    path = f"/console/leads/{lead['id']}/part"

    before = await browser.get(path, params={"at": "1000000000000", "at_first": "5"})
    assert "2001" in before.text
    why = await company.send("GET", f"/api/v1/leads/{lead['id']}/why", params={"at": "2001-09-09T01:46:40Z"})
    assert why.json()["why"]["sentence"] in unescape(before.text)
    for now in ({"at": "5", "at_first": "5"}, {"at": "soon"}, {"at": "9" * 40}, {"at": "²"}, {}):
        answer = await browser.get(path, params=now)
        assert (answer.status_code, "<h2>Now" in answer.text) == (200, True), now


async def test_buttons_do_what_the_api_does(town: Any, company: Any) -> None:
    lead = await submitted(company)
    browser = await visitor(town, company)
    path = f"/console/leads/{lead['id']}"

    async def status() -> Any:
        return (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]["is_live"]

    assert 'value="stop"' in (await browser.get(path)).text
    done = await browser.post(f"{path}/actions", {"action": "stop"})
    assert (done.status_code, done.headers["location"]) == (303, f"{path}?done=stop")
    assert await status() is False
    page = (await browser.get(done.headers["location"])).text
    assert "The lead is stopped." in page
    assert 'value="stop"' not in page
    assert (await browser.post(f"{path}/actions", {"action": "restart"})).status_code == 303
    assert await status() is True
    assert (await browser.post(f"{path}/actions", {"action": "opt-out"})).status_code == 303
    assert (await company.send("GET", f"/api/v1/contacts/{NUMBER}")).json()["contact"]["opted_out"] is True
    assert 'Opted out</dt><dd class="any"><span class="tag bad">yes</span>' in (await browser.get(path)).text
    assert (await browser.post(f"{path}/actions", {"action": "explode"})).status_code == 404


async def test_who_may_only_read_sees_no_button_and_is_refused(town: Any, company: Any) -> None:
    lead = await submitted(company)
    browser = await visitor(town, company, permissions=READER)
    path = f"/console/leads/{lead['id']}"

    page = await browser.get(path)
    assert page.status_code == 200, page.text
    assert '<button name="action"' not in page.text
    for action in ("call", "stop", "restart", "opt-out"):
        assert (await browser.post(f"{path}/actions", {"action": action})).status_code == 404
    assert (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]["is_live"] is True
    assert (await browser.get("/console/schedules")).status_code == 404


async def test_fields_that_a_team_hides_are_not_on_the_page(town: Any, company: Any) -> None:
    lead = await submitted(company)
    hides = {"lead": {"actions": ["read"], "fields": hidden("caller_id", "email", "status", "data", "time_zone")}}
    browser = await visitor(town, company, permissions=hides)
    for below in ("", "/part"):
        page = await browser.get(f"/console/leads/{lead['id']}{below}")
        assert page.status_code == 200, page.text
        assert NUMBER.removeprefix("+1") not in page.text
        assert "ada@example.com" not in page.text.replace("ada@example.com</span>", "")


async def test_a_change_without_the_token_of_the_page_is_refused(town: Any, company: Any) -> None:
    lead = await submitted(company)
    browser = await visitor(town, company)
    refused = await browser.post(f"/console/leads/{lead['id']}/actions", {"action": "stop"}, headers={"X-CSRF-Token": ""})
    assert refused.status_code == 403
    assert (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]["is_live"] is True


async def test_leads_and_schedules_of_another_company_are_not_there(town: Any, company: Any, other: Any) -> None:
    lead = await submitted(company)
    browser = await visitor(town, other)
    for path in (
        f"/console/leads/{lead['id']}",
        f"/console/leads/{lead['uuid']}/part",
        f"/console/schedules/{lead['schedule_id']}",
    ):
        assert (await browser.get(path)).status_code == 404, path
    assert (await browser.post(f"/console/leads/{lead['id']}/actions", {"action": "stop"})).status_code == 404


async def test_no_text_of_a_stranger_becomes_markup_on_a_page(town: Any, company: Any) -> None:
    hostile_step = {**MAIL, "subject": MARKUP}
    lead = await submitted(company, WAIT, hostile_step, full_name=HOSTILE[:60], data={"roof": HOSTILE})
    path = f"/api/v1/schedules/{lead['schedule_id']}"
    assert (await company.send("PUT", path, json={"name": HOSTILE[:60]})).status_code == 200
    browser = await visitor(town, company)

    for page in (f"/console/leads/{lead['id']}", f"/console/schedules/{lead['schedule_id']}", "/console/schedules"):
        answer = await browser.get(page)
        assert answer.status_code == 200, answer.text
        assert "alert(2)" in answer.text, "the text itself is shown"
        assert not DANGEROUS.search(answer.text), page
        assert "49\u202e" not in answer.text, page


async def test_a_schedule_is_drawn_with_its_live_leads_and_previewed(town: Any, company: Any) -> None:
    lead = await submitted(company)
    browser = await visitor(town, company)
    path = f"/console/schedules/{lead['schedule_id']}"

    page = await browser.get(path)

    assert page.status_code == 200, page.text
    assert "<title>E-mail. Hi. mail-1. 1 leads are at this step</title>" in page.text
    assert "&#34;duration&#34;: &#34;2h&#34;" in page.text or '"duration": "2h"' in page.text
    shown = await browser.get(f"{path}/preview", params={"caller_id": NUMBER, "email": "ada@example.com"})
    assert shown.status_code == 200, shown.text
    assert "E-mail · mail-1" in shown.text
    warned = await browser.get(f"{path}/preview", params={"caller_id": "+3545551234"})
    assert '<p class="says warn">No law of IS is kept' in warned.text
    refused = await browser.get(f"{path}/preview", params={"caller_id": "nobody"}, headers={"HX-Request": "true"})
    assert refused.status_code == 422
    assert "caller_id" in refused.text


async def test_a_schedule_shows_at_which_step_its_leads_are_and_how_others_ended(town: Any, company: Any) -> None:
    lead = await submitted(company)
    token = (await company.send("GET", f"/api/v1/schedules/{lead['schedule_id']}")).json()["schedule"]["lead_token"]
    given = {"lead_token": token, "caller_id": "+12125550143", "email": "grace@example.com", "time_zone": "America/New_York"}
    other = (await company.send("POST", "/api/v1/leads", json=given)).json()["lead"]
    assert (await company.send("PATCH", f"/api/v1/leads/{other['id']}", json={"schedule_stop": True})).status_code == 200
    page = (await (await visitor(town, company)).get(f"/console/schedules/{lead['schedule_id']}")).text
    table = page[page.index("What becomes of its leads, by step") :]
    rows = re.findall(r'<tr><td class="any">(.*?)</td><td class="num">(\d+)</td><td class="num">(\d+)</td></tr>', table)
    assert [step for step, _, _ in rows] == [WAIT["id"], MAIL["id"]], "in the order of the schedule, without the ended lead"
    assert sum(int(live) for _, live, _ in rows) == 1
    assert '<td>Removed from the schedule</td><td class="num">1</td>' in page[page.index("How its leads ended") :]
    hiding = {"lead": {"actions": ["read"]}, "schedule": {"actions": ["read"]}}
    reader = await visitor(town, company, "reader@example.com", permissions=hiding)
    assert (await reader.get(f"/console/schedules/{lead['schedule_id']}")).status_code == 200


async def test_a_schedule_shows_how_many_leads_went_on_from_step_to_step(town: Any, company: Any) -> None:
    tag = {"id": "new", "kind": "tag", "add": ["new"]}
    lead = await submitted(company, tag, WAIT, CALL, MAIL)
    path = f"/api/v1/schedules/{lead['schedule_id']}"
    token = (await company.send("GET", path)).json()["schedule"]["lead_token"]
    given = {"lead_token": token, "caller_id": "+12125550143", "time_zone": "America/New_York"}
    other = (await company.send("POST", "/api/v1/leads", json=given)).json()["lead"]
    assert (await company.send("PATCH", f"/api/v1/leads/{other['id']}", json={"schedule_stop": True})).status_code == 200

    page = (await (await visitor(town, company)).get(path.replace("api/v1", "console"))).text

    table = page[page.index("<h2>From step to step") :]
    assert step_rows(table) == {
        "new": ["2", "2 100 % call-1 2", "0", "0"],
        "call-1": ["2", "0 0 %", "1", "1 Removed from the schedule 1"],
        "mail-1": ["0", "0", "0", "0"],
    }, "the wait is passed over"
    assert "Of all 2 leads of this schedule" in table
    assert "<td>→ next 100 %</td>" in page, "and in the picture, which its table says in words"


async def test_who_sees_no_status_of_leads_does_not_see_where_they_went(town: Any, company: Any) -> None:
    lead = await submitted(company)
    path = f"/console/schedules/{lead['schedule_id']}"
    for place, of_leads in enumerate(({}, {"lead": {"actions": ["read"], "fields": hidden("status")}})):
        granted = {"schedule": {"actions": ["read"]}, **of_leads}
        page = await (await visitor(town, company, f"reader{place}@example.com", permissions=granted)).get(path)
        assert (page.status_code, "From step to step" in page.text) == (200, False), page.text


def step_rows(table: str) -> dict[str, list[str]]:
    """Return the cells of each row of the first table of a text, by its step."""
    text = table[: table.index("</table>")].replace("<br>", " ")
    rows = (re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr><td.*?</tr>", text))
    cells = ([re.sub("<[^>]*>", "", cell) for cell in row] for row in rows)
    return {step: rest for step, *rest in cells}


async def test_a_schedule_is_paused_and_resumed(town: Any, company: Any) -> None:
    made = await company.schedule(steps=[WAIT, MAIL])
    browser = await visitor(town, company)
    path = f"/console/schedules/{made['id']}"
    for action, is_paused in (("pause", True), ("resume", False)):
        assert f'value="{action}"' in (await browser.get(path)).text
        assert (await browser.post(f"{path}/actions", {"action": action})).status_code == 303
        shown = (await company.send("GET", f"/api/v1/schedules/{made['id']}")).json()["schedule"]
        assert shown["paused"] is is_paused


async def test_a_draft_is_published(town: Any, company: Any) -> None:
    made = await company.schedule(steps=[WAIT, MAIL])
    draft = {"steps": [{**WAIT, "duration": "3h"}, MAIL], "draft": True}
    assert (await company.send("PUT", f"/api/v1/schedules/{made['id']}", json=draft)).status_code == 200
    browser = await visitor(town, company)
    path = f"/console/schedules/{made['id']}"
    assert "draft waits" in (await browser.get(path)).text
    assert (await browser.post(f"{path}/actions", {"action": "publish"})).status_code == 303
    assert "Wait 3h" in (await browser.get(path)).text


async def test_the_forecast_is_shown_as_heat_maps(town: Any, company: Any) -> None:
    await submitted(company)
    browser = await visitor(town, company)
    whole = await browser.get("/console/forecast?hours=<b>")
    assert "Simulating the leads that are due" in whole.text
    assert 'hx-get="/console/forecast/part?hours=24" hx-trigger="load"' in whole.text
    for path in ("/console/forecast/part", "/console/forecast/part?hours=72", "/console/forecast/part?hours=<b>"):
        page = await browser.get(path)
        assert page.status_code == 200, page.text
        assert "1 e-mails of 1 leads" in page.text
        assert "<b>" not in page.text
        assert page.text.count('class="pic"') == 4


async def test_a_company_without_data_reads_what_to_do_first(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    assert "There is no schedule yet" in (await browser.get("/console/schedules")).text
    assert "Nothing is due of 0 leads" in (await browser.get("/console/forecast/part")).text
