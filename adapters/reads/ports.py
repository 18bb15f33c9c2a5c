"""What does a reader of the projection get? Rows by id or filter, results of requests, idempotency keys, served channels.

Each protocol here has one implementation in `adapters.postgres`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from engine.views.report import Group, Grouping
from schemas.account import Tally
from schemas.decisions import Answer
from schemas.errors import DependencyError
from schemas.instant import DAY, Instant

RESULT_RETENTION = DAY
"""How long the result of a request can be read again, in milliseconds."""

Row = Mapping[str, Any]


"""One row of the read schema, by column name: timestamptz as aware datetime, jsonb decoded."""


class ReadsUnavailableError(DependencyError):
    """The database refused or did not answer in time."""


class ReadsTooSlowError(ReadsUnavailableError):
    """The database gave up a statement that took longer than one may."""


class Result(Struct, frozen=True, kw_only=True):
    """What came of a request: the row of `request_results`, written in the transaction of the rows it speaks of."""

    request_id: str
    company_id: int
    verdict: str
    answer: Answer | None
    decided_at: Instant


class Paging(Struct, frozen=True, kw_only=True):
    """Which rows of a list: by `page` (from 1) or by `cursor`, never by both.

    `cursor` None: pages, ordered by `order` (a column; None is created_at), created_at, id. Otherwise: rows with an id below
    `cursor`, or from the newest on where it is -1, in descending order of id. `after` is for whoever reads a whole list in
    its order: that of the page before, whatever it says; `page` is 1 then.
    """

    page: int = 1
    per_page: int = 25
    cursor: int | None = None
    order: str | None = None
    descending: bool = True
    counted: bool = True
    after: Any = None


class Page(Struct, frozen=True, kw_only=True):
    """Rows in order. `total_count` is exact up to 10,000 and None beyond (or where it was not asked for).

    `next_cursor`: with a cursor, the id of the last row, or 0 where no further row follows. `after` is where the next
    page of the same order begins, None where there is none.
    """

    rows: Sequence[Row]
    after: Any = None
    total_count: int | None = None
    next_cursor: int | None = None


class LeadFilter(Struct, frozen=True, kw_only=True):
    """Which leads: every field that is set must match. Bounds include their lower and exclude their upper instant.

    `has_next_action` asks for leads whose next action has an instant and is not under way. `completed_calls` asks for leads
    that completed with one outbound call (1) or with more (2). `fulltext` finds words by their beginning, numbers by all,
    the last ten, seven or four of their digits.
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
    fulltext: str | None = None


class CallFilter(Struct, frozen=True, kw_only=True):
    """Which calls: every field that is set must match. Bounds include their lower and exclude their upper instant.

    `token_key`: calls with this token; `token_value`: calls with this (key, value). `fulltext` as for leads.
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


class RecordFilter(Struct, frozen=True, kw_only=True):
    """Which account records of a type; `paused` compares that field of the body."""

    ids: tuple[int, ...] | None = None
    created_from: Instant | None = None
    created_to: Instant | None = None
    paused: bool | None = None
    fulltext: str | None = None


class DueLeadReads(Protocol):
    """The reads that a forecast needs, each of one company. They raise `ReadsUnavailableError`."""

    async def due_leads(
        self, company_id: int, *, before: Instant, after: tuple[Any, int] | None, limit: int
    ) -> Sequence[Row]:
        """Return live leads whose next action is before an instant, soonest first, behind (next action, id)."""
        ...

    async def due_leads_count(self, company_id: int, *, before: Instant) -> int | None:
        """Return how many those are, None where they are more than are counted."""
        ...

    async def expiring_leads(self, company_id: int, *, before: Instant, after: int, limit: int) -> Sequence[Row]:
        """Return waiting leads without a next action that expire before an instant, by rising id."""
        ...

    async def contacts(self, company_id: int, contact_keys: Sequence[str]) -> Sequence[Row]:
        """Return what is true of numbers and addresses themselves."""
        ...


class Reads(DueLeadReads, Protocol):
    """Queries on the projection. Every method raises `ReadsUnavailableError` where the database does not answer."""

    async def lead(self, company_id: int, lead: int | str) -> Row | None:
        """Return a lead by internal id (int) or uuid (str), deleted or not."""
        ...

    async def shown_lead(self, company_id: int, lead: int | str) -> Row | None:
        """Return of a lead, deleted or not, what is shown of it (`engine.views.lead.ROW_COLUMNS`)."""
        ...

    async def leads(self, company_id: int, wanted: LeadFilter, paging: Paging) -> Page:
        """Return live rows of leads (deleted ones left out)."""
        ...

    async def calls(self, company_id: int, wanted: CallFilter, paging: Paging) -> Page:
        """Return calls (deleted ones left out)."""
        ...

    async def call(self, company_id: int, call: int | str) -> Row | None:
        """Return a call by internal id (int) or uuid (str), deleted or not."""
        ...

    async def call_history(self, company_id: int, call_id: int) -> Sequence[Row]:
        """Return the newest facts of a call, newest first."""
        ...

    async def created_span(self, company_id: int, wanted: LeadFilter | CallFilter) -> tuple[Instant, Instant] | None:
        """Return when the first and the last of the leads or calls that a filter leaves were created."""
        ...

    async def sums(
        self, company_id: int, wanted: LeadFilter | CallFilter, category: Grouping | None, pivot: Grouping | None
    ) -> Sequence[Group] | None:
        """Return the sums of the leads or calls that a filter leaves, by group; None where the groups are too many."""
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

    async def contact(self, company_id: int, contact_key: str) -> Row | None:
        """Return what is true of a number or address itself."""
        ...

    async def live_leads_of(self, company_id: int, contact_key: str, *, limit: int) -> Sequence[Row]:
        """Return the newest live leads of a contact."""
        ...

    async def facts_of(self, company_id: int, lead_id: int, *, before: Instant, limit: int) -> Sequence[Row]:
        """Return the newest facts of a lead before an instant, newest first: the columns of the history."""
        ...

    async def record(self, company_id: int, record_type: str, record: int | str) -> Row | None:
        """Return an account record by internal id (int) or uuid (str), deleted or not.

        A row has the columns of `schemas.records.Record`; `body` is the decoded JSON of the body.
        """
        ...

    async def records(self, company_id: int, record_type: str, wanted: RecordFilter, paging: Paging) -> Page:
        """Return live account records; `Paging.order` may name a field of the body."""
        ...

    async def tallies(self, company_id: int, resources: Sequence[str]) -> Mapping[str, Mapping[str, Tally]]:
        """Return what is used of the caps of each resource (`buyer_group/7`), by period, as the account counted it last."""
        ...

    async def slots(self, company_id: int, resources: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        """Return how many slots of each resource (`buyer_group/7`) are held, and how many contacts wait for one."""
        ...

    async def result(self, request_id: str) -> Result | None:
        """Return what came of a request, or None where it was not decided yet or is over 24 h old."""
        ...

    async def ping(self) -> None:
        """Return where the database answers and its schema is the expected one."""
        ...


class Serving(Struct, frozen=True, kw_only=True):
    """Which channels (call, sms, email, webhook) gateways serve, and which of them by the sandbox, which reaches nobody."""

    channels: frozenset[str] = frozenset()
    sandbox: tuple[str, ...] = ()


class ServedChannels(Protocol):
    """Who serves what in this deployment, as its gateways say."""

    @property
    def last(self) -> Serving:
        """Return what was read last; nothing is served before the first time."""
        ...

    async def read(self) -> Serving:
        """Read who serves what now. Raises `ReadsUnavailableError`."""
        ...


class IdempotencyClaim(Struct, frozen=True, kw_only=True):
    """The first use of an Idempotency-Key: the digest of what was sent, the request that was made of it, and its answer."""

    digest: str
    request_id: str
    answer: bytes | None = None


class IdempotencyKeys(Protocol):
    """Idempotency-Keys, kept 24 h in the `work` schema, which a rebuild of the projection never touches."""

    async def claim(self, company_id: int, key: str, digest: str, request_id: str, *, now: Instant) -> IdempotencyClaim:
        """Return the claim that stands: the given one where the key was free, else the earlier one.

        Raises `ReadsUnavailableError`.
        """
        ...

    async def keep(self, company_id: int, key: str, request_id: str, answer: bytes) -> bytes:
        """Keep the answer to the request of a key unless there is one, and return the one that stands.

        Raises `ReadsUnavailableError`.
        """
        ...
