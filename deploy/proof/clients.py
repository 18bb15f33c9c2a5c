"""Who uses the API and a subscription while processes are replaced? A client that retries, and a receiver that counts."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
import msgspec

from adapters.local.process import LOCALHOST
from adapters.roles.context import open_context
from adapters.roles.record_client import RecordClient
from adapters.settings import Settings
from adapters.up.demo_time_zone import zone_at_daytime
from deploy.proof.company import COMPANY_ID, ProofCompany
from deploy.proof.neighbours.receivers import ANSWER, HEAD_BYTES_MAX, content_length, header
from deploy.proof.processes import DeploymentError
from deploy.proof.submissions import LOCAL_COUNT, local_digits

EVENT = "lead_created"
AREA = "208"
PAUSE_SECONDS = 0.2
ANSWER_SECONDS = 15.0
RETRY_SECONDS = 120.0
"""An API that is replaced is back within seconds; on two busy cores within some more."""

ACKNOWLEDGED = frozenset({200, 201, 202})
WORTH_ANOTHER = frozenset({409, 429, 500, 502, 503, 504})


class _Event(msgspec.Struct):
    type: str
    data: dict[str, Any]


class LeadClient:
    """Posts a lead every 0.2 s to the API that `address` names then; `answered` counts those that were acknowledged."""

    def __init__(self, company: ProofCompany, address: Callable[[], str]) -> None:
        self.answered = 0
        self._address = address
        self._auth = company.auth()
        self._bodies = _bodies(company)

    async def run(self, stop: asyncio.Event) -> None:
        """Post until `stop` is set; each lead until it is acknowledged. Raises `DeploymentError` where one is not."""
        async with httpx.AsyncClient(timeout=ANSWER_SECONDS, auth=self._auth) as client:
            while not stop.is_set():
                try:
                    async with asyncio.timeout(RETRY_SECONDS):
                        await self._post(client, next(self._bodies))
                except TimeoutError:
                    raise DeploymentError(f"the API acknowledged no lead in {RETRY_SECONDS:.0f} s") from None
                self.answered += 1
                await asyncio.sleep(PAUSE_SECONDS)

    async def _post(self, client: httpx.AsyncClient, body: dict[str, Any]) -> None:
        headers = {"Idempotency-Key": f"clients-{body['caller_id']}"}
        while True:
            with suppress(httpx.TransportError):
                answer = await client.post(f"{self._address()}/api/v1/leads", json=body, headers=headers)
                if answer.status_code in ACKNOWLEDGED:
                    return
                if answer.status_code not in WORTH_ANOTHER:
                    raise DeploymentError(f"the API answers {answer.status_code}: {answer.text[:300]}")
            await asyncio.sleep(PAUSE_SECONDS)


def _bodies(company: ProofCompany) -> Iterator[dict[str, Any]]:
    """Yield leads that are texted; no other load of a proof has their area code."""
    zone = zone_at_daytime()
    for local in map(local_digits, range(LOCAL_COUNT)):
        yield {"lead_token": company.tokens["text"], "caller_id": f"+1{AREA}{local}00", "time_zone": zone}


class EventReceiver:
    """Takes events of a subscription; `leads` are those that an event names, `port` is where it listens."""

    def __init__(self) -> None:
        self.leads: set[int] = set()
        self.port = 0

    async def subscribe(self, settings: Settings) -> None:
        """Make the subscription, through the requests that any operator sends. Raises `RecordNotCreatedError`."""
        async with open_context(settings) as context:
            appender = await context.log.appender()
            try:
                await context.rules.refresh()
                log, names, rules, clock = context.log, context.names, context.rules, context.clock
                records = RecordClient(log, names, rules, appender, clock, company_id=COMPANY_ID)
                fields = {"name": "Receiver", "url": f"http://{LOCALHOST}:{self.port}/events", "events": [EVENT]}
                await records.ensure("subscription", "name", fields)
            finally:
                await appender.close()

    async def until_named(self, count: int, *, seconds: float) -> None:
        """Wait until events name so many leads, or for a bounded time: the verdict says what is missing."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while len(self.leads) < count:  # noqa: ASYNC110 - bounded, and the receiver takes hundreds of them
                    await asyncio.sleep(PAUSE_SECONDS)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one event."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(content_length(head))
            if header(head, b"webhook-id"):
                event = msgspec.json.decode(body, type=_Event)
                self.leads.add(int(event.data["lead_id"]))
            writer.write(ANSWER)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the sender was stopped
        finally:
            writer.close()


@asynccontextmanager
async def event_receiver() -> AsyncIterator[EventReceiver]:
    """Run a receiver of events on this machine."""
    receiver = EventReceiver()
    async with await asyncio.start_server(receiver.serve, LOCALHOST, 0, limit=HEAD_BYTES_MAX) as server:
        receiver.port = server.sockets[0].getsockname()[1]
        yield receiver
