"""What is the proof? Leads pour in, schedulers are killed and started again, and afterwards everything is counted."""

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from adapters.roles.context import Context, open_context
from adapters.settings import Settings
from deploy.proof.company import make_company
from deploy.proof.evidence import Evidence, ends, gather, projection_differences
from deploy.proof.load import post
from deploy.proof.mail import deployment_with_mailbox
from deploy.proof.processes import ProcessGroup
from deploy.proof.progress import Say, lap, sparingly
from deploy.proof.rest import stop_and_show, until_at_rest
from deploy.proof.submissions import submissions
from deploy.proof.verdict import Accepted, VerdictRow, judge, none
from schemas.topics import CONTACTS_DECISIONS, LEADS_INBOX

KILL_JITTER_SECONDS = 0.5
"""A kill comes up to this much late, at random: before, in the middle of and after commits."""

LOOK_SECONDS = 0.05
BEGIN_SECONDS = 300.0


class KillPlan(Struct, frozen=True, kw_only=True):
    """How much, and what is killed. `killed` are names of processes, taken in turn; `seconds` bounds the way to rest."""

    submissions: int
    kills: int
    schedulers: int = 2
    gateways: int = 2
    killed: tuple[str, ...] = ()
    seconds: float = 1_800.0
    seed: int = 1


class KillProof(Struct, frozen=True, kw_only=True):
    """What came of it: rows of promises, and how long each part took in seconds."""

    rows: list[VerdictRow]
    evidence: Evidence
    seconds: dict[str, float]

    @property
    def holds(self) -> bool:
        """Whether every promise is kept."""
        return all(row.holds for row in self.rows)


async def prove(plan: KillPlan, settings: Settings, folder: Path, say: Say) -> KillProof:
    """Run a whole deployment in `folder` against broker and database of the settings, and judge it.

    Raises `DeploymentError`, `NoRestError`, `LogError`.
    """
    async with deployment_with_mailbox(folder, settings) as deployment:
        return await _prove(plan, deployment, say)


async def _prove(plan: KillPlan, deployment: ProcessGroup, say: Say) -> KillProof:
    seconds: dict[str, float] = {}
    settings = deployment.settings
    async with open_context(settings) as context:
        started = time.monotonic()
        await deployment.prepare()
        schedulers = _add_roles(plan, deployment)
        await deployment.until_ready()
        company = await make_company(settings)
        seconds["start"] = lap(say, "everything is ready", started)

        started = time.monotonic()
        inbox = context.names.of(LEADS_INBOX.name)
        killing = asyncio.create_task(kill_under_load(plan, deployment, plan.killed or schedulers, context, say))
        accepted = await post(context, submissions(plan.submissions, company, inbox))
        seconds["post"] = lap(say, f"{accepted.records:,} records are acknowledged", started)
        await killing
        await until_at_rest(
            context, settings.postgres_dsn, leads=len(accepted.ids), seconds=plan.seconds, say=sparingly(say)
        )
        seconds["rest"] = lap(say, "everything is decided, carried out and shown", started)

        statuses = await stop_and_show(deployment, context, seconds=plan.seconds)
        started = time.monotonic()
        rows, found = await recount(context, accepted, statuses)
        seconds["count"] = lap(say, "everything is counted", started)

        started = time.monotonic()
        audited, words = await audit(deployment)
        rows += audited
        seconds["audit"] = lap(say, words, started)
    return KillProof(rows=rows, evidence=found, seconds=seconds)


async def audit(deployment: ProcessGroup) -> tuple[list[VerdictRow], str]:
    """Run `leadclock audit verify`; return its rows, and what it said last."""
    status, output = await deployment.command("audit", "verify", "--accept-folded")
    rows = [
        none("differences found by the audit", [output.strip()] if status else []),
        none("decisions that the audit only folded", [output.strip()] if "folded" in output else []),
    ]
    return rows, output.strip().splitlines()[-1] if output else "the audit said nothing"


def _add_roles(plan: KillPlan, deployment: ProcessGroup) -> list[str]:
    """Add every role that is needed, and return the names of the schedulers."""
    schedulers = [deployment.add("scheduler", f"scheduler-{n}").name for n in range(1, plan.schedulers + 1)]
    for number in range(1, plan.gateways + 1):
        deployment.add("gateway", f"gateway-{number}")
    for role in ("accounts", "intake", "projector"):
        deployment.add(role)
    return schedulers


async def recount(
    context: Context, accepted: Accepted, statuses: Mapping[str, int], *, over_http: int = 0
) -> tuple[list[VerdictRow], Evidence]:
    """Compare what was accepted with what is left, and with which status each role ended.

    `over_http` more leads came another way.
    """
    settings = context.settings
    found = await gather(context)
    rows = judge(accepted, found, settings.topic_prefix, context.clock.now(), over_http=over_http)
    differences = await projection_differences(settings.postgres_dsn, found.contacts)
    rows.append(none("rows that are not the fold", differences))
    rows.append(none("roles that did not end in order", (f"{name}: {code}" for name, code in statuses.items() if code)))
    return rows, found


async def kill_under_load(
    plan: KillPlan, deployment: ProcessGroup, names: Sequence[str], context: Context, say: Say
) -> None:
    """Kill -9 and start again, each time that another part of the load is decided.

    Raises `TimeoutError` where nothing is decided for long.
    """
    rng = random.Random(plan.seed)  # noqa: S311 - spreads kills, hides nothing
    topic = context.names.of(CONTACTS_DECISIONS.name)
    for number in range(1, plan.kills + 1):
        await _until_decided(context, topic, plan.submissions * number // (plan.kills + 1))
        await asyncio.sleep(rng.uniform(0.0, KILL_JITTER_SECONDS))
        victim = deployment[names[(number - 1) % len(names)]]
        pid = victim.pid
        victim.kill()
        victim.start()
        decided = sum((await ends(context.log, topic)).values())
        say(f"kill -9 of {victim.name} (process {pid}) at about {decided:,} decisions; started again as {victim.pid}")


async def _until_decided(context: Context, topic: str, count: int) -> None:
    async with asyncio.timeout(BEGIN_SECONDS):
        while sum((await ends(context.log, topic)).values()) < count:  # noqa: ASYNC110 - another process decides
            await asyncio.sleep(LOOK_SECONDS)
