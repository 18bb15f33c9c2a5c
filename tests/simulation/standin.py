"""What if gateways never failed? One actor carries out all commands; it drops what is fenced or too late, as they do."""

import asyncio

from adapters.gateway.ports import Kind
from adapters.partitions.feed import RulesTopic
from engine.partition.ports import LogRecord
from engine.partition.runner import TopicNames
from schemas.commands import Command, Fence
from schemas.outcomes import HELD
from schemas.requests import CallProgressed, RulesPlace
from schemas.topics import COMMAND_TOPICS
from tests.simulation.providers import (
    COMMAND_RECORDS,
    COMMON,
    LATE_SECONDS,
    NEVER_SHARE,
    PROGRESS_SHARE,
    PROGRESS_STATES,
    Providers,
    order_in,
)


class StandIn(Providers):
    """All gateways as one actor that is never killed, with the providers behind it."""

    _fences: list[Fence]
    _rules: RulesTopic

    async def run(self) -> None:
        """Follow all channels."""
        self._fences, self._rules = [], RulesTopic(self._log, TopicNames())
        await asyncio.gather(*(self._follow(kind, COMMAND_TOPICS[kind].name) for kind in COMMON))

    async def _follow(self, kind: Kind, topic: str) -> None:
        reader = await self._log.reader(topic, list(range(self._partitions)))
        while True:
            for record in await reader.poll(limit=100, timeout_seconds=60):
                self._take(kind, record)

    def _take(self, kind: Kind, record: LogRecord) -> None:
        order = order_in(record)
        if order is not None:
            self._begin(asyncio.ensure_future(self._carry_out(kind, order)))
        elif isinstance(fence := COMMAND_RECORDS.decode(record.value or b""), Fence):
            self._fences.append(fence)

    async def _carry_out(self, kind: Kind, order: Command) -> None:
        chance = self._chance
        await self._wait(chance.choice([0, 1, 60]))
        hold = await self._hold(kind, order)
        outcome = self._gated(order) or (HELD if hold is not None else self._drawn(kind))
        self.carried_out[order.command_id] = order, outcome
        if chance.random() < NEVER_SHARE:
            return
        if kind == "call" and chance.random() < PROGRESS_SHARE:
            await self._post(order, self._progress(order))
        await self._wait(chance.choice([1, 30, 600, 20_000] if chance.random() < 0.2 else [1, 30, 200]))
        for one in self._reports(order, kind, outcome):
            await self._post(order, self._outcome(kind, order, one, hold=hold if one == HELD else None))
            await self._wait(chance.choice(LATE_SECONDS))

    async def _hold(self, kind: Kind, order: Command) -> RulesPlace | None:
        """Return where a hold is recorded that covers an order; what was emitted of webhooks is posted."""
        await self._rules.refresh()
        record = self._rules.rules.contact_hold(order.company_id, kind)
        if record is None or kind == "webhook":
            return None
        return RulesPlace(self._rules.seen(record.company_id)[0], record.sequence)

    def _gated(self, order: Command) -> str | None:
        if order.not_after is not None and self._era.now() > order.not_after:
            return "expired"
        fenced = any(
            fence.contact_key == order.contact_key
            and fence.decided_at >= order.decided_at
            and (order.lead_id in fence.lead_ids or order.command_id in fence.command_ids or not _names_any(fence))
            for fence in self._fences
        )
        return "rejected_at_gate" if fenced else None

    def _progress(self, order: Command) -> CallProgressed:
        return CallProgressed(
            company_id=order.company_id,
            contact_key=order.contact_key,
            lead_id=order.lead_id,
            command_id=order.command_id,
            state=self._chance.choice(PROGRESS_STATES),
            occurred_at=self._era.now(),
        )


def _names_any(fence: Fence) -> bool:
    return bool(fence.lead_ids or fence.command_ids)
