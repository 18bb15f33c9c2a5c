"""What is the proof of holds? Commands queue, gateways begin, everything is put on hold and goes on; then all is counted."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import asyncpg
from msgspec import Struct

from adapters.clock import SystemClock
from adapters.roles.context import Context, open_context, origin_of
from adapters.settings import Settings
from deploy.proof.company import make_company
from deploy.proof.evidence import CONNECT_SECONDS
from deploy.proof.holds.judgement import HoldWindow, judge_hold
from deploy.proof.holds.load import count_calls, leads
from deploy.proof.holds.witness import Witness, WitnessMailbox
from deploy.proof.load import post
from deploy.proof.mail import deployment_with_mailbox
from deploy.proof.processes import DeploymentError, ProcessGroup, RoleProcess
from deploy.proof.progress import Say, lap, sparingly
from deploy.proof.rest import NoRestError, stop_and_show, until_at_rest
from deploy.proof.run import audit
from deploy.proof.verdict import Accepted, VerdictRow
from schemas.instant import from_datetime
from schemas.topics import LEADS_INBOX

Strike = Literal["none", "schedulers", "gateway"]
"""What stands still while the hold is made: nothing, every scheduler, or one of the gateways."""

SCHEDULERS, GATEWAYS = 2, 2

BEGUN_SHARE = 100
"""The hold is typed once a hundredth was given to providers: the command takes seconds to start, while more goes out."""

WATCH_SECONDS = 15.0
"""How long the witness looks on while the hold is in force: longer than a lease, and than Kafka's shortest session."""

LOOK_SECONDS = 0.2

QUEUED = """
SELECT count(*) AS known, count(*) FILTER (WHERE flight IS NOT NULL) AS queued,
       count(*) FILTER (WHERE status_wait = 'on_hold') AS held
FROM read.leads
"""


class HoldPlan(Struct, frozen=True, kw_only=True):
    """How many commands, and what stands still. `lines`: calls at a time at most; `seconds` bounds each wait."""

    commands: int
    lines: int
    strike: Strike = "none"
    seconds: float = 1_800.0


class HoldProof(Struct, frozen=True, kw_only=True):
    """What came of it: rows of promises, figures in words, and how long each part took in seconds."""

    rows: list[VerdictRow]
    figures: list[str]
    seconds: dict[str, float]

    @property
    def holds(self) -> bool:
        """Whether every promise is kept."""
        return all(row.holds for row in self.rows)


async def prove_holds(plan: HoldPlan, settings: Settings, folder: Path, say: Say) -> HoldProof:
    """Run a whole deployment in `folder` against broker and database of the settings, and judge its hold.

    Raises `DeploymentError`, `NoRestError`, `RecordNotCreatedError`, `LogError`.
    """
    mailbox = WitnessMailbox(folder / "mail", SystemClock(origin_of(settings)))
    async with (
        deployment_with_mailbox(folder, settings, mailbox) as deployment,
        open_context(deployment.settings) as context,
    ):
        return await _Proof(plan, deployment, context, Witness(settings.postgres_dsn, mailbox), say).run()


class _Proof:
    def __init__(self, plan: HoldPlan, deployment: ProcessGroup, context: Context, witness: Witness, say: Say) -> None:
        self._plan = plan
        self._deployment = deployment
        self._context = context
        self._witness = witness
        self._say = say
        self._figures: list[str] = []
        self._seconds: dict[str, float] = {}

    async def run(self) -> HoldProof:
        accepted = await self._queue()
        window = await self._hold_and_release()
        started = time.monotonic()
        dsn = self._deployment.settings.postgres_dsn
        leads_count, seconds = len(accepted.ids), self._plan.seconds
        await until_at_rest(self._context, dsn, leads=leads_count, seconds=seconds, say=sparingly(self._say))
        statuses = await stop_and_show(self._deployment, self._context, seconds=seconds)
        self._seconds["rest"] = lap(self._say, "everything is carried out and shown", started)
        started = time.monotonic()
        given = await self._witness.given()
        self._figures.append(f"{window.seconds_until_silence(given):.2f} s from the decision to the last command given")
        rows = await judge_hold(self._context, accepted, given, window, statuses)
        audited, words = await audit(self._deployment)
        self._seconds["count"] = lap(self._say, f"everything is counted; {words}", started)
        return HoldProof(rows=[*rows, *audited], figures=self._figures, seconds=self._seconds)

    async def _queue(self) -> Accepted:
        """Let commands queue while no gateway runs, and calls wait for lines."""
        started, plan, deployment = time.monotonic(), self._plan, self._deployment
        await deployment.prepare()
        for role in ("accounts", "intake", "projector"):
            deployment.add(role)
        for number in range(1, SCHEDULERS + 1):
            deployment.add("scheduler", f"scheduler-{number}")
        await deployment.until_ready()
        company = await make_company(deployment.settings, lines=plan.lines)
        self._seconds["start"] = lap(self._say, "everything but the gateways is ready", started)
        started = time.monotonic()
        accepted = await post(self._context, leads(plan.commands, company, self._context.names.of(LEADS_INBOX.name)))
        waiting = max(0, count_calls(plan.commands) - plan.lines)
        await self._until_queued(plan.commands - waiting)
        words = f"{plan.commands - waiting:,} commands are queued, {waiting:,} more wait for a line"
        self._figures.append(words)
        self._seconds["queue"] = lap(self._say, words, started)
        return accepted

    async def _until_queued(self, wanted: int) -> None:
        deadline = time.monotonic() + self._plan.seconds
        say = sparingly(self._say)
        while (found := await self._queued())["known"] < self._plan.commands or found["queued"] < wanted:
            words = f"{found['known']:,} leads, {found['queued']:,} of {wanted:,} commands"
            say(words)
            if time.monotonic() > deadline:
                raise NoRestError(f"not queued after {self._plan.seconds:.0f} s: {words}")
            await asyncio.sleep(LOOK_SECONDS)

    async def _hold_and_release(self) -> HoldWindow:
        """Start the gateways, hold everything while they work, watch, and release."""
        gateways = [self._deployment.add("gateway", f"gateway-{number}") for number in range(1, GATEWAYS + 1)]
        await self._until_begun()
        struck = self._struck(gateways)
        with _standing_still(struck):
            hold, named = await self._hold(gateways)
            await self._watch("while the hold is in force")
        if struck:
            await self._deployment.until_ready()
            await self._watch(f"after {', '.join(one.name for one in struck)} went on")
        await self._until_returned()
        counts = await self._typed("release", str(hold["id"]), "--dry-run")
        self._figures.append(f"{counts['waiting_count']:,} leads wait for the release, {counts['expired_count']:,} expired")
        released_at = self._context.clock.now()
        started = time.monotonic()
        await self._typed("release", str(hold["id"]))
        self._seconds["release"] = lap(self._say, f"the hold {hold['id']} is released", started)
        hanging = {one.name for one in struck if one in gateways}
        return HoldWindow(
            decided_at=from_datetime(datetime.fromisoformat(hold["created_at"])),
            released_at=released_at,
            named=frozenset(named),
            hanging=frozenset(hanging),
            speed=self._context.settings.clock_speed,
        )

    def _struck(self, gateways: list[RoleProcess]) -> list[RoleProcess]:
        match self._plan.strike:
            case "schedulers":
                return [one for one in self._deployment.roles.values() if one.role == "scheduler"]
            case "gateway":
                return gateways[-1:]
            case _:
                return []

    async def _until_begun(self) -> None:
        deadline = time.monotonic() + self._plan.seconds
        while (count := await self._witness.count()) < max(1, self._plan.commands // BEGUN_SHARE):
            if time.monotonic() > deadline:
                raise NoRestError(f"{count:,} commands were given to providers in {self._plan.seconds:.0f} s")
            await asyncio.sleep(LOOK_SECONDS)
        self._say(f"{count:,} commands were given to providers; the hold is typed")

    async def _hold(self, gateways: list[RoleProcess]) -> tuple[dict[str, Any], set[str]]:
        """Hold everything; return the hold, and the gateways that the command says to stop by hand."""
        started = time.monotonic()
        typed = ("hold", "--all", "--reason", "the proof of holds", "--deployment", "env")
        status, output = await self._deployment.command(*typed)
        said = output.strip().splitlines()[-1]
        count = await self._witness.count()
        self._seconds["hold"] = lap(self._say, said, started)
        self._figures.append(f"{count:,} of {self._plan.commands:,} were given to providers until the command returned")
        _, _, by_hand = said.partition("stop them by hand: ")
        named = {one.name for one in gateways if f"/{one.pid}/" in by_hand}
        if bool(status) != bool(by_hand):
            raise DeploymentError(f"leadclock hold ended with {status}: {output}")
        holds = await self._typed("hold")
        return holds[-1], named

    async def _watch(self, when: str) -> None:
        await asyncio.sleep(WATCH_SECONDS)
        self._say(f"{await self._witness.count():,} commands are given to providers {when}")

    async def _until_returned(self) -> None:
        """Wait until gateways have returned every command, and calls under way have ended."""
        deadline = time.monotonic() + self._plan.seconds
        while left := (await self._queued())["queued"]:
            if time.monotonic() > deadline:
                raise NoRestError(f"{left:,} commands were not returned in {self._plan.seconds:.0f} s")
            await asyncio.sleep(LOOK_SECONDS)
        self._say("every command was returned or has ended")

    async def _queued(self) -> asyncpg.Record:
        connection = await asyncpg.connect(self._deployment.settings.postgres_dsn, timeout=CONNECT_SECONDS)
        try:
            return await connection.fetchrow(QUEUED)
        finally:
            await connection.close()

    async def _typed(self, *arguments: str) -> Any:
        """Run a command and return what it prints. Raises `DeploymentError` where it fails."""
        status, output = await self._deployment.command(*arguments, "--deployment", "env", "--json")
        if status:
            raise DeploymentError(f"leadclock {' '.join(arguments)} ended with {status}: {output}")
        return json.loads(output)


@contextmanager
def _standing_still(processes: list[RoleProcess]) -> Iterator[None]:
    """Let processes stand still for the block, as a machine does that hangs."""
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process.pid, signal.SIGCONT)
