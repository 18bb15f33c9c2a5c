"""When does an agent whose page is closed go offline? Half a minute after its last heartbeat, by a request to the account.

Heartbeats are stored beside the log; that an agent went offline is recorded. Several API processes look for silent agents:
a lease lets one of them report each, and a report that is sent twice changes nothing the second time.
"""

import asyncio
from collections.abc import Mapping

import structlog

from adapters.http.exchange.ports import EventsUnavailableError, Requests
from adapters.reads.ports import Heartbeats, Reads, ReadsUnavailableError, SilentAgent
from schemas.requests import AgentSilenceReported
from schemas.topics import ACCOUNTS_REQUESTS

OFFLINE_AFTER_SECONDS = 30.0
"""Without a heartbeat: three of them, at one every 10 s, may be lost on a bad line."""

SWEEP_SECONDS = 2.0
"""Between two looks: an agent may go offline so much later. A look that finds none reads an index."""

LEASE_SECONDS = 10.0
"""How long one process alone reports a silent agent; after it died, another does."""

DECIDED_SECONDS = 5.0
"""How long the decision of a report is waited for; without it the agent is reported again after the lease."""

REPORTS_MAX = 200
"""Agents of one look: all of a call center whose line broke, in a few looks."""

logger = structlog.get_logger(__name__)


class SilenceReports:
    """Reports silent agents, from any number of processes."""

    def __init__(self, heartbeats: Heartbeats, reads: Reads, requests: Requests) -> None:
        self._heartbeats = heartbeats
        self._reads = reads
        self._requests = requests

    async def run(self) -> None:
        """Report until cancelled; while the database or the log is away, the next look does."""
        while True:
            try:
                await self.report_once()
            except (ReadsUnavailableError, EventsUnavailableError) as error:
                logger.debug("silence.unreported", error=str(error))
            await asyncio.sleep(SWEEP_SECONDS)

    async def report_once(self) -> int:
        """Report the agents that are silent now, and return how many. Raises what the ports raise."""
        silent = await self._heartbeats.claim_silent(OFFLINE_AFTER_SECONDS, LEASE_SECONDS, REPORTS_MAX)
        statuses: dict[int, int | None] = {}
        for company_id in {agent.company_id for agent in silent}:
            ids = [agent.agent_id for agent in silent if agent.company_id == company_id]
            rows = await self._reads.agent_statuses(company_id, ids)
            statuses |= {agent_id: rows[agent_id]["id"] if agent_id in rows else None for agent_id in ids}
        await asyncio.gather(*(self._report(agent, statuses) for agent in silent))
        return len(silent)

    async def _report(self, agent: SilentAgent, statuses: Mapping[int, int | None]) -> None:
        """Report one agent. It is forgotten once the report is decided, so that none is lost with this process."""
        company_id, timestamp_id = agent.company_id, statuses[agent.agent_id]
        message = AgentSilenceReported(company_id=company_id, agent_id=agent.agent_id, status_timestamp_id=timestamp_id)
        request_id = f"silence-{agent.agent_id}-{timestamp_id}-{agent.heard_at.timestamp()}"
        await self._requests.submit(
            ACCOUNTS_REQUESTS.name, str(company_id), message, request_id=request_id, company_id=company_id
        )
        if await self._requests.wait(request_id, DECIDED_SECONDS) is not None:
            await self._heartbeats.forget(agent)
