"""How many live leads does a change of a schedule or offer end, take along, or leave behind? Counted before it is decided.

The partitions of the leads end and move them afterwards, by sweeps. So the counts are those of the read schema at the time
of the request, and are named so; a lead that came or ended meanwhile is not in them.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from adapters.http.exchange.exchange import Exchange
from adapters.http.schema.shapes import COUNTED_MAX, READ_SCHEMA
from adapters.reads.ports import Row
from engine.account.publishing import BY_STEP_ID
from engine.contact.schedule.cadence import cadence_of
from schemas.records import Schedule

SEES_ALL = "lead:read"


class LiveLeads(Struct, frozen=True):
    """The live leads of a schedule or offer by step, and the callbacks that are promised to them; None: not counted."""

    by_step: Mapping[str | None, int] | None = None
    callbacks: int | None = None

    @property
    def count(self) -> int | None:
        """How many leads these are."""
        return None if self.by_step is None else sum(self.by_step.values())


UNCOUNTED = LiveLeads()

Effect = Callable[[Row], Mapping[str, Any]]
"""Returns what an answer says beside a record that was changed, by its new row; `warnings` are added to the others."""

ENDING_TYPES = frozenset({"schedule", "offer"})
"""Types of records whose deletion ends leads."""


async def count_live_leads(exchange: Exchange, record_type: str, row: Row) -> LiveLeads:
    """Count the live leads that a schedule, or an offer without a schedule, has."""
    access, reads = exchange.access, exchange.services.reads
    if access is None or access.visibility(SEES_ALL).leads is not None:
        return UNCOUNTED  # a sum over the visible ones alone would pass for the whole
    read = reads.live_leads_of_schedule if record_type == "schedule" else reads.live_leads_of_offer
    rows = await read(exchange.company_id, row["id"], limit=COUNTED_MAX + 1)
    by_step = {found["step"]: found["leads"] for found in rows}
    if sum(by_step.values()) > COUNTED_MAX:
        return UNCOUNTED
    return LiveLeads(by_step, sum(found["callbacks"] for found in rows))


async def of_deletion(exchange: Exchange, record_type: str, row: Row) -> Effect | None:
    """Return what an answer says of the deletion of a schedule or offer; None of another record."""
    if record_type not in ENDING_TYPES:
        return None
    found = await count_live_leads(exchange, record_type, row)
    counts = {"live_leads_count": found.count, "scheduled_callbacks_count": found.callbacks}
    return lambda _: {"ends": {**counts, "counted_from": READ_SCHEMA}}


async def of_change(exchange: Exchange, record_type: str, row: Row, fields: Mapping[str, Any]) -> Effect | None:
    """Return what an answer says of a change that takes leads along; None of another one."""
    if record_type != "schedule" or fields.get("migrate") != BY_STEP_ID:
        return None
    found = await count_live_leads(exchange, record_type, row)
    return lambda after: _migration(found, after) if after["version"] > row["version"] else {}


def _migration(found: LiveLeads, row: Row) -> dict[str, Any]:
    """Return who goes over to the version that a schedule has now, and who stays, with a warning of these."""
    cadence = cadence_of(msgspec.convert(row["body"], Schedule))
    gone = {step: count for step, count in (found.by_step or {}).items() if step is not None and not cadence.has(step)}
    migrated = {
        "live_leads_count": found.count,
        "staying_count": None if found.by_step is None else sum(gone.values()),
        "staying": [
            {"step_id": step, "live_leads_count": count, "reason": "step_gone"} for step, count in sorted(gone.items())
        ],
        "counted_from": READ_SCHEMA,
    }
    return {"migration": migrated, **({"warnings": [_staying_sentence(migrated)]} if gone else {})}


def _staying_sentence(migrated: Mapping[str, Any]) -> str:
    at = ", ".join(f"{one['live_leads_count']} at {one['step_id']}" for one in migrated["staying"])
    many = migrated["staying_count"]
    leads, their = ("lead stays", "its") if many == 1 else ("leads stay", "their")
    return f"{many} live {leads} on an earlier version, because this one has no step of {their} id: {at}."
