"""What does a buyer earn us by each connected call (EPC)? Its revenue of seven days, by the calls that it had in them.

Calls that are routed by EPC count, on the day (in UTC) of their slot or start. The last seven days are kept, today included.
"""

from decimal import Decimal

from schemas.account import EarnedDay, Slots
from schemas.instant import DAY, Instant
from schemas.money import NOTHING, amount

EPC_DAYS = 7
"""Days that count: a week has each weekday once."""

EPC_CALLS_MIN = 20
"""Connected calls from which on an EPC is known: of fewer, one conversion would decide."""

UNKNOWN = Decimal("Infinity")
"""The EPC of a buyer with too few calls: it goes first, or nobody would ever know."""


def first_day(now: Instant) -> Instant:
    """Return where the days that count begin."""
    return Instant((now // DAY - EPC_DAYS + 1) * DAY)


def epc_of(slots: Slots, now: Instant) -> Decimal:
    """Return revenue by connected call, `UNKNOWN` where there were too few of them."""
    days = _last_days(slots, now)
    calls = sum(day.calls for day in days)
    return UNKNOWN if calls < EPC_CALLS_MIN else amount(sum((day.revenue for day in days), NOTHING) / calls)


def add_call(slots: Slots, at: Instant, now: Instant) -> None:
    """Count a call that was connected to the buyer."""
    _add(slots, at, now, calls=1)


def add_revenue(slots: Slots, at: Instant, now: Instant, revenue: Decimal) -> None:
    """Add what a call of an instant earned; a reversal is negative."""
    _add(slots, at, now, revenue=revenue)


def _add(slots: Slots, at: Instant, now: Instant, *, calls: int = 0, revenue: Decimal = NOTHING) -> None:
    number = at // DAY
    days = {day.day: day for day in (*_last_days(slots, now), EarnedDay(number))}
    known = next((day for day in slots.earned_days if day.day == number), EarnedDay(number))
    days[number] = EarnedDay(number, known.calls + calls, amount(known.revenue + revenue))
    slots.earned_days = tuple(days[day] for day in sorted(days) if day > now // DAY - EPC_DAYS)


def _last_days(slots: Slots, now: Instant) -> tuple[EarnedDay, ...]:
    return tuple(day for day in slots.earned_days if day.day > now // DAY - EPC_DAYS)
