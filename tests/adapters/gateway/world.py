"""What do the tests of the gateway share? Orders, a log in memory, a memory of deliveries, and clocks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from adapters.clock import Origin, SystemClock, wall_now
from adapters.embedded.log import EmbeddedLog
from adapters.errors import StoreError
from adapters.gateway import gateway as gateway_module
from adapters.gateway.channels import Channel
from adapters.gateway.gateway import Gateway
from adapters.gateway.ports import CommandClaim, Deliveries, Kind, SavedProgress
from engine.partition.ports import Clock, Log, LogRecord, Outgoing
from engine.partition.runner import TopicNames
from schemas.commands import Command, Fence, HangUp, PlaceCall, PostWebhook, PressKeys, SendEmail, SendSms
from schemas.envelope import DecisionNumber
from schemas.instant import EPOCH, Instant
from schemas.requests import CONTACT_REQUESTS, CallProgressed, CallReceived, OutcomeRecorded, SmsReceived
from schemas.topics import COMMAND_TOPICS, CONTACTS_REQUESTS, DEADLETTER
from schemas.wire import from_json, to_json
from tests.pace import bound

NOON = Instant(1_780_000_000_000)
WAIT_SECONDS = bound(60.0)
DRAIN_SECONDS = 0.2
"""Of a gateway whose end a test does not ask about: its database may be dead."""


def command_of(kind: Kind, number: int = 1, **given: Any) -> Any:
    """An order of a channel; `number` makes another command of another person."""
    common: dict[str, Any] = {
        "command_id": f"command-{number}",
        "company_id": 1,
        "contact_key": f"1|+1305555{number:04d}",
        "lead_id": number,
        "lead_uuid": f"lead-{number}",
        "step_id": "step-1",
        "enrolment": 1,
        "attempt": 1,
        "decided_at": NOON,
        "not_before": NOON,
    }
    own: dict[Kind, tuple[type[Command], dict[str, Any]]] = {
        "call": (PlaceCall, {"to": f"+1305555{number:04d}", "call_id": number}),
        "sms": (SendSms, {"to": f"+1305555{number:04d}", "body": "Hello"}),
        "email": (SendEmail, {"to": "ada@example.org", "subject": "Hello", "body": "Dear Ada"}),
        "webhook": (PostWebhook, {"outgoing_webhook_id": 7, "webhook_version": 1, "payload": {"type": "test"}}),
    }
    struct, fields = own[kind]
    return struct(**{**common, **fields, **given})


def keys_of(command: PlaceCall, digits: str, **given: Any) -> PressKeys:
    """Keys for the call of an order."""
    about = {name: getattr(command, name) for name in ("company_id", "contact_key", "lead_id", "lead_uuid", "enrolment")}
    fields = {"command_id": f"{command.command_id}-keys", "step_id": "(keys)", "attempt": 1, "decided_at": NOON}
    fields |= {"not_before": NOON, "call_id": command.call_id, "call_command_id": command.command_id, "digits": digits}
    return PressKeys(**{**about, **fields, **given})


def hang_up_of(command: PlaceCall) -> HangUp:
    """The end of the call of an order."""
    about = {name: getattr(command, name) for name in ("company_id", "contact_key", "lead_id", "lead_uuid", "enrolment")}
    fields = {"command_id": f"{command.command_id}-end", "step_id": "(hang up)", "attempt": 1, "decided_at": NOON}
    fields |= {"not_before": NOON, "call_id": command.call_id, "call_command_id": command.command_id}
    return HangUp(**{**about, **fields})


def fence_of(command: Command, *lead_ids: int, command_ids: tuple[str, ...] = ()) -> Fence:
    """A fence of an order's contact, of some of its leads, or of single orders."""
    about: dict[str, Any] = {"company_id": 1, "contact_key": command.contact_key, "reason": "opt_out", "decided_at": NOON}
    return Fence(**about, lead_ids=lead_ids, command_ids=command_ids)


class StillClock(SystemClock):
    """Domain time stands still until it is moved; waits on the wall are real, and short."""

    def __init__(self, now: Instant = NOON) -> None:
        super().__init__()
        self.instant = now

    def now(self) -> Instant:
        return self.instant

    def seconds_until(self, instant: Instant) -> float:
        return (instant - self.instant) / 1000

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.01))


class QuickClock(StillClock):
    """Domain time stands still; every wait of the gateway's own takes as long as it says by its monotonic seconds."""

    def __init__(self, now: Instant = NOON) -> None:
        super().__init__(now)
        self.seconds = 0.0
        self.goes = asyncio.Event()
        """Not set: its process stands still, for as long as somebody else moves the seconds on."""
        self.goes.set()

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        await asyncio.sleep(min(seconds, 0.01))
        await self.goes.wait()


class LeapingClock(StillClock):
    """Domain time moves on by what is slept, at once."""

    async def sleep(self, seconds: float) -> None:
        self.instant += round(seconds * 1000)
        await asyncio.sleep(0)


def fast_clock(speed: float = 200.0) -> SystemClock:
    """Domain time runs from noon, faster than the wall."""
    return SystemClock(Origin(wall_now(), NOON, speed))


class MemoryDeliveries:
    """Keeps the promises of `Deliveries` in a dictionary; `wall` are its own seconds, for leases."""

    def __init__(self, born_at: Instant = EPOCH) -> None:
        self.born_at = born_at
        self.wall = 0.0
        self.rows: dict[str, dict[str, Any]] = {}
        self.saved: dict[tuple[str, int], tuple[str, SavedProgress]] = {}

    async def renew_incarnation(self, newest: Instant) -> bool:
        if self.born_at > newest:
            return False
        self.born_at = newest + 1
        return True

    async def claim(
        self,
        command_id: str,
        *,
        company_id: int,
        kind: Kind,
        claimant: str,
        claim_id: str,
        claimed_at: Instant,
        lease_seconds: float,
    ) -> CommandClaim:
        assert company_id
        assert kind
        assert claimed_at
        fresh = {"claimant": claimant, "claim_id": claim_id, "until": self.wall + lease_seconds, "taken_over": False}
        row = self.rows.setdefault(command_id, {**fresh, "outcome": None, "posted": False})
        if row["posted"]:
            return CommandClaim(state="posted")
        if row["claimant"] != claimant and row["until"] >= self.wall:
            return CommandClaim(state="held")
        if row["outcome"] is not None:
            return CommandClaim(state="recorded", outcome=row["outcome"])
        taken_over = row["taken_over"] or row["claim_id"] != claim_id
        row.update(fresh, taken_over=taken_over)
        return CommandClaim(state="taken_over" if taken_over else "fresh", work_born_at=self.born_at)

    async def renew(self, claims: Mapping[str, str], *, claimant: str, lease_seconds: float) -> set[str]:
        kept = {name for name, claim_id in claims.items() if self._is_of(name, claimant, claim_id)}
        kept = {name for name in kept if not self.rows[name]["posted"]}
        for name in kept:
            self.rows[name]["until"] = self.wall + lease_seconds
        return kept

    def _is_of(self, command_id: str, claimant: str, claim_id: str) -> bool:
        row = self.rows.get(command_id)
        return row is not None and (row["claimant"], row["claim_id"]) == (claimant, claim_id)

    async def record(self, command_id: str, *, claimant: str, claim_id: str, outcome: bytes, recorded_at: Instant) -> bool:
        assert recorded_at
        if not self._is_of(command_id, claimant, claim_id):
            return False
        row = self.rows[command_id]
        if row["outcome"] not in {None, outcome}:
            return False
        row["outcome"] = outcome
        return True

    async def release(self, command_id: str, *, claimant: str, claim_id: str) -> None:
        if not self._is_of(command_id, claimant, claim_id) or self.rows[command_id]["outcome"] is not None:
            return
        if self.rows[command_id]["taken_over"]:
            self.rows[command_id]["until"] = self.wall - 1
        else:
            del self.rows[command_id]

    async def mark_posted(self, command_id: str, *, posted_at: Instant) -> None:
        assert posted_at
        self.rows[command_id]["posted"] = True

    async def progress(self, topic: str, topic_id: str, partition: int) -> SavedProgress | None:
        known = self.saved.get((topic, partition))
        return None if known is None or known[0] != topic_id else known[1]

    async def save_progress(self, topic: str, topic_id: str, partition: int, saved: SavedProgress) -> None:
        known = self.saved.get((topic, partition))
        if known is None or known[0] != topic_id or known[1].offset < saved.offset:
            self.saved[topic, partition] = (topic_id, saved)


class MortalDeliveries:
    """Passes everything on, until a method is `fatal`: its caller and everybody after it wait for ever, as if killed."""

    def __init__(self, deliveries: Deliveries, fatal: str, *, after: bool = False) -> None:
        self.dead = asyncio.Event()
        self._deliveries = deliveries
        self._fatal = fatal
        self._after = after

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any, **named: Any) -> Any:
            if self.dead.is_set() or (name == self._fatal and not self._after):
                self.dead.set()
                await asyncio.Future()
            answer = await getattr(self._deliveries, name)(*arguments, **named)
            if name == self._fatal:
                self.dead.set()
                await asyncio.Future()
            return answer

        return call


class AbsentDeliveries:
    """A database that is away while `away` is set."""

    def __init__(self, deliveries: Deliveries) -> None:
        self.away = True
        self.refused: set[str] = set()
        self._deliveries = deliveries

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any, **named: Any) -> Any:
            if self.away:
                self.refused.add(name)
                raise StoreError("the database is away")
            return await getattr(self._deliveries, name)(*arguments, **named)

        return call


class LateDeliveries:
    """Answers a method late: what happens `before` it is asked and `after` it was answered is awaited in between."""

    def __init__(self, deliveries: Deliveries, method: str) -> None:
        self.before = asyncio.Event()
        self.after = asyncio.Event()
        self.asked = asyncio.Event()
        self.answered = asyncio.Event()
        self.answers = 0
        self._deliveries = deliveries
        self._method = method

    def __getattr__(self, name: str) -> Any:
        async def call(*arguments: Any, **named: Any) -> Any:
            self.asked.set()
            await self.before.wait()
            answer = await getattr(self._deliveries, name)(*arguments, **named)
            self.answered.set()
            await self.after.wait()
            self.answers += 1
            return answer

        return call if name == self._method else getattr(self._deliveries, name)


class _WrappedLog:
    """Another log, of which a subclass changes the readers."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


class FarEndLog(_WrappedLog):
    """A log whose partitions end with records that cannot be read yet: a transaction before them is open."""

    async def reader(self, topic: str, partitions: Sequence[int], *, start: int | None = 0) -> Any:
        reader: Any = await self._log.reader(topic, partitions, start=start)
        end = reader.end

        async def far_end(partition: int) -> int:
            return int(await end(partition)) + 5

        reader.end = far_end
        return reader


class SilentLog(_WrappedLog):
    """A log whose readers are given nothing; its ends are known."""

    async def reader(self, topic: str, partitions: Sequence[int], *, start: int | None = 0) -> Any:
        reader: Any = await self._log.reader(topic, partitions, start=start)

        async def poll(*, limit: int, timeout_seconds: float) -> list[LogRecord]:
            assert limit
            await asyncio.sleep(min(timeout_seconds, 0.01))
            return []

        reader.poll = poll
        return reader


class Town:
    """A log with the topics of one channel, and what is said on `contacts.requests`."""

    def __init__(self, log: Log, kind: Kind, partitions: int, names: TopicNames) -> None:
        self.log = log
        self.names = names
        self.topic = names.of(COMMAND_TOPICS[kind].name)
        self.partitions = partitions
        self.sequence = 0

    async def append(
        self, *messages: Command | Fence | bytes, partition: int = 0, number: DecisionNumber | None = None
    ) -> None:
        """Write to the commands topic as a scheduler does: in one transaction, by one decision."""
        self.sequence += 1
        owner = await self.log.own(self.names.of(CONTACTS_REQUESTS.name), partition)
        emitted = number or DecisionNumber(1, self.sequence)
        headers = (("ce_decision", b"%d:%d" % (emitted.epoch, emitted.sequence)),)
        records = [
            Outgoing(self.topic, b"?", message, headers)
            if isinstance(message, bytes)
            else Outgoing(self.topic, message.contact_key.encode(), to_json(message), headers)
            for message in messages
        ]
        await owner.commit(records)
        await owner.close()

    async def records(self, topic: str = CONTACTS_REQUESTS.name) -> list[LogRecord]:
        """Everything in a topic, partition by partition."""
        found: list[LogRecord] = []
        topic = self.names.of(topic)
        for partition in range(await self.log.partition_count(topic)):
            reader = await self.log.reader(topic, [partition])
            end = await reader.end(partition)
            while reader.position(partition) < end:
                found += await reader.poll(limit=1000, timeout_seconds=0.1)
            await reader.close()
        return found

    async def said(self) -> list[OutcomeRecorded | CallProgressed | CallReceived | SmsReceived]:
        """Every request that gateways posted."""
        found = []
        for record in await self.records():
            struct = CONTACT_REQUESTS[dict(record.headers)["ce_type"].decode()]
            found.append(from_json(record.value or b"", struct))
        return found  # type: ignore[return-value]

    async def outcomes(self) -> list[tuple[str, str]]:
        """Every outcome that gateways posted: command and outcome."""
        return [(said.command_id, said.outcome) for said in await self.said() if isinstance(said, OutcomeRecorded)]

    async def outcome(self, count: int = 1) -> list[tuple[str, str]]:
        """Wait until there are so many outcomes."""
        found: list[tuple[str, str]] = await until(self.outcomes, lambda found: len(found) >= count)
        return found


@asynccontextmanager
async def town(kind: Kind, partitions: int = 1) -> AsyncIterator[Town]:
    log = EmbeddedLog(None, now=wall_now)
    for name in (COMMAND_TOPICS[kind].name, CONTACTS_REQUESTS.name, DEADLETTER.name):
        await log.create_topic(name, partitions)
    yield Town(log, kind, partitions, TopicNames())
    await log.close()


@asynccontextmanager
async def running(
    place: Town, channel: Channel, deliveries: Any, *, clock: Clock | None = None, **options: Any
) -> AsyncIterator[Gateway]:
    """A gateway at work on all partitions."""
    given = {
        "log": place.log,
        "clock": clock or StillClock(),
        "names": place.names,
        "drain_seconds": DRAIN_SECONDS,
        **options,
    }
    gateway = Gateway(channel, deliveries=deliveries, **given)
    gateway.assign(range(place.partitions))
    task = asyncio.create_task(gateway.run())
    try:
        yield gateway
    finally:
        gateway.stop()
        await ended(task)


async def ended(task: asyncio.Task[None]) -> None:
    """Wait for a gateway that was stopped; what hangs on a dead database is not waited for."""
    with pytest.MonkeyPatch.context() as patience:
        patience.setattr(gateway_module, "SHUTDOWN_SECONDS", DRAIN_SECONDS)
        async with asyncio.timeout(WAIT_SECONDS):
            await asyncio.gather(task, return_exceptions=True)


async def until(look: Callable[[], Any], is_good: Callable[[Any], bool] = bool) -> Any:
    """Look again until what is seen is good, for a while; return it, or what was seen last."""
    deadline = asyncio.get_running_loop().time() + WAIT_SECONDS
    while True:
        seen = look()
        if asyncio.iscoroutine(seen):
            seen = await seen
        if is_good(seen) or asyncio.get_running_loop().time() > deadline:
            return seen
        await asyncio.sleep(0.005)


def body(record: LogRecord) -> Any:
    return msgspec.json.decode(record.value or b"")
