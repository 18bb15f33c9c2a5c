"""Do partitions of a process decide in turns, and does one that hangs leave the others alone?"""

import asyncio

import pytest

from adapters.partitions import turns as turns_module
from adapters.partitions.turns import TURNS, Turns


class Work:
    """Work in turns: who began, in order, and how many were at it at once."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.began: list[str] = []
        self.waited = ""
        self.at_once = 0
        self.most_at_once = 0

    async def do(self, name: str, until: asyncio.Event | None = None) -> None:
        async with self.turns.take() as has_waited:
            self.began.append(name)
            self.waited += name * has_waited
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            try:
                await (until.wait() if until is not None else asyncio.sleep(0))
            finally:
                self.at_once -= 1


async def test_partitions_take_turns_in_the_order_of_asking() -> None:
    work = Work()

    await asyncio.gather(*(work.do(name) for name in "abcd"))

    assert "".join(work.began) == "abcd"
    assert work.waited == "cd"
    assert work.most_at_once == TURNS


async def test_one_that_hangs_holds_the_others_back_for_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns_module, "WAIT_SECONDS_MAX", 0.02)
    work, answered = Work(), asyncio.Event()
    hanging = [asyncio.create_task(work.do("hangs", answered)) for _ in range(TURNS)]
    await asyncio.sleep(0)

    await asyncio.gather(work.do("b"), work.do("c"))

    assert not any(task.done() for task in hanging)
    assert sorted(work.began[TURNS:]) == ["b", "c"]
    answered.set()
    await asyncio.gather(*hanging)
    work.most_at_once = 0
    await asyncio.gather(*(work.do(name) for name in "defg"))
    assert work.most_at_once == TURNS, "a turn was given back twice, or never"


async def test_a_turn_ends_with_an_error_and_with_the_end_of_who_waits_for_it() -> None:
    work, answered = Work(), asyncio.Event()
    holders = [asyncio.create_task(work.do("holds", answered)) for _ in range(TURNS)]
    await asyncio.sleep(0)
    waiting = asyncio.create_task(work.do("never"))
    await asyncio.sleep(0)

    waiting.cancel()
    for holder in holders:
        holder.cancel()
    await asyncio.gather(waiting, *holders, return_exceptions=True)
    work.most_at_once = 0
    await asyncio.gather(*(work.do(name) for name in "abcd"))

    assert work.began == ["holds"] * TURNS + list("abcd")
    assert work.most_at_once == TURNS
