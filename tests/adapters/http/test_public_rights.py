"""May a sender without a key do what the table of rights says, and nothing else, with every field that a submission has?"""

from typing import Any

import pytest

from adapters.http.exchange.settings import HttpSettings, Rate
from adapters.http.leads.submissions import SUBMISSION_PARAMETERS
from engine.submission.columns import COLUMNS
from engine.submission.normalise import NAMED_FIELDS
from engine.submission.public_rights import (
    ACTIONS,
    FIELD_ALIASES,
    FIELDS,
    PUBLIC_PARAMETERS,
    SIGNING_FIELDS,
    New,
    Stored,
)
from tests.adapters.http.conftest import DAYTIME_ZONE, SECRET_KEY, deployed

pytestmark = pytest.mark.asyncio(loop_scope="session")

NUMBER = "+12125550142"
STEPS = [{"id": "pause", "kind": "wait", "duration": "1h"}, {"id": "call", "kind": "call"}]
LATER = "2026-06-18T15:00:00.000Z"
"""A day after the deployment of these tests begins, in the hours of New York."""

Sample = tuple[Any, str, Any]
"""A value to send, the column of the lead that it would set, and how that reads then."""

SAMPLES: dict[str, Sample] = {
    "email": ("eve@example.com", "email", "eve@example.com"),
    "contact_field_type": ("7", "contact_field_type", "7"),
    "schedule_callback_at": (LATER, "callback_at", None),
    "schedule_callback_in_seconds": ("7200", "callback_at", None),
    "time_zone": ("Asia/Tokyo", "time_zone", "Asia/Tokyo"),
    "country": ("CA", "country", "CA"),
    "state_province": ("TX", "state_province", "TX"),
    "zip_postal_code": ("79901", "zip_postal_code", "79901"),
    "full_name": ("Eve", "full_name", "Eve"),
    "name": ("Eve's", "name", "Eve's"),
    "sub_id": ("s-1", "sub_id", "s-1"),
    "data": ({"roof": "flat"}, "data", {"roof": "flat"}),
    "any other field": ("flat", "data", {"any other field": "flat"}),
    "assign_svc_number": (True, "", None),
    "assign_sms_number": (True, "", None),
    "auto_format_nested_fields": (True, "", None),
    "lead_priority": (-1000, "lead_priority", -1000.0),
    "next_action_at": (LATER, "requested_next_action_at", None),
    "hours_to_expire": (1, "expires_at", None),
    "max_contact_attempts": (1, "", None),
    "external_record_id": ("crm-7", "external_record_id", "crm-7"),
    "remote_ip": ("192.0.2.7", "remote_ip", "192.0.2.7"),
    "lead_import_id": (7, "lead_import_id", 7),
    "opt_in": (True, "", None),
    "consent": ({"text": "I agree to be called."}, "", None),
    "update_only": (True, "", None),
    "update_all_matching_leads": (True, "", None),
    "expire_existing": (True, "", None),
    "delete_existing": (True, "", None),
    "restart_schedule": (True, "", None),
    "unblock_contact": (True, "", None),
    "blocked": (True, "blocked", True),
    "apply_to": ("calls", "", None),
    "schedule_start": (True, "", None),
    "schedule_stop": (True, "", None),
    "move_to_another_schedule_id": (1, "", None),
    "revenue": (100, "revenue", 100.0),
    "payout": (100, "payout", 100.0),
    "buyer_converted": (True, "buyer_converted", True),
    "offer_converted": (True, "offer_converted", True),
}
OF_THEIR_OWN = {"lead_token", "caller_id", "traffic_source_id", "opt_out", *SIGNING_FIELDS}
"""Fields that need more than a value: each has a test of its own below or in `test_signed_forms`, or is in every request."""

APPLIED = frozenset({New.SET, New.HONOURED, New.CANDIDATE})


def names_of(row: str) -> list[str]:
    return [row, *(alias for alias, field in FIELD_ALIASES.items() if field == row)]


WALKED = [(row, name) for row in SAMPLES for name in names_of(row)]


async def test_the_table_has_a_row_for_every_field_and_action_and_this_walk_for_every_row() -> None:
    known = {name for row in FIELDS for name in names_of(row)}
    assert {*SUBMISSION_PARAMETERS, *COLUMNS, *NAMED_FIELDS} - {"auth_token"} <= known
    assert {*SAMPLES} | OF_THEIR_OWN == {*FIELDS}
    assert {action.rpartition(" ")[2].rpartition("/")[2] for action in ACTIONS} == {
        "leads", "create_or_update", "caller_opt_out", "caller_remove", "caller_move_to_end_of_schedule",
    }  # fmt: skip


async def lead_of(company: Any, **query: Any) -> dict[str, Any]:
    (lead,) = (await company.send("GET", "/api/v1/leads", params=query)).json()["leads"]
    found: dict[str, Any] = lead
    return found


async def kept_of(company: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await company.send("GET", "/api/v1/kept_submissions")).json()["kept_submissions"]
    return found


async def post(town: Any, body: dict[str, Any], path: str = "/api/v1/leads") -> list[str]:
    """Submit without a key; return the warnings. Whatever is stored, the answer says no more."""
    answer = await town.client.post(path, json=body)
    assert answer.status_code == 201, answer.text
    content = answer.json()
    assert {**content, "warnings": []} == {**content, "status": "accepted", "warnings": []}
    assert set(content) == {"status", "svc_number_plain", "sms_number_plain", "warnings"}
    found: list[str] = content["warnings"]
    return found


@pytest.mark.parametrize(("row", "name"), WALKED)
async def test_what_a_field_does_to_the_lead_that_a_stranger_makes(town: Any, company: Any, row: str, name: str) -> None:
    schedule = await company.schedule(steps=STEPS)
    value, column, shown = SAMPLES[row]
    warnings = await post(town, {"lead_token": schedule["lead_token"], "caller_id": NUMBER, name: value})
    lead = await lead_of(company)
    is_named = any(row in warning for warning in warnings if "without a key" in warning)
    assert is_named is (FIELDS[row].new in {New.KEY, New.OFFER}), warnings
    if not column:
        assert lead["is_live"] is True
    elif FIELDS[row].new in APPLIED:
        assert lead[column] == shown if shown is not None else lead[column] is not None
    elif shown is not None:
        assert lead[column] != shown
    elif column == "requested_next_action_at":
        assert lead[column] is None
    if row == "time_zone":
        assert lead["next_action_at"] != (await plain_lead(town, company, schedule))["next_action_at"]


async def plain_lead(town: Any, company: Any, schedule: dict[str, Any]) -> dict[str, Any]:
    await post(town, {"lead_token": schedule["lead_token"], "caller_id": "+12125550143"})
    return await lead_of(company, number="+12125550143")


@pytest.mark.parametrize("path", ["/api/v1/leads", "/api/v1/leads/create_or_update"])
@pytest.mark.parametrize(("row", "name"), WALKED)
async def test_no_field_changes_a_stored_lead(town: Any, company: Any, row: str, name: str, path: str) -> None:
    schedule = await company.schedule(steps=STEPS)
    known = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}
    await company.send("POST", "/api/v1/leads", json={**known, "time_zone": DAYTIME_ZONE, "full_name": "Ann"})
    before = await lead_of(company)
    await post(town, {**known, name: SAMPLES[row][0]}, path)
    assert await lead_of(company) == before
    is_kept = FIELDS[row].stored in {Stored.KEPT, Stored.FILLS}
    assert [one["lead_id"] for one in await kept_of(company)] == ([before["id"]] if is_kept else [])


@pytest.mark.parametrize("name", PUBLIC_PARAMETERS)
async def test_an_offer_may_allow_what_acts_on_the_new_lead_alone(town: Any, company: Any, name: str) -> None:
    offer = await company.record("offers", {"name": "Solar", "public_parameters": list(PUBLIC_PARAMETERS)})
    schedule = await company.schedule(steps=STEPS, offer_id=offer["id"])
    value, column, shown = SAMPLES[name]
    known = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}
    assert await post(town, {**known, name: value}) == []
    before = await lead_of(company)
    if column:
        assert before[column] == shown if shown is not None else before[column] is not None
    await post(town, {**known, name: value})
    assert await lead_of(company) == before


async def test_an_offer_lets_forms_fill_blanks_and_the_rest_waits_for_a_user(town: Any, company: Any) -> None:
    offer = await company.record("offers", {"name": "Solar", "public_updates": ["roof", "full_name"]})
    schedule = await company.schedule(steps=STEPS, offer_id=offer["id"])
    known = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}
    await company.send("POST", "/api/v1/leads", json={**known, "email": "ann@example.con"})
    await post(town, {**known, "roof": "flat", "full_name": "Ann", "email": "ann@example.com"})
    lead = await lead_of(company)
    assert (lead["data"], lead["full_name"], lead["email"]) == ({"roof": "flat"}, "Ann", "ann@example.con")
    (kept,) = await kept_of(company)
    accepted = await company.send("POST", f"/api/v1/kept_submissions/{kept['id']}/accept")
    assert (accepted.status_code, accepted.json()["lead"]["email"]) == (200, "ann@example.com"), accepted.text
    again = await company.send("POST", f"/api/v1/kept_submissions/{kept['id']}/accept")
    assert (again.status_code, await kept_of(company)) == (404, [])


@pytest.mark.parametrize("field", ["email", "caller_id", "time_zone", "zip_postal_code", "tcpa_consent", "restart_schedule"])
async def test_an_offer_lets_no_form_fill_an_address_a_place_or_a_consent(company: Any, field: str) -> None:
    refused = await company.send("POST", "/api/v1/offers", json={"name": "Solar", "public_updates": [field]})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["public_updates"]), refused.text


async def test_a_discarded_submission_is_gone_and_its_lead_unchanged(town: Any, company: Any, other: Any) -> None:
    schedule = await company.schedule(steps=STEPS)
    known = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}
    await company.send("POST", "/api/v1/leads", json=known)
    before = await lead_of(company)
    await post(town, {**known, "roof": "flat"})
    (kept,) = await kept_of(company)
    assert (kept["data"], kept["caller_id"], kept["email"]) == ({"roof": "flat"}, NUMBER, None)
    path = f"/api/v1/kept_submissions/{kept['id']}/discard"
    assert (await other.send("POST", path)).status_code == 404
    assert (await town.client.post(path)).status_code == 401
    assert (await company.send("POST", path)).status_code == 200
    assert (await kept_of(company), await lead_of(company)) == ([], before)


async def test_a_traffic_source_is_set_on_a_new_lead_and_kept_beside_a_stored_one(town: Any, company: Any) -> None:
    schedule = await company.schedule(steps=STEPS)
    sources = [await company.record("traffic_sources", {"name": name}) for name in ("Ads", "Others")]
    known = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}
    await post(town, {**known, "traffic_source_id": sources[0]["id"]})
    await post(town, {**known, "traffic_source_id": sources[1]["id"]})
    assert (await lead_of(company))["traffic_source_id"] == sources[0]["id"]
    assert [one["columns"] for one in await kept_of(company)] == [{"traffic_source_id": sources[1]["id"]}]


async def test_an_opt_out_in_a_submission_opts_out_and_one_that_lifts_it_needs_a_key(town: Any, company: Any) -> None:
    schedule = await company.schedule(steps=STEPS)
    known = {"lead_token": schedule["lead_token"], "caller_id": NUMBER}
    await company.send("POST", "/api/v1/leads", json=known)
    await post(town, {**known, "opt_out": True})
    assert ((await lead_of(company))["status"], (await lead_of(company))["opt_out"]) == ("opt_out", True)
    (warning,) = await post(town, {**known, "opt_out": False})
    assert "opt_out" in warning
    assert (await company.send("GET", f"/api/v1/contacts/{NUMBER}")).json()["contact"]["opted_out_at"] is not None


@pytest.mark.parametrize(
    ("number", "country"),
    [
        ("+97912345678", None), ("+881612345678", None), ("+87077391234", None), ("+882161234567", None),
        ("+88312345678", None), ("+43900123456", None), ("+34803123456", None), ("+448712345678", None),
        ("+447012345678", None), ("+19005550123", None), ("+18005550123", None), ("+15005550123", None),
        ("+442079460123", "GB"), ("+436641234567", "AT"),
    ],
)  # fmt: skip
async def test_a_number_that_the_offer_does_not_dial_is_refused(
    town: Any, company: Any, number: str, country: str | None
) -> None:
    schedule = await company.schedule(steps=STEPS)
    refused = await town.client.post("/api/v1/leads", json={"lead_token": schedule["lead_token"], "caller_id": number})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["caller_id"]), refused.text
    if country is not None:
        assert f"add {country} to dial_countries" in refused.json()["errors"]["caller_id"][0]
        offer = await company.record("offers", {"name": "Abroad", "dial_countries": [country]})
        abroad = await company.schedule(steps=STEPS, offer_id=offer["id"])
        await post(town, {"lead_token": abroad["lead_token"], "caller_id": number})
    assert await company.send("GET", "/api/v1/leads")


@pytest.mark.parametrize("number", ["+12125550142", "+16135550142", "+18765550142"])
async def test_an_offer_of_the_united_states_dials_the_other_countries_of_plus_one(
    town: Any, company: Any, number: str
) -> None:
    schedule = await company.schedule(steps=STEPS)
    await post(town, {"lead_token": schedule["lead_token"], "caller_id": number})


async def test_the_numbers_that_a_stranger_is_shown_tell_nothing_of_a_stored_lead(town: Any, company: Any) -> None:
    for place in range(3):
        await company.record("numbers", {"number": f"+1646555010{place}", "voice": True, "sms": True})
    schedule = await company.schedule(steps=STEPS)
    asks = {"lead_token": schedule["lead_token"], "caller_id": NUMBER, "assign_svc_number": True, "assign_sms_number": True}
    first = await town.client.post("/api/v1/leads", json=asks)
    again = await town.client.post("/api/v1/leads", json=asks)
    assert first.content == again.content
    lead = await lead_of(company)
    shown = (first.json()["svc_number_plain"], first.json()["sms_number_plain"])
    assert shown == (lead["svc_number_plain"], lead["sms_number_plain"])
    assert None not in shown


async def test_the_answer_is_the_same_for_nobody_and_for_people_with_leads(town: Any, company: Any) -> None:
    schedule = await company.schedule(steps=STEPS)
    drops = await company.schedule(name="Drops", steps=STEPS, duplicate_policy="reject")
    known = {"lead_token": schedule["lead_token"]}
    people = [f"+1212555015{place}" for place in range(4)]
    leads = [
        (await company.send("POST", "/api/v1/leads", json={**known, "caller_id": number})).json()["lead"]
        for number in people[:3]
    ]
    await company.send("PUT", f"/api/v1/leads/{leads[1]['id']}", json={"schedule_stop": True})
    await company.send("PUT", f"/api/v1/leads/{leads[2]['id']}", json={"opt_out": True})
    await company.send("POST", "/api/v1/leads", json={"lead_token": drops["lead_token"], "caller_id": people[3]})
    answers = [await town.client.post("/api/v1/leads", json={**known, "caller_id": number, "x": 1}) for number in people]
    rejected = {"lead_token": drops["lead_token"], "x": 1}
    answers += [await town.client.post("/api/v1/leads", json={**rejected, "caller_id": number}) for number in people]
    answered = {
        (answer.status_code, answer.content, tuple(name for name in answer.headers if name != "x-request-id"))
        for answer in answers
    }
    assert len(answered) == 1, answered
    for answer in answers:
        later = await town.client.get(f"/api/v1/requests/{answer.headers['x-request-id']}")
        assert (later.status_code, later.json()) == (201, {"status": "accepted"})


async def test_the_idempotency_keys_of_strangers_are_a_space_of_their_own_by_token(town: Any, company: Any) -> None:
    tokens = [(await company.schedule(name=name, steps=STEPS))["lead_token"] for name in ("One", "Two")]
    headers = {"Idempotency-Key": "order-1"}
    bodies = [{"lead_token": token, "caller_id": NUMBER, "x": place} for place, token in enumerate(tokens)]
    stranger = [await town.client.post("/api/v1/leads", json=body, headers=headers) for body in bodies]
    own = await company.send("POST", "/api/v1/leads", json={**bodies[0], "x": "ours"}, headers=headers)
    assert [answer.status_code for answer in (*stranger, own)] == [201, 201, 200], own.text
    other_body = await town.client.post("/api/v1/leads", json={**bodies[0], "x": 9}, headers=headers)
    assert other_body.json()["code"] == "idempotency_conflict"


async def test_an_opt_out_by_token_is_never_refused_for_a_rate(migrated_database: str) -> None:
    rates = {"write": Rate(0.01, 2), "submission": Rate(0.01, 1)}
    async with deployed(migrated_database, HttpSettings(secret_key=SECRET_KEY, wait_seconds=10.0, rates=rates)) as town:
        company = await town.company()
        known = {"lead_token": (await company.schedule(steps=STEPS))["lead_token"]}
        await post(town, {**known, "caller_id": NUMBER})
        removed = [
            (await town.client.post(f"/api/v1/leads/{NUMBER}/caller_remove", params=known)).status_code for _ in range(2)
        ]
        assert removed == [200, 429]
        assert (await town.client.post("/api/v1/leads", json={**known, "caller_id": NUMBER})).status_code == 429
        people = ["+12125550143", "+12125550144"]
        opted_out = await town.client.put(f"/api/v1/leads/{people[0]}/caller_opt_out", params=known)
        assert (opted_out.status_code, opted_out.json()) == (200, {"status": "accepted"})
        await post(town, {**known, "caller_id": people[1], "opt_out": True})
        for number in people:
            contact = (await company.send("GET", f"/api/v1/contacts/{number}")).json()["contact"]
            assert contact["opted_out_at"] is not None
