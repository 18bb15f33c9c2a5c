"""Does a recorded decision follow from its input? Decide it again where this code has its rules, else fold it.

The state is folded from recorded decisions alone. So decisions after a change of the rules are decided again on the state
that the former rules left.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from adapters.audit.difference import Cause as DifferenceCause
from adapters.audit.inputs import Inputs
from adapters.audit.settlements import Settlement
from engine import decision_rules
from engine.identity import ContactIds
from engine.partition.aggregate import Aggregate
from engine.partition.deadletters import digest_of
from engine.partition.decider import Decider
from engine.partition.ports import LogRecord
from engine.partition.state import State
from engine.rules import Rules
from schemas.decisions import REMOVED, Cause, Change, Decision, Position
from schemas.instant import EPOCH, Instant
from schemas.records import Record as RuleRecord
from schemas.state import kind_of
from schemas.wire import UNREADABLE, from_json, to_pack

CODE = frozenset({decision_rules.VERSION_NAME, "leadclock"})
"""Recorded versions of code. The others are versions of data, with which the same rules may decide differently."""


class Mismatch(Struct, frozen=True):
    """Why a decision is not verified, with the recorded and the new value, and what is wrong first."""

    what: str
    recorded: Any = None
    decided: Any = None
    cause: DifferenceCause = "decision"


class Folded(Struct, frozen=True, kw_only=True):
    """How many decisions were folded without deciding again, why, and which release can decide them again.

    `reason` is `other_rules` (another version of the decision rules decided) or `other_data` (the same rules decide
    differently here, with another version of time zones, law or other `data`). No release can decide again where the log
    has deleted the request (`input_gone`), lost it with its topic (`input_lost`), or no longer holds the earlier decisions
    (`no_anchor`), whose state is then unknown. Such a decision is not proved by the rules; `decided_by` is empty.
    """

    reason: Literal["other_rules", "other_data", "input_gone", "input_lost", "no_anchor"]
    decision_rules: int
    decided_by: str
    data: str = ""
    decisions: int = 0


UNKNOWN_RULES = 0
"""The version of the rules before the first adoption that the log still holds."""

INPUT_GONE = Folded(reason="input_gone", decision_rules=decision_rules.VERSION, decided_by="")
INPUT_LOST = Folded(reason="input_lost", decision_rules=decision_rules.VERSION, decided_by="")
NO_ANCHOR = Folded(reason="no_anchor", decision_rules=UNKNOWN_RULES, decided_by="")


class _Recorded(Struct, frozen=True):
    """The fields that deciding again needs; the rest is compared as bytes, not decoded."""

    sequence: int
    decided_at: Instant
    prev: str
    cause: Cause


_RECORDED = msgspec.json.Decoder(_Recorded)
_DECISION = msgspec.json.Decoder(Decision)


class Replay:
    """The fold of one partition's decisions; each is checked before it is applied.

    `versions` are those that this process would adopt; `committed` is the position in the changelog before the decisions
    were read; `settlements` are the decisions of the partition that settled a loss: requests before them may be lost.
    """

    def __init__(
        self,
        aggregate: Aggregate,
        partition: int,
        rules: Sequence[tuple[int, RuleRecord]],
        inputs: Inputs,
        *,
        versions: Mapping[str, str],
        committed: Position | None,
        contact_ids: ContactIds | None = None,
        settlements: Sequence[Settlement] = (),
    ) -> None:
        self.state = State()
        self.gaps: list[tuple[int, int]] = []
        """First and last number of the decisions whose loss was settled."""
        self._settlements = settlements
        self._requests_topic = aggregate.requests_topic.name
        self.request: LogRecord | None = None
        """The request of the last decision, where it had one and the log holds it."""
        self.decided_again = 0
        self.inputs_gone = 0
        self.begins_at = 1
        self._decider = Decider(aggregate, partition, self.state, Rules(contact_ids), Position())
        self._rules = list(rules)
        self._inputs = inputs
        self._versions = versions
        self._committed = committed
        self._committed_sequence = 0 if committed is None else committed.sequence
        self._folded: Counter[Folded] = Counter()
        self._known_versions: Mapping[str, str] | None = None
        self._known_version: int | Mismatch = UNKNOWN_RULES

    @property
    def position(self) -> Position:
        """The position after the last verified decision."""
        return self._decider.position

    @property
    def folded(self) -> tuple[Folded, ...]:
        """The decisions that were folded, not decided again, counted by kind."""
        return tuple(msgspec.structs.replace(kind, decisions=count) for kind, count in self._folded.items())

    async def check(self, value: bytes) -> Mismatch | None:
        """Verify the next decision and apply it; return None where it is as recorded. Raises `LogError`."""
        try:
            recorded = _RECORDED.decode(value)
        except UNREADABLE as error:
            return Mismatch(f"the record is not a decision: {error}")
        position = self.position
        taken = self._break_in_order(recorded, position) or await self._take(recorded, value, position)
        if recorded.sequence == self._committed_sequence and not isinstance(taken, Mismatch):
            taken = self._break_with_commit() or taken
        if isinstance(taken, Mismatch):
            self._go_back(position)  # the last verified decision is the one before
            return taken
        self.state.commit()
        if taken is None:
            self.decided_again += 1
        else:
            self._folded[taken] += 1
        return None

    def begin_after_deleted(self, value: bytes) -> None:
        """Begin at this decision where the log has deleted the earlier ones; check chain and fold from here on.

        Nothing is decided again, because the earlier state is unknown. Ignore a first decision and an unreadable record:
        `check` judges them.
        """
        try:
            recorded = _RECORDED.decode(value)
        except UNREADABLE:
            return
        if recorded.sequence > 1:
            self.begins_at = recorded.sequence
            self._decider.position = Position(sequence=recorded.sequence - 1, chain=recorded.prev)

    def begin_behind_deleted(self) -> None:
        """Begin after the last committed decision where the log has deleted all decisions."""
        if self._committed is not None:
            self.begins_at = self._committed.sequence + 1
            self._decider.position = self._committed

    def check_end(self) -> Mismatch | None:
        """Verify that no decision is missing after the last one read."""
        if self._committed_sequence <= self.position.sequence:
            return None
        return Mismatch("decisions are missing at the end", self.position.sequence, self._committed_sequence)

    def _break_in_order(self, recorded: _Recorded, position: Position) -> Mismatch | None:
        cause = recorded.cause
        if cause.recovery is not None and recorded.sequence > position.sequence + 1:
            self._begin_behind_gap(recorded)
            return None
        if recorded.sequence != position.sequence + 1:
            return Mismatch("decisions are missing", recorded.sequence, position.sequence + 1)
        if recorded.prev != position.chain:
            return Mismatch(
                "the hash chain is broken: the decision before this one was changed", recorded.prev, position.chain
            )
        if cause.kind == "request" and (cause.offset or 0) < position.input_offset:
            return Mismatch("the offsets of the inputs do not rise", cause.offset, position.input_offset)
        return None

    def _begin_behind_gap(self, recorded: _Recorded) -> None:
        """Go on behind decisions that were lost: the loss was settled, and what they decided is not known."""
        self.gaps.append((self.position.sequence + 1, recorded.sequence - 1))
        self.begins_at = recorded.sequence
        known = self.position
        self._decider.position = msgspec.structs.replace(known, sequence=recorded.sequence - 1, chain=recorded.prev)

    def _is_lost(self, sequence: int, offset: int) -> bool:
        """Return whether a later recovery says that the request of a decision was lost."""
        known = self.position.topics.get(self._requests_topic)
        return any(
            sequence < one.sequence and (one.topics.get(self._requests_topic) != known or offset >= one.lost_from)
            for one in self._settlements
        )

    def _break_with_commit(self) -> Mismatch | None:
        """Compare the last decision with the digest in the changelog: no later decision holds its digest."""
        position, committed = self.position, self._committed
        if committed is None or committed.chain == position.chain:
            return None
        what = "the changelog holds another digest of this decision"
        return Mismatch(what, position.chain, committed.chain, "state")

    async def _take(self, recorded: _Recorded, value: bytes, position: Position) -> Mismatch | Folded | None:
        """Decide the input again (None) where this code can, else fold the recorded decision."""
        cause = recorded.cause
        versions = cause.versions if cause.kind == "adoption" else position.versions
        rules_version = self._rules_version(versions)
        if isinstance(rules_version, Mismatch):
            return rules_version
        is_lost = cause.kind == "request" and self._is_lost(recorded.sequence, cause.offset or 0)
        request = await self._inputs.at(cause.offset or 0) if cause.kind == "request" and not is_lost else None
        self.request = request
        if cause.recovery is not None:
            await self._inputs.rewind(cause.recovery.input_offset)
        adopted = self._adopted(cause.rules) if cause.kind == "adoption" else []
        data = ""
        if self.begins_at > 1 or is_lost:
            why = NO_ANCHOR if self.begins_at > 1 else INPUT_LOST
            return await self._fold(cause, value, request, adopted, is_lost=is_lost) or why
        if rules_version == decision_rules.VERSION:
            if cause.kind == "request" and request is None and await self._inputs.is_deleted(cause.offset or 0):
                return await self._fold(cause, value, request, adopted) or INPUT_GONE
            mismatch = self._decide_again(recorded, value, request, adopted)
            if mismatch is None:
                return None
            data = self._other_data(versions)
            if not data:
                return mismatch
            self._go_back(position)
        folded = Folded(
            reason="other_data" if data else "other_rules",
            decision_rules=rules_version,
            decided_by=decision_rules.release_of(rules_version, versions),
            data=data,
        )
        return await self._fold(cause, value, request, adopted) or folded

    def _rules_version(self, versions: Mapping[str, str]) -> int | Mismatch:
        """Return the version of the decision rules, parsed once for each adoption."""
        if versions is not self._known_versions:
            self._known_version = self._parsed_version(versions)
            self._known_versions = versions
        return self._known_version

    def _parsed_version(self, versions: Mapping[str, str]) -> int | Mismatch:
        try:
            version = decision_rules.version_of(versions)
        except ValueError:
            what = "the version of the decision rules is not a number"
            return Mismatch(what, versions[decision_rules.VERSION_NAME], cause="version")
        if version is not None and version not in decision_rules.VERSIONS and version <= decision_rules.VERSION:
            return Mismatch("no release has this version of the decision rules", version, cause="version")
        if version is not None:
            return version
        if self.begins_at > 1:
            return UNKNOWN_RULES
        return Mismatch("no version of the decision rules was adopted before this decision", cause="version")

    def _decide_again(
        self, recorded: _Recorded, value: bytes, request: LogRecord | None, adopted: list[tuple[int, RuleRecord]]
    ) -> Mismatch | None:
        cause, now = recorded.cause, recorded.decided_at
        if request is not None and digest_of(request) != cause.digest:
            return Mismatch("the input was changed", cause.digest, digest_of(request), "request")
        if request is not None:
            decided = self._decider.request(request, now, behind=cause.behind, refusal=cause.refusal)
        elif cause.kind == "tick":
            key, due_at = cause.key or "", cause.due_at or EPOCH
            decided = self._decider.tick(key, due_at, now, behind=cause.behind, refusal=cause.refusal)
        elif cause.kind == "adoption":
            decided = self._decider.adoption(adopted, cause.versions, now, topics=cause.topics, refusal=cause.refusal)
        elif cause.recovery is not None:
            decided = self._decider.recovery(cause.recovery, cause.topics, now)
        else:
            return Mismatch(f"the input at offset {cause.offset} is not in the log any more", cause="request")
        return None if decided.value == value else _first_difference(value, decided.value)

    async def _fold(
        self,
        cause: Cause,
        value: bytes,
        request: LogRecord | None,
        adopted: list[tuple[int, RuleRecord]],
        *,
        is_lost: bool = False,
    ) -> Mismatch | None:
        """Apply the recorded changes of a decision."""
        if request is not None and digest_of(request) != cause.digest:
            return Mismatch("the input was changed", cause.digest, digest_of(request), "request")
        if cause.kind == "request" and request is None:
            if not is_lost and not await self._inputs.is_deleted(cause.offset or 0):
                return Mismatch(f"there is no input at offset {cause.offset}", cause="request")
            self.inputs_gone += 1
        try:
            decision = _DECISION.decode(value)
            changes = [(change.key, _packed(change)) for change in decision.changes]
        except (*UNREADABLE, KeyError) as error:
            return Mismatch(f"the decision cannot be folded by this code: {error}")
        self._decider.fold(decision, value, changes, adopted)
        positions = {str(partition): sequence for partition, sequence in sorted(self._decider.rules.positions.items())}
        if cause.kind == "adoption" and positions != cause.rules:
            return Mismatch("accounts.rules does not hold the rules that were adopted", cause.rules, positions, "rule")
        return None

    def _other_data(self, versions: Mapping[str, str]) -> str:
        """Name the data whose versions here differ from the recorded ones; empty where none differs."""
        here = self._versions
        names = [name for name in versions if name not in CODE and here.get(name, versions[name]) != versions[name]]
        return ", ".join(f"{name} {versions[name]} (here {here[name]})" for name in names)

    def _adopted(self, positions: Mapping[str, int]) -> list[tuple[int, RuleRecord]]:
        taken: list[tuple[int, RuleRecord]] = []
        left: list[tuple[int, RuleRecord]] = []
        for partition, record in self._rules:
            is_adopted = record.sequence <= positions.get(str(partition), 0)
            (taken if is_adopted else left).append((partition, record))
        self._rules = left
        return taken

    def _go_back(self, position: Position) -> None:
        self.state.rollback()
        self._decider.position = position


def _packed(change: Change) -> bytes | None:
    """Return a changed value as the state stores it. Raises `KeyError` and `msgspec.DecodeError` for an unknown one."""
    return None if change.value == REMOVED else to_pack(from_json(bytes(change.value), kind_of(change.key)))


def _first_difference(recorded: bytes, decided: bytes) -> Mismatch:
    """Return the first field that differs, by its path."""
    path, one, other = _differing(msgspec.json.decode(recorded), msgspec.json.decode(decided), "$")
    return Mismatch(f"this code decides differently at {path}", one, other)


def _differing(one: Any, other: Any, path: str) -> tuple[str, Any, Any]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in [*one, *(name for name in other if name not in one)]:
            if one.get(name) != other.get(name):
                return _differing(one.get(name), other.get(name), f"{path}.{name}")
    if isinstance(one, list) and isinstance(other, list):
        for index, (left, right) in enumerate(zip(one, other, strict=False)):
            if left != right:
                return _differing(left, right, f"{path}[{index}]")
    return path, one, other
