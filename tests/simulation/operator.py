"""What does the operator of a simulated deployment do after a loss? What `leadclock recover` does, over the same code."""

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.embedded.log import EmbeddedLog
from adapters.gateway.ports import SavedProgress
from adapters.partitions.feed import RulesTopic
from adapters.postgres.recovery import ReaderKind
from adapters.recovery.losses import find_losses
from adapters.recovery.readers import ReaderLoss, find_reader_losses, settle_readers
from adapters.recovery.settling import Settled, settle
from engine.partition.continuity import ReadMark
from engine.partition.ports import LogError, Outgoing, Ownership
from engine.partition.runner import TopicNames
from schemas.topics import ACCOUNTS_RULES, TOPICS
from tests.adapters.projector.memory import MemoryStore
from tests.contact_ids import identity_record
from tests.simulation.carrier import SimulatedClaims
from tests.simulation.virtual import BEGUN_AT, VirtualClock

BY, REASON = "cli/ada", "a disk was lost"


class MemoryReadMarks:
    """What projection and gateways remember of their topics: the promises of `adapters.postgres.recovery`."""

    def __init__(self, store: MemoryStore, claims: SimulatedClaims) -> None:
        self._store = store
        self._claims = claims

    async def marks(self, reader: ReaderKind) -> Mapping[tuple[str, int], ReadMark]:
        if reader == "projected":
            return {
                (one.topic, one.partition): ReadMark(
                    one.topic_id, one.next_offset, one.next_offset - 1, self._store._digests[one.topic, one.partition]
                )
                for one in await self._store.positions()
            }
        if reader == "carried_out":
            return {
                place: ReadMark(topic_id, saved.offset, newest=saved.newest)
                for place, (topic_id, saved) in self._claims.saved.items()
            }
        return {}

    async def go_on(self, reader: ReaderKind, topic: str, partition: int, topic_id: str, offset: int) -> None:
        if reader == "projected":
            self._store.go_on(topic, partition, topic_id, offset)
        else:
            saved = self._claims.saved[topic, partition][1]
            self._claims.saved[topic, partition] = topic_id, SavedProgress(offset, saved.newest, saved.refused)


class _BreakingLog:
    """A log whose commits fail from the `left`-th on: a recovery that breaks off is run again."""

    def __init__(self, log: EmbeddedLog, left: int) -> None:
        self._log = log
        self.left = left

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    async def own(self, input_topic: str, partition: int, *, writes: Sequence[str] = ()) -> Ownership:
        return _BreakingOwnership(self, await self._log.own(input_topic, partition, writes=writes))


class _BreakingOwnership:
    def __init__(self, log: _BreakingLog, ownership: Ownership) -> None:
        self._log = log
        self._ownership = ownership

    async def commit(self, records: Sequence[Outgoing]) -> None:
        self._log.left -= 1
        if self._log.left < 0:
            raise LogError("the recovery is broken off")
        await self._ownership.commit(records)

    async def close(self) -> None:
        await self._ownership.close()


class Operator:
    """Looks and settles; what the recovery needs of a context."""

    def __init__(self, log: EmbeddedLog, clock: VirtualClock, marks: MemoryReadMarks) -> None:
        self.log: Any = log
        self.names = TopicNames()
        self.clock = clock
        self.rules = RulesTopic(log, self.names)
        self._whole = log
        self._marks: Any = marks

    async def look(self) -> tuple[list[str], list[ReaderLoss]]:
        """Return what `leadclock recover` lists."""
        await self._begin()
        context: Any = self
        partitions = [sentence for one in await find_losses(context) for sentence in one.losses]
        return partitions, await find_reader_losses(context, self._marks)

    async def settle(self, breaks_off_after: int | None) -> list[Settled]:
        """Settle it, in two runs where the first is to break off. Raises `NotRecoverableError`."""
        if breaks_off_after is not None:
            self.log = _BreakingLog(self._whole, breaks_off_after)
        return await self._settle()

    async def _settle(self) -> list[Settled]:
        await self._begin()
        if self.rules.deployment is None:
            partition, identity = identity_record(BEGUN_AT)
            await (await self._whole.appender()).append(partition, [identity])
            await self.rules.refresh()
        context: Any = self
        done: list[Settled] = []
        try:
            await settle(context, by=BY, reason=REASON, done=done.append)
        except LogError:
            if self.log is self._whole:
                raise
            self.log = self._whole
            return done + await self._settle()
        await settle_readers(context, self._marks)
        return done

    async def make_rules_again(self, partitions: int) -> None:
        """Do what the refusal of rules with a gap says: restore the topic, here as an empty one."""
        await self._whole.delete_topic(ACCOUNTS_RULES.name)
        await self._whole.create_topic(ACCOUNTS_RULES.name, partitions)

    async def made_topics(self) -> dict[str, str]:
        """Return the ids of the topics that the deployment has from now on."""
        return {topic.name: await self._whole.topic_id(topic.name) for topic in TOPICS}

    async def _begin(self) -> None:
        """Read the rules as a process of its own does."""
        await self.rules.close()
        self.rules = RulesTopic(self._whole, self.names)
        await self.rules.refresh()
