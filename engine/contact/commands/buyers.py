"""To whom is an answered call connected? The buyers of the step, else of the lead's offer, as the records stand now.

A buyer takes no call of a lead for which one of its filters does not hold. Where one of them or the lead's traffic source
has a cap, the account chooses: it counts what is in use.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from msgspec import Struct, structs

from engine.account.caps import Capped
from engine.account.choice import Candidate, best_value, choose_several, first_in_line
from engine.account.pausing import pauses_end_at
from engine.calendar.business import is_open_for_business, opens_for_business
from engine.contact.commands.emission import BuyerConnection
from engine.contact.commands.numbers import next_dialing_number
from engine.contact.facts.person import Person
from engine.contact.schedule.filters import Lookup, all_hold, lookup_of_lead
from engine.contact.schedule.round_robin import pick_index
from engine.contact.timing.suppression import is_on
from schemas.commands import BUYER_LEGS_MAX, BuyerLeg
from schemas.contact import Lead
from schemas.instant import Instant
from schemas.money import NOTHING
from schemas.records import Agent, Buyer, BuyerGroup, Number, Offer, Schedule, TrafficSource
from schemas.requests import SlotAnswered
from schemas.schedule import CallStep, Connect, RouteBy

Buyers = list[tuple[int, Buyer]]


class BuyerChoice(Struct, frozen=True):
    """Who may take a call: the buyers of the groups; where none of these takes calls, the single buyers.

    Without any of them, the gateway connects the call to its own agents. A traffic source is named if it has a cap, and so
    is the number that the call is placed from. `tried_buyer_ids` and `tried_agent_ids` have been rung for this call and did
    not answer. With agents or call centers no buyer is asked. `route_by_type` says how buyers of one tier compete.
    """

    buyer_group_ids: tuple[int, ...] = ()
    buyer_ids: tuple[int, ...] = ()
    traffic_source_id: int | None = None
    tried_buyer_ids: tuple[int, ...] = ()
    agent_ids: tuple[int, ...] = ()
    call_center_ids: tuple[int, ...] = ()
    route_by_type: RouteBy = "tier"
    number_id: int | None = None
    tried_agent_ids: tuple[int, ...] = ()

    @property
    def is_for_agents(self) -> bool:
        """Return whether the call is for an agent of the company."""
        return bool(self.agent_ids or self.call_center_ids)

    @property
    def is_anyone(self) -> bool:
        """Return whether neither a buyer nor an agent is named."""
        return not self.buyer_group_ids and not self.buyer_ids and not self.is_for_agents


ANY_BUYER = BuyerChoice()


class Route(Struct, frozen=True):
    """The buyers of one group that take calls now, or those named without a group."""

    buyers: Buyers
    group_id: int | None = None
    group: BuyerGroup | None = None


def choice_of_step(connect: Connect) -> BuyerChoice:
    """Return the choice that a step names itself: agents, groups, or buyers."""
    if connect.agents is not None:
        return BuyerChoice(agent_ids=connect.agents.agent_ids, call_center_ids=connect.agents.call_center_ids)
    return BuyerChoice(buyer_group_ids=connect.group_ids, buyer_ids=connect.buyer_ids)


def choice_of_offer(offer: Offer) -> BuyerChoice:
    """Return the choice that an offer names: groups and buyers, or agents."""
    return BuyerChoice(
        offer.buyer_group_ids, offer.buyer_ids, agent_ids=offer.agent_ids, call_center_ids=offer.call_center_ids
    )


def choice_for(person: Person, lead: Lead, step: CallStep) -> BuyerChoice:
    """Return who may take the call of a step: the choice of the step, else of the lead's offer. A voice bot is no buyer."""
    choice = choice_of_step(step.connect)
    offer = None if step.connect.stream is not None else offer_of_lead(person, lead)
    if choice == ANY_BUYER and offer is not None:
        choice = choice_of_offer(offer)
    if not choice.is_anyone:
        by = step.connect.route_by_type or ("tier" if offer is None else offer.route_by_type)
        choice = structs.replace(choice, route_by_type=by)
    return with_number(person, lead, with_traffic_source(person, lead, choice), step.from_number)


def choice_for_inbound(person: Person, lead: Lead, offer_id: int | None, tried: tuple[int, ...]) -> BuyerChoice:
    """Return who may take an inbound call: the buyers or agents of its offer, but those that were rung before."""
    offer = offer_record(person, offer_id)
    choice = ANY_BUYER
    if offer is not None:
        choice = choice_of_offer(offer)
        rung: dict[str, Any] = {"tried_agent_ids" if choice.is_for_agents else "tried_buyer_ids": tried}
        choice = structs.replace(choice, route_by_type=offer.route_by_type, **rung)
    return with_traffic_source(person, lead, choice)


def with_traffic_source(person: Person, lead: Lead, choice: BuyerChoice) -> BuyerChoice:
    """Add the traffic source of the lead, if it has a cap."""
    source_id = source_of(lead)
    if source_id is None or not person.rules.owns(person.company_id, "traffic_source", source_id):
        return choice
    source = person.rules.body(TrafficSource, "traffic_source", source_id)
    return choice if source is None or not _has_limit(source) else structs.replace(choice, traffic_source_id=source_id)


def with_number(person: Person, lead: Lead, choice: BuyerChoice, from_number: str | None = None) -> BuyerChoice:
    """Add the number that the call is placed from, if it has a cap: the one of the step, else the lead's."""
    record = person.rules.number(person.company_id, from_number or next_dialing_number(person, lead))
    number_id = limited_number(person, None if record is None else record.id)
    return choice if number_id is None else structs.replace(choice, number_id=number_id)


def limited_number(person: Person, number_id: int | None) -> int | None:
    """Return the id of a number if it has a cap."""
    number = person.rules.body(Number, "number", number_id)
    return number_id if number is not None and _has_limit(number) else None


def source_of(lead: Lead) -> int | None:
    """Return the id of the traffic source that sent a lead."""
    source_id = lead.columns.get("traffic_source_id")
    return source_id if isinstance(source_id, int) and not isinstance(source_id, bool) else None


def excluded_buyers(person: Person, lead: Lead, choice: BuyerChoice) -> tuple[int, ...]:
    """Return the ids of the buyers of a choice that were tried, or whose filters do not hold for the lead, ascending."""
    lookup = lookup_of_lead(partial(getattr, lead))
    # One that was granted may have joined its group since: the account knows it, and this partition does not yet.
    named = _named(person, choice).union(choice.tried_buyer_ids)
    known = ((buyer_id, _buyer(person, buyer_id)) for buyer_id in sorted(named))
    return tuple(
        buyer_id
        for buyer_id, buyer in known
        if buyer_id in choice.tried_buyer_ids or (buyer is not None and not _takes_lead(person, buyer, lookup))
    )


def has_filters(person: Person, choice: BuyerChoice) -> bool:
    """Return whether a buyer of a choice has filters, or suppression lists."""
    known = (_buyer(person, buyer_id) for buyer_id in _named(person, choice))
    return any(buyer is not None and (buyer.filters or buyer.suppression_list_ids) for buyer in known)


def lists_of(person: Person, choice: BuyerChoice) -> Iterator[int]:
    """Yield the suppression lists that buyers of a choice name, in the order of the buyers' ids."""
    for buyer_id in sorted(_named(person, choice)):
        buyer = _buyer(person, buyer_id)
        yield from () if buyer is None else buyer.suppression_list_ids


def _named(person: Person, choice: BuyerChoice) -> set[int]:
    """Return the ids of the buyers of a choice, those of its groups included."""
    groups = (_group(person, group_id) for group_id in choice.buyer_group_ids)
    return {*choice.buyer_ids}.union(*(group.buyer_ids for group in groups if group is not None))


def is_limited(person: Person, lead: Lead, choice: BuyerChoice) -> bool:
    """Return whether a slot must be requested: a record on the way has a limit, EPC decides, or an agent takes the call.

    The account alone knows what is in use, what each buyer has earned, and which agent is available.
    """
    if choice.traffic_source_id is not None or choice.number_id is not None:
        return True
    if choice.is_for_agents or choice.route_by_type == "epc":
        return True
    groups = [_group(person, group_id) for group_id in choice.buyer_group_ids]
    if any(group is not None and _has_limit(group) for group in groups):
        return True
    return any(_has_limit(buyer) for route in _routes(person, lead, choice) for _, buyer in route.buyers)


def next_opening(person: Person, lead: Lead, choice: BuyerChoice, since: Instant | None = None) -> Instant | None:
    """Return when the first buyer of a choice opens that would take the lead; None where more than the clock decides.

    None of them takes a call before `since`, if that is given: those that are open then count. An entry of a buyer's
    suppression list may be removed at any time, and wakes nobody.
    """
    lookup = lookup_of_lead(partial(getattr, lead))
    found: list[Instant] = []
    for group, buyer in _members(person, choice):
        if is_on(person, buyer.suppression_list_ids):
            return None
        bodies: list[Buyer | BuyerGroup] = [buyer] if group is None else [buyer, group]
        resumes_at = pauses_end_at(bodies, since or person.now) if all_hold(buyer.filters, lookup) else None
        if resumes_at is not None:
            opens_at = opens_for_business([(body.business_hours, body.time_zone) for body in bodies], resumes_at)
            found += () if opens_at is None or opens_at <= person.now else (opens_at,)
    return min(found, default=None)


def _members(person: Person, choice: BuyerChoice) -> Iterator[tuple[BuyerGroup | None, Buyer]]:
    """Yield the buyers of a choice that were not tried, each with its group."""
    groups = [(group, group.buyer_ids) for group_id in choice.buyer_group_ids if (group := _group(person, group_id))]
    for group, buyer_ids in (*groups, (None, choice.buyer_ids)):
        for buyer_id in buyer_ids:
            buyer = None if buyer_id in choice.tried_buyer_ids else _buyer(person, buyer_id)
            if buyer is not None:
                yield group, buyer


def count_lines(person: Person, choice: BuyerChoice, most: int) -> int:
    """Return how many calls of a choice there may be at once, at least 1 and at most `most`."""
    if choice.is_for_agents:
        return most if choice.call_center_ids else max(1, min(most, len(choice.agent_ids)))
    lines = sum(_lines_of_buyer(person, buyer_id, most) for buyer_id in choice.buyer_ids)
    for group_id in choice.buyer_group_ids:
        group = _group(person, group_id)
        members = 0 if group is None else sum(_lines_of_buyer(person, buyer_id, most) for buyer_id in group.buyer_ids)
        lines += min(members, _limit_of(group, most))
    source = person.rules.body(TrafficSource, "traffic_source", choice.traffic_source_id)
    number = person.rules.body(Number, "number", choice.number_id)
    shared = min(_limit_of(source, most), _limit_of(number, most))
    return max(1, min(most if choice.is_anyone else lines, shared))


def _lines_of_buyer(person: Person, buyer_id: int, most: int) -> int:
    return _limit_of(_buyer(person, buyer_id), most)


def _limit_of(body: Capped | None, most: int) -> int:
    limit = None if body is None else body.concurrency_cap_limit
    return most if limit is None else min(most, limit)


def _has_limit(body: Capped) -> bool:
    has_spacing = isinstance(body, Buyer | BuyerGroup) and body.spacing_seconds > 0
    return body.concurrency_cap_limit is not None or bool(body.caps) or has_spacing


def is_answered_by(choice: BuyerChoice, grant: SlotAnswered) -> bool:
    """Return whether a grant is of what a choice asks for: the offer or the number may have changed since the request."""
    is_same_number = choice.number_id in {None, grant.number_id}
    return is_same_number and (grant.agent_id is not None) == choice.is_for_agents


def gone(person: Person, lead: Lead, grant: SlotAnswered) -> tuple[int, ...]:
    """Return who was granted and does not take the call any more: a record or the lead changed since the request."""
    lookup = lookup_of_lead(partial(getattr, lead))
    granted = grant.buyer_ids or (() if grant.buyer_id is None else (grant.buyer_id,))
    known = ((buyer_id, _buyer(person, buyer_id)) for buyer_id in granted)
    buyer_ids = tuple(buyer_id for buyer_id, buyer in known if buyer is None or not _takes_lead(person, buyer, lookup))
    agent_id = grant.agent_id
    is_agent_gone = agent_id is not None and not person.rules.owns(person.company_id, "agent", agent_id)
    return (*buyer_ids, agent_id) if agent_id is not None and is_agent_gone else buyer_ids


def connection(
    person: Person, lead: Lead, choice: BuyerChoice, grant: SlotAnswered | None, *, rings_several: bool = True
) -> BuyerConnection | None:
    """Return whom to connect to, or None where buyers or agents are named and none of them takes calls.

    Without `rings_several` the gateway of the call rings one buyer, of any group.
    """
    if choice.is_for_agents:
        return _agent_connection(person, grant)
    if grant is not None and (grant.buyer_ids or grant.buyer_id is not None):
        granted = _granted_several(person, lead, grant) if grant.buyer_ids else _granted(person, lead, grant)
        by_epc = choice.route_by_type == "epc"
        return None if granted is None else structs.replace(granted, routed_by_epc=by_epc)
    if choice.is_anyone:
        return BuyerConnection(slot_id=None if grant is None else grant.request_id)
    return _next_connection(person, lead, choice, grant, rings_several=rings_several)


def _next_connection(
    person: Person, lead: Lead, choice: BuyerChoice, grant: SlotAnswered | None, *, rings_several: bool
) -> BuyerConnection | None:
    """Return the buyer whose turn it is, or None where none takes calls."""
    routes = list(_routes(person, lead, choice))
    if not routes:
        return None
    route, turns = _next_route(lead, routes, choice.route_by_type)
    slot_id = None if grant is None else grant.request_id
    if rings_several and route.group is not None and route.group.dial_buyers_type == "simultaneously":
        chosen = choose_several(
            _candidates(route.buyers, choice.route_by_type), f"{lead.uuid}/{lead.attempts}", BUYER_LEGS_MAX
        )
        if len(chosen) > 1:
            return _several([found for found in route.buyers if found[0] in chosen], route.group_id, slot_id)
    buyer_id, buyer = _next_buyer(lead, route.buyers, turns, choice.route_by_type)
    return _connection(buyer_id, route.group_id, buyer, slot_id)


def _agent_connection(person: Person, grant: SlotAnswered | None) -> BuyerConnection | None:
    """Return the agent who is reserved for a call, or None where the agent was deleted since.

    A preview takes an agent as free, and names none.
    """
    if grant is None or grant.agent_id is None:
        return None if grant is None else BuyerConnection(slot_id=grant.request_id)
    if not person.rules.owns(person.company_id, "agent", grant.agent_id):
        return None
    agent = person.rules.body(Agent, "agent", grant.agent_id)
    if agent is None:
        return None
    return BuyerConnection(number=agent.number, slot_id=grant.request_id, agent_id=grant.agent_id)


def _next_route(lead: Lead, routes: Sequence[Route], by: RouteBy) -> tuple[Route, int]:
    """Return the next group of the first in line by round robin, else the single buyers; and the sum of weights."""
    groups = {route.group_id or 0: route for route in routes if route.group is not None}
    if not groups:
        return routes[0], 1
    among = [
        Candidate(group_id, route.group.tier, route.group.weight, best_value(_candidates(route.buyers, by)))
        for group_id, route in groups.items()
        if route.group is not None
    ]
    first = first_in_line(among)
    ends = list(accumulate(_usable_weights([candidate.weight for candidate in first])))
    return groups[first[bisect_right(ends, pick_index(lead, ends[-1], later=lead.attempts))].record_id], ends[-1]


def _next_buyer(lead: Lead, buyers: Buyers, turns: int, by: RouteBy) -> tuple[int, Buyer]:
    """Return the next buyer of those first in line by weighted round robin.

    Each of the `turns` of the groups is divided once more, so that the choice of a group does not decide the buyer.
    """
    first = first_in_line(_candidates(buyers, by))
    ends = list(accumulate(_usable_weights([candidate.weight for candidate in first])))
    chosen = first[bisect_right(ends, pick_index(lead, turns * ends[-1], later=lead.attempts) % ends[-1])].record_id
    return next(found for found in buyers if found[0] == chosen)


def _candidates(buyers: Buyers, by: RouteBy) -> list[Candidate]:
    """Return buyers with what they pay for a call, where that decides."""
    return [
        Candidate(buyer_id, buyer.tier, buyer.weight, (buyer.bid_price or NOTHING) if by == "revenue" else NOTHING)
        for buyer_id, buyer in buyers
    ]


def _usable_weights(weights: list[int]) -> list[int]:
    """Return the weights; equal ones where all are zero."""
    return weights if any(weights) else [1] * len(weights)


def _granted(person: Person, lead: Lead, grant: SlotAnswered) -> BuyerConnection | None:
    buyer = person.rules.body(Buyer, "buyer", grant.buyer_id)
    # The lead or the filters may have changed since the request.
    if buyer is None or not _takes_lead(person, buyer, lookup_of_lead(partial(getattr, lead))):
        return None
    return _connection(grant.buyer_id, grant.buyer_group_id, buyer, grant.request_id)


def _granted_several(person: Person, lead: Lead, grant: SlotAnswered) -> BuyerConnection | None:
    """Return the buyers of a slot that are rung at once, or None where one of them does not take the call any more."""
    lookup = lookup_of_lead(partial(getattr, lead))
    found = [(buyer_id, _buyer(person, buyer_id)) for buyer_id in grant.buyer_ids]
    buyers = [(buyer_id, buyer) for buyer_id, buyer in found if buyer is not None and _takes_lead(person, buyer, lookup)]
    return _several(buyers, grant.buyer_group_id, grant.request_id) if len(buyers) == len(found) else None


def _several(buyers: Buyers, group_id: int | None, slot_id: str | None) -> BuyerConnection:
    buyer_id, buyer = buyers[0]
    legs = tuple(
        BuyerLeg(buyer_id=leg_id, number=leg.number, timeout_seconds=leg.timeout_seconds, dtmf_tones=leg.dtmf_tones)
        for leg_id, leg in buyers
    )
    return structs.replace(_connection(buyer_id, group_id, buyer, slot_id), legs=legs)


def _connection(buyer_id: int | None, group_id: int | None, buyer: Buyer, slot_id: str | None) -> BuyerConnection:
    return BuyerConnection(buyer_id, group_id, buyer.number, buyer.timeout_seconds, slot_id, buyer.dtmf_tones)


def offer_of_lead(person: Person, lead: Lead) -> Offer | None:
    """Return the offer of a lead, else that of its schedule."""
    offer_id = lead.offer_id
    if offer_id is None and lead.schedule_id is not None:
        schedule = person.rules.body(Schedule, "schedule", lead.schedule_id)
        offer_id = None if schedule is None else schedule.offer_id
    return offer_record(person, offer_id)


def offer_record(person: Person, offer_id: int | None) -> Offer | None:
    """Return an offer of the company, or None."""
    if offer_id is None or not person.rules.owns(person.company_id, "offer", offer_id):
        return None
    return person.rules.body(Offer, "offer", offer_id)


def _routes(person: Person, lead: Lead, choice: BuyerChoice) -> Iterator[Route]:
    """Yield the routes by which the call can be connected now."""
    lookup = lookup_of_lead(partial(getattr, lead))
    for group_id in choice.buyer_group_ids:
        group = _group(person, group_id)
        if group is not None and _takes_calls(person, group):
            buyers = _available(person, lookup, group.buyer_ids, choice)
            if buyers:
                yield Route(buyers, group_id, group)
    buyers = _available(person, lookup, choice.buyer_ids, choice)
    if buyers:
        yield Route(buyers)


def _available(person: Person, lookup: Lookup, buyer_ids: Sequence[int], choice: BuyerChoice) -> Buyers:
    """Return the buyers that take calls now, were not tried yet, and whose filters hold for the lead."""
    found = ((buyer_id, _buyer(person, buyer_id)) for buyer_id in buyer_ids if buyer_id not in choice.tried_buyer_ids)
    taking = ((buyer_id, buyer) for buyer_id, buyer in found if buyer is not None and _takes_calls(person, buyer))
    return [(buyer_id, buyer) for buyer_id, buyer in taking if _takes_lead(person, buyer, lookup)]


def _takes_lead(person: Person, buyer: Buyer, lookup: Lookup) -> bool:
    """Return whether all filters of a buyer hold for a lead, and none of its suppression lists has the person."""
    return not is_on(person, buyer.suppression_list_ids) and all_hold(buyer.filters, lookup)


def _takes_calls(person: Person, body: Buyer | BuyerGroup) -> bool:
    return not body.paused and is_open_for_business(body.business_hours, body.time_zone, person.now)


def _group(person: Person, group_id: int) -> BuyerGroup | None:
    if not person.rules.owns(person.company_id, "buyer_group", group_id):
        return None
    return person.rules.body(BuyerGroup, "buyer_group", group_id)


def _buyer(person: Person, buyer_id: int) -> Buyer | None:
    if not person.rules.owns(person.company_id, "buyer", buyer_id):
        return None
    return person.rules.body(Buyer, "buyer", buyer_id)
