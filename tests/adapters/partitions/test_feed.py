"""Are rules published by whole transactions only, to everybody the same, and through failures of the log?"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from adapters.embedded.log import EmbeddedLog
from adapters.observability.metrics import Metrics
from adapters.partitions import feed as feeds
from adapters.partitions.feed import RulesTopic
from adapters.partitions.routing import partition_of
from engine.identity import ContactIds
from engine.partition.continuity import ContinuityError
from engine.partition.ports import LogError, Outgoing, Reader
from engine.partition.runner import TopicNames
from schemas.deployment import AddedTopics, Deployment, added_topics_key, deployment_key
from schemas.instant import EPOCH, Instant
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
        created_at=EPOCH,
        updated_at=EPOCH,
        body=plain(Company(name=name)),
    )


def written(*records: Record) -> list[Outgoing]:
    return [Outgoing(TOPIC, rules_key(record).encode(), to_json(record)) for record in records]


def deployment(**fields: Any) -> Deployment:
    given: dict[str, Any] = {"app": "leadclock", "created_at": Instant(1), "contact_id_secret": bytes(32)}
    return Deployment(topic_prefix="", **(given | fields))


@pytest.fixture
async def log(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EmbeddedLog]:
    monkeypatch.setattr(feeds, "FOLLOW_SECONDS", 0.005)
    log = EmbeddedLog(None, now=lambda: EPOCH)
    await log.create_topic(TOPIC, PARTITIONS)
    await log.create_topic("accounts.requests", PARTITIONS)
    yield log
    await log.close()


async def test_what_was_committed_is_there_after_a_refresh(log: EmbeddedLog) -> None:
    owner = await log.own("accounts.requests", 1)
    await owner.commit(written(company(1, 5), company(3, 6)))
    rules = RulesTopic(log, TopicNames())
    await rules.refresh()

    assert [(partition, record.id) for partition, record in rules.entries] == [(1, 1), (1, 3)]
    assert rules.rules.positions == {1: 6}
    assert rules.rules.record("company", 3) is not None
    await rules.close()


async def test_a_transaction_that_is_open_is_not_seen_at_all(log: EmbeddedLog) -> None:
    owner = await log.own("accounts.requests", 0)
    committing = asyncio.ensure_future(owner.commit(written(company(2, 1), company(5, 2))))
    await asyncio.sleep(0)
    rules = RulesTopic(log, TopicNames())
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
    rules = RulesTopic(log, TopicNames())
    await rules.refresh()
    stop = asyncio.Event()
    following = asyncio.create_task(rules.follow(stop))
    seen: set[int] = set()
    await owner.commit(written(*(company(2, number, version=number) for number in range(1, 8))))
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
    await owner.commit(written(company(2, 1)))
    rules = RulesTopic(log, TopicNames())
    await rules.refresh()
    first = rules.entries[0]
    await owner.commit(written(company(2, 2, version=2, name="Rainy")))
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
    rules = RulesTopic(frail, TopicNames())  # type: ignore[arg-type]
    stop = asyncio.Event()
    following = asyncio.create_task(rules.follow(stop))
    await owner.commit(written(company(2, 1)))
    async with asyncio.timeout(60):
        while not rules.entries:
            await asyncio.sleep(0.001)
        frail.polls_left = 0
        while frail.opened < 2:
            await asyncio.sleep(0.001)
        frail.polls_left = 1_000_000
        await owner.commit(written(company(5, 2)))
        while len(rules.entries) < 2:
            await asyncio.sleep(0.001)
    stop.set()
    await following

    assert [record.id for _, record in rules.entries] == [2, 5]
    await rules.close()


async def test_it_says_what_was_seen_of_a_company(log: EmbeddedLog) -> None:
    partition = partition_of(b"3", PARTITIONS)
    owner = await log.own("accounts.requests", partition)
    await owner.commit(written(company(3, 9)))
    rules = RulesTopic(log, TopicNames())
    await rules.refresh()

    assert rules.seen(3) == (partition, 9)
    await rules.close()


async def test_the_identity_of_the_deployment_is_read_beside_the_rules_and_the_first_one_counts(log: EmbeddedLog) -> None:
    owner = await log.own("accounts.requests", 0)
    made = [deployment(id=name, contact_id_secret=name[:1].encode() * 32) for name in ("first", "second")]
    short = deployment(id="short", contact_id_secret=b"short")
    await owner.commit([Outgoing(TOPIC, b"deployment/none", b"{bad"), *written(company(2, 1))])
    await owner.commit([Outgoing(TOPIC, deployment_key(short), to_json(short))])
    await owner.commit([Outgoing(TOPIC, deployment_key(one), to_json(one)) for one in made])
    rules = RulesTopic(log, TopicNames())
    await rules.refresh()

    assert rules.deployment == made[0]
    assert rules.rules.contact_id("2|+13055550100") == ContactIds(b"f" * 32).id_of("2|+13055550100")
    assert [record.id for _, record in rules.entries] == [2]
    assert rules.rules.positions == {0: 1}
    await rules.close()


async def test_topics_that_a_release_adds_to_this_deployment_are_added_to_its_identity(log: EmbeddedLog) -> None:
    own = deployment(id="own", topics={"leads.inbox": "1"})
    added = AddedTopics(topics={"impressions": "2", "leads.inbox": "later"})
    owner = await log.own("accounts.requests", 0)
    await owner.commit([Outgoing(TOPIC, deployment_key(own), to_json(own))])
    for deployment_id in ("other", "own"):
        await owner.commit([Outgoing(TOPIC, added_topics_key(deployment_id, added.topics), to_json(added))])
    rules = RulesTopic(log, TopicNames())
    await rules.refresh()

    assert rules.deployment is not None
    assert rules.deployment.topics == {"leads.inbox": "1", "impressions": "2"}
    assert "the topics of another deployment" in rules.skipped.notes()[TOPIC]
    await rules.close()


PLACE = partition_of(b"1", PARTITIONS)
OWN = company(1, 5)

FOREIGN: list[tuple[str, bytes | None, bytes | None, str]] = [
    ("no JSON", b"company/1@2", b"{", "not a record"),
    ("nothing", b"company/1@1", None, "a tombstone"),
    ("no UTF-8", b"company/1@2", b'{"type":"\xff"}', "not a record"),
    ("too deep", b"company/1@2", b'{"x":' + b"[" * 100_000, "not a record"),
    ("another JSON", b"company/1@2", b"[]", "not a record"),
    ("an unknown type", b"x/1@1", to_json(msgspec.structs.replace(OWN, type="x")), "'x' is not a type"),
    ("no key", None, to_json(company(1, 6, version=2)), "its key"),
    ("the key of another", b"company/2@2", to_json(company(1, 6, version=2)), "its key"),
    (
        "a bad body",
        b"company/1@2",
        to_json(msgspec.structs.replace(company(1, 6, version=2), body={"name": 7})),
        "not a record",
    ),
    ("an old one again", b"company/1@1", to_json(company(1, 4)), "the sequence number"),
    ("no sequence", b"company/1@2", to_json(company(1, 0, version=2)), "the sequence number"),
    ("an identity", b"deployment/x", b"{", "not the identity" if PLACE == 0 else "the identity of"),
]


@pytest.mark.parametrize(("key", "value", "reason"), [one[1:] for one in FOREIGN], ids=[one[0] for one in FOREIGN])
async def test_a_record_that_is_no_rule_is_skipped_and_said_and_the_next_one_is_read(
    log: EmbeddedLog, key: bytes | None, value: bytes | None, reason: str
) -> None:
    owner = await log.own("accounts.requests", PLACE)
    await owner.commit(written(OWN))
    await owner.commit([Outgoing(TOPIC, key, value)])
    rules = RulesTopic(log, TopicNames())
    await rules.refresh()
    await owner.commit(written(company(1, 9, version=2, name="Rainy")))
    await rules.refresh()

    assert [record.sequence for _, record in rules.entries] == [5, 9]
    note = rules.skipped.notes()[TOPIC]
    assert note.startswith(f"1 record was skipped, the last at {TOPIC}[{PLACE}] offset 2: {reason}")
    await rules.close()


async def test_a_rule_of_a_company_whose_partition_is_another_is_skipped(log: EmbeddedLog) -> None:
    owner = await log.own("accounts.requests", 1 - PLACE)
    await owner.commit(written(OWN))
    rules = RulesTopic(log, TopicNames())
    await rules.refresh()

    assert rules.entries == []
    assert f"the records of company 1 are those of partition {PLACE}" in rules.skipped.notes()[TOPIC]
    await rules.close()


async def test_what_was_skipped_is_reported_once_however_often_it_is_read(log: EmbeddedLog) -> None:
    appender = await log.appender()
    await appender.append(PLACE, [Outgoing(TOPIC, b"x", b"{"), Outgoing(TOPIC, b"y", b"{")])
    metrics = Metrics()
    rules = RulesTopic(log, TopicNames())
    await rules.refresh()
    rules.skipped.count_in(metrics)
    rules._published.clear()
    for _ in range(3):
        await rules._reopen()
        await rules.refresh()

    assert rules.skipped.notes()[TOPIC].startswith("2 records were skipped")
    assert b'leadclock_skipped_records_total{topic="accounts.rules"} 2.0' in metrics.text()
    await rules.close()


async def test_a_garbage_record_does_not_end_the_following(log: EmbeddedLog) -> None:
    rules = RulesTopic(log, TopicNames())
    stop = asyncio.Event()
    follower = asyncio.create_task(rules.follow(stop))
    appender = await log.appender()
    await appender.append(PLACE, [Outgoing(TOPIC, b"x", b"{")])
    owner = await log.own("accounts.requests", PLACE)
    await owner.commit(written(OWN))
    async with asyncio.timeout(60):
        while not rules.entries:
            await asyncio.sleep(0.01)

    assert rules.problem is None
    assert not follower.done()
    stop.set()
    await follower
    await rules.close()


async def read_company(log: EmbeddedLog) -> RulesTopic:
    """Return rules that have read a company."""
    await (await log.own("accounts.requests", 1)).commit(written(company(1, 5)))
    rules = RulesTopic(log, TopicNames())
    await rules.refresh()
    return rules


@pytest.mark.parametrize("later", [0, 9], ids=["nothing since", "more than before since"])
async def test_a_topic_that_was_made_again_is_refused_whatever_comes_since(
    log: EmbeddedLog, monkeypatch: pytest.MonkeyPatch, later: int
) -> None:
    monkeypatch.setattr(feeds, "IDENTITY_SECONDS", 0.0)
    rules = await read_company(log)
    await log.delete_topic(TOPIC)
    await log.create_topic(TOPIC, PARTITIONS)
    for number in range(later):
        await (await log.own("accounts.requests", 1)).commit(written(company(1, 6 + number, version=2 + number)))

    for _ in range(3):
        with pytest.raises(ContinuityError, match=r"accounts\.rules was deleted and made again"):
            await rules.refresh()
        await rules._reopen()

    assert rules.rules.positions == {1: 5}


@pytest.mark.parametrize("later", [0, 9], ids=["nothing since", "more than before since"])
async def test_a_topic_that_was_cut_is_refused_whatever_comes_since(log: EmbeddedLog, later: int) -> None:
    rules = await read_company(log)
    partition = log.partition(TOPIC, 1)
    partition.records.clear()
    partition.end = 0
    for number in range(later):
        await (await log.own("accounts.requests", 1)).commit(written(company(1, 6 + number, version=2 + number)))

    for _ in range(3):
        await rules._reopen()
        with pytest.raises(ContinuityError, match=r"accounts\.rules\[1\]"):
            await rules.refresh()


async def test_a_record_that_compaction_took_is_no_fault(log: EmbeddedLog) -> None:
    rules = await read_company(log)
    log.partition(TOPIC, 1).records.clear()
    await (await log.own("accounts.requests", 1)).commit(written(company(1, 6, version=2)))
    await rules._reopen()

    await rules.refresh()

    assert rules.rules.positions == {1: 6}
