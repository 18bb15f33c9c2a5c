"""Does somebody who may not read all leads and calls have them sent nowhere, and read no report of what was sent?"""

import json
from typing import Any

import pytest

from adapters.http.exchange.sent_data import OF_EVENT, SENT
from adapters.http.operations import documented_operations
from engine.account.teams import PERMISSIONS
from engine.subscriptions.events import EVENT_NAMES
from tests.adapters.http.conftest import basic
from tests.adapters.http.test_hidden_fields import hiding
from tests.adapters.http.test_teams import Person, person, team

pytestmark = pytest.mark.asyncio(loop_scope="session")

WEBHOOK = {"name": "Elsewhere", "url": "https://elsewhere.example.com/hook"}
SUBSCRIPTION = {**WEBHOOK, "events": ["lead_created"]}
HOOKS, SUBSCRIPTIONS = "/api/v1/outgoing_webhooks", "/api/v1/subscriptions"

RIGHTS = ("lead", "call", "contact")


async def requests(company: Any) -> dict[str, tuple[str, str, dict[str, Any] | None]]:
    """Return each operation that sends or shows what was sent, as a request for a record that is there."""
    hook = await company.record("outgoing_webhooks", WEBHOOK)
    subscription = await company.record("subscriptions", {**SUBSCRIPTION, "paused": True})
    own = f"{SUBSCRIPTIONS}/{subscription['id']}"
    fire = {"outgoing_webhook_id": hook["id"], "lead_id": 1}
    provider = {"name": "Own server", "channel": "email", "provider": "smtp", "settings": {"host": "mail.example.com"}}
    return {
        "create_subscription": ("POST", SUBSCRIPTIONS, SUBSCRIPTION),
        "update_subscription": ("PUT", own, {"url": "https://elsewhere.example.com/2"}),
        "enable_subscription": ("POST", f"{own}/enable", {}),
        "replay_subscription": ("POST", f"{own}/replay", {"occurred_at_from": "2020-01-01"}),
        "list_subscription_deliveries": ("GET", f"{own}/deliveries", None),
        "show_subscription_delivery": ("GET", f"{own}/deliveries/1", None),
        "create_outgoing_webhook": ("POST", HOOKS, WEBHOOK),
        "update_outgoing_webhook": ("PUT", f"{HOOKS}/{hook['id']}", {"url": "https://elsewhere.example.com/2"}),
        "create_webhook_manual_fire": ("POST", "/api/v1/webhook_manual_fires", fire),
        "list_webhook_logs": ("GET", "/api/v1/webhook_logs", None),
        "show_webhook_log": ("GET", "/api/v1/webhook_logs/1", None),
        "create_provider_configuration": ("POST", "/api/v1/provider_configurations", provider),
        "update_provider_configuration": ("PUT", "/api/v1/provider_configurations/1", {"name": "Ours"}),
        "create_lead_bulk_job": ("POST", "/api/v1/lead_bulk_jobs", {"action": "stop", "filter": {}, "dry_run": True}),
        "list_lead_bulk_results": ("GET", "/api/v1/lead_bulk_jobs/1/results", None),
        "list_lead_import_errors": ("GET", "/api/v1/lead_imports/1/errors", None),
    }


def scopes_of(names: Any) -> list[str]:
    by_name = {operation.name: operation for operation in documented_operations()}
    return sorted({by_name[name].scope for name in names})


async def key_with(town: Any, company: Any, *scopes: str) -> Person:
    key = await company.record("keys", {"name": "Few scopes", "scopes": list(scopes)})
    await town.context.rules.refresh()
    return Person(town, basic(key["public_key"], key["private_key"]))


async def asked(sender: Person, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, str]:
    answer = await sender.send(method, path, **({} if body is None else {"json": body}))
    return answer.status_code, answer.json().get("detail", "") or ""


async def test_each_operation_that_sends_or_shows_what_was_sent_is_among_the_requests(company: Any) -> None:
    assert (await requests(company)).keys() == SENT.keys()
    assert OF_EVENT.keys() <= set(EVENT_NAMES)
    assert {*OF_EVENT.values(), *RIGHTS} <= PERMISSIONS.keys()


async def test_a_key_with_the_scope_alone_sends_nothing_and_reads_no_report(town: Any, company: Any) -> None:
    cases = await requests(company)
    thief = await key_with(town, company, *scopes_of(cases))
    for name, case in cases.items():
        status, detail = await asked(thief, *case)
        assert (status, "lead:read" in detail) == (403, True), (name, status, detail)
    trusted = await key_with(town, company, *scopes_of(cases), *(f"{model}:read" for model in RIGHTS))
    for name, case in cases.items():
        assert (await asked(trusted, *case))[0] != 403, name


async def test_a_member_whose_teams_grant_no_leads_at_all_is_no_exception(town: Any, company: Any) -> None:
    cases = await requests(company)
    models: dict[str, dict[str, Any]] = {scope.partition(":")[0]: {} for scope in scopes_of(cases)}
    thief = await hiding(town, company, models)
    for name, case in cases.items():
        status, detail = await asked(thief, *case)
        assert (status, "lead:read" in detail) == (403, True), (name, status, detail)


async def test_a_member_who_sees_some_leads_has_not_all_of_them_sent(town: Any, company: Any) -> None:
    cases = {name: case for name, case in (await requests(company)).items() if SENT[name].all_leads}
    models = {scope.partition(":")[0] for scope in scopes_of(cases)}
    await team(company, permissions={model: {"actions": list(PERMISSIONS[model])} for model in models})
    reading = {model: {"actions": ["read"]} for model in RIGHTS}
    await team(company, permissions=reading, lead_filters={"token_filters": [{"key": "roof", "value": "flat"}]})
    ada = await person(town, company)
    for name, case in cases.items():
        status, detail = await asked(ada, *case)
        assert (status, "show some leads" in detail) == (403, True), (name, status, detail)


@pytest.mark.parametrize(("event", "model"), sorted(OF_EVENT.items()))
async def test_an_event_of_another_model_takes_the_right_to_that(town: Any, company: Any, event: str, model: str) -> None:
    reads = [f"{name}:read" for name in RIGHTS]
    for body in ({**SUBSCRIPTION, "events": [event]}, {**SUBSCRIPTION, "events": f"lead_created,{event}"}):
        without = await asked(await key_with(town, company, "subscription:*", *reads), "POST", SUBSCRIPTIONS, body)
        assert (without[0], f"{model}:read" in without[1]) == (403, True), without
    granted = await key_with(town, company, "subscription:*", *reads, f"{model}:read")
    assert (await asked(granted, "POST", SUBSCRIPTIONS, {**SUBSCRIPTION, "events": [event]}))[0] == 201


async def test_a_webhook_step_is_made_and_changed_by_who_reads_leads_and_the_rest_by_others(town: Any, company: Any) -> None:
    hook, other = [await company.record("outgoing_webhooks", WEBHOOK) for _ in range(2)]
    text = {"id": "text", "kind": "sms", "template": "Hi"}
    post = {"id": "post", "kind": "webhook", "outgoing_webhook_id": hook["id"]}
    moved = {**post, "outgoing_webhook_id": other["id"]}
    editor = await key_with(town, company, "schedule:*")
    schedule = await company.schedule(steps=[text, post])
    path = f"/api/v1/schedules/{schedule['id']}"
    for steps in ([post], [text, moved], [text, {**post, "id": "post-2"}, post]):
        body: dict[str, Any] = {"name": "Days", "steps": steps}
        if steps != [post]:
            assert (await asked(editor, "PUT", path, {"steps": steps}))[0] == 403, steps
        assert (await asked(editor, "POST", "/api/v1/schedules", body))[0] == 403, steps
        form = await editor.send("POST", "/api/v1/schedules", data={"name": "Days", "steps": json.dumps(steps)})
        assert form.status_code in {403, 422}, form.text
    assert (await asked(editor, "PUT", path, {"end_steps": [{**post, "id": "tell"}]}))[0] == 403
    assert (await asked(editor, "PUT", path, {"steps": [{**text, "template": "Hello"}, post]}))[0] == 200
    assert (await asked(editor, "PUT", path, {"steps": [text]}))[0] == 200


PUBLISHED = ("published by its route", "published by a change")


async def some_leads(town: Any, company: Any) -> Person:
    """Return a person who edits schedules and sees the leads of one offer."""
    offer = await company.record("offers", {"name": "Seen"})
    actions = {model: {"actions": list(PERMISSIONS[model])} for model in ("schedule", "outgoing_webhook", *RIGHTS)}
    await team(company, permissions=actions, lead_filters={"offer_ids": [offer["id"]]})
    return await person(town, company)


async def hidden_fields(town: Any, company: Any) -> Person:
    """Return a person who edits schedules and sees all leads without their addresses."""
    models = ("schedule", "outgoing_webhook", *RIGHTS)
    return await hiding(town, company, {**{model: {} for model in models}, "lead": {"email": "none"}})


async def no_leads(town: Any, company: Any) -> Person:
    """Return a key that edits schedules and reads no leads."""
    return await key_with(town, company, "schedule:*")


@pytest.mark.parametrize("is_new", [False, True], ids=["of a schedule", "of a new schedule"])
@pytest.mark.parametrize("way", PUBLISHED)
@pytest.mark.parametrize("who", [some_leads, no_leads, hidden_fields])
async def test_a_webhook_step_in_the_draft_of_another_is_published_by_who_reads_all_leads(
    town: Any, company: Any, who: Any, way: str, is_new: bool
) -> None:
    hook = await company.record("outgoing_webhooks", WEBHOOK)
    text = {"id": "text", "kind": "sms", "template": "Hi"}
    steps = [text, {"id": "post", "kind": "webhook", "outgoing_webhook_id": hook["id"]}]
    schedule = await company.schedule(steps=steps if is_new else [text], draft=is_new)
    path = f"/api/v1/schedules/{schedule['id']}"
    if not is_new:
        assert (await company.send("PUT", path, json={"steps": steps, "draft": True})).status_code == 200
    editor = await who(town, company)
    for draft in ({"name": "Days", "draft": True}, {"steps": steps[::-1], "draft": True}):
        status, detail = await asked(editor, "PUT", path, draft)
        assert status == 200, detail
    publishing = {
        "published by its route": ("POST", f"{path}/publish", {}),
        "published by a change": ("PUT", path, {"steps": steps}),
    }
    status, detail = await asked(editor, *publishing[way])
    assert status == 403, detail
    shown = (await company.send("GET", path)).json()["schedule"]
    assert shown["unpublished"] or [step["id"] for step in shown["steps"]] == ["text"]
    assert (await company.send(*publishing[way][:2], json=publishing[way][2])).status_code == 200
    assert (await asked(editor, "PUT", path, {"steps": [{**text, "template": "Hello"}, steps[1]]}))[0] == 200


async def test_a_schedule_that_posts_is_moved_to_other_leads_by_who_reads_all_of_them(town: Any, company: Any) -> None:
    hook = await company.record("outgoing_webhooks", WEBHOOK)
    offers = [await company.record("offers", {"name": name}) for name in ("A", "B")]
    post = {"id": "post", "kind": "webhook", "outgoing_webhook_id": hook["id"]}
    posting = await company.schedule(steps=[post], offer_id=offers[0]["id"])
    silent = await company.schedule(steps=[{"id": "text", "kind": "sms", "template": "Hi"}], offer_id=offers[0]["id"])
    editor = await some_leads(town, company)
    moved = {"offer_id": offers[1]["id"]}
    assert (await asked(editor, "PUT", f"/api/v1/schedules/{posting['id']}", moved))[0] == 403
    assert (await asked(editor, "PUT", f"/api/v1/schedules/{posting['id']}", {"offer_id": offers[0]["id"]}))[0] == 200
    assert (await asked(editor, "PUT", f"/api/v1/schedules/{silent['id']}", moved))[0] == 200


async def test_a_call_is_posted_nowhere_by_who_may_only_change_it(town: Any, company: Any) -> None:
    hook = await company.record("outgoing_webhooks", WEBHOOK)
    editor = await key_with(town, company, "call:update")
    status, detail = await asked(editor, "POST", "/api/v1/calls/1", {"fire_outgoing_webhook_ids": [hook["id"]]})
    assert (status, "lead:read" in detail) == (403, True)
    assert (await asked(editor, "POST", "/api/v1/calls/1", {"revenue": 1}))[0] == 404
