"""Which Idempotency-Keys are in use, and what is thrown away when its time is over?"""

import asyncpg

from adapters.postgres.outages import reading
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.reads.ports import RESULT_RETENTION, Claim
from schemas.instant import DAY, Instant, to_datetime

KEY_KEPT = DAY
"""An Idempotency-Key is held for this long after its first use."""

SEND_LOG_KEPT = 90 * DAY
"""As long as dead letters: what a complaint about a delivery needs."""

PURGE_ROWS = 5_000
"""Rows deleted in one statement, so that it holds its locks for milliseconds."""

PURGE_STATEMENTS_MAX = 200
"""Statements of one purge; what is left goes with the next one."""

ASKED_MAX = 3
"""Times that a key is claimed and then looked up: it may be purged between the two."""


class PostgresClaims:
    """Keeps the promises of `adapters.reads.ports.Claims`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("upkeep", schemas)

    async def claim(self, company_id: int, key: str, digest: str, request_id: str, *, now: Instant) -> Claim:
        """Return the claim that stands: the given one where the key was free, else the earlier one."""
        values = (company_id, key, digest, request_id, to_datetime(now), to_datetime(now - KEY_KEPT))
        async with reading():
            for _ in range(ASKED_MAX):
                row = await self._pool.fetchrow(self._sql["claim_key"], *values)
                row = row or await self._pool.fetchrow(self._sql["find_key"], company_id, key)
                if row is not None:
                    return Claim(digest=row["digest"], request_id=row["request_id"], answer=row["answer"])
            raise asyncpg.InterfaceError("the Idempotency-Key comes and goes")

    async def keep(self, company_id: int, key: str, request_id: str, answer: bytes) -> bytes:
        """Keep the answer to a request unless there is one, and return the one that stands."""
        async with reading():
            kept = await self._pool.fetchval(self._sql["keep_answer"], company_id, key, request_id, answer)
        return answer if kept is None else bytes(kept)  # a key whose day ended meanwhile keeps nothing


class Purge:
    """Housekeeping of the tables that forget; run it now and then."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("upkeep", schemas)

    async def run(self, now: Instant) -> int:
        """Delete what is over its time and return the number of rows. Raises `ReadsUnavailableError`."""
        deleted = await self._purge("purge_results", now - RESULT_RETENTION)
        deleted += await self._purge("purge_keys", now - KEY_KEPT)
        return deleted + await self._purge("purge_send_log", now - SEND_LOG_KEPT)

    async def _purge(self, name: str, before: Instant) -> int:
        deleted = 0
        for _ in range(PURGE_STATEMENTS_MAX):
            async with reading():
                status: str = await self._pool.execute(self._sql[name], to_datetime(before), PURGE_ROWS)
            count = int(status.rpartition(" ")[2])
            deleted += count
            if count < PURGE_ROWS:
                break
        return deleted
