"""Does every change of a record name each column that cannot be set? It is refused, or the answer warns that it did nothing.

The operations and the columns are those of the interface: a new one is held to the same rule on the day it is added.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from adapters.http.document.examples import EXAMPLES, Example
from adapters.http.exchange.exchange import Operation
from adapters.http.operations import documented_operations
from engine.submission.columns import ALIASES, COLUMNS
from tests.api.world import make_places, placed

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHOWN = {operation.path for operation in documented_operations() if operation.name.startswith("show_")}

CHANGES = [
    operation
    for operation in documented_operations()
    if operation.path in SHOWN and {"PUT", "POST"} & set(operation.methods) and not operation.created
]

OTHER = "another value"


def fixed_columns(operation: Operation, shown: dict[str, Any]) -> Iterator[str]:
    """Yield the columns that an answer shows and a change does not take."""
    settable = {*operation.known(), *COLUMNS, *ALIASES} if operation.extra == "tokens" else operation.known()
    yield from (name for name in shown if name not in settable)


async def test_the_changes_are_those_of_every_kind_of_record() -> None:
    names = {operation.name for operation in CHANGES}
    assert {
        "update_lead",
        "update_call",
        "move_scheduled_callback",
        "update_company",
        "update_buyer",
        "update_user",
    } <= names
    assert len(names) > 25


async def test_a_column_that_cannot_be_set_is_named_by_every_change(town: Any, company: Any) -> None:
    silent: list[str] = []
    for operation in CHANGES:
        example = Example(path=EXAMPLES.get(operation.name, Example()).path)
        path = operation.path.format(**placed(example, await make_places(town, company, example)).path)
        answer = await company.send("GET", path, params={"root": "false"})
        assert answer.status_code == 200, answer.text
        method = next(method for method in ("PUT", "POST") if method in operation.methods)
        fixed = list(fixed_columns(operation, answer.json()))
        assert fixed, path
        for name in fixed:
            changed = await company.send(method, path, json={name: OTHER})
            said = changed.json().get("warnings", ()) if changed.status_code == 200 else changed.json().get("errors", ())
            if not any(str(one).split()[0] == name for one in said):
                silent.append(f"{method} {path}: {name}: {changed.status_code} {changed.text[:200]}")
    assert silent == []
