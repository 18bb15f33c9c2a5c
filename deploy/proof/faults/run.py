"""How is a deployment struck? One fault after the other under a steady load, each until submissions flow again."""

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from adapters.local.cluster import bootstrap_of, managed_cluster
from adapters.local.postgres import managed_postgres
from adapters.local.process import LOCALHOST
from adapters.roles.context import Context, open_context
from deploy.proof.company import make_company
from deploy.proof.faults.claims import Claims
from deploy.proof.faults.judgement import judge_all
from deploy.proof.faults.loss_judgement import judge_losses, repeat_lost, until_still
from deploy.proof.faults.report import Recovery
from deploy.proof.faults.sinks import CountingMailbox, counting_receiver
from deploy.proof.faults.strikes import Strike, Striker
from deploy.proof.faults.topic_strikes import TopicStriker
from deploy.proof.faults.trickle import Trickle
from deploy.proof.faults.waits import LATE_SECONDS, Delays, until_settled
from deploy.proof.processes import ProcessGroup
from deploy.proof.progress import Say
from deploy.proof.rest import stop_and_show, until_at_rest
from deploy.proof.servers import fresh_settings, open_to_the_database
from deploy.proof.verdict import VerdictRow, none

PARTITIONS = 4
CALM_SECONDS = (2.0, 8.0)
"""Between two faults."""

ROLL_SECONDS = 300.0
REST_SECONDS = 1_200.0
ACKNOWLEDGE_SECONDS = 300.0
ROLES = (
    ("accounts", "accounts"), ("intake", "intake"), ("scheduler", "scheduler-1"), ("scheduler", "scheduler-2"),
    ("gateway", "gateway-1"), ("gateway", "gateway-2"), ("projector", "projector"), ("api", "api"),
)  # fmt: skip


class StrikePlan(Struct, frozen=True, kw_only=True):
    """Duration, submissions a second and seed. `only`: words of the faults to inject; `topics`: of losses of topics."""

    seconds: float
    per_second: float
    seed: int
    only: Sequence[str] = ()
    topics: Sequence[str] = ()

    @property
    def loses_topics(self) -> bool:
        """Whether topics are lost, which is judged by other rows."""
        return bool(self.topics)


class StrikeOutcome(Struct, frozen=True, kw_only=True):
    """The verdict, and how long each fault lasted."""

    rows: list[VerdictRow]
    recoveries: list[Recovery]

    @property
    def holds(self) -> bool:
        """Whether every promise is kept."""
        return all(row.holds for row in self.rows)


async def strike_all(plan: StrikePlan, folder: Path, say: Say) -> StrikeOutcome:
    """Run three brokers, a database and every role in `folder`, strike them for a while, and judge what is left.

    Raises `DeploymentError`, `NoRestError`, `LogError`, `LocalServerError`.
    """
    open_to_the_database(folder)
    async with AsyncExitStack() as stack:
        nodes = await stack.enter_async_context(managed_cluster(folder))
        postgres = await stack.enter_async_context(managed_postgres(folder))
        say("three brokers and a database are up")
        mailbox = CountingMailbox(folder / "mail")
        await mailbox.start()
        stack.push_async_callback(mailbox.stop)
        hooks: Counter[str] = Counter()
        hook_port = await stack.enter_async_context(counting_receiver(hooks))
        settings = replace(
            fresh_settings(folder, bootstrap=bootstrap_of(nodes), dsn=postgres.dsn, partitions=PARTITIONS),
            smtp_host=LOCALHOST,
            smtp_port=mailbox.port,
            smtp_starttls=False,
            webhook_private_networks=("127.0.0.0/8",),
            rate_limits="off",
        )
        deployment = ProcessGroup(folder, settings)
        stack.callback(deployment.kill)
        context = await stack.enter_async_context(open_context(settings))
        await deployment.prepare()
        for role, name in ROLES:
            deployment.add(role, name)
        await deployment.until_ready()
        hook_url = f"http://{LOCALHOST}:{hook_port}/hook"
        company = await make_company(settings, hook_url=hook_url, retries_unknown=not plan.loses_topics)
        say("every role is ready")
        claims = Claims(settings.postgres_dsn)
        rng = random.Random(plan.seed)  # noqa: S311 - chooses faults, hides nothing
        striker = Striker(deployment, nodes, postgres, claims, rng)
        trickle = Trickle(context, company, deployment["api"].url, per_second=plan.per_second)
        outside = {"e-mails": mailbox.taken, "webhooks": hooks}
        if plan.loses_topics:
            strikes = TopicStriker(deployment, nodes, striker, trickle.follow_again, say)
            losses = _TopicLosses(
                plan=plan, strikes=strikes, deployment=deployment, context=context, trickle=trickle, outside=outside
            )
            return await losses.run(say)
        recoveries = await _under_load(trickle, _strike(plan, striker, trickle, rng, say), say)
        await _until_at_rest(context, trickle, say)
        statuses = await stop_and_show(deployment, context, seconds=REST_SECONDS)
        rows = await judge_all(context, deployment, trickle, claims, outside)
        rows.append(none("roles that did not end in order", (f"{name}: {code}" for name, code in statuses.items() if code)))
        rows += await _verify(deployment, say)
        lasting = (one.row for one in recoveries if None in {one.decided, one.answered, one.late_until})
        rows.append(none("faults that submissions did not recover from", lasting))
        return StrikeOutcome(rows=rows, recoveries=recoveries)


class _TopicLosses(Struct, kw_only=True):
    """A deployment that loses topics, who strikes it, and what judges it."""

    plan: StrikePlan
    strikes: TopicStriker
    deployment: ProcessGroup
    context: Context
    trickle: Trickle
    outside: Mapping[str, Counter[str]]

    async def run(self, say: Say) -> StrikeOutcome:
        """Lose one topic after the other under load, and judge by what people were given."""
        context, trickle = self.context, self.trickle
        await _under_load(trickle, _strike_topics(self.plan, self.strikes, say), say)
        await until_still(context.settings.postgres_dsn, REST_SECONDS)
        await repeat_lost(context, trickle, say)
        await until_still(context.settings.postgres_dsn, REST_SECONDS)
        statuses = await stop_and_show(self.deployment, context, seconds=REST_SECONDS)
        rows = await judge_losses(context, self.deployment, trickle, self.strikes, self.outside)
        rows.append(none("roles that did not end in order", (f"{name}: {code}" for name, code in statuses.items() if code)))
        return StrikeOutcome(rows=rows, recoveries=[])


async def _strike_topics(plan: StrikePlan, topics: TopicStriker, say: Say) -> list[Recovery]:
    """Make each chosen strike once, as long as there is time."""
    begun = time.monotonic()
    for strike in (one for one in topics.bag() if any(words in one.row for words in plan.topics)):
        if time.monotonic() - begun > plan.seconds:
            say(f"no time for more, from {strike.row} on")
            break
        await asyncio.sleep(CALM_SECONDS[1])
        say(strike.row)
        await strike.run()
    await asyncio.sleep(CALM_SECONDS[1])
    return []


async def _under_load(trickle: Trickle, strikes: Coroutine[Any, Any, list[Recovery]], say: Say) -> list[Recovery]:
    stop = asyncio.Event()
    following = asyncio.create_task(trickle.follow())
    submitting = asyncio.create_task(trickle.run(stop))
    striking = asyncio.create_task(strikes)
    try:
        await asyncio.wait({following, submitting, striking}, return_when=asyncio.FIRST_COMPLETED)
        recoveries = await striking
        stop.set()
        async with asyncio.timeout(ACKNOWLEDGE_SECONDS):
            await submitting
    finally:
        for task in (following, submitting, striking):
            task.cancel()
        await asyncio.gather(following, submitting, striking, return_exceptions=True)
    say(f"{len(trickle.acknowledged):,} records and {len(trickle.answered):,} submissions over HTTP are acknowledged")
    return recoveries


async def _strike(plan: StrikePlan, striker: Striker, trickle: Trickle, rng: random.Random, say: Say) -> list[Recovery]:
    recoveries: list[Recovery] = []
    begun = rolled_at = time.monotonic()
    bag: list[Strike] = []
    undisturbed = await until_settled(trickle.undecided, begun)
    say(f"undisturbed: nothing waits for longer than {LATE_SECONDS:.0f} s after {_words(undisturbed)}")
    while time.monotonic() - begun < plan.seconds:
        await asyncio.sleep(rng.uniform(*CALM_SECONDS))
        if not bag:
            bag = _chosen(striker, plan.only)
        if time.monotonic() - rolled_at >= ROLL_SECONDS:
            rolled_at = time.monotonic()
            strike = striker.rolling()
        else:
            strike = bag.pop()
        recoveries.append(await _recovery(strike, trickle, say))
    return recoveries


def _chosen(striker: Striker, only: Sequence[str]) -> list[Strike]:
    """Return the strikes with these words; without words all but the rolling of gateways, which has its own time."""
    if not only:
        return striker.bag()
    return [one for one in (*striker.bag(), striker.rolling()) if any(words in one.row for words in only)]


async def _recovery(strike: Strike, trickle: Trickle, say: Say) -> Recovery:
    """Make a strike and watch the submissions meanwhile and afterwards."""
    say(f"{strike.row}: {strike.target}")
    struck_at = time.monotonic()
    running = asyncio.ensure_future(strike.run())
    delays = Delays()
    held_up = asyncio.create_task(delays.watch())
    kinds = (trickle.undecided, trickle.unanswered)
    for waits in kinds:
        waits.longest_seconds = 0.0
    watching = [asyncio.create_task(until_settled(waits, struck_at)) for waits in kinds]
    # What comes when a paused process goes on, or a broker is back, counts too.
    watching += [asyncio.create_task(until_settled(waits, struck_at, running)) for waits in kinds]
    try:
        election = await running
        healed = time.monotonic() - struck_at
        decided, answered, *last = await asyncio.gather(*watching)
    finally:
        for task in (running, held_up, *watching):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(running, held_up, *watching, return_exceptions=True)
    late_until = None if None in last else max(one or 0.0 for one in last)
    say(
        f"  decided after {_words(decided)}, answered after {_words(answered)}"
        + (f", elected after {election:.1f} s" if election is not None else "")
        + f", whole after {healed:.1f} s, late until {_words(late_until)}, longest waits"
        + f" {trickle.undecided.longest_seconds:.1f} and {trickle.unanswered.longest_seconds:.1f} s"
        + f" (load {os.getloadavg()[0]:.0f}; this process was held up for {delays.longest_seconds:.1f} s at most)"
    )
    return Recovery(
        row=strike.row,
        decided=decided,
        answered=answered,
        late_until=late_until,
        slowest_answer=trickle.unanswered.longest_seconds,
        election=election,
    )


def _words(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.1f} s"


async def _until_at_rest(context: Context, trickle: Trickle, say: Say) -> None:
    count = len(trickle.acknowledged) + len(trickle.answered)
    await until_at_rest(context, context.settings.postgres_dsn, leads=count, seconds=REST_SECONDS)
    say("everything is decided, carried out and shown")


async def _verify(deployment: ProcessGroup, say: Say) -> list[VerdictRow]:
    """Run the proofs of an operator."""
    rows = []
    for command in ("audit", "projection"):
        status, output = await deployment.command(command, "verify")
        rows.append(none(f"differences found by `leadclock {command} verify`", [output.strip()] if status else []))
        say(output.strip().splitlines()[-1] if output.strip() else f"{command} verify said nothing")
    return rows
