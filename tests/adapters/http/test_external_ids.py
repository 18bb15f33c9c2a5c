"""May records of every type carry the id that they have in the company's own system, and one of a type only?"""

from typing import Any

import pytest

from tests.adapters.http.conftest import STEPS

pytestmark = pytest.mark.asyncio(loop_scope="session")

MADE_WITH: dict[str, dict[str, Any]] = {
    "offers": {"name": "Roofs"},
    "schedules": {"name": "Solar", "steps": STEPS},
    "buyer_fleets": {"name": "VIP", "user_fleet_id": "vip"},
    "outgoing_webhooks": {"name": "CRM", "url": "https://crm.example/in"},
    "call_dispositions": {"name": "Sold"},
    "action_groups": {"name": "Two", "steps": STEPS},
    "rule_packs": {"name": "Ours"},
    "traffic_sources": {"name": "Portal"},
}


@pytest.mark.parametrize("collection", MADE_WITH)
async def test_an_external_record_id_is_kept_shown_and_refused_for_a_second_record(
    company: Any, other: Any, collection: str
) -> None:
    fields = {**MADE_WITH[collection], "external_record_id": "crm-7"}
    made = await company.record(collection, fields)

    path = f"/api/v1/{collection}/{made['id']}"
    root = (await company.send("GET", path)).json()["metadata"]["root"]
    assert (await company.send("GET", path)).json()[root]["external_record_id"] == "crm-7"
    own = {**fields, "user_fleet_id": "gold"} if collection == "buyer_fleets" else fields
    second = await company.send("POST", f"/api/v1/{collection}", json=own)
    assert (second.status_code, second.json()["code"]) == (409, "duplicate_value")
    assert list(second.json()["errors"]) == ["external_record_id"]
    assert (await other.record(collection, fields))["external_record_id"] == "crm-7"
    emptied = await company.send("PUT", path, json={"external_record_id": None})
    assert emptied.json()[root]["external_record_id"] is None
    assert (await company.record(collection, own))["external_record_id"] == "crm-7"


async def test_an_external_record_id_says_nothing_of_companies_and_keys(company: Any) -> None:
    answer = await company.send("PUT", "/api/v1/company", json={"external_record_id": "crm-7"})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["external_record_id"])
