"""Where are bulk jobs and the results of their leads? Two tables of the `work` schema, for 30 days after a job has ended."""

from collections.abc import Sequence
from typing import Any

import msgspec

from adapters.postgres.conditions import Statement, add_lead_bulk_job_conditions, add_lead_bulk_result_conditions
from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.lists import Lists
from adapters.postgres.old_rows import delete_in_steps
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.reads.ports import (
    LeadBulkJob,
    LeadBulkJobFilter,
    LeadBulkResult,
    LeadBulkResultFilter,
    LeadFilter,
    NewLeadBulkJob,
    Page,
    Paging,
    Row,
    SentLead,
    TooManyJobsError,
)
from schemas.instant import DAY, Instant, from_datetime, to_datetime

RETENTION = 30 * DAY
"""As long as attempts of webhooks: who made a job looks at its results within days."""

PURGED_JOBS = 5
"""Jobs of one statement: at most 500,000 results, a few seconds of deleting."""

OPEN_JOBS_MAX = 10
"""Jobs of a company that have not ended. They run one after the other, so more would only wait longer."""


class PostgresLeadBulkJobs:
    """Keeps the promises of `adapters.reads.ports.LeadBulkJobs`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("lead_bulk_jobs", schemas)
        self._lists = Lists(pool, schemas, self._sql)

    async def of_request(self, company_id: int, request_id: str) -> Row | None:
        """Return the job that a request has made, or None."""
        async with convert_read_errors():
            row: Row | None = await self._pool.fetchrow(self._sql["of_request"], company_id, request_id)
        return row

    async def create(self, job: NewLeadBulkJob, lead_ids: Sequence[int]) -> Row:
        """Store a job with its leads."""
        async with convert_read_errors(), self._pool.acquire() as connection, connection.transaction():
            await connection.execute(self._sql["lock_company"], job.company_id)
            known: Row | None = await connection.fetchrow(self._sql["of_request"], job.company_id, job.request_id)
            if known is not None:
                return known
            if await connection.fetchval(self._sql["open_count"], job.company_id) >= OPEN_JOBS_MAX:
                raise TooManyJobsError
            what = job.description, job.action, job.move_to_another_schedule_id, dict(job.filter)
            who = job.key_id, job.user_email, job.address, job.actor
            made = job.company_id, job.request_id, to_datetime(job.created_at)
            selects = None if job.selects is None else msgspec.to_builtins(job.selects)
            leads = job.leads_max, None if job.selects else len(lead_ids), selects, list(job.awaited_imports)
            row: Row = await connection.fetchrow(self._sql["create"], *made, *what, *who, *leads)
            await connection.execute(self._sql["add_leads"], row["id"], list(lead_ids))
            return row

    async def select(self, job_id: int, holder: str, lead_ids: Sequence[int]) -> None:
        """Store the leads of a claimed job that awaited imports."""
        await self._execute("select_leads", job_id, holder, list(lead_ids))

    async def jobs(self, company_id: int, wanted: LeadBulkJobFilter, paging: Paging) -> Page:
        """Return jobs, newest first."""
        statement = Statement(company_id)
        add_lead_bulk_job_conditions(wanted, statement)
        return await self._lists.page("lead_bulk_jobs", statement, paging, "id")

    async def results(self, company_id: int, wanted: LeadBulkResultFilter, paging: Paging) -> Page:
        """Return what came of the leads of a job, the newest lead first."""
        statement = Statement(company_id)
        add_lead_bulk_result_conditions(wanted, statement)
        return await self._lists.page("lead_bulk_results", statement, paging, "id")

    async def changed_leads(self, company_id: int, job_id: int) -> Sequence[int]:
        """Return the leads that a job changed; of a stop those alone that it ended, and that are not stopped again since."""
        async with convert_read_errors():
            rows = await self._pool.fetch(self._sql["changed"], company_id, job_id)
        return [row["lead_id"] for row in rows]

    async def cancel(self, company_id: int, job_id: int, now: Instant) -> None:
        """Send no further lead of a job that has not ended."""
        await self._execute("cancel", company_id, job_id, to_datetime(now))

    async def claim(self, holder: str, lease_seconds: float, now: Instant) -> LeadBulkJob | None:
        """Claim the next job for a while, or return None where there is none."""
        async with convert_read_errors():
            row = await self._pool.fetchrow(self._sql["claim"], holder, lease_seconds, to_datetime(now))
        return None if row is None else _job(row)

    async def release(self, job_id: int, holder: str) -> None:
        """Give a claim back."""
        await self._execute("release", job_id, holder)

    async def leads(self, job: LeadBulkJob, state: str, limit: int) -> Sequence[SentLead]:
        """Return the next leads of a job in a state."""
        async with convert_read_errors():
            rows = await self._pool.fetch(self._sql["next_leads"], job.id, job.company_id, state, limit)
        return [
            SentLead(row["lead_id"], row["contact_key"], None if row["sent_at"] is None else from_datetime(row["sent_at"]))
            for row in rows
        ]

    async def take(self, job_id: int, leads: Sequence[SentLead], now: Instant) -> frozenset[int]:
        """Note that the changes of these leads are being sent; return those that may be."""
        ids, keys = [lead.lead_id for lead in leads], [lead.contact_key for lead in leads]
        async with convert_read_errors():
            rows = await self._pool.fetch(self._sql["take"], job_id, ids, keys, to_datetime(now))
        return frozenset(row["lead_id"] for row in rows)

    async def record(self, job_id: int, results: Sequence[LeadBulkResult]) -> None:
        """Store what came of leads, and count each once."""
        columns = zip(*((one.lead_id, one.state, one.code, one.detail) for one in results), strict=True)
        await self._execute("record", job_id, *map(list, columns))

    async def finish(self, job_id: int, now: Instant, failure: str | None = None) -> None:
        """End a job."""
        await self._execute("finish", job_id, to_datetime(now), failure)

    async def purge(self, now: Instant) -> int:
        """Delete jobs that ended long ago, with their results, and return their number."""
        return await delete_in_steps(lambda: self._execute("purge", to_datetime(now - RETENTION), PURGED_JOBS), PURGED_JOBS)

    async def _execute(self, name: str, *values: Any) -> str:
        async with convert_read_errors():
            status: str = await self._pool.execute(self._sql[name], *values)
        return status


def _job(row: Row) -> LeadBulkJob:
    return LeadBulkJob(
        id=row["id"],
        company_id=row["company_id"],
        request_id=row["request_id"],
        action=row["action"],
        move_to_another_schedule_id=row["move_to_another_schedule_id"],
        key_id=row["key_id"],
        user_email=row["user_email"],
        address=row["address"],
        actor=row["actor"],
        is_canceled=row["canceled_at"] is not None,
        leads_max=row["leads_max"],
        selects=None if row["selects"] is None else msgspec.convert(row["selects"], LeadFilter),
    )
