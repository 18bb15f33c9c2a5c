"""`python -m deploy.proof.faults`: is anything lost, doubled or stuck after faults at random? Exit status 0 or 1.

It runs three brokers and a database of its own in a temporary folder, whatever servers the environment names.
"""

import asyncio
import contextlib
import logging
import os
import random
import sys
import tempfile
from pathlib import Path

import click

from adapters.local.process import LocalServerError
from adapters.roles.record_client import RecordNotCreatedError
from deploy.proof.faults.report import table as recovery_table
from deploy.proof.faults.run import StrikeOutcome, StrikePlan, strike_all
from deploy.proof.faults.waits import ANSWER_LATE_SECONDS, LATE_SECONDS
from deploy.proof.processes import DeploymentError
from deploy.proof.progress import since_now
from deploy.proof.rest import NoRestError
from deploy.proof.verdict import table
from engine.partition.ports import LogError

ONLY = (
    "Only faults with these words: broker, killed, 'gateways rolled', …; or losses of topics, which no other run makes: "
    "contacts.state, 'accounts.rules deleted', 'made again', 'partition laid back', …"
)


@click.command()
@click.option("--minutes", type=click.FloatRange(0.1, 1_440.0), default=60.0, show_default=True, help="Of faults.")
@click.option("--per-second", type=click.FloatRange(1.0, 200.0), default=40.0, show_default=True, help="Submissions.")
@click.option("--seed", type=int, help="Of the faults and their moments.  [random; printed]")
@click.option("--only", multiple=True, help=ONLY)
@click.option("--keep", type=click.Path(path_type=Path), help="Work in this folder and leave it.")
def main(minutes: float, per_second: float, seed: int | None, only: tuple[str, ...], keep: Path | None) -> None:
    """Strike a deployment at random, and judge what is left."""
    chosen = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # of our own clients, which lose their brokers on purpose
    faults = [words for words in only if not _is_loss(words)]
    losses = [words for words in only if _is_loss(words)]
    if faults and losses:
        raise click.UsageError("--only names faults or losses of topics: a run is judged as the one or the other")
    plan = StrikePlan(seconds=60.0 * minutes, per_second=per_second, seed=chosen, only=faults, topics=losses)
    try:
        outcome = asyncio.run(_run(plan, keep))
    except (DeploymentError, NoRestError, LogError, LocalServerError, RecordNotCreatedError) as error:
        raise click.ClickException(f"{error} (--seed {chosen})") from error
    _print_verdict(outcome, chosen)
    sys.exit(0 if outcome.holds else 1)


def _is_loss(words: str) -> bool:
    """Return whether words name the loss of a topic."""
    return "." in words or any(words in way for way in ("deleted", "made again", "partition laid back"))


async def _run(plan: StrikePlan, keep: Path | None) -> StrikeOutcome:
    say = since_now()
    with contextlib.ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadclock-faults-")))
        say(f"seed {plan.seed}, {plan.per_second:.0f} submissions a second, {os.cpu_count()} cores")
        return await strike_all(plan, folder, say)


def _print_verdict(outcome: StrikeOutcome, seed: int) -> None:
    click.echo(f"\n{table(outcome.rows)}\n")
    if outcome.recoveries:
        _print_waits(outcome)
    click.echo("every promise is kept" if outcome.holds else f"BROKEN: see the rows that say NO (--seed {seed})")


def _print_waits(outcome: StrikeOutcome) -> None:
    click.echo(
        f"Seconds from the fault until nothing waited for more than {LATE_SECONDS:.0f} s to be decided,"
        f" {ANSWER_LATE_SECONDS:.0f} s to be answered over HTTP:\n"
    )
    click.echo(f"{recovery_table(outcome.recoveries)}\n")


if __name__ == "__main__":
    main()
