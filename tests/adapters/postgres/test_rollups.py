"""Are sums used where they hold, and never where a row has changed since?"""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from adapters.postgres.reads import PostgresReads
from adapters.postgres.rollup_reports import find_rollup_report
from adapters.postgres.rollups import Rollups
from adapters.reads.ports import CallFilter, LeadFilter
from engine.views.report import Grouping, Key
from schemas.instant import DAY, HOUR, MINUTE, from_datetime
from tests.adapters.postgres.projected_rows import START, Shown, call, lead, record

STATUS = Grouping("status")
OFFER = Grouping("offer_id")
DISPOSITION_OF_CALL = Grouping("disposition_id")
ZIP = Grouping("zip_postal_code")
TOKENS = Grouping("token_values_map")
DISPOSITION = Grouping("recent_call_disposition_id")
AT_ONCE = dict.fromkeys(("day", "month", "year"), 0)
FIRST = START - START % DAY + DAY
"""A midnight, in September 2026."""
COUNT = 20


@pytest.fixture
async def shown(migrated_database: str) -> AsyncIterator[Shown]:
    """Leads and calls of five days, one each six hours, and nothing rolled up."""
    shown = await Shown.on(migrated_database)
    moments = [FIRST + place * 6 * HOUR for place in range(COUNT)]
    fields: dict[str, Any] = {
        "columns": {"zip_postal_code": "90001"},
        "data": {"roof": "flat"},
        "offer_id": 3,
        "revenue": 1.5,
    }
    await shown.decide(*(lead(number, created_at=at, **fields) for number, at in enumerate(moments, 1)))
    await shown.decide(*(call(number, created_at=at, lead_id=number, offer_id=3) for number, at in enumerate(moments, 1)))
    yield shown
    await shown.close()


async def roll_up(shown: Shown) -> int:
    return await Rollups(shown.pool, gaps=AT_ONCE).run()


async def counts(
    shown: Shown, wanted: LeadFilter | CallFilter | None = None, category: Grouping = STATUS
) -> dict[Key, float]:
    found = await PostgresReads(shown.pool).sums(1, wanted or LeadFilter(), category, None)
    assert found is not None
    first = "calls_count" if isinstance(wanted, CallFilter) else "leads_count"
    return {group.category: group.sums[first] for group in found}


async def cells(shown: Shown, category: Grouping, pivot: Grouping) -> dict[tuple[Key, Key], float]:
    found = await PostgresReads(shown.pool).sums(1, LeadFilter(), category, pivot)
    assert found is not None
    return {(group.category, group.pivot): group.sums["leads_count"] for group in found}


async def tamper(shown: Shown, *tiers: str) -> None:
    """Make the sums of some tiers wrong, so that it shows where they are used."""
    await shown.pool.execute("UPDATE read.leads_rollup SET leads_count = leads_count + 100 WHERE tier = ANY ($1)", tiers)
    await shown.pool.execute("UPDATE read.calls_rollup SET calls_count = calls_count + 100 WHERE tier = ANY ($1)", tiers)


async def test_nothing_is_rolled_up_before_its_turn_and_everything_after(shown: Shown) -> None:
    assert await counts(shown) == {"scheduled": COUNT}
    assert await roll_up(shown) == 2 * (5 + 1 + 1)  # days, a month, a year, of leads and of calls
    assert await roll_up(shown) == 0
    assert await counts(shown) == {"scheduled": COUNT}
    assert await counts(shown, CallFilter()) == {"no-answer": COUNT}


async def test_the_widest_sums_answer_that_lie_within_the_span(shown: Shown) -> None:
    await roll_up(shown)
    later = FIRST + 400 * DAY
    await shown.decide(lead(COUNT + 1, created_at=later), lead(COUNT + 2, created_at=later + 20 * DAY))
    await tamper(shown, "year")
    assert await counts(shown) == {"scheduled": 1 * 100 + COUNT + 2}
    assert await counts(shown, LeadFilter(created_to=later)) == {"scheduled": 100 + COUNT}
    await tamper(shown, "month")
    assert await counts(shown, LeadFilter(created_to=FIRST + 90 * DAY)) == {"scheduled": 100 + COUNT}
    await tamper(shown, "day")
    assert await counts(shown, LeadFilter(created_to=FIRST + 3 * DAY)) == {"scheduled": 3 * 100 + 12}
    edges = LeadFilter(created_from=FIRST + HOUR, created_to=FIRST + 3 * DAY + HOUR)
    assert await counts(shown, edges) == {"scheduled": 2 * 100 + 12}  # not the first day, of which an hour is left out


async def test_what_has_many_values_is_added_up_by_the_month_and_else_from_rows(shown: Shown) -> None:
    await roll_up(shown)
    await tamper(shown, "day")
    within = LeadFilter(created_to=FIRST + 3 * DAY)
    assert await counts(shown, within, ZIP) == {"90001": 12}
    assert await counts(shown, within, TOKENS) == {"roof:flat": 12}
    await tamper(shown, "year")
    assert await counts(shown, None, ZIP) == {"90001": 100 + COUNT}
    assert await counts(shown, None, TOKENS) == {"roof:flat": 100 + COUNT}


async def test_a_filter_that_is_a_category_is_answered_from_the_sums_of_its_values(shown: Shown) -> None:
    await roll_up(shown)
    await tamper(shown, "day")
    within = FIRST + 3 * DAY
    assert await counts(shown, CallFilter(status="no-answer", created_to=within)) == {"no-answer": 3 * 100 + 12}
    assert await counts(shown, CallFilter(status="busy")) == {}
    assert await counts(shown, CallFilter(offer_id=2**70)) == {}
    assert await counts(shown, LeadFilter(offer_id=3, created_to=within), OFFER) == {3: 3 * 100 + 12}
    assert await counts(shown, LeadFilter(offer_id=3, created_to=within)) == {"scheduled": 12}  # a pair has no days
    await tamper(shown, "year")
    assert await counts(shown, LeadFilter(offer_id=3)) == {"scheduled": 100 + COUNT}
    assert await counts(shown, CallFilter(offer_id=3)) == {"no-answer": 100 + COUNT}


async def test_a_pivot_is_answered_from_the_sums_of_the_pair(shown: Shown) -> None:
    await roll_up(shown)
    await shown.decide(lead(COUNT + 1, created_at=FIRST + 400 * DAY, status="expired", offer_id=4))
    assert await cells(shown, STATUS, OFFER) == {("scheduled", 3): COUNT, ("expired", 4): 1}
    await tamper(shown, "year")
    assert await cells(shown, STATUS, OFFER) == {("scheduled", 3): 100 + COUNT, ("expired", 4): 1}
    assert await cells(shown, OFFER, STATUS) == {(3, "scheduled"): 100 + COUNT, (4, "expired"): 1}
    assert await cells(shown, STATUS, STATUS) == {("scheduled", "scheduled"): 100 + COUNT, ("expired", "expired"): 1}
    assert await cells(shown, DISPOSITION, ZIP) == {(None, "90001"): COUNT, (None, None): 1}  # no pair


async def test_a_pair_of_a_month_that_was_changed_is_answered_from_rows_until_its_turn(shown: Shown) -> None:
    await roll_up(shown)
    await tamper(shown, "month", "year")
    changed = {("scheduled", 3): COUNT - 1, ("expired", 3): 1}
    await shown.decide(lead(7, created_at=FIRST + 6 * 6 * HOUR, status="expired", offer_id=3, version=2))
    assert await cells(shown, STATUS, OFFER) == changed
    await roll_up(shown)
    assert await cells(shown, STATUS, OFFER) == changed
    await tamper(shown, "year")
    assert await cells(shown, STATUS, OFFER) == {key: count + 100 for key, count in changed.items()}


async def test_a_month_of_many_rows_is_rolled_up_in_parts(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.postgres.rollups.PAIRED_AT_ONCE", 3)
    await roll_up(shown)
    parts = await shown.pool.fetch("SELECT tier, leads_count FROM read.leads_rollup WHERE category = 'offer_id status'")
    months = [row["leads_count"] for row in parts if row["tier"] == "month"]
    assert (len(months) > 1, sum(months)) == (True, COUNT)
    assert [row["leads_count"] for row in parts if row["tier"] == "year"] == [COUNT]
    assert await cells(shown, STATUS, OFFER) == {("scheduled", 3): COUNT}


async def test_months_of_a_category_are_put_together_of_days_and_the_rows_at_their_ends(shown: Shown) -> None:
    await roll_up(shown)
    start = FIRST - 5 * HOUR  # of a clock west of Greenwich
    weeks = Grouping("created_at_week", tuple(start + place * 2 * DAY for place in range(-1, 4)), ("a", "b", "c", "d"))
    expected: dict[tuple[Key, Key], float] = {}
    for row in await shown.pool.fetch("SELECT created_at FROM read.leads"):
        bucket = (from_datetime(row["created_at"]) - weeks.edges[0]) // (2 * DAY) + 1
        expected[bucket, "scheduled"] = expected.get((bucket, "scheduled"), 0) + 1
    assert await cells(shown, weeks, STATUS) == expected
    await tamper(shown, "day")
    # Of each two days of this clock one day of Greenwich lies whole in them.
    assert await cells(shown, weeks, STATUS) == {key: count + 100 for key, count in expected.items()}
    assert await cells(shown, STATUS, weeks) == {key[::-1]: count + 100 for key, count in expected.items()}


async def test_any_other_filter_is_answered_from_rows(shown: Shown) -> None:
    await roll_up(shown)
    await tamper(shown, "day", "month", "year")
    assert await counts(shown, LeadFilter(opt_out=False)) == {"scheduled": COUNT}
    assert await counts(shown, CallFilter(status="no-answer", no_buyer=True)) == {"no-answer": COUNT}
    assert await counts(shown, CallFilter(status="no-answer", offer_id=3), OFFER) == {3: 100 + COUNT}  # that is a pair
    assert await counts(shown, CallFilter(status="no-answer", offer_id=3), DISPOSITION_OF_CALL) == {None: COUNT}


async def test_a_day_that_was_changed_is_answered_from_rows_until_its_turn(shown: Shown) -> None:
    await roll_up(shown)
    await shown.decide(lead(7, created_at=FIRST + 6 * 6 * HOUR, status="expired", version=2))
    assert await counts(shown) == {"scheduled": COUNT - 1, "expired": 1}
    assert await roll_up(shown) == 3  # the day, and with it its month and year
    assert await counts(shown) == {"scheduled": COUNT - 1, "expired": 1}
    await shown.decide(removed=("lead/7", "lead/8"))
    assert await counts(shown) == {"scheduled": COUNT - 2}
    await roll_up(shown)
    assert await counts(shown) == {"scheduled": COUNT - 2}


async def test_a_lead_that_moves_to_another_partition_is_counted_once(shown: Shown) -> None:
    await roll_up(shown)
    elsewhere = Shown(shown.pool, partition=1)
    await elsewhere.decide(lead(7, created_at=FIRST + 6 * 6 * HOUR, status="waiting", version=5))
    await shown.decide(removed=("lead/7",))  # what it left behind
    await roll_up(shown)
    assert await counts(shown) == {"scheduled": COUNT - 1, "waiting": 1}
    await elsewhere.store.close()


async def test_a_day_is_not_rolled_up_again_at_once(shown: Shown) -> None:
    now = FIRST
    rollups = Rollups(shown.pool, gaps={**AT_ONCE, "day": HOUR}, now=lambda: now)
    assert await rollups.run() > 0
    await shown.decide(lead(7, created_at=FIRST + 6 * 6 * HOUR, status="expired", version=2))
    now += HOUR - 1
    assert await rollups.run() == 0
    assert await counts(shown) == {"scheduled": COUNT - 1, "expired": 1}
    now += 1
    assert await rollups.run() == 3
    await shown.decide(lead(7, created_at=FIRST + 6 * 6 * HOUR, status="queue", version=3))
    assert await rollups.run() == 0


async def test_a_month_whose_day_was_rolled_up_again_is_answered_from_its_days_until_its_own_turn(shown: Shown) -> None:
    await roll_up(shown)
    await shown.decide(lead(7, created_at=FIRST + 6 * 6 * HOUR, status="expired", version=2))
    days_alone = {"day": 0, "month": 30 * DAY, "year": 30 * DAY}
    assert await Rollups(shown.pool, gaps=days_alone).run() == 1
    assert await counts(shown) == {"scheduled": COUNT - 1, "expired": 1}
    await tamper(shown, "day")
    assert await counts(shown) == {"scheduled": COUNT - 1 + 5 * 100, "expired": 1 + 100}
    assert await roll_up(shown) == 2


@pytest.mark.parametrize("edge", [0, 1, 6 * HOUR, DAY, DAY + HOUR])
async def test_a_row_at_the_edge_of_a_span_is_counted_once_wherever_the_span_is_cut(shown: Shown, edge: int) -> None:
    await roll_up(shown)
    cut, end = FIRST + DAY + edge, FIRST + 5 * DAY
    days = Grouping("created_at_day", (FIRST, FIRST + DAY, FIRST + 2 * DAY, FIRST + 3 * DAY), ("a", "b", "c"))
    for category in (STATUS, ZIP, days):
        parts = [
            sum((await counts(shown, LeadFilter(created_from=since, created_to=until), category)).values())
            for since, until in ((FIRST, cut), (cut, end), (FIRST, end))
        ]
        assert (parts[0] + parts[1], parts[2]) == (COUNT, COUNT), category.name
        assert parts[0] == -(-(DAY + edge) // (6 * HOUR)), category.name


async def test_a_disposition_of_a_call_reaches_the_sums_of_its_lead(shown: Shown) -> None:
    await roll_up(shown)
    assert await counts(shown, None, DISPOSITION) == {None: COUNT}
    at = FIRST + 3 * 6 * HOUR
    disposed = call(4, created_at=at, lead_id=4, call_disposition_id=6, version=2)
    await shown.decide(disposed)
    assert await counts(shown, None, DISPOSITION) == {None: COUNT - 1, 6: 1}
    await roll_up(shown)
    assert await counts(shown, None, DISPOSITION) == {None: COUNT - 1, 6: 1}
    await shown.decide(msgspec.structs.replace(disposed, call_disposition_id=None, version=3))
    await roll_up(shown)
    assert await counts(shown, None, DISPOSITION) == {None: COUNT}


async def test_a_change_that_commits_while_its_day_is_rolled_up_leaves_its_mark(shown: Shown) -> None:
    await roll_up(shown)
    async with shown.pool.acquire() as writer:
        under_way = writer.transaction()
        await under_way.start()
        await writer.execute("UPDATE read.leads SET status = 'expired' WHERE id = 9")
        await shown.decide(lead(10, created_at=FIRST + 8 * 6 * HOUR + 1, status="expired", version=2))
        await roll_up(shown)
        await under_way.commit()
    assert await counts(shown) == {"scheduled": COUNT - 2, "expired": 2}
    assert await roll_up(shown) == 3
    assert await counts(shown) == {"scheduled": COUNT - 2, "expired": 2}


async def test_one_process_rolls_up_at_a_time(shown: Shown) -> None:
    async with shown.pool.acquire() as first, first.transaction():
        await first.execute("SELECT pg_advisory_xact_lock($1)", 7_108_301)
        assert await roll_up(shown) == 0
    assert await roll_up(shown) == 14


@pytest.mark.parametrize("zone_offset_minutes", [0, 30, 345, -210])
async def test_days_of_any_clock_come_from_hours_or_quarters_of_them(shown: Shown, zone_offset_minutes: int) -> None:
    await roll_up(shown)
    start = FIRST - zone_offset_minutes * 60_000
    edges = tuple(start + place * DAY for place in range(-1, 7))
    days = Grouping("created_at_day", edges, tuple(map(str, edges[:-1])))
    rows = await shown.pool.fetch("SELECT created_at FROM read.leads")
    expected: dict[Key, float] = {}
    for row in rows:
        bucket = (from_datetime(row["created_at"]) - edges[0]) // DAY + 1
        expected[bucket] = expected.get(bucket, 0) + 1
    assert await counts(shown, None, days) == expected
    tier = "quarter" if zone_offset_minutes % 60 else "hour"
    await shown.pool.execute("UPDATE read.leads_rollup SET leads_count = leads_count * 2 WHERE tier = $1", tier)
    assert await counts(shown, None, days) == {bucket: 2 * count for bucket, count in expected.items()}


@pytest.mark.parametrize("zone_offset_minutes", [0, 60, 345, -210, -300])
async def test_days_of_any_clock_of_one_value_come_from_its_hours(shown: Shown, zone_offset_minutes: int) -> None:
    await shown.decide(lead(COUNT + 1, created_at=FIRST + DAY + 45 * 60_000, status="expired", offer_id=4))
    await shown.decide(call(COUNT + 1, created_at=FIRST + DAY + 45 * 60_000, lead_id=COUNT + 1, offer_id=4))
    await roll_up(shown)
    start = FIRST - zone_offset_minutes * 60_000
    edges = tuple(start + place * DAY for place in range(-1, 7))
    days = Grouping("created_at_day", edges, tuple(map(str, edges[:-1])))
    tier = "hour" if zone_offset_minutes else "day"
    rows = await shown.pool.fetch("SELECT created_at, offer_id FROM read.leads")
    true, doubled = Counter[tuple[Key, Key]](), Counter[tuple[Key, Key]]()
    for at, offer in ((from_datetime(row["created_at"]), row["offer_id"]) for row in rows):
        cell = (at - edges[0]) // DAY + 1, offer
        is_cut = any(at - at % HOUR < edge < at - at % HOUR + HOUR for edge in edges)
        true[cell] += 1
        doubled[cell] += 1 if is_cut else 2  # an hour in which a day begins is added up from its rows
    for expected in (true, doubled):
        assert await cells(shown, days, OFFER) == expected
        assert await cells(shown, OFFER, days) == {cell[::-1]: count for cell, count in expected.items()}
        of_one = {cell[0]: count for cell, count in expected.items() if cell[1] == 3}
        assert await counts(shown, CallFilter(offer_id=3), days) == of_one
        await shown.pool.execute("UPDATE read.leads_rollup SET leads_count = leads_count * 2 WHERE tier = $1", tier)
        await shown.pool.execute("UPDATE read.calls_rollup SET calls_count = calls_count * 2 WHERE tier = $1", tier)


@pytest.mark.parametrize(("minutes", "times"), [(0, 2), (30, 1)])
async def test_hours_of_one_value_come_from_its_hours_where_they_begin_at_whole_ones(
    shown: Shown, minutes: int, times: int
) -> None:
    await roll_up(shown)
    edges = tuple(FIRST - minutes * MINUTE + place * HOUR for place in range(-24, 145))
    hours = Grouping("created_at_hour", edges, tuple(map(str, edges[:-1])))
    rows = await shown.pool.fetch("SELECT created_at, offer_id FROM read.leads")
    true = Counter(((from_datetime(row["created_at"]) - edges[0]) // HOUR + 1, row["offer_id"]) for row in rows)
    assert await cells(shown, hours, OFFER) == true
    await shown.pool.execute("UPDATE read.leads_rollup SET leads_count = leads_count * 3 WHERE tier <> 'hour'")
    assert await cells(shown, hours, OFFER) == true
    await shown.pool.execute("UPDATE read.leads_rollup SET leads_count = leads_count * 2 WHERE tier = 'hour'")
    assert await cells(shown, hours, OFFER) == {cell: times * count for cell, count in true.items()}


def test_no_rollups_are_asked_for_where_none_lies_within_an_hour() -> None:
    edges = tuple(FIRST + place * HOUR for place in range(8_760))
    asked = find_rollup_report(LeadFilter(), Grouping("created_at_hour", edges, tuple(map(str, edges[:-1]))), ZIP)
    assert asked is not None
    assert (asked.tiers, asked.cuts) == ((), ())


async def test_hours_of_a_day_that_was_changed_are_answered_from_rows_until_its_turn(shown: Shown) -> None:
    await roll_up(shown)
    edges = (FIRST - 5 * HOUR, FIRST + 19 * HOUR, FIRST + 43 * HOUR)
    days = Grouping("created_at_day", edges, ("a", "b"))
    within = CallFilter(offer_id=3, created_from=edges[0], created_to=edges[-1])
    assert await counts(shown, within, days) == {1: 4, 2: 4}
    await shown.decide(call(2, created_at=FIRST + 6 * HOUR, lead_id=2, offer_id=5, version=2))
    await shown.decide(call(3, created_at=FIRST + 12 * HOUR, lead_id=3, offer_id=3, version=2), removed=("call/4",))
    for _ in range(2):
        assert await counts(shown, within, days) == {1: 2, 2: 4}
        await roll_up(shown)


async def test_sums_of_days_are_the_same_whether_they_are_made_of_hours_or_of_rows(shown: Shown) -> None:
    await roll_up(shown)
    found = await shown.pool.fetch(
        "SELECT at, category, value, leads_count, revenue FROM read.leads_rollup WHERE tier = 'day' AND category = ANY ($1)",
        ["all", "offer_id", "status", "buyer_id", "country"],
    )
    stored = {
        (row["category"], row["value"], from_datetime(row["at"])): (row["leads_count"], row["revenue"]) for row in found
    }
    values = {"all": None, "offer_id": "3", "status": "scheduled", "buyer_id": None, "country": None}
    days = [FIRST + place * DAY for place in range(5)]
    assert stored == {(name, value, day): (4, pytest.approx(4 * 1.5)) for name, value in values.items() for day in days}


# -- categories that are rolled up as another one ------------------------------------------------------------------------

CENTER = Grouping("call_center_id")
NEW_YORK, KATHMANDU = "America/New_York", "Asia/Kathmandu"


async def place_agents(shown: Shown) -> None:
    """Two agents of two call centers; one spoke in a call of lead 1, then the other in a later one."""
    await shown.decide(agent(51, 8), agent(52, 9))
    await shown.decide(
        call(101, created_at=FIRST + HOUR, lead_id=1, agent_id=51),
        call(102, created_at=FIRST + 2 * HOUR, lead_id=1, agent_id=52),
        call(103, created_at=FIRST + 3 * HOUR, lead_id=1),
        call(104, created_at=FIRST + 3 * DAY, lead_id=2, agent_id=51),
    )


async def tamper_by(shown: Shown, table: str, column: str, category: str) -> int:
    """Make the sums of a category wrong in every tier, so that it shows whether they are used; return how many there are."""
    done = await shown.pool.execute(f"UPDATE read.{table}_rollup SET {column} = 0 WHERE category = $1", category)  # noqa: S608
    return int(done.split()[1])


async def test_call_centers_are_answered_from_the_sums_of_agents_as_they_are_now(shown: Shown) -> None:
    await place_agents(shown)
    of_calls = {8: 2, 9: 1, None: COUNT + 1}
    of_leads = {9: 1, 8: 1, None: COUNT - 2}
    for _ in ("from rows", "from sums"):
        assert await counts(shown, CallFilter(), CENTER) == of_calls
        assert await counts(shown, LeadFilter(), CENTER) == of_leads
        await roll_up(shown)
    await shown.decide(agent(51, 9, version=2))  # moves to the other center, without a change of any call
    assert await counts(shown, CallFilter(), CENTER) == {9: 3, None: COUNT + 1}
    assert await counts(shown, LeadFilter(), CENTER) == {9: 2, None: COUNT - 2}
    assert await counts(shown, CallFilter(agent_id=51), CENTER) == {9: 2}
    assert await tamper_by(shown, "calls", "calls_count", "agent_id") > 0
    assert await tamper_by(shown, "leads", "leads_count", "recent_agent_id") > 0
    assert await counts(shown, CallFilter(), CENTER) == {9: 0, None: 0}
    assert await counts(shown, LeadFilter(), CENTER) == {9: 0, None: 0}


async def test_an_agent_of_a_call_reaches_the_sums_of_its_lead(shown: Shown) -> None:
    await shown.decide(agent(51, 8))
    await roll_up(shown)
    at = FIRST + 3 * 6 * HOUR
    await shown.decide(call(4, created_at=at, lead_id=4, agent_id=51, version=2))
    assert await counts(shown, None, CENTER) == {None: COUNT - 1, 8: 1}
    await roll_up(shown)
    assert await counts(shown, None, CENTER) == {None: COUNT - 1, 8: 1}
    await shown.decide(call(4, created_at=at, lead_id=4, agent_id=None, version=3))
    await roll_up(shown)
    assert await counts(shown, None, CENTER) == {None: COUNT}


async def test_imports_and_ring_pools_are_answered_from_their_sums(shown: Shown) -> None:
    imported, pool = Grouping("lead_import_id"), Grouping("ring_pool_id")
    await shown.decide(lead(3, created_at=FIRST + 12 * HOUR, lead_import_id=70, version=2))
    await shown.decide(call(3, created_at=FIRST + 12 * HOUR, lead_id=3, ring_pool_id=5, version=2))
    for _ in ("from rows", "from sums"):
        assert await counts(shown, LeadFilter(), imported) == {70: 1, None: COUNT - 1}
        assert await counts(shown, CallFilter(), imported) == {70: 1, None: COUNT - 1}
        assert await counts(shown, CallFilter(), pool) == {5: 1, None: COUNT - 1}
        assert await cells(shown, imported, STATUS) == {(70, "scheduled"): 1, (None, "scheduled"): COUNT - 1}
        await roll_up(shown)
    await tamper_by(shown, "leads", "leads_count", "lead_import_id")
    await tamper_by(shown, "calls", "calls_count", "ring_pool_id")
    assert await counts(shown, LeadFilter(), imported) == {70: 0, None: 0}
    assert await counts(shown, CallFilter(), pool) == {5: 0, None: 0}


@pytest.mark.parametrize(("zone", "is_rolled_up"), [(NEW_YORK, True), ("UTC", True), (KATHMANDU, False)])
async def test_days_of_an_activity_come_from_hours_where_the_clock_of_the_zone_shows_whole_ones(
    shown: Shown, zone: str, is_rolled_up: bool
) -> None:
    days = {name: Grouping(name, zone=zone) for name in ("first_action_at_day", "last_action_at_day", "ended_at_day")}
    edge = FIRST + 4 * HOUR  # midnight in New York, in September
    for number, at in enumerate((edge - 1, edge, edge + DAY - 1, edge + DAY), 1):
        created = FIRST + (number - 1) * 6 * HOUR
        await shown.decide(lead(number, created_at=created, first_action_at=at, last_action_at=at + DAY, version=2))
        await shown.decide(call(number, created_at=created, lead_id=number, ended_at=at, version=2))
    asked = ((LeadFilter(), "first_action_at_day"), (LeadFilter(), "last_action_at_day"), (CallFilter(), "ended_at_day"))
    from_rows = [await counts(shown, wanted, days[name]) for wanted, name in asked]
    if zone == NEW_YORK:
        assert from_rows[0] == {None: COUNT - 4, "2026-09-21": 1, "2026-09-22": 2, "2026-09-23": 1}
    await roll_up(shown)
    assert [await counts(shown, wanted, days[name]) for wanted, name in asked] == from_rows
    for table, column, name in (
        ("leads", "leads_count", "first_action_at_hour"),
        ("leads", "leads_count", "last_action_at_hour"),
        ("calls", "calls_count", "ended_at_hour"),
    ):
        assert await tamper_by(shown, table, column, name) > 0
    expected = [dict.fromkeys(found, 0) if is_rolled_up else found for found in from_rows]
    assert [await counts(shown, wanted, days[name]) for wanted, name in asked] == expected


def agent(number: int, call_center_id: int, version: int = 1) -> Any:
    known = record(number, "agent", name=f"Agent {number}", call_center_id=call_center_id)
    return msgspec.structs.replace(known, version=version)
