"""What runs? The real hosts, runners, outboxes, feeds and projectors, in processes that are killed, frozen and replaced."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from random import Random
from typing import Any

from adapters.embedded.log import EmbeddedLog
from adapters.gateway.contact_holds import HoldsOfRules
from adapters.gateway.gateway import Gateway
from adapters.observability.metrics import Metrics
from adapters.partitions.feed import RulesTopic
from adapters.partitions.group_offsets import NO_OFFSET, GroupOffsets
from adapters.partitions.host import PartitionHost
from adapters.partitions.outbox import OutboxSender
from adapters.partitions.turns import Turns
from adapters.partitions.worker import RunnerWorker
from adapters.projector import projector as projecting
from adapters.projector.projector import Projector
from engine.account.aggregate import AccountAggregate
from engine.contact.aggregate import ContactAggregate
from engine.partition.aggregate import Aggregate
from engine.partition.ports import LogError, Snapshot, Snapshots
from engine.partition.runner import CycleLimits, CycleReport, Runner, TopicNames
from schemas.instant import Instant
from tests.adapters.projector.memory import MemoryStore
from tests.contact_ids import CONTACT_IDS
from tests.simulation.carrier import KINDS, Carrier, GatewayClock
from tests.simulation.network import ClaimsLine, LogLine, NetworkLink, StoreLine, Weather
from tests.simulation.virtual import PROCESS, Era, Process, VirtualClock, VirtualLoop

VERSIONS = {"leadclock": "simulated"}
RETRY_SECONDS = 0.5
REPORT_SECONDS = 0.5
"""How often a member commits what it has reported, so that it does so between one sharing out and the next."""

SNAPSHOT_SECONDS = 0.7
"""So often that a former owner may well begin one before it knows that it is none."""


class MemorySnapshots:
    """The snapshots of one machine: a whole one outlives its process, one that was not finished does not."""

    def __init__(self, chance: Random, is_used: bool) -> None:
        self._kept: dict[tuple[str, int], tuple[str, list[Snapshot]]] = {}
        self._chance = chance
        self.is_used = is_used

    def of(self, name: str) -> "NamedSnapshots":
        """Return those of one role."""
        return NamedSnapshots(self, name)

    def load(self, name: str, partition: int, topic_id: str, begun_after: Instant) -> Iterator[Snapshot] | None:
        kept = self._kept.get((name, partition))
        if kept is None or kept[0] != topic_id or kept[1][0].begun_at < begun_after or self._chance.random() < 0.1:
            return None
        return iter(kept[1])

    async def save(self, name: str, partition: int, topic_id: str, slices: Iterator[Snapshot]) -> None:
        whole = []
        for one in slices:
            whole.append(one)
            await asyncio.sleep(self._chance.random() * 0.2)
        self._kept[name, partition] = topic_id, whole


class NamedSnapshots:
    """Keeps the promises of `engine.partition.ports.Snapshots`."""

    def __init__(self, machine: MemorySnapshots, name: str) -> None:
        self._machine = machine
        self._name = name

    def load(self, partition: int, topic_id: str, *, begun_after: Instant) -> Iterator[Snapshot] | None:
        return self._machine.load(self._name, partition, topic_id, begun_after)

    async def save(self, partition: int, topic_id: str, slices: Iterator[Snapshot]) -> None:
        await self._machine.save(self._name, partition, topic_id, slices)


class SimulatedMembership:
    """What one process believes its partitions to be: it hears of changes late, and of none while it is frozen."""

    def __init__(self, group: "SimulatedGroup", line: NetworkLink) -> None:
        self._group = group
        self._line = line
        self.assigned: frozenset[int] | None = None
        self._positions = GroupOffsets()
        self._generation = -1
        self.changed = asyncio.Event()

    def tell(self, partitions: frozenset[int]) -> None:
        """Say what is its own from now on."""
        if self.assigned != partitions:
            self.assigned = partitions
            self.changed.set()

    def changes(self) -> "SimulatedMembership":
        return self

    def __aiter__(self) -> "SimulatedMembership":
        return self

    async def __anext__(self) -> frozenset[int]:
        await self.changed.wait()
        await self._line.cross()
        self.changed.clear()
        assigned = self.assigned or frozenset()
        self._positions.keep_only(assigned)
        return assigned

    async def confirm(self, partition: int) -> bool:
        await self._line.ask()
        return self._group.owner.get(partition) == self._line.process.name

    def report(self, partition: int, offset: int) -> None:
        self._positions.report(partition, offset)

    async def keep_reporting(self) -> None:
        """Commit now and then what was reported, as `adapters.kafka.assignment` does."""
        while True:
            await asyncio.sleep(REPORT_SECONDS)
            await self._line.cross()
            self._commit_reported()

    def _commit_reported(self) -> None:
        """Commit what is newer than what the group holds; the group takes no commit of another generation."""
        if self._generation != self._group.generation:
            self._generation = self._group.generation
            self._positions.forget_held()
        for partition in self._positions.unknown():
            self._positions.learn(partition, self._group.held.get(partition, NO_OFFSET))
        for partition, offset in self._positions.newer().items():
            if self._group.owner.get(partition) == self._line.process.name:
                self._group.commit(partition, offset)
                self._positions.learn(partition, offset)


class SimulatedGroup:
    """Which process is meant to run which partition of a role. Only liveness rests on it, so it may be wrong for a while."""

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self.owner: dict[int, str] = {}
        self.members: dict[str, SimulatedMembership] = {}
        self.generation = 0
        self.held: dict[int, int] = {}
        self.went_back: list[str] = []

    def commit(self, partition: int, offset: int) -> None:
        """Keep a committed offset; note one that goes back."""
        held = self.held.get(partition, NO_OFFSET)
        if offset < held:
            self.went_back.append(f"partition {partition} went from {held} back to {offset}")
        self.held[partition] = offset

    def join(self, line: NetworkLink) -> SimulatedMembership:
        """Take a process in; it has no partitions until the next rebalance."""
        membership = self.members[line.process.name] = SimulatedMembership(self, line)
        return membership

    def share_out(self, names: Sequence[str], chance: Random) -> None:
        """Assign each partition to one of these, by chance. No member learns of it yet."""
        self.generation += 1
        self.owner = {partition: chance.choice(names) for partition in range(self.partitions)}

    def tell(self, name: str) -> None:
        """Let a member hear what is its own."""
        member = self.members.get(name)
        if member is not None:
            member.tell(frozenset(partition for partition, owner in self.owner.items() if owner == name))


class SimulatedMachine:
    """A name under which one process after the other runs, with the snapshots that they leave behind."""

    def __init__(
        self, name: str, cluster: "SimulatedCluster", start: Callable[["SimulatedMachine"], Coroutine[Any, Any, None]]
    ) -> None:
        self.name = name
        self.cluster = cluster
        self.snapshots = MemorySnapshots(cluster.chance, cluster.uses_snapshots)
        self.clock = VirtualClock(cluster.era)
        self.hosts: dict[str, PartitionHost] = {}
        self.gateways: list[Gateway] = []
        self.faults: list[str] = []
        self._start = start
        self.process = Process(name, self.faults)

    def boot(self) -> None:
        """Start a new process."""
        self.process = Process(self.name, self.faults)
        self.hosts = {}
        self.gateways = []
        context = copy_context()
        context.run(PROCESS.set, self.process)
        context.run(asyncio.ensure_future, self._start(self))

    def kill(self) -> None:
        """Kill the process that runs here."""
        self.process.kill()

    @property
    def line(self) -> NetworkLink:
        """The way out for the present process."""
        return NetworkLink(self.process, self.cluster.weather)

    @property
    def log(self) -> LogLine:
        """The log, as the present process reaches it."""
        return LogLine(self.cluster.log, self.line, lambda: self.cluster.made_topics)


class SimulatedCluster:
    """A deployment over one log and one database: machines for schedulers (contacts, accounts), projectors, and gateways.

    Without a `carrier` there are no gateways: somebody else carries out (standin.py).
    """

    def __init__(
        self,
        *,
        loop: VirtualLoop,
        log: EmbeddedLog,
        chance: Random,
        weather: Weather,
        era: Era,
        carrier: Carrier | None,
        partitions: int,
        uses_snapshots: bool,
    ) -> None:
        self.loop = loop
        self.log = log
        self.chance = chance
        self.weather = weather
        self.era = era
        self.uses_snapshots = uses_snapshots
        self.made_topics: Mapping[str, str] = {}
        """The ids of the topics that were made for the deployment; where there are none, no role compares them."""
        self.store = MemoryStore()
        self.groups = {name: SimulatedGroup(partitions) for name in ("scheduler", "accounts", "projector")}
        self.schedulers = [SimulatedMachine(f"scheduler-{n}", self, run_scheduler) for n in range(2)]
        self.projectors = [SimulatedMachine(f"projector-{n}", self, run_projector) for n in range(2)]
        self.gateways: list[SimulatedMachine] = []
        if carrier is not None:
            self.groups["gateway"] = SimulatedGroup(partitions)
            self.gateways = [SimulatedMachine(f"gateway-{n}", self, partial(run_gateways, carrier)) for n in range(2)]
        self.story: list[str] = []
        self._dead: list[Process] = []

    @property
    def machines(self) -> list[SimulatedMachine]:
        """All of them."""
        return self.schedulers + self.projectors + self.gateways

    def tell(self, what: str) -> None:
        """Note what was done to the deployment."""
        self.story.append(f"{self.loop.time():8.3f} s  {what}")

    def boot(self) -> None:
        """Start everything and share the partitions out."""
        for machine in self.machines:
            machine.boot()
        self.rebalance(self.machines)
        self.tell_all()

    def rebalance(self, among: Sequence[SimulatedMachine]) -> None:
        """Rebalance the partitions of these machines among those that seem to be alive."""
        for role, group in self.groups.items():
            machines = {"projector": self.projectors, "gateway": self.gateways}.get(role, self.schedulers)
            if machines[0] in among:
                seeming = [m.name for m in machines if m.process.is_alive and m.process.running.is_set()]
                group.share_out(seeming or [machines[0].name], self.chance)

    def tell_all(self) -> None:
        """Let every process hear what is its own."""
        for group in self.groups.values():
            for name in list(group.members):
                group.tell(name)

    async def replace_dead(self, machines: Sequence[SimulatedMachine]) -> None:
        """Wait until nothing is left of the dead among these, and start new processes in their place."""
        for machine in machines:
            if not machine.process.is_alive:
                self.tell(f"{machine.name} is found dead")
                await machine.process.gone()
                machine.boot()
                self.tell(f"{machine.name} starts again")

    def faults(self) -> list[str]:
        """Return what no process should have met."""
        return [fault for machine in self.machines for fault in machine.faults]

    def runners(self, role: str) -> dict[int, Runner]:
        """Return the runner of each partition, from the process that it belongs to."""
        found: dict[int, Runner] = {}
        for partition, owner in self.groups[role].owner.items():
            host = next(m for m in self.schedulers if m.name == owner).hosts.get(role)
            worker = None if host is None or partition not in host.ready else host.workers.get(partition)
            if isinstance(worker, RunnerWorker):
                found[partition] = worker.runner
        return found

    async def stop(self) -> None:
        """Kill everything that is left."""
        for machine in self.machines:
            machine.kill()
        for machine in self.machines:
            await machine.process.gone()


async def run_scheduler(machine: SimulatedMachine) -> None:
    """Be one process that decides: as `adapters.roles` puts it together."""
    line, cluster = machine.line, machine.cluster
    log = machine.log
    rules = RulesTopic(log, TopicNames())
    stop = asyncio.Event()
    follower = asyncio.create_task(rules.follow(stop))
    while True:
        try:
            await rules.refresh()
            break
        except LogError:
            await asyncio.sleep(RETRY_SECONDS)
    aggregates: list[tuple[str, Aggregate]] = [("scheduler", ContactAggregate()), ("accounts", AccountAggregate())]
    hosts = []
    for role, aggregate in aggregates:
        membership = cluster.groups[role].join(line)
        host = PartitionHost(role, await worker_maker(machine, log, role, aggregate, rules), membership)
        machine.hosts[role] = host
        cluster.groups[role].tell(machine.name)
        hosts += [asyncio.create_task(host.run(stop)), asyncio.create_task(membership.keep_reporting())]
    await asyncio.gather(follower, *hosts)


async def worker_maker(
    machine: SimulatedMachine, log: LogLine, role: str, aggregate: Aggregate, rules: RulesTopic
) -> Callable[[int], RunnerWorker]:
    """Return what makes the worker of a partition."""
    snapshots = machine.snapshots.of(role) if machine.snapshots.is_used else None
    appender = await log.appender()
    turns = Turns()

    def make(partition: int) -> RunnerWorker:
        runner = Runner(
            aggregate,
            partition,
            log=log,
            clock=machine.clock,
            outbox=lambda stream: OutboxSender(stream, log=log, names=TopicNames(), appender=appender),
            versions=VERSIONS,
            rules_feed=rules if role == "scheduler" else None,
            published=rules if role == "accounts" else None,
            made_topics=lambda: machine.cluster.made_topics,
            snapshots=snapshots,
            limits=CycleLimits(idle_poll_seconds=1.0),
            turn=turns.take,
        )
        return WatchedWorker(machine.process, runner, snapshots)

    return make


class WatchedWorker(RunnerWorker):
    """A worker of whom it is noted what it should never raise; its host heals it all the same."""

    def __init__(self, process: Process, runner: Runner, snapshots: Snapshots | None) -> None:
        super().__init__(runner, observer=Nobody(), snapshots=snapshots, snapshot_seconds=SNAPSHOT_SECONDS)
        self._process = process

    async def open(self) -> None:
        with self._watched():
            await super().open()

    async def cycle(self) -> int:
        with self._watched():
            return await super().cycle()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except LogError:
            raise
        except Exception as error:
            self._process.faults.append(f"{self._process.name}: a partition raised {type(error).__name__}: {error}")
            raise


class Nobody:
    """Metrics are tested elsewhere."""

    def restored(self, runner: Runner, seconds: float) -> None: ...

    def cycled(self, runner: Runner, report: CycleReport) -> None: ...

    def fenced(self, runner: Runner) -> None: ...


async def run_projector(machine: SimulatedMachine) -> None:
    """Be one process that projects."""
    line, cluster = machine.line, machine.cluster
    projector = Projector(
        machine.log,
        StoreLine(cluster.store, line),
        machine.clock,
        contact_ids=CONTACT_IDS,
        limits=projecting.ProjectorLimits(records_max=cluster.chance.choice([2_000, 7]), poll_seconds=1.0),
        jitter=cluster.chance.random,
    )
    membership = cluster.groups["projector"].join(line)
    cluster.groups["projector"].tell(machine.name)
    following = asyncio.create_task(follow(membership, projector))
    await asyncio.gather(projector.run(asyncio.Event()), following)


async def follow(membership: SimulatedMembership, projector: Projector) -> None:
    """Tell a projector what is its own."""
    async for partitions in membership:
        projector.assign(sorted(partitions))


METRICS = Metrics()
"""Of all gateways: what they count is tested elsewhere."""


async def run_gateways(carrier: Carrier, machine: SimulatedMachine) -> None:
    """Be one process that carries out, on every channel, until it is asked to stop."""
    line, cluster = machine.line, machine.cluster
    rules = RulesTopic(machine.log, TopicNames())
    reading = asyncio.create_task(rules.follow(asyncio.Event()))
    gateways = [
        Gateway(
            carrier.channel(kind, line),
            log=machine.log,
            deliveries=ClaimsLine(carrier.claims, line),
            clock=GatewayClock(machine.clock),
            metrics=METRICS,
            holds=HoldsOfRules(rules),
            made_topics=lambda: cluster.made_topics,
        )
        for kind in KINDS
    ]
    membership = cluster.groups["gateway"].join(line)
    cluster.groups["gateway"].tell(machine.name)
    following = asyncio.create_task(share(membership, gateways))
    machine.gateways = gateways
    await asyncio.gather(*(gateway.run() for gateway in gateways))
    following.cancel()
    reading.cancel()
    line.process.is_alive = False  # it has ended by itself


async def share(membership: SimulatedMembership, gateways: Sequence[Gateway]) -> None:
    """Tell gateways what is their own."""
    async for partitions in membership:
        for gateway in gateways:
            gateway.assign(partitions)
