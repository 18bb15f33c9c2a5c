"""Does a row of a recording survive what vendors, gateways, the sweep and people do to it at once? On a real PostgreSQL."""

import asyncio
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
