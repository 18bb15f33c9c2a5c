"""What becomes of a record of an inbox? A request in the partition of its contact, or a dead letter with the reason.

Requests carry the number of their inbox record in a stream, so that reading the inbox again after a crash changes nothing.
The group offset is reported only after every earlier record was acknowledged.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import structlog

from adapters.body_fields import read_fields
from adapters.clock import SystemClock
from adapters.intake.adopted import AdoptedRules, Checkpoints
from adapters.intake.backpressure import Backpressure, InboxPartition
from adapters.intake.rights import RIGHT_HEADER, InboxRights
from adapters.json_keys import check_keys
from adapters.observability.trace_ids import HEADER, parent_in
from adapters.observability.traces import Traces
from adapters.partitions.dead_letters import append_dead_letters
from adapters.partitions.feed import RulesTopic
from adapters.partitions.routing import partition_of
from engine.limits import RECORD_BYTES_MAX
from engine.partition.broker_clock import ahead_seconds, clocks_disagree
from engine.partition.deadletters import dead_letter
from engine.partition.draft import RefusedError
from engine.partition.ports import Appender, Log, LogError, LogRecord, Outgoing, Reader, RecordRefusedError, record_bytes
from engine.partition.runner import TopicNames
from engine.submission.normalise import normalise
from schemas.envelope import ID_LENGTH_MAX, Envelope, to_headers
from schemas.problems import PROBLEMS
from schemas.requests import LeadSubmitted
from schemas.topics import CONTACTS_REQUESTS, DEADLETTER, LEADS_INBOX_BULK, Topic

BATCH_MAX = 1_000
POLL_SECONDS = 0.5
ASK_SECONDS = 2.0
"""A broker that is away looks like an empty inbox; this often the end is looked up, which tells them apart."""

PAUSE_SECONDS_MAX = 30.0
"""With schedulers that work, a paused partition goes on within seconds; one that moves is taken over within 30."""

SCHEDULERS_STALL = (
    "passes nothing on, because the schedulers have not decided what was passed on before: see /readyz of the schedulers"
)

CLOCK_BEHIND = (
    "the clock of this machine is {:.0f} s behind the broker's. Nothing is passed on, because it dates each submission. Set "
    "the wrong clock of the two; the partition then goes on by itself."
)

SUBMISSION_TYPE = "lead.submitted"
"""The one type of an inbox, and the default without `ce_type`, so that a plain producer can use the inbox."""

CONTENT_TYPE = "content-type"
"""The header of a record that says how its body is written (CloudEvents, Kafka protocol binding, 3.2): JSON without it."""

FIELD_HEADERS = ("lead_token", "traffic_source_id", "auto_format_nested_fields")
"""Headers that say what the query of a URL says over HTTP, for the post of a vendor that has no place for them."""

BODY_BYTES_MAX = 256 * 1024
"""The same limit as for submissions over HTTP."""

MAY_BE_STALE = frozenset({"unknown_lead_token", "schedule_inactive"})
"""Refusals that newer rules may lift: `accounts.rules` is read to its end before one of these is final."""

Observe = Callable[[int, int, int], None]
"""Receives of each batch how many were passed on, how many dead-lettered, and how many are known to be unread."""

logger = structlog.get_logger(__name__)

_JSON = msgspec.json.Decoder(dict[str, Any])


class IntakePartition:
    """The work on one partition of an inbox; a `Worker` of a host."""

    def __init__(
        self,
        inbox: Topic,
        partition: int,
        *,
        log: Log,
        names: TopicNames,
        rules: RulesTopic,
        appender: Appender,
        clock: SystemClock,
        checkpoints: Checkpoints,
        backpressure: Backpressure,
        observe: Observe,
        rights: InboxRights,
        traces: Traces | None = None,
    ) -> None:
        self._inbox = inbox
        self._traces = traces
        self._partition = partition
        self._source = InboxPartition(partition, is_bulk=inbox == LEADS_INBOX_BULK)
        self._log = log
        self._names = names
        self._rules = rules
        self._appender = appender
        self._clock = clock
        self._adopted = AdoptedRules(rules, checkpoints, partition)
        self._backpressure = backpressure
        self._observe = observe
        self._rights = rights
        self.problem: str | None = None
        self._reader: Reader | None = None
        self._paused_at: float | None = None
        self._end_checked_at = float("-inf")
        self._end = 0
        self._stream = ""
        self._contact_partitions = 0
        self._dead_partitions = 0

    async def open(self) -> None:
        """Seek to the first record that is not known to be done."""
        await self.close()
        inbox = self._names.of(self._inbox.name)
        self._stream = stream_of(self._inbox, await self._log.topic_id(inbox), self._partition)
        self._contact_partitions = await self._log.partition_count(self._names.of(CONTACTS_REQUESTS.name))
        self._dead_partitions = await self._log.partition_count(self._names.of(DEADLETTER.name))
        self._reader = await self._log.reader(inbox, [self._partition])
        await self._reader.seek(self._partition, await self._adopted.resume())
        self._adopted.read_again_until(await self._reader.end(self._partition))

    async def cycle(self) -> int:
        """Pass on a batch, in order, and return the offset up to which everything is acknowledged."""
        if self._reader is None:
            raise LogError("the inbox is not open")
        allowance = await self._backpressure.wait_for_capacity(self._source, BATCH_MAX)
        self._note_pause(is_paused=allowance == 0)
        if allowance == 0:
            await self._check_end(self._reader)
            self._observe(0, 0, self._unread(self._reader))
            return self._reader.position(self._partition)
        records = await self._reader.poll(limit=allowance, timeout_seconds=POLL_SECONDS)
        await self._check_end(self._reader)
        if await self._is_held_back(self._reader, records):
            return self._reader.position(self._partition)
        batch = IntakeBatch()
        for record in records:
            if self._adopted.is_outdated(record.offset):
                await self._renew(batch, record.offset)
            try:
                request = await self._normalised(record, batch)
                outgoing = self._outgoing(record, request)
            except RefusedError as refusal:
                batch.dead.append(dead_letter(record, refusal.code, _sentence(refusal)))
                continue
            partition = partition_of(request.contact_key.encode(), self._contact_partitions)
            batch.requests.setdefault(partition, []).append((record, outgoing))
        await self._append(batch)
        self._observe(len(records) - batch.dead_lettered, batch.dead_lettered, self._unread(self._reader))
        return self._reader.position(self._partition)

    async def close(self) -> None:
        """Stop reading."""
        if self._reader is not None:
            await self._reader.close()
            self._reader = None

    async def _check_end(self, reader: Reader) -> None:
        """Look up the end of the inbox regularly: that gives the lag, or shows that the broker is away (`LogError`)."""
        if self._clock.monotonic() - self._end_checked_at >= ASK_SECONDS:
            self._end = await reader.end(self._partition)
            self._end_checked_at = self._clock.monotonic()

    async def _is_held_back(self, reader: Reader, records: Sequence[LogRecord]) -> bool:
        """Return whether this machine's clock is behind what the broker appended, and read that again once it may be right.

        A lead that is dated by a clock of yesterday would expire before anybody is reached.
        """
        if not records:
            return False
        apart = ahead_seconds(self._clock.wall(), self._clock.elapsed(), None, records[-1].appended_at)
        if not clocks_disagree(apart):
            return False
        self.problem = CLOCK_BEHIND.format(-apart)
        await reader.seek(self._partition, records[0].offset)
        self._observe(0, 0, self._unread(reader))
        await self._clock.sleep(POLL_SECONDS)
        return True

    def _unread(self, reader: Reader) -> int:
        """Return the lag: unread records when the end was last looked up."""
        return max(0, self._end - reader.position(self._partition))

    def _note_pause(self, *, is_paused: bool) -> None:
        """Report in the readiness a pause that lasts longer than backpressure alone explains."""
        now = self._clock.monotonic()
        if not is_paused:
            self._paused_at = None
        elif self._paused_at is None:
            self._paused_at = now
        is_long = self._paused_at is not None and now - self._paused_at >= PAUSE_SECONDS_MAX
        self.problem = SCHEDULERS_STALL if is_long else None

    async def _renew(self, batch: "IntakeBatch", offset: int) -> None:
        """Adopt the newest rules for the record at an offset, everything before it being acknowledged."""
        await self._append(batch)
        await self._adopted.renew(offset)

    async def _append(self, batch: "IntakeBatch") -> None:
        """Append what was collected, and start a new batch."""
        requests, dead = batch.take()
        await self._dead_letter(dead)
        answers = await asyncio.gather(
            *(self._pass_on(partition, some) for partition, some in requests.items()), return_exceptions=True
        )
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            batch.dead_lettered += answer

    async def _pass_on(self, partition: int, pairs: Sequence[tuple[LogRecord, Outgoing]]) -> int:
        """Append requests in order; return how many became dead letters because the log refused them for their size."""
        dead_lettered = 0
        while pairs:
            try:
                offsets = await self._appender.append(partition, [request for _, request in pairs])
            except RecordRefusedError as refused:
                place = refused.index or 0
                await self._dead_letter([dead_letter(pairs[place][0], "too_large", str(refused))])
                dead_lettered += 1
                pairs = [*pairs[refused.appended : place], *pairs[place + 1 :]]
            else:
                self._backpressure.record_append(self._source, partition, offsets[-1], len(offsets))
                break
        return dead_lettered

    async def _dead_letter(self, records: Sequence[Outgoing]) -> None:
        if records:
            topic = self._names.of(DEADLETTER.name)
            renamed = [msgspec.structs.replace(record, topic=topic) for record in records]
            await append_dead_letters(self._appender, self._partition % self._dead_partitions, renamed)

    async def _normalised(self, record: LogRecord, batch: "IntakeBatch") -> LeadSubmitted:
        raw, is_trusted = submission_of(record), self._rights.are_proved(record)
        if _header(record, RIGHT_HEADER) is None:  # a signature covers the body alone
            raw = {**_fields_of_headers(record), **raw}
        try:
            return self._normalise(raw, record, is_trusted=is_trusted)
        except RefusedError as refusal:
            if refusal.code not in MAY_BE_STALE and "traffic_source_id" not in refusal.errors:
                raise
        await self._rules.refresh()
        await self._renew(batch, record.offset)
        return self._normalise(raw, record, is_trusted=is_trusted)

    def _normalise(self, raw: Mapping[str, Any], record: LogRecord, *, is_trusted: bool) -> LeadSubmitted:
        now, rules = self._clock.now(), self._adopted.rules
        waited_ms = max(0, now - record.appended_at)
        try:
            return normalise(raw, rules, received_at=now, waited_ms=waited_ms, is_trusted=is_trusted).request
        except RefusedError:
            raise
        except Exception as error:
            # A fault of ours in one record: it becomes a dead letter, as an input does whose decision fails, and the
            # inbox of all companies goes on.
            logger.exception("submission.failed", partition=self._partition)
            raise RefusedError("internal_error", f"Reading it failed ({type(error).__name__}).") from error

    def _outgoing(self, record: LogRecord, request: LeadSubmitted) -> Outgoing:
        if self._traces is None:
            return self._with_parent(record, request, _header(record, HEADER))
        with self._traces.passing_on(f"pass on {SUBMISSION_TYPE}", parent_in(record.headers), record.topic) as traceparent:
            return self._with_parent(record, request, traceparent)

    def _with_parent(self, record: LogRecord, request: LeadSubmitted, traceparent: str | None) -> Outgoing:
        position = f"{self._stream}/{record.offset}"
        rules_partition, rules_sequence = self._rules.seen(request.company_id)
        envelope = Envelope(
            id=_named(record, "ce_id") or position,
            type=SUBMISSION_TYPE,
            source=_named(record, "ce_source") or "/intake",
            stream=self._stream,
            number=record.offset,
            rules_partition=rules_partition,
            rules_sequence=rules_sequence,
            traceparent=traceparent,
        )
        topic = self._names.of(CONTACTS_REQUESTS.name)
        outgoing = Outgoing(topic, request.contact_key.encode(), msgspec.json.encode(request), to_headers(envelope))
        size = record_bytes(outgoing)
        if size > RECORD_BYTES_MAX:
            raise RefusedError("too_large", f"The request would have {size} bytes; {RECORD_BYTES_MAX} is the most.")
        return outgoing


def stream_of(inbox: Topic, topic_id: str, partition: int) -> str:
    """Return the name of the stream that the requests of a partition of an inbox are numbered in."""
    return f"{inbox.name}/{topic_id}/{partition}"


class IntakeBatch:
    """What is to be appended: requests by partition, each with its inbox record, and dead letters.

    `dead_lettered` counts the dead letters of the whole batch.
    """

    def __init__(self) -> None:
        self.requests: dict[int, list[tuple[LogRecord, Outgoing]]] = {}
        self.dead: list[Outgoing] = []
        self.dead_lettered = 0

    def take(self) -> tuple[dict[int, list[tuple[LogRecord, Outgoing]]], list[Outgoing]]:
        """Return what was collected since the last call."""
        taken = self.requests, self.dead
        self.dead_lettered += len(self.dead)
        self.requests, self.dead = {}, []
        return taken


def submission_of(record: LogRecord) -> dict[str, Any]:
    """Return the raw submission in a record. Raises `RefusedError` where there is none."""
    kind = next((value for name, value in record.headers if name == "ce_type"), SUBMISSION_TYPE.encode())
    if kind != SUBMISSION_TYPE.encode():
        raise RefusedError("unknown_type", f"{record.topic} takes {SUBMISSION_TYPE}, not {kind[:100]!r}")
    if not record.value:
        raise RefusedError("malformed_json", "The record is empty; send a JSON object.")
    if len(record.value) > min(BODY_BYTES_MAX, RECORD_BYTES_MAX):
        raise RefusedError("too_large", f"The record has {len(record.value)} bytes; {BODY_BYTES_MAX} is the most.")
    content_type = _header(record, CONTENT_TYPE) or ""
    if content_type.strip() and not content_type.lower().startswith("application/json"):
        return read_fields(record.value, content_type)
    try:
        fields = _JSON.decode(record.value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RefusedError("malformed_json", f"The record is not a JSON object: {error}") from error
    check_keys(record.value, fields)
    return fields


def _fields_of_headers(record: LogRecord) -> dict[str, Any]:
    return {name: value for name in FIELD_HEADERS if (value := _header(record, name))}


def _sentence(refusal: RefusedError) -> str:
    """Return what a reader of the dead letter needs: the detail, and every bad field."""
    fields = "; ".join(f"{field} {' and '.join(sentences)}" for field, sentences in refusal.errors.items())
    return f"{PROBLEMS[refusal.code].title}. {refusal.detail} {fields}".strip()


def _named(record: LogRecord, wanted: str) -> str | None:
    """Return a header that tells one record from another: cut or replaced, two would be one, and the second lead is lost.

    Raises `RefusedError` malformed_envelope.
    """
    found = _header_bytes(record, wanted)
    try:
        text = None if found is None else found.decode()
    except UnicodeDecodeError:
        raise RefusedError("malformed_envelope", f"{wanted} is no UTF-8.") from None
    if text is not None and len(text) > ID_LENGTH_MAX:
        raise RefusedError("malformed_envelope", f"{wanted} has {len(text)} characters; {ID_LENGTH_MAX} is the most.")
    return text


def _header(record: LogRecord, wanted: str) -> str | None:
    found = _header_bytes(record, wanted)
    return None if found is None else found.decode(errors="replace")[:ID_LENGTH_MAX]


def _header_bytes(record: LogRecord, wanted: str) -> bytes | None:
    return next((value for name, value in record.headers if name.lower() == wanted), None)
