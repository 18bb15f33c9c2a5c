"""Is the hash chain of a partition complete, and does every decision follow from its input?

Verification reads every decision that the log holds (`replay`) and ends at the first difference.
"""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from adapters.audit.inputs import Inputs
from adapters.audit.recorded import batches, committed_position
from adapters.audit.replay import Folded, Mismatch, Replay
from adapters.audit.settlements import Settlement, read_settlements
from engine.partition.aggregate import Aggregate
from engine.partition.ports import Log, LogError, Reader, RulesFeed
from engine.partition.runner import TopicNames
from schemas.decisions import Position


class Difference(Struct, frozen=True, kw_only=True):
    """The first difference from the record: `what` in words, and both values where there are two."""

    topic: str
    partition: int
    offset: int
    sequence: int
    what: str
    recorded: Any = None
    decided: Any = None


class Verified(Struct, frozen=True, kw_only=True):
    """The result for one partition; `chain` is the digest of its last decision.

    `decisions` is the sum of `decided_again` and `folded`. `inputs_gone` counts the folded decisions whose request the log
    has deleted, so that its digest could not be compared. `begins_at` is the number of the first decision read; above 1
    the log has deleted the earlier ones, and the chain is checked without an anchor. `gaps` are the first and last number
    of decisions that were lost, as an operator has settled.
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

    @property
    def is_whole(self) -> bool:
        """Whether the log still holds every decision and every request."""
        return self.begins_at == 1 and not self.inputs_gone


async def verify(
    log: Log,
    names: TopicNames,
    aggregate: Aggregate,
    partition: int,
    rules: RulesFeed | None,
    *,
    versions: Mapping[str, str] = {},
    progress: Callable[[int], None] = lambda _: None,
) -> Verified:
    """Verify one partition from the first decision in the log to its present end. Raises `LogError`.

    `versions` are those that this process would adopt: with another version of the data, the same rules may decide
    differently. Without them any difference counts.
    """
    topic = names.of(aggregate.decisions_topic.name)
    committed = await committed_position(log, names.of(aggregate.state_topic.name), partition)
    inputs = await log.reader(names.of(aggregate.requests_topic.name), [partition])
    recorded = await log.reader(topic, [partition])
    try:
        replay = Replay(
            aggregate,
            partition,
            () if rules is None else rules.entries,
            Inputs(inputs, partition),
            versions=versions,
            committed=committed,
            contact_ids=None if rules is None else rules.contact_ids,
            settlements=await _settlements(recorded, partition, committed),
        )
        found = await _first_mismatch(replay, recorded, partition, progress)
    finally:
        await inputs.close()
        await recorded.close()
    position = replay.position
    return Verified(
        topic=topic,
        partition=partition,
        decisions=replay.decided_again + sum(one.decisions for one in replay.folded),
        decided_again=replay.decided_again,
        folded=replay.folded,
        inputs_gone=replay.inputs_gone,
        chain=position.chain,
        keys=len(replay.state),
        difference=None if found is None else _located(topic, partition, found[0], position.sequence + 1, found[1]),
        begins_at=replay.begins_at,
        gaps=tuple(replay.gaps),
    )


async def _settlements(recorded: Reader, partition: int, committed: Position | None) -> list[Settlement]:
    """Return the decisions that settled a loss: each begins an epoch."""
    if committed is None or committed.epoch == 1:
        return []
    found = [one async for one in read_settlements(recorded, partition)]
    await recorded.seek(partition, await recorded.start(partition))
    return found


async def _first_mismatch(
    replay: Replay, recorded: Reader, partition: int, progress: Callable[[int], None]
) -> tuple[int, Mismatch] | None:
    """Return the first mismatch and the offset at which it was found, or None."""
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
        progress(len(batch))
    if after == start > 0:
        replay.begin_behind_deleted()
    mismatch = replay.check_end()
    return None if mismatch is None else (recorded.position(partition), mismatch)


def _located(topic: str, partition: int, offset: int, sequence: int, mismatch: Mismatch) -> Difference:
    return Difference(
        topic=topic,
        partition=partition,
        offset=offset,
        sequence=sequence,
        what=mismatch.what,
        recorded=mismatch.recorded,
        decided=mismatch.decided,
    )
