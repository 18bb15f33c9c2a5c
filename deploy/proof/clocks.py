"""`python -m deploy.proof.clocks`: does a wrong clock reach anybody early, late or never? Real processes under libfaketime.

Each role in turn runs on a clock that is a day ahead or behind, from its start or by a step while it works, and then on the
right one again. Meanwhile leads come in. Exit status 0 or 1. Install libfaketime first (Debian: `apt-get install faketime`).
"""

import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import count
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from adapters.local.process import LocalServerError
from adapters.roles.context import Context, open_context
from adapters.roles.record_client import RecordNotCreatedError
from adapters.up.demo_time_zone import zone_at_daytime
from deploy.proof.company import ProofCompany, make_company
from deploy.proof.evidence import committed, gather
from deploy.proof.load import post
from deploy.proof.mail import deployment_with_mailbox
from deploy.proof.processes import DeploymentError, ProcessGroup, RoleProcess
from deploy.proof.progress import Say, since_now
from deploy.proof.rest import NoRestError, until_at_rest
from deploy.proof.servers import own_servers
from deploy.proof.submissions import SentSubmission, number
from deploy.proof.verdict import VerdictRow, judge_log, none, row, table
from engine.partition.broker_clock import DISAGREEMENT_MAX_SECONDS
from engine.partition.ports import LogError, Outgoing
from schemas.contact import Lead
from schemas.decisions import Decision
from schemas.envelope import Envelope, to_headers
from schemas.instant import DAY, EPOCH, MINUTE, to_rfc3339
from schemas.requests import OutcomeRecorded
from schemas.topics import ACCOUNTS_DECISIONS, COMMANDS_SMS, CONTACTS_DECISIONS, CONTACTS_REQUESTS, LEADS_INBOX
from schemas.wire import to_json

LIBRARIES = (
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
)
RIGHT = "+0"
PARTITIONS = 2
LEADS = 100
"""Of each trial: half begin with a text, half with a wait of two days."""

NOTICED_SECONDS = 60.0
"""A partition compares with the broker when it opens; a step shows at the next comparison or record."""

WRONG_SECONDS = 15.0
"""How long everything goes on with the wrong clock: many times what a lead that is due waits."""

LOOK_SECONDS = 0.2
REST_SECONDS = 300.0
LATEST = 3 * DAY + 10 * MINUTE
"""No lead waits longer than the waits of its schedule, two days and one, however slow this machine is."""

OUTCOME = b"outcome.recorded"


class ClockTrial(Struct, frozen=True):
    """A role whose clock is wrong by an offset of libfaketime, from its start or by a step while it runs."""

    role: str
    offset: str
    is_restarted: bool

    @property
    def name(self) -> str:
        """Return what happens, in a few words."""
        return f"{self.role} {'started' if self.is_restarted else 'stepped'} {self.offset}"


ROLES = ("scheduler", "gateway", "accounts", "intake", "projector")
COMPARING = frozenset({"scheduler", "accounts", "gateway"})
"""Roles that act by time: each is not ready on a wrong clock, and goes on by itself. The others only notice a step."""

TRIALS = tuple(
    ClockTrial(role, offset, is_restarted)
    for role in ROLES
    for offset, is_restarted in (("+25h", True), ("+25h", False), ("-25h", True), ("-25h", False))
)


class WrongClockProof:
    """One deployment, and what is seen of it while clocks are wrong."""

    def __init__(self, deployment: ProcessGroup, context: Context, company: ProofCompany, say: Say) -> None:
        self.problems: list[str] = []
        self.sent: dict[str, str] = {}
        """Each person's number -> the kind of the first step."""
        self._deployment = deployment
        self._context = context
        self._company = company
        self._say = say
        self._numbers = count(1)

    async def hold(self, trial: ClockTrial) -> None:
        """Make a clock wrong while leads come in, then right again, and wait until everything is done."""
        role = self._deployment[trial.role]
        if trial.is_restarted:
            role.kill()
        clock_file(self._deployment, trial.role).write_text(trial.offset)
        if trial.is_restarted:
            role.start()
        noticed = await _until_not_ready(role, running=trial.is_restarted)
        commands = await self.commands()
        await self.post(LEADS)
        await asyncio.sleep(WRONG_SECONDS)
        is_ready, words = await role.ready()
        new = len(await self.commands()) - len(commands)
        clock_file(self._deployment, trial.role).write_text(RIGHT)
        if trial.role not in COMPARING and role.is_running:
            role.stop()  # started on a wrong clock, it knows no other: `/readyz` says that it goes on when restarted
        if not role.is_running:
            role.start()  # as a supervisor does
        began = time.monotonic()
        await self._deployment.until_ready()
        await until_at_rest(self._context, self._context.settings.postgres_dsn, leads=len(self.sent), seconds=REST_SECONDS)
        self._say(
            f"{trial.name}: {noticed}; {new} texts commanded meanwhile; {'READY' if is_ready else 'not ready'}: "
            f"{words.strip()[:400]}; at rest {time.monotonic() - began:.0f} s after the clock was right"
        )
        if is_ready and trial.role in COMPARING:
            self.problems.append(f"{trial.name}: /readyz says ready on a wrong clock")
        if new and trial.role == "scheduler":
            self.problems.append(f"{trial.name}: {new} texts were commanded on a wrong clock")

    async def post(self, number_of_leads: int) -> None:
        """Post leads, every other with a text at once."""
        await post(self._context, self._leads(number_of_leads))

    def _leads(self, number_of_leads: int) -> Iterator[SentSubmission]:
        zone = zone_at_daytime()
        topic = self._context.names.of(LEADS_INBOX.name)
        for _ in range(number_of_leads):
            index = next(self._numbers)
            kind = ("text", "rest")[index % 2]
            caller_id = number(index, 1, ("00",))
            self.sent[caller_id] = kind
            body = {"lead_token": self._company.tokens[kind], "caller_id": caller_id, "first_name": "Ann", "time_zone": zone}
            headers = to_headers(Envelope(id=f"clocks-{index}", type="lead.submitted", source="/proof"))
            yield SentSubmission(id=f"clocks-{index}", record=Outgoing(topic, caller_id.encode(), to_json(body), headers))

    async def commands(self) -> list[str]:
        """Return the number of each person for whom a text was commanded."""
        found = committed(self._context.log, self._context.names.of(COMMANDS_SMS.name))
        return [_person(record.key) async for record in found if dict(record.headers)["ce_type"] != b"fence"]


def clock_file(deployment: ProcessGroup, role: str) -> Path:
    """Return the file that libfaketime reads the offset of a role's clock from, at each look at the clock."""
    return deployment.folder / f"{role}.clock"


def faked(deployment: ProcessGroup, role: str, library: str) -> RoleProcess:
    """Add a role that runs on a clock of its own; only wall time is faked, as where an operator sets a clock."""
    clock_file(deployment, role).write_text(RIGHT)
    fake = {
        "LD_PRELOAD": library,
        "FAKETIME_TIMESTAMP_FILE": str(clock_file(deployment, role)),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    process = deployment.roles[role] = RoleProcess(role, role, deployment.folder, deployment.environment | fake)
    process.start()
    return process


async def _until_not_ready(role: RoleProcess, *, running: bool) -> str:
    """Return how soon `/readyz` named a wrong clock, or that it did not."""
    began = time.monotonic()
    while time.monotonic() - began < NOTICED_SECONDS:
        is_ready, words = await role.ready()
        if not is_ready and "clock" in words:
            return f"noticed after {time.monotonic() - began:.1f} s"
        if is_ready and running and time.monotonic() - began > WRONG_SECONDS:
            break
        await asyncio.sleep(LOOK_SECONDS)
    return "NOT noticed"


async def _judge(proof: WrongClockProof, context: Context) -> list[VerdictRow]:
    found = await gather(context)
    leads = found.contacts.leads().values()
    texted = [person for person, kind in proof.sent.items() if kind == "text"]
    commanded = await proof.commands()
    delivered = [person async for person in _delivered(context)]
    return [
        row("people with a lead", proof.sent, (lead.caller_id for lead in leads)),
        row("people who are texted", texted, commanded),
        none("people who are texted twice", (one for one in set(commanded) if commanded.count(one) > 1)),
        row("people whose text went out", texted, delivered),
        none("leads that ended", (str(lead.id) for lead in leads if lead.wake_at is None)),
        none("decisions dated ahead of the broker's clock", [words async for words in _dated_ahead(context)]),
        none(
            "leads that wait too long", (_wait(lead) for lead in leads if (lead.wake_at or EPOCH) > lead.updated_at + LATEST)
        ),
        none("wrong clocks that were believed", proof.problems),
        *judge_log(found, context.clock.now()),
    ]


def _wait(lead: Lead) -> str:
    until = to_rfc3339(lead.wake_at or lead.updated_at)
    return f"lead {lead.id}, decided at {to_rfc3339(lead.updated_at)}, waits until {until}"


async def _delivered(context: Context) -> AsyncIterator[str]:
    async for record in committed(context.log, context.names.of(CONTACTS_REQUESTS.name)):
        if dict(record.headers)["ce_type"] != OUTCOME:
            continue
        outcome = msgspec.json.decode(record.value or b"", type=OutcomeRecorded).outcome
        if outcome == "delivered":
            yield _person(record.key)


async def _dated_ahead(context: Context) -> AsyncIterator[str]:
    for topic in (CONTACTS_DECISIONS, ACCOUNTS_DECISIONS):
        async for record in committed(context.log, context.names.of(topic.name)):
            decided_at = msgspec.json.decode(record.value or b"", type=Decision).decided_at
            if decided_at > record.appended_at + int(DISAGREEMENT_MAX_SECONDS * 1000):
                yield f"{topic.name}, partition {record.partition}, offset {record.offset}: {to_rfc3339(decided_at)}"


def _person(key: bytes | None) -> str:
    return (key or b"").decode().partition("|")[2]


@click.command()
@click.option("--role", "roles", multiple=True, help="Only the clock of this role: scheduler, gateway, …  [each in turn]")
@click.option("--keep", type=click.Path(path_type=Path), help="Work in this folder and leave it.")
def main(roles: Sequence[str], keep: Path | None) -> None:
    """Set the clock of each role wrong and right again, and count what people were sent."""
    library = next((path for path in LIBRARIES if Path(path).exists()), None)
    if library is None:
        raise click.ClickException(f"libfaketime is missing: none of {', '.join(LIBRARIES)} is there. Install faketime.")
    trials = [trial for trial in TRIALS if not roles or trial.role in roles]
    try:
        rows = asyncio.run(_run(trials, library, keep))
    except (DeploymentError, NoRestError, LogError, LocalServerError, RecordNotCreatedError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"\n{table(rows)}\n")
    is_kept = all(one.holds for one in rows)
    click.echo("every promise is kept" if is_kept else "BROKEN: see the rows that say NO")
    sys.exit(0 if is_kept else 1)


async def _run(trials: Sequence[ClockTrial], library: str, keep: Path | None) -> list[VerdictRow]:
    say = since_now()
    async with contextlib.AsyncExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="leadclock-clocks-")))
        settings = await stack.enter_async_context(own_servers(folder, say, partitions=PARTITIONS))
        deployment = await stack.enter_async_context(deployment_with_mailbox(folder, settings))
        context = await stack.enter_async_context(open_context(settings))
        await deployment.prepare()
        for role in ROLES:
            faked(deployment, role, library)
        await deployment.until_ready()
        proof = WrongClockProof(deployment, context, await make_company(settings), say)
        await proof.post(LEADS)
        await until_at_rest(context, settings.postgres_dsn, leads=LEADS, seconds=REST_SECONDS)
        say("everything is ready")
        for trial in trials:
            await proof.hold(trial)
        rows = await _judge(proof, context)
        statuses = await asyncio.to_thread(deployment.stop)
        rows.append(none("roles that did not end in order", (f"{name}: {code}" for name, code in statuses.items() if code)))
        for command in ("audit", "projection"):
            status, output = await deployment.command(command, "verify")
            rows.append(none(f"differences found by `leadclock {command} verify`", [output.strip()] if status else []))
        return rows


if __name__ == "__main__":
    main()
