"""Does a company see what was decided of its leads, with decisions and closed hours, and nobody else?"""

from typing import Any

import msgspec
import pytest

from schemas.decisions import Decision
from schemas.topics import CONTACTS_DECISIONS
from tests.adapters.http.test_hidden_fields import hidden, hiding

pytestmark = pytest.mark.asyncio(loop_scope="session")

NUMBER = "+12125550123"
WAIT = {"id": "pause", "kind": "wait", "duration": "2h"}
CALL = {"id": "call-1", "kind": "call"}
SATURDAYS = {"call": [{"days": ["sat"], "open": "12:00", "close": "13:00"}]}


async def submitted(company: Any, *steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    schedule = await company.schedule(steps=list(steps) or [WAIT, CALL], **fields)
    lead = {"lead_token": schedule["lead_token"], "caller_id": NUMBER, "time_zone": "America/New_York"}
    answer = await company.send("POST", "/api/v1/leads", json=lead)
    assert answer.status_code < 300, answer.text
    found: dict[str, Any] = answer.json()["lead"]
    return found


async def events_of(company: Any, reference: Any, **query: Any) -> dict[str, Any]:
    answer = await company.send("GET", f"/api/v1/leads/{reference}/events", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["lead"]
    return found


async def test_events_are_in_order_and_name_their_decision(company: Any) -> None:
    lead = await submitted(company)

    found = await events_of(company, lead["id"])

    kinds = [event["event"] for event in found["events"]]
    assert kinds[:2] == ["lead.submitted", "lead.created"]
    assert "lead.scheduled" in kinds
    sequences = [event["sequence"] for event in found["events"]]
    assert sequences == sorted(sequences)
    assert {event["topic"] for event in found["events"]} == {CONTACTS_DECISIONS.name}
    assert len({event["id"] for event in found["events"]}) == len(kinds)
    assert (found["uuid"], found["time_zone"], found["has_earlier"]) == (lead["uuid"], "America/New_York", False)


async def test_each_event_has_the_hash_of_its_decision_as_the_next_one_repeats_it(town: Any, company: Any) -> None:
    lead = await submitted(company)
    of_sequence = {event["sequence"]: event["digest"] for event in (await events_of(company, lead["id"]))["events"]}
    (partition,) = {event["partition"] for event in (await events_of(company, lead["id"]))["events"]}
    await submitted(company)  # of the same person: a decision after the last one of the lead

    reader = await town.context.log.reader(CONTACTS_DECISIONS.name, [partition])
    records = await reader.poll(limit=10_000, timeout_seconds=1)
    decisions = [msgspec.json.decode(record.value, type=Decision) for record in records]

    assert {one.sequence - 1: one.prev for one in decisions if one.sequence - 1 in of_sequence} == of_sequence


async def test_closed_hours_are_those_of_the_law_and_of_the_schedule(company: Any) -> None:
    plain = await events_of(company, (await submitted(company))["id"])
    assert {one["by"] for one in plain["closed_hours"]} == {"law"}
    assert {one["channel"] for one in plain["closed_hours"]} == {"call", "sms"}

    lead = await submitted(company, CALL, windows=SATURDAYS)
    closed = (await events_of(company, lead["id"]))["closed_hours"]
    assert {one["channel"] for one in closed if one["by"] == "schedule"} == {"call"}
    assert all(one["from"] < one["to"] for one in closed)


async def test_a_plan_that_a_law_moved_names_its_row_and_source(company: Any) -> None:
    lead = await submitted(company, {"id": "night", "kind": "wait", "until": {"time": "03:00"}}, CALL)

    found = await events_of(company, lead["id"])

    rules = [rule for event in found["events"] for rule in event["rules"]]
    assert rules
    assert all(rule["source_url"].startswith("https://") for rule in rules)


async def test_fewer_events_are_the_newest(company: Any) -> None:
    lead = await submitted(company)
    everything = (await events_of(company, lead["id"]))["events"]

    newest = await events_of(company, lead["id"], limit=1)

    assert newest["has_earlier"] is True
    assert newest["events"] == everything[-1:]


@pytest.mark.parametrize("query", [{"limit": "0"}, {"limit": "1001"}, {"limit": "many"}, {"limits": "1"}])
async def test_a_bad_parameter_is_refused_by_name(company: Any, query: dict[str, str]) -> None:
    lead = await submitted(company)
    answer = await company.send("GET", f"/api/v1/leads/{lead['id']}/events", params=query)
    assert answer.status_code == 422
    assert list(answer.json()["errors"]) == list(query)


async def test_a_deleted_lead_still_has_its_events(company: Any) -> None:
    lead = await submitted(company)
    assert (await company.send("DELETE", f"/api/v1/leads/{lead['id']}/id")).status_code == 200
    assert (await events_of(company, lead["uuid"]))["events"][-1]["event"] == "lead.deleted"


async def test_leads_of_another_company_are_not_found(company: Any, other: Any) -> None:
    lead = await submitted(company)
    for reference in (lead["id"], lead["uuid"]):
        assert (await other.send("GET", f"/api/v1/leads/{reference}/events")).status_code == 404


async def test_who_does_not_see_whole_leads_gets_events_without_what_they_recorded(town: Any, company: Any) -> None:
    lead = await submitted(company)
    ada = await hiding(town, company, {"lead": hidden("caller_id", "time_zone")})

    answer = await ada.get(f"/api/v1/leads/{lead['id']}/events")

    assert answer.status_code == 200, answer.text
    found = answer.json()["lead"]
    assert found["events"]
    assert all((event["data"], event["rules"]) == ({}, []) for event in found["events"])
    assert found["closed_hours"] == []
    assert "New_York" not in answer.text
