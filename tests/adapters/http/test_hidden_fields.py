"""Is a field that all teams of a person hide left out of every answer, and refused wherever a request names it?"""

import csv
import io
from typing import Any

import pytest

from adapters.http.exchange.exchange import Operation
from adapters.http.operations import documented_operations
from adapters.http.records.records import KINDS
from engine.account.teams import PERMISSIONS
from engine.views.hidden_fields import HIDEABLE
from tests.adapters.http.test_teams import PATH, Person, lead_of, person, team

pytestmark = pytest.mark.asyncio(loop_scope="session")

LEADS, CALLS = "/api/v1/leads", "/api/v1/calls"

LISTS: dict[str, str] = {
    "lead": LEADS,
    "call": CALLS,
    "contact": "/api/v1/contacts",
    "conversion": "/api/v1/buyer_conversions",
    "impression": "/api/v1/impressions",
    **{kind.type: kind.path for kind in KINDS if kind.type in HIDEABLE},
}
"""Model -> path of its list; a company has no list."""

NEUTRAL = frozenset(
    {
        *("page", "per_page", "cursor", "order", "order_dir", "columns", "root", "ids", "id", "serializer", "time_zone"),
        *("created_at_from", "created_at_to", "created_at_label", "category", "pivot", "group_by", "stat"),
        "recent_call_disposition_id",  # ids of what the list itself does not show
        "lead_id",  # every answer shows it
    }
)
"""Parameters that name no field, or name fields by their values."""

LOGS = frozenset({"list_webhook_logs", "list_webhook_manual_fires"})
"""Lists beside the records of their scope, which have other fields."""

NO_LISTS = frozenset({"forecast_leads", "report_queues", "list_kept_submissions", "preview_schedule", "show_calling_hours"})
"""Operations that compute an answer: their parameters name no field of a record."""

VALUES: dict[str, Any] = {"time_zone": "UTC", "order": "id"}


def reads(model: str) -> list[Operation]:
    """Return the operations that read records of a model."""
    return [
        operation
        for operation in documented_operations()
        if operation.scope == f"{model}:read" and operation.methods == ("GET",) and operation.name not in LOGS
    ]


async def hiding(town: Any, company: Any, permissions: dict[str, dict[str, Any]], **fields: Any) -> Person:
    """Return a person of one team, whose fields of each model are hidden."""
    granted = {
        model: {"actions": list(PERMISSIONS[model]), "fields": restricted} for model, restricted in permissions.items()
    }
    await team(company, permissions=granted, **fields)
    return await person(town, company)


def hidden(*names: str, mode: str = "none") -> dict[str, str]:
    return dict.fromkeys(names, mode)


@pytest.mark.parametrize("model", sorted(HIDEABLE))
async def test_each_field_of_a_model_is_refused_where_a_request_names_it(town: Any, company: Any, model: str) -> None:
    """One person sees no field of the model that can be hidden."""
    ada = await hiding(town, company, {model: hidden(*HIDEABLE[model])})
    path = LISTS.get(model, "/api/v1/company")
    for name in sorted(HIDEABLE[model]):
        answer = await ada.get(path, columns=f"id,{name}")
        if model == "company":
            continue  # it is shown as a whole
        columns_of = answer.json()["errors"].get("columns", []) if answer.status_code == 422 else []
        # A model of several lists: a column of another one is no column of this.
        assert answer.status_code == 403 or columns_of, (name, answer.text)
        assert answer.status_code == 403 or model in {"contact", "conversion"}, (name, answer.text)
    shown = await ada.get(path)
    assert shown.status_code == 200, shown.text
    for operation in reads(model):
        if "{" in operation.path or operation.name in NO_LISTS:
            continue
        for name in operation.parameters:
            if name in NEUTRAL or operation.name.startswith("build") or (model, name) == ("call", "lead_import_id"):
                continue
            answer = await ada.get(operation.path, **{name: VALUES.get(name, "1")})
            assert answer.status_code == 403, (operation.name, name, answer.text)
            assert list(answer.json()["errors"]) == [name]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.type in HIDEABLE], ids=lambda kind: kind.type)
async def test_a_record_is_shown_without_its_hidden_fields(town: Any, company: Any, kind: Any) -> None:
    ada = await hiding(town, company, {kind.type: hidden(*HIDEABLE[kind.type])})
    kept = HIDEABLE[kind.type]
    built = await ada.get(f"{kind.path}/new")
    assert built.status_code == 200, built.text
    assert kept.isdisjoint(built.json()[kind.root])
    assert "id" in built.json()[kind.root]
    whole = (await company.send("GET", f"{kind.path}/new")).json()[kind.root]
    assert kept <= whole.keys()
    listed = await ada.send("GET", f"{kind.path}.csv")
    assert listed.status_code == 200, listed.text
    (header, *_) = csv.reader(io.StringIO(listed.text))
    assert kept.isdisjoint(header)
    assert "id" in header


async def test_a_lead_is_shown_without_hidden_fields_in_every_form(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    lead_id = await lead_of(company, schedule, "+13055550141", email="grace@example.com", roof="flat")
    ada = await hiding(town, company, {"lead": hidden("email", "caller_id", "data")})
    for path in (
        f"{LEADS}/{lead_id}",
        LEADS,
        f"{LEADS}.csv",
        f"{LEADS}/{lead_id}?root=false",
        f"{LEADS}?serializer=lead_grid",
    ):
        answer = await ada.get(path)
        assert answer.status_code == 200, answer.text
        for secret in ("grace@example.com", "3055550141", "flat"):
            assert secret not in answer.text, path
        assert "external_record_id" in answer.text or "lead_grid" in path
    whole = await company.send("GET", f"{LEADS}/{lead_id}")
    shown = (await ada.get(f"{LEADS}/{lead_id}")).json()["lead"]
    expected = {
        name: value
        for name, value in whole.json()["lead"].items()
        if name not in {"email", "caller_id", "data", "name", "context_menu_name"}
    }
    assert shown == expected
    etag = (await ada.get(f"{LEADS}/{lead_id}")).headers["ETag"]
    assert etag == whole.headers["ETag"]  # a number of changes


async def test_a_report_leaves_out_what_follows_from_a_hidden_field(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    await lead_of(company, schedule, "+13055550142")
    ada = await hiding(town, company, {"lead": hidden("revenue", "state_province"), "call": hidden("payout")})
    report = await ada.get(f"{LEADS}/reports", category="status", pivot="created_at_day")
    assert report.status_code == 200, report.text
    assert '"revenue"' not in report.text
    assert '"profit"' not in report.text
    assert '"payout"' not in report.text  # of a lead: what its calls are paid for, which is hidden
    assert '"outbound_calls_count"' in report.text
    table = await ada.get(f"{LEADS}/reports.csv", category="status", pivot="created_at_day")
    assert "outbound_calls_count" in table.text
    assert "payout" not in table.text
    assert "revenue" not in table.text
    assert "profit" not in table.text
    for params in (
        {"category": "state_province"},
        {"category": "state"},
        {"category": "status", "pivot": "state_province"},
        {"category": "status", "columns": "category,profit"},
        {"category": "status", "order": "revenue"},
    ):
        assert (await ada.get(f"{LEADS}/reports", **params)).status_code == 403, params
    span = {"created_at_from": "2000-01-01", "created_at_to": "2999-01-01", "group_by": "status"}
    for stat in ("payout", "profit"):
        assert (await ada.get(f"{CALLS}/stats", **span, stat=stat)).status_code == 403
    assert (await ada.get(f"{CALLS}/stats", **span, stat="revenue")).status_code == 200


async def test_calls_are_not_filtered_by_a_hidden_field_of_their_leads(town: Any, company: Any) -> None:
    ada = await hiding(town, company, {"call": {}, "lead": hidden("lead_import_id", "data")})
    for params in ({"lead_import_id": 1}, {"tag": "vip"}):
        assert (await ada.get(CALLS, **params)).status_code == 403, params
    assert (await ada.get(f"{CALLS}/reports", category="lead_import_id")).status_code == 403
    assert (await ada.get(f"{CALLS}/reports", category="status")).status_code == 200


async def test_hidden_and_read_only_fields_are_not_changed(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    lead_id = await lead_of(company, schedule, "+13055550143", email="grace@example.com")
    fields = {**hidden("email"), **hidden("traffic_source_id", "data", mode="read")}
    ada = await hiding(town, company, {"lead": fields})
    seen = await ada.get(f"{LEADS}/{lead_id}", columns="id,data")
    assert seen.json()["lead"]["data"] == {}
    for body in ({"email": "a@example.com"}, {"traffic_source_id": 1}, {"data": {"roof": "flat"}}, {"roof": "flat"}):
        refused = await ada.send("PUT", f"{LEADS}/{lead_id}", json={**body, "opt_out": False})
        assert (refused.status_code, list(refused.json()["errors"])) == (403, list(body)), refused.text
    changed = await ada.send("PUT", f"{LEADS}/{lead_id}", json={"blocked": True})
    assert (changed.status_code, "email" in changed.json()["lead"]) == (200, False), changed.text
    made = await ada.send("POST", LEADS, json={"lead_token": schedule["lead_token"], "caller_id": "+13055550144"})
    assert made.status_code == 201, made.text
    assert "email" not in made.json()["lead"]


async def test_teams_unite_in_what_they_show(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    lead_id = await lead_of(company, schedule, "+13055550145", email="grace@example.com")
    path = f"{LEADS}/{lead_id}"
    ada = await hiding(town, company, {"lead": hidden("email", "caller_id")})
    second = await team(company, permissions={"lead": {"actions": ["read"], "fields": hidden("email")}})
    await town.context.rules.refresh()
    shown = (await ada.get(path)).json()["lead"]
    assert "email" not in shown
    assert shown["caller_id"] == "+13055550145"
    await company.send("PUT", f"{PATH}/{second['id']}", json={"permissions": {"lead": {"actions": ["read"]}}})
    assert (await ada.get(path)).json()["lead"]["email"] == "grace@example.com"
    restricted = {"permissions": {"call": {"actions": ["read"]}}}
    await company.send("PUT", f"{PATH}/{second['id']}", json=restricted)
    assert "email" not in (await ada.get(path)).json()["lead"]  # a team without the model shows nothing of it
    await company.send("PUT", f"{PATH}/{second['id']}", json={"superuser": True})
    assert (await ada.get(path)).json()["lead"]["email"] == "grace@example.com"


async def test_an_explanation_says_nothing_that_is_hidden(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    lead_id = await lead_of(company, schedule, "+13055550146", email="grace@example.com")
    ada = await hiding(town, company, {"lead": hidden("caller_id", "email")})
    found = await ada.get(f"{LEADS}/{lead_id}/why")
    assert found.status_code == 200, found.text
    assert found.json()["why"]["sentence"]
    assert (found.json()["why"]["decision"] or {"data": {}})["data"] == {}
    assert "3055550146" not in found.text
    assert (await ada.get(f"{LEADS}/forecast")).status_code == 403
    assert (await ada.send("POST", f"{LEADS}/forecast/what_if", json={"schedule_id": schedule["id"]})).status_code == 403
    other = await hiding(town, company, {"lead": hidden("caller_id", "email", "status")}, users_emails=["eve@example.com"])
    eve = await person(town, company, "eve@example.com")
    assert (await eve.get(f"{LEADS}/{lead_id}/why")).status_code == 403
    assert other.headers != eve.headers


async def test_nobody_who_sees_less_of_leads_says_where_they_are_posted(town: Any, company: Any) -> None:
    models = {"lead": hidden("email"), "call": {}, "contact": {}, "subscription": {}, "outgoing_webhook": {}}
    ada = await hiding(town, company, models)
    body = {"name": "CRM", "url": "https://crm.example.com/hook"}
    for path, more in (("/api/v1/outgoing_webhooks", {}), ("/api/v1/subscriptions", {"events": ["lead_ended"]})):
        answer = await ada.send("POST", path, json={**body, **more})
        assert answer.status_code == 403, answer.text
        assert "hide fields" in answer.json()["detail"]


async def test_what_a_person_asked_is_shown_later_without_hidden_fields(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    lead_id = await lead_of(company, schedule, "+13055550147", email="grace@example.com")
    changed = await company.send("PUT", f"{LEADS}/{lead_id}", json={"roof": "flat"})
    request_id = changed.headers["X-Request-Id"]
    ada = await hiding(town, company, {"lead": hidden("email")})
    found = await ada.get(f"/api/v1/requests/{request_id}")
    assert found.status_code == 200, found.text
    assert "grace@example.com" not in found.text


@pytest.mark.parametrize(
    "fields",
    [
        {"email": "hidden"},
        {"no_such_column": "none"},
        {"id": "none"},
        {"E-Mail": "none"},
        ["email"],
        {f"field_{number}": "none" for number in range(101)},
    ],
)
async def test_what_cannot_be_hidden_is_refused(company: Any, fields: Any) -> None:
    body = {"name": "Team", "permissions": {"lead": {"actions": ["read"], "fields": fields}}}
    answer = await company.send("POST", PATH, json=body)
    assert (answer.status_code, list(answer.json()["errors"])) == (422, ["permissions"]), answer.text


async def test_no_restriction_is_not_stored(company: Any) -> None:
    fields = {"email": "update", "caller_id": "read"}
    made = await company.record(
        "access_control_lists", {"name": "T", "permissions": {"lead": {"actions": ["read"], "fields": fields}}}
    )
    assert made["permissions"]["lead"]["fields"] == {"caller_id": "read"}


async def test_who_sees_less_of_leads_changes_none_by_a_filter_and_who_may_not_change_a_field_no_lead_by_it(
    town: Any, company: Any
) -> None:
    path, given = "/api/v1/lead_bulk_jobs", {"filter": {"email": "ann@example.com"}, "dry_run": True}
    may: dict[str, dict[str, Any]] = {"lead_bulk_job": {}, "lead_import": {}}
    blind = await hiding(town, company, {"lead": hidden("email"), **may})
    for method, place in (("POST", path), ("GET", path), ("GET", f"{path}/1"), ("GET", "/api/v1/lead_imports/1/errors")):
        fields = {"json": {"action": "stop", **given}} if method == "POST" else {}
        answer = await blind.send(method, place, **fields)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), (method, place, answer.text)


async def test_who_may_see_and_not_change_opt_outs_opts_nobody_out_by_a_job(town: Any, company: Any) -> None:
    path, given = "/api/v1/lead_bulk_jobs", {"filter": {"opt_out": False}, "dry_run": True}
    grace = await hiding(town, company, {"lead": hidden("opt_out", mode="read"), "lead_bulk_job": {}})
    refused = await grace.send("POST", path, json={"action": "opt_out", **given})
    assert (refused.status_code, list(refused.json()["errors"])) == (403, ["action"])
    assert (await grace.send("POST", path, json={"action": "stop", **given})).status_code == 200
