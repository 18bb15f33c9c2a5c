"""Does the embedded log lose what it may lose, and nothing else, whenever it is interrupted?"""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.embedded import partition as partitions
from adapters.embedded.compaction import Compaction, Policy, policy
from adapters.embedded.journal import DRAFT_NAME, FILE_NAME, IMAGE_NAME
from adapters.embedded.log import EmbeddedLog
from engine.partition.ports import LogError, LogRecord, Outgoing
from schemas.instant import Instant
from tests.adapters.log_contract import everything, outgoing, visible_now

TOPICS = ("requests", "decisions", "state")
POLICIES = (Policy(topic="decisions", retention_ms=1_000), Policy(topic="state", compacted=True, tombstones_ms=1_000))


class Clock:
    def __init__(self) -> None:
        self.now = Instant(1_000_000)

    def __call__(self) -> Instant:
        return self.now


class CompactionWorld:
    """A log on disk that can be opened again, as after a crash: nothing is closed but the files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.open()

    def open(self) -> None:
        self.log = EmbeddedLog(self.folder, now=self.clock, fsync=False)
        self.compaction = Compaction(self.log, POLICIES, rewrite_bytes_min=0)

    async def reopen(self) -> None:
        await self.log.close()
        self.open()

    async def create(self) -> None:
        for topic in TOPICS:
            await self.log.create_topic(topic, 2)

    async def put(self, key: str, value: str | None, number: int = 0) -> None:
        owner = await self.log.own("requests", number)
        text = None if value is None else value.encode()
        await owner.commit([Outgoing("state", key.encode(), text), Outgoing("decisions", None, f"{key}={value}".encode())])

    async def records(self, topic: str, number: int = 0) -> list[LogRecord]:
        return await everything(await self.log.reader(topic, [number]), number)

    async def state(self, number: int = 0) -> dict[bytes | None, bytes | None]:
        return {record.key: record.value for record in await self.records("state", number)}

    async def ends(self) -> list[int]:
        return [self.log.partition(topic, number).end for topic in TOPICS for number in range(2)]


@pytest.fixture
async def world(tmp_path: Path) -> CompactionWorld:
    world = CompactionWorld(tmp_path)
    await world.create()
    return world


async def test_the_last_record_of_each_key_stays_at_its_offset_and_old_tombstones_go(world: CompactionWorld) -> None:
    for key, value in [("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("b", None), ("a", "3")]:
        await world.put(key, value)
    before = {record.key: record for record in await world.records("state")}
    await world.log.compact("state", 1_000)
    kept = await world.records("state")
    assert [record.key for record in kept] == [b"c", b"b", b"a"]
    assert {record.key: record for record in kept} == before
    world.clock.now += 5_000
    for value in "456":
        await world.put("a", value)
    await world.log.compact("state", 1_000)
    assert await world.state() == {b"c": b"1", b"a": b"6"}
    await world.log.close()


async def test_what_is_kept_is_the_same_after_a_restart_and_the_file_is_smaller(world: CompactionWorld) -> None:
    for count in range(300):
        await world.put(f"k{count % 3}", "x" * 200, count % 2)
    world.clock.now += 10_000
    await world.put("last", "1")
    size, state, ends = world.log.size_bytes, await world.state(), await world.ends()
    ids = [await world.log.topic_id(topic) for topic in TOPICS]
    assert await world.compaction.turn()
    assert world.log.size_bytes < size / 10
    for _ in range(2):
        assert await world.state() == state
        assert await world.ends() == ends
        assert [await world.log.topic_id(topic) for topic in TOPICS] == ids
        assert await visible_now(world.log, "decisions") == ["last=1"]
        await world.reopen()
    await world.put("last", "2")
    await world.reopen()
    assert (await world.state())[b"last"] == b"2"
    await world.log.close()


async def test_a_reader_in_the_middle_reads_on(world: CompactionWorld) -> None:
    for count in range(20):
        await world.put("k", str(count))
    reader = await world.log.reader("state", [0])
    await reader.poll(limit=5, timeout_seconds=0)
    await world.log.compact("state", 0)
    left = await everything(reader, 0)
    assert [record.value for record in left] == [b"19"]
    assert reader.position(0) == await reader.end(0)
    await world.log.close()


async def test_others_write_while_the_files_are_compacted(world: CompactionWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "COMPACTION_BATCH", 3)
    stop = asyncio.Event()

    async def write(number: int) -> int:
        count = 0
        while not stop.is_set():
            owner = await world.log.own("requests", number)
            for _ in range(3):
                await owner.commit([*outgoing("requests", f"r{number}-{count}"), Outgoing("state", b"n", b"%d" % count)])
                count += 1
        return count

    writing = [asyncio.create_task(write(number)) for number in range(2)]
    for _ in range(20):
        world.compaction = Compaction(world.log, POLICIES, rewrite_bytes_min=0)
        assert await world.compaction.turn()
    stop.set()
    counts = await asyncio.gather(*writing)
    for _ in range(2):
        for number, count in enumerate(counts):
            assert await visible_now(world.log, "requests", number) == [f"r{number}-{at}" for at in range(count)]
            assert await world.state(number) == {b"n": b"%d" % (count - 1)}
        await world.reopen()
    await world.log.close()


def _left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(("embedded.image", "embedded.log")))


@pytest.mark.parametrize("step", ["write", "rename", "unlink"])
async def test_a_crash_at_any_step_leaves_everything(
    world: CompactionWorld, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for count in range(30):
        await world.put(f"k{count % 2}", str(count))
    state, ends = await world.state(), await world.ends()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr({"write": "os.fdopen", "rename": "pathlib.Path.rename", "unlink": "pathlib.Path.unlink"}[step], fail)
    with pytest.raises(OSError, match="No space"):
        await world.compaction.turn()
    monkeypatch.undo()
    await world.put("after", "1")
    await world.reopen()
    assert await world.state() == state | {b"after": b"1"}
    assert [one >= other for one, other in zip(await world.ends(), ends, strict=True)] == [True] * len(ends)
    assert await world.compaction.turn()
    assert not (world.folder / DRAFT_NAME).exists()
    assert len(_left(world.folder)) == 2
    await world.reopen()
    assert await world.state() == state | {b"after": b"1"}
    await world.log.close()


async def test_a_crash_before_the_image_is_whole_leaves_the_segments(world: CompactionWorld) -> None:
    await world.put("a", "1")
    (world.folder / DRAFT_NAME).write_bytes(b"half an image")
    await world.reopen()
    assert await world.state() == {b"a": b"1"}
    await world.log.close()


async def test_an_image_that_is_damaged_is_said(world: CompactionWorld) -> None:
    for count in range(5):
        await world.put("a", str(count))
    await world.compaction.turn()
    await world.log.close()
    (image,) = world.folder.glob(f"{IMAGE_NAME}*")
    image.write_bytes(image.read_bytes()[:-3])
    with pytest.raises(LogError, match="damaged"):
        EmbeddedLog(world.folder, now=world.clock)


async def test_what_follows_a_torn_segment_was_never_acknowledged(world: CompactionWorld) -> None:
    await world.put("a", "1")
    await world.log._journal.rotate()  # type: ignore[union-attr]
    await world.put("a", "2")
    await world.log.close()
    first = world.folder / FILE_NAME
    first.write_bytes(first.read_bytes()[:-5])
    world.open()
    assert await world.state() == {}
    assert _left(world.folder) == [FILE_NAME]
    await world.put("a", "3")
    await world.reopen()
    assert await world.state() == {b"a": b"3"}
    await world.log.close()


async def test_offsets_of_an_open_transaction_are_not_given_again(world: CompactionWorld) -> None:
    await world.put("a", "1")
    owner = await world.log.own("requests", 0)
    owner._write = owner._drafted(outgoing("state", "open"))  # type: ignore[attr-defined]
    end = world.log.partition("state", 0).end
    await world.log.rewrite()
    await world.log.close()
    world.open()
    assert world.log.partition("state", 0).end == end
    await world.log.close()


async def test_the_file_stays_within_bounds_however_much_is_written(world: CompactionWorld) -> None:
    sizes = []
    for _ in range(12):
        for count in range(60):
            await world.put(f"k{count % 5}", "x" * 100)
        world.clock.now += 2_000
        await world.compaction.turn()
        sizes.append(world.log.size_bytes)
    assert max(sizes[6:]) <= max(sizes[:6])
    await world.log.close()


async def test_a_log_in_memory_is_compacted_as_well() -> None:
    log = EmbeddedLog(None, now=Clock())
    for topic in TOPICS:
        await log.create_topic(topic, 1)
    owner = await log.own("requests", 0)
    for value in (b"1", b"2"):
        await owner.commit([Outgoing("state", b"a", value)])
    assert not await Compaction(log, POLICIES).turn()
    assert len(log.partition("state", 0).records) == 1
    await log.close()


def test_policies_are_those_of_the_topics_on_kafka() -> None:
    compacted = {"cleanup.policy": "compact", "delete.retention.ms": "7"}
    assert policy("a", compacted) == Policy(topic="a", compacted=True, tombstones_ms=7)
    assert policy("b", {"cleanup.policy": "delete", "retention.ms": "9"}) == Policy(topic="b", retention_ms=9)


ACTS = st.lists(st.sampled_from(["put", "put", "put", "gone", "time", "turn", "open", "delete", "crash"]), max_size=25)


@given(acts=ACTS, keys=st.integers(1, 3))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_in_any_order_the_state_is_what_was_put_last(
    tmp_path_factory: pytest.TempPathFactory, acts: list[str], keys: int
) -> None:
    world = CompactionWorld(tmp_path_factory.mktemp("log"))
    await world.create()
    model: dict[bytes, bytes] = {}
    for count, act in enumerate(acts):
        key = f"k{count % keys}"
        if act in {"put", "gone"}:
            value = str(count) if act == "put" else None
            await world.put(key, value)
            model.pop(key.encode(), None)
            model |= {} if value is None else {key.encode(): value.encode()}
        elif act == "time":
            world.clock.now += 700
        elif act == "delete":
            partition = world.log.partition("decisions", 0)
            await world.log.delete_records("decisions", 0, partition.end // 2)
        elif act == "crash":  # without the end of a turn: a draft, and a segment more
            await world.log._journal.rotate()  # type: ignore[union-attr]
            (world.folder / DRAFT_NAME).write_bytes(os.urandom(10))
        elif act == "turn":
            await world.compaction.turn()
        else:
            await world.reopen()
        assert {key: value for key, value in (await world.state()).items() if value is not None} == model
        offsets = [record.offset for record in await world.records("state")]
        assert offsets == sorted(set(offsets))
    await world.log.close()
