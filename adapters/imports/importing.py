"""How do the rows of a file become leads? Each is checked, and put on `leads.inbox.bulk` under an id of its own.

The id names the import and the line. An import that was killed between an acknowledgement and its progress file finds its
last row on the inbox. A contact also remembers the ids of a day, so that a row sent twice changes nothing
(`engine/contact/facts/person.py`).
"""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from adapters.audit.recorded import batches
from adapters.csv_cells import csv_writer, format_csv_cell
from adapters.imports.mapping import FileMapping
from adapters.imports.progress import ImportProgress, ProgressFile
from adapters.imports.rows import POSTS, FileRow, ImportFile, header, rows
from adapters.intake.intake import BODY_BYTES_MAX
from adapters.intake.rights import right_header
from adapters.partitions.routing import partition_of
from adapters.roles.context import Context
from engine.partition.draft import RefusedError
from engine.partition.ports import Outgoing
from engine.rules import Rules
from engine.submission.normalise import names_read_by_maps, normalise
from schemas.envelope import Envelope, to_headers
from schemas.instant import Instant
from schemas.topics import LEADS_INBOX_BULK
from schemas.wire import to_json

BATCH_ROWS = 500
"""Rows checked, appended and acknowledged together: some 30 ms of checking, at most 128 MB of bodies."""

SOURCE = "/import"
ERROR_COLUMNS = ("line", "field", "problem")


class RowProblem(Struct, frozen=True):
    """What is wrong with one field of a row, or what it was warned of; `field` is empty where the whole row is meant."""

    line: int
    field: str
    problem: str


class CheckedRows(Struct):
    """The good rows of a batch, each with its line and what it was warned of, and what is wrong with the others."""

    good: list[tuple[int, bytes]]
    errors: list[RowProblem]
    warnings: list[RowProblem]
    refused: int = 0
    warned: int = 0
    """Good rows with a warning; a row may have several."""


class ImportPlan(Struct, frozen=True, kw_only=True):
    """What is imported, and where its errors go."""

    file: ImportFile
    mapping: FileMapping
    lead_token: str
    errors: Path
    warnings: Path


def map_columns(
    source: ImportFile, typed: Mapping[str, str], rules: Rules, lead_token: str, stated: Mapping[str, str] | None = None
) -> FileMapping:
    """Return what each column of a file becomes, lead maps included. Raises `ImportFileError`.

    `stated` is the consent that the import states once.
    """
    columns = header(source)
    names = {column.casefold().replace(" ", "_") for column in columns}
    read_by_map = names_read_by_maps(rules, lead_token, by_source="traffic_source_id" in names)
    is_posted = source.format in POSTS
    return FileMapping(columns, typed, stated, read_by_map=read_by_map & {*columns}, holds_posts=is_posted)


def check_rows(some: Iterable[FileRow], plan: ImportPlan, rules: Rules, now: Instant, lead_import_id: int) -> CheckedRows:
    """Check rows as intake would; a bad one gets an error for each bad field, a good one the id of the import."""
    checked = CheckedRows([], [], [])
    for row in some:
        errors = list(_check(row, plan, rules, now, lead_import_id, checked))
        checked.errors += errors
        checked.refused += bool(errors)
    return checked


def _check(  # noqa: PLR0917 - a row, what it is checked by, and where it goes
    row: FileRow, plan: ImportPlan, rules: Rules, now: Instant, lead_import_id: int, checked: CheckedRows
) -> Iterator[RowProblem]:
    if row.problem is not None:
        yield RowProblem(row.line, "", row.problem)
        return
    try:
        submission = {**plan.mapping.submission(row.cells, plan.lead_token), "lead_import_id": lead_import_id}
    except ValueError as error:
        yield RowProblem(row.line, "data", str(error))
        return
    try:
        warnings = normalise(submission, rules, received_at=now, is_trusted=True).warnings
    except RefusedError as refusal:
        if not refusal.errors:
            yield RowProblem(row.line, "", refusal.detail)
        for field, sentences in refusal.errors.items():
            yield from (RowProblem(row.line, field, sentence) for sentence in sentences)
        return
    body = to_json(submission)
    if len(body) > BODY_BYTES_MAX:
        yield RowProblem(row.line, "", f"has {len(body)} bytes as a submission; {BODY_BYTES_MAX} is the most")
        return
    checked.good.append((row.line, body))
    checked.warnings += (RowProblem(row.line, "", warning) for warning in warnings)
    checked.warned += bool(warnings)


def check_file(plan: ImportPlan, context: Context, progress: ImportProgress, advance: Callable[[int], None]) -> None:
    """Check every row and send none; count them in the progress. Writes the files of errors and warnings."""
    for some in _in_batches(rows(plan.file)):
        checked = check_rows(some, plan, context.rules.rules, context.clock.now(), progress.lead_import_id)
        _note(plan, progress, checked, some[-1].line)
        advance(progress.line)


async def import_file(
    plan: ImportPlan, context: Context, stored: ProgressFile, progress: ImportProgress, advance: Callable[[int], None]
) -> None:
    """Send every row behind the line that the progress names, and keep the progress. Raises `LogError`."""
    topic = context.names.of(LEADS_INBOX_BULK.name)
    partition = partition_of(progress.id.encode(), await context.log.partition_count(topic))
    if progress.offset is None:
        progress.offset = await topic_end(context, topic, partition)
        stored.save(progress)
        acknowledged = progress.line
    else:
        acknowledged = await find_last_line(context, topic, partition, progress)
    appender = await context.appender()
    try:
        todo = (row for row in rows(plan.file) if row.line > progress.line)
        for some in _in_batches(todo):
            checked = check_rows(some, plan, context.rules.rules, context.clock.now(), progress.lead_import_id)
            fresh = [outgoing(context, topic, progress, *one) for one in checked.good if one[0] > acknowledged]
            if fresh:
                progress.offset = (await appender.append(partition, fresh))[-1] + 1
            _note(plan, progress, checked, some[-1].line)
            stored.save(progress)
            advance(progress.line)
    finally:
        await appender.close()
    progress.is_finished = True
    stored.save(progress)


def _note(plan: ImportPlan, progress: ImportProgress, checked: CheckedRows, line: int) -> None:
    """Count a batch that ends at a line, and write its errors and warnings."""
    progress.sent += len(checked.good)
    progress.refused += checked.refused
    progress.warned += checked.warned
    progress.errors_size = write_errors(plan.errors, checked.errors, progress.errors_size)
    progress.warnings_size = write_errors(plan.warnings, checked.warnings, progress.warnings_size)
    progress.line = line


async def topic_end(context: Context, topic: str, partition: int) -> int:
    """Return the offset behind the last record: nothing of an import that begins now is before it."""
    reader = await context.log.reader(topic, [partition])
    try:
        return await reader.end(partition)
    finally:
        await reader.close()


async def find_last_line(context: Context, topic: str, partition: int, progress: ImportProgress) -> int:
    """Return the last line of this import that the inbox has, known to the progress or not."""
    prefix, last = f"{progress.id}/{progress.number}/", progress.line
    reader = await context.log.reader(topic, [partition])
    try:
        await reader.seek(partition, progress.offset or 0)
        async for some in batches(reader, partition):
            for record in some:
                name = dict(record.headers).get("ce_id", b"").decode(errors="replace")
                if name.startswith(prefix):
                    last = max(last, int(name.removeprefix(prefix)))
    finally:
        await reader.close()
    return last


def _in_batches(some: Iterator[FileRow]) -> Iterator[list[FileRow]]:
    while batch := list(islice(some, BATCH_ROWS)):
        yield batch


def outgoing(context: Context, topic: str, progress: ImportProgress, line: int, body: bytes) -> Outgoing:
    """Return the record of a line, under the id by which a repeat is known, with the right of who started the import."""
    name = f"{progress.id}/{progress.number}/{line}"
    headers = to_headers(Envelope(id=name, type="lead.submitted", source=SOURCE))
    return Outgoing(topic, progress.id.encode(), body, (*headers, *right_header(context.settings.secret_key, name, body)))


def write_errors(path: Path, errors: Iterable[RowProblem], size: int) -> int:
    """Write errors, or warnings, behind the first `size` bytes of their file, and return its new size.

    There is no file where there are none.
    """
    if size == 0:
        path.unlink(missing_ok=True)
    text = io.StringIO()
    writer = csv_writer(text)
    writer.writerows(tuple(map(format_csv_cell, msgspec.structs.astuple(error))) for error in errors)
    if not text.getvalue():
        return size
    with path.open("r+b" if size else "wb") as target:
        target.truncate(size)
        target.seek(size)
        if size == 0:
            target.write(f"{','.join(ERROR_COLUMNS)}\r\n".encode())
        target.write(text.getvalue().encode())
        return target.tell()


def sample(plan: ImportPlan) -> dict[str, Any]:
    """Return the submission of the first row that can be read, for a preview; empty where there is none."""
    for row in rows(plan.file):
        if row.problem is None:
            with suppress(ValueError):  # the check reports it
                return plan.mapping.submission(row.cells, plan.lead_token)
    return {}
