"""How does PostgreSQL remember which commands were claimed? One row each in `work.deliveries`; see gateway/ports.py."""

from collections.abc import Awaitable
from typing import Any

import asyncpg

from adapters.gateway.ports import Claim, Kind, StoreError
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from schemas.instant import Instant, from_datetime, to_datetime
from schemas.outcomes import GATE_OUTCOMES
from schemas.requests import OutcomeRecorded
from schemas.wire import from_json

FORGET_ROWS_MAX = 10_000
"""Rows deleted in one statement, so that it stays short."""


class PostgresDeliveries:
    """Keeps the promises of `adapters.gateway.ports.Deliveries`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("deliveries", schemas)

    async def incarnation(self) -> Instant:
        """Return when this schema was begun."""
        born_at = await self._asked(self._pool.fetchval(self._sql["incarnation"]))
        if born_at is None:
            raise StoreError("the work schema has no incarnation: run the migrations")
        return from_datetime(born_at)

    async def claim(
        self,
        command_id: str,
        *,
        company_id: int,
        kind: Kind,
        claimant: str,
        claim_id: str,
        claimed_at: Instant,
        lease_seconds: float,
    ) -> Claim:
        """Claim a command in one committed statement."""
        arguments = (command_id, company_id, kind, claimant, claim_id, to_datetime(claimed_at), lease_seconds)
        taken_over = await self._asked(self._pool.fetchval(self._sql["claim"], *arguments))
        if taken_over is not None:
            return Claim(state="taken_over" if taken_over else "fresh")
        return await self._found(command_id, company_id, claimant)

    async def renew(self, claimant: str, *, lease_seconds: float) -> None:
        """Let what a claimant has not posted yet be its own for `lease_seconds` from now."""
        await self._asked(self._pool.execute(self._sql["renew"], claimant, lease_seconds))

    async def record(self, command_id: str, *, claimant: str, outcome: bytes, recorded_at: Instant) -> bool:
        """Record what came of a command; False where the claim is somebody else's."""
        said = from_json(outcome, OutcomeRecorded) if outcome else None
        return None is not await self._asked(
            self._pool.fetchval(
                self._sql["record"],
                command_id,
                claimant,
                _state(said),
                outcome,
                to_datetime(recorded_at),
                said and said.provider,
                said and said.provider_ref,
            )
        )

    async def release(self, command_id: str, *, claimant: str) -> None:
        """Take back a fresh claim, as if it had never been."""
        await self._asked(self._pool.execute(self._sql["release"], command_id, claimant))

    async def mark_posted(self, command_id: str, *, posted_at: Instant) -> None:
        """Remember that the recorded outcome is on `contacts.requests`."""
        await self._asked(self._pool.execute(self._sql["mark_posted"], command_id, to_datetime(posted_at)))

    async def progress(self, topic: str, topic_id: str, partition: int) -> int | None:
        """Return the offset before which every command is done."""
        offset = await self._asked(self._pool.fetchval(self._sql["progress"], topic, topic_id, partition))
        return None if offset is None else int(offset)

    async def save_progress(self, topic: str, topic_id: str, partition: int, offset: int) -> None:
        """Save that every command before `offset` is done."""
        await self._asked(self._pool.execute(self._sql["save_progress"], topic, topic_id, partition, offset))

    async def forget(self, before: Instant) -> int:
        """Delete up to `FORGET_ROWS_MAX` claims made before an instant and return how many; for housekeeping.

        `before` must be longer ago than the commands topics keep their records, or a command could be carried out twice.
        """
        status = await self._asked(self._pool.execute(self._sql["forget"], to_datetime(before), FORGET_ROWS_MAX))
        return int(str(status).rpartition(" ")[2])

    async def _found(self, command_id: str, company_id: int, claimant: str) -> Claim:
        row = await self._asked(self._pool.fetchrow(self._sql["find"], command_id, company_id, claimant))
        if row is not None and row["posted_at"] is not None:
            return Claim(state="posted")
        if row is None or row["state"] == "claimed" or row["is_leased"]:
            return Claim(state="held")
        return Claim(state="recorded", outcome=row["outcome"])

    async def _asked(self, asking: Awaitable[Any]) -> Any:
        try:
            return await asking
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
            raise StoreError(f"{type(error).__name__}: {error}") from error


def _state(said: OutcomeRecorded | None) -> str:
    if said is None:
        return "sent"
    if said.outcome in GATE_OUTCOMES:
        return "dropped"
    return "unknown" if said.outcome == "unknown" else "done"
