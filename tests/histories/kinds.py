"""Which kinds of decisions does a history lack? Kinds that it lacks are not proved by it.

`kinds.txt` lists requests by their verdict, ticks by what was due, and facts. A request of every type is needed as well, at
least one that cannot be read.
"""

from collections.abc import Iterable
from pathlib import Path

from schemas.decisions import Decision
from schemas.requests import REQUEST_TYPES

LISTED = (Path(__file__).parent / "kinds.txt").read_text("utf-8").splitlines()


def missing_from(decisions: Iterable[Decision]) -> list[str]:
    """Return the kinds that none of these decisions is of."""
    held: set[str] = set()
    for decision in decisions:
        cause = decision.cause
        what = (cause.key or "").partition("/")[0] if cause.kind == "tick" else decision.verdict
        held |= {f"cause {cause.kind}/{what}", f"request {cause.type}", *(f"fact {fact.type}" for fact in decision.facts)}
    return sorted({*LISTED, *(f"request {name}" for name in REQUEST_TYPES.values())} - held)
