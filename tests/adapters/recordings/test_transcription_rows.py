"""Does a row of a transcription survive what clients, gateways and retention do to it at once? On a real PostgreSQL."""

import asyncio
from typing import Any

import pytest_asyncio

from adapters.postgres.recordings import PostgresRecordings
from adapters.postgres.transcriptions import PostgresTranscriptions

URL = "https://api.vendor.example/recordings/1"
LEASE = 600.0


@pytest_asyncio.fixture
async def recordings(pool: Any) -> PostgresRecordings:
    return PostgresRecordings(pool)


@pytest_asyncio.fixture
async def rows(pool: Any) -> PostgresTranscriptions:
    return PostgresTranscriptions(pool)


async def owed(recordings: PostgresRecordings, company_id: int = 1, url: str = URL) -> str:
    key = f"{company_id}|+13055550123"
    await recordings.owe(company_id=company_id, configuration_id=7, contact_key=key, call_id=9, recording_url=url)
    found = await recordings.find(company_id, url)
    assert found is not None
    return found.id


async def asked(recordings: PostgresRecordings, rows: PostgresTranscriptions, company_id: int = 1, url: str = URL) -> str:
    recording_id = await owed(recordings, company_id, url)
    await recordings.stored(recording_id, 10, "audio/wav")
    await rows.ask(recording_id)
    return recording_id


async def test_one_is_taken_once_its_recording_is_stored(
    recordings: PostgresRecordings, rows: PostgresTranscriptions
) -> None:
    recording_id = await owed(recordings)
    await rows.ask(recording_id)
    assert await rows.take(LEASE) is None

    await recordings.stored(recording_id, 10, "audio/wav")
    taken = await rows.take(LEASE)

    assert taken is not None
    assert (taken.recording.id, taken.recording.size, taken.recording.media_type) == (recording_id, 10, "audio/wav")
    assert (taken.state, taken.attempts, taken.text) == ("pending", 1, None)


async def test_one_whose_recording_was_given_up_is_taken_to_say_so(
    recordings: PostgresRecordings, rows: PostgresTranscriptions
) -> None:
    recording_id = await owed(recordings)
    await rows.ask(recording_id)
    await recordings.give_up(recording_id, "the vendor answered 404")

    taken = await rows.take(LEASE)

    assert taken is not None
    assert (taken.recording.state, taken.recording.reason) == ("failed", "the vendor answered 404")


async def test_two_gateways_take_each_once_until_the_lease_is_over(
    recordings: PostgresRecordings, rows: PostgresTranscriptions, pool: Any
) -> None:
    ids = {await asked(recordings, rows, url=f"{URL}/{number}") for number in range(4)}

    taken = await asyncio.gather(*(rows.take(LEASE) for _ in range(6)))
    rest = [await rows.take(LEASE) for _ in range(4)]

    found = [one.recording.id for one in (*taken, *rest) if one is not None]
    assert (set(found), len(found)) == (ids, 4)
    await pool.execute("UPDATE work.transcriptions SET due_at = clock_timestamp()")
    again = await rows.take(LEASE)
    assert again is not None
    assert again.attempts == 2


async def test_companies_take_turns_whatever_one_has_asked_for(
    recordings: PostgresRecordings, rows: PostgresTranscriptions
) -> None:
    for company_id, count in {1: 6, 2: 2, 3: 1}.items():
        for number in range(count):
            await asked(recordings, rows, company_id, f"{URL}/{number}")

    served = [one.company_id for one in [await rows.take(LEASE) for _ in range(9)] if one is not None]

    assert sorted(served[:3]) == [1, 2, 3]
    assert sorted(served[3:5]) == [1, 2]
    assert served[5:] == [1, 1, 1, 1]


async def test_companies_that_have_their_share_are_left_out(
    recordings: PostgresRecordings, rows: PostgresTranscriptions
) -> None:
    await asked(recordings, rows, 1)
    second = await asked(recordings, rows, 2)

    taken = await rows.take(LEASE, without=[1])

    assert taken is not None
    assert taken.recording.id == second
    assert await rows.take(LEASE, without=[1]) is None


async def test_a_text_is_shown_with_its_recording(recordings: PostgresRecordings, rows: PostgresTranscriptions) -> None:
    recording_id = await asked(recordings, rows)

    assert await rows.add_text(recording_id, "hello")
    await rows.complete(recording_id)

    found = await rows.find(recording_id)
    assert found is not None
    assert (found.state, found.text, found.company_id) == ("completed", "hello", 1)
    assert await rows.take(LEASE) is None


async def test_what_is_done_is_not_done_again_and_what_failed_is(
    recordings: PostgresRecordings, rows: PostgresTranscriptions
) -> None:
    done, failed = await asked(recordings, rows), await asked(recordings, rows, url=f"{URL}/2")
    await rows.add_text(done, "hello")
    await rows.complete(done)
    await rows.fail(failed, "it answered 413")
    found = await rows.find(failed)
    assert found is not None
    assert (found.state, found.reason) == ("failed", "it answered 413")

    await rows.ask(done)
    await rows.ask(failed)
    await rows.ask(failed)

    taken = await rows.take(LEASE)
    assert taken is not None
    assert (taken.recording.id, taken.attempts, taken.reason) == (failed, 1, None)
    assert await rows.take(LEASE) is None


async def test_a_text_goes_with_a_recording_that_is_deleted(
    recordings: PostgresRecordings, rows: PostgresTranscriptions, pool: Any
) -> None:
    recording_id = await asked(recordings, rows)
    await rows.add_text(recording_id, "my card number is")
    other = await asked(recordings, rows, url=f"{URL}/2")

    await recordings.begin_delete(1, URL)

    assert await rows.find(recording_id) is None
    assert await pool.fetchval("SELECT count(*) FROM work.transcriptions WHERE text IS NOT NULL") == 0
    assert await rows.find(other) is not None


async def test_a_text_goes_with_a_recording_that_is_too_old(
    recordings: PostgresRecordings, rows: PostgresTranscriptions, pool: Any
) -> None:
    recording_id = await asked(recordings, rows)
    await rows.add_text(recording_id, "my card number is")
    await pool.execute("UPDATE work.recordings SET owed_at = owed_at - interval '40 days'")
    young = await asked(recordings, rows, url=f"{URL}/2")

    assert await recordings.expire({}, 30, 10) == 1

    assert await rows.find(recording_id) is None
    assert await rows.find(young) is not None


async def test_a_text_that_comes_after_its_recording_was_deleted_is_not_kept(
    recordings: PostgresRecordings, rows: PostgresTranscriptions
) -> None:
    recording_id = await asked(recordings, rows)
    await rows.take(LEASE)
    await recordings.begin_delete(1, URL)

    assert not await rows.add_text(recording_id, "my card number is")
    await rows.ask(recording_id)
    assert await rows.find(recording_id) is None
