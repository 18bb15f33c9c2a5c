"""`python -m deploy.proof`: is anything lost or doubled when schedulers are killed under load? Exit status 0 or 1.

It uses the broker and the database that `LEADCLOCK_KAFKA_BOOTSTRAP` and `LEADCLOCK_POSTGRES_DSN` name (topics and a database
of its own on them, deleted at the end), else it runs its own in a temporary folder.
"""

import asyncio
import contextlib
import os
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import click
from aiokafka.admin import AIOKafkaAdminClient

from adapters.local.process import LocalServerError
from adapters.local.resolution import broker, database
from adapters.roles.asking import NotMadeError
from adapters.roles.context import specs
from adapters.settings import Settings
from deploy.proof.processes import DeploymentError
from deploy.proof.rest import NoRestError
from deploy.proof.run import Plan, Proof, prove
from deploy.proof.verdict import live_count, table
from engine.partition.ports import LogError

PARTITIONS = 8
SESSION_SECONDS = 6.0
"""The least that a broker grants by default."""

CONNECT_SECONDS = 10.0


@click.command()
@click.option("--submissions", type=click.IntRange(100, 350_000), default=100_000, show_default=True)
@click.option("--schedulers", type=click.IntRange(1, 8), default=2, show_default=True)
@click.option("--kills", type=click.IntRange(0, 50), default=3, show_default=True)
@click.option(
    "--kill", "killed", multiple=True, help="A process to kill, in turn: scheduler-1, gateway-2, intake, …  [all schedulers]"
)
@click.option("--gateways", type=click.IntRange(1, 8), default=2, show_default=True)
@click.option("--partitions", type=click.IntRange(1, 64), default=PARTITIONS, show_default=True)
@click.option("--seconds", type=float, default=1_800.0, show_default=True, help="Bound of the way to rest.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the moments of the kills.")
@click.option("--keep", type=click.Path(path_type=Path), help="Work in this folder and leave it.")
def main(  # noqa: PLR0917 - one parameter per flag, given by name
    submissions: int,
    schedulers: int,
    kills: int,
    killed: tuple[str, ...],
    gateways: int,
    partitions: int,
    seconds: float,
    seed: int,
    keep: Path | None,
) -> None:
    """Kill schedulers under load and count what is left."""
    plan = Plan(
        submissions=submissions,
        schedulers=schedulers,
        gateways=gateways,
        kills=kills,
        killed=killed,
        seconds=seconds,
        seed=seed,
    )
    try:
        proof = asyncio.run(_run(plan, keep, partitions=partitions))
    except (DeploymentError, NoRestError, LogError, LocalServerError, NotMadeError) as error:
        raise click.ClickException(str(error)) from error
    _tell(proof)
    sys.exit(0 if proof.holds else 1)


async def _run(plan: Plan, keep: Path | None, *, partitions: int) -> Proof:
    begun = time.monotonic()

    def say(words: str) -> None:
        click.echo(f"{time.monotonic() - begun:7.1f} s  {words}")

    async with contextlib.AsyncExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadclock-proof-")))
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)  # the database may run as another user, who must reach its own folder
        opened = await stack.enter_async_context(broker(folder, wish="kafka"))
        say(opened.sentence)
        stored = await stack.enter_async_context(database(folder))
        dsn = await stack.enter_async_context(_own_database(stored.dsn))
        name = f"proof-{uuid.uuid4().hex[:8]}"
        settings = Settings(
            kafka_bootstrap=opened.bootstrap,
            kafka_session_seconds=SESSION_SECONDS,
            topic_prefix=f"{name}.",
            app=name,
            partitions=partitions,
            postgres_dsn=dsn,
            secret_key=uuid.uuid4().hex * 2,
            state_dir=str(folder / "state"),
        )
        stack.push_async_callback(_delete_topics, settings)
        return await prove(plan, settings, folder, say)


@contextlib.asynccontextmanager
async def _own_database(dsn: str) -> AsyncIterator[str]:
    name = f"proof_{uuid.uuid4().hex[:8]}"
    await _administer(dsn, f"CREATE DATABASE {name}")
    try:
        yield urlunsplit(urlsplit(dsn)._replace(path=f"/{name}"))
    finally:
        await _administer(dsn, f"DROP DATABASE {name} WITH (FORCE)")


async def _administer(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def _delete_topics(settings: Settings) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.kafka_bootstrap)
    await admin.start()
    try:
        await admin.delete_topics([spec.name for spec in specs(settings)])
    finally:
        await admin.close()


def _tell(proof: Proof) -> None:
    found = proof.evidence
    click.echo(f"\n{table(proof.rows)}\n")
    click.echo(
        f"{found.contacts.decisions:,} decisions on contacts and {found.accounts.decisions:,} on accounts, "
        f"{len(found.commands):,} commands, {live_count(found):,} leads on their way; "
        f"{os.cpu_count()} cores; seconds: {', '.join(f'{part} {spent}' for part, spent in proof.seconds.items())}"
    )
    click.echo("every promise is kept" if proof.holds else "BROKEN: see the rows that say NO")


if __name__ == "__main__":
    main()
