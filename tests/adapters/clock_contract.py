"""What does every adapter of `engine.partition.ports.Clock` promise? Two times and three counts of seconds that agree."""

from engine.partition.ports import Clock
from schemas.instant import SECOND

LATE_SECONDS_MAX = 5.0
"""By how much a busy machine may be late in a test."""


class ClockContract:
    """Inherit from this and provide a fixture `clock`."""

    async def test_no_second_is_left_until_now(self, clock: Clock) -> None:
        assert -LATE_SECONDS_MAX < clock.seconds_until(clock.now()) <= 0

    async def test_seconds_until_an_instant_are_negative_once_it_has_passed(self, clock: Clock) -> None:
        assert clock.seconds_until(clock.now() - SECOND) < 0 < clock.seconds_until(clock.now() + 3_600 * SECOND)

    async def test_after_a_sleep_until_an_instant_it_has_come(self, clock: Clock) -> None:
        instant = clock.now() + SECOND // 5
        await clock.sleep(clock.seconds_until(instant))
        assert instant <= clock.now() + 1

    async def test_seconds_that_never_go_back_pass_during_a_sleep(self, clock: Clock) -> None:
        monotonic, elapsed, wall = clock.monotonic(), clock.elapsed(), clock.wall()
        await clock.sleep(0.05)
        assert clock.monotonic() >= monotonic + 0.049
        assert clock.elapsed() >= elapsed + 0.049
        assert clock.wall() >= wall + 49
