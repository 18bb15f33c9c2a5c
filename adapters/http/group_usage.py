"""What have buyer groups used of their caps? Asked of the sums that reports are made of, once for each span that counts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from adapters.http.exchange import Exchange
from adapters.http.ports import CallFilter, Row
from engine.account.groups import PERIODS
from engine.views.caps import Used, order_key, period_of, used_of
from engine.views.report import Grouping, Sums
from schemas.instant import Instant
from schemas.records import BuyerGroup

BY_GROUP = Grouping("buyer_group_id")


async def usage(exchange: Exchange, groups: Mapping[int, BuyerGroup], periods: Iterable[str] = PERIODS) -> dict[int, Used]:
    """Return what each group has used of the caps of these periods, whether it has such a cap or not."""
    spans: dict[Instant | None, Mapping[int, Sums]] = {}
    found: dict[int, dict[str, float]] = {group_id: {} for group_id in groups}
    for period in periods:
        for group_id, group in groups.items():
            since = period_of(period, exchange.now, group)[0]
            if since not in spans:
                spans[since] = await _sums(exchange, since)
            found[group_id] |= used_of(period, spans[since].get(group_id))
    return {**found}


async def _sums(exchange: Exchange, since: Instant | None) -> Mapping[int, Sums]:
    groups = await exchange.services.reads.sums(exchange.company_id, CallFilter(created_from=since), BY_GROUP, None)
    return {int(group.category): group.sums for group in groups or () if group.category is not None}


def listed_first(
    name: str, rows: Sequence[Row], held: Mapping[int, int], used: Mapping[int, Used], now: Instant, *, descending: bool
) -> list[Row]:
    """Return rows of groups in one of the orders that are worked out; those without a value come last, equal ones by id."""

    def key(row: Row) -> Any:
        return order_key(name, body_of_row(row), used.get(row["id"], {}), held.get(row["id"], 0), now)

    valued = sorted((row for row in rows if key(row) is not None), key=lambda row: (key(row), row["id"]), reverse=descending)
    return [*valued, *sorted((row for row in rows if key(row) is None), key=lambda row: row["id"], reverse=descending)]


def body_of_row(row: Row) -> BuyerGroup:
    """Return the fields of a group from its row."""
    return msgspec.convert(row["body"], BuyerGroup)
