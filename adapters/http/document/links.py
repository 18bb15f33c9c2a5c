"""Where does an answer lead? From a record to what can be done with it, as OpenAPI links; tests walk along them.

A record is made, listed or shown under a path; whatever takes `{id}` below the same path can be asked next.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from adapters.http.exchange.exchange import Operation

ROOTS: Mapping[str, str] = {"leads": "lead", "calls": "call", "keys": "key"}
"""Collection -> what one of its records is called in an answer, where that is not the word without its s."""

_NOT_BY_ID = ("caller_", "update_calls_by_caller_id")
"""Operations whose `{id}` is the person's number."""

_MADE_UNDER: Mapping[str, str] = {
    "/api/v1/leads/create_or_update": "/api/v1/leads",
    "/api/v1/schedules/make_call": "/api/v1/calls",
    "/api/v1/calls/received": "/api/v1/calls",
}
"""Path that makes a record -> the collection that the record is in."""


def build_links(operation: Operation, operations: Iterable[Operation]) -> dict[str, Any]:
    """Return the links of the good answer of an operation by the name of what follows; none where it shows no record."""
    collection = _MADE_UNDER.get(operation.path, operation.path).removesuffix("/{id}")
    word = collection.rpartition("/")[2]
    root = ROOTS.get(word, word.removesuffix("s"))
    if operation.name.startswith("list_") and operation.path == collection:
        # The bare list of `root=false` leads nowhere: its links would be others.
        place = f"$response.body#/{word}/0"
    elif operation.created or operation.path == f"{collection}/{{id}}" or operation.path in _MADE_UNDER:
        place = f"$response.body#/{root}"
    else:
        return {}
    found: dict[str, Any] = {}
    for other in operations:
        if other is operation or not other.path.startswith(f"{collection}/{{id}}"):
            continue
        by_number = other.name.startswith(_NOT_BY_ID)
        if by_number and word != "leads":
            continue
        for name in operation_ids(other):
            found[name] = {"operationId": name, "parameters": {"id": f"{place}/{'caller_id' if by_number else 'id'}"}}
    return found


def operation_ids(operation: Operation) -> tuple[str, ...]:
    """Return what an operation is called in the document: one name, or one for each of its methods."""
    if len(operation.methods) == 1:
        return (operation.name,)
    return tuple(f"{operation.name}_{method.lower()}" for method in operation.methods)
