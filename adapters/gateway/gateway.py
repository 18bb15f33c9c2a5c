"""How does a gateway work through the commands of one channel? One reader, one queue per contact, bounded slots.

Commands of one contact run one after the other, in the order of the log; contacts do not wait for each other. Where
there are more commands than slots, companies share them fairly, each with its most urgent command first.
Progress is saved per partition as the offset before which everything is done. After a restart the rest is read again, and
claims say what is left to do. Two gateways may work on one partition for a while: claims decide.
"""

import asyncio
import contextlib
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import msgspec
import structlog

from adapters.errors import StoreError
from adapters.gateway.channels import Channel
from adapters.gateway.contact_holds import ContactHolds
from adapters.gateway.delivery import DATABASE, SHUTDOWN_SECONDS, CommandDelivery, FinishedCommand, TakenCommand
from adapters.gateway.domain_sleep import sleep_until
from adapters.gateway.leases import LEASE_SECONDS, RENEWALS_PER_LEASE
from adapters.gateway.older_work import NoReports, ReachedOffsets, settle_older_work
from adapters.gateway.outages import Outages
from adapters.gateway.outcome_reports import LOG, OutcomeReports
from adapters.gateway.partition_progress import PartitionLostError, PartitionProgress
from adapters.gateway.ports import Deliveries, SavedProgress
from adapters.gateway.priority_semaphore import PrioritySemaphore
from adapters.observability.metrics import Metrics
from adapters.observability.traces import Traces
from adapters.partitions.dead_letters import append_dead_letters
from engine.fair_share import Shares
from engine.partition.continuity import check_id, check_numbers
from engine.partition.deadletters import ORIGIN, dead_letter
from engine.partition.ports import Appender, Clock, Log, LogError, LogRecord, Outgoing, Reader, RecordRefusedError
from engine.partition.runner import TopicNames
from schemas.commands import Command, Fence, HangUp, PressKeys
from schemas.envelope import DecisionNumber, EnvelopeError, emitted_by
from schemas.errors import SenderError
from schemas.topics import COMMAND_TOPICS
from schemas.wire import UNREADABLE

POLL_RECORDS_MAX = 500
QUEUED_MAX = 10_000
"""Commands queued and not done, over all partitions of the channel: a few kilobytes each. Companies share them
(`engine.fair_share.Shares`): commands of a company beyond its share are deferred, those of others queued."""

POLL_SECONDS_IDLE = 0.25
POLL_SECONDS_AWAITED = 0.01
"""While a command waits for the end of its partition: that may be a control record, which no poll returns."""

SAVE_SECONDS = 1.0
LEASE_CHECK_SECONDS = 1.0
"""How often to check whether leases are due: after an outage of the database, or of this process, they are overdue."""

END_SAMPLE_SECONDS = 5.0
"""How often to sample the ends while there is nothing to read: so late may an outage of the log be noticed."""

READING_PROGRESS = "its saved progress is being read"

PRESSING_MAX = 200
"""Key presses in progress at once; companies share them as they share slots."""

PRESS_SECONDS = 10.0
"""How long a provider may take over one."""

HELD_RETRY_SECONDS = 5.0
"""How often to retry the claim of a command that another gateway has claimed."""

DRAIN_SECONDS = 900.0
"""How long deliveries in progress may take to end when the gateway stops: longer than nearly every call. What still runs
then ends as `unknown`."""

logger = structlog.get_logger(__name__)


class _ForeignCommandError(SenderError):
    """A record of a commands topic that is not a valid command; it becomes a dead letter."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Gateway:
    """One channel in one process. `assign` sets its partitions, at any time; `run` works until `stop`.

    `drain_seconds` bounds how long `run` waits after `stop` for its provider. While there is a `clock_problem`, nothing
    is given to a provider, and nothing is dropped as late. `describe` turns an error of the log or the database into a
    sentence that says what to do.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        log: Log,
        deliveries: Deliveries,
        clock: Clock,
        metrics: Metrics | None = None,
        names: TopicNames = TopicNames(),  # noqa: B008 - frozen
        queued_max: int = QUEUED_MAX,
        drain_seconds: float = DRAIN_SECONDS,
        clock_problem: Callable[[], str | None] = lambda: None,
        describe: Callable[[Exception], str] = str,
        traces: Traces | None = None,
        holds: ContactHolds | None = None,
        reached: ReachedOffsets | None = None,
        made_topics: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """`made_topics` returns the ids of the topics that were made for the deployment, by name without the prefix."""
        self.channel = channel
        self._made_topics = made_topics
        self._reached = reached or NoReports()
        self._holds = holds
        self._traces = traces
        self.outages = Outages(describe)
        self._log = log
        self._deliveries = deliveries
        self._clock = clock
        self._metrics = metrics or Metrics()
        self._metrics.out_of_order.labels(channel.kind)  # from 0 on: an alert sees the first one, too
        self._names = names
        self._topic = names.of(COMMAND_TOPICS[channel.kind].name)
        self._topic_id = ""
        self._claimant = f"{channel.kind}/{uuid.uuid4()}"
        self._decoder = msgspec.json.Decoder(channel.record_type)
        self._slots = PrioritySemaphore(channel)
        self._wanted: frozenset[int] = frozenset()
        self._changed = asyncio.Event()
        self._partitions: dict[int, PartitionProgress] = {}
        self._saved: dict[int, SavedProgress] = {}
        self._contacts: dict[str, deque[TakenCommand]] = {}
        self._drain_seconds = drain_seconds
        self._clock_problem = clock_problem
        self._stopping = asyncio.Event()
        self._serving: dict[asyncio.Task[None], None] = {}
        """In the order of their start: they are cancelled in that order, so that a simulated run is the same each time."""
        self._committed: set[asyncio.Task[Any]] = set()
        """Those of them whose command may be with its provider, until its outcome is posted."""
        self._pressing: set[asyncio.Task[None]] = set()
        self._queued = Shares(queued_max)
        self._presses = Shares(PRESSING_MAX)
        self._ends_sampled_at = float("-inf")
        self._approaching = 0

    def assign(self, partitions: Iterable[int]) -> None:
        """Work on these partitions from now on; finish commands in progress of others, and leave the rest."""
        self._wanted = frozenset(partitions)
        self._changed.set()

    def problems(self) -> dict[str, str]:
        """Return what keeps this gateway from working, by source; empty means ready."""
        found = self.outages.current()
        sources = " and the ".join(sorted(found))
        for partition in sorted(self._wanted):
            progress = self._partitions.get(partition)
            if progress is None:
                found[f"partition {partition}"] = READING_PROGRESS
            elif sources and progress.lag:
                found[f"partition {partition}"] = (
                    f"waits for the {sources}, with {progress.lag} records that are not handled"
                )
        if not self._stopping.is_set():
            return found
        return {"stop": f"stopping: {len(self._committed)} deliveries are under way"} | found

    def stop(self) -> None:
        """Start no more deliveries. `run` returns once those with the provider have ended, and are recorded and posted."""
        self._stopping.set()
        self.outages.is_stopping = True

    async def run(self) -> None:
        """Work until stopped; wait while the log or the database is away. Cancelled, it waits for no provider."""
        appender = await self.outages.retry(LOG, self._log.appender)
        reports = OutcomeReports(self.channel, appender, self.outages, self._names)
        delivery = CommandDelivery(
            self.channel,
            claimant=self._claimant,
            deliveries=self._deliveries,
            reports=reports,
            outages=self.outages,
            clock=self._clock,
            metrics=self._metrics,
            clock_problem=self._clock_problem,
            traces=self._traces,
            holds=self._holds,
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                upkeep = [tasks.create_task(self._renew_leases(delivery)), tasks.create_task(self._save_progress())]
                reading = tasks.create_task(self._read(delivery, appender))
                await self._stopping.wait()
                reading.cancel()
                await self._drain()
                for task in upkeep:
                    task.cancel()
        finally:
            await asyncio.shield(self._end(delivery, appender))

    async def _read(self, delivery: CommandDelivery, appender: Appender) -> None:
        while True:
            self._changed.clear()
            if not self._wanted:
                self._leave(self._partitions)
                await self._changed.wait()
                continue
            reader = await self.outages.retry(LOG, self._open)
            try:
                while not self._changed.is_set():
                    await self._poll(reader, delivery, appender)
            except LogError as error:
                logger.warning("reader.lost", topic=self._topic, reason=str(error))
                await self._clock.sleep(POLL_SECONDS_IDLE)
            finally:
                await reader.close()

    async def _open(self) -> Reader:
        """Return a reader at the resume offset of each assigned partition. Every error here is retried."""
        try:
            await self._assign_partitions()
            return await self._open_reader()
        except LogError as error:
            raise LogError(str(error)) from error

    async def _open_reader(self) -> Reader:
        reader = await self._log.reader(self._topic, sorted(self._partitions), start=None)
        try:
            for progress in self._partitions.values():
                newest, offset = progress.order.newest, progress.next_offset
                await check_numbers(reader, self._topic, progress.partition, offset=offset, newest=newest)
            for progress in self._partitions.values():
                await reader.seek(progress.partition, progress.resume_offset)
        except BaseException:
            await reader.close()
            raise
        return reader

    async def _assign_partitions(self) -> None:
        topic_id = await self._log.topic_id(self._topic)
        check_id(self._topic, self._made_topics().get(COMMAND_TOPICS[self.channel.kind].name, topic_id), topic_id)
        is_recreated = topic_id != self._topic_id  # its offsets start again
        self._leave(self._partitions if is_recreated else set(self._partitions) - self._wanted)
        self._topic_id = topic_id  # before the first partition is here: its progress may be saved while others are awaited
        for partition in self._wanted - set(self._partitions):
            # The group first: its owner before, which may still be at work, saves in the database and then reports to it.
            reached = await self._reached.reached(partition)
            saved = await self.outages.retry(DATABASE, partial(self._deliveries.progress, self._topic, topic_id, partition))
            progress = PartitionProgress(partition, saved or SavedProgress())
            settle = partial(settle_older_work, self._log, self._topic, partition, saved or SavedProgress(), reached=reached)
            await self.outages.retry(DATABASE, partial(settle, deliveries=self._deliveries))
            self._partitions[partition] = progress

    def _leave(self, partitions: Iterable[int]) -> None:
        for partition in list(partitions):
            self._partitions.pop(partition).revoke()
            self._saved.pop(partition, None)
            with contextlib.suppress(KeyError):  # never reported here
                self._metrics.lag.remove(self._topic, str(partition))

    async def _poll(self, reader: Reader, delivery: CommandDelivery, appender: Appender) -> None:
        await self._sample_ends(reader)
        partitions = self._partitions.values()
        is_awaited = self._approaching > 0 or any(progress.deferred or progress.has_waiters for progress in partitions)
        wait_seconds = POLL_SECONDS_AWAITED if is_awaited else POLL_SECONDS_IDLE
        records = await reader.poll(limit=POLL_RECORDS_MAX, timeout_seconds=wait_seconds)
        for record in records:
            await self._take(record, delivery, appender)
        if records:
            await asyncio.sleep(0)  # lets deliveries register as waiters first: then the next poll is a short one
        for progress in self._partitions.values():
            progress.advance_to(reader.position(progress.partition))
            await self._resume_deferred(progress, reader)

    async def _sample_ends(self, reader: Reader) -> None:
        """Sample the ends that deliveries wait for, and regularly all of them. Raises `LogError`.

        Regularly, since a poll of a log that is away returns nothing, like that of an idle log. All at once, since each
        request may wait behind a fetch that the broker holds.
        """
        asked_at = self._clock.monotonic()
        is_due = asked_at - self._ends_sampled_at >= END_SAMPLE_SECONDS
        asked = [
            (progress, waiters) for progress in self._partitions.values() if (waiters := progress.take_waiters()) or is_due
        ]
        ends = await asyncio.gather(*(reader.end(progress.partition) for progress, _ in asked), return_exceptions=True)
        failed: BaseException | None = None
        for (progress, waiters), end in zip(asked, ends, strict=True):
            if isinstance(end, BaseException):
                progress.requeue(waiters)
                failed = end
            else:
                progress.add_waiters(end, waiters)
        if failed is not None:
            raise failed
        if is_due:
            self._ends_sampled_at = asked_at

    async def _take(self, record: LogRecord, delivery: CommandDelivery, appender: Appender) -> None:
        progress = self._partitions[record.partition]
        try:
            command = self._decode_command(record)
            is_in_order = self._is_sent_again(record) or progress.order.admit(record.offset, _emitted_by(record))
        except _ForeignCommandError as error:
            if progress.is_new(record.offset):
                await self._dead_letter(record, error, appender)
        else:
            if not is_in_order and progress.is_new(record.offset):
                self._report_out_of_order(record)
            self._take_command(progress, record, command, delivery, is_in_order=is_in_order)
        progress.mark_seen(record.offset)

    @staticmethod
    def _is_sent_again(record: LogRecord) -> bool:
        """Return whether an operator sent the record again, out of the dead letters: it keeps its old number."""
        return any(name == ORIGIN for name, _ in record.headers)

    def _report_out_of_order(self, record: LogRecord) -> None:
        self._metrics.out_of_order.labels(self.channel.kind).inc()
        logger.error("command.out_of_order", topic=record.topic, partition=record.partition, offset=record.offset)

    def _decode_command(self, record: LogRecord) -> Command | PressKeys | HangUp | Fence:
        try:
            command: Command | PressKeys | HangUp | Fence = self._decoder.decode(record.value or b"")
        except UNREADABLE as error:
            raise _ForeignCommandError("malformed_body", str(error)) from error
        if record.key != command.contact_key.encode():  # its fences would be in another partition, where they have no effect
            raise _ForeignCommandError("wrong_partition", "the key of the record is not its contact")
        return command

    def _take_command(
        self,
        progress: PartitionProgress,
        record: LogRecord,
        command: Command | PressKeys | HangUp | Fence,
        delivery: CommandDelivery,
        *,
        is_in_order: bool,
    ) -> None:
        if isinstance(command, Fence):  # out of order too: it only stops
            progress.fences.add(command, record.offset)
        elif isinstance(command, PressKeys | HangUp):
            if is_in_order and progress.is_new(record.offset):
                self._press_soon(command)
        elif progress.needs_delivery(command.company_id, record.offset):
            if self._queued.may_take(command.company_id):
                progress.admit(command.company_id, record.offset)
                self._enqueue(TakenCommand(progress, record, command, is_in_order=is_in_order), delivery)
            else:
                progress.defer(command.company_id, record.offset)

    def _press_soon(self, command: PressKeys | HangUp) -> None:
        """Press keys on a call in progress, or hang up: at once, as the next command waits for the end of that call.

        Nothing waits for the result. What is late or too much is dropped: a key answers a question of this moment.
        """
        is_late = command.not_after is not None and self._clock.now() > command.not_after
        if is_late or not self._presses.may_take(command.company_id):
            logger.warning("keys.dropped", command_id=command.command_id, call_id=command.call_id, late=is_late)
            return
        task = asyncio.create_task(self._press(command), name=f"keys {command.command_id}")
        self._presses.take(command.company_id)
        self._pressing.add(task)
        task.add_done_callback(self._pressing.discard)
        task.add_done_callback(lambda _: self._presses.give_back(command.company_id))

    async def _press(self, command: PressKeys | HangUp) -> None:
        assert self.channel.press is not None  # noqa: S101 - else the command could not have been read
        about = {"command_id": command.command_id, "call_id": command.call_id, "company_id": command.company_id}
        try:
            async with asyncio.timeout(PRESS_SECONDS):
                pressed = await self.channel.press(command)
        except Exception:
            logger.exception("keys.failed", **about)
            return
        logger.info("keys.pressed" if pressed else "keys.missed", **about)

    async def _resume_deferred(self, progress: PartitionProgress, reader: Reader) -> None:
        """Seek back to deferred commands once there is capacity; skip what need not be read again."""
        position = reader.position(progress.partition)
        returning = [company_id for company_id in progress.deferred if self._has_capacity_again(company_id)]
        resume_offset = progress.resume(returning, position)
        if resume_offset != position:
            await reader.seek(progress.partition, resume_offset)

    def _has_capacity_again(self, company_id: int) -> bool:
        """Return whether a company may queue many more commands than it does: seeking back reads others' commands again."""
        return self._queued.may_take(company_id) and 2 * self._queued.held(company_id) <= self._queued.free

    async def _dead_letter(self, record: LogRecord, error: "_ForeignCommandError", appender: Appender) -> None:
        reason = str(error)
        found = dead_letter(record, error.code, reason)
        record_out = Outgoing(self._names.of(found.topic), found.key, found.value, found.headers)
        count = await self.outages.retry(LOG, lambda: self._log.partition_count(record_out.topic))
        await self.outages.retry(LOG, lambda: append_dead_letters(appender, record.partition % count, [record_out]))
        self._metrics.dead_letters.labels(self._topic).inc()
        logger.error(
            "command.dead_lettered", topic=record.topic, partition=record.partition, offset=record.offset, reason=reason
        )

    def _enqueue(self, taken: TakenCommand, delivery: CommandDelivery) -> None:
        self._queued.take(taken.command.company_id)
        self._metrics.received.labels(self.channel.kind).inc()
        queue = self._contacts.get(taken.command.contact_key)
        if queue is not None:
            queue.append(taken)
            return
        self._contacts[taken.command.contact_key] = deque([taken])
        task = asyncio.create_task(self._serve(taken.command.contact_key, delivery))
        self._serving[task] = None
        task.add_done_callback(self._serving.pop)

    async def _serve(self, contact_key: str, delivery: CommandDelivery) -> None:
        """Carry out the commands of one contact, one after the other, until its queue is empty."""
        queue = self._contacts[contact_key]
        while queue:
            taken = queue[0]
            try:
                is_done = await self._deliver(taken, delivery)
            except LogError as error:  # a topic is lost, and this process stops: what is recorded is posted by the next one
                logger.warning("delivery.left", kind=self.channel.kind, reason=str(error))
                is_done = isinstance(error, RecordRefusedError)
            except Exception:
                logger.exception("delivery.failed", kind=self.channel.kind, command_id=taken.command.command_id)
                is_done = True
            queue.popleft()
            self._queued.give_back(taken.command.company_id)
            if is_done:
                taken.progress.mark_done(taken.record.offset)
        del self._contacts[contact_key]

    async def _deliver(self, taken: TakenCommand, delivery: CommandDelivery) -> bool:
        """Carry out one command; False where it is left to the next owner of its partition.

        The slot covers what must not wait between claim and provider; the outcome is recorded without one.
        """
        while not taken.progress.revoked:
            await sleep_until(self._clock, taken.command.not_before)  # each time: the clock may have been set meanwhile
            try:
                finished = await self._claim_and_execute(taken, delivery) if self._clock_problem() is None else None
                if finished is not None:
                    await delivery.record_and_post(taken, finished)
                    return True
            except PartitionLostError:
                return False
            finally:
                self._committed.discard(_this_task())
            await self._clock.sleep(HELD_RETRY_SECONDS)
        return False

    async def _claim_and_execute(self, taken: TakenCommand, delivery: CommandDelivery) -> FinishedCommand | None:
        """Claim a command and carry it out when it has a slot; None where another gateway holds it."""
        async with self._slots.acquire(taken.command) as refusal:
            self._approaching += 1
            try:
                claim_and_check = await delivery.claim_and_check(taken)
            finally:
                self._approaching -= 1
            if claim_and_check is None:
                return None
            self._committed.add(_this_task())
            return await delivery.execute(taken, claim_and_check, refusal)

    async def _renew_leases(self, delivery: CommandDelivery) -> None:
        """Renew the leases of commands in progress, and no others."""
        renewed_at = self._clock.monotonic()
        while True:
            await self._clock.sleep(LEASE_CHECK_SECONDS)
            if self._clock.monotonic() - renewed_at < LEASE_SECONDS / RENEWALS_PER_LEASE:
                continue
            with contextlib.suppress(StoreError):  # the deliveries report it, and retry
                begun_at = self._clock.monotonic()
                await delivery.leases.renew()
                renewed_at = begun_at

    async def _save_progress(self) -> None:
        """Save progress, and report the lag of each partition."""
        while True:
            await self._clock.sleep(SAVE_SECONDS)
            with contextlib.suppress(StoreError):
                await self._save_watermarks()

    async def _save_watermarks(self) -> None:
        for partition, progress in list(self._partitions.items()):
            saved = progress.to_save()
            self._metrics.lag.labels(self._topic, str(partition)).set(progress.lag)
            if self._saved.get(partition) != saved:
                await self._deliveries.save_progress(self._topic, self._topic_id, partition, saved)
                self._saved[partition] = saved
                self._reached.report(partition, saved.offset)

    async def _drain(self) -> None:
        """Release at once what is not with the provider; wait until the rest has ended. `_end` waits for the releases."""
        for progress in self._partitions.values():
            progress.revoke()
        for task in [task for task in self._serving if task not in self._committed]:
            task.cancel()
        await asyncio.sleep(0)  # those that were cancelled start to release their claims
        under_way = {*self._serving, *self._pressing}
        if not under_way:
            return
        logger.info("drain.started", kind=self.channel.kind, deliveries=len(self._committed), seconds=self._drain_seconds)
        _, late = await asyncio.wait(under_way, timeout=self._drain_seconds)
        if late:
            logger.warning("drain.timed_out", kind=self.channel.kind, deliveries=len(late), seconds=self._drain_seconds)

    async def _end(self, delivery: CommandDelivery, appender: Appender) -> None:
        """Release what has not ended, and save the progress of this gateway."""
        for progress in self._partitions.values():
            progress.revoke()
        left = [*self._serving, *self._pressing]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        with contextlib.suppress(StoreError, TimeoutError):
            async with asyncio.timeout(SHUTDOWN_SECONDS):
                await asyncio.gather(*delivery.releasing, return_exceptions=True)
                await self._save_watermarks()
                await delivery.leases.renew(lease_seconds=0)
        delivery.close()
        await appender.close()


def _emitted_by(record: LogRecord) -> DecisionNumber:
    """Return which decision emitted a command. Raises `_ForeignCommandError`."""
    try:
        return emitted_by(record.headers)
    except EnvelopeError as error:
        raise _ForeignCommandError("malformed_envelope", str(error)) from error


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - only tasks carry out commands
    return task
