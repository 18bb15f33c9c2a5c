"""Can a person get out by number and token, in every method that links and forms use, and only by what was meant?"""

import re
from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")


NUMBER = "+13055550142"

ACTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "caller_opt_out": (("PUT", "GET"), "opt_out"),
    "caller_remove": (("POST", "DELETE", "GET"), "removed"),
    "caller_move_to_end_of_schedule": (("PUT", "POST"), "completed"),
}


async def test_each_method_of_an_action_does_it_and_looking_does_not(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    query = {"lead_token": schedule["lead_token"]}
    tried = [(action, method, status) for action, (methods, status) in ACTIONS.items() for method in methods]
    for place, (action, method, status) in enumerate(tried):
        number = f"+1305555012{place}"
        lead = (await company.send("POST", "/api/v1/leads", json={**query, "caller_id": number})).json()["lead"]
        path = f"/api/v1/leads/{number}/{action}"
        looks = [
            await town.client.request("HEAD", path, params=query),
            await town.client.request(method, path, params=query, headers={"Purpose": "prefetch"}),
            await town.client.request(method, path, params=query, headers={"Sec-Purpose": "prefetch;prerender"}),
            await town.client.request(method, path, params=query, headers={"X-Purpose": "preview"}),
            await town.client.request(method, path, params=query, headers={"X-Moz": "prefetch"}),
        ]
        assert {(answer.status_code, answer.content) for answer in looks} == {(204, b"")}
        assert (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]["is_live"] is True
        answer = await town.client.request(method, path, params=query)
        assert (answer.status_code, answer.json()) == (200, {"status": "accepted"}), answer.text
        assert answer.headers["cache-control"] == "no-store"
        assert (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]["status"] == status
        again = await company.send(method, path, params=query)
        expected = 409 if action == "caller_move_to_end_of_schedule" else 200
        assert again.status_code == expected, again.text
        assert (await town.client.request(method, path, params=query)).content == answer.content


@pytest.mark.parametrize("action", ["caller_opt_out", "caller_remove"])
async def test_a_company_may_have_a_browser_ask_before_a_link_acts(town: Any, company: Any, action: str) -> None:
    schedule = await company.schedule()
    await company.send("PUT", "/api/v1/company", json={"confirm_links": True})
    browser, query = {"Accept": "text/html,*/*;q=0.8"}, {"lead_token": schedule["lead_token"], "utm_source": '"><script>'}
    lead = (await company.send("POST", "/api/v1/leads", json={**query, "caller_id": NUMBER})).json()["lead"]
    path = f"/api/v1/leads/{NUMBER}/{action}"

    page = await town.client.get(path, params=query, headers=browser)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<script" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]["is_live"] is True

    hidden = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', page.text))
    pressed = await town.client.get(path, params=hidden, headers=browser)
    assert (pressed.status_code, pressed.json()) == (200, {"status": "accepted"})
    assert (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]["status"] == ACTIONS[action][1]


@pytest.mark.parametrize("action", ["caller_opt_out", "caller_remove"])
async def test_programs_and_senders_with_a_key_act_as_ever(town: Any, company: Any, action: str) -> None:
    schedule = await company.schedule()
    await company.send("PUT", "/api/v1/company", json={"confirm_links": True})
    query = {"lead_token": schedule["lead_token"]}
    path = f"/api/v1/leads/{NUMBER}/{action}"
    for headers, client in (({"Accept": "application/json"}, town.client.get), ({"Accept": "*/*"}, town.client.get)):
        assert (await client(path, params=query, headers=headers)).json() == {"status": "accepted"}
    keyed = await company.send("GET", path, params=query, headers={"Accept": "text/html"})
    assert "json" in keyed.headers["content-type"]


@pytest.mark.parametrize("action", ACTIONS)
async def test_who_is_a_lead_is_not_shown_without_a_key(town: Any, company: Any, action: str) -> None:
    """Each answer is the same in status, body and headers: for a live lead, an ended one, one of another token, nobody."""
    schedule, elsewhere = await company.schedule(), await company.schedule(name="Other")
    query = {"lead_token": schedule["lead_token"]}
    for place, token in enumerate((schedule["lead_token"], elsewhere["lead_token"])):
        await company.send("POST", "/api/v1/leads", json={"lead_token": token, "caller_id": f"+1305555013{place}"})
    method = ACTIONS[action][0][0]
    answers = [
        await town.client.request(method, f"/api/v1/leads/{number}/{action}", params=query)
        for number in ("+13055550130", "+13055550130", "+13055550131", "+13055550132")
    ]
    shown = {
        (answer.status_code, answer.content, tuple(name for name in answer.headers if name != "x-request-id"))
        for answer in answers
    }
    assert len(shown) == 1, shown


async def test_an_opt_out_of_somebody_without_a_lead_is_stored_and_a_key_hears_so(town: Any, company: Any) -> None:
    token = (await company.schedule())["lead_token"]
    keyed = await company.send("PUT", f"/api/v1/leads/{NUMBER}/caller_opt_out", params={"lead_token": token})
    assert (keyed.status_code, keyed.json()["code"]) == (404, "not_found"), keyed.text
    assert "stored all the same" in keyed.json()["detail"]
    await town.client.put("/api/v1/leads/+13055550143/caller_opt_out", params={"lead_token": token})
    for number in (NUMBER, "+13055550143"):
        shown = (await company.send("GET", f"/api/v1/contacts/{number}")).json()["contact"]
        assert shown["opted_out_at"] is not None, shown


SPELLINGS = ("+13055550142", "%2B13055550142", "13055550142", "3055550142", "%2013055550142", "(305)%20555-0142")


async def test_a_number_is_understood_in_every_usual_spelling(company: Any) -> None:
    schedule = await company.schedule()
    await company.send("POST", "/api/v1/leads", json={"lead_token": schedule["lead_token"], "caller_id": NUMBER})
    for spelling in SPELLINGS:
        found = await company.send("GET", f"/api/v1/leads/{schedule['lead_token']}/{spelling}/by_caller_number")
        assert found.status_code == 200, found.text
        answer = await company.send("GET", f"/api/v1/leads/{spelling}/caller_opt_out?lead_token={schedule['lead_token']}")
        assert answer.status_code == 200, answer.text
        assert answer.json()["lead"]["id"] == found.json()["lead"]["id"]


async def test_an_email_address_finds_a_lead_with_and_without_a_number(company: Any) -> None:
    schedule = await company.schedule()
    for fields in ({"email": "ann@example.com"}, {"email": "bob@example.com", "caller_id": NUMBER}):
        made = await company.send("POST", "/api/v1/leads", json={"lead_token": schedule["lead_token"], **fields})
        path = f"/api/v1/leads/{fields['email']}/caller_opt_out"
        answer = await company.send("PUT", path, params={"lead_token": schedule["lead_token"]})
        assert answer.status_code == 200, answer.text
        assert answer.json()["lead"]["id"] == made.json()["lead"]["id"]


async def test_an_email_address_finds_the_live_lead_first_whatever_it_is_kept_under(company: Any) -> None:
    schedule = await company.schedule()
    query = {"lead_token": schedule["lead_token"]}
    fields = {**query, "email": "eve@example.com"}
    live = (await company.send("POST", "/api/v1/leads", json={**fields, "caller_id": NUMBER})).json()["lead"]
    ended = (await company.send("POST", "/api/v1/leads", json=fields)).json()["lead"]  # newer, and of the address alone
    await company.send("PUT", f"/api/v1/leads/{ended['id']}", json={"schedule_stop": True})
    for lead_id in (live["id"], ended["id"]):
        answer = await company.send("PUT", "/api/v1/leads/eve@example.com/caller_opt_out", params=query)
        assert (answer.status_code, answer.json()["lead"]["id"]) == (200, lead_id), answer.text


async def test_an_offer_token_finds_the_lead_on_a_schedule_of_the_offer(company: Any) -> None:
    offer = await company.record("offers", {"name": "Solar"})
    schedule = await company.schedule(offer_id=offer["id"])
    made = await company.send("POST", "/api/v1/leads", json={"lead_token": schedule["lead_token"], "caller_id": NUMBER})
    found = await company.send("GET", f"/api/v1/leads/{offer['lead_token']}/{NUMBER}/by_caller_number")
    assert found.json()["lead"]["id"] == made.json()["lead"]["id"]
    answer = await company.send("POST", f"/api/v1/leads/{NUMBER}/caller_remove", data={"lead_token": offer["lead_token"]})
    assert answer.json()["lead"]["id"] == made.json()["lead"]["id"]


async def test_what_cannot_be_found_is_not_found(company: Any) -> None:
    schedule = await company.schedule()
    token = schedule["lead_token"]
    for path, query, status, code in [
        (f"{NUMBER}/caller_opt_out", {"lead_token": "lt_nobody_has_this_token"}, 404, "unknown_lead_token"),
        (f"{NUMBER}/caller_opt_out", {}, 422, "validation_failed"),
        (f"{NUMBER}/caller_opt_out", {"lead_token": token}, 404, "not_found"),
        ("12/caller_opt_out", {"lead_token": token}, 404, "not_found"),  # no opt-out is refused for its number
        ("me@/caller_opt_out", {"lead_token": token}, 422, "validation_failed"),
    ]:
        answer = await company.send("PUT", f"/api/v1/leads/{path}", params=query)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        assert answer.headers["cache-control"] == "no-store"


async def test_by_caller_number_needs_a_key_of_the_company_of_the_token(town: Any, company: Any, other: Any) -> None:
    schedule = await company.schedule()
    await company.send("POST", "/api/v1/leads", json={"lead_token": schedule["lead_token"], "caller_id": NUMBER})
    path = f"/api/v1/leads/{schedule['lead_token']}/{NUMBER}/by_caller_number"
    assert (await town.client.get(path)).status_code == 401
    assert (await other.send("GET", path)).json()["code"] == "unknown_lead_token"
