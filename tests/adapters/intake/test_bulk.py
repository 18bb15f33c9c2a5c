"""Does an import wait in `leads.inbox.bulk` without anybody else waiting for it? The real role, on a real broker.

No scheduler runs: nothing that is passed on is ever decided, so pacing stops each inbox at a number that is known.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from adapters.intake.backpressure import STALLED_MAX
from adapters.intake.intake import BATCH_MAX
from adapters.kafka.topics import prepare_topics
from adapters.observability.metrics import Metrics
from adapters.operator.dead_letters import redrive_record
from adapters.partitions.routing import partition_of
from adapters.roles.broker import connection_of
from adapters.roles.context import Context, open_context, specs
from adapters.roles.intake import IntakeRole
from adapters.settings import Settings
from engine.partition.ports import LogRecord, Outgoing
from schemas.envelope import from_headers
from schemas.instant import EPOCH
from schemas.records import Body, Company, Offer, plain, rules_key
from schemas.records import Record as RuleRecord
from schemas.topics import (
    ACCOUNTS_REQUESTS,
    ACCOUNTS_RULES,
    CONTACTS_REQUESTS,
    DEADLETTER,
    INBOXES,
    LEADS_INBOX,
    LEADS_INBOX_BULK,
    Topic,
)
from schemas.wire import to_json
from tests.pace import bound

PARTITIONS = 2
TOKEN = "offer-token-00001"
WAIT_SECONDS = bound(120.0)
"""The bound of a hang."""

Seen = Callable[[Sequence[LogRecord]], bool]


def lead(local: int = 0) -> dict[str, Any]:
    return {"lead_token": TOKEN, "caller_id": f"+1305555{local:04}"}


async def found_company(context: Context) -> None:
    """Let the account decide a company with one offer."""
    topic = context.names.of(ACCOUNTS_RULES.name)
    partition = partition_of(b"1", PARTITIONS)
    owner = await context.log.own(context.names.of(ACCOUNTS_REQUESTS.name), partition, writes=[topic])
    bodies: dict[str, Body] = {"company": Company(name="Sunny"), "offer": Offer(name="Solar", lead_token=TOKEN)}
    for sequence, (record_type, body) in enumerate(bodies.items(), start=1):
        record = RuleRecord(
            type=record_type,
            id=sequence,
            uuid=f"{record_type}-{sequence}",
            company_id=1,
            version=1,
            sequence=sequence,
            created_at=EPOCH,
            updated_at=EPOCH,
            body=plain(body),
        )
        await owner.commit([Outgoing(topic, rules_key(record).encode(), to_json(record))])
    await owner.close()


@asynccontextmanager
async def opened(kafka_bootstrap: str, topic_prefix: str, *, without: Sequence[Topic] = ()) -> AsyncIterator[Context]:
    """Give a deployment with one company, some of its topics missing."""
    settings = Settings(kafka_bootstrap=kafka_bootstrap, topic_prefix=topic_prefix, partitions=PARTITIONS)
    missing = {f"{topic_prefix}{topic.name}" for topic in without}
    async with open_context(settings) as context:
        await prepare_topics(connection_of(settings), [spec for spec in specs(settings) if spec.name not in missing])
        await found_company(context)
        yield context


@asynccontextmanager
async def running(context: Context) -> AsyncIterator[IntakeRole]:
    """Give the intake of a deployment at work."""
    role, stop = IntakeRole(context, Metrics()), asyncio.Event()
    work = asyncio.create_task(role.run(stop))
    try:
        yield role
    finally:
        stop.set()
        await work


async def put(context: Context, inbox: Topic, partition: int, values: Sequence[bytes]) -> None:
    """Append records to a partition of an inbox."""
    appender = await context.log.appender()
    topic = context.names.of(inbox.name)
    for first in range(0, len(values), BATCH_MAX):
        await appender.append(partition, [Outgoing(topic, None, value) for value in values[first : first + BATCH_MAX]])
    await appender.close()


async def until(context: Context, topic: Topic, seen: Seen) -> list[LogRecord]:
    """Read a topic from its start until what was read is enough, and return it."""
    reader = await context.log.reader(context.names.of(topic.name), range(PARTITIONS))
    found: list[LogRecord] = []
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while not seen(found):
                found += await reader.poll(limit=1_000, timeout_seconds=0.2)
    finally:
        await reader.close()
    return found


def of_inbox(inbox: Topic, records: Sequence[LogRecord]) -> list[int]:
    """Return the numbers of requests that intake made of records of an inbox."""
    envelopes = [from_headers(record.headers) for record in records]
    return [one.number or 0 for one in envelopes if one.stream is not None and one.stream.startswith(f"{inbox.name}/")]


def at_least(count: int, inbox: Topic) -> Seen:
    return lambda records: len(of_inbox(inbox, records)) >= count


async def test_a_lead_does_not_wait_for_the_import_of_another_producer(kafka_bootstrap: str, topic_prefix: str) -> None:
    async with opened(kafka_bootstrap, topic_prefix) as context:
        await put(context, LEADS_INBOX_BULK, 0, [to_json(lead())] * (STALLED_MAX + 2 * BATCH_MAX))
        async with running(context):
            await until(context, CONTACTS_REQUESTS, at_least(STALLED_MAX, LEADS_INBOX_BULK))  # no more of it is passed on
            await put(context, LEADS_INBOX, 0, [to_json(lead())])  # for the partition in which all of it waits
            found = await until(context, CONTACTS_REQUESTS, at_least(1, LEADS_INBOX))

    assert len(of_inbox(LEADS_INBOX_BULK, found)) < STALLED_MAX + BATCH_MAX
    assert len({record.partition for record in found}) == 1


async def test_each_partition_of_each_inbox_is_a_stream_of_its_own_in_its_order(
    kafka_bootstrap: str, topic_prefix: str
) -> None:
    each = 50
    async with opened(kafka_bootstrap, topic_prefix) as context:
        for inbox in INBOXES:
            for partition in range(PARTITIONS):
                await put(context, inbox, partition, [to_json(lead(local)) for local in range(each)])
        async with running(context):
            found = await until(context, CONTACTS_REQUESTS, lambda records: len(records) >= 4 * each)
        ids = {inbox.name: await context.log.topic_id(context.names.of(inbox.name)) for inbox in INBOXES}

    numbers: dict[tuple[str, int], list[int]] = {}
    for record in found:
        envelope = from_headers(record.headers)
        numbers.setdefault((envelope.stream or "", record.partition), []).append(envelope.number or 0)
    assert {stream for stream, _ in numbers} == {f"{name}/{id_}/{n}" for name, id_ in ids.items() for n in range(PARTITIONS)}
    assert all(one == sorted(set(one)) for one in numbers.values())


async def test_intake_goes_on_in_the_bulk_inbox_where_it_was(kafka_bootstrap: str, topic_prefix: str) -> None:
    async with opened(kafka_bootstrap, topic_prefix) as context:
        for local in (1, 2):
            await put(context, LEADS_INBOX_BULK, 0, [to_json(lead(local))])
            async with running(context):
                found = await until(context, CONTACTS_REQUESTS, at_least(local, LEADS_INBOX_BULK))

    assert sorted(of_inbox(LEADS_INBOX_BULK, found)) == [0, 1]


async def test_a_bad_record_of_the_bulk_inbox_is_kept_and_goes_back_there(kafka_bootstrap: str, topic_prefix: str) -> None:
    async with opened(kafka_bootstrap, topic_prefix) as context:
        await put(context, LEADS_INBOX_BULK, 1, [b"{not json"])
        async with running(context):
            [letter] = await until(context, DEADLETTER, lambda records: len(records) == 1)
            again = await redrive_record(context.log, letter)
            letters = await until(context, DEADLETTER, lambda records: len(records) == 2)
        topic = context.names.of(LEADS_INBOX_BULK.name)

    assert again == (topic, 1)
    for offset, headers in enumerate(dict(one.headers) for one in letters):
        assert (headers["dl_topic"], headers["dl_partition"]) == (topic.encode(), b"1")
        assert headers["dl_offset"] == str(offset).encode()


async def test_a_bulk_inbox_that_is_missing_holds_up_no_other(kafka_bootstrap: str, topic_prefix: str) -> None:
    async with opened(kafka_bootstrap, topic_prefix, without=[LEADS_INBOX_BULK]) as context:
        await put(context, LEADS_INBOX, 0, [to_json(lead())])
        async with running(context) as role:
            found = await until(context, CONTACTS_REQUESTS, at_least(1, LEADS_INBOX))
            async with asyncio.timeout(WAIT_SECONDS):
                while "topics create" not in str(role.problems()):
                    await asyncio.sleep(0.05)

    assert len(found) == 1
