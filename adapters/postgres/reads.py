"""What does the read API see? Rows of the projection, one company at a time, newest first."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
import msgspec

from adapters.http.ports import (
    CallFilter,
    LeadFilter,
    Page,
    Paging,
    ReadsTooSlowError,
    ReadsUnavailableError,
    RecordFilter,
    Result,
    Row,
)
from adapters.postgres.conditions import Statement, of_calls, of_leads, of_records, storable, tagged
from adapters.postgres.migrate import migrations
from adapters.postgres.orders import Order, Place, Stretch, order_of, place_of, sql_of, stretches
from adapters.postgres.pool import FAILURES, Pool
from adapters.postgres.reports import GROUPS_MAX, LOCAL_HOUR, WORK_MEM, groups, pieces, rolled_pieces, tiers_of
from adapters.postgres.spans import bounds, cover, rolled
from adapters.postgres.sql import Schemas, queries
from adapters.projector.rows import CALLS, LEADS, RECORDS
from engine.views.lead import OF_REST, ROW_COLUMNS
from engine.views.report import Group, Grouping
from schemas.decisions import Answer
from schemas.instant import Instant, from_datetime, to_datetime
from schemas.records import RECORD_BODIES
from schemas.wire import to_json

COUNT_MAX = 10_000
"""A total is exact up to here, and None beyond: counting on would cost more than the page itself."""

MATCHES_MAX = 10_000
"""So many rows that a search matches are looked up by id. Where there are more, the newest page is soon found by walking."""

GATHERED_TIMES = 5
"""An entry of an index costs a fifth of a row at most."""

SAMPLED = 2_000
"""Rows of a sample of the words, some milliseconds."""

SAMPLED_MIN = 200_000
"""In a table with fewer rows all that match are found in no time."""

SAMPLED_ERROR = 30
"""Matches of a sample that may be chance: those of one page of the table are alike."""

COMMON_MATCHES = 5 * MATCHES_MAX
"""Of more matches, by a sample, only the newest are looked for; to find them all would take seconds."""

HISTORY_MAX = 1_000
"""Facts of a lead that are returned at once; a schedule of six attempts leaves some forty."""

_SELDOM = ", ".join(f"'{name}'" for name in OF_REST)
_COLUMNS_SHOWN = ", ".join(name for name in ROW_COLUMNS if name != "rest")
SHOWN = f"{_COLUMNS_SHOWN}, CASE WHEN rest ?| ARRAY[{_SELDOM}] THEN rest END AS rest"
"""What is shown of a lead. `rest` costs more to decode than all other columns, and hardly ever says anything to anybody."""


@asynccontextmanager
async def reading() -> AsyncIterator[None]:
    """Turn every failure of the database into `ReadsUnavailableError`."""
    try:
        yield
    except asyncpg.QueryCanceledError as error:
        raise ReadsTooSlowError(str(error)) from error
    except FAILURES as error:
        raise ReadsUnavailableError(f"{type(error).__name__}: {error}") from error


class PostgresReads:
    """Keeps the promises of `adapters.http.ports.Reads`; rows are asyncpg's, which read like mappings."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._schemas = schemas
        self._sql = {name: text.replace("{shown}", SHOWN) for name, text in queries("reads", schemas).items()}
        self._known_zones: Sequence[str] = ()
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

    async def shown_lead(self, company_id: int, lead: int | str) -> Row | None:
        """Return of a lead, deleted or not, what is shown of it (`engine.views.lead.ROW_COLUMNS`)."""
        return await self._one("shown_lead", company_id, reference=lead)

    async def leads(self, company_id: int, wanted: LeadFilter, paging: Paging) -> Page:
        """Return leads that are not deleted. Raises `ValueError` for an order that is no column."""
        return await self._listed(company_id, wanted, paging)

    async def newest_lead(
        self, company_id: int, contact_key: str, *, offer_id: int | None, schedule_ids: Sequence[int]
    ) -> Row | None:
        """Return the newest live lead of a contact on an offer or any of the schedules, else the newest one that ended."""
        if not storable(contact_key):
            return None
        return await self._row("newest_lead", company_id, contact_key, offer_id, list(schedule_ids))

    async def newest_named(
        self, company_id: int, external_record_id: str, *, offer_id: int | None, schedule_ids: Sequence[int]
    ) -> Row | None:
        """Return the newest live lead with an external_record_id, else the newest one that ended."""
        if not storable(external_record_id):
            return None
        return await self._row("newest_named", company_id, external_record_id, offer_id, list(schedule_ids))

    async def lead_history(self, company_id: int, lead_id: int, *, limit: int = HISTORY_MAX) -> Sequence[Row]:
        """Return the newest facts of a lead, newest first, whether it still exists or not."""
        return await self._rows("lead_history", company_id, lead_id, min(limit, HISTORY_MAX))

    async def facts_of(self, company_id: int, lead_id: int, *, before: Instant, limit: int) -> Sequence[Row]:
        """Return the newest facts of a lead before an instant, newest first."""
        return await self._rows("facts_of_lead", company_id, lead_id, to_datetime(before), limit)

    async def live_leads_of(self, company_id: int, contact_key: str, *, limit: int) -> Sequence[Row]:
        """Return the newest live leads of a contact."""
        return await self._rows("live_leads_of_contact", company_id, contact_key, limit)

    async def call_history(self, company_id: int, call_id: int, *, limit: int = HISTORY_MAX) -> Sequence[Row]:
        """Return the newest facts of a call, newest first."""
        return await self._rows("call_history", company_id, call_id, min(limit, HISTORY_MAX))

    async def due_leads(
        self, company_id: int, *, before: Instant, after: tuple[Any, int] | None, limit: int
    ) -> Sequence[Row]:
        """Return live leads whose next action is before an instant, soonest first, behind (next action, id)."""
        return await self._rows("due_leads", company_id, to_datetime(before), *(after or (to_datetime(0), 0)), limit)

    async def due_leads_count(self, company_id: int, *, before: Instant) -> int | None:
        """Return how many leads have a next action before an instant, None where they are more than are counted."""
        row = await self._row("due_leads_count", company_id, to_datetime(before), COUNT_MAX + 1)
        return None if row is None else _exact(row["count"])

    async def expiring_leads(self, company_id: int, *, before: Instant, after: int, limit: int) -> Sequence[Row]:
        """Return waiting leads without a next action that expire before an instant, by rising id."""
        return await self._rows("expiring_leads", company_id, to_datetime(before), after, limit)

    async def contacts(self, company_id: int, contact_keys: Sequence[str]) -> Sequence[Row]:
        """Return what is true of numbers and addresses themselves."""
        return await self._rows("contacts_by_keys", company_id, list(contact_keys))

    # -- calls and contacts --------------------------------------------------------------------------------------------

    async def call(self, company_id: int, call: int | str) -> Row | None:
        """Return a call by internal id (int) or uuid (str), deleted or not."""
        return await self._one("call", company_id, reference=call)

    async def calls(self, company_id: int, wanted: CallFilter, paging: Paging) -> Page:
        """Return calls that are not deleted. Raises `ValueError` for an order that is no column."""
        return await self._listed(company_id, wanted, paging)

    async def calls_of_lead(self, company_id: int, lead_id: int, *, limit: int = 100) -> Sequence[Row]:
        """Return the newest calls of a lead, newest first."""
        return await self._rows("calls_of_lead", company_id, lead_id, limit)

    async def contact(self, company_id: int, contact_key: str) -> Row | None:
        """Return what is true of a number or address itself."""
        return await self._row("contact", company_id, contact_key) if storable(contact_key) else None

    # -- reports -------------------------------------------------------------------------------------------------------

    async def created_span(self, company_id: int, wanted: LeadFilter | CallFilter) -> tuple[Instant, Instant] | None:
        """Return when the first and the last of the leads or calls that a filter leaves were created."""
        table, statement = await self._filtered(company_id, wanted)
        text = self._sql[f"{table}_created"].replace("{where}", statement.where)
        async with reading():
            row = await self._pool.fetchrow(self._schemas.fill(text), *statement.values)
        return None if row["first"] is None else (from_datetime(row["first"]), from_datetime(row["last"]))

    async def sums(
        self, company_id: int, wanted: LeadFilter | CallFilter, category: Grouping | None, pivot: Grouping | None
    ) -> Sequence[Group] | None:
        """Return the sums of the leads or calls that a filter leaves, by group; None where the groups are too many."""
        if pivot is None and wanted == type(wanted)(created_from=wanted.created_from, created_to=wanted.created_to):
            return await self._sums_of_spans(company_id, wanted, category)
        text, statement = await self._grouped(company_id, wanted, category, pivot)
        async with self._reporting() as connection:
            rows = await connection.fetch(self._schemas.fill(text), *statement.values)
        return None if len(rows) > GROUPS_MAX else groups(rows)

    async def _grouped(
        self, company_id: int, wanted: LeadFilter | CallFilter, category: Grouping | None, pivot: Grouping | None
    ) -> tuple[str, Statement]:
        """Return the statement that adds up rows."""
        table, statement = await self._filtered(company_id, wanted)
        text = self._sql["calls_by_local_hour" if category and category.name == LOCAL_HOUR else f"{table}_grouped"]
        found = pieces(table, statement, category, pivot, await self._zones(category, pivot))
        return _filled(text, found), statement

    async def _sums_of_spans(
        self, company_id: int, wanted: LeadFilter | CallFilter, category: Grouping | None
    ) -> Sequence[Group] | None:
        """Add up what was created in a span, as far as possible from sums."""
        span = await self.created_span(company_id, wanted)
        if span is None:
            return []
        since, until = bounds(wanted.created_from, wanted.created_to, span)
        table = "leads" if isinstance(wanted, LeadFilter) else "calls"
        tiers, zones = tiers_of(table, category), await self._zones(category)
        async with self._reporting() as connection:
            # One snapshot: what is marked is marked, and what is not was added up before.
            asked = (company_id, table, list(tiers), to_datetime(since), to_datetime(until))
            found = await connection.fetch(self._sql["rolled_spans"], *asked)
            marks = await connection.fetch(self._sql["marked_days"], company_id, table)
            held = cover(since, until, rolled(found, [mark["day"] for mark in marks]), tiers)
            statement = Statement(company_id)
            text = _filled(self._sql["rolled"], {"source": table, **rolled_pieces(table, statement, category, held, zones)})
            rows = await connection.fetch(self._schemas.fill(text), *statement.values)
        return None if len(rows) > GROUPS_MAX else groups(rows)

    @asynccontextmanager
    async def _reporting(self) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
        async with (
            reading(),
            self._pool.acquire() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            await connection.execute(f"SET LOCAL work_mem = '{WORK_MEM}'")
            yield connection

    async def _zones(self, *groupings: Grouping | None) -> Sequence[str]:
        """Return the zones that the database knows, where one of the groupings needs them; they are asked for once."""
        if not self._known_zones and any(one is not None and one.name == LOCAL_HOUR for one in groupings):
            async with reading():
                self._known_zones = tuple(await self._pool.fetchval(self._sql["zones"]))
        return self._known_zones

    async def _filtered(self, company_id: int, wanted: LeadFilter | CallFilter) -> tuple[str, Statement]:
        """Return the table of a filter and its conditions, a search in them resolved."""
        statement = Statement(company_id)
        if isinstance(wanted, LeadFilter):
            found = await self._searched("lead", company_id, wanted.fulltext, wanted.ids)
            of_leads(msgspec.structs.replace(wanted, fulltext=found.query, ids=found.ids), statement)
            alone: LeadFilter | CallFilter = LeadFilter(fulltext=wanted.fulltext)
        else:
            found = await self._searched("call", company_id, wanted.fulltext, wanted.ids, tags_of(wanted))
            of_calls(msgspec.structs.replace(wanted, fulltext=found.query, ids=found.ids), statement)
            alone = CallFilter(fulltext=wanted.fulltext, token_key=wanted.token_key, token_value=wanted.token_value)
        # Of a search alone it is known by now that it matches more rows than are counted.
        statement.is_frequent = found.query is not None and wanted == alone and MATCHES_MAX >= COUNT_MAX
        return "leads" if isinstance(wanted, LeadFilter) else "calls", statement

    async def _is_old(self, company_id: int, wanted: LeadFilter | CallFilter) -> bool:
        """Tell whether the rows of a span are sooner gathered from an index than met on the way down from the newest."""
        since, until = wanted.created_from, wanted.created_to
        if until is None and isinstance(wanted, CallFilter):
            since, until = wanted.ended_from, wanted.ended_to
        if until is None:
            return False
        created = await self.created_span(company_id, type(wanted)())
        if created is None:
            return False
        first = created[0] if since is None else max(created[0], since)
        return until - first < GATHERED_TIMES * (created[1] - until)

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

    async def _listed(self, company_id: int, wanted: LeadFilter | CallFilter, paging: Paging) -> Page:
        order = paging.order or "created_at"
        kind, columns = ("lead", LEADS.columns) if isinstance(wanted, LeadFilter) else ("call", CALLS.columns)
        if order not in columns:
            raise ValueError(f"{order!r} is not a column of a {kind}")
        table, statement = await self._filtered(company_id, wanted)
        if statement.is_frequent:
            paging = msgspec.structs.replace(paging, counted=False)
        statement.is_old = paging.cursor is not None and await self._is_old(company_id, wanted)
        return await self._page(table, statement, paging, order)

    async def _searched(
        self, kind: str, company_id: int, text: str | None, ids: tuple[int, ...] | None, tags: Sequence[str] = ()
    ) -> "Found":
        """Look text and tags up among the words of leads or calls: the ids where they are few, else how to ask each row."""
        if text is None and not tags:
            return Found(None, ids)
        words = [] if text is None else await self._words(text)
        if not words and text is not None:
            return Found(None, ())
        query = " & ".join([*words, *tags])
        async with reading(), self._pool.acquire() as connection, connection.transaction(readonly=True):
            sampled = await self._sampled(connection, kind, company_id, [query, *words, *tags])
            if sampled.get(query, 0) > COMMON_MATCHES:
                return Found(query, ids)
            # What nearly every row has is no way to find one: it is asked of those that the other words find.
            asked = [one for one in (*words, *tags) if sampled.get(one, 0) <= COMMON_MATCHES]
            asked = asked or [min((*words, *tags), key=lambda one: sampled.get(one, 0))]
            # The planner thinks that each word is in one row of two hundred, and would read the rows rather than the index.
            await connection.execute(f"SET LOCAL enable_seqscan = off; SET LOCAL work_mem = '{WORK_MEM}'")
            matching = self._of_words("matching", kind)
            matches = await connection.fetch(matching, company_id, " & ".join(asked), query, MATCHES_MAX + 1)
        if len(matches) > MATCHES_MAX:
            return Found(query, ids)  # the newest of so many are soon met on the way down
        matched = tuple(match["id"] for match in matches)
        return Found(None, matched if ids is None else tuple(sorted({*matched} & {*ids})))

    async def _sampled(self, connection: Any, kind: str, company_id: int, asked: Sequence[str]) -> dict[str, float]:
        """Return of each query about how many rows match, by a sample; nothing where the table is small."""
        rows = await connection.fetchval(self._of_words("words_estimated", kind))
        if rows < SAMPLED_MIN:
            return {}
        share = min(1.0, SAMPLED / rows)
        found = await connection.fetch(self._of_words("sampled", kind), company_id, list(dict.fromkeys(asked)), share * 100)
        return {row["asked"]: max(0, row["found"] - SAMPLED_ERROR) / share for row in found}

    def _of_words(self, name: str, kind: str) -> str:
        """Return a statement about the words of leads or of calls: the same for both tables."""
        return self._sql[name].replace("{kind}", kind)

    async def _words(self, text: str) -> list[str]:
        """Return the words of a text as the database cuts them, each to be found by its beginning."""
        if not storable(text):
            return []
        async with reading():
            return list(await self._pool.fetchval(self._sql["words"], text))

    async def _page(self, name: str, statement: Statement, paging: Paging, order: str) -> Page:
        if paging.cursor is not None:
            return await self._cursored(name, statement, paging)
        offset = (paging.page - 1) * paging.per_page
        async with reading():
            rows, after = await self._sorted(name, statement, paging, order_of(name, order), offset)
            if not paging.counted:
                return Page(rows=rows, after=after)
            if 0 < len(rows) < paging.per_page:
                return Page(rows=rows, total_count=_exact(offset + len(rows)))
            total = await self._count(name, statement.where, tuple(statement.values))
            return Page(rows=rows, total_count=total, after=after)

    async def _sorted(
        self, name: str, statement: Statement, paging: Paging, order: Order, skipped: int
    ) -> tuple[list[Row], Place | None]:
        """Return the rows of a page behind those that are skipped, and where the next page begins."""
        rows: list[Row] = []
        first = paging.after[0] if paging.after else 0
        found = stretches(order, descending=paging.descending)
        for number, stretch in list(enumerate(found))[first:]:
            here = Statement(*statement.values)
            here.where = statement.where + stretch.where
            if paging.after and number == first:
                _go_on(here, stretch, paging.after[1], descending=paging.descending)
            counting = here.where, tuple(here.values)
            text = (
                self._sql[name]
                .replace("{where}", here.where)
                .replace("{ordered}", order.expression)
                .replace("{order}", sql_of(stretch, descending=paging.descending))
                .replace("{limit}", f"{here.bind(paging.per_page - len(rows))} OFFSET {here.bind(skipped)}")
            )
            more = await self._pool.fetch(self._schemas.fill(text), *here.values)
            rows += more
            if len(rows) == paging.per_page:
                return rows, place_of(rows[-1], number, stretch)
            if skipped and number + 1 < len(found):
                skipped -= skipped if more else min(skipped, await self._counted(name, *counting, skipped))
        return rows, None

    async def _cursored(self, name: str, statement: Statement, paging: Paging) -> Page:
        where, counting = statement.where, tuple(statement.values)
        if paging.cursor is not None and paging.cursor >= 0:
            statement.narrow("id < ?", paging.cursor)
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
        async with reading():
            rows = await self._pool.fetch(self._schemas.fill(text), *statement.values)
            total = await self._count(name, where, counting) if paging.counted else None
        shown = rows[: paging.per_page]
        return Page(rows=shown, total_count=total, next_cursor=shown[-1]["id"] if len(rows) > len(shown) else 0)

    async def _count(self, name: str, where: str, values: tuple[Any, ...]) -> int | None:
        return _exact(await self._counted(name, where, values, COUNT_MAX + 1))

    async def _counted(self, name: str, where: str, values: tuple[Any, ...], most: int) -> int:
        text = self._sql[f"{name}_count"].replace("{where}", where).replace("{limit}", str(most))
        count: int = await self._pool.fetchval(self._schemas.fill(text), *values)
        return count

    async def _row(self, name: str, *values: Any) -> Row | None:
        async with reading():
            row: Row | None = await self._pool.fetchrow(self._sql[name], *values)
            return row

    async def _rows(self, name: str, *values: Any) -> Sequence[Row]:
        async with reading():
            rows: Sequence[Row] = await self._pool.fetch(self._sql[name], *values)
            return rows


def _filled(text: str, pieces_found: Mapping[str, str]) -> str:
    for name, piece in pieces_found.items():
        text = text.replace(f"{{{name}}}", piece)
    return text


class Found(NamedTuple):
    """What a search came to: a tsquery to ask each row with, or the ids of all rows that there can be (None: any)."""

    query: str | None
    ids: tuple[int, ...] | None


def tags_of(wanted: CallFilter) -> list[str]:
    """Return what the calls that are wanted are tagged with."""
    tags = [] if wanted.token_key is None else [tagged(wanted.token_key)]
    return tags if wanted.token_value is None else [*tags, tagged(*wanted.token_value)]


def _go_on(statement: Statement, stretch: Stretch, place: tuple[Any, ...], *, descending: bool) -> None:
    """Leave out what was seen before: the rows of a stretch up to a place in it."""
    sign = "<" if descending else ">"
    values = ", ".join(statement.bind(value) for value in place)
    statement.where += f" AND ({', '.join(stretch.ordered)}) {sign} ({values})"


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
            return f"nullif(coalesce(body->'{field.name}', '{default}'::jsonb), 'null')"  # what is null has no place
    raise ValueError(f"{name!r} is not a field of a {record_type}")
