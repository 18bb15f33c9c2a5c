"""Is a lost state made again as it was? Both states are deleted in the middle of the work, and compared afterwards."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import asyncpg
from aiokafka.admin import AIOKafkaAdminClient
from msgspec import Struct

from adapters.recovery.losses import aggregates
from adapters.recovery.stored import read_stored
from adapters.roles.context import Context, open_context
from adapters.settings import Settings
from deploy.proof.company import make_company
from deploy.proof.evidence import CONNECT_SECONDS, ends
from deploy.proof.faults.sinks import CountingMailbox
from deploy.proof.load import post
from deploy.proof.mail import deployment_with_mailbox
from deploy.proof.processes import DeploymentError, ProcessGroup
from deploy.proof.progress import Say, lap, sparingly
from deploy.proof.rest import stop_and_show, until_at_rest
from deploy.proof.run import audit, recount
from deploy.proof.submissions import submissions
from deploy.proof.verdict import VerdictRow, none
from schemas.account import Slots
from schemas.contact import Lead
from schemas.state import kind_of
from schemas.topics import ACCOUNTS_STATE, CONTACTS_DECISIONS, CONTACTS_STATE, LEADS_INBOX
from schemas.wire import from_pack, to_json

STATES = (CONTACTS_STATE.name, ACCOUNTS_STATE.name)
ROLES = (
    *("accounts", "intake", "projector"),
    *("scheduler", "scheduler"),
    *("gateway", "gateway"),
)
DECIDING = ("scheduler", "accounts")
LOST_AFTER_SHARE = 0.6
"""Of the submissions: so many decisions are there when the states are lost, and much is under way."""

LOOK_SECONDS = 0.1
DRAIN_SECONDS = 300.0
BEGIN_SECONDS = 900.0
GIVEN = "SELECT command_id FROM work.sandbox_orders"


class RebuildPlan(Struct, frozen=True, kw_only=True):
    """How many submissions; `seconds` bounds the way to rest."""

    submissions: int
    seconds: float


class RebuildProof(Struct, frozen=True, kw_only=True):
    """What came of it: rows of promises, what was under way when the states were lost, and seconds of each part."""

    rows: list[VerdictRow]
    under_way: str
    seconds: dict[str, float]

    @property
    def holds(self) -> bool:
        """Whether every promise is kept."""
        return all(row.holds for row in self.rows)


class StoredStates(Struct):
    """Every value of both states, as JSON by place and key; 1 and 1.0 are the same number."""

    values: dict[str, bytes]
    messages: int
    in_flight: int
    slots: int


async def prove(plan: RebuildPlan, settings: Settings, folder: Path, say: Say) -> RebuildProof:
    """Run a deployment in `folder`, lose both states under load, settle that, and judge it.

    Raises `DeploymentError`, `NoRestError`, `LogError`.
    """
    mailbox = CountingMailbox(folder / "mail")
    async with (
        deployment_with_mailbox(folder, settings, mailbox) as deployment,
        open_context(deployment.settings) as context,
    ):
        return await _prove(plan, deployment, context, mailbox.taken, say)


async def _prove(
    plan: RebuildPlan, deployment: ProcessGroup, context: Context, mails: Mapping[str, int], say: Say
) -> RebuildProof:
    seconds: dict[str, float] = {}
    settings = deployment.settings
    await deployment.prepare()
    for number, role in enumerate(ROLES):
        deployment.add(role, f"{role}-{number}")
    await deployment.until_ready()
    company = await make_company(settings)
    started = time.monotonic()
    posting = asyncio.create_task(post(context, submissions(plan.submissions, company, context.names.of(LEADS_INBOX.name))))
    await _until_decided(context, int(LOST_AFTER_SHARE * plan.submissions))
    accepted = await posting
    for process in [one for one in deployment.roles.values() if one.role in DECIDING]:
        process.kill()  # one that is asked to stop sends its messages first
    await deployment.stop_within(DRAIN_SECONDS)
    seconds["load"] = lap(say, f"{accepted.records:,} records are acknowledged, and every role is stopped", started)

    before = await read_states(context)
    under_way = (
        f"{before.in_flight:,} commands in flight, {before.messages:,} messages under way, {before.slots:,} slots taken"
    )
    say(f"{len(before.values):,} values, {under_way}")
    await _delete_states(settings)
    started = time.monotonic()
    status, output = await deployment.command("recover", "--settle", "settle", "--reason", "both states were deleted")
    if status:
        raise DeploymentError(f"leadclock recover ended with {status}: {output}")
    seconds["recover"] = lap(say, "both states are made again", started)
    differences = compare(before, await read_states(context))

    started = time.monotonic()
    for process in deployment.roles.values():
        process.start()
    await deployment.until_ready()
    seconds["start"] = lap(say, "every role is ready again", started)
    await until_at_rest(context, settings.postgres_dsn, leads=len(accepted.ids), seconds=plan.seconds, say=sparingly(say))
    seconds["rest"] = lap(say, "everything is decided, carried out and shown", started)
    statuses = await stop_and_show(deployment, context, seconds=plan.seconds)
    rows, _ = await recount(context, accepted, statuses)
    rows.append(none("values that are not what they were", differences))
    rows += await _given_twice(settings, mails)
    started = time.monotonic()
    audited, words = await audit(deployment)
    seconds["audit"] = lap(say, words, started)
    return RebuildProof(rows=rows + audited, under_way=under_way, seconds=seconds)


async def read_states(context: Context) -> StoredStates:
    """Read every value of both states. Raises `LogError`."""
    found = StoredStates(values={}, messages=0, in_flight=0, slots=0)
    for aggregate in aggregates():
        topic = context.names.of(aggregate.state_topic.name)
        for partition in range(await context.log.partition_count(topic)):
            stored = await read_stored(context.log, topic, partition)
            found.messages += len(stored.entries)
            for key, packed in stored.values.items():
                entity = from_pack(packed, kind_of(key))
                found.values[f"{topic}[{partition}] {key}"] = to_json(entity)
                found.in_flight += isinstance(entity, Lead) and entity.flight is not None
                found.slots += entity.in_use if isinstance(entity, Slots) else 0
    return found


def compare(before: StoredStates, after: StoredStates) -> list[str]:
    """Return the places whose values differ."""
    return sorted(
        place for place in before.values.keys() | after.values.keys() if before.values.get(place) != after.values.get(place)
    )


async def _given_twice(settings: Settings, mails: Mapping[str, int]) -> list[VerdictRow]:
    """Count what people were given, by command: at the sandbox, whose table takes one once, and at the mail server."""
    connection = await asyncpg.connect(settings.postgres_dsn, timeout=CONNECT_SECONDS)
    try:
        orders = Counter(row["command_id"] for row in await connection.fetch(GIVEN))
    finally:
        await connection.close()
    return [
        none("texts and calls given twice", (id_ for id_, count in orders.items() if count > 1)),
        none("e-mails taken twice", (id_ for id_, count in mails.items() if count > 1)),
    ]


async def _until_decided(context: Context, count: int) -> None:
    topic = context.names.of(CONTACTS_DECISIONS.name)
    async with asyncio.timeout(BEGIN_SECONDS):
        while sum((await ends(context.log, topic)).values()) < count:  # noqa: ASYNC110 - another process decides
            await asyncio.sleep(LOOK_SECONDS)


async def _delete_states(settings: Settings) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.kafka_bootstrap)
    await admin.start()
    try:
        await admin.delete_topics([settings.topic_prefix + name for name in STATES])
    finally:
        await admin.close()
