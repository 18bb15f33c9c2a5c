"""How many due timers become commands in a second? All leads are due at one instant: the worst hour of a campaign.

Compared with Procrastinate, which runs due jobs that do nothing, on PostgreSQL of the same machine.
"""

import asyncio
from collections.abc import Callable

from adapters.clock import Origin, wall_now
from adapters.roles.context import Context
from deploy.bench.decisions import Requests, running, until_decided
from deploy.bench.peers import run_peer
from deploy.bench.row import BenchError, Row, Runs, row
from deploy.bench.stage import PARTITIONS, Stage, append_all, deployment, new_database, timed
from deploy.bench.submissions import NOON, TEXT_TOKEN, requests
from engine.partition.runner import Runner
from schemas.instant import HOUR, Instant, to_rfc3339
from schemas.topics import CONTACTS_REQUESTS

LEADS = 7_000
"""All of one company, and no gateway ends a command: each partition must have places for its quarter of them
(`engine.limits.OPEN_COMMANDS_MAX`, half of which one company alone may take)."""

JOBS = 2_000
"""Jobs of the baseline, which is a rate; one job per lead would take minutes."""

JOBS_AT_ONCE = 10
RUNS = 2
IDLE_CYCLES_MAX = 20
"""Cycles in a row that emit nothing before the row is given up, some ten seconds: leads that wait for a place would wait for
good."""


async def measure(stage: Stage, say: Callable[[str], None]) -> list[Row]:
    """Measure `timers`."""
    waiting = requests(LEADS, PARTITIONS, token=TEXT_TOKEN, next_action_at=to_rfc3339(NOON + HOUR))
    runs = Runs()
    for number in range(RUNS):
        say(f"timers: run {number + 1} of {RUNS}")
        runs.ours.append(LEADS / await _fire(stage, waiting))
        runs.baseline.append(await _jobs(stage))
    return [row("timers", runs, goal=">= 50", unit="commands/s")]


async def _fire(stage: Stage, waiting: Requests) -> float:
    """Return the seconds from the due instant to the commit of the last command."""
    async with deployment(stage) as context:
        await append_all(context, CONTACTS_REQUESTS.name, waiting)
        async with running(context) as runners:
            await asyncio.gather(*(until_decided(runner, len(waiting[n])) for n, runner in runners.items()))
            _advance_clock(context, NOON + HOUR)
            with timed() as watch:
                await asyncio.gather(*(_until_fired(runner, len(waiting[n])) for n, runner in runners.items()))
        return watch.seconds


def _advance_clock(context: Context, instant: Instant) -> None:
    """Advance domain time to an instant, as if the leads had waited until then."""
    context.clock.origin = Origin(wall_now(), instant)


async def _until_fired(runner: Runner, commands: int) -> None:
    emitted = idle_cycles = 0
    while idle_cycles < IDLE_CYCLES_MAX:
        report = await runner.cycle()
        new = sum(len(sealed.decision.commands) for sealed in report.decisions)
        emitted += new
        idle_cycles = 0 if new else idle_cycles + 1
        if emitted >= commands:
            return
    raise BenchError(f"only {emitted} of {commands} leads that were due became commands")


async def _jobs(stage: Stage) -> float:
    """Return how many due jobs Procrastinate runs in a second."""
    dsn = await new_database(stage)
    found = await run_peer(stage.peers, "procrastinate", dsn, str(JOBS), str(JOBS_AT_ONCE))
    return JOBS / float(found["seconds"])
