"""Which calls earn something? A random part of those that were answered; reported over the API while calls go on."""

import asyncio
import random
from contextlib import suppress

import asyncpg
import httpx

from deploy.proof.caps.company import CapCompany
from deploy.proof.evidence import CONNECT_SECONDS

LOOK_SECONDS = 0.5
TIMEOUT_SECONDS = 30.0
CONVERTED_SHARE = 0.5
REVENUE = 50.0
PAYOUT_SHARE = 0.2
AT_ONCE = 4

ANSWERED = """
SELECT id, lead_id FROM read.calls
WHERE outcome IN ('connected_buyer', 'connected_human') ORDER BY id
"""
TRIES = 100
RETRY_SECONDS = 0.2


class Earning:
    """Reports what calls earned until it is asked to stop; `reported` counts them."""

    def __init__(self, api_url: str, dsn: str, company: CapCompany, seed: int) -> None:
        self.reported = 0
        self._api_url = api_url
        self._dsn = dsn
        self._auth = company.auth()
        self._seed = seed
        self._seen: set[int] = set()
        self._places = asyncio.Semaphore(AT_ONCE)

    async def run(self, stop: asyncio.Event) -> None:
        """Report every answered call that earns, until `stop` is set. Raises `httpx.HTTPError` where the API refuses."""
        connection = await asyncpg.connect(self._dsn, timeout=CONNECT_SECONDS)
        try:
            async with httpx.AsyncClient(base_url=self._api_url, timeout=TIMEOUT_SECONDS, auth=self._auth) as client:
                while not stop.is_set():
                    rows = [row for row in await connection.fetch(ANSWERED) if row["id"] not in self._seen]
                    self._seen.update(row["id"] for row in rows)
                    async with asyncio.TaskGroup() as group:
                        for row in rows:
                            group.create_task(self._report(client, row["id"], row["lead_id"]))
                    await asyncio.sleep(LOOK_SECONDS)
        finally:
            await connection.close()

    async def _report(self, client: httpx.AsyncClient, call_id: int, lead_id: int) -> None:
        rng = random.Random(f"{self._seed}/{lead_id}")  # noqa: S311 - draws outcomes, hides nothing
        if rng.random() >= CONVERTED_SHARE:
            return
        body = {"buyer_converted": True, "offer_converted": True, "revenue": REVENUE, "payout": PAYOUT_SHARE * REVENUE}
        async with self._places:
            await self._post(client, call_id, body)
        self.reported += 1

    async def _post(self, client: httpx.AsyncClient, call_id: int, body: dict[str, float]) -> None:
        """Retry until it is accepted; a repeat changes nothing."""
        for _ in range(TRIES):
            with suppress(httpx.TransportError):
                answer = await client.post(f"/api/v1/calls/{call_id}", json=body)
                if answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR:
                    answer.raise_for_status()
                    return
            await asyncio.sleep(RETRY_SECONDS)
        raise httpx.TransportError(f"call {call_id} was not accepted in {TRIES} attempts")
