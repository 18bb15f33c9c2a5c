"""Do claims hold where it counts, in a real PostgreSQL, and through a crash?"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from adapters.clock import wall_now
from adapters.errors import StoreError
from adapters.gateway.channels import call_channel
from adapters.gateway.ports import Deliveries
from adapters.postgres.deliveries import PostgresDeliveries
from adapters.postgres.migrate import migrate
from adapters.postgres.pool import Pool, open_pool
from schemas.instant import HOUR, MINUTE, Instant, from_datetime
from tests.adapters.gateway.deliveries_contract import OUTCOME, DeliveriesContract, Memory, claim
from tests.adapters.gateway.providers import Voice, good
from tests.adapters.gateway.world import NOON, MemoryDeliveries, MortalDeliveries, command_of, running, town


class InMemory:
    def __init__(self) -> None:
        self._memory = MemoryDeliveries()
        self.deliveries: Deliveries = self._memory

    async def let_leases_end(self) -> None:
        self._memory.wall += 31


class InPostgres:
    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.store = PostgresDeliveries(pool)
        self.deliveries: Deliveries = self.store

    async def born_at(self) -> Instant:
        return from_datetime(await self.pool.fetchval("SELECT born_at FROM work.incarnation"))

    async def let_leases_end(self) -> None:
        await self.pool.execute("UPDATE work.deliveries SET leased_until = now() - interval '1 second'")


@pytest.fixture
async def postgres(database: str) -> AsyncIterator[InPostgres]:
    await migrate(database)
    pool = await open_pool(database)
    yield InPostgres(pool)
    await pool.close()


class TestInMemory(DeliveriesContract):
    @pytest.fixture
    def memory(self) -> Memory:
        return InMemory()


class TestInPostgres(DeliveriesContract):
    @pytest.fixture
    def memory(self, postgres: InPostgres) -> Memory:
        return postgres


async def test_a_new_schema_is_begun_when_it_is_made(postgres: InPostgres) -> None:
    assert wall_now() - MINUTE < await postgres.born_at() <= wall_now()


async def test_an_older_incarnation_is_renewed_once_and_claims_name_it(postgres: InPostgres) -> None:
    before = await postgres.born_at()
    assert not await postgres.deliveries.renew_incarnation(before - 1)
    assert await postgres.deliveries.renew_incarnation(before + 1)
    after = await postgres.born_at()
    assert after > before
    assert not await postgres.deliveries.renew_incarnation(before + 1)
    about = {"company_id": 1, "claimant": "a", "claim_id": "a1", "claimed_at": NOON, "lease_seconds": 30.0}
    assert (await postgres.deliveries.claim("c9", kind="email", **about)).work_born_at == after  # type: ignore[arg-type]


async def test_the_row_says_what_a_person_wants_to_know(postgres: InPostgres) -> None:
    await claim(postgres)
    await postgres.deliveries.record("c1", claimant="a", claim_id="a1", outcome=OUTCOME, recorded_at=NOON)

    row = await postgres.pool.fetchrow("SELECT company_id, channel, state, provider, provider_ref FROM work.deliveries")

    assert tuple(row) == (1, "call", "done", "sandbox", "ref")


async def test_another_company_finds_nothing_of_an_outcome(postgres: InPostgres) -> None:
    await claim(postgres)
    await postgres.deliveries.record("c1", claimant="a", claim_id="a1", outcome=OUTCOME, recorded_at=NOON)

    found = await postgres.deliveries.claim(
        "c1", company_id=2, kind="call", claimant="b", claim_id="b1", claimed_at=NOON, lease_seconds=30
    )

    assert (found.state, found.outcome) == ("held", None)


async def test_old_claims_are_forgotten(postgres: InPostgres) -> None:
    await claim(postgres)

    assert await postgres.store.forget(NOON) == 0
    assert await postgres.store.forget(NOON + HOUR) == 1
    assert (await claim(postgres, claimant="b", attempt="b1")).state == "fresh"


async def test_old_claims_are_forgotten_until_none_is_left(postgres: InPostgres) -> None:
    await claim(postgres)
    await postgres.pool.execute(
        "INSERT INTO work.deliveries (command_id, company_id, channel, incarnation, claimant, claim_id, claimed_at,"
        " updated_at, leased_until) SELECT 'old-' || n, 1, 'call', incarnation, 'a', 'a1', claimed_at, claimed_at, now()"
        " FROM work.deliveries, generate_series(1, 25000) AS n"
    )

    assert await postgres.store.forget(NOON + HOUR) == 25_001
    assert await postgres.pool.fetchval("SELECT count(*) FROM work.deliveries") == 0


async def test_two_gateways_that_write_the_same_commands_in_opposite_orders_do_not_deadlock(postgres: InPostgres) -> None:
    names = [f"c{number}" for number in range(200)]
    for name in names:
        await claim(postgres, name)
    ways = [(PostgresDeliveries(postgres.pool), names), (PostgresDeliveries(postgres.pool), names[::-1])]

    for round_number in range(30):
        at = NOON + round_number * MINUTE
        await asyncio.gather(*(store.mark_posted(name, posted_at=at) for store, order in ways for name in order))

    assert await postgres.pool.fetchval("SELECT count(DISTINCT posted_at) FROM work.deliveries") == 1


async def test_a_lost_work_schema_is_a_store_error_and_not_a_crash(postgres: InPostgres) -> None:
    await postgres.pool.execute("DROP SCHEMA work CASCADE")

    with pytest.raises(StoreError, match="deliveries"):
        await claim(postgres)


async def test_a_call_is_not_repeated_after_a_crash_that_postgres_remembers(postgres: InPostgres) -> None:
    voice = Voice()
    born_at = await postgres.born_at()

    async with town("call") as place:
        dying = MortalDeliveries(postgres.deliveries, "record")
        async with running(place, call_channel(voice), dying):
            await place.append(command_of("call", decided_at=born_at))
            await asyncio.wait_for(dying.dead.wait(), 60)
        await postgres.let_leases_end()
        async with running(place, call_channel(voice), postgres.deliveries):
            await place.append(command_of("call", 2, decided_at=born_at))
            outcomes = await place.outcome(2)

    assert sorted(outcomes) == [("command-1", "unknown"), ("command-2", "connected_human")]
    assert voice.asked == ["command-1", "command-2"]


async def test_a_lost_and_renewed_work_schema_repeats_no_call(postgres: InPostgres, database: str) -> None:
    voice = Voice(good("busy"))
    before = await postgres.born_at()

    async with town("call") as place:
        async with running(place, call_channel(voice), postgres.deliveries):
            await place.append(command_of("call", decided_at=before))
            await place.outcome()
        await postgres.pool.execute("DROP SCHEMA work CASCADE; DROP SCHEMA read CASCADE")
        await migrate(database)
        after = await postgres.born_at()
        async with running(place, call_channel(voice), postgres.deliveries):
            await place.append(command_of("call", 2, decided_at=after))
            outcomes = await place.outcome(3)

    assert voice.asked == ["command-1", "command-2"]
    assert sorted(outcomes) == [("command-1", "busy"), ("command-1", "unknown"), ("command-2", "busy")]


async def test_a_thousand_orders_are_carried_out_once_by_two_gateways(postgres: InPostgres) -> None:
    voice = Voice()
    born_at = await postgres.born_at()
    commands = [command_of("call", number, decided_at=born_at) for number in range(1, 1001)]

    async with (
        town("call", partitions=2) as place,
        running(place, call_channel(voice), postgres.deliveries),
        running(place, call_channel(voice), postgres.deliveries),
    ):
        await place.append(*commands[:500], partition=0)
        await place.append(*commands[500:], partition=1)
        outcomes = await place.outcome(1000)

    assert len(outcomes) == len(set(voice.asked)) == len(voice.asked) == 1000
