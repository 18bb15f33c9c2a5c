"""How is a webhook fired by hand? For a lead or a call of one's own company; it is listed with what came of it."""

from typing import Any

import pytest

from tests.adapters.http.conftest import Company, Town, unquoted

PATH = "/api/v1/webhook_manual_fires"

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def webhook(company: Company, name: str = "CRM", **fields: Any) -> int:
    made = await company.record("outgoing_webhooks", {"name": name, "url": "https://crm.example.com/x", **fields})
    return int(made["id"])


async def lead_of(town: Town, company: Company) -> int:
    town.numbers += 1
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": f"+1917555{town.numbers:04d}"}
    return int((await company.send("POST", "/api/v1/leads", json=fields)).json()["lead"]["id"])


async def converted(company: Company, lead_id: int, *, side: str = "buyer", then: bool = True) -> int:
    """Let a lead convert, and take that back unless `then`; return the id of its conversion."""
    for value in dict.fromkeys((True, then)):
        answer = await company.send("PUT", f"/api/v1/leads/{lead_id}", json={f"{side}_converted": value})
        assert answer.status_code == 200, answer.text
    listed = await company.send("GET", f"/api/v1/{side}_conversions", params={"lead_id": str(lead_id)})
    (found,) = listed.json()[f"{side}_conversions"]
    assert found["taken_back"] is not then
    return int(found["id"])


async def fired(company: Company, **fields: Any) -> dict[str, Any]:
    answer = await company.send("POST", PATH, json=fields)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()["webhook_manual_fire"]
    return found


async def test_a_webhook_is_fired_for_a_lead_and_shown_with_the_moments_of_its_sender(town: Town, company: Company) -> None:
    webhook_id, lead_id = await webhook(company), await lead_of(town, company)
    moments = {"created_at": "2020-01-02 03:04:05 +0000", "updated_at": "2020-01-03T00:00:00Z"}
    made = await fired(company, outgoing_webhook_id=webhook_id, lead_id=lead_id, **moments)
    assert (made["outgoing_webhook_id"], made["lead_id"], made["call_id"]) == (webhook_id, lead_id, None)
    assert (made["created_at"], made["updated_at"]) == ("2020-01-02T03:04:05Z", "2020-01-03T00:00:00Z")
    assert made["fired_at"] > "2026"
    assert made["outcome"] is None
    assert (made["type"], made["company_id"], made["name"]) == ("WebhookManualFire", company.id, "CRM")
    assert (made["user_updated_at"], made["routes_show_path"]) == (made["fired_at"], f"{PATH}/{made['id']}")
    for reference in (made["id"], made["uuid"]):
        shown = await company.send("GET", f"{PATH}/{reference}")
        assert shown.json()["webhook_manual_fire"] == made, shown.text
    bare = await company.send("GET", f"{PATH}/{made['id']}", params={"root": "false"})
    assert bare.json() == made


async def test_a_webhook_is_fired_for_a_call(town: Town, company: Company) -> None:
    webhook_id, lead_id = await webhook(company), await lead_of(town, company)
    call = (await company.send("POST", "/api/v1/schedules/make_call", json={"lead_id": lead_id})).json()["call"]
    made = await fired(company, outgoing_webhook_id=webhook_id, call_id=call["uuid"])
    assert (made["call_id"], made["lead_id"]) == (call["id"], lead_id)
    both = await fired(company, outgoing_webhook_id=webhook_id, call_id=call["id"], lead_id=lead_id)
    assert (both["call_id"], both["lead_id"]) == (call["id"], lead_id)


async def test_a_webhook_is_fired_for_a_conversion_alone_or_with_its_lead(town: Town, company: Company) -> None:
    webhook_id, lead_id = await webhook(company), await lead_of(town, company)
    conversion_id = await converted(company, lead_id)
    for more in ({}, {"lead_id": lead_id}):
        made = await fired(company, outgoing_webhook_id=webhook_id, buyer_conversion_id=conversion_id, **more)
        assert (made["buyer_conversion_id"], made["lead_id"], made["call_id"]) == (conversion_id, lead_id, None)
        assert made["offer_conversion_id"] is None


async def test_every_parameter_of_the_list_takes_effect(town: Town, company: Company) -> None:
    crm, other = await webhook(company), await webhook(company, "Dialer")
    lead_id = await lead_of(town, company)
    made = [
        await fired(company, outgoing_webhook_id=target, lead_id=lead_id, created_at=f"2020-01-0{day} 12:00:00 +0000")
        for day, target in ((1, crm), (2, other), (3, crm))
    ]
    ids = [one["id"] for one in made]
    for query, expected in [
        ({}, ids[::-1]),
        ({"page": "2", "per_page": "2"}, ids[:1]),
        ({"ids": f"{ids[0]},{ids[2]}"}, [ids[2], ids[0]]),
        ({"created_at_from": "2020-01-02 00:00:00", "time_zone": "UTC"}, ids[:0:-1]),
        ({"created_at_to": "2020-01-02 12:00:00 +0000"}, ids[:1]),
        ({"created_at_from": "2020-01-02 23:30:00", "time_zone": "Pacific/Honolulu"}, ids[2:]),
        ({"fulltext": "dial"}, [ids[1]]),
        ({"cursor": str(ids[2])}, ids[1::-1]),
    ]:
        answer = await company.send("GET", PATH, params={**query, "columns": "id"})
        assert [one["id"] for one in answer.json()["webhook_manual_fires"]] == expected, (query, answer.text)
        assert all(list(one) == ["id"] for one in answer.json()["webhook_manual_fires"])
    bare = await company.send("GET", PATH, params={"root": "0"})
    assert [one["id"] for one in bare.json()] == ids[::-1]
    table = await company.send("GET", f"{PATH}.csv", params={"columns": "id,lead_id"})
    assert unquoted(table.text).splitlines() == ["id,lead_id", *(f"{one},{lead_id}" for one in ids[::-1])]


async def test_a_built_firing_has_what_is_given_and_fires_nothing(town: Town, company: Company) -> None:
    lead_id = await lead_of(town, company)
    call = (await company.send("POST", "/api/v1/schedules/make_call", json={"lead_id": lead_id})).json()["call"]
    query = {
        "lead_id": str(lead_id),
        "call_id": str(call["id"]),
        "created_at": "2020-01-02 03:04:05 +0000",
        "updated_at": "",
    }
    answer = await company.send("GET", f"{PATH}/new", params=query)
    assert answer.status_code == 200, answer.text
    built = answer.json()["webhook_manual_fire"]
    assert {name: value for name, value in built.items() if value is not None} == {
        "lead_id": lead_id,
        "call_id": call["id"],
        "created_at": "2020-01-02T03:04:05Z",
        "webhook_log_ids": [],
        "type": "WebhookManualFire",
        "company_id": company.id,
    }
    assert (await company.send("GET", PATH)).json()["webhook_manual_fires"] == []


async def test_what_cannot_be_fired_is_refused_with_its_field(town: Town, company: Company, other: Company) -> None:
    webhook_id, lead_id = await webhook(company), await lead_of(town, company)
    paused, theirs = await webhook(company, "Paused", paused=True), await webhook(other)
    foreign = await lead_of(town, other)
    their_conversion = await converted(other, foreign)
    taken_back, held = await lead_of(town, company), await converted(company, await lead_of(town, company))
    taken_back = await converted(company, taken_back, then=False)
    paid = await converted(company, await lead_of(town, company), side="offer")
    for fields, bad in [
        ({"lead_id": lead_id}, {"outgoing_webhook_id"}),
        ({"outgoing_webhook_id": webhook_id}, {"lead_id"}),
        ({"outgoing_webhook_id": paused, "lead_id": lead_id}, {"outgoing_webhook_id"}),
        ({"outgoing_webhook_id": theirs, "lead_id": lead_id}, {"outgoing_webhook_id"}),
        ({"outgoing_webhook_id": webhook_id, "lead_id": foreign}, {"lead_id"}),
        ({"outgoing_webhook_id": webhook_id, "call_id": 4711}, {"call_id"}),
        ({"outgoing_webhook_id": webhook_id, "lead_id": lead_id, "created_at": "noon"}, {"created_at"}),
        ({"outgoing_webhook_id": webhook_id, "lead_id": lead_id, "buyer_conversion_id": 1}, {"buyer_conversion_id"}),
        ({"outgoing_webhook_id": webhook_id, "lead_id": lead_id, "offer_conversion_id": "x"}, {"offer_conversion_id"}),
        ({"outgoing_webhook_id": webhook_id, "buyer_conversion_id": their_conversion}, {"buyer_conversion_id"}),
        ({"outgoing_webhook_id": webhook_id, "buyer_conversion_id": taken_back}, {"buyer_conversion_id"}),
        ({"outgoing_webhook_id": webhook_id, "lead_id": lead_id, "buyer_conversion_id": held}, {"buyer_conversion_id"}),
        ({"outgoing_webhook_id": webhook_id, "offer_conversion_id": held}, {"offer_conversion_id"}),
        (
            {"outgoing_webhook_id": webhook_id, "buyer_conversion_id": held, "offer_conversion_id": paid},
            {"buyer_conversion_id", "offer_conversion_id"},
        ),
    ]:
        answer = await company.send("POST", PATH, json=fields)
        assert (answer.status_code in {400, 422}, set(answer.json()["errors"])) == (True, bad), (fields, answer.text)
    assert (await company.send("GET", PATH)).json()["webhook_manual_fires"] == []


async def test_a_firing_of_another_company_is_unknown(town: Town, company: Company, other: Company) -> None:
    made = await fired(other, outgoing_webhook_id=await webhook(other), lead_id=await lead_of(town, other))
    for reference in (made["id"], made["uuid"]):
        assert (await company.send("GET", f"{PATH}/{reference}")).status_code == 404
    assert (await company.send("GET", PATH)).json()["webhook_manual_fires"] == []
