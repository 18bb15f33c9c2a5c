"""Where does a partition begin and end now? Looked up over a connection that no fetch blocks.

A broker answers the requests of one connection one after the other, and holds an empty fetch for a while: a reader that
uses its own connection waits for that fetch, which would be most of the latency of a quiet gateway.
"""

import asyncio
from collections.abc import Sequence
from typing import Literal

from aiokafka import AIOKafkaConsumer, TopicPartition

from adapters.kafka.connection import CLIENT_ERRORS, DEADLINE_SECONDS, KafkaConnection, to_log_error
from adapters.kafka.lifecycle import finish, starting, stop
from engine.partition.ports import LogError

Question = Literal["beginning_offsets", "end_offsets"]


Isolation = Literal["read_committed", "read_uncommitted"]

LOOK_SECONDS = 0.02
"""A marker follows within milliseconds: a partition that waits for it is asked again this often."""


class OffsetLookup:
    """A consumer that reads nothing; it connects at the first look-up, and again after any failure.

    The end of a partition is the last stable offset, or with `read_uncommitted` that of the last record that was written.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        *,
        deadline_seconds: float = DEADLINE_SECONDS,
        isolation: Isolation = "read_committed",
    ) -> None:
        self._connection = connection
        self._deadline_seconds = deadline_seconds
        self._isolation = isolation
        self._consumer: AIOKafkaConsumer | None = None
        self._changing = asyncio.Lock()

    async def ask(self, question: Question, topic: str, partition: int) -> int:
        """Return the earliest offset, or the end. Raises `LogError`."""
        place = TopicPartition(topic, partition)
        return (await self.ask_all(question, [place]))[place]

    async def ask_all(self, question: Question, places: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the earliest offsets, or the ends, of several partitions at once. Raises `LogError`."""
        consumer: AIOKafkaConsumer | None = None
        try:
            async with asyncio.timeout(self._deadline_seconds):
                consumer = await self._started()
                return dict(await getattr(consumer, question)(places))
        except CLIENT_ERRORS as error:
            await self._drop(consumer)
            named = ", ".join(f"{place.topic}[{place.partition}]" for place in places)
            raise to_log_error(error, f"asking for the {question} of {named}") from error

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
                    isolation_level=self._isolation,
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


async def until_stable(
    stable: OffsetLookup, written: OffsetLookup, places: Sequence[TopicPartition], *, deadline_seconds: float
) -> None:
    """Wait until committed readers see all that is written in these partitions now. Raises `LogError` after the deadline."""
    if not places:
        return
    ends = await written.ask_all("end_offsets", places)
    give_up_at = asyncio.get_running_loop().time() + deadline_seconds
    while True:
        seen = await stable.ask_all("end_offsets", places)
        hanging = [place for place in places if seen[place] < ends[place]]
        if not hanging:
            return
        if asyncio.get_running_loop().time() > give_up_at:
            named = ", ".join(f"{place.topic}[{place.partition}] from {seen[place]} to {ends[place]}" for place in hanging)
            raise LogError(f"records hang without the marker that ends their transaction: {named}")
        await asyncio.sleep(LOOK_SECONDS)
