"""Is each fault reported to its sender, with the field named, for every operation there is, and is nothing half applied?

One table over all operations: a new one is held to it as soon as it is a row.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest

from adapters.http.document.examples import CALL, EXAMPLES, LEAD, RECORDED_CALL, RECORDS, SCHEDULE_TOKEN, Example
from adapters.http.document.openapi import parameter_schema
from adapters.http.document.refusals import problem_codes
from adapters.http.exchange.exchange import BODY_METHODS, PLACEHOLDER, Operation
from adapters.http.operations import documented_operations
from schemas.problems import PROBLEMS
from tests.api.bad_values import NUL, bad_values
from tests.api.world import make_places, placed, send

pytestmark = pytest.mark.asyncio(loop_scope="session")

ANYTHING = frozenset(
    {
        *product(("list_leads", "report_leads"), ("number", "email", "status_wait")),
        *product(("list_contacts",), ("number", "email")),
        ("list_suppression_entries", "number"),
        *product(("list_leads", "report_leads", "list_calls", "report_calls", "stats_of_calls"), ("states",)),
    }
)
"""Filters that compare: what nobody has finds nothing."""


def _fields(operation: Operation) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(operation.body or {}).get("properties", ()), *operation.parameters)))


def _methods(operation: Operation) -> tuple[str, ...]:
    return tuple(method for method in operation.methods if method != "HEAD")


def _problem(operation: Operation, answer: Any, what: Any) -> dict[str, Any]:
    context = (operation.name, answer.request.method, str(what)[:80], answer.text[:300])
    assert 400 <= answer.status_code < 500, context
    assert answer.headers["content-type"] == "application/problem+json", context
    body: dict[str, Any] = answer.json()
    assert body["status"] == answer.status_code == PROBLEMS[body["code"]].status, context
    assert body["code"] in problem_codes(operation), context
    return body


def _with(example: Example, method: str, name: str, value: Any) -> Example:
    if method in BODY_METHODS:
        return Example(path=example.path, query=example.query, body={**example.body, name: value})
    return Example(path=example.path, query={**example.body, **example.query, name: value})


async def _state(company: Any) -> list[Any]:
    """Return everything of a company that a request could have changed."""
    found = []
    for collection in ("leads", "schedules", "offers", "buyers", "buyer_groups", "traffic_sources", "numbers", "keys"):
        listed = await company.send("GET", f"/api/v1/{collection}", params={"per_page": "100", "root": "false"})
        # A key of a person is made beside these requests, so that there is one to ask for.
        found.append([row for row in listed.json() if not row.get("user_email")])
    return [[{name: value for name, value in row.items() if name != "expires_in"} for row in rows] for rows in found]


async def test_every_bad_value_of_every_field_is_refused_with_its_name_and_changes_nothing(town: Any, company: Any) -> None:
    places = await make_places(town, company, *EXAMPLES.values())
    before = await _state(company)
    faults = []
    for operation in documented_operations():
        example = placed(EXAMPLES[operation.name], places)
        for method, name, value in _bad_values(operation):
            answer = await send(town, company, operation, method, _with(example, method, name, value))
            if not _refused(operation, answer, name):
                faults.append((operation.name, method, name, str(value)[:60], answer.status_code, answer.text[:300]))
    assert faults == [], "\n".join(map(str, faults))
    assert await _state(company) == before


def _bad_values(operation: Operation) -> Iterator[tuple[str, str, Any]]:
    for method in _methods(operation):
        for name in _fields(operation):
            if (operation.name, name) in ANYTHING:
                continue
            for value in (*bad_values(operation, name), NUL):
                if method in BODY_METHODS or isinstance(value, str):
                    yield method, name, value


def _refused(operation: Operation, answer: Any, name: str) -> bool:
    """Return whether an answer is a problem that its operation documents, and that names the field."""
    if not 400 <= answer.status_code < 500 or answer.headers["content-type"] != "application/problem+json":
        return False
    code, errors = answer.json()["code"], answer.json()["errors"]
    named = any(field == name or field.startswith((f"{name}.", f"{name}[")) for field in errors)
    return code in problem_codes(operation) and (named or code in {"unknown_lead_token", "too_large"})


MAY_BE_EMPTY = frozenset({("receive_text", "body"), ("receive_call", "from")})
"""A text of a picture alone has no words."""

NO_RECORDS = frozenset({"agent_id", "provider_configuration_id", "lead_import_id", "agent_widget_id"})
"""Ids of the gateway's or the sender's own world: there are no such records here."""


async def test_a_field_that_must_be_there_is_named_where_it_is_missing_or_empty(town: Any, company: Any) -> None:
    places = await make_places(town, company, *EXAMPLES.values())
    before = await _state(company)
    for operation in documented_operations():
        example = placed(EXAMPLES[operation.name], places)
        for name in (*(operation.body or {}).get("required", ()), *operation.required):
            for method in (method for method in _methods(operation) if method in BODY_METHODS or operation.safe):
                for empty in (None,) if (operation.name, name) in MAY_BE_EMPTY else (None, "", "  "):
                    asked = _without(example, name) if empty is None else _with(example, method, name, empty)
                    answer = await send(town, company, operation, method, asked)
                    problem = _problem(operation, answer, (name, empty))
                    assert name in problem["errors"], (operation.name, method, name, empty, answer.text)
    assert await _state(company) == before


def _without(example: Example, name: str) -> Example:
    return Example(
        path=example.path,
        query={field: value for field, value in example.query.items() if field != name},
        body={field: value for field, value in example.body.items() if field != name},
    )


OF_NOBODY = 999_999_999_999


def _references(operation: Operation) -> Iterator[tuple[str, Any]]:
    """Yield each field of an operation that names a record, with an id that is nobody's."""
    for name in _fields(operation):
        text = str(parameter_schema(operation, name))
        if name in NO_RECORDS or operation.access == "open":  # a sign-in does not say what is wrong
            continue
        if "IdInput" in text or "ReferenceInput" in text:
            yield name, OF_NOBODY
        elif "IdsInput" in text:
            yield name, [OF_NOBODY]


async def test_an_unknown_id_in_a_field_is_reported_with_the_name_of_the_field(town: Any, company: Any) -> None:
    places = await make_places(town, company, *EXAMPLES.values())
    before = await _state(company)
    faults = []
    for operation in documented_operations():
        example = placed(EXAMPLES[operation.name], places)
        for method in (method for method in _methods(operation) if method in BODY_METHODS):
            for name, value in _references(operation):
                answer = await send(town, company, operation, method, _with(example, method, name, value))
                problem = answer.json()
                named = name in problem.get("errors", {}) or problem.get("code") in {"not_found", "unknown_lead_token"}
                if not 400 <= answer.status_code < 500 or not named:
                    faults.append((operation.name, method, name, answer.status_code, answer.text[:200]))
    assert faults == [], "\n".join(map(str, faults))
    assert await _state(company) == before


BODIES: list[tuple[str, bytes, int]] = [
    ("application/json", b"{", 400),
    ("application/json", b"\xff\xfe\x00", 400),
    ("application/json", b"[]", 400),
    ("application/json", b'"lead"', 400),
    ("application/json", b"[" * 100_000, 400),
    ("application/json", b'{"a":' * 20 + b"1" + b"}" * 20, 400),
    ("application/json", b'{"data": {"a": "' + b"x" * 1_100_000 + b'"}}', 413),
    ("application/json", b'{"name": "a\\u0000b"}', 422),
    ("application/json", b'{"a\\u0000": 1}', 422),
    ("application/json", b'{"a": 123456789012345678901234567890}', 422),
    ("application/json; charset=utf-16", b"{}", 415),
    ("application/x-www-form-urlencoded; charset=utf-8", b"name=%ff", 400),
    ("application/x-www-form-urlencoded", b"a" + b"[b]" * 40 + b"=1", 400),
    ("application/x-www-form-urlencoded", b"name=%00", 422),
    ("multipart/form-data; boundary=xx", b"nonsense", 400),
    ("multipart/form-data", b"x", 400),
    ("text/xml", b"<lead>", 400),
    ("text/csv", b"caller_id", 415),
    ("", b"lead_token=1", 415),
]


TOO_LARGE = 413


async def test_every_body_that_cannot_be_read_is_refused_by_every_operation_that_takes_one(town: Any, company: Any) -> None:
    places = await make_places(town, company, *EXAMPLES.values())
    before = await _state(company)
    for operation in documented_operations():
        example = placed(EXAMPLES[operation.name], places)
        path = _path(operation, example.path)
        for method in (method for method in _methods(operation) if method in BODY_METHODS):
            for content_type, given, status in BODIES:
                # Uploads take more than any other operation: theirs is beyond their own limit.
                is_taken = status == TOO_LARGE and len(given) <= operation.body_bytes_max
                body = given + b" " * operation.body_bytes_max if is_taken else given
                headers = {"Content-Type": content_type} if content_type else {}
                answer = await company.send(method, path, content=body, headers=headers)
                _problem(operation, answer, (content_type, body[:60]))
                assert answer.status_code == status, (operation.name, content_type, body[:60], answer.text)
    assert await _state(company) == before


QUERIES = ("%ff=1", "a=%ff", "a=%00", "a[b][c][d][e][f][g][h][i][j][k][l][m][n][o][p][q]=1", "&".join(["a=1"] * 1_001))


async def test_every_query_that_cannot_be_read_is_refused(company: Any) -> None:
    for operation in documented_operations():
        if operation.access == "open":
            continue
        example = Example(path=dict.fromkeys(PLACEHOLDER.findall(operation.path), "1"))
        for method in _methods(operation):
            for query in QUERIES:
                answer = await company.send(method, f"{_path(operation, example.path)}?{query}")
                _problem(operation, answer, query)


UNKNOWN = ("999999999999", "0", "9" * 30, "nobody", "00000000-0000-4000-8000-000000000000", "x" * 2_000, "..%2f1", "%00")

UNKNOWN_CODES = {"not_found", "unknown_lead_token", "validation_failed"}


async def test_an_id_that_nobody_has_is_not_found(company: Any) -> None:
    for operation in documented_operations():
        if "{id}" not in operation.path or operation.name.startswith("caller_") or operation.access == "session":
            continue
        for method in _methods(operation):
            for unknown in UNKNOWN:
                body = dict(EXAMPLES[operation.name].body)
                given = {"json": body} if body and method in BODY_METHODS else {}
                answer = await company.send(method, _path(operation, {"id": unknown}), **given)
                assert _problem(operation, answer, unknown)["code"] in UNKNOWN_CODES, answer.text


def _described(answer: Any) -> list[str]:
    return [re.sub(r"[0-9]+", "#", str(answer.json()[name])) for name in ("code", "detail", "errors", "status")]


def _ids(body: Mapping[str, Any]) -> Iterator[str]:
    return (str(value) for name, value in body.items() if name in {"id", "lead_id"})


OF_SOMEBODY = {*RECORDS.values(), LEAD, SCHEDULE_TOKEN, CALL, RECORDED_CALL}


async def test_another_companys_records_are_as_unknown_as_those_of_nobody(town: Any, company: Any, other: Any) -> None:
    places = await make_places(town, other, *EXAMPLES.values())
    before = await _state(other)
    for operation in documented_operations():
        example = EXAMPLES[operation.name]
        if operation.access != "key" or not OF_SOMEBODY & {*example.path.values(), *_ids(example.body)}:
            continue
        theirs = placed(example, places)
        nobodys = {name: value if name == "caller_number" else NOBODYS for name, value in theirs.path.items()}
        for method in _methods(operation):
            body = {} if "buyer_group_id" in str(theirs.body) else theirs.body
            nothing = {name: int(NOBODYS) if name in {"id", "lead_id"} else value for name, value in body.items()}
            answer = await send(town, company, operation, method, Example(path=theirs.path, body=body))
            unknown = await send(town, company, operation, method, Example(path=nobodys, body=nothing))
            assert _problem(operation, answer, theirs.path)["code"] in UNKNOWN_CODES
            assert _described(answer) == _described(unknown), operation.name
    assert await _state(other) == before


NOBODYS = "999999999999"


def _path(operation: Operation, values: Mapping[str, str]) -> str:
    path = operation.path
    for name in PLACEHOLDER.findall(operation.path):
        path = path.replace(f"{{{name}}}", values.get(name, "1"))
    return path
