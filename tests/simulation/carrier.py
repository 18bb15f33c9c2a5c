"""What do real gateways work with? Claims in memory, and carriers that check the lease of each command."""

import asyncio
from collections import Counter
from contextvars import copy_context
from random import Random
from typing import Any

from adapters.embedded.log import EmbeddedLog
from adapters.gateway import leases
from adapters.gateway.channels import Channel
from adapters.gateway.contact_holds import STALE_SECONDS
from adapters.gateway.ports import CallProgress, DeliveryResult, Kind, Report, SavedProgress
from schemas.commands import Command, HangUp, PressKeys
from schemas.instant import Instant
from schemas.topics import COMMAND_TOPICS
from tests.adapters.gateway.world import MemoryDeliveries
from tests.simulation.holds import RecordedHolds
from tests.simulation.network import NetworkLink
from tests.simulation.providers import (
    COMMON_SHARE,
    LATE_SECONDS,
    NEVER_SHARE,
    PROGRESS_SHARE,
    PROGRESS_STATES,
    Providers,
    order_in,
)
from tests.simulation.virtual import Era, VirtualClock, wall_at

KINDS: tuple[Kind, ...] = ("call", "sms", "email", "webhook")
NEVER_TWICE = {"call", "sms"}

BY_ANOTHER_WAY_SHARE = 0.3
PREPARED_SHARE = 0.5
STILL_SHARE = 0.2
STILL_SECONDS_MAX = 4.0
"""Of the loop, right before a command is handed over: longer than a lease, and than others need to take it over."""

RATE = 30.0
"""Seconds of a gateway's clock in one of the loop: leases are renewed, and end, within the faults of a run."""

SLEEP_SECONDS_MIN = 6.0
"""Of a gateway's clock: what it does each second is done as well each sixth, and costs the run less."""


class GatewayClock:
    """The clock of one machine, whose own seconds run `RATE` times as fast."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    def now(self) -> Instant:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic() * RATE

    def seconds_until(self, instant: Instant) -> float:
        return self._clock.seconds_until(instant) * RATE

    def wall(self) -> Instant:
        return self._clock.wall()

    def elapsed(self) -> float:
        return self.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(seconds, SLEEP_SECONDS_MIN) / RATE)


class SimulatedClaims(MemoryDeliveries):
    """The claims of the deployment, and what was wrong with what gateways said of them."""

    def __init__(self, log: EmbeddedLog) -> None:
        super().__init__()
        self.recorded: Counter[str] = Counter()
        self.reported_beside: set[str] = set()
        """Orders whose gateway lost its claim while it worked, and tells what came of them beside the record."""
        self.problems: list[str] = []
        self._log = log

    def look_at_the_clock(self) -> None:
        """Let leases end that have run out by now."""
        self.wall = asyncio.get_running_loop().time() * RATE

    async def record(self, command_id: str, *, claimant: str, claim_id: str, outcome: bytes, recorded_at: Instant) -> bool:
        before = self.rows.get(command_id, {}).get("outcome")
        about: dict[str, Any] = {"claimant": claimant, "claim_id": claim_id, "recorded_at": recorded_at}
        is_ours = await super().record(command_id, outcome=outcome, **about)
        self.recorded[command_id] += is_ours and before is None
        if not is_ours:
            self.reported_beside.add(command_id)
        return is_ours

    async def save_progress(self, topic: str, topic_id: str, partition: int, saved: SavedProgress) -> None:
        done = self.saved.get((topic, partition), (topic_id, SavedProgress()))[1].offset
        for record in self._log.partition(topic, partition).records:
            order = order_in(record) if done <= record.offset < saved.offset else None
            if order is not None and not self.is_ended(order.command_id):
                self.problems.append(f"progress of {topic}[{partition}] passes {order.command_id}, which has not ended")
        await super().save_progress(topic, topic_id, partition, saved)

    def is_ended(self, command_id: str) -> bool:
        """Return whether a command needs nothing more: its outcome is reported, by the record or beside it."""
        return command_id in self.reported_beside or self.is_posted(command_id)

    def is_posted(self, command_id: str) -> bool:
        """Return whether what came of a command is recorded, and posted."""
        row = self.rows.get(command_id)
        return row is not None and bool(row["posted"])

    def is_held(self, command_id: str, claim_id: str) -> bool:
        """Return whether a claim is this attempt's, and its lease runs."""
        self.look_at_the_clock()
        row = self.rows.get(command_id)
        return row is not None and row["claim_id"] == claim_id and row["until"] >= self.wall


class Carrier(Providers):
    """All providers of the deployment, and whatever of them outlives the gateway that asked."""

    def __init__(self, log: EmbeddedLog, chance: Random, era: Era, partitions: int) -> None:
        super().__init__(log, chance, era, partitions)
        self.claims = SimulatedClaims(log)
        self.given: Counter[str] = Counter()
        self.problems: list[str] = []
        self.lost_orders: set[str] = set()
        """Orders that no gateway can read any more."""
        self._concurrent_max = chance.choice([2, 20, 200])
        self._asked: set[str] = set()
        self._seen: dict[tuple[str, int], int] = {}
        self._holds = RecordedHolds(log, partitions)
        self._open: dict[str, None] = {}
        self._outside = copy_context()

    async def run(self) -> None:
        """Be there: gateways ask, see `channel`."""
        await asyncio.Event().wait()

    def channel(self, kind: Kind, line: NetworkLink) -> Channel:
        """Return a channel of the process behind a line."""

        async def act(order: Command, report: Report) -> DeliveryResult | None:
            self._check_holds(kind, order)
            if self._chance.random() < PREPARED_SHARE:
                await self._wait(self._chance.choice([0, 1, 60]))
                still = self._chance.random() < STILL_SHARE
                await (line.stand_still(self._chance.random() * STILL_SECONDS_MAX) if still else line.cross())
                leases.check_lease()
            self._give(kind, order)
            return await self._answered(kind, order, report)

        async def press(_: PressKeys | HangUp) -> bool:
            return self._chance.random() < COMMON_SHARE

        return Channel(
            kind=kind,
            provider="carrier",
            act=act,
            concurrent_max=self._concurrent_max,
            never_twice=kind in NEVER_TWICE,
            press=press if kind == "call" else None,
        )

    # -- what is left to do --------------------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way, and every order has ended."""
        return not self._busy and not self.open_orders()

    @property
    def is_waited_for(self) -> bool:
        """Whether all that is under way is with the carrier."""
        return set(self.open_orders()) <= self._asked

    def open_orders(self) -> list[str]:
        """Return the orders that were written and have not ended."""
        for topic in COMMAND_TOPICS.values():
            for partition in range(self._partitions):
                records = self._log.partition(topic.name, partition).records
                for record in records[self._seen.get((topic.name, partition), 0) :]:
                    order = order_in(record)
                    if order is not None:
                        self._open[order.command_id] = None
                self._seen[topic.name, partition] = len(records)
        for command_id in list(self._open):
            if command_id in self.lost_orders or self.claims.is_ended(command_id):
                del self._open[command_id]
        return list(self._open)

    def forget_read(self) -> None:
        """Read orders and holds from the beginning again: topics were lost, or made again."""
        self._seen.clear()
        self._holds.forget_read()

    # -- what the carrier does -----------------------------------------------------------------------------------------

    def _check_holds(self, kind: Kind, order: Command) -> None:
        """Note an order that comes although a hold covers it that every gateway must have read."""
        since = wall_at(asyncio.get_running_loop().time() - STALE_SECONDS)
        hold = None if kind == "webhook" else self._holds.covering(order.company_id, kind, since)
        if hold is not None:
            self.problems.append(f"{order.command_id} came to its carrier although hold {hold.id} covers it")

    def _give(self, kind: Kind, order: Command) -> None:
        """Be given an order: from here on its person may have been reached."""
        lease = leases._current.get()
        if lease is None or lease.command_id != order.command_id:
            self.problems.append(f"{order.command_id} was given to its carrier under no lease of its own")
        elif not self.claims.is_held(order.command_id, lease.claim_id):
            self.problems.append(f"{order.command_id} was given to its carrier outside its lease")
        self.given[order.command_id] += 1
        if kind in NEVER_TWICE and self.given[order.command_id] > 1:
            self.problems.append(f"{order.command_id} was given to its carrier {self.given[order.command_id]} times")
        self.carried_out[order.command_id] = order, self._drawn(kind)

    async def _answered(self, kind: Kind, order: Command, report: Report) -> DeliveryResult | None:
        chance = self._chance
        if kind == "call" and chance.random() < PROGRESS_SHARE:
            await report(CallProgress(state=chance.choice(PROGRESS_STATES)))
        self._asked.add(order.command_id)
        try:
            await self._wait(chance.choice([1, 30, 600, 20_000] if chance.random() < 0.2 else [1, 30, 200]))
        finally:
            self._asked.discard(order.command_id)
        _, outcome = self.carried_out[order.command_id]
        if chance.random() < NEVER_SHARE:
            return None
        first, *later = self._reports(order, kind, outcome)
        if chance.random() < BY_ANOTHER_WAY_SHARE:
            self._tell_later(kind, order, [first, *later])
            return None
        self._tell_later(kind, order, later)
        return DeliveryResult(outcome=first, rang=chance.random() < 0.5)

    def _tell_later(self, kind: Kind, order: Command, outcomes: list[str]) -> None:
        """Tell of outcomes by the carrier's own way, whatever becomes of the process that asked."""
        if outcomes:
            self._begin(self._outside.run(asyncio.ensure_future, self._tell(kind, order, outcomes)))

    async def _tell(self, kind: Kind, order: Command, outcomes: list[str]) -> None:
        for outcome in outcomes:
            await self._wait(self._chance.choice(LATE_SECONDS))
            await self._post(order, self._outcome(kind, order, outcome))
