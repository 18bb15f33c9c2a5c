"""Where are Idempotency-Keys stored? One row each in `work.idempotency_keys`, with the first answer, for a day."""

import asyncpg

from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.reads.ports import IdempotencyClaim
from schemas.instant import DAY, Instant, to_datetime

KEY_RETENTION = DAY
"""An Idempotency-Key is held for this long after its first use."""

CLAIM_ATTEMPTS_MAX = 3
"""A key is claimed and then looked up; it may be purged between the two."""


class PostgresIdempotencyKeys:
    """Keeps the promises of `adapters.reads.ports.IdempotencyKeys`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("idempotency", schemas)

    async def claim(self, company_id: int, key: str, digest: str, request_id: str, *, now: Instant) -> IdempotencyClaim:
        """Claim a free key. Return the claim that holds: this one, or the earlier one where the key is in use."""
        values = (company_id, key, digest, request_id, to_datetime(now), to_datetime(now - KEY_RETENTION))
        async with convert_read_errors():
            for _ in range(CLAIM_ATTEMPTS_MAX):
                row = await self._pool.fetchrow(self._sql["claim_key"], *values)
                row = row or await self._pool.fetchrow(self._sql["find_key"], company_id, key)
                if row is not None:
                    return IdempotencyClaim(digest=row["digest"], request_id=row["request_id"], answer=row["answer"])
            raise asyncpg.InterfaceError("the Idempotency-Key comes and goes")

    async def keep(self, company_id: int, key: str, request_id: str, answer: bytes) -> bytes:
        """Store the answer to a request unless the key has one, and return the stored one."""
        async with convert_read_errors():
            stored = await self._pool.fetchval(self._sql["keep_answer"], company_id, key, request_id, answer)
        return answer if stored is None else bytes(stored)  # an expired key stores nothing
