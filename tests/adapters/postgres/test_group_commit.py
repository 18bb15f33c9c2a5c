"""Do many questions share an answerer without getting each other's answers?"""

import asyncio
from collections.abc import Sequence

import pytest

from adapters.postgres import group_commit
from adapters.postgres.group_commit import GroupCommit


class Desk:
    """Answers a question by its length, remembers the groups, and fails when a test asks for it."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.fails = False
        self.under_way = 0
        self.grouped = GroupCommit(self.answer, key=lambda question: question[0])

    async def answer(self, questions: Sequence[str]) -> list[int]:
        assert self.under_way == 0, "one group at a time"
        self.groups.append(list(questions))
        self.under_way += 1
        for _ in range(3):
            await asyncio.sleep(0)
        self.under_way -= 1
        if self.fails:
            raise OSError("away")
        return [len(question) for question in questions]


async def test_everybody_gets_an_own_answer_and_few_statements_are_made() -> None:
    desk = Desk()

    answers = await asyncio.gather(*(desk.grouped.submit(chr(1000 + n) * (n % 7 + 1)) for n in range(50)))

    assert answers == [n % 7 + 1 for n in range(50)]
    assert len(desk.groups) == 1


async def test_what_is_asked_meanwhile_goes_together_next() -> None:
    desk = Desk()

    first = asyncio.create_task(desk.grouped.submit("a"))
    while not desk.groups:
        await asyncio.sleep(0)
    later = await asyncio.gather(desk.grouped.submit("bb"), desk.grouped.submit("ccc"))

    assert (await first, list(later)) == (1, [2, 3])
    assert desk.groups == [["a"], ["bb", "ccc"]]


async def test_two_questions_of_one_key_never_meet_in_one_statement() -> None:
    desk = Desk()

    answers = await asyncio.gather(desk.grouped.submit("a"), desk.grouped.submit("aa"), desk.grouped.submit("b"))

    assert list(answers) == [1, 2, 1]
    assert desk.groups == [["a", "b"], ["aa"]]


async def test_a_group_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "GROUP_MAX", 10)
    desk = Desk()

    await asyncio.gather(*(desk.grouped.submit(chr(1000 + n)) for n in range(35)))

    assert [len(group) for group in desk.groups] == [10, 10, 10, 5]


async def test_an_error_reaches_every_caller_and_the_next_group_is_tried() -> None:
    desk = Desk()
    desk.fails = True
    results = await asyncio.gather(desk.grouped.submit("a"), desk.grouped.submit("b"), return_exceptions=True)
    desk.fails = False

    assert [str(error) for error in results] == ["away", "away"]
    assert await desk.grouped.submit("ccc") == 3


async def test_who_stops_waiting_holds_up_nobody() -> None:
    desk = Desk()
    leaving, staying = asyncio.create_task(desk.grouped.submit("a")), asyncio.create_task(desk.grouped.submit("bb"))
    await asyncio.sleep(0)
    leaving.cancel()

    assert await staying == 2
