"""Which columns of ring pools follow from what visitors did? Which numbers are held, for whom, and how many found none."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.http.exchange.exchange import Exchange
from adapters.reads.ports import Row
from engine.account.number_holds import visitor_mark
from engine.views.cells import cell

HOLDS = "holds"

VISITORS_SCOPE = "impression:read"
"""Who may not read impressions sees which numbers are held, and not for whom."""


async def ring_pool_columns(
    exchange: Exchange, ring_pool_ids: Sequence[int], columns: Sequence[str] | None
) -> dict[int, Mapping[str, Any]]:
    """Return the counts and holds of each ring pool that any visitor asked for a number."""
    reads, company_id = exchange.services.reads, exchange.company_id
    shown: dict[int, dict[str, Any]] = {
        ring_pool_id: {
            "held_count": row["held_count"],
            "overflow_count": row["overflow_count"],
            "last_overflow_at": cell(row["last_overflow_at"]),
        }
        for ring_pool_id, row in (await reads.ring_pools(company_id, ring_pool_ids, exchange.now)).items()
    }
    if columns is None or HOLDS in columns:
        holds: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
        for row in await reads.ring_pool_holds(company_id, list(shown), exchange.now):
            holds[row["ring_pool_id"]].append(_hold(row, shows_visitor=exchange.key.has_scope(VISITORS_SCOPE)))
        for ring_pool_id, columns_of_pool in shown.items():
            columns_of_pool[HOLDS] = holds[ring_pool_id]
    return dict(shown)


def _hold(row: Row, *, shows_visitor: bool) -> dict[str, Any]:
    """Return a number that is held, with its holder once the impression that asked for it has been stored."""
    is_known = row["visitor_id"] is not None and visitor_mark(row["visitor_id"]) == row["visitor"]
    names = ("visitor_id", "impression_uuid")
    return {
        "number_id": row["number_id"],
        **{name: cell(row[name]) if is_known and shows_visitor else None for name in names},
        "held_until": cell(row["held_until"]) if is_known else None,
    }
