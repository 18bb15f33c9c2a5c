"""Does an unblock contact job survive its process, reach every contact once, and hold in an audit and in the projection?"""

import itertools
from collections.abc import AsyncIterator

import msgspec
import pytest

from adapters.audit.verify import verify
from adapters.postgres.tables import UNBLOCK_SWEEPS
from adapters.projector.batch import OffsetRange, build_batch
from engine.contact.aggregate import ContactAggregate
from engine.partition.runner import TopicNames
from schemas.contact import Head
from schemas.decisions import Decision, Fact
from schemas.requests import LeadSubmitted, RecordChangeRequested
from tests.adapters.audit.test_verify import AT, RecordedRun
from tests.adapters.projector.memory import MemoryStore
from tests.contact_ids import CONTACT_IDS, SHAPES

CONTACTS = 230
"""More than two ticks of a hundred heads and leads."""

TOPIC = "contacts.decisions"


class BlockedPeople(RecordedRun):
    """Many people, each of them blocked."""

    async def live(self) -> None:
        schedule_id = (await self.records())["schedule"]
        for number in range(CONTACTS):
            caller_id = f"+1305556{number:04d}"
            lead = LeadSubmitted(
                company_id=1,
                contact_key=f"1|{caller_id}",
                schedule_id=schedule_id,
                caller_id=caller_id,
                zones=("America/New_York",),
                received_at=AT,
                blocked=True,
                with_key=True,
            )
            await self.ask("contacts.requests", lead.contact_key, lead)
        await self.contacts.cycle()
        self.clock.time += 1_000

    async def cycle_in_a_new_process(self) -> None:
        """Run one cycle; then let another process go on, from the changelog alone."""
        await self.contacts.cycle()
        self.clock.time += 1
        await self.contacts.close()
        self.contacts = self.runner(ContactAggregate(), self.rules)
        await self.contacts.open()

    def facts(self, kind: str) -> list[Fact]:
        decided = [msgspec.json.decode(record.value or b"", type=Decision) for record in self.decisions().records]
        return [fact for decision in decided for fact in decision.facts if fact.type == kind]

    def blocked(self) -> int:
        keys = [key for key, _ in self.contacts.state.items() if key.startswith("head/")]
        heads = (self.contacts.state.get(key, Head) for key in keys)
        return sum(head is not None and head.blocked_at is not None for head in heads)


@pytest.fixture
async def people() -> AsyncIterator[BlockedPeople]:
    people = BlockedPeople()
    await people.build()
    yield people
    await people.close()


async def test_every_contact_is_unblocked_once_across_restarts_and_verified(people: BlockedPeople) -> None:
    assert people.blocked() == CONTACTS
    await people.change("unblock_contact_job", {"confirm_all": True})
    await people.rules.refresh()
    cycles = 0
    while not people.facts("unblock_sweep.ended"):
        await people.cycle_in_a_new_process()
        cycles += 1
        assert cycles < 20, "it comes to its end"

    assert cycles > 3
    unblocked = [fact.data["contact_key"] for fact in people.facts("contact.unblocked")]
    assert unblocked == sorted(f"1|+1305556{number:04d}" for number in range(CONTACTS))
    assert people.blocked() == 0
    verified = await verify(people.log, TopicNames(), ContactAggregate(), 0, people.rules)
    assert verified.difference is None


async def test_a_deleted_job_stops_where_it_is_across_restarts(people: BlockedPeople) -> None:
    await people.change("unblock_contact_job", {"confirm_all": True})
    job_id = (await people.records())["unblock_contact_job"]
    while not people.facts("contact.unblocked"):
        await people.cycle_in_a_new_process()
    deletion = RecordChangeRequested(company_id=1, type="unblock_contact_job", operation="delete", id=job_id)
    await people.ask("accounts.requests", "1", deletion)
    await people.accounts.cycle()
    await people.rules.refresh()
    left = people.blocked()
    for _ in range(5):
        await people.cycle_in_a_new_process()

    assert 0 < left < CONTACTS
    assert (people.blocked(), len(people.facts("unblock_sweep.canceled"))) == (left, 1)
    verified = await verify(people.log, TopicNames(), ContactAggregate(), 0, people.rules)
    assert verified.difference is None


@pytest.mark.parametrize("cuts", [(), (3,), (5, 100, 232)])
async def test_the_projection_is_the_same_however_the_decisions_are_split(
    people: BlockedPeople, cuts: tuple[int, ...]
) -> None:
    await people.change("unblock_contact_job", {"confirm_all": True})
    await people.rules.refresh()
    while not people.facts("unblock_sweep.ended"):
        await people.cycle_in_a_new_process()

    store, records = MemoryStore(), people.decisions().records
    bounds = [0, *cuts, len(records)]
    for start, end in itertools.pairwise(bounds):
        owned = await store.take(TOPIC, "id", 0)
        after = records[end - 1].offset + 1
        offset_range = OffsetRange(TOPIC, 0, owned.epoch, owned.next_offset, after)
        await store.write(build_batch(records[start:end], offset_range, owned.sequence, topic=TOPIC, shapes=SHAPES))

    assert not store.faults
    (row,) = store.tables[UNBLOCK_SWEEPS.name].values()
    shown = dict(zip(UNBLOCK_SWEEPS.columns, row, strict=True))
    last = CONTACT_IDS.id_of(f"1|+1305556{CONTACTS - 1:04d}")
    assert (shown["unblock_count"], shown["failed_count"], shown["last_contact_id"]) == (CONTACTS, 0, last)
    assert shown["ended_at"] is not None
    history = [row for row in store.history.values() if row[5] == "contact.unblocked"]
    assert [(row[6], row[7]) for row in history] == [(1, f"1|+1305556{number:04d}") for number in range(CONTACTS)]
