"""The `scheduler` and `accounts` roles: run the partitions of an aggregate that the group assigns to this process."""

import structlog

from adapters.observability.metrics import Metrics
from adapters.partitions.outbox import OutboxSender
from adapters.partitions.snapshots import FileSnapshots
from adapters.partitions.worker import RunnerWorker
from adapters.roles.context import Context, RoleAssignment
from adapters.roles.group import GroupRole
from engine.account.aggregate import AccountAggregate
from engine.contact.aggregate import ContactAggregate
from engine.law.pack import default_pack
from engine.partition.aggregate import Aggregate
from engine.partition.ports import Appender, Outbox
from engine.partition.runner import Report, Runner

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
    snapshots = None if folder is None else FileSnapshots(folder, name)

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
            snapshots=snapshots,
            names=context.names,
        )
        return RunnerWorker(runner, observe=lambda one, report: _observe(name, metrics, one, report), snapshots=snapshots)

    return GroupRole(name, aggregate.requests_topic, context, make_worker)


def _observe(role: str, metrics: Metrics, runner: Runner, report: Report) -> None:
    """Count what one transaction decided, and say what failed."""
    if not report.decisions:
        return
    partition = str(runner.partition)
    metrics.commit_seconds.labels(role).observe(report.commit_seconds)
    metrics.outbox_pending.labels(role, partition).set(runner.outbox_pending)
    for sealed in report.decisions:
        metrics.decisions.labels(role, sealed.decision.verdict).inc()
        for emitted in sealed.decision.commands:
            metrics.emitted.labels(emitted.topic.rpartition(".")[2]).inc()
        if sealed.decision.verdict == "failed":
            logger.error("a decision failed", role=role, partition=partition, error=sealed.decision.error)
    logger.debug(
        "committed",
        role=role,
        partition=partition,
        inputs=report.inputs,
        ticks=report.ticks,
        sequence=runner.position.sequence,
        seconds=round(report.commit_seconds, 4),
    )
