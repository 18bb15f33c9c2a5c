"""Can one call be shown, reported, changed, given keys and deleted over HTTP, and do bad requests change nothing?"""

from datetime import datetime
from typing import Any

import click
import pytest
from msgspec import structs

from adapters.cli.call_in import play
from engine.views.call import CALL_COLUMNS, DURATION_MAX
from schemas.instant import DAY, HOUR, to_rfc3339
from tests.adapters.http.conftest import Company

pytestmark = pytest.mark.asyncio(loop_scope="session")

OURS = "+12125550150"
NOBODYS_UUID = "01934b1e-0000-8000-8000-00000000000a"


async def received(company: Company, number: str = "+13055550123", **fields: Any) -> dict[str, Any]:
    """Let a person call; return the call."""
    given = {"from": number, "to": OURS, "call_ref": "pbx-1", "state": "ringing", **fields}
    answer = await company.send("POST", "/api/v1/calls/received", json=given)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["call"]
    return found


async def _offer(company: Company) -> dict[str, Any]:
    offer = await company.record("offers", {"name": "Solar"})
    await company.record("numbers", {"number": OURS, "offer_id": offer["id"]})
    return offer


async def _updated(company: Company, call: dict[str, Any], **fields: Any) -> dict[str, Any]:
    answer = await company.send("POST", f"/api/v1/calls/{call['id']}", json=fields)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["call"]
    return found


# -- shown -------------------------------------------------------------------------------------------------------------


async def test_a_call_is_shown_by_id_and_by_uuid_with_every_column(company: Any) -> None:
    call = await received(company)
    for reference in (call["id"], call["uuid"]):
        shown = (await company.send("GET", f"/api/v1/calls/{reference}")).json()["call"]
        assert list(shown) == list(CALL_COLUMNS)
        assert (shown["id"], shown["direction"], shown["status"]) == (call["id"], "inbound", "ringing")
        assert (shown["caller_number"], shown["number_called"], shown["type"]) == ("+13055550123", OURS, "Call")
        assert (shown["in_progress"], shown["no_buyer"], shown["token_values"]) == (True, True, {})
    bare = await company.send("GET", f"/api/v1/calls/{call['id']}", params={"columns": "status,id", "root": "0"})
    assert bare.json() == {"status": "ringing", "id": call["id"]}


async def test_a_serializer_leaves_internal_ids_and_money_out(company: Any) -> None:
    call = await received(company)
    shown = (await company.send("GET", f"/api/v1/calls/{call['id']}", params={"serializer": "call_external"})).json()["call"]
    assert not {"id", "lead_id", "revenue", "profit"} & set(shown)
    updated = await company.send("POST", f"/api/v1/calls/{call['id']}", json={"revenue": 1, "serializer": "call_grid"})
    assert "routes_show_path" in updated.json()["call"]
    assert "token_values" not in updated.json()["call"]


async def test_the_events_of_a_call_are_listed_oldest_first(company: Any) -> None:
    await _offer(company)
    call = await received(company)
    await received(company, state="connected")
    await _updated(company, call, revenue=12)
    await received(company, state="ended", talk_seconds=8, recording_url="https://pbx.example.com/1.wav")
    answered = (await company.send("GET", f"/api/v1/calls/{call['uuid']}/events")).json()["call"]
    assert (answered["id"], answered["uuid"], answered["created_at"]) == (call["id"], call["uuid"], call["created_at"])
    assert [(event["type"], event["event"]) for event in answered["events"]] == [
        ("AuditLog", "lead.picked_up"),
        ("Leg", "call.inbound_received"),
        ("Leg", "call.answered"),
        ("AuditLog", "call.updated"),
        ("Leg", "call.ended"),
        ("Leg", "call.inbound_ended"),
        ("CallRecording", "call.recorded"),
    ]
    moments = [datetime.fromisoformat(event["created_at"]) for event in answered["events"]]
    assert moments == sorted(moments)
    assert len({event["id"] for event in answered["events"]}) == len(answered["events"])


# -- changed -----------------------------------------------------------------------------------------------------------


async def test_every_parameter_of_an_update_takes_effect(company: Any) -> None:
    await _offer(company)
    buyer = await company.record("buyers", {"name": "Roofs", "number": "+12125550160", "user_buyer_id": "roofs"})
    source = await company.record("traffic_sources", {"name": "Ads", "user_traffic_source_id": "ads"})
    webhook = await company.record("outgoing_webhooks", {"name": "CRM", "url": "https://crm.example.com/x"})
    sold = await company.record("call_dispositions", {"name": "Sold", "code": "sold"})
    call = await received(company)
    found = await _updated(
        company,
        call,
        post_call_tokens={"roof": "flat", "gone": None},
        revenue="40.00",
        add_revenue=2.5,
        payout=10,
        add_payout="1",
        buyer_converted="yes",
        offer_converted=1,
        svc_buyer_id=buyer["id"],
        svc_traffic_source_id="ads",
        contact_field_type="17",
        fire_outgoing_webhook_ids=[webhook["id"]],
        manual_transcribe="off",
        call_disposition_id=sold["id"],
        agent_call_disposition_notes="nice person",
    )
    assert (found["token_values"], found["revenue"], found["payout"], found["profit"]) == (
        {"roof": "flat"},
        42.5,
        11.0,
        31.5,
    )
    assert (found["buyer_converted"], found["offer_converted"]) == (True, True)
    assert (found["buyer_id"], found["traffic_source_id"]) == (buyer["id"], source["id"])
    assert (found["contact_field_type"], found["call_disposition_id"]) == ("17", sold["id"])
    assert found["agent_call_disposition_notes"] == "nice person"
    assert found["user_updated_at"] is not None
    lead = (await company.send("GET", f"/api/v1/leads/{call['lead_id']}")).json()["lead"]
    assert (lead["revenue"], lead["payout"], lead["buyer_converted"], lead["buyer_id"]) == (42.5, 11.0, True, buyer["id"])
    events = (await company.send("GET", f"/api/v1/calls/{call['id']}/events")).json()["call"]["events"]
    assert [event["event"] for event in events if event["type"] == "WebhookLog"] == ["command.emitted"]
    by_name = await _updated(company, call, svc_buyer_id="roofs", post_call_tokens='{"roof": null}')
    assert (by_name["buyer_id"], by_name["token_values"]) == (buyer["id"], {})
    assert (by_name["call_disposition_id"], by_name["agent_call_disposition_notes"]) == (sold["id"], "nice person")
    taken_back = await _updated(company, call, call_disposition_id="", agent_call_disposition_notes=None)
    assert (taken_back["call_disposition_id"], taken_back["agent_call_disposition_notes"]) == (None, None)
    assert taken_back["revenue"] == found["revenue"]


async def test_an_update_by_form_and_by_query_is_the_same(company: Any) -> None:
    call = await received(company)
    path = f"/api/v1/calls/{call['id']}"
    form = await company.send("POST", path, data={"revenue": "5", "post_call_tokens[roof]": "flat"})
    assert (form.json()["call"]["revenue"], form.json()["call"]["token_values"]) == (5.0, {"roof": "flat"})
    query = await company.send("POST", path, params={"add_revenue": "1.25", "call_disposition_id": ""})
    assert query.json()["call"]["revenue"] == 6.25


async def test_a_call_is_changed_with_the_key_in_the_body_as_postbacks_send_it(town: Any, company: Any) -> None:
    call = await received(company)
    path = f"/api/v1/calls/{call['id']}"
    refused = await town.client.post(path, json={"revenue": 5})
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
    token = f"{company.public_key}.{company.private_key}"
    assert (await town.client.post(path, json={"revenue": 5, "auth_token": token})).json()["call"]["revenue"] == 5.0


async def test_the_code_of_a_disposition_keeps_its_spelling_and_is_of_no_other_in_any(company: Company) -> None:
    made = await company.record("call_dispositions", {"name": "Sold", "code": "Sold_1"})
    assert made["code"] == "Sold_1"

    again = await company.send("POST", "/api/v1/call_dispositions", json={"name": "Sold too", "code": "SOLD_1"})

    assert (again.status_code, list(again.json()["errors"])) == (409, ["code"])


BAD_UPDATES: list[tuple[dict[str, Any], list[str]]] = [
    ({"revenue": "much"}, ["revenue"]),
    ({"revenue": -1_000_000_001}, ["revenue"]),
    ({"payout": "1e12"}, ["payout"]),
    ({"add_revenue": 10**10, "add_payout": "x"}, ["add_revenue", "add_payout"]),
    ({"buyer_converted": "maybe"}, ["buyer_converted"]),
    ({"svc_buyer_id": 4711}, ["svc_buyer_id"]),
    ({"svc_buyer_id": "nobody"}, ["svc_buyer_id"]),
    ({"svc_traffic_source_id": "x" * 300}, ["svc_traffic_source_id"]),
    ({"fire_outgoing_webhook_ids": [1, "x"]}, ["fire_outgoing_webhook_ids"]),
    ({"fire_outgoing_webhook_ids": "4711"}, ["fire_outgoing_webhook_ids"]),
    ({"call_disposition_id": 0}, ["call_disposition_id"]),
    ({"call_disposition_id": 4711}, ["call_disposition_id"]),
    ({"agent_call_disposition_notes": "x" * 4001}, ["agent_call_disposition_notes"]),
    ({"agent_call_disposition_notes": "a\x00b"}, ["agent_call_disposition_notes"]),
    ({"post_call_tokens": "no object"}, ["post_call_tokens"]),
    ({"post_call_tokens": [1]}, ["post_call_tokens"]),
    ({"post_call_tokens": {"long": "x" * 5000}}, ["post_call_tokens.long"]),
    ({"post_call_tokens": {str(place): 1 for place in range(201)}}, ["post_call_tokens"]),
    ({"schedule_callback_at": "tomorrow"}, ["schedule_callback_at"]),
    ({"serializer": "xml"}, ["serializer"]),
]


@pytest.mark.parametrize(("fields", "named"), BAD_UPDATES)
async def test_a_bad_update_names_every_field_and_changes_nothing(
    company: Any, fields: dict[str, Any], named: list[str]
) -> None:
    call = await received(company)
    answer = await company.send("POST", f"/api/v1/calls/{call['id']}", json={"contact_field_type": "1", **fields})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, named), answer.text
    assert (await company.send("GET", f"/api/v1/calls/{call['id']}")).json()["call"]["contact_field_type"] is None


async def test_a_call_is_transcribed_only_where_a_service_is_configured_and_a_recording_kept(
    town: Any, company: Any
) -> None:
    call, elsewhere = (
        await received(company),
        await received(company, call_ref="pbx-2", state="ended", recording_url="https://pbx.example.com/1.wav"),
    )
    asked = {"manual_transcribe": True, "revenue": 5}
    answers = [await company.send("POST", f"/api/v1/calls/{one['id']}", json=asked) for one in (call, elsewhere)]
    structs.force_setattr(town.recordings, "transcribes", False)
    unconfigured = await company.send("POST", f"/api/v1/calls/{call['id']}", json=asked)
    structs.force_setattr(town.recordings, "transcribes", True)

    assert [(one.status_code, one.json()["code"]) for one in answers] == [(422, "validation_failed")] * 2
    assert [one.json()["errors"]["manual_transcribe"] for one in answers] == [
        ["needs a recording that is kept here. This call has no recording."],
        ["needs a recording that is kept here. The recording is not kept here, but where recording_url says."],
    ]
    assert (unconfigured.status_code, unconfigured.json()["code"]) == (422, "not_supported")
    assert "set LEADCLOCK_TRANSCRIBER_URL" in unconfigured.json()["errors"]["manual_transcribe"][0]
    shown = (await company.send("GET", f"/api/v1/calls/{call['id']}")).json()["call"]
    assert (shown["revenue"], shown["transcription_status"]) == (0.0, None), "nothing of a refused update is done"


async def test_records_of_another_company_are_named_by_nobody(company: Any, other: Any) -> None:
    call = await received(company)
    foreign = await other.record("buyers", {"name": "B", "number": "+12125550170", "user_buyer_id": "theirs"})
    for value in (foreign["id"], "theirs"):
        answer = await company.send("POST", f"/api/v1/calls/{call['id']}", json={"svc_buyer_id": value})
        assert (answer.status_code, list(answer.json()["errors"])) == (422, ["svc_buyer_id"])


@pytest.mark.parametrize("reference", ["4711", NOBODYS_UUID, "0", "nonsense", "9" * 30, "%00", "theirs"])
async def test_a_call_that_is_not_there_is_not_found_whatever_is_asked(company: Any, other: Any, reference: str) -> None:
    if reference == "theirs":
        reference = str((await received(other))["id"])
    for method, path in (("GET", ""), ("GET", "/events"), ("POST", ""), ("DELETE", "")):
        answer = await company.send(method, f"/api/v1/calls/{reference}{path}")
        expected = (422, "validation_failed") if reference == "%00" else (404, "not_found")
        assert (answer.status_code, answer.json()["code"]) == expected, (method, path)


# -- by number ---------------------------------------------------------------------------------------------------------


async def test_the_calls_of_a_number_and_offer_are_changed_together(company: Any) -> None:
    offer = await _offer(company)
    first = await received(company)
    await received(company, state="ended")
    second = await received(company, call_ref="pbx-2")
    path = "/api/v1/calls/update_by_caller_id/%2B13055550123"
    fields = {"offer_token": offer["lead_token"], "call_timeframe": "60", "add_revenue": "3.5", "buyer_converted": True}
    answer = await company.send("POST", path, data=fields)
    assert answer.status_code == 200, answer.text
    assert (answer.json()["call"]["id"], answer.json()["call_ids"]) == (second["id"], [second["id"], first["id"]])
    for call in (first, second):
        shown = (await company.send("GET", f"/api/v1/calls/{call['id']}")).json()["call"]
        assert (shown["revenue"], shown["buyer_converted"]) == (3.5, True)
    of_one_call = await company.send("POST", path, json={**fields, "svc_buyer_id": None, "payout": 9})
    assert (of_one_call.status_code, set(of_one_call.json()["errors"])) == (422, {"svc_buyer_id", "payout"})


async def test_a_bad_update_by_number_is_refused(town: Any, company: Any, other: Any) -> None:
    offer = await _offer(company)
    schedule = await company.schedule()
    await received(company)
    token = offer["lead_token"]
    for number, fields, status, code in [
        ("+13055550123", {}, 422, "validation_failed"),
        ("+13055550123", {"offer_token": "lt_nobodys"}, 404, "unknown_lead_token"),
        ("+13055550123", {"offer_token": schedule["lead_token"]}, 404, "unknown_lead_token"),
        ("nobody", {"offer_token": token}, 422, "validation_failed"),
        ("+13055550124", {"offer_token": token}, 404, "not_found"),
        ("+13055550123", {"offer_token": token, "call_timeframe": 0}, 422, "validation_failed"),
        ("+13055550123", {"offer_token": token, "call_disposition_id": 4711}, 422, "validation_failed"),
        ("a%00", {"offer_token": token}, 422, "validation_failed"),
    ]:
        answer = await company.send("POST", f"/api/v1/calls/update_by_caller_id/{number}", json={"add_revenue": 1, **fields})
        assert (answer.status_code, answer.json()["code"]) == (status, code), (number, fields, answer.text)
    blank = await company.send("POST", "/api/v1/calls/update_by_caller_id/+13055550123", json={"offer_token": " "})
    assert blank.json()["errors"] == {"offer_token": ["must be the lead token of an offer"]}
    theirs = await other.send("POST", "/api/v1/calls/update_by_caller_id/+13055550123", json={"offer_token": token})
    assert (theirs.status_code, theirs.json()["code"]) == (404, "unknown_lead_token")
    nobody = await town.client.post("/api/v1/calls/update_by_caller_id/+13055550123", json={"offer_token": token})
    assert nobody.status_code == 401


async def test_a_lead_is_called_back_as_an_update_of_its_call_says(company: Company) -> None:
    await _offer(company)
    call = await received(company)
    await _updated(company, call, schedule_callback_in_seconds=86_400)
    answer = await company.send("GET", f"/api/v1/leads/{call['lead_id']}")
    lead = answer.json()["lead"]
    assert lead["scheduled_callback_id"] is not None
    await company.send("PUT", f"/api/v1/leads/{lead['uuid']}", json={"schedule_stop": True})
    again = {"revenue": 5, "schedule_callback_in_seconds": 86_400}
    answer = await company.send("POST", f"/api/v1/calls/{call['id']}", json=again)
    assert (answer.status_code, answer.json()["code"]) == (409, "lead_not_live")
    answer = await company.send("GET", f"/api/v1/calls/{call['id']}")
    assert answer.json()["call"]["revenue"] == 0.0


async def test_call_me_tomorrow_is_promised_of_a_lead_that_has_completed(company: Company) -> None:
    await _offer(company)
    call = await received(company)
    disposition = await company.record("call_dispositions", {"name": "Call back", "code": "CB"})
    judged = {"call_disposition_id": disposition["id"], "agent_call_disposition_notes": "wants a quote"}
    lead_path = f"/api/v1/leads/{call['lead_id']}"
    await company.send("PUT", lead_path, json={"schedule_stop": True})
    answer = await company.send(
        "POST", f"/api/v1/calls/{call['id']}", json={**judged, "schedule_callback_in_seconds": 86_400}
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["warnings"] == [
        "No callback is made. The lead has ended (removed); no action of it can be planned."
    ]
    shown = answer.json()["call"]
    assert (shown["call_disposition_id"], shown["agent_call_disposition_notes"]) == (disposition["id"], "wants a quote")
    assert (await company.send("GET", lead_path)).json()["lead"]["scheduled_callback_id"] is None


# -- keys and deletion -------------------------------------------------------------------------------------------------


async def test_what_a_gateway_still_tells_of_a_deleted_call_is_refused(company: Company) -> None:
    await _offer(company)
    call = await received(company)
    assert (await company.send("DELETE", f"/api/v1/calls/{call['id']}")).status_code == 200
    report = {"from": "+13055550123", "to": OURS, "call_ref": "pbx-1", "state": "ended"}
    answer = await company.send("POST", "/api/v1/calls/received", json=report)
    assert (answer.status_code, answer.json()["code"]) == (410, "deleted")
    listed = await company.send("GET", "/api/v1/calls")
    assert listed.json()["calls"] == []


async def test_keys_that_cannot_be_pressed_are_refused(company: Any, other: Any) -> None:
    call = await received(company)
    theirs = await received(other)
    for fields, status, named in [
        ({}, 422, ["id", "digits"]),
        ({"id": call["id"]}, 422, ["digits"]),
        ({"id": "x", "digits": "1"}, 422, ["id"]),
        ({"id": call["id"], "digits": "12345 "}, 422, ["digits"]),
        ({"id": call["id"], "digits": "1" * 65}, 422, ["digits"]),
        ({"id": call["id"], "digits": True}, 422, ["digits"]),
        ({"id": call["id"], "digits": "1", "data": "x"}, 422, ["data"]),
        ({"id": theirs["id"], "digits": "1"}, 404, []),
        ({"id": NOBODYS_UUID, "digits": "1"}, 404, []),
    ]:
        answer = await company.send("POST", "/api/v1/calls/send_key_press", json=fields)
        assert (answer.status_code, list(answer.json()["errors"])) == (status, named), answer.text
    inbound = await company.send("POST", "/api/v1/calls/send_key_press", json={"id": call["id"], "digits": "1"})
    assert (inbound.status_code, inbound.json()["code"]) == (422, "not_supported")
    await received(company, state="ended")
    over = await company.send("POST", "/api/v1/calls/send_key_press", json={"id": call["uuid"], "digits": 1})
    assert (over.status_code, over.json()["code"]) == (409, "call_ended")


async def test_a_deleted_call_is_gone_and_says_so(company: Any) -> None:
    call = await received(company)
    answer = await company.send("DELETE", f"/api/v1/calls/{call['uuid']}")
    assert (answer.status_code, answer.json()["call"]["id"]) == (200, call["id"])
    assert answer.json()["call"]["deleted_at"] is not None
    for method, path in (("GET", ""), ("GET", "/events"), ("POST", ""), ("DELETE", "")):
        again = await company.send(method, f"/api/v1/calls/{call['id']}{path}")
        assert (again.status_code, again.json()["code"]) == (410, "deleted")


# -- received ----------------------------------------------------------------------------------------------------------


async def test_an_inbound_call_is_reported_to_its_end_and_its_lead_is_picked_up(town: Any, company: Any) -> None:
    offer = await _offer(company)
    fields = {"lead_token": offer["lead_token"], "caller_id": "+13055550123", "data": {"roof": "flat"}}
    assert (await town.client.post("/api/v1/leads", json=fields)).status_code == 201
    (waiting,) = (await company.send("GET", "/api/v1/leads")).json()["leads"]
    call = await received(company, **{"from": "(305) 555-0123"})
    assert (call["lead_id"], call["offer_id"], call["token_values"]) == (waiting["id"], offer["id"], {"roof": "flat"})
    await received(company, state="connected", provider="our pbx", provider_sid="x1")
    over = await received(company, state="ended", talk_seconds=33, hung_up_by="caller", hangup_cause="16", cost="0.05")
    assert (over["status"], over["outcome"], over["talk_duration"]) == ("finished", "connected_human", 33)
    assert (over["hung_up_by"], over["hangup_cause"], over["cost"], over["profit"]) == ("caller", "16", 0.05, -0.05)
    lead = (await company.send("GET", f"/api/v1/leads/{waiting['id']}")).json()["lead"]
    assert (lead["status"], lead["connected_call_id"]) == ("completed_connected", call["id"])


async def test_of_a_person_who_calls_first_it_is_known_where_the_number_says_that_they_are(company: Any) -> None:
    await _offer(company)
    call = await received(company)
    assert (call["country"], call["state"], call["time_zone"]) == ("US", "FL", "America/New_York")
    lead = (await company.send("GET", f"/api/v1/leads/{call['lead_id']}")).json()["lead"]
    assert (lead["caller_id"], lead["country"]) == ("+13055550123", "US")


async def test_a_report_of_a_call_that_cannot_be_is_refused(company: Any) -> None:
    good: dict[str, Any] = {"from": "+13055550123", "to": OURS, "call_ref": "pbx-1", "state": "ringing"}
    missing: dict[str, Any] = dict.fromkeys(good)
    for fields, status, named in [
        (missing, 422, ["to", "call_ref", "state"]),
        ({"from": True}, 422, ["from"]),
        ({"to": True}, 422, ["to"]),
        ({"state": "sleeping"}, 422, ["state"]),
        ({"call_ref": "x" * 201}, 422, ["call_ref"]),
        ({"occurred_at": "noon"}, 400, ["occurred_at"]),
        ({"buyer_id": 4711}, 422, ["buyer_id"]),
        ({"talk_seconds": -1, "cost": "x"}, 422, ["talk_seconds", "cost"]),
        ({"detail": "a\x00"}, 422, ["detail"]),
    ]:
        answer = await company.send("POST", "/api/v1/calls/received", json={**good, **fields})
        assert (answer.status_code, list(answer.json()["errors"])) == (status, named), answer.text


async def test_a_report_names_a_provider_configuration_of_the_company_also_a_deleted_one(company: Any, other: Any) -> None:
    fields = {"name": "Twilio", "channel": "call", "provider": "twilio", "settings": {"account_sid": "AC1"}}
    mine = await company.record("provider_configurations", fields)
    theirs = await other.record("provider_configurations", fields)
    good = {"from": "+13055550123", "to": OURS, "call_ref": "pbx-1", "state": "ringing"}

    for foreign in (theirs["id"], 999_999_999):
        report = {**good, "provider_configuration_id": foreign}
        answer = await company.send("POST", "/api/v1/calls/received", json=report)
        assert (answer.status_code, list(answer.json()["errors"])) == (422, ["provider_configuration_id"]), answer.text
    assert (await company.send("GET", "/api/v1/calls")).json()["calls"] == []
    assert (await received(company, provider_configuration_id=mine["id"]))["provider_configuration_id"] == mine["id"]

    await company.send("DELETE", f"/api/v1/provider_configurations/{mine['id']}")
    ended = await received(company, state="ended", provider_configuration_id=mine["id"])
    assert (ended["ended_at"] is None, ended["provider_configuration_id"]) == (False, mine["id"])


@pytest.mark.parametrize("ahead", [HOUR // 2, 2 * HOUR, 1_000 * DAY])
async def test_a_call_that_a_gateway_says_is_still_to_come_is_taken_as_of_now_and_marked(company: Any, ahead: int) -> None:
    call = await received(company, occurred_at=to_rfc3339(company.town.context.clock.now() + ahead))
    assert call["ringing_at"] == call["created_at"]
    events = (await company.send("GET", f"/api/v1/calls/{call['id']}/events")).json()["call"]["events"]
    assert [event["event"] for event in events if event.get("clock_skew")] == ["call.reported"]


async def test_a_gateway_whose_clock_stands_still_spoils_no_report(company: Any) -> None:
    for ref, began_at in (("pbx-1", "0001-01-02T00:00:00Z"), ("pbx-2", "1900-01-01 00:00:00 +0000")):
        await received(company, call_ref=ref, state="connected", occurred_at=began_at)
        await received(company, call_ref=ref, state="on-hold", occurred_at=began_at)
        call = await received(company, call_ref=ref, state="ended")
        assert max(call["talk_duration"], call["hold_duration"], call["total_duration"]) == DURATION_MAX
    await received(company, call_ref="pbx-3", state="ended", occurred_at="0001-01-01T00:00:00Z", talk_seconds=0)
    await received(company, call_ref="pbx-4", state="ended", occurred_at="0001-01-01T00:00:00Z", talk_seconds=DURATION_MAX)
    assert (await company.send("GET", "/api/v1/calls")).status_code == 200
    day = DURATION_MAX
    for path in ("/api/v1/calls/reports?category=status", "/api/v1/calls/reports?category=status&no_buyer=true"):
        answer = await company.send("GET", path)
        assert answer.status_code == 200, answer.text
        assert answer.json()["totals"]["total_duration"] == 3 * day
    assert (await company.send("GET", "/api/v1/buyer_groups")).status_code == 200


async def test_a_demonstration_lets_a_person_call(town: Any, company: Any) -> None:
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    town.client.headers.update(company.headers)
    try:
        call = await play(town.client, "+13055550123", OURS, rings=4, talks=20, pause=pause)
        missed = await play(town.client, "+13055550123", OURS, rings=9, talks=None, pause=pause)
        with pytest.raises(click.ClickException, match="to must be a valid telephone number"):
            await play(town.client, "+13055550123", "nobody", rings=4, talks=20, pause=pause)
    finally:
        for name in company.headers:
            del town.client.headers[name]
    assert waits == [4, 20, 0, 9, 0]
    assert (call["status"], call["outcome"], call["talk_duration"]) == ("finished", "connected_human", 20)
    assert (missed["status"], missed["outcome"], missed["offer_repeat_caller"]) == (
        "caller-hung-up",
        "caller_hung_up",
        False,
    )
