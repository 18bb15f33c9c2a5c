"""Is the documentation complete, and does every example in it work as it stands?"""

import re
from typing import Any

import pytest

from adapters.http.documents import documented, openapi, parameter_schema, problem_codes
from adapters.http.examples import EXAMPLES
from adapters.http.exchange import Operation
from adapters.http.shapes import LEAD_TYPES
from engine.views.lead_columns import LEAD_COLUMNS
from schemas.problems import PROBLEMS
from tests.api.world import make_places, placed, send

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
            places = await make_places(town, company, example)
            answer = await send(town, company, operation, method, placed(example, places))
            assert answer.status_code < 300, (operation.name, method, answer.text)
