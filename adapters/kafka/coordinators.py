"""Who coordinates a consumer group or a transactional id, and what does it answer? It is asked again where it moves."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from aiokafka import errors
from aiokafka.client import AIOKafkaClient, ConnectionGroup, CoordinationType

from adapters.kafka.connection import CLIENT_ERRORS, DEADLINE_SECONDS, KafkaConnection, to_log_error
from adapters.kafka.shared_client import SharedClient

T = TypeVar("T")

RETRY_SECONDS = 0.1

COORDINATOR_MOVES = (
    errors.GroupCoordinatorNotAvailableError,
    errors.GroupLoadInProgressError,
    errors.NodeNotReadyError,
    errors.NotCoordinatorForGroupError,
)
"""Retry: another broker, or the same one in a moment, answers. The library names them after groups; both kinds have them."""


class Coordinators:
    """Asks the coordinators of one kind over one connection, each for up to `deadline_seconds` where it moves."""

    def __init__(
        self, connection: KafkaConnection, kind: CoordinationType, *, deadline_seconds: float = DEADLINE_SECONDS
    ) -> None:
        self._kind = kind
        self._deadline_seconds = deadline_seconds
        self._client = SharedClient(connection, deadline_seconds=deadline_seconds)
        self._nodes: dict[str, int] = {}

    async def ask(self, key: str, doing: str, request: Any, read: Callable[[Any], T]) -> T:
        """Return what `read` finds in the answer of the coordinator of `key`. Raises `LogError`.

        `read` raises the error that an answer holds: one of `COORDINATOR_MOVES` is the reason to ask again.
        """
        moved: errors.KafkaError | None = None
        client: AIOKafkaClient | None = None
        try:
            async with asyncio.timeout(self._deadline_seconds):
                while True:
                    client = await self._client.connect()
                    try:
                        return read(await self._send(client, key, request))
                    except COORDINATOR_MOVES as error:
                        moved = error
                        self._nodes.pop(key, None)
                        await asyncio.sleep(RETRY_SECONDS)
        except CLIENT_ERRORS as error:
            self._nodes.clear()
            await self._client.drop(client)
            raise to_log_error(moved if moved and isinstance(error, TimeoutError) else error, doing) from error

    async def close(self) -> None:
        """Close the connection. Never raises."""
        self._nodes.clear()
        await self._client.close()

    async def _send(self, client: AIOKafkaClient, key: str, request: Any) -> Any:
        if key not in self._nodes:
            self._nodes[key] = await client.coordinator_lookup(self._kind, key)
        return await client.send(self._nodes[key], request, group=ConnectionGroup.COORDINATION)
