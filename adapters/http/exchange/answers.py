"""What does an answer look like? A record or a list in an envelope, bare with `root=false`, or a list as CSV."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

import msgspec
from msgspec import structs

from adapters.http.exchange.exchange import JSON, ROOT, Exchange, Reply
from adapters.http.exchange.exports import CSV, show_rows, stream_csv, wants_csv, write_csv
from adapters.http.exchange.hidden_fields import shown_columns
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.report_slots import in_slices
from adapters.reads.ports import Page, Paging, Row
from engine.account.did_you_mean import did_you_mean
from engine.submission.fields import INTEGER_MAX

PER_PAGE_DEFAULT = 25
PER_PAGE_MAX = 100
"""Rows of a page; clients rely on both (see `PAGING_PARAMETERS`)."""

CURSOR_PER_PAGE_MAX = 1_000
"""Rows of a page with `cursor`, which reads them by an index and needs no count."""

ROWS_BY_PAGE_MAX = 10_000
"""Rows that can be read by `page`. Further ones need a cursor: a query that skips a million rows keeps the database busy."""

COLUMNS_SHOWN = 10
COLUMN_LENGTH_SHOWN = 100
"""Unknown columns that one refusal lists, and characters of each."""

PAGING_PARAMETERS: Mapping[str, str] = {
    "page": "page to return, from 1",
    "per_page": "rows per page: default 25, at most 100 (1000 with cursor)",
    "cursor": "-1 to begin; then metadata.next_cursor of the previous answer, until that is 0",
    "order": "column to sort by; default created_at",
    "order_dir": "asc or desc; default desc",
    "columns": "columns to return, separated by commas, in this order",
    "root": "false: the bare list, with paging in the headers X-Total-Count, X-Next-Cursor and Link",
    "ids": "internal ids to return",
    "created_at_from": "created at or after, YYYY-MM-DD HH:MM:SS +ZZZZ or RFC 3339",
    "created_at_to": "created before; a date without a time includes its day",
    "fulltext": "text to search for",
    "time_zone": "time zone of days, and of dates without an offset; default the company's",
}


def reply_with_record(exchange: Exchange, name: str, shown: Mapping[str, Any], *, status: int = 200, **more: Any) -> Reply:
    """Return the answer with one record."""
    if wants_bare(exchange):
        return Reply(status=status, content=shown)
    return Reply(status=status, content={"status": status, "errors": {}, name: shown, **more, "metadata": {"root": name}})


def add_etag(reply: Reply, version: int) -> Reply:
    """Return an answer with the version of its record as ETag, for the client's next If-Match."""
    return structs.replace(reply, headers={**reply.headers, "ETag": f'"{version}"'})


def read_paging(parameters: Parameters, sortable: Collection[str]) -> Paging:
    """Read which rows of a list to return; faults are added to the parameters."""
    cursor = parameters.whole("cursor", least=-1, most=INTEGER_MAX, code="bad_cursor")
    per_page = parameters.whole("per_page", least=1, most=PER_PAGE_MAX if cursor is None else CURSOR_PER_PAGE_MAX)
    per_page = per_page or PER_PAGE_DEFAULT
    page = parameters.whole("page", least=1, most=INTEGER_MAX) or 1
    order, descending = read_sorting(parameters, sortable, cursor)
    return Paging(page=page, per_page=per_page, cursor=cursor, order=order, descending=descending)


def read_sorting(parameters: Parameters, sortable: Collection[str], cursor: int | None) -> tuple[str | None, bool]:
    """Read the column to sort by and whether descending; faults, such as `order` with a cursor, are added."""
    if not sortable:
        return None, True
    order = parameters.choice("order", sorted(sortable))
    direction = parameters.choice("order_dir", ("desc", "asc"))
    if cursor is not None and (order is not None or direction == "asc"):
        parameters.refuse(
            "order_dir" if order is None else "order", "cannot be combined with cursor, which sorts by descending id"
        )
    return order, direction != "asc"


def read_columns_of_serializer(parameters: Parameters, serializers: Mapping[str, tuple[str, ...]]) -> tuple[str, ...] | None:
    """Read which columns to return: those of a serializer, or the listed ones among them.

    None means all columns of the first serializer, which is the default.
    """
    whole = next(iter(serializers))
    name = parameters.choice("serializer", tuple(serializers)) or whole
    columns = read_columns(parameters, serializers[name])
    return columns if columns is not None or name == whole else serializers[name]


def read_columns(parameters: Parameters, known: Sequence[str]) -> tuple[str, ...] | None:
    """Read which columns to return; faults are added to the parameters."""
    wanted = parameters.words("columns")
    unknown = [name for name in wanted or () if name not in known]
    if unknown:
        named = (f"{name[:COLUMN_LENGTH_SHOWN]}{did_you_mean(name, known)}" for name in unknown[:COLUMNS_SHOWN])
        parameters.refuse("columns", f"names no column of this record: {', '.join(named)}")
    return tuple(dict.fromkeys(wanted)) if wanted else None


async def reply_with_list(
    exchange: Exchange,
    name: str,
    parameters: Parameters,
    *,
    paging: Paging,
    columns: Sequence[str],
    read: Callable[[Paging], Awaitable[Page]],
    view: Callable[[Row], dict[str, Any]],
) -> Reply:
    """Read a page and return the answer with it. CSV has the whole list, unless the request names a page."""
    wants_bare(exchange)  # refuse a bad `root`, also for CSV, which has none
    columns = shown_columns(exchange, columns) if wants_csv(exchange) else columns
    if wants_csv(exchange) and not any(exchange.query.get(given) for given in ("page", "per_page", "cursor")):
        return await stream_csv(exchange, read, paging, columns, view)
    if paging.cursor is not None and not (wants_bare(exchange) or wants_csv(exchange)):
        paging = structs.replace(paging, counted=False)  # with a cursor, only headers have the count
    if paging.per_page <= PER_PAGE_MAX:
        return reply_with_page(
            exchange, name, await fetch_page(parameters, paging, read), paging=paging, columns=columns, view=view
        )
    exchange.count_as_long()
    async with exchange.services.exports.acquire_batch(exchange.company_id):  # as much work as several batches of an export
        page = await read(paging)
        shown = partial(reply_with_page, exchange, name, page, paging=paging, columns=columns, view=view, pace=in_slices)
        reply: Reply = await exchange.services.engine.run(exchange.company_id, shown)
        return reply


async def fetch_page(parameters: Parameters, paging: Paging, read: Callable[[Paging], Awaitable[Page]]) -> Page:
    """Read a page. One past the end is empty. Raises `ProblemError` for one beyond the rows that are counted."""
    if paging.cursor is not None or paging.page * paging.per_page <= ROWS_BY_PAGE_MAX:
        return await read(paging)
    first = await read(Paging(per_page=1))
    if first.total_count is None:
        parameters.refuse("page", f"must end within the first {ROWS_BY_PAGE_MAX} rows; use cursor for further ones")
        parameters.finish()
    if (paging.page - 1) * paging.per_page < (first.total_count or 0):
        return await read(paging)  # the last page, which is not full
    return Page(rows=(), total_count=first.total_count)


def reply_with_page(
    exchange: Exchange,
    name: str,
    page: Page,
    *,
    paging: Paging,
    columns: Sequence[str],
    view: Callable[[Row], dict[str, Any]],
    pace: Callable[[Iterable[Row]], Iterable[Row]] = iter,
) -> Reply:
    """Return the answer with a page of a list; `pace` iterates its rows, such as in slices."""
    rows = list(show_rows(pace(page.rows), columns, view))
    is_bare = wants_bare(exchange)
    if wants_csv(exchange):
        return Reply(content=write_csv(columns, rows), media_type=CSV, headers=_paging_headers(exchange, page, paging))
    if is_bare:
        return Reply(content=rows, headers=_paging_headers(exchange, page, paging))
    return Reply(content={"status": 200, "errors": {}, name: rows, "metadata": {"root": name, **_metadata(page, paging)}})


def reply_with_rows(
    exchange: Exchange,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    *,
    page: int,
    per_page: int | None,
    more: Mapping[str, Any],
    beside: Mapping[str, Any] | None = None,
    flat: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
) -> Reply:
    """Return the answer with a page of a list that was computed as a whole. For use in another thread.

    `per_page` None means 25, or all rows as CSV. `more` is added to the metadata, `beside` next to the list. `flat` makes a
    CSV line of a row.
    """
    is_bare = wants_bare(exchange)
    columns = shown_columns(exchange, columns)
    line = flat or (lambda row: row)
    if wants_csv(exchange) and per_page is None and "page" not in exchange.query:
        return Reply(content=write_csv(columns, in_slices(map(line, rows))), media_type=CSV)
    size = per_page or PER_PAGE_DEFAULT
    paging = Paging(page=page, per_page=size)
    chosen = _cut(rows, page, size)
    counted = Page(rows=chosen, total_count=len(rows))
    if wants_csv(exchange):
        table = write_csv(columns, in_slices(map(line, chosen)))
        return Reply(content=table, media_type=CSV, headers=_paging_headers(exchange, counted, paging))
    # Row by row: encoding a few megabytes at once would block the event loop.
    encoded = [msgspec.Raw(JSON.encode(row)) for row in in_slices(chosen)]
    if is_bare:
        return Reply(content=JSON.encode(encoded), headers=_paging_headers(exchange, counted, paging))
    metadata = {"root": name, **_metadata(counted, paging), **more}
    content = {"status": 200, "errors": {}, name: encoded, **(beside or {}), "metadata": metadata}
    return Reply(content=JSON.encode(content))


def _cut(rows: Sequence[Mapping[str, Any]], page: int, per_page: int) -> Sequence[Mapping[str, Any]]:
    return rows[(page - 1) * per_page : page * per_page]


def wants_bare(exchange: Exchange) -> bool:
    """Return whether `root=false` asks for an answer without an envelope. Raises `ProblemError`."""
    # In the body of a submission or of a lead's change, `root` is a token of the lead.
    fields = exchange.query if exchange.operation.extra == "tokens" else exchange.fields
    if ROOT not in fields:
        return False
    parameters = Parameters(fields)
    root = parameters.flag(ROOT)
    parameters.finish()
    return root is False


def _metadata(page: Page, paging: Paging) -> dict[str, Any]:
    if paging.cursor is not None:
        return {"per_page": paging.per_page, "next_cursor": page.next_cursor or 0}
    total = page.total_count
    return {
        "page": paging.page,
        "per_page": paging.per_page,
        "total_count": total,
        "total_pages": None if total is None else -(-total // paging.per_page),
        "next_cursor": page.next_cursor,
    }


def _paging_headers(exchange: Exchange, page: Page, paging: Paging) -> dict[str, str]:
    headers = {"X-Per-Page": str(paging.per_page)}
    if page.total_count is not None:
        headers["X-Total-Count"] = str(page.total_count)
    if paging.cursor is not None:
        headers["X-Next-Cursor"] = str(page.next_cursor or 0)
        if page.next_cursor:
            headers["Link"] = _link(exchange, "cursor", page.next_cursor)
    elif page.total_count is None or paging.page * paging.per_page < page.total_count:
        headers["Link"] = _link(exchange, "page", paging.page + 1)
    return headers


def _link(exchange: Exchange, name: str, value: int) -> str:
    sent = parse_qsl(exchange.request.scope["query_string"].decode(), keep_blank_values=True)
    # Never put `auth_token` into a link.
    query = [pair for pair in sent if pair[0].partition("[")[0] not in {name, "auth_token"}]
    return f'<{exchange.request.scope["path"]}?{urlencode([*query, (name, str(value))])}>; rel="next"'
