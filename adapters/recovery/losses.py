"""Which topics are not those that were read so far? The same comparisons as when a partition is opened, all of them.

Nothing is written: looking takes no partition from its owner.
"""

from collections.abc import Awaitable, Iterable, Mapping

from msgspec import Struct, structs

from adapters.audit.recorded import committed_position
from adapters.recovery.folding import fold_decisions
from adapters.recovery.stored import read_stored
from adapters.roles.context import Context
from engine.account.aggregate import AccountAggregate
from engine.contact.aggregate import ContactAggregate
from engine.partition.aggregate import Aggregate
from engine.partition.continuity import (
    ContinuityError,
    check_decisions,
    check_ids,
    check_inputs,
    check_published,
    check_rules,
    topic_ids,
)
from engine.partition.state import State
from schemas.decisions import Position
from schemas.topics import ACCOUNTS_REQUESTS, ACCOUNTS_RULES


class PartitionLosses(Struct, frozen=True, kw_only=True):
    """What the topics of one partition lack, in sentences without the cure; none where it may go on."""

    topic: str
    partition: int
    sequence: int
    losses: tuple[str, ...]

    @property
    def sentences(self) -> list[str]:
        """The losses for a person, each with its place."""
        return [f"{self.topic}[{self.partition}]: {loss}" for loss in self.losses]


def aggregates() -> tuple[Aggregate, ...]:
    """Return what is recovered, in order: contacts rest on the rules of the accounts."""
    return AccountAggregate(), ContactAggregate()


async def find_losses(context: Context) -> list[PartitionLosses]:
    """Compare every partition of accounts and contacts. Raises `LogError`."""
    return [
        await _losses_with_rules(context, aggregate, partition)
        for aggregate in aggregates()
        for partition in range(await context.log.partition_count(context.names.of(aggregate.requests_topic.name)))
    ]


async def _losses_with_rules(context: Context, aggregate: Aggregate, partition: int) -> PartitionLosses:
    """Compare one partition; one of the accounts with the rules that it has published, too."""
    found = await losses_of(context, aggregate, partition)
    if aggregate.requests_topic != ACCOUNTS_REQUESTS:
        return found
    stored = await read_stored(context.log, context.names.of(aggregate.state_topic.name), partition)
    further = published_losses(context, partition, record_state(stored.values))
    return structs.replace(found, losses=tuple(dict.fromkeys((*found.losses, *further))))


def record_state(values: Mapping[str, bytes]) -> State:
    """Return the records of an account partition as a state."""
    state = State()
    for key, packed in values.items():
        if key.startswith("record/"):
            state.restore(key, packed)
    return state


async def losses_of(context: Context, aggregate: Aggregate, partition: int) -> PartitionLosses:
    """Compare one partition with what was read and written last. Raises `LogError`, `NotRecoverableError`."""
    log, names = context.log, context.names
    position = await committed_position(log, names.of(aggregate.state_topic.name), partition) or Position()
    found = await _losses([check_decisions(log, names.of, aggregate, partition, position)])
    if found:  # a state that is older than the decisions says nothing of what was read since
        folded = await fold_decisions(log, names.of(aggregate.decisions_topic.name), partition)
        position = max(position, folded.position, key=lambda one: one.sequence)
    ids = await _losses([_ids(context, aggregate, position)])
    inputs = await _losses([_inputs(context, aggregate, partition, position), _rules(context, position)])
    found = [*ids, *found, *inputs]
    return PartitionLosses(
        topic=aggregate.requests_topic.name,
        partition=partition,
        sequence=position.sequence,
        losses=tuple(dict.fromkeys(found)),
    )


def published_losses(context: Context, partition: int, state: State) -> tuple[str, ...]:
    """Return what `accounts.rules` lacks of the records of an account partition."""
    try:
        check_published(context.names.of(ACCOUNTS_RULES.name), partition, state, context.rules.entries)
    except ContinuityError as error:
        return (sentence(error),)
    return ()


def sentence(error: ContinuityError) -> str:
    """Return what an error says, without the cure."""
    return f"{error.topic} {error.what}"


async def _losses(checks: Iterable[Awaitable[None]]) -> list[str]:
    found = []
    for check in checks:
        try:
            await check
        except ContinuityError as error:
            found.append(sentence(error))
    return found


async def _ids(context: Context, aggregate: Aggregate, position: Position) -> None:
    check_ids(context.names.of, position.topics, await topic_ids(context.log, context.names.of, aggregate))


async def _inputs(context: Context, aggregate: Aggregate, partition: int, position: Position) -> None:
    topic = context.names.of(aggregate.requests_topic.name)
    reader = await context.log.reader(topic, [partition])
    try:
        await check_inputs(reader, topic, partition, position)
    finally:
        await reader.close()


async def _rules(context: Context, position: Position) -> None:
    check_rules(context.names.of(ACCOUNTS_RULES.name), position.rules, context.rules.rules.positions)
