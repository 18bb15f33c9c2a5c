"""Is the documentation complete, and does every example in it work as it stands?"""

import re
from typing import Any

import msgspec
import pytest

from adapters.http.documents import documented, openapi, parameter_schema, problem_codes
from adapters.http.examples import (
    EXAMPLES,
    LEAD,
    NUMBER,
    OFFER_TOKEN,
    PLACES,
    RECORDS,
    REQUEST,
    SCHEDULE_TOKEN,
    Example,
)
from adapters.http.exchange import Operation
from adapters.http.shapes import LEAD_TYPES
from engine.views.lead import LEAD_COLUMNS
from schemas.problems import PROBLEMS
from tests.adapters.http.conftest import STEPS

pytestmark = pytest.mark.asyncio(loop_scope="module")


def _fields(operation: Operation) -> list[str]:
    return [*(operation.body or {}).get("properties", ()), *operation.parameters]


async def test_every_operation_has_types_an_answer_and_an_example() -> None:
    for operation in documented():
        assert operation.answer is not None, f"{operation.name}: say what it answers (answer=)"
        untyped = [name for name in _fields(operation) if not parameter_schema(operation, name)]
        assert untyped == [], f"{operation.name}: give these a type in adapters/http/shapes.py"
        assert operation.name in EXAMPLES, f"{operation.name}: give an example in adapters/http/examples.py"
        named = {*EXAMPLES[operation.name].query, *EXAMPLES[operation.name].body}
        assert named <= {*_fields(operation)}, f"{operation.name}: the example has fields that are not documented"
    assert EXAMPLES.keys() == {operation.name for operation in documented()}


async def test_every_column_of_a_lead_has_a_type() -> None:
    assert set(LEAD_COLUMNS) <= LEAD_TYPES.keys()


async def test_every_problem_is_the_answer_of_some_operation_or_of_a_record_on_a_topic() -> None:
    told = {code for operation in documented() for code in problem_codes(operation)}
    only_on_topics = {"unknown_type", "malformed_envelope", "wrong_partition"}
    of_the_server = {"method_not_allowed"}
    assert told | only_on_topics | of_the_server == PROBLEMS.keys()


async def test_the_document_has_a_response_for_every_status_of_its_codes() -> None:
    for path, entry in openapi()["paths"].items():
        for method, described in entry.items():
            assert re.fullmatch(r"[a-z_]+", described["operationId"]), path
            assert method == "head" or {"200", "500"} <= described["responses"].keys(), (path, method)
            for field in described["parameters"]:
                assert field["schema"], (path, field["name"])


async def test_every_example_works_as_it_stands(town: Any, company: Any) -> None:
    for operation in documented():
        for method in (method for method in operation.methods if method != "HEAD"):
            example = EXAMPLES[operation.name]
            places = await _world(town, company, example)
            answer = await _run(town, company, operation, method, _placed(example, places))
            assert answer.status_code < 300, (operation.name, method, answer.text)


async def _run(town: Any, company: Any, operation: Operation, method: str, example: Example) -> Any:
    path = operation.path
    for name, value in example.path.items():
        path = path.replace(f"{{{name}}}", value)
    given: dict[str, Any] = {"params": example.query}
    if method == "GET":
        given = {"params": {**example.query, **example.body}}
    elif example.body:
        given["json"] = example.body
    if operation.access == "token" and not path.startswith("/api/v1/requests"):
        return await town.client.request(method, path, **given)
    return await company.send(method, path, **given)


MADE: dict[str, tuple[str, dict[str, Any]]] = {
    "buyer": ("buyers", {"name": "B", "number": "+12125550141"}),
    "buyer_group": ("buyer_groups", {"name": "G"}),
    "offer": ("offers", {"name": "O"}),
    "schedule": ("schedules", {"name": "S", "steps": STEPS}),
    "traffic_source": ("traffic_sources", {"name": "T"}),
    "number": ("numbers", {}),
    "outgoing_webhook": ("outgoing_webhooks", {"name": "W", "url": "https://crm.example.com/x"}),
    "api_key": ("keys", {"name": "K", "scopes": ["lead:read"]}),
}


async def _world(town: Any, company: Any, example: Example) -> dict[str, str]:
    """Make what an example speaks of, anew, and say what stands for what."""
    town.numbers += 1
    text = msgspec.json.encode([example.path, example.query, example.body]).decode()
    found = {NUMBER: f"+1305555{town.numbers % 10_000:04d}"}
    for kind, place in RECORDS.items():
        if place in text:
            collection, fields = MADE[kind]
            own = {"number": f"+1212555{town.numbers % 10_000:04d}"} if kind == "number" else {}
            found[place] = str((await company.record(collection, {**fields, **own}))["id"])
    if OFFER_TOKEN in text:
        found[OFFER_TOKEN] = (await company.record("offers", {"name": "O"}))["lead_token"]
    if {SCHEDULE_TOKEN, LEAD, REQUEST} & {place for place in PLACES if place in text}:
        found |= await _submitted(town, company, found[NUMBER])
    return found


async def _submitted(town: Any, company: Any, number: str) -> dict[str, str]:
    token = (await company.schedule())["lead_token"]
    fields = {"lead_token": token, "caller_id": number, "data": {"first_name": "Ada"}}
    submitted = await town.client.post("/api/v1/leads", json=fields)
    assert submitted.status_code == 201, submitted.text
    lead_id, request_id = submitted.json()["lead"]["id"], submitted.headers["x-request-id"]
    return {SCHEDULE_TOKEN: token, LEAD: str(lead_id), REQUEST: request_id}


def _placed(example: Example, places: dict[str, str]) -> Example:
    return Example(
        path=_replaced(example.path, places), query=_replaced(example.query, places), body=_replaced(example.body, places)
    )


def _replaced(value: Any, places: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _replaced(part, places) for name, part in value.items()}
    if isinstance(value, list):
        return [_replaced(part, places) for part in value]
    if isinstance(value, int) and not isinstance(value, bool) and str(value) in places:
        return int(places[str(value)])
    if isinstance(value, str) and value in PLACES:
        return places.get(value, value)
    return value
