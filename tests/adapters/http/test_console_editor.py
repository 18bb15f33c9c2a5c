"""Does the editor of a schedule change what was changed alone, refuse as the API refuses, and overwrite nobody?"""

import re
from html import unescape
from typing import Any

import pytest

from tests.adapters.http.console_browser import READER, Browser, visitor
from tests.adapters.http.test_schedule_form import STEPS as EVERY_STEP

pytestmark = pytest.mark.asyncio(loop_scope="session")

WAIT = {"id": "pause", "kind": "wait", "duration": "2h"}
MAIL = {"id": "mail-1", "kind": "email", "subject": "Hi", "template": "x"}
HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>🦊"

FIELD = re.compile(r"<input([^>]*)>|<textarea([^>]*)>\n?(.*?)</textarea>|<select([^>]*)>(.*?)</select>", re.DOTALL)
ATTRIBUTE = re.compile(r'([\w:-]+)(?:="([^"]*)")?')
CHOSEN = re.compile(r'<option(?: value="([^"]*)")? selected>([^<]*)</option>')
FIRST = re.compile(r'<option(?: value="([^"]*)")?[^>]*>([^<]*)</option>')


def fields_of(text: str) -> dict[str, str]:
    """Return what a browser would send for the form of the editor."""
    form = text[text.index('<form id="editor"') :]
    found: dict[str, str] = {}
    for box, area, content, select, options in FIELD.findall(form[: form.index("</form>")]):
        given = {name: unescape(value) for name, value in ATTRIBUTE.findall(box or area or select)}
        if "name" not in given or (given.get("type") == "checkbox" and "checked" not in given):
            continue
        value = given.get("value", "")
        if area:
            value = unescape(content)
        if select:
            chosen = CHOSEN.search(options) or FIRST.search(options)
            value = "" if chosen is None else unescape(chosen[1] or chosen[2]) if 'value=""' not in chosen[0] else ""
        found[given["name"]] = value
    return found


async def schedule(company: Any, reference: int) -> dict[str, Any]:
    found: dict[str, Any] = (await company.send("GET", f"/api/v1/schedules/{reference}")).json()["schedule"]
    return found


async def opened(browser: Browser, reference: int) -> dict[str, str]:
    page = await browser.get(f"/console/schedules/{reference}/edit")
    assert page.status_code == 200, page.text
    return fields_of(page.text)


async def press(browser: Browser, reference: int, fields: dict[str, str], button: str, **more: str) -> Any:
    return await browser.post(f"/console/schedules/{reference}/edit", {**fields, "do": button, **more})


async def test_a_step_is_changed_and_published_and_nothing_else(town: Any, company: Any) -> None:
    made = await company.schedule(steps=[WAIT, MAIL], hours_to_expire=48)
    browser = await visitor(town, company)
    fields = await opened(browser, made["id"])
    open_step = await press(browser, made["id"], fields, "open:steps.0")
    fields = fields_of(open_step.text)
    assert fields["steps.0.duration"] == "2h"
    done = await press(browser, made["id"], {**fields, "steps.0.duration": "3h"}, "publish")
    assert (done.status_code, done.headers["location"]) == (303, f"/console/schedules/{made['id']}?done=edit-publish")
    now = await schedule(company, made["id"])
    assert [step.get("duration") for step in now["steps"]] == ["3h", None]
    changed = {name for name in now if now[name] != made[name]}
    assert changed <= {"steps", "version", "published_at", "updated_at", "user_updated_at"}
    assert "Published." in (await browser.get(done.headers["location"])).text


async def test_every_kind_of_step_is_shown_open_and_comes_back_as_it_was(town: Any, company: Any) -> None:
    ours = {"call-1", "call-2", "post-1", "move-1", "group-1", "back-1", "half", "where", "mail-1", "for-1"}
    steps = [
        *(step for step in EVERY_STEP if step["id"] not in ours),
        {"id": "mail-1", "kind": "email", "subject": "a", "template": "b"},
    ]
    first = [step for step in steps if step["kind"] not in {"block", "suppress", "opt_out", "exit", "restart"}]
    last = [step for step in EVERY_STEP if step["id"] == "bye"]
    made = await company.schedule(steps=[*first, *last])
    browser = await visitor(town, company)
    fields = await opened(browser, made["id"])
    for place in range(len(made["steps"])):
        fields = fields_of((await press(browser, made["id"], fields, f"open:steps.{place}")).text)
    refused = await press(browser, made["id"], fields, "publish")
    assert "Nothing is changed yet" in refused.text
    assert (await schedule(company, made["id"]))["version"] == made["version"]


async def test_a_draft_is_saved_published_and_takes_the_leads_along(town: Any, company: Any) -> None:
    made = await company.schedule(steps=[WAIT, MAIL])
    browser = await visitor(town, company)
    fields = await opened(browser, made["id"])
    saved = await press(browser, made["id"], {**fields, "name": "Spring"}, "draft")
    assert saved.headers["location"].endswith("?done=edit-draft")
    now = await schedule(company, made["id"])
    assert (now["name"], now["draft_fields"]) == (made["name"], {"name": "Spring"})
    fields = await opened(browser, made["id"])
    assert fields["name"] == "Spring"
    done = await press(browser, made["id"], {**fields, "hours_to_expire": "24", "migrate": "1"}, "publish")
    assert done.headers["location"].endswith("?done=edit-publish")
    now = await schedule(company, made["id"])
    assert (now["name"], now["hours_to_expire"], now["draft_fields"]) == ("Spring", 24, {})
    assert now["migrate"] == "by_step_id"


async def test_a_draft_that_cannot_be_published_is_saved_and_published_once_it_is_corrected(town: Any, company: Any) -> None:
    group = await company.record("buyer_groups", {"name": "Closers"})
    call = {"id": "call-1", "kind": "call", "connect": {"buyer_group_id": group["id"]}}
    made = await company.schedule(steps=[WAIT, MAIL])
    path = f"/api/v1/schedules/{made['id']}"
    assert (await company.send("PUT", path, json={"steps": [call], "draft": True})).status_code == 200
    assert (await company.send("DELETE", f"/api/v1/buyer_groups/{group['id']}")).status_code < 300
    browser = await visitor(town, company)
    fields = await opened(browser, made["id"])
    refused = await press(browser, made["id"], {**fields, "hours_to_expire": "24"}, "publish")
    assert refused.status_code == 422, refused.text
    now = await schedule(company, made["id"])
    assert now["hours_to_expire"] is None, "nothing is published"
    fields = fields_of(refused.text)
    corrected = {**fields, "steps.0.json": '{"id": "mail-1", "kind": "email", "subject": "a", "template": "b"}'}
    done = await press(browser, made["id"], corrected, "publish")
    assert done.status_code == 303, done.text
    now = await schedule(company, made["id"])
    assert (now["hours_to_expire"], [step["id"] for step in now["steps"]]) == (24, ["mail-1"])


async def test_a_field_that_is_emptied_is_as_its_default_is(town: Any, company: Any) -> None:
    made = await company.schedule(steps=[WAIT, MAIL], hours_to_expire=48)
    browser = await visitor(town, company)
    fields = await opened(browser, made["id"])
    await press(browser, made["id"], {**fields, "hours_to_expire": ""}, "publish")
    assert (await schedule(company, made["id"]))["hours_to_expire"] is None


async def test_what_the_api_refuses_is_shown_beside_its_field_and_typed_text_stays(town: Any, company: Any) -> None:
    made = await company.schedule(steps=[WAIT, MAIL])
    browser = await visitor(town, company)
    fields = fields_of((await press(browser, made["id"], await opened(browser, made["id"]), "open:steps.0")).text)
    wrong = {**fields, "steps.0.duration": "soon", "windows.call.0.open": "nine", "windows.call.0.close": "20:00"}
    refused = await press(browser, made["id"], wrong, "publish")
    assert refused.status_code == 422
    text = unescape(refused.text)
    assert 'name="steps.0.duration" value="soon"' in text
    assert re.search(r'id="fault-steps\.0\.duration" data-fault>[^<]*must be a whole number and one of', text)
    assert re.search(r'id="fault-windows\.call\.0\.open" data-fault>must be a time of day', text)
    assert 'id="steps.0.duration"' in text
    assert 'aria-invalid="true"' in text
    assert (await schedule(company, made["id"]))["version"] == made["version"]
    checked = await browser.post(f"/console/schedules/{made['id']}/edit/check", wrong)
    assert checked.status_code == 200
    assert 'data-at="steps.0.duration"' in checked.text
    closed = {name: value for name, value in wrong.items() if not name.startswith("steps.0.")}
    closed["steps.0.json"] = '{"id": "pause", "kind": "wait", "duration": "soon"}'
    checked = await browser.post(f"/console/schedules/{made['id']}/edit/check", closed)
    assert 'data-at="steps.0" data-sentence="steps[0].duration: ' in checked.text, "beside the step that is closed"


async def test_a_right_plan_is_drawn_and_what_differs_is_said(town: Any, company: Any) -> None:
    made = await company.schedule(steps=[WAIT, MAIL])
    browser = await visitor(town, company)
    fields = fields_of((await press(browser, made["id"], await opened(browser, made["id"]), "open:steps.0")).text)
    checked = await browser.post(f"/console/schedules/{made['id']}/edit/check", {**fields, "steps.0.duration": "5h"})
    assert "No fault is found" in checked.text
    assert checked.text.count('class="pic"') == 2
    text = unescape(checked.text)
    assert '<ins>+       "duration": "5h"' in text
    assert '<del>-       "duration": "2h"' in text
    assert (await schedule(company, made["id"]))["version"] == made["version"], "nothing is written"
    refused = await browser.post(f"/console/schedules/{made['id']}/edit/check", {**fields, "caller_id": "nobody"})
    assert 'data-at="caller_id"' in refused.text


async def test_the_second_of_two_editors_sees_what_differs_and_overwrites_nothing(town: Any, company: Any) -> None:
    made = await company.schedule(steps=[WAIT, MAIL], hours_to_expire=48)
    ada = await visitor(town, company, "ada@example.com")
    grace = await visitor(town, company, "grace@example.com")
    first = await opened(ada, made["id"])
    second = fields_of((await press(grace, made["id"], await opened(grace, made["id"]), "open:steps.0")).text)
    assert (await press(ada, made["id"], {**first, "name": "Ada's", "hours_to_expire": "24"}, "publish")).status_code == 303

    late = await press(grace, made["id"], {**second, "name": "Grace's", "steps.0.duration": "9h"}, "publish")
    assert late.status_code == 409
    text = unescape(late.text)
    assert "ada@example.com changed it" in text
    assert "nothing of yours was written" in text
    assert (await schedule(company, made["id"]))["name"] == "Ada's"
    assert '<del>- "Ada\'s"' in text
    assert '<ins>+ "Grace\'s"' in text
    merged = fields_of(late.text)
    assert (merged["name"], merged["hours_to_expire"], merged["steps.0.duration"]) == ("Grace's", "24", "9h")
    assert (await press(grace, made["id"], merged, "publish")).status_code == 303
    now = await schedule(company, made["id"])
    assert (now["name"], now["hours_to_expire"], now["steps"][0]["duration"]) == ("Grace's", 24, "9h")


async def test_json_is_taken_into_the_form_and_wrong_json_is_kept(town: Any, company: Any) -> None:
    made = await company.schedule(steps=[WAIT, MAIL])
    browser = await visitor(town, company)
    fields = await opened(browser, made["id"])
    hidden = {name: value for name, value in fields.items() if name == "version" or name.startswith("began.")}
    wrong = await press(browser, made["id"], hidden, "json", json='{"steps": [<b>')
    assert wrong.status_code == 422
    assert "This is no JSON" in wrong.text
    assert "&lt;b&gt;" in wrong.text
    right = await press(
        browser, made["id"], hidden, "json", json='{"name": "By hand", "steps": [{"id": "a", "kind": "block"}]}'
    )
    fields = fields_of(right.text)
    assert fields["name"] == "By hand"
    assert (await press(browser, made["id"], fields, "publish")).status_code == 303
    assert [step["id"] for step in (await schedule(company, made["id"]))["steps"]] == ["a"]


async def test_versions_are_listed_and_compared(town: Any, company: Any) -> None:
    made = await company.schedule(steps=[WAIT, MAIL])
    path = f"/api/v1/schedules/{made['id']}"
    assert (await company.send("PUT", path, json={"steps": [{**WAIT, "duration": "7h"}, MAIL]})).status_code == 200
    assert (
        await company.send("PUT", path, json={"steps": [{**WAIT, "duration": "8h"}, MAIL], "draft": True})
    ).status_code == 200
    browser = await visitor(town, company)
    page = await browser.get(f"/console/schedules/{made['id']}/versions")
    text = unescape(page.text)
    assert '<ins>+       "duration": "8h"' in text
    assert '<del>-       "duration": "7h"' in text
    older = await browser.get(f"/console/schedules/{made['id']}/versions", params={"before": "1", "after": "2"})
    assert '<del>-       "duration": "2h"' in unescape(older.text)
    assert "lead_token" not in older.text
    strange = await browser.get(f"/console/schedules/{made['id']}/versions", params={"before": "<b>", "after": "99"})
    assert strange.status_code == 200
    assert "<b>" not in strange.text


async def test_only_who_may_change_schedules_of_the_company_edits_them(town: Any, company: Any, other: Any) -> None:
    made = await company.schedule(steps=[WAIT, MAIL])
    path = f"/console/schedules/{made['id']}"
    may_read = await visitor(town, company, "reader@example.com", permissions={"schedule": {"actions": ["read"]}})
    assert f"{path}/edit" not in (await may_read.get(path)).text
    assert f"{path}/versions" in (await may_read.get(path)).text
    for browser in (
        may_read,
        await visitor(town, company, "lead@example.com", permissions=READER),
        await visitor(town, other),
    ):
        assert (await browser.get(f"{path}/edit")).status_code == 404
        for below in ("/edit", "/edit/check"):
            refused = await browser.post(f"{path}{below}", {"version": "1", "do": "publish", "name": "Taken"})
            assert refused.status_code == 404
    assert (await (await visitor(town, other, "eve@example.com")).get(f"{path}/versions")).status_code == 404
    browser = await visitor(town, company)
    fields = await opened(browser, made["id"])
    refused = await browser.post(
        f"{path}/edit", {**fields, "name": "Forged", "do": "publish", "csrf": ""}, headers={"X-CSRF-Token": ""}
    )
    assert refused.status_code == 403
    assert (await schedule(company, made["id"]))["name"] == made["name"]


async def test_no_text_of_a_schedule_becomes_markup_in_the_editor(town: Any, company: Any) -> None:
    steps = [WAIT, {**MAIL, "subject": HOSTILE, "template": HOSTILE + "</textarea>"}]
    made = await company.schedule(name=HOSTILE[:60], steps=steps)
    browser = await visitor(town, company)
    page = await browser.get(f"/console/schedules/{made['id']}/edit")
    open_step = await press(browser, made["id"], fields_of(page.text), "open:steps.1")
    checked = await browser.post(f"/console/schedules/{made['id']}/edit/check", fields_of(open_step.text))
    versions = await browser.get(f"/console/schedules/{made['id']}/versions")
    for answer in (page, open_step, checked, versions):
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text
        assert "<img src=x" not in answer.text
    assert fields_of(open_step.text)["steps.1.template"] == HOSTILE + "</textarea>"
