"""Does a pause end at its `unpause_at`, by itself and never earlier, and do those who wait go on then?"""

from typing import Any

import pytest

from schemas.instant import HOUR, MINUTE, Instant
from schemas.records import Buyer, BuyerGroup, Record
from schemas.state import record_key
from tests.engine.account.conftest import NOW, AccountWorld


def timer_of(account: AccountWorld, record_type: str, record_id: int) -> Instant | None:
    key = record_key(record_type, record_id)
    entity = account.state.get(key, Record)
    assert entity is not None
    timer = account.decider.aggregate.timer(key, entity)
    return None if timer is None else timer.due_at


@pytest.mark.parametrize("record_type", ["buyer", "buyer_group"])
def test_a_pause_ends_by_itself(account: AccountWorld, record_type: str) -> None:
    buyer_id = account.buyer()
    record_id = buyer_id if record_type == "buyer" else account.group(buyer_id)
    account.update(record_type, record_id, paused=True, unpause_at=NOW + HOUR)
    before = account.record(record_type, record_id)
    assert timer_of(account, record_type, record_id) == NOW + HOUR

    account.now += HOUR
    account.tick(record_key(record_type, record_id))

    after, body = account.record(record_type, record_id), account.body(record_type, record_id)
    assert isinstance(body, Buyer | BuyerGroup)
    assert (body.paused, body.unpause_at, after.version) == (False, None, before.version + 1)
    assert (after.updated_at, after.user_updated_at) == (NOW + HOUR, NOW)  # nobody changed it
    assert timer_of(account, record_type, record_id) is None
    if isinstance(body, BuyerGroup):
        assert (body.paused_at, body.unpaused_at) == (NOW, NOW + HOUR)


def test_those_who_wait_for_a_paused_buyer_go_on_when_its_pause_ends(account: AccountWorld) -> None:
    free, paused = account.buyer(0, concurrency_cap_limit=1), account.buyer(1)
    group_id = account.group(free, paused)
    account.update("buyer", paused, paused=True, unpause_at=NOW + HOUR)
    account.want("a", buyer_group_id=group_id)
    assert account.want("b", buyer_group_id=group_id) == []
    account.now += HOUR
    assert [(answer.request_id, answer.buyer_id) for answer in account.tick(record_key("buyer", paused))] == [("b", paused)]


@pytest.mark.parametrize("ended_by", ["hand", "deletion"])
def test_a_pause_that_ended_earlier_leaves_no_timer(account: AccountWorld, ended_by: str) -> None:
    buyer_id = account.buyer()
    account.update("buyer", buyer_id, paused=True, unpause_at=NOW + HOUR)
    if ended_by == "hand":
        account.update("buyer", buyer_id, paused=False)
    else:
        account.delete("buyer", buyer_id)
    assert timer_of(account, "buyer", buyer_id) is None
    account.now += MINUTE
    if ended_by == "hand":  # a pause without an end has none left from before
        account.update("buyer", buyer_id, paused=True)
        assert timer_of(account, "buyer", buyer_id) is None


def test_another_change_leaves_the_end_of_a_pause_as_it_is(account: AccountWorld) -> None:
    buyer_id = account.buyer()
    account.update("buyer", buyer_id, paused=True, unpause_at=NOW + HOUR)
    account.now += 2 * HOUR  # the timer is late
    assert account.update("buyer", buyer_id, name="Other").errors == {}
    assert timer_of(account, "buyer", buyer_id) == NOW + HOUR


def test_who_is_refused_for_a_cap_hears_when_the_pause_of_another_buyer_ends(account: AccountWorld) -> None:
    used_up, paused = account.buyer(0, attempt_total_limit=0), account.buyer(1)
    account.update("buyer", paused, paused=True, unpause_at=NOW + HOUR)
    (answer,) = account.want("a", buyer_group_id=account.group(used_up, paused))
    assert (answer.granted, answer.reason, answer.until) == (False, "buyer_cap", NOW + HOUR)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"paused": True, "unpause_at": NOW + 1}, None),
        ({"paused": True, "unpause_at": NOW}, "must be after now"),
        ({"paused": True, "unpause_at": None}, None),
        (
            {"paused": True, "unpause_at": "noon"},
            "must be a date and time with its UTC offset, such as 2026-03-07 21:30:00 -0500",
        ),
        ({"unpause_at": NOW + HOUR}, "must be sent together with paused=true"),
        ({"paused": False, "unpause_at": NOW + HOUR}, "must be sent together with paused=true"),
    ],
)
def test_the_end_of_a_pause_lies_ahead_and_needs_a_pause(
    account: AccountWorld, fields: dict[str, Any], fault: str | None
) -> None:
    answer = account.update("buyer_group", account.group(), **fields)
    assert answer.errors == ({} if fault is None else {"unpause_at": [fault]})
