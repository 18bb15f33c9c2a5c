"""Does the clock of this gateway agree with the database's? On a wrong one it would drop texts as late, or send at night.

The database is asked from time to time. From its last answer on, its time is known from the seconds that elapse, so a clock
that is set shows at once. A partition compares with its broker in the same way (`engine/partition/broker_clock.py`).
"""

from collections.abc import Awaitable, Callable

from engine.partition.broker_clock import BrokerTime, ahead_seconds, clocks_disagree
from engine.partition.ports import Clock
from schemas.instant import Instant

NOT_COMPARED = "is not compared with the database's yet"


class ComparedClock:
    """A gateway's clock beside the database's."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: BrokerTime | None = None

    async def compare(self, ask: Callable[[], Awaitable[Instant]]) -> None:
        """Ask the database for its time. Raises what `ask` raises; the last answer then stands."""
        sent_seconds = self._clock.elapsed()
        answered_at = await ask()
        self._known = BrokerTime(answered_at, sent_seconds, self._clock.elapsed())

    @property
    def problem(self) -> str | None:
        """What is wrong with the clock, and what to do; None where it agrees."""
        if self._known is None:
            return NOT_COMPARED
        apart = ahead_seconds(self._clock.wall(), self._clock.elapsed(), self._known, None)
        if not clocks_disagree(apart):
            return None
        return (
            f"is {abs(apart):.0f} s {'ahead of' if apart > 0 else 'behind'} the database's. Nothing is given to a provider, "
            "and nothing is dropped as late, also after a restart. Set the wrong clock of the two; the gateway then goes on "
            "by itself."
        )
