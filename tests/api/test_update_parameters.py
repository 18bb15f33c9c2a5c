"""Has each parameter of a change of a lead the effect that the interface promises, over HTTP?"""

import itertools
from typing import Any

import pytest

from engine.submission.fields import parse_moment
from schemas.instant import DAY, HOUR, to_rfc3339
from tests.adapters.http.conftest import STEPS, Company

pytestmark = pytest.mark.asyncio(loop_scope="session")

_numbers = itertools.count(100)


async def _made(company: Company, token: str, **fields: Any) -> dict[str, Any]:
    given = {"lead_token": token, "caller_id": f"+1212555{next(_numbers):04d}", **fields}
    answer = await company.send("POST", "/api/v1/leads", json=given)
    assert answer.status_code == 201, answer.text
    lead: dict[str, Any] = answer.json()["lead"]
    return lead


async def _put(company: Company, lead: dict[str, Any], status: int = 200, **fields: Any) -> dict[str, Any]:
    answer = await company.send("PUT", f"/api/v1/leads/{lead['uuid']}", json=fields)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found if status >= 400 else found["lead"]


async def test_a_callback_is_promised_at_a_time_or_after_some_seconds(company: Any) -> None:
    schedule = await company.schedule()
    lead = await _made(company, schedule["lead_token"], time_zone="America/New_York")
    at = to_rfc3339((company.town.context.clock.now() + 3 * DAY) // 1000 * 1000)
    assert (await _put(company, lead, schedule_callback_at=at))["callback_at"] == at
    before = company.town.context.clock.now()
    later = await _put(company, lead, schedule_callback_in_seconds="7200")
    assert 0 <= parse_moment(later["callback_at"]) - before - 2 * HOUR < 60_000
    refused = await _put(company, lead, 422, schedule_callback_in_seconds="-1")
    assert list(refused["errors"]) == ["schedule_callback_in_seconds"]


async def test_a_lead_moves_to_another_schedule_and_begins_there(company: Any) -> None:
    first, second = await company.schedule(), await company.schedule()
    lead = await _made(company, first["lead_token"])
    moved = await _put(company, lead, move_to_another_schedule_id=second["id"])
    assert (moved["id"], moved["schedule_id"], moved["is_live"]) == (lead["id"], second["id"], True)
    again = await _put(company, lead, move_to_another_schedule_id=str(second["id"]))
    assert again["schedule_id"] == second["id"]
    assert parse_moment(again["next_action_at"]) >= parse_moment(moved["next_action_at"])


async def test_an_offers_lead_starts_on_its_only_active_schedule(company: Any) -> None:
    offer = await company.record("offers", {"name": "Solar"})
    lead = await _made(company, offer["lead_token"])
    assert (lead["status"], lead["schedule_id"]) == ("captured", None)
    none = await _put(company, lead, 422, schedule_start=True)
    assert list(none["errors"]) == ["schedule_start"]
    schedule = await company.schedule(offer_id=offer["id"])
    await company.schedule(offer_id=offer["id"], paused=True)
    await company.schedule()
    started = await _put(company, lead, schedule_start="yes")
    assert (started["schedule_id"], started["status"]) == (schedule["id"], "scheduled")
    other = await _made(company, offer["lead_token"])
    await company.schedule(offer_id=offer["id"])
    several = await _put(company, other, 422, schedule_start=True)
    assert "2 active schedules" in several["errors"]["schedule_start"][0]


async def test_an_ended_lead_is_enrolled_again_and_a_live_one_stays_as_it_is(company: Any) -> None:
    schedule = await company.schedule()
    lead = await _made(company, schedule["lead_token"])
    same = await _put(company, lead, schedule_start="1")
    assert (same["next_action_at"], same["status"]) == (lead["next_action_at"], lead["status"])
    stopped = await _put(company, lead, schedule_stop="on")
    assert (stopped["is_live"], stopped["next_action_at"]) == (False, None)
    again = await _put(company, lead, schedule_start="true")
    assert (again["is_live"], again["schedule_id"], again["status"]) == (True, schedule["id"], "scheduled")


async def test_blocking_a_lead_and_naming_its_source_and_field_type(company: Any, other: Any) -> None:
    schedule = await company.schedule(steps=STEPS)
    source = await company.record("traffic_sources", {"name": "Ads"})
    theirs = await other.record("traffic_sources", {"name": "Ads"})
    lead = await _made(company, schedule["lead_token"])
    named = await _put(company, lead, traffic_source_id=str(source["id"]), contact_field_type="17")
    assert (named["traffic_source_id"], named["contact_field_type"]) == (source["id"], "17")
    refused = await _put(company, lead, 422, traffic_source_id=theirs["id"])
    assert list(refused["errors"]) == ["traffic_source_id"]
    blocked = await _put(company, lead, blocked="yes")
    assert (blocked["blocked"], blocked["status"], blocked["next_action_at"]) == (True, "blocked", None)
    assert (await _put(company, lead, 422, schedule_start=True))["code"] == "suppressed_contact"
    free = await _put(company, lead, blocked="no", schedule_start=True)
    assert (free["blocked"], free["status"]) == (False, "scheduled")


async def test_a_lead_whose_block_is_lifted_resumes_where_that_is_asked_for(company: Any) -> None:
    schedule = await company.schedule(steps=STEPS)
    lead = await _made(company, schedule["lead_token"])
    await _put(company, lead, blocked="1", hangup_live="1")
    alone = await _put(company, lead, 422, resume_on_unblock="1")
    assert list(alone["errors"]) == ["resume_on_unblock"]
    resumed = await _put(company, lead, blocked="0", resume_on_unblock="1")
    assert (resumed["is_live"], resumed["blocked"]) == (True, False)


async def test_a_promised_call_outlives_a_move_to_the_end_where_that_is_asked_for(company: Any) -> None:
    schedule = await company.schedule()
    for keeps, lives in (("no", False), ("yes", True)):
        lead = await _made(company, schedule["lead_token"], schedule_callback_in_seconds=3600)
        path = f"/api/v1/leads/{lead['caller_id']}/caller_move_to_end_of_schedule"
        fields = {"lead_token": schedule["lead_token"], "keep_callback": keeps}
        answer = await company.send("PUT", path, json=fields)
        assert answer.status_code == 200, answer.text
        shown = (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]
        assert shown["is_live"] is lives


async def test_what_a_lead_without_a_number_cannot_have_is_reported_under_the_field_that_was_sent(company: Any) -> None:
    schedule = await company.schedule()
    fields = {"lead_token": schedule["lead_token"], "email": "ada@example.com", "first_name": "Ada"}
    lead = (await company.send("POST", "/api/v1/leads", json=fields)).json()["lead"]
    emptied = await _put(company, lead, 422, email="", first_name="Eve")
    assert emptied["errors"] == {"email": ["cannot be emptied where the lead has no caller_id"]}
    promised = await _put(company, lead, 422, schedule_callback_in_seconds="60", first_name="Eve")
    assert promised["errors"] == {"schedule_callback_in_seconds": ["needs a caller_id to call"]}
    shown = (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]
    assert (shown["email"], shown["data"]) == ("ada@example.com", {"first_name": "Ada"})


async def test_a_blank_field_of_a_change_empties_the_column(company: Any) -> None:
    schedule = await company.schedule()
    given = {"zip": "10001", "sub_id": "s-1", "contact_field_type": "5", "full_name": "Ada"}
    lead = await _made(company, schedule["lead_token"], **given)
    changed = await _put(company, lead, zip="", sub_id=None, contact_field_type="", roof="flat")
    emptied = [changed[name] for name in ("zip_postal_code", "sub_id", "contact_field_type")]
    assert (emptied, changed["full_name"], changed["data"]) == ([None] * 3, "Ada", {"roof": "flat"})
    submitted = {"lead_token": schedule["lead_token"], "caller_id": lead["caller_id"], "full_name": ""}
    again = await company.send("POST", "/api/v1/leads", json=submitted)
    assert again.json()["lead"]["full_name"] == "Ada", "a form that is submitted again with an empty field says nothing"


@pytest.mark.parametrize("ending", ["schedule_stop", "opt_out", "blocked"])
async def test_a_change_that_begins_and_ends_the_schedule_is_refused(company: Any, ending: str) -> None:
    schedule = await company.schedule()
    lead = await _made(company, schedule["lead_token"])
    refused = await _put(company, lead, 422, schedule_start=True, **{ending: True})
    assert refused["errors"] == {"schedule_start": [f"cannot be sent together with {ending}"]}
    moved = await _put(company, lead, 422, move_to_another_schedule_id=schedule["id"], **{ending: "yes"})
    assert list(moved["errors"]) == ["move_to_another_schedule_id"]
    assert (await _put(company, lead, schedule_start=True, **{ending: False}))["is_live"]


async def test_a_promised_call_has_the_owner_that_is_named(company: Any) -> None:
    schedule = await company.schedule()
    buyer = await company.record("buyers", {"name": "Ada", "number": "+12125550171"})
    lead = await _made(company, schedule["lead_token"])
    fields: dict[str, Any] = {"callback_buyer_id": str(buyer["id"]), "callback_grace_minutes": "30"}
    alone = await _put(company, lead, 422, **fields)
    assert list(alone["errors"]) == ["callback_buyer_id"]
    promised = await _put(company, lead, schedule_callback_in_seconds=3600, **fields)
    assert promised["callback_at"] is not None
    for bad in ({"callback_buyer_group_id": 999_999_999}, {"callback_grace_minutes": 5}, {"callback_grace_minutes": "soon"}):
        refused = await _put(company, lead, 422, schedule_callback_in_seconds=3600, **bad)
        assert list(refused["errors"]) == list(bad)
