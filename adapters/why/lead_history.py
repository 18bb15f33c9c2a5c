"""What does the read schema know of a lead? Its row and its contact's as the engine's structs again, and its facts.

A row holds everything that the engine knows (`rest` has what has no column), so this computes the next action as the
scheduler does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar
from uuid import UUID

import msgspec
import structlog

from adapters.postgres.tables import SUBMITTED_COLUMNS
from engine.rules import Rules
from engine.why.history import ANSWER_SPAN, LeadFact
from engine.why.model import LeadHistory, QueuePlace
from engine.why.simulation import LeadContext
from schemas.contact import Head, Lead
from schemas.instant import HOUR, Instant, from_datetime
from schemas.wire import Entity

E = TypeVar("E", bound=Entity)

logger = structlog.get_logger(__name__)

Row = Mapping[str, Any]

FACTS_MAX = 1_000
"""Facts of a lead to read, the newest first: a schedule of fifty steps leaves some three hundred."""

QUEUE_MAX = 100_000
"""Leads of a queue that are counted: some 0.1 s."""

SIBLINGS_MAX = 20
"""Other live leads of the person to simulate too; more schedules at once are a fault."""


class LeadHistoryReads(Protocol):
    """The reads that an answer needs, each of one company. They raise `ReadsUnavailableError`.

    No contract suite: a part of `adapters.reads.ports.Reads`, with its one adapter.
    """

    async def contact(self, company_id: int, contact_key: str) -> Row | None:
        """Return the row of a contact."""
        ...

    async def live_leads_of(self, company_id: int, contact_key: str, *, limit: int) -> Sequence[Row]:
        """Return the newest live leads of a contact."""
        ...

    async def slot_queue_place(self, lead: Lead, *, since: Instant, now: Instant, limit: int) -> Row | None:
        """Return the place of a lead in its queue for slots."""
        ...

    async def facts_of(self, company_id: int, lead_id: int, *, before: Instant, limit: int) -> Sequence[Row]:
        """Return the newest facts of a lead before an instant, newest first."""
        ...


async def read_lead_history(
    reads: LeadHistoryReads, rules: Rules, row: Row, *, at: Instant, now: Instant, with_queue: bool = True
) -> LeadHistory:
    """Return what is known about the lead of a row, for an answer about an instant.

    `with_queue`: its place in the queue for slots too, which says how many other leads of the company wait.
    """
    company_id, contact_key = row["company_id"], row["contact_key"]
    contact = await reads.contact(company_id, contact_key)
    others = await reads.live_leads_of(company_id, contact_key, limit=SIBLINGS_MAX + 1)
    facts = await reads.facts_of(company_id, row["id"], before=max(at, now) + ANSWER_SPAN, limit=FACTS_MAX)
    known = LeadContext(
        lead=lead_of(row),
        head=head_of(contact, company_id, contact_key),
        siblings=tuple(_readable(other for other in others if other["id"] != row["id"])),
        rules=rules,
    )
    queue = await _read_place(reads, known.lead, now) if with_queue else None
    return LeadHistory(known=known, facts=tuple(fact_of(fact) for fact in reversed(facts)), queue=queue)


async def _read_place(reads: LeadHistoryReads, lead: Lead, now: Instant) -> QueuePlace | None:
    """Return the place of a lead in its queue for slots, or None where it is in none."""
    if lead.slot_queue is None:
        return None
    row = await reads.slot_queue_place(lead, since=now - HOUR, now=now, limit=QUEUE_MAX + 1)
    if row is None:
        return None
    return QueuePlace(before=row["before"], waiting=row["waiting"], lines=row["lines"], calls_last_hour=row["calls"])


def _readable(rows: Iterable[Row]) -> Iterator[Lead]:
    """Yield the leads of rows; log and skip one that cannot be read, so that the others are answered."""
    for row in rows:
        try:
            lead = lead_of(row)
        except Exception:
            logger.exception("lead.read_failed", lead_id=row["id"])
        else:
            yield lead


def lead_of(row: Row) -> Lead:
    """Return the lead of a row, as its last decision left it."""
    own = {name: row[name] for name in SUBMITTED_COLUMNS if row[name] is not None}
    return _entity(Lead, row, {"columns": {**own, **row["columns"]}, "data": row["data"], "data_parts": 0})


def head_of(row: Row | None, company_id: int, contact_key: str) -> Head:
    """Return the head of a contact, without the ids of its requests: its row does not have them, and no plan needs them."""
    if row is None:
        return Head(company_id=company_id, contact_key=contact_key)
    return _entity(Head, row, {})


def fact_of(row: Row) -> LeadFact:
    """Return a fact of the history."""
    return LeadFact(
        at=from_datetime(row["at"]),
        type=row["type"],
        data=row["data"],
        topic=row["topic"],
        partition=row["partition"],
        sequence=row["sequence"],
    )


def _entity(kind: type[E], row: Row, more: Mapping[str, Any]) -> E:
    names = set(row.keys())
    values = {name: _plain(row[name]) for name in kind.__struct_fields__ if name in names and row[name] is not None}
    return msgspec.convert({**values, **row["rest"], **more}, kind)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return from_datetime(value)
    return str(value) if isinstance(value, UUID) else value
