"""Which partitions does the consumer group assign to this process? The group decides who works, never who owns.

The owner is who holds the newest ownership (`Log.own`). So a rebalance needs no coordination: an owner goes on until the
group has assigned its partition to another member, and is fenced if that one was faster.
"""

import asyncio
from collections.abc import AsyncIterator, Collection

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition, errors
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.structs import OffsetAndMetadata

from adapters.kafka.committed_offsets import CommittedOffsets
from adapters.kafka.connection import CLIENT_ERRORS, KafkaConnection, to_log_error
from adapters.kafka.lifecycle import finish, mark_commits_retrieved, starting, stop
from adapters.partitions.checkpoint import Checkpoint
from adapters.partitions.group_offsets import NO_OFFSET, GroupOffsets
from engine.partition.ports import LogError

SESSION_SECONDS = 10.0
"""How long a dead member keeps its partitions: the longest pause of work that a crash causes."""

REPORT_SECONDS = 5.0
"""Between two commits of positions: for dashboards, and for roles that keep their position nowhere else."""

COMMIT_RETRY_SECONDS = 0.5
"""At least, after a commit that failed: mostly the group is sharing out its partitions."""

HEARTBEATS_PER_SESSION = 3
POLL_SECONDS = 1.0
REJOIN_SECONDS = 1.0
CONFIRM_SECONDS = 5.0
CLOSE_SECONDS = 5.0
DROP_SECONDS = 1.0
"""How long a failed member may take to leave the group: its broker mostly does not answer, and it must join again."""

JOIN_MARGIN_SECONDS = 2.0
"""With more, a broker that hangs is noticed so much later: a heartbeat waits for it as long as a join may."""

logger = structlog.get_logger(__name__)


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """Notes what the group assigns. aiokafka swallows what a listener raises, so an error is stored and raised later."""

    def __init__(self, assignment: "GroupAssignment") -> None:
        self._assignment = assignment

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:  # noqa: ARG002 - the library's signature
        self._assignment.note_rebalance()

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self._assignment.note_assigned(assigned)


class GroupAssignment:
    """One member of a consumer group over one topic. It reads nothing and commits only positions that are reported."""

    def __init__(
        self,
        connection: KafkaConnection,
        group: str,
        topic: str,
        *,
        session_seconds: float = SESSION_SECONDS,
        report_seconds: float = REPORT_SECONDS,
    ) -> None:
        self._connection = connection
        self._group = group
        self._topic = topic
        self._session_seconds = session_seconds
        self._report_seconds = report_seconds
        self._consumer: AIOKafkaConsumer | None = None
        self._assigned: frozenset[int] | None = None
        self._is_rebalancing = True
        self._failed: LogError | None = None
        self._changed = asyncio.Event()
        self._offsets = GroupOffsets()
        self._uncommitted = asyncio.Event()
        self._rebalances = 0
        self._notes: dict[int, str] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Join the group; returns once the brokers are reached, before anything is assigned. Raises `LogError`."""
        await self._join()
        self._tasks = [asyncio.create_task(self._stay()), asyncio.create_task(self._keep_reporting())]

    async def changes(self) -> AsyncIterator[frozenset[int]]:
        """Yield the set of partitions after each rebalance, the newest only. Raises `LogError` if the group is lost.

        No empty set is yielded during a rebalance; the same set is yielded again after one, because an owner that was
        fenced meanwhile waits for it. For one consumer of changes.
        """
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self._failed is not None:
                raise self._failed
            if self._assigned is not None:
                yield self._assigned

    async def confirm(self, partition: int) -> bool:
        """Return whether the group still says that this partition is ours, by a commit with the present generation.

        For an owner that was fenced: True means that it may take ownership again, False that it waits for `changes`.
        """
        if self._consumer is None or not self._is_ours(partition):
            return False
        try:
            await self._learn({partition})
            if self._consumer is None:
                return False
            # 0 only where the group has no offset: one behind that of the group would have records read again.
            offset = max(0, self._offsets.held(partition) or 0, self._offsets.reported(partition) or 0)
            async with asyncio.timeout(CONFIRM_SECONDS):
                await self._consumer.commit({TopicPartition(self._topic, partition): self._marked(partition, offset)})
        except (*CLIENT_ERRORS, LogError):
            return False
        return self._is_ours(partition)

    def report(self, partition: int, offset: int) -> None:
        """Note how far the input of a partition is decided (the next offset).

        It is committed if it is newer: at once, but not within `report_seconds` after the last commit.
        """
        if offset != self._offsets.reported(partition):
            self._offsets.report(partition, offset)
            self._uncommitted.set()

    async def save_checkpoint(self, partition: int, checkpoint: Checkpoint) -> None:
        """Commit an offset with a note, now; later commits carry the same note.

        Raises `LogError`, also where the group has a newer offset: another member went on, and so must the caller.
        """
        if self._consumer is None or not self._is_ours(partition):
            raise LogError(f"{self._group} has not given partition {partition} of {self._topic} to this process")
        await self._learn({partition})
        held = self._offsets.held(partition)
        if held is None or self._consumer is None:
            raise LogError(f"{self._group} is sharing out the partitions of {self._topic}")
        if checkpoint.offset < held:
            raise LogError(
                f"{self._group} has come to {held} of {self._topic}[{partition}]; it cannot go back to {checkpoint.offset}"
            )
        place = TopicPartition(self._topic, partition)
        try:
            async with asyncio.timeout(CONFIRM_SECONDS):
                await self._consumer.commit({place: OffsetAndMetadata(checkpoint.offset, checkpoint.note)})
        except CLIENT_ERRORS as error:
            raise to_log_error(error, f"committing to {self._group}") from error
        self._notes[partition] = checkpoint.note
        self._offsets.report(partition, checkpoint.offset)
        self._offsets.learn(partition, checkpoint.offset)

    async def load_checkpoint(self, partition: int) -> Checkpoint | None:
        """Return what the group committed last, or what was reported since; None for neither. Raises `LogError`."""
        checkpoint = (await self._checkpoints()).get(partition)
        if checkpoint is not None:
            self._notes[partition] = checkpoint.note
        reported = self._offsets.reported(partition) if self._is_ours(partition) else None
        if reported is None or (checkpoint is not None and checkpoint.offset >= reported):
            return checkpoint
        return Checkpoint(reported, self._notes.get(partition, ""))

    async def close(self) -> None:
        """Commit what was reported and leave the group, so that others take over at once. Never raises."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await self._commit_reported(consumer)
            await finish(stop(consumer, seconds=CLOSE_SECONDS))

    def note_rebalance(self) -> None:
        """Note that a rebalance has started; owned partitions stay owned."""
        self._begin_rebalance()

    def note_assigned(self, assigned: set[TopicPartition]) -> None:
        """Adopt the assignment, and keep the consumer from fetching any of it."""
        if self._consumer is None:
            return  # closing: the group gives them to others in a moment
        try:
            self._consumer.pause(*assigned)
        except errors.KafkaError as error:
            self._fail(to_log_error(error, f"pausing {self._topic}"))
            return
        self._assigned = frozenset(place.partition for place in assigned)
        self._is_rebalancing = False
        self._offsets.keep_only(self._assigned)
        self._uncommitted.set()  # what was reported while it was uncertain whose the partitions are
        self._changed.set()

    def _new_consumer(self) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            # A join waits for the other members, up to a session: the request must outlive that.
            **self._connection.options(request_timeout_seconds=self._session_seconds + JOIN_MARGIN_SECONDS),
            group_id=self._group,
            enable_auto_commit=False,
            auto_offset_reset="latest",
            session_timeout_ms=int(self._session_seconds * 1000),
            heartbeat_interval_ms=int(self._session_seconds * 1000 / HEARTBEATS_PER_SESSION),
            # Exactly one: the library joins once for every assignor in the list. Not the sticky one: it keeps its
            # memory in its class, shared by all groups of a process.
            partition_assignment_strategy=(RangePartitionAssignor,),
        )

    async def _join(self) -> None:
        consumer = self._new_consumer()
        try:
            async with asyncio.timeout(self._session_seconds):
                with starting():
                    await consumer.start()
        except BaseException as error:
            await finish(stop(consumer, seconds=CLOSE_SECONDS))
            if isinstance(error, CLIENT_ERRORS):
                raise to_log_error(error, f"joining {self._group}") from error
            raise
        mark_commits_retrieved(consumer)
        self._consumer = consumer
        consumer.subscribe([self._topic], listener=_Listener(self))

    def _is_ours(self, partition: int) -> bool:
        return not self._is_rebalancing and self._assigned is not None and partition in self._assigned

    async def _stay(self) -> None:
        """Keep a poll pending: it shows the group that this member is alive, and the library raises its errors there."""
        while self._failed is None:
            try:
                if self._consumer is None:
                    await self._join()
                else:
                    await self._consumer.getmany(timeout_ms=POLL_SECONDS * 1000)
            except (*CLIENT_ERRORS, LogError) as error:
                await self._leave(to_log_error(error, f"staying in {self._group}"))

    async def _leave(self, refused: LogError) -> None:
        """Close a failed member, to join again after a pause; owned partitions stay owned meanwhile."""
        self._begin_rebalance()
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await finish(stop(consumer, seconds=DROP_SECONDS))
        if refused.retryable:
            await logger.awarning("group.left", group=self._group, error=str(refused), retry_in_seconds=REJOIN_SECONDS)
            await asyncio.sleep(REJOIN_SECONDS)
        else:
            self._fail(refused)

    async def _keep_reporting(self) -> None:
        while self._failed is None:
            await self._uncommitted.wait()
            self._uncommitted.clear()
            committed = 0 if self._consumer is None else await self._commit_reported(self._consumer)
            if committed is None:
                self._uncommitted.set()
                await asyncio.sleep(max(self._report_seconds, COMMIT_RETRY_SECONDS))
            elif committed:
                await asyncio.sleep(self._report_seconds)

    async def _commit_reported(self, consumer: AIOKafkaConsumer) -> int | None:
        """Commit what is newer than the offsets of the group; return of how many partitions, None where that failed."""
        try:
            await self._learn(self._offsets.unknown())
            newer = {partition: offset for partition, offset in self._offsets.newer().items() if self._is_ours(partition)}
            if not newer:
                return 0
            async with asyncio.timeout(CLOSE_SECONDS):
                await consumer.commit({TopicPartition(self._topic, p): self._marked(p, o) for p, o in newer.items()})
        except (*CLIENT_ERRORS, LogError) as error:
            # Nothing is lost: the next commit carries these or newer ones, and resuming from old ones sees repeats.
            await logger.ainfo("offsets.commit_failed", group=self._group, error=repr(error))
            return None
        for partition, offset in newer.items():
            self._offsets.learn(partition, offset)
        return len(newer)

    async def _learn(self, partitions: Collection[int]) -> None:
        """Load the group's offsets where they are unknown; a rebalance meanwhile discards the answer. Raises `LogError`."""
        unknown = [p for p in partitions if self._is_ours(p) and self._offsets.held(p) is None]
        if not unknown:
            return
        rebalances = self._rebalances
        checkpoints = await self._checkpoints()
        if rebalances != self._rebalances:
            return  # the answer may be from before another member's last commit
        for partition in unknown:
            checkpoint = checkpoints.get(partition)
            self._offsets.learn(partition, NO_OFFSET if checkpoint is None else checkpoint.offset)
            if checkpoint is not None:
                self._notes.setdefault(partition, checkpoint.note)

    async def _checkpoints(self) -> dict[int, Checkpoint]:
        progress = CommittedOffsets(self._connection, self._group, self._topic)
        try:
            return await progress.checkpoints()
        finally:
            await progress.close()

    def _begin_rebalance(self) -> None:
        self._is_rebalancing = True
        self._rebalances += 1
        self._offsets.forget_held()

    def _marked(self, partition: int, offset: int) -> OffsetAndMetadata:
        return OffsetAndMetadata(offset, self._notes.get(partition, ""))

    def _fail(self, refused: LogError) -> None:
        self._failed = refused
        self._is_rebalancing = True
        self._changed.set()
