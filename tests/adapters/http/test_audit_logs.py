"""Does the audit log say who changed which record, with which key, from where, and nothing to anybody else?"""

from typing import Any

import pytest

from adapters.http.exchange.access import Access, actor_of
from tests.adapters.http.test_teams import ADA, person, team

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOG = "/api/v1/audit_logs"
BUYER = {"name": "Sunny", "number": "+12125550140"}


async def entries(company: Any, **params: Any) -> list[dict[str, Any]]:
    answer = await company.send("GET", LOG, params=params)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["audit_logs"]
    return found


async def test_each_change_of_a_record_is_listed_with_its_key_fields_and_address(company: Any, other: Any) -> None:
    made = await company.record("buyers", BUYER)
    path = f"/api/v1/buyers/{made['id']}"
    for fields in ({"paused": True, "name": "Cloudy"}, {"paused": True}):
        assert (await company.send("PUT", path, json=fields)).status_code == 200
    assert (await company.send("DELETE", path)).status_code == 200

    rows = await entries(company, record_type="buyer")

    assert [(row["action"], row["version"], row["fields"]) for row in rows] == [
        ("deleted", 3, None),
        ("updated", 2, ["name", "paused"]),
        ("created", 1, None),
    ]
    assert {(row["record_id"], row["actor"], row["user_email"]) for row in rows} == {(made["id"], "key", None)}
    assert {row["address"] for row in rows} == {"127.0.0.1"}
    keys = (await company.send("GET", "/api/v1/keys")).json()["keys"]
    assert {row["key_id"] for row in rows} == {key["id"] for key in keys}
    assert [row["id"] for row in rows] == sorted((row["id"] for row in rows), reverse=True)
    assert all(row["record_id"] != made["id"] for row in await entries(other))


async def test_a_change_that_changes_nothing_and_one_that_is_refused_are_not_listed(company: Any) -> None:
    made = await company.record("buyers", BUYER)
    assert (await company.send("PUT", f"/api/v1/buyers/{made['id']}", json={"name": "Sunny"})).status_code == 200
    assert (await company.send("PUT", f"/api/v1/buyers/{made['id']}", json={"tier": "x"})).status_code == 422
    assert [row["action"] for row in await entries(company, record_type="buyer")] == ["created"]


async def test_a_person_is_named_by_address(town: Any, company: Any) -> None:
    await team(company, permissions={"buyer": {"actions": ["create"]}, "audit_log": {"actions": ["read"]}})
    ada = await person(town, company)
    made = await ada.send("POST", "/api/v1/buyers", json=BUYER)
    assert made.status_code == 201, made.text
    (row,) = (await ada.get(LOG, fulltext="ADA@example")).json()["audit_logs"]
    assert (row["record_id"], row["user_email"]) == (made.json()["buyer"]["id"], ADA)


async def test_every_parameter_of_the_audit_log_takes_effect(company: Any) -> None:
    first = (await company.record("buyers", BUYER))["id"]
    second = (await company.record("offers", {"name": "Solar"}))["id"]
    key = (await entries(company))[0]["key_id"]
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({"record_type": "offer"}, [second]),
        ({"record_id": first}, [first]),
        ({"key_id": key, "per_page": 2}, [second, first]),
        ({"key_id": key + 1}, []),
        ({"per_page": 1, "page": 2}, [first]),
        ({"cursor": -1, "per_page": 1}, [second]),
        ({"fulltext": "OFFER"}, [second]),
        ({"created_at_from": "2999-01-01 00:00", "time_zone": "America/New_York"}, []),
        ({"created_at_to": "2000-01-01"}, []),
    ]
    for params, expected in cases:
        assert [row["record_id"] for row in await entries(company, **params)] == expected, params
    bare = await company.send("GET", LOG, params={"root": "false", "columns": "action,record_type", "per_page": 1})
    assert bare.json() == [{"action": "created", "record_type": "offer"}]
    text = (await company.send("GET", f"{LOG}.csv", params={"columns": "record_id,fields", "record_id": first})).text
    assert text == f'"record_id","fields"\r\n{first},""\r\n'


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:DB8::1", "2001:db8::1"),
        ("", ""),
        ("a;b", ""),
        ("unknown", ""),
        ("192.0.2.1\x00", ""),
    ],
)
async def test_an_address_that_is_none_is_left_out(address: str, shown: str) -> None:
    assert actor_of(Access(1, 7, ("*",), ADA), address) == f"key/7;{ADA};{shown}"


async def test_the_events_of_a_call_say_who_changed_it(company: Any) -> None:
    schedule = await company.schedule()
    body = {"lead_token": schedule["lead_token"], "caller_id": "+13055550131"}
    lead = (await company.send("POST", "/api/v1/leads", json=body)).json()["lead"]["id"]
    await company.record("numbers", {"number": "+16465550198"})
    placed = await company.send("POST", "/api/v1/schedules/make_call", json={"lead_id": lead})
    assert placed.status_code in {200, 201}, placed.text
    call = placed.json()["call"]["id"]
    changed = await company.send("POST", f"/api/v1/calls/{call}", json={"revenue": 5})
    assert changed.status_code == 200, changed.text
    key = (await company.send("GET", "/api/v1/keys")).json()["keys"][0]["id"]
    events = (await company.send("GET", f"/api/v1/calls/{call}/events")).json()["call"]["events"]
    by = [event.get("by") for event in events if event["type"] == "AuditLog"]
    assert by == [f"key/{key};;127.0.0.1"], events
