"""What does a call cost while many leads wait for few lines? Messages and records per call, counted in memory.

The deciders, timer queues and messages of one company are the real ones; time is virtual, and every call lasts 20 seconds.
So the counts are exact, and the same on every machine.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from msgspec import Struct, structs

from adapters.partitions.routing import partition_of
from deploy.bench.row import BenchError, Row, Runs, row
from deploy.bench.stage import Stage
from deploy.bench.submissions import COMPANY_ID, NOON, submission
from engine.account.aggregate import AccountAggregate
from engine.contact.aggregate import ContactAggregate
from engine.partition.aggregate import Aggregate, Timer
from engine.partition.decider import Decider, Sealed
from engine.partition.gates import gate_of
from engine.partition.ports import LogRecord
from engine.partition.state import State, unpack_any
from engine.partition.timers import TimerGate, TimerQueue
from engine.rules import Rules
from engine.submission.normalise import normalise
from schemas.commands import Fence, HangUp, PlaceCall
from schemas.decisions import Position
from schemas.envelope import Envelope, to_headers
from schemas.instant import EPOCH, MINUTE, SECOND, Instant, Millis
from schemas.records import Record
from schemas.requests import (
    ACCOUNT_REQUESTS,
    CONTACT_REQUESTS,
    REQUEST_TYPES,
    AccountRequest,
    ContactRequest,
    OutcomeRecorded,
)
from schemas.state import record_key
from schemas.topics import COMMANDS_CALL, CONTACTS_REQUESTS
from schemas.wire import Message, from_json, to_json, to_pack

PARTITIONS = 16
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
LINES = 5
CALL_TIME = 20 * SECOND
HOP_TIME = 50 * SECOND // 1000
"""From a decision until its message is decided: about what one commit and one read take on a busy machine."""

INTAKE_TIME = 2 * MINUTE
MEASURED_TIME = 10 * MINUTE
WAITING = (1_000, 10_000)
RECORDS_OF_MESSAGE = 3
"""The entry of the outbox, its removal, and the request."""

TIMERS_AT_ONCE = 1_000
REQUEST_KINDS = {**CONTACT_REQUESTS, **ACCOUNT_REQUESTS}
TOKEN = "waiting"  # noqa: S105 - the public token of a schedule

Input = tuple[Instant, int, "MemoryPartition", str, Message | Record, str]
"""When it arrives, a number that keeps the order, where, its key, the message or the adopted record, its stream."""


class Counts(Struct, kw_only=True):
    """What happened within a stretch of time. `records` are those on all topics, without the positions of transactions."""

    lasted: Millis
    calls: int = 0
    messages: Counter[str] = Counter()
    records: int = 0
    busy_time: Millis = 0
    decision_bytes_max: int = 0

    @property
    def slot_messages(self) -> int:
        """How many messages were about slots."""
        return sum(number for kind, number in self.messages.items() if kind.startswith("slot."))

    def of_call(self, amount: int) -> float:
        """Return an amount for each call."""
        return amount / max(1, self.calls)


class MemoryPartition:
    """One partition: its state, its decider, and its timers, as a runner holds them."""

    def __init__(self, aggregate: Aggregate, number: int, rules: Rules) -> None:
        self.state = State()
        self.aggregate = aggregate
        self.decider = Decider(aggregate, number, self.state, rules, Position())
        self.timers = TimerQueue(self._timer, self._gate)
        self._offset = count()

    def restore(self) -> None:
        """Go on from the committed values alone, as another owner of the partition does."""
        former, self.state = self.state, State()
        for key, packed in former.items():
            self.state.restore(key, packed)
        decider = self.decider
        self.decider = Decider(self.aggregate, decider.partition, self.state, decider.rules, decider.position)
        self.timers = TimerQueue(self._timer, self._gate)
        entities = [(key, unpack_any(key, packed)) for key, packed in self.state.items()]
        for key, entity in entities:
            self.state.places.put(key, self.aggregate.claim(entity))
        self.timers.rebuild(timer for key, entity in entities if (timer := self.aggregate.timer(key, entity)) is not None)

    def adopt(self, record: Record, now: Instant) -> Sealed:
        """Adopt a newer version of a record."""
        return self._commit(self.decider.adoption([(0, record)], {}, now))

    def decide(self, key: str, message: Message, stream: str, number: int, now: Instant) -> Sealed:
        """Decide a request."""
        name = REQUEST_TYPES[type(message)]
        envelope = Envelope(id=f"{stream}/{number}", type=name, source="/bench", stream=stream, number=number)
        topic, offset = self.aggregate.requests_topic.name, next(self._offset)
        headers = to_headers(envelope)
        record = LogRecord(topic, self.decider.partition, offset, key.encode(), to_json(message), headers, now)
        return self._commit(self.decider.request(record, now))

    def fire(self, now: Instant) -> Iterator[Sealed]:
        """Decide the timers that are due."""
        for timer in self.timers.pop_due(now, TIMERS_AT_ONCE):
            yield self._commit(self.decider.tick(timer.key, timer.due_at, now))

    def _commit(self, sealed: Sealed) -> Sealed:
        self.state.commit()
        for key, entity in sealed.changes:
            timer = None if entity is None else self.aggregate.timer(key, entity)
            if timer is not None:
                self.timers.push(timer)
        return sealed

    def _timer(self, key: str) -> Timer | None:
        packed = self.state.packed(key)
        return None if packed is None else self.aggregate.timer(key, unpack_any(key, packed))

    def _gate(self, key: str) -> TimerGate | None:
        return gate_of(self.state, key)


class WaitingCompany:
    """A company whose leads wait for the lines of its buyers: its contact partitions, and that of its account."""

    def __init__(self, lines: int | None = LINES, *, partitions: int = PARTITIONS) -> None:
        """Without `lines` the buyer has no limit."""
        self.now = NOON
        self.counts = Counts(lasted=0)
        self.rules = Rules()
        self.contacts = [MemoryPartition(ContactAggregate(), number, Rules()) for number in range(partitions)]
        self.account = MemoryPartition(AccountAggregate(), 0, Rules())
        self.called: list[int] = []
        self._inputs: list[Input] = []
        self._numbers = count(1)
        self.open_calls = 0
        for record in company_records(lines):
            for rules in (self.rules, *(part.decider.rules for part in self.contacts)):
                rules.apply(0, record)
            self.account.state.set(record_key(record.type, record.id), to_pack(record))
        self.account.state.commit()

    def submit(self, number: int, **fields: Any) -> None:
        """Let a lead come, with these fields of its request."""
        asked = normalise(submission(number, TOKEN), self.rules, received_at=self.now).request
        request = structs.replace(asked, with_key=True, **fields)
        self._append(CONTACTS_REQUESTS.name, request.contact_key, request, "inbox", self.now)

    def ask(self, message: ContactRequest | AccountRequest) -> None:
        """Ask a contact or the account for something else."""
        if isinstance(message, ContactRequest):
            self._append(CONTACTS_REQUESTS.name, message.contact_key, message, "api", self.now)
        else:
            self._push((self.now, next(self._numbers), self.account, message.partition_key, message, "api"))

    def run(self, until: Instant) -> Counts:
        """Let time pass; return what happened in it."""
        self.counts = Counts(lasted=until - self.now, messages=Counter())
        while (at := self._next_at()) is not None and at <= until:
            self._pass_until(at)
            self._turn()
        self._pass_until(until)
        return self.counts

    def next_end(self) -> Instant | None:
        """Return when the next call ends, or None where none is under way."""
        return min((one[0] for one in self._inputs if isinstance(one[4], OutcomeRecorded)), default=None)

    def _pass_until(self, at: Instant) -> None:
        self.counts.busy_time += self.open_calls * (at - self.now)
        self.now = at

    def _next_at(self) -> Instant | None:
        nexts = [part.timers.next_due_at() for part in (*self.contacts, self.account)]
        found = [max(at, self.now + HOP_TIME) for at in nexts if at is not None]
        found += [max(self._inputs[0][0], self.now)] if self._inputs else []
        return min(found, default=None)

    def _turn(self) -> None:
        """Decide what has arrived, then what is due, as a cycle does."""
        while self._inputs and self._inputs[0][0] <= self.now:
            _, number, part, key, message, stream = heapq.heappop(self._inputs)
            self.open_calls -= isinstance(message, OutcomeRecorded)
            if isinstance(message, Record):
                self._take(part, part.adopt(message, self.now))
            else:
                self._take(part, part.decide(key, message, stream, number, self.now))
        for part in (*self.contacts, self.account):
            for sealed in part.fire(self.now):
                self._take(part, sealed)

    def _take(self, part: MemoryPartition, sealed: Sealed) -> None:
        """Count what a decision writes, send its messages, and place its call."""
        if sealed.decision.error is not None:
            raise BenchError(f"a decision failed: {sealed.value.decode()[:1000]}")
        counts = self.counts
        counts.records += len(sealed.records) + len(sealed.changes) + RECORDS_OF_MESSAGE * len(sealed.entries)
        counts.decision_bytes_max = max(counts.decision_bytes_max, len(sealed.value))
        for entry in sealed.entries:
            counts.messages[entry.type] += 1
            stream = f"{part.aggregate.state_topic.name}/{part.decider.partition}"
            message = from_json(entry.body, REQUEST_KINDS[entry.type])
            self._append(entry.topic, entry.key, message, stream, self.now + HOP_TIME)
        for _, entity in sealed.changes:
            if isinstance(entity, Record):
                for other in self.contacts:
                    self._push((self.now + HOP_TIME, next(self._numbers), other, "", entity, "rules"))
        for one in sealed.records:
            if one.topic == COMMANDS_CALL.name:
                command = from_json(one.value or b"", PlaceCall | Fence | HangUp)  # type: ignore[arg-type]
                if isinstance(command, PlaceCall):
                    self._place(command)

    def _place(self, command: PlaceCall) -> None:
        """Place a call, which ends after its time."""
        self.counts.calls += 1
        self.open_calls += 1
        self.called.append(command.lead_id)
        ended_at = self.now + CALL_TIME
        ended = OutcomeRecorded(
            company_id=COMPANY_ID,
            contact_key=command.contact_key,
            lead_id=command.lead_id,
            command_id=command.command_id,
            kind="call",
            outcome="connected_buyer",
            occurred_at=ended_at,
        )
        self._append(CONTACTS_REQUESTS.name, command.contact_key, ended, "gateway", ended_at)

    def _append(self, topic: str, key: str, message: Message, stream: str, at: Instant) -> None:
        part = self.account
        if topic == CONTACTS_REQUESTS.name:
            part = self.contacts[partition_of(key.encode(), len(self.contacts))]
        self._push((at, next(self._numbers), part, key, message, stream))

    def _push(self, given: Input) -> None:
        heapq.heappush(self._inputs, given)


def company_records(lines: int | None) -> list[Record]:
    """Return the records of a company with one buyer, and a schedule of one call to it at any hour."""
    windows = {"call": [{"days": DAYS, "open": "09:00", "close": "20:00"}]}
    steps = [{"id": "call-1", "kind": "call", "connect": {"buyer_ids": [1]}}]
    schedule = {"offer_id": 1, "time_zone": "America/New_York", "hours_to_expire": 120, "windows": windows, "steps": steps}
    bodies: dict[str, dict[str, Any]] = {
        "company": {"name": "Bench"},
        "offer": {"name": "Solar", "lead_token": "bench-offer"},
        "number": {"number": "+12125550150", "offer_id": 1},
        "buyer": {"name": "Closers", "number": "+12125550140", "concurrency_cap_limit": lines},
        "schedule": {**schedule, "name": "Calls", "lead_token": TOKEN},
    }
    return [
        Record(
            type=kind,
            id=1,
            uuid=f"{kind}-1",
            company_id=COMPANY_ID,
            version=1,
            sequence=sequence,
            created_at=EPOCH,
            updated_at=EPOCH,
            body=body,
        )
        for sequence, (kind, body) in enumerate(bodies.items(), start=1)
    ]


async def measure(stage: Stage, say: Callable[[str], None]) -> list[Row]:
    """Measure `waiting` and `waiting_records`."""
    del stage
    messages, records = Runs(), Runs()
    for leads in WAITING:
        say(f"waiting: {leads:,} leads for {LINES} lines")
        found = count_waiting(leads)
        messages.ours.append(found.of_call(found.slot_messages))
        records.ours.append(found.of_call(found.records))
        free = count_free(found.calls)
        records.baseline.append(free.of_call(free.records))
    return [
        row("waiting", messages, goal="<= 5", unit="messages about slots/call"),
        row("waiting_records", records, goal="<= 1.2", unit="records/call, beside calls whose lines are free"),
    ]


def count_waiting(leads: int, lines: int = LINES) -> Counts:
    """Return what happens in ten minutes in which leads wait for lines, after all have been decided."""
    company = WaitingCompany(lines)
    for number in range(leads):
        company.submit(number)
    company.run(company.now + INTAKE_TIME)
    return company.run(company.now + MEASURED_TIME)


def count_free(calls: int) -> Counts:
    """Return what happens in ten minutes in which so many leads become due, each while a line is free."""
    company = WaitingCompany(lines=calls)
    first_at = company.now + INTAKE_TIME
    for number in range(calls):
        company.submit(number, next_action_at=first_at + number * MEASURED_TIME // (calls + 1))
    company.run(first_at - 1)
    return company.run(first_at + MEASURED_TIME)
