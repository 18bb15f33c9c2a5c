"""Where no cap is in the way, do ten thousand leads go to the lowest tier, by the weights of groups and of buyers?"""

from collections import Counter
from itertools import product

import pytest

from schemas.commands import PlaceCall
from schemas.records import Buyer, BuyerGroup, Offer
from tests.engine.contact.world import World

CALLS = 10_000
SHARE_OFF_MAX = 0.02


@pytest.fixture(scope="module")
def taken() -> Counter[tuple[int | None, int | None]]:
    """Group and buyer of each call: five groups of two tiers, with two buyers of weights 3 and 1 in each."""
    world = World()
    for place, (tier, weight) in enumerate([(1, 5), (1, 3), (1, 2), (2, 1), (2, 3)]):
        for turn, heavy in enumerate((3, 1)):
            world.add("buyer", 70 + 2 * place + turn, Buyer(name="B", number=f"+121255501{70 + place}", weight=heavy))
        ids = (70 + 2 * place, 71 + 2 * place)
        world.add("buyer_group", 1 + place, BuyerGroup(name="G", buyer_ids=ids, tier=tier, weight=weight))
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", buyer_group_ids=(1, 2, 3, 4, 5)), version=2)
    world.schedule({"id": "call", "kind": "call"})
    world.wait(1)
    found: Counter[tuple[int | None, int | None]] = Counter()
    for number in range(CALLS):
        caller = f"+1305{2000000 + number}"
        world.submit(caller_id=caller, contact_key=f"1|{caller}")
        (command,) = world.commands
        assert isinstance(command, PlaceCall)
        found[command.buyer_group_id, command.buyer_id] += 1
        world.outcome("connected_buyer")  # open commands are bounded
        world.commands.clear()
    return found


def test_groups_of_the_lowest_tier_share_the_calls_by_weight(taken: Counter[tuple[int | None, int | None]]) -> None:
    groups = Counter[int | None]()
    for (group_id, _), count in taken.items():
        groups[group_id] += count
    assert groups.keys() == {1, 2, 3}
    for group_id, weight in {1: 5, 2: 3, 3: 2}.items():
        assert abs(groups[group_id] / CALLS - weight / 10) <= SHARE_OFF_MAX, groups


def test_buyers_of_a_group_share_its_calls_by_weight(taken: Counter[tuple[int | None, int | None]]) -> None:
    for group_id, (turn, weight) in product((1, 2, 3), enumerate((3, 1))):
        calls = sum(count for (found, _), count in taken.items() if found == group_id)
        share = taken[group_id, 70 + 2 * (group_id - 1) + turn] / calls
        assert abs(share - weight / 4) <= SHARE_OFF_MAX, (group_id, turn, share)
