"""What is decided on one input? The same code for the running partition, the auditor and the simulator.

An input is a record of the requests topic, a timer that is due, or newer rules. Each gives exactly one decision,
whatever it holds: one that cannot be read is refused, one on which deciding raises is recorded as failed; both are kept
among the dead letters.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from engine.partition.aggregate import Adoption, Aggregate, News
from engine.partition.draft import Draft, Letter, Order, RefusedError, RepeatedError
from engine.partition.ports import Outgoing, Record
from engine.partition.state import State
from engine.rules import Rules
from schemas import records
from schemas.decisions import REMOVED, Answer, Cause, Change, Decision, Emitted, OutboxEntry, Position, Sent
from schemas.envelope import Envelope, EnvelopeError, from_headers, to_headers
from schemas.instant import Instant
from schemas.problems import PROBLEMS
from schemas.state import Stream, stream_key
from schemas.topics import ACCOUNTS_RULES, DEADLETTER, RECORD_BYTES_MAX
from schemas.wire import Entity, Message, digest, to_json, to_pack

ERROR_LENGTH_MAX = 500
"""Of the text of an unexpected error: enough to find the line, too little to carry somebody's data."""

KEY_LENGTH_MAX = 400
"""Of the key of a request, in bytes: a contact key is at most a company's number and an e-mail address of 254."""

Changes = tuple[tuple[str, Entity | None], ...]


class Sealed(Struct, frozen=True):
    """One decision, ready to be committed; `records` go to the partition of the same number."""

    decision: Decision
    value: bytes
    records: tuple[Outgoing, ...]
    entries: tuple[OutboxEntry, ...]
    changes: Changes


class _RefusedInputError(Exception):
    """The record itself cannot be decided on; it goes to the dead letters as well."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class Decider:
    """Decides the inputs of one partition in order; `position` and the pending state move on with each decision."""

    def __init__(self, aggregate: Aggregate, partition: int, state: State, rules: Rules, position: Position) -> None:
        self.aggregate = aggregate
        self.partition = partition
        self.state = state
        self.rules = rules
        self.position = position
        self._decoders = {
            name: msgspec.json.Decoder(kind) for name, kind in aggregate.request_types.items()
        }  # strict: numbers in text are refused

    def request(self, record: Record, now: Instant, *, behind: bool = False) -> Sealed:
        """Decide one record of the requests topic."""
        try:
            envelope, request = self._read(record)
        except _RefusedInputError as refusal:
            cause = _asked(record, behind=behind, **_named(record))
            answer = refused(refusal.code, str(refusal))
            return self._seal(cause, now, "refused", answer=answer, dead=dead_letter(record, refusal.code, str(refusal)))
        cause = _asked(record, behind=behind, id=envelope.id, type=envelope.type)
        if self._is_repeat(envelope):
            return self._seal(cause, now, "repeated")
        return self._run(
            cause,
            now,
            lambda draft: self.aggregate.decide(draft, request, envelope),
            behind=behind,
            record=record,
            mark=_mark(envelope, now),
        )

    def tick(self, key: str, due_at: Instant, now: Instant, *, behind: bool = False) -> Sealed:
        """Decide a timer that is due."""
        cause = Cause(kind="tick", key=key, due_at=due_at, behind=behind)
        return self._run(cause, now, lambda draft: self.aggregate.wake(draft, key, due_at), behind=behind)

    def adoption(self, entries: Iterable[tuple[int, records.Record]], versions: Mapping[str, str], now: Instant) -> Sealed:
        """Take newer rules, or newer versions of code and data, from here on.

        In an order of their own: that in which a reader meets the records of several partitions is chance.
        """
        news = []
        for partition, record in sorted(entries, key=lambda entry: (entry[0], entry[1].sequence)):
            news.append(News(self.rules.record(record.type, record.id), record))
            self.rules.apply(partition, record)
        positions = {str(partition): sequence for partition, sequence in sorted(self.rules.positions.items())}
        cause = Cause(kind="adoption", rules=positions, versions=dict(versions))
        adoption = Adoption(news=news, versions_before=self.position.versions, versions=versions)
        return self._run(cause, now, lambda draft: self.aggregate.adopt(draft, adoption), behind=False)

    def _read(self, record: Record) -> tuple[Envelope, Message]:
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
        behind: bool,
        record: Record | None = None,
        mark: Changes = (),
    ) -> Sealed:
        draft = self._draft(now, behind=behind)
        try:
            rule(draft)
            return self._seal(cause, now, "done", draft=draft, answer=draft.answer, mark=mark)
        except RefusedError as refusal:
            answer = refused(refusal.code, refusal.detail, refusal.errors, refusal.extra)
            return self._seal(cause, now, "refused", answer=answer, mark=mark)
        except RepeatedError:
            return self._seal(cause, now, "repeated", mark=mark)
        except Exception as error:  # noqa: BLE001 - our own fault, whatever it is: recorded, and the partition goes on
            text = f"{type(error).__name__}: {error}"[:ERROR_LENGTH_MAX]
            answer = refused("decision_failed", "The request is kept among the dead letters; it changed nothing.")
            dead = None if record is None else dead_letter(record, "decision_failed", text)
            return self._seal(cause, now, "failed", answer=answer, error=text, dead=dead, mark=mark)

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
        changes, packed, published = _written(changed, sequence)
        entries = _entries(draft.letters, position.sent) if draft is not None and draft.letters else ()
        orders = [_order(order) for order in draft.orders] if draft is not None and draft.orders else []
        decision = Decision(
            sequence=sequence,
            decided_at=now,
            prev=position.chain,
            cause=cause,
            verdict=verdict,  # type: ignore[arg-type]
            answer=answer,
            facts=() if draft is None else tuple(draft.facts),
            changes=tuple(changes),
            commands=tuple([emitted for emitted, _ in orders]) if orders else (),
            messages=tuple([_sent(entry) for entry in entries]) if entries else (),
            ids_after=draft.ids if draft is not None and draft.ids != position.ids else None,
            sent_after=entries[-1].number if entries else None,
            error=error,
        )
        value = to_json(decision)
        if len(value) > RECORD_BYTES_MAX:
            raise DecisionTooLargeError(len(value))
        written = [Outgoing(self.aggregate.decisions_topic.name, _decision_key(cause, decision), value)]
        if orders:
            written += [outgoing for _, outgoing in orders]
        if published:
            written += [Outgoing(ACCOUNTS_RULES.name, records.rules_key(one).encode(), to_json(one)) for one in published]
        if dead is not None:
            written.append(dead)
        for key, data in packed:  # only now: nothing that can raise may leave half a decision behind
            self.state.set(key, data)
        self.position = advanced(position, decision, value)
        return Sealed(decision, value, tuple(written), entries, changed)


def _written(changed: Changes, sequence: int) -> tuple[list[Change], list[tuple[str, bytes | None]], list[records.Record]]:
    """Return each change as the decision tells it and as the state keeps it, and the records that others are to read."""
    told: list[Change] = []
    packed: list[tuple[str, bytes | None]] = []
    published: list[records.Record] = []
    for key, entity in changed:
        if entity is None:
            told.append(Change(key=key, value=REMOVED))
            packed.append((key, None))
            continue
        if isinstance(entity, records.Record):
            entity.sequence = sequence
            published.append(entity)
        told.append(Change(key=key, value=msgspec.Raw(to_json(entity))))
        packed.append((key, to_pack(entity)))
    return told, packed, published


class DecisionTooLargeError(Exception):
    """A decision would not fit into one record; its input is recorded as failed."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"the decision has {size_bytes} bytes; {RECORD_BYTES_MAX} is the most that one record holds")


def advanced(position: Position, decision: Decision, value: bytes) -> Position:
    """Return where a partition stands after a decision."""
    cause = decision.cause
    return Position(
        input_offset=position.input_offset if cause.offset is None else cause.offset + 1,
        sequence=decision.sequence,
        chain=digest(value),
        ids=position.ids if decision.ids_after is None else decision.ids_after,
        sent=position.sent if decision.sent_after is None else decision.sent_after,
        decided_at=decision.decided_at,
        rules=cause.rules if cause.kind == "adoption" else position.rules,
        versions=cause.versions if cause.kind == "adoption" else position.versions,
    )


def refused(
    code: str, detail: str, errors: Mapping[str, list[str]] | None = None, extra: Mapping[str, Any] | None = None
) -> Answer:
    """Return the answer to a refused request."""
    status = PROBLEMS[code].status
    return Answer(status=status, code=code, detail=detail, errors=dict(errors or {}), extra=dict(extra or {}))


def _mark(envelope: Envelope, now: Instant) -> Changes:
    """Return the change that makes a later delivery of the same number a repeat, whatever is decided on this one."""
    if envelope.stream is None:
        return ()
    return ((stream_key(envelope.stream), Stream(number=envelope.number or 0, updated_at=now)),)


def _asked(record: Record, *, behind: bool, id: str | None, type: str | None) -> Cause:  # noqa: A002 - CloudEvents' names
    return Cause(
        kind="request", offset=record.offset, digest=_digest(record), id=id, type=type, key=_key_text(record), behind=behind
    )


def _digest(record: Record) -> str:
    return digest(to_pack((record.key, record.value, record.headers)))  # MessagePack: no two lists of parts look alike


def _key_text(record: Record) -> str | None:
    """Return whom a request is about, also where it is refused: the projection shows an answer to that company only."""
    return None if record.key is None else record.key[:KEY_LENGTH_MAX].decode(errors="replace")


def _named(record: Record) -> dict[str, Any]:
    """Return the id and type of a record whose envelope or body is bad, as far as they can be read."""
    found = {name: value[:200].decode(errors="replace") for name, value in record.headers if name in {"ce_id", "ce_type"}}
    return {"id": found.get("ce_id"), "type": found.get("ce_type")}


def dead_letter(record: Record, code: str, detail: str) -> Outgoing:
    """Return the dead letter of a record: its bytes as they were, and in headers where it came from and why."""
    headers = (
        ("dl_code", code.encode()),
        ("dl_detail", detail[:ERROR_LENGTH_MAX].encode()),
        ("dl_topic", record.topic.encode()),
        ("dl_partition", b"%d" % record.partition),
        ("dl_offset", b"%d" % record.offset),
    )
    return Outgoing(DEADLETTER.name, record.key, record.value, record.headers + headers)


def _entries(letters: Iterable[Letter], sent: int) -> tuple[OutboxEntry, ...]:
    return tuple(
        OutboxEntry(number=number, topic=letter.topic, key=letter.key, type=letter.type, body=letter.body)
        for number, letter in enumerate(letters, start=sent + 1)
    )


def _sent(entry: OutboxEntry) -> Sent:
    return Sent(number=entry.number, topic=entry.topic, key=entry.key, type=entry.type, body=msgspec.Raw(entry.body))


def _order(order: Order) -> tuple[Emitted, Outgoing]:
    value = to_json(order.value)
    headers = to_headers(Envelope(id=order.id, type=_tag(type(order.value)), source="/scheduler"))
    outgoing = Outgoing(order.topic, order.key.encode(), value, headers)
    return Emitted(topic=order.topic, id=order.id, digest=digest(value)), outgoing


def _decision_key(cause: Cause, decision: Decision) -> bytes | None:
    """Return the key of the request, else of the entity that was due, else of the first that changed: for viewers."""
    if cause.key is not None:
        return cause.key.encode()
    return decision.changes[0].key.encode() if decision.changes else None


@cache
def _tag(kind: type[msgspec.Struct]) -> str:
    # Asked for once a type: the struct would make the answer anew for each order.
    return str(kind.__struct_config__.tag)
