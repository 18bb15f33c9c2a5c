"""Where does a partition begin and end now? Looked up over a connection that no fetch blocks.

A broker answers the requests of one connection one after the other, and holds an empty fetch for a while: a reader that
uses its own connection waits for that fetch, which would be most of the latency of a quiet gateway.
"""

import asyncio
from typing import Literal

from aiokafka import AIOKafkaConsumer, TopicPartition

from adapters.kafka.connection import CLIENT_ERRORS, DEADLINE_SECONDS, KafkaConnection, to_log_error
from adapters.kafka.lifecycle import finish, starting, stop

Question = Literal["beginning_offsets", "end_offsets"]


class OffsetLookup:
    """A consumer that reads nothing; it connects at the first look-up, and again after any failure."""

    def __init__(self, connection: KafkaConnection, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._connection = connection
        self._deadline_seconds = deadline_seconds
        self._consumer: AIOKafkaConsumer | None = None
        self._changing = asyncio.Lock()

    async def ask(self, question: Question, topic: str, partition: int) -> int:
        """Return the earliest offset, or the last stable one. Raises `LogError`."""
        place = TopicPartition(topic, partition)
        consumer: AIOKafkaConsumer | None = None
        try:
            async with asyncio.timeout(self._deadline_seconds):
                consumer = await self._started()
                return int((await getattr(consumer, question)([place]))[place])
        except CLIENT_ERRORS as error:
            await self._drop(consumer)
            raise to_log_error(error, f"asking for the {question} of {topic}[{partition}]") from error

    async def close(self) -> None:
        """Close the connection. Never raises."""
        await self._drop(self._consumer)

    async def _started(self) -> AIOKafkaConsumer:
        async with self._changing:
            if self._consumer is None:
                consumer = AIOKafkaConsumer(
                    **self._connection.options(request_timeout_seconds=self._deadline_seconds),
                    group_id=None,
                    enable_auto_commit=False,
                    isolation_level="read_committed",
                )
                try:
                    with starting():
                        await consumer.start()
                except BaseException:
                    await finish(stop(consumer, seconds=self._deadline_seconds))
                    raise
                self._consumer = consumer
            return self._consumer

    async def _drop(self, consumer: AIOKafkaConsumer | None) -> None:
        if consumer is None or self._consumer is not consumer:
            return
        self._consumer = None
        await finish(stop(consumer, seconds=self._deadline_seconds))
