"""How do the readers of a lost topic go on? Projection, deliverer and gateways, at the decision that settled the loss."""

from msgspec import Struct

from adapters.audit.recorded import batches
from adapters.audit.settlements import read_settlements
from adapters.postgres.recovery import READERS, PostgresReadMarks, ReaderKind
from adapters.recovery.folding import NotRecoverableError
from adapters.roles.context import Context
from engine.partition.continuity import ContinuityError, ReadMark, check_mark, number_of
from engine.partition.ports import Reader
from schemas.envelope import DecisionNumber
from schemas.topics import ACCOUNTS_DECISIONS, COMMAND_TOPICS, CONTACTS_DECISIONS

DECISIONS = (CONTACTS_DECISIONS.name, ACCOUNTS_DECISIONS.name)


class ReaderLoss(Struct, frozen=True, kw_only=True):
    """A reader that remembers another topic, or records that are gone; `loss` says what."""

    reader: ReaderKind
    topic: str
    partition: int
    loss: str

    @property
    def sentence(self) -> str:
        """The loss for a person, with its place."""
        return f"{self.reader} {self.topic}[{self.partition}]: {self.loss}"


async def find_reader_losses(context: Context, marks: PostgresReadMarks) -> list[ReaderLoss]:
    """Compare what each reader remembers with its topic. Raises `LogError`, `StoreError`."""
    return [
        ReaderLoss(reader=reader, topic=topic, partition=partition, loss=loss)
        for reader in READERS
        for (topic, partition), mark in sorted((await marks.marks(reader)).items())
        if (loss := await _loss(context, topic, partition, mark)) is not None
    ]


async def settle_readers(context: Context, marks: PostgresReadMarks) -> list[ReaderLoss]:
    """Let each reader that lost records go on, once the decisions are settled.

    Raises `LogError`, `StoreError`; `NotRecoverableError` where the database is newer than the log.
    """
    found = await find_reader_losses(context, marks)
    for one in found:
        topic_id = await context.log.topic_id(_deployed(context, one.topic))
        mark = (await marks.marks(one.reader))[one.topic, one.partition]
        offset = await _offset_after_loss(context, one, mark, is_made_again=mark.topic_id != topic_id)
        await marks.go_on(one.reader, one.topic, one.partition, topic_id, offset)
    return found


def _deployed(context: Context, topic: str) -> str:
    """Return the deployed name: gateways remember that, the others the name without the prefix."""
    is_deployed = topic in {context.names.of(one.name) for one in COMMAND_TOPICS.values()}
    return topic if is_deployed else context.names.of(topic)


async def _loss(context: Context, topic: str, partition: int, mark: ReadMark) -> str | None:
    deployed = _deployed(context, topic)
    reader = await context.log.reader(deployed, [partition])
    try:
        await check_mark(reader, deployed, partition, mark, await context.log.topic_id(deployed))
    except ContinuityError as error:
        return error.what
    finally:
        await reader.close()
    return None


async def _offset_after_loss(context: Context, one: ReaderLoss, mark: ReadMark, *, is_made_again: bool) -> int:
    """Return where a reader goes on; `mark` is what it remembers."""
    deployed = _deployed(context, one.topic)
    reader = await context.log.reader(deployed, [one.partition])
    try:
        if one.topic not in DECISIONS:
            return await _first_command_after(reader, one.partition, None if is_made_again else mark.newest)
        if mark.offset == 0:  # nothing was decided here before the loss, so there is nothing to settle
            return await reader.start(one.partition)
        settled = [settlement.offset async for settlement in read_settlements(reader, one.partition)]
    finally:
        await reader.close()
    if not settled:
        raise NotRecoverableError(
            f"the database knows decisions of {deployed}[{one.partition}] that the log does not hold ({one.loss}), and the "
            "log lost nothing by itself: it is an older copy. Start nothing; add --from-copy, which blocks everybody whom "
            "the database knows decisions of since, or restore a copy that is as new as the database"
        )
    return settled[-1]


async def _first_command_after(reader: Reader, partition: int, newest: DecisionNumber | None) -> int:
    """Return the first command that was not read: those that are left before it were carried out."""
    if newest is None:
        return await reader.start(partition)
    async for batch in batches(reader, partition):
        for record in batch:
            if number_of(record) > newest:
                return record.offset
    return await reader.end(partition)
