"""What does a newcomer see? What runs, where the keys are, and lines that work when they are pasted."""

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import Literal

import click

from adapters.cli.failures import told
from adapters.up.folder import DEFAULT
from adapters.up.house import LOG_FILE, House, Options
from adapters.up.house import up as run_up
from adapters.up.noon import zone_at_daytime

FIRST_NUMBER = "+12125550100"
"""555-01xx is reserved for fiction; area code 212 has no state calling rules of its own in the pack."""


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8080,
    show_default=True,
    help="Port of the HTTP interface; 0 takes a free one.",
)
@click.option("--data-dir", type=click.Path(path_type=Path, file_okay=False), help="Data folder.  [default: .leadclock]")
@click.option("--ephemeral", is_flag=True, help="Use a fresh folder and delete it at the end.")
@click.option(
    "--speed", type=click.FloatRange(min=1.0, max=100_000), default=1.0, help="Let time run faster; needs --ephemeral."
)
@click.option("--broker", type=click.Choice(["auto", "kafka", "embedded"]), default="auto", show_default=True)
@click.option("--ready-file", type=click.Path(path_type=Path, dir_okay=False), help="Written when everything answers.")
@told
def up(  # noqa: PLR0917 - one parameter per flag, given by name
    port: int,
    data_dir: Path | None,
    ephemeral: bool,
    speed: float,
    broker: Literal["auto", "kafka", "embedded"],
    ready_file: Path | None,
) -> None:
    """Run broker, database, every role and a demo company on this machine, until Ctrl-C."""
    if speed != 1.0 and not ephemeral:
        raise click.UsageError("--speed needs --ephemeral: fast time must not get into data that is kept")
    options = Options(port=port, data_dir=data_dir, ephemeral=ephemeral, speed=speed, broker=broker, ready_file=ready_file)
    asyncio.run(run_up(options, default_folder=DEFAULT, say=_say, welcome=_welcome))


def _say(sentence: str) -> None:
    click.echo(sentence)


def _welcome(house: House) -> None:
    """Print what runs and what to try."""
    submission = {
        "lead_token": house.keys.quick_lead_token,
        "caller_id": FIRST_NUMBER,
        "email": "ada@example.com",
        "first_name": "Ada",
        "time_zone": zone_at_daytime(),
    }
    body = json.dumps(submission)
    folder = house.folder
    command = _program()
    where = _where(house)
    speed = f"\n  Time runs {house.options.speed:g} times as fast as yours." if house.options.speed != 1.0 else ""
    click.echo(f"""
leadclock is up at {house.api_url} ({house.seconds:.0f} s).{speed}
  Rate limits are off here, but for call starts.
  Keys and tokens: {folder / "keys.json"}
  Documentation:   {house.api_url}/api/docs/1.0
  Log:             {folder / LOG_FILE}

Send a first lead (a text, a call and an e-mail follow within two minutes):

  curl -s {house.api_url}/api/v1/leads -H 'Content-Type: application/json' -d {shlex.quote(body)}

The same straight to Kafka:

  {command} leads send {shlex.quote(body)}{where}

See what comes of it:

  {command} leads tail{where}
  {command} mail{where}
  curl -s -u {house.keys.public_key}:{house.keys.private_key} {house.api_url}/api/v1/leads

A schedule of five days, with opening hours, retries and a branch, has the lead token {house.keys.five_day_lead_token}
(to see it end in minutes: {command} up --ephemeral --speed 600). Ctrl-C stops everything.
""")


def _where(house: House) -> str:
    """Return the option by which other commands find a folder that is not the default one."""
    return "" if house.folder == DEFAULT.resolve() else f" --data-dir {shlex.quote(str(house.folder))}"


def _program() -> str:
    """Return how this program is called from the current folder."""
    found = Path(sys.argv[0]).absolute()
    return shlex.quote(str(found.relative_to(Path.cwd()) if found.is_relative_to(Path.cwd()) else found))
