"""What will a company's leads do in the next hours? Read in slices, the most urgent first, up to a bound that is told."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from adapters.why.case import Row, head_of, lead_of
from engine.rules import Rules
from engine.why.course import Known
from engine.why.outlook import Outlook
from schemas.instant import Instant

SLICE = 100
"""Leads that are read and run on at once: some tenth of a second, then others have a turn."""


class Waiting(Protocol):
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


async def outlook_of(
    reads: Waiting,
    rules: Rules,
    company_id: int,
    *,
    now: Instant,
    hours: int,
    limit: int,
    progress: Callable[[int], None] = lambda _: None,
) -> dict[str, Any]:
    """Return the sums over at most `limit` leads that are due within the hours, and as many that expire unreached."""
    outlook = Outlook(now, hours)
    until = outlook.until
    due = await reads.due_leads_count(company_id, before=until)
    after: tuple[Any, int] | None = None
    while outlook.leads < limit:
        size = min(SLICE, limit - outlook.leads)
        rows = await reads.due_leads(company_id, before=until, after=after, limit=size)
        await _add(reads, rules, company_id, outlook, rows)
        progress(len(rows))
        if len(rows) < size:
            break
        after = rows[-1]["next_action_at"], rows[-1]["id"]
    taken = outlook.leads
    await _add_expiring(reads, rules, company_id, outlook, limit)
    left_out = None if due is None else max(0, due - taken)
    return {**outlook.shown(), "limit": limit, "left_out": left_out}


async def _add_expiring(reads: Waiting, rules: Rules, company_id: int, outlook: Outlook, limit: int) -> None:
    after, most = 0, outlook.leads + limit
    while outlook.leads < most:
        rows = await reads.expiring_leads(company_id, before=outlook.until, after=after, limit=SLICE)
        await _add(reads, rules, company_id, outlook, rows)
        if len(rows) < SLICE:
            return
        after = rows[-1]["id"]


async def _add(reads: Waiting, rules: Rules, company_id: int, outlook: Outlook, rows: Sequence[Row]) -> None:
    keys = sorted({row["contact_key"] for row in rows})
    heads = {row["contact_key"]: row for row in await reads.contacts(company_id, keys)} if keys else {}
    known = [
        Known(lead=lead_of(row), head=head_of(heads.get(row["contact_key"]), company_id, row["contact_key"]), rules=rules)
        for row in rows
    ]
    await asyncio.to_thread(_run, outlook, known)


def _run(outlook: Outlook, known: Sequence[Known]) -> None:
    for one in known:
        outlook.add(one)
