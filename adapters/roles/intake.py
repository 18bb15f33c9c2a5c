"""The `intake` role: pass on what producers put into `leads.inbox`."""

from adapters.intake.intake import IntakePartition
from adapters.intake.missing import SafeBookmarks
from adapters.intake.pacing import Pacing
from adapters.observability.metrics import Metrics
from adapters.roles.context import Context, RoleAssignment
from adapters.roles.group import GroupRole
from engine.partition.ports import Appender
from schemas.topics import CONTACTS_REQUESTS, LEADS_INBOX


def intake(context: Context, metrics: Metrics) -> GroupRole:
    """Return the role that works through the inbox."""
    inbox = context.names.of(LEADS_INBOX.name)
    # Without a group the offsets are a file of ours, which may be deleted at any time.
    restoring = None if context.progress("intake", LEADS_INBOX) is None else restore_command
    pacing = Pacing(context.progress("scheduler", CONTACTS_REQUESTS), context.clock)

    def make_worker(partition: int, appender: Appender, assignment: RoleAssignment) -> IntakePartition:
        def observe(_passed_on: int, dead: int, unread: int) -> None:
            metrics.lag.labels(inbox, str(partition)).set(unread)
            if dead:
                metrics.dead_letters.labels(inbox).inc(dead)

        return IntakePartition(
            partition,
            log=context.log,
            names=context.names,
            rules=context.rules,
            appender=appender,
            clock=context.clock,
            bookmarks=SafeBookmarks(assignment, context.log, context.names, restoring=restoring),
            pacing=pacing,
            observe=observe,
        )

    return GroupRole("intake", LEADS_INBOX, context, make_worker)


def restore_command(partition: int, offset: int) -> str:
    """Return what an operator types to restore a lost offset."""
    return f"leadclock topics set-offset --partition {partition} --offset {offset}"
