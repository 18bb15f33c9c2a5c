"""Does a partition's progress know what is done, what was deferred, and when everything before a moment was seen?"""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.gateway import partition_progress as progress_module
from adapters.gateway.fences import Fences
from adapters.gateway.partition_progress import PartitionLostError, PartitionProgress
from adapters.gateway.ports import SavedProgress
from tests.adapters.gateway.world import command_of, fence_of


async def asking(progress: PartitionProgress) -> asyncio.Task[None]:
    task = asyncio.create_task(progress.wait_for_end())
    await asyncio.sleep(0)
    return task


def read(progress: PartitionProgress, company_id: int, *offsets: int, has_capacity: bool = True) -> list[int]:
    """Read commands of a company; return the offsets of those that are admitted."""
    taken = []
    for offset in offsets:
        if progress.needs_delivery(company_id, offset):
            if has_capacity:
                progress.admit(company_id, offset)
                taken.append(offset)
            else:
                progress.defer(company_id, offset)
        progress.mark_seen(offset)
    return taken


def test_the_lag_counts_records_that_are_not_handled_and_those_that_were_not_fetched() -> None:
    progress = PartitionProgress(0, SavedProgress(10))
    progress.add_waiters(100, [])
    lags = [progress.lag]
    read(progress, 1, 10, 11)
    progress.advance_to(50)
    lags.append(progress.lag)
    progress.mark_done(10)
    lags.append(progress.lag)
    progress.mark_done(11)
    lags.append(progress.lag)
    progress.advance_to(120)
    lags.append(progress.lag)

    assert lags == [90, 90, 89, 50, 0]
    assert not progress.has_waiters


def test_the_floor_is_the_first_order_that_is_not_done() -> None:
    progress = PartitionProgress(0, SavedProgress(10))
    read(progress, 1, 10, 12, 13)
    progress.advance_to(20)

    floors = [progress.watermark]
    for offset in (12, 10, 13):
        progress.mark_done(offset)
        floors.append(progress.watermark)

    assert floors == [10, 10, 13, 20]


def test_what_was_passed_over_is_not_done_however_far_the_reader_is() -> None:
    progress = PartitionProgress(0, SavedProgress(10))
    read(progress, 1, 10)
    read(progress, 1, 11, has_capacity=False)
    assert read(progress, 2, 12, 13) == [12, 13]
    assert read(progress, 1, 14) == []
    progress.advance_to(500)
    for offset in (10, 12, 13):
        progress.mark_done(offset)

    assert (progress.watermark, progress.next_offset, progress.deferred) == (11, 500, {1})


def test_a_reader_that_goes_back_takes_in_what_was_passed_over_and_nothing_twice() -> None:
    progress = PartitionProgress(0, SavedProgress(0))
    read(progress, 1, 0, has_capacity=False)
    read(progress, 2, 1)
    read(progress, 3, 2, has_capacity=False)
    progress.advance_to(5)

    assert progress.resume([1], 5) == 0
    assert progress.resume_offset == 0
    assert read(progress, 1, 0) == [0]
    assert (read(progress, 2, 1), read(progress, 3, 2)) == ([], [])
    assert read(progress, 1, 4) == [4]
    progress.advance_to(5)
    assert (progress.deferred, progress.resume([], 5)) == ({3}, 5)
    assert read(progress, 1, 5) == [5]


def test_a_reader_does_not_go_through_what_nobody_returns_for() -> None:
    progress = PartitionProgress(0, SavedProgress(0))
    read(progress, 1, 0, has_capacity=False)
    progress.advance_to(900)
    progress.resume([1], 900)
    read(progress, 1, 0)
    read(progress, 1, 1, has_capacity=False)
    progress.advance_to(2)

    assert progress.resume([], 2) == 900


ROOM = st.dictionaries(st.integers(1, 3), st.booleans())


@given(st.lists(st.integers(1, 3), max_size=40), st.lists(st.tuples(ROOM, st.integers(1, 9), st.booleans()), max_size=30))
def test_every_order_is_taken_in_once_and_in_its_companys_order(
    companies: list[int], turns: list[tuple[dict[int, bool], int, bool]]
) -> None:
    progress, taken, position = PartitionProgress(0, SavedProgress(0)), dict[int, list[int]](), 0

    def turn(room: dict[int, bool], batch: int, *, is_reopened: bool) -> None:
        nonlocal position
        position = progress.resume_offset if is_reopened else position
        for offset in range(position, min(position + batch, len(companies))):
            company = companies[offset]
            taken.setdefault(company, []).extend(read(progress, company, offset, has_capacity=room.get(company, True)))
            position = offset + 1
        progress.advance_to(position)
        position = progress.resume([one for one in progress.deferred if room.get(one, True)], position)
        done = {offset for offsets in taken.values() for offset in offsets}
        assert all(offset in done for offset in range(min(progress.watermark, progress.next_offset)))

    for room, batch, is_reopened in turns:
        turn(room, batch, is_reopened=is_reopened)
        for offset in [offset for offsets in taken.values() for offset in offsets][::2]:
            progress.mark_done(offset)
    for _ in range(10 * len(companies) + 10):
        turn({}, 9, is_reopened=False)

    every = {one: [offset for offset, company in enumerate(companies) if company == one] for one in set(companies)}
    assert {company: offsets for company, offsets in taken.items() if offsets} == every


async def test_who_asks_waits_for_the_end_that_is_sampled_after() -> None:
    progress = PartitionProgress(0, SavedProgress(0))
    task = await asking(progress)
    progress.advance_to(99)
    await asyncio.sleep(0)
    assert not task.done()

    progress.add_waiters(100, progress.take_waiters())
    await asyncio.sleep(0)
    assert not task.done()

    progress.advance_to(100)
    await asyncio.wait_for(task, 60)


async def test_a_question_that_could_not_be_answered_is_kept() -> None:
    progress = PartitionProgress(0, SavedProgress(0))
    task = await asking(progress)
    progress.requeue(progress.take_waiters())

    progress.add_waiters(0, progress.take_waiters())
    await asyncio.wait_for(task, 60)


async def test_waiting_on_a_partition_that_is_revoked_raises() -> None:
    progress = PartitionProgress(0, SavedProgress(0))
    asked, waiting = await asking(progress), await asking(progress)
    progress.add_waiters(5, progress.take_waiters())
    late = await asking(progress)
    progress.revoke()

    for task in (asked, waiting, late, await asking(progress)):
        with pytest.raises(PartitionLostError):
            await task


def test_the_newest_fence_of_a_contact_counts_however_often_they_are_read() -> None:
    fences, command = Fences(), command_of("call")
    for offset in (7, 3, 7):
        fences.add(fence_of(command), offset)

    assert [offset for offset in range(10) if fences.blocks(command, offset)] == list(range(7))


def test_fences_of_leads_and_of_the_contact_add_up() -> None:
    fences, command, other = Fences(), command_of("call"), command_of("call", 2, contact_key="1|+13055550001")
    fences.add(fence_of(command), 3)
    fences.add(fence_of(command, command.lead_id), 6)

    assert [offset for offset in range(9) if fences.blocks(command, offset)] == [0, 1, 2, 3, 4, 5]
    assert [offset for offset in range(9) if fences.blocks(other, offset)] == [0, 1, 2]


def test_fences_before_the_floor_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "FENCES_BETWEEN_SWEEPS", 10)
    progress = PartitionProgress(0, SavedProgress(0))
    for number in range(100):
        progress.fences.add(fence_of(command_of("call", number)), number)
        read(progress, 1, number)
        progress.mark_done(number)

    assert len(progress.fences) < 25


@pytest.mark.parametrize("lead_ids", [(), (1,)])
def test_a_fence_that_is_read_again_does_not_move_back(lead_ids: tuple[int, ...]) -> None:
    """The reader goes back to what was passed over, and meets fences that it has met before."""
    command, fences = command_of("sms", lead_id=1), Fences()
    fences.add(fence_of(command, *lead_ids), 5)
    fences.add(fence_of(command, *lead_ids), 9)

    fences.add(fence_of(command, *lead_ids), 5)

    assert [fences.blocks(command, offset) for offset in (4, 7, 8, 9)] == [True, True, True, False]
