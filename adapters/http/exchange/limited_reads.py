"""How does a person read no lead, call or record that no team of theirs shows? By filters that are added to each read."""

from collections.abc import Sequence
from typing import TypeVar

from msgspec import structs

from adapters.http.exchange.access import ALL_OF_COMPANY
from adapters.reads.ports import (
    CallbackFilter,
    CallFilter,
    ConversionFilter,
    KeptSubmissionFilter,
    LeadFilter,
    LimitableReads,
    Page,
    Paging,
    RecordFilter,
    Row,
)
from engine.account.teams import Visibility
from engine.views.outcomes import OutcomeCount
from engine.views.report import Group, Grouping
from engine.views.step_flow import LeadPath
from engine.views.step_leads import StepLeads
from schemas.instant import Instant, Millis

F = TypeVar("F", bound=LeadFilter | CallFilter | CallbackFilter | ConversionFilter | KeptSubmissionFilter)

_ONE = Paging(per_page=1, counted=False)


def limit_reads(reads: LimitableReads, visibility: Visibility, record_type: str) -> LimitableReads:
    """Return the reads of what a visibility shows; `record_type` is the type of its `record_ids`."""
    return reads if visibility == ALL_OF_COMPANY else LimitedReads(reads, visibility, record_type)


class LimitedReads:
    """Reads what `visibility` leaves; anything else looks as if it did not exist.

    `record_type`: the type of `visibility.record_ids`. A single row is looked up once more as a list of one, so that
    one condition decides what is visible.
    """

    def __init__(self, reads: LimitableReads, visibility: Visibility, record_type: str) -> None:
        self._reads = reads
        self._visibility = visibility
        self._record_type = record_type

    async def lead(self, company_id: int, lead: int | str) -> Row | None:
        """Return a visible lead."""
        return await self._visible_lead(company_id, await self._reads.lead(company_id, lead))

    async def shown_lead(self, company_id: int, lead: int | str) -> Row | None:
        """Return the shown columns of a visible lead."""
        return await self._visible_lead(company_id, await self._reads.shown_lead(company_id, lead))

    async def leads(self, company_id: int, wanted: LeadFilter, paging: Paging) -> Page:
        """Return visible leads."""
        return await self._reads.leads(company_id, self._narrowed(wanted), paging)

    async def lead_ids(self, company_id: int, wanted: LeadFilter, limit: int) -> Sequence[int]:
        """Return the ids of the visible leads of a filter, ascending."""
        return await self._reads.lead_ids(company_id, self._narrowed(wanted), limit)

    async def newest_lead(
        self, company_id: int, contact_key: str, *, offer_id: int | None, schedule_ids: Sequence[int]
    ) -> Row | None:
        """Return the newest lead of a contact if it is visible."""
        row = await self._reads.newest_lead(company_id, contact_key, offer_id=offer_id, schedule_ids=schedule_ids)
        return await self._visible_lead(company_id, row)

    async def newest_named(
        self, company_id: int, external_record_id: str, *, offer_id: int | None, schedule_ids: Sequence[int]
    ) -> Row | None:
        """Return the newest lead with an external_record_id if it is visible."""
        row = await self._reads.newest_named(company_id, external_record_id, offer_id=offer_id, schedule_ids=schedule_ids)
        return await self._visible_lead(company_id, row)

    async def call(self, company_id: int, call: int | str) -> Row | None:
        """Return a visible call."""
        row = await self._reads.call(company_id, call)
        if row is None or self._visibility.leads is None:
            return row
        found = await self._reads.calls(company_id, self._narrowed(CallFilter(ids=(row["id"],))), _ONE)
        return row if found.rows else None

    async def calls(self, company_id: int, wanted: CallFilter, paging: Paging) -> Page:
        """Return visible calls."""
        return await self._reads.calls(company_id, self._narrowed(wanted), paging)

    async def kept_submissions(self, company_id: int, wanted: KeptSubmissionFilter, paging: Paging) -> Page:
        """Return the submissions that are kept beside visible leads."""
        return await self._reads.kept_submissions(company_id, self._narrowed(wanted), paging)

    async def conversions(self, company_id: int, wanted: ConversionFilter, paging: Paging) -> Page:
        """Return the conversions of visible leads and calls."""
        return await self._reads.conversions(company_id, self._narrowed(wanted), paging)

    async def callbacks(self, company_id: int, wanted: CallbackFilter, paging: Paging) -> Page:
        """Return the callbacks of visible leads."""
        return await self._reads.callbacks(company_id, self._narrowed(wanted), paging)

    async def created_span(self, company_id: int, wanted: LeadFilter | CallFilter) -> tuple[Instant, Instant] | None:
        """Return when the first and the last visible lead or call of a filter was created."""
        return await self._reads.created_span(company_id, self._narrowed(wanted))

    async def sums(
        self,
        company_id: int,
        wanted: LeadFilter | CallFilter | CallbackFilter,
        category: Grouping | None,
        pivot: Grouping | None,
    ) -> list[Group] | None:
        """Return the sums of visible leads, calls or callbacks by group."""
        return await self._reads.sums(company_id, self._narrowed(wanted), category, pivot)

    async def leads_by_step(
        self, company_id: int, wanted: LeadFilter, *, due_before: Instant, late_after: Millis, limit: int
    ) -> Sequence[StepLeads]:
        """Return the visible leads that are due or in progress."""
        narrowed = self._narrowed(wanted)
        return await self._reads.leads_by_step(
            company_id, narrowed, due_before=due_before, late_after=late_after, limit=limit
        )

    async def outcomes_by_channel(
        self, company_id: int, wanted: LeadFilter, *, recorded_from: Instant, recorded_to: Instant, limit: int
    ) -> Sequence[OutcomeCount]:
        """Return the commands about visible leads by outcome."""
        narrowed = self._narrowed(wanted)
        return await self._reads.outcomes_by_channel(
            company_id, narrowed, recorded_from=recorded_from, recorded_to=recorded_to, limit=limit
        )

    async def lead_paths(self, company_id: int, wanted: LeadFilter, *, limit: int, facts: int) -> Sequence[LeadPath]:
        """Return the newest visible leads of a filter, with the steps that they were at."""
        return await self._reads.lead_paths(company_id, self._narrowed(wanted), limit=limit, facts=facts)

    async def record(self, company_id: int, record_type: str, record: int | str) -> Row | None:
        """Return a visible account record."""
        row = await self._reads.record(company_id, record_type, record)
        known = self._visibility.record_ids if record_type == self._record_type else None
        return row if row is None or known is None or row["id"] in known else None

    async def records(self, company_id: int, record_type: str, wanted: RecordFilter, paging: Paging) -> Page:
        """Return visible account records."""
        known = self._visibility.record_ids if record_type == self._record_type else None
        if known is not None:
            ids = known if wanted.ids is None else tuple(one for one in wanted.ids if one in known)
            wanted = structs.replace(wanted, ids=ids)
        return await self._reads.records(company_id, record_type, wanted, paging)

    async def _visible_lead(self, company_id: int, row: Row | None) -> Row | None:
        if row is None or self._visibility.leads is None:
            return row
        found = await self._reads.leads(company_id, self._narrowed(LeadFilter(ids=(row["id"],))), _ONE)
        return row if found.rows else None

    def _narrowed(self, wanted: F) -> F:
        return structs.replace(wanted, visible=self._visibility.leads)
