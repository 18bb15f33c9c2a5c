"""Are bulk jobs claimed by one process at a time, counted once and purged? In a real PostgreSQL."""

import asyncio
from typing import Any

from adapters.postgres.lead_bulk_jobs import RETENTION, PostgresLeadBulkJobs
from adapters.postgres.pool import Pool
from adapters.reads.ports import LeadBulkResult, NewLeadBulkJob, SentLead
from schemas.instant import DAY
from tests.adapters.gateway.world import NOON

LEASE_SECONDS = 600.0


def new(company_id: int = 1, request_id: str = "r-1") -> NewLeadBulkJob:
    return NewLeadBulkJob(
        company_id=company_id,
        request_id=request_id,
        created_at=NOON,
        description=None,
        action="stop",
        move_to_another_schedule_id=None,
        filter={"tag": "old"},
        key_id=7,
        user_email=None,
        address="192.0.2.7",
        actor="key/7;;192.0.2.7",
    )


async def counts(pool: Pool, job_id: int) -> tuple[Any, ...]:
    row = await pool.fetchrow("SELECT * FROM work.lead_bulk_jobs WHERE id = $1", job_id)
    return row["done_count"], row["refused_count"], row["unknown_count"]


async def test_one_process_has_a_job_and_companies_take_turns(pool: Pool) -> None:
    jobs = PostgresLeadBulkJobs(pool)
    first = await jobs.create(new(1, "r-1"), [1])
    later = await jobs.create(new(1, "r-2"), [1])
    other = await jobs.create(new(2, "r-3"), [2])
    claims = await asyncio.gather(*(jobs.claim(f"process {n}", LEASE_SECONDS, NOON) for n in range(6)))
    assert sorted(one.id for one in claims if one is not None) == [first["id"], other["id"]]
    holders = {one.id: f"process {n}" for n, one in enumerate(claims) if one is not None}
    await jobs.release(first["id"], "another process")
    assert await jobs.claim("a", LEASE_SECONDS, NOON) is None
    await jobs.release(first["id"], holders[first["id"]])
    await jobs.finish(first["id"], NOON)
    following = await jobs.claim("a", LEASE_SECONDS, NOON)
    assert following is not None
    assert following.id == later["id"]


async def test_a_job_of_a_process_that_died_is_taken_over_after_its_lease(pool: Pool) -> None:
    jobs = PostgresLeadBulkJobs(pool)
    made = await jobs.create(new(), [1])
    assert await jobs.claim("dies", LEASE_SECONDS, NOON) is not None
    await pool.execute("UPDATE work.lead_bulk_jobs SET leased_until = now() - interval '1 s'")
    taken = await jobs.claim("lives", LEASE_SECONDS, NOON)
    assert taken is not None
    assert taken.id == made["id"]
    await jobs.release(made["id"], "dies")
    assert await jobs.claim("dies", LEASE_SECONDS, NOON) is None


async def test_of_two_that_take_a_lead_one_sends_it_and_what_comes_of_it_counts_once(pool: Pool) -> None:
    jobs = PostgresLeadBulkJobs(pool)
    made = await jobs.create(new(), [1, 2, 3])
    leads = [SentLead(lead_id, f"1|+1{lead_id}") for lead_id in (1, 2)]
    taken = await asyncio.gather(*(jobs.take(made["id"], leads, NOON) for _ in range(2)))
    assert sorted(lead_id for one in taken for lead_id in one) == [1, 2]
    found = [LeadBulkResult(1, "done"), LeadBulkResult(2, "refused", "not_found", "There is no such lead.")]
    await asyncio.gather(*(jobs.record(made["id"], found) for _ in range(2)))
    await jobs.record(made["id"], [LeadBulkResult(1, "unknown")])
    assert await counts(pool, made["id"]) == (1, 1, 0)
    job = await jobs.claim("a", LEASE_SECONDS, NOON)
    assert job is not None
    assert [one.lead_id for one in await jobs.leads(job, "waiting", 10)] == [3]


async def test_a_canceled_job_hands_out_no_lead(pool: Pool) -> None:
    jobs = PostgresLeadBulkJobs(pool)
    made = await jobs.create(new(), [1])
    await jobs.cancel(2, made["id"], NOON)
    assert (await pool.fetchval("SELECT canceled_at FROM work.lead_bulk_jobs")) is None
    await jobs.cancel(1, made["id"], NOON)
    assert await jobs.take(made["id"], [SentLead(1, "1|+11")], NOON) == frozenset()


async def test_one_request_makes_one_job(pool: Pool) -> None:
    jobs = PostgresLeadBulkJobs(pool)
    rows = await asyncio.gather(*(jobs.create(new(), [1]) for _ in range(3)))
    assert len({row["id"] for row in rows}) == 1
    assert await jobs.of_request(2, "r-1") is None
    known = await jobs.of_request(1, "r-1")
    assert known is not None
    assert known["filter"] == {"tag": "old"}


async def test_jobs_that_ended_long_ago_are_deleted_with_their_results(pool: Pool) -> None:
    jobs = PostgresLeadBulkJobs(pool)
    old, new_one, running = [await jobs.create(new(1, f"r-{n}"), [1]) for n in range(3)]
    await jobs.finish(old["id"], NOON - RETENTION - 1)
    await jobs.finish(new_one["id"], NOON - RETENTION + DAY)
    assert await jobs.purge(NOON) == 1
    rows = await pool.fetch("SELECT job_id FROM work.lead_bulk_results ORDER BY job_id")
    assert [row["job_id"] for row in rows] == [new_one["id"], running["id"]]
