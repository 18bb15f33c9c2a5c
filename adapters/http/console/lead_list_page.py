"""Which leads are there? Search as one types, the filters of the API, saved views, pages, and the same list as CSV.

The address of the page is the query of `GET /api/v1/leads`, so every view has a link, and every link names its API call. A
saved view is such an address under a name.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct

from adapters.http.console.origins import CSRF_FIELD
from adapters.http.console.rendering import HEADERS
from adapters.http.console.visits import RECORDS_READ, ApiRefusedError, ConsolePage, Visit, rows_of
from adapters.http.exchange.exchange import Reply
from adapters.http.exchange.hidden_fields import without_hidden
from adapters.http.leads.leads import COMPLETED_CALLS, FILTER_PARAMETERS, STATUSES
from engine.views.lead_columns import COLUMNS as LEAD_COLUMN_TYPES
from engine.views.lead_columns import LEAD_COLUMNS
from engine.views.periods import LABELS

PATH = "/console/leads"
ROWS = f"{PATH}/rows"
CSV = f"{PATH}.csv"
SAVE = f"{PATH}/views"
DELETE = f"{SAVE}/delete"
BULK = "/console/bulk-jobs/new"
"""Where all leads of a view are changed; that page counts them by the same filters."""

PER_PAGE = 50
IN_FORM = (
    "fulltext",
    "status",
    "schedule_id",
    "offer_id",
    "created_at_label",
    "states",
    "tag",
    "has_next_action",
    "opt_out",
    "has_invalid_fields",
)
"""Filters with a field of their own; any other one of the API works in the address, and is shown as set."""

SORTED = {
    "caller_id": "Lead",
    "status": "Status",
    "next_action_at": "Next action",
    "created_at": "Submitted",
}
"""Columns that a click sorts by."""

COLUMNS = "columns"
NO_FILTER = frozenset({"page", "per_page", "order", "order_dir", COLUMNS})

COLUMNS_MAX = 30
"""Columns of one table: more are read in a file."""

MOMENTS = frozenset(column.name for column in LEAD_COLUMN_TYPES if column.type == "date-time")


VIEW_NAME, VIEW_ID = "view_name", "view_id"
"""Fields of the forms that save and delete a view; all their other fields are the list that is shown."""

REFUSED_STATUS = 422

OUR_FAULT = 500
"""The least status of a fault that no filter causes: the page says it, and the rows that are there stay."""


class SavedView(Struct, frozen=True):
    """A link to a saved view, what is refused in it now, and whether it is the one that is open."""

    id: int
    name: str
    url: str
    refused: Mapping[str, list[str]]
    is_open: bool


class Sorting(Struct, frozen=True):
    """A heading of the table: its link, and whether the rows are sorted by it now."""

    label: str
    url: str
    state: str


async def show(visit: Visit) -> Reply:
    """Show the page with its first rows."""
    found = await _rows(visit)
    return visit.page("leads.html", title="Leads", **found, **await _menus(visit))


async def show_rows(visit: Visit) -> Reply:
    """Show the rows alone, as somebody types; the browser's address follows."""
    found = await _rows(visit)
    if found["problem"] is not None:
        return visit.page("problem_part.html", status=REFUSED_STATUS, **found)
    visit.headers["HX-Replace-Url"] = found["here"]
    return visit.page("leads_rows.html", **found)


async def show_csv(visit: Visit) -> Reply:
    """Answer with the whole list as a file."""
    wanted = {name: value for name, value in _given(visit).items() if name not in {"page", "per_page"}}
    reply = await visit.pass_on("list_leads", wanted, suffix=".csv")
    visit.raise_if_refused(reply)
    named = {"Content-Disposition": 'attachment; filename="leads.csv"'}
    return Reply(stream=reply.stream, content=reply.content, media_type=reply.media_type, headers={**HEADERS, **named})


async def save_view(visit: Visit) -> Reply:
    """Save a view under its name and open it, or show the page again with what is wrong."""
    given = _shown_list(visit)
    name = visit.form.get(VIEW_NAME, "")
    answer = await visit.call("save_lead_view", {"name": name, "query": given})
    if not answer.is_refused:
        return visit.go_to(_url(_as_saved(answer.content["lead_view"]["query"])))
    visit.query = given
    found = {**await _rows(visit), "view_name": name, "view_problem": answer.content}
    return visit.page("leads.html", title="Leads", status=REFUSED_STATUS, **found, **await _menus(visit))


async def delete_view(visit: Visit) -> Reply:
    """Delete a view, and show the list as it was."""
    await visit.fetch("delete_lead_view", path={"id": visit.form.get(VIEW_ID, "")})
    return visit.go_to(_url(_as_saved(_shown_list(visit))))


def _shown_list(visit: Visit) -> dict[str, Any]:
    """Return the query of the list that a form about views was sent from."""
    own = {VIEW_NAME, VIEW_ID, CSRF_FIELD}
    return {name: value for name, value in visit.form.items() if name not in own and value != ""}


async def _views(visit: Visit, here: str) -> Iterator[SavedView]:
    """Return the saved views. Never by answers that visitors share: a view is of one user."""
    found = await visit.ask("list_lead_views")
    return (
        SavedView(row["id"], row["name"], url := _url(_as_saved(row["query"])), row["refused"], url == here)
        for row in ([] if found is None else rows_of(found))
    )


def _as_saved(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a query as a view would have it: without the page, each list as text."""
    return {
        name: ",".join(value) if isinstance(value, list) else value
        for name, value in sorted(given.items())
        if name != "page"
    }


async def _rows(visit: Visit) -> dict[str, Any]:
    given = _given(visit)
    chosen, saved = _chosen(given), _as_saved(given)
    columns = {COLUMNS: ",".join(dict.fromkeys((*chosen, "id")))} if chosen else {"serializer": "lead_grid"}
    asked = {"per_page": PER_PAGE, **columns, **{name: value for name, value in given.items() if name != COLUMNS}}
    answer = await visit.call("list_leads", asked)
    if answer.status >= OUR_FAULT:
        raise ApiRefusedError(Reply(status=answer.status, content=answer.content))
    filters = {name: value for name, value in given.items() if name not in NO_FILTER}
    page = {} if answer.is_refused else answer.content["metadata"]
    return {
        "leads": [] if answer.is_refused else rows_of(answer.content),
        "problem": answer.content if answer.is_refused else None,
        "is_away": False,
        "total": page.get("total_count"),
        "page_number": page.get("page") or 1,
        "pages": page.get("total_pages"),
        "older": _older(given, page),
        "newer": _url(given, page=page["page"] - 1) if (page.get("page") or 1) > 1 else "",
        "here": _url(given),
        "saved": saved if visit.has_page(SAVE) else {},
        "views": list(await _views(visit, _url(saved))),
        "view_name": "",
        "view_problem": None,
        "csv": f"{CSV}?{urlencode({**filters, **({COLUMNS: chosen} if chosen else {})}, doseq=True)}",
        "columns": chosen,
        "moments": MOMENTS,
        "bulk": f"{BULK}?{urlencode(filters, doseq=True)}" if filters and visit.has_page(BULK) else "",
        "filters": filters,
        "sortings": list(_sortings(given)),
        "schedules": await names_of(visit, "list_schedules"),
    }


def _chosen(given: Mapping[str, Any]) -> list[str]:
    """Return the columns that were chosen; none where the page shows its own."""
    value = given.get(COLUMNS, "")
    names = value if isinstance(value, list) else str(value).split(",")
    return list(dict.fromkeys(str(name).strip() for name in names if str(name).strip()))[:COLUMNS_MAX]


def _offered(visit: Visit) -> list[str]:
    """Return the columns that the visitor's teams show."""
    names = dict.fromkeys(LEAD_COLUMNS)
    return list(names if visit.access is None else without_hidden(visit.access, ("lead",), names))


def _older(given: Mapping[str, Any], page: Mapping[str, Any]) -> str:
    """Return the link to the next page, or an empty string on the last one."""
    number, pages = page.get("page") or 1, page.get("total_pages")
    return _url(given, page=number + 1) if page and (pages is None or number < pages) else ""


def _given(visit: Visit) -> dict[str, Any]:
    """Return the query without what was left empty: a form sends each of its fields."""
    return {name: value for name, value in visit.query.items() if value != ""}


def _url(given: Mapping[str, Any], **changed: Any) -> str:
    query = urlencode({**given, **changed}, doseq=True)
    return f"{PATH}?{query}" if query else PATH


def _sortings(given: Mapping[str, Any]) -> Iterator[Sorting]:
    order, direction = given.get("order", "created_at"), given.get("order_dir", "desc")
    base = {name: value for name, value in given.items() if name not in {"page", "order", "order_dir"}}
    for name, label in SORTED.items():
        turned = "asc" if order == name and direction == "desc" else "desc"
        state = ("ascending" if direction == "asc" else "descending") if order == name else "none"
        yield Sorting(label, _url(base, order=name, order_dir=turned), state)


async def _menus(visit: Visit) -> dict[str, Any]:
    """Return what the fields of the filter offer."""
    return {
        "statuses": (*STATUSES, "waiting_to_dial", *COMPLETED_CALLS),
        "offers": await names_of(visit, "list_offers"),
        "labels": LABELS,
        "offered": _offered(visit),
        "typed": {name: visit.query.get(name, "") for name in IN_FORM},
        "others": {name: value for name, value in _given(visit).items() if name not in {*IN_FORM, "page", COLUMNS}},
        "meanings": FILTER_PARAMETERS,
    }


async def names_of(visit: Visit, operation: str) -> dict[int, str]:
    """Return the names of the first records that an operation lists, by id; none where it is not granted."""
    found = await visit.look(operation, {"per_page": RECORDS_READ, "columns": "id,name"})
    return {} if found is None else {row["id"]: row["name"] for row in rows_of(found)}


NEEDS = ("list_leads",)

PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show, label="Leads", needs=NEEDS),
    ConsolePage(path=ROWS, handler=show_rows, needs=NEEDS),
    ConsolePage(path=CSV, handler=show_csv, needs=NEEDS),
    ConsolePage(path=SAVE, handler=save_view, needs=(*NEEDS, "save_lead_view"), method="POST"),
    ConsolePage(path=DELETE, handler=delete_view, needs=(*NEEDS, "delete_lead_view"), method="POST"),
)
