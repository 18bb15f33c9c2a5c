"""Which columns of account records follow from what happened beside them? Each is read for all rows of one answer at once.

Records with caps show what is used of them: the account counts it, the projection has its counters.
A group without caps has no counters: what it would have used is a query on the rollups of reports, one for each period.
Lists of groups can be sorted by usage. Fleets show their buyers, jobs how far they are, agents their status, messages how
many have read them, and ring pools which numbers are held, and for whom.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from adapters.http.exchange.exchange import Exchange
from adapters.http.exchange.problems import ProblemError
from adapters.http.records.agent_columns import agent_columns, message_columns
from adapters.http.records.ring_pool_columns import ring_pool_columns
from adapters.reads.ports import CallFilter, Page, Paging, RecordFilter, Row
from engine.account.caps import Capped, capped, period_of, used_now
from engine.account.epc import first_day
from engine.account.groups import CAPS_OF, PERIODS
from engine.views.caps import EARNED_COLUMNS, Used, order_key, used_of
from engine.views.cells import cell
from engine.views.record import FLEET_TYPE, PROJECTED_COLUMNS
from engine.views.report import Grouping, Sums
from engine.views.unblock_job import NOT_BEGUN, UnblockProgress
from schemas.account import CapUsage
from schemas.instant import Instant
from schemas.money import NOTHING
from schemas.records import CAPPED_TYPES, RECORD_BODIES, BuyerGroup

GROUP = "buyer_group"
"""The record type with usage that lists can be sorted by."""

GROUPS_ORDERED_MAX = 1_000
"""Most groups that a list sorts by usage: all are read, whichever page is requested."""

MEMBER_COLUMNS = frozenset({"buyers_count", "buyer_ids"})

BY_GROUP = Grouping("buyer_group_id")
BY_TYPE: Mapping[str, Grouping] = {"buyer": Grouping("buyer_id"), GROUP: BY_GROUP}
"""Type of a record that calls are connected by -> how its calls are added up."""


async def usage(exchange: Exchange, groups: Mapping[int, BuyerGroup], periods: Iterable[str] = PERIODS) -> dict[int, Used]:
    """Return what each group without caps would have used in these periods, by the sums of its calls."""
    spans: dict[Instant | None, Mapping[int, Sums]] = {}
    found: dict[int, dict[str, Decimal | int]] = {group_id: {} for group_id in groups}
    for period in periods:
        for group_id, group in groups.items():
            since = period_of(period, exchange.now, group)[0]
            if since not in spans:
                spans[since] = await _sums(exchange, since)
            found[group_id] |= used_of(period, spans[since].get(group_id))
    return dict(found)


async def _sums(exchange: Exchange, since: Instant | None, by: Grouping = BY_GROUP) -> Mapping[int, Sums]:
    groups = await exchange.services.reads.sums(exchange.company_id, CallFilter(created_from=since), by, None)
    return {int(group.category): group.sums for group in groups or () if group.category is not None}


def _listed_first(name: str, rows: Sequence[Row], counted: "Counted", now: Instant, *, descending: bool) -> list[Row]:
    """Return rows of groups sorted by a computed field; those without a value come last, equal ones by id."""

    def key(row: Row) -> Any:
        found = row["id"]
        used, held, tallies = counted.used.get(found, {}), counted.held.get(found, 0), counted.tallies.get(found, {})
        return order_key(name, _body_of(GROUP, row), used, held, now, tallies)

    valued = sorted((row for row in rows if key(row) is not None), key=lambda row: (key(row), row["id"]), reverse=descending)
    return [*valued, *sorted((row for row in rows if key(row) is None), key=lambda row: row["id"], reverse=descending)]


def _body_of(record_type: str, row: Row) -> Capped:
    """Return the fields of a record from its row."""
    body = capped(msgspec.convert(row["body"], RECORD_BODIES[record_type]))
    assert body is not None  # noqa: S101 - only such types are asked for
    return body


class Counted:
    """Counts of the records of one answer: slots held, caps used, what is earned, buyers of fleets, progress of jobs."""

    def __init__(self) -> None:
        self.held: dict[int, int] = {}
        self.used: dict[int, Used] = {}
        self.tallies: dict[int, Mapping[str, CapUsage]] = {}
        self.members: Mapping[int, Sequence[int]] = {}
        self.earned: Mapping[int, Sums] = {}
        self.progress: Mapping[int, UnblockProgress] = {}
        self.projected: Mapping[int, Mapping[str, Any]] = {}

    async def add(self, exchange: Exchange, record_type: str, rows: Sequence[Row], columns: Sequence[str] | None) -> None:
        """Read usage, buyers of fleets and progress of these rows if the columns (None: all) show it; others have none."""
        if record_type == "unblock_contact_job" and rows:
            self.progress = await exchange.services.reads.unblock_progress(exchange.company_id, [row["id"] for row in rows])
        if record_type == FLEET_TYPE and rows and (columns is None or not MEMBER_COLUMNS.isdisjoint(columns)):
            self.members = await exchange.services.reads.fleet_members(exchange.company_id, [row["id"] for row in rows])
        if record_type in PROJECTED_COLUMNS and rows:
            self.projected = await _projected(exchange, record_type, [row["id"] for row in rows], columns)
        if record_type not in CAPPED_TYPES or not rows:
            return
        if record_type in BY_TYPE and (columns is None or not set(EARNED_COLUMNS).isdisjoint(columns)):
            self.earned = await _sums(exchange, first_day(exchange.now), BY_TYPE[record_type])
        names = {f"{record_type}/{row['id']}": row["id"] for row in rows}
        reads, company_id = exchange.services.reads, exchange.company_id
        found = await reads.slots(company_id, list(names))
        self.held |= {names[name]: held for name, (held, _) in found.items()}
        bodies = {row["id"]: _body_of(record_type, row) for row in rows}
        with_caps = {record_id: body for record_id, body in bodies.items() if body.caps}
        if with_caps:
            tallies = await reads.tallies(company_id, [f"{record_type}/{record_id}" for record_id in with_caps])
            self.tallies |= {names[name]: tally for name, tally in tallies.items()}
        nothing = dict.fromkeys(CAPS_OF[record_type].values(), NOTHING)
        for record_id, body in with_caps.items():
            self.used[record_id] = nothing | used_now(self.tallies.get(record_id, {}), body, exchange.now)
        groups = {record_id: body for record_id, body in bodies.items() if isinstance(body, BuyerGroup) and not body.caps}
        self.used |= await usage(exchange, groups, _periods(columns)) if groups else {}

    def of(self, row: Row) -> dict[str, Any]:
        """Return the counts of a row, as arguments of `record_view`."""
        found = row["id"]
        return {
            "slots_held": self.held.get(found, 0),
            "used": self.used.get(found, {}),
            "members": self.members.get(found, ()),
            "earned": self.earned.get(found),
            "progress": self.progress.get(found, NOT_BEGUN),
            "projected": self.projected.get(found, {}),
        }


async def _projected(
    exchange: Exchange, record_type: str, ids: Sequence[int], columns: Sequence[str] | None
) -> Mapping[int, Mapping[str, Any]]:
    """Return what happened beside records, by id: `PROJECTED_COLUMNS` of those to which anything did."""
    if record_type == "subscription":
        found = await exchange.services.subscriptions.standings(exchange.company_id, ids)
        return {number: {name: cell(value) for name, value in row.items()} for number, row in found.items()}
    if record_type == "ring_pool":
        return await ring_pool_columns(exchange, ids, columns)
    read = {"agent": agent_columns, "agent_message": message_columns}[record_type]
    return await read(exchange.services.reads, exchange.company_id, ids)


def _periods(columns: Sequence[str] | None) -> list[str]:
    """Return the periods whose usage is shown."""
    return [period for period in PERIODS if columns is None or f"_{period}_used" in " ".join(columns)]


async def read_in_order(exchange: Exchange, wanted: RecordFilter, paging: Paging, counted: Counted) -> Page:
    """Read the groups of a company, sorted by usage. Raises `ProblemError` if there are too many."""
    everything = Paging(per_page=GROUPS_ORDERED_MAX + 1, cursor=-1, counted=False)
    page = await exchange.reads.records(exchange.company_id, GROUP, wanted, everything)
    if len(page.rows) > GROUPS_ORDERED_MAX:
        sentence = f"orders at most {GROUPS_ORDERED_MAX} groups; choose some with ids or a filter"
        raise ProblemError("not_supported", "There are too many groups for this order.", {"order": [sentence]})
    await counted.add(exchange, GROUP, page.rows, None)
    ordered = _listed_first(paging.order or "", page.rows, counted, exchange.now, descending=paging.descending)
    first = (paging.page - 1) * paging.per_page
    return Page(rows=ordered[first : first + paging.per_page], total_count=len(ordered))
