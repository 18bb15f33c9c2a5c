"""What differs between two versions of something? The lines of their JSON, marked as a unified diff marks them."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

import msgspec
from msgspec import Struct

CONTEXT = 3
"""Lines without a change around each change, as `diff -u` shows."""

LINES_MAX = 4_000
"""Lines of one side that are compared: a plan of 200 steps has some 2,000. The comparison is quadratic at worst."""


class DiffLine(Struct, frozen=True):
    """A line: `added`, `removed`, `same`, or `gap` where lines without a change are left out."""

    kind: str
    text: str


def diff_of(before: Any, after: Any) -> list[DiffLine]:
    """Return the lines of a diff; none where nothing differs."""
    if before == after:
        return []
    return list(_diff(_lines(before), _lines(after)))


def _diff(old: list[str], new: list[str]) -> Iterator[DiffLine]:
    groups = SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT)
    for number, group in enumerate(groups):
        if number:
            yield DiffLine("gap", "…")
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                yield from (DiffLine("same", line) for line in old[old_from:old_to])
            else:
                yield from (DiffLine("removed", line) for line in old[old_from:old_to])
                yield from (DiffLine("added", line) for line in new[new_from:new_to])


def _lines(value: Any) -> list[str]:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return text.split("\n")[:LINES_MAX]
