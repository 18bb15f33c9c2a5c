"""What does every log promise? One suite that the Kafka adapter and the embedded log both pass, sentence by sentence."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import pytest

from engine.partition.ports import FencedError, Log, LogError, LogRecord, Outgoing, Ownership, Reader, RecordRefusedError
from schemas.instant import Instant
from tests.pace import bound

WAIT_SECONDS = bound(5.0)
SILENCE_SECONDS = 0.3
"""How long a test listens before it believes that nothing comes."""

MARK = "-- here ends what the test wrote --"


class World(Protocol):
    """A log under test, and what a test does behind its back."""

    @property
    def log(self) -> Log: ...

    async def create(self, *names: str, partitions: int = 2) -> list[str]:
        """Create topics and return their full names."""
        ...

    async def delete(self, topic: str) -> None:
        """Delete a topic."""
        ...

    async def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Do what retention does."""
        ...

    async def limit(self, topic: str, record_bytes_max: int) -> None:
        """Lower the size of a record that a topic takes, as an operator may do at any time."""
        ...

    async def hang(self, ownership: Ownership, records: Sequence[Outgoing]) -> Callable[[], Awaitable[None]]:
        """Stop a commit when its records are written but not committed; what is returned goes on with it."""
        ...


def outgoing(topic: str, *values: str) -> list[Outgoing]:
    return [Outgoing(topic, value.encode(), value.encode()) for value in values]


def noise(size: int) -> bytes:
    """Return bytes that no compression makes smaller."""
    return random.Random(size).randbytes(size)


def values(records: Sequence[LogRecord]) -> list[str]:
    return [(record.value or b"").decode() for record in records]


async def everything(reader: Reader, *partitions: int) -> list[LogRecord]:
    """Read to the end that each partition has now."""
    ends = {partition: await reader.end(partition) for partition in partitions}
    found: list[LogRecord] = []
    async with asyncio.timeout(WAIT_SECONDS):
        while any(reader.position(partition) < end for partition, end in ends.items()):
            found += await reader.poll(limit=1000, timeout_seconds=WAIT_SECONDS)
    return found


async def reached(reader: Reader, end: int) -> None:
    """Wait until partition 0 ends there: a commit shows a moment after it was acknowledged."""
    async with asyncio.timeout(WAIT_SECONDS):
        while await reader.end(0) != end:
            await asyncio.sleep(0.01)


async def visible_now(log: Log, topic: str, partition: int = 0) -> list[str]:
    """Return what a new reader finds at this moment."""
    reader = await log.reader(topic, [partition])
    try:
        return values(await everything(reader, partition))
    finally:
        await reader.close()


async def contents(log: Log, topic: str, partition: int = 0) -> list[str]:
    """Return all that will ever show of what was written so far: a mark behind it shows only after all of it."""
    appender, reader = await log.appender(), await log.reader(topic, [partition])
    await appender.append(partition, outgoing(topic, MARK))
    found: list[str] = []
    async with asyncio.timeout(WAIT_SECONDS):
        while found.count(MARK) == 0 or reader.position(partition) < await reader.end(partition):
            found += values(await reader.poll(limit=1000, timeout_seconds=WAIT_SECONDS))
    await reader.close()
    await appender.close()
    return [value for value in found if value != MARK]


class LogContract:
    """Subclass it and give a fixture `world`."""

    # Owning and committing

    async def test_a_commit_is_seen_in_every_topic_and_in_order(self, world: World) -> None:
        requests, decisions, state = await world.create("requests", "decisions", "state")
        owner = await world.log.own(requests, 1)
        await owner.commit([*outgoing(decisions, "a", "b"), *outgoing(state, "s"), *outgoing(decisions, "c")])
        await owner.commit(outgoing(decisions, "d"))
        assert await contents(world.log, decisions, 1) == ["a", "b", "c", "d"]
        assert await contents(world.log, state, 1) == ["s"]
        assert await contents(world.log, decisions, 0) == []
        await owner.close()

    async def test_a_record_comes_back_as_it_was_written(self, world: World) -> None:
        requests, state = await world.create("requests", "state")
        owner = await world.log.own(requests, 0)
        headers = (("ce_id", b"\x00\xff"), ("ce_id", b"again"))
        await owner.commit([Outgoing(state, b"key", None, headers), Outgoing(state, None, b""), Outgoing(state, b"", b"x")])
        reader = await world.log.reader(state, [0])
        await reached(reader, 4)
        first, second, third = await everything(reader, 0)
        assert (first.topic, first.partition, first.key, first.value, first.headers) == (state, 0, b"key", None, headers)
        assert (second.key, second.value, second.headers) == (None, b"", ())
        assert (third.key, third.value) == (b"", b"x")
        assert first.appended_at > Instant(1_700_000_000_000)
        await reader.close()
        await owner.close()

    async def test_a_large_commit_is_whole_and_in_order(self, world: World) -> None:
        requests, decisions, state = await world.create("requests", "decisions", "state")
        owner = await world.log.own(requests, 0)
        numbers = [f"{number:0700}" for number in range(2500)]
        await owner.commit(
            [record for number in numbers for topic in (decisions, state) for record in outgoing(topic, number)]
        )
        assert await contents(world.log, decisions) == numbers
        assert await contents(world.log, state) == numbers
        await owner.close()

    async def test_an_empty_commit_writes_nothing(self, world: World) -> None:
        requests, state = await world.create("requests", "state")
        owner = await world.log.own(requests, 0)
        await owner.commit([])
        await owner.commit(outgoing(state, "a"))
        assert await contents(world.log, state) == ["a"]
        await owner.close()

    async def test_the_newer_owner_fences_the_older_whose_records_are_never_seen(self, world: World) -> None:
        requests, state = await world.create("requests", "state")
        older = await world.log.own(requests, 0)
        await older.commit(outgoing(state, "before"))
        newer = await world.log.own(requests, 0)
        with pytest.raises(FencedError) as raised:
            await older.commit(outgoing(state, "zombie"))
        assert (raised.value.topic, raised.value.partition, raised.value.retryable) == (requests, 0, False)
        await newer.commit(outgoing(state, "after"))
        with pytest.raises(FencedError):
            await older.commit(outgoing(state, "zombie again"))
        assert await contents(world.log, state) == ["before", "after"]
        await older.close()
        await newer.close()

    async def test_owners_of_other_partitions_and_topics_are_not_fenced(self, world: World) -> None:
        contacts, accounts, state = await world.create("contacts", "accounts", "state")
        owners = [await world.log.own(*place) for place in ((contacts, 0), (contacts, 1), (accounts, 0))]
        for owner in owners:
            await owner.commit(outgoing(state, "x"))
        assert await contents(world.log, state, 0) == ["x", "x"]
        assert await contents(world.log, state, 1) == ["x"]
        for owner in owners:
            await owner.close()

    async def test_nothing_is_read_past_an_open_transaction_until_a_new_owner_aborts_it(self, world: World) -> None:
        requests, state = await world.create("requests", "state")
        hanging = await world.log.own(requests, 0)
        await hanging.commit(outgoing(state, "committed"))
        go_on = await world.hang(hanging, outgoing(state, "open"))
        appender = await world.log.appender()
        await appender.append(0, outgoing(state, "behind"))
        reader = await world.log.reader(state, [0])
        stable = 2
        await reached(reader, stable)
        assert values(await everything(reader, 0)) == ["committed"]
        assert await reader.poll(limit=10, timeout_seconds=SILENCE_SECONDS) == []
        assert reader.position(0) == stable

        newer = await world.log.own(requests, 0)
        # By now: taking the partition waits until what the earlier owner left is ended.
        assert await reader.end(0) == stable + 3
        assert values(await everything(reader, 0)) == ["behind"]
        assert reader.position(0) == await reader.end(0)
        with pytest.raises(FencedError):
            await go_on()
        assert reader.position(0) == await reader.end(0)
        for each in (reader, appender, hanging, newer):
            await each.close()

    async def test_a_new_owner_finds_at_once_all_that_earlier_owners_committed(self, world: World) -> None:
        requests, state = await world.create("requests", "state")
        reader = await world.log.reader(state, [0])
        for number in range(5):
            owner = await world.log.own(requests, 0)
            assert await reader.end(0) == 2 * number
            await owner.commit(outgoing(state, str(number)))
            await owner.close()
        await reader.close()

    async def test_giving_the_ownership_back_aborts_what_is_open(self, world: World) -> None:
        requests, state = await world.create("requests", "state")
        owner = await world.log.own(requests, 0)
        await world.hang(owner, outgoing(state, "open"))
        await owner.close()
        assert await contents(world.log, state) == []
        with pytest.raises(LogError):
            await owner.commit(outgoing(state, "closed"))
        await owner.close()

    async def test_a_record_over_the_limit_refuses_the_whole_commit(self, world: World) -> None:
        requests, decisions, state = await world.create("requests", "decisions", "state")
        owner = await world.log.own(requests, 0)
        too_large = Outgoing(state, b"k", bytes(1_100_000))
        with pytest.raises(RecordRefusedError) as raised:
            await owner.commit([*outgoing(decisions, "a"), too_large, *outgoing(decisions, "b")])
        assert (raised.value.retryable, raised.value.index, raised.value.appended) == (False, 1, 0)
        with pytest.raises(LogError):
            await owner.commit(outgoing(decisions, "dead owner"))
        newer = await world.log.own(requests, 0)
        await newer.commit(outgoing(decisions, "c"))
        assert await contents(world.log, decisions) == ["c"]
        assert await contents(world.log, state) == []
        await owner.close()
        await newer.close()

    async def test_a_record_just_under_the_limit_is_written(self, world: World) -> None:
        requests, state = await world.create("requests", "state")
        owner = await world.log.own(requests, 0)
        appender = await world.log.appender()
        large = Outgoing(state, b"k", bytes(1_048_000))
        await owner.commit([*outgoing(state, "before"), large, *outgoing(state, "after")])
        await appender.append(0, [large])
        reader = await world.log.reader(state, [0])
        await reached(reader, 5)
        assert [len(record.value or b"") for record in await everything(reader, 0)] == [6, 1_048_000, 5, 1_048_000]
        for each in (reader, appender, owner):
            await each.close()

    async def test_a_missing_topic_refuses_the_whole_commit_and_is_not_created(self, world: World) -> None:
        requests, state = await world.create("requests", "state")
        owner = await world.log.own(requests, 0)
        with pytest.raises(LogError) as raised:
            await owner.commit([*outgoing(state, "a"), *outgoing(f"{state}.missing", "b")])
        assert not raised.value.retryable
        assert await contents(world.log, state) == []
        with pytest.raises(LogError):
            await world.log.partition_count(f"{state}.missing")
        await owner.close()

    async def test_a_cancelled_commit_leaves_a_dead_owner(self, world: World) -> None:
        requests, state = await world.create("requests", "state")
        owner = await world.log.own(requests, 0)
        committing = asyncio.create_task(owner.commit(outgoing(state, "a", "b")))
        await asyncio.sleep(0)
        committing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await committing
        with pytest.raises(LogError):
            await owner.commit(outgoing(state, "c"))
        newer = await world.log.own(requests, 0)
        await newer.commit(outgoing(state, "d"))
        assert await contents(world.log, state) in (["d"], ["a", "b", "d"])
        await owner.close()
        await newer.close()

    # Appending

    async def test_appends_keep_their_order_and_tell_their_offsets(self, world: World) -> None:
        (requests,) = await world.create("requests")
        appender = await world.log.appender()
        assert await appender.append(0, []) == []
        assert await appender.append(0, outgoing(requests, "a", "b")) == [0, 1]
        offsets = await asyncio.gather(*(appender.append(0, outgoing(requests, f"{number}")) for number in range(20)))
        assert offsets == [[2 + number] for number in range(20)]
        assert await appender.append(1, outgoing(requests, "other")) == [0]
        assert await contents(world.log, requests) == ["a", "b", *(str(number) for number in range(20))]
        assert await contents(world.log, requests, 1) == ["other"]
        await appender.close()
        with pytest.raises(LogError):
            await appender.append(0, outgoing(requests, "closed"))

    async def test_an_append_with_a_record_over_the_limit_appends_nothing_and_the_next_one_works(self, world: World) -> None:
        (requests,) = await world.create("requests")
        appender = await world.log.appender()
        with pytest.raises(RecordRefusedError) as raised:
            await appender.append(0, [*outgoing(requests, "a"), Outgoing(requests, b"k", bytes(1_100_000))])
        assert (raised.value.retryable, raised.value.index, raised.value.appended) == (False, 1, 0)
        assert await appender.append(0, outgoing(requests, "b")) == [0]
        await appender.close()

    async def test_a_commit_over_a_limit_that_was_lowered_is_refused_whole_for_its_size(self, world: World) -> None:
        requests, decisions, state = await world.create("requests", "decisions", "state")
        owner = await world.log.own(requests, 0)
        await owner.commit([*outgoing(decisions, "a"), *outgoing(state, "a")])  # the former limit is known from here on
        await world.limit(state, 20_000)
        with pytest.raises(RecordRefusedError) as raised:
            await owner.commit([*outgoing(decisions, "b"), Outgoing(state, b"k", noise(30_000))])
        assert not raised.value.retryable
        newer = await world.log.own(requests, 0)
        await newer.commit(outgoing(decisions, "c"))
        assert await contents(world.log, decisions) == ["a", "c"]
        assert await contents(world.log, state) == ["a"]
        await owner.close()
        await newer.close()

    async def test_appends_beside_one_that_is_refused_for_its_size_succeed_in_their_order(self, world: World) -> None:
        (requests,) = await world.create("requests")
        appender = await world.log.appender()
        await appender.append(0, outgoing(requests, "first"))  # the former limit is known from here on
        await world.limit(requests, 20_000)
        large = Outgoing(requests, b"large", noise(30_000))
        calls = [
            outgoing(requests, "a", "b"),
            [large],
            outgoing(requests, "c"),
            [*outgoing(requests, "d"), large, *outgoing(requests, "behind it")],
            outgoing(requests, "e"),
        ]
        answers = await asyncio.gather(*(appender.append(0, call) for call in calls), return_exceptions=True)
        refused = [answer for answer in answers if isinstance(answer, RecordRefusedError)]
        assert [place for place, answer in enumerate(answers) if answer in refused] == [1, 3]
        assert [error.index for error in refused] == [0, 1]
        # What the error says was appended is there; the record behind the refused one is not.
        kept = ["d"] if refused[1].appended else []
        assert await appender.append(0, outgoing(requests, "next")) == [5 + len(kept)]
        assert await contents(world.log, requests) == ["first", "a", "b", "c", *kept, "e", "next"]
        await appender.close()

    async def test_a_large_append_is_in_order(self, world: World) -> None:
        (requests,) = await world.create("requests")
        appender = await world.log.appender()
        numbers = [f"{number:0700}" for number in range(2000)]
        assert await appender.append(0, outgoing(requests, *numbers)) == list(range(2000))
        assert await contents(world.log, requests) == numbers
        await appender.close()

    # Reading

    async def test_the_position_reaches_the_end_over_control_records(self, world: World) -> None:
        requests, state = await world.create("requests", "state")
        owner = await world.log.own(requests, 0)
        for value in ("a", "b"):
            await owner.commit(outgoing(state, value))
        reader = await world.log.reader(state, [0])
        await reached(reader, 4)
        records = await everything(reader, 0)
        assert [record.offset for record in records] == [0, 2]
        assert reader.position(0) == 4
        assert await reader.poll(limit=10, timeout_seconds=SILENCE_SECONDS) == []
        await reader.close()
        await owner.close()

    async def test_a_poll_that_reaches_the_end_asked_for_does_not_wait_on(self, world: World) -> None:
        requests, state = await world.create("requests", "state")
        owner = await world.log.own(requests, 0)
        await world.hang(owner, outgoing(state, "open"))
        await owner.close()
        reader = await world.log.reader(state, [0])
        await reached(reader, 2)
        async with asyncio.timeout(WAIT_SECONDS):
            assert await reader.poll(limit=10, timeout_seconds=60) == []
        assert reader.position(0) == 2
        await reader.close()

    async def test_a_poll_takes_no_more_than_its_limit_and_no_longer_than_its_timeout(self, world: World) -> None:
        (requests,) = await world.create("requests")
        appender = await world.log.appender()
        await appender.append(0, outgoing(requests, "a", "b", "c"))
        reader = await world.log.reader(requests, [0])
        assert values(await reader.poll(limit=2, timeout_seconds=WAIT_SECONDS)) == ["a", "b"]
        assert reader.position(0) == 2
        assert values(await reader.poll(limit=2, timeout_seconds=WAIT_SECONDS)) == ["c"]
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert await reader.poll(limit=2, timeout_seconds=0.1) == []
        assert 0.05 < loop.time() - began < WAIT_SECONDS
        await reader.close()
        await appender.close()

    async def test_a_waiting_poll_returns_with_the_first_record(self, world: World) -> None:
        requests, state = await world.create("requests", "state")
        owner = await world.log.own(requests, 0)
        reader = await world.log.reader(state, [0, 1])
        waiting = asyncio.create_task(reader.poll(limit=10, timeout_seconds=60))
        await asyncio.sleep(0.05)
        await owner.commit(outgoing(state, "a"))
        async with asyncio.timeout(WAIT_SECONDS):
            assert values(await waiting) == ["a"]
        await reader.close()
        await owner.close()

    async def test_a_reader_reads_all_its_partitions_each_in_order(self, world: World) -> None:
        (requests,) = await world.create("requests", partitions=3)
        appender = await world.log.appender()
        for partition in range(3):
            await appender.append(partition, outgoing(requests, *(f"{partition}{letter}" for letter in "abc")))
        reader = await world.log.reader(requests, [0, 2])
        records = await everything(reader, 0, 2)
        for partition in (0, 2):
            assert values([r for r in records if r.partition == partition]) == [f"{partition}{letter}" for letter in "abc"]
        assert len(records) == 6
        with pytest.raises(ValueError, match="does not read"):
            reader.position(1)
        await reader.close()
        await appender.close()

    async def test_two_readers_do_not_disturb_each_other(self, world: World) -> None:
        (requests,) = await world.create("requests")
        appender = await world.log.appender()
        await appender.append(0, outgoing(requests, "a", "b"))
        early, late = await world.log.reader(requests, [0]), await world.log.reader(requests, [0], start=1)
        assert values(await everything(early, 0)) == ["a", "b"]
        assert values(await everything(late, 0)) == ["b"]
        await early.close()
        await appender.append(0, outgoing(requests, "c"))
        assert values(await late.poll(limit=10, timeout_seconds=WAIT_SECONDS)) == ["c"]
        await late.close()
        await appender.close()

    async def test_a_reader_from_the_end_sees_only_what_comes(self, world: World) -> None:
        requests, state = await world.create("requests", "state")
        owner = await world.log.own(requests, 0)
        await owner.commit(outgoing(state, "old"))
        await contents(world.log, state)
        reader = await world.log.reader(state, [0, 1], start=None)
        assert (reader.position(0), reader.position(1)) == (3, 0)
        await owner.commit(outgoing(state, "new"))
        assert values(await reader.poll(limit=10, timeout_seconds=WAIT_SECONDS)) == ["new"]
        await reader.close()
        await owner.close()

    async def test_seek_goes_back_and_forth_but_not_behind_the_end(self, world: World) -> None:
        (requests,) = await world.create("requests")
        appender = await world.log.appender()
        await appender.append(0, outgoing(requests, "a", "b", "c"))
        reader = await world.log.reader(requests, [0])
        assert values(await everything(reader, 0)) == ["a", "b", "c"]
        await reader.seek(0, 1)
        assert reader.position(0) == 1
        assert values(await everything(reader, 0)) == ["b", "c"]
        await reader.seek(0, 3)
        assert await reader.poll(limit=10, timeout_seconds=SILENCE_SECONDS) == []
        with pytest.raises(LogError) as raised:
            await reader.seek(0, 4)
        assert not raised.value.retryable
        await reader.close()
        await appender.close()

    async def test_what_retention_deleted_is_skipped(self, world: World) -> None:
        (requests,) = await world.create("requests")
        appender = await world.log.appender()
        await appender.append(0, outgoing(requests, *"abcdef"))
        behind = await world.log.reader(requests, [0])
        await world.delete_records(requests, 0, 3)
        assert await behind.start(0) == 3
        assert values(await everything(behind, 0))[-3:] == ["d", "e", "f"]  # it may have fetched the others before
        await behind.seek(0, 1)
        assert behind.position(0) == 3
        fresh = await world.log.reader(requests, [0])
        assert fresh.position(0) == 3
        assert values(await everything(fresh, 0)) == ["d", "e", "f"]
        for each in (behind, fresh, appender):
            await each.close()

    # Topics

    async def test_a_topic_keeps_its_id_for_life_and_another_of_its_name_has_another(self, world: World) -> None:
        (requests,) = await world.create("requests")
        first = await world.log.topic_id(requests)
        assert await world.log.topic_id(requests) == first
        await world.delete(requests)
        await world.create("requests")
        assert await world.log.topic_id(requests) != first

    async def test_a_missing_topic_is_said_and_not_created(self, world: World) -> None:
        (present,) = await world.create("requests", partitions=2)
        assert await world.log.partition_count(present) == 2
        appender = await world.log.appender()
        missing = f"{present}.missing"
        for asking in (
            world.log.partition_count(missing),
            world.log.topic_id(missing),
            world.log.own(missing, 0),
            world.log.reader(missing, [0]),
            appender.append(0, outgoing(missing, "a")),
            world.log.own(present, 2),
            world.log.reader(present, [2]),
        ):
            with pytest.raises(LogError) as raised:
                await asking
            assert not raised.value.retryable
        await appender.close()
