"""Which views of the list of leads has a user saved? Queries under names of the user's own, seen by that user alone.

A view is a shortcut of a person and no decision, so it is stored beside the log. What it names is checked when it is saved,
and again whenever it is shown: what the user may not name any more is said beside the view, never left out in silence.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from adapters.http.exchange.answers import (
    PAGING_PARAMETERS,
    read_columns_of_serializer,
    read_paging,
    reply_with_record,
    wants_bare,
)
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.hidden_fields import find_hidden
from adapters.http.exchange.parameters import Parameters, read_id
from adapters.http.exchange.problems import ProblemError, not_found
from adapters.http.leads.leads import FILTER_PARAMETERS, read_filter
from adapters.http.leads.sent_queries import add_faults, read_query, select_known
from adapters.http.schema.inputs import text
from adapters.http.schema.shapes import ID_SHOWN, MOMENT_SHOWN, one_of
from adapters.http.sign_in.sessions import current
from adapters.reads.ports import Row, TooManyViewsError
from engine.submission.fields import parse_text
from engine.views.lead import SERIALIZERS, SORTABLE_COLUMNS
from schemas.instant import from_datetime, to_rfc3339

PATH = "/api/v1/lead_views"
ROOT = "lead_view"
CREATED = 201

NAME_LENGTH_MAX = 60
"""Characters of a name: a menu shows it in one line."""

QUERY_LENGTH_MAX = 4_000
"""Characters of a query as an address: every browser and proxy takes an address of so many."""

_OF_A_READER = ("page", "cursor", "root")
"""Where somebody reads in a list, and how: no part of a view."""

QUERY: Mapping[str, str] = {
    name: sentence for name, sentence in {**PAGING_PARAMETERS, **FILTER_PARAMETERS}.items() if name not in _OF_A_READER
}
"""What a view may name: all that the list of leads takes, but for the page."""


async def index(exchange: Exchange) -> Reply:
    """Answer with the views of the user, by their names."""
    Parameters(exchange.query).finish()
    _, user, _ = await current(exchange)
    rows = await exchange.services.lead_views.of_user(exchange.company_id, user.id)
    shown = [_shown(exchange, row) for row in rows]
    if wants_bare(exchange):
        return Reply(content=shown)
    return Reply(content={"status": 200, "errors": {}, "lead_views": shown, "metadata": {"root": "lead_views"}})


async def save(exchange: Exchange) -> Reply:
    """Save a view under a name, in the place of the user's view that has it."""
    _, user, _ = await current(exchange)
    parameters = Parameters(exchange.fields)
    name = parameters.read("name", partial(parse_text, most=NAME_LENGTH_MAX))
    parameters.require("name")
    query = _read(exchange, parameters)
    parameters.finish()
    try:
        row = await exchange.services.lead_views.save(exchange.company_id, user.id, name or "", query, exchange.now)
    except TooManyViewsError:
        fault = {"name": ["is of one view too many; delete one that is not used"]}
        raise ProblemError("validation_failed", "Delete a view first.", fault) from None
    return reply_with_record(exchange, ROOT, _shown(exchange, row), status=CREATED if row["is_new"] else 200)


async def delete(exchange: Exchange) -> Reply:
    """Delete a view of the user."""
    Parameters(exchange.query).finish()
    _, user, _ = await current(exchange)
    view_id = read_id(exchange.path["id"])
    row = None
    if isinstance(view_id, int):
        row = await exchange.services.lead_views.delete(exchange.company_id, user.id, view_id)
    if row is None:
        raise not_found("lead view")
    return reply_with_record(exchange, ROOT, _shown(exchange, row))


def _read(exchange: Exchange, parameters: Parameters) -> dict[str, str]:
    """Read the query of a view as an address has it; faults are added to the parameters."""
    given = read_query(exchange.fields.get("query"))
    if given is None:
        parameters.refuse("query", 'must be an object of parameters of the list of leads, such as {"status": "scheduled"}')
        return {}
    query: dict[str, str] = {}
    for name, value in select_known(parameters, "query", given, QUERY).fields.items():
        written = _written(value)
        if written is None:
            parameters.refuse("query", f"has {name}, which must be text, a number, true, false, or a list of these")
        elif written:
            query[name] = written
    add_faults(parameters, "query", _faults(exchange, query))
    if not query and "query" not in parameters.errors:
        parameters.refuse("query", "names nothing: filter, sort, or choose columns first")
    if len(urlencode(query)) > QUERY_LENGTH_MAX:
        parameters.refuse("query", f"must have at most {QUERY_LENGTH_MAX} characters as an address")
    return query


def _written(value: Any) -> str | None:
    """Return a value as an address has it; an empty one is not sent. None where it is no value of a parameter."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value).strip()
    if isinstance(value, list) and all(isinstance(one, str | int) for one in value):
        return ",".join(str(one).strip() for one in value)
    return None


def _faults(exchange: Exchange, query: Mapping[str, str]) -> dict[str, list[str]]:
    """Return why the list of leads would refuse a query of this sender now: parameter -> sentences."""
    parameters = Parameters(query)
    read_paging(parameters, SORTABLE_COLUMNS)
    read_columns_of_serializer(parameters, SERIALIZERS)
    read_filter(exchange, parameters)
    hidden = find_hidden(exchange.key, "lead", query)
    return {name: [*parameters.errors.get(name, ()), *hidden.get(name, ())] for name in {**parameters.errors, **hidden}}


def _shown(exchange: Exchange, row: Row) -> dict[str, Any]:
    query = row["query"]
    return {
        "id": row["id"],
        "name": row["name"],
        "query": query,
        "refused": _faults(exchange, query),
        "saved_at": to_rfc3339(from_datetime(row["saved_at"])),
    }


_VIEW: dict[str, Any] = {
    "type": "object",
    "required": ["id", "name", "query", "refused", "saved_at"],
    "properties": {
        "id": ID_SHOWN,
        "name": {"type": "string"},
        "query": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "parameters of the list of leads",
        },
        "refused": {
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
            "description": "which of them the list would refuse now, and why: a team may hide what it showed before",
        },
        "saved_at": MOMENT_SHOWN,
    },
}
_OWN: dict[str, Any] = {"access": "session", "leads": "none", "records": "visible"}
_ROOT_PARAMETER = {"root": "false: the bare record"}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_lead_views",
        methods=("GET",),
        path=PATH,
        summary="List the saved views of leads of the user who is signed in",
        handler=index,
        parameters={"root": "false: the bare list"},
        answer=one_of("lead_views", {"type": "array", "items": _VIEW}),
        **_OWN,
    ),
    Operation(
        name="save_lead_view",
        methods=("POST",),
        path=PATH,
        summary="Save a view of leads for the user who is signed in",
        handler=save,
        rate="write",
        safe=False,
        parameters={
            "name": "name of the view; one of the user's that has it is replaced",
            "query": "what the list of leads is asked: an object of its parameters, without page and cursor",
            **_ROOT_PARAMETER,
        },
        types={
            "name": text(NAME_LENGTH_MAX),
            "query": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}},
        },
        required=("name", "query"),
        answer=one_of(ROOT, _VIEW),
        created=True,
        has_result=False,
        **_OWN,
    ),
    Operation(
        name="delete_lead_view",
        methods=("DELETE",),
        path=f"{PATH}/{{id}}",
        summary="Delete a saved view of leads of the user who is signed in",
        handler=delete,
        rate="write",
        safe=False,
        parameters=_ROOT_PARAMETER,
        answer=one_of(ROOT, _VIEW),
        has_result=False,
        **_OWN,
    ),
)
