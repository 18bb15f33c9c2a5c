"""How do the lines of an uploaded file become leads? As those of `leadclock leads import`: checked, and sent once each.

One process at a time has an import. How far it is and what is wrong with its lines is stored in one transaction, after the
lines are on `leads.inbox.bulk`. A process that takes an import over finds on the inbox what the one before had sent.

Only so many lines are sent and not decided at a time (`UNDECIDED_MAX`), and an import ends when all are decided.
"""

import asyncio
import tempfile
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import Struct

from adapters.http.exchange.makers import FORBIDDEN, Maker, MakerAccess
from adapters.http.leads.import_decisions import (
    LEASE_SECONDS,
    UNDECIDED_MAX,
    ImportDecisions,
    SettledLines,
    WaitForResult,
    dead_letters_of,
    inbox_of,
)
from adapters.http.leads.job_loop import advance_jobs
from adapters.imports.importing import CheckedRows, ImportPlan, check_rows, find_last_line, map_columns, outgoing, topic_end
from adapters.imports.progress import ImportProgress
from adapters.imports.rows import FileRow, Format, ImportFile, ImportFileError, examine, rows
from adapters.imports.sheets import SheetError
from adapters.imports.unpacking import unpack
from adapters.reads.ports import LeadImports, LineProblem, NewLeadImport, SentBatch, UploadedImport
from adapters.roles.context import Context
from engine.partition.ports import Appender
from engine.rules import Rules

IMPORT = "lead_import:create"
"""The scope that an import needs, when it is uploaded and while it runs."""

BATCH_LINES = 100
"""Lines checked and sent together: some 6 ms of checking, during which this process answers nobody."""

DECIDED_WITHIN_SECONDS = 2.0
"""How long a look waits for decisions: several times what a batch takes. Then the imports of others come next."""

IMPORTS_AT_ONCE = 2
"""Of one company one (`claim` of `lead_imports.sql`): the import of another does not wait for its end."""

LINES_MAX = 200_000
"""Lines of an uploaded file, which an API process imports beside its answers; `leadclock leads import` takes any number."""

FILE_NAME = "the file"

_TYPED = ("--map ", "--encoding ", "--delimiter ")


T = TypeVar("T")


class OpenedImport(Struct):
    """An import that is being read: its file, what its columns become, and where on the inbox its lines go."""

    plan: ImportPlan
    topic: str
    partition: int
    acknowledged: int


class Stalled(Exception):  # noqa: N818 - not an error
    """As many lines as may be are sent and not decided; another look goes on."""


class LeadImportRunner:
    """Advances the imports of all companies, from any number of processes."""

    def __init__(self, imports: LeadImports, context: Context, makers: MakerAccess, wait: WaitForResult) -> None:
        self._imports = imports
        self._context = context
        self._makers = makers
        self._decisions = ImportDecisions(imports, context, wait)
        self._holder = uuid.uuid4().hex
        self._threads = ThreadPoolExecutor(IMPORTS_AT_ONCE, thread_name_prefix="imports")

    async def run(self) -> None:
        """Advance imports until cancelled; whatever one of them meets, the next look goes on."""
        await asyncio.gather(*(advance_jobs(self.advance_once, "imports") for _ in range(IMPORTS_AT_ONCE)))

    async def advance_once(self) -> bool:
        """Take the next import as far as it goes; return False where there was none, or it waits for decisions.

        Raises what the ports raise.
        """
        upload = await self._imports.claim(self._holder, LEASE_SECONDS, self._context.clock.now())
        if upload is None:
            return False
        try:
            return await self._advance(upload)
        finally:
            await self._imports.release(upload.id, self._holder)

    async def _advance(self, upload: UploadedImport) -> bool:
        if not upload.is_sent:
            try:
                failure = await self._send_rest(upload)
            except Stalled:
                return False
            await self._imports.end_sending(upload.id, self._holder, self._context.clock.now(), failure)
        while (settled := await self._settle(upload)).left:
            if not settled.decided:
                return False
        await self._imports.finish(upload.id, self._holder, self._context.clock.now())
        return True

    async def _settle(self, upload: UploadedImport) -> SettledLines:
        return await self._decisions.settle(upload, self._holder, DECIDED_WITHIN_SECONDS)

    async def _send_rest(self, upload: UploadedImport) -> str | None:
        """Send what was not sent yet; return why it is broken off, or None. Raises `Stalled`."""
        if upload.is_canceled:
            return None
        undecided = await self._wait_for_room(upload)  # before the file is read once more
        await self._makers.refresh()
        with tempfile.TemporaryDirectory() as folder:
            try:
                return await self._send_all(upload, await self._open(upload, Path(folder)), undecided)
            except ImportFileError as error:
                return in_words_of_http(error)

    async def _wait_for_room(self, upload: UploadedImport) -> int:
        """Return how many lines are undecided, once they are fewer than may be. Raises `Stalled`."""
        while (settled := await self._settle(upload)).left + BATCH_LINES > UNDECIDED_MAX:
            if not settled.decided:
                raise Stalled
        return settled.left

    async def _call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread of imports: the default ones do other work, which must not wait for files."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    async def _open(self, upload: UploadedImport, folder: Path) -> OpenedImport:
        """Read the file to its end, so that nothing is sent of one that was cut off. Raises `ImportFileError`."""
        context, position = self._context, upload.position
        file = await self._imports.file(upload.id, self._holder)
        source = await write_upload(folder, file, upload.format, upload.encoding)
        plan = await self._call(open_upload, source, upload, context.rules.rules)
        if position.last_line is None:
            position.last_line = (await self._call(examine, plan.file)).last_line
        if position.last_line > LINES_MAX + 1:
            raise ImportFileError(f"{FILE_NAME} has {position.last_line} lines; {LINES_MAX} is the most: split it")
        topic, partition = await inbox_of(context, upload)
        acknowledged = position.line
        if position.offset is None:
            position.dead_offset = await topic_end(context, *await dead_letters_of(context, upload))
            position.offset = await topic_end(context, topic, partition)
        else:
            acknowledged = await find_last_line(context, topic, partition, _progress(upload))
        await self._save(upload, SentBatch(context.clock.now()))
        return OpenedImport(plan, topic, partition, acknowledged)

    async def _send_all(self, upload: UploadedImport, opened: OpenedImport, undecided: int) -> str | None:
        context, begun_at = self._context, upload.position.line
        appender = await context.appender()
        try:
            for some in _in_batches(rows(opened.plan.file)):
                await asyncio.sleep(0)  # others are answered between two batches
                todo = [row for row in some if row.line > begun_at]
                if not todo:
                    continue
                if undecided + BATCH_LINES > UNDECIDED_MAX:
                    undecided = await self._wait_for_room(upload)
                if self._makers.of(_maker(upload), IMPORT, context.clock.now()) is None:
                    return FORBIDDEN
                batch = await self._send(upload, opened, todo, appender)
                undecided += len(batch.lines)
                if not await self._save(upload, batch):
                    return None
        finally:
            await appender.close()
        return None

    async def _send(
        self, upload: UploadedImport, opened: OpenedImport, todo: list[FileRow], appender: Appender
    ) -> SentBatch:
        """Send a batch, and return what came of its lines; a dry run sends none."""
        context, position, progress = self._context, upload.position, _progress(upload)
        checked: CheckedRows = check_rows(
            todo, opened.plan, context.rules.rules, context.clock.now(), progress.lead_import_id
        )
        sent = () if upload.dry_run else tuple(checked.good)
        fresh = [outgoing(context, opened.topic, progress, *one) for one in sent if one[0] > opened.acknowledged]
        if fresh:
            position.offset = (await appender.append(opened.partition, fresh))[-1] + 1
        position.line, position.good = todo[-1].line, position.good + len(checked.good)
        position.refused += checked.refused
        position.warned += checked.warned
        problems = [LineProblem(one.line, "error", one.field, one.problem) for one in checked.errors]
        problems += [LineProblem(one.line, "warning", one.field, one.problem) for one in checked.warnings]
        problems.sort(key=lambda one: one.line)
        return SentBatch(context.clock.now(), tuple(line for line, _ in sent), tuple(problems))

    async def _save(self, upload: UploadedImport, batch: SentBatch) -> bool:
        """Store what came of a batch; return False where the import is not to go on."""
        return await self._imports.save(upload.id, self._holder, upload.position, batch, LEASE_SECONDS)


async def write_upload(folder: Path, file: bytes, form: str, encoding: str) -> ImportFile:
    """Write an upload into a folder, a sheet as its rows. Raises `ImportFileError`."""
    path, unpacked = folder / FILE_NAME, None
    path.write_bytes(file)
    if form == "xlsx":
        unpacked = folder / "rows"
        try:
            await unpack(path, unpacked)
        except SheetError as error:
            raise ImportFileError(f"{FILE_NAME} {error}") from error
    return ImportFile(path, cast("Format", form), encoding, unpacked=unpacked)


def open_upload(source: ImportFile, upload: UploadedImport | NewLeadImport, rules: Rules) -> ImportPlan:
    """Return how an upload is imported. Raises `ImportFileError`."""
    mapping = map_columns(source, upload.mapping, rules, upload.lead_token, upload.consent)
    return ImportPlan(file=source, mapping=mapping, lead_token=upload.lead_token, errors=source.path, warnings=source.path)


def in_words_of_http(error: ImportFileError) -> str:
    """Return what is wrong with a file in the names of the fields, which are those of the command without dashes."""
    text = str(error).replace("type --map ", "send mapping ").replace("type its --encoding", "send its encoding")
    for typed in _TYPED:
        text = text.replace(typed, typed.strip("- ").replace("map", "mapping") + " ")
    return text


def _progress(upload: UploadedImport) -> ImportProgress:
    position = upload.position
    return ImportProgress(id=upload.digest, number=upload.number, line=position.line, offset=position.offset)


def _maker(upload: UploadedImport) -> Maker:
    return Maker(upload.company_id, upload.key_id, upload.user_email, upload.address)


def _in_batches(some: Iterator[FileRow]) -> Iterator[list[FileRow]]:
    while batch := list(islice(some, BATCH_LINES)):
        yield batch
