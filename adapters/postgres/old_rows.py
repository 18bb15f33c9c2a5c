"""How are old rows deleted? By statements of so many rows, each with its locks for a moment, up to a bound for one run."""

from collections.abc import Awaitable, Callable
from typing import Any

STATEMENTS_MAX = 200
"""Statements of one run; the next run deletes the rest."""


async def delete_in_steps(delete: Callable[[], Awaitable[Any]], rows: int, *, statements_max: int = STATEMENTS_MAX) -> int:
    """Delete until none is left, and return how many: `delete` runs a statement of at most `rows` and returns its status."""
    deleted = 0
    for _ in range(statements_max):
        count = int(str(await delete()).rpartition(" ")[2])
        deleted += count
        if count < rows:
            break
    return deleted
