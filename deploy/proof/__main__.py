"""`python -m deploy.proof`: is anything lost or doubled when schedulers are killed under load? Exit status 0 or 1.

It runs a broker and a database of its own in a temporary folder, whatever servers the environment names.
"""

import asyncio
import contextlib
import os
import sys
import tempfile
from pathlib import Path

import click
from msgspec.structs import replace

from adapters.clock import wall_now
from adapters.local.process import LocalServerError
from adapters.roles.record_client import RecordNotCreatedError
from deploy.proof.processes import DeploymentError
from deploy.proof.progress import since_now
from deploy.proof.rest import NoRestError
from deploy.proof.run import KillPlan, KillProof, prove
from deploy.proof.servers import own_servers
from deploy.proof.verdict import live_count, table
from engine.partition.ports import LogError

PARTITIONS = 8
SPEED = 10.0
"""A text of the sandbox takes 2 s of domain time, a call 34 s: the run does not wait for them."""


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
    plan = KillPlan(
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
    except (DeploymentError, NoRestError, LogError, LocalServerError, RecordNotCreatedError) as error:
        raise click.ClickException(str(error)) from error
    _print_verdict(proof)
    sys.exit(0 if proof.holds else 1)


async def _run(plan: KillPlan, keep: Path | None, *, partitions: int) -> KillProof:
    say = since_now()
    async with contextlib.AsyncExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadclock-proof-")))
        settings = await stack.enter_async_context(own_servers(folder, say, partitions=partitions))
        now = wall_now()
        fast = replace(settings, clock_wall_at=now, clock_domain_at=now, clock_speed=SPEED)
        return await prove(plan, fast, folder, say)


def _print_verdict(proof: KillProof) -> None:
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
