"""Are rules published by whole transactions only, to everybody the same, and through failures of the log?"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.embedded.log import EmbeddedLog
from adapters.partitions import feed as feeds
from adapters.partitions.feed import RulesTopic
from adapters.partitions.routing import partition_of
from engine.partition.ports import LogError, Outgoing, Reader
from engine.partition.runner import Names
from schemas.records import Company, Record, plain, rules_key
from schemas.wire import to_json

TOPIC = "accounts.rules"
PARTITIONS = 2


def company(company_id: int, sequence: int, *, version: int = 1, name: str = "Sunny") -> Record:
    return Record(
        type="company",
        id=company_id,
        uuid=f"c{company_id}",
        company_id=company_id,
        version=version,
        sequence=sequence,
        created_at=0,
        updated_at=0,
        body=plain(Company(name=name)),
    )


def written(*records: Record) -> list[Outgoing]:
    return [Outgoing(TOPIC, rules_key(record).encode(), to_json(record)) for record in records]


@pytest.fixture
async def log(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EmbeddedLog]:
    monkeypatch.setattr(feeds, "FOLLOW_SECONDS", 0.005)
    log = EmbeddedLog(None, now=lambda: 0)
    await log.create_topic(TOPIC, PARTITIONS)
    await log.create_topic("accounts.requests", PARTITIONS)
    yield log
    await log.close()


async def test_what_was_committed_is_there_after_a_refresh(log: EmbeddedLog) -> None:
    owner = await log.own("accounts.requests", 1)
    await owner.commit(written(company(1, 5), company(2, 6)))
    rules = RulesTopic(log, Names())
    await rules.refresh()

    assert [(partition, record.id) for partition, record in rules.entries] == [(1, 1), (1, 2)]
    assert rules.rules.positions == {1: 6}
    assert rules.rules.record("company", 2) is not None
    await rules.close()


async def test_a_transaction_that_is_open_is_not_seen_at_all(log: EmbeddedLog) -> None:
    owner = await log.own("accounts.requests", 0)
    committing = asyncio.ensure_future(owner.commit(written(company(1, 1), company(2, 2))))
    await asyncio.sleep(0)
    rules = RulesTopic(log, Names())
    await rules._opened()
    before = list(rules.entries)
    await committing
    await rules.refresh()

    assert before == []
    assert len(rules.entries) == 2
    await rules.close()


async def test_a_transaction_that_is_read_in_pieces_is_published_whole(
    log: EmbeddedLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "READ_LIMIT", 1)
    owner = await log.own("accounts.requests", 0)
    rules = RulesTopic(log, Names())
    await rules.refresh()
    stop = asyncio.Event()
    following = asyncio.create_task(rules.follow(stop))
    seen: set[int] = set()
    await owner.commit(written(*(company(number, number) for number in range(1, 8))))
    async with asyncio.timeout(60):
        while len(rules.entries) < 7:
            seen.add(len(rules.entries))
            await asyncio.sleep(0)
    stop.set()
    await following

    assert seen <= {0, 7}
    await rules.close()


async def test_entries_are_only_ever_added_to(log: EmbeddedLog) -> None:
    owner = await log.own("accounts.requests", 0)
    await owner.commit(written(company(1, 1)))
    rules = RulesTopic(log, Names())
    await rules.refresh()
    first = rules.entries[0]
    await owner.commit(written(company(1, 2, version=2, name="Rainy")))
    await rules.refresh()

    assert rules.entries[0] is first
    assert [record.version for _, record in rules.entries] == [1, 2]
    await rules.close()


class Frail:
    """A log whose readers fail a while after they were opened."""

    def __init__(self, log: EmbeddedLog) -> None:
        self._log = log
        self.polls_left = 1_000_000
        self.opened = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._log, name)

    async def reader(self, *args: object, **kwargs: object) -> Reader:
        self.opened += 1
        reader = await self._log.reader(*args, **kwargs)  # type: ignore[arg-type]
        poll = reader.poll

        async def failing(**options: object) -> object:
            self.polls_left -= 1
            if self.polls_left < 0:
                raise LogError("the broker is away")
            return await poll(**options)  # type: ignore[arg-type]

        reader.poll = failing  # type: ignore[method-assign,assignment]
        return reader


async def test_following_goes_on_after_an_error_where_it_was_and_gives_nothing_twice(log: EmbeddedLog) -> None:
    frail = Frail(log)
    owner = await log.own("accounts.requests", 0)
    rules = RulesTopic(frail, Names())  # type: ignore[arg-type]
    stop = asyncio.Event()
    following = asyncio.create_task(rules.follow(stop))
    await owner.commit(written(company(1, 1)))
    async with asyncio.timeout(60):
        while not rules.entries:
            await asyncio.sleep(0.001)
        frail.polls_left = 0
        while frail.opened < 2:
            await asyncio.sleep(0.001)
        frail.polls_left = 1_000_000
        await owner.commit(written(company(2, 2)))
        while len(rules.entries) < 2:
            await asyncio.sleep(0.001)
    stop.set()
    await following

    assert [record.id for _, record in rules.entries] == [1, 2]
    await rules.close()


async def test_it_says_what_was_seen_of_a_company(log: EmbeddedLog) -> None:
    partition = partition_of(b"3", PARTITIONS)
    owner = await log.own("accounts.requests", partition)
    await owner.commit(written(company(3, 9)))
    rules = RulesTopic(log, Names())
    await rules.refresh()

    assert rules.seen(3) == (partition, 9)
    await rules.close()
