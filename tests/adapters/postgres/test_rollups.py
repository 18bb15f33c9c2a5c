"""Are sums of hours used where they hold, and never where a row has changed since?"""

from collections.abc import AsyncIterator

import pytest

from adapters.http.ports import CallFilter, LeadFilter
from adapters.postgres import reads
from adapters.postgres.reads import PostgresReads
from adapters.postgres.rollups import Rollups
from engine.views.report import Grouping
from schemas.instant import DAY, HOUR
from tests.adapters.postgres.rows_shown import START, Shown, call, lead

STATUS = Grouping("status")


@pytest.fixture(autouse=True)
def hours_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tables are small; in a large one hours are added up rather than rows."""
    monkeypatch.setattr(reads, "ROLLED_ROWS_AN_HOUR", 0)


@pytest.fixture
async def shown(database: str) -> AsyncIterator[Shown]:
    """Leads and calls of five days, one each six hours, and nothing rolled up."""
    shown = await Shown.on(database)
    moments = [START + place * 6 * HOUR for place in range(20)]
    await shown.decide(*(lead(number, created_at=at) for number, at in enumerate(moments, 1)))
    await shown.decide(*(call(number, created_at=at) for number, at in enumerate(moments, 1)))
    yield shown
    await shown.close()


async def counts(shown: Shown, wanted: LeadFilter | CallFilter | None = None) -> dict[object, float]:
    found = await PostgresReads(shown.pool).sums(1, wanted or LeadFilter(), STATUS, None)
    assert found is not None
    first = "calls_count" if isinstance(wanted, CallFilter) else "leads_count"
    return {group.category: group.sums[first] for group in found}


async def tamper(shown: Shown) -> None:
    """Make the sums wrong, so that it shows where they are used."""
    await shown.pool.execute("UPDATE read.leads_rollup SET leads_count = leads_count + 100 WHERE category = 'status'")
    await shown.pool.execute("UPDATE read.calls_rollup SET calls_count = calls_count + 100 WHERE category = 'status'")


async def test_nothing_is_rolled_up_before_its_turn_and_everything_after(shown: Shown) -> None:
    assert await counts(shown) == {"scheduled": 20}
    assert await Rollups(shown.pool).run() == 40
    assert await Rollups(shown.pool).run() == 0
    assert await counts(shown) == {"scheduled": 20}
    assert await counts(shown, CallFilter()) == {"no-answer": 20}


async def test_whole_hours_come_from_their_sums_and_the_edges_from_their_rows(shown: Shown) -> None:
    await Rollups(shown.pool).run()
    await tamper(shown)
    assert await counts(shown) == {"scheduled": 20 + 100 * 18}  # not the hours of the first and the last
    assert await counts(shown, CallFilter()) == {"no-answer": 20 + 100 * 18}
    part = LeadFilter(created_from=START + DAY, created_to=START + 4 * DAY)
    assert await counts(shown, part) == {"scheduled": 12 + 100 * 10}


async def test_any_other_filter_and_a_short_span_are_answered_from_rows(shown: Shown) -> None:
    await Rollups(shown.pool).run()
    await tamper(shown)
    assert await counts(shown, LeadFilter(opt_out=False)) == {"scheduled": 20}
    assert await counts(shown, LeadFilter(created_to=START + DAY)) == {"scheduled": 4}
    assert await counts(shown, CallFilter(status="no-answer")) == {"no-answer": 20}


async def test_an_hour_that_was_changed_is_answered_from_rows_until_its_turn(shown: Shown) -> None:
    await Rollups(shown.pool).run()
    await shown.decide(lead(7, created_at=START + 6 * 6 * HOUR, status="expired", version=2))
    assert await counts(shown) == {"scheduled": 19, "expired": 1}
    assert await Rollups(shown.pool).run() == 1
    assert await counts(shown) == {"scheduled": 19, "expired": 1}
    await shown.decide(removed=("lead/7", "lead/8"))
    assert await counts(shown) == {"scheduled": 18}
    await Rollups(shown.pool).run()
    assert await counts(shown) == {"scheduled": 18}


async def test_a_change_that_commits_while_its_hour_is_rolled_up_leaves_its_mark(shown: Shown) -> None:
    await Rollups(shown.pool).run()
    async with shown.pool.acquire() as writer:
        under_way = writer.transaction()
        await under_way.start()
        await writer.execute("UPDATE read.leads SET status = 'expired' WHERE id = 9")
        await shown.decide(lead(10, created_at=START + 8 * 6 * HOUR + 1, status="expired", version=2))
        await Rollups(shown.pool).run()
        await under_way.commit()
    assert await counts(shown) == {"scheduled": 18, "expired": 2}
    assert await Rollups(shown.pool).run() == 1
    assert await counts(shown) == {"scheduled": 18, "expired": 2}


async def test_one_process_rolls_up_at_a_time(shown: Shown) -> None:
    async with shown.pool.acquire() as first, first.transaction():
        await first.execute("SELECT pg_advisory_xact_lock($1)", 7_108_301)
        assert await Rollups(shown.pool).run() == 0
    assert await Rollups(shown.pool).run() == 40


async def test_a_small_table_is_answered_from_rows(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "ROLLED_ROWS_AN_HOUR", 50)
    await Rollups(shown.pool).run()
    await shown.pool.execute("ANALYZE")
    await tamper(shown)
    assert await counts(shown) == {"scheduled": 20}
