"""`python -m deploy.proof.caps`: is a cap passed when schedulers are killed under load? Exit status 0 or 1.

It runs a broker and a database of its own in a temporary folder, whatever servers the environment names.
"""

import asyncio
import contextlib
import os
import random
import sys
import tempfile
from pathlib import Path

import click

from adapters.local.process import LocalServerError
from adapters.roles.record_client import RecordNotCreatedError
from deploy.proof.caps.evidence import CapEvidence
from deploy.proof.caps.judgement import caps_table
from deploy.proof.caps.load import LEADS_MAX
from deploy.proof.caps.run import CapPlan, CapProof, prove_caps
from deploy.proof.processes import DeploymentError
from deploy.proof.progress import since_now
from deploy.proof.rest import NoRestError
from deploy.proof.servers import own_servers
from deploy.proof.verdict import table
from engine.partition.ports import LogError

PARTITIONS = 8


@click.command()
@click.option("--leads", type=click.IntRange(100, LEADS_MAX), default=10_000, show_default=True)
@click.option("--schedulers", type=click.IntRange(1, 8), default=2, show_default=True)
@click.option("--kills", type=click.IntRange(0, 50), default=3, show_default=True)
@click.option(
    "--kill",
    "killed",
    multiple=True,
    help="A process to kill, in turn: scheduler-1, accounts, gateway-2, …  [all schedulers]",
)
@click.option("--gateways", type=click.IntRange(1, 8), default=2, show_default=True)
@click.option("--partitions", type=click.IntRange(1, 64), default=PARTITIONS, show_default=True)
@click.option("--speed", type=click.FloatRange(1.0, 60.0), default=20.0, show_default=True, help="Of the domain clock.")
@click.option("--seconds", type=float, default=1_800.0, show_default=True, help="Bound of the way to rest.")
@click.option("--seed", type=int, help="Of the outcomes and the moments of the kills.  [random; printed]")
@click.option("--keep", type=click.Path(path_type=Path), help="Work in this folder and leave it.")
def main(  # noqa: PLR0917 - one parameter per flag, given by name
    leads: int,
    schedulers: int,
    kills: int,
    killed: tuple[str, ...],
    gateways: int,
    partitions: int,
    speed: float,
    seconds: float,
    seed: int | None,
    keep: Path | None,
) -> None:
    """Kill schedulers while leads compete for few calls, and count every cap again."""
    chosen = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    plan = CapPlan(
        leads=leads,
        kills=kills,
        seed=chosen,
        schedulers=schedulers,
        gateways=gateways,
        killed=killed,
        speed=speed,
        seconds=seconds,
    )
    try:
        proof = asyncio.run(_run(plan, keep, partitions=partitions))
    except (DeploymentError, NoRestError, LogError, LocalServerError, RecordNotCreatedError) as error:
        raise click.ClickException(f"{error} (--seed {chosen})") from error
    _print_verdict(proof, chosen)
    sys.exit(0 if proof.holds else 1)


async def _run(plan: CapPlan, keep: Path | None, *, partitions: int) -> CapProof:
    say = since_now()
    async with contextlib.AsyncExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadclock-caps-")))
        say(f"seed {plan.seed}, {plan.leads:,} leads, {os.cpu_count()} cores")
        settings = await stack.enter_async_context(own_servers(folder, say, partitions=partitions))
        return await prove_caps(plan, settings, folder, say)


def _print_verdict(proof: CapProof, seed: int) -> None:
    found = proof.evidence
    click.echo(f"\n{caps_table(found.recount, proof.names)}\n\n{table(proof.rows)}\n")
    click.echo(
        f"{found.whole.contacts.decisions:,} decisions on contacts and {found.whole.accounts.decisions:,} on accounts, "
        f"{found.recount.granted.total():,} slots, {_given_back(found)}, {proof.earned:,} calls that earned something; "
        f"seconds: {', '.join(f'{part} {spent}' for part, spent in proof.seconds.items())}"
    )
    click.echo("every promise is kept" if proof.holds else f"BROKEN: see the rows that say NO (--seed {seed})")


def _given_back(found: CapEvidence) -> str:
    """Say how many granted slots were given back without a call, and in the decision of which input."""
    by = ", ".join(f"{count:,} by {cause}" for cause, count in found.given_back.most_common())
    return f"{found.given_back.total():,} of them given back without a call" + (f" ({by})" if by else "")


if __name__ == "__main__":
    main()
