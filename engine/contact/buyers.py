"""To whom is an answered call connected? The buyers that a step names, as the account's records stand now."""

from bisect import bisect_right
from itertools import accumulate

from engine.calendar.business import is_open_for_business
from engine.contact.orders import Connection
from engine.contact.person import Person
from engine.contact.turns import turn_of
from schemas.contact import Lead
from schemas.records import Buyer, BuyerGroup
from schemas.requests import SlotAnswered
from schemas.schedule import Connect

Buyers = list[tuple[int, Buyer]]


def is_limited(person: Person, connect: Connect) -> bool:
    """Tell whether a slot must be asked for: the group or one of the buyers has a concurrency cap."""
    group = _group(person, connect)
    if group is not None and group.concurrency_cap_limit is not None:
        return True
    return any(buyer.concurrency_cap_limit is not None for _, buyer in _available(person, connect))


def connection(person: Person, lead: Lead, connect: Connect, grant: SlotAnswered | None) -> Connection | None:
    """Return whom to connect to, or None where buyers are named and none of them takes calls."""
    if grant is not None and grant.buyer_id is not None:
        return _granted(person, grant)
    if connect.buyer_group_id is None and not connect.buyer_ids:
        return Connection()
    buyers = _available(person, connect)
    if not buyers:
        return None
    buyer_id, buyer = _in_turn(lead, buyers)
    slot_id = grant.request_id if grant is not None else None
    return Connection(buyer_id, connect.buyer_group_id, buyer.number, buyer.timeout_seconds, slot_id)


def _in_turn(lead: Lead, buyers: Buyers) -> tuple[int, Buyer]:
    """Return the buyer of the lowest tier whose turn it is: each has as many turns as its weight."""
    first_tier = min(buyer.tier for _, buyer in buyers)
    tier = [found for found in buyers if found[1].tier == first_tier]
    # Where nobody has a weight all share alike.
    weights = [buyer.weight for _, buyer in tier] if any(buyer.weight for _, buyer in tier) else [1] * len(tier)
    turn = turn_of(lead, sum(weights), later=lead.attempts)
    return tier[bisect_right(list(accumulate(weights)), turn)]


def _granted(person: Person, grant: SlotAnswered) -> Connection | None:
    buyer = person.rules.body(Buyer, "buyer", grant.buyer_id)
    if buyer is None:
        return None
    return Connection(grant.buyer_id, grant.buyer_group_id, buyer.number, buyer.timeout_seconds, grant.request_id)


def _available(person: Person, connect: Connect) -> Buyers:
    buyer_ids = connect.buyer_ids
    if connect.buyer_group_id is not None:
        group = _group(person, connect)
        buyer_ids = () if group is None or not _takes_calls(person, group) else group.buyer_ids
    found = ((buyer_id, _buyer(person, buyer_id)) for buyer_id in buyer_ids)
    return [(buyer_id, buyer) for buyer_id, buyer in found if buyer is not None and _takes_calls(person, buyer)]


def _takes_calls(person: Person, body: Buyer | BuyerGroup) -> bool:
    return not body.paused and is_open_for_business(body.business_hours, body.time_zone, person.now)


def _group(person: Person, connect: Connect) -> BuyerGroup | None:
    record = person.rules.record("buyer_group", connect.buyer_group_id or 0)
    if record is None or record.company_id != person.company_id:
        return None
    return person.rules.body(BuyerGroup, "buyer_group", connect.buyer_group_id)


def _buyer(person: Person, buyer_id: int) -> Buyer | None:
    record = person.rules.record("buyer", buyer_id)
    if record is None or record.company_id != person.company_id:
        return None
    return person.rules.body(Buyer, "buyer", buyer_id)
