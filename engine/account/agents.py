"""Which status does an agent have, and which messages reach the agent? Each change of status is logged.

An agent is an account record: somebody who talks to leads. The status is no part of the record, because schedulers adopt
every version of a record and do not need this one.
"""

from collections.abc import Callable, Collection
from typing import Any

from engine.account.references import live_record
from engine.partition.draft import Draft, RefusedError
from schemas.account import AgentState
from schemas.decisions import Answer
from schemas.records import Agent, AgentMessage, AgentStatus, Body, Record, body_of, called
from schemas.requests import AgentMessageAcknowledged, AgentSilenceReported, AgentStatusChangeRequested
from schemas.state import agent_key, record_key

DONE = 200

OFFLINE = "offline"

ACKNOWLEDGED_MAX = 200
"""Messages of which an agent's state remembers the acknowledgement: a page acknowledges the newest ones. A repeat for an
older message is recorded once more, which changes no count."""


def set_status(draft: Draft, request: AgentStatusChangeRequested, user_id: int | None = None) -> None:
    """Set the status of an agent and log it, with the user who asked; one that the agent has already changes nothing.

    Raises `RefusedError`.
    """
    company_id = request.company_id
    _live_body(draft, company_id, "agent", request.agent_id)
    status = _live_body(draft, company_id, "agent_status", request.agent_status_id)
    assert isinstance(status, AgentStatus)  # noqa: S101 - of this type
    draft.answer = Answer(status=DONE, record_type="agent", record_id=request.agent_id)
    state = state_of(draft, company_id, request.agent_id)
    wanted = (request.agent_status_id, request.agent_widget_id)
    if (state.agent_status_id, state.agent_widget_id) == wanted:
        return
    state.agent_widget_id = request.agent_widget_id
    by = {} if user_id is None else {"user_id": user_id}
    change_status(draft, request.agent_id, state, status.key, request.agent_status_id, **by)


def report_silence(draft: Draft, request: AgentSilenceReported) -> None:
    """Set an agent `offline` whose page is silent, unless the status has changed since it was. Idempotent by that change.

    The agent's later heartbeats set nothing: that somebody is there does not say that calls may come.
    """
    draft.answer = Answer(status=DONE, record_type="agent", record_id=request.agent_id)
    company_id = request.company_id
    if live_record(draft, company_id, "agent", request.agent_id) is None:
        return
    state = state_of(draft, company_id, request.agent_id)
    if state.status_timestamp_id not in {None, request.status_timestamp_id} or key_of(draft, state) in {None, OFFLINE}:
        return
    change_status(draft, request.agent_id, state, OFFLINE, reason="silence")


def change_status(
    draft: Draft, agent_id: int, state: AgentState, key: str, agent_status_id: int | None = None, **more: Any
) -> None:
    """Store a changed status as a new entry of the log; without `agent_status_id`, one that no record has.

    The status that `wake_at` would end is over.
    """
    state.agent_status_id, state.wake_at = agent_status_id, None
    state.status_timestamp_id, state.key = draft.next_id(), key
    draft.put(agent_key(agent_id), state)
    draft.fact(
        "agent.status_changed",
        timestamp_id=state.status_timestamp_id,
        agent_id=agent_id,
        agent_status_id=state.agent_status_id,
        agent_widget_id=state.agent_widget_id,
        key=key,
        **more,
    )


def key_of(draft: Draft, state: AgentState) -> str | None:
    """Return what the status of an agent says to programs; None for an agent who never had one."""
    if state.key is not None or state.agent_status_id is None:
        return state.key
    record = draft.get(record_key("agent_status", state.agent_status_id), Record)  # set before keys were stored
    body = None if record is None else body_of(record)
    return body.key if isinstance(body, AgentStatus) else None


def acknowledge(draft: Draft, request: AgentMessageAcknowledged) -> None:
    """Record that an agent has read a message. Raises `RefusedError`."""
    message_id, agent_id = request.agent_message_id, request.agent_id
    _live_body(draft, request.company_id, "agent_message", message_id)
    _live_body(draft, request.company_id, "agent", agent_id)
    draft.answer = Answer(status=DONE, record_type="agent_message", record_id=message_id)
    state = state_of(draft, request.company_id, agent_id)
    if message_id in state.acknowledged:
        return
    state.acknowledged = (*state.acknowledged, message_id)[-ACKNOWLEDGED_MAX:]
    draft.put(agent_key(agent_id), state)
    draft.fact("agent_message.acknowledged", agent_message_id=message_id, agent_id=agent_id)


def forget_deleted(draft: Draft, record: Record) -> None:
    """Forget the status of an agent that was deleted; the log of it stays."""
    if record.type == "agent" and record.deleted_at is not None:
        draft.remove(agent_key(record.id))


def is_addressed(
    message: AgentMessage, agent: Agent, agent_status_id: int | None, buyers_of: Callable[[int], Collection[int]]
) -> bool:
    """Return whether a message is for an agent who has a status; `buyers_of` gives the buyers of a buyer group.

    It is for the agents of any of its buyers, groups and call centers, or for all where it names none; of those for the
    agents in its status, where it names one. A message without content is for nobody.
    """
    if not message.content or message.agent_status_id not in {None, agent_status_id}:
        return False
    buyers = {*message.buyer_ids}.union(*(buyers_of(group_id) for group_id in message.buyer_group_ids))
    is_for_all = not (message.buyer_ids or message.buyer_group_ids or message.call_center_ids)
    return is_for_all or not buyers.isdisjoint(agent.buyer_ids) or agent.call_center_id in message.call_center_ids


def state_of(draft: Draft, company_id: int, agent_id: int) -> AgentState:
    """Return the status of an agent."""
    return draft.get(agent_key(agent_id), AgentState) or AgentState(company_id=company_id)


def _live_body(draft: Draft, company_id: int, record_type: str, record_id: int) -> Body:
    record = live_record(draft, company_id, record_type, record_id)
    if record is None:
        words = called(record_type).partition(" ")[2]
        raise RefusedError("not_found", f"There is no {words} {record_id}.", {f"{record_type}_id": [f"names no {words}"]})
    return body_of(record)
