"""How is an instant written? As whole milliseconds since 1970-01-01T00:00:00Z: exact, sortable, the same bytes anywhere.

Everything inside the engine and on the internal topics is an `Instant`. The edges (HTTP, `leads.inbox`, command line)
read and write RFC 3339 or the date shape of the interface, and convert once.
"""

from datetime import UTC, datetime, timedelta

Instant = int
"""A point in time: milliseconds since 1970 UTC."""

Millis = int
"""A duration in milliseconds."""

EPOCH = Instant(0)
"""1970-01-01T00:00:00Z; also the value of an instant that is not set, in comparisons."""

SECOND: Millis = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_EPOCH_DATETIME = datetime(1970, 1, 1, tzinfo=UTC)


def from_datetime(moment: datetime) -> Instant:
    """Return the instant of an aware datetime, cut to the millisecond."""
    if moment.tzinfo is None:
        raise ValueError("a moment without a UTC offset is not an instant")
    return EPOCH + (moment - _EPOCH_DATETIME) // timedelta(milliseconds=1)


def to_datetime(instant: Instant) -> datetime:
    """Return the aware UTC datetime of an instant."""
    return _EPOCH_DATETIME + timedelta(milliseconds=instant - EPOCH)


def to_rfc3339(instant: Instant) -> str:
    """Return `2026-03-08T12:00:00Z`, with milliseconds only where there are any."""
    moment = to_datetime(instant)
    return moment.isoformat(timespec="milliseconds" if instant % SECOND else "seconds").replace("+00:00", "Z")
