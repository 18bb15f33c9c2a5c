"""`python -m deploy.proof.situations`: does the console say first what is wrong, while it is? Exit status 0 or 1.

It runs a broker, a database and every role in a temporary folder, and opens the console in the system's Chromium.
"""

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click
from playwright.async_api import Error as BrowserError

from adapters.local.process import LocalServerError
from adapters.roles.record_client import RecordNotCreatedError
from deploy.proof.clocks import LIBRARIES
from deploy.proof.processes import DeploymentError
from deploy.proof.progress import since_now
from deploy.proof.servers import own_servers
from deploy.proof.situations.run import Look, prove
from deploy.proof.situations.situations import CLOCK_JUMPED, SITUATIONS, Situation
from engine.partition.ports import LogError

PARTITIONS = 2
PICTURES = Path(".leadclock/situations")


@click.command()
@click.option(
    "--situation", "names", multiple=True, type=click.Choice([one.name for one in SITUATIONS]), help="Only this one.  [all]"
)
@click.option("--pictures", type=click.Path(path_type=Path), default=PICTURES, show_default=True, help="Where pictures go.")
@click.option("--keep", type=click.Path(path_type=Path), help="Work in this folder and leave it.")
def main(names: Sequence[str], pictures: Path, keep: Path | None) -> None:
    """Bring about what goes wrong, open the console, and see whether it names the cause first."""
    situations = [one for one in SITUATIONS if not names or one.name in names]
    library = next((path for path in LIBRARIES if Path(path).exists()), None)
    if library is None and any(one.name == CLOCK_JUMPED for one in situations):
        raise click.ClickException("libfaketime is missing, by which a clock jumps. Install faketime, or name situations.")
    pictures.mkdir(parents=True, exist_ok=True)
    try:
        looks = asyncio.run(_run(situations, library, pictures, keep))
    except (DeploymentError, LogError, LocalServerError, RecordNotCreatedError, BrowserError) as error:
        raise click.ClickException(str(error)) from error
    for look in looks:
        click.echo(f"{look.situation:18} {look.viewer:9} {look.page:18} {look.verdict}")
    is_kept = all(look.holds for look in looks)
    click.echo(f"pictures are in {pictures}; {'every cause is named' if is_kept else 'BROKEN: see the rows that say NO'}")
    sys.exit(0 if is_kept else 1)


async def _run(situations: Sequence[Situation], library: str | None, pictures: Path, keep: Path | None) -> list[Look]:
    say = since_now()
    async with contextlib.AsyncExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadclock-situations-")))
        settings = await stack.enter_async_context(own_servers(folder, say, partitions=PARTITIONS))
        return await prove(situations, settings, folder, say, pictures=pictures, library=library)


if __name__ == "__main__":
    main()
