"""What is there to judge caps by? Every decision of the accounts, what became of each call, and all counters."""

from collections import Counter
from typing import cast

import asyncpg
import msgspec
from msgspec import Struct

from adapters.roles.context import Context
from deploy.proof.caps.recount import LIMITED, Counters, Recount, Request
from deploy.proof.evidence import CONNECT_SECONDS, Evidence, committed, gather
from engine.partition.ports import LogRecord
from engine.partition.state import unpack_any
from schemas.account import CapUsage, Slots
from schemas.decisions import Decision
from schemas.requests import ACCOUNT_REQUESTS, CallEarned, SlotReleased, SlotRequested
from schemas.topics import (
    ACCOUNTS_DECISIONS,
    ACCOUNTS_REQUESTS,
    ACCOUNTS_STATE,
    COMMAND_TOPICS,
    CONTACTS_DECISIONS,
)

SLOTS = "SELECT resource, in_use, tallies::text AS tallies FROM read.slots WHERE company_id = $1"
ABOUT_SLOTS = (SlotRequested, SlotReleased, CallEarned)


class CapEvidence(Struct, kw_only=True):
    """What was read of one deployment at rest."""

    whole: Evidence
    recount: Recount
    outcomes: dict[str, str]
    """Id of a call's command -> its first outcome; `unknown` where nothing was heard in time."""

    given_back: Counter[str]
    """Input whose decision gave a granted slot back -> how many. `slot.answered`: checked again, the call was not due any
    more. Any other: a more urgent lead, or a change, withdrew the request while its grant was under way."""

    changelog: dict[str, Counters]
    tables: dict[str, Counters]

    def calls(self) -> set[str]:
        """Return the ids of the commands that place a call."""
        return self.whole.command_ids(COMMAND_TOPICS["call"].name)


async def gather_caps(context: Context, company_id: int) -> CapEvidence:
    """Read topics, changelog and tables of a deployment that is at rest. Raises `LogError`."""
    whole, recount = await gather(context), await _recount(context)
    outcomes, released_by = await _outcomes(context)
    calls = whole.command_ids(COMMAND_TOPICS["call"].name)
    return CapEvidence(
        whole=whole,
        recount=recount,
        outcomes=outcomes,
        given_back=Counter(cause for id_, cause in released_by.items() if id_ in recount.granted and id_ not in calls),
        changelog=await _changelog(context),
        tables=await _tables(context, company_id),
    )


async def _recount(context: Context) -> Recount:
    requests: dict[tuple[int, int], Request] = {}
    async for record in committed(context.log, context.names.of(ACCOUNTS_REQUESTS.name)):
        request = _request(record)
        if request is not None:
            requests[record.partition, record.offset] = request
    recount = Recount()
    decoder = msgspec.json.Decoder(Decision)
    async for record in committed(context.log, context.names.of(ACCOUNTS_DECISIONS.name)):
        decision = decoder.decode(record.value or b"")
        offset = decision.cause.offset if decision.cause.kind == "request" else None
        request = None if offset is None else requests.get((record.partition, offset))
        recount.take(decision, request, f"accounts {record.partition} #{decision.sequence}")
    return recount


def _request(record: LogRecord) -> Request | None:
    kind = ACCOUNT_REQUESTS.get(dict(record.headers).get("ce_type", b"").decode())
    if kind not in ABOUT_SLOTS:
        return None
    return cast("Request", msgspec.json.decode(record.value or b"", type=kind))


async def _outcomes(context: Context) -> tuple[dict[str, str], dict[str, str]]:
    """Return what first came of each command that was decided, and which input released each slot."""
    found: dict[str, str] = {}
    released_by: dict[str, str] = {}
    decoder = msgspec.json.Decoder(Decision)
    async for record in committed(context.log, context.names.of(CONTACTS_DECISIONS.name)):
        decision = decoder.decode(record.value or b"")
        for fact in decision.facts:
            if fact.type == "outcome.recorded" and fact.data.get("kind") == "call" and not fact.data.get("late"):
                found.setdefault(fact.data["command_id"], fact.data["outcome"])
            elif fact.type == "slot.released":
                released_by.setdefault(fact.data["request_id"], decision.cause.type or decision.cause.kind)
    return found, released_by


async def _changelog(context: Context) -> dict[str, Counters]:
    newest: dict[str, bytes | None] = {}
    async for record in committed(context.log, context.names.of(ACCOUNTS_STATE.name)):
        newest[(record.key or b"").decode()] = record.value
    found: dict[str, Counters] = {}
    for key, value in newest.items():
        slots = unpack_any(key, value) if key.startswith("slots/") and value else None
        if isinstance(slots, Slots) and slots.resource.partition("/")[0] in LIMITED:
            found[slots.resource] = Counters(slots.in_use, slots.tallies)
    return found


async def _tables(context: Context, company_id: int) -> dict[str, Counters]:
    connection = await asyncpg.connect(context.settings.postgres_dsn, timeout=CONNECT_SECONDS)
    try:
        rows = await connection.fetch(SLOTS, company_id)
    finally:
        await connection.close()
    return {row["resource"]: Counters(row["in_use"], _tallies(row["tallies"])) for row in rows}


def _tallies(text: str) -> dict[str, CapUsage]:
    return msgspec.json.decode(text, type=dict[str, CapUsage])
