"""How does a gateway sleep in domain time? By the clock: that of a demonstration runs faster than the wall."""

from engine.partition.ports import Clock
from schemas.instant import SECOND, Instant

SLICE_SECONDS_MAX = 60.0
"""A clock that was set is noticed within this."""


async def sleep_until(clock: Clock, instant: Instant) -> None:
    """Wait for a domain instant; returns at once where it has passed."""
    while (left_seconds := clock.seconds_until(instant)) > 0:
        await clock.sleep(min(left_seconds, SLICE_SECONDS_MAX))


async def sleep_domain_seconds(clock: Clock, domain_seconds: float) -> None:
    """Sleep for domain seconds."""
    await sleep_until(clock, clock.now() + int(domain_seconds * SECOND))
