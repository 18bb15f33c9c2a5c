"""How does one channel work through its commands? One reader for all partitions, one queue per contact, bounded slots.

Orders of one contact are carried out one after the other, in the order of the log; contacts do not wait for each other,
and where there are more than slots, companies take turns, each with the most urgent of its orders that were taken in.
Progress is saved per partition as the offset before which everything is done: what stands behind it is read again after
a restart, and the claims say what is left to do. Two gateways may work on one partition for a while: claims decide.
"""

import asyncio
import contextlib
import uuid
from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import Any

import msgspec
import structlog

from adapters.gateway.channels import Channel
from adapters.gateway.courier import DATABASE, GOODBYE_SECONDS, CarriedOut, Courier, Taken
from adapters.gateway.lane import Lane, LaneLostError
from adapters.gateway.leases import LEASE_SECONDS, RENEWALS_PER_LEASE
from adapters.gateway.ports import Deliveries, StoreError
from adapters.gateway.reports import LOG, Reports
from adapters.gateway.slots import Slots
from adapters.gateway.troubles import Troubles
from adapters.gateway.waits import sleep_until
from adapters.observability.metrics import Metrics
from adapters.partitions.burial import append_letters
from engine.fair_share import Shares
from engine.partition.deadletters import dead_letter
from engine.partition.ports import Appender, Clock, Log, LogError, LogRecord, Outgoing, Reader
from engine.partition.runner import TopicNames
from schemas.commands import Command, Fence, HangUp, PressKeys
from schemas.errors import SenderError
from schemas.topics import COMMAND_TOPICS
from schemas.wire import UNREADABLE

POLL_RECORDS_MAX = 500
HELD_MAX = 10_000
"""Orders taken in and not done, over all partitions of the channel: a few kilobytes each. Companies share them
(`engine.fair_share.Shares`): of one that holds its share, further orders are passed over, and those of others taken in."""

POLL_SECONDS_IDLE = 0.25
POLL_SECONDS_AWAITED = 0.01
"""While an order approaches its gate: the end of its partition may be a control record that no poll returns."""

SAVE_SECONDS = 1.0
RENEW_LOOK_SECONDS = 1.0
"""How often it is looked whether leases are due: after an outage of the database, or of this process, they are long due."""

SILENCE_SECONDS = 5.0
"""The longest that a log which is away goes unnoticed while there is nothing to read, and that an end is not asked for."""

PLACING = "its place in the topic is being read"

PRESSING_MAX = 200
PRESS_SECONDS = 10.0
"""Keys that are being pressed at once, shared by companies as slots are, and how long a provider may take for it."""

HELD_LOOK_SECONDS = 5.0
"""How often an order is looked at again that another gateway has claimed."""

DRAIN_SECONDS = 900.0
"""How long deliveries under way may take to end when the gateway is stopped: longer than nearly every call. What still
lasts then ends as `unknown`."""

_log = structlog.get_logger()


class _ForeignOrderError(SenderError):
    """A record of a commands topic that is no order of ours; it goes to the dead letters."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Gateway:
    """One channel in one process. Tell it its partitions by `assign`, at any time; `run` works until `stop`.

    `drain_seconds` bounds how long `run` waits after `stop` for what its provider works on.
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
        held_max: int = HELD_MAX,
        drain_seconds: float = DRAIN_SECONDS,
    ) -> None:
        self.channel = channel
        self.troubles = Troubles()
        self._log = log
        self._deliveries = deliveries
        self._clock = clock
        self._metrics = metrics or Metrics()
        self._names = names
        self._topic = names.of(COMMAND_TOPICS[channel.kind].name)
        self._topic_id = ""
        self._claimant = f"{channel.kind}/{uuid.uuid4()}"
        self._decoder = msgspec.json.Decoder(channel.order)
        self._slots = Slots(channel)
        self._wanted: frozenset[int] = frozenset()
        self._changed = asyncio.Event()
        self._lanes: dict[int, Lane] = {}
        self._saved: dict[int, int] = {}
        self._contacts: dict[str, deque[Taken]] = {}
        self._drain_seconds = drain_seconds
        self._stopping = asyncio.Event()
        self._serving: dict[asyncio.Task[None], None] = {}
        """In the order in which they began: so they are cancelled, and a simulated run is the same each time."""
        self._committed: set[asyncio.Task[Any]] = set()
        """Those of them whose order may be with its provider, until what came of it is posted."""
        self._pressing: set[asyncio.Task[None]] = set()
        self._held = Shares(held_max)
        self._keys = Shares(PRESSING_MAX)
        self._heard_at = float("-inf")
        self._approaching = 0

    def assign(self, partitions: Iterable[int]) -> None:
        """Work on these partitions from now on; orders under way of others are finished, the rest is left."""
        self._wanted = frozenset(partitions)
        self._changed.set()

    def problems(self) -> dict[str, str]:
        """Return what keeps this gateway from working, by source; empty means ready."""
        found = self.troubles.present()
        sources = " and the ".join(sorted(found))
        for partition in sorted(self._wanted):
            lane = self._lanes.get(partition)
            if lane is None:
                found[f"partition {partition}"] = PLACING
            elif sources and lane.lag:
                found[f"partition {partition}"] = f"waits for the {sources}, with {lane.lag} records that are not handled"
        if not self._stopping.is_set():
            return found
        return {"stop": f"stopping: {len(self._committed)} deliveries are under way"} | found

    def stop(self) -> None:
        """Begin nothing more. `run` returns once what is with the provider has ended and is recorded and posted."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until stopped; a log or database that is away is waited for. Cancelled, it waits for no provider."""
        appender = await self.troubles.overcome(LOG, self._log.appender)
        reports = Reports(self.channel, appender, self.troubles, self._names)
        courier = Courier(
            self.channel,
            claimant=self._claimant,
            deliveries=self._deliveries,
            reports=reports,
            troubles=self.troubles,
            clock=self._clock,
            metrics=self._metrics,
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                keeping = [tasks.create_task(self._keep_leases(courier)), tasks.create_task(self._keep_progress())]
                reading = tasks.create_task(self._read(courier, appender))
                await self._stopping.wait()
                reading.cancel()
                await self._drain(courier)
                for task in keeping:
                    task.cancel()
        finally:
            await asyncio.shield(self._end(courier, appender))

    async def _read(self, courier: Courier, appender: Appender) -> None:
        while True:
            self._changed.clear()
            if not self._wanted:
                self._leave(self._lanes)
                await self._changed.wait()
                continue
            reader = await self.troubles.overcome(LOG, self._open)
            try:
                while not self._changed.is_set():
                    await self._turn(reader, courier, appender)
            except LogError as error:
                _log.warning("reader.lost", topic=self._topic, reason=str(error))
                await self._clock.sleep(POLL_SECONDS_IDLE)
            finally:
                await reader.close()

    async def _open(self) -> Reader:
        """Return a reader that stands where each wanted lane has to go on. Every error here is the world's."""
        try:
            await self._adopt_lanes()
            return await self._opened()
        except LogError as error:
            raise LogError(str(error)) from error

    async def _opened(self) -> Reader:
        reader = await self._log.reader(self._topic, sorted(self._lanes), start=None)
        try:
            for lane in self._lanes.values():
                await reader.seek(lane.partition, lane.reads_at)
        except BaseException:
            await reader.close()
            raise
        return reader

    async def _adopt_lanes(self) -> None:
        topic_id = await self._log.topic_id(self._topic)
        is_another = topic_id != self._topic_id  # deleted and created again: offsets mean nothing any more
        self._leave(self._lanes if is_another else set(self._lanes) - self._wanted)
        for partition in self._wanted - set(self._lanes):
            start = await self.troubles.overcome(
                DATABASE, partial(self._deliveries.progress, self._topic, topic_id, partition)
            )
            self._lanes[partition] = Lane(partition, start or 0)
        self._topic_id = topic_id

    def _leave(self, partitions: Iterable[int]) -> None:
        for partition in list(partitions):
            self._lanes.pop(partition).revoke()
            self._saved.pop(partition, None)
            with contextlib.suppress(KeyError):  # it is another gateway's to tell
                self._metrics.lag.remove(self._topic, str(partition))

    async def _turn(self, reader: Reader, courier: Courier, appender: Appender) -> None:
        await self._sample_ends(reader)
        lanes = self._lanes.values()
        is_awaited = self._approaching > 0 or any(lane.passed_over or lane.is_waited_for for lane in lanes)
        wait_seconds = POLL_SECONDS_AWAITED if is_awaited else POLL_SECONDS_IDLE
        records = await reader.poll(limit=POLL_RECORDS_MAX, timeout_seconds=wait_seconds)
        for record in records:
            await self._take(record, courier, appender)
        if records:
            await asyncio.sleep(0)  # those that need not wait approach their gate now: the next poll is to be a short one
        for lane in self._lanes.values():
            lane.reached(reader.position(lane.partition))
            await self._go_back(lane, reader)

    async def _sample_ends(self, reader: Reader) -> None:
        """Ask for the ends that deliveries wait for, and now and then for all. Raises `LogError`.

        A poll of a log that is away is as silent as that of a quiet one, hence now and then. All are asked for at once: each
        question may have to wait behind a fetch that the broker holds.
        """
        asked_at = self._clock.monotonic()
        is_due = asked_at - self._heard_at >= SILENCE_SECONDS
        asked = [(lane, askers) for lane in self._lanes.values() if (askers := lane.askers()) or is_due]
        ends = await asyncio.gather(*(reader.end(lane.partition) for lane, _ in asked), return_exceptions=True)
        failed: BaseException | None = None
        for (lane, askers), end in zip(asked, ends, strict=True):
            if isinstance(end, BaseException):
                lane.ask_again(askers)
                failed = end
            else:
                lane.wait(end, askers)
        if failed is not None:
            raise failed
        if is_due:
            self._heard_at = asked_at

    async def _take(self, record: LogRecord, courier: Courier, appender: Appender) -> None:
        lane = self._lanes[record.partition]
        try:
            order = self._read_order(record)
        except _ForeignOrderError as error:
            if lane.is_new(record.offset):
                await self._bury(record, error, appender)
        else:
            self._take_order(lane, record, order, courier)
        lane.looked_at(record.offset)

    def _read_order(self, record: LogRecord) -> Command | PressKeys | HangUp | Fence:
        try:
            order: Command | PressKeys | HangUp | Fence = self._decoder.decode(record.value or b"")
        except UNREADABLE as error:
            raise _ForeignOrderError("malformed_body", str(error)) from error
        if record.key != order.contact_key.encode():  # its fences would be in another partition, where nobody looks
            raise _ForeignOrderError("wrong_partition", "the key of the record is not its contact")
        return order

    def _take_order(
        self, lane: Lane, record: LogRecord, order: Command | PressKeys | HangUp | Fence, courier: Courier
    ) -> None:
        if isinstance(order, Fence):
            lane.fences.add(order, record.offset)
        elif isinstance(order, PressKeys | HangUp):
            if lane.is_new(record.offset):
                self._press_soon(order)
        elif lane.is_wanted(order.company_id, record.offset):
            if self._held.may_take(order.company_id):
                lane.take_in(order.company_id, record.offset)
                self._enqueue(Taken(lane, record, order), courier)
            else:
                lane.pass_over(order.company_id, record.offset)

    def _press_soon(self, order: PressKeys | HangUp) -> None:
        """Press keys on a call under way, or end it: at once, as its contact's next order waits until that call is over.

        Nobody waits for what comes of it, and what is late or too much is left: a key answers a question of this moment.
        """
        is_late = order.not_after is not None and self._clock.now() > order.not_after
        if is_late or not self._keys.may_take(order.company_id):
            _log.warning("keys.dropped", command_id=order.command_id, call_id=order.call_id, late=is_late)
            return
        task = asyncio.create_task(self._press(order), name=f"keys {order.command_id}")
        self._keys.take(order.company_id)
        self._pressing.add(task)
        task.add_done_callback(self._pressing.discard)
        task.add_done_callback(lambda _: self._keys.give_back(order.company_id))

    async def _press(self, order: PressKeys | HangUp) -> None:
        assert self.channel.press is not None  # noqa: S101 - else the order could not have been read
        about = {"command_id": order.command_id, "call_id": order.call_id, "company_id": order.company_id}
        try:
            async with asyncio.timeout(PRESS_SECONDS):
                pressed = await self.channel.press(order)
        except Exception:  # noqa: BLE001 - whatever a provider raises: the call goes on without these keys
            _log.exception("keys.failed", **about)
            return
        _log.info("keys.pressed" if pressed else "keys.too_late", **about)

    async def _go_back(self, lane: Lane, reader: Reader) -> None:
        """Go back to what was passed over once there is room, and do not read again what nobody returns for."""
        position = reader.position(lane.partition)
        returning = [company_id for company_id in lane.passed_over if self._has_room_again(company_id)]
        goes_on_at = lane.go_back(returning, position)
        if goes_on_at != position:
            await reader.seek(lane.partition, goes_on_at)

    def _has_room_again(self, company_id: int) -> bool:
        """Tell whether a company may hold a good many more orders than it does: each going back reads others' as well."""
        return self._held.may_take(company_id) and 2 * self._held.held(company_id) <= self._held.free

    async def _bury(self, record: LogRecord, error: "_ForeignOrderError", appender: Appender) -> None:
        reason = str(error)
        letter = dead_letter(record, error.code, reason)
        letter = Outgoing(self._names.of(letter.topic), letter.key, letter.value, letter.headers)
        count = await self.troubles.overcome(LOG, lambda: self._log.partition_count(letter.topic))
        await self.troubles.overcome(LOG, lambda: append_letters(appender, record.partition % count, [letter]))
        self._metrics.dead_letters.labels(self._topic).inc()
        _log.error("command.unreadable", topic=record.topic, partition=record.partition, offset=record.offset, reason=reason)

    def _enqueue(self, taken: Taken, courier: Courier) -> None:
        self._held.take(taken.order.company_id)
        self._metrics.commands.labels(self.channel.kind).inc()
        queue = self._contacts.get(taken.order.contact_key)
        if queue is not None:
            queue.append(taken)
            return
        self._contacts[taken.order.contact_key] = deque([taken])
        task = asyncio.create_task(self._serve(taken.order.contact_key, courier))
        self._serving[task] = None
        task.add_done_callback(self._serving.pop)

    async def _serve(self, contact_key: str, courier: Courier) -> None:
        """Carry out the orders of one contact, one after the other, until there is none."""
        queue = self._contacts[contact_key]
        while queue:
            taken = queue[0]
            try:
                is_done = await self._deliver(taken, courier)
            except Exception:  # noqa: BLE001 - a fault of ours: the contact's own timeout says `unknown` for it
                _log.exception("delivery.failed", kind=self.channel.kind, command_id=taken.order.command_id)
                is_done = True
            queue.popleft()
            self._held.give_back(taken.order.company_id)
            if is_done:
                taken.lane.done(taken.record.offset)
        del self._contacts[contact_key]

    async def _deliver(self, taken: Taken, courier: Courier) -> bool:
        """Carry out one order; False where it is left to the next owner of its partition.

        The slot is for what must not wait between claim and provider; what came of it is written down without one.
        """
        if not taken.lane.revoked:
            await sleep_until(self._clock, taken.order.not_before)
        while not taken.lane.revoked:
            try:
                carried_out = await self._carry_out(taken, courier)
                if carried_out is not None:
                    await courier.settle(taken, carried_out)
                    return True
            except LaneLostError:
                return False
            finally:
                self._committed.discard(_this_task())
            await self._clock.sleep(HELD_LOOK_SECONDS)
        return False

    async def _carry_out(self, taken: Taken, courier: Courier) -> CarriedOut | None:
        """Claim an order and act on it when its turn comes; None where another gateway holds it."""
        async with self._slots.taken_for(taken.order) as refusal:
            self._approaching += 1
            try:
                approach = await courier.approach(taken)
            finally:
                self._approaching -= 1
            if approach is None:
                return None
            self._committed.add(_this_task())
            return await courier.carry_out(taken, approach, refusal)

    async def _keep_leases(self, courier: Courier) -> None:
        """Keep the leases of what is under way, and of nothing else."""
        renewed_at = self._clock.monotonic()
        while True:
            await self._clock.sleep(RENEW_LOOK_SECONDS)
            if self._clock.monotonic() - renewed_at < LEASE_SECONDS / RENEWALS_PER_LEASE:
                continue
            with contextlib.suppress(StoreError):  # the deliveries say so, and try again
                begun_at = self._clock.monotonic()
                await courier.leases.renew()
                renewed_at = begun_at

    async def _keep_progress(self) -> None:
        """Save progress, and tell how far behind each partition is."""
        while True:
            await self._clock.sleep(SAVE_SECONDS)
            with contextlib.suppress(StoreError):
                await self._save()

    async def _save(self) -> None:
        for partition, lane in list(self._lanes.items()):
            floor = lane.floor
            self._metrics.lag.labels(self._topic, str(partition)).set(lane.lag)
            if self._saved.get(partition) != floor:
                await self._deliveries.save_progress(self._topic, self._topic_id, partition, floor)
                self._saved[partition] = floor

    async def _drain(self, courier: Courier) -> None:
        """Leave what is not with the provider to others at once, and wait until the rest has ended."""
        for lane in self._lanes.values():
            lane.revoke()
        for task in [task for task in self._serving if task not in self._committed]:
            task.cancel()
        await asyncio.sleep(0)  # those that were cancelled begin to take their claims back
        under_way = {*self._serving, *self._pressing, *courier.giving_back}
        if not under_way:
            return
        _log.info("gateway.drains", kind=self.channel.kind, deliveries=len(self._committed), seconds=self._drain_seconds)
        _, late = await asyncio.wait(under_way, timeout=self._drain_seconds)
        if late:
            _log.warning("gateway.gives_up", kind=self.channel.kind, deliveries=len(late), seconds=self._drain_seconds)

    async def _end(self, courier: Courier, appender: Appender) -> None:
        """Give back what has not ended, and save the progress of this gateway."""
        for lane in self._lanes.values():
            lane.revoke()
        left = [*self._serving, *self._pressing]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        with contextlib.suppress(StoreError, TimeoutError):
            async with asyncio.timeout(GOODBYE_SECONDS):
                await asyncio.gather(*courier.giving_back, return_exceptions=True)
                await self._save()
                await courier.leases.renew(lease_seconds=0)
        courier.close()
        await appender.close()


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - only tasks carry out orders
    return task
