"""Which process does a test kill or pause in the middle of a job? One that carries out jobs slowly, as a projector does."""

import asyncio
import sys

from adapters.clock import SystemClock
from adapters.kafka.log import KafkaLog
from adapters.postgres.pool import open_pool
from adapters.postgres.projection_jobs import PostgresProjectionJobs
from adapters.projector.catch_up import RebuildLimits
from adapters.projector.projection_jobs import JobLimits, ProjectionJobRunner
from engine.partition.runner import TopicNames
from tests.contact_ids import CONTACT_IDS

SLOW = RebuildLimits(records_max=1, poll_seconds=0.1, rest_share=20.0)
QUICK_JOBS = JobLimits(look_seconds=0.1, lease_seconds=1.5, retry_seconds=0.2)


async def main(bootstrap: str, prefix: str, dsn: str) -> None:
    pool = await open_pool(dsn, size=2)
    log = KafkaLog(bootstrap, app=prefix.rstrip("."))
    jobs = PostgresProjectionJobs(pool)
    runner = ProjectionJobRunner(
        log, SystemClock(), dsn, jobs, contact_ids=CONTACT_IDS, names=TopicNames(prefix), limits=QUICK_JOBS, paced=SLOW
    )
    await runner.run(asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
