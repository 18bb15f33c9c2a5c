"""Does a row of a recording survive what vendors, gateways, the sweep and people do to it at once? On a real PostgreSQL."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest_asyncio

from adapters.postgres.recordings import PostgresRecordings

URL = "https://api.vendor.example/recordings/1"


@pytest_asyncio.fixture
async def rows(pool: Any) -> PostgresRecordings:
    return PostgresRecordings(pool)


async def owed(rows: PostgresRecordings, company_id: int = 1, url: str = URL) -> Any:
    await rows.owe(
        company_id=company_id, configuration_id=7, contact_key=f"{company_id}|+13055550123", call_id=9, recording_url=url
    )
    return await rows.find(company_id, url)


async def aged(pool: Any, recording_id: str, days: float) -> None:
    await pool.execute(
        "UPDATE work.recordings SET owed_at = owed_at - $2 * interval '1 day' WHERE id = $1", recording_id, days
    )


async def test_a_recording_that_is_reported_twice_is_owed_once_for_its_company_alone(rows: PostgresRecordings) -> None:
    first = await owed(rows)
    again = await owed(rows)
    theirs = await owed(rows, company_id=2)

    assert (first.id, first.state, first.call_id) == (again.id, "owed", 9)
    assert theirs.id != first.id
    assert await rows.find(3, URL) is None


async def test_its_name_says_nothing_of_the_person(rows: PostgresRecordings) -> None:
    found = await owed(rows)

    assert found.name == f"1/{found.id.replace('-', '')}"
    assert "3055550123" not in found.name


async def test_two_gateways_take_each_recording_once_until_the_lease_is_over(rows: PostgresRecordings, pool: Any) -> None:
    for number in range(6):
        await owed(rows, url=f"{URL}{number}")

    first, second = await asyncio.gather(rows.take_owed(4, 600.0), rows.take_owed(4, 600.0))
    rest = await rows.take_owed(4, 600.0)
    ids = [one.id for one in (*first, *second, *rest)]
    assert len(ids) == len(set(ids)) == 6
    assert await rows.take_owed(4, 600.0) == []

    await pool.execute("UPDATE work.recordings SET due_at = clock_timestamp()")
    again = await rows.take_owed(10, 600.0)
    assert sorted(one.id for one in again) == sorted(ids)
    assert {one.attempts for one in again} == {2}


async def backlog(rows: PostgresRecordings, pool: Any, counts: dict[int, int]) -> None:
    """Let companies be owed so many recordings, the first company for the longest time."""
    for company_id, count in counts.items():
        for number in range(count):
            await owed(rows, company_id=company_id, url=f"{URL}/{number}")
            await pool.execute("UPDATE work.recordings SET due_at = due_at - interval '1 hour'")


async def test_companies_take_turns_whatever_the_backlog_of_one(rows: PostgresRecordings, pool: Any) -> None:
    await backlog(rows, pool, {1: 20, 2: 20, 3: 20, 4: 3, 5: 1})

    rounds = [[one.company_id for one in await rows.take_owed(2, 600.0)] for _ in range(6)]

    served = [company_id for taken in rounds for company_id in taken]
    assert set(served[:6]) == {1, 2, 3, 4, 5}, "nobody is served a third time before everybody was once"
    assert Counter(served) == {1: 3, 2: 3, 3: 3, 4: 2, 5: 1}


async def test_of_one_company_the_longest_due_comes_first(rows: PostgresRecordings, pool: Any) -> None:
    await backlog(rows, pool, {1: 4})

    taken = [one.recording_url for _ in range(4) for one in await rows.take_owed(1, 600.0)]

    assert taken == [f"{URL}/{number}" for number in range(4)]


async def test_one_that_takes_many_gets_as_many_of_each_company(rows: PostgresRecordings, pool: Any) -> None:
    await backlog(rows, pool, {1: 20, 2: 20, 3: 2})

    taken = await rows.take_owed(10, 600.0)

    assert Counter(one.company_id for one in taken) == {1: 4, 2: 4, 3: 2}


async def test_what_is_deleted_takes_turns_of_its_own(rows: PostgresRecordings, pool: Any) -> None:
    await backlog(rows, pool, {1: 5, 2: 5})
    for number in range(5):
        await rows.begin_delete(1, f"{URL}/{number}")
        await rows.begin_delete(2, f"{URL}/{number}")

    assert [one.company_id for _ in range(4) for one in await rows.take_deletions(1, 600.0)] == [1, 2, 1, 2]
    assert await rows.take_owed(10, 600.0) == []


async def test_a_company_that_has_enough_under_way_is_left_out(rows: PostgresRecordings, pool: Any) -> None:
    await backlog(rows, pool, {1: 3, 2: 1})

    assert [one.company_id for one in await rows.take_owed(10, 600.0, without=[1])] == [2]
    assert await rows.take_owed(10, 600.0, without=[1, 2]) == []
    assert len(await rows.take_owed(10, 600.0)) == 3


async def test_gateways_that_take_at_once_share_companies_and_do_not_lock_each_other(
    rows: PostgresRecordings, pool: Any
) -> None:
    await backlog(rows, pool, {1: 12, 2: 12, 3: 12})

    taken = await asyncio.gather(*(rows.take_owed(2, 600.0) for _ in range(8)))

    ids = [one.id for some in taken for one in some]
    assert len(ids) == len(set(ids))
    rest = [one.id for _ in range(36) for one in await rows.take_owed(1, 600.0)]
    assert len({*ids, *rest}) == 36


async def test_a_backlog_of_one_company_is_not_read_to_find_the_next(rows: PostgresRecordings, pool: Any) -> None:
    await pool.execute(
        """INSERT INTO work.recordings (company_id, provider_configuration_id, contact_key, recording_url, due_at)
           SELECT 1, 7, '1|+13055550123', $1 || number, now() - interval '1 hour'
             FROM generate_series(1, 20000) AS number""",
        URL,
    )
    await owed(rows, company_id=2)
    await pool.execute("ANALYZE work.recordings")
    take = rows._sql["take"]

    plan = json.loads(await pool.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {take}", "owed", 4, 600.0, []))[0][
        "Plan"
    ]

    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 300, plan


async def test_a_recording_that_is_deleted_while_it_is_fetched_is_not_stored(rows: PostgresRecordings, pool: Any) -> None:
    found = await owed(rows)
    await rows.take_owed(1, 600.0)

    await rows.begin_delete(1, URL)

    assert await rows.stored(found.id, 10, "audio/wav") is False
    assert await rows.take_deletions(10, 600.0) == [], "its file may still be written"
    await pool.execute("UPDATE work.recordings SET due_at = clock_timestamp()")
    assert [one.id for one in await rows.take_deletions(10, 600.0)] == [found.id]


async def test_a_stored_recording_is_deleted_without_a_wait(rows: PostgresRecordings) -> None:
    found = await owed(rows)
    await rows.take_owed(1, 600.0)
    assert await rows.stored(found.id, 10, "audio/wav") is True

    await rows.begin_delete(1, URL)

    assert [one.id for one in await rows.take_deletions(10, 600.0)] == [found.id]


async def test_a_deleted_recording_is_remembered_for_a_while_and_not_owed_again(rows: PostgresRecordings, pool: Any) -> None:
    found = await owed(rows)
    await rows.begin_delete(1, URL)
    await rows.deleted(found.id)

    again = await owed(rows)
    assert (again.id, again.state) == (found.id, "deleted")
    assert await rows.forget(3_600.0) == 0
    await pool.execute("UPDATE work.recordings SET deleted_at = deleted_at - interval '2 hours'")
    assert await rows.forget(3_600.0) == 1
    assert await rows.find(1, URL) is None


async def test_the_sweep_takes_what_is_older_than_its_company_says(rows: PostgresRecordings, pool: Any) -> None:
    short, usual, long = [await owed(rows, company_id=company_id) for company_id in (1, 2, 3)]
    for found in (short, usual, long):
        await aged(pool, found.id, 91)
    await aged(pool, (await owed(rows, company_id=1, url=f"{URL}/young")).id, 0.5)

    assert await rows.expire({1: 1, 3: 400}, 90, 100) == 2

    states = {found.company_id: (await rows.find(found.company_id, URL)).state for found in (short, usual, long)}  # type: ignore[union-attr]
    assert states == {1: "deleting", 2: "deleting", 3: "owed"}
    assert (await rows.find(1, f"{URL}/young")).state == "owed"  # type: ignore[union-attr]


async def test_the_sweep_is_bounded(rows: PostgresRecordings, pool: Any) -> None:
    for number in range(3):
        await aged(pool, (await owed(rows, url=f"{URL}{number}")).id, 100)

    assert [await rows.expire({}, 90, 2) for _ in range(3)] == [2, 1, 0]


async def test_what_was_given_up_keeps_its_reason_and_is_not_taken_again(rows: PostgresRecordings, pool: Any) -> None:
    found = await owed(rows)
    await rows.give_up(found.id, "the vendor answered 404")

    await pool.execute("UPDATE work.recordings SET due_at = clock_timestamp()")
    assert await rows.take_owed(10, 600.0) == []
    assert (await rows.find(1, URL)).reason == "the vendor answered 404"  # type: ignore[union-attr]
