"""Where are uploaded files of leads, and how far are their imports? In the `work` schema, for 30 days after their end."""

from collections.abc import Sequence
from typing import Any

from adapters.postgres.conditions import Statement, add_lead_import_conditions, add_lead_import_error_conditions
from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.lists import Lists
from adapters.postgres.old_rows import delete_in_steps
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.reads.ports import (
    DecidedLine,
    ImportPosition,
    LeadImportErrorFilter,
    LeadImportFilter,
    LineProblem,
    NewLeadImport,
    Page,
    Paging,
    Row,
    SentBatch,
    SentLine,
    TooManyJobsError,
    UploadedImport,
)
from engine.views.lead_import import LEAD_IMPORT_COLUMNS
from schemas.instant import DAY, Instant, from_datetime, to_datetime

RETENTION = 30 * DAY
"""As long as bulk jobs: who uploaded a file looks at its errors within days."""

PURGED_IMPORTS = 5
"""Imports of one statement: at most a million errors, a few seconds of deleting."""

OPEN_IMPORTS_MAX = 5
"""Imports of a company that have not ended, each with its file: they run one after the other."""

_SHOWN = ", ".join(name for name in LEAD_IMPORT_COLUMNS if name not in {"state", "waiting_count"})


class PostgresLeadImports:
    """Keeps the promises of `adapters.reads.ports.LeadImports`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = {
            name: text.replace("{shown}", f"{_SHOWN}, number") for name, text in queries("lead_imports", schemas).items()
        }
        self._lists = Lists(pool, schemas, self._sql)

    async def newest_of(self, company_id: int, digest: str) -> Row | None:
        """Return the newest import of the same file, mapping and token."""
        async with convert_read_errors():
            row: Row | None = await self._pool.fetchrow(self._sql["newest_of"], company_id, digest)
        return row

    async def create(self, upload: NewLeadImport) -> Row:
        """Store an upload."""
        async with convert_read_errors(), self._pool.acquire() as connection, connection.transaction():
            await connection.execute(self._sql["lock_company"], upload.company_id)
            newest: Row | None = await connection.fetchrow(self._sql["newest_of"], upload.company_id, upload.digest)
            if not upload.dry_run and newest is not None and newest["number"] >= upload.number:
                return newest
            if await connection.fetchval(self._sql["open_count"], upload.company_id) >= OPEN_IMPORTS_MAX:
                raise TooManyJobsError
            what = upload.company_id, upload.digest, upload.number, upload.dry_run, to_datetime(upload.created_at)
            target = upload.lead_token, upload.offer_id, upload.schedule_id
            read_as = upload.format, upload.encoding, dict(upload.mapping), dict(upload.columns), upload.lead_import_id
            who = upload.key_id, upload.user_email, upload.address, dict(upload.consent)
            row: Row = await connection.fetchrow(
                self._sql["create"], *what, *target, *read_as, len(upload.file), upload.file, *who
            )
            return row

    async def imports(self, company_id: int, wanted: LeadImportFilter, paging: Paging) -> Page:
        """Return imports, newest first."""
        statement = Statement(company_id)
        add_lead_import_conditions(wanted, statement)
        return await self._lists.page("lead_imports", statement, paging, "id")

    async def errors(self, company_id: int, wanted: LeadImportErrorFilter, paging: Paging) -> Page:
        """Return what is wrong with the lines of an import and what they were warned of, the last line first."""
        statement = Statement(company_id)
        add_lead_import_error_conditions(wanted, statement)
        return await self._lists.page("lead_import_errors", statement, paging, "id")

    async def open_ids(self, company_id: int, lead_import_id: int) -> Sequence[int]:
        """Return the imports whose leads have this number, and that have not ended."""
        async with convert_read_errors():
            rows = await self._pool.fetch(self._sql["open_ids"], company_id, lead_import_id)
        return [row["id"] for row in rows]

    async def cancel(self, company_id: int, job_id: int, now: Instant) -> None:
        """Send no further line of an import, unless every one was sent."""
        await self._execute("cancel", company_id, job_id, to_datetime(now))

    async def claim(self, holder: str, lease_seconds: float, now: Instant) -> UploadedImport | None:
        """Claim the next import, or return None where there is none."""
        async with convert_read_errors():
            row = await self._pool.fetchrow(self._sql["claim"], holder, lease_seconds, to_datetime(now))
        return None if row is None else _uploaded(row)

    async def file(self, job_id: int, holder: str) -> bytes:
        """Return the file of a claimed import."""
        async with convert_read_errors():
            found = await self._pool.fetchval(self._sql["file"], job_id, holder)
        return bytes(found or b"")

    async def save(self, job_id: int, holder: str, position: ImportPosition, batch: SentBatch, lease_seconds: float) -> bool:
        """Store how far a claimed import is with what came of its lines, and renew the claim."""
        counts = position.line, position.last_line, position.good, position.refused, position.warned
        offsets = position.offset, position.dead_offset
        async with convert_read_errors(), self._pool.acquire() as connection, connection.transaction():
            row = await connection.fetchrow(self._sql["save"], job_id, holder, *counts, *offsets, lease_seconds)
            if row is None:
                return False
            if batch.lines:
                await connection.execute(self._sql["add_lines"], job_id, list(batch.lines), to_datetime(batch.sent_at))
            await self._add_errors(connection, job_id, batch.problems)
        return not row["is_canceled"]

    async def undecided(self, job_id: int, limit: int) -> Sequence[SentLine]:
        """Return the first lines that were sent and are not known to be decided."""
        async with convert_read_errors():
            rows = await self._pool.fetch(self._sql["undecided"], job_id, limit)
        return [SentLine(row["line"], from_datetime(row["sent_at"])) for row in rows]

    async def settle(
        self, job_id: int, holder: str, lines: Sequence[DecidedLine], dead_offset: int | None, lease_seconds: float
    ) -> bool:
        """Store what was decided of lines of a claimed import, each once, and renew the claim."""
        numbers, states = [one.line for one in lines], [one.state for one in lines]
        async with convert_read_errors(), self._pool.acquire() as connection, connection.transaction():
            given = job_id, holder, numbers, states, dead_offset, lease_seconds
            if await connection.fetchrow(self._sql["settle"], *given) is None:
                return False
            await self._add_errors(connection, job_id, [problem for one in lines for problem in one.problems])
        return True

    async def _add_errors(self, connection: Any, job_id: int, problems: Sequence[LineProblem]) -> None:
        if problems:
            columns = zip(*((one.line, one.severity, one.field, one.problem) for one in problems), strict=True)
            await connection.execute(self._sql["add_errors"], job_id, *map(list, columns))

    async def end_sending(self, job_id: int, holder: str, now: Instant, failure: str | None = None) -> None:
        """Send nothing more of a claimed import, and delete its file."""
        await self._execute("end_sending", job_id, holder, to_datetime(now), failure)

    async def finish(self, job_id: int, holder: str, now: Instant) -> None:
        """End a claimed import."""
        await self._execute("finish", job_id, holder, to_datetime(now))

    async def release(self, job_id: int, holder: str) -> None:
        """Give a claim back."""
        await self._execute("release", job_id, holder)

    async def purge(self, now: Instant) -> int:
        """Delete imports that ended long ago, with their errors, and return their number."""
        return await delete_in_steps(
            lambda: self._execute("purge", to_datetime(now - RETENTION), PURGED_IMPORTS), PURGED_IMPORTS
        )

    async def _execute(self, name: str, *values: Any) -> str:
        async with convert_read_errors():
            status: str = await self._pool.execute(self._sql[name], *values)
        return status


def _uploaded(row: Row) -> UploadedImport:
    return UploadedImport(
        id=row["id"],
        company_id=row["company_id"],
        digest=row["digest"],
        number=row["number"],
        dry_run=row["dry_run"],
        lead_token=row["lead_token"],
        format=row["format"],
        encoding=row["encoding"],
        mapping=row["mapping"],
        key_id=row["key_id"],
        user_email=row["user_email"],
        address=row["address"],
        position=ImportPosition(
            line=row["line"],
            last_line=row["last_line"],
            good=row["good_count"],
            refused=row["refused_count"],
            warned=row["warned_count"],
            offset=row["inbox_offset"],
            dead_offset=row["dead_offset"],
        ),
        is_canceled=row["canceled_at"] is not None,
        is_sent=row["sent_at"] is not None,
        consent=row["consent"],
    )
