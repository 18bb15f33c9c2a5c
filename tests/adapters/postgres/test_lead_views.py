"""Are the views of a user stored under names of the user's own, as many as one may have, also at the same time?"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.postgres.lead_views import VIEWS_MAX, PostgresLeadViews
from adapters.reads.ports import TooManyViewsError
from schemas.instant import Instant
from tests.adapters.postgres.projected_rows import Shown

NOW = Instant(1_781_715_600_000)
QUERY = {"status": "scheduled"}


@pytest.fixture
async def views(migrated_database: str) -> AsyncIterator[PostgresLeadViews]:
    shown = await Shown.on(migrated_database)
    yield PostgresLeadViews(shown.pool)
    await shown.close()


async def names(views: PostgresLeadViews, company_id: int = 1, user_id: int = 1) -> list[str]:
    return [row["name"] for row in await views.of_user(company_id, user_id)]


async def test_a_view_is_replaced_by_its_name(views: PostgresLeadViews) -> None:
    first = await views.save(1, 1, "Due", QUERY, NOW)
    again = await views.save(1, 1, "Due", {"status": "done"}, NOW + 1)
    assert (first["is_new"], again["is_new"], again["id"]) == (True, False, first["id"])
    (row,) = await views.of_user(1, 1)
    assert row["query"] == {"status": "done"}
    await views.save(1, 1, "all", QUERY, NOW)
    assert await names(views) == ["all", "Due"]


async def test_a_view_is_of_one_user_of_one_company(views: PostgresLeadViews) -> None:
    row = await views.save(1, 1, "Due", QUERY, NOW)
    assert [await names(views, *owner) for owner in ((1, 2), (2, 1))] == [[], []]
    assert [await views.delete(*owner, row["id"]) for owner in ((1, 2), (2, 1))] == [None, None]
    deleted = await views.delete(1, 1, row["id"])
    assert deleted is not None
    assert deleted["name"] == "Due"
    assert await views.delete(1, 1, row["id"]) is None


async def test_two_writers_at_once_save_no_view_too_many(views: PostgresLeadViews) -> None:
    for number in range(VIEWS_MAX - 1):
        await views.save(1, 1, str(number), QUERY, NOW)
    await views.save(1, 2, "of another", QUERY, NOW)
    tries = (views.save(1, 1, f"last {number}", QUERY, NOW) for number in range(3))
    found = await asyncio.gather(*tries, return_exceptions=True)
    assert sorted(type(one).__name__ for one in found if isinstance(one, Exception)) == ["TooManyViewsError"] * 2
    assert len(await names(views)) == VIEWS_MAX
    await views.save(1, 1, "0", {"status": "done"}, NOW)  # one that is there may be changed
    with pytest.raises(TooManyViewsError):
        await views.save(1, 1, "one more", QUERY, NOW)
