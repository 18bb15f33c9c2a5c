"""Do the pages show what the API answers, with its filters and refusals, and can an operator correct what was refused?"""

import csv
import io
import re
from typing import Any

import pytest

from tests.adapters.http.conftest import unquoted
from tests.adapters.http.console_browser import READER, Browser, visitor
from tests.adapters.http.test_operator import PRIVATE, dead_letter, operator_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

PART = {"HX-Request": "true"}


async def lead(company: Any, schedule: dict[str, Any], last: int, **fields: Any) -> dict[str, Any]:
    given = {"lead_token": schedule["lead_token"], "caller_id": f"+1212555{last:04d}", **fields}
    answer = await company.send("POST", "/api/v1/leads", json=given)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()["lead"]
    return made


async def operator_browser(town: Any) -> Browser:
    browser, operator = Browser(town), await operator_of(town)
    answer = await browser.post("/console/sign-in/operator", {"operator_key": f"{operator.public_key}.{PRIVATE}"})
    assert answer.status_code == 303, answer.text
    return browser


async def test_a_search_finds_a_lead_by_its_parts_and_no_other(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    await lead(company, schedule, 1101, full_name="Ada Lovelace", email="ada@example.org", data={"roof": "slate7"})
    await lead(company, schedule, 1102, full_name="Grace Hopper")
    browser = await visitor(town, company, permissions=READER)
    for text in ("Lovelace", "+12125551101", "ada@example.org", "slate7"):
        found = await browser.get("/console/leads/rows", params={"fulltext": text, "status": ""}, headers=PART)
        assert found.status_code == 200
        assert "Ada Lovelace" in found.text, text
        assert "Grace Hopper" not in found.text, text
        assert found.headers["hx-replace-url"].startswith("/console/leads?fulltext=")


async def test_every_filter_of_the_api_works_in_the_address_and_a_wrong_one_is_refused_in_place(
    town: Any, company: Any
) -> None:
    schedule = await company.schedule(name="Winter")
    await lead(company, schedule, 1201, full_name="Ada Lovelace")
    browser = await visitor(town, company)
    assert "Ada Lovelace" in (await browser.get("/console/leads", params={"schedule_id": schedule["id"]})).text
    none = await browser.get("/console/leads", params={"created_at_to": "2020-01-01 00:00:00 +0000"})
    assert "No lead fits" in none.text
    assert 'name="created_at_to" value="2020-01-01 00:00:00 +0000"' in none.text
    refused = await browser.get("/console/leads", params={"status": "no_such_status", "fulltext": "typed"})
    assert refused.status_code == 200
    assert "must be one of" in refused.text
    assert 'value="typed"' in refused.text


async def test_the_file_has_the_rows_of_the_view(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    first = await lead(company, schedule, 1301, full_name="Ada Lovelace")
    await lead(company, schedule, 1302, full_name="Grace Hopper")
    browser = await visitor(town, company, permissions=READER)
    page = (await browser.get("/console/leads", params={"fulltext": "Lovelace", "page": 1})).text
    (url,) = set(re.findall(r'href="(/console/leads\.csv[^"]*)"', page))
    answer = await browser.get(url)
    assert answer.headers["content-disposition"] == 'attachment; filename="leads.csv"'
    assert [row["id"] for row in csv.DictReader(io.StringIO(answer.text))] == [str(first["id"])]
    assert (await Browser(town).get(url)).status_code == 303


async def test_leads_that_a_team_does_not_show_and_those_of_other_companies_are_not_found(
    town: Any, company: Any, other: Any
) -> None:
    shown, hidden = await company.schedule(name="Shown"), await company.schedule(name="Hidden")
    await lead(company, shown, 1401, full_name="Ada Lovelace")
    await lead(company, hidden, 1402, full_name="Grace Hopper")
    some = await visitor(town, company, permissions=READER, lead_filters={"schedule_ids": [shown["id"]]})
    page = (await some.get("/console/leads")).text
    assert "Ada Lovelace" in page
    assert "Grace Hopper" not in page
    assert "No lead yet" in (await (await visitor(town, other)).get("/console/leads")).text


async def test_a_field_that_a_team_hides_is_not_on_the_pages(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    await lead(company, schedule, 1451, full_name="Ada Lovelace", email="ada@example.org")
    hidden = {"lead": {"actions": ["read"], "fields": {"email": "none", "caller_id": "none", "full_name": "none"}}}
    browser = await visitor(town, company, permissions=hidden)
    for path in ("/console", "/console/leads"):
        page = await browser.get(path)
        assert page.status_code == 200, path
        assert not re.search(r"Lovelace|ada@example.org|2125551451", page.text), path
    assert "1 lead<" in page.text
    refused = await browser.get("/console/leads", params={"email": "ada@example.org"})
    assert 'role="alert"' in refused.text


async def test_the_page_of_what_holds_names_the_pause_and_the_leads_that_wait(town: Any, company: Any) -> None:
    schedule = await company.schedule(name="Winter", paused=True)
    await lead(company, schedule, 1501)
    text = (await (await visitor(town, company)).get("/console/dialling")).text
    assert "Every schedule is paused." in text
    assert "Shown to operators." in text


async def test_operations_is_for_operators_alone(town: Any, company: Any) -> None:
    user = await visitor(town, company)
    asked = await user.get("/console/operations")
    assert (asked.status_code, asked.headers["location"]) == (
        303,
        "/console/sign-in?next=%2Fconsole%2Foperations&for=operator",
    )
    assert "/console/operations" not in (await user.get("/console")).text
    wrong = await user.post("/console/sign-in/operator", {"operator_key": "op_x.sk_y"})
    assert wrong.status_code == 401
    shown = await (await operator_browser(town)).get("/console/operations")
    assert shown.status_code == 200
    assert "up to date" in shown.text


async def test_the_cookie_of_an_operator_holds_no_readable_key(town: Any) -> None:
    browser, operator = Browser(town), await operator_of(town)
    answer = await browser.post("/console/sign-in/operator", {"operator_key": f"{operator.public_key}.{PRIVATE}"})
    (cookie,) = answer.headers.get_list("set-cookie")
    assert cookie.startswith("__Host-leadclock_operator=")
    assert PRIVATE not in cookie
    assert operator.public_key not in cookie
    assert {"HttpOnly", "SameSite=Strict", "Secure"} <= set(cookie.split("; "))
    assert (await browser.client.get("/api/v1/operator/lags")).status_code == 401


async def test_a_dead_letter_is_read_edited_and_sent_again(town: Any) -> None:
    letter = await dead_letter(town, b"{<script>alert(1)</script>")
    browser = await operator_browser(town)
    path = f"/console/operations/dead_letters/{letter['id']}"
    page = await browser.get(path)
    assert "{&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
    wrong = await browser.post(path, {"confirm": letter["id"], "value": "[1, 2]"})
    assert wrong.status_code == 422
    assert "[1, 2]</textarea>" in wrong.text
    assert (await browser.post(path, {"confirm": "", "value": "{}"})).status_code == 422
    forged = await browser.post(path, {"confirm": letter["id"]}, headers={"X-CSRF-Token": ""})
    assert forged.status_code == 403
    sent = await browser.post(path, {"confirm": letter["id"], "value": '{"corrected": true}'})
    assert sent.status_code == 200
    assert "edited" in sent.text
    assert "dead_letter.redriven" in (await browser.get("/console/operations")).text
    assert (await browser.get("/console/operations/dead_letters/0:999999")).status_code == 404


async def test_pages_of_a_company_name_the_calls_that_filled_them_and_no_secret(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    text = (await browser.get("/console/leads?fulltext=ada")).text
    assert "GET /api/v1/leads?per_page=50&amp;serializer=lead_grid&amp;fulltext=ada" in text
    token = next(iter(browser.client.cookies.values()))
    assert token not in text


async def test_the_columns_that_were_chosen_are_in_the_table_in_the_file_and_in_the_link(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    await lead(company, schedule, 1401, full_name="<b>Ada</b>", zip="10001", data={"roof": "slate8"})
    browser = await visitor(town, company, permissions=READER)
    page = await browser.get("/console/leads?columns=zip_postal_code&columns=created_at&columns=name")
    assert page.status_code == 200, page.text
    assert '<th scope="col">zip postal code</th>' in page.text
    assert '<td data-name="zip postal code"><span class="any">10001</span></td>' in page.text
    assert "&lt;b&gt;Ada" in page.text
    assert "<b>Ada" not in page.text
    assert page.text.count(" checked> ") == 3
    assert '<span class="tag info any">columns' not in page.text, "a column is no filter"
    (url,) = set(re.findall(r'href="(/console/leads\.csv[^"]*)"', page.text))
    answer = await browser.get(url.replace("&amp;", "&"))
    assert unquoted(answer.text).splitlines()[0] == "zip_postal_code,created_at,name"
    rows = await browser.get("/console/leads/rows?columns=zip_postal_code&columns=name&status=", headers=PART)
    assert rows.headers["hx-replace-url"] == "/console/leads?columns=zip_postal_code&columns=name"
    refused = await browser.get("/console/leads?columns=nothing")
    assert refused.status_code == 200
    assert 'role="alert"' in refused.text


async def test_a_column_that_a_team_hides_is_not_offered(town: Any, company: Any) -> None:
    hides = {"lead": {"actions": ["read"], "fields": {"email": "none"}}}
    browser = await visitor(town, company, permissions=hides)
    page = await browser.get("/console/leads")
    assert 'name="columns" value="email"' not in page.text
    assert 'name="columns" value="status"' in page.text
    refused = await browser.get("/console/leads?columns=email,status")
    assert "<th" not in refused.text


async def test_a_view_is_saved_opened_replaced_and_deleted(town: Any, company: Any) -> None:
    browser = await visitor(town, company, permissions=READER)
    page = await browser.get("/console/leads?status=scheduled&columns=status&columns=created_at&page=1")
    assert "Save this view" in page.text
    assert 'name="page"' not in page.text
    shown = {"status": "scheduled", "columns": "status,created_at"}
    here = "/console/leads?columns=status%2Ccreated_at&status=scheduled"
    saved = await browser.post("/console/leads/views", {**shown, "view_name": "Due <b> & more"})
    assert (saved.status_code, saved.headers["location"]) == (303, here)
    page = await browser.get(saved.headers["location"])
    assert ' aria-current="true">Due &lt;b&gt; &amp; more</a>' in page.text
    page = await browser.get("/console/leads?columns=status&columns=created_at&status=scheduled")
    assert ' aria-current="true">Due' in page.text, "the same list in other words"
    rows = await browser.get("/console/leads/rows?status=opt_out", headers=PART)
    assert "Due &lt;b&gt;" in rows.text
    assert 'aria-current="true"' not in rows.text, "what is typed is no longer that view"
    (view_id,) = re.findall(r'name="view_id" value="(\d+)"', page.text)
    deleted = await browser.post("/console/leads/views/delete", {**shown, "view_id": view_id})
    assert (deleted.status_code, deleted.headers["location"]) == (303, here)
    assert "Saved views" not in (await browser.get("/console/leads")).text


async def test_a_view_that_may_not_be_saved_or_shown_says_why(town: Any, company: Any, other: Any) -> None:
    browser = await visitor(town, company, permissions=READER)
    refused = await browser.post("/console/leads/views", {"status": "scheduled", "view_name": "n" * 61})
    assert refused.status_code == 422
    assert "must have at most 60 characters" in refused.text
    assert f'value="{"n" * 61}"' in refused.text, "what was typed is kept"
    assert (await browser.post("/console/leads/views", {"email": "a@b.org", "view_name": "By mail"})).status_code == 303
    (team,) = (await company.send("GET", "/api/v1/access_control_lists")).json()["access_control_lists"]
    hides = {"permissions": {"lead": {"actions": ["read"], "fields": {"email": "none"}}}}
    assert (await company.send("PUT", f"/api/v1/access_control_lists/{team['id']}", json=hides)).status_code == 200
    page = await browser.get("/console/leads")
    assert "The list refuses this view now: email names what the teams of ada@example.com hide: email." in page.text
    opened = await browser.get("/console/leads?email=a%40b.org")
    assert 'role="alert"' in opened.text
    assert "Delete the view By mail" in opened.text, "and it can be deleted from there"
    stranger = await visitor(town, other, permissions=READER)
    (view_id,) = re.findall(r'name="view_id" value="(\d+)"', page.text)
    assert (await stranger.post("/console/leads/views/delete", {"view_id": view_id})).status_code == 404
    assert "By mail" in (await browser.get("/console/leads")).text
