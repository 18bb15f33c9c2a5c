"""How is a partition owned on Kafka (zombie fencing)? By one transactional producer, whose epoch fences every earlier one.

The transactional id is `app.topic.partition` of the input, so that a new owner, in any process, takes over exactly that
partition. The input's position is a record of the transaction (the changelog holds it): no offsets are sent to the group.
"""

import asyncio
from collections.abc import Sequence

from aiokafka import AIOKafkaProducer, TopicPartition, errors
from aiokafka.structs import RecordMetadata

from adapters.kafka.cluster_metadata import ClusterMetadata
from adapters.kafka.connection import CLIENT_ERRORS, KafkaConnection, to_log_error
from adapters.kafka.last_transactions import LastTransactions, ProducerEpoch
from adapters.kafka.lifecycle import finish, starting
from adapters.kafka.offset_lookup import OffsetLookup, until_stable
from adapters.kafka.producers import discard, new_producer, send, settle, split_into_batches
from engine.partition.ports import LogError, Outgoing, RecordRefusedError

Round = list[tuple[str, list[Outgoing]]]
"""At most one batch per topic: what goes to the broker in one request."""

Ends = tuple[OffsetLookup, OffsetLookup]
"""How far committed readers see, and how far a partition is written."""


class KafkaOwnership:
    """One transactional producer. After the first error it is unusable; take a new ownership."""

    def __init__(
        self, producer: AIOKafkaProducer, metadata: ClusterMetadata, topic: str, partition: int, deadline_seconds: float
    ) -> None:
        self._producer = producer
        self._metadata = metadata
        self._topic = topic
        self._partition = partition
        self._deadline_seconds = deadline_seconds
        self._void: LogError | None = None
        self._closed = False
        self._is_broken = False

    async def commit(self, records: Sequence[Outgoing]) -> None:
        """Write all records in one transaction, at most `deadline_seconds` long; see the port.

        A transaction that the broker ended after its timeout looks the same as a newer owner: `FencedError`.
        """
        if self._void is not None:
            raise self._void
        if not records:
            return
        doing = f"committing to partition {self._partition} as owner of {self._topic}"
        self._void = LogError(f"{doing}: an earlier commit was interrupted or is still under way")
        try:
            async with asyncio.timeout(self._deadline_seconds):
                await self._transact(await self._rounds(records))
        except (*CLIENT_ERRORS, LogError) as error:
            self._void = to_log_error(error, doing, fenced=(self._topic, self._partition))
            if isinstance(self._void, RecordRefusedError):
                self._metadata.forget()  # what a topic takes may have been changed
            self._is_broken = not isinstance(self._void, RecordRefusedError)
            await self.close()
            raise self._void from error
        self._void = None

    async def close(self) -> None:
        """Abort what is open and close the producer. Never raises."""
        if self._closed:
            return
        self._closed = True
        if self._void is None:
            self._void = LogError(f"the ownership of {self._topic}[{self._partition}] was given back")
        await finish(discard(self._producer, is_broken=self._is_broken))

    async def _transact(self, rounds: Sequence[Round]) -> None:
        await self._producer.begin_transaction()
        under_way = await self._queue(rounds)
        # Before the commit: the library would commit without the batch that was refused.
        for outcome in await asyncio.gather(*under_way, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
        await self._producer.commit_transaction()

    async def _queue(self, rounds: Sequence[Round]) -> list[asyncio.Future[RecordMetadata]]:
        """Queue every batch. Where the transaction fails meanwhile, raise what ended it: a newer owner, mostly."""
        try:
            return [
                await send(self._producer, topic, self._partition, records)
                for batches in rounds
                for topic, records in batches
            ]
        except errors.IllegalOperation:
            # The library only says that no transaction is open. Those who wait for its end hear why.
            await self._producer._txn_manager.wait_for_transaction_end()  # noqa: SLF001
            raise

    async def _rounds(self, records: Sequence[Outgoing]) -> list[Round]:
        """Pack everything before anything is sent: a record that is too large refuses the whole commit."""
        by_topic: dict[str, list[Outgoing]] = {}
        for record in records:
            by_topic.setdefault(record.topic, []).append(record)
        rounds: list[Round] = []
        for topic, group in by_topic.items():
            try:
                batches = split_into_batches(group, await self._metadata.batch_bytes_max(topic))
            except RecordRefusedError as error:
                refused = group[error.index or 0]
                index = next(place for place, record in enumerate(records) if record is refused)
                raise RecordRefusedError(str(error), index=index) from error
            for place, batch in enumerate(batches):
                if place == len(rounds):
                    rounds.append([])
                rounds[place].append((topic, batch))
        return rounds


async def take_ownership(
    connection: KafkaConnection,
    metadata: ClusterMetadata,
    last_transactions: LastTransactions,
    ends: Ends,
    *,
    app: str,
    topic: str,
    partition: int,
    writes: Sequence[str],
    compression: str | None,
    deadline_seconds: float,
) -> KafkaOwnership:
    """Start a producer under the partition's id: this aborts and fences every earlier owner. Raises `LogError`.

    What earlier owners wrote to `writes` is settled before it returns, as their last transaction ended. Markers can be left
    out of that too, and the next transaction, if it is aborted, would undo what hangs: readers must see it first.
    """
    doing = f"taking {topic}[{partition}]"
    transactional_id = f"{app}.{topic}.{partition}"
    if not 0 <= partition < (await metadata.describe(topic)).partition_count:
        raise LogError(f"{doing}: there is no such partition", retryable=False)
    places = [TopicPartition(name, partition) for name in writes]
    abort = await last_transactions.look_up_abort(transactional_id)  # the coordinator forgets it when a producer starts
    producer = new_producer(
        connection,
        transactional_id=transactional_id,
        compression=compression,
        deadline_seconds=deadline_seconds,
    )
    try:
        async with asyncio.timeout(deadline_seconds):
            with starting():
                await producer.start()
            last_transactions.begin_settling(transactional_id, producer_epoch(producer))
            await settle(producer, places, abort=abort)
        await until_stable(*ends, places, deadline_seconds=deadline_seconds)
    except BaseException as error:
        await finish(discard(producer, is_broken=True))
        if isinstance(error, CLIENT_ERRORS):
            raise to_log_error(error, doing) from error
        raise
    last_transactions.forget(transactional_id)
    return KafkaOwnership(producer, metadata, topic, partition, deadline_seconds)


def producer_epoch(producer: AIOKafkaProducer) -> ProducerEpoch:
    """Return which start of which producer id this is."""
    transactions = producer._txn_manager  # noqa: SLF001  # there is no public way to ask for it
    return ProducerEpoch(transactions.producer_id, transactions.producer_epoch)
