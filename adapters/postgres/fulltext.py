"""Which leads or calls hold the words that are searched for? A few are named by their ids; of many each row is asked."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from adapters.postgres.conditions import is_storable
from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.pool import Pool
from adapters.postgres.reports import WORK_MEM

MATCHES_MAX = 10_000
"""So many rows that a search matches are looked up by id. Where there are more, the newest page is soon found by walking."""

SAMPLED = 2_000
"""Rows of a sample of the words, some milliseconds."""

SAMPLED_MIN = 200_000
"""In a table with fewer rows all that match are found in no time."""

SAMPLED_ERROR = 30
"""Matches of a sample that may be chance: those of one page of the table are alike."""

COMMON_MATCHES = 5 * MATCHES_MAX
"""Of more matches, by a sample, only the newest are looked for; to find them all would take seconds."""


class SearchMatches(NamedTuple):
    """What a search came to: a tsquery to ask each row with, or the ids of all rows that there can be (None: any).

    With a query, `more_than` so many rows match it.
    """

    query: str | None
    ids: tuple[int, ...] | None
    more_than: int = 0


class FulltextSearch:
    """The words of leads and calls; `sql` are the queries of `reads.sql`. Raises `ReadsUnavailableError`."""

    def __init__(self, pool: Pool, sql: Mapping[str, str]) -> None:
        self._pool = pool
        self._sql = sql

    async def find(
        self, kind: str, company_id: int, text: str | None, ids: tuple[int, ...] | None, tags: Sequence[str] = ()
    ) -> SearchMatches:
        """Look text and tags up among the words of leads or calls: the ids where they are few, else how to ask each row."""
        if text is None and not tags:
            return SearchMatches(None, ids)
        words = [] if text is None else await self._split_words(text)
        if not words and text is not None:
            return SearchMatches(None, ())
        query = " & ".join([*words, *tags])
        async with convert_read_errors(), self._pool.acquire() as connection, connection.transaction(readonly=True):
            sampled = await self._sampled(connection, kind, company_id, [query, *words, *tags])
            if sampled.get(query, 0) > COMMON_MATCHES:
                return SearchMatches(query, ids, more_than=MATCHES_MAX)
            # What nearly every row has is no way to find one: it is asked of those that the other words find.
            asked = [one for one in (*words, *tags) if sampled.get(one, 0) <= COMMON_MATCHES]
            asked = asked or [min((*words, *tags), key=lambda one: sampled.get(one, 0))]
            # The planner thinks that each word is in one row of two hundred, and would read the rows rather than the index.
            await connection.execute(f"SET LOCAL enable_seqscan = off; SET LOCAL work_mem = '{WORK_MEM}'")
            matching = self._words_sql("matching", kind)
            matches = await connection.fetch(matching, company_id, " & ".join(asked), query, MATCHES_MAX + 1)
        if len(matches) > MATCHES_MAX:
            return SearchMatches(query, ids, more_than=MATCHES_MAX)  # the newest of so many are soon met on the way down
        matched = tuple(match["id"] for match in matches)
        return SearchMatches(None, matched if ids is None else tuple(sorted({*matched} & {*ids})))

    async def _sampled(self, connection: Any, kind: str, company_id: int, asked: Sequence[str]) -> dict[str, float]:
        """Return of each query about how many rows match, by a sample; nothing where the table is small."""
        rows = await connection.fetchval(self._words_sql("words_estimated", kind))
        if rows < SAMPLED_MIN:
            return {}
        share = min(1.0, SAMPLED / rows)
        found = await connection.fetch(self._words_sql("sampled", kind), company_id, list(dict.fromkeys(asked)), share * 100)
        return {row["asked"]: max(0, row["found"] - SAMPLED_ERROR) / share for row in found}

    def _words_sql(self, name: str, kind: str) -> str:
        """Return a statement about the words of leads or of calls: the same for both tables."""
        return self._sql[name].replace("{kind}", kind)

    async def _split_words(self, text: str) -> list[str]:
        """Return the words of a text as the database cuts them, each to be found by its beginning."""
        if not is_storable(text):
            return []
        async with convert_read_errors():
            return list(await self._pool.fetchval(self._sql["words"], text))
