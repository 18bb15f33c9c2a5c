"""Does each visitor see a number of their own over HTTP, held by a ring pool of the company's, and is that shown?"""

import asyncio
from typing import Any

import pytest

from schemas.instant import to_rfc3339
from tests.adapters.http.conftest import WAIT_SECONDS, Company, Town, basic, unquoted
from tests.adapters.http.test_page_impressions import ORIGIN, key_of
from tests.adapters.http.test_page_impressions import PATH as PAGE_PATH

PATH = "/api/v1/impressions"
NUMBER_FIELDS = {"number_id", "number_shown", "held_until"}

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def number_of(town: Town, company: Company) -> dict[str, Any]:
    town.numbers += 1
    return await company.record("numbers", {"number": f"+1305556{town.numbers:04d}"})


async def pool_of(company: Company, *numbers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    made = await company.record("ring_pools", {"name": "Web", "number_ids": [one["id"] for one in numbers], **fields})
    await company.town.context.rules.refresh()
    return made


async def ask(company: Company, pool: dict[str, Any], visitor: str, **fields: Any) -> dict[str, Any]:
    """Post an impression that asks for a number, and return what the answer says of it."""
    answer = await company.send("POST", PATH, json={"visitor_id": visitor, "ring_pool_id": pool["id"], **fields})
    assert answer.status_code == 201, answer.text
    (found,) = answer.json()["impressions"]
    assert isinstance(found, dict)
    assert found.keys() == {"uuid", *NUMBER_FIELDS}
    return found


async def test_visitors_see_numbers_of_their_own_and_keep_them(town: Town, company: Company) -> None:
    first, second, spare = [await number_of(town, company) for _ in range(3)]
    pool = await pool_of(company, first, second, default_number_id=spare["id"], hold_seconds=900)

    ann, bob = await ask(company, pool, "ann"), await ask(company, pool, "bob")
    again = await ask(company, pool, "ann")
    late = await ask(company, pool, "cid")

    assert [one["number_shown"] for one in (ann, bob, again)] == [first["number"], second["number"], first["number"]]
    assert again["held_until"] >= ann["held_until"] > to_rfc3339(town.context.clock.now())
    assert (late["number_id"], late["number_shown"], late["held_until"]) == (spare["id"], spare["number"], None)
    shown = (await company.send("GET", f"/api/v1/ring_pools/{pool['id']}")).json()["ring_pool"]
    assert (shown["held_count"], shown["overflow_count"]) == (2, 1)
    assert shown["last_overflow_at"] is not None


async def test_a_pool_shows_who_holds_which_number(town: Town, company: Company) -> None:
    first, second, free = [await number_of(town, company) for _ in range(3)]
    pool = await pool_of(company, first, second, free)
    await ask(company, pool, "ann")
    bob, ann = await ask(company, pool, "bob"), await ask(company, pool, "ann")
    expected = [
        {
            "number_id": one["number_id"],
            "visitor_id": visitor,
            "impression_uuid": one["uuid"],
            "held_until": one["held_until"],
        }
        for one, visitor in ((ann, "ann"), (bob, "bob"))
    ]

    async def holds(headers: dict[str, str] | None = None, **params: str) -> Any:
        answer = await company.send("GET", f"/api/v1/ring_pools/{pool['id']}", params=params, headers=headers or {})
        return answer.json()["ring_pool"].get("holds")

    async with asyncio.timeout(WAIT_SECONDS):
        while await holds() != expected:
            await asyncio.sleep(0.02)
    assert (await holds(columns="id,holds"), await holds(columns="id")) == (expected, None)
    (listed,) = (await company.send("GET", "/api/v1/ring_pools", params={"ids": str(pool["id"])})).json()["ring_pools"]
    assert listed["holds"] == expected

    key = await company.record("keys", {"name": "blind", "scopes": ["ring_pool:read"]})
    await town.context.rules.refresh()
    hidden = {"visitor_id": None, "impression_uuid": None}
    assert await holds(basic(key["public_key"], key["private_key"])) == [{**one, **hidden} for one in expected]


async def test_the_list_shows_which_number_an_impression_got(town: Town, company: Company) -> None:
    number = await number_of(town, company)
    pool = await pool_of(company, number)
    got, none = await ask(company, pool, "ann"), await ask(company, pool, "bob")
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            rows = {row["uuid"]: row for row in (await company.send("GET", PATH)).json()["impressions"]}
            if {got["uuid"], none["uuid"]} <= rows.keys():
                break
            await asyncio.sleep(0.02)
    for one in (got, none):
        assert {name: rows[one["uuid"]][name] for name in NUMBER_FIELDS} == {name: one[name] for name in NUMBER_FIELDS}
        assert rows[one["uuid"]]["ring_pool_id"] == pool["id"]
    assert (got["number_id"], none["number_id"]) == (number["id"], None)
    lines = (await company.send("GET", f"{PATH}.csv", params={"columns": "uuid,number_id"})).text
    assert f"{got['uuid']},{number['id']}" in unquoted(lines)


async def test_fifty_visitors_at_once_share_no_number(town: Town, company: Company) -> None:
    numbers = [await number_of(town, company) for _ in range(10)]
    pool = await pool_of(company, *numbers)
    visitors = [f"visitor {place % 20}" for place in range(50)]
    answers = await asyncio.gather(*(ask(company, pool, visitor) for visitor in visitors))
    held: dict[int, set[str]] = {}
    for visitor, answer in zip(visitors, answers, strict=True):
        if answer["number_id"] is not None:
            held.setdefault(answer["number_id"], set()).add(visitor)
    assert set(held) == {one["id"] for one in numbers}
    assert all(len(holders) == 1 for holders in held.values())


async def test_a_repeat_under_its_key_gets_the_first_answer(town: Town, company: Company) -> None:
    pool = await pool_of(company, await number_of(town, company), await number_of(town, company))
    body = {"visitor_id": "ann", "ring_pool_id": pool["id"]}
    headers = {"Idempotency-Key": f"ring-pool-{pool['id']}"}
    first = await company.send("POST", PATH, json=body, headers=headers)
    second = await company.send("POST", PATH, json=body, headers=headers)
    assert (first.status_code, first.json()) == (201, second.json())


async def test_a_page_asks_with_the_public_half_of_a_key(town: Town, company: Company) -> None:
    number = await number_of(town, company)
    pool, public = await pool_of(company, number), (await key_of(company))["public_key"]
    answer = await town.client.post(
        PAGE_PATH,
        params={"publishable_key": public},
        json={"visitor_id": "ann", "ring_pool_id": pool["id"]},
        headers={"Origin": ORIGIN},
    )
    assert answer.status_code == 201, answer.text
    assert answer.json()["impressions"][0]["number_shown"] == number["number"]


async def test_pools_of_other_companies_deleted_ones_and_batches_get_no_number(
    town: Town, company: Company, other: Company
) -> None:
    pool, theirs = await pool_of(company, await number_of(town, company)), await pool_of(other)
    for given in (theirs["id"], 999_999):
        refused = await company.send("POST", PATH, json={"visitor_id": "ann", "ring_pool_id": given})
        assert (refused.status_code, refused.json()["errors"]) == (422, {"ring_pool_id": [f"names no ring pool: {given}"]})
    batch = {"impressions": [{"visitor_id": "ann", "ring_pool_id": pool["id"]}]}
    refused = await company.send("POST", PATH, json=batch)
    assert (refused.status_code, set(refused.json()["errors"])) == (422, {"impressions[0].ring_pool_id"})
    assert (await company.send("DELETE", f"/api/v1/ring_pools/{pool['id']}")).status_code == 200
    assert (await company.send("POST", PATH, json={"visitor_id": "ann", "ring_pool_id": pool["id"]})).status_code == 422
    assert (await other.send("GET", f"/api/v1/ring_pools/{pool['id']}")).status_code == 404


async def test_a_number_of_one_pool_is_refused_in_another(town: Town, company: Company, other: Company) -> None:
    number = await number_of(town, company)
    await pool_of(company, number)
    taken = await company.send("POST", "/api/v1/ring_pools", json={"name": "Shop", "number_ids": [number["id"]]})
    assert (taken.json()["code"], set(taken.json()["errors"])) == ("duplicate_value", {"number_ids[0]"})
    theirs = await other.send("POST", "/api/v1/ring_pools", json={"name": "Shop", "number_ids": [number["id"]]})
    assert (theirs.status_code, set(theirs.json()["errors"])) == (422, {"number_ids"})


async def test_where_no_number_is_decided_in_time_nothing_is_stored_and_the_sender_may_resend(
    town: Town, company: Company
) -> None:
    pool = await pool_of(company, await number_of(town, company))
    body = {"visitor_id": "ann", "ring_pool_id": pool["id"]}
    late = await company.send("POST", PATH, json=body, headers={"Prefer": "wait=0"})
    assert (late.status_code, late.json()["code"]) == (503, "events_unavailable")
    assert late.headers["retry-after"]
    assert (await ask(company, pool, "ann"))["number_id"] is not None


# -- attribution -----------------------------------------------------------------------------------------------------------


async def rings(company: Company, number: dict[str, Any], caller: str, state: str = "ringing", **fields: Any) -> Any:
    """Report an inbound call, and return the answer."""
    given = {"from": caller, "to": number["number"], "call_ref": f"pbx {caller}", "state": state, **fields}
    answer = await company.send("POST", "/api/v1/calls/received", json=given)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def attributed(company: Company, call_id: int) -> dict[str, Any]:
    """Return a call as soon as it is attributed."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            call: dict[str, Any] = (await company.send("GET", f"/api/v1/calls/{call_id}")).json()["call"]
            if call["impression_uuid"] is not None:
                return call
            await asyncio.sleep(0.02)


async def test_a_call_to_a_held_number_is_attributed_routed_and_reported(town: Town, company: Company) -> None:
    buyer = await company.record("buyers", {"name": "B", "number": "+12125550141", "filters": ["plan:gold"]})
    offer = await company.record("offers", {"name": "Solar", "buyer_ids": [buyer["id"]]})
    source = await company.record("traffic_sources", {"name": "Search"})
    town.numbers += 1
    number = await company.record("numbers", {"number": f"+1305556{town.numbers:04d}", "offer_id": offer["id"]})
    pool = await pool_of(company, number)
    about = {"traffic_source_id": source["id"], "utm_campaign": "spring", "tokens": {"plan": "gold"}}
    got = await ask(company, pool, "ann", **about)

    answer = await rings(company, number, "+13055550171")

    assert (answer["route"]["action"], answer["route"]["buyer_id"]) == ("connect", buyer["id"])
    call = await attributed(company, answer["call"]["id"])
    assert (call["impression_uuid"], call["ring_pool_id"], call["traffic_source_id"]) == (
        got["uuid"],
        pool["id"],
        source["id"],
    )
    assert {name: call["token_values"][name] for name in ("plan", "utm_campaign")} == {
        "plan": "gold",
        "utm_campaign": "spring",
    }
    lead = (await company.send("GET", f"/api/v1/leads/{call['lead_id']}")).json()["lead"]
    assert (lead["impression_uuid"], lead["traffic_source_id"]) == (got["uuid"], source["id"])
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            rows = (await company.send("GET", PATH)).json()["impressions"]
            if rows and rows[0]["uuid"] == got["uuid"]:
                break
            await asyncio.sleep(0.02)
    assert rows[0]["converted_call_id"] == call["id"]
    span = {"created_at_from": "2026-01-01", "created_at_to": "2027-01-01"}
    for category, record in (("ring_pool_id", pool), ("traffic_source_id", source)):
        report = await company.send("GET", "/api/v1/calls/reports", params={"category": category, **span})
        counts = {(row["category"], row["category_label"]): row["calls_count"] for row in report.json()["reports"]}
        assert counts == {(record["id"], record["name"]): 1}, report.text
    assert await _calls_of(company, {"ring_pool_id": str(pool["id"])}) == [call["id"]]


async def _calls_of(company: Company, query: dict[str, str]) -> list[int]:
    found = (await company.send("GET", "/api/v1/calls", params=query)).json()["calls"]
    return [call["id"] for call in found]


async def test_a_call_to_a_number_that_nobody_holds_is_not_attributed(town: Town, company: Company) -> None:
    buyer = await company.record("buyers", {"name": "B", "number": "+12125550141"})
    offer = await company.record("offers", {"name": "Solar", "buyer_ids": [buyer["id"]]})
    town.numbers += 1
    number = await company.record("numbers", {"number": f"+1305556{town.numbers:04d}", "offer_id": offer["id"]})
    pool = await pool_of(company, number)

    answer = await rings(company, number, "+13055550172")

    assert (answer["route"]["action"], answer["call"]["impression_uuid"]) == ("connect", None)
    assert answer["call"]["ring_pool_id"] == pool["id"]


async def test_a_report_names_a_ring_pool_of_the_company_alone(town: Town, company: Company, other: Company) -> None:
    number, theirs = await number_of(town, company), await pool_of(other)
    given = {"from": "+13055550173", "to": number["number"], "call_ref": "x", "state": "ringing"}
    refused = await company.send("POST", "/api/v1/calls/received", json={**given, "ring_pool_id": theirs["id"]})
    assert (refused.status_code, set(refused.json()["errors"])) == (422, {"ring_pool_id"})
