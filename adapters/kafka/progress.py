"""How far has a consumer group come? Its committed offsets: a second old, good for pacing, never for truth."""

import asyncio

from aiokafka.admin import AIOKafkaAdminClient

from adapters.kafka.connection import DEADLINE_SECONDS, FAILURES, Connection, refusal
from adapters.partitions.bookmark import Bookmark


class GroupProgress:
    """Asks for the committed offsets of one group on one topic."""

    def __init__(self, connection: Connection, group: str, topic: str) -> None:
        self._connection = connection
        self._group = group
        self._topic = topic
        self._admin: AIOKafkaAdminClient | None = None

    async def offsets(self) -> dict[int, int]:
        """Return the committed offset of each partition that has one. Raises `LogError`."""
        return {partition: mark.offset for partition, mark in (await self.bookmarks()).items()}

    async def bookmarks(self) -> dict[int, Bookmark]:
        """Return what was committed for each partition that has an offset. Raises `LogError`."""
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                if self._admin is None:
                    self._admin = AIOKafkaAdminClient(**self._connection.options())
                    await self._admin.start()
                found = await self._admin.list_consumer_group_offsets(self._group)
        except FAILURES as error:
            await self.close()
            raise refusal(error, f"asking for the offsets of {self._group}") from error
        return {
            place.partition: Bookmark(kept.offset, kept.metadata or "")
            for place, kept in found.items()
            if place.topic == self._topic
        }

    async def close(self) -> None:
        """Disconnect."""
        admin, self._admin = self._admin, None
        if admin is not None:
            await admin.close()
