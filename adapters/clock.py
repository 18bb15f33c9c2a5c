"""What time is it? Wall time, or domain time that runs `speed` times as fast from an origin that all roles share."""

import asyncio
import time

from msgspec import Struct

from engine.partition.broker_clock import BrokerTime, ahead_seconds, clocks_disagree
from schemas.instant import EPOCH, Instant

_ELAPSED: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""The monotonic clock of Linux stops during sleep, so use CLOCK_BOOTTIME; that of macOS runs on."""


class Origin(Struct, frozen=True):
    """Domain time was `domain_at` when wall time was `wall_at` (milliseconds), and has run `speed` times as fast since."""

    wall_at: Instant = EPOCH
    domain_at: Instant = EPOCH
    speed: float = 1.0


def wall_now() -> Instant:
    """Return the wall time in milliseconds since 1970 UTC."""
    return EPOCH + time.time_ns() // 1_000_000


def _elapsed() -> float:
    """Return seconds that never go back and include sleep of the machine: a laptop may be closed for a night."""
    return time.clock_gettime(_ELAPSED)


class SystemClock:
    """The clock of a process; implements `engine.partition.ports.Clock`."""

    def __init__(self, origin: Origin | None = None) -> None:
        self.origin = origin or Origin()
        self._started = BrokerTime(wall_now(), _elapsed(), _elapsed())

    def now(self) -> Instant:
        """Return the domain time."""
        if self.origin.speed == 1.0:
            return wall_now() - self.origin.wall_at + self.origin.domain_at
        return self.origin.domain_at + int((wall_now() - self.origin.wall_at) * self.origin.speed)

    def monotonic(self) -> float:
        """Return wall seconds that never go back and include sleep: leases expire meanwhile."""
        return _elapsed()

    def seconds_until(self, instant: Instant) -> float:
        """Return the wall seconds until a domain instant."""
        return (instant - self.now()) / 1000 / self.origin.speed

    def wall(self) -> Instant:
        """Return the wall time."""
        return wall_now()

    def elapsed(self) -> float:
        """Return seconds that never go back and include sleep."""
        return _elapsed()

    def was_set(self) -> bool:
        """Return whether wall time has drifted from the seconds since this process started: the clock was set."""
        return clocks_disagree(ahead_seconds(wall_now(), _elapsed(), self._started, None))

    async def sleep(self, seconds: float) -> None:
        """Wait on wall time."""
        await asyncio.sleep(seconds)
