"""What does the log itself say about a lead? Its decisions folded from the first one on, the hash chain checked on the way.

Nothing of the read schema is believed but where the lead is: its state at an instant, the rules that were adopted then and
the offset of every decision come from `contacts.decisions` and `accounts.rules`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from adapters.audit.recorded import batches
from engine.partition.ports import Log, Record
from engine.rules import Rules
from engine.why.course import Known
from engine.why.history import Told
from engine.why.record import plan_record
from engine.why.shape import Answer, Case
from schemas.contact import LIVE_STATUSES, Head, Lead, Part
from schemas.decisions import GENESIS, REMOVED, Change, Fact
from schemas.instant import Instant
from schemas.records import Record as RuleRecord
from schemas.state import head_key, lead_key
from schemas.wire import UNREADABLE, digest, from_json, to_json


class NoProofError(Exception):
    """The log does not hold what was asked for, or not as it was written."""


class _Cause(Struct, frozen=True):
    kind: str
    rules: dict[str, int] = {}
    versions: dict[str, str] = {}


class _Decision(Struct, frozen=True):
    """What of a decision is needed here; the values that it changed stay JSON."""

    sequence: int
    decided_at: Instant
    prev: str
    cause: _Cause
    facts: tuple[Fact, ...] = ()
    changes: tuple[Change, ...] = ()


_DECISIONS = msgspec.json.Decoder(_Decision)


class Moment(Struct, kw_only=True):
    """The state that decisions left: of the lead, its contact, its siblings, and what the partition had adopted."""

    sequence: int = 0
    lead: Lead | None = None
    head: Head | None = None
    siblings: dict[int, Lead] = {}
    adopted: dict[str, int] = {}
    versions: dict[str, str] = {}

    def copy(self) -> "Moment":
        """Return it as it is now; entities are replaced whole, never changed."""
        return msgspec.structs.replace(self, siblings=dict(self.siblings))


class Proof(Struct, frozen=True, kw_only=True):
    """What the log says: every fact of the lead, the state at the instant asked about and after each of its decisions."""

    facts: tuple[Told, ...]
    then: Moment
    moments: Mapping[int, Moment]
    decisions: int
    rules: Sequence[tuple[int, RuleRecord]]

    def case(self) -> Case:
        """Return the lead as it was at that instant, with the rules that had been adopted by then."""
        first = next((moment.lead for moment in self.moments.values() if moment.lead is not None), None)
        lead = self.then.lead or first
        if lead is None:
            raise NoProofError("the log holds no decision about this lead")
        head = self.then.head or Head(company_id=lead.company_id, contact_key=lead.contact_key)
        siblings = tuple(other for other in self.then.siblings.values() if other.status in LIVE_STATUSES)
        known = Known(lead=lead, head=head, siblings=siblings, rules=self._rules(self.then))
        return Case(known=known, facts=self.facts)

    def record(self, answer: Answer) -> dict[str, Any] | None:
        """Return all that was weighed in the decision that an answer rests on, or None where it rests on none."""
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
    """Fold a partition of `contacts.decisions` to the end that it has now. Raises `LogError` and `NoProofError`."""
    fold = _Fold(topic, partition, lead_id, contact_key, at)
    reader = await log.reader(topic, [partition])
    try:
        async for batch in batches(reader, partition):
            for record in batch:
                fold.take(record)
            progress(len(batch))
    finally:
        await reader.close()
    return Proof(facts=tuple(fold.facts), then=fold.then, moments=fold.moments, decisions=fold.read, rules=rules)


class _Fold:
    def __init__(self, topic: str, partition: int, lead_id: int, contact_key: str, at: Instant) -> None:
        self.facts: list[Told] = []
        self.moments: dict[int, Moment] = {}
        self.read = 0
        self._topic, self._partition, self._at = topic, partition, at
        self._lead_id, self._lead, self._head = lead_id, lead_key(lead_id), head_key(contact_key)
        self._of_contact = b'"contact_key":' + to_json(contact_key)
        self._now = Moment()
        self._then: Moment | None = None
        self._parts: dict[str, dict[int, dict[str, Any]]] = {}
        self._chain: str | None = None

    def take(self, record: Record) -> None:
        """Take one decision in. Raises `NoProofError` where it does not follow from the one before."""
        value = record.value or b""
        try:
            decision = _DECISIONS.decode(value)
        except UNREADABLE as error:
            raise NoProofError(f"the record at offset {record.offset} is no decision: {error}") from error
        expected = GENESIS if decision.sequence == 1 else self._chain
        if expected is not None and decision.prev != expected:
            raise NoProofError(f"the hash chain is broken before decision {decision.sequence} (offset {record.offset})")
        self._chain = digest(value)
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
            self.facts.append(self._told(fact, decision, record.offset))
        if own:
            self.moments[decision.sequence] = now.copy()

    @property
    def then(self) -> Moment:
        """The state after everything that was decided up to the instant that is asked about."""
        return self._now if self._then is None else self._then

    def _told(self, fact: Fact, decision: _Decision, offset: int) -> Told:
        return Told(
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
        """Put the data of large leads together: a decision holds the parts that changed (`engine.partition.parts`)."""
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
                lead.data = {name: said for part in range(lead.data_parts) for name, said in known.get(part, {}).items()}
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
