"""Can what was refused be sent again? Whole, from where it came, or with a sentence that says why not."""

import pytest

from adapters.embedded.log import EmbeddedLog
from adapters.operator.dead_letters import RedriveError, redrive_record
from adapters.partitions.dead_letters import append_dead_letters
from engine.partition.deadletters import dead_letter, is_excerpt, timer_dead_letter
from engine.partition.ports import LogRecord, Outgoing
from schemas.instant import EPOCH

HEADERS = (("ce_id", b"one"), ("ce_type", b"lead.submitted"), ("ce_source", b"/crm"), ("ce_number", b"5"))


class Log:
    """A topic and the dead letters of it."""

    async def build(self, *, dead_bytes_max: int = 3_000_000) -> "Log":
        self.log = EmbeddedLog(None, now=lambda: EPOCH)
        await self.log.create_topic("leads.inbox", 1, record_bytes_max=10_000_000)
        await self.log.create_topic("deadletter", 1, record_bytes_max=dead_bytes_max)
        self.appender = await self.log.appender()
        return self

    async def refused(self, value: bytes) -> LogRecord:
        """Write a record and its dead letter; return the dead letter."""
        await self.appender.append(0, [Outgoing("leads.inbox", b"key", b"the one before")])
        await self.appender.append(0, [Outgoing("leads.inbox", b"key", value, HEADERS)])
        record = self.log.partition("leads.inbox", 0).records[-1]
        await append_dead_letters(self.appender, 0, [dead_letter(record, "too_large", "It is too large.")])
        return self.log.partition("deadletter", 0).records[-1]

    def last(self) -> LogRecord:
        return self.log.partition("leads.inbox", 0).records[-1]


@pytest.mark.parametrize(("size", "dead_bytes_max"), [(10, 3_000_000), (2_500_000, 3_000_000), (20_000, 19_000)])
async def test_a_record_is_sent_again_as_it_was_also_where_only_an_excerpt_was_kept(size: int, dead_bytes_max: int) -> None:
    world = await Log().build(dead_bytes_max=dead_bytes_max)
    letter = await world.refused(b"x" * size)

    topic, offset = await redrive_record(world.log, letter)

    sent = world.last()
    assert is_excerpt(letter.headers) == (size > 10)
    assert (topic, offset, sent.offset, sent.key, sent.value) == ("leads.inbox", 2, 2, b"key", b"x" * size)
    assert dict(sent.headers) == {
        "ce_type": b"lead.submitted",
        "ce_source": b"/crm",
        "ce_id": b"redrive/0/0",
        "dl_origin": b"0:0",
    }


async def test_a_record_that_retention_took_is_said_to_be_gone() -> None:
    world = await Log().build()
    letter = await world.refused(b"x" * 2_500_000)
    await world.log.delete_records("leads.inbox", 0, 2)

    with pytest.raises(RedriveError, match="the record is gone: only the beginning of its 2500000 bytes was kept"):
        await redrive_record(world.log, letter)


async def test_a_record_that_its_topic_takes_no_more_is_said_to_be_too_large() -> None:
    world = await Log().build()
    letter = await world.refused(b"x" * 2_500_000)
    await world.log.delete_topic("deadletter")
    world.log._topics["leads.inbox"] = type(world.log._topics["leads.inbox"])("leads.inbox", "id", 1, 1_000_000)

    with pytest.raises(RedriveError, match=r"leads.inbox does not take the record: .* shorten it"):
        await redrive_record(world.log, letter)


async def test_a_timer_has_no_record_to_send() -> None:
    world = await Log().build()
    await world.appender.append(
        0, [timer_dead_letter("contacts.decisions", 0, 7, key="lead/1", due_at=EPOCH, code="decision_failed", detail="no")]
    )

    with pytest.raises(RedriveError, match=r"decision 7 of contacts.decisions.0. failed on a timer"):
        await redrive_record(world.log, world.log.partition("deadletter", 0).records[-1])


async def test_dead_letters_beside_one_that_the_topic_refuses_keep_their_order_and_are_whole() -> None:
    world = await Log().build(dead_bytes_max=10_000)
    records = [
        LogRecord("leads.inbox", 0, place, None, b"x" * size, (), EPOCH) for place, size in enumerate([5, 20_000, 6, 30_000])
    ]

    await append_dead_letters(world.appender, 0, [dead_letter(record, "too_large", "no") for record in records])

    found = world.log.partition("deadletter", 0).records
    assert [int(dict(record.headers)["dl_offset"]) for record in found] == [0, 1, 2, 3]
    assert [is_excerpt(record.headers) for record in found] == [False, True, False, True]
