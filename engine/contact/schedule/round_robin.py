"""Whose turn is it at a lead? A fair share for each of several, with nothing but the lead's id to count by.

Ids of leads do not follow one another: calls take ids in between, often every second one. Counting them off would then pass
over half of those whose turn it should be. Multiples of the golden ratio are spread evenly whatever the steps between them.
"""

from engine.identity import PARTITIONS_MAX
from schemas.contact import Lead

_CIRCLE = 1 << 64
_GOLDEN = 0x9E3779B97F4A7C15
"""A round over the golden ratio."""


def pick_index(lead: Lead, count: int, *, later: int = 0) -> int:
    """Return whose turn it is, from 0 to below `count`; `later` turns on for the next of the same lead."""
    # Ids of one partition are 1024 apart: both digits take part, so that every partition begins elsewhere.
    place = sum(divmod(lead.id, PARTITIONS_MAX)) + later
    return place * _GOLDEN % _CIRCLE * count // _CIRCLE
