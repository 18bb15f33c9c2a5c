"""Does HTTP take how calls are routed, and does a buyer's availability know its spacing to the second?"""

from datetime import datetime
from typing import Any

import pytest

from schemas.instant import SECOND, from_datetime
from tests.adapters.http.conftest import basic
from tests.adapters.http.test_inbound_routing import offered, report

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_highest_bid_gets_the_call_and_then_keeps_its_spacing(town: Any, company: Any) -> None:
    (low, high), _ = await offered(company, route_by_type="revenue")
    for buyer_id, bid in ((low, 5), (high, "32.50")):
        changed = await company.send("PUT", f"/api/v1/buyers/{buyer_id}", json={"bid_price": bid, "spacing_seconds": 600})
        assert changed.status_code == 200, changed.text
    assert changed.json()["buyer"]["bid_price"] == 32.5
    before = town.context.clock.now()
    first, second = await report(company, 1), await report(company, 2)
    after = town.context.clock.now()
    assert [answer["route"]["buyer_id"] for answer in (first, second)] == [high, low]
    third = await report(company, 3)
    assert (third["route"]["action"], third["route"]["reason"]) == ("voicemail", "concurrency_cap")
    lead_id = third["call"]["lead_id"]
    found = (await company.send("GET", f"/api/v1/leads/{lead_id}/buyer_is_available")).json()
    assert found["reasons"] == {str(low): "spacing", str(high): "spacing"}
    next_at = from_datetime(datetime.fromisoformat(found["next_available_at"]))
    assert before + 600 * SECOND <= next_at <= after + 600 * SECOND
    assert next_at == from_datetime(datetime.fromisoformat(third["route"]["until"]))


async def test_an_offer_and_a_step_name_how_their_buyers_compete(company: Any) -> None:
    offer = await company.record("offers", {"name": "Solar", "route_by_type": "epc"})
    assert offer["route_by_type"] == "epc"
    schedule = await company.schedule(steps=[{"id": "call", "kind": "call", "connect": {"route_by_type": "revenue"}}])
    assert schedule["steps"][0]["connect"]["route_by_type"] == "revenue"
    for collection, body in (("offers", {"name": "x", "route_by_type": "luck"}), ("buyers", {"name": "x", "bid_price": -1})):
        answer = await company.send("POST", f"/api/v1/{collection}", json=body)
        assert answer.status_code == 422
        assert set(body) & set(answer.json()["errors"])
    bad = [{"id": "call", "kind": "call", "connect": {"route_by_type": "luck"}}]
    answer = await company.send("POST", "/api/v1/schedules", json={"name": "x", "steps": bad})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_schedule")
    assert any("route_by_type" in name for name in answer.json()["errors"]), answer.text


async def test_a_group_brings_its_team_with_it_for_who_may_make_teams(company: Any) -> None:
    buyer = await company.record("buyers", {"name": "Ann", "number": "+12125550160"})
    asked = {
        "name": "Roofers",
        "buyer_ids": [buyer["id"]],
        "generate_team": True,
        "team_users_emails": ["ada@example.com"],
    }
    group = await company.record("buyer_groups", asked)
    (team,) = (await company.send("GET", "/api/v1/access_control_lists")).json()["access_control_lists"]
    assert (team["name"], team["users_emails"]) == ("Roofers", ["ada@example.com"])
    assert team["lead_filters"]["buyer_ids"] == [buyer["id"]]
    assert team["permissions"]["buyer_group"]["scope"] == [group["id"]]
    key = await company.record("keys", {"name": "groups", "scopes": ["buyer_group:*", "buyer:read"]})
    headers = basic(key["public_key"], key["private_key"])
    refused = await company.send("POST", "/api/v1/buyer_groups", json=asked, headers=headers)
    assert (refused.status_code, set(refused.json()["errors"])) == (403, {"generate_team", "team_users_emails"})
    plain = {"name": "Roofers 2", "buyer_ids": [buyer["id"]]}
    assert (await company.send("POST", "/api/v1/buyer_groups", json=plain, headers=headers)).status_code == 201


async def test_what_a_buyer_and_a_group_earned_by_each_call_is_shown(company: Any) -> None:
    (first, second), _ = await offered(company)
    group = await company.record("buyer_groups", {"name": "Roofers", "buyer_ids": [first]})
    buyer_id = (await report(company, 1))["route"]["buyer_id"]
    call = (await report(company, 1, "connected", buyer_id=buyer_id))["call"]
    changed = await company.send("POST", f"/api/v1/calls/{call['id']}", json={"revenue": 40})
    assert changed.status_code == 200, changed.text

    async def earned(path: str) -> dict[str, Any]:
        shown: dict[str, Any] = (await company.send("GET", path, params={"root": "false"})).json()
        return {name: shown[name] for name in ("epc", "epc_calls_count")}

    for one in (first, second):
        wanted = {"epc": 40, "epc_calls_count": 1} if one == buyer_id else {"epc": None, "epc_calls_count": 0}
        assert await earned(f"/api/v1/buyers/{one}") == wanted
    assert await earned(f"/api/v1/buyer_groups/{group['id']}") == {"epc": None, "epc_calls_count": 0}
    listed = (await company.send("GET", "/api/v1/buyers", params={"columns": "id,epc"})).json()["buyers"]
    assert {row["id"]: row["epc"] for row in listed}[buyer_id] == 40
    assert (await company.send("GET", "/api/v1/buyers/new")).json()["buyer"]["epc"] is None
