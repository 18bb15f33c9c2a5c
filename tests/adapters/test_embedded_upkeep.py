"""Does the embedded log lose what it may lose, and nothing else, whenever it is interrupted?"""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.embedded import partition as partitions
from adapters.embedded.journal import DRAFT_NAME, FILE_NAME, IMAGE_NAME
from adapters.embedded.log import EmbeddedLog
from adapters.embedded.upkeep import Policy, Upkeep, policy
from engine.partition.ports import LogError, LogRecord, Outgoing
from tests.adapters.log_contract import everything, outgoing, visible_now

TOPICS = ("requests", "decisions", "state")
POLICIES = (Policy(topic="decisions", retention_ms=1_000), Policy(topic="state", compacted=True, tombstones_ms=1_000))


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


class House:
    """A log on disk that can be opened again, as after a crash: nothing is closed but the files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.open()

    def open(self) -> None:
        self.log = EmbeddedLog(self.folder, now=self.clock, fsync=False)
        self.upkeep = Upkeep(self.log, POLICIES, rewrite_bytes_min=0)

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
async def house(tmp_path: Path) -> House:
    house = House(tmp_path)
    await house.create()
    return house


async def test_the_last_record_of_each_key_stays_at_its_offset_and_old_tombstones_go(house: House) -> None:
    for key, value in [("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("b", None), ("a", "3")]:
        await house.put(key, value)
    before = {record.key: record for record in await house.records("state")}
    await house.log.compact("state", 1_000)
    kept = await house.records("state")
    assert [record.key for record in kept] == [b"c", b"b", b"a"]
    assert {record.key: record for record in kept} == before
    house.clock.now += 5_000
    for value in "456":
        await house.put("a", value)
    await house.log.compact("state", 1_000)
    assert await house.state() == {b"c": b"1", b"a": b"6"}
    await house.log.close()


async def test_what_is_kept_is_the_same_after_a_restart_and_the_file_is_smaller(house: House) -> None:
    for count in range(300):
        await house.put(f"k{count % 3}", "x" * 200, count % 2)
    house.clock.now += 10_000
    await house.put("last", "1")
    size, state, ends = house.log.size_bytes, await house.state(), await house.ends()
    ids = [await house.log.topic_id(topic) for topic in TOPICS]
    assert await house.upkeep.turn()
    assert house.log.size_bytes < size / 10
    for _ in range(2):
        assert await house.state() == state
        assert await house.ends() == ends
        assert [await house.log.topic_id(topic) for topic in TOPICS] == ids
        assert await visible_now(house.log, "decisions") == ["last=1"]
        await house.reopen()
    await house.put("last", "2")
    await house.reopen()
    assert (await house.state())[b"last"] == b"2"
    await house.log.close()


async def test_a_reader_in_the_middle_reads_on(house: House) -> None:
    for count in range(20):
        await house.put("k", str(count))
    reader = await house.log.reader("state", [0])
    await reader.poll(limit=5, timeout_seconds=0)
    await house.log.compact("state", 0)
    left = await everything(reader, 0)
    assert [record.value for record in left] == [b"19"]
    assert reader.position(0) == await reader.end(0)
    await house.log.close()


async def test_others_write_while_the_files_are_written_anew(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "COMPACTED_AT_ONCE", 3)
    stop = asyncio.Event()

    async def write(number: int) -> int:
        count = 0
        while not stop.is_set():
            owner = await house.log.own("requests", number)
            for _ in range(3):
                await owner.commit([*outgoing("requests", f"r{number}-{count}"), Outgoing("state", b"n", b"%d" % count)])
                count += 1
        return count

    writing = [asyncio.create_task(write(number)) for number in range(2)]
    for _ in range(20):
        house.upkeep = Upkeep(house.log, POLICIES, rewrite_bytes_min=0)
        assert await house.upkeep.turn()
    stop.set()
    counts = await asyncio.gather(*writing)
    for _ in range(2):
        for number, count in enumerate(counts):
            assert await visible_now(house.log, "requests", number) == [f"r{number}-{at}" for at in range(count)]
            assert await house.state(number) == {b"n": b"%d" % (count - 1)}
        await house.reopen()
    await house.log.close()


def _left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(("embedded.image", "embedded.log")))


@pytest.mark.parametrize("step", ["write", "rename", "unlink"])
async def test_a_crash_at_any_step_leaves_everything(house: House, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for count in range(30):
        await house.put(f"k{count % 2}", str(count))
    state, ends = await house.state(), await house.ends()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr({"write": "os.fdopen", "rename": "pathlib.Path.rename", "unlink": "pathlib.Path.unlink"}[step], fail)
    with pytest.raises(OSError, match="No space"):
        await house.upkeep.turn()
    monkeypatch.undo()
    await house.put("after", "1")
    await house.reopen()
    assert await house.state() == state | {b"after": b"1"}
    assert [one >= other for one, other in zip(await house.ends(), ends, strict=True)] == [True] * len(ends)
    assert await house.upkeep.turn()
    assert not (house.folder / DRAFT_NAME).exists()
    assert len(_left(house.folder)) == 2
    await house.reopen()
    assert await house.state() == state | {b"after": b"1"}
    await house.log.close()


async def test_a_crash_before_the_image_is_whole_leaves_the_segments(house: House) -> None:
    await house.put("a", "1")
    (house.folder / DRAFT_NAME).write_bytes(b"half an image")
    await house.reopen()
    assert await house.state() == {b"a": b"1"}
    await house.log.close()


async def test_an_image_that_is_damaged_is_said(house: House) -> None:
    for count in range(5):
        await house.put("a", str(count))
    await house.upkeep.turn()
    await house.log.close()
    (image,) = house.folder.glob(f"{IMAGE_NAME}*")
    image.write_bytes(image.read_bytes()[:-3])
    with pytest.raises(LogError, match="damaged"):
        EmbeddedLog(house.folder, now=house.clock)


async def test_what_follows_a_torn_segment_was_never_acknowledged(house: House) -> None:
    await house.put("a", "1")
    await house.log._journal.rotate()  # type: ignore[union-attr]
    await house.put("a", "2")
    await house.log.close()
    first = house.folder / FILE_NAME
    first.write_bytes(first.read_bytes()[:-5])
    house.open()
    assert await house.state() == {}
    assert _left(house.folder) == [FILE_NAME]
    await house.put("a", "3")
    await house.reopen()
    assert await house.state() == {b"a": b"3"}
    await house.log.close()


async def test_offsets_of_an_open_transaction_are_not_given_again(house: House) -> None:
    await house.put("a", "1")
    owner = await house.log.own("requests", 0)
    owner._write = owner._drafted(outgoing("state", "open"))  # type: ignore[attr-defined]
    end = house.log.partition("state", 0).end
    await house.log.rewrite()
    await house.log.close()
    house.open()
    assert house.log.partition("state", 0).end == end
    await house.log.close()


async def test_the_file_stays_within_bounds_however_much_is_written(house: House) -> None:
    sizes = []
    for _ in range(12):
        for count in range(60):
            await house.put(f"k{count % 5}", "x" * 100)
        house.clock.now += 2_000
        await house.upkeep.turn()
        sizes.append(house.log.size_bytes)
    assert max(sizes[6:]) <= max(sizes[:6])
    await house.log.close()


async def test_a_log_in_memory_is_compacted_as_well() -> None:
    log = EmbeddedLog(None, now=Clock())
    for topic in TOPICS:
        await log.create_topic(topic, 1)
    owner = await log.own("requests", 0)
    for value in (b"1", b"2"):
        await owner.commit([Outgoing("state", b"a", value)])
    assert not await Upkeep(log, POLICIES).turn()
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
    house = House(tmp_path_factory.mktemp("log"))
    await house.create()
    model: dict[bytes, bytes] = {}
    for count, act in enumerate(acts):
        key = f"k{count % keys}"
        if act in {"put", "gone"}:
            value = str(count) if act == "put" else None
            await house.put(key, value)
            model.pop(key.encode(), None)
            model |= {} if value is None else {key.encode(): value.encode()}
        elif act == "time":
            house.clock.now += 700
        elif act == "delete":
            partition = house.log.partition("decisions", 0)
            await house.log.delete_records("decisions", 0, partition.end // 2)
        elif act == "crash":  # without the end of a turn: a draft, and a segment more
            await house.log._journal.rotate()  # type: ignore[union-attr]
            (house.folder / DRAFT_NAME).write_bytes(os.urandom(10))
        elif act == "turn":
            await house.upkeep.turn()
        else:
            await house.reopen()
        assert {key: value for key, value in (await house.state()).items() if value is not None} == model
        offsets = [record.offset for record in await house.records("state")]
        assert offsets == sorted(set(offsets))
    await house.log.close()
