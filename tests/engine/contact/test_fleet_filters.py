"""Does a filter know whether the buyer of a lead belongs to a fleet?"""

from typing import Any

import pytest

from schemas.records import Buyer, BuyerFleet
from tests.engine.contact.world import World

CALL = {"id": "call", "kind": "call", "connect": {"buyer_ids": [71]}}
TEXT = {"id": "text", "kind": "sms", "template": "Hi"}
EXIT = {"id": "else", "kind": "exit"}


def buyer(*fleet_ids: int) -> Buyer:
    return Buyer(name="B", number="+13055550171", buyer_fleet_ids=fleet_ids)


@pytest.fixture
def world() -> World:
    made = World()
    made.add("buyer_fleet", 5, BuyerFleet(name="Best", user_fleet_id="vip"))
    made.add("buyer_fleet", 6, BuyerFleet(name="Rest", user_fleet_id="1"))
    made.add("buyer", 71, buyer(5, 6))
    return made


def branch(*filters: str) -> dict[str, Any]:
    return {"id": "where", "kind": "branch", "rules": [{"if": filters, "goto": "text"}]}


def connected(world: World, *filters: str, **fields: Any) -> list[str]:
    """Let a lead be called for buyer 71, and return the steps that it took after it was connected."""
    world.schedule(CALL, branch(*filters), EXIT, TEXT)
    world.submit(**fields)
    world.outcome("connected_buyer", buyer_id=71)
    return world.steps()[1:]


@pytest.mark.parametrize(
    ("filters", "holds"),
    [
        (["fleet:vip"], True),
        (["fleet:gold"], False),
        (["fleet:gold|vip"], True),
        (["fleet:vip", "fleet:1"], True),
        (["fleet:vip", "fleet:gold"], False),
        (["fleet:!=vip"], False),
        (["fleet:!=gold"], True),
        (["fleet:!=gold|vip"], False),
        (["fleet:vip", "connected:true"], True),
        (["fleet:VIP"], False),  # letter by letter
        (["fleet:01"], False),  # a name, no number
        (["fleet:"], False),
        (["fleet:>a"], False),  # of a version before fleets
    ],
)
def test_a_filter_holds_where_the_buyer_that_the_lead_was_connected_to_belongs_to_the_fleet(
    world: World, filters: list[str], holds: bool
) -> None:
    assert (connected(world, *filters) == ["text"]) == holds


@pytest.mark.parametrize(("filters", "holds"), [("fleet:vip", False), ("fleet:!=vip", True), ("fleet:", False)])
def test_a_lead_without_a_buyer_belongs_to_no_fleet(world: World, filters: str, holds: bool) -> None:
    world.schedule(branch(filters), EXIT, TEXT)
    world.submit()
    assert (world.steps() == ["text"]) == holds


def test_a_lead_that_was_called_and_not_connected_has_no_buyer(world: World) -> None:
    world.schedule({**CALL, "retry": {}}, branch("fleet:vip"), EXIT, TEXT)
    world.submit()
    world.outcome("no_answer")
    assert "text" not in world.steps()


def test_a_sender_cannot_claim_a_fleet_by_a_token(world: World) -> None:
    world.schedule(branch("fleet:vip"), EXIT, TEXT)
    world.submit(data={"fleet": "vip"}, columns={"fleet": "vip"})
    assert world.steps() == []


def test_a_company_without_fleets_keeps_a_token_of_that_name() -> None:
    world = World()
    world.schedule(branch("fleet:Trucks"), EXIT, TEXT)
    world.submit(data={"fleet": "trucks"})
    assert world.steps() == ["text"]


def test_the_fleet_is_that_of_the_moment_at_which_the_lead_comes_to_the_step(world: World) -> None:
    pause = {"id": "pause", "kind": "wait", "duration": "1h"}
    for version, fleet_ids, holds in ((2, (), False), (3, (5,), True)):
        world.schedule(CALL, pause, branch("fleet:vip"), EXIT, TEXT, record_id=version)
        lead = world.submit(schedule_id=version)
        world.outcome("connected_buyer", buyer_id=71)
        world.add("buyer", 71, buyer(*fleet_ids), version=version)
        world.wait(3600)
        assert (world.lead(lead.id).sms_count == 1) == holds


@pytest.mark.parametrize("what", ["buyer", "fleet"])
def test_a_deleted_buyer_and_a_deleted_fleet_are_no_members(world: World, what: str) -> None:
    world.schedule(CALL, branch("fleet:vip"), EXIT, TEXT)
    world.submit()
    if what == "buyer":
        world.add("buyer", 71, buyer(5), version=2, deleted=True)
    else:
        world.add("buyer_fleet", 5, BuyerFleet(name="Best", user_fleet_id="vip"), version=2, deleted=True)
    world.outcome("connected_buyer", buyer_id=71)
    assert world.steps()[1:] == []


def test_a_wait_looks_at_fleets_when_the_lead_changes(world: World) -> None:
    wait = {"id": "rest", "kind": "wait_for", "event": "tokens_match", "filters": ["fleet:vip"], "timeout": "1d"}
    world.schedule(CALL, wait, TEXT)
    world.submit()
    world.outcome("connected_buyer", buyer_id=71)
    assert world.steps()[1:] == ["text"]


def test_a_trigger_looks_at_fleets_when_the_lead_changes(world: World) -> None:
    row = {"on": "exit", "type": "tokens_match", "filters": ["fleet:vip"], "goto": "text"}
    world.schedule(CALL, {"id": "long", "kind": "wait", "duration": "9d"}, TEXT, triggers=[row])
    world.submit()
    world.outcome("connected_buyer", buyer_id=71)
    assert world.steps()[1:] == ["text"]
