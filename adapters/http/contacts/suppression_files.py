"""How does a file of people come onto a suppression list? Line by line: each good line is a request to its contact.

A bad line is reported with its number and keeps no other line out. A repeat of a file changes nothing: who is on a list is
put there again on the same terms.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from adapters.http.contacts.suppressions import (
    ADDED,
    LIST,
    SuppressionEntry,
    count_results,
    read_entry,
    request_to_list,
    submit_all,
    wait_for,
)
from adapters.http.exchange.answers import reply_with_record, wants_bare
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.writes import claim_key
from adapters.http.records.records import live_row
from adapters.http.schema.inputs import BOOLEAN, text
from adapters.http.schema.shapes import one_of
from adapters.imports.rows import FileRow, ImportFile, ImportFileError, header, rows
from adapters.reads.ports import Result
from engine.account.did_you_mean import did_you_mean
from engine.submission.fields import is_blank
from engine.views.contact import SUPPRESSION_COLUMNS

LINES_MAX = 5_000
"""Lines of one file: ten batches, which the contacts decide one after the other within the time of an answer."""

FILE_BYTES_MAX = 1024 * 1024
"""Of a body: 5,000 lines of 200 bytes."""

BATCH_LINES = 500
"""Lines that are open at once: calls and opt-outs of others wait behind no more."""

ERRORS_MAX = 200
"""Bad lines that one answer names; their number is always given."""

_SHOWN = tuple(column.name for column in SUPPRESSION_COLUMNS)

FILE_NAME = "the file"


class BadLine(Struct, frozen=True):
    """What is wrong with a field of a line of the file; `field` is empty where it is the whole line."""

    line: int
    field: str
    problem: str


async def import_file(exchange: Exchange) -> Reply:
    """Put the people of a file on a list."""
    wants_bare(exchange)  # refuse a bad `root` before anything is stored
    row = await live_row(exchange, LIST)
    parameters = Parameters(exchange.fields)
    is_dry = parameters.flag("dry_run") is True
    content = exchange.fields.get("content")
    if not isinstance(content, str) or is_blank(content):
        parameters.refuse("content", "must be the text of a CSV file")
    parameters.finish()
    found = await _lines(exchange, parameters, str(content))
    entries, errors = _entries(exchange, found)
    results: list[Result | None] = []
    if not is_dry:
        exchange.limit(exchange.company_id, max(0, len(entries) - 1))  # the request itself has taken one
        claim = await claim_key(exchange, exchange.company_id)
        batch_id = exchange.request_id if claim is None else claim.request_id  # a repeat asks under the same ids
        results = await _put_on(exchange, row["id"], batch_id, entries)
    shown = {
        "lines_count": len(found),
        "bad_lines_count": len({error.line for error in errors}),
        **count_results(results),
        "errors": [{"line": one.line, "field": one.field, "problem": one.problem} for one in errors[:ERRORS_MAX]],
    }
    return reply_with_record(exchange, "suppression_import", shown)


async def _put_on(
    exchange: Exchange, list_id: int, batch_id: str, entries: Sequence[SuppressionEntry]
) -> list[Result | None]:
    """Send the entries batch by batch, each after the one before was decided or the time of the answer was over."""
    results: list[Result | None] = []
    for begun in range(0, len(entries), BATCH_LINES):
        some = entries[begun : begun + BATCH_LINES]
        ids = [f"{batch_id}/{begun + number}" for number in range(len(some))]
        await submit_all(exchange, ids, [request_to_list(exchange, list_id, entry, listed=True) for entry in some])
        results += await wait_for(exchange, ids)
    return results


async def _lines(exchange: Exchange, parameters: Parameters, content: str) -> list[FileRow]:
    """Return the lines of a file. Raises `ProblemError` where it cannot be read as a whole."""
    try:
        files = exchange.services.files
        return await files.run(exchange.company_id, exchange.request.receive, files.call(_read, content))
    except ImportFileError as error:
        parameters.refuse("content", f"cannot be imported: {error}")
    parameters.finish()
    raise AssertionError  # finish has raised


def _read(content: str) -> list[FileRow]:
    """Return the lines of a file whose columns are known. Raises `ImportFileError`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE_NAME
        path.write_text(content, encoding="utf-8", newline="")
        file = ImportFile(path, "csv")
        columns = header(file)
        unknown = [name for name in columns if name not in _SHOWN]
        if unknown:
            known = f"its columns are {', '.join(ADDED)}, and those of an exported list, which say nothing"
            raise ImportFileError(f"it has a column {unknown[0][:100]!r}{did_you_mean(unknown[0], _SHOWN)}; {known}")
        if not {"caller_id", "email"} & set(columns):
            raise ImportFileError("it has neither a column caller_id nor a column email: its first line must name one")
        return list(_bounded(rows(file)))


def _bounded(found: Iterator[FileRow]) -> Iterator[FileRow]:
    for number, row in enumerate(found):
        if number >= LINES_MAX:
            raise ImportFileError(f"it has more than {LINES_MAX} lines: split it")
        yield row


def _entries(exchange: Exchange, found: Sequence[FileRow]) -> tuple[list[SuppressionEntry], list[BadLine]]:
    """Return the entries of good lines, each contact once and the last line of it, and what is wrong with the others."""
    entries: dict[str, SuppressionEntry] = {}
    errors: list[BadLine] = []
    for row in found:
        if row.problem is not None:
            errors.append(BadLine(row.line, "", row.problem))
            continue
        given: dict[str, Any] = {name: row.cells[name] for name in ADDED if not is_blank(row.cells.get(name))}
        faults: dict[str, list[str]] = {}
        entry = read_entry(exchange, given, ADDED, "", faults)
        errors += [BadLine(row.line, name.lstrip("."), sentences[0]) for name, sentences in faults.items()]
        if entry is not None and not faults:
            entries[entry.contact_key] = entry
    return list(entries.values()), errors


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="import_suppression_entries",
        methods=("POST",),
        path=f"{LIST.path}/{{id}}/entries/import",
        summary="Put the people of a CSV file on a suppression list",
        handler=import_file,
        scope="suppression_list:add",
        rate="submission",
        safe=False,
        records="visible",
        body_bytes_max=FILE_BYTES_MAX,
        parameters={
            "content": f"text of a CSV file of at most {LINES_MAX} lines; the first names the columns: {', '.join(ADDED)}",
            "dry_run": "true: check every line and put nobody on the list",
            "root": "false: the bare counts",
        },
        types={"content": text(FILE_BYTES_MAX), "dry_run": BOOLEAN},
        required=("content",),
        answer=one_of("suppression_import", "SuppressionImport"),
        has_result=False,
    ),
)
