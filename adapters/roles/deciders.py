"""The `scheduler` and `accounts` roles: run the partitions of an aggregate that the group assigns to this process."""

from collections import Counter

import structlog

from adapters.observability.first_commands import FirstCommands
from adapters.observability.metrics import Metrics
from adapters.observability.traces import Traces
from adapters.partitions.outbox import OutboxSender
from adapters.partitions.snapshots import FileSnapshots
from adapters.partitions.turns import Turns
from adapters.partitions.worker import RunnerWorker
from adapters.roles.context import Context, RoleAssignment
from adapters.roles.group import GroupRole
from engine.account.aggregate import AccountAggregate
from engine.contact.aggregate import ContactAggregate
from engine.law.pack import default_pack
from engine.partition.aggregate import Aggregate
from engine.partition.decider import Sealed
from engine.partition.ports import Appender, Outbox
from engine.partition.runner import CycleReport, Runner
from schemas.contact import Lead
from schemas.instant import SECOND, Instant
from schemas.topics import DEADLETTER

logger = structlog.get_logger(__name__)


def scheduler(context: Context, metrics: Metrics) -> GroupRole:
    """Return the role that decides on contacts."""
    default_pack().warm(context.clock.now())
    return _decider("scheduler", ContactAggregate(), context, metrics, adopts_rules=True)


def accounts(context: Context, metrics: Metrics) -> GroupRole:
    """Return the role that decides on companies."""
    return _decider("accounts", AccountAggregate(), context, metrics, adopts_rules=False)


def _decider(name: str, aggregate: Aggregate, context: Context, metrics: Metrics, *, adopts_rules: bool) -> GroupRole:
    folder = context.snapshot_folder
    changelog = context.names.of(aggregate.state_topic.name)
    snapshots = None if folder is None else FileSnapshots(folder, name, topic=changelog, deployment=context.deployment_id)

    observer = Observer(name, context.names.of(aggregate.requests_topic.name), metrics, context.traces)
    turns = Turns()

    def make_worker(partition: int, appender: Appender, _assignment: RoleAssignment) -> RunnerWorker:
        def outbox(stream: str) -> Outbox:
            return OutboxSender(stream, log=context.log, names=context.names, appender=appender)

        runner = Runner(
            aggregate,
            partition,
            log=context.log,
            clock=context.clock,
            outbox=outbox,
            versions=context.versions,
            rules_feed=context.rules if adopts_rules else None,
            published=None if adopts_rules else context.rules,
            made_topics=context.made_topics,
            snapshots=snapshots,
            names=context.names,
            skip=context.skipped.skip,
            turn=turns.take,
        )
        return RunnerWorker(runner, observer=observer, snapshots=snapshots)

    return GroupRole(name, aggregate.requests_topic, context, make_worker, compares_clocks=True)


class Observer:
    """A `RunnerObserver`: counts what the partitions of one role do, logs failed decisions, and traces where that is on."""

    def __init__(self, role: str, topic: str, metrics: Metrics, traces: Traces | None = None) -> None:
        self._role = role
        self._traces = traces
        self._topic = topic
        self._metrics = metrics
        self._first_commands = FirstCommands(lambda kind, seconds: metrics.first_command.labels(kind).observe(seconds))

    def restored(self, runner: Runner, seconds: float) -> None:
        """Count a restore."""
        self._metrics.restores.labels(self._role, runner.restored_from).inc()
        self._metrics.restore_seconds.labels(self._role).observe(seconds)
        self._set_gauges(runner)

    def fenced(self, _runner: Runner) -> None:
        """Count a partition whose owner was fenced by a newer one."""
        self._metrics.fenced.labels(self._role).inc()

    def cycled(self, runner: Runner, report: CycleReport) -> None:
        """Count what one transaction decided, and log what failed."""
        self._set_gauges(runner)
        if not report.decisions:
            return
        self._metrics.commit_seconds.labels(self._role).observe(report.commit_seconds)
        # Thousands of decisions in one transaction have two or three verdicts: each counter is looked up once.
        for verdict, count in Counter(sealed.decision.verdict for sealed in report.decisions).items():
            self._metrics.decisions.labels(self._role, verdict).inc(count)
        for sealed in report.decisions:
            self._count(sealed, runner.partition)
        self._first_commands.committed(report)
        if self._traces is not None:
            self._traces.decided(self._topic, runner.partition, report)
        logger.debug(
            "cycle.committed",
            role=self._role,
            partition=runner.partition,
            inputs=report.inputs,
            ticks=report.ticks,
            sequence=runner.position.sequence,
            seconds=round(report.commit_seconds, 4),
        )

    def _set_gauges(self, runner: Runner) -> None:
        partition = str(runner.partition)
        self._metrics.lag.labels(self._topic, partition).set(runner.lag_records)
        self._metrics.timers_pending.labels(self._role, partition).set(runner.timers_pending)
        self._metrics.outbox_pending.labels(self._role, partition).set(runner.outbox_pending)

    def _count(self, sealed: Sealed, partition: int) -> None:
        decision = sealed.decision
        for emitted in decision.commands:
            if emitted.id.startswith("fence/"):
                continue
            kind = emitted.topic.rpartition(".")[2]
            self._metrics.emitted.labels(kind).inc()
            planned_at = _planned_at(sealed, emitted.id)
            if planned_at is not None:
                self._metrics.lateness.labels(kind).observe(max(0, decision.decided_at - planned_at) / SECOND)
        if any(record.topic == DEADLETTER.name for record in sealed.records):
            self._metrics.dead_letters.labels(self._topic).inc()
        if decision.verdict == "failed":
            logger.error("decision.failed", role=self._role, partition=partition, error=decision.error)


def _planned_at(sealed: Sealed, command_id: str) -> Instant | None:
    """Return the `next_action_at` that a command was planned for, or None where no plan led to it."""
    for _, entity in sealed.changes:
        if isinstance(entity, Lead) and entity.flight is not None and entity.flight.command_id == command_id:
            return entity.planned_at
    return None
