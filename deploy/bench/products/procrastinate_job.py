"""How fast does Procrastinate run jobs that are due? Arguments: database, jobs, jobs at once.

Prints {"seconds": ...}: from the start of a worker to the end of the last job; a job does nothing.
"""

# ruff: noqa: INP001 - a command of another environment, not a package

import asyncio
import json
import sys
import time

import procrastinate

connector = procrastinate.PsycopgConnector(conninfo=sys.argv[1])
app = procrastinate.App(connector=connector)


@app.task(queue="due")
async def act(lead_id: int) -> None:
    """Stand for a command."""


async def main(jobs: int, at_once: int) -> None:
    """Enqueue the jobs, then let one worker run them all."""
    async with app.open_async():
        if not await app.check_connection_async():
            await app.schema_manager.apply_schema_async()
        await act.batch_defer_async(*({"lead_id": number} for number in range(jobs)))
        started = time.perf_counter()
        await app.run_worker_async(queues=["due"], wait=False, concurrency=at_once, listen_notify=False)
        sys.stdout.write(json.dumps({"seconds": time.perf_counter() - started}) + "\n")


asyncio.run(main(int(sys.argv[2]), int(sys.argv[3])))
