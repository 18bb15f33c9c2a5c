"""What do the providers do? They answer late, twice, out of order or never; a gate drops what is fenced or too late."""

import asyncio
from random import Random
from typing import Any

import msgspec

from adapters.embedded.log import EmbeddedLog
from engine.partition.ports import Outgoing, Record
from schemas.commands import COMMAND_KINDS, Command, Fence, HangUp, Order, PressKeys
from schemas.envelope import Envelope, to_headers
from schemas.instant import Instant
from schemas.outcomes import OUTCOMES
from schemas.requests import REQUEST_TYPES, CallProgressed, ContactRequest, OutcomeRecorded
from schemas.topics import COMMAND_TOPICS, CONTACTS_REQUESTS
from schemas.wire import to_json
from tests.simulation.virtual import Era

ORDERS: msgspec.json.Decoder[Order] = msgspec.json.Decoder(Order)

COMMON = {"call": "no_answer", "sms": "delivered", "email": "accepted", "webhook": "accepted"}
COMMON_SHARE = 0.5
NEVER_SHARE = 0.06
AGAIN_SHARE = 0.2
PROGRESS_SHARE = 0.3

LOOK_SECONDS = 0.5
"""Of the loop: how soon it is noticed that the domain time skipped."""


class Gateways:
    """All gateways of the deployment as one actor that is never killed: their own crashes are tested with them."""

    def __init__(self, log: EmbeddedLog, chance: Random, era: Era) -> None:
        self.carried_out: dict[str, tuple[Command, str]] = {}
        self._log = log
        self._chance = chance
        self._era = era
        self._fences: list[Fence] = []
        self.due: dict[asyncio.Task[Any], Instant] = {}
        self._busy: set[asyncio.Task[None]] = set()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._busy

    async def run(self, partitions: int) -> None:
        """Follow all channels."""
        self._appender = await self._log.appender()
        channels = [self._follow(kind, topic.name, partitions) for kind, topic in COMMAND_TOPICS.items()]
        await asyncio.gather(*channels)

    async def _follow(self, kind: str, topic: str, partitions: int) -> None:
        reader = await self._log.reader(topic, list(range(partitions)))
        while True:
            for record in await reader.poll(limit=100, timeout_seconds=60):
                order = ORDERS.decode(record.value or b"")
                if isinstance(order, Fence):
                    self._fences.append(order)
                elif not isinstance(order, PressKeys | HangUp):
                    task = asyncio.ensure_future(self._carry_out(kind, record, order))
                    self._busy.add(task)
                    task.add_done_callback(self._busy.discard)

    async def _carry_out(self, kind: str, record: Record, order: Command) -> None:
        chance = self._chance
        await self._wait(chance.choice([0, 1, 60]))
        outcome = self._gated(order) or self._drawn(kind)
        self.carried_out[order.command_id] = order, outcome
        if chance.random() < NEVER_SHARE:
            return
        if kind == "call" and chance.random() < PROGRESS_SHARE:
            await self._post(record, self._progress(order, chance.choice(["initiated", "ringing", "established"])))
        await self._wait(chance.choice([1, 30, 600, 20_000] if chance.random() < 0.2 else [1, 30, 200]))
        outcomes = [outcome]
        if chance.random() < AGAIN_SHARE:
            outcomes += [outcome] if chance.random() < 0.5 else [self._drawn(kind)]
        for one in outcomes:
            await self._post(record, self._outcome(kind, order, one))
            await self._wait(chance.choice([0, 100]))

    def _gated(self, order: Command) -> str | None:
        if order.not_after is not None and self._era.now() > order.not_after:
            return "expired"
        fenced = any(
            fence.contact_key == order.contact_key
            and fence.decided_at >= order.decided_at
            and (not fence.lead_ids or order.lead_id in fence.lead_ids)
            for fence in self._fences
        )
        return "rejected_at_gate" if fenced else None

    def _drawn(self, kind: str) -> str:
        return COMMON[kind] if self._chance.random() < COMMON_SHARE else self._chance.choice(list(OUTCOMES[kind]))

    def _outcome(self, kind: str, order: Command, outcome: str) -> OutcomeRecorded:
        return OutcomeRecorded(
            company_id=order.company_id,
            contact_key=order.contact_key,
            lead_id=order.lead_id,
            command_id=order.command_id,
            kind=kind,  # type: ignore[arg-type]
            outcome=outcome,
            occurred_at=self._era.now(),
            rang=self._chance.random() < 0.5,
        )

    def _progress(self, order: Command, state: str) -> CallProgressed:
        return CallProgressed(
            company_id=order.company_id,
            contact_key=order.contact_key,
            lead_id=order.lead_id,
            command_id=order.command_id,
            state=state,  # type: ignore[arg-type]
            occurred_at=self._era.now(),
        )

    async def _post(self, record: Record, request: ContactRequest) -> None:
        what = request.outcome if isinstance(request, OutcomeRecorded) else "progress"
        envelope = Envelope(
            id=f"{getattr(request, 'command_id', '')}/{what}", type=REQUEST_TYPES[type(request)], source="/gateway"
        )
        outgoing = Outgoing(CONTACTS_REQUESTS.name, record.key, to_json(request), to_headers(envelope))
        await self._appender.append(record.partition, [outgoing])

    async def _wait(self, domain_seconds: float) -> None:
        me = asyncio.current_task()
        assert me is not None
        self.due[me] = self._era.now() + int(self._chance.random() * domain_seconds * 1000)
        while (left_ms := self.due[me] - self._era.now()) > 0:
            await asyncio.sleep(min(LOOK_SECONDS, left_ms / 1000 / self._era.speed))
        del self.due[me]


def kind_of_command(command: Command) -> str:
    """Return call, sms, email or webhook."""
    return COMMAND_KINDS[type(command)]
