"""Is the topic that a process appends to the one that was made for its deployment? One that was made again takes nothing.

What is appended to another topic would be accepted, and never decided: partitions whose topic was lost stand still.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from engine.partition.continuity import check_id
from engine.partition.ports import Appender, Log, Outgoing, topic_of

GUARD_SECONDS = 2.0
"""Between two looks at the id of a topic: one request to the brokers for thousands of records."""


class GuardedAppender:
    """Keeps the promises of `engine.partition.ports.Appender`, and raises `ContinuityError` for a topic of another id.

    `made_topics` returns the ids by name without the prefix; a topic that it does not list is not compared.
    """

    def __init__(self, appender: Appender, log: Log, prefix: str, made_topics: Callable[[], Mapping[str, str]]) -> None:
        self._appender = appender
        self._log = log
        self._prefix = prefix
        self._made_topics = made_topics
        self._compared_at: dict[str, float] = {}

    async def append(self, partition: int, records: Sequence[Outgoing]) -> list[int]:
        """Append the records of one topic partition; see the port."""
        if records:
            await self._compare(topic_of(records))
        return await self._appender.append(partition, records)

    async def close(self) -> None:
        """Flush and stop. Never raises."""
        await self._appender.close()

    async def _compare(self, topic: str) -> None:
        made = self._made_topics().get(topic.removeprefix(self._prefix))
        now = asyncio.get_running_loop().time()
        if made is None or now - self._compared_at.get(topic, float("-inf")) < GUARD_SECONDS:
            return
        check_id(topic, made, await self._log.topic_id(topic))
        self._compared_at[topic] = now
