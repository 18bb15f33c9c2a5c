"""`python -m deploy.proof.upgrade`: is anything lost or doubled while two releases run side by side under load?

A deployment of the former release works on leads that come over Kafka and over HTTP, and tells a subscription of each.
Then each process is replaced by one of the newer release, `accounts` last, as the page about upgrading says. In the
middle a process of each release is killed, so that partitions pass from one release to the other in both directions.
Afterwards everything is counted, and the newer release verifies the audit. Exit status 0 or 1.

Until 0.1.0 is tagged there is no former release: this code is the former one, and a copy of it with a made-up version of the
decision rules is the newer one. `--from` names a commit that this code replaces instead.
"""

import asyncio
import contextlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click
from msgspec import Struct
from msgspec.structs import replace

from adapters.clock import wall_now
from adapters.gateway.mailbox import Mailbox
from adapters.local.process import LOCALHOST, LocalServerError
from adapters.roles.context import Context, open_context
from adapters.roles.record_client import RecordNotCreatedError
from adapters.settings import Settings
from deploy.proof.clients import EVENT, EventReceiver, LeadClient, event_receiver
from deploy.proof.company import make_company
from deploy.proof.load import post
from deploy.proof.processes import DeploymentError, ProcessGroup
from deploy.proof.progress import Say, lap, since_now, sparingly
from deploy.proof.rest import NoRestError, stop_and_show, until_at_rest
from deploy.proof.run import audit, recount
from deploy.proof.servers import own_servers
from deploy.proof.submissions import SentSubmission, submissions
from deploy.proof.verdict import Accepted, VerdictRow, row, table
from engine.partition.ports import LogError
from schemas.topics import LEADS_INBOX

ROOT = Path(__file__).parents[2]
PARTITIONS = 4
SPEED = 10.0
"""A text of the sandbox takes 2 s of domain time, a call 34 s: the run does not wait for them."""

ROLES = {
    "projector": "projector",
    "deliverer": "deliverer",
    "gateway-1": "gateway",
    "gateway-2": "gateway",
    "intake": "intake",
    "scheduler-1": "scheduler",
    "scheduler-2": "scheduler",
    "api": "api",
    "accounts": "accounts",
}
"""Process -> role, in the order in which they are replaced: who reads something new goes before who writes it."""

KILLED_AFTER = "scheduler-1"
"""Once it is replaced, a scheduler of each release owns partitions: both are killed, the new one first."""


CODE = ("adapters", "engine", "schemas")
"""The folders that a process runs."""

MADE_UP_VERSION = """

VERSIONS = {**VERSIONS, VERSION + 1: Version(changed="made up by a proof", decided_by="the next release")}
VERSION = max(VERSIONS)
"""
"""What is written below the table of the decision rules."""


class UpgradePlan(Struct, frozen=True, kw_only=True):
    """From which code to which, None for that of this tree, under how many submissions; `seconds` bounds the way to rest.

    With `strikes`, a scheduler of each release is killed while both run. With `are_rules_newer` the two releases have
    different versions of the decision rules.
    """

    former: Path | None = None
    newer: Path | None = None
    are_rules_newer: bool = False
    submissions: int
    strikes: bool = True
    seconds: float = 1_800.0


@click.command()
@click.option("--from", "commit", default=None, help="The former release.  [this code, replaced by a copy with newer rules]")
@click.option("--submissions", type=click.IntRange(100, 100_000), default=10_000, show_default=True)
@click.option("--seconds", type=float, default=1_800.0, show_default=True, help="Bound of the way to rest.")
def main(commit: str | None, submissions: int, seconds: float) -> None:
    """Replace each process of a former release by one of a newer one, under load, and count what is left."""
    try:
        rows = asyncio.run(_run(commit, submissions, seconds))
    except (DeploymentError, NoRestError, LogError, LocalServerError, RecordNotCreatedError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"\n{table(rows)}\n")
    holds = all(row.holds for row in rows)
    click.echo("every promise is kept" if holds else "BROKEN: see the rows that say NO")
    sys.exit(0 if holds else 1)


async def _run(commit: str | None, count: int, seconds: float) -> Sequence[VerdictRow]:
    say = since_now()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadclock-proof-")))
        plan = UpgradePlan(submissions=count, seconds=seconds)
        if commit is None:
            plan = replace(plan, newer=copy_with_newer_rules(folder / "newer"), are_rules_newer=True)
            say("the newer release is a copy of this code with a made-up version of the decision rules")
        else:
            plan = replace(plan, former=export(commit, folder / "former"))
            say(f"the former release is commit {commit}")
        async with own_servers(folder, say, partitions=PARTITIONS) as settings:
            now = wall_now()
            fast = replace(settings, clock_wall_at=now, clock_domain_at=now, clock_speed=SPEED)
            return await prove_upgrade(plan, fast, folder, say)


def copy_with_newer_rules(folder: Path) -> Path:
    """Copy this code into a folder, with a made-up version of the decision rules after the last one; return the folder."""
    for name in CODE:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / "engine/decision_rules.py").open("a", encoding="utf-8") as table:
        table.write(MADE_UP_VERSION)
    return folder


def export(commit: str, folder: Path) -> Path:
    """Write the code of a commit into a folder, and return it. Raises `DeploymentError` where there is no such commit."""
    folder.mkdir(parents=True)
    for command in (
        ["git", "-C", str(ROOT), "archive", "--output", str(folder / "code.tar"), commit, *CODE],
        ["tar", "-xf", str(folder / "code.tar"), "-C", str(folder)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
        if done.returncode:
            raise DeploymentError(f"commit {commit} cannot be read here: {done.stderr.strip()}")
    return folder


async def prove_upgrade(plan: UpgradePlan, settings: Settings, folder: Path, say: Say) -> list[VerdictRow]:
    """Run the upgrade against broker and database of the settings, and judge it.

    Raises `DeploymentError`, `NoRestError`, `LogError`.
    """
    mailbox = Mailbox(folder / "mail")
    await mailbox.start()
    settings = replace(
        settings,
        smtp_host=LOCALHOST,
        smtp_port=mailbox.port,
        smtp_starttls=False,
        webhook_private_networks=(f"{LOCALHOST}/32",),  # where the receiver of the events is
    )
    former, newer = (ProcessGroup(folder, settings, code=code) for code in (plan.former, plan.newer))
    try:
        async with event_receiver() as receiver:
            return await _prove(plan, former, newer, receiver, say)
    finally:
        former.kill()
        newer.kill()
        await mailbox.stop()


async def _prove(
    plan: UpgradePlan, former: ProcessGroup, newer: ProcessGroup, receiver: EventReceiver, say: Say
) -> list[VerdictRow]:
    settings = newer.settings
    async with open_context(settings) as context:
        started = time.monotonic()
        await former.prepare()
        for name, role in ROLES.items():
            former.add(role, name)
        await former.until_ready()
        company = await make_company(settings)
        await receiver.subscribe(settings)
        lap(say, "every process of the former release is ready", started)

        sent = submissions(plan.submissions, company, context.names.of(LEADS_INBOX.name))
        load = LoadInParts(context, sent, -(-plan.submissions // (len(ROLES) + 2)))
        client = LeadClient(company, lambda: (newer if "api" in newer.roles else former)["api"].url)
        statuses = await _used_by(client, _roll(plan, former, newer, load, say))
        accepted = load.accepted
        lap(say, f"{accepted.records:,} records are acknowledged, and every process is of the newer release", started)
        leads = len(accepted.ids) + client.answered
        await until_at_rest(context, settings.postgres_dsn, leads=leads, seconds=plan.seconds, say=sparingly(say))
        lap(say, "everything is decided, carried out and shown", started)
        await receiver.until_named(leads, seconds=plan.seconds)
        say(f"{client.answered:,} leads were posted over HTTP, {len(receiver.leads):,} were named to the subscription")
        statuses |= await stop_and_show(newer, context, seconds=plan.seconds)
        rows, found = await recount(context, accepted, statuses, over_http=client.answered)
        rows.append(row(f"leads with the event {EVENT}", found.contacts.leads(), receiver.leads))
        (verified, is_nothing_folded), words = await audit(newer)
        say(words)
        if plan.are_rules_newer:
            rows.append(row("decisions of the former rules are folded", {True}, {not is_nothing_folded.holds}))
    return [*rows, verified]


async def _used_by(client: LeadClient, rolling: Coroutine[Any, Any, dict[str, int]]) -> dict[str, int]:
    """Return what `rolling` returns, while a client uses the API."""
    stop = asyncio.Event()
    using = asyncio.create_task(client.run(stop))
    try:
        return await rolling
    finally:
        stop.set()
        await using


class LoadInParts:
    """Submissions that are posted part by part, and what was acknowledged of them."""

    def __init__(self, context: Context, sent: Iterator[SentSubmission], size: int) -> None:
        self.accepted = Accepted(ids=set(), bad={}, records=0)
        self._context, self._sent, self._size = context, sent, size

    async def post_part(self) -> None:
        """Post the next part."""
        await self._post(islice(self._sent, self._size))

    async def post_rest(self) -> None:
        """Post all that is left."""
        await self._post(self._sent)

    async def _post(self, sent: Iterable[SentSubmission]) -> None:
        posted = await post(self._context, sent)
        self.accepted.ids |= posted.ids
        self.accepted.bad |= posted.bad
        self.accepted.records += posted.records


async def _roll(plan: UpgradePlan, former: ProcessGroup, newer: ProcessGroup, load: LoadInParts, say: Say) -> dict[str, int]:
    """Replace process after process, each under a part of the load; return how the former ones ended."""
    statuses = {}
    await _command(newer, "topics", "create")
    await _command(newer, "db", "migrate", "--phase", "pre")
    for name, role in ROLES.items():
        await load.post_part()
        statuses[f"{name} (former)"] = await asyncio.to_thread(former[name].stop)
        await newer.add(role, name).until_ready()
        say(f"{name} is of the newer release")
        if plan.strikes and name == KILLED_AFTER:
            await load.post_part()
            await _strike(former, newer, say)
    await _command(newer, "db", "migrate", "--phase", "post")
    await load.post_rest()
    return statuses


async def _strike(former: ProcessGroup, newer: ProcessGroup, say: Say) -> None:
    """Kill -9 the new scheduler, so that the former one takes its partitions, then the former one, each started again."""
    for group, name in ((newer, "scheduler-1"), (former, "scheduler-2")):
        group[name].kill()
        await asyncio.sleep(group.settings.kafka_session_seconds)  # what others take over, they have taken now
        group[name].start()
        await group[name].until_ready()
        say(f"{name} was killed, and started again")


async def _command(group: ProcessGroup, *arguments: str) -> None:
    status, output = await group.command(*arguments)
    if status:
        raise DeploymentError(f"leadclock {' '.join(arguments)} ended with {status}: {output}")


if __name__ == "__main__":
    main()
