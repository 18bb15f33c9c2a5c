"""Is the hash chain of a partition complete, does every decision follow from its input, and does nothing else act?

Verification reads every decision that the log holds (`replay`) and ends at the first difference. Then the stored state, and
the rules or commands that act, are held against the decisions.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from adapters.audit.acts import ActCheck, DecidedActs
from adapters.audit.difference import Checked, Difference, first_cause
from adapters.audit.heads import ChainHead, HeadCheck
from adapters.audit.inputs import Inputs
from adapters.audit.outcomes import SeenOutcomes
from adapters.audit.recorded import batches
from adapters.audit.replay import Folded, Mismatch, Replay
from adapters.audit.settlements import Settlement, read_settlements
from adapters.audit.stored_state import StoredState, read_stored_state
from engine.partition.aggregate import Aggregate
from engine.partition.decider import outbox_entry
from engine.partition.ports import Log, LogError, LogRecord, Reader, RulesFeed
from engine.partition.runner import TopicNames
from schemas.decisions import OutboxEntry, Position


class Verified(Struct, frozen=True, kw_only=True):
    """The result for one partition; `chain` is the digest of its last decision.

    `decisions` is the sum of `decided_again` and `folded`. `inputs_gone` counts the folded decisions whose request the log
    has deleted, so that its digest could not be compared. `begins_at` is the number of the first decision read; above 1
    the log has deleted the earlier ones, and the chain is checked without an anchor. `gaps` are the first and last number
    of decisions that were lost, as an operator has settled. `state` counts the values of the changelog, `acts` the rules or
    commands that were held against the decisions, `heads` those that were kept and lie on the chain.
    """

    topic: str
    partition: int
    decisions: int
    decided_again: int
    folded: tuple[Folded, ...]
    inputs_gone: int
    chain: str
    keys: int
    difference: Difference | None = None
    begins_at: int = 1
    gaps: tuple[tuple[int, int], ...] = ()
    state: Checked = Checked()
    acts: Checked = Checked()
    heads: Checked = Checked()

    @property
    def is_whole(self) -> bool:
        """Whether the log still holds every decision, every request, and every command that retention has not deleted."""
        return self.begins_at == 1 and not self.inputs_gone and not self.acts.missing


async def verify(
    log: Log,
    names: TopicNames,
    aggregate: Aggregate,
    partition: int,
    rules: RulesFeed | None,
    *,
    versions: Mapping[str, str] = {},
    seen: SeenOutcomes | None = None,
    heads: Sequence[ChainHead] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> Verified:
    """Verify one partition from the first decision in the log to its present end. Raises `LogError`.

    `versions` are those that this process would adopt: with another version of the data, the same rules may decide
    differently. Without them any difference counts. `seen` notes commands and outcomes, which may be of other partitions;
    `heads` are those of this partition that somebody kept.
    """
    topic = names.of(aggregate.decisions_topic.name)
    act_check = ActCheck(log, names, aggregate, partition)
    await act_check.begin()
    stored = await read_stored_state(log, names.of(aggregate.state_topic.name), partition)
    committed = stored.position
    inputs = await log.reader(names.of(aggregate.requests_topic.name), [partition])
    recorded = await log.reader(topic, [partition])
    try:
        settlements = await _settlements(recorded, partition, committed)
        replay = Replay(
            aggregate,
            partition,
            () if rules is None else rules.entries,
            Inputs(inputs, partition),
            versions=versions,
            committed=committed,
            contact_ids=None if rules is None else rules.contact_ids,
            settlements=settlements,
        )
        head_check = HeadCheck(topic, partition, heads)
        checks = _Checks(replay, DecidedActs(aggregate), stored, seen, head_check)
        found = await _first_mismatch(checks, recorded, partition, progress)
    finally:
        await inputs.close()
        await recorded.close()
    position = replay.position
    settled = max((one.sequence for one in settlements), default=0)
    if found is None:
        head_check.end(position, begins_at=replay.begins_at, gaps=replay.gaps)
    acts = Checked() if found else await act_check.check(checks.acts, begins_at=replay.begins_at, settled=settled)
    mismatch = None if found is None else _located(topic, partition, found[0], position.sequence + 1, found[1])
    if seen is not None:
        seen.take(checks.acts, is_whole=found is None and replay.begins_at == 1)
    return Verified(
        topic=topic,
        partition=partition,
        decisions=replay.decided_again + sum(one.decisions for one in replay.folded),
        decided_again=replay.decided_again,
        folded=replay.folded,
        inputs_gone=replay.inputs_gone,
        chain=position.chain,
        keys=len(replay.state),
        difference=first_cause(mismatch, checks.state.difference, head_check.difference, acts.difference),
        begins_at=replay.begins_at,
        gaps=tuple(replay.gaps),
        state=checks.state,
        acts=acts,
        heads=Checked(looked_at=head_check.found, not_looked_at=head_check.not_looked_at),
    )


class _Checks:
    """What is noted beside the replay of each decision, and compared when the fold is where the changelog is."""

    def __init__(
        self, replay: Replay, acts: DecidedActs, stored: StoredState, seen: SeenOutcomes | None, heads: HeadCheck
    ) -> None:
        self.replay = replay
        self.acts = acts
        self.state = Checked()
        self._stored = stored
        self._messages: dict[int, OutboxEntry] = {}
        self._seen = seen
        self._heads = heads
        self._begins_at = replay.begins_at
        self._known: set[str] = set()

    def take(self, record: LogRecord) -> None:
        """Note a verified decision."""
        decision = self.acts.take(record.value or b"")
        self._heads.pass_by(self.replay.position, record.offset)
        if self._begins_at != self.replay.begins_at:  # decisions before this one are gone
            self._begins_at = self.replay.begins_at
            self._known.clear()
        if self._begins_at > 1:
            self._known.update(change.key for change in decision.changes)
        for sent in decision.messages:
            if sent.number in self._stored.messages:
                self._messages[sent.number] = outbox_entry(sent)
        if self._seen is not None and self.replay.request is not None and decision.verdict == "done":
            self._seen.note(self.replay.request, decision.sequence)
        self.compare()

    def compare(self) -> None:
        """Hold the changelog against the fold, where both are at the same decision."""
        at = self._stored.position
        if at is not None and at.sequence == self.replay.position.sequence:
            known = None if self.replay.begins_at == 1 else self._known
            self.state = self._stored.compare(self.replay.state, self.replay.position, self._messages, known)


async def _settlements(recorded: Reader, partition: int, committed: Position | None) -> list[Settlement]:
    """Return the decisions that settled a loss: each begins an epoch."""
    if committed is None or committed.epoch == 1:
        return []
    found = [one async for one in read_settlements(recorded, partition)]
    await recorded.seek(partition, await recorded.start(partition))
    return found


async def _first_mismatch(
    checks: _Checks, recorded: Reader, partition: int, progress: Callable[[int], None]
) -> tuple[int, Mismatch] | None:
    """Return the first mismatch and the offset at which it was found, or None."""
    replay = checks.replay
    after = start = await recorded.start(partition)
    if recorded.position(partition) != start:
        await recorded.seek(partition, start)  # a needless seek would drop what the reader has fetched
    async for batch in batches(recorded, partition):
        for record in batch:
            if after == start > 0:
                replay.begin_after_deleted(record.value or b"")
            mismatch = await replay.check(record.value or b"")
            if mismatch is not None:
                if await recorded.start(partition) > after:
                    raise LogError("retention has deleted decisions that were still to be read: run it again")
                return record.offset, mismatch
            after = record.offset + 1
            checks.take(record)
        progress(len(batch))
    if after == start > 0:
        replay.begin_behind_deleted()
    if replay.position.sequence in {0, replay.begins_at - 1}:
        checks.compare()  # no decision was read
    mismatch = replay.check_end()
    return None if mismatch is None else (recorded.position(partition), mismatch)


def _located(topic: str, partition: int, offset: int, sequence: int, mismatch: Mismatch) -> Difference:
    return Difference(
        cause=mismatch.cause,
        topic=topic,
        partition=partition,
        offset=offset,
        sequence=sequence,
        what=mismatch.what,
        recorded=mismatch.recorded,
        decided=mismatch.decided,
    )
