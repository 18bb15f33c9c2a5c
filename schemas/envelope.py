"""What is the envelope of a message? CloudEvents 1.0 attributes as `ce_*` headers (binary mode); the value is the body.

Extension attributes of ours (lower-case letters and digits, as CloudEvents asks):
`ce_stream` and `ce_number`   the numbered stream that this record is part of; the receiver refuses a number it has passed
`ce_rules`                    `partition:sequence` of the account decisions that the sender had seen
`ce_decision`                 `epoch:sequence` of the decision that emitted this command
`ce_actor`                    who asks, and from where: `key/7;ada@example.com;192.0.2.1`; parts may be empty
"""

from functools import lru_cache

from msgspec import Struct

from schemas.errors import SenderError
from schemas.instant import Instant, to_rfc3339

Headers = tuple[tuple[str, bytes], ...]

ID_LENGTH_MAX = 200
"""An id, type, source or stream longer than this is refused: ids are remembered per contact for a day, streams for ever."""

ACTOR_LENGTH_MAX = 500
"""A key, the longest e-mail address and the longest network address."""

HEADERS_KEPT_MAX = 1_024
"""Cached header values: senders mostly repeat the same."""


class DecisionNumber(Struct, frozen=True, order=True, gc=False):
    """Which decision of a partition: a later one has a higher number. An operator begins a new epoch, else it is 1."""

    epoch: int = 1
    sequence: int = 0


class Envelope(Struct, frozen=True, kw_only=True, gc=False):
    """The attributes of a message: `id` is unique per `source`; `type` names the struct of the body."""

    id: str
    type: str
    source: str
    time: Instant | None = None
    subject: str | None = None
    stream: str | None = None
    number: int | None = None
    rules_partition: int | None = None
    rules_sequence: int = 0
    traceparent: str | None = None
    actor: str | None = None
    decision: DecisionNumber | None = None


class EnvelopeError(SenderError, ValueError):
    """The headers are not a CloudEvents envelope; `str(error)` says what is missing or malformed."""


def to_headers(envelope: Envelope) -> Headers:
    """Return the Kafka headers of an envelope."""
    headers = [
        ("ce_specversion", b"1.0"),
        ("ce_id", envelope.id.encode()),
        ("ce_type", envelope.type.encode()),
        ("ce_source", envelope.source.encode()),
        ("content-type", b"application/json"),
    ]
    if envelope.time is not None:
        headers.append(("ce_time", to_rfc3339(envelope.time).encode()))
    if envelope.subject is not None:
        headers.append(("ce_subject", envelope.subject.encode()))
    if envelope.stream is not None:
        headers.append(("ce_stream", envelope.stream.encode()))
        headers.append(("ce_number", b"%d" % (envelope.number or 0)))
    if envelope.rules_partition is not None:
        headers.append(("ce_rules", b"%d:%d" % (envelope.rules_partition, envelope.rules_sequence)))
    if envelope.decision is not None:
        headers.append(("ce_decision", b"%d:%d" % (envelope.decision.epoch, envelope.decision.sequence)))
    if envelope.actor is not None:
        headers.append(("ce_actor", envelope.actor.encode()))
    if envelope.traceparent is not None:
        headers.append(("traceparent", envelope.traceparent.encode()))
    return tuple(headers)


def from_headers(headers: Headers) -> Envelope:
    """Read the envelope of a record. Raises `EnvelopeError` where an attribute is missing or malformed.

    `ce_time` is not read: no decision may rest on a sender's clock.
    """
    found = dict(headers)
    missing = [name for name in ("ce_id", "ce_type", "ce_source") if not found.get(name)]
    if missing:
        raise EnvelopeError(f"the record has no {' and no '.join(missing)} header")
    rules_partition, rules_sequence = _rules(found.get("ce_rules"))
    stream = found.get("ce_stream")
    return Envelope(
        id=_checked("ce_id", found["ce_id"]),
        type=_often_checked("ce_type", found["ce_type"]),
        source=_often_checked("ce_source", found["ce_source"]),
        subject=_decoded(found.get("ce_subject")),
        stream=None if stream is None else _often_checked("ce_stream", stream),
        number=None if stream is None else _number("ce_number", found.get("ce_number", b"")),
        rules_partition=rules_partition,
        rules_sequence=rules_sequence,
        traceparent=_decoded(found.get("traceparent")),
        actor=None if "ce_actor" not in found else _checked("ce_actor", found["ce_actor"], most=ACTOR_LENGTH_MAX),
    )


def rules_seen(headers: Headers) -> tuple[int | None, int]:
    """Return the partition and sequence of `ce_rules`; (None, 0) where it is missing or malformed."""
    for name, value in headers:
        if name == "ce_rules":
            return _rules_in(value)
    return None, 0


def emitted_by(headers: Headers) -> DecisionNumber:
    """Return the decision that emitted a command. Raises `EnvelopeError` where the header is missing or malformed."""
    for name, value in headers:
        if name == "ce_decision":
            epoch, _, sequence = value.partition(b":")
            return DecisionNumber(_number("ce_decision", epoch), _number("ce_decision", sequence))
    raise EnvelopeError("the record has no ce_decision header")


def _rules_in(value: bytes) -> tuple[int | None, int]:
    try:
        return _rules(value)
    except EnvelopeError:
        return None, 0


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError as error:
        raise EnvelopeError("a header is not UTF-8 text") from error


def _checked(name: str, value: bytes, *, most: int = ID_LENGTH_MAX) -> str:
    text = _decoded(value) or ""
    if len(text) > most:
        raise EnvelopeError(f"{name} is longer than {most} characters")
    # CloudEvents 1.0 allows no control characters, and no database stores a NUL.
    if not text.isprintable():
        raise EnvelopeError(f"{name} has characters that cannot be printed")
    return text


_often_checked = lru_cache(maxsize=HEADERS_KEPT_MAX)(_checked)
"""For attributes that most records share."""


@lru_cache(maxsize=HEADERS_KEPT_MAX)
def _rules(value: bytes | None) -> tuple[int | None, int]:
    if value is None:
        return None, 0
    partition, _, sequence = value.partition(b":")
    return _number("ce_rules", partition), _number("ce_rules", sequence)


def _number(name: str, value: bytes) -> int:
    if not (value.isdigit() and len(value) < 19):  # noqa: PLR2004 - below 2**63
        raise EnvelopeError(f"{name} is not a whole number")
    return int(value)
