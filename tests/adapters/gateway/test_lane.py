"""Does a lane know what is done, what was passed over, and when everything before a moment was seen?"""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.gateway import lane as lane_module
from adapters.gateway.fences import Fences
from adapters.gateway.lane import Lane, LaneLostError
from tests.adapters.gateway.world import fence_of, order_of


async def asking(lane: Lane) -> asyncio.Task[None]:
    task = asyncio.create_task(lane.read_to_the_end())
    await asyncio.sleep(0)
    return task


def read(lane: Lane, company_id: int, *offsets: int, has_room: bool = True) -> list[int]:
    """Let a lane read orders of a company; return the offsets of those that it takes in."""
    taken = []
    for offset in offsets:
        if lane.is_wanted(company_id, offset):
            if has_room:
                lane.take_in(company_id, offset)
                taken.append(offset)
            else:
                lane.pass_over(company_id, offset)
        lane.looked_at(offset)
    return taken


def test_the_lag_counts_records_that_are_not_handled_and_those_that_were_not_fetched() -> None:
    lane = Lane(0, 10)
    lane.wait(100, [])
    lags = [lane.lag]
    read(lane, 1, 10, 11)
    lane.reached(50)
    lags.append(lane.lag)
    lane.done(10)
    lags.append(lane.lag)
    lane.done(11)
    lags.append(lane.lag)
    lane.reached(120)
    lags.append(lane.lag)

    assert lags == [90, 90, 89, 50, 0]
    assert not lane.is_waited_for


def test_the_floor_is_the_first_order_that_is_not_done() -> None:
    lane = Lane(0, 10)
    read(lane, 1, 10, 12, 13)
    lane.reached(20)

    floors = [lane.floor]
    for offset in (12, 10, 13):
        lane.done(offset)
        floors.append(lane.floor)

    assert floors == [10, 10, 13, 20]


def test_what_was_passed_over_is_not_done_however_far_the_reader_is() -> None:
    lane = Lane(0, 10)
    read(lane, 1, 10)
    read(lane, 1, 11, has_room=False)
    assert read(lane, 2, 12, 13) == [12, 13]
    assert read(lane, 1, 14) == []
    lane.reached(500)
    for offset in (10, 12, 13):
        lane.done(offset)

    assert (lane.floor, lane.next, lane.passed_over) == (11, 500, {1})


def test_a_reader_that_goes_back_takes_in_what_was_passed_over_and_nothing_twice() -> None:
    lane = Lane(0, 0)
    read(lane, 1, 0, has_room=False)
    read(lane, 2, 1)
    read(lane, 3, 2, has_room=False)
    lane.reached(5)

    assert lane.go_back([1], 5) == 0
    assert lane.reads_at == 0
    assert read(lane, 1, 0) == [0]
    assert (read(lane, 2, 1), read(lane, 3, 2)) == ([], [])
    assert read(lane, 1, 4) == [4]
    lane.reached(5)
    assert (lane.passed_over, lane.go_back([], 5)) == ({3}, 5)
    assert read(lane, 1, 5) == [5]


def test_a_reader_does_not_go_through_what_nobody_returns_for() -> None:
    lane = Lane(0, 0)
    read(lane, 1, 0, has_room=False)
    lane.reached(900)
    lane.go_back([1], 900)
    read(lane, 1, 0)
    read(lane, 1, 1, has_room=False)
    lane.reached(2)

    assert lane.go_back([], 2) == 900


ROOM = st.dictionaries(st.integers(1, 3), st.booleans())


@given(st.lists(st.integers(1, 3), max_size=40), st.lists(st.tuples(ROOM, st.integers(1, 9), st.booleans()), max_size=30))
def test_every_order_is_taken_in_once_and_in_its_companys_order(
    companies: list[int], turns: list[tuple[dict[int, bool], int, bool]]
) -> None:
    lane, taken, position = Lane(0, 0), dict[int, list[int]](), 0

    def turn(room: dict[int, bool], batch: int, *, is_reopened: bool) -> None:
        nonlocal position
        position = lane.reads_at if is_reopened else position
        for offset in range(position, min(position + batch, len(companies))):
            company = companies[offset]
            taken.setdefault(company, []).extend(read(lane, company, offset, has_room=room.get(company, True)))
            position = offset + 1
        lane.reached(position)
        position = lane.go_back([one for one in lane.passed_over if room.get(one, True)], position)
        done = {offset for offsets in taken.values() for offset in offsets}
        assert all(offset in done for offset in range(min(lane.floor, lane.next)))

    for room, batch, is_reopened in turns:
        turn(room, batch, is_reopened=is_reopened)
        for offset in [offset for offsets in taken.values() for offset in offsets][::2]:
            lane.done(offset)
    for _ in range(10 * len(companies) + 10):
        turn({}, 9, is_reopened=False)

    every = {one: [offset for offset, company in enumerate(companies) if company == one] for one in set(companies)}
    assert {company: offsets for company, offsets in taken.items() if offsets} == every


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
        read(lane, 1, number)
        lane.done(number)

    assert len(lane.fences) < 25


@pytest.mark.parametrize("lead_ids", [(), (1,)])
def test_a_fence_that_is_read_again_does_not_move_back(lead_ids: tuple[int, ...]) -> None:
    """The reader goes back to what was passed over, and meets fences that it has met before."""
    order, fences = order_of("sms", lead_id=1), Fences()
    fences.add(fence_of(order, *lead_ids), 5)
    fences.add(fence_of(order, *lead_ids), 9)

    fences.add(fence_of(order, *lead_ids), 5)

    assert [fences.bar(order, offset) for offset in (4, 7, 8, 9)] == [True, True, True, False]
