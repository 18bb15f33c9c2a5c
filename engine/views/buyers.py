"""Could a buyer take a call of this lead now? The buyers that its schedule and offer name, and why each cannot.

Pauses, filters, hours, concurrency, caps and spacing are known, as the account counts. When one will be free again is known
where only hours, caps, spacing and pauses with an `unpause_at` are in the way. Nobody knows when another pause, a call or an
opt-out ends, nor when the lead has what a filter asks for.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from engine.account.caps import CapBlock, Capped, Tallies, blocking_caps
from engine.account.pausing import pauses_end_at
from engine.account.spacing import next_call_at
from engine.calendar.business import opens_for_business
from engine.contact.schedule.filters import all_hold, lookup_of_lead
from engine.inbound_pause import inbound_pause
from engine.rules import Rules
from schemas.instant import Instant, to_rfc3339
from schemas.records import Buyer, BuyerGroup, Number, Offer, Schedule, TrafficSource

Row = Mapping[str, Any]
Held = Mapping[str, tuple[int, int]]
"""Resource (`buyer/7`) -> how many slots are held, and how many contacts wait for one."""

SHARED_TYPES = frozenset({"traffic_source", "number"})
"""Records whose limits hold for every buyer: a reason names them, so that nobody looks at the buyer."""

Way = tuple[int | None, int]
"""A group or None, and a buyer."""


def ways(row: Row, rules: Rules) -> list[Way]:
    """Return every way in which a call of a lead could be connected, each once.

    Sorted by tier (lowest first), then weight (highest first), then the order in the schedule; a group's tier and weight
    come before those of its buyers.
    """
    return sorted(dict.fromkeys(_ways(row, rules)), key=partial(_place, rules))


def resources(row: Row, found: Iterable[Way], rules: Rules) -> list[str]:
    """Return what has slots along these ways: groups, buyers, and the traffic source and the number of the lead."""
    named = (name for group, buyer in found for name in (f"buyer_group/{group}" if group else None, f"buyer/{buyer}"))
    return list(dict.fromkeys(name for name in (*named, *_shared(row, rules)) if name is not None))


def _shared(row: Row, rules: Rules) -> dict[str, Capped | None]:
    """Return what limits every call of a lead: its traffic source, and the number that it is called from."""
    shared: dict[str, Capped | None] = {}
    company_id, source_id = row["company_id"], row.get("traffic_source_id")
    if source_id is not None:
        is_own = rules.owns(company_id, "traffic_source", source_id)
        shared[f"traffic_source/{source_id}"] = rules.body(TrafficSource, "traffic_source", source_id) if is_own else None
    number = rules.number(company_id, row.get("svc_number"))
    if number is not None:
        shared[f"number/{number.id}"] = rules.body(Number, "number", number.id)
    return shared


class Capacity(Struct, frozen=True):
    """What is known of buyers at an instant: their records, and by resource the slots held, the caps used, the last call.

    `suppressed_by` are the suppression lists that the person is on.
    """

    rules: Rules
    held: Held
    tallies: Mapping[str, Tallies]
    now: Instant
    granted: Mapping[str, Instant] = {}
    suppressed_by: Sequence[int] = ()

    def is_full(self, limit: int | None, resource: str) -> bool:
        """Return whether all slots of a resource are held."""
        return limit is not None and self.held.get(resource, (0, 0))[0] >= limit

    def spaced_until(self, along: Mapping[str, Buyer | BuyerGroup | None]) -> Instant | None:
        """Return when the spacing of all these is over, None where it is."""
        bodies = ((resource, body) for resource, body in along.items() if body is not None)
        found = (next_call_at(body.spacing_seconds, self.granted.get(resource)) for resource, body in bodies)
        return max((at for at in found if at is not None and at > self.now), default=None)

    def blocking_caps(self, body: Capped, resource: str) -> CapBlock | None:
        """Return the caps of a record that let no call through now, if any."""
        return blocking_caps(self.tallies.get(resource, {}), body, self.now)


def availability(row: Row, found: Iterable[Way], capacity: Capacity) -> dict[str, Any]:
    """Return which buyers could take a call of a lead now, and for each of the others the reason why it cannot.

    `next_available_at` is when the first of the buyers can take a call again, None where one can now, or where no clock
    says when.
    """
    reasons: dict[int, str | None] = {}
    opens: list[Instant] = []
    paused = inbound_pause(capacity.rules, row["company_id"], _offer_id(row, capacity.rules))
    if paused is not None:
        reasons = {buyer_id: paused for _, buyer_id in found}
        found = ()
    for group_id, buyer_id in found:
        if reasons.get(buyer_id, "") is None:
            continue
        obstacle = _obstacle(row, capacity, group_id, buyer_id)
        reasons[buyer_id] = None if obstacle is None else obstacle.reason
        if obstacle is not None and obstacle.until is not None:
            opens.append(obstacle.until)
    free = [buyer_id for buyer_id, reason in reasons.items() if reason is None]
    return {
        "available": bool(free),
        "buyer_ids": free,
        "next_available_at": None if free or not opens else to_rfc3339(min(opens)),
        "reasons": {str(buyer_id): reason for buyer_id, reason in reasons.items() if reason is not None},
    }


def _ways(row: Row, rules: Rules) -> Iterator[Way]:
    schedule = rules.body(Schedule, "schedule", row["schedule_id"])
    if schedule is not None and row["schedule_version"] is not None:
        schedule = rules.schedule(row["schedule_id"], row["schedule_version"]) or schedule
    for step in schedule.steps if schedule is not None else ():
        connect = getattr(step, "connect", None)
        if connect is not None:
            for group_id in connect.group_ids:
                yield from _named(rules, row["company_id"], group_id, ())
            yield from _named(rules, row["company_id"], None, connect.buyer_ids)
    offer = rules.body(Offer, "offer", _offer_id(row, rules))
    if offer is not None:
        for group_id in offer.buyer_group_ids:
            yield from _named(rules, row["company_id"], group_id, ())
        yield from _named(rules, row["company_id"], None, offer.buyer_ids)


def _offer_id(row: Row, rules: Rules) -> int | None:
    schedule = rules.body(Schedule, "schedule", row["schedule_id"])
    found: int | None = row["offer_id"] or (None if schedule is None else schedule.offer_id)
    return found


def _named(rules: Rules, company_id: int, group_id: int | None, buyer_ids: Iterable[int]) -> Iterator[Way]:
    group = rules.body(BuyerGroup, "buyer_group", group_id)
    for buyer_id in buyer_ids if group is None else group.buyer_ids:
        if rules.owns(company_id, "buyer", buyer_id):
            yield (None if group is None else group_id), buyer_id


def _place(rules: Rules, way: Way) -> list[tuple[int, int]]:
    """Return where a way stands among the others."""
    group, buyer = rules.body(BuyerGroup, "buyer_group", way[0]), rules.body(Buyer, "buyer", way[1])
    along = [body for body in (group or buyer, buyer) if body is not None]
    return [(body.tier, -body.weight) for body in along]


class Obstacle(Struct, frozen=True):
    """Why a buyer cannot take a call, and until when, where that is known."""

    reason: str
    until: Instant | None = None


def _obstacle(row: Row, capacity: Capacity, group_id: int | None, buyer_id: int) -> Obstacle | None:
    """Return what blocks a call to a buyer now, or None."""
    rules, now = capacity.rules, capacity.now
    buyer, group = rules.body(Buyer, "buyer", buyer_id), rules.body(BuyerGroup, "buyer_group", group_id)
    if buyer is None or _is_stopped(row) or not set(capacity.suppressed_by).isdisjoint(buyer.suppression_list_ids):
        return Obstacle("paused" if buyer is None else "suppressed")
    along = {f"buyer_group/{group_id}": group, f"buyer/{buyer_id}": buyer}
    bodies = [body for body in along.values() if body is not None]
    resumes_at, takes_lead = pauses_end_at(bodies, now), all_hold(buyer.filters, lookup_of_lead(row.__getitem__))
    hit, full = _used_up(row, capacity, along)
    spaced_until = capacity.spaced_until(along)
    resets = [resumes_at, *(block.until for block in hit.values()), spaced_until or now]
    known = [at for at in resets if at is not None]
    # Nobody knows when the calls end that hold all slots, or that a cap has reserved.
    is_busy = full is not None or any(block.may_be_freed for block in hit.values())
    is_known = takes_lead and not is_busy and len(known) == len(resets)
    until = _opens(bodies, max(known)) if is_known else None
    if resumes_at != now:
        return Obstacle("paused", until)
    if not takes_lead:
        return Obstacle("filter")
    if _opens(bodies, now) != now:
        return Obstacle("hours", until)
    reason = _limit(hit, full, is_spaced=spaced_until is not None)
    return None if reason is None else Obstacle(reason, until)


def _limit(hit: Mapping[str, CapBlock], full: str | None, *, is_spaced: bool) -> str | None:
    """Return the first limit that blocks a call."""
    for resource, block in hit.items():
        return _named_after(resource, f"{block.caps[0].rpartition('_')[2]}_cap")
    if full is not None:
        return _named_after(full, "concurrency")
    return "spacing" if is_spaced else None


def _named_after(resource: str, reason: str) -> str:
    """Return the reason with the record whose limit it is, where that is neither the buyer nor its group."""
    record_type = resource.partition("/")[0]
    return f"{record_type}_{reason}" if record_type in SHARED_TYPES else reason


def _is_stopped(row: Row) -> bool:
    return bool(row["opt_out"] or row["blocked"] or row["status"] == "dnc")


def _used_up(
    row: Row, capacity: Capacity, along: Mapping[str, Buyer | BuyerGroup | None]
) -> tuple[dict[str, CapBlock], str | None]:
    """Return what is at a cap, by resource, and the first resource all slots of which are held."""
    limiting: dict[str, Capped | None] = {**along, **_shared(row, capacity.rules)}
    bodies = {resource: body for resource, body in limiting.items() if body is not None}
    blocks = {resource: capacity.blocking_caps(body, resource) for resource, body in bodies.items()}
    full = (name for name, body in bodies.items() if capacity.is_full(body.concurrency_cap_limit, name))
    return {resource: block for resource, block in blocks.items() if block is not None}, next(full, None)


def _opens(bodies: Sequence[Buyer | BuyerGroup], at: Instant) -> Instant | None:
    return opens_for_business([(body.business_hours, body.time_zone) for body in bodies], at)
