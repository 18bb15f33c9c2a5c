"""Do the words by which a lead or call is found follow its text, whatever else is written with its row?"""

from collections.abc import AsyncIterator

import pytest

from schemas.contact import Call
from schemas.state import lead_key
from schemas.wire import Entity
from tests.adapters.postgres.projected_rows import Shown, call, lead


@pytest.fixture
async def shown(migrated_database: str) -> AsyncIterator[Shown]:
    shown = await Shown.on(migrated_database)
    yield shown
    await shown.close()


def named(number: int, *words: str, status: str = "scheduled") -> Entity:
    """Return a lead whose text has these words."""
    return lead(number, data={f"token_{place}": word for place, word in enumerate(words)}, status=status)


def noted(number: int, word: str, status: str = "no-answer") -> Call:
    """Return a call whose notes have a word."""
    return call(number, agent_call_disposition_notes=word, status=status)


async def words(shown: Shown, table: str, *looked_for: str) -> dict[str, list[int]]:
    """Return the ids that each word finds."""
    rows = await shown.pool.fetch(
        f"SELECT w.word, array_agg(f.id ORDER BY f.id) AS ids FROM unnest($1::text[]) AS w (word) "  # noqa: S608 - our table
        f"JOIN read.{table} AS f ON f.words @@ quote_literal(w.word)::tsquery GROUP BY w.word",
        looked_for,
    )
    return {row["word"]: row["ids"] for row in rows}


async def writers(shown: Shown, table: str) -> dict[int, int]:
    """Return by id the transaction that wrote its words."""
    rows = await shown.pool.fetch(f"SELECT id, xmin::text::bigint AS writer FROM read.{table}")  # noqa: S608 - our table
    return {row["id"]: row["writer"] for row in rows}


async def test_one_batch_may_write_a_new_lead_and_change_remove_or_spare_the_text_of_others(shown: Shown) -> None:
    await shown.decide(named(1, "roof"), named(2, "roof"), named(3, "roof", "tin"))
    before = await writers(shown, "lead_words")

    await shown.decide(named(1, "roof", status="expired"), named(2, "solar"), named(4, "roof"), removed=(lead_key(3),))

    assert await words(shown, "lead_words", "roof", "solar", "tin") == {"roof": [1, 4], "solar": [2]}
    after = await writers(shown, "lead_words")
    assert after[1] == before[1], "its text is as before"
    assert after[2] == after[4] != before[2]


async def test_the_words_of_calls_follow_their_notes(shown: Shown) -> None:
    await shown.decide(noted(1, "angry"), noted(2, "happy"))
    before = await writers(shown, "call_words")

    await shown.decide(noted(1, "angry", status="completed"))
    assert await writers(shown, "call_words") == before

    await shown.decide(noted(2, "angry"), noted(3, "happy"))
    assert await words(shown, "call_words", "angry", "happy") == {"angry": [1, 2], "happy": [3]}


@pytest.mark.parametrize("count", [1, 700])
async def test_each_lead_of_a_batch_is_found_however_many_were_written_at_once_before(shown: Shown, count: int) -> None:
    await shown.decide(named(9_000, "first"))
    await shown.decide(named(9_000, "other"))
    await shown.decide(*(named(number, "roof") for number in range(1, count + 1)))
    await shown.decide(*(named(number, "solar") for number in range(1, count + 1)))

    found = await words(shown, "lead_words", "roof", "solar", "other")

    assert found == {"solar": list(range(1, count + 1)), "other": [9_000]}


async def test_a_day_is_rolled_up_again_for_each_row_that_is_new_or_changed(shown: Shown) -> None:
    for status in ("scheduled", "expired"):
        await shown.decide(lead(1, status=status), call(1, status="ringing" if status == "scheduled" else "completed"))
        marked = await shown.pool.fetch("DELETE FROM read.stale_days RETURNING company_id, source")
        assert {tuple(row) for row in marked} == {(1, "leads"), (1, "calls")}, status
