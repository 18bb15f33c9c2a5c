"""What would a change of a schedule do to its leads that wait? Simulate a bounded sample in slices, in bounded time."""

from collections.abc import Callable
from typing import Any

from adapters.reads.ports import WaitingLeadReads
from adapters.why.outlook import LeadRun, Run
from engine.rules import Rules
from engine.why.what_if import ScheduleChange, WhatIf
from schemas.instant import Instant

SLICE = 50
"""Leads to read and simulate at once: each twice, so less than a tenth of a second."""

SECONDS_MAX = 10.0
"""After this no further slice begins, and the answer says how many leads were judged: 1,000 take one or two."""


async def what_if(
    reads: WaitingLeadReads,
    rules: Rules,
    company_id: int,
    *,
    schedule_id: int,
    change: ScheduleChange,
    now: Instant,
    limit: int,
    run: Run,
    monotonic: Callable[[], float],
) -> dict[str, Any]:
    """Return the sums over at most `limit` waiting leads of a schedule, those without an instant and the soonest first.

    `run` computes one slice of leads outside the event loop; `monotonic` gives seconds.
    """
    until = monotonic() + SECONDS_MAX
    leads = LeadRun(reads, rules, company_id, run)
    sums = WhatIf(now, rules.with_schedule(schedule_id, change.apply_to))
    waiting = await reads.waiting_leads_count(company_id, schedule_id)
    ids = await reads.waiting_lead_ids(company_id, schedule_id, limit=limit)
    for start in range(0, len(ids), SLICE):
        if monotonic() > until:
            break
        await leads.add(sums, await reads.leads_of_ids(company_id, ids[start : start + SLICE]))
    left_out = None if waiting is None else max(0, waiting - sums.leads)
    return {"schedule_id": schedule_id, "waiting": waiting, "limit": limit, "left_out": left_out, **sums.shown()}
