"""Does the page of compliance show who opted out and what waits, and decide and list exactly what its user may?"""

from typing import Any

import pytest

from adapters.http.console.compliance_page import _by_source, _opt_outs
from engine.identity import contact_uuid
from engine.views.hidden_fields import HIDEABLE
from tests.adapters.http.console_browser import visitor
from tests.adapters.http.test_hidden_fields import hidden
from tests.adapters.http.test_opt_out_reviews import doubted, queue
from tests.adapters.http.test_suppression_lists import LISTS, changed, list_of, listed, number_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

REVIEWS = "/console/compliance/reviews"
HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>{{7*7}} stop?"


async def contact(company: Any, number: str) -> dict[str, Any]:
    found: dict[str, Any] = (await company.send("GET", f"/api/v1/contacts/{number}")).json()["contact"]
    return found


async def test_opt_outs_are_counted_by_source_and_shares_sorted() -> None:
    rows = [
        {"opted_out_source": "sms"},
        {"opted_out_source": "api"},
        {"opted_out_source": "sms"},
        {"opted_out_source": None},
    ]
    answer = {"contacts": rows, "metadata": {"root": "contacts"}}
    assert _by_source(answer) == [("sms", 2), ("api", 1), ("not said", 1)]
    assert _by_source({"contacts": [{"id": 1}], "metadata": {"root": "contacts"}}) == [], "a team hides it"
    reports = [{"opt_out_count": 0}, {"opt_out_count": 1}, {"opt_out_count": 3}, {"category": "hidden"}]
    assert _opt_outs({"reports": reports}) == [{"opt_out_count": 3}, {"opt_out_count": 1}]


async def test_a_doubtful_text_is_read_and_decided(town: Any, company: Any) -> None:
    first, _ = await doubted(town, company, "Stop by tomorrow?")
    second, _ = await doubted(town, company, "Please end of the week, stop here")
    browser = await visitor(town, company)
    assert "2 texts wait for a decision" in (await browser.get("/console/compliance")).text
    page = await browser.get(REVIEWS)
    assert page.status_code == 200, page.text
    for expected in ("Stop by tomorrow?", "Please end of the week", first, second, 'data-key="y"'):
        assert expected in page.text, expected
    assert page.text.index(first) < page.text.index(second), "the one that waits longest comes first"
    assert page.text.count("autofocus") == 1
    ids = {row["caller_id"]: contact_uuid(row["id"]) for row in await queue(company)}
    assert all(f'action="{REVIEWS}/{one}"' in page.text for one in ids.values())
    done = await browser.post(f"{REVIEWS}/{ids[first]}", {"opt_out": "yes"})
    assert (done.status_code, done.headers["location"]) == (303, f"{REVIEWS}?done=yes")
    assert (await contact(company, first))["opted_out"] is True
    after = await browser.get(done.headers["location"])
    assert "it is an opt-out" in after.text
    assert first not in after.text
    done = await browser.post(f"{REVIEWS}/{ids[second]}", {"opt_out": "no"})
    assert done.headers["location"] == f"{REVIEWS}?done=no"
    shown = await contact(company, second)
    assert (shown["opted_out"], shown["review_until"]) == (False, None)
    assert "No text waits" in (await browser.get(REVIEWS)).text


async def test_of_two_who_decide_one_text_the_second_learns_that_it_is_decided(town: Any, company: Any) -> None:
    number, _ = await doubted(town, company)
    (waiting,) = await queue(company)
    first, second = await visitor(town, company), await visitor(town, company, "bob@example.com", superuser=True)
    assert (await first.post(f"{REVIEWS}/{waiting['id']}", {"opt_out": "yes"})).headers["location"].endswith("done=yes")
    late = await second.post(f"{REVIEWS}/{waiting['id']}", {"opt_out": "no"})
    assert late.headers["location"].endswith("done=gone")
    assert "Somebody else has decided" in (await second.get(late.headers["location"])).text
    assert (await contact(company, number))["opted_out"] is True


async def test_who_may_only_read_contacts_decides_nothing(town: Any, company: Any) -> None:
    number, _ = await doubted(town, company)
    (waiting,) = await queue(company)
    browser = await visitor(town, company, permissions={"contact": {"actions": ["read"]}})
    page = await browser.get(REVIEWS)
    assert page.status_code == 200, page.text
    assert "data-key" not in page.text
    assert (await browser.post(f"{REVIEWS}/{waiting['id']}", {"opt_out": "no"})).status_code == 404
    assert (await contact(company, number))["review_until"] is not None
    main = await browser.get("/console/compliance")
    assert main.status_code == 200, main.text
    assert "No team of yours shows leads" in main.text


async def test_a_decision_that_is_none_and_one_without_the_token_are_refused(town: Any, company: Any) -> None:
    number, _ = await doubted(town, company)
    (waiting,) = await queue(company)
    browser = await visitor(town, company)
    assert (await browser.post(f"{REVIEWS}/{waiting['id']}", {"opt_out": "maybe"})).status_code == 422
    assert (await browser.post(f"{REVIEWS}/{waiting['id']}")).status_code == 422
    forged = await browser.post(f"{REVIEWS}/{waiting['id']}", {"opt_out": "no"}, headers={"X-CSRF-Token": ""})
    assert forged.status_code == 403
    assert (await contact(company, number))["review_until"] is not None


async def test_texts_and_lists_of_another_company_are_not_there(town: Any, company: Any, other: Any) -> None:
    number, _ = await doubted(town, company)
    (waiting,) = await queue(company)
    list_id = await list_of(company)
    browser = await visitor(town, other)
    assert number not in (await browser.get(REVIEWS)).text
    late = await browser.post(f"{REVIEWS}/{waiting['id']}", {"opt_out": "yes"})
    assert late.headers["location"].endswith("done=gone")
    assert (await contact(company, number))["opted_out"] is False
    path = f"/console/compliance/lists/{list_id}"
    assert (await browser.get(path)).status_code == 404
    assert (await browser.post(f"{path}/entries", {"action": "add", "people": number})).status_code == 404
    assert await listed(company, list_id) == []


async def test_what_a_stranger_texts_is_shown_as_text(town: Any, company: Any) -> None:
    await doubted(town, company, HOSTILE)
    page = (await (await visitor(town, company)).get(REVIEWS)).text
    assert "alert(2)" in page
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert "49 stop?" not in page


async def test_people_are_put_on_a_list_and_taken_off_it(town: Any, company: Any) -> None:
    list_id, numbers = await list_of(company, name="Complaints"), [number_of(town) for _ in range(2)]
    browser = await visitor(town, company)
    path = f"/console/compliance/lists/{list_id}"
    assert "Nobody is on this list yet" in (await browser.get(path)).text
    typed = f"{numbers[0]}\r\n\r\n  {numbers[1]} \r\nada@example.com"
    done = await browser.post(f"{path}/entries", {"action": "add", "people": typed, "source": "complaint"})
    assert (done.status_code, done.headers["location"]) == (303, f"{path}?done=add")
    rows = {row["caller_id"] or row["email"]: row["source"] for row in await listed(company, list_id)}
    assert rows == dict.fromkeys((*numbers, "ada@example.com"), "complaint")
    page = (await browser.get(path)).text
    assert "3 entries" in page
    assert "complaint" in page
    one = (await browser.get(path, params={"number": numbers[0]})).text
    assert numbers[0] in one
    assert numbers[1] not in one
    assert "No entry fits" in (await browser.get(path, params={"source": "nowhere"})).text
    gone = await browser.post(f"{path}/entries", {"action": "remove", "people": numbers[0]})
    assert gone.headers["location"] == f"{path}?done=remove"
    assert len(await listed(company, list_id)) == 2
    main = (await browser.get("/console/compliance")).text
    assert "Complaints" in main
    assert f'href="{path}"' in main


async def test_bad_entries_are_named_and_what_was_typed_is_kept(town: Any, company: Any) -> None:
    list_id = await list_of(company)
    browser = await visitor(town, company)
    path = f"/console/compliance/lists/{list_id}/entries"
    refused = await browser.post(path, {"action": "add", "people": "+12125550123\nnobody<b>", "source": "mine"})
    assert refused.status_code == 422
    assert "entries[1].caller id" in refused.text
    assert "nobody&lt;b&gt;</textarea>" in refused.text
    assert 'value="mine"' in refused.text
    assert (await browser.post(path, {"action": "add", "people": " "})).status_code == 422
    assert (await browser.post(path, {"action": "explode", "people": "+12125550123"})).status_code == 404
    assert await listed(company, list_id) == []


async def test_who_may_only_read_lists_changes_none(town: Any, company: Any) -> None:
    list_id, number = await list_of(company), number_of(town)
    await changed(company, list_id, {"caller_id": number})
    browser = await visitor(town, company, permissions={"suppression_list": {"actions": ["read"]}})
    path = f"/console/compliance/lists/{list_id}"
    page = await browser.get(path)
    assert page.status_code == 200, page.text
    assert number in page.text
    assert 'name="action"' not in page.text
    for action in ("add", "remove"):
        assert (await browser.post(f"{path}/entries", {"action": action, "people": number})).status_code == 404
    assert len(await listed(company, list_id)) == 1
    assert (await browser.get("/console/compliance")).status_code == 404


async def test_pages_of_compliance_render_where_a_team_hides_every_field(town: Any, company: Any) -> None:
    number, _ = await doubted(town, company, "Stop this secret")
    list_id = await list_of(company, name="Secret list")
    await changed(company, list_id, {"caller_id": number, "source": "secret"})
    models = ("contact", "suppression_list", "company", "lead")
    team = {model: {"actions": ["read"], "fields": hidden(*HIDEABLE[model])} for model in models}
    browser = await visitor(town, company, permissions=team)
    for path in ("/console/compliance", REVIEWS, f"/console/compliance/lists/{list_id}"):
        page = await browser.get(path)
        assert page.status_code == 200, (path, page.text)
        assert "ecret" not in page.text, path
        assert number not in page.text, path


async def test_an_opt_out_and_its_source_are_shown(town: Any, company: Any) -> None:
    schedule = await company.schedule(name="Winter")
    sent = {"lead_token": schedule["lead_token"], "caller_id": number_of(town)}
    lead = (await company.send("POST", "/api/v1/leads", json=sent)).json()["lead"]
    assert (await company.send("PATCH", f"/api/v1/leads/{lead['id']}", json={"opt_out": True})).status_code == 200
    source = (await contact(company, sent["caller_id"]))["opted_out_source"]
    page = (await (await visitor(town, company)).get("/console/compliance")).text
    assert f'<td class="any">{source.replace("_", " ")}</td><td class="num">1</td>' in page
    assert "Opt-outs by schedule" in page
    assert "100.0%" in page


async def test_a_company_without_data_reads_what_to_do_first(town: Any, company: Any) -> None:
    browser = await visitor(town, company)
    page = (await browser.get("/console/compliance")).text
    for expected in ("Nobody has opted out yet", "No lead waits because of the law", "POST /api/v1/suppression_lists"):
        assert expected in page, expected
    assert LISTS.removeprefix("/api/v1/") in page
    assert "No text waits" in (await browser.get(REVIEWS)).text
