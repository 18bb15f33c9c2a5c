"""How far has a consumer group come? Its committed offsets; a missing one is believed only from the coordinator.

From a broker that is no longer the group's coordinator, or that still loads it, aiokafka's admin client and its consumer
both read an answer without offsets: they overlook the error beside it. So the request is made here.
"""

import asyncio
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition, errors
from aiokafka.client import CoordinationType
from aiokafka.protocol.commit import OffsetFetchRequest
from aiokafka.structs import OffsetAndMetadata

from adapters.kafka.connection import CLIENT_ERRORS, DEADLINE_SECONDS, KafkaConnection, to_log_error
from adapters.kafka.coordinators import Coordinators
from adapters.kafka.lifecycle import starting, stop
from adapters.partitions.checkpoint import Checkpoint
from engine.partition.ports import LogError

SET_SECONDS = 30.0
"""A group without members may have no coordinator yet."""

_NONE = -1


class CommittedOffsets:
    """Asks for the committed offsets of one group on one topic."""

    def __init__(self, connection: KafkaConnection, group: str, topic: str) -> None:
        self._group = group
        self._topic = topic
        self._coordinators = Coordinators(connection, CoordinationType.GROUP)

    async def offsets(self) -> dict[int, int]:
        """Return the committed offset of each partition that has one. Raises `LogError`."""
        return {partition: checkpoint.offset for partition, checkpoint in (await self.checkpoints()).items()}

    async def checkpoints(self) -> dict[int, Checkpoint]:
        """Return what was committed for each partition that has an offset. Raises `LogError`."""
        doing = f"asking for the offsets of {self._group}"
        return await self._coordinators.ask(self._group, doing, OffsetFetchRequest(self._group, None), self._read)

    async def close(self) -> None:
        """Disconnect."""
        await self._coordinators.close()

    def _read(self, answer: Any) -> dict[int, Checkpoint]:
        if answer.error_code:
            raise errors.for_code(answer.error_code)(self._group)
        found = {}
        for topic, partitions in answer.topics:
            for partition, offset, note, error_code in partitions:
                if error_code:
                    raise errors.for_code(error_code)(f"{topic}[{partition}]")
                if topic == self._topic and offset != _NONE:
                    found[partition] = Checkpoint(offset, note or "")
        return found


async def set_offset(connection: KafkaConnection, group: str, topic: str, partition: int, checkpoint: Checkpoint) -> None:
    """Commit an offset for a group without members. Raises `LogError`, not retryable where it has some."""
    doing = f"committing to {group}"
    consumer = AIOKafkaConsumer(**connection.options(), group_id=group, enable_auto_commit=False)
    place = TopicPartition(topic, partition)
    try:
        async with asyncio.timeout(SET_SECONDS):
            with starting():
                await consumer.start()
            consumer.assign([place])
            await consumer.commit({place: OffsetAndMetadata(checkpoint.offset, checkpoint.note)})
    except errors.CommitFailedError as error:
        raise LogError(f"{doing}: processes work in this group; stop them first", retryable=False) from error
    except CLIENT_ERRORS as error:
        raise to_log_error(error, doing) from error
    finally:
        await stop(consumer, seconds=DEADLINE_SECONDS)
