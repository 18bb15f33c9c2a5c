"""What does an agent's page need beside the records? Set a status, see its log, read messages and acknowledge them."""

from collections.abc import Collection
from contextlib import suppress
from functools import partial

from adapters.http.agents.own_agent import own_agent_id
from adapters.http.agents.silence import OFFLINE_AFTER_SECONDS
from adapters.http.exchange.answers import (
    PAGING_PARAMETERS,
    read_columns,
    read_paging,
    reply_with_list,
    reply_with_page,
    reply_with_record,
)
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import ProblemError, not_found
from adapters.http.exchange.references import is_known
from adapters.http.exchange.writes import submit_change
from adapters.http.records.counted_columns import Counted
from adapters.http.records.records import KINDS_BY_TYPE, live_row, render
from adapters.http.schema.inputs import ID
from adapters.http.schema.shapes import HEARTBEAT, many_of, one_of, record_answer, view_name
from adapters.reads.ports import AgentStatusFilter, Paging, ReadsUnavailableError, RecordFilter
from engine.account.agents import is_addressed
from engine.submission.fields import is_blank
from engine.views.agent_status_timestamp import AGENT_STATUS_TIMESTAMP_COLUMNS, agent_status_timestamp_view
from engine.views.record import record_columns, record_view
from schemas.records import Agent, AgentMessage, BuyerGroup
from schemas.requests import AgentMessageAcknowledged, AgentStatusChangeRequested

MESSAGES_MAX = 100
"""Messages that one read returns: a page shows a few. The others follow once these are acknowledged."""

MESSAGES_LOOKED_AT = 2_000
"""Newest messages for an agent of which it is asked whether the agent has acknowledged them; older ones are not shown."""

AGENT, MESSAGE = KINDS_BY_TYPE["agent"], KINDS_BY_TYPE["agent_message"]
FIELD = "collaborator_id"
"""The agent, as the log of statuses calls the agent."""

OWN = "the agent; left out: the one of the key's user_email"


async def timestamps(exchange: Exchange) -> Reply:
    """Answer with the log of the statuses of agents, newest first."""
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, AGENT_STATUS_TIMESTAMP_COLUMNS)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    wanted = AgentStatusFilter(
        created_from=parameters.instant("created_at_from", zone_name),
        created_to=parameters.instant("created_at_to", zone_name),
        fulltext=parameters.text("fulltext"),
    )
    parameters.finish()
    return await reply_with_list(
        exchange,
        "agent_status_timestamps",
        parameters,
        paging=paging,
        columns=columns or AGENT_STATUS_TIMESTAMP_COLUMNS,
        read=partial(exchange.services.reads.agent_status_timestamps, exchange.company_id, wanted),
        view=lambda row: agent_status_timestamp_view(row, columns),
    )


async def set_status(exchange: Exchange) -> Reply:
    """Set the status of an agent."""
    parameters = Parameters(exchange.fields)
    agent_id = await _agent_of(exchange, parameters)
    status_id = parameters.id("agent_status_id")
    parameters.require("agent_status_id")
    if status_id is not None and not await is_known(exchange, "agent_status", status_id):
        parameters.refuse("agent_status_id", f"names no agent status: {status_id}")
    widget_id = parameters.id("agent_widget_id")
    parameters.finish()
    message = AgentStatusChangeRequested(
        company_id=exchange.company_id, agent_id=agent_id, agent_status_id=status_id or 0, agent_widget_id=widget_id
    )
    with suppress(ReadsUnavailableError):  # a sign of life that is lost costs a status that is set again
        await exchange.services.heartbeats.renew(agent_id)
    return await submit_change(exchange, message, render)


async def heartbeat(exchange: Exchange) -> Reply:
    """Store that the page of an agent is open."""
    row = await live_row(exchange, AGENT)
    check_is_own(exchange, row["id"])
    Parameters(exchange.fields).finish()
    await exchange.services.heartbeats.hear(exchange.company_id, row["id"])
    shown = {"collaborator_id": row["id"], "offline_after_seconds": int(OFFLINE_AFTER_SECONDS)}
    return reply_with_record(exchange, "agent_heartbeat", shown)


async def messages(exchange: Exchange) -> Reply:
    """Answer with the newest messages for an agent that the agent has not acknowledged."""
    row = await live_row(exchange, AGENT)
    check_is_own(exchange, row["id"])
    parameters = Parameters(exchange.query)
    columns = read_columns(parameters, record_columns(MESSAGE.type))
    parameters.finish()
    reads, company_id = exchange.services.reads, exchange.company_id
    addressed = await _addressed(exchange, row["id"])
    acknowledged = await reads.acknowledged(company_id, row["id"], addressed)
    ids = tuple(message_id for message_id in addressed if message_id not in acknowledged)[:MESSAGES_MAX]
    paging = Paging(per_page=MESSAGES_MAX)
    page = await exchange.reads.records(company_id, MESSAGE.type, RecordFilter(ids=ids), paging)
    counted = Counted()
    await counted.add(exchange, MESSAGE.type, page.rows, columns)
    return reply_with_page(
        exchange,
        MESSAGE.collection,
        page,
        paging=paging,
        columns=columns or record_columns(MESSAGE.type),
        view=lambda one: record_view(MESSAGE.type, one, MESSAGE.path, columns, **counted.of(one)),
    )


async def acknowledge(exchange: Exchange) -> Reply:
    """Record that an agent has read a message."""
    row = await live_row(exchange, MESSAGE)
    parameters = Parameters(exchange.fields)
    agent_id = await _agent_of(exchange, parameters)
    parameters.finish()
    message = AgentMessageAcknowledged(company_id=exchange.company_id, agent_message_id=row["id"], agent_id=agent_id)
    return await submit_change(exchange, message, render)


async def _addressed(exchange: Exchange, agent_id: int) -> list[int]:
    """Return the ids of the newest messages for an agent, newest first."""
    rules, company_id = exchange.services.source.rules, exchange.company_id
    agent = rules.body(Agent, "agent", agent_id)
    if agent is None:
        raise not_found("agent")  # deleted since its row was read
    status = (await exchange.services.reads.agent_statuses(company_id, [agent_id])).get(agent_id)
    status_id = None if status is None else status["agent_status_id"]

    def buyers_of(group_id: int) -> Collection[int]:
        group = rules.body(BuyerGroup, "buyer_group", group_id)
        return () if group is None else group.buyer_ids

    found = []
    for record in reversed(rules.records(MESSAGE.type, company_id)):
        message = rules.body(AgentMessage, MESSAGE.type, record.id)
        if message is not None and is_addressed(message, agent, status_id, buyers_of):
            found.append(record.id)
        if len(found) == MESSAGES_LOOKED_AT:
            break
    return found


async def _agent_of(exchange: Exchange, parameters: Parameters) -> int:
    """Return the agent that a request is about: the given one, else that of the key's person."""
    agent_id = parameters.id(FIELD)
    if agent_id is None and is_blank(exchange.fields.get(FIELD)):
        agent_id = own_agent_id(exchange)
        if agent_id is None:
            parameters.refuse(FIELD, "must be given: no agent has the user_email of the key")
    elif agent_id is not None and not await is_known(exchange, "agent", agent_id):
        parameters.refuse(FIELD, f"names no agent: {agent_id}")
    elif agent_id is not None:
        check_is_own(exchange, agent_id)
    return agent_id or 0


def check_is_own(exchange: Exchange, agent_id: int) -> None:
    """Refuse another agent to a person, unless the person may change agents. Raises `ProblemError` forbidden."""
    if is_own(exchange, agent_id):
        return
    access = exchange.key
    raise ProblemError("forbidden", f"{access.user_email} acts for one agent; another one needs the scope agent:update.")


def is_own(exchange: Exchange, agent_id: int) -> bool:
    """Return whether the key may act for an agent: its person is the agent, or may change agents."""
    access = exchange.key
    return access.is_superuser or agent_id == own_agent_id(exchange) or access.has_scope("agent:update")


_SHARED = ("page", "per_page", "cursor", "created_at_from", "created_at_to", "fulltext", "time_zone", "columns", "root")
_AGENT_ANSWER = record_answer(AGENT.type, AGENT.root)
_MESSAGE_ANSWER = record_answer(MESSAGE.type, MESSAGE.root)

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_agent_status_timestamps",
        methods=("GET",),
        path="/api/v1/agent_status_timestamps",
        summary="List when agents had which status",
        handler=timestamps,
        scope="agent_status:read",
        leads="none",
        parameters={name: PAGING_PARAMETERS[name] for name in _SHARED},
        suffixes=("", ".csv", ".json"),
        answer=many_of("agent_status_timestamps", "AgentStatusTimestamp"),
    ),
    Operation(
        name="set_agent_status",
        methods=("POST",),
        path="/api/v1/agent_statuses/set",
        summary="Set the status of an agent",
        handler=set_status,
        scope="agent_status:set",
        rate="write",
        safe=False,
        leads="none",
        parameters={
            FIELD: OWN,
            "agent_status_id": "the status that the agent has from now on",
            "agent_widget_id": "the page of the agent, as its program numbers it",
        },
        types={FIELD: ID, "agent_status_id": ID, "agent_widget_id": ID},
        required=("agent_status_id",),
        answer=_AGENT_ANSWER,
    ),
    Operation(
        name="send_agent_heartbeat",
        methods=("POST",),
        path=f"{AGENT.path}/{{id}}/heartbeat",
        summary="Say that the page of an agent is open",
        handler=heartbeat,
        scope="agent_status:set",
        records="visible",
        rate="write",
        safe=False,
        leads="none",
        answer=one_of("agent_heartbeat", HEARTBEAT),
        has_result=False,
    ),
    Operation(
        name="list_messages_of_agent",
        methods=("GET",),
        path=f"{AGENT.path}/{{id}}/messages",
        summary="List the messages for an agent that the agent has not acknowledged",
        handler=messages,
        scope="agent_message:read",
        records="visible",
        leads="none",
        parameters={"columns": PAGING_PARAMETERS["columns"], "root": PAGING_PARAMETERS["root"]},
        answer=many_of(MESSAGE.collection, view_name(MESSAGE.type)),
    ),
    Operation(
        name="acknowledge_agent_message",
        methods=("POST",),
        path=f"{MESSAGE.path}/{{id}}/acknowledge",
        summary="Say that an agent has read a message",
        handler=acknowledge,
        scope="agent_message:acknowledge",
        records="visible",
        rate="write",
        safe=False,
        leads="none",
        parameters={FIELD: OWN},
        types={FIELD: ID},
        answer=_MESSAGE_ANSWER,
    ),
)
