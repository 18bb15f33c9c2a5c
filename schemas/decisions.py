"""What does a recorded decision hold? One record per input of a partition, in order, chained by hash.

The value of a record is the JSON of a `Decision`; `prev` is the digest of the record before it, so a changed or missing
record shows at the next one. The state at any position is the fold of `changes`: no rule has to run.
"""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from schemas.instant import EPOCH, Instant
from schemas.wire import Message

GENESIS = ""
"""`prev` of the first decision of a partition."""


REMOVED = msgspec.Raw(b"null")
"""The value of a removed key."""


class DecisionPart(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A piece of a decision."""


class Refusal(DecisionPart, frozen=True, kw_only=True):
    """The log refused a record of the first decision on this input: why, and how often. The input is decided as failed."""

    reason: str
    times: int = 1


class TopicRecovery(DecisionPart, frozen=True, kw_only=True):
    """What an operator settled after a topic was lost: who, why, and what each topic lost, in words.

    Requests are decided from `input_offset` on; `input_digest` is that of the record before it, empty where that is another
    topic than before. `lost_from` is where the first request stood that was decided and is gone, where that is before it.
    """

    by: str
    reason: str
    lost: tuple[str, ...]
    input_offset: int = 0
    input_digest: str = ""
    lost_from: int | None = None


class Cause(DecisionPart, frozen=True, kw_only=True):
    """The input.

    `request`: where it stood and the digest of its bytes. `tick`: the lead (or entity) that was due.
    `adoption`: the account positions and the versions of code and data that decide from here on. `topics` are the ids of the
    topics that the partition reads and writes, by name without the prefix; given where it knew none before. `stream` names
    its numbered messages for ever.
    `recovery`: an operator has settled a loss; `topics` are those that are read and written from here on, in a new epoch.

    `behind` says that the partition had unread requests older than 2 s, so that no contact command might be emitted.
    """

    kind: Literal["request", "tick", "adoption", "recovery"]
    offset: int | None = None
    digest: str | None = None
    id: str | None = None
    type: str | None = None
    key: str | None = None
    due_at: Instant | None = None
    rules: dict[str, int] = {}
    versions: dict[str, str] = {}
    topics: dict[str, str] = {}
    stream: str = ""
    recovery: TopicRecovery | None = None
    behind: bool = False
    refusal: Refusal | None = None


class Answer(DecisionPart, frozen=True, kw_only=True):
    """The answer to the sender: an HTTP status, a code of `schemas.problems` where it was refused, and the record."""

    status: int
    code: str | None = None
    detail: str | None = None
    errors: dict[str, list[str]] = {}
    record_type: str | None = None
    record_id: int | None = None
    record_ids: tuple[int, ...] = ()
    dedupe_action: str | None = None
    extra: dict[str, Any] = {}


class Fact(DecisionPart, frozen=True, kw_only=True):
    """Something that is now true, in the past tense (`lead.scheduled`, `command.emitted`); the history of a lead."""

    type: str
    lead_id: int | None = None
    call_id: int | None = None
    data: dict[str, Any] = {}


class Change(DecisionPart, frozen=True, kw_only=True):
    """The value of one key of state after the decision, as JSON; `null` where it was removed."""

    key: str
    value: msgspec.Raw


class Emitted(DecisionPart, frozen=True, kw_only=True):
    """A command or fence in the same transaction: its topic, its id and the digest of its bytes."""

    topic: str
    id: str
    digest: str


class Sent(DecisionPart, frozen=True, kw_only=True):
    """A message to another partition, stored in the outbox under `number` until it is acknowledged."""

    number: int
    topic: str
    key: str
    type: str
    body: msgspec.Raw


class Decision(Message, frozen=True, kw_only=True):
    """One record of `*.decisions`; `sequence` counts from 1 without gaps in each partition.

    `epoch` is 1 until an operator begins a new one, after a loss: commands of an older one are not carried out any more.

    `verdict` is done, refused (the answer says why), repeated (the input was decided before: nothing changed), or failed
    (deciding raised, or a record of it could not be written: `error` says what, the input is in `deadletter`). A failed
    decision changes nothing but the lead whose timer it was: it waits to be tried again, or has ended as `failure`.
    """

    sequence: int
    decided_at: Instant
    prev: str
    cause: Cause
    verdict: Literal["done", "refused", "repeated", "failed"] = "done"
    answer: Answer | None = None
    facts: tuple[Fact, ...] = ()
    changes: tuple[Change, ...] = ()
    commands: tuple[Emitted, ...] = ()
    messages: tuple[Sent, ...] = ()
    ids_after: int | None = None
    sent_after: int | None = None
    error: str | None = None
    epoch: int = 1


class OutboxEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message that was decided and is not yet acknowledged; key `__outbox__/number` of the changelog."""

    number: int
    topic: str
    key: str
    type: str
    body: bytes
    rules_partition: int | None = None
    rules_sequence: int = 0


class Position(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a partition stands: written to the changelog as `__position__` in every transaction.

    `input_offset` is the next record to read, `sequence` and `chain` those of the last decision, `ids` and `sent` the
    last id and message number given out, `rules` the adopted position per accounts partition, `decided_at` never goes back.

    `input_digest` is that of the record before `input_offset`, `topics` holds the ids of the topics that were read and
    written so far: they tell a topic that lost records, or was made again, from the one that the partition has read.
    `stream` names the numbered messages of the partition, also where its changelog was made again.
    `epoch` is that of the last decision.
    """

    input_offset: int = 0
    sequence: int = 0
    chain: str = GENESIS
    ids: int = 0
    sent: int = 0
    decided_at: Instant = EPOCH
    rules: dict[str, int] = {}
    versions: dict[str, str] = {}
    input_digest: str = ""
    topics: dict[str, str] = {}
    stream: str = ""
    epoch: int = 1
