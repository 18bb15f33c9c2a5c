"""Does a step call for an agent who is available, from HTTP to a carrier and back, and wait where none is?"""

import asyncio
from typing import Any

import pytest

from tests.adapters.http.conftest import DAYTIME_ZONE, WAIT_SECONDS
from tests.adapters.http.test_agents import SET, agent, shown_status, status
from tests.adapters.http.test_inbound_routing import report
from tests.adapters.http.test_simultaneous import OURS, PERSON, carried, ended_call
from tests.adapters.http.test_teams import ADA, person, team

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def lead_of(company: Any, schedule: dict[str, Any]) -> int:
    given = {"lead_token": schedule["lead_token"], "caller_id": PERSON, "time_zone": DAYTIME_ZONE}
    answer = await company.send("POST", "/api/v1/leads", json=given)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["lead"]["id"])


async def becomes(company: Any, agent_id: int, key: str) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while (await shown_status(company, agent_id))[0] != key:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("number", ["+12125550140", None])
async def test_a_lead_waits_for_an_agent_who_then_speaks_to_it_and_wraps_up(
    town: Any, company: Any, number: str | None
) -> None:
    center = (await company.record("call_centers", {"name": "Tampa"}))["id"]
    ada = await agent(company, call_center_id=center, number=number)
    assert (await company.send("GET", f"/api/v1/agents/{ada}")).json()["agent"]["number"] == number
    available = await status(company)
    await company.record("numbers", {"number": OURS})
    steps = [{"id": "call", "kind": "call", "connect": {"agents": {"call_center_ids": [center]}}}]
    schedule = await company.schedule(steps=steps)
    assert schedule["steps"][0]["connect"]["agents"] == {"agent_ids": [], "call_center_ids": [center]}
    begun = (await company.send("GET", f"/api/v1/agents/{ada}/events")).json()["last_event_id"]
    async with carried(town):
        lead_id = await lead_of(company, schedule)
        lead = (await company.send("GET", f"/api/v1/leads/{lead_id}")).json()["lead"]
        assert (lead["status"], lead["status_wait"]) == ("waiting", "concurrency_cap")
        assert (await company.send("GET", "/api/v1/calls")).json()["calls"] == []
        set_free = {"collaborator_id": ada, "agent_status_id": available, "agent_widget_id": 7}
        assert (await company.send("POST", SET, json=set_free)).status_code == 200
        call = await ended_call(company, lead_id)
        await becomes(company, ada, "wrap_up")

    assert (call["outcome"], call["agent_id"], call["buyer_id"]) == ("connected_human", ada, None)
    events = (await company.send("GET", f"/api/v1/agents/{ada}/events", params={"last_event_id": begun})).json()
    statuses = [event["data"] for event in events["agent_events"] if event["event"] == "agent_status"]
    assert [data["key"] for data in statuses] == ["available", "on_call", "wrap_up"]
    assert [data.get("lead_id") for data in statuses] == [None, lead_id, lead_id]
    assert {data["agent_widget_id"] for data in statuses} == {7}


async def test_reports_count_calls_and_leads_by_the_call_center_of_their_agent(company: Any, other: Any) -> None:
    tampa = (await company.record("call_centers", {"name": "Tampa"}))["id"]
    ada, nobody, theirs = await agent(company, call_center_id=tampa), await agent(company), await agent(other)
    schedule = await company.schedule()
    lead_id = await lead_of(company, schedule)
    number = (await company.record("numbers", {"number": OURS}))["number"]
    for place, agent_id in enumerate((theirs, nobody, None, ada, ada)):
        given = {"from": PERSON, "to": number, "call_ref": f"center-{place}", "state": "ended", "provider": "our pbx"}
        stated = given if agent_id is None else {**given, "agent_id": agent_id}
        answer = await company.send("POST", "/api/v1/calls/received", json=stated)
        assert answer.is_success, answer.text
    for path, name in (("/api/v1/calls/reports", "calls_count"), ("/api/v1/leads/reports", "leads_count")):
        answer = await company.send("GET", path, params={"category": "call_center_id"})
        rows = {row["category"]: (row["category_label"], row[name]) for row in answer.json()["reports"]}
        assert rows[tampa] == ("Tampa", 2 if name == "calls_count" else 1), rows
        assert name != "calls_count" or rows[None][1] == 3
    stats = await company.send(
        "GET",
        "/api/v1/calls/stats",
        params={
            "group_by": "call_center_id",
            "stat": "count",
            "created_at_from": "2026-01-01 00:00:00 +0000",
            "created_at_to": "2027-01-01 00:00:00 +0000",
        },
    )
    assert {row["key"]: row["value"] for row in stats.json()["stats"]} == {tampa: 2, None: 3}
    # An agent who moves takes the calls along: no sum of before is shown.
    orlando = (await company.record("call_centers", {"name": "Orlando"}))["id"]
    assert (await company.send("PUT", f"/api/v1/agents/{ada}", json={"call_center_id": orlando})).status_code == 200
    moved = await company.send("GET", "/api/v1/calls/reports", params={"category": "call_center_id"})
    assert {row["category_label"] for row in moved.json()["reports"]} == {"Orlando", "(none)"}
    assert lead_id


async def test_who_is_named_by_a_step_must_be_an_agent_or_call_center_of_the_company(company: Any, other: Any) -> None:
    ada, theirs = await agent(company), await agent(other)
    center = (await other.record("call_centers", {"name": "Theirs"}))["id"]
    buyer = (await company.record("buyers", {"name": "B", "number": "+12125550140"}))["id"]
    wrong: tuple[dict[str, Any], ...] = (
        {"agents": {}},
        {"agents": {"agent_ids": [theirs]}},
        {"agents": {"agent_ids": [ada], "call_center_ids": [center]}},
        {"agents": {"agent_ids": [ada] * 51}},
        {"agents": {"agent_ids": [ada]}, "buyer_ids": [buyer]},
        {"agents": {"agent_ids": "x"}},
        {"agents": {"unknown": 1}},
    )
    for connect in wrong:
        steps = [{"id": "call", "kind": "call", "connect": connect}]
        refused = await company.send("POST", "/api/v1/schedules", json={"name": "S", "steps": steps})
        assert refused.status_code == 422, connect
        assert any("connect" in name for name in refused.json()["errors"]), refused.text


async def test_an_agent_whom_a_schedule_names_is_not_deleted(company: Any) -> None:
    ada = await agent(company)
    await company.schedule(steps=[{"id": "call", "kind": "call", "connect": {"agents": {"agent_ids": [ada]}}}])
    refused = await company.send("DELETE", f"/api/v1/agents/{ada}")
    assert (refused.status_code, refused.json()["code"]) == (409, "record_in_use")


async def test_an_inbound_call_takes_an_agent_of_its_offer_and_goes_elsewhere_where_none_is_there(
    company: Any, other: Any
) -> None:
    center = (await company.record("call_centers", {"name": "Tampa"}))["id"]
    ada = await agent(company, call_center_id=center, number="+12125550140")
    offer = await company.record("offers", {"name": "Solar", "call_center_ids": [center], "no_buyer_action": "hang_up"})
    assert (offer["call_center_ids"], offer["agent_ids"]) == ([center], [])
    await company.record("numbers", {"number": OURS, "offer_id": offer["id"]})

    away = (await report(company, 1))["route"]
    assert (away["action"], away["reason"], away["agent_id"]) == ("hang_up", "concurrency_cap", None)
    free = {"collaborator_id": ada, "agent_status_id": await status(company)}
    assert (await company.send("POST", SET, json=free)).status_code == 200
    found = await report(company, 2)
    route = found["route"]
    assert (route["action"], route["agent_id"], route["buyer_number"]) == ("connect", ada, "+12125550140")
    assert found["call"]["agent_id"] == ada
    await becomes(company, ada, "on_call")
    assert (await report(company, 2, unanswered_agent_id=ada))["route"]["action"] == "hang_up"
    await becomes(company, ada, "available")
    assert (await report(company, 3))["route"]["agent_id"] == ada
    await report(company, 3, "connected", agent_id=ada)
    ended = (await report(company, 3, "ended", talk_seconds=9))["call"]
    assert (ended["outcome"], ended["agent_id"], ended["buyer_id"]) == ("connected_human", ada, None)
    await becomes(company, ada, "wrap_up")

    buyer = (await company.record("buyers", {"name": "Ann", "number": "+12125550160"}))["id"]
    for fields in ({"buyer_ids": [buyer]}, {"agent_ids": [await agent(other)]}):
        refused = await company.send("PUT", f"/api/v1/offers/{offer['id']}", json=fields)
        assert (refused.status_code, list(refused.json()["errors"])) == (422, list(fields))
    gone = await company.send("DELETE", f"/api/v1/call_centers/{center}")
    assert (gone.status_code, gone.json()["code"]) == (409, "record_in_use")


async def test_a_call_that_an_agent_starts_by_hand_is_that_agents(town: Any, company: Any) -> None:
    ada_id, available = await agent(company, user_email=ADA, number="+12125550140"), await status(company)
    await team(company, permissions={"call": {"actions": ["start", "read"]}, "lead": {"actions": ["read"]}})
    ada = await person(town, company)
    await company.send("POST", SET, json={"collaborator_id": ada_id, "agent_status_id": available, "agent_widget_id": 7})
    await company.record("numbers", {"number": OURS})
    schedule = await company.schedule(steps=[{"id": "rest", "kind": "wait", "duration": "1d"}])
    lead_id = await lead_of(company, schedule)
    async with carried(town):
        started = await ada.send("POST", "/api/v1/calls", json={"from": OURS, "to": PERSON, "lead_id": lead_id})
        assert (started.status_code, started.json()["call"]["agent_id"]) == (201, ada_id)
        call = await ended_call(company, lead_id)
        await becomes(company, ada_id, "wrap_up")
    assert (call["outcome"], call["agent_id"], call["origin"]) == ("connected_human", ada_id, "api")
    log = (await company.send("GET", "/api/v1/agent_status_timestamps")).json()["agent_status_timestamps"]
    mine = [row for row in reversed(log) if row["collaborator_id"] == ada_id]
    assert [row["key"] for row in mine] == ["available", "on_call", "wrap_up"]
    assert {row["agent_widget_id"] for row in mine} == {7}
