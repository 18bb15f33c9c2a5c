"""What does the log say, and does the database say the same? Read from outside, by read_committed readers, after the fact.

Nothing here runs a rule: decisions are folded as they were recorded, and counted.
"""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

import asyncpg
import msgspec
from msgspec import Struct, structs

from adapters.retry import retry
from adapters.roles.context import Context
from deploy.proof.attempts import Attempts
from engine.contact.commands.slots import WAITS_FOR_SLOT
from engine.partition.ports import Log, LogError, LogRecord, Reader
from schemas.account import Slots
from schemas.contact import LIVE_STATUSES, Call, Head, Lead, OpenSlotRequests, waits_in_queue
from schemas.decisions import GENESIS, Decision
from schemas.instant import SECOND, Instant
from schemas.state import ASKING_PREFIX, asking_key, lead_key
from schemas.topics import ACCOUNTS_DECISIONS, COMMAND_TOPICS, CONTACTS_DECISIONS, CONTACTS_REQUESTS, DEADLETTER, INBOXES
from schemas.wire import digest

BATCH = 2_000
POLL_SECONDS = 1.0
STALLS_MAX = 30
OVERDUE = 60 * SECOND
"""A timer that is due fires within a moment; one that is this late will not fire any more."""

CONNECT_SECONDS = 10.0

OPEN_SECONDS = 60.0
OPEN_WAIT_SECONDS = 0.5
OPEN_WAIT_MAX_SECONDS = 5.0
"""How long a broker may fail to answer before a proof ends: it shares the machine with everything that is proved."""


class Place(Struct, frozen=True):
    """Where a command is on the log, and the digest of its bytes."""

    topic: str
    partition: int
    offset: int
    digest: str


class Named(Struct, frozen=True):
    """Which decision says that it emitted a command, and with which bytes."""

    partition: int
    sequence: int
    offset: int
    digest: str


class Fold(Struct):
    """What the decisions add up to: the newest value of each lead, call, contact and resource."""

    decisions: int = 0
    verdicts: Counter[str] = msgspec.field(default_factory=Counter)
    submissions: Counter[str] = msgspec.field(default_factory=Counter)
    """Id of a submission -> how many of its decisions were `done`: neither refused nor known as a repeat."""

    emitted: dict[str, list[Named]] = msgspec.field(default_factory=dict)
    """Id of a command or fence -> the decisions that emitted it."""

    broken: list[str] = msgspec.field(default_factory=list)
    """Where a decision does not follow the one before it: the number or the hash chain is broken."""

    values: dict[str, bytes] = msgspec.field(default_factory=dict)
    attempts: Attempts = msgspec.field(default_factory=Attempts)
    inputs: dict[int, int] = msgspec.field(default_factory=dict)
    """Partition -> offset of the last request that was decided."""

    homes: dict[str, int] = msgspec.field(default_factory=dict)
    """Key of a lead -> the partition that decided it last."""

    queues: dict[tuple[int, str], OpenSlotRequests] = msgspec.field(default_factory=dict)
    """Partition and key -> a queue for slots; each partition has its own."""

    def leads(self) -> dict[int, Lead]:
        """Return the leads by id."""
        return {lead.id: lead for lead in self._all("lead/", Lead)}

    def leads_as_shown(self) -> dict[int, Lead]:
        """Return the leads by id; one that waits in a queue for slots shows what the queue waits for."""
        return {key: self._as_shown(lead) for key, lead in self.leads().items()}

    def _as_shown(self, lead: Lead) -> Lead:
        if not waits_in_queue(lead):
            return lead
        queue = self.queues.get((self.homes[lead_key(lead.id)], asking_key(lead.company_id, lead.slot_queue or "")))
        if queue is None or queue.closed_reason is None:
            return structs.replace(lead, status_wait=WAITS_FOR_SLOT, next_action_at=lead.planned_at)
        resets_at = queue.resets_at
        if resets_at is not None and not lead.ending and lead.expires_at is not None and resets_at >= lead.expires_at:
            resets_at = None
        next_at = None if resets_at is None else max(resets_at, lead.planned_at or resets_at)
        return structs.replace(lead, status_wait=queue.closed_reason, next_action_at=next_at)

    def calls(self) -> dict[int, Call]:
        """Return the calls by id."""
        return {call.id: call for call in self._all("call/", Call)}

    def heads(self) -> dict[str, Head]:
        """Return the contacts by key."""
        return {head.contact_key: head for head in self._all("head/", Head)}

    def slots(self) -> dict[str, Slots]:
        """Return the limited resources by name."""
        return {slots.resource: slots for slots in self._all("slots/", Slots)}

    def _all(self, prefix: str, kind: type[Any]) -> list[Any]:
        decoder = msgspec.json.Decoder(kind)
        return [decoder.decode(value) for key, value in self.values.items() if key.startswith(prefix)]


class Evidence(Struct, kw_only=True):
    """Everything that was read of one deployment at rest."""

    contacts: Fold
    accounts: Fold
    commands: dict[str, list[Place]]
    """Command id -> the committed records that have it."""

    dead: list[tuple[str, int, int, bytes | None]]
    """Topic, partition, offset and bytes that each dead letter names."""

    requests_end: dict[int, int]
    inbox_end: int

    def command_ids(self, topic: str) -> set[str]:
        """Return the ids of the commands that are on a topic."""
        return {id_ for id_, places in self.commands.items() if any(place.topic == topic for place in places)}


async def gather(context: Context) -> Evidence:
    """Read the topics of a deployment from their beginning to the end that they have now. Raises `LogError`."""
    log, names = context.log, context.names
    commands: dict[str, list[Place]] = {}
    for topic in COMMAND_TOPICS.values():
        async for record in committed(log, names.of(topic.name)):
            found = dict(record.headers)
            if found["ce_type"] != b"fence":
                place = Place(topic.name, record.partition, record.offset, digest(record.value or b""))
                commands.setdefault(found["ce_id"].decode(), []).append(place)
    dead = [_origin(record) async for record in committed(log, names.of(DEADLETTER.name))]
    return Evidence(
        contacts=await fold(log, names.of(CONTACTS_DECISIONS.name)),
        accounts=await fold(log, names.of(ACCOUNTS_DECISIONS.name)),
        commands=commands,
        dead=dead,
        requests_end=await ends(log, names.of(CONTACTS_REQUESTS.name)),
        inbox_end=sum([sum((await ends(log, names.of(inbox.name))).values()) for inbox in INBOXES]),
    )


async def fold(log: Log, topic: str) -> Fold:
    """Fold the decisions of a topic."""
    found = Fold()
    decoder = msgspec.json.Decoder(Decision)
    heads: dict[int, tuple[int, str]] = {}
    async for record in committed(log, topic):
        decision = decoder.decode(record.value or b"")
        cause = decision.cause
        found.decisions += 1
        found.verdicts[decision.verdict] += 1
        before = heads.get(record.partition, (0, GENESIS))
        if (decision.sequence - 1, decision.prev) != before:
            gap = f"decision {decision.sequence} after {before[0]}"
            found.broken.append(f"{topic}, partition {record.partition}, offset {record.offset}: {gap}")
        heads[record.partition] = decision.sequence, digest(record.value or b"")
        found.attempts.take(decision)
        for one in decision.commands:
            named = Named(record.partition, decision.sequence, record.offset, one.digest)
            found.emitted.setdefault(one.id, []).append(named)
        if cause.kind == "request":
            found.inputs[record.partition] = cause.offset or 0
        if cause.type == "lead.submitted" and decision.verdict == "done":
            found.submissions[cause.id or ""] += 1
        for change in decision.changes:
            _take(found, record.partition, change.key, bytes(change.value))
    return found


def _take(found: Fold, partition: int, key: str, value: bytes) -> None:
    if key.startswith(ASKING_PREFIX):
        found.queues.pop((partition, key), None)
        if value != b"null":
            found.queues[partition, key] = msgspec.json.decode(value, type=OpenSlotRequests)
        return
    _replace(found.values, key, value)
    if key.startswith("lead/") and value != b"null":
        found.homes[key] = partition


def _replace(values: dict[str, bytes], key: str, value: bytes) -> None:
    if value == b"null":
        values.pop(key, None)
    else:
        values[key] = value


def _origin(record: LogRecord) -> tuple[str, int, int, bytes | None]:
    found = dict(record.headers)
    return found["dl_topic"].decode(), int(found["dl_partition"]), int(found.get("dl_offset", b"-1")), record.value


async def committed(log: Log, topic: str) -> AsyncIterator[LogRecord]:
    """Yield every committed record of a topic up to the end that it has now. Raises `LogError`."""
    partitions = range(await log.partition_count(topic))
    reader = await open_reader(log, topic, partitions, start=0)
    try:
        last = {partition: await reader.end(partition) for partition in partitions}
        stalls = 0
        while any(reader.position(partition) < end for partition, end in last.items()):
            records = await reader.poll(limit=BATCH, timeout_seconds=POLL_SECONDS)
            stalls = 0 if records else stalls + 1
            if stalls > STALLS_MAX:
                raise RuntimeError(f"{topic} cannot be read to its end")
            for record in records:
                yield record
    finally:
        await reader.close()


async def open_reader(log: Log, topic: str, partitions: Sequence[int], *, start: int | None) -> Reader:
    """Open a reader at `start`, or at the end for None, with retries for `OPEN_SECONDS`. Raises `LogError`."""
    return await retry(
        lambda: log.reader(topic, partitions, start=start),
        on=lambda error: isinstance(error, LogError) and error.retryable,
        first_seconds=OPEN_WAIT_SECONDS,
        max_seconds=OPEN_WAIT_MAX_SECONDS,
        timeout_seconds=OPEN_SECONDS,
    )


async def ends(log: Log, topic: str) -> dict[int, int]:
    """Return the end of each partition of a topic."""
    partitions = range(await log.partition_count(topic))
    reader = await open_reader(log, topic, partitions, start=None)
    try:
        return {partition: await reader.end(partition) for partition in partitions}
    finally:
        await reader.close()


def stuck(lead: Lead, now: Instant) -> bool:
    """Return whether nothing will ever move a lead on: it is live and no timer of it is to come."""
    return lead.status in LIVE_STATUSES and (lead.wake_at is None or lead.wake_at < now - OVERDUE)


ROWS = """
SELECT id, version, uuid::text, contact_key, status, status_wait, caller_id, email, step, attempts, sms_count,
       outbound_calls_count, emails_count, opt_out, data::text, flight IS NOT NULL,
       (extract(epoch FROM next_action_at) * 1000)::bigint, (extract(epoch FROM wake_at) * 1000)::bigint,
       (extract(epoch FROM created_at) * 1000)::bigint, (extract(epoch FROM updated_at) * 1000)::bigint
FROM read.leads WHERE deleted_at IS NULL
"""
CALL_ROWS = (
    "SELECT id, version, uuid::text, lead_id, status, outcome, number_called FROM read.calls WHERE deleted_at IS NULL"
)
CONTACT_ROWS = "SELECT contact_key, version FROM read.contacts"


async def projection_differences(dsn: str, contacts: Fold) -> list[str]:
    """Return what the database says otherwise than the fold of the decisions, one sentence each."""
    connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
    try:
        leads = {row[0]: _with_json(tuple(row)) for row in await connection.fetch(ROWS)}
        calls = {row[0]: tuple(row) for row in await connection.fetch(CALL_ROWS)}
        heads = {row[0]: tuple(row) for row in await connection.fetch(CONTACT_ROWS)}
        faults = await connection.fetchval("SELECT count(*) FROM read.faults")
    finally:
        await connection.close()
    found = [f"{faults} decisions could not be projected"] if faults else []
    found += _differences("lead", leads, {key: _lead_row(lead) for key, lead in contacts.leads_as_shown().items()})
    found += _differences("call", calls, {key: _call_row(call) for key, call in contacts.calls().items()})
    found += _differences("contact", heads, {key: (key, head.version) for key, head in contacts.heads().items()})
    return found


def _lead_row(lead: Lead) -> tuple[Any, ...]:
    return (
        *(lead.id, lead.version, lead.uuid, lead.contact_key, lead.status, lead.status_wait, lead.caller_id, lead.email),
        *(lead.step, lead.attempts, lead.sms_count, lead.outbound_calls_count, lead.emails_count, lead.opt_out),
        *(lead.data, lead.flight is not None, lead.next_action_at, lead.wake_at, lead.created_at, lead.updated_at),
    )


def _with_json(row: tuple[Any, ...]) -> tuple[Any, ...]:
    at = ROWS[: ROWS.index("data::text")].count(",")
    return (*row[:at], msgspec.json.decode(row[at]), *row[at + 1 :])


def _call_row(call: Call) -> tuple[Any, ...]:
    return (call.id, call.version, call.uuid, call.lead_id, call.status, call.outcome, call.number_called)


def _differences(what: str, rows: dict[Any, Any], folded: dict[Any, Any]) -> list[str]:
    found = [f"{what} {key} is in the log and not in the database" for key in folded.keys() - rows.keys()]
    found += [f"{what} {key} is in the database and not in the log" for key in rows.keys() - folded.keys()]
    found += [
        f"{what} {key}: the database has {rows[key]}, the log {folded[key]}"
        for key in rows.keys() & folded.keys()
        if rows[key] != folded[key]
    ]
    return found
