"""What differs from what was decided, where, and how early in the order of causes?"""

from typing import Any, Literal

from msgspec import Struct

Cause = Literal["request", "rule", "state", "version", "decision", "command", "outcome"]

CAUSES: tuple[Cause, ...] = ("request", "rule", "state", "version", "decision", "command", "outcome")
"""The order of causes: what is wrong with an earlier one explains what is wrong with the later ones."""


class Difference(Struct, frozen=True, kw_only=True):
    """A difference from the record: `what` in words, and both values where there are two.

    `sequence` is that of the decision at which it shows; 0 where no decision is known. `key` is that of the record or value,
    or the id of the command.
    """

    cause: Cause
    topic: str
    partition: int
    offset: int
    sequence: int
    what: str
    key: str = ""
    recorded: Any = None
    decided: Any = None


def first_cause(*differences: Difference | None) -> Difference | None:
    """Return the difference that comes first in the order of causes."""
    found = [one for one in differences if one is not None]
    return min(found, key=lambda one: CAUSES.index(one.cause), default=None)


class Checked(Struct, frozen=True, kw_only=True):
    """How many records or values were held against decisions, and how many not, because their decisions are gone.

    `foreign` counts records that cannot be read as what their topic holds: no process acts on them. `missing` counts
    commands that were decided and are not on their topics, and that retention has not deleted: lost or dropped.
    """

    looked_at: int = 0
    not_looked_at: int = 0
    foreign: int = 0
    missing: int = 0
    first_missing: str = ""
    difference: Difference | None = None
