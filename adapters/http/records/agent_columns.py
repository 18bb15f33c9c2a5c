"""Which columns of agents and messages follow from what agents did? The newest status, and how many read a message."""

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.reads.ports import Reads
from engine.views.cells import cell


async def agent_columns(reads: Reads, company_id: int, agent_ids: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    """Return the status of each agent that has one."""
    return {
        agent_id: {
            "agent_status_id": row["agent_status_id"],
            "agent_status_key": row["key"],
            "agent_widget_id": row["agent_widget_id"],
            "status_changed_at": cell(row["created_at"]),
        }
        for agent_id, row in (await reads.agent_statuses(company_id, agent_ids)).items()
    }


async def message_columns(reads: Reads, company_id: int, message_ids: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    """Return how many agents have acknowledged each message that any has."""
    counts = await reads.acknowledged_counts(company_id, message_ids)
    return {message_id: {"agent_widget_count": count} for message_id, count in counts.items()}
