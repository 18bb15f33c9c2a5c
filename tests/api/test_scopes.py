"""Is every scope needed where it is said, is it enough there, and does a key without it learn nothing of what is there?"""

from typing import Any

import httpx
import pytest

from adapters.http.document.examples import EXAMPLES
from adapters.http.exchange.exchange import Operation
from adapters.http.exchange.sent_data import SENT
from adapters.http.operations import documented_operations
from tests.adapters.http.conftest import basic
from tests.api.world import Places, make_places, placed

pytestmark = pytest.mark.asyncio(loop_scope="session")

SCOPED = {operation.scope for operation in documented_operations() if operation.scope}


def _needed(operation: Operation) -> list[str]:
    """Return the scopes that an operation names: one, for what is about two models another, and those to what it sends."""
    sent = () if operation.name not in SENT else SENT[operation.name].models
    return [scope for scope in (operation.scope, operation.also, *(f"{model}:read" for model in sent)) if scope]


def _all_but(scope: str) -> list[str]:
    """Return every scope except one, those of other subjects as wildcards: a key holds at most fifty."""
    subject = scope.partition(":")[0]
    others = {f"{one.partition(':')[0]}:*" for one in SCOPED} - {f"{subject}:*"}
    return sorted(others | {one for one in SCOPED if one.startswith(f"{subject}:")} - {scope})


async def _key(company: Any, scopes: list[str]) -> dict[str, str]:
    made = await company.record("keys", {"name": "K", "scopes": scopes})
    return basic(made["public_key"], made["private_key"])


async def _answer(town: Any, operation: Operation, headers: dict[str, str], places: Places, **path: str) -> httpx.Response:
    example = placed(EXAMPLES[operation.name], places)
    found = operation.path
    for name, value in {**example.path, **path}.items():
        found = found.replace(f"{{{name}}}", value)
    method = operation.methods[0]
    fields = {"params": {**example.query, **example.body}} if method == "GET" else {"json": example.body}
    answer: httpx.Response = await town.client.request(method, found, headers=headers, **fields)
    return answer


async def test_every_operation_with_a_key_has_a_scope_and_one_that_only_reads_has_that_of_reading() -> None:
    for operation in documented_operations():
        if operation.access == "key":
            assert operation.scope, operation.name
            assert operation.safe == operation.scope.endswith(":read"), operation.name


async def test_a_key_with_all_scopes_but_one_is_refused_where_that_one_is_said(town: Any, company: Any) -> None:
    places = await make_places(town, company, *EXAMPLES.values())
    keys = {scope: await _key(company, _all_but(scope)) for scope in sorted(SCOPED)}
    for operation in documented_operations():
        if not operation.scope:
            continue
        for scope in _needed(operation):
            # Whether the record is there makes no difference to who may not look.
            answers = [await _answer(town, operation, keys[scope], places)]
            if "{id}" in operation.path:
                answers.append(await _answer(town, operation, keys[scope], places, id="999999999999"))
            for answer in answers:
                assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), (operation.name, answer.text)
                assert scope in answer.json()["detail"], operation.name
            assert len({answer.json()["detail"] for answer in answers}) == 1, operation.name


async def test_the_scopes_that_an_operation_names_are_enough_for_it(town: Any, company: Any) -> None:
    for operation in documented_operations():
        if not operation.scope:
            continue
        key = await _key(company, _needed(operation))
        places = await make_places(town, company, EXAMPLES[operation.name])
        answer = await _answer(town, operation, key, places)
        # A key makes, changes and deletes no key that has more than it has itself, as the one that is asked for here.
        expected = {403} if operation.name in {"create_key", "update_key", "delete_key"} else {200, 201}
        assert answer.status_code in expected, (operation.name, answer.text)
