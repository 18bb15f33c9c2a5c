"""Does a person do and see what the teams of that person grant, and nothing else?"""

from typing import Any

import pytest

from adapters.http.calls.call_starts import FORCE_SCOPE, LAW_SCOPE
from adapters.http.operations import documented_operations
from engine.account.teams import PERMISSIONS
from schemas.records import LeadFilters
from tests.adapters.http.conftest import STEPS, basic

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = "/api/v1/access_control_lists"
ADA = "ada@example.com"


class Person:
    """Sends requests with a key that acts for a person."""

    def __init__(self, town: Any, headers: dict[str, str]) -> None:
        self._town, self.headers = town, headers

    async def send(self, method: str, path: str, **more: Any) -> Any:
        headers = {**self.headers, **more.pop("headers", {})}
        return await self._town.client.request(method, path, headers=headers, **more)

    async def get(self, path: str, **params: Any) -> Any:
        return await self.send("GET", path, params=params)


SUPERUSERS_ONLY = {f"{model}:{verb}" for model in ("access_control_list", "user") for verb in ("create", "update", "delete")}
"""Who may change teams or users may do everything."""

PROVIDERS_ONLY = {"call:receive", "sms:receive"}
"""What a carrier posts, and no person."""


async def test_a_team_can_grant_each_scope_that_an_operation_needs() -> None:
    needed = {operation.scope for operation in documented_operations() if operation.scope}
    grantable = {f"{model}:{action}" for model, actions in PERMISSIONS.items() for action in actions}
    assert needed - grantable == SUPERUSERS_ONLY | PROVIDERS_ONLY
    assert grantable - needed == {
        *(FORCE_SCOPE, LAW_SCOPE, "outgoing_webhook:secret", "subscription:secret"),
        "provider_configuration:secret",
    }


async def team(company: Any, **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = await company.record("access_control_lists", {"name": "Team", "users_emails": [ADA], **fields})
    return made


async def person(town: Any, company: Any, email: str = ADA, **fields: Any) -> Person:
    key = await company.record("keys", {"name": email, "user_email": email, **fields})
    await town.context.rules.refresh()
    return Person(town, basic(key["public_key"], key["private_key"]))


async def lead_of(company: Any, schedule: dict[str, Any], number: str, **fields: Any) -> int:
    body = {"lead_token": schedule["lead_token"], "caller_id": number, **fields}
    answer = await company.send("POST", "/api/v1/leads", json=body)
    assert answer.status_code == 201, answer.text
    return int(answer.json()["lead"]["id"])


async def test_a_team_is_made_shown_changed_listed_and_deleted(company: Any, other: Any) -> None:
    fields = {"name": "Agents", "users_emails": ["Ada@Example.com", "grace@example.com"]}
    made = await company.record("access_control_lists", fields)
    assert made["users_emails"] == [ADA, "grace@example.com"]
    assert made.items() >= {"type": "AccessControlList", "superuser": False, "permissions": {}, "lead_filters": None}.items()
    for reference in (made["id"], made["uuid"]):
        assert (await company.send("GET", f"{PATH}/{reference}")).json()["access_control_list"] == made
        assert (await other.send("GET", f"{PATH}/{reference}")).status_code == 404
    changes: dict[str, Any] = {
        "name": "Agents 2",
        "users_emails": [ADA],
        "superuser": True,
        "permissions": {"lead": {"actions": ["read"], "scope": "all", "fields": {}}},
        "lead_filters": {"token_filters": [{"key": "roof", "value": "flat"}]},
    }
    for name, value in changes.items():
        answer = await company.send("PUT", f"{PATH}/{made['id']}", json={name: value})
        assert answer.status_code == 200, answer.text
        shown = answer.json()["access_control_list"][name]
        assert shown == (value if name != "lead_filters" else shown | value), name
    listed = await company.send("GET", PATH, params={"ids": made["id"], "fulltext": "agents", "columns": "id,users_emails"})
    assert listed.json()["access_control_lists"] == [{"id": made["id"], "users_emails": [ADA]}]
    built = (await company.send("GET", f"{PATH}/new")).json()["access_control_list"]
    assert (built["id"], built["name"], built["users_emails"], built["superuser"]) == (None, None, [], False)
    assert (await company.send("DELETE", f"{PATH}/{made['id']}")).status_code == 200
    assert (await company.send("GET", f"{PATH}/{made['id']}")).json()["code"] == "deleted"


async def test_every_parameter_of_the_list_of_teams_takes_effect(company: Any) -> None:
    first, second = await team(company, name="Early"), await team(company, name="Late")
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({"ids": first["id"]}, [first["id"]]),
        ({"fulltext": "late"}, [second["id"]]),
        ({"fulltext": ADA}, [second["id"], first["id"]]),
        ({"per_page": 1, "page": 2}, [first["id"]]),
        ({"created_at_to": "2000-01-01"}, []),
        ({"created_at_from": "2000-01-01", "created_at_to": "2999-01-01"}, [second["id"], first["id"]]),
        ({"created_at_from": "2999-01-01 00:00", "time_zone": "America/New_York"}, []),
    ]
    for params, expected in cases:
        answer = await company.send("GET", PATH, params=params)
        assert [one["id"] for one in answer.json()["access_control_lists"]] == expected, params
    bare = await company.send("GET", PATH, params={"root": "false", "columns": "name", "ids": first["id"]})
    assert bare.json() == [{"name": "Early"}]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"users_emails": "nobody"}, "users_emails"),
        ({"users_emails": ["nobody"]}, "users_emails"),
        ({"permissions": ["lead"]}, "permissions"),
        ({"permissions": {"leads": {"actions": ["read"]}}}, "permissions"),
        ({"permissions": {"lead": {"actions": []}}}, "permissions"),
        ({"permissions": {"lead": {"actions": ["fly"]}}}, "permissions"),
        ({"permissions": {"lead": {"actions": ["read"], "scope": [1]}}}, "permissions"),
        ({"permissions": {"lead": {"actions": ["read"], "fields": {"email": "never"}}}}, "permissions"),
        ({"permissions": {"lead": {"actions": ["read"], "enabled": True}}}, "permissions"),
        ({"permissions": {"buyer": {"actions": ["read"], "scope": [1]}}}, "permissions.buyer.scope"),
        ({"permissions": {"buyer": {"actions": ["create"], "scope": [1]}}}, "permissions"),
        ({"permissions": {"access_control_list": {"actions": ["update"]}}}, "permissions"),
        ({"lead_filters": {}}, "lead_filters"),
        ({"lead_filters": {"states": ["FL"]}}, "lead_filters"),
        ({"lead_filters": {"offer_ids": [1]}}, "lead_filters.offer_ids"),
        ({"lead_filters": {"token_filters": [{"key": "roof"}]}}, "lead_filters"),
        ({"permitted_areas": ["calls"]}, "permitted_areas"),
    ],
)
async def test_what_a_team_cannot_have_is_refused_with_its_field(company: Any, fields: dict[str, Any], field: str) -> None:
    answer = await company.send("POST", PATH, json={"name": "Team", **fields})
    assert (answer.status_code, list(answer.json()["errors"])) == (422, [field]), answer.text


async def test_a_team_cannot_name_what_another_company_has(company: Any, other: Any) -> None:
    theirs = await other.record("offers", {"name": "Solar"})
    for fields in (
        {"lead_filters": {"offer_ids": [theirs["id"]]}},
        {"permissions": {"offer": {"actions": ["read"], "scope": [theirs["id"]]}}},
    ):
        answer = await company.send("POST", PATH, json={"name": "Team", **fields})
        (faults,) = answer.json()["errors"].values()
        assert (answer.status_code, faults) == (422, [f"{theirs['id']} is no offer of this company"])


async def test_a_person_may_do_what_the_key_and_one_of_the_teams_grant(town: Any, company: Any) -> None:
    ada = await person(town, company, scopes=["lead:*", "buyer:read"])
    refused = await ada.get("/api/v1/leads")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert ADA in refused.json()["detail"]
    reading = await team(company, permissions={"lead": {"actions": ["read"]}, "schedule": {"actions": ["read"]}})
    await team(company, permissions={"buyer": {"actions": ["read"]}})
    await town.context.rules.refresh()
    assert (await ada.get("/api/v1/leads")).status_code == 200
    assert (await ada.get("/api/v1/buyers")).status_code == 200  # the other team grants it
    assert (await ada.get("/api/v1/schedules")).status_code == 403  # the key does not
    schedule = await company.schedule()
    lead = await lead_of(company, schedule, "+13055550130")
    assert (await ada.send("DELETE", f"/api/v1/leads/{lead}/id")).status_code == 403  # no team does
    assert (await company.send("GET", f"/api/v1/leads/{lead}")).status_code == 200
    assert (await company.send("DELETE", f"{PATH}/{reading['id']}")).status_code == 200
    await town.context.rules.refresh()
    assert (await ada.get("/api/v1/leads")).status_code == 403


async def test_a_team_of_another_company_grants_nothing(town: Any, company: Any, other: Any) -> None:
    ada = await person(town, company)
    await team(other, superuser=True)
    await town.context.rules.refresh()
    assert (await ada.get("/api/v1/leads")).status_code == 403


async def test_a_superuser_may_do_everything_within_the_scopes_of_the_key(town: Any, company: Any) -> None:
    await team(company, superuser=True)
    ada = await person(town, company)
    assert (await ada.send("POST", PATH, json={"name": "Another"})).status_code == 201
    assert (await ada.send("POST", "/api/v1/keys", json={"name": "for all"})).status_code == 201
    reader = await person(town, company, scopes=["lead:read"])
    assert (await reader.send("POST", PATH, json={"name": "Another"})).status_code == 403


async def test_a_person_gains_nothing_by_changing_keys_and_teams(town: Any, company: Any) -> None:
    actions = {"actions": ["read", "create", "update", "delete"]}
    await team(company, permissions={"lead": {"actions": ["read"]}, "api_key": actions})
    ada = await person(town, company)
    wider = {"name": "x", "scopes": ["lead:read"]}
    for fields in (wider, {**wider, "user_email": "grace@example.com"}, {**wider, "user_email": None}):
        assert (await ada.send("POST", "/api/v1/keys", json=fields)).status_code == 403, fields
    own = await ada.send("POST", "/api/v1/keys", json={**wider, "user_email": "Ada@example.com"})
    assert own.status_code == 201, own.text
    free = await ada.send("PUT", f"/api/v1/keys/{own.json()['key']['id']}", json={"user_email": None})
    assert free.status_code == 403
    for scopes in (["*"], ["lead:update"], ["lead:*"], ["access_control_list:update"]):
        more = {"name": "x", "scopes": scopes, "user_email": ADA}
        assert (await ada.send("POST", "/api/v1/keys", json=more)).status_code == 403, scopes
    assert (await ada.send("POST", PATH, json={"name": "Mine", "superuser": True})).status_code == 403


async def test_a_team_reaches_the_records_that_it_names_and_no_others(town: Any, company: Any) -> None:
    mine, theirs = [await company.record("buyers", {"name": name, "number": "+12125550140"}) for name in ("A", "B")]
    scope = {"actions": ["read", "update"], "scope": [mine["id"]]}
    await team(company, permissions={"buyer": scope})
    ada = await person(town, company)
    listed = await ada.get("/api/v1/buyers")
    assert [one["id"] for one in listed.json()["buyers"]] == [mine["id"]]
    assert listed.json()["metadata"]["total_count"] == 1
    named = await ada.get("/api/v1/buyers", ids=f"{mine['id']},{theirs['id']}")
    assert [one["id"] for one in named.json()["buyers"]] == [mine["id"]]
    assert (await ada.send("PUT", f"/api/v1/buyers/{mine['id']}", json={"paused": True})).status_code == 200
    for reference in (theirs["id"], theirs["uuid"]):
        for method, body in (("GET", None), ("PUT", {"paused": True})):
            answer = await ada.send(method, f"/api/v1/buyers/{reference}", json=body)
            assert answer.status_code == 404, (method, reference)
    assert (await company.send("GET", f"/api/v1/buyers/{theirs['id']}")).json()["buyer"]["paused"] is False


async def test_an_operation_that_cannot_leave_out_records_is_refused_to_who_reaches_some(town: Any, company: Any) -> None:
    hooks = [await company.record("outgoing_webhooks", {"name": name, "url": "https://crm.example.com/x"}) for name in "AB"]
    statuses = [await company.record("agent_statuses", {"name": name, "key": "lunch"}) for name in "AB"]
    messages = [await company.record("agent_messages", {"content": name}) for name in "AB"]
    agent = await company.record("agents", {"name": "Ada", "user_email": ADA})
    await team(
        company,
        permissions={
            "outgoing_webhook": {"actions": ["read", "fire"], "scope": [hooks[0]["id"]]},
            "agent_status": {"actions": ["read", "set"], "scope": [statuses[0]["id"]]},
            "agent_message": {"actions": ["read", "acknowledge"], "scope": [messages[0]["id"]]},
        },
    )
    ada = await person(town, company)
    for method, path, fields in (
        ("POST", "/api/v1/webhook_manual_fires", {"outgoing_webhook_id": hooks[1]["id"], "lead_id": 1}),
        ("GET", "/api/v1/webhook_manual_fires", None),
        ("POST", "/api/v1/agent_statuses/set", {"agent_status_id": statuses[1]["id"]}),
        ("GET", "/api/v1/agent_status_timestamps", None),
    ):
        refused = await ada.send(method, path, json=fields)
        assert (refused.status_code, "name some records" in refused.text) == (403, True), (path, refused.text)
    unread = (await ada.get(f"/api/v1/agents/{agent['id']}/messages")).json()["agent_messages"]
    assert [one["id"] for one in unread] == [messages[0]["id"]]
    for message, status in ((messages[0], 200), (messages[1], 404)):
        answer = await ada.send("POST", f"/api/v1/agent_messages/{message['id']}/acknowledge")
        assert answer.status_code == status


async def divide(town: Any, company: Any) -> dict[str, Any]:
    """A company with leads of two schedules, each of an offer of its own, and a person who sees those of one offer."""
    offers = [await company.record("offers", {"name": name}) for name in ("Solar", "Roofs")]
    schedules = [
        await company.record("schedules", {"name": offer["name"], "offer_id": offer["id"], "steps": STEPS})
        for offer in offers
    ]
    leads = [
        await lead_of(company, schedule, f"+1305555014{place}", data={"roof": roof})
        for place, (schedule, roof) in enumerate(zip(schedules, ("flat", "steep"), strict=True))
    ]
    actions = {"actions": ["read", "update", "delete"]}
    made = await team(
        company,
        permissions={"lead": actions, "call": {"actions": ["read", "update", "key_press"]}},
        lead_filters={"offer_ids": [offers[0]["id"]]},
    )
    return {
        "offers": offers,
        "leads": leads,
        "schedules": schedules,
        "team": made,
        "ada": await person(town, company),
    }


async def test_a_member_sees_the_leads_of_one_offer_in_lists_files_and_reports(town: Any, company: Any) -> None:
    divided = await divide(town, company)
    ada, (seen, hidden) = divided["ada"], divided["leads"]
    listed = (await ada.get("/api/v1/leads")).json()
    assert [one["id"] for one in listed["leads"]] == [seen]
    assert listed["metadata"]["total_count"] == 1
    for params in ({"ids": hidden}, {"offer_id": divided["offers"][1]["id"]}, {"fulltext": "steep"}, {"cursor": -1}):
        found = (await ada.get("/api/v1/leads", **params)).json()["leads"]
        assert hidden not in [one["id"] for one in found], params
    assert str(hidden) not in (await ada.get("/api/v1/leads.csv", columns="id")).text
    for category in ("status", "offer_id", "created_at_day"):
        report = (await ada.get("/api/v1/leads/reports", category=category)).json()
        assert report["totals"]["leads_count"] == 1, (category, report)
    assert (await ada.get(f"/api/v1/leads/{seen}")).status_code == 200


async def test_a_lead_of_another_offer_looks_as_if_it_did_not_exist(town: Any, company: Any) -> None:
    divided = await divide(town, company)
    ada, (seen, hidden) = divided["ada"], divided["leads"]
    path = f"/api/v1/leads/{hidden}"
    missing = await ada.get("/api/v1/leads/999999999")
    uuid = (await company.send("GET", path)).json()["lead"]["uuid"]
    for reference in (hidden, uuid):
        for method, below, body in (
            ("GET", "", None),
            ("GET", "/why", None),
            ("GET", "/events", None),
            ("GET", "/buyer_is_available", None),
            ("PUT", "", {"zip": "33101"}),
            ("DELETE", "/id", None),
        ):
            answer = await ada.send(method, f"/api/v1/leads/{reference}{below}", json=body)
            assert (answer.status_code, answer.json()["code"]) == (404, missing.json()["code"]), (method, below, answer.text)
    token = divided["schedules"][1]["lead_token"]
    assert (await ada.get(f"/api/v1/leads/{token}/+13055550141/by_caller_number")).status_code == 404
    assert (await company.send("GET", path)).json()["lead"]["status"] == "scheduled"
    changed = await ada.send("PUT", f"/api/v1/leads/{seen}", json={"zip": "33101"})
    assert changed.status_code == 200, changed.text


async def test_calls_are_seen_by_the_same_filters(town: Any, company: Any) -> None:
    divided = await divide(town, company)
    ada, leads = divided["ada"], divided["leads"]
    await company.record("numbers", {"number": "+16465550199"})
    calls = []
    for lead in leads:
        answer = await company.send("POST", "/api/v1/schedules/make_call", json={"lead_id": lead})
        assert answer.status_code in {200, 201}, answer.text
        calls.append(answer.json()["call"]["id"])
    for path in ("/api/v1/calls", "/api/v1/calls/live_calls"):
        assert [one["id"] for one in (await ada.get(path)).json()["calls"]] == [calls[0]], path
    report = (await ada.get("/api/v1/calls/reports", category="created_at_day")).json()
    assert report["totals"]["calls_count"] == 1
    for below in ("", "/events"):
        assert (await ada.get(f"/api/v1/calls/{calls[0]}{below}")).status_code == 200
        assert (await ada.get(f"/api/v1/calls/{calls[1]}{below}")).status_code == 404
    assert (await ada.send("POST", f"/api/v1/calls/{calls[1]}", json={"revenue": 5})).status_code == 404
    pressed = await ada.send("POST", "/api/v1/calls/send_key_press", json={"id": calls[1], "digits": "1"})
    assert pressed.status_code == 404


async def test_several_teams_show_the_leads_of_each_and_only_those_that_grant_an_action_count(
    town: Any, company: Any
) -> None:
    divided = await divide(town, company)
    ada, (solar, roofs) = divided["ada"], divided["leads"]
    await team(
        company,
        permissions={"lead": {"actions": ["read"]}},
        lead_filters={"token_filters": [{"key": "roof", "value": "steep"}]},
    )
    await town.context.rules.refresh()
    assert {one["id"] for one in (await ada.get("/api/v1/leads")).json()["leads"]} == {solar, roofs}
    assert (await ada.send("PUT", f"/api/v1/leads/{roofs}", json={"zip": "33101"})).status_code == 404
    await team(company, permissions={"lead": {"actions": ["update"]}})
    await town.context.rules.refresh()
    assert (await ada.send("PUT", f"/api/v1/leads/{roofs}", json={"zip": "33101"})).status_code == 200


async def test_the_filters_of_the_teams_travel_with_a_change_so_that_they_are_checked_when_it_is_decided(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    divided = await divide(town, company)
    lead, submit, sent = divided["leads"][0], town.requests.submit, []

    async def note(topic: str, key: str, message: Any, **more: Any) -> None:
        sent.append(message.visible)
        await submit(topic, key, message, **more)

    monkeypatch.setattr(town.requests, "submit", note)
    for who in (divided["ada"], company):
        assert (await who.send("PUT", f"/api/v1/leads/{lead}", json={"zip": "33101"})).status_code == 200
    assert sent == [(LeadFilters(offer_ids=(divided["offers"][0]["id"],)),), None]


async def test_all_lists_of_one_team_must_fit(town: Any, company: Any) -> None:
    divided = await divide(town, company)
    ada = divided["ada"]
    filters = {
        "schedule_ids": [one["id"] for one in divided["schedules"]],
        "token_filters": [{"key": "roof", "value": "steep"}],
    }
    answer = await company.send("PUT", f"{PATH}/{divided['team']['id']}", json={"lead_filters": filters})
    assert answer.status_code == 200, answer.text
    await town.context.rules.refresh()
    assert [one["id"] for one in (await ada.get("/api/v1/leads")).json()["leads"]] == [divided["leads"][1]]


async def test_an_operation_that_cannot_leave_out_leads_is_refused_to_who_sees_some(town: Any, company: Any) -> None:
    divided = await divide(town, company)
    everything = {"actions": ["read", "create", "update", "delete"]}
    permissions = {
        "lead": everything,
        "call": {"actions": ["read", "start", "update"]},
        "schedule": {"actions": ["read"]},
        "impression": {"actions": ["read"]},
        "outgoing_webhook": {"actions": ["read", "fire"]},
        "unblock_contact_job": {"actions": ["read", "create"]},
    }
    answer = await company.send("PUT", f"{PATH}/{divided['team']['id']}", json={"permissions": permissions})
    assert answer.status_code == 200, answer.text
    await town.context.rules.refresh()
    ada = divided["ada"]
    cases = [
        ("GET", "/api/v1/leads/forecast", {}),
        ("POST", "/api/v1/leads/forecast/what_if", {"schedule_id": 1}),
        ("GET", "/api/v1/impressions", {}),
        ("GET", "/api/v1/webhook_manual_fires", {}),
        ("POST", "/api/v1/schedules/make_call", {"lead_id": divided["leads"][0]}),
        ("POST", "/api/v1/unblock_contact_jobs", {"confirm_all": True}),
        ("POST", "/api/v1/calls/update_by_caller_id/+13055550140", {"revenue": 1}),
    ]
    for method, path, fields in cases:
        refused = await ada.send(method, path, **({"json": fields} if fields else {}))
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), (path, refused.text)
        assert "show some leads" in refused.json()["detail"], path
