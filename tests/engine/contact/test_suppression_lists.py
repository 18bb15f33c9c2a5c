"""Whom do suppression lists keep from being contacted? Those on a list of the company, an offer, a schedule or a buyer."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from engine.contact.lifecycle.suppressing import LISTS_MAX
from engine.partition.draft import Draft, RefusedError
from schemas.contact import Suppression
from schemas.envelope import Envelope
from schemas.instant import HOUR
from schemas.records import Buyer, Company, Offer, SuppressionList
from schemas.requests import CallStartRequested, SuppressionChangeRequested
from schemas.state import suppression_key
from tests.engine.contact.world import KEY, NEW_YORK, NUMBER, World

LIST = 7
STEPS = (
    {"id": "call-1", "kind": "call"},
    {"id": "pause", "kind": "wait", "duration": "1h"},
    {"id": "call-2", "kind": "call"},
)


def world_of(holder: str | None = None) -> World:
    """Return a world with a schedule; `holder` names the list."""
    world = World()
    lists: dict[str, Any] = {"suppression_list_ids": (LIST,)}
    world.add("suppression_list", LIST, SuppressionList(name="Complained"))
    if holder == "company":
        world.add("company", 1, Company(name="Sunny", time_zone=NEW_YORK, **lists), version=2)
    if holder == "offer":
        world.add("offer", 1, Offer(name="Solar", lead_token="offer", time_zone=NEW_YORK, **lists), version=2)
    world.schedule(*STEPS, **(lists if holder == "schedule" else {}))
    return world


def put_on(world: World, list_id: int = LIST, **fields: Any) -> None:
    world.ask(SuppressionChangeRequested(company_id=1, contact_key=KEY, list_id=list_id, listed=True, **fields))


def take_off(world: World, list_id: int = LIST) -> None:
    world.ask(SuppressionChangeRequested(company_id=1, contact_key=KEY, list_id=list_id, listed=False))


def entry(world: World, list_id: int = LIST) -> Suppression | None:
    return world.state.get(suppression_key(list_id, KEY), Suppression)


@pytest.mark.parametrize("holder", ["company", "offer", "schedule"])
def test_who_is_on_a_list_ends_and_a_later_lead_is_stored_and_never_contacted(holder: str) -> None:
    world = world_of(holder)
    world.submit()
    world.wait(1)
    assert world.steps() == ["call-1"]
    world.outcome("no_answer")
    put_on(world, source="regulator")
    assert world.lead().status == "dnc"
    assert world.submit().status == "dnc"
    world.wait(5 * HOUR / 1000)
    assert world.steps() == ["call-1"]
    added = [fact.data for fact in world.facts if fact.type == "contact.suppression_added"]
    assert added == [{"list_id": LIST, "source": "regulator", "expires_at": None}]


def test_a_command_in_flight_is_fenced() -> None:
    world = world_of("company")
    lead = world.submit()
    world.wait(1)
    put_on(world)
    assert {(fence.reason, fence.lead_ids) for fence in world.fences} == {("dnc", (lead.id,))}


def test_a_list_that_nothing_names_keeps_nobody() -> None:
    world = world_of()
    put_on(world)
    world.submit()
    world.wait(1)
    assert world.steps() == ["call-1"]


def test_a_list_of_another_offer_keeps_nobody_of_this_one() -> None:
    world = world_of()
    lists = Offer(name="Other", lead_token="other", time_zone=NEW_YORK, suppression_list_ids=(LIST,))
    world.add("offer", 2, lists)
    put_on(world)
    world.submit()
    world.wait(1)
    assert world.steps() == ["call-1"]
    assert world.submit(offer_id=2, schedule_id=None).status == "dnc"


def test_an_offer_that_names_a_list_later_ends_its_waiting_leads() -> None:
    world = world_of()
    put_on(world)
    world.submit()
    world.wait(1)
    world.outcome("no_answer")
    assert world.lead().status == "scheduled"
    named = Offer(name="Solar", lead_token="offer", time_zone=NEW_YORK, suppression_list_ids=(LIST,))
    world.add("offer", 1, named, version=2)
    world.wait(60)
    assert world.lead().status == "dnc"


def test_taking_somebody_off_resumes_nothing_and_lets_later_leads_through() -> None:
    world = world_of("company")
    put_on(world)
    first = world.submit()
    take_off(world)
    assert (entry(world), world.head().suppressed_by) == (None, ())
    world.wait(60)
    assert (world.lead(first.id).status, world.steps()) == ("dnc", [])
    world.submit()
    world.wait(1)
    assert world.steps() == ["call-1"]
    with pytest.raises(RefusedError) as refused:
        take_off(world)
    assert refused.value.code == "not_found"


OTHER = 8


def takes_off(world: World) -> None:
    take_off(world)


def lets_expire(world: World) -> None:
    put_on(world, expires_at=world.now + HOUR)
    world.wait(3600)


def names_it_no_more(world: World) -> None:
    company = world.rules.body(Company, "company", 1)
    assert company is not None
    others = tuple(one for one in company.suppression_list_ids if one != LIST)
    world.add("company", 1, replace(company, suppression_list_ids=others), version=9)


def deletes_the_list(world: World) -> None:
    names_it_no_more(world)
    world.add("suppression_list", LIST, SuppressionList(name="Complained"), version=2, deleted=True)


LEAVES = {
    "is taken off": takes_off,
    "expires": lets_expire,
    "is not named any more": names_it_no_more,
    "is deleted": deletes_the_list,
}


@pytest.mark.parametrize("order", [(LIST, OTHER), (OTHER, LIST)], ids=["put on it first", "put on it last"])
@pytest.mark.parametrize("leaves", LEAVES.values(), ids=LEAVES)
@pytest.mark.parametrize("holder", ["company", "offer", "schedule", "buyer"])
def test_who_leaves_one_of_two_lists_is_kept_by_the_other(
    leaves: Callable[[World], None], holder: str, order: tuple[int, int]
) -> None:
    world = world_of("company")
    world.add("suppression_list", OTHER, SuppressionList(name="Litigators"))
    holds: dict[str, Any] = {"suppression_list_ids": (OTHER,)}
    if holder == "offer":
        world.add("offer", 1, Offer(name="Solar", lead_token="offer", time_zone=NEW_YORK, **holds), version=2)
    if holder == "schedule":
        world.schedule(*STEPS, version=2, **holds)
    if holder == "company":
        both = Company(name="Sunny", time_zone=NEW_YORK, suppression_list_ids=(LIST, OTHER))
        world.add("company", 1, both, version=3)
    if holder == "buyer":  # who is on a buyer's list is contacted, and not for that buyer
        world.add("buyer", 70, Buyer(name="Ann", number="+12125550170", **holds))
        world.schedule({"id": "call-1", "kind": "call", "connect": {"buyer_ids": [70]}}, version=2)
    for list_id in order:
        put_on(world, list_id)
    assert world.submit().status == "dnc"

    leaves(world)

    assert OTHER in world.head().suppressed_by
    assert entry(world, OTHER) is not None
    later = world.submit()
    world.wait(1)
    assert (world.lead(later.id).status == "dnc") == (holder != "buyer")
    assert world.steps() == []
    take_off(world, OTHER)
    world.submit()
    world.wait(1)
    assert world.steps() == ["call-1"]


def test_an_entry_ends_by_itself_when_it_expires() -> None:
    world = world_of("company")
    until = world.now + 2 * HOUR
    put_on(world, expires_at=until)
    world.wait_until(until - 1)
    assert world.submit().status == "dnc"
    world.wait(1)
    assert (entry(world), world.head().suppressed_by) == (None, ())
    assert world.fact_types()[-1] == "contact.suppression_expired"
    world.submit()
    world.wait(1)
    assert world.steps() == ["call-1"]


def test_new_terms_replace_the_old_ones_and_the_same_terms_change_nothing() -> None:
    world = world_of("company")
    until = world.now + HOUR
    put_on(world, expires_at=until)
    put_on(world, expires_at=until)
    assert world.fact_types().count("contact.suppression_added") == 1
    put_on(world, source="court")
    found = entry(world)
    assert found is not None
    assert (found.version, found.source, found.expires_at, found.created_at) == (2, "court", None, world.now)
    world.wait(2 * 3600)
    assert world.head().suppressed_by == (LIST,)
    assert world.head().suppressed_by.count(LIST) == 1


def test_a_person_is_on_a_bounded_number_of_lists() -> None:
    world = world_of()
    for number in range(LISTS_MAX):
        put_on(world, 1000 + number)
    with pytest.raises(RefusedError, match="which is the most"):
        put_on(world, 999)
    put_on(world, 1000, source="again")


def test_no_call_is_started_by_hand_and_no_schedule_is_started() -> None:
    world = world_of("schedule")
    put_on(world)
    asked: list[dict[str, Any]] = [{"schedule_id": 1}, {"lead_id": world.submit().id}]
    for request in asked:
        with pytest.raises(RefusedError) as refused:
            world.ask(CallStartRequested(company_id=1, contact_key=KEY, caller_id=NUMBER, **request))
        assert (refused.value.code, refused.value.extra["reason"]) == ("suppressed_contact", "dnc")
    with pytest.raises(RefusedError) as refused:
        world.update(schedule_start=True)
    assert refused.value.code == "suppressed_contact"


def test_a_buyers_list_leaves_out_that_buyer_alone() -> None:
    world = world_of()
    world.add("buyer", 1, Buyer(name="A", number="+12125550141", suppression_list_ids=(LIST,)))
    world.add("buyer", 2, Buyer(name="B", number="+12125550142"))
    world.schedule({"id": "call-1", "kind": "call", "connect": {"buyer_ids": [1, 2]}}, version=2)
    put_on(world)
    for _ in range(4):
        world.submit()
        world.wait(60)
        command = world.commands[-1]
        assert getattr(command, "buyer_id", None) == 2
        world.outcome("no_answer", command)
    world.schedule({"id": "call-1", "kind": "call", "connect": {"buyer_ids": [1]}}, version=3)
    before = len(world.commands)
    lead = world.submit()
    world.wait(60)
    assert (len(world.commands), world.lead(lead.id).status_wait) == (before, "no_buyer_available")


def test_the_stop_alone_is_decided_where_the_whole_request_cannot_be() -> None:
    world = world_of("company")
    lead = world.submit()
    request = SuppressionChangeRequested(company_id=1, contact_key=KEY, list_id=LIST, listed=True)
    draft = Draft(world.state, now=world.now, rules=world.rules, partition=0, ids=50, behind=False)
    envelope = Envelope(id="once", type="suppression.change_requested", source="/test", stream=None, number=1)
    assert world.aggregate.stop_at_least(draft, request, envelope)
    world._apply(draft)
    world.wait(1)
    assert world.lead(lead.id).status == "dnc"
