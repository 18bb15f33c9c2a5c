"""How is an instant written? As whole milliseconds since 1970-01-01T00:00:00Z: exact, sortable, the same bytes anywhere.

Everything inside the engine and on the internal topics is an `Instant`. The edges (HTTP, `leads.inbox`, command line)
read and write RFC 3339 or the date shape of the interface, and convert once.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, overload

Millis = int
"""A duration in milliseconds."""

if TYPE_CHECKING:

    class Instant:
        """A point in time: milliseconds since 1970 UTC. Only mypy sees this class; at run time an instant is an `int`.

        mypy refuses an `int` where an instant belongs, and the reverse: the sum of two instants, a duration for an
        instant and a comparison of the two are errors (`tests/schemas/test_instant.py`). `Instant(n)` and `EPOCH + n`
        make an instant of a number; `at - EPOCH` gives the number.
        """

        def __init__(self, value: int, /) -> None: ...
        def __add__(self, other: Millis, /) -> "Instant": ...
        def __radd__(self, other: Millis, /) -> "Instant": ...
        @overload
        def __sub__(self, other: "Instant", /) -> Millis: ...
        @overload
        def __sub__(self, other: Millis, /) -> "Instant": ...
        def __sub__(self, other: object, /) -> object: ...
        def __mod__(self, other: Millis, /) -> Millis: ...
        def __floordiv__(self, other: Millis, /) -> int: ...
        def __truediv__(self, other: Millis, /) -> float: ...
        def __neg__(self) -> Millis: ...
        def __lt__(self, other: "Instant", /) -> bool: ...
        def __le__(self, other: "Instant", /) -> bool: ...
        def __gt__(self, other: "Instant", /) -> bool: ...
        def __ge__(self, other: "Instant", /) -> bool: ...
        def __bool__(self) -> bool: ...
        def __index__(self) -> int: ...

else:
    Instant = int

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
