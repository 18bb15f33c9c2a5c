"""Which agent takes the next call? The one who has been available longest, of those that its step names.

An agent is reserved with the grant of a slot, before the telephone rings: nobody who answers waits for one. The agent reads
`on_call` until the slot is released, then `wrap_up` if somebody was reached, else as before. A status that the agent sets
meanwhile stands. A `wrap_up` ends by itself after the company's `wrap_up_seconds`, where it has any. An agent who places a
call by hand is reserved for it too, whatever the status was before.
"""

from collections.abc import Iterator
from typing import Any

from engine.account.agents import OFFLINE, change_status, key_of, state_of
from engine.account.references import agents_of, live_record
from engine.partition.draft import Draft
from schemas.account import AgentState, Claim, Slots
from schemas.instant import SECOND
from schemas.records import Agent, Company, Record, body_of
from schemas.state import agent_key, record_key

AVAILABLE = "available"
ON_CALL = "on_call"
WRAP_UP = "wrap_up"

CALL, WRAP_UP_OVER = "call", "wrap_up_over"
"""Why a status changed that nobody set."""


def is_for_agents(slots: Slots) -> bool:
    """Return whether the calls of a queue are for agents."""
    return bool(slots.agent_ids or slots.call_center_ids)


def waited_agents(slots: Slots) -> set[str]:
    """Return what a queue for agents waits for, by resource."""
    centers = {_center_resource(center_id) for center_id in slots.call_center_ids}
    return {agent_resource(agent_id) for agent_id in slots.agent_ids} | centers


def resources_of(draft: Draft, company_id: int, agent_id: int) -> list[str]:
    """Return the resources whose queues may go on where an agent is free: the agent's, and the call center's."""
    record = live_record(draft, company_id, "agent", agent_id)
    body = None if record is None else body_of(record)
    center_id = body.call_center_id if isinstance(body, Agent) else None
    return [agent_resource(agent_id), *(() if center_id is None else (_center_resource(center_id),))]


def free_agent(draft: Draft, slots: Slots) -> int | None:
    """Return the agent for the next call of a queue, or None where all are taken or away."""
    found = ((state.status_timestamp_id or 0, agent_id) for agent_id, state in _agents(draft, slots))
    return min(found, default=(0, None))[1]


def reserve(draft: Draft, claim: Claim, agent_id: int) -> None:
    """Reserve an agent for a slot that is granted."""
    state = state_of(draft, claim.company_id, agent_id)
    if state.wake_at is None:  # else a wrap-up is cut short: the status before it is the one to go back to
        key = key_of(draft, state)
        state.former_status_id, state.former_key = state.agent_status_id, None if key == AVAILABLE else key or OFFLINE
    state.slot_id = claim.request_id
    change_status(draft, agent_id, state, ON_CALL, **_about(claim))


def is_free_to_call(draft: Draft, company_id: int, agent_id: int) -> bool:
    """Return whether an agent who places a call by hand is not reserved for another one."""
    state = draft.get(agent_key(agent_id), AgentState)
    is_reserved = state is not None and state.slot_id is not None
    return not is_reserved and live_record(draft, company_id, "agent", agent_id) is not None


def give_back(draft: Draft, claim: Claim, ended: str) -> list[str]:
    """End the reservation of a slot that is released; return the resources whose queues may go on.

    Where the end was never reported (`unknown`), the agent may still speak: no other call comes before a status is set.
    """
    if claim.agent_id is None:
        return []
    state = draft.get(agent_key(claim.agent_id), AgentState)
    if state is None or state.slot_id != claim.request_id:
        return []
    former, state.slot_id, state.former_status_id = state.former_status_id, None, None
    key, state.former_key = state.former_key, None
    about = _about(claim)
    if key_of(draft, state) != ON_CALL or state.agent_status_id is not None:
        draft.put(agent_key(claim.agent_id), state)  # the agent has set another status meanwhile
    elif ended == "unknown":
        change_status(draft, claim.agent_id, state, WRAP_UP, **about)
    elif ended == "connected":
        change_status(draft, claim.agent_id, state, WRAP_UP, **about)
        _end_later(draft, claim.agent_id, state, former, key)
    else:
        change_status(draft, claim.agent_id, state, key or AVAILABLE, former, **about)
    return resources_of(draft, claim.company_id, claim.agent_id)


def _end_later(draft: Draft, agent_id: int, state: AgentState, former_status_id: int | None, former_key: str | None) -> None:
    """Let a `wrap_up` end by itself, if the company says when."""
    record = draft.get(record_key("company", state.company_id), Record)
    company = None if record is None else body_of(record)
    if isinstance(company, Company) and company.wrap_up_seconds is not None:
        state.former_status_id, state.former_key = former_status_id, former_key
        state.wake_at = draft.now + company.wrap_up_seconds * SECOND
        draft.put(agent_key(agent_id), state)


def end_wrap_up(draft: Draft, agent_id: int, state: AgentState) -> None:
    """Give an agent whose `wrap_up` is over the status from before the call."""
    former, state.former_status_id, state.wake_at = state.former_status_id, None, None
    key, state.former_key = state.former_key, None
    if key_of(draft, state) != WRAP_UP or live_record(draft, state.company_id, "agent", agent_id) is None:
        draft.put(agent_key(agent_id), state)
        return
    change_status(draft, agent_id, state, key or AVAILABLE, former, reason=WRAP_UP_OVER)


def _about(claim: Claim) -> dict[str, Any]:
    """Return what the log says of a call. Its lead is not the subject of the fact: that is in the history of contacts."""
    return {"reason": CALL, "for_lead_id": claim.lead_id, "command_id": claim.request_id}


def is_about_agent(record: Record) -> bool:
    """Return whether a changed record may free an agent for a queue: one came to a call center."""
    return record.type == "agent"


def _agents(draft: Draft, slots: Slots) -> Iterator[tuple[int, AgentState]]:
    """Yield the agents of a queue who are available and not reserved."""
    named = dict.fromkeys(slots.agent_ids)
    for center_id in slots.call_center_ids:
        named |= dict.fromkeys(agents_of(draft, center_id))
    for agent_id in named:
        state = draft.get(agent_key(agent_id), AgentState)
        if state is None or state.slot_id is not None or key_of(draft, state) != AVAILABLE:
            continue
        if agent_id in slots.excluded_agent_ids:
            continue
        if live_record(draft, slots.company_id, "agent", agent_id) is not None:
            yield agent_id, state


def agent_resource(agent_id: int) -> str:
    """Return the name under which queues wait for an agent."""
    return f"agent/{agent_id}"


def _center_resource(center_id: int) -> str:
    return f"call_center/{center_id}"
