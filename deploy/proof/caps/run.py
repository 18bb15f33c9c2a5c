"""What is the proof of caps? Leads for far too few calls, schedulers killed under load, and then every cap counted again."""

import asyncio
import time
from pathlib import Path

import asyncpg
import httpx
from msgspec import Struct
from msgspec.structs import replace

from adapters.roles.context import Context, open_context
from adapters.settings import Settings
from deploy.proof.caps.company import AHEAD, BEGINS_AT, COMPANY_ID, CapCompany, make_cap_company
from deploy.proof.caps.earnings import Earning
from deploy.proof.caps.evidence import CapEvidence, gather_caps
from deploy.proof.caps.judgement import judge_caps
from deploy.proof.caps.load import leads
from deploy.proof.evidence import CONNECT_SECONDS, projection_differences
from deploy.proof.load import post
from deploy.proof.mail import deployment_with_mailbox
from deploy.proof.processes import ProcessGroup
from deploy.proof.progress import Say, lap, sparingly
from deploy.proof.rest import NoRestError, stop_and_show, until_at_rest
from deploy.proof.run import KillPlan, kill_under_load
from deploy.proof.verdict import VerdictRow, none
from schemas.instant import EPOCH, Instant, to_datetime
from schemas.topics import LEADS_INBOX

LOOK_SECONDS = 0.5
API_SECONDS = 120.0
DECISIONS_A_LEAD = 2
"""At least: its submission, and what was answered when it asked for a slot. The kills are spread over these."""

TO_BE_CALLED = """
SELECT count(*) AS known, count(*) FILTER (
    WHERE is_live AND step = 'first' AND attempts = 0
    AND NOT (coalesce(status_wait, '') IN ('buyer_cap', 'traffic_source_cap', 'number_cap') AND next_action_at > $1)
) AS waiting FROM read.leads
"""
IN_USE = "SELECT coalesce(sum(in_use + waiting_count), 0) FROM read.slots"


class CapPlan(Struct, frozen=True, kw_only=True):
    """How much, and what is killed. `speed`: of the domain clock; `seconds` bounds the way to rest."""

    leads: int
    kills: int
    seed: int
    schedulers: int = 2
    gateways: int = 2
    killed: tuple[str, ...] = ()
    speed: float = 20.0
    seconds: float = 1_800.0
    through_periods: bool = True
    """Go on until periods have ended."""


class CapProof(Struct, frozen=True, kw_only=True):
    """What came of it."""

    rows: list[VerdictRow]
    evidence: CapEvidence
    names: dict[str, str]
    earned: int
    """Calls whose earnings were reported."""

    seconds: dict[str, float]

    @property
    def holds(self) -> bool:
        """Whether every promise is kept."""
        return all(row.holds for row in self.rows)


async def prove_caps(plan: CapPlan, settings: Settings, folder: Path, say: Say) -> CapProof:
    """Run a whole deployment in `folder` against broker and database of the settings, and judge its caps.

    Raises `DeploymentError`, `NoRestError`, `RecordNotCreatedError`, `LogError`.
    """
    own = replace(
        settings,
        clock_wall_at=int(time.time() * 1_000),
        clock_domain_at=BEGINS_AT,
        clock_speed=plan.speed,
        rate_limits="off",
    )
    async with deployment_with_mailbox(folder, own) as deployment, open_context(own) as context:
        return await _prove(plan, deployment, context, say)


async def _prove(plan: CapPlan, deployment: ProcessGroup, context: Context, say: Say) -> CapProof:
    seconds: dict[str, float] = {}
    started = time.monotonic()
    await deployment.prepare()
    schedulers = _add_roles(plan, deployment)
    await deployment.until_ready()
    company = await make_cap_company(context, plan.leads)
    seconds["start"] = lap(say, "everything is ready", started)

    started = time.monotonic()
    ids, earned = await _under_load(plan, deployment, schedulers, context, company, say)
    seconds["load"] = lap(say, f"every lead was called or waits for a cap; {earned:,} calls earned something", started)

    started = time.monotonic()
    await _pause(deployment, company)
    await _until_quiet(plan, deployment, context, say)
    statuses = await stop_and_show(deployment, context, seconds=plan.seconds)
    seconds["rest"] = lap(say, "the company is paused, and nothing is under way", started)

    started = time.monotonic()
    found = await gather_caps(context, COMPANY_ID)
    rows = judge_caps(found, ids, context.clock.now())
    differences = await projection_differences(deployment.settings.postgres_dsn, found.whole.contacts)
    rows.append(none("rows that are not the fold", differences))
    rows.append(none("roles that did not end in order", (f"{name}: {code}" for name, code in statuses.items() if code)))
    seconds["count"] = lap(say, "everything is counted", started)
    return CapProof(rows=rows, evidence=found, names=company.names, earned=earned, seconds=seconds)


def _add_roles(plan: CapPlan, deployment: ProcessGroup) -> list[str]:
    schedulers = [deployment.add("scheduler", f"scheduler-{n}").name for n in range(1, plan.schedulers + 1)]
    for number in range(1, plan.gateways + 1):
        deployment.add("gateway", f"gateway-{number}")
    for role in ("accounts", "intake", "projector", "api"):
        deployment.add(role)
    return schedulers


async def _under_load(  # noqa: PLR0917 - everything that takes part
    plan: CapPlan, deployment: ProcessGroup, schedulers: list[str], context: Context, company: CapCompany, say: Say
) -> tuple[set[str], int]:
    """Send the leads, kill, and report earnings until every lead was called or is held by a cap."""
    settings, stop = deployment.settings, asyncio.Event()
    earning = Earning(deployment["api"].url, settings.postgres_dsn, company, plan.seed)
    kills = KillPlan(submissions=DECISIONS_A_LEAD * plan.leads, kills=plan.kills, seed=plan.seed)
    async with asyncio.TaskGroup() as group:
        reporting = group.create_task(earning.run(stop))
        killing = group.create_task(kill_under_load(kills, deployment, plan.killed or schedulers, context, say))
        topic = context.names.of(LEADS_INBOX.name)
        accepted = await post(context, leads(plan.leads, company, topic, plan.seed))
        await killing
        ends_at = company.ends_at + AHEAD if plan.through_periods else EPOCH
        await _until_called(plan, deployment, context, ends_at, sparingly(say))
        stop.set()
        await reporting
    return accepted.ids, earning.reported


async def _until_called(plan: CapPlan, deployment: ProcessGroup, context: Context, not_before: Instant, say: Say) -> None:
    """Wait until an instant, and until every lead was called or is held by a cap."""
    deadline = time.monotonic() + plan.seconds
    connection = await asyncpg.connect(deployment.settings.postgres_dsn, timeout=CONNECT_SECONDS)
    try:
        while True:
            now = context.clock.now()
            found = await connection.fetchrow(TO_BE_CALLED, to_datetime(now))
            words = (
                f"{found['known']:,} of {plan.leads:,} leads, {found['waiting']:,} to be called, {to_datetime(now):%H:%M}"
            )
            say(words)
            if found["known"] >= plan.leads and found["waiting"] == 0 and now >= not_before:
                return
            if time.monotonic() > deadline:
                raise NoRestError(f"not called after {plan.seconds:.0f} s: {words}")
            await asyncio.sleep(LOOK_SECONDS)
    finally:
        await connection.close()


async def _pause(deployment: ProcessGroup, company: CapCompany) -> None:
    """Pause the company: calls under way end, and nothing begins."""
    async with httpx.AsyncClient(base_url=deployment["api"].url, timeout=API_SECONDS, auth=company.auth()) as client:
        answer = await client.put("/api/v1/company", json={"paused": True})
    answer.raise_for_status()


async def _until_quiet(plan: CapPlan, deployment: ProcessGroup, context: Context, say: Say) -> None:
    """Wait until no slot is held or waited for, and all that was decided is shown."""
    dsn = deployment.settings.postgres_dsn
    deadline = time.monotonic() + plan.seconds
    connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
    try:
        while held := await connection.fetchval(IN_USE):
            if time.monotonic() > deadline:
                raise NoRestError(f"{held} slots are held or waited for after {plan.seconds:.0f} s")
            await asyncio.sleep(LOOK_SECONDS)
    finally:
        await connection.close()
    await until_at_rest(context, dsn, leads=plan.leads, seconds=plan.seconds, say=sparingly(say), is_paused=True)
