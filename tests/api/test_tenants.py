"""Is a company alone with what is its own? Whatever a request can name is tried with what another company has.

Tables over all operations: a new one, or a new field that names a record, fails until it has its row.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from adapters.http.document.examples import (
    BUYER_CONVERSION,
    CALL,
    EXAMPLES,
    KEPT_SUBMISSION,
    LEAD,
    LEAD_BULK_JOB,
    LEAD_IMPORT,
    MANUAL_FIRE,
    NUMBER,
    OFFER_CONVERSION,
    OFFER_TOKEN,
    RECORDS,
    REQUEST,
    SCHEDULE_TOKEN,
    SCHEDULED_CALLBACK,
    WEBHOOK_LOG,
    Example,
)
from adapters.http.document.openapi import parameter_schema
from adapters.http.exchange.exchange import BODY_METHODS, PLACEHOLDER, Operation
from adapters.http.operations import documented_operations
from adapters.http.records.records import KINDS
from engine.views.report import CALL_CATEGORIES, LEAD_CATEGORIES
from tests.api.world import Places, make_places, placed, send

pytestmark = pytest.mark.asyncio(loop_scope="session")

OF_PATH: Mapping[str, str] = {
    "leads": LEAD,
    "calls": CALL,
    "requests": REQUEST,
    "webhook_manual_fires": MANUAL_FIRE,
    "contacts": "contact_id",
    "webhook_logs": WEBHOOK_LOG,
    "lead_bulk_jobs": LEAD_BULK_JOB,
    "lead_imports": LEAD_IMPORT,
    "scheduled_callbacks": SCHEDULED_CALLBACK,
    "kept_submissions": KEPT_SUBMISSION,
    "buyer_conversions": BUYER_CONVERSION,
    "offer_conversions": OFFER_CONVERSION,
    **{kind.collection: RECORDS[kind.type] for kind in KINDS},
}
"""Collection in a path -> what its `{id}` names."""

BY_NUMBER = (
    *("caller_opt_out", "caller_remove", "caller_move_to_end_of_schedule", "update_calls_by_caller_id"),
    *("show_contact", "caller_block", "caller_unblock", "decide_opt_out_review"),
)
"""Operations whose `{id}` is a person's number."""

BLOCKING = ("caller_block", "caller_unblock")
"""Operations that a company may do about a number of which it has no leads: as a contact of its own."""

BUYER, SOURCE = "a buyer by its own id", "a traffic source by its own id"

OF_FIELD: Mapping[str, tuple[str, ...]] = {
    "lead_token": (OFFER_TOKEN, SCHEDULE_TOKEN),
    "offer_token": (OFFER_TOKEN,),
    "lead_id": (LEAD,),
    "id": (CALL,),
    "offer_id": (RECORDS["offer"],),
    "schedule_id": (RECORDS["schedule"],),
    "schedule_ids": (RECORDS["schedule"],),
    "move_to_another_schedule_id": (RECORDS["schedule"],),
    "traffic_source_id": (RECORDS["traffic_source"],),
    "buyer_id": (RECORDS["buyer"],),
    "unanswered_buyer_id": (RECORDS["buyer"],),
    "callback_buyer_id": (RECORDS["buyer"],),
    "callback_buyer_group_id": (RECORDS["buyer_group"],),
    "buyer_group_ids": (RECORDS["buyer_group"],),
    "buyer_ids": (RECORDS["buyer"],),
    "buyer_fleet_ids": (RECORDS["buyer_fleet"],),
    "add_buyer_ids": (RECORDS["buyer"],),
    "team_offer_ids": (RECORDS["offer"],),
    "remove_buyer_ids": (RECORDS["buyer"],),
    "add_user_buyer_ids": (BUYER,),
    "remove_user_buyer_ids": (BUYER,),
    "svc_buyer_id": (RECORDS["buyer"], BUYER),
    "svc_traffic_source_id": (RECORDS["traffic_source"], SOURCE),
    "call_disposition_id": (RECORDS["call_disposition"],),
    "recent_call_disposition_id": (RECORDS["call_disposition"],),
    "action_group_id": (RECORDS["action_group"],),
    "fire_outgoing_webhook_ids": (RECORDS["outgoing_webhook"],),
    "outgoing_webhook_id": (RECORDS["outgoing_webhook"],),
    "call_id": (CALL,),
    "number_id": (RECORDS["number"],),
    "call_center_id": (RECORDS["call_center"],),
    "call_center_ids": (RECORDS["call_center"],),
    "number_ids": (RECORDS["number"],),
    "default_number_id": (RECORDS["number"],),
    "ring_pool_id": (RECORDS["ring_pool"],),
    "suppression_list_id": (RECORDS["suppression_list"],),
    "suppression_list_ids": (RECORDS["suppression_list"],),
    "agent_status_id": (RECORDS["agent_status"],),
    "record_id": (RECORDS["buyer"],),
    "key_id": (RECORDS["api_key"],),
    "collaborator_id": (RECORDS["agent"],),
    **dict.fromkeys(("agent_ids", "callback_agent_id"), (RECORDS["agent"],)),
    "unanswered_agent_id": (RECORDS["agent"],),
    "contact_id": ("contact_id",),
    "webhook_manual_fire_id": (MANUAL_FIRE,),
    "buyer_conversion_id": (BUYER_CONVERSION,),
    "offer_conversion_id": (OFFER_CONVERSION,),
}
"""Field -> what of another company it is tried with; `ids` names what its list is of."""

NAMES_NOTHING = frozenset(
    {
        *("provider_configuration_id", "agent_id"),  # as a gateway of the company itself reports them
        # What a company calls its own.
        *("user_buyer_id", "user_fleet_id", "user_traffic_source_id", "external_record_id", "sub_id"),
        "lead_import_id",
        "sign_in_client_id",  # as the identity provider of the company calls it
        "last_event_id",  # a place in the company's own order of events
        "agent_widget_id",  # a page, as the agent's program numbers it
        "last_contact_id",  # of an unblock contact job: shown as it was sent, and nobody is looked up by it
        "token",  # of an invitation, whose user it names: tests/adapters/http/test_invitations.py
        "caller_id",  # a person, who is another one at every company
        *("visitor_id", "session_id"),  # a visitor, likewise
        "impressions",  # tests/adapters/http/test_impressions.py tries what stands in them
        "company_id",  # of a sign-in, which says nothing of any company: tests/adapters/http/test_sign_in.py
        "trigger_fields",  # tests/engine/account/test_subscriptions.py tries what stands in them
        *("permissions", "lead_filters"),  # tests/adapters/http/test_teams.py tries what stands in them
        "filter",  # of a bulk job, which finds leads of its own company alone: tests/adapters/http/test_lead_bulk_jobs.py
        "schedule",  # of a preview, which looks nothing up
        "query",  # of a saved view: the list of leads asks with it, and is tried itself
        *("rotate_lead_token", "allow_auth_token"),  # yes or no
    }
)

MOVING = frozenset({"expires_in", "state", "succeeded_at"})
"""Columns that change by themselves: time passes, and jobs go on."""

UNKNOWN_CODES = {"not_found", "unknown_lead_token", "validation_failed"}


def _fields(operation: Operation) -> Iterator[str]:
    """Yield the fields of an operation that name something of a company."""
    for name in dict.fromkeys((*(operation.body or {}).get("properties", ()), *operation.parameters)):
        said = str(parameter_schema(operation, name))
        is_reference = any(word in said for word in ("IdInput", "IdsInput", "ReferenceInput"))
        if name not in NAMES_NOTHING and (is_reference or re.search(r"(_id|_ids|token)$|^ids?$", name)):
            yield name


def _collection(operation: Operation) -> str:
    return operation.path.split("/")[3]


async def _all_places(town: Any, company: Any) -> Places:
    """Make one of everything, and say by which names it goes."""
    places = await make_places(town, company, *EXAMPLES.values())
    town.numbers += 1
    names = {"user_buyer_id": f"theirs-{town.numbers}", "number": "+12125550141"}
    await company.send("PUT", f"/api/v1/buyers/{places[RECORDS['buyer']]}", json=names)
    source = {"user_traffic_source_id": f"theirs-{town.numbers}"}
    await company.send("PUT", f"/api/v1/traffic_sources/{places[RECORDS['traffic_source']]}", json=source)
    call = (await company.send("GET", f"/api/v1/calls/{places[CALL]}")).json()["call"]
    name = f"theirs-{town.numbers}"
    return {**places, BUYER: name, SOURCE: name, "contact_id": str(call["contact_id"])}


async def _send(company: Any, operation: Operation, method: str, example: Example) -> httpx.Response:
    path = operation.path
    for name, value in example.path.items():
        path = path.replace(f"{{{name}}}", value)
    if method not in BODY_METHODS:
        answer = await company.send(method, path, params={**example.query, **example.body})
    else:
        answer = await company.send(method, path, params=example.query, json=example.body)
    found: httpx.Response = answer
    return found


async def _rows(company: Any) -> list[dict[str, Any]]:
    """Return everything that a company has, as its lists show it."""
    found = []
    for collection in ("leads", "calls", *(kind.collection for kind in KINDS)):
        listed = await company.send("GET", f"/api/v1/{collection}", params={"cursor": "-1", "per_page": "1000"})
        found += [{**row, **dict.fromkeys(MOVING & row.keys())} for row in listed.json()[collection]]
    return [*found, (await company.send("GET", "/api/v1/company")).json()["company"]]


def _telltales(company: Any, rows: list[dict[str, Any]]) -> set[str]:
    """Return what stands in an answer only where it tells of the company."""
    names = ("uuid", "lead_token", "public_key", "user_buyer_id", "user_fleet_id", "user_traffic_source_id")
    return {company.public_key, *(row[name] for row in rows for name in names if row.get(name))}


def _is_silent(answer: httpx.Response, telltales: set[str]) -> bool:
    """Return whether an answer has nothing of another company; what was sent may come back in it."""
    sent = f"{answer.request.url} {answer.request.content.decode()}"
    return not any(telltale in answer.text for telltale in telltales if telltale not in sent)


async def test_every_field_that_names_a_record_has_a_row() -> None:
    named = {name for operation in documented_operations() for name in _fields(operation)} - {"ids"}
    assert named == OF_FIELD.keys()
    for operation in documented_operations():
        assert set(PLACEHOLDER.findall(operation.path)) <= {"id", "lead_token", "caller_number", "delivery_id"}, (
            operation.name
        )
        is_own = operation.name in BY_NUMBER or operation.access == "session"
        assert "{id}" not in operation.path or is_own or _collection(operation) in OF_PATH


async def test_a_path_with_another_companys_id_is_that_of_nobody(town: Any, company: Any, other: Any) -> None:
    ours, theirs = await _all_places(town, company), await _all_places(town, other)
    before = await _rows(other)
    uuids = {str(row["id"]): row["uuid"] for row in before}
    telltales = _telltales(other, before)
    tried = 0
    for operation in documented_operations():
        if "{id}" not in operation.path or operation.name in BY_NUMBER or operation.access == "session":
            continue
        example = placed(EXAMPLES[operation.name], ours)
        found = theirs[OF_PATH[_collection(operation)]]
        for reference in dict.fromkeys((found, uuids.get(found, found))):
            for method in operation.methods:
                tried += 1
                body = {name: value for name, value in example.body.items() if name != "id"}
                answer = await _send(company, operation, method, Example(path={"id": reference}, body=body))
                context = (operation.name, method, reference, answer.status_code, answer.text[:300])
                assert (answer.status_code, answer.json().get("code")) == (404, "not_found"), context
                assert _is_silent(answer, telltales), context
    assert tried > len(KINDS) * 2 * 4
    assert await _rows(other) == before


async def test_a_person_is_another_one_at_every_company(town: Any, company: Any, other: Any) -> None:
    ours, theirs = await _all_places(town, company), await _all_places(town, other)
    before = await _rows(other)
    for operation in documented_operations():
        example = placed(EXAMPLES[operation.name], ours)
        if not {"lead_token", "caller_number"} & {*PLACEHOLDER.findall(operation.path)} and operation.name not in BY_NUMBER:
            continue
        by_number = {"id": theirs[NUMBER]} if operation.name in BY_NUMBER else {"caller_number": theirs[NUMBER]}
        for method in (method for method in operation.methods if method != "HEAD"):
            answer = await _send(
                company,
                operation,
                method,
                Example(path={**example.path, **by_number}, query=example.query, body=example.body),
            )
            context = (operation.name, method, answer.status_code, answer.text[:300])
            if operation.name == "list_calls_by_caller_number":
                assert answer.json()["calls"] == [], context
            elif operation.name in BLOCKING or (operation.name == "show_contact" and answer.status_code == 200):
                # The company knows the number by what it asked of it here: an opt-out is stored for any number.
                assert (answer.status_code, answer.json()["contact"]["lead_ids"]) == (200, []), context
            else:
                assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), context
            assert _is_silent(answer, _telltales(other, before)), context
    path = f"/api/v1/leads/{theirs[SCHEDULE_TOKEN]}/{theirs[NUMBER]}/by_caller_number"
    assert (await company.send("GET", path)).json()["code"] == "unknown_lead_token"
    assert await _rows(other) == before


def _tried(operation: Operation, theirs: Places) -> Iterator[tuple[str, Any]]:
    """Yield each field that names something, with what another company has in its place."""
    for name in _fields(operation):
        kinds = OF_FIELD[name] if name != "ids" else (OF_PATH[_collection(operation)],)
        for kind in kinds:
            yield name, [theirs[kind]] if name.endswith("_ids") and operation.path.count("/") else theirs[kind]


async def test_a_field_with_what_another_company_has_is_refused_or_finds_nothing(
    town: Any, company: Any, other: Any
) -> None:
    ours, theirs = await _all_places(town, company), await _all_places(town, other)
    before, own = await _rows(other), await _rows(company)
    telltales = _telltales(other, before)
    faults = []
    for operation in documented_operations():
        example = placed(EXAMPLES[operation.name], ours)
        for method in (method for method in operation.methods if method != "HEAD"):
            for name, value in _tried(operation, theirs):
                body = {**example.body, name: value}
                asked = Example(path=example.path, query=_without_label(example.query), body=body)
                answer = await _send(company, operation, method, asked)
                is_nothing = _is_refused(answer) if not operation.safe or answer.status_code != 200 else _is_empty(answer)
                if not is_nothing or not _is_silent(answer, telltales):
                    faults.append((operation.name, method, name, str(value)[:60], answer.status_code, answer.text[:300]))
    assert faults == [], "\n".join(map(str, faults))
    assert await _rows(other) == before
    assert await _rows(company) == own


def _without_label(query: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in query.items() if name not in {"created_at_label", "columns", "status"}}


def _is_refused(answer: httpx.Response) -> bool:
    return answer.status_code in {404, 422} and answer.json()["code"] in UNKNOWN_CODES


def _is_empty(answer: httpx.Response) -> bool:
    body = answer.json()
    return bool(body[body["metadata"]["root"]] == [])


def _steps(theirs: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield every step that can name a record, with one of another company."""
    record = {kind: int(theirs[place]) for kind, place in RECORDS.items()}
    yield {"kind": "call", "connect": {"buyer_group_id": record["buyer_group"]}}
    yield {"kind": "call", "connect": {"buyer_group_ids": [record["buyer_group"]]}}
    yield {"kind": "call", "connect": {"buyer_ids": [record["buyer"]]}}
    yield {"kind": "webhook", "outgoing_webhook_id": record["outgoing_webhook"]}
    yield {"kind": "move_to_schedule", "schedule_id": record["schedule"]}
    yield {"kind": "update_lead", "traffic_source_id": record["traffic_source"]}
    yield {"kind": "schedule_callback", "in": "1h", "buyer_id": record["buyer"]}
    yield {"kind": "schedule_callback", "in": "1h", "buyer_group_id": record["buyer_group"]}
    yield {"kind": "action_group", "action_group_id": record["action_group"]}
    yield {"kind": "wait_for", "event": "tokens_match", "filters": ["fleet:of_another"], "timeout": "1d"}


async def test_no_step_and_no_reaction_of_a_schedule_leads_to_another_company(town: Any, company: Any, other: Any) -> None:
    theirs = await _all_places(town, other)
    schedule = int(theirs[RECORDS["schedule"]])
    await other.record("buyer_fleets", {"name": "F", "user_fleet_id": "of_another"})
    bodies: list[dict[str, Any]] = [
        *({place: [{"id": "a", **step}]} for step in _steps(theirs) for place in ("steps", "end_steps")),
        {"on_conversion": {"schedule_id": schedule}},
        {"on_inbound_connected": {"action": "move", "schedule_id": schedule}},
    ]
    own = await company.schedule()
    group = await company.record("action_groups", {"name": "G", "steps": [{"id": "a", "kind": "wait", "duration": "1h"}]})
    before = await _rows(company)
    for body in bodies:
        answers = [
            await company.send("POST", "/api/v1/schedules", json={"name": "S", **body}),
            await company.send("PUT", f"/api/v1/schedules/{own['id']}", json=body),
        ]
        if "steps" in body:
            answers += [
                await company.send("POST", "/api/v1/action_groups", json={"name": "G", **body}),
                await company.send("PUT", f"/api/v1/action_groups/{group['id']}", json=body),
            ]
        for answer in answers:
            assert answer.status_code == 422, (body, answer.text)
            assert _is_silent(answer, _telltales(other, await _rows(other)))
    assert await _rows(company) == before


READ: tuple[tuple[str, dict[str, str]], ...] = (
    *((f"leads/reports?category={name}", {}) for name in LEAD_CATEGORIES),
    *((f"calls/reports?category={name}", {}) for name in CALL_CATEGORIES),
    *((f"{name}?fulltext=S", {}) for name in ("leads", "calls", "schedules")),
    ("leads?fulltext=Ada", {}),
    ("leads/reports.csv?category=status&pivot=token_values_map", {}),
)
"""What is read beside the examples: reports by everything, and searches."""


async def _seen(company: Any, places: Places) -> dict[str, str]:
    """Return what a company is shown by everything that only reads, with what the clock alone changes left out."""
    found = {}
    for operation in documented_operations():
        if not operation.safe or operation.access in {"open", "session"}:
            continue
        for suffix in operation.suffixes:
            example = placed(EXAMPLES[operation.name], places)
            for query in (example.query, _without_label(example.query)):
                path = operation.path + suffix
                for name, value in example.path.items():
                    path = path.replace(f"{{{name}}}", value)
                given = {"json": example.body} if operation.methods == ("POST",) else {}
                answer = await company.send(operation.methods[0], path, params=query, **given)
                assert answer.status_code in {200, 201}, (operation.name, answer.text)
                found[f"{path} {query}"] = _timeless(answer)
    for path, _ in READ:
        found[path] = _timeless(await company.send("GET", f"/api/v1/{path}"))
    return found


def _timeless(answer: httpx.Response) -> str:
    if answer.headers["content-type"].startswith("text/csv"):
        first, _, rest = answer.text.partition("\r\n")
        return first + (rest if "expires_in" not in first else str(rest.count("\r\n")))
    if answer.headers["content-type"].startswith("audio/"):
        return answer.content.hex()
    body = answer.json()
    body.pop("recording_link", None)  # another one each time: it says when it ends
    body.pop("forecast", {}).pop("from", None)
    body["what_if"] = {name: value for name, value in body.get("what_if", {}).items() if name not in {"from", "to"}}
    body.get("outcome_report", {}).pop("recorded_at_to", None)
    return re.sub(r'"expires_in": ?\d+|\'expires_in\': \d+', "", str(body))


async def test_nothing_that_another_company_does_changes_what_a_company_reads(town: Any, company: Any, other: Any) -> None:
    places = await _all_places(town, company)
    before = await _seen(company, places)
    assert len(before) > len(documented_operations()) // 2
    theirs = await _all_places(town, other)
    for operation in documented_operations():
        for method in operation.methods:
            answer = await send(town, other, operation, method, placed(EXAMPLES[operation.name], theirs))
            assert answer.status_code < 500, (operation.name, answer.text)
    after = await _seen(company, places)
    assert {name: answer for name, answer in after.items() if answer != before[name]} == {}


async def test_a_name_that_two_companies_give_is_one_of_each(company: Any, other: Any) -> None:
    """Idempotency-Keys, ids of senders' systems and gateways' names of calls and texts are of one company each."""
    shared = {"Idempotency-Key": "the same at both"}
    body = {"caller_id": "+13055550142", "external_record_id": "crm-1"}
    made = {}
    for sender in (company, other):
        schedule = await sender.schedule()
        fields = {**body, "lead_token": schedule["lead_token"]}
        answer = await sender.send("POST", "/api/v1/leads", json=fields, headers=shared)
        assert answer.status_code == 201, answer.text
        alone = {"lead_token": schedule["lead_token"], "external_record_id": "crm-1"}
        found = await sender.send("POST", "/api/v1/leads", json=alone)
        made[sender.id] = answer.json()["lead"]
        assert (found.status_code, found.json()["lead"]["id"]) == (200, made[sender.id]["id"]), found.text
    assert made[company.id]["id"] != made[other.id]["id"]
    for kind, given in (
        ("buyers", {"name": "B", "number": "+12125550140", "user_buyer_id": "b-1"}),
        ("numbers", {"number": "+13055550177"}),
    ):
        ids = {(await sender.record(kind, given))["id"] for sender in (company, other)}
        assert len(ids) == 2
    call = {"from": "+13055550143", "to": "+13055550177", "call_ref": "c-1", "state": "ringing"}
    calls = [(await sender.send("POST", "/api/v1/calls/received", json=call)).json()["call"] for sender in (company, other)]
    assert len({one["id"] for one in calls}) == 2
    text = {"from": "+13055550142", "to": "+13055550177", "text_ref": "t-1", "body": "STOP"}
    answer = await company.send("POST", "/api/v1/texts/received", json=text)
    assert answer.json()["text"]["meaning"] == "opt_out", answer.text
    theirs = await other.send("GET", f"/api/v1/leads/{made[other.id]['id']}")
    assert theirs.json()["lead"]["opt_out"] is False
    received = (await other.send("POST", "/api/v1/texts/received", json={**text, "body": "Hello"})).json()["text"]
    assert (received["repeated"], received["lead_id"]) == (False, made[other.id]["id"])


async def test_what_came_of_a_request_is_shown_to_its_company_alone(town: Any, company: Any, other: Any) -> None:
    made = await other.send("POST", "/api/v1/buyers", json={"name": "B", "number": "+12125550140"})
    path = f"/api/v1/requests/{made.headers['x-request-id']}"
    assert (await other.send("GET", path)).status_code == 201
    for answer in (await company.send("GET", path), await town.client.get(path)):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
