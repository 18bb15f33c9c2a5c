"""What does the log itself prove about a lead? Fold its decisions from the first one on, and check the hash chain.

The read schema only says in which partition the lead is. Its state at an instant, the rules that were adopted then and the
offset of every decision come from `contacts.decisions` and `accounts.rules`.

Where retention has deleted the first decisions, the fold begins at the first one left. Every change holds a whole value, so
values that changed since are known. The others are unknown: `Proof.gaps` names them, and then there is no answer.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from adapters.audit.recorded import batches
from engine.partition.ports import Log, LogError, LogRecord
from engine.rules import Rules
from engine.why.history import LeadFact
from engine.why.model import Explanation, LeadHistory
from engine.why.record import plan_record
from engine.why.simulation import LeadContext
from schemas.contact import LIVE_STATUSES, Head, Lead, Part
from schemas.decisions import GENESIS, REMOVED, Change, Fact
from schemas.errors import DependencyError
from schemas.instant import EPOCH, Instant
from schemas.records import Record as RuleRecord
from schemas.state import head_key, lead_key
from schemas.wire import UNREADABLE, digest, from_json, to_json


class NoProofError(DependencyError):
    """The log does not hold the lead's decisions, or they were altered."""


class _Cause(Struct, frozen=True):
    kind: str
    rules: dict[str, int] = {}
    versions: dict[str, str] = {}


class _Decision(Struct, frozen=True):
    """The needed fields of a decision; changed values stay JSON."""

    sequence: int
    decided_at: Instant
    prev: str
    cause: _Cause
    facts: tuple[Fact, ...] = ()
    changes: tuple[Change, ...] = ()


_DECISIONS = msgspec.json.Decoder(_Decision)


class Moment(Struct, kw_only=True):
    """The state after a decision: the lead, its contact, its siblings, and what the partition had adopted."""

    sequence: int = 0
    lead: Lead | None = None
    head: Head | None = None
    siblings: dict[int, Lead] = {}
    adopted: dict[str, int] = {}
    versions: dict[str, str] = {}

    def copy(self) -> "Moment":
        """Return a copy; entities are replaced, never modified."""
        return msgspec.structs.replace(self, siblings=dict(self.siblings))


class Proof(Struct, frozen=True, kw_only=True):
    """Every fact of the lead, its state at the instant `at`, and its state after each of its decisions.

    `begins_at` is the number of the first decision that the log holds, `begun_at` when it was decided. Above 1, earlier
    decisions were deleted, so the chain has no anchor; 0 where the log holds none any more.
    """

    facts: tuple[LeadFact, ...]
    then: Moment
    moments: Mapping[int, Moment]
    decisions: int
    begins_at: int
    begun_at: Instant
    at: Instant
    rules: Sequence[tuple[int, RuleRecord]]

    @property
    def gaps(self) -> tuple[str, ...]:
        """Name what an answer needs and this log does not hold; empty where an answer is possible."""
        begun = {fact.type for fact in self.facts if fact.sequence == self.facts[0].sequence}
        if "lead.taken_in" in begun and self.at < self.facts[0].at:
            return ("what was decided of the lead while it belonged to another contact",)
        if self.begins_at == 1:
            return ()
        if self.begins_at == 0:
            return ("any decision of the partition",)
        if self.at < self.begun_at:
            return (f"what was decided before decision {self.begins_at}",)
        if "lead.created" not in begun:
            return ("how the lead began",)
        return self._unknown() if self.then.lead is not None else ()

    def _unknown(self) -> tuple[str, ...]:
        """Name the values that have not changed since the log begins: it does not hold them."""
        then, found = self.then, []
        if then.head is None:
            found.append("what was true of the contact")
        elif {*then.head.lead_ids} - {self.then.lead.id if self.then.lead else 0} - {*then.siblings}:
            found.append("the other leads of the contact")
        if not then.adopted:
            found.append("which rules had been adopted")
        return tuple(found)

    def lead_history(self) -> LeadHistory:
        """Return the lead at that instant, with the rules that were adopted by then."""
        first = next((moment.lead for moment in self.moments.values() if moment.lead is not None), None)
        lead = self.then.lead or first
        if lead is None:
            raise NoProofError("the log holds no decision about this lead")
        head = self.then.head or Head(company_id=lead.company_id, contact_key=lead.contact_key)
        siblings = tuple(other for other in self.then.siblings.values() if other.status in LIVE_STATUSES)
        known = LeadContext(lead=lead, head=head, siblings=siblings, rules=self._rules(self.then))
        return LeadHistory(known=known, facts=self.facts)

    def record(self, answer: Explanation) -> dict[str, Any] | None:
        """Return all inputs of the decision that an answer is based on, or None where there is no such decision."""
        fact = answer.decision
        moment = None if fact is None else self.moments.get(fact.sequence)
        if fact is None or moment is None or moment.lead is None or moment.head is None:
            return None
        rules = self._rules(moment)
        return plan_record(fact, moment.lead, moment.head, rules, adopted=moment.adopted, versions=moment.versions)

    def _rules(self, moment: Moment) -> Rules:
        found = Rules()
        for partition, record in self.rules:
            if record.sequence <= moment.adopted.get(str(partition), 0):
                found.apply(partition, record)
        return found


async def prove(
    log: Log,
    topic: str,
    partition: int,
    rules: Sequence[tuple[int, RuleRecord]],
    *,
    lead_id: int,
    contact_key: str,
    at: Instant,
    progress: Callable[[int], None] = lambda _: None,
) -> Proof:
    """Fold a partition of `contacts.decisions` to its present end. Raises `LogError` and `NoProofError`."""
    reader = await log.reader(topic, [partition])
    try:
        start = await reader.start(partition)
        await reader.seek(partition, start)
        fold = _Fold(topic, partition, lead_id, contact_key, at, may_begin_late=start > 0)
        async for batch in batches(reader, partition):
            for record in batch:
                try:
                    fold.take(record)
                except NoProofError as error:
                    if fold.read and await reader.start(partition) > fold.next_offset:
                        raise LogError("retention has deleted decisions that were still to be read: run it again") from error
                    raise
            progress(len(batch))
    finally:
        await reader.close()
    return Proof(
        facts=tuple(fold.facts),
        then=fold.then,
        moments=fold.moments,
        decisions=fold.read,
        begins_at=fold.begins_at,
        begun_at=fold.begun_at,
        at=at,
        rules=rules,
    )


class _Fold:
    def __init__(
        self, topic: str, partition: int, lead_id: int, contact_key: str, at: Instant, *, may_begin_late: bool
    ) -> None:
        self.facts: list[LeadFact] = []
        self.moments: dict[int, Moment] = {}
        self.read = 0
        self.begins_at, self.begun_at = 0 if may_begin_late else 1, EPOCH
        self.next_offset = 0
        self._topic, self._partition, self._at = topic, partition, at
        self._may_begin_late = may_begin_late
        self._lead_id, self._lead, self._head = lead_id, lead_key(lead_id), head_key(contact_key)
        self._of_contact = b'"contact_key":' + to_json(contact_key)
        self._now = Moment()
        self._then: Moment | None = None
        self._parts: dict[str, dict[int, dict[str, Any]]] = {}
        self._chain: str | None = None

    def take(self, record: LogRecord) -> None:
        """Fold one decision. Raises `NoProofError` where it does not follow from the one before."""
        value = record.value or b""
        try:
            decision = _DECISIONS.decode(value)
        except UNREADABLE as error:
            raise NoProofError(f"the record at offset {record.offset} is no decision: {error}") from error
        if self._chain is None:
            self._begin(decision, record.offset)
        elif decision.prev != self._chain or decision.sequence != self._now.sequence + 1:
            raise NoProofError(f"the hash chain is broken before decision {decision.sequence} (offset {record.offset})")
        self._chain = digest(value)
        self.next_offset = record.offset + 1
        self.read += 1
        if decision.decided_at > self._at and self._then is None:
            self._then = self._now.copy()
        now = self._now
        now.sequence = decision.sequence
        if decision.cause.kind == "adoption":
            now.adopted, now.versions = decision.cause.rules, decision.cause.versions
        for change in decision.changes:
            self._change(change)
        self._join(decision.changes)
        own = [fact for fact in decision.facts if fact.lead_id == self._lead_id]
        for fact in own:
            self.facts.append(self._lead_fact(fact, decision, record.offset))
        if own:
            self.moments[decision.sequence] = now.copy()

    def _begin(self, decision: _Decision, offset: int) -> None:
        """Begin at the first decision left. Raises `NoProofError` where earlier ones are gone without retention."""
        if decision.sequence != 1 and not self._may_begin_late:
            raise NoProofError(
                f"the log begins with decision {decision.sequence} (offset {offset}), and nothing was deleted"
            )
        if decision.sequence == 1 and decision.prev != GENESIS:
            raise NoProofError(f"the hash chain is broken before decision 1 (offset {offset})")
        self.begins_at, self.begun_at = decision.sequence, decision.decided_at

    @property
    def then(self) -> Moment:
        """The state after the last decision up to the instant `at`."""
        return self._now if self._then is None else self._then

    def _lead_fact(self, fact: Fact, decision: _Decision, offset: int) -> LeadFact:
        return LeadFact(
            at=decision.decided_at,
            type=fact.type,
            data=fact.data,
            topic=self._topic,
            partition=self._partition,
            sequence=decision.sequence,
            offset=offset,
        )

    def _change(self, change: Change) -> None:
        is_gone = change.value == REMOVED
        if change.key == self._lead:
            self._now.lead = self._now.lead if is_gone else from_json(bytes(change.value), Lead)
        elif change.key == self._head:
            self._now.head = None if is_gone else from_json(bytes(change.value), Head)
        elif change.key.startswith("lead/"):
            self._sibling(change, is_gone=is_gone)

    def _join(self, changes: Sequence[Change]) -> None:
        """Join the data of large leads: a decision holds the parts that changed (`engine.partition.parts`)."""
        for change in changes:
            kind, _, rest = change.key.partition("/")
            number, _, owner = rest.partition("/")
            if kind == "part" and self._lead_of(owner) is not None:
                parts = self._parts.setdefault(owner, {})
                parts[int(number)] = {} if change.value == REMOVED else from_json(bytes(change.value), Part).tokens
        for owner in {change.key for change in changes} & self._parts.keys():
            lead = self._lead_of(owner)
            if lead is not None and lead.data_parts:
                known = self._parts[owner]
                lead.data = {name: value for part in range(lead.data_parts) for name, value in known.get(part, {}).items()}
                lead.data_parts = 0

    def _lead_of(self, key: str) -> Lead | None:
        if key == self._lead:
            return self._now.lead
        return self._now.siblings.get(int(key.removeprefix("lead/"))) if key.startswith("lead/") else None

    def _sibling(self, change: Change, *, is_gone: bool) -> None:
        number = int(change.key.removeprefix("lead/"))
        if is_gone:
            self._now.siblings.pop(number, None)
        elif self._of_contact in bytes(change.value):
            self._now.siblings[number] = from_json(bytes(change.value), Lead)
