"""Is what a topic lost made good from what is left? The recorded history loses each topic in each way, and goes on."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from adapters.embedded.log import EmbeddedLog
from adapters.partitions.feed import RulesTopic
from adapters.partitions.outbox import OutboxSender
from adapters.recovery.folding import NotRecoverableError
from adapters.recovery.losses import aggregates, find_losses
from adapters.recovery.settling import Settled, settle
from adapters.recovery.stored import StoredPartition, read_stored
from engine.contact.aggregate import ContactAggregate
from engine.partition.continuity import ContinuityError
from engine.partition.decider import RANGE
from engine.partition.ports import Outgoing
from engine.partition.runner import CycleLimits, Runner, TopicNames
from schemas.state import POSITION_KEY, kind_of
from schemas.wire import from_pack, to_json
from tests.adapters.audit.test_histories import Deployment

PARTITIONS = 2


class Operator:
    """A deployment with a recorded history, and who recovers it; what `settle` needs of a context."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.log: EmbeddedLog = deployment.log
        self.names = TopicNames()
        self.clock = deployment.clock
        self.rules = deployment.rules

    async def look(self) -> list[str]:
        return [loss for one in await find_losses(self) for loss in one.losses]  # type: ignore[arg-type]

    async def settle(self) -> list[Settled]:
        self.rules = RulesTopic(self.log, self.names)  # a command is a process of its own
        await self.rules.refresh()
        found = await settle(self, by="cli/ada", reason="a disk was lost", done=lambda _: None)  # type: ignore[arg-type]
        self.deployment.rules = self.rules
        return found

    async def stored(self) -> dict[str, StoredPartition]:
        return {
            f"{aggregate.state_topic.name}/{number}": await read_stored(self.log, aggregate.state_topic.name, number)
            for aggregate in aggregates()
            for number in range(PARTITIONS)
        }

    async def open_all(self) -> None:
        """Open every partition, as the roles do; raises where one must not go on."""
        appender = await self.log.appender()
        for aggregate in aggregates():
            for number in range(PARTITIONS):
                is_contact = isinstance(aggregate, ContactAggregate)
                runner = Runner(
                    aggregate,
                    number,
                    log=self.log,
                    clock=self.clock,
                    outbox=lambda stream: OutboxSender(stream, log=self.log, names=TopicNames(), appender=appender),
                    versions=self.deployment.versions,
                    rules_feed=self.rules if is_contact else None,
                    published=None if is_contact else self.rules,
                    limits=CycleLimits(idle_poll_seconds=0.0),
                )
                try:
                    await runner.open()
                finally:
                    await runner.close()


@pytest.fixture
async def operator() -> AsyncIterator[Operator]:
    deployment = await Deployment().open()
    yield Operator(deployment)
    await deployment.close()


async def make_again(log: EmbeddedLog, topic: str) -> None:
    await log.delete_topic(topic)
    await log.create_topic(topic, PARTITIONS)


async def empty(log: EmbeddedLog, topic: str) -> None:
    for number in range(PARTITIONS):
        partition = log.partition(topic, number)
        partition.records.clear()
        partition.end = partition.start = 0


async def empty_one(log: EmbeddedLog, topic: str) -> None:
    partition = log.partition(topic, 1)
    partition.records.clear()
    partition.end = partition.start = 0


async def cut(log: EmbeddedLog, topic: str) -> None:
    for number in range(PARTITIONS):
        partition = log.partition(topic, number)
        del partition.records[len(partition.records) * 2 // 3 :]
        partition.end = partition.records[-1].offset + 1


LOSSES: dict[str, Callable[[EmbeddedLog, str], Awaitable[None]]] = {
    "made again": make_again,
    "emptied": empty,
    "one partition emptied": empty_one,
    "cut": cut,
}
TOPICS = (
    *("contacts.requests", "contacts.decisions", "contacts.state"),
    *("accounts.requests", "accounts.decisions", "accounts.state"),
)


def compared(stored: dict[str, StoredPartition]) -> dict[str, dict[str, bytes]]:
    """Return the values as JSON: 1 and 1.0 are the same number of a cap."""
    return {
        place: {key: to_json(from_pack(packed, kind_of(key))) for key, packed in one.values.items()}
        for place, one in stored.items()
    }


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("topic", TOPICS)
async def test_a_lost_topic_is_found_settled_and_the_state_is_what_it_was(operator: Operator, topic: str, loss: str) -> None:
    before = await operator.stored()
    await LOSSES[loss](operator.log, topic)
    assert any(topic in sentence for sentence in await operator.look())
    with pytest.raises(ContinuityError):
        await operator.open_all()

    settled = await operator.settle()

    assert any(topic in sentence for one in settled for sentence in one.losses)
    assert compared(await operator.stored()) == compared(before)
    assert await operator.look() == []
    await operator.open_all()
    assert await operator.settle() == []


async def test_topics_that_are_lost_one_after_the_other_leave_a_history_that_verifies(operator: Operator) -> None:
    for topic in sorted(TOPICS, key=lambda name: name.endswith("decisions")):
        await make_again(operator.log, topic)
        await operator.settle()
        await operator.deployment.go_on()
        assert [one.difference for one in await operator.deployment.verified()] == [None] * len(aggregates()) * PARTITIONS


async def test_a_state_that_no_decision_is_left_of_is_refused_and_nothing_changes(operator: Operator) -> None:
    await make_again(operator.log, "contacts.decisions")
    await operator.settle()
    await make_again(operator.log, "contacts.state")
    before = await operator.stored()

    with pytest.raises(NotRecoverableError, match=r"^contacts\.state\[0\] cannot be made again from contacts\.decisions"):
        await operator.settle()

    assert await operator.stored() == before


async def test_lost_rules_are_published_again_whole(operator: Operator) -> None:
    before = {(record.type, record.id, record.version): record for _, record in operator.rules.entries}
    await make_again(operator.log, "accounts.rules")
    with pytest.raises(ContinuityError):
        await operator.open_all()

    settled = await operator.settle()

    assert sum(one.rules_published for one in settled) == len(before)
    assert {(record.type, record.id, record.version): record for _, record in operator.rules.entries} == before
    await operator.open_all()


async def test_ids_and_message_numbers_begin_in_a_new_range(operator: Operator) -> None:
    before = await operator.stored()
    await make_again(operator.log, "contacts.requests")
    await operator.settle()
    after = await operator.stored()

    for place, one in after.items():
        if place.startswith("contacts"):
            assert (one.position.ids, one.position.sent) == (RANGE, RANGE), "none of four billion was given out before"
            assert one.position.ids > before[place].position.ids
            assert one.position.input_offset == 0


async def test_after_a_cut_no_request_is_decided_again(operator: Operator) -> None:
    await cut(operator.log, "contacts.requests")
    settled = {one.partition: one for one in await operator.settle() if one.topic == "contacts.requests"}

    for number in range(PARTITIONS):
        assert settled[number].input_offset == operator.log.partition("contacts.requests", number).end


async def test_messages_that_nobody_decided_are_sent_again_and_no_others(operator: Operator) -> None:
    target = operator.log.partition("accounts.requests", 0)
    unread = len(target.records)
    await make_again(operator.log, "accounts.requests")
    settled = await operator.settle()

    offered = {(one.topic, one.partition): one.messages_offered for one in settled}
    assert sum(offered.values()) < unread, "all that was decided stays decided"
    assert await operator.settle() == []


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("topic", TOPICS)
async def test_a_recovered_history_goes_on_verifies_and_names_what_was_settled(
    operator: Operator, topic: str, loss: str
) -> None:
    await LOSSES[loss](operator.log, topic)
    await operator.settle()
    await operator.deployment.go_on()

    verified = await operator.deployment.verified()

    assert [one.difference for one in verified] == [None] * len(verified)
    causes = [one.cause.recovery for one in operator.deployment.decided() if one.cause.recovery is not None]
    assert {(cause.by, cause.reason) for cause in causes} == {("cli/ada", "a disk was lost")}
    assert all(topic in " ".join(cause.lost) for cause in causes)
    assert any(one.gaps for one in verified) == topic.endswith("decisions")


async def test_a_state_that_was_made_again_and_written_on_is_made_whole(operator: Operator) -> None:
    before = await operator.stored()
    partition = operator.log.partition("contacts.state", 0)
    last = [record for record in partition.records if record.key == POSITION_KEY.encode()][-1]
    await make_again(operator.log, "contacts.state")
    ownership = await operator.log.own("contacts.requests", 0)
    await ownership.commit([Outgoing("contacts.state", last.key, last.value)])  # an owner that has not noticed yet
    await ownership.close()

    await operator.settle()

    assert compared(await operator.stored()) == compared(before)


async def test_two_losses_of_one_partition_are_both_named(operator: Operator) -> None:
    await cut(operator.log, "contacts.state")
    await cut(operator.log, "contacts.requests")

    said = await operator.look()
    settled = await operator.settle()

    for topic in ("contacts.state", "contacts.requests"):
        assert any(topic in sentence for sentence in said)
        assert any(topic in sentence for one in settled for sentence in one.losses)


async def test_rules_that_lack_their_newest_versions_are_named_before_anything_is_settled(operator: Operator) -> None:
    for number in range(PARTITIONS):
        partition = operator.log.partition("accounts.rules", number)
        del partition.records[-1:]
        partition.end = partition.records[-1].offset + 1 if partition.records else 0
    operator.rules = RulesTopic(operator.log, operator.names)
    await operator.rules.refresh()

    assert any("accounts.rules" in sentence for sentence in await operator.look())


async def test_requests_without_their_decisions_are_not_decided_again(operator: Operator) -> None:
    ends = [operator.log.partition("contacts.requests", number).end for number in range(PARTITIONS)]
    await empty(operator.log, "contacts.decisions")
    for number in range(PARTITIONS):
        partition = operator.log.partition("contacts.requests", number)
        del partition.records[-1:]
        partition.end = partition.records[-1].offset + 1

    settled = {one.partition: one for one in await operator.settle() if one.topic == "contacts.requests"}

    for number in range(PARTITIONS):
        assert 0 < settled[number].input_offset == operator.log.partition("contacts.requests", number).end <= ends[number]
