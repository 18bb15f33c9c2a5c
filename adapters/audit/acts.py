"""Does anything act that was not decided? Rules and commands on their topics are those of decisions, and the reverse.

The digests of what a decision published or emitted are read from the decision; the topics are compared with them by key or
id. What is appended while the check runs has its decision in the same transaction: records before the end that a topic had
before the decisions were read must be decided, and what these decided must be on the topic afterwards.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from adapters.audit.difference import Checked, Difference
from adapters.audit.recorded import batches
from engine.partition.aggregate import Aggregate
from engine.partition.ports import Log, LogRecord, Reader
from engine.partition.runner import TopicNames
from engine.rules import ForeignRuleError, read_rule
from schemas.decisions import REMOVED, Change, Emitted, Sent
from schemas.deployment import KEY_PREFIX
from schemas.envelope import DecisionNumber, EnvelopeError, emitted_by
from schemas.records import Record, rules_key
from schemas.state import kind_of
from schemas.topics import ACCOUNTS_REQUESTS, ACCOUNTS_RULES, COMMAND_TOPICS
from schemas.wire import digest, from_json


class ActingDecision(Struct, frozen=True):
    """The fields of a decision that say what acts."""

    sequence: int
    verdict: str = "done"
    commands: tuple[Emitted, ...] = ()
    changes: tuple[Change, ...] = ()
    messages: tuple[Sent, ...] = ()


class Decided(Struct, frozen=True):
    """What was decided of one rule: by which decision, and the digest of its bytes."""

    sequence: int
    digest: str


class Emission(Struct):
    """How often a command of one id and digest was emitted, and by which decision last: two may emit the same fence."""

    sequence: int = 0
    times: int = 0


Act = tuple[str, str]
"""The id of a command, and the digest of its bytes."""

_DECIDING = msgspec.json.Decoder(ActingDecision)


class DecidedActs:
    """What the decisions of a partition published and emitted, in their order.

    `rules` is by key of `accounts.rules`, `commands` by plain name of the topic.
    """

    def __init__(self, aggregate: Aggregate) -> None:
        self.publishes = aggregate.requests_topic == ACCOUNTS_REQUESTS
        self.rules: dict[bytes, Decided] = {}
        self.commands: dict[str, dict[Act, Emission]] = {}

    def take(self, value: bytes) -> ActingDecision:
        """Note what a decision publishes or emits, and return it. The decision was verified, so it can be read."""
        decision = _DECIDING.decode(value)
        for one in decision.commands:
            emission = self.commands.setdefault(one.topic, {}).setdefault((one.id, one.digest), Emission())
            emission.sequence, emission.times = decision.sequence, emission.times + 1
        if self.publishes:
            for change in decision.changes:
                if change.value != REMOVED and kind_of(change.key) is Record:
                    rule = from_json(bytes(change.value), Record)
                    self.rules[rules_key(rule).encode()] = Decided(decision.sequence, digest(bytes(change.value)))
        return decision


class ActCheck:
    """Compares the topics on which a partition's decisions act with those decisions.

    `names` gives topics their prefix. `settled` is the number of the last decision that settled a loss, 0 without one: what
    was decided before it may be lost with its topic.
    """

    def __init__(self, log: Log, names: TopicNames, aggregate: Aggregate, partition: int) -> None:
        self._log = log
        self._names = names
        self._partition = partition
        self._plain = (
            (ACCOUNTS_RULES.name,)
            if aggregate.requests_topic == ACCOUNTS_REQUESTS
            else tuple(topic.name for topic in COMMAND_TOPICS.values())
        )
        self._ends: dict[str, int] = {}

    async def begin(self) -> None:
        """Note where the topics end, before the decisions are read. Raises `LogError`."""
        for plain in self._plain:
            reader = await self._log.reader(self._names.of(plain), [self._partition])
            try:
                self._ends[plain] = await reader.end(self._partition)
            finally:
                await reader.close()

    async def check(self, acts: DecidedActs, *, begins_at: int, settled: int) -> Checked:
        """Compare each topic with the decisions from `begins_at` on; the first difference counts. Raises `LogError`."""
        checked = Checked()
        for plain in self._plain:
            reader = await self._log.reader(self._names.of(plain), [self._partition])
            try:
                topic = _TopicCheck(self._names.of(plain), self._partition, self._ends[plain], max(begins_at, settled + 1))
                if plain == ACCOUNTS_RULES.name:
                    found = await topic.rules(reader, acts.rules)
                else:
                    found = await topic.commands(reader, acts.commands.get(plain, {}))
            finally:
                await reader.close()
            checked = _sum(checked, found)
        return checked


def _sum(one: Checked, other: Checked) -> Checked:
    """Add up what was looked at on two topics; the first difference counts."""
    return Checked(
        looked_at=one.looked_at + other.looked_at,
        not_looked_at=one.not_looked_at + other.not_looked_at,
        foreign=one.foreign + other.foreign,
        missing=one.missing + other.missing,
        first_missing=one.first_missing or other.first_missing,
        difference=one.difference or other.difference,
    )


class _TopicCheck:
    """One partition of one topic. `known_from` is the number of the first decision whose acts are all known."""

    def __init__(self, topic: str, partition: int, end: int, known_from: int) -> None:
        self._topic = topic
        self._partition = partition
        self._end = end
        self._known_from = known_from
        self._looked_at = 0
        self._not_looked_at = 0
        self._foreign = 0
        self._missing = 0
        self._first_missing = ""
        self._difference: Difference | None = None

    async def rules(self, reader: Reader, decided: Mapping[bytes, Decided]) -> Checked:
        missing = dict(decided)
        async for batch in batches(reader, self._partition):
            for record in batch:
                if not (record.key or b"").startswith(KEY_PREFIX.encode()):
                    self._rule(record, decided, missing)
        for key, one in missing.items():
            if one.sequence < self._known_from:
                self._not_looked_at += 1
            else:
                self._miss_rule(key.decode(), one)
        return self._checked()

    def _rule(self, record: LogRecord, decided: Mapping[bytes, Decided], missing: dict[bytes, Decided]) -> None:
        key = record.key or b""
        known = decided.get(key)
        if known is not None:
            missing.pop(key, None)
            self._looked_at += 1
            if digest(record.value or b"") != known.digest:
                self._differ("rule", record, known.sequence, "this is not the version that was decided")
            return
        try:
            sequence = read_rule(record.key, record.value).sequence
        except ForeignRuleError:
            self._foreign += 1
            return
        if 0 < sequence < self._known_from:
            self._not_looked_at += 1
        elif record.offset < self._end:
            self._differ("rule", record, 0, "no decision has published this rule")

    async def commands(self, reader: Reader, decided: Mapping[Act, Emission]) -> Checked:
        missing, ids = dict(decided), {name: one.sequence for (name, _), one in decided.items()}
        newest, first = DecisionNumber(), 0
        times: Counter[tuple[Act, int]] = Counter()
        starts_at = await reader.start(self._partition)
        async for batch in batches(reader, self._partition):
            for record in batch:
                try:
                    number = emitted_by(record.headers)
                except EnvelopeError as error:
                    self._differ("command", record, 0, f"no decision has emitted this command: {error}")
                    continue
                first = first or number.sequence
                if number < newest:
                    self._differ("command", record, number.sequence, "a command of a later decision is before this one")
                newest = max(newest, number)
                act = _id_of(record), digest(record.value or b"")
                emission = decided.get(act)
                if emission is None:
                    self._undecided(record, number, ids.get(act[0]))
                    continue
                self._looked_at += 1
                missing.pop(act, None)
                times[act, number.epoch] += 1  # a recovery emits one again, in a new epoch
                if times[act, number.epoch] > emission.times:
                    self._differ("command", record, number.sequence, "this command is there more often than it was decided")
        for (name, _), one in missing.items():
            if one.sequence < self._known_from or (starts_at and (not first or one.sequence <= first)):
                self._not_looked_at += 1  # deleted by retention, which cuts from the start
            else:
                self._missing += 1
                where = f"{self._topic}[{self._partition}] {name} of decision {one.sequence}"
                self._first_missing = self._first_missing or where
        return self._checked()

    def _undecided(self, record: LogRecord, number: DecisionNumber, sequence: int | None) -> None:
        """Judge a command that no decision emitted as it is; `sequence` is of a decision that emitted one of its id."""
        if number.sequence < self._known_from:
            self._not_looked_at += 1
        elif sequence is not None:
            self._differ("command", record, sequence, "this is not the command that was decided")
        elif record.offset < self._end:
            self._differ("command", record, number.sequence, "no decision has emitted this command")

    def _miss_rule(self, key: str, one: Decided) -> None:
        if self._difference is None:
            self._difference = Difference(
                cause="rule",
                topic=self._topic,
                partition=self._partition,
                offset=self._end,
                sequence=one.sequence,
                what="what was decided is not on the topic: the rule is missing",
                key=key,
            )

    def _differ(self, cause: Any, record: LogRecord, sequence: int, what: str) -> None:
        if self._difference is None:
            self._difference = Difference(
                cause=cause,
                topic=self._topic,
                partition=self._partition,
                offset=record.offset,
                sequence=sequence,
                what=what,
                key=(record.key or b"").decode(errors="replace") if cause == "rule" else _id_of(record),
                recorded=None if record.value is None else record.value.decode(errors="replace")[:SHOWN_CHARACTERS],
            )

    def _checked(self) -> Checked:
        return Checked(
            looked_at=self._looked_at,
            not_looked_at=self._not_looked_at,
            foreign=self._foreign,
            missing=self._missing,
            first_missing=self._first_missing,
            difference=self._difference,
        )


SHOWN_CHARACTERS = 2_000
"""Of a record that differs: enough to see what it would do."""


def _id_of(record: LogRecord) -> str:
    return next((value.decode(errors="replace") for name, value in record.headers if name == "ce_id"), "")
