"""What will a company's leads do in the next hours? Simulate them in slices, the most urgent first, up to a limit."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import structlog
from msgspec import Struct

from adapters.reads.ports import ContactReads, DueLeadReads, Row
from adapters.why.lead_history import head_of, lead_of
from engine.rules import Rules
from engine.why.outlook import Outlook
from engine.why.simulation import LeadContext
from schemas.instant import Instant

logger = structlog.get_logger(__name__)

SLICE = 100
"""Leads to read and simulate at once: about a tenth of a second, then other tasks run."""


Run = Callable[..., Awaitable[Any]]


class Sums(Protocol):
    """What the simulations of many leads add up to.

    No contract suite: `engine.why.outlook.Outlook` and `engine.why.what_if.WhatIf`, each with tests of its own.
    """

    def add(self, known: LeadContext) -> None:
        """Simulate a lead and add what comes of it."""
        ...

    def leave_out(self) -> None:
        """Count a lead that cannot be simulated."""
        ...


class LeadRun(Struct, frozen=True):
    """By which rules leads of a company are simulated, from which reads, and how to run a slice."""

    reads: ContactReads
    rules: Rules
    company_id: int
    run: Run

    async def add(self, sums: Sums, rows: Sequence[Row]) -> None:
        """Simulate the leads of rows outside the event loop, and add what comes of them."""
        keys = sorted({row["contact_key"] for row in rows})
        heads = {row["contact_key"]: row for row in await self.reads.contacts(self.company_id, keys)} if keys else {}
        await self.run(_run, sums, self.rules, self.company_id, rows, heads)


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
    leads, outlook = LeadRun(reads, rules, company_id, run), Outlook(now, hours)
    until = outlook.until
    due = await reads.due_leads_count(company_id, before=until)
    after: tuple[Any, int] | None = None
    while outlook.leads < limit:
        size = min(SLICE, limit - outlook.leads)
        rows = await reads.due_leads(company_id, before=until, after=after, limit=size)
        await leads.add(outlook, rows)
        progress(len(rows))
        if len(rows) < size:
            break
        after = rows[-1]["next_action_at"], rows[-1]["id"]
    taken = outlook.leads
    await _add_expiring(reads, leads, outlook, limit)
    left_out = None if due is None else max(0, due - taken)
    return {**outlook.shown(), "limit": limit, "left_out": left_out}


async def _add_expiring(reads: DueLeadReads, leads: LeadRun, outlook: Outlook, limit: int) -> None:
    after, most = 0, outlook.leads + limit
    while outlook.leads < most:
        rows = await reads.expiring_leads(leads.company_id, before=outlook.until, after=after, limit=SLICE)
        await leads.add(outlook, rows)
        if len(rows) < SLICE:
            return
        after = rows[-1]["id"]


def _run(sums: Sums, rules: Rules, company_id: int, rows: Sequence[Row], heads: Mapping[str, Row]) -> None:
    for row in rows:
        key = row["contact_key"]
        try:
            head = head_of(heads.get(key), company_id, key)
            sums.add(LeadContext(lead=lead_of(row), head=head, rules=rules))
        except Exception:  # one lead that fails must not end the forecast of its company
            logger.exception("lead.forecast_failed", lead_id=row["id"])
            sums.leave_out()
