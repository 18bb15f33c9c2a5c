"""Can a company manage its records, the same way for every type, and only its own?"""

import asyncio
import csv
import io
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec import structs

from adapters.gateway.addresses import networks
from adapters.http.document.openapi import openapi
from engine.account.groups import METRICS, PERIODS
from tests.adapters.http.conftest import DAYTIME_ZONE, STEPS, UNLIMITED, basic, deployed, unquoted

pytestmark = pytest.mark.asyncio(loop_scope="session")


# What a create needs, one field to change, and what that field is afterwards.
COLLECTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "offers": ({"name": "Solar"}, {"time_zone": "America/New_York"}),
    "schedules": ({"name": "Solar", "steps": STEPS}, {"hours_to_expire": 120}),
    "buyers": ({"name": "Ann", "number": "+13055550199"}, {"tier": -2}),
    "buyer_groups": ({"name": "East"}, {"concurrency_cap_limit": 3}),
    "traffic_sources": ({"name": "Web"}, {"first_name": "Zoe"}),
    "numbers": ({"number": "+13055550188"}, {"sms": False}),
    "outgoing_webhooks": ({"name": "CRM", "url": "https://example.com/hook"}, {"method": "PUT"}),
    "keys": ({"name": "CRM"}, {"scopes": ["lead:read"]}),
}


async def test_every_type_is_created_shown_listed_changed_and_deleted_by_its_company_alone(company: Any, other: Any) -> None:
    for collection, (fields, changed) in COLLECTIONS.items():
        path = f"/api/v1/{collection}"
        made = await company.record(collection, fields)
        assert made.items() >= fields.items() if collection != "schedules" else made["name"] == "Solar"
        for reference in (made["id"], made["uuid"]):
            shown = await company.send("GET", f"{path}/{reference}")
            assert shown.status_code == 200, shown.text
            root = shown.json()["metadata"]["root"]
            assert shown.json()[root]["id"] == made["id"]
        listed = (await company.send("GET", path)).json()
        assert made["id"] in [record["id"] for record in listed[collection]]
        updated = await company.send("PUT", f"{path}/{made['id']}", json=changed)
        assert updated.status_code == 200, updated.text
        assert updated.json()[root].items() >= changed.items()
        assert updated.json()[root]["version"] == 2
        await _is_unknown_to(other, path, made)
        deleted = await company.send("DELETE", f"{path}/{made['id']}")
        assert deleted.status_code == 200, deleted.text
        assert deleted.json()[root]["deleted_at"] is not None
        assert (await company.send("GET", f"{path}/{made['id']}")).json()["code"] == "deleted"
        again = (await company.send("GET", path)).json()
        assert made["id"] not in [record["id"] for record in again[collection]]


async def _is_unknown_to(other: Any, path: str, record: dict[str, Any]) -> None:
    for method, reference in (
        ("GET", record["id"]),
        ("GET", record["uuid"]),
        ("PUT", record["id"]),
        ("DELETE", record["id"]),
    ):
        answer = await other.send(method, f"{path}/{reference}", json={})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_every_type_can_be_built_with_its_defaults(company: Any) -> None:
    for collection in COLLECTIONS:
        answer = await company.send("GET", f"/api/v1/{collection}/new")
        assert answer.status_code == 200, answer.text
        built = answer.json()[answer.json()["metadata"]["root"]]
        assert built["id"] is None
        assert built["company_id"] == company.id
        wanted = {"columns": "version,type", "root": "false"}
        chosen = await company.send("GET", f"/api/v1/{collection}/new", params=wanted)
        assert list(chosen.json().items()) == [("version", None), ("type", built["type"])]
        unknown = await company.send("GET", f"/api/v1/{collection}/new", params={"columns": "nothing"})
        assert (unknown.status_code, list(unknown.json()["errors"])) == (422, ["columns"])


async def test_a_record_that_was_read_can_be_sent_back(company: Any) -> None:
    for collection, (fields, _) in COLLECTIONS.items():
        made = await company.record(collection, fields)
        answer = await company.send("PUT", f"/api/v1/{collection}/{made['id']}", json=made)
        made.pop("private_key", None)
        assert answer.status_code == 200, answer.text
        back = answer.json()[answer.json()["metadata"]["root"]]
        volatile = {"version", "updated_at", "user_updated_at"}
        assert {key: value for key, value in back.items() if key not in volatile} == {
            key: value for key, value in made.items() if key not in volatile
        }


async def test_a_private_key_is_shown_once_and_works(town: Any, company: Any) -> None:
    made = await company.record("keys", {"name": "CRM", "scopes": ["lead:read"]})
    private_key = made["private_key"]
    assert "private_key_sha256" not in made
    shown = (await company.send("GET", f"/api/v1/keys/{made['id']}")).text
    assert private_key not in shown
    assert sha256(private_key.encode()).hexdigest() not in shown
    headers = basic(made["public_key"], private_key)
    assert (await town.client.get("/api/v1/leads", headers=headers)).status_code == 200
    refused = await town.client.get("/api/v1/offers", headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    await company.send("DELETE", f"/api/v1/keys/{made['id']}")
    await town.context.rules.refresh()
    assert (await town.client.get("/api/v1/leads", headers=headers)).status_code == 401


async def test_a_private_key_is_not_lost_where_nobody_waits_for_the_answer(town: Any, company: Any) -> None:
    headers = {"Prefer": "respond-async", "Idempotency-Key": "one key"}
    answer = await company.send("POST", "/api/v1/keys", json={"name": "CRM"}, headers=headers)
    assert answer.status_code == 202, answer.text
    assert answer.headers["cache-control"] == "no-store"
    made = answer.json()["key"]
    await town.results.wait(answer.json()["request"]["id"], 10)
    await town.context.rules.refresh()
    access = basic(made["public_key"], made["private_key"])
    assert (await town.client.get("/api/v1/leads", headers=access)).status_code == 200
    later = await company.send("GET", answer.headers["location"])
    again = await company.send("POST", "/api/v1/keys", json={"name": "CRM"}, headers=headers)
    for repeat in (later, again):
        assert repeat.status_code == 201, repeat.text
        assert repeat.json()["key"]["public_key"] == made["public_key"]
        assert "private_key" not in repeat.json()["key"]


async def test_no_secret_is_kept_with_the_answer_to_an_idempotency_key(town: Any, company: Any) -> None:
    made = []
    for collection, root, fields in (
        ("keys", "key", {"name": "CRM"}),
        ("outgoing_webhooks", "outgoing_webhook", {"name": "CRM", "url": "https://example.com/hook"}),
    ):
        headers = {"Idempotency-Key": f"one of the {collection}"}
        first, again = [
            (await company.send("POST", f"/api/v1/{collection}", json=fields, headers=headers)).json()[root] for _ in "12"
        ]
        made.append(first)
        assert first["id"] == again["id"], collection
        assert "private_key" not in again
        assert again.get("secret") == first.get("secret")
    rows = await town.pool.fetch("SELECT answer FROM work.idempotency_keys WHERE company_id = $1", company.id)
    kept = b"".join(row["answer"] for row in rows).decode()
    assert made[0]["public_key"] in kept
    assert made[0]["private_key"] not in kept
    assert made[1]["secret"] not in kept


async def test_a_key_gives_no_more_than_it_has(town: Any, company: Any) -> None:
    made = await company.record("keys", {"name": "half", "scopes": ["api_key:create", "lead:read"]})
    headers = basic(made["public_key"], made["private_key"])
    for scopes, status in ((["lead:read"], 201), (["lead:update"], 403), (None, 403)):
        fields = {"name": "child"} if scopes is None else {"name": "child", "scopes": scopes}
        answer = await town.client.post("/api/v1/keys", json=fields, headers=headers)
        assert answer.status_code == status, answer.text


async def test_a_webhook_secret_can_be_read_by_its_owner_and_renewed(town: Any, company: Any) -> None:
    made = await company.record("outgoing_webhooks", {"name": "CRM", "url": "https://example.com/hook"})
    assert made["secret"].startswith("whsec_")
    path = f"/api/v1/outgoing_webhooks/{made['id']}"
    again = await company.send("GET", path)
    assert (again.json()["outgoing_webhook"]["secret"], again.headers["cache-control"]) == (made["secret"], "no-store")
    body = openapi()["paths"]["/api/v1/outgoing_webhooks/{id}"]["get"]["responses"]["200"]["headers"]
    assert {"Cache-Control", "ETag"} <= body.keys()
    renewed = await company.send("PUT", path, json={"rotate_secret": "yes"})
    assert renewed.json()["outgoing_webhook"]["secret"] not in {made["secret"], ""}
    reader = await company.record("keys", {"name": "reader", "scopes": ["outgoing_webhook:read"]})
    shown = await town.client.get(path, headers=basic(reader["public_key"], reader["private_key"]))
    assert "secret" not in shown.json()["outgoing_webhook"]


async def test_a_lead_token_is_given_by_us_and_can_be_renewed(town: Any, company: Any) -> None:
    chosen = {"name": "Solar", "steps": STEPS, "lead_token": "chosen-by-the-sender-000"}
    refused = await company.send("POST", "/api/v1/schedules", json=chosen)
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["lead_token"])
    made = await company.schedule()
    left_out = await company.send("PUT", f"/api/v1/schedules/{made['id']}", data={"rotate_lead_token": ""})
    assert left_out.json()["schedule"]["lead_token"] == made["lead_token"]
    unsure = await company.send("PUT", f"/api/v1/schedules/{made['id']}", json={"rotate_lead_token": "perhaps"})
    assert (unsure.status_code, list(unsure.json()["errors"])) == (422, ["rotate_lead_token"])
    renewed = await company.send("PUT", f"/api/v1/schedules/{made['id']}", json={"rotate_lead_token": True})
    token = renewed.json()["schedule"]["lead_token"]
    lead = {"caller_id": "+13055550142"}
    assert (await town.client.post("/api/v1/leads", json={**lead, "lead_token": token})).status_code == 201
    await town.context.rules.refresh()
    old = await town.client.post("/api/v1/leads", json={**lead, "lead_token": made["lead_token"]})
    assert (old.status_code, old.json()["code"]) == (404, "unknown_lead_token")


async def test_buyers_of_a_group_are_added_and_removed_without_knowing_the_others(company: Any) -> None:
    buyers = [
        await company.record("buyers", {"name": name, "number": "(305) 555-0199", "user_buyer_id": name}) for name in "abc"
    ]
    assert buyers[0]["number"] == "+13055550199"
    ids = [buyer["id"] for buyer in buyers]
    group = await company.record("buyer_groups", {"name": "East", "buyer_ids": ids[:1], "attempt_daily_limit": 5})
    assert (group["buyer_ids"], group["buyers_count"], group["attempt_daily_limit"]) == (ids[:1], 1, 5.0)
    path = f"/api/v1/buyer_groups/{group['id']}"
    answer = await company.send("PUT", path, data={"add_buyer_ids": f"{ids[1]},{ids[2]}", "remove_user_buyer_ids[]": "a"})
    assert answer.status_code == 200, answer.text
    assert answer.json()["buyer_group"]["buyer_ids"] == ids[1:]
    paused = await company.send("PUT", path, json={"paused": "on", "attempt_daily_limit": None})
    assert paused.json()["buyer_group"]["paused"] is True
    assert paused.json()["buyer_group"]["attempt_daily_limit"] is None
    listed = await company.send("GET", "/api/v1/buyer_groups", params={"paused": "true", "columns": "name,tier"})
    assert listed.json()["buyer_groups"] == [{"name": "East", "tier": 1}]


BAD = [
    ("buyers", {"name": ""}, {"name", "number"}),
    ("buyers", {"name": "Ann", "number": "12"}, {"number"}),
    ("buyer_groups", {"name": "East", "weight": "much", "color": "red"}, {"weight", "color"}),
    ("numbers", {"number": "+1305"}, {"number"}),
    ("outgoing_webhooks", {"name": "CRM", "url": "ftp://example.com"}, {"url"}),
    ("offers", {"name": "x", "time_zone": "Mars/Olympus", "paused": "maybe"}, {"time_zone", "paused"}),
    ("schedules", {"name": "x", "offer_id": 999}, {"offer_id"}),
    ("keys", {"name": "x", "scopes": "LEAD READ", "ip_allow_list": ["here"]}, {"scopes", "ip_allow_list"}),
]


async def test_every_bad_field_is_named_and_nothing_is_made(company: Any) -> None:
    for collection, fields, bad in BAD:
        answer = await company.send("POST", f"/api/v1/{collection}", json=fields)
        assert answer.status_code == 422, answer.text
        assert set(answer.json()["errors"]) == bad, answer.text
    steps = [{"id": "a", "kind": "dance"}]
    answer = await company.send("POST", "/api/v1/schedules", json={"name": "x", "steps": steps})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_schedule")
    for collection in COLLECTIONS:
        listed = (await company.send("GET", f"/api/v1/{collection}")).json()[collection]
        assert len(listed) == (1 if collection == "keys" else 0)


async def test_every_order_that_a_list_offers_is_one(company: Any) -> None:
    for collection, (fields, _) in COLLECTIONS.items():
        await company.record(collection, fields)
        path = f"/api/v1/{collection}"
        refused = (await company.send("GET", f"{path}?order=nonsense")).json()
        offered = refused["errors"]["order"][0].removeprefix("must be one of ").split(", ")
        assert {"id", "created_at"} < set(offered)
        for order in offered:
            answer = await company.send("GET", f"{path}?order={order}&order_dir=asc")
            assert answer.status_code == 200, f"{collection} by {order}: {answer.text}"
        for order in ("caps", "private_key_sha256", "body_template", "buyer_ids", "steps"):
            assert (await company.send("GET", f"{path}?order={order}")).status_code == 422, order


async def test_a_list_is_csv_where_csv_is_asked_for(company: Any) -> None:
    await company.record("buyers", {"name": "=cmd()", "number": "+13055550199"})
    answer = await company.send("GET", "/api/v1/buyers.csv", params={"columns": "name,number,paused,tier"})
    assert answer.headers["content-type"].startswith("text/csv")
    assert unquoted(answer.text) == "name,number,paused,tier\r\n'=cmd(),+13055550199,false,1\r\n"
    assert (await company.send("GET", "/api/v1/buyers.json")).json()["buyers"][0]["name"] == "=cmd()"


async def test_an_export_of_records_with_lists_imports_again(company: Any) -> None:
    buyer = await company.record("buyers", {"name": "Sunny", "number": "+12125550140"})
    hours = [{"days": ["mon"], "open": "09:00", "close": "17:00"}]
    for collection, fields in (
        ("buyer_groups", {"name": "Roofers", "buyer_ids": [buyer["id"]], "business_hours": hours}),
        ("offers", {"name": "Solar", "buyer_ids": [buyer["id"]]}),
        ("keys", {"name": "CRM", "scopes": ["lead:read", "call:read"], "ip_allow_list": ["192.0.2.0/24"]}),
    ):
        made = await company.record(collection, fields)
        exported = await company.send("GET", f"/api/v1/{collection}.csv", params={"ids": str(made["id"])})
        (row,) = csv.DictReader(io.StringIO(exported.text))
        again = await company.record(collection, row)
        assert {name: again[name] for name in fields} == fields, collection


async def test_who_was_slower_changes_nothing(company: Any) -> None:
    schedule = await company.schedule()
    for path, root, version in (
        (f"/api/v1/schedules/{schedule['id']}", "schedule", schedule["version"]),
        ("/api/v1/company", "company", 1),
    ):
        stale = (await company.send("GET", path)).headers["etag"]
        assert stale == f'"{version}"', path
        first = await company.send("PUT", path, json={"paused": True}, headers={"If-Match": stale})
        assert (first.status_code, first.headers["etag"]) == (200, f'"{version + 1}"'), first.text
        slower = await company.send("PUT", path, json={"paused": False, "name": "x"}, headers={"If-Match": stale})
        assert (slower.status_code, slower.json()["code"]) == (409, "version_conflict"), slower.text
        shown = (await company.send("GET", path)).json()[root]
        assert (shown["paused"], shown["name"] == "x", shown["version"]) == (True, False, version + 1)
    path = f"/api/v1/schedules/{schedule['id']}"
    for method, place in (("POST", f"{path}/publish"), ("DELETE", path)):
        slower = await company.send(method, place, headers={"If-Match": stale})
        assert (slower.status_code, slower.json()["code"]) == (409, "version_conflict"), slower.text
    fresh = (await company.send("GET", path)).headers["etag"]
    assert (await company.send("DELETE", path, headers={"If-Match": fresh})).status_code == 200


async def test_only_what_can_be_paused_is_asked_whether_it_is(company: Any) -> None:
    await company.record("rule_packs", {"name": "Counsel"})
    await company.record("offers", {"name": "Solar"})
    listed = await company.send("GET", "/api/v1/offers", params={"paused": "true"})
    assert listed.json()["offers"] == []
    refused = await company.send("GET", "/api/v1/rule_packs", params={"paused": "true"})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["paused"])


async def test_a_record_is_called_by_its_right_article(company: Any) -> None:
    for collection, words in (("offers", "an offer"), ("keys", "an API key"), ("buyer_groups", "a buyer group")):
        refused = await company.send("POST", f"/api/v1/{collection}", json={"nmae": "Solar"})
        assert f"is no field of {words} " in refused.json()["errors"]["nmae"][0]


async def test_a_buyer_that_is_not_there_is_reported_under_the_field_that_named_it(company: Any) -> None:
    fields = {"name": "Roofers", "buyer_ids": [999_999], "add_buyer_ids": [888_888]}
    refused = await company.send("POST", "/api/v1/buyer_groups", json=fields)
    assert refused.json()["errors"] == {
        "buyer_ids": ["999999 is no buyer of this company"],
        "add_buyer_ids": ["888888 is no buyer of this company"],
    }


async def test_a_schedule_is_shown_with_what_it_does_when_the_person_answers_or_calls(company: Any) -> None:
    schedule = await company.schedule()
    assert schedule["on_reply"] == {"action": "pause", "duration": "24h"}
    assert schedule["on_inbound_connected"] == {"action": "continue", "delay": "4h", "schedule_id": None}
    assert schedule["on_conversion"] == "exit"
    path = f"/api/v1/schedules/{schedule['id']}"
    changes = {"on_reply": "exit", "on_conversion": {"action": "move", "schedule_id": schedule["id"]}}
    changed = (await company.send("PUT", path, json=changes)).json()["schedule"]
    assert changed["on_reply"]["action"] == "exit"
    assert changed["on_conversion"] == {"schedule_id": schedule["id"], "action": "move"}
    refused = await company.send("PUT", path, json={"on_reply": {"action": "pause", "duration": "for ever"}})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["on_reply"])


GIVEN_BY_US = {
    "id": 99,
    "uuid": "00000000-0000-8000-8000-000000000099",
    "type": "Lead",
    "company_id": 99,
    "version": 99,
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2999-01-01T00:00:00Z",
    "deleted_at": "2026-01-01T00:00:00Z",
    "legacy_id": 9,
    "routes_show_path": "/api/v1/elsewhere",
    "lead_token": "lt_chosen-by-the-sender",
    "public_key": "pk_chosen-by-the-sender",
    "system": True,
    "secret_generation": 9,
    "secret_rotated_at": "2026-01-01T00:00:00Z",
    "secret": "whsec_chosen",
    "callback_generation": 9,
    "callback_url": "https://elsewhere.example/x",
    "private_key": "sk_chosen",
    "paused_at": "2026-01-01T00:00:00Z",
    "paused_by_user_id": 9,
    "total_caps_reset_at": "2026-01-01T00:00:00Z",
    "buyers_count": 9,
    "published_at": "2026-01-01T00:00:00Z",
    "draft_fields": {"name": "x"},
    "unpublished": True,
}
"""Fields that a record shows and that no sender sets, each with a value that none has."""

EVERY_TYPE = COLLECTIONS | {
    "call_dispositions": ({"code": "sold", "name": "Sold"}, {"name": "Closed"}),
    "rule_packs": ({"name": "Counsel"}, {"name": "Lawyers"}),
    "action_groups": ({"name": "Hello", "steps": STEPS}, {"name": "Welcome"}),
    "buyer_fleets": ({"name": "Best", "user_fleet_id": "vip"}, {"description": "Who answers at once"}),
    "access_control_lists": ({"name": "Agents"}, {"superuser": True}),
    "call_centers": ({"name": "Tampa"}, {"description": "Second floor"}),
    "agent_statuses": ({"name": "At lunch", "key": "lunch"}, {"sortable_order": 3}),
    "agents": ({"name": "Ada"}, {"name": "Grace"}),
    "agent_messages": ({"content": "New script."}, {"content": "Newer script."}),
    "users": ({"name": "Ada", "email": "ada@example.com"}, {"time_zone": "America/New_York"}),
    "suppression_lists": ({"name": "Complained"}, {"description": "Who wrote to the regulator"}),
    "contact_field_types": ({"name": "Roofs", "fields": [{"key": "roof"}]}, {"script": "Hello."}),
    "ring_pools": ({"name": "Website"}, {"hold_seconds": 600}),
    "holidays": ({"name": "Christmas", "first_date": "2026-12-25"}, {"last_date": "2026-12-26"}),
    "subscriptions": ({"name": "CRM", "url": "https://example.com/x", "events": ["lead_ended"]}, {"paused": True}),
    "provider_configurations": (
        {"name": "P", "channel": "sms", "provider": "twilio", "settings": {"account_sid": "AC0"}},
        {"fallback_order": 7},
    ),
}


async def test_a_field_that_cannot_be_written_is_refused_by_name_on_every_record(company: Any) -> None:
    for collection, (fields, _) in EVERY_TYPE.items():
        made = await company.record(collection, fields)
        path = f"/api/v1/{collection}"
        given = {name: value for name, value in GIVEN_BY_US.items() if name in made}
        if collection == "buyer_fleets":  # its buyers change without it: what was read with a version is passed over
            del given["buyers_count"]
        assert given.keys() >= {"id", "uuid", "type", "company_id", "version", "created_at", "updated_at"}
        changed = await company.send("PUT", f"{path}/{made['id']}", json=given)
        assert (changed.status_code, changed.json()["code"]) == (422, "validation_failed"), changed.text
        assert changed.json()["errors"].keys() == given.keys(), collection
        shown = (await company.send("GET", f"{path}/{made['id']}")).json()
        assert {name: shown[shown["metadata"]["root"]][name] for name in given if name != "private_key"} == {
            name: made[name] for name in given if name != "private_key"
        }
        created = await company.send("POST", path, json={**fields, **given})
        assert (created.status_code, created.json()["errors"].keys()) == (422, given.keys()), created.text


async def test_a_counter_that_was_not_read_is_refused_and_one_that_calls_moved_since_is_passed_over(company: Any) -> None:
    for collection in ("buyers", "buyer_groups", "traffic_sources"):
        made = await company.record(collection, EVERY_TYPE[collection][0])
        path = f"/api/v1/{collection}/{made['id']}"
        wrong = {"connection_daily_used": 99, "maxed_out": True}
        refused = await company.send("PUT", path, json=wrong)
        assert (refused.status_code, refused.json()["errors"].keys()) == (422, wrong.keys()), collection
        assert (await company.send("PUT", path, json={**made, **wrong})).status_code == 200, collection


async def test_an_unknown_field_is_refused_with_the_nearest_known_name_on_every_record(company: Any) -> None:
    nearest = {"attempt_daily_limt": "attempt_daily_limit", "rotate_lead_tokn": "rotate_lead_token", "draftt": "draft"}
    for collection, (fields, _) in EVERY_TYPE.items():
        made = await company.record(collection, fields)
        name = next(iter(fields))
        for method, path in (("PUT", f"/{made['id']}"), ("PATCH", f"/{made['id']}"), ("POST", "")):
            answer = await company.send(method, f"/api/v1/{collection}{path}", json={**fields, f"{name}x": 1})
            assert (answer.status_code, list(answer.json()["errors"])) == (422, [f"{name}x"]), answer.text
            assert f"(did you mean {name}?)" in answer.json()["errors"][f"{name}x"][0]
    for collection, wrong in (
        ("buyer_groups", "attempt_daily_limt"),
        ("offers", "rotate_lead_tokn"),
        ("schedules", "draftt"),
    ):
        (made, *_) = (await company.send("GET", f"/api/v1/{collection}")).json()[collection]
        answer = await company.send("PUT", f"/api/v1/{collection}/{made['id']}", json={wrong: True})
        assert f"(did you mean {nearest[wrong]}?)" in answer.json()["errors"][wrong][0]


async def test_what_cannot_be_written_is_reported_together_with_everything_else_that_is_bad(company: Any) -> None:
    offer = await company.record("offers", {"name": "Solar"})
    bad = {"lead_token": "lt_mine", "tme_zone": "UTC", "time_zone": "Mars/Olympus", "buyer_ids": [999_999]}
    answer = await company.send("PUT", f"/api/v1/offers/{offer['id']}", json=bad)
    assert answer.status_code == 422
    assert answer.json()["errors"].keys() == bad.keys()
    assert "rotate_lead_token=true" in answer.json()["errors"]["lead_token"][0]
    company_too = await company.send("PUT", "/api/v1/company", json={"id": 99, "nmae": "x", "time_zone": "Mars/Olympus"})
    assert company_too.json()["errors"].keys() == {"id", "nmae", "time_zone"}


async def test_a_record_goes_back_as_it_was_read_however_it_is_written(company: Any) -> None:
    """In JSON after another change, in a form, and with a moment in another spelling."""
    for collection, (fields, changed) in EVERY_TYPE.items():
        made = await company.record(collection, fields)
        path = f"/api/v1/{collection}/{made['id']}"
        assert (await company.send("PUT", path, json=changed)).status_code == 200
        late = await company.send("PUT", path, json={**made, **changed})
        assert late.status_code == 200, f"{collection}: {late.text}"
        exported = await company.send("GET", f"/api/v1/{collection}.csv", params={"ids": str(made["id"])})
        (row,) = csv.DictReader(io.StringIO(exported.text))
        form = await company.send("PUT", path, data=row)
        assert form.status_code == 200, f"{collection}: {form.text}"
        stale = {"version": made["version"] + 1, "updated_at": made["updated_at"]}
        assert (await company.send("PUT", path, json=stale)).status_code == 422, "it was never shown with that version"
        spelled = {"created_at": made["created_at"].replace("Z", "+00:00").replace("T", " ")}
        assert (await company.send("PUT", path, json=spelled)).status_code == 200, collection
    whole = (await company.send("GET", "/api/v1/company")).json()["company"]
    assert (await company.send("PUT", "/api/v1/company", json=whole)).status_code == 200


async def test_a_built_record_and_a_copy_of_another_can_be_created(company: Any) -> None:
    for collection, (fields, _) in EVERY_TYPE.items():
        built = await company.send("GET", f"/api/v1/{collection}/new", params={"root": "false"})
        made = await company.record(collection, {**built.json(), **fields})
        made.pop("private_key", None)
        renamed = {
            "call_dispositions": {"code": "sold_2"},
            "numbers": {"number": "+13055550177"},
            "buyer_fleets": {"user_fleet_id": "vip_2"},
            "users": {"email": "grace@example.com"},
        }.get(collection, {})
        copy = await company.record(collection, {**made, **renamed})
        assert copy["id"] != made["id"]
        assert copy.get("lead_token", "") != made.get("lead_token")


async def test_an_instant_is_no_number_that_may_be_seconds_or_thousandths(company: Any) -> None:
    for at in (1_999_999_999, 1_999_999_999_000):
        answer = await company.send("POST", "/api/v1/keys", json={"name": "K", "expires_at": at})
        assert (answer.status_code, list(answer.json()["errors"])) == (422, ["expires_at"]), answer.text


async def test_an_action_group_is_put_into_a_schedule_that_names_it(company: Any) -> None:
    steps = [{"id": "text", "kind": "sms", "template": "Hi"}, {"id": "rest", "kind": "wait", "duration": "1d"}]
    group = await company.record("action_groups", {"name": "Hello", "steps": steps})
    schedule = await company.schedule(steps=[{"id": "hello", "kind": "action_group", "action_group_id": group["id"]}])
    assert [step["id"] for step in schedule["steps"]] == ["hello/text", "hello/rest"]


async def test_the_company_of_a_key_is_shown_and_changed_and_no_other(company: Any) -> None:
    shown = (await company.send("GET", "/api/v1/company")).json()["company"]
    assert (shown["id"], shown["type"]) == (shown["company_id"], "Company")
    assert shown["routes_show_path"] == shown["routes_edit_path"] == "/api/v1/company"
    paused = await company.send("PATCH", "/api/v1/company", json={"paused": True, "optout_scope": "offer"})
    assert paused.status_code == 200, paused.text
    assert (paused.json()["company"]["paused"], paused.json()["company"]["optout_scope"]) == (True, "offer")
    assert paused.headers["etag"] == f'"{paused.json()["company"]["version"]}"'
    few = await company.send("GET", "/api/v1/company", params={"columns": "paused,name", "root": "false"})
    assert list(few.json()) == ["paused", "name"]
    for fields, named in [({"time_zone": "Mars"}, ["time_zone"]), ({"nmae": "x"}, ["nmae"]), ({"name": ""}, ["name"])]:
        refused = await company.send("PUT", "/api/v1/company", json=fields)
        assert (refused.status_code, list(refused.json()["errors"])) == (422, named)


async def test_the_use_of_a_groups_caps_is_counted_ordered_and_in_the_way_of_its_buyers(company: Any) -> None:
    buyer = await company.record("buyers", {"name": "Ann", "number": "+13055550199"})
    given = {"buyer_ids": [buyer["id"]], "concurrency_cap_limit": 5, "attempt_hourly_limit": 1, "attempt_total_limit": 9}
    busy = await company.record("buyer_groups", {"name": "Busy", **given})
    await company.record("buyer_groups", {"name": "Idle"})
    schedule = await company.record(
        "schedules",
        {"name": "Solar", "steps": [{"id": "call-1", "kind": "call", "connect": {"buyer_group_id": busy["id"]}}]},
    )
    fields = {"lead_token": schedule["lead_token"], "caller_id": "+12125550123", "time_zone": DAYTIME_ZONE}
    lead = (await company.send("POST", "/api/v1/leads", json=fields)).json()["lead"]
    for _ in range(200):  # the slot is asked of the account, and granted
        calls = (await company.send("GET", "/api/v1/calls", params={"buyer_group_ids": busy["id"]})).json()["calls"]
        if calls:
            break
        await asyncio.sleep(0.05)
    await company.send("POST", f"/api/v1/calls/{calls[0]['id']}", json={"revenue": 40, "payout": 15, "buyer_converted": 1})

    path = f"/api/v1/buyer_groups/{busy['id']}"
    for _ in range(1200):  # the contact tells the account what the call brought
        shown = (await company.send("GET", path)).json()["buyer_group"]
        if shown["revenue_hourly_used"]:
            break
        await asyncio.sleep(0.05)
    assert {name: shown[name] for name in shown if name.endswith("_hourly_used")} == {
        "attempt_hourly_used": 1,
        "buyer_conversion_hourly_used": 1,
        "connection_hourly_used": 1,  # it is under way, and may be answered yet
        "earned_revenue_hourly_used": 25.0,
        "revenue_hourly_used": 40.0,
    }
    assert (shown["attempt_total_used"], shown["maxed_out"], shown["concurrency_cap_used"]) == (1, True, 1)
    few = await company.send("GET", path, params={"columns": "attempt_daily_used,maxed_out"})
    assert few.json()["buyer_group"] == {"attempt_daily_used": 1, "maxed_out": True}

    for order in ("call_limits.attempt_daily_used", "call_limits.in_progress_count", "maxed_out", "cap_reset_at"):
        for direction, names in (("desc", ["Busy", "Idle"]), ("asc", ["Idle", "Busy"])):
            asked = {"order": order, "order_dir": direction, "columns": "name"}
            listed = (await company.send("GET", "/api/v1/buyer_groups", params=asked)).json()
            found = [group["name"] for group in listed["buyer_groups"]]
            assert found == (["Busy", "Idle"] if order == "cap_reset_at" else names), (order, direction)
            assert listed["metadata"]["total_count"] == 2
    table = await company.send("GET", "/api/v1/buyer_groups.csv", params={"order": "maxed_out", "columns": "name,maxed_out"})
    assert table.text == '"name","maxed_out"\r\n"Busy","true"\r\n"Idle","false"\r\n'

    answer = (await company.send("GET", f"/api/v1/leads/{lead['id']}/buyer_is_available")).json()
    assert (answer["available"], answer["reasons"]) == (False, {str(buyer["id"]): "hourly_cap"})
    assert answer["next_available_at"] is None  # nobody knows whether the call gives back what it reserved
    reset = (await company.send("PUT", path, json={"reset_total_caps": True, "attempt_hourly_limit": None})).json()
    assert (reset["buyer_group"]["attempt_total_used"], reset["buyer_group"]["maxed_out"]) == (0, False)
    assert reset["buyer_group"]["total_caps_reset_at"] is not None


@pytest.mark.parametrize(
    ("path", "fields", "metric"),
    [
        ("buyers", {"name": "Ann", "number": "+13055550198"}, "revenue"),
        ("buyer_groups", {"name": "Ann"}, "revenue"),
        ("traffic_sources", {"name": "Ann"}, "offer_conversion"),
    ],
)
async def test_buyers_groups_and_traffic_sources_have_caps_in_the_zone_of_the_company(
    company: Any, path: str, fields: dict[str, Any], metric: str
) -> None:
    zone = (await company.send("PUT", "/api/v1/company", json={"time_zone": "America/Chicago"})).json()["company"][
        "time_zone"
    ]
    built = (await company.send("GET", f"/api/v1/{path}/new", params={"columns": "time_zone"})).json()[path[:-1]]
    made = await company.record(path, {**fields, "connection_daily_limit": 3, f"{metric}_total_limit": 2})
    shown = {
        name: made[name]
        for name in ("connection_daily_limit", f"{metric}_total_limit", "connection_daily_used", "maxed_out")
    }
    assert shown == {
        "connection_daily_limit": 3,
        f"{metric}_total_limit": 2,
        "connection_daily_used": 0,
        "maxed_out": False,
    }
    assert made["time_zone"] == built["time_zone"] == zone == "America/Chicago"
    sent_back = await company.send("PUT", f"/api/v1/{path}/{made['id']}", json={**made, "connection_daily_limit": 0})
    (changed,) = (value for name, value in sent_back.json().items() if name == path[:-1])
    assert (sent_back.status_code, changed["maxed_out"], changed["connection_daily_limit"]) == (200, True, 0)


async def test_a_number_has_caps_on_the_calls_that_are_placed_from_it(company: Any) -> None:
    made = await company.record("numbers", {"number": "+13055550198", "attempt_daily_limit": 3, "concurrency_cap_limit": 2})
    shown = {name: made[name] for name in ("attempt_daily_limit", "attempt_daily_used", "attempt_total_limit", "maxed_out")}
    assert shown == {
        "attempt_daily_limit": 3,
        "attempt_daily_used": 0,
        "attempt_total_limit": None,
        "maxed_out": False,
    }
    assert (made["concurrency_cap_limit"], made["concurrency_cap_used"], made["total_caps_reset_at"]) == (2, 0, None)
    path = f"/api/v1/numbers/{made['id']}"
    changed = (await company.send("PUT", path, json={"attempt_daily_limit": 0, "reset_total_caps": True})).json()["number"]
    assert (changed["maxed_out"], changed["total_caps_reset_at"] is not None) == (True, True)
    refused = await company.send("PUT", path, json={"connection_daily_limit": 3})
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["connection_daily_limit"])


SEED_ORDERS = {
    *("name", "maxed_out", "weight", "tier", "cap_reset_at", "time_zone", "created_at", "updated_at", "paused", "paused_at"),
    *("paused_by_user_id", "unpaused_at", "user_updated_at", "dial_buyers_type"),
    *("call_limits.in_progress_count", "call_limits.in_progress_used"),
    *(f"call_limits.{metric}_{period}_used" for metric in METRICS for period in PERIODS),
}
"""Every field by which a list of groups can be sorted."""


async def test_a_list_of_groups_takes_every_order_of_the_interface(company: Any) -> None:
    await company.record("buyer_groups", {"name": "East"})
    for order in sorted(SEED_ORDERS):
        answer = await company.send("GET", "/api/v1/buyer_groups", params={"order": order, "order_dir": "asc"})
        assert [group["name"] for group in answer.json().get("buyer_groups", [])] == ["East"], (order, answer.text)


PRIVATE = [
    "http://127.0.0.1/hook",
    "http://localhost:9000/hook",
    "https://10.0.0.7/hook",
    "http://127.1/hook",
    "http://2130706433/hook",
    "http://[::1]/hook",
    "http://192.88.99.1/hook",
    "http://169.254.169.254/hook",
]


def saved(url: str) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Return each field that takes the address of another system, as a request that saves it."""
    host = urlsplit(url).hostname or ""
    configuration: dict[str, Any] = {"name": "Own", "channel": "sms"}
    twilio = {"account_sid": f"AC{'0' * 32}", "api_key_sid": f"SK{'0' * 32}", "base_url": url.removesuffix("/hook")}
    smpp = {"host": host, "port": 2775, "system_id": "leadclock"}
    return {
        "url": ("POST", "outgoing_webhooks", {"name": "CRM", "url": url}),
        "url of a subscription": ("POST", "subscriptions", {"name": "CRM", "url": url, "events": ["lead_created"]}),
        "sign_in_issuer": ("PUT", "company", {"sign_in_issuer": url.replace("http:", "https:"), "sign_in_client_id": "us"}),
        "settings.base_url": (
            "POST",
            "provider_configurations",
            {**configuration, "provider": "twilio", "settings": twilio},
        ),
        "settings.host": ("POST", "provider_configurations", {**configuration, "provider": "smpp", "settings": smpp}),
    }


async def test_a_private_address_is_refused_when_it_is_saved_wherever_another_system_is_named(
    migrated_database: str,
) -> None:
    async with deployed(migrated_database, structs.replace(UNLIMITED, webhook_networks=())) as town:
        company = await town.company()
        for url in PRIVATE:
            for name, (method, path, body) in saved(url).items():
                answer = await company.send(method, f"/api/v1/{path}", json=body)
                errors = answer.json()["errors"]
                assert (answer.status_code, name.partition(" ")[0] in errors) == (422, True), (url, name, answer.text)
                assert "LEADCLOCK_WEBHOOK_PRIVATE_NETWORKS" in errors[name.partition(" ")[0]][0] or name == "settings.host"
        made = await company.record("outgoing_webhooks", {"name": "CRM", "url": "https://example.com/hook"})
        changed = await company.send("PUT", f"/api/v1/outgoing_webhooks/{made['id']}", json={"url": PRIVATE[0]})
        assert (changed.status_code, list(changed.json()["errors"])) == (422, ["url"])


async def test_a_webhook_to_an_allowed_network_is_saved_but_for_our_own_ports(migrated_database: str) -> None:
    settings = structs.replace(UNLIMITED, webhook_networks=networks(["127.0.0.0/8"]), own_ports={8080})
    async with deployed(migrated_database, settings) as town:
        company = await town.company()
        await company.record("outgoing_webhooks", {"name": "CRM", "url": "http://127.0.0.1:9000/hook"})

        answer = await company.send(
            "POST", "/api/v1/outgoing_webhooks", json={"name": "API", "url": "http://localhost:8080/api/v1/leads"}
        )

        assert answer.status_code == 422
        assert "port 8080 of 127.0.0.1 belongs to this deployment itself" in answer.json()["errors"]["url"][0]
