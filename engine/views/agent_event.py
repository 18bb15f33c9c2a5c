"""What does the page of an agent see of a fact? The agent's statuses and calls, messages for the agent, acknowledgements.

One fact is at most one event. Facts about other agents, and messages for others, are none.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from engine.account.agents import is_addressed
from engine.views.cells import cell, spelled_out
from engine.views.column import Column
from schemas.records import Agent, AgentMessage

COLUMNS: tuple[Column, ...] = (
    Column("id", "integer", "rising with each change of a company; a stream resumes behind it by Last-Event-ID"),
    Column("event", "string", "agent_status, agent_message, agent_message_removed or agent_message_acknowledged"),
    Column("at", "date-time", "when it was decided"),
    Column("data", "object", "what happened: ids, and of a message all that is shown"),
)

AGENT_EVENT_COLUMNS: tuple[str, ...] = tuple(column.name for column in COLUMNS)
"""Every column, in the order of the API."""

Row = Mapping[str, Any]
BuyersOf = Callable[[int], Collection[int]]
Ids = Collection[int] | None


class Watched(Struct, frozen=True):
    """Which facts a page may see: those of one agent, of statuses and messages that teams do not limit (None: all)."""

    agent_id: int
    agent: Agent
    agent_status_id: int | None
    status_ids: Ids
    message_ids: Ids
    buyers_of: BuyersOf


def agent_event_view(row: Row, watched: Watched) -> dict[str, Any] | None:
    """Return the event of a fact, or None if the page does not see it."""
    data, kind = row["data"], row["type"]
    if kind == "agent.status_changed":
        found = _status(data, watched)
    elif kind == "agent_message.acknowledged":
        found = _acknowledged(data, watched)
    elif data.get("record_type") == "agent_message":
        found = _message(row, watched)
    else:
        found = None
    return None if found is None else {"id": row["id"], "event": found[0], "at": cell(row["at"]), "data": found[1]}


_Event = tuple[str, dict[str, Any]]


def _is_seen(record_id: int, known: Ids) -> bool:
    return known is None or record_id in known


def _status(data: Row, watched: Watched) -> _Event | None:
    if data["agent_id"] != watched.agent_id or not _is_seen(data["agent_status_id"], watched.status_ids):
        return None
    shown = {name: data.get(name) for name in ("agent_status_id", "agent_widget_id", "key")}
    call = {"reason": "reason", "for_lead_id": "lead_id", "command_id": "command_id"}
    shown |= {name: data[recorded] for recorded, name in call.items() if recorded in data}
    return "agent_status", {"id": data["timestamp_id"], "collaborator_id": watched.agent_id, **shown}


def _acknowledged(data: Row, watched: Watched) -> _Event | None:
    message_id = data["agent_message_id"]
    if data["agent_id"] != watched.agent_id or not _is_seen(message_id, watched.message_ids):
        return None
    return "agent_message_acknowledged", {"id": message_id, "collaborator_id": watched.agent_id}


def _message(row: Row, watched: Watched) -> _Event | None:
    """Return the message as it is now, or that it is no longer for the agent; a page forgets what it never showed."""
    message_id = row["data"]["record_id"]
    if row["message_body"] is None or not _is_seen(message_id, watched.message_ids):
        return None
    message = msgspec.convert(row["message_body"], AgentMessage)
    is_for_agent = is_addressed(message, watched.agent, watched.agent_status_id, watched.buyers_of)
    if is_for_agent and row["message_deleted_at"] is None:
        return "agent_message", {"id": message_id, "version": row["message_version"], **spelled_out(message)}
    is_new = row["type"] == "record.created"
    return None if is_new else ("agent_message_removed", {"id": message_id})
