"""How does a list become a file? As CSV, by `.csv` or by Accept, sent while it is read; formula-like text is disarmed.

A spreadsheet runs what begins with `=`, `+`, `-` or `@`, so such text gets an apostrophe in front. Numbers and telephone
numbers stay as they are: what was exported imports again.
"""

import csv
import io
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import structlog
from msgspec import Struct, structs

from adapters.http.exchange.exchange import Exchange, Reply
from adapters.http.exchange.report_slots import in_slices
from adapters.reads.ports import Page, Paging, Row

CSV = "text/csv; charset=utf-8"

BATCH_ROWS = 100
"""Rows that are read, and held in memory, at once while a whole list is sent: read from the database in a few milliseconds,
in which the loop does nothing else."""

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?", re.ASCII)

logger = structlog.get_logger(__name__)

Read = Callable[[Paging], Awaitable[Page]]
View = Callable[[Row], Mapping[str, Any]]


def wants_csv(exchange: Exchange) -> bool:
    """Return whether CSV is asked for: by the end of the path, else where Accept likes it better than JSON."""
    path = exchange.request.scope["path"]
    if path.endswith((".csv", ".json")):
        return bool(path.endswith(".csv"))
    liked = _liked(exchange.request.headers.get("accept", ""))
    return liked.get("text/csv", 0.0) > max(liked.get("application/json", 0.0), liked.get("*/*", 0.0))


def write_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, headed: bool = True) -> bytes:
    """Return rows as CSV (RFC 4180), the names of the columns in the first line."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    if headed:
        writer.writerow([format_csv_cell(name) for name in columns])  # of a pivot, what a sender wrote
    writer.writerows([format_csv_cell(row[name]) for name in columns] for row in rows)
    return text.getvalue().encode()


def format_csv_cell(value: Any) -> Any:
    """Return a value as it stands in a file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list | tuple):
        return msgspec.json.encode(value).decode()
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def show_rows(rows: Iterable[Row], columns: Sequence[str], view: View) -> Iterator[Mapping[str, Any]]:
    """Give rows as they are shown. One that cannot be shown has its id and nothing else, and is told in the log.

    A fault of one row must not keep its company from all others.
    """
    for row in rows:
        try:
            found = view(row)
        except Exception:
            logger.exception("row.skipped", id=row["id"])
            found = {**dict.fromkeys(columns), **({"id": row["id"]} if "id" in columns else {})}
        yield found


async def stream_csv(exchange: Exchange, read: Read, paging: Paging, columns: Sequence[str], view: View) -> Reply:
    """Return the answer with every row of a list, in its order. What is created meanwhile is not in it.

    The first rows are read before the answer begins, so that a database that is away is told as such. A place among the
    files is held until the answer has ended. Raises `ProblemError` where there is none.
    """
    await exchange.hold_until_answered(exchange.services.exports.acquire_export(exchange.company_id))
    paging = Paging(per_page=BATCH_ROWS, order=paging.order, descending=paging.descending, counted=False)
    made = partial(_batch, exchange, read, columns, view)
    return Reply(stream=_until_over(exchange, _batches(made, paging, await made(paging))), media_type=CSV)


async def _until_over(exchange: Exchange, batches: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for text in batches:
        yield text
    await exchange.release_held()


class _Batch(Struct, frozen=True):
    """Rows as text, and the place behind which the next ones stand."""

    text: bytes
    after: Any


async def _batches(made: Callable[[Paging], Awaitable[_Batch]], paging: Paging, first: _Batch) -> AsyncIterator[bytes]:
    batch = first
    yield batch.text
    while batch.after is not None:
        batch = await made(structs.replace(paging, after=batch.after))
        yield batch.text


async def _batch(exchange: Exchange, read: Read, columns: Sequence[str], view: View, paging: Paging) -> _Batch:
    """Read a batch and write it out, when it is the company's turn; the first one has the names of the columns."""
    services, company_id = exchange.services, exchange.company_id
    async with services.exports.acquire_batch(company_id):
        page = await read(paging)
        rows = in_slices(show_rows(page.rows, columns, view))
        write = partial(write_csv, columns, rows, headed=paging.after is None)
        return _Batch(await services.engine.run(company_id, write), page.after)


def _liked(accept: str) -> dict[str, float]:
    """Return the weights of the media types of an Accept header; what cannot be read weighs nothing."""
    found: dict[str, float] = {}
    for entry in accept.split(","):
        kind, *options = (part.strip().lower() for part in entry.split(";"))
        weight = next((option[2:] for option in options if option.startswith("q=")), "1")
        found[kind] = float(weight) if re.fullmatch(r"[01](?:\.[0-9]{0,3})?", weight) else 0.0
    return found
