"""Does the embedded log keep every promise of a log, in memory and on disk, and through a crash at any point?"""

import asyncio
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from adapters.embedded.assignment import SAVE_EVERY, StaticAssignment
from adapters.embedded.faults import FaultPoint
from adapters.embedded.journal import FILE_NAME
from adapters.embedded.log import EmbeddedLog, EmbeddedOwnership
from adapters.partitions.checkpoint import Checkpoint
from engine.partition.ports import FencedError, LogError, Outgoing, Ownership
from schemas.instant import EPOCH, Instant
from tests.adapters.log_contract import LogContract, World, everything, outgoing, values, visible_now


def wall_ms() -> Instant:
    return EPOCH + time.time_ns() // 1_000_000


class EmbeddedWorld:
    def __init__(self, folder: Path | None) -> None:
        self.log = EmbeddedLog(folder, now=wall_ms)

    async def create(self, *names: str, partitions: int = 2) -> list[str]:
        for name in names:
            await self.log.create_topic(name, partitions)
        return list(names)

    async def delete(self, topic: str) -> None:
        await self.log.delete_topic(topic)

    async def delete_records(self, topic: str, partition: int, before: int) -> None:
        await self.log.delete_records(topic, partition, before)

    async def limit(self, topic: str, record_bytes_max: int) -> None:
        self.log._topics[topic] = msgspec.structs.replace(self.log._topics[topic], record_bytes_max=record_bytes_max)

    async def hang(self, ownership: Ownership, records: Sequence[Outgoing]) -> Callable[[], Awaitable[None]]:
        assert isinstance(ownership, EmbeddedOwnership)
        ownership._write = ownership._drafted(records)
        return lambda: ownership.commit(records)


class TestInMemory(LogContract):
    @pytest.fixture
    async def world(self) -> AsyncIterator[World]:
        world = EmbeddedWorld(None)
        yield world
        await world.log.close()


class TestOnDisk(LogContract):
    @pytest.fixture
    async def world(self, tmp_path: Path) -> AsyncIterator[World]:
        world = EmbeddedWorld(tmp_path)
        yield world
        await world.log.close()


class CrashError(Exception):
    """The end of a writer."""


class FailOnce:
    def __init__(self, point: FaultPoint, error: Exception) -> None:
        self.point: FaultPoint | None = point
        self.error = error

    def reach(self, point: FaultPoint, topic: str, partition: int) -> None:
        if point is self.point:
            self.point = None
            raise self.error


async def reopened(log: EmbeddedLog, folder: Path) -> EmbeddedLog:
    await log.close()
    return EmbeddedLog(folder, now=wall_ms)


async def test_everything_is_there_again_after_a_restart(tmp_path: Path) -> None:
    log = EmbeddedLog(tmp_path, now=lambda: Instant(1_800_000_000_000))
    for topic in ("requests", "decisions", "state", "gone"):
        await log.create_topic(topic, 2)
    owner, appender = await log.own("requests", 0), await log.appender()
    await owner.commit([*outgoing("decisions", "d"), Outgoing("state", b"k", None, (("h", b"v"),))])
    await appender.append(1, outgoing("requests", "a", "b", "c"))
    await log.delete_records("requests", 1, 1)
    await log.delete_topic("gone")
    ids = [await log.topic_id(topic) for topic in ("requests", "decisions", "state")]
    before = await (await log.reader("state", [0])).end(0)

    log = await reopened(log, tmp_path)
    assert [await log.topic_id(topic) for topic in ("requests", "decisions", "state")] == ids
    assert await visible_now(log, "decisions") == ["d"]
    assert await visible_now(log, "requests", 1) == ["b", "c"]
    reader = await log.reader("state", [0])
    (record,) = await everything(reader, 0)
    assert (record.key, record.value, record.headers, record.appended_at) == (
        b"k",
        None,
        (("h", b"v"),),
        Instant(1_800_000_000_000),
    )
    assert await reader.end(0) == before
    with pytest.raises(LogError):
        await log.topic_id("gone")
    newer = await log.own("requests", 0)
    await newer.commit(outgoing("decisions", "e"))
    assert await visible_now(log, "decisions") == ["d", "e"]
    await log.close()


async def test_offsets_of_an_aborted_transaction_are_not_given_again_after_a_restart(tmp_path: Path) -> None:
    world = EmbeddedWorld(tmp_path)
    await world.create("requests", "state")
    owner = await world.log.own("requests", 0)
    await world.hang(owner, outgoing("state", "a", "b"))
    await owner.close()
    log = await reopened(world.log, tmp_path)
    reader = await log.reader("state", [0])
    assert await reader.end(0) == 3
    appender = await log.appender()
    assert await appender.append(0, outgoing("state", "c")) == [3]
    await log.close()


@pytest.mark.parametrize("torn_bytes", [1, 5, 8, 20])
async def test_a_torn_end_is_cut_off_and_writing_goes_on(tmp_path: Path, torn_bytes: int) -> None:
    log = EmbeddedLog(tmp_path, now=wall_ms)
    for topic in ("requests", "decisions", "state"):
        await log.create_topic(topic, 1)
    owner = await log.own("requests", 0)
    await owner.commit([*outgoing("decisions", "first"), *outgoing("state", "first")])
    await owner.commit([*outgoing("decisions", "second"), *outgoing("state", "second")])
    await log.close()
    file = tmp_path / FILE_NAME
    file.write_bytes(file.read_bytes()[:-torn_bytes])

    log = EmbeddedLog(tmp_path, now=wall_ms)
    assert await visible_now(log, "decisions") == await visible_now(log, "state") == ["first"]
    await (await log.own("requests", 0)).commit(outgoing("state", "third"))
    log = await reopened(log, tmp_path)
    assert await visible_now(log, "state") == ["first", "third"]
    await log.close()


async def test_zeros_at_the_end_are_a_torn_end_too(tmp_path: Path) -> None:
    log = EmbeddedLog(tmp_path, now=wall_ms)
    await log.create_topic("requests", 1)
    await log.close()
    with (tmp_path / FILE_NAME).open("ab") as file:
        file.write(bytes(4096))
    log = EmbeddedLog(tmp_path, now=wall_ms)
    assert await log.partition_count("requests") == 1
    await log.close()


async def test_damage_before_the_end_is_an_error_and_nothing_is_cut_off(tmp_path: Path) -> None:
    log = EmbeddedLog(tmp_path, now=wall_ms)
    await log.create_topic("requests", 1)
    appender = await log.appender()
    await appender.append(0, outgoing("requests", "a"))
    await appender.append(0, outgoing("requests", "b"))
    await log.close()
    file = tmp_path / FILE_NAME
    damaged = bytearray(file.read_bytes())
    damaged[20] ^= 0xFF
    file.write_bytes(damaged)
    with pytest.raises(LogError, match="damaged"):
        EmbeddedLog(tmp_path, now=wall_ms)
    assert file.read_bytes() == damaged


async def test_a_folder_is_for_one_log_at_a_time(tmp_path: Path) -> None:
    log = EmbeddedLog(tmp_path, now=wall_ms)
    with pytest.raises(LogError, match="in use"):
        EmbeddedLog(tmp_path, now=wall_ms)
    await (await reopened(log, tmp_path)).close()


async def test_a_closed_log_takes_nothing_more(tmp_path: Path) -> None:
    log = EmbeddedLog(tmp_path, now=wall_ms)
    await log.create_topic("requests", 1)
    appender = await log.appender()
    await log.close()
    with pytest.raises(LogError, match="closed"):
        await appender.append(0, outgoing("requests", "a"))


async def test_a_topic_is_not_created_again_with_other_partitions() -> None:
    log = EmbeddedLog(None, now=wall_ms)
    await log.create_topic("requests", 2)
    topic_id = await log.topic_id("requests")
    await log.create_topic("requests", 2)
    assert await log.topic_id("requests") == topic_id
    with pytest.raises(LogError, match="2 partitions, not 3"):
        await log.create_topic("requests", 3)


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize(
    ("point", "seen"),
    [(FaultPoint.BEFORE_APPEND, []), (FaultPoint.BEFORE_COMMIT, []), (FaultPoint.AFTER_COMMIT, ["a", "b"])],
)
async def test_a_crash_in_a_commit_leaves_all_or_nothing(
    tmp_path: Path, point: FaultPoint, seen: list[str], on_disk: bool
) -> None:
    log = EmbeddedLog(tmp_path if on_disk else None, now=wall_ms, faults=FailOnce(point, CrashError()))
    for topic in ("requests", "decisions", "state"):
        await log.create_topic(topic, 1)
    owner = await log.own("requests", 0)
    with pytest.raises(CrashError):
        await owner.commit([*outgoing("decisions", "a", "b"), *outgoing("state", "a", "b")])
    with pytest.raises(LogError):
        await owner.commit(outgoing("state", "dead"))
    newer = await log.own("requests", 0)
    await newer.commit(outgoing("decisions", "c"))
    if on_disk:
        log = await reopened(log, tmp_path)
    assert await visible_now(log, "decisions") == [*seen, "c"]
    assert await visible_now(log, "state") == seen
    await log.close()


@pytest.mark.parametrize(("point", "seen"), [(FaultPoint.BEFORE_APPEND, []), (FaultPoint.AFTER_APPEND, ["a"])])
async def test_a_crash_in_an_append_leaves_a_usable_appender(point: FaultPoint, seen: list[str]) -> None:
    log = EmbeddedLog(None, now=wall_ms, faults=FailOnce(point, LogError("injected")))
    await log.create_topic("requests", 1)
    appender = await log.appender()
    with pytest.raises(LogError, match="injected"):
        await appender.append(0, outgoing("requests", "a"))
    assert await appender.append(0, outgoing("requests", "b")) == [len(seen)]
    assert await visible_now(log, "requests") == [*seen, "b"]


async def test_a_full_disk_stops_the_log_and_a_restart_goes_on_from_what_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = EmbeddedLog(tmp_path, now=wall_ms)
    await log.create_topic("requests", 1)
    await log.create_topic("state", 1)
    owner = await log.own("requests", 0)
    await owner.commit(outgoing("state", "kept"))
    monkeypatch.setattr("os.fsync", _no_space)
    with pytest.raises(LogError, match="cannot be written") as raised:
        await owner.commit(outgoing("state", "lost or not"))
    assert not raised.value.retryable
    monkeypatch.undo()
    with pytest.raises(LogError, match="cannot be written"):
        log.check()  # so that the process that runs it ends and says why, instead of refusing everything for good
    assert await visible_now(log, "state") == ["kept"]
    with pytest.raises(LogError):
        await (await log.own("requests", 0)).commit(outgoing("state", "refused until the restart"))
    log = await reopened(log, tmp_path)
    log.check()
    await (await log.own("requests", 0)).commit(outgoing("state", "next"))
    assert await visible_now(log, "state") in (["kept", "next"], ["kept", "lost or not", "next"])
    await log.close()


def _no_space(_descriptor: int) -> None:
    raise OSError(28, "No space left on device")


async def test_an_owner_that_takes_over_during_a_commit_waits_for_it(tmp_path: Path) -> None:
    log = EmbeddedLog(tmp_path, now=wall_ms)
    await log.create_topic("requests", 1)
    await log.create_topic("state", 1)
    for round_number in range(20):
        older = await log.own("requests", 0)
        committing = asyncio.create_task(older.commit(outgoing("state", f"{round_number}")))
        for _ in range(round_number % 4):
            await asyncio.sleep(0)
        newer = await log.own("requests", 0)
        seen = await visible_now(log, "state")
        outcome = (await asyncio.gather(committing, return_exceptions=True))[0]
        assert outcome is None or isinstance(outcome, FencedError)
        assert (str(round_number) in seen) is (outcome is None)
        assert await visible_now(log, "state") == seen
        await newer.close()
    await log.close()


async def test_commits_of_many_owners_at_once_are_each_whole_after_a_restart(tmp_path: Path) -> None:
    log = EmbeddedLog(tmp_path, now=wall_ms)
    for topic in ("requests", "decisions", "state"):
        await log.create_topic(topic, 8)
    owners = [await log.own("requests", partition) for partition in range(8)]
    appender = await log.appender()

    async def work(partition: int) -> None:
        for number in range(10):
            await owners[partition].commit([*outgoing("decisions", f"{number}"), *outgoing("state", f"{number}")])
            await appender.append(partition, outgoing("decisions", f"+{number}"))

    await asyncio.gather(*(work(partition) for partition in range(8)))
    log = await reopened(log, tmp_path)
    for partition in range(8):
        assert await visible_now(log, "state", partition) == [str(number) for number in range(10)]
        assert await visible_now(log, "decisions", partition) == [text for n in range(10) for text in (f"{n}", f"+{n}")]
    await log.close()


async def test_topic_ids_can_be_given_for_simulations() -> None:
    ids = iter(["id-1", "id-2"])
    log = EmbeddedLog(None, now=lambda: Instant(7), new_topic_id=lambda: next(ids))
    await log.create_topic("requests", 1)
    assert await log.topic_id("requests") == "id-1"
    await (await log.appender()).append(0, outgoing("requests", "a"))
    (record,) = await (await log.reader("requests", [0])).poll(limit=1, timeout_seconds=0)
    assert record.appended_at == Instant(7)
    assert values([record]) == ["a"]


async def test_the_only_process_is_assigned_everything() -> None:
    assignment = StaticAssignment(3)
    await assignment.start()
    assert await anext(assignment.changes()) == frozenset({0, 1, 2})
    assert await assignment.confirm(2)
    assert not await assignment.confirm(3)
    assignment.report(0, 5)
    await assignment.close()


async def test_offsets_are_kept_in_a_folder_that_nobody_has_made_yet(tmp_path: Path) -> None:
    file = tmp_path / "state" / "accounts.offsets.json"
    assignment = StaticAssignment(1, file)
    await assignment.start()
    for offset in range(SAVE_EVERY):
        assignment.report(0, offset + 1)
    again = StaticAssignment(1, file)
    await again.start()
    assert await again.load_checkpoint(0) == Checkpoint(SAVE_EVERY)
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


async def test_what_is_older_than_its_topic_keeps_it_is_gone_for_good(tmp_path: Path) -> None:
    now = Instant(1_000)
    log = EmbeddedLog(tmp_path, now=lambda: now)
    await log.create_topic("requests", 2)
    appender = await log.appender()
    await appender.append(0, outgoing("requests", "old"))
    now = Instant(5_000)
    await appender.append(0, outgoing("requests", "new"))
    await log.expire("requests", 4_000)
    assert await visible_now(log, "requests") == ["old", "new"]

    now = Instant(6_000)
    await log.expire("requests", 4_000)
    await log.close()
    again = EmbeddedLog(tmp_path, now=lambda: now)
    assert await visible_now(again, "requests") == ["new"]
    now = Instant(20_000)
    await again.expire("requests", 4_000)
    assert await visible_now(again, "requests") == []
    assert await (await again.appender()).append(0, outgoing("requests", "next")) == [2]
    await again.close()
