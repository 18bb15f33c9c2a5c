"""How many leads does `GET /leads/:id` show in a second? Against a bare handler of the same framework with one SELECT.

Both are served in this process and asked by the same load generator, which is a process of its own.
"""

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from litestar import Litestar, Response
from litestar import get as handler

from adapters.http.server import serving
from adapters.observability.metrics import Metrics
from adapters.postgres.migrate import migrate
from adapters.postgres.pool import Pool, open_pool
from adapters.projector.postgres import PostgresStore
from adapters.projector.projector import Projector
from adapters.roles.api import ApiRole
from adapters.roles.context import Context
from deploy.bench.decisions import running, until_decided
from deploy.bench.latency import serving_roles
from deploy.bench.peers import run_program
from deploy.bench.row import Row, Runs, row
from deploy.bench.stage import PARTITIONS, Stage, append_all, deployment, new_database
from deploy.bench.submissions import COMPANY_ID, PRIVATE_KEY, PUBLIC_KEY, requests
from deploy.bench.wire import get
from schemas.topics import CONTACTS_REQUESTS

LEADS = 400
REQUESTS = 6_000
CONNECTIONS = 8
RUNS = 5
LOAD_SECONDS = 120.0

SELECT = "SELECT * FROM read.leads WHERE company_id = $1 AND id = $2"


async def measure(stage: Stage, say: Callable[[str], None]) -> list[Row]:
    """Measure `get_lead`."""
    dsn = await new_database(stage)
    await migrate(dsn)
    runs = Runs()
    async with deployment(stage, dsn) as context:
        pool = await open_pool(dsn, size=context.settings.postgres_pool)
        ids = await _leads(context, pool)
        api = ApiRole(context, Metrics())
        async with serving_roles(api), serving(_bare(pool), host="127.0.0.1", port=0) as port:
            for number in range(RUNS):
                say(f"get_lead: run {number + 1} of {RUNS}")
                runs.ours.append(await _load(stage.folder, api.port, [f"/api/v1/leads/{one}" for one in ids]))
                runs.baseline.append(await _load(stage.folder, port, [f"/bare/{one}" for one in ids]))
        await pool.close()
    return [row("get_lead", runs, goal=">= 0.6", unit="requests/s")]


async def _leads(context: Context, pool: Pool) -> list[int]:
    """Let some leads be decided and projected; return their ids."""
    submitted = requests(LEADS, PARTITIONS)
    await append_all(context, CONTACTS_REQUESTS.name, submitted)
    async with running(context) as runners:
        await asyncio.gather(*(until_decided(runner, len(submitted[n])) for n, runner in runners.items()))
    projector = Projector(
        context.log, PostgresStore(pool), context.clock, contact_ids=context.contact_ids(), names=context.names
    )
    projector.assign(range(PARTITIONS))
    while projector.decisions_written < LEADS:
        await projector.run_once(timeout_seconds=0.1)
    await projector.close()
    return [found["id"] for found in await pool.fetch("SELECT id FROM read.leads ORDER BY id")]


def _bare(pool: Pool) -> Litestar:
    @handler("/bare/{lead_id:int}")
    async def show(lead_id: int) -> Response[dict[str, Any]]:
        async with pool.acquire() as connection:
            found = await connection.fetchrow(SELECT, COMPANY_ID, lead_id)
        return Response({"lead": dict(found)})

    return Litestar([show], openapi_config=None, logging_config=None)


async def _load(folder: Path, port: int, paths: Sequence[str]) -> float:
    """Return the requests per second that were answered."""
    prepared = folder / f"requests-{port}"
    prepared.write_bytes(msgspec.msgpack.encode([get(path, PUBLIC_KEY, PRIVATE_KEY) for path in paths]))
    command = [sys.executable, "-m", "deploy.bench.wire", "127.0.0.1", str(port), str(prepared)]
    output = await run_program([*command, str(REQUESTS), str(CONNECTIONS)], seconds=LOAD_SECONDS)
    return REQUESTS / float(msgspec.json.decode(output)["seconds"])
