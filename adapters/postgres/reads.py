"""What does the read API see? Rows of the projection, one company at a time, newest first."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from adapters.http.ports import LeadFilter, Page, Paging, ReadsUnavailableError, RecordFilter, Result, Row
from adapters.postgres.conditions import Statement, of_leads, of_records, storable
from adapters.postgres.migrate import migrations
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.projector.rows import LEADS, RECORDS
from schemas.decisions import Answer
from schemas.instant import from_datetime
from schemas.records import RECORD_BODIES
from schemas.wire import to_json

COUNT_MAX = 10_000
"""A total is exact up to here, and None beyond: counting on would cost more than the page itself."""

HISTORY_MAX = 1_000
"""Facts of a lead that are returned at once; a schedule of six attempts leaves some forty."""

AWAY = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)


@asynccontextmanager
async def reading() -> AsyncIterator[None]:
    """Turn every failure of the database into `ReadsUnavailableError`."""
    try:
        yield
    except AWAY as error:
        raise ReadsUnavailableError(f"{type(error).__name__}: {error}") from error


class PostgresReads:
    """Keeps the promises of `adapters.http.ports.Reads`; rows are asyncpg's, which read like mappings."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("reads", schemas)
        self._newest = max(migration.number for migration in migrations() if migration.schema == "read")

    async def ping(self) -> None:
        """Return where the database answers and its schema is the expected one, or a newer one."""
        async with reading():
            newest = await self._pool.fetchval(self._sql["newest_migration"])
        if newest is None or newest < self._newest:
            raise ReadsUnavailableError("the read schema is older than this release: run `leadclock db migrate`")

    # -- leads ---------------------------------------------------------------------------------------------------------

    async def lead(self, company_id: int, lead: int | str) -> Row | None:
        """Return a lead by internal id (int) or uuid (str), deleted or not."""
        return await self._one("lead", company_id, reference=lead)

    async def leads(self, company_id: int, wanted: LeadFilter, paging: Paging) -> Page:
        """Return leads that are not deleted. Raises `ValueError` for an order that is no column."""
        statement = Statement(company_id)
        of_leads(wanted, statement)
        order = paging.order or "created_at"
        if order not in LEADS.columns:
            raise ValueError(f"{order!r} is not a column of a lead")
        return await self._page("leads", statement, paging, order)

    async def newest_lead(
        self, company_id: int, contact_key: str, *, offer_id: int | None, schedule_ids: Sequence[int]
    ) -> Row | None:
        """Return the newest live lead of a contact on an offer or any of the schedules, else the newest one that ended."""
        if not storable(contact_key):
            return None
        return await self._row("newest_lead", company_id, contact_key, offer_id, list(schedule_ids))

    async def contact_key(self, company_id: int, lead: int | str) -> str | None:
        """Return the key of the contact that a lead, deleted or not, belongs to: where requests about it go."""
        row = await self._one("lead", company_id, reference=lead)
        return None if row is None else str(row["contact_key"])

    async def lead_history(self, company_id: int, lead_id: int, *, limit: int = HISTORY_MAX) -> Sequence[Row]:
        """Return the newest facts of a lead, newest first, whether it still exists or not."""
        return await self._rows("lead_history", company_id, lead_id, min(limit, HISTORY_MAX))

    # -- calls and contacts --------------------------------------------------------------------------------------------

    async def call(self, company_id: int, call: int | str) -> Row | None:
        """Return a call by internal id (int) or uuid (str), deleted or not."""
        return await self._one("call", company_id, reference=call)

    async def calls_of_lead(self, company_id: int, lead_id: int, *, limit: int = 100) -> Sequence[Row]:
        """Return the newest calls of a lead, newest first."""
        return await self._rows("calls_of_lead", company_id, lead_id, limit)

    async def contact(self, company_id: int, contact_key: str) -> Row | None:
        """Return what is true of a number or address itself."""
        return await self._row("contact", company_id, contact_key) if storable(contact_key) else None

    # -- account records -----------------------------------------------------------------------------------------------

    async def record(self, company_id: int, record_type: str, record: int | str) -> Row | None:
        """Return an account record by internal id (int) or uuid (str), deleted or not."""
        return await self._one("record", company_id, record_type, reference=record)

    async def records(self, company_id: int, record_type: str, wanted: RecordFilter, paging: Paging) -> Page:
        """Return account records that are not deleted.

        `paging.order` may name a column or a field of the body, whose default stands where a body leaves it out.
        Raises `ValueError` for any other order.
        """
        statement = Statement(company_id, record_type)
        of_records(wanted, statement)
        order = paging.order or "created_at"
        if order not in RECORDS.columns:
            order = _body_field(record_type, order)
        return await self._page("records", statement, paging, order)

    async def slots(self, company_id: int, resources: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return how many slots of each resource (`buyer_group/7`) are held, and how many contacts wait for one."""
        rows = await self._rows("slots", company_id, list(resources))
        return {row["resource"]: (row["in_use"], row["waiting_count"]) for row in rows}

    # -- requests ------------------------------------------------------------------------------------------------------

    async def result(self, request_id: str) -> Result | None:
        """Return what came of a request, or None where it was not decided yet or is over 24 h old."""
        return (await self.results([request_id])).get(request_id)

    async def results(self, request_ids: Sequence[str]) -> dict[str, Result]:
        """Return what came of several requests, by id; those without a result are left out."""
        rows = await self._rows("results", [request_id for request_id in request_ids if storable(request_id)])
        return {row["request_id"]: _result(row) for row in rows}

    # -- asking --------------------------------------------------------------------------------------------------------

    async def _one(self, kind: str, *scope: int | str, reference: int | str) -> Row | None:
        """Return the row of a reference; one that can be none finds nothing."""
        if isinstance(reference, int):
            return await self._row(f"{kind}_by_id", *scope, reference) if storable(reference) else None
        try:
            return await self._row(f"{kind}_by_uuid", *scope, str(UUID(reference)))
        except ValueError:
            return None

    async def _page(self, name: str, statement: Statement, paging: Paging, order: str) -> Page:
        if paging.cursor is not None:
            return await self._cursored(name, statement, paging)
        offset = (paging.page - 1) * paging.per_page
        counting = tuple(statement.values)
        direction = "DESC" if paging.descending else "ASC"
        nulls = "" if order in {"created_at", "id"} else " NULLS LAST"  # without it, the index gives the order
        text = (
            self._sql[name]
            .replace("{where}", statement.where)
            .replace("{order}", f"{order} {direction}{nulls}, id {direction}")
            .replace("{limit}", f"{statement.bind(paging.per_page)} OFFSET {statement.bind(offset)}")
        )
        async with reading():
            rows = await self._pool.fetch(text, *statement.values)
            if not paging.counted:
                return Page(rows=rows)
            if 0 < len(rows) < paging.per_page:
                return Page(rows=rows, total_count=_exact(offset + len(rows)))
            return Page(rows=rows, total_count=await self._count(name, statement.where, counting))

    async def _cursored(self, name: str, statement: Statement, paging: Paging) -> Page:
        where, counting = statement.where, tuple(statement.values)
        if paging.cursor is not None and paging.cursor >= 0:
            statement.narrow("id < ?", paging.cursor)
        text = (
            self._sql[name]
            .replace("{where}", statement.where)
            .replace("{order}", "id DESC")
            .replace("{limit}", statement.bind(paging.per_page + 1))
        )
        async with reading():
            rows = await self._pool.fetch(text, *statement.values)
            total = await self._count(name, where, counting) if paging.counted else None
        shown = rows[: paging.per_page]
        return Page(rows=shown, total_count=total, next_cursor=shown[-1]["id"] if len(rows) > len(shown) else 0)

    async def _count(self, name: str, where: str, values: tuple[Any, ...]) -> int | None:
        text = self._sql[f"{name}_count"].replace("{where}", where).replace("{limit}", str(COUNT_MAX + 1))
        return _exact(await self._pool.fetchval(text, *values))

    async def _row(self, name: str, *values: Any) -> Row | None:
        async with reading():
            row: Row | None = await self._pool.fetchrow(self._sql[name], *values)
            return row

    async def _rows(self, name: str, *values: Any) -> Sequence[Row]:
        async with reading():
            rows: Sequence[Row] = await self._pool.fetch(self._sql[name], *values)
            return rows


def _exact(count: int) -> int | None:
    return count if count <= COUNT_MAX else None


def _result(row: Row) -> Result:
    return Result(
        request_id=row["request_id"],
        company_id=row["company_id"] or 0,
        verdict=row["verdict"],
        answer=msgspec.json.decode(row["answer"], type=Answer),
        decided_at=from_datetime(row["decided_at"]),
    )


def _body_field(record_type: str, name: str) -> str:
    """Return the expression that sorts by a field of a body; both names come from the structs, never from a caller."""
    for field in msgspec.structs.fields(RECORD_BODIES[record_type]):
        if field.name == name:
            default = "null" if field.required else to_json(field.default).decode()
            return f"coalesce(body->'{field.name}', '{default}'::jsonb)"
    raise ValueError(f"{name!r} is not a field of a {record_type}")
