"""Does a lead with a veto hook wait for its answer, and does the API say so? From the subscription to `why`."""

import json
from typing import Any

import pytest

from tests.adapters.http.conftest import DAYTIME_ZONE, Company, Town

pytestmark = pytest.mark.asyncio(loop_scope="session")

CALL = {"id": "call", "kind": "call"}


async def test_a_lead_waits_while_its_hook_is_asked_and_no_call_goes_out(town: Town, company: Company) -> None:
    fields: dict[str, Any] = {"name": "Check", "url": "https://crm.example.com/x", "events": ["before_call"]}
    hook = await company.record("subscriptions", fields)
    assert (hook["on_error"], hook["timeout_seconds"]) == ("deny", 2)
    schedule = await company.record("schedules", {"name": "S", "steps": [CALL]})
    town.numbers += 1
    given = {"lead_token": schedule["lead_token"], "caller_id": f"+1917555{town.numbers:04d}", "time_zone": DAYTIME_ZONE}
    lead = (await company.send("POST", "/api/v1/leads", json=given)).json()["lead"]
    assert (lead["status"], lead["status_wait"], lead["outbound_calls_count"]) == ("running", "veto_asked", 0)
    assert lead["human_status"] == "Running: another system is asked whether it may go on"
    assert (await company.send("GET", "/api/v1/calls", params={"lead_id": str(lead["id"])})).json()["calls"] == []
    why = await company.send("GET", f"/api/v1/leads/{lead['id']}/why")
    assert "is asked by its subscription" in why.text, why.text


async def test_what_is_said_of_hooks_without_one_is_refused_by_name(company: Company) -> None:
    fields = {"name": "CRM", "url": "https://crm.example.com/x", "events": ["lead_ended"], "on_error": "allow"}
    answer = await company.send("POST", "/api/v1/subscriptions", json=fields)
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["on_error"])


async def test_a_lead_waits_while_a_suppression_list_is_looked_up(town: Town, company: Company) -> None:
    listed = await company.record("suppression_lists", {"name": "Registry"})
    fields: dict[str, Any] = {"name": "Registry", "url": "https://dnc.example.com/x", "events": ["suppression_lookup"]}
    lookup = await company.record("subscriptions", {**fields, "suppression_list_id": listed["id"]})
    assert lookup["suppression_list_id"] == listed["id"]
    steps = {"name": "S", "steps": [CALL], "suppression_list_ids": [listed["id"]]}
    schedule = await company.record("schedules", steps)
    town.numbers += 1
    given = {"lead_token": schedule["lead_token"], "caller_id": f"+1917555{town.numbers:04d}", "time_zone": DAYTIME_ZONE}
    lead = (await company.send("POST", "/api/v1/leads", json=given)).json()["lead"]
    assert (lead["status"], lead["status_wait"], lead["outbound_calls_count"]) == ("running", "veto_asked", 0)
    events = (await company.send("GET", f"/api/v1/leads/{lead['id']}/events")).json()
    assert f'"suppression_list_id": {listed["id"]}' in json.dumps(events)


async def test_a_lookup_names_a_list_of_its_own_company(company: Company, other: Company) -> None:
    theirs = await other.record("suppression_lists", {"name": "Theirs"})
    fields = {"name": "Registry", "url": "https://dnc.example.com/x", "events": ["suppression_lookup"]}
    answer = await company.send("POST", "/api/v1/subscriptions", json={**fields, "suppression_list_id": theirs["id"]})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["suppression_list_id"])
