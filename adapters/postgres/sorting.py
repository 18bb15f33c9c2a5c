"""Which index serves a sorted list? A list is read in ranges, one after the other, each in the order of its own index.

Rows without a value come last in both directions. Equal rows are sorted by creation, then id, in the direction of the list.
An amount or priority that most rows share is a range of its own, so that only other values need to be in the index. The
indexes are in `migrations/read`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

PLAIN = frozenset({"created_at", "id"})
"""Columns that are never null and have an index of their own."""


class SortKey(Struct, frozen=True):
    """What a list is sorted by: an expression, the column that may be null for it, and the value that most rows have."""

    expression: str
    nullable_column: str | None = None
    commonest_value: str | None = None


class SortRange(Struct, frozen=True):
    """A part of a sorted list: which rows (a condition, or none), and what they are sorted by."""

    where: str
    order_by: tuple[str, ...]


LEAD_SORT_KEYS: Mapping[str, SortKey] = {
    **{name: SortKey(name) for name in ("created_at", "id", "updated_at", "status")},
    "email": SortKey("lower(email)", nullable_column="email"),
    "revenue": SortKey("revenue", commonest_value="0"),
    "payout": SortKey("payout", commonest_value="0"),
    "lead_priority": SortKey("lead_priority", commonest_value="100"),
}
CALL_SORT_KEYS: Mapping[str, SortKey] = {
    **{name: SortKey(name) for name in ("created_at", "id", "status", "total_duration", "attempt_number")},
    **{name: SortKey(name, commonest_value="0") for name in ("revenue", "payout", "talk_duration")},
}


def find_sort_key(table: str, name: str) -> SortKey:
    """Return the sort key of a list of leads, calls or records for a column, or for an expression of records."""
    known = {"leads": LEAD_SORT_KEYS, "calls": CALL_SORT_KEYS}.get(table, {})
    return known.get(name) or SortKey(name, nullable_column=None if name in PLAIN else name)


def sort_ranges(order: SortKey, *, descending: bool) -> Sequence[SortRange]:
    """Return the ranges of a list in their order."""
    by_value = (order.expression, *(name for name in ("created_at", "id") if name != order.expression))
    if order.expression in PLAIN:
        return [SortRange("", by_value[: 1 if order.expression == "id" else 2])]
    same = ("created_at", "id")
    if order.commonest_value is not None:
        signs = (">", "=", "<") if descending else ("<", "=", ">")
        return [
            SortRange(f" AND {order.expression} {sign} {order.commonest_value}", same if sign == "=" else by_value)
            for sign in signs
        ]
    if order.nullable_column:
        return [
            SortRange(f" AND {order.nullable_column} IS NOT NULL", by_value),
            SortRange(f" AND {order.nullable_column} IS NULL", same),
        ]
    return [SortRange("", by_value)]


def order_by_sql(sort_range: SortRange, *, descending: bool) -> str:
    """Return the ORDER BY of a range."""
    direction = "DESC" if descending else "ASC"
    return ", ".join(f"{expression} {direction}" for expression in sort_range.order_by)


SortPosition = tuple[int, tuple[Any, ...]]
"""A row's position in its list: the number of its range, and the values that the range is sorted by."""


def sort_position(row: Mapping[str, Any], number: int, sort_range: SortRange) -> SortPosition:
    """Return a row's position; its `ordered_by` is the value of the sort key."""
    return number, tuple(row[name] if name in PLAIN else row["ordered_by"] for name in sort_range.order_by)
