"""`python -m deploy.proof.carriers`: is anybody reached twice, or an outcome lost, as gateways restart? Exit status 0 or 1.

It runs a broker, a database and four vendors of its own, whatever servers the environment names.
"""

import asyncio
import contextlib
import sys
import tempfile
from pathlib import Path

import click

from adapters.local.process import LocalServerError
from adapters.roles.record_client import RecordNotCreatedError
from deploy.proof.carriers.run import NotUnderWayError, RestartPlan, RestartProof, prove_restarts
from deploy.proof.processes import DeploymentError
from deploy.proof.progress import since_now
from deploy.proof.rest import NoRestError
from deploy.proof.servers import own_servers
from deploy.proof.verdict import table
from engine.partition.ports import LogError

PARTITIONS = 4


@click.command()
@click.option("--calls", type=click.IntRange(6, 1_000), default=50, show_default=True)
@click.option("--texts", type=click.IntRange(6, 10_000), default=500, show_default=True)
@click.option("--kill", "kills", is_flag=True, help="Kill -9 the first gateway instead of stopping it.")
@click.option("--away", type=float, default=8.0, show_default=True, help="Seconds without any API.")
@click.option("--seconds", type=float, default=1_200.0, show_default=True, help="Bound of the way to rest.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of how long vendors and people take.")
@click.option("--keep", type=click.Path(path_type=Path), help="Work in this folder and leave it.")
def main(*, calls: int, texts: int, kills: bool, away: float, seconds: float, seed: int, keep: Path | None) -> None:
    """Restart two gateways with calls and texts under way, and count what became of each."""
    plan = RestartPlan(calls=calls, texts=texts, kills=kills, away_seconds=away, seconds=seconds, seed=seed)
    try:
        proof = asyncio.run(_run(plan, keep))
    except (DeploymentError, NoRestError, NotUnderWayError, LogError, LocalServerError, RecordNotCreatedError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"\n{table(proof.rows)}\n")
    for words in proof.words:
        click.echo(words)
    click.echo("every promise is kept" if proof.holds else "BROKEN: see the rows that say NO")
    sys.exit(0 if proof.holds else 1)


async def _run(plan: RestartPlan, keep: Path | None) -> RestartProof:
    say = since_now()
    async with contextlib.AsyncExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadclock-carriers-")))
        settings = await stack.enter_async_context(own_servers(folder, say, partitions=PARTITIONS))
        return await prove_restarts(plan, settings, folder, say)


if __name__ == "__main__":
    main()
