"""What does one input change? The same code decides in the running partition, the auditor and the simulator.

An input is a record of the requests topic, a timer that is due, or newer rules. Each input gives exactly one decision. An
input that cannot be read is refused. An input on which a rule raises, or whose records cannot be written, is recorded as
failed. Both leave a dead letter.

Every record of a decision is measured against `engine.limits` before the state changes. A failed decision changes only the
entity whose timer it was (`Aggregate.give_up`), and is small whatever its input holds.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any

import msgspec
from msgspec import Struct

from engine.limits import ENTITY_KEY_BYTES_MAX, KEY_BYTES_MAX, RECORD_BYTES_MAX
from engine.partition.aggregate import Adoption, Aggregate, RuleChange
from engine.partition.continuity import request_digest
from engine.partition.deadletters import ORIGIN, dead_letter, record_bytes, timer_dead_letter
from engine.partition.draft import Draft, OutboxMessage, OutgoingCommand, RefusedError, RepeatedError
from engine.partition.parts import INLINE_BYTES_MAX, SPLIT, divide, parts_of_removed
from engine.partition.places import PlaceClaim
from engine.partition.ports import LogRecord, Outgoing
from engine.partition.state import State, unpack_any
from engine.rules import Rules
from schemas import records
from schemas.contact import Part
from schemas.decisions import (
    REMOVED,
    Answer,
    Cause,
    Change,
    Decision,
    Emitted,
    OutboxEntry,
    Position,
    Refusal,
    Sent,
    TopicRecovery,
)
from schemas.envelope import DecisionNumber, Envelope, EnvelopeError, from_headers, to_headers
from schemas.errors import InternalError, SenderError
from schemas.instant import EPOCH, Instant
from schemas.problems import PROBLEMS
from schemas.state import Stream, kind_of, stream_key
from schemas.topics import ACCOUNTS_RULES, INBOXES
from schemas.wire import Entity, Message, digest, packed_name, to_json, to_pack

ERROR_LENGTH_MAX = 500
"""Of the text of an unexpected error: enough to find the line, too short to carry personal data."""

TOO_LARGE = "too_large"
DECISION_FAILED = "decision_failed"
"""Why a decision failed: a record of it is too large to write, or our own code raised."""

UNANSWERED_STREAMS = tuple(f"{inbox.name}/" for inbox in INBOXES)
"""Prefixes of intake's streams: a producer of an inbox gets no answer, so a refusal leaves a dead letter."""

SIZE_REFUSALS = frozenset({TOO_LARGE, "too_many_leads"})
"""Refusals that are due to what is stored of a person already: an opt-out in the same request is decided nevertheless."""

STOPPED = "The person is not contacted any more, as you asked."

MESSAGE_FRAME_BYTES = 500
"""Around the body of a message, in the outbox and as a request: names, numbers, headers with a stream of 200 characters."""

MEASURED_FROM_BYTES = RECORD_BYTES_MAX // 4
"""A record with a smaller value fits: what key and headers say is in the value as well, so they are not the larger part."""

REFUSALS_MAX = 2
"""After so many refusals by the log, the decision on an input changes nothing and has no dead letter."""

ParsedRequest = tuple[Message, Envelope]

Changes = tuple[tuple[str, Entity | None], ...]

Adopted = Iterable[tuple[int, records.Record]]
"""Records of `accounts.rules`, each with its partition."""


class Sealed(Struct, frozen=True, gc=False):
    """One decision, ready to commit; `records` go to the partition of the same number."""

    decision: Decision
    value: bytes
    records: tuple[Outgoing, ...]
    entries: tuple[OutboxEntry, ...]
    changes: Changes
    size_bytes: int
    """Of all records that it writes."""


class _RefusedInputError(SenderError):
    """The record cannot be decided; it becomes a dead letter."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class Decider:
    """Decides the inputs of one partition in order. Each decision advances `position` and the pending state."""

    def __init__(self, aggregate: Aggregate, partition: int, state: State, rules: Rules, position: Position) -> None:
        self.aggregate = aggregate
        self.partition = partition
        self.state = state
        self.rules = rules
        self.position = position
        self._decoders = {
            name: msgspec.json.Decoder(kind) for name, kind in aggregate.request_types.items()
        }  # strict: numbers in text are refused
        self._claiming = frozenset(kind_of(f"{prefix}/") for prefix in aggregate.claim_fields)

    def request(self, record: LogRecord, now: Instant, *, behind: bool = False, refusal: Refusal | None = None) -> Sealed:
        """Decide one record of the requests topic. `refusal`: the log refused the records of the first decision."""
        try:
            envelope, request = self._read(record)
        except _RefusedInputError as error:
            cause = _request_cause(record, behind=behind, refusal=refusal, **_identity_headers(record))
            letter = dead_letter(record, error.code, str(error), whole=refusal is None)
            answer = refused(error.code, str(error))
            return self._seal(cause, now, "refused", answer=answer, dead=_unless_refused_twice(refusal, letter))
        cause = _request_cause(record, behind=behind, refusal=refusal, id=envelope.id, type=envelope.type)
        if self._is_repeat(envelope):
            return self._seal(cause, now, "repeated")
        mark, asked = _stream_mark(envelope, now), (request, envelope)
        if refusal is not None:
            again = LogRefusedError(refusal)
            stopped = (
                self._decide_stop_only(cause, now, again, asked, record=record, mark=mark)
                if refusal.times < REFUSALS_MAX
                else None
            )
            return stopped or self._fail(cause, now, again, record=record, mark=mark)
        rule = lambda draft: self.aggregate.decide(draft, request, envelope)  # noqa: E731 - half the cost of a partial
        if envelope.actor is not None:
            rule = partial(self._decide_for, request=request, envelope=envelope)
        return self._run(cause, now, rule, asked=asked, record=record, mark=mark)

    def _decide_for(self, draft: Draft, *, request: Message, envelope: Envelope) -> None:
        """Decide a request of a known actor; each fact says who that is."""
        self.aggregate.decide(draft, request, envelope)
        for fact in draft.facts:
            fact.data["by"] = envelope.actor

    def tick(
        self, key: str, due_at: Instant, now: Instant, *, behind: bool = False, refusal: Refusal | None = None
    ) -> Sealed:
        """Decide a timer that is due. `refusal`: the log refused the records of the first decision."""
        cause = Cause(kind="tick", key=key, due_at=due_at, behind=behind, refusal=refusal)
        if refusal is not None:
            return self._fail(cause, now, LogRefusedError(refusal))
        return self._run(cause, now, lambda draft: self.aggregate.wake(draft, key, due_at))

    def adoption(
        self,
        entries: Adopted,
        versions: Mapping[str, str],
        now: Instant,
        *,
        topics: Mapping[str, str] = {},
        refusal: Refusal | None = None,
    ) -> Sealed:
        """Adopt newer rules, newer versions of code and data, or the first topics, from this decision on."""
        rule_changes = self._apply(entries)
        positions = {str(partition): sequence for partition, sequence in sorted(self.rules.positions.items())}
        cause = Cause(
            kind="adoption",
            rules=positions,
            versions=dict(versions),
            topics=dict(topics),
            stream="" if self.position.stream else topics.get(self.aggregate.state_topic.name, ""),
            refusal=refusal,
        )
        if refusal is not None:
            return self._fail(cause, now, LogRefusedError(refusal))
        adoption = Adoption(rule_changes=rule_changes, versions_before=self.position.versions, versions=versions)
        return self._run(cause, now, lambda draft: self.aggregate.adopt(draft, adoption))

    def recovery(self, recovery: TopicRecovery, topics: Mapping[str, str], now: Instant) -> Sealed:
        """Record that an operator settled a loss: the partition goes on with these topics, from this request on.

        A new epoch begins, and ids and message numbers a new range, because the lost records may have given out the next
        ones.
        """
        return self._seal(Cause(kind="recovery", topics=dict(topics), recovery=recovery), now, "done")

    def fold(self, decision: Decision, value: bytes, changes: Iterable[tuple[str, bytes | None]], adopted: Adopted) -> None:
        """Apply a recorded decision without deciding; `changes` are the packed values, `adopted` the rules it adopted."""
        self._apply(adopted)
        for key, data in changes:
            self.state.set(key, data)
            self.state.places.put(key, None if data is None else self._claim_of(key, data))
        self.position = advanced(self.position, decision, value)

    def _claim_of(self, key: str, packed: bytes) -> PlaceClaim | None:
        """Return the place that a packed value claims. Most claim none: their bytes show it without decoding."""
        fields = self.aggregate.claim_fields.get(key.partition("/")[0], ())
        if not any(packed_name(field) in packed for field in fields):
            return None
        return self.aggregate.claim(unpack_any(key, packed))

    def _apply(self, adopted: Adopted) -> list[RuleChange]:
        """Adopt records sorted by partition and sequence: the order in which a reader meets several partitions varies."""
        applied = []
        for partition, record in sorted(adopted, key=lambda entry: (entry[0], entry[1].sequence)):
            applied.append(RuleChange(self.rules.record(record.type, record.id), record))
            self.rules.apply(partition, record)
        return applied

    def _read(self, record: LogRecord) -> tuple[Envelope, Message]:
        if len(record.key or b"") > KEY_BYTES_MAX:
            raise _RefusedInputError("validation_failed", f"the key of the record has more than {KEY_BYTES_MAX} bytes")
        try:
            envelope = from_headers(record.headers)
        except EnvelopeError as error:
            raise _RefusedInputError("malformed_envelope", str(error)) from error
        decoder = self._decoders.get(envelope.type)
        if decoder is None:
            raise _RefusedInputError("unknown_type", f"{envelope.type[:100]!r} is not a type that is decided here")
        try:
            request: Message = decoder.decode(record.value or b"")
        except msgspec.ValidationError as error:
            raise _RefusedInputError("validation_failed", str(error)[:ERROR_LENGTH_MAX]) from error
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise _RefusedInputError("malformed_json", str(error)[:ERROR_LENGTH_MAX]) from error
        if self.aggregate.key_of(request).encode() != record.key:
            raise _RefusedInputError("wrong_partition", "the key of the record is not the one that its body says")
        return envelope, request

    def _is_repeat(self, envelope: Envelope) -> bool:
        if envelope.stream is None:
            return False
        mark = self.state.get(stream_key(envelope.stream), Stream)
        return mark is not None and (envelope.number or 0) <= mark.number

    def _run(
        self,
        cause: Cause,
        now: Instant,
        rule: Callable[[Draft], None],
        *,
        asked: ParsedRequest | None = None,
        record: LogRecord | None = None,
        mark: Changes = (),
    ) -> Sealed:
        draft = self._draft(now, behind=cause.behind)
        try:
            try:
                rule(draft)
                return self._seal(cause, now, "done", draft=draft, answer=draft.answer, mark=mark)
            except RefusedError as refusal:
                kept = record if record is not None and _is_unanswered(asked, record) else None
                if refusal.code in SIZE_REFUSALS:
                    stopped = self._decide_stop_only(cause, now, refusal, asked, record=kept, mark=mark)
                    if stopped is not None:
                        return stopped
                answer = refused(refusal.code, refusal.detail, refusal.errors, refusal.extra)
                letter = None if kept is None else dead_letter(kept, refusal.code, refusal.detail)
                return self._seal(cause, now, "refused", answer=answer, dead=letter, mark=mark)
            except RepeatedError:
                return self._seal(cause, now, "repeated", mark=mark)
        except Exception as error:  # noqa: BLE001 - our own fault, whatever it is: recorded, and the partition goes on
            stopped = self._decide_stop_only(cause, now, error, asked, record=record, mark=mark)
            return stopped or self._fail(cause, now, error, record=record, mark=mark)

    def _decide_stop_only(
        self,
        cause: Cause,
        now: Instant,
        error: Exception,
        asked: ParsedRequest | None,
        *,
        record: LogRecord | None,
        mark: Changes,
    ) -> Sealed | None:
        """Decide only the opt-out in a request that failed as a whole; return None where it asks for none.

        Without a `record` there is no dead letter: the answer says what was left out.
        """
        if asked is None:
            return None
        code, text = _error_code(error), _error_text(error)
        draft = self._draft(now, behind=True)
        try:
            if not self.aggregate.stop_at_least(draft, *asked):
                return None
            detail = f"{STOPPED} The rest was not done: {_error_detail(error)}"
            answer = draft.answer or refused(code, detail, _field_errors(error))
            letter = None if record is None else dead_letter(record, code, text, whole=cause.refusal is None)
            return self._seal(cause, now, "done", draft=draft, answer=answer, error=text, dead=letter, mark=mark)
        except Exception:  # noqa: BLE001 - the caller records the first fault
            return None

    def _fail(
        self, cause: Cause, now: Instant, error: Exception, *, record: LogRecord | None = None, mark: Changes = ()
    ) -> Sealed:
        """Record that an input could not be decided. The entity whose timer it was says so in its state."""
        code, text = _error_code(error), _error_text(error)
        if record is not None:
            answer = refused(code, "The request is kept among the dead letters; it changed nothing.")
            letter = dead_letter(record, code, text, whole=cause.refusal is None)
            dead = _unless_refused_twice(cause.refusal, letter)
            return self._seal(cause, now, "failed", answer=answer, error=text, dead=dead, mark=mark)
        if cause.key is None:  # an adoption
            return self._seal(cause, now, "failed", error=text)
        topic, sequence = self.aggregate.decisions_topic.name, self.position.sequence + 1
        letter = timer_dead_letter(
            topic, self.partition, sequence, key=cause.key, due_at=cause.due_at or EPOCH, code=code, detail=text
        )
        dead = _unless_refused_twice(cause.refusal, letter)
        if dead is not None:
            draft = self._draft(now, behind=True)
            try:
                self.aggregate.give_up(draft, cause.key, code)
                return self._seal(cause, now, "failed", draft=draft, error=text, dead=dead)
            except Exception as second:  # noqa: BLE001 - as above; then nothing changes, and the runner parks the timer
                text = f"{text}; giving it up: {_error_text(second)}"
        return self._seal(cause, now, "failed", error=text, dead=dead)

    def _draft(self, now: Instant, *, behind: bool) -> Draft:
        return Draft(self.state, now=now, rules=self.rules, partition=self.partition, ids=self.position.ids, behind=behind)

    def _seal(
        self,
        cause: Cause,
        now: Instant,
        verdict: str,
        *,
        draft: Draft | None = None,
        answer: Answer | None = None,
        error: str | None = None,
        dead: Outgoing | None = None,
        mark: Changes = (),
    ) -> Sealed:
        position = self.position
        sequence = position.sequence + 1
        changed = mark if draft is None else (*draft.changed.items(), *mark)
        changes, packed, published, size = _encode_changes(changed, sequence, self.state)
        entries = _entries(draft.messages, position.sent) if draft is not None and draft.messages else ()
        epoch = position.epoch + (cause.recovery is not None)
        number = DecisionNumber(epoch, sequence)
        emitted = () if draft is None else draft.commands
        commands = [_command_record(command, number) for command in emitted] if emitted else []
        decision = Decision(
            sequence=sequence,
            decided_at=now,
            prev=position.chain,
            cause=cause,
            verdict=verdict,  # type: ignore[arg-type]
            answer=answer,
            facts=() if draft is None else tuple(draft.facts),
            changes=tuple(changes),
            commands=tuple([said for said, _ in commands]) if commands else (),
            messages=tuple([_sent(entry) for entry in entries]) if entries else (),
            ids_after=draft.ids if draft is not None and draft.ids != position.ids else None,
            sent_after=entries[-1].number if entries else None,
            error=error,
            epoch=epoch,
        )
        value = to_json(decision)
        decision_key = _decision_key(cause, decision)
        written = [Outgoing(self.aggregate.decisions_topic.name, decision_key, value)]
        if len(value) > MEASURED_FROM_BYTES:
            _measured(written[0], "the decision")
        if commands:
            written += [outgoing for _, outgoing in commands]
        if published:
            written += [published_rule(one) for one in published]
        if dead is not None:
            written.append(dead)
        size += len(value)
        for one in written[1:]:
            size += len(one.value or b"")
        for entry in entries:
            size += len(entry.body)
        self.state.set_all(packed)  # only now: nothing that can raise may leave half a decision behind
        for key, entity in changed:
            if entity is None:
                self.state.places.put(key, None)
            elif type(entity) in self._claiming:
                self.state.places.put(key, self.aggregate.claim(entity))
        self.position = advanced(position, decision, value)
        return Sealed(decision, value, tuple(written), entries, changed, size)


def _encode_changes(
    changed: Changes, sequence: int, state: State
) -> tuple[list[Change], dict[str, bytes | None], list[records.Record], int]:
    """Return each change as the decision records it and as the state stores it, the published records, and the stored bytes.

    Raises `TooLargeError`.
    """
    changes: list[Change] = []
    packed: dict[str, bytes | None] = {}
    published: list[records.Record] = []
    size = 0
    for key, entity in changed:
        if len(key) > ENTITY_KEY_BYTES_MAX:
            raise TooLargeError(f"the key {key[:100]}…", len(key), ENTITY_KEY_BYTES_MAX)
        if entity is None:
            changes.append(Change(key=key, value=REMOVED))
            packed[key] = None
            gone = [name for name, _ in parts_of_removed(key, state)]
            changes += [Change(key=name, value=REMOVED) for name in gone]
            packed |= dict.fromkeys(gone)
            continue
        if isinstance(entity, records.Record):
            entity.sequence = sequence
            published.append(entity)
        json, kept = to_json(entity), entity
        apart: list[tuple[str, Part | None]] = []
        split = SPLIT.get(type(entity))
        if split is not None and (len(json) > INLINE_BYTES_MAX or getattr(entity, split.count)):
            kept, apart = divide(key, entity, len(json), state)
            json = to_json(kept)
        changes.append(Change(key=key, value=msgspec.Raw(json)))
        packed[key] = data = _packed(key, kept)
        size += len(data)
        for name, part in apart:
            changes.append(Change(key=name, value=REMOVED if part is None else msgspec.Raw(to_json(part))))
            packed[name] = stored = None if part is None else _packed(name, part)
            size += len(stored or b"")
    return changes, packed, published, size


def _packed(key: str, entity: Entity) -> bytes:
    """Return the stored bytes of a value. Raises `TooLargeError`."""
    data = to_pack(entity)
    if len(data) + ENTITY_KEY_BYTES_MAX > RECORD_BYTES_MAX:
        raise TooLargeError(f"the value of {key}", len(data))
    return data


def _measured(record: Outgoing, what: str) -> Outgoing:
    """Return a record that can be written. Raises `TooLargeError`."""
    value = record.value or b""
    if len(value) > MEASURED_FROM_BYTES:
        size = record_bytes(record.key, value, record.headers)
        if size > RECORD_BYTES_MAX:
            raise TooLargeError(what, size)
    return record


class TooLargeError(InternalError):
    """A record of a decision cannot be written; its input is recorded as failed."""

    def __init__(self, what: str, size_bytes: int, most: int = RECORD_BYTES_MAX) -> None:
        super().__init__(f"{what} would have {size_bytes} bytes; {most} is the most")


class LogRefusedError(TooLargeError):
    """The log has refused a record that our own limits allow: its topic is set to take less."""

    def __init__(self, refusal: Refusal) -> None:
        Exception.__init__(self, f"the log refused {refusal.reason}")


RANGE = 2**32
"""Ids and message numbers after a recovery begin at the next multiple: four billion are more than a partition gives out in
its life, and 2**53 / 1,024 / RANGE = 2,048 recoveries leave every id below 2**53."""


def advanced(position: Position, decision: Decision, value: bytes) -> Position:
    """Return where a partition stands after a decision."""
    cause = decision.cause
    if cause.recovery is not None:
        return msgspec.structs.replace(
            position,
            input_offset=cause.recovery.input_offset,
            input_digest=cause.recovery.input_digest,
            sequence=decision.sequence,
            chain=digest(value),
            ids=_next_range(position.ids),
            sent=_next_range(position.sent),
            decided_at=decision.decided_at,
            topics=cause.topics,
            epoch=decision.epoch,
        )
    return Position(
        input_offset=position.input_offset if cause.offset is None else cause.offset + 1,
        sequence=decision.sequence,
        chain=digest(value),
        ids=position.ids if decision.ids_after is None else decision.ids_after,
        sent=position.sent if decision.sent_after is None else decision.sent_after,
        decided_at=decision.decided_at,
        rules=cause.rules if cause.kind == "adoption" else position.rules,
        versions=cause.versions if cause.kind == "adoption" else position.versions,
        input_digest=position.input_digest if cause.digest is None else cause.digest,
        topics=cause.topics or position.topics,
        stream=position.stream or cause.stream,
        epoch=decision.epoch,
    )


def _next_range(number: int) -> int:
    return (number // RANGE + 1) * RANGE


def refused(
    code: str, detail: str, errors: Mapping[str, list[str]] | None = None, extra: Mapping[str, Any] | None = None
) -> Answer:
    """Return the answer to a refused request."""
    status = PROBLEMS[code].status
    return Answer(status=status, code=code, detail=detail, errors=dict(errors or {}), extra=dict(extra or {}))


def _stream_mark(envelope: Envelope, now: Instant) -> Changes:
    """Return the change to the stream's high-water mark: a later delivery of the same number is a repeat."""
    if envelope.stream is None:
        return ()
    return ((stream_key(envelope.stream), Stream(number=envelope.number or 0, updated_at=now)),)


def _request_cause(record: LogRecord, *, behind: bool, refusal: Refusal | None, id: str | None, type: str | None) -> Cause:  # noqa: A002 - CloudEvents' names
    return Cause(
        kind="request",
        offset=record.offset,
        digest=request_digest(record),
        id=id,
        type=type,
        key=_key_text(record),
        behind=behind,
        refusal=refusal,
    )


def _key_text(record: LogRecord) -> str | None:
    """Return the contact of a request, also of a refused one: the projection shows its answer to that company only."""
    return None if record.key is None else record.key[:KEY_BYTES_MAX].decode(errors="replace")


def _identity_headers(record: LogRecord) -> dict[str, Any]:
    """Return the id and type of a record whose envelope or body is bad, as far as they can be read."""
    found = {name: value[:200].decode(errors="replace") for name, value in record.headers if name in {"ce_id", "ce_type"}}
    return {"id": found.get("ce_id"), "type": found.get("ce_type")}


def _error_text(error: Exception) -> str:
    """Return the type and the text of an error, cut, in characters that can be written."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an error of the error
        text = "(its text cannot be read)"
    return f"{type(error).__name__}: {text}"[:ERROR_LENGTH_MAX].encode(errors="replace").decode()


def _error_code(error: Exception) -> str:
    """Return the code of `schemas.problems` for an error that prevented a decision."""
    if isinstance(error, RefusedError):
        return error.code
    return TOO_LARGE if isinstance(error, TooLargeError) else DECISION_FAILED


def _error_detail(error: Exception) -> str:
    return error.detail if isinstance(error, RefusedError) else "the request is kept among the dead letters."


def _field_errors(error: Exception) -> Mapping[str, list[str]]:
    return error.errors if isinstance(error, RefusedError) else {}


def _is_unanswered(asked: ParsedRequest | None, record: LogRecord) -> bool:
    """Return whether the sender gets no answer, so that a refusal leaves a dead letter: of an inbox, or redriven."""
    stream = None if asked is None else asked[1].stream
    is_of_inbox = stream is not None and stream.startswith(UNANSWERED_STREAMS)
    return is_of_inbox or any(name == ORIGIN for name, _ in record.headers)


def _unless_refused_twice(refusal: Refusal | None, letter: Outgoing) -> Outgoing | None:
    """Return a dead letter, unless the log refused the input twice: it may refuse the dead letter itself."""
    return None if refusal is not None and refusal.times >= REFUSALS_MAX else letter


def _entries(messages: Iterable[OutboxMessage], sent: int) -> tuple[OutboxEntry, ...]:
    """Number the messages. Raises `TooLargeError`: each is a value of the changelog, and a request later."""
    entries = []
    for number, letter in enumerate(messages, start=sent + 1):
        size = len(letter.body) + len(letter.key) + MESSAGE_FRAME_BYTES
        if size > RECORD_BYTES_MAX:
            raise TooLargeError(f"the message {letter.type}", size)
        entries.append(OutboxEntry(number=number, topic=letter.topic, key=letter.key, type=letter.type, body=letter.body))
    return tuple(entries)


def outbox_entry(sent: Sent) -> OutboxEntry:
    """Return the waiting message that a decision says it has sent."""
    return OutboxEntry(number=sent.number, topic=sent.topic, key=sent.key, type=sent.type, body=bytes(sent.body))


def _sent(entry: OutboxEntry) -> Sent:
    return Sent(number=entry.number, topic=entry.topic, key=entry.key, type=entry.type, body=msgspec.Raw(entry.body))


def _command_record(command: OutgoingCommand, number: DecisionNumber) -> tuple[Emitted, Outgoing]:
    value, kind = to_json(command.value), _tag(type(command.value))
    headers = to_headers(Envelope(id=command.id, type=kind, source="/scheduler", decision=number))
    outgoing = _measured(Outgoing(command.topic, command.key.encode(), value, headers), kind)
    return Emitted(topic=command.topic, id=command.id, digest=digest(value)), outgoing


def _decision_key(cause: Cause, decision: Decision) -> bytes | None:
    """Return the key of the request, else of the entity that was due, else of the first that changed: for viewers."""
    if cause.key is not None:
        return cause.key.encode()
    return decision.changes[0].key.encode() if decision.changes else None


def published_rule(record: records.Record) -> Outgoing:
    """Return the record of `accounts.rules` that publishes a version. Raises `TooLargeError`."""
    key = records.rules_key(record)
    return _measured(Outgoing(ACCOUNTS_RULES.name, key.encode(), to_json(record)), f"the rule {key}")


@cache
def _tag(kind: type[msgspec.Struct]) -> str:
    # Cached by type: `__struct_config__` builds its answer for each command again.
    return str(kind.__struct_config__.tag)
