"""What happens in one simulated run? A seed chooses everything: the deployment, the traffic, the weather and the crashes."""

import asyncio
import random
import traceback
from collections.abc import Coroutine, Sequence
from itertools import count
from random import Random
from typing import Any

import msgspec

from adapters.embedded.log import EmbeddedLog
from adapters.errors import StoreError
from adapters.partitions.outbox import OutboxSender
from engine.partition.aggregate import Aggregate
from engine.partition.ports import LogError, LogRecord
from engine.partition.runner import Runner
from schemas.contact import LIVE_STATUSES, Lead
from schemas.decisions import Decision
from schemas.instant import DAY, MINUTE
from schemas.topics import ACCOUNTS_REQUESTS, CONTACTS_REQUESTS, IMPRESSIONS, LEADS_INBOX_BULK, TOPICS
from schemas.wire import from_json, from_pack
from tests.contact_ids import identity_record
from tests.simulation.carrier import Carrier
from tests.simulation.cluster import SimulatedCluster, SimulatedMachine
from tests.simulation.invariants import Findings, check
from tests.simulation.network import FaultyWrites, Weather
from tests.simulation.providers import Providers
from tests.simulation.standin import StandIn
from tests.simulation.traffic import Traffic
from tests.simulation.virtual import BEGUN_AT, EXPECTED, Era, Silence, VirtualLoop, wall_at

EXPECTED[:] = [LogError, StoreError]

CHAOS_ACTIONS = ("freeze", "thaw", "share", "skew", "replace", "replace")
GATEWAY_CHAOS_ACTIONS = ("freeze", "thaw", "share", "stop", "replace", "replace")

QUIET_SPEED = 600.0
QUIET_SECONDS_MAX = 300.0
CLEAR_SECONDS = 60.0
QUIET_DOMAIN_MAX = 6 * DAY
"""Within this much time everything must have come to its end once the faults have stopped."""


class Result(msgspec.Struct, frozen=True):
    """What a run showed: `findings` is empty where every promise was kept, `digest` is the same for the same seed."""

    seed: int
    findings: tuple[str, ...]
    story: tuple[str, ...]
    decisions: int
    commands: int
    kills: int
    turns: int
    digest: str


class World:
    """Everything in one run: real gateways carry out, or an actor that stands in for them and never fails."""

    def __init__(self, seed: int, *, has_gateways: bool = False) -> None:
        self.seed = seed
        self._has_gateways = has_gateways
        self.chance = Random(seed)
        self.loop = VirtualLoop(self.on_turn)
        self.kills = 0
        self._is_rough = False
        self._kill_gap = self.chance.choice([0, 200, 1_000, 4_000])
        self._kill_at = 0
        self._chaos_gap_seconds = self.chance.choice([0.5, 1.5])

    def run(self) -> Result:
        """Run it to its end."""
        before = random.getstate()
        random.seed(self.seed)  # hosts and projectors spread their pauses with it
        try:
            with Silence():
                self.loop.run_until_complete(self._build())
                return self.loop.run_until_complete(self._run())
        finally:
            self._cancel_leftovers()
            random.setstate(before)
            self.loop.close()

    def _cancel_leftovers(self) -> None:
        """End what is left, also of a run that was broken off."""
        for machine in self.cluster.machines:
            machine.process.is_alive = False
        left = asyncio.all_tasks(self.loop)
        for task in left:
            task.cancel()
        self.loop.turns = 0
        self._is_rough = False
        if left:
            self.loop.run_until_complete(asyncio.wait(left, timeout=CLEAR_SECONDS))

    # -- building ------------------------------------------------------------------------------------------------------

    async def _build(self) -> None:
        chance = self.chance
        self.partitions = chance.choice([1, 2, 3])
        self.weather = Weather(Random(chance.random()))
        speed = chance.choice([30.0, 300.0, 1_500.0])
        self.era = Era(self.loop, BEGUN_AT + chance.randrange(3 * DAY), speed)
        topic_ids = count(1)
        self.log = EmbeddedLog(
            None,
            now=lambda: wall_at(self.loop.time()),
            faults=FaultyWrites(self.weather),
            new_topic_id=lambda: f"topic-{next(topic_ids)}",
            pause=self.weather.pass_by,
        )
        later = (LEADS_INBOX_BULK, IMPRESSIONS)  # last, in this order: the others keep their ids
        for topic in sorted(TOPICS, key=lambda topic: later.index(topic) + 1 if topic in later else 0):
            await self.log.create_topic(topic.name, self.partitions)
        self.first_ids = {topic.name: await self.log.topic_id(topic.name) for topic in TOPICS}
        self.lost_orders: set[str] = set()
        """Orders that `commands.*` lost before they had ended."""
        self.is_shown_whole = self.has_all_requests = True
        """Whether no decision was lost before it was projected, and no request at all."""
        self.goes_on = True
        """Whether the deployment runs to its end: not where a recovery was refused."""
        partition, identity = identity_record(BEGUN_AT)
        appender = await self.log.appender()
        await appender.append(partition, [identity])
        await appender.close()
        provided = self.log, Random(chance.random()), self.era, self.partitions
        carrier = Carrier(*provided) if self._has_gateways else None
        self.providers: Providers = carrier or StandIn(*provided)
        self.cluster = SimulatedCluster(
            loop=self.loop,
            log=self.log,
            chance=Random(chance.random()),
            weather=self.weather,
            era=self.era,
            carrier=carrier,
            partitions=self.partitions,
            uses_snapshots=chance.random() < 0.7,
        )
        self.traffic = Traffic(self.log, self.cluster.store, Random(chance.random()), self.era, self.partitions)

    async def _run(self) -> Result:
        providers = asyncio.ensure_future(self.providers.run())
        findings = Findings()
        try:
            self.cluster.boot()
            await self._phase(self.traffic.found())
            self._is_rough = True
            self.weather.worsen()
            seconds = self.chance.choice([4.0, 12.0])
            chaos = asyncio.ensure_future(self._inject_faults())
            await self._phase(self.traffic.ask(self.chance.choice([5, 15, 40]), seconds))
            await self._lose()
            self._is_rough = False
            chaos.cancel()
            await asyncio.wait([chaos])
            await self._calm()
            findings.add(*await self._recover())
            if self.goes_on:
                await self._phase(self.traffic.repair())
                findings.add(*await self._settle())
            if providers.done():
                providers.result()
            await self._check(findings)
        finally:
            providers.cancel()
            await self.cluster.stop()
            await asyncio.gather(providers, return_exceptions=True)
        return self._result(findings)

    async def _lose(self) -> None:
        """Lose records of topics: none here."""

    async def _recover(self) -> list[str]:
        """Do what an operator does after a loss; return what was wrong until then."""
        return []

    async def _check(self, findings: Findings) -> None:
        await check(self, findings)

    def records(self, topic: str, partition: int) -> list[LogRecord]:
        """Return everything that a topic ever held."""
        return list(self.log.partition(topic, partition).records)

    def placed(self, aggregate: Aggregate, partition: int, decisions: list[Decision]) -> list[Decision]:
        """Return decisions with the offsets that their requests have in `records`."""
        del aggregate, partition
        return decisions

    async def _phase(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that must come to an end, whatever happens to the deployment."""
        await asyncio.wait_for(work, QUIET_SECONDS_MAX)

    def _result(self, findings: Findings) -> Result:
        return Result(
            seed=self.seed,
            findings=tuple(findings.texts),
            story=tuple(self.cluster.story),
            decisions=findings.decisions,
            commands=findings.commands,
            kills=self.kills,
            turns=self.loop.turns,
            digest=findings.digest,
        )

    # -- faults --------------------------------------------------------------------------------------------------------

    def on_turn(self, turn: int) -> None:
        """Kill a process at any point where it waits."""
        if not self._is_rough or not self._kill_gap or turn < self._kill_at:
            return
        first = self._kill_at == 0
        self._kill_at = turn + self.chance.randint(1, 2 * self._kill_gap)
        if not first:
            self._kill(self.chance.choice(self.cluster.machines))

    def _kill(self, machine: SimulatedMachine) -> None:
        if machine.process.is_alive:
            self.kills += 1
            self.cluster.tell(f"{machine.name} is killed")
            machine.kill()

    async def _inject_faults(self) -> None:
        """Inject faults into schedulers and projectors, and into gateways, each at a pace of their own, while it lasts."""
        cluster = self.cluster
        parts = [(cluster.schedulers + cluster.projectors, CHAOS_ACTIONS)]
        if cluster.gateways:
            parts.append((cluster.gateways, GATEWAY_CHAOS_ACTIONS))
        await asyncio.gather(*(self._disturb(*part) for part in parts))

    async def _disturb(self, machines: list[SimulatedMachine], kinds: Sequence[str]) -> None:
        """Freeze, thaw, rebalance, set clocks wrong, stop, and replace the dead."""
        chance, cluster = self.chance, self.cluster
        while True:
            await asyncio.sleep(chance.random() * self._chaos_gap_seconds)
            match chance.choice(kinds):
                case "freeze":
                    self._freeze(chance.choice(machines), machines)
                case "thaw":
                    self._thaw(machines)
                case "share":
                    self._share_out(machines)
                case "stop":
                    self._stop_gracefully(chance.choice(machines))
                case "skew":
                    machine = chance.choice(machines)
                    machine.clock.skew_seconds = chance.choice([0, chance.uniform(-5, 5), chance.uniform(-40, 60), 600.0])
                    cluster.tell(f"the clock of {machine.name} is {machine.clock.skew_seconds:.1f} s wrong")
                case _:
                    await cluster.replace_dead(machines)

    def _freeze(self, machine: SimulatedMachine, machines: list[SimulatedMachine]) -> None:
        machine.process.freeze()
        self.cluster.tell(f"{machine.name} stands still")
        if self.chance.random() < 0.7:
            self._share_out(machines)

    def _stop_gracefully(self, machine: SimulatedMachine) -> None:
        for gateway in machine.gateways:
            gateway.stop()
        self.cluster.tell(f"{machine.name} is asked to stop")

    def _thaw(self, machines: list[SimulatedMachine]) -> None:
        for machine in machines:
            if not machine.process.running.is_set():
                machine.process.thaw()
                self.cluster.tell(f"{machine.name} goes on")

    def _share_out(self, machines: list[SimulatedMachine]) -> None:
        """Rebalance the partitions of some machines; each process learns of it at another moment."""
        self.cluster.rebalance(machines)
        self.cluster.tell(f"partitions of {machines[0].name} and others are rebalanced")
        for group in self.cluster.groups.values():
            for name in [machine.name for machine in machines if machine.name in group.members]:
                self.loop.call_later(self.chance.random() * 3, group.tell, name)

    # -- calm ----------------------------------------------------------------------------------------------------------

    async def _calm(self) -> None:
        """Stop all faults and bring everything back."""
        self.weather.clear()
        machines = self.cluster.machines
        self._thaw(machines)
        await self.cluster.replace_dead(machines)
        for machine in machines:
            machine.clock.skew_seconds = 0.0
        self.cluster.rebalance(machines)
        await asyncio.sleep(4)  # later than the last word of an earlier sharing out
        self.cluster.tell_all()
        self.cluster.tell("all faults end")

    async def _settle(self) -> list[str]:
        """Let time pass until everything has come to its end; return what has not within the bound."""
        self.era.go_on(QUIET_SPEED)
        until, domain_until = self.loop.time() + QUIET_SECONDS_MAX, self.era.now() + QUIET_DOMAIN_MAX
        while (waits := self._unsettled()) and self.loop.time() < until and self.era.now() < domain_until:
            await asyncio.sleep(0.25)
            await self.cluster.replace_dead(
                self.cluster.gateways
            )  # one that was asked to stop ends once its deliveries have
            self._skip()
        return [f"does not come to its end: {wait}" for wait in waits]

    def _skip(self) -> None:
        """Pass over hours in which nothing is due."""
        runners = self.cluster.runners("scheduler")
        if len(runners) < self.partitions or not self.traffic.is_idle or not self._has_read_everything():
            return
        if not self.providers.is_waited_for:
            return
        due = [lead.wake_at for runner in runners.values() for lead in _unfinished(runner) if lead.wake_at is not None]
        due += self.providers.due.values()
        if due and min(due) > self.era.now() + MINUTE:
            self.era.go_on(QUIET_SPEED, at=min(due))

    def _has_read_everything(self) -> bool:
        return all(
            runner.position.input_offset >= self._last(topic, partition)
            for role, topic in (("scheduler", CONTACTS_REQUESTS.name), ("accounts", ACCOUNTS_REQUESTS.name))
            for partition, runner in self.cluster.runners(role).items()
        )

    def _last(self, topic: str, partition: int) -> int:
        records = self.log.partition(topic, partition).records
        return records[-1].offset + 1 if records else 0

    def _unsettled(self) -> list[str]:
        """Return what is still under way."""
        waits = []
        contacts, accounts = self.cluster.runners("scheduler"), self.cluster.runners("accounts")
        if len(contacts) + len(accounts) < 2 * self.partitions:
            return ["not every partition is open"]
        if not self.providers.is_idle or not self.traffic.is_idle:
            waits.append("somebody is still about to ask or to answer")
        if not self._has_read_everything():
            waits.append("requests are unread")
        for runner in contacts.values():
            waits += [
                f"lead {lead.id} is {lead.status} ({lead.status_wait}), before step {lead.step}, wakes at {lead.wake_at}"
                for lead in _unfinished(runner)
            ]
        for runner in (*contacts.values(), *accounts.values()):
            if isinstance(runner._outbox, OutboxSender) and runner._outbox._waiting:
                waits.append(f"messages of {runner.aggregate.state_topic.name}[{runner.partition}] are on their way")
        waits += [f"a commit of {name}" for name in self._committing()]
        if not waits:
            waits += [f"the projection is behind in {name}" for name in self._behind()]
        return waits[:5]

    def _committing(self) -> list[str]:
        """Return where the log knows more than its owner does yet."""
        last = {place: self.log.partition(*place).records[-1:] for place in self._known()}
        ends = {place: from_json(found[0].value or b"", Decision).sequence for place, found in last.items() if found}
        return [f"{topic}[{number}]" for (topic, number), at in self._known().items() if ends.get((topic, number), 0) != at]

    def _behind(self) -> list[str]:
        positions = {(s.topic, s.partition): s.sequence for s in self.cluster.store._positions.values()}
        return [
            f"{topic}[{number}]" for (topic, number), at in self._known().items() if positions.get((topic, number), 0) < at
        ]

    def _known(self) -> dict[tuple[str, int], int]:
        """Return how many decisions the owner of each partition knows of."""
        return {
            (runner.aggregate.decisions_topic.name, partition): runner.position.sequence
            for role in ("scheduler", "accounts")
            for partition, runner in self.cluster.runners(role).items()
        }


def _unfinished(runner: Runner) -> list[Lead]:
    """Return the leads that are still on their way; one that was only captured may stay so."""
    leads = [from_pack(packed, Lead) for key, packed in runner.state.items() if key.startswith("lead/")]
    return [
        lead
        for lead in leads
        if lead.flight is not None or (lead.status in LIVE_STATUSES and (lead.status != "captured" or lead.wake_at))
    ]


def simulate(seed: int, *, has_gateways: bool = False) -> Result:
    """Run one seed, with real gateways or their stand-in. Raises what nothing in a run should raise."""
    return World(seed, has_gateways=has_gateways).run()


def try_out(seed: int, *, has_gateways: bool = False) -> Result:
    """Run one seed; what it raises is a finding."""
    try:
        return simulate(seed, has_gateways=has_gateways)
    except Exception:  # noqa: BLE001 - whatever it is, the other seeds are tried too
        return describe_error(seed)


def describe_error(seed: int) -> Result:
    """Return the error that is being handled as the finding of a run."""
    found = traceback.format_exc(limit=-6)
    return Result(seed=seed, findings=(found,), story=(), decisions=0, commands=0, kills=0, turns=0, digest="")
