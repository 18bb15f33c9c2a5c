"""`python -m deploy.proof.rebuild`: are lost states made again as they were, and nobody contacted twice? Exit status 0 or 1.

It runs a broker and a database of its own in a temporary folder, whatever servers the environment names.
"""

import asyncio
import contextlib
import os
import sys
import tempfile
from pathlib import Path

import click

from adapters.local.process import LocalServerError
from adapters.roles.record_client import RecordNotCreatedError
from deploy.proof.processes import DeploymentError
from deploy.proof.progress import since_now
from deploy.proof.rebuild.run import RebuildPlan, RebuildProof, prove
from deploy.proof.rest import NoRestError
from deploy.proof.servers import own_servers
from deploy.proof.verdict import table
from engine.partition.ports import LogError

PARTITIONS = 8


@click.command()
@click.option("--submissions", type=click.IntRange(100, 350_000), default=100_000, show_default=True)
@click.option("--partitions", type=click.IntRange(1, 64), default=PARTITIONS, show_default=True)
@click.option("--seconds", type=float, default=3_600.0, show_default=True, help="Bound of the way to rest.")
@click.option("--keep", type=click.Path(path_type=Path), help="Work in this folder and leave it.")
def main(submissions: int, partitions: int, seconds: float, keep: Path | None) -> None:
    """Lose contacts.state and accounts.state in the middle of the work, make them again, and count what is left."""
    plan = RebuildPlan(submissions=submissions, seconds=seconds)
    try:
        proof = asyncio.run(_run(plan, keep, partitions=partitions))
    except (DeploymentError, NoRestError, LogError, LocalServerError, RecordNotCreatedError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"\n{table(proof.rows)}\n")
    spent = ", ".join(f"{part} {seconds}" for part, seconds in proof.seconds.items())
    click.echo(f"lost with {proof.under_way}; {os.cpu_count()} cores; seconds: {spent}")
    click.echo("every promise is kept" if proof.holds else "BROKEN: see the rows that say NO")
    sys.exit(0 if proof.holds else 1)


async def _run(plan: RebuildPlan, keep: Path | None, *, partitions: int) -> RebuildProof:
    say = since_now()
    async with contextlib.AsyncExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadclock-rebuild-")))
        settings = await stack.enter_async_context(own_servers(folder, say, partitions=partitions))
        return await prove(plan, settings, folder, say)


if __name__ == "__main__":
    main()
