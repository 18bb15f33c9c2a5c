"""Is a silent agent claimed by one process, again after its lease, and kept where a heartbeat came meanwhile?"""

from collections.abc import AsyncIterator

import pytest

from adapters.postgres.heartbeats import PostgresHeartbeats
from adapters.postgres.pool import open_pool
from adapters.reads.ports import SilentAgent

NOW, LATER = 0.0, 3_600.0


@pytest.fixture
async def heartbeats(migrated_database: str) -> AsyncIterator[PostgresHeartbeats]:
    pool = await open_pool(migrated_database)
    try:
        yield PostgresHeartbeats(pool)
    finally:
        await pool.close()


def ids(agents: "list[SilentAgent] | object") -> set[tuple[int, int]]:
    assert isinstance(agents, list)
    return {(agent.company_id, agent.agent_id) for agent in agents}


async def test_an_agent_is_silent_only_after_a_heartbeat_and_the_time(heartbeats: PostgresHeartbeats) -> None:
    await heartbeats.renew(7)
    assert ids(await heartbeats.claim_silent(NOW, LATER, 10)) == set(), "whose page sends none, is not expected to"
    await heartbeats.hear(1, 7)
    assert ids(await heartbeats.claim_silent(LATER, LATER, 10)) == set()
    assert ids(await heartbeats.claim_silent(NOW, LATER, 10)) == {(1, 7)}


async def test_one_process_has_a_silent_agent_until_its_lease_ends(heartbeats: PostgresHeartbeats) -> None:
    await heartbeats.hear(1, 7)
    assert ids(await heartbeats.claim_silent(NOW, LATER, 10)) == {(1, 7)}
    assert ids(await heartbeats.claim_silent(NOW, LATER, 10)) == set()
    await heartbeats.hear(1, 8)
    assert ids(await heartbeats.claim_silent(NOW, NOW, 10)) == {(1, 8)}
    assert ids(await heartbeats.claim_silent(NOW, NOW, 10)) == {(1, 8)}, "the process died: another has it"


async def test_a_heartbeat_that_comes_during_a_report_is_not_forgotten(heartbeats: PostgresHeartbeats) -> None:
    await heartbeats.hear(1, 7)
    (silent,) = await heartbeats.claim_silent(NOW, LATER, 10)
    await heartbeats.hear(1, 7)
    await heartbeats.forget(silent)
    (again,) = await heartbeats.claim_silent(NOW, LATER, 10)
    await heartbeats.forget(again)
    assert ids(await heartbeats.claim_silent(NOW, NOW, 10)) == set()


async def test_a_look_has_a_bound(heartbeats: PostgresHeartbeats) -> None:
    for agent_id in range(1, 6):
        await heartbeats.hear(1, agent_id)
    assert len(await heartbeats.claim_silent(NOW, LATER, 3)) == 3
    assert len(await heartbeats.claim_silent(NOW, LATER, 3)) == 2
