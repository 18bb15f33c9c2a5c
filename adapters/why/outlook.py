"""What will a company's leads do in the next hours? Simulate them in slices, the most urgent first, up to a limit."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import structlog
from msgspec import Struct

from adapters.reads.ports import DueLeadReads, Row
from adapters.why.lead_history import head_of, lead_of
from engine.rules import Rules
from engine.why.outlook import Outlook
from engine.why.simulation import LeadContext
from schemas.instant import Instant

logger = structlog.get_logger(__name__)

SLICE = 100
"""Leads to read and simulate at once: about a tenth of a second, then other tasks run."""


Run = Callable[..., Awaitable[Any]]


class OutlookQuery(Struct, frozen=True):
    """Which leads to simulate, by which rules, and how to run a slice."""

    reads: DueLeadReads
    rules: Rules
    company_id: int
    run: Run


async def outlook_of(
    reads: DueLeadReads,
    rules: Rules,
    company_id: int,
    *,
    now: Instant,
    hours: int,
    limit: int,
    progress: Callable[[int], None] = lambda _: None,
    run: Run = asyncio.to_thread,
) -> dict[str, Any]:
    """Return the sums over at most `limit` leads that are due within the hours, and as many that expire before an action.

    `run` computes one slice of leads outside the event loop.
    """
    query, outlook = OutlookQuery(reads, rules, company_id, run), Outlook(now, hours)
    until = outlook.until
    due = await reads.due_leads_count(company_id, before=until)
    after: tuple[Any, int] | None = None
    while outlook.leads < limit:
        size = min(SLICE, limit - outlook.leads)
        rows = await reads.due_leads(company_id, before=until, after=after, limit=size)
        await _add(query, outlook, rows)
        progress(len(rows))
        if len(rows) < size:
            break
        after = rows[-1]["next_action_at"], rows[-1]["id"]
    taken = outlook.leads
    await _add_expiring(query, outlook, limit)
    left_out = None if due is None else max(0, due - taken)
    return {**outlook.shown(), "limit": limit, "left_out": left_out}


async def _add_expiring(query: OutlookQuery, outlook: Outlook, limit: int) -> None:
    after, most = 0, outlook.leads + limit
    while outlook.leads < most:
        rows = await query.reads.expiring_leads(query.company_id, before=outlook.until, after=after, limit=SLICE)
        await _add(query, outlook, rows)
        if len(rows) < SLICE:
            return
        after = rows[-1]["id"]


async def _add(query: OutlookQuery, outlook: Outlook, rows: Sequence[Row]) -> None:
    company_id = query.company_id
    keys = sorted({row["contact_key"] for row in rows})
    heads = {row["contact_key"]: row for row in await query.reads.contacts(company_id, keys)} if keys else {}
    await query.run(_run, outlook, query.rules, company_id, rows, heads)


def _run(outlook: Outlook, rules: Rules, company_id: int, rows: Sequence[Row], heads: Mapping[str, Row]) -> None:
    for row in rows:
        key = row["contact_key"]
        try:
            head = head_of(heads.get(key), company_id, key)
            outlook.add(LeadContext(lead=lead_of(row), head=head, rules=rules))
        except Exception:  # one lead that fails must not end the forecast of its company
            logger.exception("lead.forecast_failed", lead_id=row["id"])
            outlook.leave_out()
