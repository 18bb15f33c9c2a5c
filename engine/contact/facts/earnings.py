"""What does a call count against the caps of its buyer, group and traffic source? Conversions and revenue, as they change.

Attempts and connections are not reported here: the slot of a call counts them.
"""

from collections.abc import Mapping
from decimal import Decimal

from engine.contact.facts.person import Person
from schemas.contact import Call
from schemas.money import NOTHING, amount
from schemas.records import Buyer, BuyerGroup, TrafficSource
from schemas.requests import CallEarned
from schemas.topics import ACCOUNTS_REQUESTS

Earnings = Mapping[str, Mapping[str, Decimal]]
"""Resource (`buyer_group/7`) -> metric -> amount."""


def earnings_of(call: Call) -> Earnings:
    """Return what a call has earned so far, with or without caps."""
    found: dict[str, Mapping[str, Decimal]] = {}
    earned = {
        "buyer_conversion": Decimal(call.buyer_converted),
        "earned_revenue": amount(call.revenue - call.payout),
        "revenue": call.revenue,
    }
    if call.buyer_group_id is not None:
        found[f"buyer_group/{call.buyer_group_id}"] = earned
    if call.buyer_id is not None:
        found[f"buyer/{call.buyer_id}"] = earned
    if call.traffic_source_id is not None:
        found[f"traffic_source/{call.traffic_source_id}"] = {"offer_conversion": Decimal(call.offer_converted)}
    return found


def report_change(person: Person, call: Call, before: Earnings) -> None:
    """Send the account the difference in what a call earned, for the resources that have caps, and for EPC."""
    after, amounts = earnings_of(call), dict[str, dict[str, Decimal]]()
    for resource in dict.fromkeys((*before, *after)):
        had, has = before.get(resource, {}), after.get(resource, {})
        more = {name: amount(has.get(name, NOTHING) - had.get(name, NOTHING)) for name in dict.fromkeys((*had, *has))}
        changed = {name: amount for name, amount in more.items() if amount}
        is_epc = call.routed_by_epc and resource.startswith("buyer/") and "revenue" in changed
        if changed and (is_epc or _has_caps(person, resource)):
            amounts[resource] = changed
    if amounts:
        message = CallEarned(
            company_id=person.company_id,
            call_id=call.id,
            at=call.created_at,
            amounts=amounts,
            routed_by_epc=call.routed_by_epc,
        )
        person.draft.send(ACCOUNTS_REQUESTS.name, str(person.company_id), message)


_KINDS: Mapping[str, type[Buyer | BuyerGroup | TrafficSource]] = {
    "buyer": Buyer,
    "buyer_group": BuyerGroup,
    "traffic_source": TrafficSource,
}


def _has_caps(person: Person, resource: str) -> bool:
    record_type, _, number = resource.partition("/")
    record_id = int(number)
    body = person.rules.body(_KINDS[record_type], record_type, record_id)
    return body is not None and bool(body.caps) and person.rules.owns(person.company_id, record_type, record_id)
