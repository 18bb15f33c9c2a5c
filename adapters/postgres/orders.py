"""How is a list sorted so that an index gives its order? In stretches, one after the other, each by an index of its own.

Rows without a value come last either way. Rows that are equal stand by creation, then id, in the direction of the list. An
amount or a priority that most rows share is a stretch of its own, so that only the others need to be in the index.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

PLAIN = frozenset({"created_at", "id"})
"""Their own indexes give the order as it is; both are known of every row."""


class Order(Struct, frozen=True):
    """What a list is sorted by: an expression, the column that rows may lack for it, and the value that most rows have."""

    expression: str
    lacks: str | None = None
    usual: str | None = None


class Stretch(Struct, frozen=True):
    """A part of a sorted list: which rows (a condition, or nothing), and how they are ordered."""

    where: str
    ordered: tuple[str, ...]


LEAD_ORDERS: Mapping[str, Order] = {
    **{name: Order(name) for name in ("created_at", "id", "updated_at", "status")},
    "email": Order("lower(email)", lacks="email"),
    "revenue": Order("revenue", usual="0"),
    "payout": Order("payout", usual="0"),
    "lead_priority": Order("lead_priority", usual="100"),
}
CALL_ORDERS: Mapping[str, Order] = {
    **{name: Order(name) for name in ("created_at", "id", "status", "total_duration", "attempt_number")},
    **{name: Order(name, usual="0") for name in ("revenue", "payout", "talk_duration")},
}


def order_of(table: str, name: str) -> Order:
    """Return the order of a list of leads, calls or records by a column, or by an expression of records."""
    known = {"leads": LEAD_ORDERS, "calls": CALL_ORDERS}.get(table, {})
    return known.get(name) or Order(name, lacks=None if name in PLAIN else name)


def stretches(order: Order, *, descending: bool) -> Sequence[Stretch]:
    """Return the stretches of a list in their order."""
    by_value = (order.expression, *(name for name in ("created_at", "id") if name != order.expression))
    if order.expression in PLAIN:
        return [Stretch("", by_value[: 1 if order.expression == "id" else 2])]
    same = ("created_at", "id")
    if order.usual is not None:
        signs = (">", "=", "<") if descending else ("<", "=", ">")
        return [
            Stretch(f" AND {order.expression} {sign} {order.usual}", same if sign == "=" else by_value) for sign in signs
        ]
    if order.lacks:
        return [Stretch(f" AND {order.lacks} IS NOT NULL", by_value), Stretch(f" AND {order.lacks} IS NULL", same)]
    return [Stretch("", by_value)]


def sql_of(stretch: Stretch, *, descending: bool) -> str:
    """Return the ORDER BY of a stretch."""
    direction = "DESC" if descending else "ASC"
    return ", ".join(f"{expression} {direction}" for expression in stretch.ordered)


Place = tuple[int, tuple[Any, ...]]
"""Where a row stands in its list: the number of its stretch, and the values that the stretch is ordered by."""


def place_of(row: Mapping[str, Any], number: int, stretch: Stretch) -> Place:
    """Return where a row stands; it has `ordered_by`, which is what the list is sorted by."""
    return number, tuple(row[name] if name in PLAIN else row["ordered_by"] for name in stretch.ordered)
