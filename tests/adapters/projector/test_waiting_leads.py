"""Does a lead that waits in a queue for slots show what the queue waits for, though it decides nothing of that itself?"""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec
import pytest

from adapters.postgres.pool import open_pool
from adapters.postgres.reads import PostgresReads
from adapters.projector.batch import OffsetRange, build_batch
from adapters.projector.postgres import PostgresStore
from adapters.why.lead_history import lead_of, read_lead_history
from engine.partition.draft import Draft
from engine.partition.ports import LogRecord
from engine.why.answer import explain
from schemas.contact import Lead, waits_in_queue
from schemas.decisions import REMOVED, Cause, Change, Decision
from schemas.instant import HOUR, MINUTE, SECOND, Instant, from_datetime
from schemas.requests import LeadDeleteRequested
from schemas.state import kind_of
from schemas.wire import to_json
from tests.contact_ids import SHAPES
from tests.engine.contact.test_slot_turns import LINES, TurnsTown

TOPIC = "contacts.decisions"


class RecordedTown(TurnsTown):
    """A crowd before three lines, whose decisions are recorded."""

    def __init__(self, **schedule: Any) -> None:
        self.decisions: list[LogRecord] = []
        super().__init__(**schedule)

    def _apply(self, draft: Draft) -> None:  # type: ignore[override]
        super()._apply(draft)
        if not hasattr(self, "decisions"):
            return
        number = len(self.decisions) + 1
        decision = Decision(
            sequence=number,
            decided_at=self.now,
            prev="",
            cause=Cause(kind="request", id=f"r{number}", key="1|+13055550123"),
            changes=tuple(self._change(key) for key in draft.changed),
        )
        self.decisions.append(LogRecord(TOPIC, 0, number, None, to_json(decision), (), self.now))

    def _change(self, key: str) -> Change:
        packed = self.state.packed(key)
        if packed is None:
            return Change(key=key, value=REMOVED)
        return Change(key=key, value=msgspec.Raw(to_json(self.state.get(key, kind_of(key)))))

    def refuse_all(self, reason: str, until: Instant | None) -> None:
        """Refuse every open request."""
        for lead_id in sorted(self.asked):
            self.answer_slot(lead_id, granted=False, reason=reason, until=until)


@pytest.fixture
async def pool(migrated_database: str) -> AsyncIterator[Any]:
    pool = await open_pool(migrated_database, size=4)
    yield pool
    await pool.close()


async def project(pool: Any, town: RecordedTown) -> None:
    """Project what was decided since the last time."""
    store = PostgresStore(pool)
    owned = await store.take(TOPIC, "id", 0)
    records: Sequence[LogRecord] = [record for record in town.decisions if record.offset >= owned.next_offset]
    if records:
        offset_range = OffsetRange(TOPIC, 0, owned.epoch, owned.next_offset, records[-1].offset + 1)
        await store.write(build_batch(records, offset_range, owned.sequence, topic=TOPIC, shapes=SHAPES))
    await store.close()


async def shown(pool: Any, lead_ids: Sequence[int]) -> set[tuple[str, Instant | None]]:
    rows = await pool.fetch("SELECT status_wait, next_action_at FROM read.leads WHERE id = ANY ($1::bigint[])", lead_ids)
    return {(row["status_wait"], row["next_action_at"] and from_datetime(row["next_action_at"])) for row in rows}


async def test_a_queue_that_closes_opens_and_closes_again_is_shown_with_each_of_its_leads(pool: Any) -> None:
    town = RecordedTown(hours_to_expire=72)
    due_at = town.now
    leads = [town.come() for _ in range(12)]
    waiting = [lead.id for lead in leads[LINES:]]
    await project(pool, town)
    assert await shown(pool, waiting) == {("concurrency_cap", due_at)}

    first_reset = town.now + 6 * HOUR
    before = len(town.decisions)
    town.refuse_all("buyer_cap", first_reset)
    assert len(town.decisions) - before == LINES, "those that wait decide nothing"
    await project(pool, town)
    assert await shown(pool, waiting) == {("buyer_cap", first_reset)}

    town.now = first_reset
    town.fire()
    tried = sorted(town.asked)
    assert len(tried) == 1
    await project(pool, town)
    still = [lead_id for lead_id in town.lead_ids() if waits_in_queue(town.lead(lead_id))]
    assert await shown(pool, still) == {("buyer_cap", first_reset)}, "one lead tries, and nobody knows more yet"

    town.answer_slot(tried[0])
    await project(pool, town)
    assert {reason for reason, _ in await shown(pool, still)} == {"concurrency_cap"}

    town.fire()
    second_reset = town.now + 24 * HOUR
    town.refuse_all("buyer_cap", second_reset)
    await project(pool, town)
    still = [lead_id for lead_id in town.lead_ids() if waits_in_queue(town.lead(lead_id))]
    assert still
    assert await shown(pool, still) == {("buyer_cap", second_reset)}


async def test_a_lead_that_expires_before_the_reset_shows_no_next_action(pool: Any) -> None:
    town = RecordedTown(hours_to_expire=2)
    leads = [town.come() for _ in range(6)]
    town.refuse_all("buyer_cap", town.now + 6 * HOUR)
    await project(pool, town)
    assert await shown(pool, [lead.id for lead in leads[LINES:]]) == {("buyer_cap", None)}


async def test_where_nobody_knows_when_it_opens_no_next_action_is_shown(pool: Any) -> None:
    town = RecordedTown()
    leads = [town.come() for _ in range(6)]
    town.refuse_all("no_buyer_available", None)
    await project(pool, town)
    assert await shown(pool, [lead.id for lead in leads[LINES:]]) == {("no_buyer_available", None)}


async def test_a_deleted_lead_waits_for_nothing(pool: Any) -> None:
    town = RecordedTown()
    leads = [town.come() for _ in range(6)]
    gone = leads[-1]
    town.ask(LeadDeleteRequested(company_id=1, contact_key=gone.contact_key, lead_id=gone.id))
    town.refuse_all("no_buyer_available", None)
    await project(pool, town)
    row = await pool.fetchrow("SELECT deleted_at, slot_queue, status_wait FROM read.leads WHERE id = $1", gone.id)
    assert row["deleted_at"] is not None
    assert (row["slot_queue"], row["status_wait"]) == (None, None)


async def why(pool: Any, town: RecordedTown, lead_id: int) -> Any:
    row = await pool.fetchrow("SELECT * FROM read.leads WHERE id = $1", lead_id)
    history = await read_lead_history(PostgresReads(pool), town.rules, row, at=town.now, now=town.now)
    return explain(history, town.now, town.now)


async def test_why_says_how_many_wait_before_a_lead_and_for_how_many_lines(pool: Any) -> None:
    town = RecordedTown()
    leads = [town.come() for _ in range(10)]
    town.now += MINUTE
    await project(pool, town)
    answer = await why(pool, town, leads[7].id)
    assert (answer.verdict, answer.reasons[0].code) == ("held", "concurrency_cap")
    assert (answer.queue.before, answer.queue.waiting, answer.queue.lines) == (7, 10, LINES)
    assert answer.sentence.endswith("About 7 leads wait before it for 3 lines; no call of this step began in the last hour.")

    town.answer_slot(leads[0].id)
    town.now += 10 * SECOND
    town.fire()
    await project(pool, town)
    answer = await why(pool, town, leads[7].id)
    assert (answer.queue.before, answer.queue.calls_last_hour, answer.queue.minutes_left) == (6, 1, 360)
    assert answer.sentence.endswith(
        "About 6 leads wait before it for 3 lines: about 6 hours at the pace of 1 call of this step in the last hour."
    )


async def test_why_orders_the_queue_by_class_priority_age_and_id(pool: Any) -> None:
    town = RecordedTown(priority_aging=10.0)
    first = [town.come(10) for _ in range(LINES)]
    slow, later = town.come(100), town.come(60)
    await project(pool, town)
    assert (await why(pool, town, slow.id)).queue.before == LINES + 1
    assert (await why(pool, town, later.id)).queue.before == LINES
    town.now += 5 * HOUR
    urgent = town.come(55)
    await project(pool, town)
    assert (await why(pool, town, slow.id)).queue.before == LINES + 1, "slow: 100 - 50; later: 60 - 50; urgent: 55"
    assert (await why(pool, town, urgent.id)).queue.before == LINES + 2
    assert {lead.id for lead in first} == town.asked


async def test_why_says_until_when_a_closed_queue_is_closed(pool: Any) -> None:
    town = RecordedTown(hours_to_expire=72)
    leads = [town.come() for _ in range(6)]
    reset = town.now + 6 * HOUR
    town.refuse_all("buyer_cap", reset)
    await project(pool, town)
    answer = await why(pool, town, leads[-1].id)
    assert (answer.verdict, answer.reasons[0].code, answer.next_action_at) == ("held", "buyer_cap", reset)
    assert "used up until they are reset" in answer.sentence
    assert "It is looked at again at" in answer.sentence


async def test_a_row_gives_back_the_lead_with_its_queue(pool: Any) -> None:
    town = RecordedTown()
    leads = [town.come() for _ in range(5)]
    await project(pool, town)
    for lead in leads:
        row = await pool.fetchrow("SELECT * FROM read.leads WHERE id = $1", lead.id)
        found, decided = lead_of(row), town.lead(lead.id)
        assert (found.slot_queue, found.slot_id) == (decided.slot_queue, decided.slot_id)
        assert isinstance(found, Lead)
