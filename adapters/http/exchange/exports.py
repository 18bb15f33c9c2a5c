"""How does a list become a CSV file? Streamed while it is read, for `.csv` or `Accept: text/csv`.

`leadclock leads import` takes an exported list of leads (`adapters/imports`).
"""

import io
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import structlog
from msgspec import Struct, structs

from adapters.csv_cells import csv_writer, format_csv_cell
from adapters.http.exchange.exchange import Exchange, Reply
from adapters.http.exchange.report_slots import in_slices
from adapters.reads.ports import Page, Paging, Row

CSV = "text/csv; charset=utf-8"

BATCH_ROWS = 100
"""Rows of a list that are read and held in memory at once: a read of a few milliseconds, which blocks the event loop."""

logger = structlog.get_logger(__name__)

Read = Callable[[Paging], Awaitable[Page]]
View = Callable[[Row], Mapping[str, Any]]


def wants_csv(exchange: Exchange) -> bool:
    """Return whether the client wants CSV: by the end of the path, else if Accept prefers it to JSON."""
    path = exchange.request.scope["path"]
    if path.endswith((".csv", ".json")):
        return bool(path.endswith(".csv"))
    weights = _accept_weights(exchange.request.headers.get("accept", ""))
    return weights.get("text/csv", 0.0) > max(weights.get("application/json", 0.0), weights.get("*/*", 0.0))


def write_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, headed: bool = True) -> bytes:
    """Return rows as CSV (RFC 4180); with `headed`, the first line has the names of the columns."""
    text = io.StringIO()
    writer = csv_writer(text)
    if headed:
        writer.writerow([format_csv_cell(name) for name in columns])  # columns of a pivot have names that a sender wrote
    writer.writerows([format_csv_cell(row[name]) for name in columns] for row in rows)
    return text.getvalue().encode()


def show_rows(rows: Iterable[Row], columns: Sequence[str], view: View) -> Iterator[Mapping[str, Any]]:
    """Yield rows as they are shown. A row that cannot be shown keeps only its id, and is logged.

    A fault in one row must not block all other rows of its company.
    """
    for row in rows:
        try:
            found = view(row)
        except Exception:
            logger.exception("row.skipped", id=row["id"])
            found = {**dict.fromkeys(columns), **({"id": row["id"]} if "id" in columns else {})}
        yield found


async def stream_csv(exchange: Exchange, read: Read, paging: Paging, columns: Sequence[str], view: View) -> Reply:
    """Return the answer with every row of a list, in its sorting. Rows that are created meanwhile are not in it.

    The first rows are read before the answer begins, so that an unavailable database still gives a problem. An export slot
    is held until the answer has ended. Raises `ProblemError` if no slot is free.
    """
    exchange.count_as_long()
    await exchange.hold_until_answered(exchange.services.exports.acquire_export(exchange.company_id))
    paging = Paging(per_page=BATCH_ROWS, order=paging.order, descending=paging.descending, counted=False)
    read_batch = partial(_read_batch, exchange, read, columns, view)
    batches = _batches(read_batch, paging, await read_batch(paging))
    return Reply(stream=_release_at_end(exchange, batches), media_type=CSV)


async def _release_at_end(exchange: Exchange, batches: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for text in batches:
        yield text
    await exchange.release_held()


class _Batch(Struct, frozen=True):
    """Rows as text, and the position after which the next batch begins."""

    text: bytes
    after: Any


async def _batches(read_batch: Callable[[Paging], Awaitable[_Batch]], paging: Paging, first: _Batch) -> AsyncIterator[bytes]:
    batch = first
    yield batch.text
    while batch.after is not None:
        batch = await read_batch(structs.replace(paging, after=batch.after))
        yield batch.text


async def _read_batch(exchange: Exchange, read: Read, columns: Sequence[str], view: View, paging: Paging) -> _Batch:
    """Read a batch and write it as CSV at the company's turn; the first batch has the names of the columns."""
    services, company_id = exchange.services, exchange.company_id
    async with services.exports.acquire_batch(company_id):
        page = await read(paging)
        rows = in_slices(show_rows(page.rows, columns, view))
        write = partial(write_csv, columns, rows, headed=paging.after is None)
        return _Batch(await services.engine.run(company_id, write), page.after)


def _accept_weights(accept: str) -> dict[str, float]:
    """Return the weight (`q`) of each media type of an Accept header; an unreadable weight is 0."""
    found: dict[str, float] = {}
    for entry in accept.split(","):
        kind, *options = (part.strip().lower() for part in entry.split(";"))
        weight = next((option[2:] for option in options if option.startswith("q=")), "1")
        found[kind] = float(weight) if re.fullmatch(r"[01](?:\.[0-9]{0,3})?", weight) else 0.0
    return found
