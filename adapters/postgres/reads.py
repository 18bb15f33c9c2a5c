"""How does the API read the projection? By queries on one company's rows, newest first."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from adapters.postgres.conditions import (
    LEAD_OF_OUTCOME,
    Statement,
    add_agent_status_conditions,
    add_audit_log_conditions,
    add_call_conditions,
    add_callback_conditions,
    add_contact_conditions,
    add_conversion_conditions,
    add_impression_conditions,
    add_kept_submission_conditions,
    add_lead_conditions,
    add_manual_fire_conditions,
    add_record_conditions,
    add_suppression_conditions,
    is_storable,
    tag_query,
    token_texts,
)
from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.fulltext import FulltextSearch
from adapters.postgres.lists import COUNT_MAX, Lists, exact_count
from adapters.postgres.migrate import migrations
from adapters.postgres.pool import Pool
from adapters.postgres.reports import (
    GROUPS_MAX,
    LOCAL,
    LOCAL_HOUR,
    OVERDUE_BEFORE,
    SAMPLE_ROWS,
    WORK_MEM,
    groups,
    is_beyond,
    may_be_many,
    pieces,
)
from adapters.postgres.rollup_reports import RollupReport, find_rollup_report, rollup_pieces
from adapters.postgres.spans import HOURS, bounds, cover, rolled
from adapters.postgres.sql import Schemas, queries
from adapters.postgres.tables import CALLS, LEADS, RECORDS
from adapters.reads.ports import (
    AgentStatusFilter,
    AuditLogFilter,
    CallbackFilter,
    CallFilter,
    ContactFilter,
    ConversionFilter,
    ImpressionFilter,
    KeptSubmissionFilter,
    LeadFilter,
    ManualFireFilter,
    Page,
    Paging,
    ReadsUnavailableError,
    RecordFilter,
    Result,
    Row,
    SuppressionFilter,
)
from engine.contact.timing.plan import CLASS_CALLBACK
from engine.views.lead import OF_REST, ROW_COLUMNS
from engine.views.outcomes import OutcomeCount
from engine.views.report import Group, Grouping
from engine.views.step_flow import ENTRIES, VISITS, LeadPath
from engine.views.step_leads import StepLeads
from engine.views.unblock_job import UnblockProgress
from schemas.account import CapUsage
from schemas.contact import Lead, OpenSlotRequest
from schemas.decisions import Answer
from schemas.instant import EPOCH, SECOND, Instant, Millis, from_datetime, to_datetime
from schemas.outcomes import OUTCOMES
from schemas.records import RECORD_BODIES
from schemas.topics import CONTACTS_DECISIONS
from schemas.wire import to_json

ListFilter = LeadFilter | CallFilter | ImpressionFilter

TALLIES = msgspec.json.Decoder(dict[str, CapUsage])

GATHERED_TIMES = 5
"""Reading an index entry costs a fifth of a row at most."""

PING_SECONDS = 5.0
"""Timeout after which the database counts as down."""

MARKED_CALLS = 50
"""Newest calls of an agent that its mark is of: those that its page shows."""

HISTORY_MAX = 1_000
"""Facts returned at once; a schedule of six attempts leaves some forty."""

_SELDOM = ", ".join(f"'{name}'" for name in OF_REST)
_COLUMNS_SHOWN = ", ".join(name for name in ROW_COLUMNS if name != "rest")
SHOWN_COLUMNS = f"{_COLUMNS_SHOWN}, CASE WHEN rest ?| ARRAY[{_SELDOM}] THEN rest END AS rest"
"""The shown columns of a lead. `rest` only if it has a shown field: it costs more to decode than all others."""


class PostgresReads:
    """Keeps the promises of `adapters.reads.ports.Reads`; rows are asyncpg's, which read like mappings."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._schemas = schemas
        self._sql = {name: text.replace("{shown}", SHOWN_COLUMNS) for name, text in queries("reads", schemas).items()}
        self._fulltext = FulltextSearch(pool, self._sql)
        self._lists = Lists(pool, schemas, self._sql)
        self._known_zones: Sequence[str] = ()
        self._newest = max(migration.number for migration in migrations() if migration.schema == "read")

    async def ping(self) -> None:
        """Return if the database answers and its schema is the expected one or newer; else raise."""
        async with convert_read_errors(), asyncio.timeout(PING_SECONDS):
            newest = await self._pool.fetchval(self._sql["newest_migration"])
        if newest is None or newest < self._newest:
            raise ReadsUnavailableError("the read schema is older than this release: run `leadclock db migrate`")

    # -- leads ---------------------------------------------------------------------------------------------------------

    async def lead(self, company_id: int, lead: int | str) -> Row | None:
        """Return a lead by internal id (int) or uuid (str), deleted or not."""
        return await self._one("lead", company_id, reference=lead)

    async def shown_lead(self, company_id: int, lead: int | str) -> Row | None:
        """Return the shown columns of a lead (`engine.views.lead.ROW_COLUMNS`), deleted or not."""
        return await self._one("shown_lead", company_id, reference=lead)

    async def leads(self, company_id: int, wanted: LeadFilter, paging: Paging) -> Page:
        """Return leads that are not deleted. Raises `ValueError` for an order that is no column."""
        return await self._list_page(company_id, wanted, paging)

    async def lead_ids(self, company_id: int, wanted: LeadFilter, limit: int) -> Sequence[int]:
        """Return the ids of the leads of a filter, ascending, at most `limit`."""
        _, statement = await self._build_filter(company_id, wanted)
        text = self._sql["lead_ids"].replace("{where}", statement.where).replace("{limit}", statement.bind(limit))
        return [row["id"] for row in await self._selected(text, statement)]

    async def newest_lead(
        self, company_id: int, contact_key: str, *, offer_id: int | None, schedule_ids: Sequence[int]
    ) -> Row | None:
        """Return the newest live lead of a contact on an offer or any of the schedules, else the newest one that ended."""
        if not is_storable(contact_key):
            return None
        return await self._row("newest_lead", company_id, contact_key, offer_id, list(schedule_ids))

    async def newest_named(
        self, company_id: int, external_record_id: str, *, offer_id: int | None, schedule_ids: Sequence[int]
    ) -> Row | None:
        """Return the newest live lead with an external_record_id, else the newest one that ended."""
        if not is_storable(external_record_id):
            return None
        return await self._row("newest_named", company_id, external_record_id, offer_id, list(schedule_ids))

    async def lead_history(self, company_id: int, lead_id: int) -> Sequence[Row]:
        """Return the newest facts of a lead, newest first, whether it still exists or not."""
        return await self._rows("lead_history", company_id, lead_id, HISTORY_MAX)

    async def facts_of(self, company_id: int, lead_id: int, *, before: Instant, limit: int) -> Sequence[Row]:
        """Return the newest facts of a lead before an instant, newest first."""
        return await self._rows("facts_of_lead", company_id, lead_id, to_datetime(before), limit)

    async def live_leads_of(self, company_id: int, contact_key: str, *, limit: int) -> Sequence[Row]:
        """Return the newest live leads of a contact."""
        return await self._rows("live_leads_of_contact", company_id, contact_key, limit)

    async def slot_queue_place(self, lead: Lead, *, since: Instant, now: Instant, limit: int) -> Row | None:
        """Return the place of a lead in its queue for slots, and how many calls of its step began since an instant."""
        due_at = lead.planned_at or lead.next_action_at or now
        _, priority, _, _ = OpenSlotRequest(lead.urgency_class, lead.lead_priority, due_at, lead.id, lead.aging).rank(now)
        return await self._row(
            "slot_queue_place",
            *(lead.company_id, lead.slot_queue, lead.urgency_class, priority, to_datetime(due_at), lead.id),
            *(lead.schedule_id, lead.step, to_datetime(now), to_datetime(since), limit),
        )

    async def slot_queues_by_step(self, company_id: int, *, since: Instant, now: Instant, limit: int) -> Sequence[Row]:
        """Return the leads that wait for a line by step and by what they wait for, most first."""
        return await self._rows("slot_queues_by_step", company_id, to_datetime(since), to_datetime(now), limit)

    async def call_history(self, company_id: int, call_id: int) -> Sequence[Row]:
        """Return the newest facts of a call, newest first."""
        return await self._rows("call_history", company_id, call_id, HISTORY_MAX)

    async def due_leads(
        self, company_id: int, *, before: Instant, after: tuple[Any, int] | None, limit: int
    ) -> Sequence[Row]:
        """Return live leads whose next action is before an instant, soonest first, behind (next action, id)."""
        return await self._rows("due_leads", company_id, to_datetime(before), *(after or (to_datetime(EPOCH), 0)), limit)

    async def due_leads_count(self, company_id: int, *, before: Instant) -> int | None:
        """Count the leads with a next action before an instant; None above `COUNT_MAX`."""
        row = await self._row("due_leads_count", company_id, to_datetime(before), COUNT_MAX + 1)
        return None if row is None else exact_count(row["count"])

    async def expiring_leads(self, company_id: int, *, before: Instant, after: int, limit: int) -> Sequence[Row]:
        """Return waiting leads without a next action that expire before an instant, by rising id."""
        return await self._rows("expiring_leads", company_id, to_datetime(before), after, limit)

    async def waiting_lead_ids(self, company_id: int, schedule_id: int, *, limit: int) -> Sequence[int]:
        """Return the leads of a schedule that wait: those without an instant, then those with the soonest next action."""
        return [row["id"] for row in await self._rows("waiting_lead_ids", company_id, schedule_id, limit)]

    async def waiting_leads_count(self, company_id: int, schedule_id: int) -> int | None:
        """Count the leads of a schedule that wait; None above `COUNT_MAX`."""
        row = await self._row("waiting_leads_count", company_id, schedule_id, COUNT_MAX + 1)
        return None if row is None else exact_count(row["count"])

    async def live_leads_of_schedule(self, company_id: int, schedule_id: int, *, limit: int) -> Sequence[Row]:
        """Return how many live leads of a schedule are at each of its steps, of at most `limit` leads."""
        return await self._rows("live_leads_of_schedule", company_id, schedule_id, limit)

    async def live_leads_of_offer(self, company_id: int, offer_id: int, *, limit: int) -> Sequence[Row]:
        """Return how many live leads of an offer run no schedule, of at most `limit` leads."""
        return await self._rows("live_leads_of_offer", company_id, offer_id, limit)

    async def leads_of_ids(self, company_id: int, ids: Sequence[int]) -> Sequence[Row]:
        """Return the whole rows of leads that are not deleted."""
        return await self._rows("leads_of_ids", company_id, list(ids))

    async def contacts(self, company_id: int, contact_keys: Sequence[str]) -> Sequence[Row]:
        """Return the contacts of numbers and addresses."""
        return await self._rows("contacts_by_keys", company_id, list(contact_keys))

    # -- calls and contacts --------------------------------------------------------------------------------------------

    async def call(self, company_id: int, call: int | str) -> Row | None:
        """Return a call by internal id (int) or uuid (str), deleted or not."""
        return await self._one("call", company_id, reference=call)

    async def calls(self, company_id: int, wanted: CallFilter, paging: Paging) -> Page:
        """Return calls that are not deleted. Raises `ValueError` for an order that is no column."""
        return await self._list_page(company_id, wanted, paging)

    async def impressions(self, company_id: int, wanted: ImpressionFilter, paging: Paging) -> Page:
        """Return impressions, newest first."""
        table, statement = await self._build_filter(company_id, wanted)
        statement.is_old = paging.cursor is not None and await self._is_old(company_id, wanted)
        return await self._lists.page(table, statement, paging, "created_at")

    async def kept_submissions(self, company_id: int, wanted: KeptSubmissionFilter, paging: Paging) -> Page:
        """Return submissions that are kept beside leads, newest first."""
        statement = Statement(company_id)
        add_kept_submission_conditions(wanted, statement)
        return await self._lists.page("kept_submissions", statement, paging, "id")

    async def conversions(self, company_id: int, wanted: ConversionFilter, paging: Paging) -> Page:
        """Return conversions of a side, newest first."""
        statement = Statement(company_id)
        add_conversion_conditions(wanted, statement)
        return await self._lists.page("conversions", statement, paging, "created_at")

    async def callbacks(self, company_id: int, wanted: CallbackFilter, paging: Paging) -> Page:
        """Return callbacks, also those that are over, newest first."""
        statement = Statement(company_id)
        add_callback_conditions(wanted, statement)
        return await self._lists.page("callbacks", statement, paging, "created_at")

    async def manual_fires(self, company_id: int, wanted: ManualFireFilter, paging: Paging) -> Page:
        """Return webhooks that were fired by hand, newest first, each with the `outcome` of its delivery or None."""
        statement = Statement(company_id)
        add_manual_fire_conditions(wanted, statement)
        return await self._lists.page("manual_fires", statement, paging, "id")

    async def audit_logs(self, company_id: int, wanted: AuditLogFilter, paging: Paging) -> Page:
        """Return who changed which account record, newest first."""
        statement = Statement(company_id)
        add_audit_log_conditions(wanted, statement)
        return await self._lists.page("audit_logs", statement, paging, "id")

    async def agent_status_timestamps(self, company_id: int, wanted: AgentStatusFilter, paging: Paging) -> Page:
        """Return the log of the statuses of agents, newest first."""
        statement = Statement(company_id)
        add_agent_status_conditions(wanted, statement)
        return await self._lists.page("agent_status_timestamps", statement, paging, "id")

    async def agent_statuses(self, company_id: int, agent_ids: Sequence[int]) -> dict[int, Row]:
        """Return the newest entry of the log of each agent that has one."""
        rows = await self._rows("agent_statuses", company_id, list(agent_ids))
        return {row["collaborator_id"]: row for row in rows}

    async def agent_events(self, after: Mapping[int, int], limit: int) -> Sequence[Row]:
        """Return the events of each company (key) behind an event (value), in order; `limit` for each company."""
        return await self._rows("agent_events", list(after), list(after.values()), limit)

    async def newest_agent_event(self, company_id: int) -> int:
        """Return the id of the newest event of a company, 0 without any."""
        row = await self._row("newest_agent_event", company_id)
        return 0 if row is None else int(row["id"])

    async def lead_marks(self, leads: Collection[tuple[int, int]]) -> dict[tuple[int, int], str]:
        """Return a text of each lead (company, id) that differs once it, its contact or a call of it has changed."""
        rows = await self._rows("lead_marks", *_columns(leads))
        return {(row["company_id"], row["id"]): row["mark"] for row in rows}

    async def agent_marks(self, agents: Collection[tuple[int, int]]) -> dict[tuple[int, int], str]:
        """Return a text of each agent (company, id): another one after a change for agents, of a call or its lead."""
        rows = await self._rows("agent_marks", *_columns(agents), MARKED_CALLS)
        return {(row["company_id"], row["id"]): row["mark"] for row in rows}

    async def acknowledged_counts(self, company_id: int, message_ids: Sequence[int]) -> dict[int, int]:
        """Return how many agents have acknowledged each message; one that nobody has is left out."""
        rows = await self._rows("acknowledged_counts", company_id, list(message_ids))
        return {row["message_id"]: row["agents"] for row in rows}

    async def acknowledged(self, company_id: int, agent_id: int, message_ids: Sequence[int]) -> frozenset[int]:
        """Return which of these messages an agent has acknowledged."""
        rows = await self._rows("acknowledged", company_id, agent_id, list(message_ids))
        return frozenset(row["message_id"] for row in rows)

    async def contact(self, company_id: int, contact_key: str) -> Row | None:
        """Return the contact of a number or address."""
        return await self._row("contact", company_id, contact_key) if is_storable(contact_key) else None

    async def listed_contacts(self, company_id: int, wanted: ContactFilter, paging: Paging) -> Page:
        """Return contacts by descending id, each with `time_zones` of its leads and the `opted_out_source`."""
        statement = Statement(company_id)
        add_contact_conditions(wanted, statement)
        return await self._lists.page("contacts", statement, paging, "id")

    async def reviews(self, company_id: int, paging: Paging) -> Page:
        """Return the contacts of which a doubtful text waits for a review, each with the newest such text."""
        statement = Statement(company_id)
        add_contact_conditions(ContactFilter(in_review=True), statement)
        return await self._lists.page("reviews", statement, paging, "id")

    async def suppressions(self, company_id: int, list_id: int, wanted: SuppressionFilter, paging: Paging) -> Page:
        """Return the entries of a suppression list by descending `contact_id`."""
        statement = Statement(company_id, list_id)
        add_suppression_conditions(wanted, statement)
        return await self._lists.page("suppressions", statement, paging, "id")

    async def contact_history(self, company_id: int, contact_key: str) -> Sequence[Row]:
        """Return the newest facts about a contact itself, newest first."""
        return await self._rows("contact_history", company_id, contact_key, HISTORY_MAX)

    # -- reports -------------------------------------------------------------------------------------------------------

    async def created_span(self, company_id: int, wanted: ListFilter) -> tuple[Instant, Instant] | None:
        """Return when the first and the last row of a filter was created."""
        table, statement = await self._build_filter(company_id, wanted)
        text = self._sql[f"{table}_created"].replace("{where}", statement.where)
        async with convert_read_errors():
            row = await self._pool.fetchrow(self._schemas.fill(text), *statement.values)
        return None if row["first"] is None else (from_datetime(row["first"]), from_datetime(row["last"]))

    async def sums(
        self,
        company_id: int,
        wanted: LeadFilter | CallFilter | CallbackFilter,
        category: Grouping | None,
        pivot: Grouping | None,
    ) -> list[Group] | None:
        """Return the sums of the leads, calls or callbacks of a filter by group, or None if there are too many groups."""
        if isinstance(wanted, CallbackFilter):
            return await self._sum_callbacks(company_id, wanted, category, pivot)
        known = find_rollup_report(wanted, category, pivot)
        rows = None if known is None else await self._sum_rollups(company_id, wanted, known)
        if rows is None:
            rows = await self._sum_rows(company_id, wanted, category, pivot)
        return None if rows is None or len(rows) > GROUPS_MAX else await groups(rows)

    async def leads_by_step(
        self, company_id: int, wanted: LeadFilter, *, due_before: Instant, late_after: Millis, limit: int
    ) -> Sequence[StepLeads]:
        """Return the leads of a filter that are due, the longest due first, and in progress, at most `limit` of each."""
        statement = Statement(company_id, to_datetime(due_before), late_after / SECOND, limit, CLASS_CALLBACK)
        add_lead_conditions(wanted, statement)
        text = self._sql["leads_by_step"].replace("{where}", statement.where)
        return [StepLeads(**row) for row in await self._selected(text, statement)]

    async def outcomes_by_channel(
        self, company_id: int, wanted: LeadFilter, *, recorded_from: Instant, recorded_to: Instant, limit: int
    ) -> Sequence[OutcomeCount]:
        """Return the commands about leads of a filter by newest outcome, of the newest `limit` facts of each channel."""
        span = (to_datetime(recorded_from), to_datetime(recorded_to))
        statement = Statement(company_id, *span, list(OUTCOMES), limit)
        add_lead_conditions(wanted, statement)
        visible = f"{LEAD_OF_OUTCOME}{statement.where})" if statement.where else "true"
        text = self._sql["outcomes_by_channel"].replace("{visible}", visible)
        return [OutcomeCount(**row) for row in await self._selected(text, statement)]

    async def lead_paths(self, company_id: int, wanted: LeadFilter, *, limit: int, facts: int) -> Sequence[LeadPath]:
        """Return the newest leads of a filter, at most `limit`, with what the newest `facts` of each say of its steps."""
        statement = Statement(company_id, limit, facts, VISITS, ENTRIES)
        add_lead_conditions(wanted, statement)
        text = self._sql["lead_paths"].replace("{where}", statement.where)
        return [LeadPath(**row) for row in await self._selected(text, statement)]

    async def _sum_callbacks(
        self, company_id: int, wanted: CallbackFilter, category: Grouping | None, pivot: Grouping | None
    ) -> list[Group] | None:
        statement = Statement(company_id)
        add_callback_conditions(wanted, statement)
        found = pieces("callbacks", statement, category, pivot, await self._zones(category, pivot))
        before = None if wanted.overdue_before is None else to_datetime(wanted.overdue_before)
        found["sums"] = found["sums"].replace(OVERDUE_BEFORE, f"{statement.bind(before)}::timestamptz")
        async with self._reporting() as connection:
            text = self._schemas.fill(_fill(self._sql["callbacks_grouped"], found))
            rows: Sequence[Row] = await connection.fetch(text, *statement.values)
        return None if len(rows) > GROUPS_MAX else await groups(rows)

    async def _sum_rows(
        self, company_id: int, wanted: LeadFilter | CallFilter, category: Grouping | None, pivot: Grouping | None
    ) -> Sequence[Row] | None:
        """Add up rows; None if a sample shows too many groups."""
        table, statement = await self._build_filter(company_id, wanted)
        found = pieces(table, statement, category, pivot, await self._zones(category, pivot))
        name = "calls_by_local_hour" if category and category.name == LOCAL_HOUR else f"{table}_grouped"
        async with self._reporting() as connection:
            is_sampled = may_be_many(category, pivot) and name != "calls_by_local_hour"
            if is_sampled and await self._is_beyond_limits(connection, found, statement, (category, pivot)):
                return None
            rows: Sequence[Row] = await connection.fetch(
                self._schemas.fill(_fill(self._sql[name], found)), *statement.values
            )
            return rows

    async def _is_beyond_limits(
        self,
        connection: "asyncpg.Connection[asyncpg.Record]",
        found: Mapping[str, str],
        statement: Statement,
        by: tuple[Grouping | None, Grouping | None],
    ) -> bool:
        """Return whether a sample shows too many groups; none is read where the rows are too few for that."""
        if None in by:
            text = _fill(self._sql["rows_to_group"], found)
            rows = await connection.fetchval(self._schemas.fill(text), *statement.values)
            if rows < int(found["limit"]):
                return False
        for limit in SAMPLE_ROWS:
            text = _fill(self._sql["rows_sampled"], {**found, "limit": str(limit)})
            sample = await connection.fetchrow(self._schemas.fill(text), *statement.values)
            if is_beyond(sample, *by):
                return True
            if sample["groups"] <= limit // 2:
                return False
        return False

    async def _sum_rollups(
        self, company_id: int, wanted: LeadFilter | CallFilter, known: RollupReport
    ) -> Sequence[Row] | None:
        """Add up a span of creation, from rollups where they exist; None if there are none in it."""
        tiers = known.tiers
        if not tiers:
            return None
        span = await self.created_span(company_id, type(wanted)())
        if span is None:
            return []
        since, until = bounds(wanted.created_from, wanted.created_to, span)
        zones = await self._zones(known.category, known.pivot)
        _, statement = await self._build_filter(
            company_id, msgspec.structs.replace(wanted, created_from=None, created_to=None)
        )
        async with self._reporting() as connection:
            # One snapshot, so that marks and rollups agree.
            days = ["day" if tier == HOURS else tier for tier in tiers]  # hours are valid where their day is
            scope = (company_id, known.table, days, to_datetime(since), to_datetime(until))
            found = await connection.fetch(self._sql["rolled_spans"], *scope)
            marks = await connection.fetch(self._sql["marked_days"], company_id, known.table)
            held = cover(since, until, rolled(found, [mark["day"] for mark in marks]), tiers, known.cuts)
            if not held.spans:
                return None
            text = _fill(self._sql["rolled"], rollup_pieces(known, statement, held, zones))
            rows: Sequence[Row] = await connection.fetch(self._schemas.fill(text), *statement.values)
        return rows

    @asynccontextmanager
    async def _reporting(self) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
        async with (
            convert_read_errors(),
            self._pool.acquire() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            await connection.execute(f"SET LOCAL work_mem = '{WORK_MEM}'")
            yield connection

    async def _zones(self, *groupings: Grouping | None) -> Sequence[str]:
        """Return the zones that the database knows, if a grouping needs them; read once."""
        if not self._known_zones and any(one is not None and one.name in LOCAL for one in groupings):
            async with convert_read_errors():
                self._known_zones = tuple(await self._pool.fetchval(self._sql["zones"]))
        return self._known_zones

    async def _build_filter(self, company_id: int, wanted: ListFilter) -> tuple[str, Statement]:
        """Return the table and the conditions of a filter, with its full-text search resolved."""
        statement = Statement(company_id)
        if isinstance(wanted, ImpressionFilter):
            add_impression_conditions(wanted, statement)
            return "impressions", statement
        if isinstance(wanted, LeadFilter):
            tags = await self._fulltext.split_words(words_of_tokens(wanted))
            found = await self._fulltext.find("lead", company_id, wanted.fulltext, wanted.ids, tags)
            add_lead_conditions(msgspec.structs.replace(wanted, fulltext=found.query, ids=found.ids), statement)
            alone: LeadFilter | CallFilter = LeadFilter(fulltext=wanted.fulltext)
        else:
            found = await self._fulltext.find("call", company_id, wanted.fulltext, wanted.ids, tags_of(wanted))
            add_call_conditions(msgspec.structs.replace(wanted, fulltext=found.query, ids=found.ids), statement)
            alone = CallFilter(fulltext=wanted.fulltext, token_key=wanted.token_key, token_value=wanted.token_value)
        # A search alone is known to match more rows than are counted.
        statement.is_frequent = wanted == alone and found.more_than >= COUNT_MAX
        return "leads" if isinstance(wanted, LeadFilter) else "calls", statement

    async def _is_old(self, company_id: int, wanted: ListFilter) -> bool:
        """Return whether the rows of an old span are found faster by an index than by a scan from the newest."""
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

        `paging.order` may name a column or a field of the body; a missing field sorts as its default.
        Raises `ValueError` for any other order.
        """
        statement = Statement(company_id, record_type)
        add_record_conditions(wanted, statement)
        order = paging.order or "created_at"
        if order not in RECORDS.columns:
            order = _body_field(record_type, order)
        return await self._lists.page("records", statement, paging, order)

    async def fleet_members(self, company_id: int, fleet_ids: Sequence[int]) -> dict[int, list[int]]:
        """Return the ids of the live buyers of each buyer fleet, ascending; a fleet without any is left out."""
        rows = await self._rows("fleet_members", company_id, list(fleet_ids))
        return {row["fleet_id"]: row["buyer_ids"] for row in rows}

    async def slots(self, company_id: int, resources: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return how many slots of each resource (`buyer_group/7`) are held, and how many contacts wait for one."""
        rows = await self._rows("slots", company_id, list(resources))
        return {row["resource"]: (row["in_use"], row["waiting_count"]) for row in rows}

    async def tallies(self, company_id: int, resources: Sequence[str]) -> dict[str, dict[str, CapUsage]]:
        """Return the usage of the caps of each resource (`buyer_group/7`) by period, as last counted by the account."""
        rows = await self._rows("tallies", company_id, list(resources))
        return {row["resource"]: TALLIES.decode(row["tallies"]) for row in rows}

    async def last_grants(self, company_id: int, resources: Sequence[str]) -> dict[str, Instant]:
        """Return when each resource with a spacing (`buyer/7`) got its last call; without those that had none."""
        rows = await self._rows("last_grants", company_id, list(resources))
        return {row["resource"]: from_datetime(row["last_granted_at"]) for row in rows}

    async def ring_pools(self, company_id: int, ring_pool_ids: Sequence[int], now: Instant) -> dict[int, Row]:
        """Return, by id, how many numbers of ring pools are held at an instant, and how many visitors found none."""
        rows = await self._rows("ring_pools", company_id, list(ring_pool_ids), now)
        return {row["ring_pool_id"]: row for row in rows}

    async def ring_pool_holds(self, company_id: int, ring_pool_ids: Sequence[int], now: Instant) -> Sequence[Row]:
        """Return the numbers of ring pools that are held at an instant, with the newest impression that showed each."""
        return await self._rows("ring_pool_holds", company_id, list(ring_pool_ids), now)

    async def unblock_progress(self, company_id: int, job_ids: Sequence[int]) -> dict[int, UnblockProgress]:
        """Return how far unblock contact jobs have come, by id; without those that no partition has adopted yet."""
        rows = await self._rows("unblock_progress", company_id, list(job_ids), CONTACTS_DECISIONS.name)
        return {row["job_id"]: _unblock_progress(row) for row in rows}

    # -- requests ------------------------------------------------------------------------------------------------------

    async def result(self, request_id: str) -> Result | None:
        """Return the result of a request, or None if it is not decided yet or older than 24 h."""
        return (await self.results([request_id])).get(request_id)

    async def results(self, request_ids: Sequence[str]) -> dict[str, Result]:
        """Return the results of requests by id, without those that have none."""
        rows = await self._rows("results", [request_id for request_id in request_ids if is_storable(request_id)])
        return {row["request_id"]: _result(row) for row in rows}

    # -- queries --------------------------------------------------------------------------------------------------------

    async def _one(self, kind: str, *scope: int | str, reference: int | str) -> Row | None:
        """Return the row of an id or uuid; None for an invalid one."""
        if isinstance(reference, int):
            return await self._row(f"{kind}_by_id", *scope, reference) if is_storable(reference) else None
        try:
            return await self._row(f"{kind}_by_uuid", *scope, str(UUID(reference)))
        except ValueError:
            return None

    async def _list_page(self, company_id: int, wanted: LeadFilter | CallFilter, paging: Paging) -> Page:
        order = paging.order or "created_at"
        kind, columns = ("lead", LEADS.columns) if isinstance(wanted, LeadFilter) else ("call", CALLS.columns)
        if order not in columns:
            raise ValueError(f"{order!r} is not a column of a {kind}")
        table, statement = await self._build_filter(company_id, wanted)
        if statement.is_frequent:
            paging = msgspec.structs.replace(paging, counted=False)
        statement.is_old = paging.cursor is not None and await self._is_old(company_id, wanted)
        return await self._lists.page(table, statement, paging, order)

    async def _row(self, name: str, *values: Any) -> Row | None:
        async with convert_read_errors():
            row: Row | None = await self._pool.fetchrow(self._sql[name], *values)
            return row

    async def _selected(self, text: str, statement: Statement) -> Sequence[Row]:
        async with convert_read_errors():
            rows: Sequence[Row] = await self._pool.fetch(self._schemas.fill(text), *statement.values)
            return rows

    async def _rows(self, name: str, *values: Any) -> Sequence[Row]:
        async with convert_read_errors():
            rows: Sequence[Row] = await self._pool.fetch(self._sql[name], *values)
            return rows


def _columns(pairs: Collection[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [first for first, _ in pairs], [second for _, second in pairs]


def _fill(text: str, pieces_found: Mapping[str, str]) -> str:
    for name, piece in pieces_found.items():
        text = text.replace(f"{{{name}}}", piece)
    return text


def words_of_tokens(wanted: LeadFilter) -> str:
    """Return text whose words every lead of a filter has: those of its token and tag, which are compared exactly later."""
    texts = [] if wanted.token_value is None else token_texts(wanted.token_value[1])
    texts = texts if len(texts) == 1 else []  # a number has the words of one of its spellings
    # A list of tags is searched as JSON, which escapes what cannot be printed.
    return " ".join([*texts, wanted.tag] if wanted.tag and wanted.tag.isprintable() else texts)


def tags_of(wanted: CallFilter) -> list[str]:
    """Return the tsqueries of the tags that a filter asks for."""
    tags = [] if wanted.token_key is None else [tag_query(wanted.token_key)]
    return tags if wanted.token_value is None else [*tags, tag_query(*wanted.token_value)]


def _result(row: Row) -> Result:
    return Result(
        request_id=row["request_id"],
        company_id=row["company_id"] or 0,
        verdict=row["verdict"],
        answer=msgspec.json.decode(row["answer"], type=Answer),
        decided_at=from_datetime(row["decided_at"]),
    )


def _unblock_progress(row: Row) -> UnblockProgress:
    is_over = row["partitions_ended"] == row["partitions"]
    return UnblockProgress(
        partitions_begun=row["partitions_begun"],
        unblock_count=row["unblock_count"],
        failed_count=row["failed_count"],
        last_contact_id=row["last_contact_id"],
        ended_at=from_datetime(row["ended_at"]) if is_over else None,
    )


def _body_field(record_type: str, name: str) -> str:
    """Return the expression that sorts by a field of a body; both names come from the structs, never from a caller."""
    for field in msgspec.structs.fields(RECORD_BODIES[record_type]):
        if field.name == name:
            default = "null" if field.required else to_json(field.default).decode()
            return f"nullif(coalesce(body->'{field.name}', '{default}'::jsonb), 'null')"  # null has no position
    raise ValueError(f"{name!r} is not a field of a {record_type}")
