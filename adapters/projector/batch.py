"""What do consecutive decisions of one partition write? The last row of each id, facts, results, and the position.

Collapsing costs the database one row per id and batch, however often a lead changed. A batch that is split anywhere, or
applied again, leaves the same tables (tests/adapters/projector/test_projection_laws.py).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from adapters.postgres.jsonb_numbers import encode_for_jsonb
from adapters.postgres.tables import LEADS, SLOT_QUEUES
from adapters.projector.rows import PART, PARTS, PROJECTED, Row, Shape, without_nul
from engine.partition.ports import LogRecord
from schemas.decisions import REMOVED
from schemas.instant import Instant
from schemas.wire import digest

ERROR_LENGTH_MAX = 500
"""Characters of the reason stored with a decision that cannot be projected."""


_SLOT_QUEUE = LEADS.columns.index("slot_queue")

NO_ANSWER = REMOVED
"""What msgspec leaves in a `Raw` field that is absent from the JSON; it reads `Raw | None` as null only."""


UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError, KeyError)
"""What decoding a foreign or damaged record may raise."""


class ReadCause(Struct, frozen=True):
    """The parts of a cause that are projected."""

    kind: str
    id: str | None = None
    key: str | None = None


class ReadFact(Struct, frozen=True):
    """A fact whose data stays JSON."""

    type: str
    lead_id: int | None = None
    call_id: int | None = None
    data: msgspec.Raw = msgspec.Raw(b"{}")


class ReadChange(Struct, frozen=True):
    """One key and its value after the decision, as JSON; `null` where it was removed."""

    key: str
    value: msgspec.Raw = REMOVED


class ReadMessage(Struct, frozen=True):
    """A message to another partition."""

    type: str
    body: msgspec.Raw


class ReadDecision(Struct, frozen=True):
    """The parts of `schemas.decisions.Decision` that are projected; the rest is skipped, not decoded."""

    sequence: int
    decided_at: Instant
    cause: ReadCause
    verdict: Literal["done", "refused", "repeated", "failed"] = "done"
    answer: msgspec.Raw = NO_ANSWER
    facts: tuple[ReadFact, ...] = ()
    changes: tuple[ReadChange, ...] = ()
    messages: tuple[ReadMessage, ...] = ()


class _MovedLead(Struct, frozen=True):
    id: int


class _LeadMoved(Struct, frozen=True):
    lead: _MovedLead


DECISIONS = msgspec.json.Decoder(ReadDecision)
MOVED = msgspec.json.Decoder(_LeadMoved)


class ReadPart(Struct, frozen=True):
    """Some of the tokens of a large lead or call."""

    tokens: msgspec.Raw = msgspec.Raw(b"{}")


class ReadOwner(Struct, frozen=True):
    """The version of a lead or call, by which its newer parts are known."""

    version: int = 1


DECISION_PARTS = msgspec.json.Decoder(ReadPart)
PART_OWNERS = msgspec.json.Decoder(ReadOwner)


class SplitRow(Struct, frozen=True):
    """A row whose tokens are in `count` parts, as the decision of this sequence number left it."""

    sequence: int
    count: int


class Removal(Struct, frozen=True):
    """A row to mark as deleted or to delete: by which decision, and when."""

    key: tuple[int | str, ...]
    sequence: int
    at: Instant


class OffsetRange(Struct, frozen=True):
    """Which owner (`epoch`) writes which offsets: from `offset`, the present position, to before `offset_after`.

    `last_digest` is that of the record before `offset_after`; empty where there is none.
    """

    topic: str
    partition: int
    epoch: int
    offset: int
    offset_after: int
    last_digest: str = ""


class ProjectionBatch(Struct):
    """Everything that one transaction writes; `rows` and `removals` by table name, then by primary key.

    `parts` are the changed parts of tokens, by owner and number; `part_removals` the removed owners, with the sequence
    number of the removal; `split` the rows whose tokens are joined from their parts.

    `impressions` are rows that are inserted once: a batch holds them or what decisions write.

    `gaps` counts decisions whose sequence number does not follow the one before: records between them are missing or
    unreadable.
    """

    offset_range: OffsetRange
    sequence: int
    decided_at: Instant | None = None
    rows: dict[str, dict[tuple[int | str, ...], Row]] = {}
    removals: dict[str, dict[tuple[int | str, ...], Removal]] = {}
    history: list[Row] = []
    results: dict[str, Row] = {}
    faults: list[Row] = []
    gaps: int = 0
    parts: dict[tuple[str, int], Row] = {}
    part_removals: dict[str, int] = {}
    split: dict[str, dict[tuple[int | str, ...], SplitRow]] = {}
    impressions: list[Row] = []

    @property
    def rows_count(self) -> int:
        """Count the rows that it writes at most."""
        return (
            sum(len(rows) for rows in self.rows.values())
            + sum(len(removals) for removals in self.removals.values())
            + len(self.parts)
            + len(self.history)
            + len(self.results)
            + len(self.faults)
            + len(self.impressions)
        )

    def queues(self) -> list[tuple[int, str]]:
        """Return the queues for slots that it writes or removes, as company and name."""
        written = self.rows.get(SLOT_QUEUES.name, {})
        removed = self.removals.get(SLOT_QUEUES.name, {})
        return sorted({(int(key[0]), str(key[1])) for key in (*written, *removed)})

    def waiting_leads(self) -> list[tuple[int, int]]:
        """Return the leads that it writes and that are in a queue for slots, as company and id."""
        rows = self.rows.get(LEADS.name, {})
        return sorted((row[0], row[1]) for row in rows.values() if row[_SLOT_QUEUE] is not None)


def build_batch(
    records: Sequence[LogRecord],
    offset_range: OffsetRange,
    sequence: int,
    *,
    topic: str,
    shapes: Mapping[str, Shape],
) -> ProjectionBatch:
    """Collapse committed decisions, in order, into a batch.

    `sequence` is that of the last decision before; `topic` is the name stored with facts, without a prefix; `shapes` are
    those of the deployment. A decision, or a value in one, that cannot be read becomes a fault: the partition continues
    without it.
    """
    batch = ProjectionBatch(offset_range=offset_range, sequence=sequence)
    newest: dict[str, _Value] = {}
    removals: dict[str, tuple[str, Removal]] = {}
    for record in records:
        try:
            part = _DecisionRows(record, topic, shapes)
        except UNREADABLE as error:
            batch.faults.append(fault_row(record, None, error, topic))
            continue
        part.add_to(batch)
        for key, value in part.values:
            newest[key] = value
            removals.pop(key, None)
        removals.update(part.removals)
    _add_rows(batch, newest.values(), removals.values(), topic)
    return batch


def fault_row(record: LogRecord, sequence: int | None, error: Exception, topic: str) -> Row:
    """Return the row that says why a decision is not projected."""
    reason = f"{type(error).__name__}: {error}"[:ERROR_LENGTH_MAX].replace("\0", "\ufffd")
    return (topic, record.partition, record.offset, sequence, reason)


class _Value(Struct, frozen=True, gc=False):
    """The value of one key after a decision; only the last one of a batch is decoded and becomes a row."""

    shape: Shape
    json: msgspec.Raw
    sequence: int
    record: LogRecord


class _DecisionRows:
    """What one decision adds to a batch; built completely first, so that no decision is added by half."""

    def __init__(self, record: LogRecord, topic: str, shapes: Mapping[str, Shape]) -> None:
        decision = DECISIONS.decode(without_nul(record.value or b""))
        self.decision = decision
        self.values: list[tuple[str, _Value]] = []
        self.removals: dict[str, tuple[str, Removal]] = {}
        company_id, contact_key = find_subject(decision)
        moved = _moved_lead_keys(decision)
        self.parts: dict[tuple[str, int], Row] = {}
        self.part_removals: dict[str, int] = {}
        parts: list[ReadChange] = []
        for change in decision.changes:
            kind = change.key.partition("/")[0]
            shape = shapes.get(kind)
            if shape is None:
                if kind == PART:
                    parts.append(change)
            elif change.value != REMOVED:
                self.values.append((change.key, _Value(shape, change.value, decision.sequence, record)))
            elif change.key not in moved:
                removal = Removal(_removed_key(change.key, company_id), decision.sequence, decision.decided_at)
                self.removals[change.key] = (shape.table.name, removal)
        if parts:
            self._take_parts(parts, record.partition, moved)
        is_sweep = (decision.cause.key or "").startswith(SWEEP)
        record_digest = bytes.fromhex(digest(record.value or b"")) if decision.facts else b""
        self.history = [
            (
                *(topic, record.partition, decision.sequence, ordinal, decision.decided_at, fact.type),
                *(company_id, CONTACTS.decode(fact.data).contact_key if is_sweep else contact_key),
                *(fact.lead_id, fact.call_id, bytes(fact.data).decode(), record_digest),
            )
            for ordinal, fact in enumerate(decision.facts)
        ]
        self.result = _result(decision, company_id)

    def _take_parts(self, parts: Iterable[ReadChange], partition: int, moved: frozenset[str]) -> None:
        """Collect parts of tokens; those of a lead that moves stay until it arrives, as its row does."""
        decision = self.decision
        owners = {change.key: change.value for change in decision.changes if change.key.partition("/")[0] in PARTS}
        for change in parts:
            key, value = change.key, change.value
            _, number, owner = key.split("/", 2)
            if owners[owner] == REMOVED:
                if owner not in moved:
                    self.part_removals[owner] = decision.sequence
                continue
            version = PART_OWNERS.decode(owners[owner]).version
            tokens = b"{}" if value == REMOVED else encode_for_jsonb(bytes(DECISION_PARTS.decode(value).tokens))
            place = version, partition, decision.sequence
            self.parts[owner, int(number)] = (owner, int(number), *place, tokens.decode())

    def add_to(self, batch: ProjectionBatch) -> None:
        if self.parts or self.part_removals:
            batch.parts.update(self.parts)
            batch.part_removals.update(self.part_removals)
        batch.gaps += self.decision.sequence > batch.sequence + 1
        batch.sequence = max(batch.sequence, self.decision.sequence)
        batch.decided_at = self.decision.decided_at
        batch.history += self.history
        if self.result is not None:
            batch.results.setdefault(str(self.result[0]), self.result)


def _add_rows(batch: ProjectionBatch, values: Iterable[_Value], removals: Iterable[tuple[str, Removal]], topic: str) -> None:
    """Build rows of the last values and add them, with removals, to the batch."""
    for value in values:
        shape = value.shape
        try:
            entity = shape.decoder.decode(value.json)
            row = shape.row(entity, value.record.partition, value.sequence)
        except UNREADABLE as error:
            batch.faults.append(fault_row(value.record, value.sequence, error, topic))
            continue
        table = shape.table
        key = row[: table.key]
        batch.rows.setdefault(table.name, {})[key] = row
        if shape.parts_count is not None and (count := getattr(entity, shape.parts_count)):
            batch.split.setdefault(table.name, {})[key] = SplitRow(value.sequence, count)
    for name, removal in removals:
        batch.removals.setdefault(name, {})[removal.key] = removal


def find_subject(decision: ReadDecision) -> tuple[int | None, str | None]:
    """Return the company and contact of a decision, if its keys name them."""
    key = decision.cause.key or ""
    for candidate in (key, *(change.key for change in decision.changes)):
        kind, _, rest = candidate.partition("/")
        owner_of_pool, _, pool = kind.partition("|")
        if pool == "ring_pool" and owner_of_pool.isascii() and owner_of_pool.isdigit():
            return int(owner_of_pool), None
        contact_key = candidate if not rest else rest if kind == "head" else ""
        company, bar, _ = contact_key.partition("|")
        if company.isascii() and company.isdigit():
            return int(company), contact_key if bar else None
    for change in decision.changes:
        if change.value != REMOVED and change.key.partition("/")[0] in PROJECTED:
            owner = OWNERS.decode(change.value)
            return owner.company_id, owner.contact_key
    return None, None


class _Owner(Struct, frozen=True):
    company_id: int
    contact_key: str | None = None


OWNERS = msgspec.json.Decoder(_Owner)


class _NamedContact(Struct, frozen=True):
    contact_key: str | None = None


CONTACTS = msgspec.json.Decoder(_NamedContact)

SWEEP = "unblock/"
"""Keys of sweeps over many contacts: each of their facts names its own."""


def _moved_lead_keys(decision: ReadDecision) -> frozenset[str]:
    """Return the keys of leads that move to another partition: their rows stay until they arrive there."""
    if not decision.messages:
        return frozenset()
    return frozenset(
        f"lead/{MOVED.decode(message.body).lead.id}" for message in decision.messages if message.type == "lead.moved"
    )


def _removed_key(key: str, company_id: int | None) -> tuple[int | str, ...]:
    """Return the primary key of a removed entity's row. Raises `ValueError` if the decision names no company."""
    kind, _, rest = key.partition("/")
    if kind == "head":
        return (rest,)
    if kind == "suppression":
        list_id, _, contact_key = rest.partition("/")
        return (int(contact_key.partition("|")[0]), int(list_id), contact_key)
    if kind in {"slots", "asking"}:
        company, _, name = rest.partition("/")
        return (int(company), name)
    if company_id is None:
        raise ValueError(f"{key} was removed by a decision that names no company")
    if kind == "record":
        record_type, _, number = rest.partition("/")
        return (company_id, record_type, int(number))
    return (company_id, int(rest))


def _result(decision: ReadDecision, company_id: int | None) -> Row | None:
    """Return the row that a waiting request polls for; a repeat has none, because the first answer holds."""
    cause = decision.cause
    if cause.kind != "request" or cause.id is None or decision.answer == NO_ANSWER or decision.verdict == "repeated":
        return None
    return (cause.id, company_id, decision.verdict, bytes(decision.answer).decode(), decision.decided_at)
