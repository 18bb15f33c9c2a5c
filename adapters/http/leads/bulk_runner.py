"""How does a bulk job reach its leads? Batch by batch, by the requests that an update of one lead sends.

The id of a request names the job and the lead, and its contact remembers ids for a day: a lead whose request was perhaps
lost with a process is sent again and changed once. What was sent longer ago is not sent again, and counts as unknown. The
next batch waits for the results of the one before, so a job takes what the schedulers have to spare.
"""

import asyncio
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from adapters.http.exchange.access import Access
from adapters.http.exchange.makers import FORBIDDEN, Maker, MakerAccess
from adapters.http.exchange.ports import Requests
from adapters.http.leads.job_loop import advance_jobs
from adapters.reads.ports import LeadBulkJob, LeadBulkJobs, LeadBulkResult, LeadFilter, Reads, Result, SentLead
from engine.views.lead_bulk_job import CHANGED_BY
from schemas.instant import HOUR, Instant
from schemas.records import LeadFilters
from schemas.requests import LeadUpdateRequested
from schemas.topics import CONTACTS_REQUESTS

BULK = "lead_bulk_job:create"
"""The scope that a job needs, when it is made and while it runs."""

BATCH_LEADS = 100
"""Leads that are sent before their results are awaited: so many requests of a job are open at most."""

RESULT_SECONDS = 10.0
"""How long the results of a batch are awaited; then they are asked for again, under the same ids."""

LEASE_SECONDS = 120.0
"""How long a process has a job alone: several times what a batch takes at worst."""

RESENT_FOR = 20 * HOUR
"""How long a request without a result is sent again: contacts remember its id for 24 hours."""


class LeadBulkRunner:
    """Advances the bulk jobs of all companies, from any number of processes."""

    def __init__(
        self,
        jobs: LeadBulkJobs,
        reads: Reads,
        requests: Requests,
        makers: MakerAccess,
        now: Callable[[], Instant],
    ) -> None:
        self._jobs = jobs
        self._reads = reads
        self._requests = requests
        self._makers = makers
        self._now = now
        self._holder = uuid.uuid4().hex

    async def run(self) -> None:
        """Advance jobs until cancelled; whatever one of them meets, the next look goes on."""
        await advance_jobs(self.advance_once, "bulk jobs")

    async def advance_once(self) -> bool:
        """Advance the next job by one batch; return False where there was nothing to do. Raises what the ports raise."""
        job = await self._jobs.claim(self._holder, LEASE_SECONDS, self._now())
        if job is None:
            return False
        try:
            return await self._advance(job)
        finally:
            await self._jobs.release(job.id, self._holder)

    async def _advance(self, job: LeadBulkJob) -> bool:
        if job.selects is not None and not job.is_canceled:
            await self._select(job, job.selects)
            return True
        access = await self._access(job)
        sent = await self._jobs.leads(job, "sent", BATCH_LEADS)
        if sent:
            return await self._settle(job, access, sent)
        waiting = [] if job.is_canceled else await self._jobs.leads(job, "waiting", BATCH_LEADS)
        if access is None or not waiting:
            await self._jobs.finish(job.id, self._now(), FORBIDDEN if waiting else None)
            return True
        gone = [one for one in waiting if one.contact_key is None]
        if gone:
            await self._jobs.record(job.id, [_refused(one.lead_id, "not_found", "There is no such lead.") for one in gone])
        there = [one for one in waiting if one.contact_key is not None]
        taken = await self._jobs.take(job.id, there, self._now()) if there else frozenset()
        await self._send(job, access, [one for one in there if one.lead_id in taken])
        return True

    async def _select(self, job: LeadBulkJob, wanted: LeadFilter) -> None:
        """Store which leads a job is for: the import that it names has ended."""
        lead_ids = await self._reads.lead_ids(job.company_id, wanted, job.leads_max + 1)
        if len(lead_ids) > job.leads_max:
            failure = f"more leads match than leads_max, which is {job.leads_max}; nothing was changed"
            await self._jobs.finish(job.id, self._now(), failure)
        else:
            await self._jobs.select(job.id, self._holder, lead_ids)

    async def _settle(self, job: LeadBulkJob, access: Access | None, sent: Sequence[SentLead]) -> bool:
        """Store the results of leads that were sent; send again what has none. Return whether there were any results."""
        known = dict(zip(sent, await asyncio.gather(*(self._result(job, one, 0) for one in sent)), strict=True))
        found = [_read_result(one.lead_id, result) for one, result in known.items() if result is not None]
        without = [one for one, result in known.items() if result is None]
        since = self._now() - RESENT_FOR
        late = without if access is None else [one for one in without if one.sent_at is None or one.sent_at < since]
        found += [LeadBulkResult(one.lead_id, "unknown") for one in late]
        if found:
            await self._jobs.record(job.id, found)
            return True
        return access is not None and await self._send(job, access, without)

    async def _send(self, job: LeadBulkJob, access: Access, leads: Sequence[SentLead]) -> bool:
        """Send the changes of leads, and store the results that come in time; return whether there were any."""
        visible = access.visibility(BULK).leads
        ends = await asyncio.gather(*(self._submit(job, one, visible) for one in leads), return_exceptions=True)
        failures = [end for end in ends if end is not None]
        if failures:
            raise failures[0]  # those that were stored are found by their results, the others are sent again
        results = await asyncio.gather(*(self._result(job, one, RESULT_SECONDS) for one in leads))
        found = [_read_result(one.lead_id, result) for one, result in zip(leads, results, strict=True) if result is not None]
        if found:
            await self._jobs.record(job.id, found)
        return bool(found)

    async def _submit(self, job: LeadBulkJob, lead: SentLead, visible: tuple[LeadFilters, ...] | None) -> None:
        contact_key = lead.contact_key or ""  # those that are sent have one
        message = LeadUpdateRequested(
            company_id=job.company_id,
            contact_key=contact_key,
            lead_id=lead.lead_id,
            visible=visible,
            **_change(job),
        )
        await self._requests.submit(
            CONTACTS_REQUESTS.name,
            contact_key,
            message,
            request_id=_request_id(job, lead.lead_id),
            company_id=job.company_id,
            actor=job.actor,
        )

    async def _result(self, job: LeadBulkJob, lead: SentLead, seconds: float) -> Result | None:
        return await self._requests.wait(_request_id(job, lead.lead_id), seconds)

    async def _access(self, job: LeadBulkJob) -> Access | None:
        """Return what the maker of a job may do now; None where that is not to change leads any more."""
        await self._makers.refresh()
        maker = Maker(job.company_id, job.key_id, job.user_email, job.address)
        return self._makers.of(maker, BULK, self._now())


def _request_id(job: LeadBulkJob, lead_id: int) -> str:
    return f"{job.request_id}/{lead_id}"


def _read_result(lead_id: int, result: Result) -> LeadBulkResult:
    answer = result.answer
    if answer is None or (result.verdict == "failed" and answer.code is None):
        return _refused(lead_id, "decision_failed", "The decision of this request failed; nothing was changed.")
    if answer.code is not None:
        return _refused(lead_id, answer.code, answer.detail)
    return LeadBulkResult(lead_id, "done")


def _refused(lead_id: int, code: str, detail: str | None) -> LeadBulkResult:
    return LeadBulkResult(lead_id, "refused", code, detail)


def _change(job: LeadBulkJob) -> dict[str, Any]:
    """Return the field of the update of one lead that does what a job does."""
    name = CHANGED_BY[job.action]
    return {name: job.move_to_another_schedule_id if job.action == "move" else True}
