"""Which keys operate the deployment, and what did their holders change? Two tables of the `work` schema hold it."""

import getpass
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from adapters.postgres.database_errors import convert_read_errors
from adapters.postgres.gateways import LIVE_SECONDS
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from adapters.reads.ports import OperatorChange, OperatorKey, Row
from schemas.errors import SenderError

KEYS_MAX = 100
"""Keys that are not revoked: a few people and programs operate a deployment."""

KEYS_SHOWN_MAX = 1_000
GATEWAYS_SHOWN_MAX = 1_000
SUBSCRIPTIONS_SHOWN_MAX = 1_000
"""Rows of a list without pages. Behind them are revoked keys, gateways of last week, and subscriptions that hardly wait."""

OUTCOME_LENGTH_MAX = 500


class OperatorKeyError(SenderError):
    """This operator key cannot be created or revoked; `str(error)` says why."""


class PostgresOperators:
    """Keeps the promises of `adapters.reads.ports.Operators`; also creates and revokes keys, for the command line."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("operators", schemas)

    async def key(self, public_key: str) -> OperatorKey | None:
        """Return a key by its public half, revoked or not."""
        async with convert_read_errors():
            row = await self._pool.fetchrow(self._sql["find"], public_key)
        if row is None:
            return None
        return OperatorKey(row["id"], row["name"], row["private_key_sha256"], is_revoked=row["revoked_at"] is not None)

    @asynccontextmanager
    async def audited(self, change: OperatorChange) -> AsyncIterator[list[str]]:
        """Store a change before it is made, and its outcome after it: what the block appends to the list, or its error."""
        outcome: list[str] = []
        audit_id = await self._begin(change)
        try:
            yield outcome
        except Exception as error:
            await self._end(audit_id, f"{type(error).__name__}: {error}")
            raise
        await self._end(audit_id, " ".join(outcome) or "done")

    async def audits(self, *, before: int, limit: int) -> Sequence[Row]:
        """Return changes with an id below one, newest first."""
        return await self._rows("audits", before, limit)

    async def gateways(self) -> Sequence[Row]:
        """Return which process serves which channel, and until when it did."""
        return await self._rows("gateways", LIVE_SECONDS, GATEWAYS_SHOWN_MAX)

    async def event_deliveries(self) -> Sequence[Row]:
        """Return the subscriptions of all companies whose events wait, were given up, or are not sent."""
        return await self._rows("event_deliveries", SUBSCRIPTIONS_SHOWN_MAX)

    async def offsets(self) -> dict[tuple[str, str, int], int]:
        """Return the next offset of each (role, topic, partition) that the work tables know."""
        found = {}
        for role, name in (("deliverer", "followed"), ("gateway", "carried_out")):
            for row in await self._rows(name):
                found[role, row["topic"], row["partition"]] = row["next_offset"]
        return found

    async def create(self, public_key: str, private_key_sha256: str, name: str) -> int:
        """Create a key and return its id. Raises `OperatorKeyError` where there are too many."""
        async with self.audited(typed_change("operator_key.created", public_key, name)):
            async with convert_read_errors():
                key_id = await self._pool.fetchval(self._sql["create"], public_key, private_key_sha256, name, KEYS_MAX)
            if key_id is None:
                raise OperatorKeyError(f"there are {KEYS_MAX} operator keys: revoke one that is no longer used")
        return int(key_id)

    async def keys(self) -> Sequence[Row]:
        """Return the keys, newest first, without their private halves."""
        return await self._rows("keys", KEYS_SHOWN_MAX)

    async def revoke(self, public_key: str) -> Row:
        """Revoke a key, which works no more from then on; return when it was. Raises `OperatorKeyError`."""
        async with self.audited(typed_change("operator_key.revoked", public_key, "")), convert_read_errors():
            row: Row | None = await self._pool.fetchrow(self._sql["revoke"], public_key)
            if row is None:
                raise OperatorKeyError(f"there is no operator key {public_key}: `leadclock keys list --operator` shows them")
        return row

    async def _begin(self, change: OperatorChange) -> int:
        given = change.key_id, change.actor, change.address, change.request_id, change.action, change.subject, change.detail
        async with convert_read_errors():
            return int(await self._pool.fetchval(self._sql["begin_audit"], *given))

    async def _end(self, audit_id: int, outcome: str) -> None:
        async with convert_read_errors():
            await self._pool.execute(self._sql["end_audit"], audit_id, outcome[:OUTCOME_LENGTH_MAX])

    async def _rows(self, name: str, *given: Any) -> Sequence[Row]:
        async with convert_read_errors():
            rows: Sequence[Row] = await self._pool.fetch(self._sql[name], *given)
        return rows


def typed_change(action: str, subject: str, detail: str) -> OperatorChange:
    """Return a change that somebody typed on a machine, as the user of that machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may run as a number without a name
        user = "unknown"
    return OperatorChange(
        key_id=None, actor=f"cli/{user}", address=socket.gethostname(), action=action, subject=subject, detail=detail
    )
