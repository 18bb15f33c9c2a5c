"""Does a lane know what is done, what was passed over, and when everything before a moment was seen?"""

import asyncio

import pytest

from adapters.gateway import lane as lane_module
from adapters.gateway.fences import Fences
from adapters.gateway.lane import Lane, LaneLostError
from tests.adapters.gateway.world import fence_of, order_of


async def asking(lane: Lane) -> asyncio.Task[None]:
    task = asyncio.create_task(lane.read_to_the_end())
    await asyncio.sleep(0)
    return task


def test_the_floor_is_the_first_order_that_is_not_done() -> None:
    lane = Lane(0, 10)
    for offset in (10, 12, 13):
        lane.take_in(offset)
    lane.reached(20)

    floors = [lane.floor]
    for offset in (12, 10, 13):
        lane.done(offset)
        floors.append(lane.floor)

    assert floors == [10, 10, 13, 20]


def test_what_was_cut_off_is_not_done_however_far_the_reader_is() -> None:
    lane = Lane(0, 10)
    lane.take_in(10)
    lane.cut = True
    lane.reached(500)
    lane.done(10)

    assert (lane.floor, lane.next, lane.seen) == (11, 11, 500)


async def test_an_end_that_was_seen_before_lets_nothing_pass_that_was_cut_off() -> None:
    lane = Lane(0, 10)
    lane.cut = True
    lane.reached(500)
    lane.cut = False  # the reader goes back to 10

    task = await asking(lane)
    lane.wait(500, lane.askers())
    await asyncio.wait_for(task, 60)

    assert lane.next == 10


async def test_who_asks_waits_for_the_end_that_is_sampled_after() -> None:
    lane = Lane(0, 0)
    task = await asking(lane)
    lane.reached(99)
    await asyncio.sleep(0)
    assert not task.done()

    lane.wait(100, lane.askers())
    await asyncio.sleep(0)
    assert not task.done()

    lane.reached(100)
    await asyncio.wait_for(task, 60)


async def test_a_question_that_could_not_be_answered_is_kept() -> None:
    lane = Lane(0, 0)
    task = await asking(lane)
    lane.ask_again(lane.askers())

    lane.wait(0, lane.askers())
    await asyncio.wait_for(task, 60)


async def test_who_waits_in_a_lane_that_is_taken_away_is_told() -> None:
    lane = Lane(0, 0)
    asked, waiting = await asking(lane), await asking(lane)
    lane.wait(5, lane.askers())
    late = await asking(lane)
    lane.revoke()

    for task in (asked, waiting, late, await asking(lane)):
        with pytest.raises(LaneLostError):
            await task


def test_the_newest_fence_of_a_contact_counts_however_often_they_are_read() -> None:
    fences, order = Fences(), order_of("call")
    for offset in (7, 3, 7):
        fences.add(fence_of(order), offset)

    assert [offset for offset in range(10) if fences.bar(order, offset)] == list(range(7))


def test_fences_of_leads_and_of_the_contact_add_up() -> None:
    fences, order, other = Fences(), order_of("call"), order_of("call", 2, contact_key="1|+13055550001")
    fences.add(fence_of(order), 3)
    fences.add(fence_of(order, order.lead_id), 6)

    assert [offset for offset in range(9) if fences.bar(order, offset)] == [0, 1, 2, 3, 4, 5]
    assert [offset for offset in range(9) if fences.bar(other, offset)] == [0, 1, 2]


def test_fences_before_the_floor_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_module, "FENCES_SWEPT_EVERY", 10)
    lane = Lane(0, 0)
    for number in range(100):
        lane.fences.add(fence_of(order_of("call", number)), number)
        lane.take_in(number)
        lane.done(number)

    assert len(lane.fences) < 25
