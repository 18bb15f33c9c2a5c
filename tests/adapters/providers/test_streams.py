"""Does one gateway listen to each vendor, and does every event arrive, in order, though the API is away for a while?"""

import asyncio
from typing import Any

import httpx
import pytest

from adapters.postgres.stream_leases import PostgresStreamLeases
from adapters.providers.ports import Callback, StreamedEvent
from adapters.providers.streams import HandOver
from tests.adapters.providers.asterisk_office import until


async def test_a_lease_is_one_processs_until_it_runs_out_or_is_given_up(pool: Any) -> None:
    leases = PostgresStreamLeases(pool)

    async def hold(number: int, holder: str, seconds: float = 60) -> bool:
        return number in await leases.hold([number], holder, seconds=seconds, most=10)

    assert await hold(7, "a")
    assert await hold(7, "a")
    assert not await hold(7, "b")
    assert await hold(8, "b")
    await leases.release(7, "b")
    assert not await hold(7, "b")
    await leases.release(7, "a")
    assert await hold(7, "b", 0)
    assert await hold(7, "a")
    assert not await hold(7, "b")


async def test_of_many_that_ask_at_once_one_gets_each_lease(pool: Any) -> None:
    leases = PostgresStreamLeases(pool)
    asked = [[*range(20)], [*range(19, -1, -1)]]

    held = await asyncio.gather(
        *(leases.hold(asked[number % 2], f"gateway {number}", seconds=60, most=20) for number in range(8))
    )

    assert sorted(one for leased in held for one in leased) == [*range(20)]


async def test_a_process_keeps_its_own_leases_before_it_takes_free_ones_and_leaves_the_rest_to_others(pool: Any) -> None:
    leases = PostgresStreamLeases(pool)
    assert await leases.hold([5, 6], "a", seconds=60, most=2) == {5, 6}

    assert await leases.hold([*range(10)], "a", seconds=60, most=3) == {5, 6, 0}
    assert await leases.hold([*range(10)], "b", seconds=60, most=3) == {1, 2, 3}
    assert await leases.hold([*range(10)], "a", seconds=60, most=3) == {5, 6, 0}


class Receiver:
    """Our API, as far as a callback sees it: answers with these statuses, then with 200."""

    def __init__(self, *statuses: int | Exception) -> None:
        self.statuses = list(statuses)
        self.asked: list[str] = []
        self.taken: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        body = request.content.decode()
        self.asked.append(body)
        if body in self.gates:
            await self.gates[body].wait()
        status = self.statuses.pop(0) if self.statuses else 200
        if isinstance(status, Exception):
            raise status
        if status == 200:
            self.taken.append(body)
        return httpx.Response(status, text="said")


def event(key: str, body: str) -> StreamedEvent:
    callback = Callback(url="https://leads.example.com/x", headers={}, query={}, form={}, body=body.encode())
    return StreamedEvent(key=key, callback=callback)


@pytest.mark.parametrize("failure", [503, 429, 500, httpx.ConnectError("away")])
async def test_an_event_waits_for_an_api_that_is_away_and_those_behind_it_wait_too(failure: int | Exception) -> None:
    receiver = Receiver(failure, failure)
    async with httpx.AsyncClient(transport=httpx.MockTransport(receiver)) as client, HandOver(client).running() as hand_over:
        await hand_over.take(event("c1", "first"))
        await hand_over.take(event("c1", "second"))
        await until(lambda: len(receiver.taken) == 2, what="both events")

    assert receiver.asked == ["first", "first", "first", "second"]


async def test_events_of_other_calls_do_not_wait() -> None:
    receiver = Receiver()
    receiver.gates["slow"] = asyncio.Event()
    async with httpx.AsyncClient(transport=httpx.MockTransport(receiver)) as client, HandOver(client).running() as hand_over:
        await hand_over.take(event("c1", "slow"))
        await hand_over.take(event("c2", "other"))
        await until(lambda: receiver.taken == ["other"], what="the event of the other call")
        receiver.gates["slow"].set()
        await until(lambda: receiver.taken == ["other", "slow"], what="the slow event")


@pytest.mark.parametrize("status", [400, 403, 404])
async def test_a_refused_event_is_not_sent_again(status: int) -> None:
    receiver = Receiver(status)
    async with httpx.AsyncClient(transport=httpx.MockTransport(receiver)) as client, HandOver(client).running() as hand_over:
        await hand_over.take(event("c1", "first"))
        await hand_over.take(event("c1", "second"))
        await until(lambda: receiver.taken == ["second"], what="the event behind the refused one")

    assert receiver.asked == ["first", "second"]


async def test_an_event_that_is_not_taken_in_time_is_left_to_the_look_up() -> None:
    receiver = Receiver(*[503] * 10_000)
    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(receiver)) as client,
        HandOver(client, seconds=0.01).running() as hand_over,
    ):
        await hand_over.take(event("c1", "first"))
        await hand_over.take(event("c1", "second"))
        await until(lambda: "second" in receiver.asked, what="the event behind")
