"""Which leads or calls match a full-text search? Few matches are found by id; for many, each row is tested by a tsquery."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from adapters.postgres.conditions import is_storable
from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.pool import Pool
from adapters.postgres.reports import WORK_MEM

MATCHES_MAX = 10_000
"""Matches that are looked up by id. With more, a scan from the newest soon fills a page."""

SAMPLED = 2_000
"""Rows of a sample of the table of words: some milliseconds."""

SAMPLED_MIN = 200_000
"""A smaller table needs no sample: all matches are found in milliseconds."""

SAMPLED_ERROR = 30
"""Matches of a sample that may be chance: rows of one page are alike."""

COMMON_MATCHES = 5 * MATCHES_MAX
"""With more matches, by a sample, the search only scans from the newest: finding all would take seconds."""


class SearchMatches(NamedTuple):
    """The result of a search: a tsquery to test each row with, or the ids of all matches (None: any row).

    More rows than `more_than` match the query.
    """

    query: str | None
    ids: tuple[int, ...] | None
    more_than: int = 0


class FulltextSearch:
    """Searches leads and calls; `sql` are the queries of `reads.sql`. Raises `ReadsUnavailableError`."""

    def __init__(self, pool: Pool, sql: Mapping[str, str]) -> None:
        self._pool = pool
        self._sql = sql

    async def find(
        self, kind: str, company_id: int, text: str | None, ids: tuple[int, ...] | None, tags: Sequence[str] = ()
    ) -> SearchMatches:
        """Search text and tags among the words of leads or calls: return the ids if they are few, else a tsquery."""
        if text is None and not tags:
            return SearchMatches(None, ids)
        words = [] if text is None else await self.split_words(text)
        if not words and text is not None:
            return SearchMatches(None, ())
        query = " & ".join([*words, *tags])
        async with convert_read_errors(), self._pool.acquire() as connection, connection.transaction(readonly=True):
            sampled = await self._sampled(connection, kind, company_id, [query, *words, *tags])
            if sampled.get(query, 0) > COMMON_MATCHES:
                return SearchMatches(query, ids, more_than=MATCHES_MAX)
            # Words of nearly every row do not select: test them only on rows that other words find.
            asked = [one for one in (*words, *tags) if sampled.get(one, 0) <= COMMON_MATCHES]
            asked = asked or [min((*words, *tags), key=lambda one: sampled.get(one, 0))]
            # The planner assumes each word in one row of two hundred, and would scan the table rather than the index.
            await connection.execute(f"SET LOCAL enable_seqscan = off; SET LOCAL work_mem = '{WORK_MEM}'")
            matching = self._words_sql("matching", kind)
            matches = await connection.fetch(matching, company_id, " & ".join(asked), query, MATCHES_MAX + 1)
        if len(matches) > MATCHES_MAX:
            return SearchMatches(query, ids, more_than=MATCHES_MAX)  # a scan from the newest soon fills a page
        matched = tuple(match["id"] for match in matches)
        return SearchMatches(None, matched if ids is None else tuple(sorted({*matched} & {*ids})))

    async def split_words(self, text: str) -> list[str]:
        """Return the words of a text as the database splits them, each as a prefix search."""
        if not text or not is_storable(text):
            return []
        async with convert_read_errors():
            return list(await self._pool.fetchval(self._sql["words"], text))

    async def _sampled(self, connection: Any, kind: str, company_id: int, asked: Sequence[str]) -> dict[str, float]:
        """Estimate by a sample how many rows match each query; {} if the table is small."""
        rows = await connection.fetchval(self._words_sql("words_estimated", kind))
        if rows < SAMPLED_MIN:
            return {}
        share = min(1.0, SAMPLED / rows)
        found = await connection.fetch(self._words_sql("sampled", kind), company_id, list(dict.fromkeys(asked)), share * 100)
        return {row["asked"]: max(0, row["found"] - SAMPLED_ERROR) / share for row in found}

    def _words_sql(self, name: str, kind: str) -> str:
        """Return a statement on the words of leads or calls."""
        return self._sql[name].replace("{kind}", kind)
