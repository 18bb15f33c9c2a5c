"""Can a call be started by both paths, and does every guard say no over HTTP?"""

import asyncio
from typing import Any

import pytest

from schemas.requests import OutcomeRecorded
from tests.adapters.http.conftest import DAYTIME_ZONE, WAIT_SECONDS, WEEK, Company, Town, basic

pytestmark = pytest.mark.asyncio(loop_scope="session")

OURS = "+12125550150"
NUMBER = "+12125550123"
"""Of an area whose state has no calling rules of its own; the zone is stated, so that it is daytime there."""

STEPS = [{"id": "rest", "kind": "wait", "duration": "1d"}, {"id": "call", "kind": "call"}]


async def _lead(company: Company, number: str = NUMBER, **fields: Any) -> dict[str, Any]:
    schedule = await company.schedule(steps=STEPS, **fields)
    given = {"lead_token": schedule["lead_token"], "caller_id": number, "time_zone": DAYTIME_ZONE, "data": {"a": 1}}
    answer = await company.send("POST", "/api/v1/leads", json=given)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = {**answer.json()["lead"], "lead_token": schedule["lead_token"]}
    return found


async def _own_number(company: Company) -> None:
    """Give the company the number that it calls from, where it has not got it."""
    answer = await company.send("POST", "/api/v1/numbers", json={"number": OURS})
    assert answer.status_code in {201, 409}, answer.text


async def _start(company: Company, **fields: Any) -> Any:
    await _own_number(company)
    return await company.send("POST", "/api/v1/calls", json={"from": OURS, "to": NUMBER, **fields})


async def _report_outcome(town: Town, company: Company, call: dict[str, Any], outcome: str) -> dict[str, Any]:
    """Report what came of a call as a gateway does; return the call as it is then."""
    row = await town.pool.fetchrow("SELECT command_id, contact_key FROM read.calls WHERE id = $1", call["id"])
    message = OutcomeRecorded(
        company_id=company.id, contact_key=row["contact_key"], lead_id=call["lead_id"], command_id=row["command_id"],
        kind="call", outcome=outcome, occurred_at=town.context.clock.now(), call_id=call["id"],
    )  # fmt: skip
    await town.requests.submit(
        "contacts.requests", message.contact_key, message, request_id=f"outcome-{call['id']}", company_id=company.id
    )
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            shown: dict[str, Any] = (await company.send("GET", f"/api/v1/calls/{call['id']}")).json()["call"]
            if shown["outcome"] is not None:
                return shown
            await asyncio.sleep(0.02)


async def test_a_call_is_started_for_a_lead_and_is_initiated(town: Any, company: Any) -> None:
    lead = await _lead(company)
    answer = await _start(company, lead_id=lead["id"], serializer="call")
    assert answer.status_code == 201, answer.text
    call = answer.json()["call"]
    assert (call["status"], call["origin"], call["direction"], call["lead_id"]) == (
        "initiated",
        "api",
        "outbound",
        lead["id"],
    )
    assert (call["from_number"], call["number_called"], call["token_values"]) == (OURS, NUMBER, {"a": 1})
    keys = await company.send(
        "POST", "/api/v1/calls/send_key_press", json={"id": call["uuid"], "digits": "1#", "data": {"k": 1}}
    )
    assert (keys.status_code, keys.json()["call"]["token_values"]) == (200, {"a": 1, "k": 1})
    over = await _report_outcome(town, company, call, "busy")
    assert (over["status"], over["in_progress"], over["hangup_cause"]) == ("busy", False, "busy")
    events = (await company.send("GET", f"/api/v1/calls/{call['id']}/events")).json()["call"]["events"]
    assert [(event["type"], event["event"]) for event in events] == [
        ("ScheduleDecision", "command.emitted"),
        ("AuditLog", "call.keys_pressed"),
        ("Leg", "call.ended"),
        ("ProviderLog", "outcome.recorded"),
    ]


async def test_the_lead_is_made_where_the_number_has_none(company: Any) -> None:
    schedule = await company.schedule(steps=STEPS)
    offer = await company.record("offers", {"name": "Solar"})
    # The hours of a number that nothing else is known of are those of its own zone, and it may be night there.
    for place, (fields, schedule_id, offer_id) in enumerate(
        [
            ({"schedule_id": schedule["id"]}, schedule["id"], None),
            ({"offer_id": offer["id"]}, None, offer["id"]),
            ({}, None, None),
        ]
    ):
        number = f"+121255501{40 + place}"
        answer = await _start(company, to=number, **fields)
        if answer.status_code == 422:
            assert answer.json()["code"] == "quiet_hours"
            continue
        call = answer.json()["call"]
        assert (call["schedule_id"], call["offer_id"]) == (schedule_id, offer_id)
        lead = (await company.send("GET", f"/api/v1/leads/{call['lead_id']}")).json()["lead"]
        assert (lead["caller_id"], lead["schedule_id"], lead["country"]) == (number, schedule_id, "US")


async def test_the_other_path_dials_a_lead_by_id_by_token_and_by_schedule(company: Any) -> None:
    lead = await _lead(company)
    await _own_number(company)
    call: dict[str, Any] = {}
    for fields in (
        {"lead_id": lead["uuid"]},
        {"lead_token": lead["lead_token"], "to": NUMBER},
        {"schedule_id": lead["schedule_id"], "to": "(212) 555-0123", "from": OURS},
    ):
        if call:
            again = await company.send("POST", "/api/v1/schedules/make_call", json=fields)
            assert (again.status_code, again.json()["code"]) == (429, "number_recently_dialed")
            assert 1 <= int(again.headers["retry-after"]) <= 30
            continue
        answer = await company.send("POST", "/api/v1/schedules/make_call", json=fields)
        assert answer.status_code == 201, answer.text
        call = answer.json()["call"]
        assert (call["lead_id"], call["origin"]) == (lead["id"], "api")


async def test_the_guards_say_no_in_their_order(town: Any, company: Any) -> None:
    lead = await _lead(company)
    started = await _start(company, lead_id=lead["id"])
    recent = await _start(company, lead_id=lead["id"])
    assert (recent.status_code, recent.json()["code"], recent.json()["retryable"]) == (429, "number_recently_dialed", True)
    await company.send("PUT", f"/api/v1/leads/{lead['id']}", json={"opt_out": True})
    out = await _start(company, lead_id=lead["id"])
    assert (out.status_code, out.json()["code"], out.json()["reason"]) == (422, "suppressed_contact", "opt_out")
    await company.send("PUT", f"/api/v1/schedules/{lead['schedule_id']}", json={"paused": True})
    await town.context.rules.refresh()
    paused = await _start(company, lead_id=lead["id"])
    assert (paused.status_code, paused.json()["code"]) == (422, "schedule_inactive")
    assert started.status_code == 201


async def test_hours_that_a_schedule_prefers_are_reported_and_give_way_to_force(town: Any, company: Any) -> None:
    windows = {"call": [{"days": WEEK, "open": "08:01", "close": "08:02"}]}
    lead = await _lead(company, windows=windows)
    refused = await _start(company, lead_id=lead["id"])
    assert (refused.status_code, refused.json()["code"]) == (422, "outside_hours")
    assert refused.json()["next_allowed_at"].endswith("Z")
    fields = {"name": "narrow", "scopes": ["call:start", "call:read"]}
    key = await company.record("keys", fields)
    narrow = await town.client.post(
        "/api/v1/calls",
        json={"from": OURS, "to": NUMBER, "lead_id": lead["id"], "force": True},
        headers=basic(key["public_key"], key["private_key"]),
    )
    assert (narrow.status_code, narrow.json()["code"]) == (403, "forbidden")
    assert (await _start(company, lead_id=lead["id"], force="yes")).status_code == 201


async def test_the_law_is_passed_over_only_by_a_key_that_may_by_name_and_for_a_written_reason(
    town: Any, company: Any
) -> None:
    lead = await _lead(company, windows={"call": [{"days": WEEK, "open": "08:01", "close": "08:02"}]})
    refused = await _start(company, lead_id=lead["id"], override_reason="they asked for it")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert "call:override_legal" in refused.json()["detail"]
    key = await company.record("keys", {"name": "counsel", "scopes": ["call:start", "call:read", "call:override_legal"]})
    placed = await town.client.post(
        "/api/v1/calls",
        json={"from": OURS, "to": NUMBER, "lead_id": lead["id"], "override_reason": "they asked for it"},
        headers=basic(key["public_key"], key["private_key"]),
    )
    assert placed.status_code == 201, placed.text


BAD_STARTS: list[tuple[dict[str, Any], str, list[str]]] = [
    ({"from": None, "to": ""}, "validation_failed", ["from", "to"]),
    ({"to": "+1"}, "invalid_number", ["to"]),
    ({"from": "nobody", "to": True}, "invalid_number", ["to", "from"]),
    ({"to": "+1212555012" * 20}, "invalid_number", ["to"]),
    ({"to": "+1212\x00"}, "validation_failed", ["to"]),
    ({"lead_id": 4711}, "validation_failed", ["lead_id"]),
    ({"lead_id": "nobody"}, "validation_failed", ["lead_id"]),
    ({"schedule_id": 4711, "offer_id": 4712}, "validation_failed", ["schedule_id", "offer_id"]),
    ({"schedule_id": "x"}, "validation_failed", ["schedule_id"]),
    ({"force": "maybe"}, "validation_failed", ["force"]),
    ({"serializer": "xml"}, "validation_failed", ["serializer"]),
]


@pytest.mark.parametrize(("fields", "code", "named"), BAD_STARTS)
async def test_a_bad_start_names_every_field_and_calls_nobody(
    company: Any, fields: dict[str, Any], code: str, named: list[str]
) -> None:
    answer = await _start(company, **fields)
    assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text
    assert set(answer.json()["errors"]) == set(named)
    assert (await company.send("GET", "/api/v1/calls/live_calls")).json()["calls"] == []


async def test_a_lead_is_called_under_its_own_number_schedule_and_company_alone(company: Any, other: Any) -> None:
    lead = await _lead(company)
    theirs = await _lead(other)
    offer = await company.record("offers", {"name": "Solar"})
    fields = {"lead_token": offer["lead_token"], "caller_id": "+12125550198"}
    gone = (await company.send("POST", "/api/v1/leads", json=fields)).json()["lead"]
    assert (await company.send("DELETE", f"/api/v1/leads/{gone['id']}/id")).status_code == 200
    second = await company.schedule(steps=STEPS)
    for fields, named in [
        ({"lead_id": lead["id"], "to": "+12125550199"}, ["to"]),
        ({"lead_id": lead["id"], "schedule_id": second["id"]}, ["schedule_id"]),
        ({"lead_id": theirs["id"]}, ["lead_id"]),
        ({"schedule_id": theirs["schedule_id"]}, ["schedule_id"]),
        ({"lead_id": gone["id"]}, ["lead_id"]),
        ({"lead_id": lead["id"], "offer_id": offer["id"]}, ["offer_id"]),
    ]:
        answer = await _start(company, **fields)
        assert (answer.status_code, list(answer.json()["errors"])) == (422, named), answer.text
    mail = await company.send("POST", "/api/v1/leads", json={"lead_token": lead["lead_token"], "email": "ann@example.com"})
    answer = await company.send("POST", "/api/v1/schedules/make_call", json={"lead_id": mail.json()["lead"]["id"]})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_number")


async def test_the_other_path_says_what_it_needs(company: Any, other: Any) -> None:
    token = (await other.schedule())["lead_token"]
    for fields, status, code in [
        ({}, 422, "validation_failed"),
        ({"to": NUMBER}, 422, "validation_failed"),
        ({"lead_token": "lt_nobodys", "to": NUMBER}, 404, "unknown_lead_token"),
        ({"lead_token": token, "to": NUMBER}, 404, "unknown_lead_token"),
        ({"schedule_id": 4711, "to": NUMBER}, 422, "validation_failed"),
    ]:
        answer = await company.send("POST", "/api/v1/schedules/make_call", json=fields)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text


async def test_data_goes_to_the_calls_of_a_lead_where_that_is_asked_for(company: Any) -> None:
    lead = await _lead(company)
    call = (await _start(company, lead_id=lead["id"])).json()["call"]
    await company.send("PUT", f"/api/v1/leads/{lead['id']}", json={"data": {"a": 2}, "apply_to": "self"})
    await company.send("PUT", f"/api/v1/leads/{lead['id']}", json={"data": {"b": 3}, "apply_to": "calls"})
    fields = {"lead_token": lead["lead_token"], "caller_id": NUMBER, "c": 4, "apply_to": "calls"}
    await company.send("POST", "/api/v1/leads", json=fields)
    shown = (await company.send("GET", f"/api/v1/calls/{call['id']}")).json()["call"]
    assert shown["token_values"] == {"a": 1, "b": 3, "c": 4}


async def test_dispositions_are_records_like_any_other(company: Any, other: Any) -> None:
    sold = await company.record("call_dispositions", {"name": "Sold", "code": "sold_1", "category": "final_positive"})
    assert (sold["code"], sold["category"], sold["system"], sold["type"]) == (
        "sold_1",
        "final_positive",
        False,
        "CallDisposition",
    )
    for fields, status, named in [
        ({}, 422, ["name"]),
        ({"name": "x", "code": "no spaces"}, 422, ["code"]),
        ({"name": "x", "code": "X" * 17}, 422, ["code"]),
        ({"name": "x", "category": "maybe"}, 422, ["category"]),
        ({"name": "x", "retry_delay_seconds": -1, "is_final": "perhaps"}, 422, ["retry_delay_seconds", "is_final"]),
        ({"name": "x", "code": "sold_1"}, 409, ["code"]),
        ({"name": "x\x00"}, 422, ["name"]),
    ]:
        answer = await company.send("POST", "/api/v1/call_dispositions", json=fields)
        assert (answer.status_code, sorted(answer.json()["errors"])) == (status, sorted(named)), answer.text
    path = f"/api/v1/call_dispositions/{sold['id']}"
    assert (await company.send("PUT", path, json={"sortable_order": 3})).json()["call_disposition"]["sortable_order"] == 3
    assert (await other.send("GET", path)).status_code == 404
    assert len((await company.send("GET", "/api/v1/call_dispositions")).json()["call_dispositions"]) == 1
    assert (await company.send("DELETE", path)).status_code == 200
    assert (await company.send("GET", path)).status_code == 410


async def test_a_start_that_is_sent_again_under_its_key_calls_nobody_twice(company: Any) -> None:
    lead = await _lead(company)
    headers = {"Idempotency-Key": "call me once"}
    first, again = [
        await company.send("POST", "/api/v1/schedules/make_call", json={"lead_id": lead["id"]}, headers=headers)
        for _ in range(2)
    ]
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["call"]["id"] == again.json()["call"]["id"]
    assert len((await company.send("GET", f"/api/v1/calls/{NUMBER}/by_caller_number")).json()["calls"]) == 1
