"""Do reports wait their turn, and is it said whose fault it is where they wait in vain?"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Sequence

import pytest

from adapters.http.exchange import report_slots
from adapters.http.exchange.active_companies import COMPANIES_MAX, ActiveCompanies
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.report_slots import (
    SMALL_ITEMS,
    WAITING_MAX,
    EngineThread,
    ReportSlots,
    SlicedSequence,
    empty_in_slices,
    hold_with_cooldown,
    in_slices,
)
from adapters.http.exchange.short_requests import RECENT_SECONDS, ShortRequests

HANG_SECONDS = 60.0


async def hold(slots: ReportSlots, company_id: int, until: asyncio.Event) -> str:
    try:
        async with slots.acquire(company_id):
            await until.wait()
            return "made"
    except ProblemError as refusal:
        return f"{refusal.code}, again in {refusal.headers['Retry-After']} s"


async def test_who_waits_too_long_hears_whether_its_own_reports_or_those_of_others_are_in_the_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(report_slots, "WAIT_SECONDS", 0.05)
    slots, until = ReportSlots(2), asyncio.Event()
    made = [asyncio.create_task(hold(slots, company, until)) for company in (1, 2)]
    await asyncio.sleep(0)

    refused = await asyncio.gather(*(hold(slots, company, until) for company in (1, 3)))
    until.set()

    assert refused == ["rate_limited, again in 5 s", "reports_busy, again in 5 s"]
    assert await asyncio.gather(*made) == ["made", "made"]
    assert await hold(slots, 3, until) == "made"


async def test_no_company_takes_every_place_in_which_reports_wait() -> None:
    slots, until = ReportSlots(1), asyncio.Event()
    flood = [asyncio.create_task(hold(slots, 1, until)) for _ in range(WAITING_MAX)]
    await asyncio.sleep(0)
    late = asyncio.create_task(hold(slots, 2, until))
    await asyncio.sleep(0)
    until.set()

    answers = await asyncio.gather(*flood)
    assert (answers.count("made"), answers.count("rate_limited, again in 5 s")) == (
        1 + WAITING_MAX // 2,
        WAITING_MAX // 2 - 1,
    )
    assert await late == "made"


async def test_a_slot_rests_after_a_report_only_while_another_company_uses_the_process() -> None:
    long, slots, active = 10_000.0, ReportSlots(2), ActiveCompanies(time.monotonic)
    active.record_request(1)

    async def report() -> None:
        async with hold_with_cooldown(slots.acquire(1), long, lambda: active.has_others(1)):
            await asyncio.sleep(0.01)

    async with asyncio.timeout(HANG_SECONDS):
        await report()
        await report()  # alone: at once
        active.record_request(2)
        await report()
    blocked = asyncio.create_task(hold(slots, 1, asyncio.Event()))
    await asyncio.sleep(0.05)

    assert not blocked.done()
    blocked.cancel()
    for cooldown in tuple(report_slots._COOLDOWNS):
        cooldown.cancel()


def test_a_company_has_others_for_ten_seconds_after_their_last_request() -> None:
    now = 0.0
    active = ActiveCompanies(lambda: now)
    assert not active.has_others(1)
    active.record_request(1)
    assert not active.has_others(1)
    active.record_request(2)
    active.record_request(1)
    assert active.has_others(1)
    now = 9.9
    active.record_request(1)
    assert (active.has_others(1), active.has_others(2)) == (True, True)
    now = 10.0
    assert (active.has_others(1), active.has_others(2)) == (False, True)


def test_companies_that_are_remembered_are_bounded() -> None:
    active = ActiveCompanies(lambda: 0.0)
    for company_id in range(COMPANIES_MAX + 5):
        active.record_request(company_id)
    assert len(active._last_requests) == COMPANIES_MAX


async def test_companies_take_turns_for_the_thread_that_computes() -> None:
    engine, order, first = EngineThread(lambda: False), list[int](), threading.Event()

    def compute(company_id: int) -> None:
        first.wait(60)
        order.append(company_id)

    long = [asyncio.create_task(engine.run(1, compute, 1)) for _ in range(20)]
    await asyncio.sleep(0)
    short = asyncio.create_task(engine.run(2, compute, 2))
    await asyncio.sleep(0)
    first.set()
    await asyncio.gather(*long, short)

    assert order == [1, 1, 2, *[1] * 18]  # the second of the flood waited before the other company came


@pytest.mark.parametrize(("slicing", "count"), [(in_slices, 5), (SlicedSequence, 5 * SMALL_ITEMS)])
async def test_the_thread_that_computes_pauses_only_while_short_requests_come(
    monkeypatch: pytest.MonkeyPatch, slicing: Callable[[Sequence[int]], Iterable[int]], count: int
) -> None:
    monkeypatch.setattr(report_slots, "SLICE_SECONDS", -1.0)  # each look at the clock ends a slice
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    now = 0.0
    requests = ShortRequests(lambda: now)
    engine, items = EngineThread(requests.are_expected), list(range(count))

    def compute() -> list[int]:
        return list(slicing(items))

    assert await engine.run(1, compute) == items
    assert pauses == []
    requests.begin("short")
    assert await engine.run(1, compute) == items
    assert pauses == [report_slots.PAUSE_SECONDS] * 5
    requests.answer("short")
    assert await engine.run(1, compute) == items
    assert len(pauses) == 10  # the next one is expected
    now = RECENT_SECONDS
    assert await engine.run(1, compute) == items
    assert len(pauses) == 10


def test_a_request_that_turns_out_to_be_long_lets_no_short_one_be_expected() -> None:
    requests = ShortRequests(lambda: 0.0)
    requests.begin("report")
    assert requests.are_expected()
    requests.exclude("report")
    assert not requests.are_expected()
    requests.exclude("report")
    requests.answer("report")
    assert not requests.are_expected()
    requests.begin("page")
    requests.answer("page")
    assert (requests.are_in_progress, requests.are_expected()) == (False, True)


def test_other_threads_that_compute_always_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_slots, "SLICE_SECONDS", -1.0)
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    assert list(in_slices(range(3))) == [0, 1, 2]
    assert len(pauses) == 3


def test_a_list_that_is_emptied_in_slices_is_empty() -> None:
    held = list(range(1_000))
    empty_in_slices(held)
    assert held == []
