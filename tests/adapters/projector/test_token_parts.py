"""Are the tokens of large leads and calls shown whole, however the decisions that hold parts of them were cut?"""

import random
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.postgres.pool import open_pool
from adapters.projector.batch import OffsetRange, build_batch
from adapters.projector.postgres import PostgresStore
from adapters.why.proof import _Fold
from engine.partition.ports import LogRecord
from schemas.contact import Call, Lead
from schemas.instant import EPOCH
from schemas.requests import LeadDeleteRequested, LeadMoved, LeadUpdateRequested
from schemas.wire import from_json
from tests.adapters.projector.memory import MemoryStore
from tests.adapters.projector.tables import rewind, tables_of
from tests.contact_ids import SHAPES
from tests.databases import migrated
from tests.engine.contact.world import KEY, NOON
from tests.engine.partition.test_parts import CALL, OTHER, PartsPartition

Store = MemoryStore | PostgresStore
TOPIC = "contacts.decisions"
UPDATE = LeadUpdateRequested(company_id=1, contact_key=f"1|{OTHER}", lead_id=0)


@pytest.fixture(params=["memory", "postgres"])
async def store(request: pytest.FixtureRequest, postgres_dsn: str) -> AsyncIterator[Store]:
    if request.param == "memory":
        yield MemoryStore()
        return
    async with migrated(postgres_dsn) as dsn:
        pool = await open_pool(dsn, size=4)
        postgres = PostgresStore(pool)
        yield postgres
        await postgres.close()
        await pool.close()


def history(seed: int) -> tuple[PartsPartition, list[LogRecord], int]:
    """Return a partition, the records of its decisions, and a lead that grows, shrinks and calls."""
    chance = random.Random(seed)
    partition = PartsPartition(CALL)
    lead_id = partition.submit(plan="gold", whole=7, real=7.0, huge=1e20)
    for _ in range(chance.randint(1, 12)):
        size = chance.choice([0, 10, 300, 3_000])
        names = chance.sample(range(60), chance.randint(1, 40))
        partition.update(lead_id, data={f"t{name}": None if size == 0 else "x" * size for name in names}, apply_to="calls")
    return partition, records_of(partition), lead_id


def records_of(partition: PartsPartition, number: int = 0) -> list[LogRecord]:
    return [LogRecord(TOPIC, number, 2 * place, None, value, (), EPOCH) for place, value in enumerate(partition.values)]


async def project(store: Store, records: list[LogRecord], cuts: list[int], *, again: bool = False) -> None:
    owned = await store.take(TOPIC, "id", records[0].partition)
    offset, sequence = owned.next_offset, owned.sequence
    for start, stop in zip([0, *cuts], [*cuts, len(records)], strict=True):
        part = records[start:stop]
        if part:
            offset_range = OffsetRange(TOPIC, part[0].partition, owned.epoch, offset, part[-1].offset + 1)
            batch = build_batch(part, offset_range, sequence, topic=TOPIC, shapes=SHAPES)
            await store.write(batch)
            offset, sequence = offset_range.offset_after, batch.sequence
    if again:
        await rewind(store, TOPIC, records[0].partition, 0)
        await project(store, records, [len(records) // 2])


async def shown(store: Store) -> tuple[list[Any], list[Any]]:
    tables = await tables_of(store)
    leads = [row["data"] for row in tables["leads"].values()]
    return leads, [row["token_values"] for row in tables["calls"].values()]


@pytest.mark.parametrize("seed", range(6))
async def test_the_tokens_are_those_of_the_state_however_decisions_are_cut_and_repeated(store: Store, seed: int) -> None:
    partition, records, lead_id = history(seed)
    lead = partition.whole(f"lead/{lead_id}", Lead)
    call = partition.whole(f"call/{lead.attempted_call_id}", Call)
    await project(store, records, sorted({seed % len(records), len(records) // 2}), again=bool(seed % 2))
    assert await shown(store) == ([lead.data], [call.token_values])


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), cuts=st.sets(st.integers(0, 13), max_size=6))
async def test_any_cut_shows_the_tokens_of_the_state(seed: int, cuts: set[int]) -> None:
    partition, records, lead_id = history(seed)
    store = MemoryStore()
    await project(store, records, sorted(cut for cut in cuts if cut <= len(records)))
    lead = partition.whole(f"lead/{lead_id}", Lead)
    assert (await shown(store))[0] == [lead.data]


@pytest.mark.parametrize("arrives_first", [True, False])
async def test_a_large_lead_that_moved_is_shown_as_it_arrived_in_whatever_order_the_partitions_are_read(
    store: Store, arrives_first: bool
) -> None:
    old, _, lead_id = history(3)
    old.update(lead_id, data={f"t{name}": "x" * 3_000 for name in range(40)})
    (entry,) = [one for one in old.update(lead_id, caller_id=OTHER).entries if one.type == "lead.moved"]
    new = PartsPartition(CALL)
    new.ask(from_json(entry.body, LeadMoved), key=f"1|{OTHER}")
    new.ask(msgspec.structs.replace(UPDATE, lead_id=lead_id, data={"t1": "here"}), key=f"1|{OTHER}")
    sides = [records_of(old, 0), records_of(new, 1)]
    for records in reversed(sides) if arrives_first else sides:
        await project(store, records, [])
    lead = new.whole(f"lead/{lead_id}", Lead)
    assert (await shown(store))[0] == [lead.data]


@pytest.mark.parametrize("cuts", [[], [1]])
async def test_the_parts_of_a_deleted_lead_are_gone_and_its_marked_row_keeps_them(store: Store, cuts: list[int]) -> None:
    partition = PartsPartition()
    data = {f"t{name}": "x" * 1_000 for name in range(40)}
    lead_id = partition.submit(**data)
    partition.ask(LeadDeleteRequested(company_id=1, contact_key=KEY, lead_id=lead_id))
    await project(store, records_of(partition), cuts)
    assert (await shown(store))[0] == [data]
    if isinstance(store, MemoryStore):
        assert store.parts == {}
    else:
        assert await store._pool.fetchval("SELECT count(*) FROM read.token_parts") == 0


def test_the_proof_from_the_log_knows_the_tokens_of_a_large_lead() -> None:
    partition, records, lead_id = history(2)
    fold = _Fold(TOPIC, 0, lead_id, KEY, NOON, may_begin_late=False)
    for record in records:
        fold.take(record)
    assert fold.then.lead is not None
    assert fold.then.lead.data == partition.whole(f"lead/{lead_id}", Lead).data
