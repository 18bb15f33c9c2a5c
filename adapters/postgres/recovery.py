"""What do the readers of topics remember in the database, and how do they go on after a topic was lost?"""

from collections.abc import Mapping
from typing import Any, Literal

from adapters.postgres.database_errors import run_statement
from adapters.postgres.pool import Pool
from adapters.postgres.sql import Schemas, queries
from engine.partition.continuity import ReadMark
from schemas.envelope import DecisionNumber

ReaderKind = Literal["projected", "followed", "carried_out"]
"""The projection, the deliverer of events to subscriptions, and the gateways."""

READERS: tuple[ReaderKind, ...] = ("projected", "followed", "carried_out")


class PostgresReadMarks:
    """How far each topic was read, by reader, topic and partition. Every method raises `StoreError`."""

    def __init__(self, pool: Pool, schemas: Schemas = Schemas()) -> None:  # noqa: B008 - frozen
        self._pool = pool
        self._sql = queries("recovery", schemas)

    async def marks(self, reader: ReaderKind) -> dict[tuple[str, int], ReadMark]:
        """Return how far a reader has read, by topic (without the prefix for the projection and events) and partition."""
        rows = await run_statement(self._pool.fetch(self._sql[reader]))
        return {
            (row["topic"], row["partition"]): ReadMark(
                row["topic_id"], row["next_offset"], row["last_offset"], row["last_digest"], _newest(row)
            )
            for row in rows
        }

    async def touched(self, topic: str, held: Mapping[int, int], limit: int) -> list[tuple[int, str]]:
        """Return company and contact of at most so many decisions behind those that the log holds, by partition."""
        given = topic, list(held), list(held.values()), limit
        rows = await run_statement(self._pool.fetch(self._sql["touched"], *given))
        return [(row["company_id"], row["contact_key"]) for row in rows]

    async def go_on(self, reader: ReaderKind, topic: str, partition: int, topic_id: str, offset: int) -> None:
        """Let a reader go on at an offset of the topic that is there now."""
        await run_statement(self._pool.execute(self._sql[f"go_on_{reader}"], topic, partition, topic_id, offset))


def _newest(row: Mapping[str, Any]) -> DecisionNumber | None:
    return None if row["epoch"] is None else DecisionNumber(row["epoch"], row["sequence"])
