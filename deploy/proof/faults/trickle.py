"""Who submits leads while everything breaks? A producer and an HTTP client that retry until acknowledged."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import httpx
import msgspec

from adapters.partitions.routing import partition_of
from adapters.roles.context import Context
from adapters.up.demo_time_zone import zone_at_daytime
from deploy.proof.company import ProofCompany
from deploy.proof.faults.waits import ANSWER_LATE_SECONDS, LATE_SECONDS, OpenWaits
from deploy.proof.submissions import number
from engine.partition.ports import Appender, LogError, Outgoing, Reader
from schemas.envelope import Envelope, to_headers
from schemas.topics import CONTACTS_DECISIONS, LEADS_INBOX
from schemas.wire import from_json, to_json

TICK_SECONDS = 0.1
HTTP_EVERY = 10
KINDS = ("text", "rest", "hook", "mail", "text", "rest", "hook", "call", "text", "rest")
"""Of ten leads in turn: commands for every channel."""

REACHING = ("text", "mail", "call")
ENDINGS = ("00",)
RETRY_SECONDS = 0.2
ANSWER_SECONDS = 15.0
READ_LIMIT = 2_000
READ_SECONDS = 0.2
ACKNOWLEDGED = frozenset({200, 201, 202})
WORTH_ANOTHER = frozenset({409, 429, 500, 502, 503, 504})


class _Caller(msgspec.Struct):
    caller_id: str


class _RequestCause(msgspec.Struct):
    type: str = ""
    id: str | None = None


class _Decided(msgspec.Struct):
    cause: _RequestCause


class Trickle:
    """A steady load; `acknowledged` are ids that the log took, `answered` numbers that the API took."""

    def __init__(self, context: Context, company: ProofCompany, api_url: str, *, per_second: float) -> None:
        self.acknowledged: set[str] = set()
        self.answered: set[str] = set()
        self.refused: list[str] = []
        """Answers that are not worth a retry."""
        self.callers: set[str] = set()
        """Numbers of all that was acknowledged or answered."""
        self.contacted: set[str] = set()
        """Numbers of those whose first step reaches a person."""
        self.undecided = OpenWaits(LATE_SECONDS)
        self.unanswered = OpenWaits(ANSWER_LATE_SECONDS)
        self._context = context
        self._company = company
        self._api_url = api_url
        self._per_second = per_second
        self._inbox = context.names.of(LEADS_INBOX.name)
        self._zone = zone_at_daytime()
        self._sending: set[asyncio.Task[None]] = set()
        self._sent: dict[str, tuple[int, dict[str, Any]]] = {}
        self._places: dict[int, int] = {}
        self._is_followed_again = False

    async def run(self, stop: asyncio.Event) -> None:
        """Submit until `stop` is set, then wait until everything is acknowledged."""
        partitions = await self._context.log.partition_count(self._inbox)
        appender = await self._context.log.appender()
        bodies = self._bodies()
        begun, sent = time.monotonic(), 0
        try:
            async with httpx.AsyncClient(
                base_url=self._api_url, timeout=ANSWER_SECONDS, auth=self._company.auth()
            ) as client:
                while not stop.is_set():
                    due = int((time.monotonic() - begun) * self._per_second) - sent
                    parts: defaultdict[int, list[tuple[str, Outgoing]]] = defaultdict(list)
                    for _ in range(due):
                        index, body = next(bodies)
                        if index % HTTP_EVERY == 0:
                            self._spawn(self._post(client, index, body))
                        else:
                            parts[partition_of(str(index).encode(), partitions)].append(self._record(index, body))
                    sent += due
                    for partition, part in parts.items():
                        self._spawn(self._append(appender, partition, part))
                    await asyncio.sleep(TICK_SECONDS)
                await asyncio.gather(*self._sending)
        finally:
            for task in self._sending:
                task.cancel()
            await asyncio.gather(*self._sending, return_exceptions=True)
            await appender.close()

    async def follow(self) -> None:
        """Note what is decided, until cancelled; reopens the reader after the log was away."""
        topic = self._context.names.of(CONTACTS_DECISIONS.name)
        while True:
            if self._is_followed_again:
                self._is_followed_again, self._places = False, {}
            places = self._places
            with suppress(LogError):
                partitions = range(await self._context.log.partition_count(topic))
                reader = await self._context.log.reader(topic, partitions)
                try:
                    for partition, offset in places.items():
                        await reader.seek(partition, offset)
                    await self._read(reader, places)
                finally:
                    await reader.close()
            await asyncio.sleep(RETRY_SECONDS)

    def follow_again(self) -> None:
        """Follow the decisions from the beginning: their topic may be another one."""
        self._is_followed_again = True

    def without(self, callers: Collection[str]) -> list[str]:
        """Return the numbers of submissions that were taken and are not among these."""
        return [caller for caller in self.callers if caller not in callers]

    async def repeat(self, callers: Sequence[str]) -> None:
        """Put submissions on the inbox again, with the ids that they had there."""
        partitions = await self._context.log.partition_count(self._inbox)
        appender = await self._context.log.appender()
        try:
            for index, body in (self._sent[caller] for caller in callers):
                _, record = self._record(index, body)
                await appender.append(partition_of(str(index).encode(), partitions), [record])
        finally:
            await appender.close()

    async def _read(self, reader: Reader, places: dict[int, int]) -> None:
        decoder = msgspec.json.Decoder(_Decided)
        while not self._is_followed_again:
            for record in await reader.poll(limit=READ_LIMIT, timeout_seconds=READ_SECONDS):
                cause = decoder.decode(record.value or b"").cause
                places[record.partition] = record.offset + 1
                if cause.type == "lead.submitted" and cause.id is not None:
                    self.undecided.end(cause.id)

    def _bodies(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for index in count(1):
            kind = KINDS[(index // HTTP_EVERY if index % HTTP_EVERY == 0 else index) % len(KINDS)]
            caller_id = number(index, 1, ENDINGS)  # no odd number: each command is carried out at once
            body = {"first_name": f"Lead {index}", "time_zone": self._zone, "caller_id": caller_id}
            if kind == "mail":
                body["email"] = f"lead-{index}@example.com"
            self._sent[caller_id] = index, body | {"lead_token": self._company.tokens[kind]}
            if kind in REACHING:
                self.contacted.add(caller_id)
            yield index, body | {"lead_token": self._company.tokens[kind]}

    def _record(self, index: int, body: dict[str, Any]) -> tuple[str, Outgoing]:
        id_ = f"faults-{index}"
        headers = to_headers(Envelope(id=id_, type="lead.submitted", source="/faults"))
        return id_, Outgoing(self._inbox, str(index).encode(), to_json(body), headers)

    async def _append(self, appender: Appender, partition: int, part: list[tuple[str, Outgoing]]) -> None:
        for id_, _ in part:
            self.undecided.begin(id_)
        while True:
            with suppress(LogError):
                await appender.append(partition, [record for _, record in part])
                break
            await asyncio.sleep(RETRY_SECONDS)
        self.acknowledged.update(id_ for id_, _ in part)
        self.callers.update(from_json(record.value or b"", _Caller).caller_id for _, record in part)

    async def _post(self, client: httpx.AsyncClient, index: int, body: dict[str, Any]) -> None:
        self.unanswered.begin(body["caller_id"])
        headers = {"Idempotency-Key": f"faults-{index}"}
        while True:
            with suppress(httpx.HTTPError):
                answer = await client.post("/api/v1/leads", json=body, headers=headers)
                if answer.status_code in ACKNOWLEDGED:
                    self.answered.add(body["caller_id"])
                    self.callers.add(body["caller_id"])
                    break
                if answer.status_code not in WORTH_ANOTHER:
                    self.refused.append(f"{answer.status_code} {answer.text[:300]}")
                    break
            await asyncio.sleep(RETRY_SECONDS)
        self.unanswered.end(body["caller_id"])

    def _spawn(self, sending: Any) -> None:
        task = asyncio.create_task(sending)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
