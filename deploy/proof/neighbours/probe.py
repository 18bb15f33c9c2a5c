"""What does the quiet company feel? It submits leads at a steady, light rate and times each until its effect is visible.

A text counts when its command is visible to a read_committed consumer, a webhook when its receiver has the request.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count

import httpx
import msgspec
from msgspec import Struct

from adapters.roles.context import Context
from adapters.up.demo_time_zone import zone_at_daytime
from deploy.proof.neighbours.companies import QUIET_COMPANY_ID, Party
from engine.partition.ports import Reader
from schemas.topics import COMMANDS_SMS

GAP_SECONDS = (0.06, 0.12)
"""Between two submissions, at random: light load, never in step with anything."""

HOOK_EVERY = 10
"""Every tenth submission starts with a webhook instead of a text."""

ANSWER_SECONDS = 30.0
READ_LIMIT = 1_000
READ_SECONDS = 0.5

_numbers = count(1)


class Samples(Struct):
    """Seconds from submission to effect, for the submissions of one phase. `refused` counts answers other than 2xx.

    `submissions` are seconds until a submission is answered, `reads` those until GET of a lead is.
    """

    texts: list[float]
    hooks: list[float]
    submissions: list[float]
    reads: list[float]
    refused: int = 0
    missing: int = 0


def pooled(parts: Sequence[Samples]) -> Samples:
    """Return the samples of all parts as one."""
    return Samples(
        texts=[seconds for part in parts for seconds in part.texts],
        hooks=[seconds for part in parts for seconds in part.hooks],
        submissions=[seconds for part in parts for seconds in part.submissions],
        reads=[seconds for part in parts for seconds in part.reads],
        refused=sum(part.refused for part in parts),
        missing=sum(part.missing for part in parts),
    )


class _Command(Struct):
    company_id: int
    contact_key: str


class Arrivals:
    """Who waits for which lead's effect? By the lead's number (E.164)."""

    def __init__(self) -> None:
        self._expected: dict[str, asyncio.Future[float]] = {}

    def expect(self, caller_id: str) -> asyncio.Future[float]:
        """Return a future of the loop's time at which the effect is noted."""
        future = self._expected[caller_id] = asyncio.get_running_loop().create_future()
        return future

    def note(self, caller_id: str) -> None:
        """Note that the effect of a lead is visible now."""
        expected = self._expected.pop(caller_id, None)
        if expected is not None and not expected.done():
            expected.set_result(asyncio.get_running_loop().time())


class Probe:
    """The quiet company's producer, and the reader of the commands that it causes."""

    def __init__(self, context: Context, api_url: str, party: Party, arrivals: Arrivals) -> None:
        self._context = context
        self._party = party
        self._arrivals = arrivals
        self._client = httpx.AsyncClient(base_url=api_url, timeout=ANSWER_SECONDS, auth=party.auth())
        self._decoder = msgspec.json.Decoder(_Command)
        self._zone = zone_at_daytime()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read the commands until the block ends."""
        topic = self._context.names.of(COMMANDS_SMS.name)
        partitions = range(await self._context.log.partition_count(topic))
        reader = await self._context.log.reader(topic, partitions, start=None)
        try:
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(self._read(reader))
                yield
                reading.cancel()
        finally:
            await reader.close()
            await self._client.aclose()

    async def measure(self, seconds: float) -> Samples:
        """Submit for so many seconds, then wait for what is still under way, at most `ANSWER_SECONDS` more."""
        loop = asyncio.get_running_loop()
        samples = Samples([], [], [], [])
        under_way: list[asyncio.Task[None]] = []
        end_at = loop.time() + seconds
        while loop.time() < end_at:
            number = next(_numbers)
            kind = "hook" if number % HOOK_EVERY == 0 else "text"
            under_way.append(asyncio.create_task(self._submit(number, kind, samples)))
            await asyncio.sleep(random.uniform(*GAP_SECONDS))  # noqa: S311 - only spreads the samples
        await asyncio.gather(*under_way)
        return samples

    async def _submit(self, number: int, kind: str, samples: Samples) -> None:
        loop = asyncio.get_running_loop()
        caller_id = f"+1212{2_000_000 + number:07d}"
        shown = self._arrivals.expect(caller_id)
        started = loop.time()
        body = {"lead_token": self._party.tokens[kind], "caller_id": caller_id, "time_zone": self._zone, "first_name": "Ann"}
        try:
            answer = await self._client.post("/api/v1/leads", json=body)
        except httpx.HTTPError:
            samples.refused += 1
            return
        if not answer.is_success:
            samples.refused += 1
            return
        samples.submissions.append(loop.time() - started)
        if answer.status_code == httpx.codes.CREATED:
            await self._look(answer.json()["lead"]["id"], samples)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                shown_at = await shown
        except TimeoutError:
            samples.missing += 1
            return
        (samples.hooks if kind == "hook" else samples.texts).append(shown_at - started)

    async def _look(self, lead_id: int, samples: Samples) -> None:
        """Read a lead that is shown by now."""
        started = asyncio.get_running_loop().time()
        try:
            answer = await self._client.get(f"/api/v1/leads/{lead_id}", auth=self._party.auth())
        except httpx.HTTPError:
            samples.refused += 1
            return
        if answer.is_success:
            samples.reads.append(asyncio.get_running_loop().time() - started)
        else:
            samples.refused += 1

    async def _read(self, reader: Reader) -> None:
        while True:
            for record in await reader.poll(limit=READ_LIMIT, timeout_seconds=READ_SECONDS):
                command = self._decoder.decode(record.value or b"{}")
                if command.company_id == QUIET_COMPANY_ID:
                    self._arrivals.note(command.contact_key.partition("|")[2])
