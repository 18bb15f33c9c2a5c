"""What happens in a run that loses topics? Its partitions stop, an operator settles it, and everything goes on.

Invariants: a partition whose topic is not the one that it read decides nothing, whatever comes, until the operator has
settled it; no other one stops; what was lost is named; and everything that holds of a run without losses.
"""

import asyncio
from collections import Counter
from random import Random

import msgspec

from adapters.recovery.folding import NotRecoverableError
from engine.partition.aggregate import Aggregate
from engine.partition.ports import LogRecord
from schemas.decisions import Decision
from schemas.topics import ACCOUNTS_DECISIONS, ACCOUNTS_RULES
from tests.simulation.carrier import Carrier
from tests.simulation.decided import DECISIONS as DECODER
from tests.simulation.decided import envelope_of
from tests.simulation.invariants import Findings, check
from tests.simulation.losses import COMMANDS, DECISIONS, OF_THE_SAME, READ, REQUESTS, STATES, Loss, Losses
from tests.simulation.operator import MemoryReadMarks, Operator
from tests.simulation.providers import order_in
from tests.simulation.run import Result, World, describe_error
from tests.simulation.virtual import VirtualClock

ERA = 1_000_000_000
"""Added to the offsets of requests after a loss: a topic that begins again would give them a second time."""

STOPPED_SECONDS = 14.0
"""After so long every process has looked at the ids of its topics, and every partition that must stop has stopped."""

ASSIGNED_SECONDS = 4.0
SPARED_SHARE = 0.15
"""Of runs that lose nothing but by retention and compaction: nothing may stop there."""

EXPIRED_SHARE = 0.3
BREAKS_OFF_SHARE = 0.3
LIVE_SHARE = 0.5
"""Of losses that strike while processes run; in the others all machines lose their power with the disk."""

Place = tuple[str, int]


class LosingWorld(World):
    """A run with real gateways in which one or two internal topics lose records."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, has_gateways=True)
        self.fate = Random(seed + 1)
        self.lost: list[Loss] = []
        self._ends: dict[Place, int] = {}

    async def _build(self) -> None:
        await super()._build()
        self.losses = Losses(self.log, self.partitions, self.fate)
        self.cluster.made_topics = dict(self.first_ids)
        self.traffic.made_topics = lambda: self.cluster.made_topics

    @property
    def carrier(self) -> Carrier:
        assert isinstance(self.providers, Carrier)
        return self.providers

    # -- the loss ------------------------------------------------------------------------------------------------------

    async def _lose(self) -> None:
        topics = [] if self.fate.random() < SPARED_SHARE else self.fate.sample(READ, self.fate.choice([1, 1, 2]))
        needed = {*STATES, ACCOUNTS_RULES.name} & set(topics)  # what is made again from decisions
        self._keeps_decisions = bool(needed) or self.fate.random() < 0.5
        await self._expire()
        self.losses.copy()
        await self._phase(self.traffic.ask(self.fate.choice([3, 8]), 3.0))
        self.traffic.repeats = False
        while not self.traffic.is_idle:
            await asyncio.sleep(0.1)
        is_live = self.fate.random() < LIVE_SHARE
        if not is_live:
            for machine in self.cluster.machines:
                self._kill(machine)
        saved = self.carrier.claims.saved
        done = {place: progress.offset for place, (_, progress) in saved.items()}
        for topic in topics:
            loss = self.losses.choose(topic, done) if self._may_lose(topic) else None
            if loss is not None:
                self.lost.append(loss)
                self.cluster.tell(f"{loss.words}{' while processes run' if is_live else ''}")
        await self.losses.strike(self.lost)
        self._ends = {place: self._end(*place) for place in self._must_stop()} if not is_live else {}
        self._forget_lost_orders()
        struck = {loss.topic for loss in self.lost}
        self.is_shown_whole = not struck & DECISIONS
        self.has_all_requests = not (struck & REQUESTS.keys() or self.losses.expired)
        await self._phase(self.traffic.ask(self.fate.choice([3, 8]), 3.0))

    async def _expire(self) -> None:
        """Let retention and compaction take what nobody needs any more."""
        if self.fate.random() < 0.5:
            await self.losses.compact()
        claims, store = self.carrier.claims, self.cluster.store
        ends = {place: saved.offset for place, (_, saved) in claims.saved.items()}
        if not self._keeps_decisions:
            ends |= {(one.topic, one.partition): one.next_offset for one in await store.positions()}
        for requests, decisions in REQUESTS.items():
            ends |= {(requests, n): self.losses.decided_before(decisions, n) for n in range(self.partitions)}
        for (topic, number), before in ends.items():
            if self.fate.random() < EXPIRED_SHARE:
                await self.losses.expire(topic, number, before)

    def _may_lose(self, topic: str) -> bool:
        """Return whether a topic may be lost too.

        State and decisions of one role together leave nothing to compare; rules and the decisions that published them leave
        no version but the newest, which an audit cannot decide by.
        """
        both, rules = DECISIONS | STATES, {ACCOUNTS_RULES.name, ACCOUNTS_DECISIONS.name}
        pairs = [{topic, loss.topic} for loss in self.lost]
        return not any(pair == rules or (pair <= both and len({OF_THE_SAME[one] for one in pair}) == 1) for pair in pairs)

    def _forget_lost_orders(self) -> None:
        """Let the carrier wait for no order that no gateway can read any more, and read holds that are published again."""
        self.carrier.forget_read()
        for topic, number in [(loss.topic, number) for loss in self.lost for number in loss.cuts if loss.topic in COMMANDS]:
            part = self.losses.archive[topic, number]
            orders = [order_in(record) for record in part.records if record.offset >= part.first_offset]
            self.lost_orders |= {order.command_id for order in orders if order is not None}
        self.carrier.lost_orders = self.lost_orders

    # -- the operator --------------------------------------------------------------------------------------------------

    async def _recover(self) -> list[str]:
        if not self.lost:
            return []
        await asyncio.sleep(STOPPED_SECONDS)
        found = await self._stopped()
        self.cluster.tell("the operator stops everything")
        await self.cluster.stop()
        marks = MemoryReadMarks(self.cluster.store, self.carrier.claims)
        operator = Operator(self.log, VirtualClock(self.era), marks)
        found += await self._unnamed(operator)
        try:
            await self._settle_loss(operator)
        except NotRecoverableError as error:
            self.cluster.tell(f"refused: {error}")
            self.goes_on = False
            return found + self._wrongly_refused(str(error))
        self.cluster.made_topics = await operator.made_topics()
        left = await operator.look()
        found += [f"is not settled: {one}" for one in (*left[0], *(reader.sentence for reader in left[1]))]
        await self._go_on()
        return found

    async def _settle_loss(self, operator: Operator) -> None:
        breaks_off = self.fate.randint(0, 6) if self.fate.random() < BREAKS_OFF_SHARE else None
        try:
            settled = await operator.settle(breaks_off)
        except NotRecoverableError as error:
            if "before which it cannot be published" not in str(error):
                raise
            self.cluster.tell(f"refused, and the topic is restored: {error}")
            await operator.make_rules_again(self.partitions)
            settled = await operator.settle(None)
        for one in settled:
            self.cluster.tell(f"settled {one.topic}[{one.partition}] from {one.input_offset} on: {one.losses}")

    async def _go_on(self) -> None:
        for loss in self.lost:
            for number in loss.cuts if loss.topic in REQUESTS else ():
                self.cluster.groups[OF_THE_SAME[loss.topic]].held.pop(number, None)
        self.carrier.forget_read()
        self.cluster.boot()
        self.traffic.repeats = True
        await self.traffic.send_again(self._unheard())
        await asyncio.sleep(ASSIGNED_SECONDS)
        await self._phase(self.traffic.ask(5, 3.0))

    def _unheard(self) -> list[str]:
        """Return what was accepted, was not decided, and is not on a topic to be decided."""
        heard: set[str] = set()
        for requests, decisions in REQUESTS.items():
            for number in range(self.partitions):
                decided = [DECODER.decode(record.value or b"") for record in self.records(decisions, number)]
                heard |= {one.cause.id for one in decided if one.cause.id is not None}
                at = self._first_request(requests, number)
                left = [record for record in self.log.partition(requests, number).records if record.offset >= at]
                heard |= {envelope.id for record in left if (envelope := envelope_of(record)) is not None}
        return [id_ for id_ in self.traffic.accepted if id_ not in heard]

    # -- what must hold until then -------------------------------------------------------------------------------------

    async def _stopped(self) -> list[str]:
        """Return which partitions decide or contact although they must not, and which stand still without a loss."""
        must_stop = self._must_stop()
        before = {place: self._ends.get(place, self._end(*place)) for place in must_stop}
        given = Counter(self.carrier.given)
        await self._phase(self.traffic.ask(4, 2.0))
        await asyncio.sleep(ASSIGNED_SECONDS)
        found = [
            f"{role}[{number}] goes on after a loss"
            for role, number in must_stop
            if self._end(role, number) != before[role, number]
        ]
        for loss in self.lost:
            for number in loss.cuts if loss.topic in COMMANDS else ():
                orders = filter(None, map(order_in, self.log.partition(loss.topic, number).records))
                found += [
                    f"{loss.topic}[{number}]: {one.command_id} is carried out after a loss"
                    for one in orders
                    if self.carrier.given[one.command_id] > given[one.command_id]
                ]
        if any(loss.topic == ACCOUNTS_RULES.name for loss in self.lost):
            return found
        for role in ("scheduler", "accounts"):
            ready = self.cluster.runners(role)
            found += [
                f"{role}[{number}] stands still, and lost nothing"
                for number in range(self.partitions)
                if (role, number) not in must_stop and number not in ready
            ]
        return found

    def _must_stop(self) -> set[Place]:
        places: set[Place] = set()
        for loss in self.lost:
            role = OF_THE_SAME.get(loss.topic)
            if role is not None:
                places |= {(role, number) for number in loss.cuts}
            elif loss.topic == ACCOUNTS_RULES.name:
                roles = ("accounts", "scheduler") if loss.kind == "made again" else ("accounts",)
                places |= {(one, number) for one in roles for number in loss.cuts}
        return places

    def _end(self, role: str, number: int) -> int:
        decisions = next(iter(topic for topic, owner in OF_THE_SAME.items() if owner == role and topic in DECISIONS))
        records = self.log.partition(decisions, number).records
        return records[-1].offset + 1 if records else 0

    async def _unnamed(self, operator: Operator) -> list[str]:
        """Return what `leadclock recover` does not list."""
        partitions, readers = await operator.look()
        said = " | ".join([*partitions, *(one.sentence for one in readers)])
        return [f"{loss.words}, and `recover` lists only: {said}" for loss in self.lost if loss.topic not in said]

    def _wrongly_refused(self, error: str) -> list[str]:
        """Return a refusal where what was lost could be made again: a state without its decisions cannot."""
        roles = Counter(OF_THE_SAME[topic] for topic in {loss.topic for loss in self.lost} & (DECISIONS | STATES))
        return [] if 2 in roles.values() else [f"the recovery refuses: {error}"]

    # -- the end -------------------------------------------------------------------------------------------------------

    async def _check(self, findings: Findings) -> None:
        if not self.goes_on:
            findings.add(*self.carrier.problems)
            findings.decisions = sum(
                self._end(role, n) for role in ("scheduler", "accounts") for n in range(self.partitions)
            )
        else:
            await check(self, findings)

    def records(self, topic: str, partition: int) -> list[LogRecord]:
        gone = self.losses.expired.get((topic, partition), [])
        return [*gone, *self._held(topic, partition)]

    def _held(self, topic: str, partition: int) -> list[LogRecord]:
        """Return what a topic ever held, without what retention has taken."""
        present = super().records(topic, partition)
        part = self.losses.archive.get((topic, partition))
        if part is None:
            return present
        if topic not in REQUESTS:
            return [*part.records, *(record for record in present if record.offset >= part.first_offset)]
        first, decided = self._first_request(topic, partition), self._decided_before(topic, partition)
        known = [record for record in part.records if record.offset < decided]
        later = [record for record in present if record.offset >= first]
        return known + [msgspec.structs.replace(record, offset=record.offset + ERA) for record in later]

    def placed(self, aggregate: Aggregate, partition: int, decisions: list[Decision]) -> list[Decision]:
        if (aggregate.requests_topic.name, partition) not in self.losses.archive:
            return decisions
        placed, is_later = [], False
        for decision in decisions:
            cause = decision.cause
            is_later = is_later or cause.recovery is not None
            if is_later and cause.offset is not None:
                cause = msgspec.structs.replace(cause, offset=cause.offset + ERA)
            placed.append(msgspec.structs.replace(decision, cause=cause))
        return placed

    def _recorded(self, requests: str, partition: int) -> list[Decision]:
        return [DECODER.decode(record.value or b"") for record in self.records(REQUESTS[requests], partition)]

    def _first_request(self, requests: str, partition: int) -> int:
        """Return the first request that is decided after the recovery, or after all."""
        if (requests, partition) not in self.losses.archive:
            return 0
        causes = [decision.cause for decision in self._recorded(requests, partition)]
        return next((cause.recovery.input_offset for cause in causes if cause.recovery is not None), 0)

    def _decided_before(self, requests: str, partition: int) -> int:
        """Return the offset before which requests were decided before the recovery."""
        before = 0
        for decision in self._recorded(requests, partition):
            if decision.cause.recovery is not None:
                break
            if decision.cause.offset is not None:
                before = decision.cause.offset + 1
        return before


def lose(seed: int) -> Result:
    """Run one seed. Raises what nothing in a run should raise."""
    return LosingWorld(seed).run()


def try_to_lose(seed: int) -> Result:
    """Run one seed; what it raises is a finding."""
    try:
        return lose(seed)
    except Exception:  # noqa: BLE001 - whatever it is, the other seeds are tried too
        return describe_error(seed)
