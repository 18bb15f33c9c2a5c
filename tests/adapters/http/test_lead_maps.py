"""Are the posts of a vendor read by the lead map of its source over HTTP, and shown before that is saved?"""

from typing import Any

import pytest

from tests.engine.submission.test_lead_maps import GOOGLE

pytestmark = pytest.mark.asyncio(loop_scope="session")

PREVIEW = "/api/v1/lead_maps/preview"
MAP = {
    "fields": {
        "caller_id": "user_column_data[column_id=PHONE_NUMBER].string_value",
        "full_name": "user_column_data[column_id=FULL_NAME].string_value",
    },
    "idempotency_key": "lead_id",
    "is_test": "is_test",
}
XML = "<lead><ref>9</ref><tel>+13055550124</tel></lead>"


async def test_a_map_is_tried_saved_and_followed(company: Any) -> None:
    token = (await company.schedule())["lead_token"]
    tried = {"lead_token": token, "lead_map": MAP, "sample": GOOGLE}
    shown = (await company.send("POST", PREVIEW, json=tried)).json()["lead_map_preview"]
    assert (shown["caller_id"], shown["is_test"], shown["not_found"]) == ("+13055550123", True, [])
    assert (await company.send("GET", "/api/v1/leads")).json()["leads"] == [], "it stores nothing"

    source = await company.record("traffic_sources", {"name": "Ads", "lead_map": MAP})
    assert source["lead_map"] == MAP
    url = f"/api/v1/leads?lead_token={token}&traffic_source_id={source['id']}"
    answer = await company.send("POST", url, json=GOOGLE)
    assert answer.status_code == 201, answer.text
    lead = answer.json()["lead"]
    assert (lead["is_test"], lead["status"], lead["full_name"]) == (True, "disabled", "Ada Lovelace")
    assert lead["human_status"] == "Test: nobody is contacted for this lead"
    again = await company.send("POST", url, json=GOOGLE)
    assert (again.status_code, again.json()["lead"]["id"]) == (201, lead["id"]), "the id of the vendor is its key"
    other = {**GOOGLE, "google_key": "another"}
    assert (await company.send("POST", url, json=other)).status_code == 409
    real = await company.send("POST", url, json={**GOOGLE, "lead_id": "real", "is_test": False})
    assert real.json()["lead"]["is_test"] is False
    tests = (await company.send("GET", "/api/v1/leads?is_test=true")).json()["leads"]
    assert [one["id"] for one in tests] == [lead["id"]]


async def test_a_sample_of_text_is_read_by_its_type_and_the_map_of_the_schedule(company: Any) -> None:
    schedule = await company.schedule()
    changed = await company.send(
        "PUT", f"/api/v1/schedules/{schedule['id']}", json={"lead_map": {"fields": {"caller_id": "lead.tel"}}}
    )
    assert changed.status_code == 200, changed.text
    asked = {"lead_token": schedule["lead_token"], "sample": XML, "sample_type": "text/xml"}
    shown = (await company.send("POST", PREVIEW, json=asked)).json()["lead_map_preview"]
    assert (shown["is_mapped"], shown["caller_id"], shown["errors"]) == (True, "+13055550124", {})
    url = f"/api/v1/leads?lead_token={schedule['lead_token']}"
    posted = await company.send("POST", url, content=XML, headers={"Content-Type": "text/xml"})
    assert (posted.status_code, posted.json()["lead"]["caller_id"]) == (201, "+13055550124")


async def test_a_wrong_map_is_refused_by_its_field_where_it_is_tried_and_saved(company: Any) -> None:
    token = (await company.schedule())["lead_token"]
    wrong = {"fields": {"phone": "lead.phone", "caller_id": "a..b"}}
    named = ["lead_map.fields.caller_id", "lead_map.fields.phone"]
    tried = await company.send("POST", PREVIEW, json={"lead_token": token, "lead_map": wrong, "sample": GOOGLE})
    saved = await company.send("POST", "/api/v1/traffic_sources", json={"name": "Ads", "lead_map": wrong})
    for answer in (tried, saved):
        assert (answer.status_code, sorted(answer.json()["errors"])) == (422, named), answer.text


async def test_a_sample_that_would_be_refused_shows_why_and_a_token_of_another_company_is_unknown(
    company: Any, other: Any
) -> None:
    token = (await company.schedule())["lead_token"]
    asked = {"lead_token": token, "lead_map": {"fields": {"caller_id": "tel"}}, "sample": {"tel": "12"}}
    shown = (await company.send("POST", PREVIEW, json=asked)).json()["lead_map_preview"]
    assert list(shown["errors"]) == ["caller_id"]
    assert (await other.send("POST", PREVIEW, json=asked)).json()["code"] == "unknown_lead_token"
