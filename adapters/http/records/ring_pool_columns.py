"""Which columns of ring pools follow from what visitors did? How many numbers are held now, and how many found none."""

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.reads.ports import Reads
from engine.views.cells import cell
from schemas.instant import Instant


async def ring_pool_columns(
    reads: Reads, company_id: int, ring_pool_ids: Sequence[int], now: Instant
) -> dict[int, Mapping[str, Any]]:
    """Return the counts of each ring pool that any visitor asked for a number."""
    return {
        ring_pool_id: {
            "held_count": row["held_count"],
            "overflow_count": row["overflow_count"],
            "last_overflow_at": cell(row["last_overflow_at"]),
        }
        for ring_pool_id, row in (await reads.ring_pools(company_id, ring_pool_ids, now)).items()
    }
