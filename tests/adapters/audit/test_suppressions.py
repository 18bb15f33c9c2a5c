"""Does an entry of a suppression list survive its process, expire, and hold in an audit and in the projection?"""

import itertools
from collections.abc import AsyncIterator

import msgspec
import pytest

from adapters.audit.verify import verify
from adapters.postgres.tables import SUPPRESSIONS
from adapters.projector.batch import OffsetRange, build_batch
from engine.contact.aggregate import ContactAggregate
from engine.partition.runner import TopicNames
from schemas.contact import Head
from schemas.decisions import Decision
from schemas.instant import HOUR
from schemas.requests import LeadSubmitted, SuppressionChangeRequested
from schemas.state import head_key
from tests.adapters.audit.test_verify import AT, RecordedRun
from tests.adapters.projector.memory import MemoryStore
from tests.contact_ids import SHAPES

TOPIC = "contacts.decisions"
STAYS, EXPIRES, GOES = (f"1|+1305556000{number}" for number in range(3))


class ListedPeople(RecordedRun):
    """People on a suppression list of their company: one for good, one until an instant, one who is taken off it."""

    async def live(self) -> None:
        ids = await self.records()
        for key in (STAYS, EXPIRES, GOES):
            until = AT + HOUR if key == EXPIRES else None
            entry = SuppressionChangeRequested(company_id=1, contact_key=key, list_id=7, listed=True, expires_at=until)
            await self.ask("contacts.requests", key, entry)
            lead = LeadSubmitted(
                company_id=1,
                contact_key=key,
                schedule_id=ids["schedule"],
                caller_id=key.partition("|")[2],
                zones=("America/New_York",),
                received_at=AT,
                with_key=True,
            )
            await self.ask("contacts.requests", key, lead)
        taken_off = SuppressionChangeRequested(company_id=1, contact_key=GOES, list_id=7, listed=False)
        await self.ask("contacts.requests", GOES, taken_off)
        await self.contacts.cycle()

    async def pass_the_expiry_in_a_new_process(self) -> None:
        await self.contacts.close()
        self.contacts = self.runner(ContactAggregate(), self.rules)
        await self.contacts.open()
        self.clock.time += 2 * HOUR
        for _ in range(3):
            await self.contacts.cycle()

    def lists_of(self, key: str) -> tuple[int, ...]:
        head = self.contacts.state.get(head_key(key), Head)
        assert head is not None
        return head.suppressed_by


@pytest.fixture
async def people() -> AsyncIterator[ListedPeople]:
    people = ListedPeople()
    await people.build()
    yield people
    await people.close()


async def test_an_entry_expires_after_a_restart_and_the_history_is_verified(people: ListedPeople) -> None:
    assert people.lists_of(EXPIRES) == (7,)
    await people.pass_the_expiry_in_a_new_process()
    assert [people.lists_of(key) for key in (STAYS, EXPIRES, GOES)] == [(7,), (), ()]
    decided = [msgspec.json.decode(record.value or b"", type=Decision) for record in people.decisions().records]
    kinds = [fact.type for decision in decided for fact in decision.facts if "suppression" in fact.type]
    assert kinds.count("contact.suppression_added") == 3
    assert kinds.count("contact.suppression_removed") == kinds.count("contact.suppression_expired") == 1
    verified = await verify(people.log, TopicNames(), ContactAggregate(), 0, people.rules)
    assert verified.difference is None


@pytest.mark.parametrize("cuts", [(), (2,), (1, 5)])
async def test_the_projection_has_the_entries_that_are_left_however_the_decisions_are_split(
    people: ListedPeople, cuts: tuple[int, ...]
) -> None:
    await people.pass_the_expiry_in_a_new_process()
    store, records = MemoryStore(), people.decisions().records
    for start, end in itertools.pairwise([0, *cuts, len(records)]):
        owned = await store.take(TOPIC, "id", 0)
        offset_range = OffsetRange(TOPIC, 0, owned.epoch, owned.next_offset, records[end - 1].offset + 1)
        await store.write(build_batch(records[start:end], offset_range, owned.sequence, topic=TOPIC, shapes=SHAPES))
    assert not store.faults
    (row,) = store.tables[SUPPRESSIONS.name].values()
    shown = dict(zip(SUPPRESSIONS.columns, row, strict=True))
    assert (shown["company_id"], shown["list_id"], shown["contact_key"], shown["expires_at"]) == (1, 7, STAYS, None)
    expired = [row for row in store.history.values() if row[5] == "contact.suppression_expired"]
    assert [(row[6], row[7]) for row in expired] == [(1, EXPIRES)]
