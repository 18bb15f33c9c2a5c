"""Where do two million leads come from, when creating them takes half an hour? From a data set kept between benches."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from adapters.data_digest import data_digest
from adapters.local.postgres import managed_postgres
from adapters.postgres.pool import Pool, open_pool
from deploy.bench.large import CALL_VALUES, CALLS_PER_LEAD, COMPANY_ID, IDS_APART, IDS_REST, LEAD_VALUES, fill
from deploy.bench.stage import Stage

NAME = "large"
SETTINGS = {"shared_buffers": "1GB", "effective_cache_size": "3GB"}
"""Usual settings for a database of this size; PostgreSQL's default for `shared_buffers` is 128 MB."""

FILL_SECONDS = 1_800.0


@asynccontextmanager
async def open_data_set(stage: Stage, say: Callable[[str], None]) -> AsyncIterator[tuple[str, int]]:
    """Yield the DSN of a database with the large company, and the number of its calls.

    It is created on first use, and lasts as long as its server's folder: that of this bench, or `stage.dataset_folder`.
    """
    async with _server(stage) as server_dsn:
        dsn = urlunsplit(urlsplit(server_dsn)._replace(path=f"/{NAME}"))
        if await _has_data_set(server_dsn, dsn, stage.leads):
            await _clear(dsn)
        else:
            await _create(server_dsn, dsn, stage.leads, say)
        yield dsn, int(stage.leads * CALLS_PER_LEAD)


@asynccontextmanager
async def _server(stage: Stage) -> AsyncIterator[str]:
    if stage.dataset_folder is None:
        yield stage.dsn
        return
    stage.dataset_folder.mkdir(parents=True, exist_ok=True)
    async with managed_postgres(stage.dataset_folder, durable=False, settings=SETTINGS) as server:
        yield server.dsn


def server_log(stage: Stage) -> Path:
    """Return the log of the server that holds the data set."""
    return (stage.dataset_folder or stage.folder) / "postgres" / "server.log"


async def count_other_leads(dsn: str) -> int:
    """Return how many leads the background submissions added to the data set."""
    connection = await asyncpg.connect(dsn)
    try:
        found: int = await connection.fetchval(_BESIDE, COMPANY_ID, IDS_APART, IDS_REST)
    finally:
        await connection.close()
    return found


_BESIDE = "SELECT count(*) FROM read.leads WHERE company_id = $1 AND id % $2 <> $3"


def fingerprint(leads: int) -> str:
    """Return the hash of a data set's size, values and version of leadclock."""
    parts = [str(leads), repr(LEAD_VALUES), repr(CALL_VALUES), data_digest()]
    return sha256("\n".join(parts).encode()).hexdigest()


async def _has_data_set(server_dsn: str, dsn: str, leads: int) -> bool:
    server = await asyncpg.connect(server_dsn)
    try:
        if not await server.fetchval("SELECT count(*) FROM pg_database WHERE datname = $1", NAME):
            return False
    finally:
        await server.close()
    connection = await asyncpg.connect(dsn)
    try:
        if await connection.fetchval("SELECT to_regclass('public.bench')") is None:
            return False
        return bool(await connection.fetchval("SELECT fingerprint FROM public.bench") == fingerprint(leads))
    finally:
        await connection.close()


async def _create(server_dsn: str, dsn: str, leads: int, say: Callable[[str], None]) -> None:
    server = await asyncpg.connect(server_dsn)
    try:
        await server.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        await server.execute(f"CREATE DATABASE {NAME}")
    finally:
        await server.close()
    await _fill(dsn, leads, say)
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("CREATE TABLE public.bench (fingerprint text NOT NULL)")
        await connection.execute("INSERT INTO public.bench VALUES ($1)", fingerprint(leads))
    finally:
        await connection.close()


async def _fill(dsn: str, leads: int, say: Callable[[str], None]) -> int:
    pool: Pool = await open_pool(dsn, size=2, command_seconds=FILL_SECONDS)
    try:
        return await fill(dsn, pool, leads, say)
    finally:
        await pool.close()


async def _clear(dsn: str) -> None:
    """Delete the rows of an earlier bench's submissions: a new deployment gives out the same ids."""
    connection = await asyncpg.connect(dsn, command_timeout=FILL_SECONDS)
    try:
        for statement in _CLEARING:
            await connection.execute(statement.format(apart=IDS_APART, rest=IDS_REST, company=COMPANY_ID))
    finally:
        await connection.close()


_CLEARING = (
    # Mark the days for the rollups here: the product deletes no row, so no trigger does it.
    """
    INSERT INTO read.stale_days (company_id, source, day)
    SELECT DISTINCT company_id, 'leads', date_bin('1 day', created_at, 'epoch') FROM read.leads
    WHERE id % {apart} <> {rest} AND company_id = {company}
    """,
    "DELETE FROM read.lead_words WHERE id % {apart} <> {rest} AND company_id = {company}",
    "DELETE FROM read.leads WHERE id % {apart} <> {rest} AND company_id = {company}",
    "DELETE FROM read.contacts WHERE lead_ids <> '[]' AND company_id = {company}",
    "TRUNCATE read.positions, read.history, read.request_results, read.faults",
    "ANALYZE",
)
