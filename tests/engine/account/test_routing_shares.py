"""Do ten thousand calls over five groups keep to tiers, weights and caps? Each share lies within 2 % of its weight."""

from collections import Counter
from itertools import groupby

from tests.engine.account.conftest import AccountWorld

CALLS = 10_000
SHARE_OFF_MAX = 0.02
MANY = 1_000
"""Calls from which on a share is judged: of fewer, chance alone moves it by more."""


def test_calls_fill_the_lowest_tier_by_weight_then_the_next(account: AccountWorld) -> None:
    weights = {(1, 5): 3_600, (1, 3): None, (1, 2): 800, (2, 1): None, (2, 3): None}
    ends_with_the_first_tier = 6_500  # the group without a cap is paused then
    groups = {}
    for place, ((tier, weight), cap) in enumerate(weights.items()):
        caps = {} if cap is None else {"attempt_total_limit": cap}
        # Without any cap of the group the account is not asked: calls at a time are bounded far above what there is.
        group_id = account.group(account.buyer(place), tier=tier, weight=weight, concurrency_cap_limit=9, **caps)
        groups[group_id] = (tier, weight, cap)
    unlimited = next(group_id for group_id, found in groups.items() if found == (1, 3, None))
    granted: Counter[int] = Counter()
    steps: list[tuple[frozenset[int], int]] = []  # which groups could take the call, and which one did
    for number in range(CALLS):
        if number == ends_with_the_first_tier:
            account.update("buyer_group", unlimited, paused=True)
        is_open = {
            group_id: (cap is None or granted[group_id] < cap)
            and (group_id != unlimited or number < ends_with_the_first_tier)
            for group_id, (_, _, cap) in groups.items()
        }
        (answer,) = account.want(f"call-{number}", buyer_group_ids=tuple(groups))
        assert answer.buyer_group_id is not None
        granted[answer.buyer_group_id] += 1
        steps.append((frozenset(group_id for group_id, able in is_open.items() if able), answer.buyer_group_id))
        account.release(f"call-{number}", ended="attempted")
    assert all(cap is None or granted[group_id] <= cap for group_id, (_, _, cap) in groups.items())
    judged = 0
    for could, found in groupby(steps, key=lambda step: step[0]):
        taken = Counter(group_id for _, group_id in found)
        lowest = min(groups[group_id][0] for group_id in could)
        rivals = {group_id: groups[group_id][1] for group_id in could if groups[group_id][0] == lowest}
        assert taken.keys() <= rivals.keys(), "a higher tier took a call while a lower one was free"
        if taken.total() >= MANY:
            judged += 1
            for group_id, weight in rivals.items():
                share = taken[group_id] / taken.total()
                assert abs(share - weight / sum(rivals.values())) <= SHARE_OFF_MAX, (group_id, share)
    assert judged >= 3
    assert granted[unlimited] > MANY
