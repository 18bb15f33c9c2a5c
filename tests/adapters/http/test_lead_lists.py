"""Does a list of leads return what was requested: each filter, each form, as JSON and as a CSV export?"""

import asyncio
import csv
import io
from typing import Any

import pytest

from adapters.csv_cells import format_csv_cell
from adapters.http.exchange import exports
from engine.submission.fields import parse_moment
from engine.views.lead import GRID_COLUMNS, SERIALIZERS
from engine.views.lead_columns import LEAD_COLUMNS
from schemas.instant import DAY, to_rfc3339
from tests.adapters.http.conftest import unquoted

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def _submit(company: Any, schedule: dict[str, Any], number: str, **fields: Any) -> dict[str, Any]:
    answer = await company.send(
        "POST", "/api/v1/leads", json={"lead_token": schedule["lead_token"], "caller_id": number, **fields}
    )
    assert answer.status_code == 201, answer.text
    lead: dict[str, Any] = answer.json()["lead"]
    return lead


async def _list(company: Any, **query: Any) -> list[dict[str, Any]]:
    answer = await company.send("GET", "/api/v1/leads", params=query)
    assert answer.status_code == 200, answer.text
    leads: list[dict[str, Any]] = answer.json()["leads"]
    return leads


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


async def test_text_is_found_in_names_numbers_addresses_and_tokens(company: Any) -> None:
    schedule = await company.schedule()
    ann = await _submit(
        company, schedule, "+13055550101", full_name="Ann O'Neil", email="ann@roofs.example.com", roof="flat tin"
    )
    ben = await _submit(company, schedule, "+13055550102", name="Ben Lee", data={"notes": {"pet": "Zebra"}, "floors": 12})
    for text, expected in [
        ("ann", [ann]),
        ("NEIL", [ann]),
        ("roofs.example", [ann]),
        ("tin flat", [ann]),
        ("zeb", [ben]),
        ("12", [ben]),
        ("+1 305-555-0102", [ben]),
        ("0101", [ann]),
        ("5550101", [ann]),
        ("305", [ben, ann]),
        ("ann zebra", []),
        ("eil", []),
    ]:
        assert [lead["id"] for lead in await _list(company, fulltext=text)] == [lead["id"] for lead in expected], text
    await company.send("PUT", f"/api/v1/leads/{ann['id']}", json={"full_name": "Mia Chen"})
    assert [lead["id"] for lead in await _list(company, fulltext="mia")] == [ann["id"]]
    assert await _list(company, fulltext="neil") == []
    await company.send("DELETE", f"/api/v1/leads/{ann['id']}/id")
    assert await _list(company, fulltext="mia") == []


async def test_an_address_is_found_whatever_its_case(company: Any) -> None:
    schedule = await company.schedule()
    ann = await _submit(company, schedule, "+13055550101", email="Ann.Lee@Example.com")
    for email in ("ann.lee@example.com", "ANN.LEE@EXAMPLE.COM", "Ann.Lee@Example.com"):
        assert [lead["id"] for lead in await _list(company, email=email)] == [ann["id"]]
    assert await _list(company, email="ann.lee@example.org") == []


async def test_each_serializer_shows_its_own_columns(company: Any) -> None:
    schedule = await company.schedule()
    lead = await _submit(company, schedule, "+13055550101", sub_id="s-1", external_record_id="crm-7")
    for name, columns in [("", LEAD_COLUMNS), ("lead", LEAD_COLUMNS), ("lead_grid", GRID_COLUMNS)]:
        (found,) = await _list(company, serializer=name)
        assert tuple(found) == columns
    (outside,) = await _list(company, serializer="lead_external")
    assert tuple(outside) == SERIALIZERS["lead_external"]
    assert outside["caller_id"] == lead["caller_id"], "the number is the person's, not an internal id"
    assert (outside["uuid"], outside["sub_id"], outside["external_record_id"]) == (lead["uuid"], "s-1", "crm-7")
    assert not {"id", "offer_id", "schedule_id", "buyer_id", "revenue", "payout", "routes_show_path"} & set(outside)
    assert str(lead["id"]) not in str(outside)
    shown = await company.send("GET", f"/api/v1/leads/{lead['uuid']}", params={"serializer": "lead_external"})
    assert shown.json()["lead"]["uuid"] == lead["uuid"]
    assert "id" not in shown.json()["lead"]
    assert list((await _list(company, serializer="lead_external", columns="uuid,status"))[0]) == ["uuid", "status"]
    refused = await company.send("GET", "/api/v1/leads", params={"serializer": "lead_external", "columns": "id"})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["columns"])


async def test_a_person_is_found_by_the_number_that_calls_show_for_them(company: Any) -> None:
    schedule = await company.schedule()
    lead = await _submit(company, schedule, "+13055550101")
    await _submit(company, schedule, "+13055550102")
    person = company.contact_id("+13055550101")
    assert [found["id"] for found in await _list(company, contact_id=person)] == [lead["id"]]
    assert await _list(company, contact_id=person + 1) == []


async def test_csv_is_chosen_by_suffix_or_by_accept_and_a_page_of_it_by_its_parameters(company: Any) -> None:
    schedule = await company.schedule()
    for place in range(5):
        await _submit(company, schedule, f"+1305555010{place}")
    for path, headers, is_csv in [
        ("/api/v1/leads.csv", {}, True),
        ("/api/v1/leads", {"Accept": "text/csv"}, True),
        ("/api/v1/leads", {"Accept": "application/json;q=0.5, text/csv;q=0.9"}, True),
        ("/api/v1/leads", {"Accept": "text/csv;q=0.2, */*"}, False),
        ("/api/v1/leads", {"Accept": "text/csv, application/json"}, False),
        ("/api/v1/leads", {"Accept": "text/csv;q=much, */*;q=0.1"}, False),
        ("/api/v1/leads", {"Accept": "*/*"}, False),
        ("/api/v1/leads.json", {"Accept": "text/csv"}, False),
        ("/api/v1/leads.csv", {"Accept": "application/json"}, True),
    ]:
        answer = await company.send("GET", path, headers=headers)
        expected = "text/csv; charset=utf-8" if is_csv else "application/json"
        assert answer.headers["content-type"] == expected, (path, answer.text[:300])
    whole = _rows((await company.send("GET", "/api/v1/leads.csv")).text)
    assert len(whole) == 5
    assert list(whole[0]) == list(LEAD_COLUMNS)
    page = await company.send("GET", "/api/v1/leads.csv", params={"per_page": "2", "page": "2", "columns": "caller_id"})
    assert unquoted(page.text) == "caller_id\r\n+13055550102\r\n+13055550101\r\n"
    assert page.headers["x-total-count"] == "5"
    below = {"cursor": sorted(int(row["id"]) for row in whole)[2], "columns": "caller_id"}
    assert len(_rows((await company.send("GET", "/api/v1/leads.csv", params=below)).text)) == 2
    assert (await company.send("HEAD", "/api/v1/leads.csv")).text == ""


async def test_a_file_holds_every_row_once_in_the_order_asked_for(company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "BATCH_ROWS", 2)
    schedule = await company.schedule()
    made = [
        await _submit(company, schedule, f"+1305555010{place}", **({"email": f"p{place}@example.com"} if place % 3 else {}))
        for place in range(7)
    ]
    ids = [lead["id"] for lead in made]
    emails = [lead for lead in made if lead["email"]]
    plain = [lead["id"] for lead in reversed(made) if not lead["email"]]
    for query, expected in [
        ({}, ids[::-1]),
        ({"order_dir": "asc"}, ids),
        ({"order": "email"}, [lead["id"] for lead in emails[::-1]] + plain),
        ({"order": "email", "order_dir": "asc"}, [lead["id"] for lead in emails] + plain[::-1]),
        ({"order": "revenue"}, ids[::-1]),
        ({"fulltext": "example"}, [lead["id"] for lead in emails[::-1]]),
        ({"status": "expired"}, []),
    ]:
        answer = await company.send("GET", "/api/v1/leads.csv", params={"columns": "id", **query})
        assert [int(row["id"]) for row in _rows(answer.text)] == expected, query


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("=SUM(A1)", "'=SUM(A1)"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@import", "'@import"),
        ("\t=1", "'\t'=1"),
        ("\n=1", "'\n'=1"),
        ("\r=1", "'\r'=1"),
        ("+13055550123", "+13055550123"),
        ("-12.50", "-12.50"),
        ("-5", "-5"),
        (-5, -5),
        (2.5, 2.5),
        (True, "true"),
        (None, None),
        ({"a": "=1"}, '{"a":"=1"}'),
        ("", ""),
        ("Ann", "Ann"),
    ],
)
async def test_what_a_spreadsheet_would_run_is_disarmed_and_numbers_stay(value: Any, expected: Any) -> None:
    assert format_csv_cell(value) == expected


async def test_an_export_imports_again(company: Any) -> None:
    first, second = await company.schedule(), await company.schedule(name="Second")
    await _submit(
        company, first, "+13055550101", full_name="Ann Lee", email="ann@example.com", state="CA", zip="90001",
        sub_id="-7", data={"score": "-12.5", "other": "+13055550199", "roof": "flat"},
    )  # fmt: skip
    columns = ("caller_id", "email", "full_name", "state_province", "zip_postal_code", "sub_id", "data")
    asked = {"columns": ",".join(columns), "schedule_id": first["id"]}
    (row,) = _rows((await company.send("GET", "/api/v1/leads.csv", params=asked)).text)
    again = await company.send("POST", "/api/v1/leads", data={"lead_token": second["lead_token"], **row})
    assert again.status_code == 201, again.text
    copied = again.json()["lead"]
    (original,) = await _list(company, schedule_id=first["id"])
    assert {name: copied[name] for name in columns} == {name: original[name] for name in columns}


async def test_a_change_may_say_which_version_it_is_of(company: Any) -> None:
    schedule = await company.schedule()
    lead = await _submit(company, schedule, "+13055550101")
    path = f"/api/v1/leads/{lead['id']}"
    first = (await company.send("GET", path)).headers["etag"]
    assert first == (await company.send("GET", path)).headers["etag"]
    changed = await company.send("PUT", path, json={"full_name": "Ann Lee"}, headers={"If-Match": first})
    assert changed.status_code == 200, changed.text
    assert changed.json()["lead"]["user_updated_at"] is not None
    second = (await company.send("GET", path)).headers["etag"]
    assert second == changed.headers["etag"] != first
    for stale in (first, f"W/{first}", '"nonsense"', '"99999999999999999999"'):
        refused = await company.send("PUT", path, json={"full_name": "Mia"}, headers={"If-Match": stale})
        assert (refused.status_code, refused.json()["code"]) == (409, "version_conflict"), stale
    for fresh in ("{}", '"1", {}', "*"):
        taken = await company.send("PUT", path, json={}, headers={"If-Match": fresh.format(second)})
        assert taken.status_code == 200, taken.text
        second = taken.headers["etag"]
    assert (await company.send("GET", path)).json()["lead"]["full_name"] == "Ann Lee"


async def test_every_column_of_a_lead_has_its_value(company: Any) -> None:
    number = await company.record("numbers", {"number": "+13055550188", "sms": True})
    source = await company.record("traffic_sources", {"name": "Ads"})
    offer = await company.record("offers", {"name": "Solar"})
    schedule = await company.schedule(offer_id=offer["id"])
    lead = await _submit(
        company, schedule, "+13055550101", email="ann@example.com", full_name="Ann Lee", hours_to_expire=2,
        traffic_source_id=source["id"], sub_id="s-1", remote_ip="192.0.2.7", contact_field_type="7", country="US",
        state="CA", zip="90001", time_zone="America/Los_Angeles", external_record_id="crm-1", assign_sms_number=True,
        assign_svc_number=True, data={"roof": "flat"}, lead_import_id=9,
    )  # fmt: skip
    path = f"/api/v1/leads/{lead['id']}"
    shown = (await company.send("PUT", path, json={"buyer_converted": "true"})).json()["lead"]
    expected: dict[str, Any] = {
        "legacy_id": None, "type": "Lead", "deleted_at": None, "routes_show_path": path, "routes_edit_path": path,
        "external_record_id": "crm-1", "context_menu_name": "Ann Lee", "name": "Ann Lee", "caller_id": "+13055550101",
        "email": "ann@example.com", "full_name": "Ann Lee", "contact_field_type": "7", "country": "US",
        "state_province": "CA", "zip_postal_code": "90001", "time_zone": "America/Los_Angeles", "sub_id": "s-1",
        "offer_id": offer["id"], "schedule_id": schedule["id"], "status": "completed_converted", "css_status": "success",
        "has_next_action": False, "opt_out": False, "revenue": 0.0, "payout": 0.0, "offer_converted": False,
        "buyer_converted": True, "traffic_source_id": source["id"], "buyer_id": None, "lead_import_id": 9,
        "remote_ip": "192.0.2.7", "attempted_call_id": None, "connected_call_id": None, "scheduled_callback_id": None,
        "call_offer_conversion_id": None, "sms_number_id": number["id"],
        "dial_number_id": number["id"], "dial_tier": None, "is_live": False, "blocked": False, "data": {"roof": "flat"},
        "expires_in": 0,
    }  # fmt: skip
    assert {name: shown[name] for name in expected} == expected
    (conversion,) = (await company.send("GET", "/api/v1/buyer_conversions")).json()["buyer_conversions"]
    assert shown["call_buyer_conversion_id"] == conversion["id"]
    assert parse_moment(shown["user_updated_at"]) >= parse_moment(shown["created_at"])
    assert shown["schedule_ended_at"] is not None
    assert {name for name in LEAD_COLUMNS if shown[name] is None} <= {
        "legacy_id", "scheduled_callback_id", "call_offer_conversion_id",
        "dial_tier", "deleted_at", "buyer_id", "attempted_call_id", "connected_call_id", "last_action_at", "first_action_at",
        "next_action_at", "last_call_at", "schedule_trigger_type", "status_wait", "planned_at", "callback_at",
        "recent_call_disposition_id", "requested_next_action_at", "impression_uuid",
    }  # fmt: skip


async def test_buyers_that_could_take_a_call_are_listed_and_why_others_cannot(company: Any) -> None:
    async def buyer(name: str, **more: Any) -> int:
        made = await company.record("buyers", {"name": name, "number": "+12125550140", **more})
        return int(made["id"])

    free, paused, closed, alone = [
        await buyer("free"), await buyer("paused", paused=True), await buyer("closed", concurrency_cap_limit=0),
        await buyer("alone", concurrency_cap_limit=2),
    ]  # fmt: skip
    pleased = await buyer("pleased", filters=["state:FL|GA", "outbound_calls_count:<1", "roof:!=flat"])
    choosy = await buyer("choosy", filters=["state:FL|GA", "roof:flat"])
    group = await company.record("buyer_groups", {"name": "Open", "buyer_ids": [free, paused, closed, choosy, pleased]})
    shut = await company.record("buyer_groups", {"name": "Shut", "buyer_ids": [alone], "attempt_daily_limit": 0})
    offer = await company.record("offers", {"name": "Solar", "buyer_group_ids": [shut["id"]]})
    steps = [{"id": "call-1", "kind": "call", "connect": {"buyer_group_id": group["id"]}}]
    schedule = await company.schedule(
        steps=[{"id": "pause", "kind": "wait", "duration": "1h"}, *steps], offer_id=offer["id"]
    )
    lead = await _submit(company, schedule, "+13055550101")
    path = f"/api/v1/leads/{lead['id']}/buyer_is_available"
    found = (await company.send("GET", path)).json()
    assert {name: found[name] for name in ("available", "buyer_ids", "next_available_at", "reasons")} == {
        "available": True,
        "buyer_ids": [free, pleased],
        "next_available_at": None,
        "reasons": {str(paused): "paused", str(closed): "concurrency", str(alone): "daily_cap", str(choosy): "filter"},
    }
    await company.send("PUT", f"/api/v1/buyer_groups/{group['id']}", json={"paused": True})
    await company.send("PUT", f"/api/v1/offers/{offer['id']}", json={"buyer_ids": [alone]})
    for _ in range(100):  # the rules reach the API by a topic of their own
        found = (await company.send("GET", path)).json()
        if found["buyer_ids"] == [alone]:
            break
        await asyncio.sleep(0.05)
    assert (found["buyer_ids"], found["reasons"][str(free)]) == ([alone], "paused")
    tomorrow = to_rfc3339(company.town.context.clock.now() + DAY)
    await company.send("PUT", f"/api/v1/buyers/{alone}", json={"paused": True, "unpause_at": tomorrow})
    for _ in range(100):
        found = (await company.send("GET", path)).json()
        if found["reasons"].get(str(alone)) == "paused":
            break
        await asyncio.sleep(0.05)
    assert (found["available"], found["next_available_at"]) == (False, tomorrow)
    await company.send("PUT", f"/api/v1/leads/{lead['id']}", json={"opt_out": True})
    found = (await company.send("GET", path)).json()
    assert (found["available"], set(found["reasons"].values())) == (False, {"suppressed"})
    assert (await company.send("GET", "/api/v1/leads/1/buyer_is_available")).json()["code"] == "not_found"
