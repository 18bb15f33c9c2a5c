"""Where does intake go on when the committed offset of a partition is missing? On a real broker, and on the embedded log."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from adapters.embedded.assignment import StaticAssignment
from adapters.embedded.log import EmbeddedLog
from adapters.intake.intake import BATCH_MAX
from adapters.intake.lost_offsets import VerifiedCheckpoints, find_safe_offset
from adapters.partitions.checkpoint import Checkpoint
from adapters.roles.context import Context, RoleAssignment, open_context, prepare
from adapters.roles.intake import GROUPS, restore_command
from adapters.settings import Settings
from engine.partition.ports import Log, LogError, Outgoing
from engine.partition.runner import TopicNames
from schemas.instant import EPOCH
from schemas.state import Stream, stream_key
from schemas.topics import INBOXES, LEADS_INBOX, LEADS_INBOX_BULK, TOPICS, Topic
from schemas.wire import to_pack
from tests.pace import bound

RECORDS = 3 * BATCH_MAX
DECIDED = 2 * BATCH_MAX + 10
WAIT_SECONDS = bound(90.0)
"""The bound of a hang."""


async def fill(log: Log, names: TopicNames, inbox: Topic = LEADS_INBOX) -> None:
    """Put records into partition 1 of an inbox."""
    appender = await log.appender()
    for _ in range(RECORDS // BATCH_MAX):
        await appender.append(1, [Outgoing(names.of(inbox.name), None, b"{}")] * BATCH_MAX)
    await appender.close()


async def decide(log: Log, names: TopicNames, partition: int, number: int, inbox: Topic = LEADS_INBOX) -> None:
    """Write to the state of contacts as a scheduler does that decided a record of partition 1 of an inbox."""
    owner = await log.own(names.of("contacts.requests"), partition, writes=[names.of("contacts.state")])
    stream = f"{inbox.name}/{await log.topic_id(names.of(inbox.name))}/1"
    records = [Outgoing(names.of("contacts.state"), f"head/{n}".encode(), b"x") for n in range(3)]
    marks = [
        Outgoing(names.of("contacts.state"), stream_key(stream).encode(), to_pack(Stream(number=n))) for n in (5, number)
    ]
    await owner.commit([*marks, *records])
    await owner.close()


@pytest.fixture
async def embedded() -> AsyncIterator[EmbeddedLog]:
    log = EmbeddedLog(None, now=lambda: EPOCH)
    for topic in TOPICS:
        await log.create_topic(topic.name, 2)
    yield log
    await log.close()


async def test_an_inbox_of_which_nothing_was_decided_is_read_from_its_start(embedded: EmbeddedLog) -> None:
    assert await find_safe_offset(LEADS_INBOX, embedded, TopicNames(), 1) is None
    await fill(embedded, TopicNames())
    assert await find_safe_offset(LEADS_INBOX, embedded, TopicNames(), 1) is None


async def test_what_is_restored_lies_a_whole_batch_before_the_newest_decision_of_any_partition(
    embedded: EmbeddedLog,
) -> None:
    await fill(embedded, TopicNames())
    await decide(embedded, TopicNames(), 0, 40)
    assert await find_safe_offset(LEADS_INBOX, embedded, TopicNames(), 1) == 0
    await decide(embedded, TopicNames(), 1, DECIDED)
    assert await find_safe_offset(LEADS_INBOX, embedded, TopicNames(), 1) == DECIDED + 1 - BATCH_MAX
    assert await find_safe_offset(LEADS_INBOX, embedded, TopicNames(), 0) is None


async def test_without_a_group_a_lost_offset_is_restored_at_once(embedded: EmbeddedLog) -> None:
    await fill(embedded, TopicNames())
    await decide(embedded, TopicNames(), 1, DECIDED)
    checkpoints = VerifiedCheckpoints(LEADS_INBOX, StaticAssignment(2), embedded, TopicNames(), restore_command=None)
    assert await checkpoints.load_checkpoint(1) == Checkpoint(DECIDED + 1 - BATCH_MAX)
    assert await checkpoints.load_checkpoint(0) is None


@pytest.fixture
async def context(kafka_bootstrap: str, topic_prefix: str) -> AsyncIterator[Context]:
    async with open_context(Settings(kafka_bootstrap=kafka_bootstrap, topic_prefix=topic_prefix, partitions=2)) as context:
        await prepare(context)
        yield context


@pytest.mark.parametrize("inbox", INBOXES, ids=lambda inbox: inbox.name)
async def test_a_partition_whose_offset_was_lost_stops_and_names_the_command_that_restores_it(
    context: Context, inbox: Topic
) -> None:
    await fill(context.log, context.names, inbox)
    member = await joined(context, inbox)
    restore = partial(restore_command, inbox)
    checkpoints = VerifiedCheckpoints(inbox, member, context.log, context.names, restore_command=restore)
    assert await checkpoints.load_checkpoint(1) is None

    await decide(context.log, context.names, 1, DECIDED, inbox)
    offset = DECIDED + 1 - BATCH_MAX
    of_bulk = " --bulk" if inbox == LEADS_INBOX_BULK else ""
    with pytest.raises(LogError, match=f"`leadclock topics set-offset{of_bulk} --partition 1 --offset {offset}`") as raised:
        await checkpoints.load_checkpoint(1)
    assert not raised.value.retryable
    with pytest.raises(LogError, match="1 of `leadclock intake` run: stop them first"):
        await context.set_offset(GROUPS[inbox.name], inbox, 1, offset)

    await member.close()
    with pytest.raises(LogError, match=f"ends at {RECORDS}"):
        await context.set_offset(GROUPS[inbox.name], inbox, 1, RECORDS + 1)
    await context.set_offset(GROUPS[inbox.name], inbox, 1, offset)
    again = await joined(context, inbox)
    checkpoints = VerifiedCheckpoints(inbox, again, context.log, context.names, restore_command=restore)
    assert await checkpoints.load_checkpoint(1) == Checkpoint(offset)
    await again.close()


async def joined(context: Context, inbox: Topic) -> RoleAssignment:
    """Return a member of the group of an inbox that has been given its partitions."""
    member = await context.assignment(GROUPS[inbox.name], inbox)
    await member.start()
    async with asyncio.timeout(WAIT_SECONDS):
        async for partitions in member.changes():
            if partitions:
                break
    return member
