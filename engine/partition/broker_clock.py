"""Does this machine's clock agree with the brokers'? Clock skew, measured beyond the round trip of the measurement.

To write a record is to learn the broker's time: the record was appended between sending and acknowledgement. From then on
the broker's time is known from the seconds that elapse, whatever happens to the clock. A new process measures again, so
neither a step of the clock nor a restart on a wrong one goes unnoticed.
"""

from msgspec import Struct

from schemas.instant import Instant

DISAGREEMENT_MAX_SECONDS = 30.0
"""NTP keeps machines far closer. Beyond this, nothing that depends on time is done until the clocks agree again."""


class BrokerTime(Struct, frozen=True):
    """A broker's clock showed `appended_at` between two readings of `Clock.elapsed`."""

    appended_at: Instant
    sent_seconds: float
    acknowledged_seconds: float


def ahead_seconds(
    wall_at: Instant, elapsed_seconds: float, broker_time: BrokerTime | None, appended_at: Instant | None
) -> float:
    """Return by how much a clock is ahead of the brokers' (negative: behind), as far as that is certain.

    `appended_at` is when any record was appended: it shows a clock that is behind, but none that is ahead, because the
    record may have waited.
    """
    wall_seconds = wall_at / 1000
    behind = 0.0 if appended_at is None else max(0.0, appended_at / 1000 - wall_seconds)
    if broker_time is None:
        return -behind
    earliest = broker_time.appended_at / 1000 + elapsed_seconds - broker_time.acknowledged_seconds
    latest = broker_time.appended_at / 1000 + elapsed_seconds - broker_time.sent_seconds
    ahead = max(0.0, wall_seconds - latest)
    behind = max(behind, earliest - wall_seconds)
    return ahead if ahead >= behind else -behind


def clocks_disagree(seconds: float) -> bool:
    """Return whether the clocks differ so much that ours must not be used."""
    return abs(seconds) > DISAGREEMENT_MAX_SECONDS
