"""After topics were lost and settled: was nobody contacted twice, and nobody forgotten without being named?

The witnesses are beside the system: what the mail server and the sandbox were given. Decisions that were lost cannot be
counted, so leads are read from the state.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence

import asyncpg

from adapters.recovery.stored import read_stored
from adapters.roles.context import Context
from deploy.proof.evidence import CONNECT_SECONDS
from deploy.proof.faults.judgement import logged
from deploy.proof.faults.topic_strikes import DECISIONS, TopicStriker
from deploy.proof.faults.trickle import Trickle
from deploy.proof.processes import ProcessGroup
from deploy.proof.progress import Say
from deploy.proof.rest import NoRestError
from deploy.proof.verdict import VerdictRow, none, row
from schemas.contact import Lead
from schemas.topics import COMMAND_TOPICS, CONTACTS_STATE
from schemas.wire import from_pack

STILL_SECONDS = 20.0
"""With nothing new for so long, what is still under way waits for what was lost."""

LOOK_SECONDS = 1.0
KINDS_OF_ORDERS = ("text", "call")
MOVING = "SELECT count(*), count(*) FILTER (WHERE flight IS NOT NULL), sum(version) FROM read.leads"
ORDERS = "SELECT count(*) FROM work.sandbox_orders"
VERIFIED = (0, 3)
"""Exit statuses of an audit without a difference; 3 where some decisions were only folded."""


async def until_still(dsn: str, seconds: float) -> None:
    """Wait until no lead moves any more. Raises `NoRestError`."""
    deadline, still_since, before = time.monotonic() + seconds, time.monotonic(), None
    connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
    try:
        while time.monotonic() - still_since < STILL_SECONDS:
            found = tuple(await connection.fetchrow(MOVING))
            if found != before:
                still_since, before = time.monotonic(), found
            if time.monotonic() > deadline:
                raise NoRestError(f"leads still move after {seconds:.0f} s")
            await asyncio.sleep(LOOK_SECONDS)
    finally:
        await connection.close()


async def repeat_lost(context: Context, trickle: Trickle, say: Say) -> None:
    """Send what was lost on its way once more, as the page says that producers do."""
    lost = trickle.without(await _callers(context))
    say(f"{len(lost):,} submissions were lost with requests that nobody had decided; their senders send them again")
    await trickle.repeat(lost)


async def judge_losses(
    context: Context,
    deployment: ProcessGroup,
    trickle: Trickle,
    strikes: TopicStriker,
    outside: Mapping[str, Counter[str]],
) -> list[VerdictRow]:
    """Compare what was acknowledged with the state, and with what was given to people. The roles have ended."""
    leads = await _leads(context)
    numbers = Counter(lead.caller_id for lead in leads)
    rows = [
        row("submissions with exactly one lead", trickle.callers, {one for one in trickle.callers if numbers[one] == 1}),
        none("numbers with two leads", (str(one) for one, count in numbers.items() if count > 1)),
        none("submissions that the API refused", trickle.refused),
        none("what an operator stumbles over", strikes.faults),
    ]
    for what, taken in outside.items():
        rows.append(none(f"{what} taken twice", (id_ for id_, count in taken.items() if count > 1)))
    rows += await _contacts(context, trickle, leads, strikes.struck, outside)
    rows += await _verified(deployment, strikes.struck)
    rows.append(none("'Traceback' in the logs of the roles", logged(deployment.folder, "Traceback")))
    return rows


async def _contacts(
    context: Context, trickle: Trickle, leads: Sequence[Lead], struck: Sequence[str], outside: Mapping[str, Counter[str]]
) -> list[VerdictRow]:
    """Compare orders with people: each has one first contact, but those whose command was lost wait for its outcome."""
    connection = await asyncpg.connect(context.settings.postgres_dsn, timeout=CONNECT_SECONDS)
    try:
        given = (await connection.fetchrow(ORDERS))[0] + len(outside["e-mails"])
    finally:
        await connection.close()
    people = sum(lead.caller_id in trickle.contacted for lead in leads)
    waiting = [str(lead.id) for lead in leads if lead.flight is not None]
    may_wait = any(name in struck for name in (*(topic.name for topic in COMMAND_TOPICS.values()), "contacts.requests"))
    return [
        none("contacts beyond one for each person", (str(number) for number in range(people, given))),
        none("people who were not contacted, and wait for nothing", (str(n) for n in range(given, people - len(waiting)))),
        none("leads that wait for an outcome, though none was lost", [] if may_wait else waiting),
    ]


async def _verified(deployment: ProcessGroup, struck: Sequence[str]) -> list[VerdictRow]:
    status, output = await deployment.command("audit", "verify")
    rows = [none("differences found by `leadclock audit verify`", [] if status in VERIFIED else [output.strip()])]
    if not set(struck) & set(DECISIONS):  # else the projection has what it had read
        status, output = await deployment.command("projection", "verify")
        rows.append(none("differences found by `leadclock projection verify`", [output.strip()] if status else []))
    status, output = await deployment.command("recover")
    rows.append(none("losses that `leadclock recover` still names", [output.strip()] if status else []))
    return rows


async def _leads(context: Context) -> list[Lead]:
    topic = context.names.of(CONTACTS_STATE.name)
    found: list[Lead] = []
    for partition in range(await context.log.partition_count(topic)):
        values = (await read_stored(context.log, topic, partition)).values
        found += [from_pack(packed, Lead) for key, packed in values.items() if key.startswith("lead/")]
    return found


async def _callers(context: Context) -> set[str]:
    return {lead.caller_id for lead in await _leads(context) if lead.caller_id is not None}
