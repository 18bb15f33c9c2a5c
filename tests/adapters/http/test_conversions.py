"""Are conversions of calls and leads listed, narrowed and shown, for one's own company and what one's teams show?"""

from datetime import datetime
from typing import Any

import pytest

from tests.adapters.http.conftest import Company, Town, unquoted
from tests.adapters.http.test_manual_fires import converted, lead_of
from tests.adapters.http.test_teams import PATH as TEAMS
from tests.adapters.http.test_teams import divide

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def call_of(town: Town, company: Company, **fields: Any) -> dict[str, Any]:
    """Call a lead, change the call, and return it."""
    lead_id = await lead_of(town, company)
    call = (await company.send("POST", "/api/v1/schedules/make_call", json={"lead_id": lead_id})).json()["call"]
    return await change(company, call["id"], **fields) if fields else dict(call)


async def change(company: Company, call_id: int, **fields: Any) -> dict[str, Any]:
    answer = await company.send("POST", f"/api/v1/calls/{call_id}", json=fields)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["call"]
    return found


async def listed(company: Any, side: str = "buyer", **query: str) -> list[dict[str, Any]]:
    answer = await company.send("GET", f"/api/v1/{side}_conversions", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()[f"{side}_conversions"]
    return found


async def test_a_call_that_converts_is_listed_on_both_sides_with_its_money(town: Town, company: Company) -> None:
    buyer = await company.record("buyers", {"name": "B", "number": "+12125550141"})
    source = await company.record("traffic_sources", {"name": "T"})
    call = await call_of(
        town,
        company,
        buyer_converted=True,
        offer_converted=True,
        revenue=25.5,
        payout=8,
        svc_buyer_id=buyer["id"],
        svc_traffic_source_id=source["id"],
    )
    (bought,), (offered,) = await listed(company), await listed(company, "offer")
    assert {name: bought[name] for name in ("call_id", "lead_id", "buyer_id", "amount", "source", "taken_back")} == {
        "call_id": call["id"],
        "lead_id": call["lead_id"],
        "buyer_id": buyer["id"],
        "amount": 25.5,
        "source": "call_update",
        "taken_back": False,
    }
    assert (offered["traffic_source_id"], offered["amount"], "buyer_id" in offered) == (source["id"], 8, False)
    assert bought["key_id"] is not None
    for reference in (bought["id"], bought["uuid"]):
        shown = await company.send("GET", f"/api/v1/buyer_conversions/{reference}")
        assert shown.json()["buyer_conversion"] == bought
    assert (await company.send("GET", f"/api/v1/offer_conversions/{bought['id']}")).status_code == 404
    lead = (await company.send("GET", f"/api/v1/leads/{call['lead_id']}")).json()["lead"]
    assert (lead["call_buyer_conversion_id"], lead["call_offer_conversion_id"]) == (bought["id"], offered["id"])


async def test_the_conversion_of_a_deleted_call_is_shown_as_taken_back_with_its_amount(town: Town, company: Company) -> None:
    call = await call_of(town, company, buyer_converted=True, revenue=14)

    assert (await company.send("DELETE", f"/api/v1/calls/{call['id']}")).status_code == 200

    (gone,) = await listed(company)
    assert (gone["taken_back"], gone["amount"], gone["call_id"]) == (True, 14, call["id"])
    lead = (await company.send("GET", f"/api/v1/leads/{call['lead_id']}")).json()["lead"]
    assert (lead["buyer_converted"], lead["revenue"], lead["call_buyer_conversion_id"]) == (False, 0, None)


async def test_what_changes_later_is_shown_in_place_of_what_was(town: Town, company: Company) -> None:
    call = await call_of(town, company, buyer_converted=True, revenue=10)
    (first,) = await listed(company)
    await change(company, call["id"], add_revenue=5)
    (later,) = await listed(company)
    assert (later["id"], later["amount"], later["created_at"]) == (first["id"], 15, first["created_at"])
    await change(company, call["id"], buyer_converted=False)
    (back,) = await listed(company)
    assert (back["taken_back"], back["amount"], back["key_id"]) == (True, 15, first["key_id"])
    assert datetime.fromisoformat(back["taken_back_at"]) >= datetime.fromisoformat(first["created_at"])


async def test_every_parameter_of_the_lists_takes_effect(town: Town, company: Company) -> None:
    buyers = [(await company.record("buyers", {"name": "B", "number": "+12125550141"}))["id"] for _ in range(2)]
    calls = [
        await call_of(town, company, buyer_converted=True, offer_converted=True, svc_buyer_id=buyer_id)
        for buyer_id in (buyers[0], buyers[1], buyers[0])
    ]
    await change(company, calls[2]["id"], buyer_converted=False)
    alone = await lead_of(town, company)
    await converted(company, alone)
    rows = await listed(company)
    by_call = {row["call_id"]: row["id"] for row in rows}
    first, second, third, own = *(by_call[call["id"]] for call in calls), by_call[None]
    moments = sorted(datetime.fromisoformat(row["created_at"]) for row in rows)
    assert [datetime.fromisoformat(row["created_at"]) for row in rows] == moments[::-1]
    instants = {row["id"]: row["created_at"] for row in rows}
    for query, expected in [
        ({}, {first, second, third, own}),
        ({"ids": f"{first},{own}"}, {first, own}),
        ({"lead_id": str(alone)}, {own}),
        ({"lead_id": str(calls[0]["lead_id"])}, {first}),
        ({"call_id": str(calls[1]["id"])}, {second}),
        ({"buyer_id": str(buyers[0])}, {first, third}),
        ({"taken_back": "true"}, {third}),
        ({"taken_back": "false", "buyer_id": str(buyers[0])}, {first}),
        ({"created_at_from": instants[second]}, {second, third, own}),
        ({"created_at_to": instants[second]}, {first}),
        ({"created_at_from": "2020-01-01 00:00:00", "created_at_to": "2020-01-02 00:00:00", "time_zone": "UTC"}, set()),
        ({"cursor": "-1"}, {first, second, third, own}),
        ({"cursor": str(max(instants))}, set(instants) - {max(instants)}),
    ]:
        assert {row["id"] for row in await listed(company, columns="id", **query)} == expected, query
    pages = [await listed(company, page=page, per_page="3", columns="id,amount") for page in ("1", "2")]
    assert [len(page) for page in pages] == [3, 1]
    assert all(list(row) == ["id", "amount"] for page in pages for row in page)
    bare = await company.send("GET", "/api/v1/buyer_conversions", params={"root": "false"})
    assert bare.json() == rows
    table = await company.send("GET", "/api/v1/buyer_conversions.csv", params={"columns": "id"})
    assert unquoted(table.text).splitlines() == ["id", *(str(row["id"]) for row in rows)]


async def test_a_parameter_of_the_other_side_is_refused(company: Company) -> None:
    for side, name in (("buyer", "traffic_source_id"), ("offer", "buyer_id")):
        answer = await company.send("GET", f"/api/v1/{side}_conversions", params={name: "1"})
        assert (answer.status_code, list(answer.json()["errors"])) == (422, [name])


async def test_a_conversion_of_another_company_is_unknown(town: Town, company: Company, other: Company) -> None:
    conversion_id = await converted(other, await lead_of(town, other))
    assert await listed(company) == []
    assert (await company.send("GET", f"/api/v1/buyer_conversions/{conversion_id}")).status_code == 404


async def test_a_person_sees_the_conversions_of_what_a_team_shows(town: Any, company: Any) -> None:
    divided = await divide(town, company)
    made = [await converted(company, lead_id) for lead_id in divided["leads"]]
    permissions = {"conversion": {"actions": ["read"]}}
    answer = await company.send("PUT", f"{TEAMS}/{divided['team']['id']}", json={"permissions": permissions})
    assert answer.status_code == 200, answer.text
    await town.context.rules.refresh()
    found = (await divided["ada"].get("/api/v1/buyer_conversions")).json()
    assert ([row["id"] for row in found["buyer_conversions"]], found["metadata"]["total_count"]) == ([made[0]], 1)
    statuses = [(await divided["ada"].get(f"/api/v1/buyer_conversions/{one}")).status_code for one in made]
    assert statuses == [200, 404]
