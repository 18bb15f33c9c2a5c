"""Do the document's links hold? What is made is walked along them: shown, changed, deleted, and then it is gone."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from adapters.http.document.examples import EXAMPLES, NUMBER, Example
from adapters.http.document.links import operation_ids
from adapters.http.document.openapi import openapi
from adapters.http.exchange.exchange import Operation
from adapters.http.operations import documented_operations
from schemas.problems import PROBLEMS
from tests.api.record import asked
from tests.api.world import make_places, placed

pytestmark = pytest.mark.asyncio(loop_scope="session")

NAMED: Mapping[str, tuple[Operation, str]] = {
    name: (operation, method)
    for operation in documented_operations()
    for name, method in zip(operation_ids(operation), operation.methods, strict=True)
}
MAKERS = [
    (operation, method)
    for operation, method in asked()
    if operation.created
    and operation.has_result
    and operation.access != "session"
    and method == "POST"
    and operation.name not in {"create_invitation", "create_scheduled_callback"}
    # What is only recorded has no id yet; what a user has over a session leads on over a session alone, and an invitation
    # by its token alone. A promised call that was cancelled is one that is not there (404): nothing of it is kept.
]

ENDED = frozenset({"call_ended", "lead_not_live", "call_in_progress", "number_recently_dialed"})
"""What an earlier step of a walk may have come to: the sandbox is quick."""


def _links(operation: Operation, method: str) -> Iterator[tuple[str, str]]:
    """Yield the operations that an answer leads to, each with the place of its id in the answer; deleting comes last."""
    found = openapi()["paths"][operation.path][method.lower()]["responses"]["201"].get("links", {})
    for name in sorted(found, key=lambda name: (name.startswith("delete_"), "remove" in name, "opt_out" in name)):
        if NAMED[name][1] != "HEAD":
            yield name, found[name]["parameters"]["id"].removeprefix("$response.body#/")


def _at(answer: Any, place: str) -> str:
    for step in place.split("/"):
        answer = answer[step]
    return str(answer)


async def _send(company: Any, operation: Operation, method: str, example: Example) -> Any:
    path = operation.path
    for name, value in example.path.items():
        path = path.replace(f"{{{name}}}", value)
    body = {"json": dict(example.body)} if example.body and method != "GET" else {}
    query = {**example.query, **(example.body if method == "GET" else {})}
    return await company.send(method, path, params=query, **body)


async def _made(town: Any, company: Any, operation: Operation, method: str) -> tuple[Any, dict[str, str], Example]:
    example = EXAMPLES[operation.name]
    places = await make_places(town, company, example)
    if operation.access == "token":
        town.numbers += 1
        places |= {NUMBER: f"+1212555{town.numbers % 10_000:04d}"}
    example = placed(example, places)
    answer = await _send(company, operation, method, example)
    assert answer.status_code in {200, 201}, (operation.name, answer.text)
    return answer.json(), places, example


@pytest.mark.parametrize(("operation", "method"), MAKERS, ids=[operation.name for operation, _ in MAKERS])
async def test_what_was_made_is_shown_changed_and_deleted_along_its_links(
    town: Any, company: Any, operation: Operation, method: str
) -> None:
    made, places, asked_for = await _made(town, company, operation, method)
    links = list(_links(operation, method))
    assert links, f"{operation.name} makes a record and leads nowhere"
    deleted = False
    for name, place in links:
        following, with_method = NAMED[name]
        own = EXAMPLES[following.name]
        more = places | await make_places(town, company, Example(body=own.body)) if own.body else places
        example = placed(own, more)
        body = {**example.body}
        if "lead_token" in body:
            body["lead_token"] = asked_for.body["lead_token"]
        answer = await _send(
            company, following, with_method, Example(path={"id": _at(made, place)}, query=example.query, body=body)
        )
        code = answer.json().get("code")
        if deleted:
            assert (answer.status_code, code) == (410, "deleted"), (name, answer.text)
        else:
            assert answer.status_code < 300 or code in ENDED, (name, answer.text)
        deleted = deleted or (name.startswith("delete_") and answer.status_code < 300)
    for name, place in links:
        following, with_method = NAMED[name]
        if deleted and following.path.endswith("{id}") and "caller_" not in following.path:
            answer = await _send(company, following, with_method, Example(path={"id": _at(made, place)}))
            assert answer.status_code == PROBLEMS["deleted"].status, (name, answer.text)
