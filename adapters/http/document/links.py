"""Which operations can follow an answer? From a record to what can be done with it, as OpenAPI links; tests follow them.

A record is created, listed or shown under a path; every operation below the same path can follow whose only
placeholder is its `{id}`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from adapters.http.exchange.exchange import Operation

ROOTS: Mapping[str, str] = {"leads": "lead", "calls": "call", "keys": "key", "agent_statuses": "agent_status"}
"""Collection -> name of one of its records in an answer, if that is not the collection without its s."""

_NOT_BY_ID = ("caller_", "update_calls_by_caller_id")
"""Operations whose `{id}` is a telephone number."""

_CONTACTS = "contacts"
"""Their operations take a number as well as an id."""

_ONCE_RECORDED = frozenset({"play_recording", "delete_recording", "show_recording_link", "show_transcription"})
"""Operations that not every call leads to: few are recorded, and none before it is over."""

_MADE_UNDER: Mapping[str, str] = {
    "/api/v1/leads/create_or_update": "/api/v1/leads",
    "/api/v1/schedules/make_call": "/api/v1/calls",
    "/api/v1/calls/received": "/api/v1/calls",
}
"""Path that creates a record -> the collection of the record."""


def build_links(operation: Operation, operations: Iterable[Operation]) -> dict[str, Any]:
    """Return the links of an operation's good answer by the name of the next operation; none if it shows no record."""
    collection = _MADE_UNDER.get(operation.path, operation.path).removesuffix("/{id}")
    word = collection.rpartition("/")[2]
    root = ROOTS.get(word, word.removesuffix("s"))
    if operation.name.startswith("list_") and operation.path == collection:
        # No links from the bare list of `root=false`: its ids are at other places.
        place = f"$response.body#/{word}/0"
    elif operation.created or operation.path == f"{collection}/{{id}}" or operation.path in _MADE_UNDER:
        place = f"$response.body#/{root}"
    else:
        return {}
    found: dict[str, Any] = {}
    for other in operations:
        is_below = other.path.startswith(f"{collection}/{{id}}") and other.path.count("{") == 1
        if other is operation or other.name in _ONCE_RECORDED or not is_below:
            continue
        by_number = other.name.startswith(_NOT_BY_ID) and word != _CONTACTS
        if by_number and word != "leads":
            continue
        for name in operation_ids(other):
            found[name] = {"operationId": name, "parameters": {"id": f"{place}/{'caller_id' if by_number else 'id'}"}}
    return found


def operation_ids(operation: Operation) -> tuple[str, ...]:
    """Return the operationIds of an operation: one, or one for each of its methods."""
    if len(operation.methods) == 1:
        return (operation.name,)
    return tuple(f"{operation.name}_{method.lower()}" for method in operation.methods)
