"""What does a dead letter hold? The bytes of an input that could not be decided, or an excerpt; its headers say why.

| header | what it says |
| --- | --- |
| `dl_code`, `dl_detail` | why: a code of `schemas.problems`, and a sentence |
| `dl_topic`, `dl_partition`, `dl_offset` | where the record stands; a timer has no record, and no offset |
| `dl_sequence` | of a timer: the decision that failed, in the topic and partition of the decisions |
| `dl_size`, `dl_digest` | of an excerpt: the bytes of the whole value, and the digest of key, value and headers |
"""

from collections.abc import Iterable

from engine.limits import DEAD_LETTER_BYTES_MAX, EXCERPT_BYTES, HEADERS_EXCERPT_BYTES, KEY_BYTES_MAX
from engine.partition.ports import Headers, LogRecord, Outgoing
from schemas.instant import Instant, to_rfc3339
from schemas.topics import DEADLETTER
from schemas.wire import digest, to_json, to_pack

PREFIX = "dl_"
ORIGIN = "dl_origin"
"""Of a redriven record: the dead letter that it was. It stays where the record fails again."""

ORIGIN_LENGTH_MAX = 40
"""A partition and an offset."""

DETAIL_LENGTH_MAX = 500

HEADER_FRAME_BYTES = 10
"""The most that Kafka's record format adds to a header: two lengths."""


def record_bytes(key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
    """Return the size of a record as it is stored, without the framing of its batch."""
    framed = sum(len(name.encode(errors="replace")) + len(held or b"") + HEADER_FRAME_BYTES for name, held in headers)
    return len(key or b"") + len(value or b"") + framed


def digest_of(record: LogRecord | Outgoing) -> str:
    """Return the digest of a record as its sender wrote it, also from a whole dead letter.

    It equals the digest in the decision's cause, unless the sender used headers that begin with `dl_`.
    """
    return digest(to_pack((record.key, record.value, senders_headers(record.headers))))


def senders_headers(headers: Headers) -> Headers:
    """Return the headers of the sender, without those that the dead letter added."""
    return tuple(header for header in headers if _is_senders(*header))


def dead_letter(record: LogRecord, code: str, detail: str, *, whole: bool = True) -> Outgoing:
    """Return the dead letter of a record; it fits into `deadletter` whatever the record holds.

    Return an excerpt where the whole does not fit, or where the log has refused it (`whole` false).
    """
    kept = senders_headers(record.headers)
    why = (
        ("dl_code", code.encode()),
        ("dl_detail", detail[:DETAIL_LENGTH_MAX].encode(errors="replace")),
        ("dl_topic", record.topic.encode()),
        ("dl_partition", b"%d" % record.partition),
        ("dl_offset", b"%d" % record.offset),
    )
    letter = Outgoing(DEADLETTER.name, record.key, record.value, kept + why)
    fits = record_bytes(letter.key, letter.value, letter.headers) <= DEAD_LETTER_BYTES_MAX
    return letter if whole and fits else excerpt(letter)


def excerpt(letter: Outgoing) -> Outgoing:
    """Cut a whole dead letter to a few kilobytes, which every topic accepts."""
    own = tuple(header for header in letter.headers if not _is_senders(*header))
    about = (("dl_size", b"%d" % len(letter.value or b"")), ("dl_digest", digest_of(letter).encode()))
    key = None if letter.key is None else letter.key[:KEY_BYTES_MAX]
    value = None if letter.value is None else letter.value[:EXCERPT_BYTES]
    return Outgoing(letter.topic, key, value, (*_first(senders_headers(letter.headers)), *own, *about))


def timer_dead_letter(
    topic: str, partition: int, sequence: int, *, key: str, due_at: Instant, code: str, detail: str
) -> Outgoing:
    """Return the dead letter of a timer: the key, when it was due, and the decision that failed."""
    said = {
        "key": key,
        "due_at": to_rfc3339(due_at),
        "error": detail[:DETAIL_LENGTH_MAX],
        "decisions": topic,
        "sequence": sequence,
    }
    headers = (
        ("dl_code", code.encode()),
        ("dl_detail", detail[:DETAIL_LENGTH_MAX].encode(errors="replace")),
        ("dl_topic", topic.encode()),
        ("dl_partition", b"%d" % partition),
        ("dl_sequence", b"%d" % sequence),
    )
    return Outgoing(DEADLETTER.name, key[:KEY_BYTES_MAX].encode(), to_json(said), headers)


def is_excerpt(headers: Headers) -> bool:
    """Return whether a dead letter holds only an excerpt."""
    return any(name == "dl_digest" for name, _ in headers)


def _is_senders(name: str, value: bytes) -> bool:
    return not name.startswith(PREFIX) or (name == ORIGIN and len(value) <= ORIGIN_LENGTH_MAX)


def _first(headers: Headers) -> Iterable[tuple[str, bytes]]:
    """Return the first headers that fit into an excerpt, each whole: a cut value would look like another one."""
    size = 0
    for header in headers:
        size += record_bytes(None, None, (header,))
        if size > HEADERS_EXCERPT_BYTES:
            return
        yield header
