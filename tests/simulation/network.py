"""How does one process reach the log and the database? Over a network: late, sometimes not at all, and not when it is dead.

Every call waits by chance before it arrives and before its answer does. That orders the steps of different processes in
every way that a real network could, and leaves to asyncio the order that it promises within one.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from adapters.embedded.faults import FaultPoint
from adapters.embedded.log import EmbeddedLog
from adapters.errors import StoreError
from adapters.partitions.guarded_appender import GuardedAppender
from adapters.projector.batch import ProjectionBatch
from adapters.projector.store import OwnedPartition, PartitionPosition
from engine.partition.ports import Appender, LogError, LogRecord, Outgoing, Ownership, Reader
from tests.adapters.projector.memory import MemoryStore
from tests.simulation.virtual import PROCESS, Process

if TYPE_CHECKING:
    from tests.simulation.carrier import SimulatedClaims


class Weather:
    """How bad things are now: fair until `worsen`, and again after `clear`."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.delay_seconds = 0.005
        self.delay_share = 0.4
        self.is_rough = False
        self.log_error_share = self.write_error_share = self.write_kill_share = self.store_error_share = 0.0

    def worsen(self) -> None:
        """From now on calls are late, fail, or are the last thing that a process does; each run in its own way."""
        chance = self.chance
        self.is_rough = True
        self.delay_seconds = chance.choice([0.0, 0.005, 0.05, 0.3])
        self.log_error_share = chance.choice([0.0, 0.002, 0.01])
        self.write_error_share = chance.choice([0.0, 0.01, 0.04])
        self.write_kill_share = chance.choice([0.0, 0.0, 0.005, 0.03])
        self.store_error_share = chance.choice([0.0, 0.02, 0.1])

    def clear(self) -> None:
        """From now on everything works, and soon."""
        self.is_rough = False
        self.delay_seconds = min(self.delay_seconds, 0.01)
        self.log_error_share = self.write_error_share = self.write_kill_share = self.store_error_share = 0.0

    async def pass_by(self) -> None:
        """Let some time pass, or none."""
        late = self.delay_seconds and self.chance.random() < self.delay_share
        await asyncio.sleep(self.chance.random() * self.delay_seconds if late else 0)

    def strikes(self, share: float) -> bool:
        """Roll the dice."""
        return share > 0 and self.chance.random() < share


class FaultyWrites:
    """Fails writers at the points of the embedded log: with an error, or by the end of their process."""

    def __init__(self, weather: Weather) -> None:
        self._weather = weather

    def reach(self, point: FaultPoint, topic: str, partition: int) -> None:
        process = PROCESS.get()
        if process is None:
            return  # the world itself: producers who try again, see traffic.py
        process.check()
        if self._weather.strikes(self._weather.write_kill_share):
            process.kill()
            raise asyncio.CancelledError
        if self._weather.strikes(self._weather.write_error_share):
            raise LogError(f"made to fail {point} of {topic}[{partition}]")


class NetworkLink:
    """The way of one process to everything outside of it."""

    def __init__(self, process: Process, weather: Weather) -> None:
        self.process = process
        self.weather = weather

    async def cross(self) -> None:
        """Take as long as it takes; come out nowhere when the process is dead."""
        self.process.check()
        weather = self.weather
        if weather.delay_seconds and weather.chance.random() < weather.delay_share:
            await asyncio.sleep(weather.chance.random() * weather.delay_seconds)
        if not self.process.running.is_set():
            await self.process.running.wait()
        self.process.check()

    async def stand_still(self, seconds: float) -> None:
        """Cross, and stand still on the way while things are bad."""
        if self.weather.is_rough:
            self.process.freeze()
            asyncio.get_running_loop().call_later(seconds, self.process.thaw)
        await self.cross()

    async def ask(self) -> None:
        """Cross, or fail."""
        await self.cross()
        if self.weather.strikes(self.weather.log_error_share):
            raise LogError("the broker did not answer")


class LogLine:
    """The `Log` port over a line; `made_topics` as of `adapters.partitions.guarded_appender`."""

    def __init__(self, log: EmbeddedLog, line: NetworkLink, made_topics: Callable[[], Mapping[str, str]] = dict) -> None:
        self._log = log
        self._line = line
        self._made_topics = made_topics

    async def own(self, input_topic: str, partition: int, *, writes: Sequence[str] = ()) -> Ownership:
        await self._line.ask()
        ownership = await self._log.own(input_topic, partition, writes=writes)
        await self._line.cross()
        return OwnershipLine(ownership, self._line)

    async def reader(self, topic: str, partitions: Sequence[int], *, start: int | None = 0) -> Reader:
        await self._line.ask()
        return ReaderLine(await self._log.reader(topic, partitions, start=start), self._line)

    async def appender(self) -> Appender:
        return GuardedAppender(AppenderLine(await self._log.appender(), self._line), self, "", self._made_topics)

    async def partition_count(self, topic: str) -> int:
        await self._line.ask()
        return await self._log.partition_count(topic)

    async def topic_id(self, topic: str) -> str:
        await self._line.ask()
        return await self._log.topic_id(topic)

    async def close(self) -> None:
        return None


class OwnershipLine:
    """An ownership; a dead process does not give it back."""

    def __init__(self, ownership: Ownership, line: NetworkLink) -> None:
        self._ownership = ownership
        self._line = line

    async def commit(self, records: Sequence[Outgoing]) -> None:
        await self._line.cross()
        await self._ownership.commit(records)
        await self._line.cross()

    async def close(self) -> None:
        if self._line.process.is_alive:
            await self._ownership.close()


class ReaderLine:
    """A reader."""

    def __init__(self, reader: Reader, line: NetworkLink) -> None:
        self._reader = reader
        self._line = line

    async def poll(self, *, limit: int, timeout_seconds: float) -> list[LogRecord]:
        await self._line.ask()
        limit = self._line.weather.chance.choice([limit, limit, limit, 1, 3])  # a broker sends as much as it likes
        found = await self._reader.poll(limit=limit, timeout_seconds=timeout_seconds)
        if found:
            await self._line.cross()
        return found

    async def end(self, partition: int) -> int:
        await self._line.ask()
        return await self._reader.end(partition)

    async def start(self, partition: int) -> int:
        await self._line.ask()
        return await self._reader.start(partition)

    def position(self, partition: int) -> int:
        return self._reader.position(partition)

    async def seek(self, partition: int, offset: int) -> None:
        await self._reader.seek(partition, offset)

    async def close(self) -> None:
        await self._reader.close()


class AppenderLine:
    """An appender."""

    def __init__(self, appender: Appender, line: NetworkLink) -> None:
        self._appender = appender
        self._line = line

    async def append(self, partition: int, records: Sequence[Outgoing]) -> list[int]:
        await self._line.cross()
        offsets = await self._appender.append(partition, records)
        await self._line.cross()
        return offsets

    async def close(self) -> None:
        return None


class StoreLine:
    """The database over a line: an error may come before or after the transaction."""

    def __init__(self, store: MemoryStore, line: NetworkLink) -> None:
        self._store = store
        self._line = line

    async def take(self, topic: str, topic_id: str, partition: int) -> OwnedPartition:
        await self._cross()
        return await self._store.take(topic, topic_id, partition)

    async def write(self, batch: ProjectionBatch) -> None:
        await self._cross()
        await self._store.write(batch)
        await self._cross()

    async def announce(self) -> None:
        await self._store.announce()

    async def positions(self) -> list[PartitionPosition]:
        return await self._store.positions()

    async def close(self) -> None:
        return None

    async def _cross(self) -> None:
        await self._line.cross()
        if self._line.weather.strikes(self._line.weather.store_error_share):
            raise StoreError("the database is away")


class ClaimsLine:
    """The claims over a line: an error may come before or after what was asked is done."""

    def __init__(self, claims: "SimulatedClaims", line: NetworkLink) -> None:
        self._claims = claims
        self._line = line

    def __getattr__(self, name: str) -> Any:
        async def ask(*arguments: Any, **named: Any) -> Any:
            await self._cross()
            self._claims.look_at_the_clock()
            answer = await getattr(self._claims, name)(*arguments, **named)
            await self._cross()
            return answer

        return ask

    async def _cross(self) -> None:
        await self._line.cross()
        if self._line.weather.strikes(self._line.weather.store_error_share):
            raise StoreError("the database is away")
