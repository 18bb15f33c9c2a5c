"""The `intake` role: turn records of `leads.inbox`, and after them of `leads.inbox.bulk`, into requests."""

import asyncio
from functools import partial

from adapters.intake.backpressure import Backpressure
from adapters.intake.intake import IntakePartition
from adapters.intake.lost_offsets import VerifiedCheckpoints
from adapters.intake.rights import InboxRights
from adapters.observability.metrics import Metrics
from adapters.roles.context import Context, RoleAssignment
from adapters.roles.group import GroupRole
from engine.partition.ports import Appender
from schemas.topics import CONTACTS_REQUESTS, INBOXES, LEADS_INBOX, LEADS_INBOX_BULK, Topic

GROUPS = {LEADS_INBOX.name: "intake", LEADS_INBOX_BULK.name: "intake.bulk"}
"""Inbox -> the consumer group whose committed offsets say where intake resumes in it."""


class IntakeRole:
    """One consumer group per inbox, both under one backpressure."""

    name = "intake"

    def __init__(self, context: Context, metrics: Metrics) -> None:
        self._decided = context.progress("scheduler", CONTACTS_REQUESTS)
        backpressure = Backpressure(None if self._decided is None else self._decided.offsets, context.clock)
        self._inboxes = {inbox.name: _build_reader(inbox, context, metrics, backpressure) for inbox in INBOXES}

    async def run(self, stop: asyncio.Event) -> None:
        """Pass on until `stop` is set. An inbox that cannot be read holds up no other."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for inbox, reader in self._inboxes.items():
                    tasks.create_task(reader.run(stop), name=inbox)
        finally:
            if self._decided is not None:
                await self._decided.close()

    def problems(self) -> dict[str, str]:
        """Return what keeps an inbox from being read, by inbox and source."""
        return {
            f"{inbox} {source}": problem
            for inbox, reader in self._inboxes.items()
            for source, problem in reader.problems().items()
        }


def _build_reader(inbox: Topic, context: Context, metrics: Metrics, backpressure: Backpressure) -> GroupRole:
    topic, group = context.names.of(inbox.name), GROUPS[inbox.name]
    # Without a group the offsets are in a local file, which may be deleted at any time.
    restore = partial(restore_command, inbox) if context.has_groups else None

    def make_worker(partition: int, appender: Appender, assignment: RoleAssignment) -> IntakePartition:
        def observe(_passed_on: int, dead: int, unread: int) -> None:
            metrics.lag.labels(topic, str(partition)).set(unread)
            if dead:
                metrics.dead_letters.labels(topic).inc(dead)

        return IntakePartition(
            inbox,
            partition,
            log=context.log,
            names=context.names,
            rules=context.rules,
            appender=appender,
            clock=context.clock,
            checkpoints=VerifiedCheckpoints(inbox, assignment, context.log, context.names, restore_command=restore),
            backpressure=backpressure,
            observe=observe,
            rights=InboxRights(context.settings.secret_key, trusts_inboxes=context.settings.inbox_trusted == "yes"),
            traces=context.traces,
        )

    return GroupRole(group, inbox, context, make_worker)


def restore_command(inbox: Topic, partition: int, offset: int) -> str:
    """Return what an operator types to restore a lost offset."""
    of_bulk = " --bulk" if inbox == LEADS_INBOX_BULK else ""
    return f"leadclock topics set-offset{of_bulk} --partition {partition} --offset {offset}"
