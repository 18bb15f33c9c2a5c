"""How is an aiokafka producer created, filled and closed?

Three facts of aiokafka 0.14 shape this file (tests/adapters/test_aiokafka_traps.py shows them on a real broker): a batch
that is refused does not stop the commit of its transaction, a producer that failed once can never be used again, and
`stop()` waits without end for batches that the broker does not take.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Iterable, Sequence

from aiokafka import AIOKafkaProducer, TopicPartition, errors
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.structs import RecordMetadata

from adapters.kafka.connection import TRANSACTION_TIMEOUT_MS, KafkaConnection
from adapters.kafka.lifecycle import close, end, mark_retrieved, tasks_of
from engine.partition.ports import Outgoing, RecordRefusedError

BATCH_BYTES_MAX = 512 * 1024
"""One request per partition is under way at a time, so small batches (16 KiB by default) halve the throughput."""

DISCARD_SECONDS = 2.0
"""How long a failed producer may take for each step of its close."""

_BATCH_HEADER_BYTES = 61
"""Of record format 2; what `estimate_size_in_bytes` adds to every record."""


def new_producer(
    connection: KafkaConnection, *, transactional_id: str | None, compression: str | None, deadline_seconds: float
) -> AIOKafkaProducer:
    """Return a producer that is not started yet: idempotent, acknowledged by all replicas, batches built by us."""
    return AIOKafkaProducer(
        **connection.options(request_timeout_seconds=deadline_seconds),
        transactional_id=transactional_id,
        transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
        enable_idempotence=True,
        acks="all",
        max_batch_size=BATCH_BYTES_MAX,
        linger_ms=0,
        compression_type=compression,
    )


def split_into_batches(records: Sequence[Outgoing], batch_bytes_max: int) -> list[list[Outgoing]]:
    """Cut records of one topic into batches, in order. Raises `RecordRefusedError` if one record is too large.

    Sizes are upper bounds before compression: a record that would only fit when compressed is refused, so that the
    answer does not depend on its neighbours.
    """
    batches: list[list[Outgoing]] = []
    limit = min(BATCH_BYTES_MAX, batch_bytes_max)
    room_bytes = 0
    for index, record in enumerate(records):
        size = DefaultRecordBatchBuilder.estimate_size_in_bytes(record.key, record.value, list(record.headers))
        if size > batch_bytes_max:
            raise RecordRefusedError(
                f"a record of {size} bytes is over the {batch_bytes_max} of {record.topic}", index=index
            )
        added_bytes = size - _BATCH_HEADER_BYTES
        if not batches or added_bytes > room_bytes:
            batches.append([])
            room_bytes = limit - _BATCH_HEADER_BYTES
        batches[-1].append(record)
        room_bytes -= added_bytes
    return batches


async def send(
    producer: AIOKafkaProducer, topic: str, partition: int, records: Sequence[Outgoing]
) -> asyncio.Future[RecordMetadata]:
    """Queue one packed batch; the future resolves when the broker has it. Every future must be awaited.

    One whose successors could not be queued has no waiter: its error is retrieved here.
    """
    batch = producer.create_batch()
    for record in records:
        added = batch.append(key=record.key, value=record.value, timestamp=None, headers=list(record.headers))
        if added is None:
            raise AssertionError("a packed batch fits its builder")
    sent: asyncio.Future[RecordMetadata] = await producer.send_batch(batch, topic, partition=partition)
    sent.add_done_callback(mark_retrieved)
    return sent


async def settle(producer: AIOKafkaProducer, places: Iterable[TopicPartition], *, abort: bool) -> None:
    """End an empty transaction in these partitions, so that what hangs there of an earlier one ends as that one did.

    A coordinator that finds no leader of a partition takes it for deleted and leaves out the marker of a transaction that it
    has ended (Kafka 4.3.0, `TransactionMarkerChannelManager`; a single broker that stops or comes back is such a moment).
    The records are there, and no reader sees them before the next marker of the same producer id, which decides for them:
    an abort undoes what was committed, a commit makes readable what was aborted.
    """
    places = list(places)
    if not places:
        return
    await producer.begin_transaction()
    for place in places:
        producer._txn_manager.maybe_add_partition_to_txn(place)  # noqa: SLF001  # the public way would write a record
    await (producer.abort_transaction() if abort else producer.commit_transaction())


async def discard(producer: AIOKafkaProducer, *, is_broken: bool = False) -> None:
    """Close a producer: it sends nothing afterwards. Never raises.

    A broken one gets no time for it, because its successor waits: the start of that aborts an open transaction.
    """
    transactions = producer._txn_manager  # noqa: SLF001  # there is no public way to ask for its state
    if not is_broken:
        if transactions.transactional_id is not None and transactions.is_in_transaction():
            await _within(DISCARD_SECONDS, producer.abort_transaction())
        await _within(DISCARD_SECONDS, producer.stop())
    producer._closed = True  # noqa: SLF001  # else it would warn that it was not closed
    # Without connections every request ends at once, so nothing waits for a broker that does not answer.
    sender = producer._sender.sender_task  # noqa: SLF001
    if sender is not None:
        sender.cancel()
    await close(producer.client)
    for task in tasks_of(producer._sender):  # noqa: SLF001
        await end(task)
    mark_retrieved(transactions.wait_for_transaction_end())
    _give_up_batches(producer)


def _give_up_batches(producer: AIOKafkaProducer) -> None:
    """Fail what was never sent, because a task of `stop()` still waits for it, and retrieve the errors."""
    accumulator = producer._message_accumulator  # noqa: SLF001  # `stop()` has no way to give up
    batches = [batch for waiting in accumulator._batches.values() for batch in waiting]  # noqa: SLF001
    batches += accumulator._pending_batches  # noqa: SLF001
    accumulator._pending_batches.update(batches)  # noqa: SLF001  # a batch that is sent again expects to be there
    accumulator.fail_all(errors.ProducerClosed())
    for batch in batches:
        mark_retrieved(batch.future)
        mark_retrieved(batch._drain_waiter)  # noqa: SLF001


async def _within(seconds: float, step: Awaitable[object]) -> None:
    with contextlib.suppress(Exception):
        async with asyncio.timeout(seconds):
            await step
