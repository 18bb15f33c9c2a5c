"""Do waits between attempts grow, end at a bound or at a stop, and begin short again after a success?"""

import asyncio

import pytest

from adapters.retry import BACKOFF_FIRST_SECONDS, BACKOFF_MAX_SECONDS, JITTER, Backoff, retry, retry_until_stopped


class Flaky:
    """Raises each given error once, then succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self) -> None:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)


def is_away(error: Exception) -> bool:
    return isinstance(error, ConnectionError)


def test_pauses_double_up_to_a_bound_and_begin_short_again_after_a_success() -> None:
    backoff = Backoff()
    pauses = [backoff.next_seconds() for _ in range(8)]
    wanted = [min(BACKOFF_FIRST_SECONDS * 2**attempt, BACKOFF_MAX_SECONDS) for attempt in range(8)]
    for pause, middle in zip(pauses, wanted, strict=True):
        assert (1 - JITTER) * middle - 0.01 <= pause <= (1 + JITTER) * middle + 0.01
    backoff.reset()
    assert backoff.next_seconds() <= (1 + JITTER) * BACKOFF_FIRST_SECONDS + 0.01


@pytest.mark.parametrize(("attempts", "calls"), [(None, 4), (4, 4), (3, 3), (1, 1)])
async def test_a_call_is_retried_until_it_succeeds_or_its_attempts_are_used_up(attempts: int | None, calls: int) -> None:
    act = Flaky(*[ConnectionError() for _ in range(3)])
    trying = retry(act, on=is_away, first_seconds=0.001, max_seconds=0.002, jitter_seconds=0, attempts=attempts)
    if attempts is not None and attempts < 4:
        with pytest.raises(ConnectionError):
            await trying
    else:
        await trying
    assert act.calls == calls


@pytest.mark.parametrize("transient", [0, 2])
async def test_an_error_that_no_retry_helps_is_raised_at_once(transient: int) -> None:
    act = Flaky(*[ConnectionError() for _ in range(transient)], ValueError())
    with pytest.raises(ValueError):  # noqa: PT011 - it has no text
        await retry(act, on=is_away, first_seconds=0.001, max_seconds=0.002, jitter_seconds=0)
    assert act.calls == transient + 1


async def test_a_stop_ends_the_wait_between_attempts() -> None:
    stop, work = asyncio.Event(), Flaky(ConnectionError(), ConnectionError())
    waits: list[float] = []

    async def failed(_: ConnectionError, seconds: float) -> None:
        waits.append(seconds)
        stop.set()

    async with asyncio.timeout(BACKOFF_FIRST_SECONDS / 2):
        await retry_until_stopped(work, stop, on=(ConnectionError,), backoff=Backoff(), failed=failed)
    assert (work.calls, len(waits)) == (1, 1)
