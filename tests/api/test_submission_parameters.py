"""Has each parameter of a submission the effect that the interface promises, over HTTP, down to what is read back?"""

import itertools
import json
from typing import Any

import pytest

from engine.submission.fields import parse_moment
from schemas.instant import DAY, HOUR, Instant, to_rfc3339
from tests.adapters.http.conftest import STEPS, Company

pytestmark = pytest.mark.asyncio(loop_scope="session")

SUBMIT = "/api/v1/leads"
BOTH = pytest.mark.parametrize("path", [SUBMIT, "/api/v1/leads/create_or_update"])
"""Parameters that both ways of submitting take."""

ZONE = "America/New_York"
_numbers = itertools.count(100)


def _number() -> str:
    return f"+1212555{next(_numbers):04d}"


async def _post(company: Company, path: str, fields: dict[str, Any], status: int = 201) -> dict[str, Any]:
    answer = await company.send("POST", path, json=fields)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def _lead(company: Company, lead_id: int) -> dict[str, Any]:
    found: dict[str, Any] = (await company.send("GET", f"/api/v1/leads/{lead_id}")).json()["lead"]
    return found


async def _leads(company: Company, **query: str) -> list[dict[str, Any]]:
    listed = await company.send("GET", "/api/v1/leads", params={"order": "id", "order_dir": "asc", **query})
    found: list[dict[str, Any]] = listed.json()["leads"]
    return found


def _said(at: Instant) -> str:
    return to_rfc3339(at - at % 1000)


def _now(company: Company) -> Instant:
    now: Instant = company.town.context.clock.now()
    return now


@BOTH
async def test_who_and_where_the_person_is(company: Any, path: str) -> None:
    offer = await company.record("offers", {"name": "Solar"})
    schedule = await company.schedule(offer_id=offer["id"])
    for token, schedule_id, status in (
        (offer["lead_token"], None, "captured"),
        (schedule["lead_token"], schedule["id"], "scheduled"),
    ):
        fields = {
            "lead_token": token, "caller_id": "(212) 555-0199", "email": "ada@example.com", "contact_field_type": "17",
            "data": {"first_name": "Ada", "zip": "10001"}, "roof": "flat", "state": "NY", "full_name": "Ada Lee",
        }  # fmt: skip
        number = _number()
        lead = (await _post(company, path, {**fields, "caller_id": number}))["lead"]
        assert (lead["offer_id"], lead["schedule_id"], lead["status"]) == (offer["id"], schedule_id, status)
        assert (lead["caller_id"], lead["email"], lead["contact_field_type"]) == (number, "ada@example.com", "17")
        assert lead["data"] == {"first_name": "Ada", "roof": "flat"}
        assert (lead["zip_postal_code"], lead["state_province"], lead["full_name"]) == ("10001", "NY", "Ada Lee")
    only_email = (await _post(company, path, {"lead_token": offer["lead_token"], "email": "bob@example.com"}))["lead"]
    assert (only_email["caller_id"], only_email["email"]) == (None, "bob@example.com")


@BOTH
async def test_a_callback_is_promised(company: Any, path: str) -> None:
    schedule = await company.schedule()
    common = {"lead_token": schedule["lead_token"], "time_zone": ZONE}
    at = await _post(
        company, path, {**common, "caller_id": _number(), "schedule_callback_at": "2099-03-07 12:00:00 -0500"}, 422
    )
    assert list(at["errors"]) == ["schedule_callback_at"]
    soon = _now(company) + 3 * DAY
    said = _said(soon)
    lead = (await _post(company, path, {**common, "caller_id": _number(), "schedule_callback_at": said}))["lead"]
    assert lead["callback_at"] == said
    before = _now(company)
    later = await _post(company, path, {**common, "caller_id": _number(), "schedule_callback_in_seconds": "7200"})
    assert 0 <= parse_moment(later["lead"]["callback_at"]) - before - 2 * HOUR < 60_000
    both = {"schedule_callback_at": said, "schedule_callback_in_seconds": 60}
    refused = await _post(company, path, {**common, "caller_id": _number(), **both}, 422)
    assert list(refused["errors"]) == ["schedule_callback_in_seconds"]


@BOTH
async def test_every_lead_of_token_and_number_is_updated(company: Any, path: str) -> None:
    offer = await company.record("offers", {"name": "Solar"})
    first, second = await company.schedule(offer_id=offer["id"]), await company.schedule(offer_id=offer["id"])
    number = _number()
    made = [
        (await _post(company, SUBMIT, {"lead_token": token, "caller_id": number}))["lead"]["id"]
        for token in (first["lead_token"], second["lead_token"])
    ]
    fields = {"lead_token": offer["lead_token"], "caller_id": number, "roof": "steep"}
    answer = await _post(company, path, {**fields, "update_all_matching_leads": "on"}, 200)
    assert sorted(answer["lead_ids"]) == sorted(made)
    assert [(await _lead(company, lead_id))["data"] for lead_id in made] == [{"roof": "steep"}] * 2
    one = await _post(company, path, {**fields, "roof": "flat"}, 200)
    assert one["lead"]["id"] == made[1]
    assert [(await _lead(company, lead_id))["data"]["roof"] for lead_id in made] == ["steep", "flat"]


@BOTH
async def test_data_goes_to_the_calls_of_the_lead(company: Any, path: str) -> None:
    offer = await company.record("offers", {"name": "Solar"})
    ours = (await company.record("numbers", {"number": _number(), "offer_id": offer["id"]}))["number"]
    number = _number()
    called = await company.send(
        "POST", "/api/v1/calls/received", json={"from": number, "to": ours, "call_ref": "x-1", "state": "ringing"}
    )
    call = called.json()["call"]
    fields = {"lead_token": offer["lead_token"], "caller_id": number}
    await _post(company, path, {**fields, "data": {"roof": "flat"}}, 200)
    assert (await company.send("GET", f"/api/v1/calls/{call['id']}")).json()["call"]["token_values"] == {}
    await _post(company, path, {**fields, "data": {"roof": "steep"}, "apply_to": "calls"}, 200)
    assert (await company.send("GET", f"/api/v1/calls/{call['id']}")).json()["call"]["token_values"]["roof"] == "steep"
    refused = await _post(company, path, {**fields, "apply_to": "everything"}, 422)
    assert list(refused["errors"]) == ["apply_to"]


async def test_a_number_is_blocked_and_unblocked(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": _number()}
    blocked = (await _post(company, SUBMIT, {**fields, "blocked": "yes"}))["lead"]
    assert (blocked["blocked"], blocked["status"], blocked["next_action_at"]) == (True, "blocked", None)
    again = (await _post(company, SUBMIT, fields))["lead"]
    assert (again["blocked"], again["status"]) == (True, "blocked")
    alone = await town.client.post(SUBMIT, json={**fields, "unblock_contact": "1"})
    assert (alone.status_code, alone.json()["status"]) == (201, "accepted"), "and lifts nothing: that needs a key"
    assert (await _post(company, SUBMIT, fields))["lead"]["status"] == "blocked"
    free = (await _post(company, SUBMIT, {**fields, "unblock_contact": "1"}))["lead"]
    assert (free["blocked"], free["status"]) == (False, "scheduled")


@BOTH
async def test_numbers_are_assigned_round_robin(company: Any, path: str) -> None:
    schedule = await company.schedule()
    ours = {(await company.record("numbers", {"number": _number()}))["number"] for _ in range(3)}
    text_only = (await company.record("numbers", {"number": _number(), "voice": False}))["number"]
    plain = await _post(company, path, {"lead_token": schedule["lead_token"], "caller_id": _number()})
    assert (plain["svc_number_plain"], plain["sms_number_plain"]) == (None, None)
    given = set()
    for place in range(12):
        name = ("assign_svc_number", "svc_assign_number", "assign_trackdrive_number")[place % 3]
        fields = {"lead_token": schedule["lead_token"], "caller_id": _number(), name: "true", "assign_sms_number": True}
        answer = await _post(company, path, fields)
        assert answer["svc_number_plain"] == answer["lead"]["svc_number_plain"] != text_only
        assert answer["sms_number_plain"] in ours | {text_only}
        given.add(answer["svc_number_plain"])
    assert given == ours
    kept = await _post(company, path, {**fields, "assign_svc_number": "1"}, 200)
    assert kept["svc_number_plain"] == answer["svc_number_plain"]


async def test_existing_leads_expire_or_are_deleted(company: Any) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": _number()}
    first = (await _post(company, SUBMIT, fields))["lead"]["id"]
    expired = await _post(company, SUBMIT, {**fields, "expire_existing": "true"})
    assert expired["dedupe_action"] == "expired_existing"
    assert (await _lead(company, first))["status"] == "expired"
    deleted = await _post(company, SUBMIT, {**fields, "delete_existing": "true", "expire_existing": "true"})
    assert (deleted["dedupe_action"], len(deleted["warnings"])) == ("deleted_existing", 1)
    for lead_id in (first, expired["lead"]["id"]):
        assert (await company.send("GET", f"/api/v1/leads/{lead_id}")).status_code == 410
    assert [lead["id"] for lead in await _leads(company)] == [deleted["lead"]["id"]]


@BOTH
async def test_flags_that_contradict_each_other_are_named_and_nothing_is_done(company: Any, path: str) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": _number()}
    made = (await _post(company, SUBMIT, fields))["lead"]
    for flag, other in (
        ("update_only", "expire_existing"),
        ("update_only", "delete_existing"),
        ("unblock_contact", "blocked"),
    ):
        refused = await _post(company, path, {**fields, flag: "1", other: "1"}, 422)
        assert list(refused["errors"]) == [other]
        await _post(company, path, {**fields, flag: "1", other: "0"}, 200)
    (lead,) = await _leads(company)
    assert (lead["id"], lead["status"], lead["blocked"]) == (made["id"], made["status"], False)


async def test_the_id_of_the_senders_system_finds_the_lead_also_in_data_and_in_text(company: Any) -> None:
    schedule = await company.schedule()
    token = {"lead_token": schedule["lead_token"]}
    made = (await _post(company, SUBMIT, {**token, "caller_id": _number(), "external_record_id": "crm-1"}))["lead"]
    ways: tuple[dict[str, Any], ...] = (
        {"external_record_id": "crm-1"},
        {"data": {"external_record_id": "crm-1"}},
        {"data": json.dumps({"external_record_id": "crm-1"})},
    )
    for place, said in enumerate(ways):
        found = (await _post(company, SUBMIT, {**token, **said, "place": place}, 200))["lead"]
        assert (found["id"], found["data"]["place"]) == (made["id"], place)
    assert list((await _post(company, SUBMIT, {**token, "data": "crm-1"}, 422))["errors"]) == ["data", "caller_id"]


async def test_only_a_live_lead_is_updated(company: Any) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "caller_id": _number(), "update_only": "true", "roof": "flat"}
    assert (await _post(company, SUBMIT, fields, 409))["code"] == "lead_not_live"
    assert await _leads(company) == []
    made = (await _post(company, SUBMIT, {**fields, "update_only": "false"}))["lead"]
    updated = (await _post(company, SUBMIT, {**fields, "roof": "steep"}, 200))["lead"]
    assert (updated["id"], updated["data"]) == (made["id"], {"roof": "steep"})
    await company.send("PUT", f"/api/v1/leads/{made['id']}", json={"schedule_stop": True})
    assert (await _post(company, SUBMIT, fields, 409))["code"] == "lead_not_live"
    assert (await _post(company, SUBMIT, {**fields, "restart_schedule": "1"}, 409))["code"] == "lead_not_live"


@BOTH
async def test_the_schedule_begins_again(company: Any, path: str) -> None:
    schedule = await company.schedule(steps=[{"id": "rest", "kind": "wait", "duration": "1d"}, STEPS[1]])
    fields = {"lead_token": schedule["lead_token"], "caller_id": _number()}
    made = (await _post(company, SUBMIT, fields))["lead"]
    again = await _post(company, path, {**fields, "restart_schedule": "yes"}, 200)
    assert (again["dedupe_action"], again["lead"]["id"]) == ("restarted", made["id"])
    assert (again["lead"]["is_live"], again["lead"]["status"]) == (True, "scheduled")
    assert parse_moment(again["lead"]["next_action_at"]) > parse_moment(made["next_action_at"])
    # An ended lead runs again, but create_or_update creates where none is live.
    await company.send("PUT", f"/api/v1/leads/{made['id']}", json={"schedule_stop": True})
    creates = path != SUBMIT
    last = await _post(company, path, {**fields, "restart_schedule": "yes"}, 201 if creates else 200)
    assert (last["dedupe_action"], last["lead"]["id"] != made["id"]) == ("created" if creates else "restarted", creates)
    assert last["lead"]["is_live"] is True


async def test_create_or_update_updates_the_live_lead_of_the_offer_whichever_schedule_it_is_on(company: Any) -> None:
    offer = await company.record("offers", {"name": "Solar"})
    first, second = [await company.schedule(offer_id=offer["id"], steps=STEPS) for _ in range(2)]
    path, number = "/api/v1/leads/create_or_update", _number()
    waiting = (await _post(company, path, {"lead_token": offer["lead_token"], "caller_id": number}))["lead"]
    begun = (await _post(company, path, {"lead_token": first["lead_token"], "caller_id": number}, 200))["lead"]
    assert (begun["id"], begun["schedule_id"], begun["is_live"]) == (waiting["id"], first["id"], True)
    for token in (second["lead_token"], offer["lead_token"]):
        again = await _post(company, path, {"lead_token": token, "caller_id": number, "color": "red"}, 200)
        assert (again["dedupe_action"], again["lead"]["id"], again["schedule_id"]) == ("updated", waiting["id"], first["id"])
    assert [lead["data"] for lead in await _leads(company, number=number)] == [{"color": "red"}]


@BOTH
async def test_nested_fields_are_found(company: Any, path: str) -> None:
    schedule = await company.schedule()
    number = _number()
    nested = {
        "lead_token": schedule["lead_token"],
        "contact": {"Name": {"firstName": "Ada", "lastName": "Lee"}, "phones": [{"phone_number": number}]},
        "Address": {"zip-code": "10001", "EMAIL": "ada@example.com"},
    }
    refused = await _post(company, path, nested, 422)
    assert list(refused["errors"]) == ["caller_id"]
    lead = (await _post(company, path, {**nested, "auto_format_nested_fields": "true"}))["lead"]
    assert (lead["caller_id"], lead["email"], lead["zip_postal_code"]) == (number, "ada@example.com", "10001")
    assert (lead["data"]["first_name"], lead["data"]["last_name"]) == ("Ada", "Lee")


@BOTH
async def test_when_and_how_long_a_lead_is_acted_on(company: Any, path: str) -> None:
    schedule = await company.schedule(
        hours_to_expire=500, steps=[{"id": "mail", "kind": "email", "subject": "s", "template": "t"}]
    )
    soon = _said(_now(company) + 2 * DAY)
    fields = {
        "lead_token": schedule["lead_token"], "caller_id": _number(), "email": "ada@example.com", "lead_priority": "2.5",
        "next_action_at": soon, "hours_to_expire": "72", "max_contact_attempts": 1,
    }  # fmt: skip
    before = _now(company)
    lead = (await _post(company, path, fields))["lead"]
    assert (lead["lead_priority"], lead["next_action_at"]) == (2.5, soon)
    assert 0 <= parse_moment(lead["expires_at"]) - before - 72 * HOUR < 60_000
    row = await company.town.pool.fetchrow("SELECT attempts_max FROM read.leads WHERE id = $1", lead["id"])
    assert row["attempts_max"] == 1
    sooner = (
        await _post(company, path, {**fields, "lead_priority": 1, "hours_to_expire": 5, "max_contact_attempts": 4}, 200)
    )["lead"]
    assert (sooner["id"], sooner["lead_priority"]) == (lead["id"], 1.0)
    assert parse_moment(sooner["expires_at"]) < parse_moment(lead["expires_at"])
    row = await company.town.pool.fetchrow("SELECT attempts_max FROM read.leads WHERE id = $1", lead["id"])
    assert row["attempts_max"] == 4
