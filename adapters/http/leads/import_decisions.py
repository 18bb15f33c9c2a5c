"""What was decided of the lines that an import sent? Their results say so, and the dead letters of their inbox.

A line is looked for until it has a result or a dead letter. Results are stored for a day after the decision: a line that is
missing for longer counts as unknown.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping

from msgspec import Struct

from adapters.audit.recorded import batches
from adapters.partitions.routing import partition_of
from adapters.reads.ports import (
    RESULT_RETENTION,
    DecidedLine,
    LeadImports,
    LineProblem,
    Result,
    SentLine,
    UploadedImport,
)
from adapters.roles.context import Context
from engine.partition.ports import LogRecord
from schemas.decisions import Answer
from schemas.instant import SECOND
from schemas.problems import PROBLEMS
from schemas.topics import DEADLETTER, LEADS_INBOX_BULK

UNDECIDED_MAX = 500
"""Lines of an import that are sent and not decided at a time. So many are decided all the same after a cancel."""

DEAD_AFTER = 5 * SECOND
"""How long a line has no result before dead letters are read: nearly every line is decided within a second."""

LEASE_SECONDS = 60.0
"""How long a process has an import alone after it has stored something; reading a file to its end takes a few seconds."""

WaitForResult = Callable[[str, float], Awaitable[Result | None]]


class SettledLines(Struct, frozen=True):
    """How many lines were found to be decided, and how many are left, up to `UNDECIDED_MAX`."""

    decided: int
    left: int


class ImportDecisions:
    """Finds what was decided of lines, and stores it."""

    def __init__(self, imports: LeadImports, context: Context, wait: WaitForResult) -> None:
        self._imports = imports
        self._context = context
        self._wait = wait

    async def settle(self, upload: UploadedImport, holder: str, seconds: float) -> SettledLines:
        """Wait so long for results of lines that were sent, and store what came of them.

        Raises what the ports raise.
        """
        waiting = await self._imports.undecided(upload.id, UNDECIDED_MAX)
        if not waiting:
            return SettledLines(0, 0)
        names = [f"{upload.digest}/{upload.number}/{one.line}" for one in waiting]
        results = await asyncio.gather(*(self._wait(name, seconds) for name in names))
        found = {one.line: read_result(one.line, result) for one, result in zip(waiting, results, strict=True) if result}
        without = [one for one in waiting if one.line not in found]
        found |= await self._without_result(upload, without)
        if found:
            position = upload.position
            await self._imports.settle(upload.id, holder, list(found.values()), position.dead_offset, LEASE_SECONDS)
        return SettledLines(len(found), len(waiting) - len(found))

    async def _without_result(self, upload: UploadedImport, lines: list[SentLine]) -> dict[int, DecidedLine]:
        """Return which of the lines that have no result are dead letters, and which nobody will know of any more."""
        now = self._context.clock.now()
        found: dict[int, DecidedLine] = {}
        if any(now - one.sent_at > DEAD_AFTER for one in lines):
            dead = await self._dead_letters(upload)
            found = {one.line: dead[one.line] for one in lines if one.line in dead}
        late = (one.line for one in lines if now - one.sent_at > RESULT_RETENTION)
        return {line: DecidedLine(line, "unknown") for line in late} | found

    async def _dead_letters(self, upload: UploadedImport) -> Mapping[int, DecidedLine]:
        """Read the dead letters that were not looked at, and return those of this import by line."""
        context, position = self._context, upload.position
        if position.offset is None or position.dead_offset is None:
            return {}
        topic, partition = await dead_letters_of(context, upload)
        reader = await context.log.reader(topic, [partition])
        found: dict[int, DecidedLine] = {}
        try:
            await reader.seek(partition, position.dead_offset)
            async for some in batches(reader, partition):
                found |= {one.line: one for one in _read_dead(some, f"{upload.digest}/{upload.number}/")}
            position.dead_offset = reader.position(partition)
        finally:
            await reader.close()
        return found


async def inbox_of(context: Context, upload: UploadedImport) -> tuple[str, int]:
    """Return the topic and partition that the lines of an import are sent to. Raises `LogError`."""
    topic = context.names.of(LEADS_INBOX_BULK.name)
    return topic, partition_of(upload.digest.encode(), await context.log.partition_count(topic))


async def dead_letters_of(context: Context, upload: UploadedImport) -> tuple[str, int]:
    """Return the topic and partition that hold the dead letters of an import. Raises `LogError`."""
    _, partition = await inbox_of(context, upload)
    topic = context.names.of(DEADLETTER.name)
    return topic, partition % await context.log.partition_count(topic)  # as intake appends them


def read_result(line: int, result: Result) -> DecidedLine:
    """Return what the result of a line says."""
    answer = result.answer
    if answer is None or (result.verdict == "failed" and answer.code is None):
        return _rejected(line, Answer(status=500, code="internal_error", detail="The decision failed."))
    return DecidedLine(line, "decided") if answer.code is None else _rejected(line, answer)


def _rejected(line: int, answer: Answer) -> DecidedLine:
    fields = [(field, sentence) for field, sentences in answer.errors.items() for sentence in sentences]
    if not fields:
        title = PROBLEMS[answer.code].title if answer.code in PROBLEMS else ""
        fields = [("", ". ".join(filter(None, (title, answer.detail))))]
    return DecidedLine(line, "rejected", tuple(LineProblem(line, "error", *one) for one in fields))


def _read_dead(records: list[LogRecord], prefix: str) -> Iterator[DecidedLine]:
    for record in records:
        headers = dict(record.headers)
        name = headers.get("ce_id", b"").decode(errors="replace")
        if name.startswith(prefix):
            line, detail = int(name.removeprefix(prefix)), headers.get("dl_detail", b"").decode(errors="replace")
            yield DecidedLine(line, "rejected", (LineProblem(line, "error", "", detail),))
