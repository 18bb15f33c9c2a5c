"""What does a newcomer see? What runs, where the keys are, and commands to paste."""

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import Literal

import click
from click.core import ParameterSource

from adapters.cli.failures import report_errors
from adapters.settings import Settings, check_variables, inherited_variables, load
from adapters.up.attach import check_settings
from adapters.up.demo_time_zone import zone_at_daytime
from adapters.up.folder import DEFAULT
from adapters.up.log_file import LOG_FILE
from adapters.up.stack import LocalStack, Options
from adapters.up.stack import up as run_up

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
@click.option(
    "--attach",
    type=click.Choice(["alone", "shared"]),
    is_flag=False,
    flag_value="alone",
    help="Use the broker and the database of this shell's settings, alone; --attach=shared runs beside other processes.",
)
@click.option("--ready-file", type=click.Path(path_type=Path, dir_okay=False), help="Written when everything answers.")
@click.option(
    "--webhooks-to-own-ports",
    is_flag=True,
    help="Let webhooks reach this `up` itself: API, Kafka, database, mail.",
)
@report_errors
def up(  # noqa: PLR0917 - one parameter per flag, given by name
    port: int,
    data_dir: Path | None,
    ephemeral: bool,
    speed: float,
    broker: Literal["auto", "kafka", "embedded"],
    attach: Literal["alone", "shared"] | None,
    ready_file: Path | None,
    webhooks_to_own_ports: bool,
) -> None:
    """Run broker, database, every role and a demo company on this machine, until Ctrl-C."""
    if speed != 1.0 and not ephemeral and attach is None:
        raise click.UsageError("--speed needs --ephemeral: fast time must not get into data that is kept")
    check_variables()
    attached = None if attach is None else _attached(attach)
    if attached is None and (ignored := inherited_variables()):
        _say(
            f"Ignoring {', '.join(ignored)} of this shell: `up` runs a broker and a database of its own "
            "(--attach uses those of the shell)."
        )
    options = Options(
        port=port,
        data_dir=data_dir,
        ephemeral=ephemeral,
        speed=speed,
        broker=broker,
        ready_file=ready_file,
        attached=attached,
        is_shared=attach == "shared",
        webhooks_to_own_ports=webhooks_to_own_ports,
    )
    asyncio.run(run_up(options, default_folder=DEFAULT, say=_say, welcome=_welcome))


def _attached(attach: Literal["alone", "shared"]) -> Settings:
    """Return the settings of the shell. Raises `click.UsageError` beside an option that is for servers of our own."""
    context = click.get_current_context()
    for name in ("speed", "ephemeral", "broker"):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} is for a broker and a database of its own; it cannot be used with --attach")
    settings = load()
    check_settings(settings, is_shared=attach == "shared")
    return settings


def _say(sentence: str) -> None:
    click.echo(sentence)


def _welcome(stack: LocalStack) -> None:
    """Print what runs and what to try."""
    if not stack.is_demo:
        click.echo(f"""
leadclock is up at {stack.api_url} ({stack.seconds:.0f} s), on the deployment of this shell's settings.
  It was made by others: no demo company was made, and calls, texts and e-mails go where the settings say.
  Console:         {stack.console_url}
  Documentation:   {stack.api_url}/api/docs/1.0
  Log:             {stack.folder / LOG_FILE}

Ctrl-C stops everything that was started here.
""")
        return
    submission = {
        "lead_token": stack.keys.quick_lead_token,
        "caller_id": FIRST_NUMBER,
        "email": "ada@example.com",
        "first_name": "Ada",
        "time_zone": zone_at_daytime(),
    }
    body = json.dumps(submission)
    key = f"{stack.keys.public_key}:{stack.keys.private_key}"
    folder = stack.folder
    command = _program()
    where = _where(stack)
    speed = f"\n  Time runs {stack.options.speed:g} times as fast as yours." if stack.options.speed != 1.0 else ""
    own_ports = "and to ports" if stack.options.webhooks_to_own_ports else "but to no port"
    click.echo(f"""
leadclock is up at {stack.api_url} ({stack.seconds:.0f} s).{speed}
  Calls and texts go to the sandbox, which reaches no one; e-mails stay in {folder / "mail"}.
  Webhooks may go to this machine (127.0.0.0/8), {own_ports} of this `up` itself.
  Rate limits are off here, but for call starts and requests without a good key or token.
  Keys and tokens: {folder / "keys.json"}
  Console:         {stack.console_url}
  Documentation:   {stack.api_url}/api/docs/1.0
  Log:             {folder / LOG_FILE}

Send a first lead (a text, a call and an e-mail follow within two minutes):

  curl -s {stack.api_url}/api/v1/leads -u {key} -H 'Content-Type: application/json' -d {shlex.quote(body)}

The same straight to Kafka:

  {command} leads send {shlex.quote(body)}{where}

See what comes of it:

  {command} leads tail{where}
  {command} mail{where}
  curl -s -u {key} {stack.api_url}/api/v1/leads

A schedule of five days, with opening hours, retries and a branch, has the lead token {stack.keys.five_day_lead_token}
(to see it end in minutes: {command} up --ephemeral --speed 600). Ctrl-C stops everything.
""")


def _where(stack: LocalStack) -> str:
    """Return the option by which other commands find a folder that is not the default one."""
    return "" if stack.folder == DEFAULT.resolve() else f" --data-dir {shlex.quote(str(stack.folder))}"


def _program() -> str:
    """Return how this program is called from the current folder."""
    found = Path(sys.argv[0]).absolute()
    return shlex.quote(str(found.relative_to(Path.cwd()) if found.is_relative_to(Path.cwd()) else found))
