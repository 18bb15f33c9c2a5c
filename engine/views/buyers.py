"""Could a buyer take a call of this lead now? The buyers that its schedule and offer name, and why each cannot.

Pauses, concurrency and caps of zero are known; what is used of the other caps is not counted, and buyers have no hours yet.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.rules import Rules
from schemas.records import Buyer, BuyerGroup, Offer, Schedule

Row = Mapping[str, Any]
Held = Mapping[str, tuple[int, int]]
"""Resource (`buyer/7`) -> how many slots are held, and how many contacts wait for one."""

Way = tuple[int | None, int]
"""A group or None, and a buyer."""


def ways(row: Row, rules: Rules) -> list[Way]:
    """Return every way in which a call of a lead could be connected, each once, those of its schedule first."""
    return list(dict.fromkeys(_ways(row, rules)))


def resources(found: Iterable[Way]) -> list[str]:
    """Return what has slots along these ways."""
    named = (name for group, buyer in found for name in (f"buyer_group/{group}" if group else None, f"buyer/{buyer}"))
    return list(dict.fromkeys(name for name in named if name is not None))


def availability(row: Row, found: Iterable[Way], rules: Rules, held: Held) -> dict[str, Any]:
    """Return which buyers could take a call of a lead now, and for each of the others the reason why it cannot."""
    reasons: dict[int, str | None] = {}
    for group_id, buyer_id in found:
        if reasons.get(buyer_id, "") is not None:
            reasons[buyer_id] = _reason(row, rules, held, group_id, buyer_id)
    free = [buyer_id for buyer_id, reason in reasons.items() if reason is None]
    return {
        "available": bool(free),
        "buyer_ids": free,
        "next_available_at": None,
        "reasons": {str(buyer_id): reason for buyer_id, reason in reasons.items() if reason is not None},
    }


def _ways(row: Row, rules: Rules) -> Iterator[Way]:
    schedule = rules.body(Schedule, "schedule", row["schedule_id"])
    if schedule is not None and row["schedule_version"] is not None:
        schedule = rules.schedule(row["schedule_id"], row["schedule_version"]) or schedule
    for step in schedule.steps if schedule is not None else ():
        connect = getattr(step, "connect", None)
        if connect is not None:
            yield from _named(rules, row["company_id"], connect.buyer_group_id, connect.buyer_ids)
    offer = rules.body(Offer, "offer", row["offer_id"] or (schedule.offer_id if schedule is not None else None))
    if offer is not None:
        for group_id in offer.buyer_group_ids:
            yield from _named(rules, row["company_id"], group_id, ())
        yield from _named(rules, row["company_id"], None, offer.buyer_ids)


def _named(rules: Rules, company_id: int, group_id: int | None, buyer_ids: Iterable[int]) -> Iterator[Way]:
    group = rules.body(BuyerGroup, "buyer_group", group_id)
    for buyer_id in buyer_ids if group is None else group.buyer_ids:
        record = rules.record("buyer", buyer_id)
        if record is not None and record.deleted_at is None and record.company_id == company_id:
            yield (None if group is None else group_id), buyer_id


def _reason(row: Row, rules: Rules, held: Held, group_id: int | None, buyer_id: int) -> str | None:
    """Return why a buyer cannot take a call now, or None where it can (research/domain.md 2.10)."""
    buyer, group = rules.body(Buyer, "buyer", buyer_id), rules.body(BuyerGroup, "buyer_group", group_id)
    if row["opt_out"] or row["blocked"]:
        return "suppressed"
    if buyer is None or buyer.paused or (group is not None and group.paused):
        return "paused"
    if group is not None:
        closed = next((cap for cap, limit in sorted(group.caps.items()) if limit <= 0), None)
        if closed is not None:
            return f"{closed.rpartition('_')[2]}_cap"
        if _is_full(group.concurrency_cap_limit, held, f"buyer_group/{group_id}"):
            return "concurrency"
    return "concurrency" if _is_full(buyer.concurrency_cap_limit, held, f"buyer/{buyer_id}") else None


def _is_full(limit: int | None, held: Held, resource: str) -> bool:
    return limit is not None and held.get(resource, (0, 0))[0] >= limit
