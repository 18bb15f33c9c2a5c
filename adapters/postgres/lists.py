"""How is one page of a list read? Range by range in the order of sorting, or by descending id from a cursor."""

from collections.abc import Mapping
from typing import Any

from adapters.postgres.conditions import Statement
from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.pool import Pool
from adapters.postgres.sorting import (
    SortKey,
    SortPosition,
    SortRange,
    find_sort_key,
    order_by_sql,
    sort_position,
    sort_ranges,
)
from adapters.postgres.sql import Schemas
from adapters.reads.ports import Page, Paging, Row

COUNT_MAX = 10_000
"""A total is exact up to here and None beyond: counting further would cost more than the page."""


class Lists:
    """Reads lists; `sql` are the queries of `reads.sql`. Raises `ReadsUnavailableError`."""

    def __init__(self, pool: Pool, schemas: Schemas, sql: Mapping[str, str]) -> None:
        self._pool = pool
        self._schemas = schemas
        self._sql = sql

    async def page(self, name: str, statement: Statement, paging: Paging, order: str) -> Page:
        """Return a page of the rows of a statement: by cursor, or sorted by a column or an expression."""
        if paging.cursor is not None:
            return await self._cursored(name, statement, paging)
        offset = (paging.page - 1) * paging.per_page
        async with convert_read_errors():
            rows, after = await self._sorted(name, statement, paging, find_sort_key(name, order), offset)
            if not paging.counted:
                return Page(rows=rows, after=after)
            if 0 < len(rows) < paging.per_page:
                return Page(rows=rows, total_count=exact_count(offset + len(rows)))
            total = await self._count(name, statement.where, tuple(statement.values))
            return Page(rows=rows, total_count=total, after=after)

    async def _sorted(
        self, name: str, statement: Statement, paging: Paging, order: SortKey, skipped: int
    ) -> tuple[list[Row], SortPosition | None]:
        """Return the rows of a page after the skipped ones, and where the next page begins."""
        rows: list[Row] = []
        first = paging.after[0] if paging.after else 0
        found = sort_ranges(order, descending=paging.descending)
        for number, sort_range in list(enumerate(found))[first:]:
            here = Statement(*statement.values)
            here.where = statement.where + sort_range.where
            if paging.after and number == first:
                _skip_to(here, sort_range, paging.after[1], descending=paging.descending)
            counting = here.where, tuple(here.values)
            text = (
                self._sql[name]
                .replace("{where}", here.where)
                .replace("{ordered}", order.expression)
                .replace("{order}", order_by_sql(sort_range, descending=paging.descending))
                .replace("{limit}", f"{here.bind(paging.per_page - len(rows))} OFFSET {here.bind(skipped)}")
            )
            more = await self._pool.fetch(self._schemas.fill(text), *here.values)
            rows += more
            if len(rows) == paging.per_page:
                return rows, sort_position(rows[-1], number, sort_range)
            if skipped and number + 1 < len(found):
                skipped -= skipped if more else min(skipped, await self._counted(name, *counting, skipped))
        return rows, None

    async def _cursored(self, name: str, statement: Statement, paging: Paging) -> Page:
        where, counting = statement.where, tuple(statement.values)
        if paging.cursor is not None and paging.cursor >= 0:
            statement.add_condition("id < ?", paging.cursor)
        limit = statement.bind(paging.per_page + 1)
        if statement.is_old:
            old = self._sql[f"{name}_gathered"].replace("{where}", statement.where).replace("{limit}", limit)
            statement.where = f" AND id = ANY (ARRAY({old}))"
        text = (
            self._sql[name]
            .replace("{where}", statement.where)
            .replace("{ordered}", "id")
            .replace("{order}", "id DESC")
            .replace("{limit}", limit)
        )
        async with convert_read_errors():
            rows = await self._pool.fetch(self._schemas.fill(text), *statement.values)
            total = await self._count(name, where, counting) if paging.counted else None
        shown = rows[: paging.per_page]
        return Page(rows=shown, total_count=total, next_cursor=shown[-1]["id"] if len(rows) > len(shown) else 0)

    async def _count(self, name: str, where: str, values: tuple[Any, ...]) -> int | None:
        return exact_count(await self._counted(name, where, values, COUNT_MAX + 1))

    async def _counted(self, name: str, where: str, values: tuple[Any, ...], most: int) -> int:
        text = self._sql[f"{name}_count"].replace("{where}", where).replace("{limit}", str(most))
        count: int = await self._pool.fetchval(self._schemas.fill(text), *values)
        return count


def _skip_to(statement: Statement, sort_range: SortRange, place: tuple[Any, ...], *, descending: bool) -> None:
    """Exclude the rows of a range up to a position in it (keyset pagination)."""
    sign = "<" if descending else ">"
    values = ", ".join(statement.bind(value) for value in place)
    statement.where += f" AND ({', '.join(sort_range.order_by)}) {sign} ({values})"


def exact_count(count: int) -> int | None:
    """Return a count, or None above `COUNT_MAX`."""
    return count if count <= COUNT_MAX else None
