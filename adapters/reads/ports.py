"""What can be read from the database? Rows by id or filter, results of requests, Idempotency-Keys, served channels.

Each protocol here has one implementation in `adapters.postgres`.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol

from msgspec import Struct

from engine.views.outcomes import OutcomeCount
from engine.views.report import Group, Grouping
from engine.views.step_flow import LeadPath
from engine.views.step_leads import StepLeads
from engine.views.unblock_job import UnblockProgress
from schemas.account import CapUsage
from schemas.contact import Lead
from schemas.decisions import Answer
from schemas.errors import DependencyError, SenderError
from schemas.instant import DAY, HOUR, Instant, Millis
from schemas.records import LeadFilters

RESULT_RETENTION = DAY
"""How long the result of a request can be read again, in milliseconds."""

Row = Mapping[str, Any]
"""One row of the read schema, by column name: timestamptz as aware datetime, jsonb decoded."""


class ReadsUnavailableError(DependencyError):
    """The database refused or did not answer in time."""


class ReadsTooSlowError(ReadsUnavailableError):
    """The database cancelled a statement that took too long."""


class Result(Struct, frozen=True, kw_only=True):
    """The result of a request: a row of `request_results`, written in the transaction of the rows that it changed."""

    request_id: str
    company_id: int
    verdict: str
    answer: Answer | None
    decided_at: Instant


class Paging(Struct, frozen=True, kw_only=True):
    """Which rows of a list: by `page` (from 1) or by `cursor`, never by both.

    `cursor` None: pages, sorted by `order` (a column; None is created_at), created_at, id. Otherwise: rows with an id below
    `cursor`, or from the newest if it is -1, by descending id. To read a whole list in its order, pass `after` of the page
    before, with `page` 1; its content is opaque.
    """

    page: int = 1
    per_page: int = 25
    cursor: int | None = None
    order: str | None = None
    descending: bool = True
    counted: bool = True
    after: Any = None


class Page(Struct, frozen=True, kw_only=True):
    """Sorted rows. `total_count` is exact up to 10,000 and None beyond, or if it was not requested.

    `next_cursor`: with a cursor, the id of the last row, or 0 at the end. `after`: where the next page of the same order
    begins, or None at the end.
    """

    rows: Sequence[Row]
    after: Any = None
    total_count: int | None = None
    next_cursor: int | None = None


class LeadFilter(Struct, frozen=True, kw_only=True):
    """Which leads: every field that is set must match. Bounds include their lower and exclude their upper instant.

    `has_next_action`: leads whose next action has an instant and is not in progress. `completed_calls`: leads that completed
    with one outbound call (1) or with more (2). `states`: leads of any of these states, as reports group them. `tag`: leads
    with this word among their tags. `token_key` and `token_value` as for calls. `fulltext` finds words by prefix, and
    numbers by all or the last ten, seven or four digits. It looks at the first 100,000 characters of a lead, as do `tag`
    and `token_value`. `has_callback`: leads to which a call is promised. `visible`: leads that fit any of these filters of
    teams; none where it is empty.
    """

    ids: tuple[int, ...] | None = None
    created_from: Instant | None = None
    created_to: Instant | None = None
    next_action_from: Instant | None = None
    next_action_to: Instant | None = None
    offer_id: int | None = None
    schedule_id: int | None = None
    traffic_source_id: int | None = None
    buyer_id: int | None = None
    contact_id: int | None = None
    status: str | None = None
    completed_calls: int | None = None
    status_wait: str | None = None
    caller_id: str | None = None
    email: str | None = None
    has_next_action: bool | None = None
    buyer_converted: bool | None = None
    offer_converted: bool | None = None
    either_converted: bool | None = None
    opt_out: bool | None = None
    states: tuple[str, ...] | None = None
    recent_call_disposition_id: int | None = None
    lead_import_id: int | None = None
    has_invalid_fields: bool | None = None
    is_test: bool | None = None
    tag: str | None = None
    token_key: str | None = None
    token_value: tuple[str, str] | None = None
    fulltext: str | None = None
    has_callback: bool | None = None
    scheduled_callback_id: int | None = None
    visible: tuple[LeadFilters, ...] | None = None


class CallFilter(Struct, frozen=True, kw_only=True):
    """Which calls: every field that is set must match. Bounds include their lower and exclude their upper instant.

    `lead_import_id`, `tag`: calls of leads of this import, and of leads that have this tag now. `token_key`: calls with this
    token; `token_value`: calls with this (key, value). `fulltext` and `visible` as for leads.
    """

    ids: tuple[int, ...] | None = None
    created_from: Instant | None = None
    created_to: Instant | None = None
    ended_from: Instant | None = None
    ended_to: Instant | None = None
    lead_id: int | None = None
    offer_id: int | None = None
    schedule_id: int | None = None
    traffic_source_id: int | None = None
    buyer_id: int | None = None
    buyer_group_ids: tuple[int, ...] | None = None
    number_id: int | None = None
    ring_pool_id: int | None = None
    provider_configuration_id: int | None = None
    call_disposition_id: int | None = None
    agent_id: int | None = None
    states: tuple[str, ...] | None = None
    lead_import_id: int | None = None
    tag: str | None = None
    contact_id: int | None = None
    caller_number: str | None = None
    status: str | None = None
    buyer_converted: bool | None = None
    offer_converted: bool | None = None
    either_converted: bool | None = None
    buyer_conversion_duplicated_call: bool | None = None
    offer_conversion_duplicated_call: bool | None = None
    buyer_repeat_caller: bool | None = None
    offer_repeat_caller: bool | None = None
    in_progress: bool | None = None
    placed_on_hold: bool | None = None
    has_recording: bool | None = None
    no_buyer: bool | None = None
    token_key: str | None = None
    token_value: tuple[str, str] | None = None
    fulltext: str | None = None
    visible: tuple[LeadFilters, ...] | None = None


class ImpressionFilter(Struct, frozen=True, kw_only=True):
    """Which impressions. Bounds include their lower and exclude their upper instant."""

    created_from: Instant | None = None
    created_to: Instant | None = None


class ManualFireFilter(Struct, frozen=True, kw_only=True):
    """Which webhooks fired by hand; `created_from` and `created_to` compare the shown `created_at`.

    `fulltext` finds a part of the webhook's name.
    """

    ids: tuple[int, ...] | None = None
    uuid: str | None = None
    created_from: Instant | None = None
    created_to: Instant | None = None
    fulltext: str | None = None


class ContactFilter(Struct, frozen=True, kw_only=True):
    """Which contacts: every field that is set must match.

    `keys` are contact keys. `email`: the contact of the address, and those whose leads have it. `opted_out`: of anything.
    """

    ids: tuple[int, ...] | None = None
    keys: tuple[str, ...] | None = None
    email: str | None = None
    opted_out: bool | None = None
    blocked: bool | None = None
    suppressed: bool | None = None
    in_review: bool | None = None


class WebhookLogFilter(Struct, frozen=True, kw_only=True):
    """Which attempts to post outgoing webhooks; None means all."""

    ids: tuple[int, ...] | None = None
    created_from: Instant | None = None
    created_to: Instant | None = None
    outgoing_webhook_id: int | None = None
    webhook_manual_fire_id: int | None = None
    lead_id: int | None = None
    call_id: int | None = None
    accepted: bool | None = None


class LeadBulkJobFilter(Struct, frozen=True, kw_only=True):
    """Which bulk jobs; None means all. `user_email`: only those of a person, who sees no others."""

    ids: tuple[int, ...] | None = None
    created_from: Instant | None = None
    created_to: Instant | None = None
    action: str | None = None
    user_email: str | None = None


class LeadBulkResultFilter(Struct, frozen=True, kw_only=True):
    """Which leads of one bulk job; None means all."""

    job_id: int
    ids: tuple[int, ...] | None = None
    state: str | None = None


class LeadImportFilter(Struct, frozen=True, kw_only=True):
    """Which imports of uploaded files; None means all. `user_email`: only those of a person, who sees no others."""

    ids: tuple[int, ...] | None = None
    created_from: Instant | None = None
    created_to: Instant | None = None
    dry_run: bool | None = None
    user_email: str | None = None


class LeadImportErrorFilter(Struct, frozen=True, kw_only=True):
    """Whose errors and warnings: those of one import; None means both."""

    job_id: int
    severities: tuple[str, ...] | None = None


class ConversionFilter(Struct, frozen=True, kw_only=True):
    """Which conversions of one side, buyer or offer; None means all. `lead_id` includes those of its calls.

    `visible` are the filters of a person's teams, of which the call must fit one, or the lead that converted without a call.
    """

    side: str
    ids: tuple[int, ...] | None = None
    uuid: str | None = None
    created_from: Instant | None = None
    created_to: Instant | None = None
    lead_id: int | None = None
    call_id: int | None = None
    buyer_id: int | None = None
    traffic_source_id: int | None = None
    taken_back: bool | None = None
    visible: tuple[LeadFilters, ...] | None = None


class CallbackFilter(Struct, frozen=True, kw_only=True):
    """Which callbacks, also those that are over; None means all. `agent_id` is the agent who owns it, else promised it.

    One that is pending and was promised for before `overdue_before` counts as overdue in sums; it chooses none.
    `visible` are the filters of a person's teams, of which the lead must fit one.
    """

    ids: tuple[int, ...] | None = None
    callback_status: str | None = None
    created_from: Instant | None = None
    created_to: Instant | None = None
    promised_from: Instant | None = None
    promised_to: Instant | None = None
    lead_id: int | None = None
    offer_id: int | None = None
    schedule_id: int | None = None
    contact_id: int | None = None
    agent_id: int | None = None
    promised_by: str | None = None
    overdue_before: Instant | None = None
    visible: tuple[LeadFilters, ...] | None = None


class KeptSubmissionFilter(Struct, frozen=True, kw_only=True):
    """Which submissions that are kept beside leads; None means all.

    `visible` are the filters of a person's teams, of which the lead must fit one.
    """

    ids: tuple[int, ...] | None = None
    lead_id: int | None = None
    visible: tuple[LeadFilters, ...] | None = None


class SuppressionFilter(Struct, frozen=True, kw_only=True):
    """Which entries of a suppression list: every field that is set must match; bounds exclude their upper instant."""

    keys: tuple[str, ...] | None = None
    source: str | None = None
    expires_from: Instant | None = None
    expires_to: Instant | None = None


class DeliveryFilter(Struct, frozen=True, kw_only=True):
    """Which deliveries of one subscription; None means all."""

    subscription_id: int
    ids: tuple[int, ...] | None = None
    created_from: Instant | None = None
    created_to: Instant | None = None
    state: str | None = None
    event: str | None = None
    lead_id: int | None = None


class AuditLogFilter(Struct, frozen=True, kw_only=True):
    """Which entries of the audit log; `fulltext` finds a part of the person's address, the type or a field."""

    created_from: Instant | None = None
    created_to: Instant | None = None
    record_type: str | None = None
    record_id: int | None = None
    key_id: int | None = None
    fulltext: str | None = None


class AgentStatusFilter(Struct, frozen=True, kw_only=True):
    """Which entries of the log of agent statuses; `fulltext` finds a part of the key, or of the agent's name."""

    created_from: Instant | None = None
    created_to: Instant | None = None
    fulltext: str | None = None


class RecordFilter(Struct, frozen=True, kw_only=True):
    """Which account records of a type; `paused` compares that field of the body."""

    ids: tuple[int, ...] | None = None
    created_from: Instant | None = None
    created_to: Instant | None = None
    paused: bool | None = None
    fulltext: str | None = None


class ContactReads(Protocol):
    """The reads that the simulation of any leads needs, each of one company. They raise `ReadsUnavailableError`.

    No contract suite: one adapter (`adapters.postgres.reads.PostgresReads`), as for `Reads`.
    """

    async def contacts(self, company_id: int, contact_keys: Sequence[str]) -> Sequence[Row]:
        """Return the contacts of numbers and addresses."""
        ...


class DueLeadReads(ContactReads, Protocol):
    """The reads that a forecast needs, each of one company. They raise `ReadsUnavailableError`.

    No contract suite: one adapter (`adapters.postgres.reads.PostgresReads`), as for `Reads`.
    """

    async def due_leads(
        self, company_id: int, *, before: Instant, after: tuple[Any, int] | None, limit: int
    ) -> Sequence[Row]:
        """Return live leads whose next action is before an instant, soonest first, behind (next action, id)."""
        ...

    async def due_leads_count(self, company_id: int, *, before: Instant) -> int | None:
        """Return how many those are, or None if they are too many to count."""
        ...

    async def expiring_leads(self, company_id: int, *, before: Instant, after: int, limit: int) -> Sequence[Row]:
        """Return waiting leads without a next action that expire before an instant, by rising id."""
        ...


class WaitingLeadReads(ContactReads, Protocol):
    """The reads that a change of a schedule is judged by, each of one company. They raise `ReadsUnavailableError`.

    No contract suite: one adapter (`adapters.postgres.reads.PostgresReads`), as for `Reads`.
    """

    async def waiting_lead_ids(self, company_id: int, schedule_id: int, *, limit: int) -> Sequence[int]:
        """Return the leads of a schedule that wait: those without an instant, then those with the soonest next action."""
        ...

    async def waiting_leads_count(self, company_id: int, schedule_id: int) -> int | None:
        """Return how many those are, or None if they are too many to count."""
        ...

    async def live_leads_of_schedule(self, company_id: int, schedule_id: int, *, limit: int) -> Sequence[Row]:
        """Return how many live `leads` of a schedule are at each `step`, and how many `callbacks` are promised to them.

        Of at most `limit` leads, for this and the next.
        """
        ...

    async def live_leads_of_offer(self, company_id: int, offer_id: int, *, limit: int) -> Sequence[Row]:
        """Return, as one row of the same columns, the live leads of an offer that run no schedule."""
        ...

    async def leads_of_ids(self, company_id: int, ids: Sequence[int]) -> Sequence[Row]:
        """Return the whole rows of leads that are not deleted."""
        ...


class LimitableReads(Protocol):
    """The reads that teams limit: of leads, calls and account records. They raise `ReadsUnavailableError`.

    No contract suite: `adapters.postgres.reads.PostgresReads` reads all rows of a company, and
    `adapters.http.exchange.limited_reads.LimitedReads` leaves out what a person may not see, by means of the former.
    """

    async def lead(self, company_id: int, lead: int | str) -> Row | None:
        """Return a lead by internal id (int) or uuid (str), deleted or not."""
        ...

    async def shown_lead(self, company_id: int, lead: int | str) -> Row | None:
        """Return the shown columns of a lead (`engine.views.lead.ROW_COLUMNS`), deleted or not."""
        ...

    async def leads(self, company_id: int, wanted: LeadFilter, paging: Paging) -> Page:
        """Return leads that are not deleted."""
        ...

    async def lead_ids(self, company_id: int, wanted: LeadFilter, limit: int) -> Sequence[int]:
        """Return the ids of the leads of a filter that are not deleted, ascending, at most `limit`."""
        ...

    async def calls(self, company_id: int, wanted: CallFilter, paging: Paging) -> Page:
        """Return calls that are not deleted."""
        ...

    async def call(self, company_id: int, call: int | str) -> Row | None:
        """Return a call by internal id (int) or uuid (str), deleted or not."""
        ...

    async def kept_submissions(self, company_id: int, wanted: KeptSubmissionFilter, paging: Paging) -> Page:
        """Return submissions that are kept beside leads, newest first."""
        ...

    async def conversions(self, company_id: int, wanted: ConversionFilter, paging: Paging) -> Page:
        """Return conversions, newest first, each with the key (`key_id`) and person (`user_email`) that converted it."""
        ...

    async def callbacks(self, company_id: int, wanted: CallbackFilter, paging: Paging) -> Page:
        """Return callbacks, also those that are over, newest first."""
        ...

    async def created_span(self, company_id: int, wanted: LeadFilter | CallFilter) -> tuple[Instant, Instant] | None:
        """Return when the first and the last lead or call of a filter was created."""
        ...

    async def sums(
        self,
        company_id: int,
        wanted: LeadFilter | CallFilter | CallbackFilter,
        category: Grouping | None,
        pivot: Grouping | None,
    ) -> list[Group] | None:
        """Return the sums of the leads, calls or callbacks of a filter by group, or None if there are too many groups."""
        ...

    async def leads_by_step(
        self, company_id: int, wanted: LeadFilter, *, due_before: Instant, late_after: Millis, limit: int
    ) -> Sequence[StepLeads]:
        """Return the leads of a filter that are due, the longest due first, and in progress, at most `limit` of each."""
        ...

    async def outcomes_by_channel(
        self, company_id: int, wanted: LeadFilter, *, recorded_from: Instant, recorded_to: Instant, limit: int
    ) -> Sequence[OutcomeCount]:
        """Return the commands about leads of a filter by the newest outcome of each that was recorded in a span.

        Of each channel the newest `limit` facts of the company are looked at. Without a filter, commands about no lead count
        too.
        """
        ...

    async def lead_paths(self, company_id: int, wanted: LeadFilter, *, limit: int, facts: int) -> Sequence[LeadPath]:
        """Return the newest leads of a filter, at most `limit`, with what the newest `facts` of each say of its steps.

        `wanted.fulltext` is not for it.
        """
        ...

    async def newest_lead(
        self, company_id: int, contact_key: str, *, offer_id: int | None, schedule_ids: Sequence[int]
    ) -> Row | None:
        """Return the newest live lead of a contact on an offer or any of the schedules, else the newest one that ended."""
        ...

    async def newest_named(
        self, company_id: int, external_record_id: str, *, offer_id: int | None, schedule_ids: Sequence[int]
    ) -> Row | None:
        """Return the newest live lead of an offer or schedules with this id, else the newest one that ended."""
        ...

    async def record(self, company_id: int, record_type: str, record: int | str) -> Row | None:
        """Return an account record by internal id (int) or uuid (str), deleted or not.

        A row has the columns of `schemas.records.Record`; `body` is the decoded JSON of the body.
        """
        ...

    async def records(self, company_id: int, record_type: str, wanted: RecordFilter, paging: Paging) -> Page:
        """Return live account records; `Paging.order` may name a field of the body."""
        ...


class Reads(LimitableReads, DueLeadReads, WaitingLeadReads, Protocol):
    """Queries on the projection. Every method raises `ReadsUnavailableError` if the database does not answer.

    No contract suite: one adapter (`adapters.postgres.reads.PostgresReads`), tested in
    tests/adapters/postgres/test_reads.py on a real database.
    """

    async def impressions(self, company_id: int, wanted: ImpressionFilter, paging: Paging) -> Page:
        """Return impressions, newest first."""
        ...

    async def manual_fires(self, company_id: int, wanted: ManualFireFilter, paging: Paging) -> Page:
        """Return webhooks that were fired by hand, newest first, each with the `outcome` of its delivery or None."""
        ...

    async def call_history(self, company_id: int, call_id: int) -> Sequence[Row]:
        """Return the newest facts of a call, newest first."""
        ...

    async def contact(self, company_id: int, contact_key: str) -> Row | None:
        """Return the contact of a number or address."""
        ...

    async def listed_contacts(self, company_id: int, wanted: ContactFilter, paging: Paging) -> Page:
        """Return contacts by descending id, each with `time_zones` of its leads and the `opted_out_source`."""
        ...

    async def reviews(self, company_id: int, paging: Paging) -> Page:
        """Return the contacts of which a doubtful text waits for a review, each with the newest such text."""
        ...

    async def suppressions(self, company_id: int, list_id: int, wanted: SuppressionFilter, paging: Paging) -> Page:
        """Return the entries of a suppression list by descending `contact_id`."""
        ...

    async def contact_history(self, company_id: int, contact_key: str) -> Sequence[Row]:
        """Return the newest facts about a contact itself, newest first; those of its leads and calls are theirs."""
        ...

    async def live_leads_of(self, company_id: int, contact_key: str, *, limit: int) -> Sequence[Row]:
        """Return the newest live leads of a contact."""
        ...

    async def facts_of(self, company_id: int, lead_id: int, *, before: Instant, limit: int) -> Sequence[Row]:
        """Return the newest facts of a lead before an instant, newest first: the columns of the history."""
        ...

    async def slot_queue_place(self, lead: Lead, *, since: Instant, now: Instant, limit: int) -> Row | None:
        """Return `before`, `waiting`, `lines` and `calls` of a lead's queue for slots, each count up to a limit.

        `lines` is null where the queue has no open request; `calls` are those of its step since an instant.
        """
        ...

    async def slot_queues_by_step(self, company_id: int, *, since: Instant, now: Instant, limit: int) -> Sequence[Row]:
        """Return the leads that wait for a line by step and by what they wait for, most first."""
        ...

    async def tallies(self, company_id: int, resources: Sequence[str]) -> Mapping[str, Mapping[str, CapUsage]]:
        """Return the usage of the caps of each resource (`buyer_group/7`) by period, as last counted by the account."""
        ...

    async def last_grants(self, company_id: int, resources: Sequence[str]) -> Mapping[str, Instant]:
        """Return when each resource with a spacing (`buyer/7`) got its last call; without those that had none."""
        ...

    async def audit_logs(self, company_id: int, wanted: AuditLogFilter, paging: Paging) -> Page:
        """Return who changed which account record, newest first."""
        ...

    async def agent_status_timestamps(self, company_id: int, wanted: AgentStatusFilter, paging: Paging) -> Page:
        """Return the log of the statuses of agents, newest first."""
        ...

    async def agent_statuses(self, company_id: int, agent_ids: Sequence[int]) -> Mapping[int, Row]:
        """Return the newest entry of the log of each agent that has one."""
        ...

    async def agent_events(self, after: Mapping[int, int], limit: int) -> Sequence[Row]:
        """Return the events for agents of each company (key) behind an event (value), in order; `limit` for each company."""
        ...

    async def newest_agent_event(self, company_id: int) -> int:
        """Return the id of the newest event for agents of a company, 0 without any."""
        ...

    async def lead_marks(self, leads: Collection[tuple[int, int]]) -> Mapping[tuple[int, int], str]:
        """Return a text of each lead (company, id) that differs once it, its contact or a call of it has changed."""
        ...

    async def agent_marks(self, agents: Collection[tuple[int, int]]) -> Mapping[tuple[int, int], str]:
        """Return a text of each agent (company, id): another one after a change for agents, of a call or its lead."""
        ...

    async def acknowledged_counts(self, company_id: int, message_ids: Sequence[int]) -> Mapping[int, int]:
        """Return how many agents have acknowledged each message; one that nobody has is left out."""
        ...

    async def acknowledged(self, company_id: int, agent_id: int, message_ids: Sequence[int]) -> frozenset[int]:
        """Return which of these messages an agent has acknowledged."""
        ...

    async def fleet_members(self, company_id: int, fleet_ids: Sequence[int]) -> Mapping[int, Sequence[int]]:
        """Return the ids of the live buyers of each buyer fleet, ascending; a fleet without any is left out."""
        ...

    async def slots(self, company_id: int, resources: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        """Return how many slots of each resource (`buyer_group/7`) are held, and how many contacts wait for one."""
        ...

    async def ring_pools(self, company_id: int, ring_pool_ids: Sequence[int], now: Instant) -> Mapping[int, Row]:
        """Return, by id, how many numbers of ring pools are held at an instant, and how many visitors found none."""
        ...

    async def ring_pool_holds(self, company_id: int, ring_pool_ids: Sequence[int], now: Instant) -> Sequence[Row]:
        """Return the numbers of ring pools that are held at an instant, with the newest impression that showed each."""
        ...

    async def unblock_progress(self, company_id: int, job_ids: Sequence[int]) -> Mapping[int, UnblockProgress]:
        """Return how far unblock contact jobs have come, by id; without those that no partition has adopted yet."""
        ...

    async def result(self, request_id: str) -> Result | None:
        """Return the result of a request, or None if it is not decided yet or older than 24 h."""
        ...

    async def ping(self) -> None:
        """Return if the database answers and its schema is the expected one or newer; else raise."""
        ...


class SilentAgent(Struct, frozen=True):
    """An agent whose page sent its last heartbeat at an instant of the database's clock."""

    company_id: int
    agent_id: int
    heard_at: Any


class Heartbeats(Protocol):
    """The heartbeats of the pages of agents. Raises `ReadsUnavailableError`.

    No contract suite: PostgreSQL alone keeps them; tests/adapters/postgres/test_heartbeats.py runs on a real one.
    """

    async def hear(self, company_id: int, agent_id: int) -> None:
        """Store that the page of an agent is open now."""
        ...

    async def renew(self, agent_id: int) -> None:
        """Store a sign of life of an agent whose page sends heartbeats; nothing for any other."""
        ...

    async def claim_silent(self, after_seconds: float, lease_seconds: float, limit: int) -> Sequence[SilentAgent]:
        """Return agents without a heartbeat for so long, and keep them from other processes for the lease."""
        ...

    async def forget(self, agent: SilentAgent) -> None:
        """Expect no heartbeat of an agent that was reported; one that came meanwhile counts."""
        ...


class WebhookLogReads(Protocol):
    """Attempts to post outgoing webhooks. Raises `ReadsUnavailableError`.

    No contract suite: PostgreSQL alone keeps them; tests/adapters/postgres/test_webhook_logs.py runs on a real one.
    """

    async def logs(self, company_id: int, wanted: WebhookLogFilter, paging: Paging) -> Page:
        """Return attempts, newest first."""
        ...

    async def ids_of_fires(self, company_id: int, fire_ids: Sequence[int]) -> Mapping[int, Sequence[int]]:
        """Return the newest attempts of each webhook that was fired by hand, oldest first; one without any is left out."""
        ...


class CircuitPage(Struct, frozen=True, kw_only=True):
    """Circuits that are not closed, most failures first, and how many more there are, of any company."""

    rows: Sequence[Row]
    left_out: int


class CircuitReads(Protocol):
    """Which circuits live gateways report as open or half-open. Raises `ReadsUnavailableError`.

    No contract suite: PostgreSQL alone keeps them; tests/adapters/postgres/test_circuits.py runs on a real one.
    """

    async def of_all(self) -> CircuitPage:
        """Return the circuits of all companies, one row for each gateway."""
        ...

    async def of_company(self, company_id: int) -> CircuitPage:
        """Return the circuits of one company, one row for each endpoint."""
        ...


class NewLeadBulkJob(Struct, frozen=True, kw_only=True):
    """A bulk job as it is made: what, by whom and from where. `request_id` names it, so that a repeat makes no other.

    A job that awaits imports is for the leads that `selects` matches once these have ended, at most `leads_max`.
    """

    company_id: int
    request_id: str
    created_at: Instant
    description: str | None
    action: str
    move_to_another_schedule_id: int | None
    filter: Mapping[str, Any]
    key_id: int | None
    user_email: str | None
    address: str
    actor: str | None
    leads_max: int = 0
    selects: LeadFilter | None = None
    awaited_imports: tuple[int, ...] = ()


class LeadBulkJob(Struct, frozen=True, kw_only=True):
    """A claimed bulk job: what is sent for each of its leads, and for whom.

    `selects`: which leads it is for, at most `leads_max`, where that is still to be read.
    """

    id: int
    company_id: int
    request_id: str
    action: str
    move_to_another_schedule_id: int | None
    key_id: int | None
    user_email: str | None
    address: str
    actor: str | None
    is_canceled: bool
    leads_max: int = 0
    selects: LeadFilter | None = None


class SentLead(Struct, frozen=True):
    """A lead of a bulk job, the contact that its request goes to (None: it does not exist any more), and when it went."""

    lead_id: int
    contact_key: str | None
    sent_at: Instant | None = None


class LeadBulkResult(Struct, frozen=True):
    """What came of a lead of a bulk job: a state, and why it was refused."""

    lead_id: int
    state: Literal["done", "refused", "unknown"]
    code: str | None = None
    detail: str | None = None


class TooManyJobsError(SenderError):
    """The company has as many bulk jobs that have not ended as it may have. Nothing was stored."""


class LeadBulkJobs(Protocol):
    """Bulk jobs and the results of their leads, in the `work` schema. Raises `ReadsUnavailableError`.

    No contract suite: PostgreSQL alone keeps them; tests/adapters/postgres/test_lead_bulk_jobs.py runs on a real one.
    """

    async def of_request(self, company_id: int, request_id: str) -> Row | None:
        """Return the job that a request has made, or None."""
        ...

    async def create(self, job: NewLeadBulkJob, lead_ids: Sequence[int]) -> Row:
        """Store a job with its leads, or return the one that its request has made. Raises `TooManyJobsError`."""
        ...

    async def select(self, job_id: int, holder: str, lead_ids: Sequence[int]) -> None:
        """Store the leads of a claimed job that awaited imports."""
        ...

    async def jobs(self, company_id: int, wanted: LeadBulkJobFilter, paging: Paging) -> Page:
        """Return jobs, newest first."""
        ...

    async def results(self, company_id: int, wanted: LeadBulkResultFilter, paging: Paging) -> Page:
        """Return what came of the leads of a job, the newest lead first."""
        ...

    async def changed_leads(self, company_id: int, job_id: int) -> Sequence[int]:
        """Return the leads that a job changed; of a stop those alone that it ended, and that are not stopped again since."""
        ...

    async def cancel(self, company_id: int, job_id: int, now: Instant) -> None:
        """Send no further lead of a job that has not ended; one that has stays as it is."""
        ...

    async def claim(self, holder: str, lease_seconds: float, now: Instant) -> LeadBulkJob | None:
        """Claim the next job for a while, or return None where there is none: one a company, and companies take turns."""
        ...

    async def release(self, job_id: int, holder: str) -> None:
        """Give a claim back, unless another process has the job by now."""
        ...

    async def leads(self, job: LeadBulkJob, state: str, limit: int) -> Sequence[SentLead]:
        """Return the next leads of a job in a state, `waiting` or `sent`, by rising id."""
        ...

    async def take(self, job_id: int, leads: Sequence[SentLead], now: Instant) -> frozenset[int]:
        """Note that the changes of waiting leads are being sent; return those that may be: none of a canceled job."""
        ...

    async def record(self, job_id: int, results: Sequence[LeadBulkResult]) -> None:
        """Store what came of leads, and count each once."""
        ...

    async def finish(self, job_id: int, now: Instant, failure: str | None = None) -> None:
        """End a job; `failure` says why it was broken off."""
        ...


class NewLeadImport(Struct, frozen=True, kw_only=True):
    """A file of leads as it is uploaded: how it is read, which column becomes what, for which token, and by whom.

    `consent` is the text or URL of the form that its leads consented by, where the import states it once.
    `digest` names all of that but the sender; `number` is 1, or one more for each time that it is imported again.
    """

    company_id: int
    digest: str
    number: int
    dry_run: bool
    created_at: Instant
    lead_token: str
    offer_id: int | None
    schedule_id: int | None
    format: str
    encoding: str
    mapping: Mapping[str, str]
    columns: Mapping[str, str | None]
    lead_import_id: int | None
    file: bytes
    key_id: int | None
    user_email: str | None
    address: str
    consent: Mapping[str, str] = {}


class ImportPosition(Struct, kw_only=True):
    """How far an import is: the last line that is done, and how many lines were right, wrong, and right with a warning.

    `offset` is that of the inbox from which on its next line may be, `dead_offset` that of the first dead letter that was
    not looked at; None before it began.
    """

    line: int = 0
    last_line: int | None = None
    good: int = 0
    refused: int = 0
    warned: int = 0
    offset: int | None = None
    dead_offset: int | None = None


class LineProblem(Struct, frozen=True):
    """What is wrong with one field of a line, or what it was warned of; `field` is empty where the whole line is meant."""

    line: int
    severity: Literal["error", "warning"]
    field: str
    problem: str


class SentBatch(Struct, frozen=True):
    """What came of the lines of a batch: those that were sent, when, and what is wrong with lines or was changed."""

    sent_at: Instant
    lines: tuple[int, ...] = ()
    problems: tuple[LineProblem, ...] = ()


class SentLine(Struct, frozen=True):
    """A line that was sent, and when; nobody has seen yet what was decided."""

    line: int
    sent_at: Instant


class DecidedLine(Struct, frozen=True):
    """What came of a line that was sent, and why it was rejected."""

    line: int
    state: Literal["decided", "rejected", "unknown"]
    problems: tuple[LineProblem, ...] = ()


class UploadedImport(Struct, frozen=True, kw_only=True):
    """A claimed import; `is_sent`: none of its lines is to be sent any more."""

    id: int
    company_id: int
    digest: str
    number: int
    dry_run: bool
    lead_token: str
    format: str
    encoding: str
    mapping: Mapping[str, str]
    key_id: int | None
    user_email: str | None
    address: str
    position: ImportPosition
    is_canceled: bool
    is_sent: bool
    consent: Mapping[str, str] = {}


class LeadImports(Protocol):
    """Uploaded files of leads and how far their imports are, in the `work` schema. Raises `ReadsUnavailableError`.

    No contract suite: PostgreSQL alone keeps them; tests/adapters/postgres/test_lead_imports.py runs on a real one.
    """

    async def newest_of(self, company_id: int, digest: str) -> Row | None:
        """Return the newest import of the same file, mapping and token that is no dry run, with its `number`."""
        ...

    async def create(self, upload: NewLeadImport) -> Row:
        """Store an upload, or return the one of this digest and number that there is. Raises `TooManyJobsError`."""
        ...

    async def imports(self, company_id: int, wanted: LeadImportFilter, paging: Paging) -> Page:
        """Return imports, newest first."""
        ...

    async def errors(self, company_id: int, wanted: LeadImportErrorFilter, paging: Paging) -> Page:
        """Return what is wrong with the lines of an import, the last line first."""
        ...

    async def open_ids(self, company_id: int, lead_import_id: int) -> Sequence[int]:
        """Return the imports whose leads have this number, and that have not ended."""
        ...

    async def cancel(self, company_id: int, job_id: int, now: Instant) -> None:
        """Send no further line of an import; one of which every line was sent stays as it is."""
        ...

    async def claim(self, holder: str, lease_seconds: float, now: Instant) -> UploadedImport | None:
        """Claim the next import, or return None where there is none: one a company at a time; companies take turns."""
        ...

    async def file(self, job_id: int, holder: str) -> bytes:
        """Return the file of a claimed import; empty where another process has the import."""
        ...

    async def save(self, job_id: int, holder: str, position: ImportPosition, batch: SentBatch, lease_seconds: float) -> bool:
        """Store how far a claimed import is with what came of its lines, and renew the claim.

        Return False where the import was canceled, or another process has it: send nothing more.
        """
        ...

    async def undecided(self, job_id: int, limit: int) -> Sequence[SentLine]:
        """Return the first lines that were sent and are not known to be decided."""
        ...

    async def settle(
        self, job_id: int, holder: str, lines: Sequence[DecidedLine], dead_offset: int | None, lease_seconds: float
    ) -> bool:
        """Store what was decided of lines of a claimed import, each once, and renew the claim.

        Return False where another process has it.
        """
        ...

    async def end_sending(self, job_id: int, holder: str, now: Instant, failure: str | None = None) -> None:
        """Send nothing more of a claimed import, and delete its file; `failure` says why it was broken off."""
        ...

    async def finish(self, job_id: int, holder: str, now: Instant) -> None:
        """End a claimed import: each of its lines is decided, or unknown."""
        ...

    async def release(self, job_id: int, holder: str) -> None:
        """Give a claim back, unless another process has the import by now."""
        ...


class SubscriptionReads(Protocol):
    """Deliveries to subscriptions, and what an operator or owner does about them. Raises `ReadsUnavailableError`.

    No contract suite: PostgreSQL alone keeps them; tests/adapters/subscriptions/test_store.py runs on a real one.
    """

    async def deliveries(self, company_id: int, wanted: DeliveryFilter, paging: Paging) -> Page:
        """Return deliveries, newest first, without their bodies."""
        ...

    async def body(self, company_id: int, delivery_id: int) -> str | None:
        """Return what a delivery sends, or None where there is none."""
        ...

    async def attempts(self, delivery_id: int) -> Sequence[Row]:
        """Return the attempts of a delivery, newest first: `number`, `at`, `milliseconds`, `status`, `detail`."""
        ...

    async def standings(self, company_id: int, subscription_ids: Sequence[int]) -> Mapping[int, Row]:
        """Return how the receiver of each subscription does."""
        ...

    async def replay(
        self, company_id: int, subscription_id: int, *, since: Instant, until: Instant, states: Sequence[str]
    ) -> int:
        """Send the events of a span that are in one of these states again, and return how many there are."""
        ...

    async def enable(self, company_id: int, subscription_id: int) -> None:
        """Send to a subscription again: what waits is tried at once."""
        ...


class Serving(Struct, frozen=True, kw_only=True):
    """Which channels (call, sms, email, webhook) gateways serve, and which by the sandbox, which reaches no person.

    `configured` are those that go by the provider configurations of each company, and by nothing else.
    """

    channels: frozenset[str] = frozenset()
    sandbox: tuple[str, ...] = ()
    configured: frozenset[str] = frozenset()


class ServedChannels(Protocol):
    """Reads which channels the gateways of this deployment serve.

    No contract suite: one adapter (`adapters.postgres.gateways.PostgresServing`), tested in
    tests/adapters/http/test_unserved.py on a real database.
    """

    @property
    def last(self) -> Serving:
        """Return the result of the last read; empty before the first."""
        ...

    async def read(self) -> Serving:
        """Read which channels are served now. Raises `ReadsUnavailableError`."""
        ...


class IdempotencyClaim(Struct, frozen=True, kw_only=True):
    """The first use of an Idempotency-Key: the digest of what was sent, the id of its request, and its answer."""

    digest: str
    request_id: str
    answer: bytes | None = None


SESSION_IDLE = HOUR
"""A session that is not used for an hour ends: an agent's break is shorter than that."""

SESSION_LONGEST = 12 * HOUR
"""The longest session, in use or not: a working day with its breaks."""


class UserSession(Struct, frozen=True, kw_only=True):
    """A session of a user: of its token the SHA-256, and a digest of what the user signed in with."""

    id: str
    token_sha256: str
    company_id: int
    user_id: int
    credentials: str


class StoredSession(Struct, frozen=True, kw_only=True):
    """A session with what the store knows of it; `is_stale`: it is time to note that it is used."""

    session: UserSession
    created_at: Instant
    pending_salt: str | None = None
    is_stale: bool = False


class SignInLimit(Struct, frozen=True):
    """How many attempts in a row are free, the longest wait between further ones, and when all are forgotten."""

    free: int
    wait_seconds_max: float
    forget_seconds: float


SIGN_IN_LIMITS: Mapping[str, SignInLimit] = {
    "user": SignInLimit(free=5, wait_seconds_max=900.0, forget_seconds=86_400.0),
    "address": SignInLimit(free=50, wait_seconds_max=900.0, forget_seconds=3_600.0),
}
"""Who tries to sign in -> how often: a user from one address, and an address for all users. Five are typing errors; then a
guesser has about a hundred a day. An office shares one address: fifty of its people may err, and then a guesser has a
hundred a day for all users together. Who errs from another address keeps nobody waiting."""


class SignIns(Protocol):
    """Sessions and attempts to sign in, in the `work` schema, which a rebuild of the projection never touches.

    Every method raises `ReadsUnavailableError`.

    No contract suite: one adapter (`adapters.postgres.sign_ins.PostgresSignIns`), tested in
    tests/adapters/postgres/test_sign_ins.py on a real database.
    """

    async def open(self, session: UserSession) -> StoredSession:
        """Store a session; end the user's oldest ones where there are too many."""
        ...

    async def find(self, session_id: str) -> StoredSession | None:
        """Return a session that has not expired."""
        ...

    async def find_all(self, session_ids: Sequence[str]) -> Mapping[str, StoredSession]:
        """Return those of some sessions that have not expired, by id, in one statement."""
        ...

    async def touch(self, *session_ids: str) -> None:
        """Note that sessions are used."""
        ...

    async def end(self, session_id: str) -> None:
        """End a session."""
        ...

    async def begin_second_factor(self, session_id: str, salt: str) -> None:
        """Remember the second factor that the user of a session sets up."""
        ...

    async def begin_attempt(self, kind: str, subject: str) -> int | None:
        """Count an attempt to sign in, of a kind in `SIGN_IN_LIMITS`; return the seconds to wait where it is too early."""
        ...

    async def forget_attempts(self, subject: str) -> None:
        """Forget the attempts of a user who has signed in."""
        ...

    async def take_attempt_back(self, subject: str) -> None:
        """Do not count an attempt from an address that was right."""
        ...

    async def note_use(self, company_id: int, key_id: int) -> None:
        """Note that a key of a person is used."""
        ...

    async def uses(self, company_id: int, key_ids: Sequence[int]) -> Mapping[int, Instant]:
        """Return when keys were used last; those that were not are left out."""
        ...

    async def use_code(self, company_id: int, user_id: int, step: int) -> bool:
        """Use a code of a second factor; False where it was used before."""
        ...


class TooManyViewsError(SenderError):
    """The user has as many views of the list of leads as one may save. Nothing was stored."""


class LeadViews(Protocol):
    """Views of the list of leads that users save, in the `work` schema. Raises `ReadsUnavailableError`.

    No contract suite: PostgreSQL alone keeps them; tests/adapters/postgres/test_lead_views.py runs on a real one.
    """

    async def of_user(self, company_id: int, user_id: int) -> Sequence[Row]:
        """Return the views of a user by their names."""
        ...

    async def save(self, company_id: int, user_id: int, name: str, query: Mapping[str, str], now: Instant) -> Row:
        """Store a view under its name, in the place of one that has it. Raises `TooManyViewsError`."""
        ...

    async def delete(self, company_id: int, user_id: int, view_id: int) -> Row | None:
        """Delete a view of a user and return it, or None where the user has no such view."""
        ...


class IdempotencyKeys(Protocol):
    """Idempotency-Keys, stored for 24 h in the `work` schema, which a rebuild of the projection never touches.

    No contract suite: one adapter (`adapters.postgres.idempotency.PostgresIdempotencyKeys`), tested in
    tests/adapters/postgres/test_idempotency.py on a real database.
    """

    async def claim(self, company_id: int, key: str, digest: str, request_id: str, *, now: Instant) -> IdempotencyClaim:
        """Claim a free key. Return the claim that holds: this one, or the earlier one if the key is in use.

        Raises `ReadsUnavailableError`.
        """
        ...

    async def keep(self, company_id: int, key: str, request_id: str, answer: bytes) -> bytes:
        """Store the answer to the request of a key unless it has one, and return the stored one.

        Raises `ReadsUnavailableError`.
        """
        ...


class OperatorKey(Struct, frozen=True):
    """A key of somebody who operates the whole deployment; it belongs to no company."""

    id: int
    name: str
    private_key_sha256: str
    is_revoked: bool


class OperatorChange(Struct, frozen=True, kw_only=True):
    """What somebody who operates the deployment changes: who, from where, and what.

    `key_id` is None for a command that was typed. `subject` is what is changed, `detail` how.
    """

    key_id: int | None
    actor: str
    address: str
    action: str
    subject: str
    detail: str
    request_id: str | None = None


class NewProjectionJob(Struct, frozen=True, kw_only=True):
    """What an operator asks a projector for: `kind` is verify or rebuild; `accept` swaps although rows differ."""

    kind: str
    accept: bool
    key_id: int
    asked_by: str


class ProjectionJobOpenError(SenderError):
    """Another verification or rebuild has not ended; `job` is that one. Nothing was stored."""

    def __init__(self, job: Row) -> None:
        super().__init__(f"job {job['id']} has not ended")
        self.job = job


class ProjectionJobs(Protocol):
    """Verifications and rebuilds of the projection that operators ask for. Methods raise `ReadsUnavailableError`.

    No contract suite: one adapter (`adapters.postgres.projection_jobs.PostgresProjectionJobs`), tested in
    tests/adapters/projector/test_projection_jobs.py on a real database.
    """

    async def create(self, job: NewProjectionJob) -> Row:
        """Store a job, which a projector takes. Raises `ProjectionJobOpenError`."""
        ...

    async def newest(self, limit: int) -> Sequence[Row]:
        """Return the newest jobs, newest first."""
        ...

    async def cancel(self, job_id: int) -> Row | None:
        """Cancel a job that is open and has not swapped; return it as it is then, or None where there is none."""
        ...


class Operators(Protocol):
    """Keys of operators, their changes, and the work tables of all companies. Methods raise `ReadsUnavailableError`.

    No contract suite: one adapter (`adapters.postgres.operators.PostgresOperators`), tested in
    tests/adapters/postgres/test_operators.py on a real database.
    """

    async def key(self, public_key: str) -> OperatorKey | None:
        """Return a key by its public half, revoked or not."""
        ...

    def audited(self, change: OperatorChange) -> AbstractAsyncContextManager[list[str]]:
        """Store a change before it is made, and its outcome after it: what the block appends to the list, or its error."""
        ...

    async def audits(self, *, before: int, limit: int) -> Sequence[Row]:
        """Return changes with an id below one, newest first."""
        ...

    async def gateways(self) -> Sequence[Row]:
        """Return which process serves which channel, and until when it did."""
        ...

    async def event_deliveries(self) -> Sequence[Row]:
        """Return the subscriptions of all companies whose events wait, were given up, or are not sent."""
        ...

    async def offsets(self) -> Mapping[tuple[str, str, int], int]:
        """Return the next offset of each (role, topic, partition) that the work tables know."""
        ...
