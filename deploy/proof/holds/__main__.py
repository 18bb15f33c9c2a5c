"""`python -m deploy.proof.holds`: is everything silent on hold, and nothing lost or doubled after it? Exit status 0 or 1.

It runs a broker and a database of its own in a temporary folder, whatever servers the environment names.
"""

import asyncio
import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import get_args

import click

from adapters.local.process import LocalServerError
from adapters.roles.record_client import RecordNotCreatedError
from deploy.proof.holds.load import LEADS_MAX, lines_for
from deploy.proof.holds.run import HoldPlan, HoldProof, Strike, prove_holds
from deploy.proof.processes import DeploymentError
from deploy.proof.progress import since_now
from deploy.proof.rest import NoRestError
from deploy.proof.servers import own_servers
from deploy.proof.verdict import table
from engine.partition.ports import LogError

PARTITIONS = 8
STRIKES = get_args(Strike)


@click.command()
@click.option("--commands", type=click.IntRange(100, LEADS_MAX), default=10_000, show_default=True)
@click.option(
    "--strike",
    "strikes",
    multiple=True,
    type=click.Choice(STRIKES),
    help="What stands still while the hold is made; each has a deployment of its own.  [all, in turn]",
)
@click.option("--partitions", type=click.IntRange(1, 64), default=PARTITIONS, show_default=True)
@click.option("--seconds", type=float, default=1_800.0, show_default=True, help="Bound of each wait.")
@click.option("--keep", type=click.Path(path_type=Path), help="Work in this folder and leave it.")
def main(commands: int, strikes: tuple[Strike, ...], partitions: int, seconds: float, keep: Path | None) -> None:
    """Hold everything while commands queue, with schedulers or a gateway that stand still, and count after the release."""
    are_kept = True
    for strike in strikes or STRIKES:
        plan = HoldPlan(commands=commands, lines=lines_for(commands), strike=strike, seconds=seconds)
        try:
            proof = asyncio.run(_run(plan, keep, partitions=partitions))
        except (DeploymentError, NoRestError, LogError, LocalServerError, RecordNotCreatedError) as error:
            raise click.ClickException(f"{error} (--strike {strike})") from error
        _print_verdict(proof, strike)
        are_kept = are_kept and proof.holds
    sys.exit(0 if are_kept else 1)


async def _run(plan: HoldPlan, keep: Path | None, *, partitions: int) -> HoldProof:
    say = since_now()
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadclock-holds-")))
        folder = folder if keep is None else keep / plan.strike
        say(f"{plan.commands:,} commands, {WORDS[plan.strike]}, {os.cpu_count()} cores")
        settings = await stack.enter_async_context(own_servers(folder, say, partitions=partitions))
        return await prove_holds(plan, settings, folder, say)


WORDS: dict[Strike, str] = {
    "none": "nothing stands still",
    "schedulers": "schedulers stand still",
    "gateway": "a gateway stands still",
}


def _print_verdict(proof: HoldProof, strike: Strike) -> None:
    seconds = ", ".join(f"{part} {spent}" for part, spent in proof.seconds.items())
    click.echo(f"\n{WORDS[strike]}\n{table(proof.rows)}\n")
    click.echo("\n".join([*proof.figures, f"seconds: {seconds}"]))
    click.echo("every promise is kept\n" if proof.holds else f"BROKEN: see the rows that say NO (--strike {strike})\n")


if __name__ == "__main__":
    main()
