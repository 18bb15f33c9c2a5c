"""Do open pages that ask the same get one answer, for a few seconds, and is none held that is too old?"""

import asyncio

from adapters.http.console.api_calls import ApiAnswer
from adapters.http.console.shared_answers import ANSWERS_MAX, SHARED_SECONDS, SharedAnswers


class Operation:
    """Counts how often it is asked; the clock stands still."""

    def __init__(self) -> None:
        self.now = 100.0
        self.asked = 0
        self.shared = SharedAnswers(lambda: self.now)

    async def run(self) -> ApiAnswer:
        self.asked += 1
        number = self.asked
        await asyncio.sleep(0)
        return ApiAnswer(200, {"number": number})

    async def ask(self, *keys: str) -> list[int]:
        answers = await asyncio.gather(*(self.shared.get(key, self.run) for key in keys))
        return [answer.content["number"] for answer in answers]


async def test_pages_that_ask_at_once_or_soon_after_get_one_answer() -> None:
    operation = Operation()
    assert await operation.ask("a", "a", "b") == [1, 1, 2]
    operation.now += SHARED_SECONDS - 0.1
    assert await operation.ask("a", "b") == [1, 2]
    operation.now += 0.1
    assert await operation.ask("a", "a") == [3, 3]


async def test_what_was_asked_before_a_change_is_asked_again_by_the_first_and_shared_by_the_others() -> None:
    operation = Operation()
    assert await operation.ask("a") == [1]
    operation.now += 1
    changed_at = operation.now
    operation.now += 1
    answers = await asyncio.gather(*(operation.shared.get("a", operation.run, since=changed_at) for _ in range(3)))
    assert [answer.content["number"] for answer in answers] == [2, 2, 2]
    assert await operation.ask("a") == [2]


async def test_what_is_too_old_is_held_no_longer() -> None:
    operation = Operation()
    await operation.ask(*(str(number) for number in range(50)))
    operation.now += SHARED_SECONDS / 2
    await operation.ask("later")
    operation.now += SHARED_SECONDS / 2
    await operation.ask("another")
    assert len(operation.shared) == 2


async def test_no_more_answers_are_held_than_the_limit() -> None:
    operation = Operation()
    await operation.ask(*(str(number) for number in range(ANSWERS_MAX + 5)))
    assert len(operation.shared) == ANSWERS_MAX


async def test_a_page_that_closes_ends_no_answer_of_the_others() -> None:
    operation = Operation()
    leaving, staying = (asyncio.create_task(operation.ask("a")) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying == [1]
