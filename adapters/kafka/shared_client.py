"""How do several questions share one connection to the brokers? The first one opens it; a failure closes it for all.

A question that fails late does not close the client that has replaced its own.
"""

import asyncio

from aiokafka.client import AIOKafkaClient

from adapters.kafka.connection import DEADLINE_SECONDS, KafkaConnection
from adapters.kafka.lifecycle import close, finish, starting


class SharedClient:
    """One client of aiokafka, connected when it is first needed and again after each failure."""

    def __init__(self, connection: KafkaConnection, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._connection = connection
        self._deadline_seconds = deadline_seconds
        self._client: AIOKafkaClient | None = None
        self._starting = asyncio.Lock()

    async def connect(self) -> AIOKafkaClient:
        """Return the client; start it where there is none. Raises what the library raises (`CLIENT_ERRORS`)."""
        async with self._starting:
            if self._client is None:
                client = AIOKafkaClient(**self._connection.options(request_timeout_seconds=self._deadline_seconds))
                try:
                    with starting():
                        await client.bootstrap()
                except BaseException:
                    await finish(close(client))
                    raise
                self._client = client
            return self._client

    async def drop(self, client: AIOKafkaClient | None) -> None:
        """Close a client that failed, unless another one has replaced it, over which others ask."""
        if client is None or self._client is not client:
            return
        self._client = None
        await finish(close(client))

    async def close(self) -> None:
        """Close the connection. Never raises."""
        await self.drop(self._client)
