"""`python -m deploy.proof.neighbours`: how much slower is one company while another misbehaves? Exit status 0 or 1.

A whole deployment runs as separate processes on a real broker and database. After a warm-up under load, the quiet
company's submissions are timed alone and, in turn, beside each way of misbehaving, then beside all of them at once.
"""

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from adapters.local.process import LocalServerError
from adapters.roles.record_client import RecordNotCreatedError
from deploy.proof.mail import deployment_with_mailbox
from deploy.proof.neighbours.hostility import TRAFFIC, WAYS
from deploy.proof.neighbours.measure import measure, plan_of
from deploy.proof.neighbours.report import Phase, is_fair, table
from deploy.proof.processes import DeploymentError
from deploy.proof.progress import since_now
from deploy.proof.servers import own_servers
from engine.partition.ports import LogError

PARTITIONS = 4


@click.command()
@click.option("--seconds", type=float, default=20.0, show_default=True, help="Length of each phase.")
@click.option(
    "--way",
    "ways",
    multiple=True,
    type=click.Choice(sorted(WAYS | TRAFFIC)),
    help="Only these ways.  [all but impressions]",
)
@click.option("--keep", type=click.Path(path_type=Path), help="Work in this folder and leave it.")
def main(seconds: float, ways: tuple[str, ...], keep: Path | None) -> None:
    """Measure a quiet company beside a hostile one."""
    try:
        phases = asyncio.run(_run(seconds, ways or tuple(WAYS), keep))
    except (DeploymentError, LogError, LocalServerError, RecordNotCreatedError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"\n{table(phases)}\n")
    click.echo("every phase is fair" if is_fair(phases) else "BROKEN: see the rows that say NO")
    sys.exit(0 if is_fair(phases) else 1)


async def _run(seconds: float, ways: Sequence[str], keep: Path | None) -> list[Phase]:
    say = since_now()
    async with contextlib.AsyncExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadclock-neighbours-")))
        settings = await stack.enter_async_context(own_servers(folder, say, partitions=PARTITIONS))
        settings = replace(settings, webhook_private_networks=("127.0.0.0/8",))
        deployment = await stack.enter_async_context(deployment_with_mailbox(folder, settings))
        return await measure(deployment, plan_of(ways, seconds=seconds), say=say)


if __name__ == "__main__":
    main()
