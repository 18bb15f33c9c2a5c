"""When do the jobs of a process run?"""

import asyncio

import pytest

from adapters.roles import periodic_jobs
from adapters.roles.periodic_jobs import PeriodicJobs
from tests.pace import bound

WAIT_SECONDS = bound(10.0)


async def test_a_job_runs_soon_after_the_start_however_seldom_it_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(periodic_jobs, "FIRST_RUN_SECONDS", 0.05)
    ran = asyncio.Event()

    async def work() -> None:
        ran.set()

    jobs = PeriodicJobs()
    jobs.add("forget claims", work, minutes=60)
    jobs.start()
    try:
        await asyncio.wait_for(ran.wait(), WAIT_SECONDS)
    finally:
        jobs.stop()


async def test_a_job_that_fails_leaves_the_others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(periodic_jobs, "FIRST_RUN_SECONDS", 0.05)
    ran = asyncio.Event()

    async def fail() -> None:
        raise OSError("the database is away")

    async def work() -> None:
        ran.set()

    jobs = PeriodicJobs()
    jobs.add("first", fail, minutes=1)
    jobs.add("second", work, minutes=1)
    jobs.start()
    try:
        await asyncio.wait_for(ran.wait(), WAIT_SECONDS)
    finally:
        jobs.stop()
