"""What have buyer groups used of their caps? Asked of the sums that reports are made of, once for each span that counts.

Lists of groups show it, and can be ordered by it; whether a buyer may take a call hangs on it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from adapters.http.exchange import Exchange
from adapters.http.ports import CallFilter, Page, Paging, RecordFilter, Row
from adapters.http.problems import ProblemError
from engine.account.groups import PERIODS
from engine.views.caps import Used, capped_periods, order_key, period_of, used_of
from engine.views.report import Grouping, Sums
from schemas.instant import Instant
from schemas.records import BuyerGroup

GROUP = "buyer_group"
"""The type of record that all of this is about."""

GROUPS_ORDERED_MAX = 1_000
"""Groups of a company that are ordered by what is counted of them: all are read, whatever page is asked for."""

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
    return dict(found)


async def _sums(exchange: Exchange, since: Instant | None) -> Mapping[int, Sums]:
    groups = await exchange.services.reads.sums(exchange.company_id, CallFilter(created_from=since), BY_GROUP, None)
    return {int(group.category): group.sums for group in groups or () if group.category is not None}


def _listed_first(
    name: str, rows: Sequence[Row], held: Mapping[int, int], used: Mapping[int, Used], now: Instant, *, descending: bool
) -> list[Row]:
    """Return rows of groups in one of the orders that are worked out; those without a value come last, equal ones by id."""

    def key(row: Row) -> Any:
        return order_key(name, _body_of(row), used.get(row["id"], {}), held.get(row["id"], 0), now)

    valued = sorted((row for row in rows if key(row) is not None), key=lambda row: (key(row), row["id"]), reverse=descending)
    return [*valued, *sorted((row for row in rows if key(row) is None), key=lambda row: row["id"], reverse=descending)]


def _body_of(row: Row) -> BuyerGroup:
    """Return the fields of a group from its row."""
    return msgspec.convert(row["body"], BuyerGroup)


class Counted:
    """What is counted of the groups of one answer: the slots that each holds, and what each has used of its caps."""

    def __init__(self) -> None:
        self.held: dict[int, int] = {}
        self.used: dict[int, Used] = {}

    async def add(self, exchange: Exchange, record_type: str, rows: Sequence[Row], columns: Sequence[str] | None) -> None:
        """Count for these rows, as far as the columns (None: all) tell of it; nothing but groups has anything to count."""
        if record_type != GROUP or not rows:
            return
        names = {f"buyer_group/{row['id']}": row["id"] for row in rows}
        found = await exchange.services.reads.slots(exchange.company_id, list(names))
        self.held |= {names[name]: held for name, (held, _) in found.items()}
        groups = {row["id"]: _body_of(row) for row in rows}
        self.used |= await usage(exchange, groups, _periods(groups.values(), columns))

    def of(self, row: Row) -> dict[str, Any]:
        """Return what `record_view` is told of a row."""
        return {"slots_held": self.held.get(row["id"], 0), "used": self.used.get(row["id"], {})}


def _periods(groups: Iterable[BuyerGroup], columns: Sequence[str] | None) -> list[str]:
    """Return the periods whose use is shown, or says whether a group is maxed out."""
    capped = {period for group in groups for period in capped_periods(group)}
    if columns is None:
        return list(PERIODS)
    is_asked = "maxed_out" in columns
    return [period for period in PERIODS if f"_{period}_used" in " ".join(columns) or (is_asked and period in capped)]


async def read_in_order(exchange: Exchange, wanted: RecordFilter, paging: Paging, counted: Counted) -> Page:
    """Read the groups of a company, ordered by what is counted of them. Raises `ProblemError` where they are too many."""
    everything = Paging(per_page=GROUPS_ORDERED_MAX + 1, cursor=-1, counted=False)
    page = await exchange.services.reads.records(exchange.company_id, GROUP, wanted, everything)
    if len(page.rows) > GROUPS_ORDERED_MAX:
        sentence = f"orders at most {GROUPS_ORDERED_MAX} groups; choose some with ids or a filter"
        raise ProblemError("not_supported", "There are too many groups for this order.", {"order": [sentence]})
    await counted.add(exchange, GROUP, page.rows, None)
    ordered = _listed_first(
        paging.order or "", page.rows, counted.held, counted.used, exchange.now, descending=paging.descending
    )
    first = (paging.page - 1) * paging.per_page
    return Page(rows=ordered[first : first + paging.per_page], total_count=len(ordered))
