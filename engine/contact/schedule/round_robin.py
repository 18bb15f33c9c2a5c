"""Which of several gets this lead? Round robin by the lead's id alone, with no counter to store.

Ids of leads are not consecutive: calls take ids in between, often every second one, so `id % count` would miss half of the
choices. Multiples of the golden ratio spread evenly whatever the gaps (Fibonacci hashing, Knuth TAOCP 6.4).
"""

from engine.identity import PARTITIONS_MAX
from schemas.contact import Lead

_CIRCLE = 1 << 64
_GOLDEN = 0x9E3779B97F4A7C15
"""2**64 divided by the golden ratio."""


def pick_index(lead: Lead, count: int, *, later: int = 0) -> int:
    """Return an index below `count`; `later` moves on, for the next choice of the same lead."""
    # Ids of one partition are 1024 apart: both digits take part, so that every partition begins elsewhere.
    place = sum(divmod(lead.id, PARTITIONS_MAX)) + later
    return place * _GOLDEN % _CIRCLE * count // _CIRCLE
