"""What do all roles share? The log, the clock, topic names, the rules, and the versions that decisions depend on."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import phonenumbers

from adapters.clock import Origin, SystemClock
from adapters.data_digest import data_digest, refuse_topics
from adapters.embedded.assignment import StaticAssignment
from adapters.embedded.compaction import Compaction, policy
from adapters.embedded.log import EmbeddedLog
from adapters.embedded.remote import EMBEDDED, RemoteLog
from adapters.kafka.acls import ACCESS
from adapters.kafka.assignment import GroupAssignment
from adapters.kafka.cluster_metadata import ClusterMetadata
from adapters.kafka.committed_offsets import CommittedOffsets, set_offset
from adapters.kafka.connection import KafkaConnection
from adapters.kafka.members import Member, list_members
from adapters.kafka.topics import PARTITIONS, Drift, TopicSpec, compare_topics, find_too_small, prepare_topics
from adapters.observability.skipped import SkippedRecords
from adapters.observability.traces import Traces
from adapters.partitions.checkpoint import Checkpoint
from adapters.partitions.feed import RulesTopic
from adapters.partitions.guarded_appender import GuardedAppender
from adapters.roles.broker import connection_of, describe, describing_log_errors, log_of
from adapters.settings import PREFIX, Settings
from engine.calendar.zones import TZDATA_VERSION
from engine.identity import ContactIds
from engine.law.pack import default_pack
from engine.partition.ports import Appender, Log, LogError
from engine.partition.runner import TopicNames
from engine.submission.place import places_version
from schemas.deployment import Deployment
from schemas.instant import DAY
from schemas.topics import TOMBSTONE_RETENTION_MS, TOPICS, Topic

REPORT_SECONDS = 1.0
"""How often offsets are committed to the group; after a crash, what came after the last commit is read again."""

SCHEDULER_REPORT_SECONDS = 0.02
"""Intake's backpressure reads the schedulers' offsets: while they are old it waits, and passes on more at a time."""

MESSAGE_BYTES_MAX = 1_048_588
"""Kafka's default, set on each topic as a broker's own may be smaller: `RECORD_BYTES_MAX` and its framing."""

AT_LEAST = frozenset({"retention.ms", "delete.retention.ms", "max.message.bytes"})
"""Topic settings that an operator may raise."""

DEADLETTER_BYTES_MAX = 2_097_152
"""A dead letter holds the refused record whole, and more headers: twice what any other topic takes."""


class RoleAssignment(Protocol):
    """A `GroupAssignment`, or all partitions where there is no group. Contract: tests/adapters/assignment_contract.py."""

    async def start(self) -> None:
        """Join the group."""
        ...

    def changes(self) -> AsyncIterator[frozenset[int]]:
        """Yield the partitions that are assigned to this process, each time they change."""
        ...

    async def confirm(self, partition: int) -> bool:
        """Return whether a partition is still assigned to this process."""
        ...

    def report(self, partition: int, offset: int) -> None:
        """Note the offset before which a partition is done; it is committed soon."""
        ...

    async def save_checkpoint(self, partition: int, checkpoint: Checkpoint) -> None:
        """Commit a checkpoint of a partition now. Raises `LogError`."""
        ...

    async def load_checkpoint(self, partition: int) -> Checkpoint | None:
        """Return the last checkpoint of a partition, or None. Raises `LogError`."""
        ...

    async def close(self) -> None:
        """Leave the group."""
        ...


class Context:
    """One process's view of a deployment."""

    def __init__(self, settings: Settings, log: Log, connection: KafkaConnection | None) -> None:
        self.settings = settings
        self.log = log
        self.names = TopicNames(settings.topic_prefix)
        self.clock = SystemClock(origin_of(settings))
        self.skipped = SkippedRecords()
        self.rules = RulesTopic(log, self.names, self.skipped, partial(describe, settings), partial(check_digest, settings))
        self.versions = versions()
        self.traces: Traces | None = None
        """Set by a process that has an endpoint for them."""
        self._own_ports = set(settings.webhook_forbidden_ports)
        self._connection = connection

    @property
    def own_ports(self) -> Collection[int]:
        """Return the ports that no webhook may reach on private networks, as known so far."""
        return self._own_ports if self.settings.webhook_own_ports == "refuse" else frozenset()

    def own(self, *ports: int) -> None:
        """Add ports that this deployment listens on."""
        self._own_ports.update(ports)

    async def assignment(self, role: str, topic: Topic) -> RoleAssignment:
        """Join the group of a role over a topic."""
        name = self.names.of(topic.name)
        if self._connection is None:
            folder = self.snapshot_folder
            file = None if folder is None else folder / f"{role}.offsets.json"
            return StaticAssignment(await self.log.partition_count(name), file)
        return GroupAssignment(
            self._connection,
            self._group(role),
            name,
            session_seconds=self.settings.kafka_session_seconds,
            report_seconds=SCHEDULER_REPORT_SECONDS if role == "scheduler" else REPORT_SECONDS,
        )

    @property
    def has_groups(self) -> bool:
        """Return whether consumer groups assign the partitions and store the offsets."""
        return self._connection is not None

    def progress(self, role: str, topic: Topic) -> CommittedOffsets | None:
        """Return the committed offsets of a role's group on a topic, None without groups. The caller closes them."""
        if self._connection is None:
            return None
        return CommittedOffsets(self._connection, self._group(role), self.names.of(topic.name))

    async def members(self, roles: Sequence[str]) -> dict[str, int]:
        """Return the number of group members of each of these roles that has any. Raises `LogError`."""
        return {role: len(members) for role, members in (await self.owners(roles)).items()}

    async def owners(self, roles: Sequence[str]) -> dict[str, list[Member]]:
        """Return the group members of each of these roles that has any. Raises `LogError`."""
        if self._connection is None:
            return {}
        roles_of = {self._group(role): role for role in roles}
        found = await list_members(self._connection, list(roles_of))
        return {roles_of[group]: members for group, members in found.items()}

    async def set_offset(self, role: str, topic: Topic, partition: int, offset: int) -> None:
        """Set the offset at which a group without members resumes. Raises `LogError`.

        Not retryable where the group has members, or where the topic has no such offset.
        """
        name = self.names.of(topic.name)
        if self._connection is None:
            raise LogError("there are no groups without Kafka: offsets are restored by themselves", retryable=False)
        running = (await self.members([role])).get(role, 0)
        if running:
            raise LogError(f"{running} of `leadclock {_process_of(role)}` run: stop them first", retryable=False)
        if partition >= (count := await self.log.partition_count(name)):
            raise LogError(f"{name} has {count} partitions, from 0 on", retryable=False)
        reader = await self.log.reader(name, [partition])
        try:
            end = await reader.end(partition)
        finally:
            await reader.close()
        if offset > end:
            raise LogError(f"{name}[{partition}] ends at {end}", retryable=False)
        await set_offset(self._connection, self._group(role), name, partition, Checkpoint(offset))

    async def cluster_id(self) -> str:
        """Return Kafka's id of the cluster, empty without Kafka. Raises `LogError`."""
        if self._connection is None:
            return ""
        metadata = ClusterMetadata(self._connection)
        try:
            return await metadata.cluster_id()
        finally:
            await metadata.close()

    def _group(self, role: str) -> str:
        return f"{self.settings.app}.{self.settings.topic_prefix}{role}"

    def deployment_id(self) -> str:
        """Return the id of the deployment that the topics name, empty until it was read."""
        return "" if self.rules.deployment is None else self.rules.deployment.id

    def contact_ids(self) -> ContactIds:
        """Return the contact ids of the deployment, once its identity was read. Raises `LogError`."""
        found = self.rules.contact_ids
        if found is None:
            raise LogError(f"{topics_of(self.settings)} have no identity that was read: it holds the secret of contact ids")
        return found

    async def appender(self) -> Appender:
        """Return a new appender, which refuses topics that are not those that were made. Raises `LogError`."""
        return GuardedAppender(await self.log.appender(), self.log, self.settings.topic_prefix, self.made_topics)

    def made_topics(self) -> Mapping[str, str]:
        """Return the ids of the topics that were made, by name without the prefix; none until the identity was read."""
        return {} if self.rules.deployment is None else self.rules.deployment.topics

    @property
    def snapshot_folder(self) -> Path | None:
        """Return the folder of the snapshots, or None where none are stored."""
        return None if self.settings.state_dir is None else Path(self.settings.state_dir)


def topics_of(settings: Settings) -> str:
    """Return how a sentence names the topics of a deployment."""
    named = f"topics {settings.topic_prefix}*" if settings.topic_prefix else "topics"
    return f"the {named} at {settings.kafka_bootstrap}"


def check_digest(settings: Settings, found: str | None) -> None:
    """Compare the digest beside the identity of the topics. Raises `OtherDataError`."""
    if found != data_digest():
        raise refuse_topics(topics_of(settings), found)


def _process_of(role: str) -> str:
    """Return the name of the command that runs a role; `intake.bulk` is a part of `intake`."""
    return role.partition(".")[0]


def origin_of(settings: Settings) -> Origin:
    """Return where the domain clock of a deployment begins, and how fast it runs."""
    if settings.clock_speed == 1.0 and not settings.clock_wall_at:
        return Origin()
    return Origin(settings.clock_wall_at, settings.clock_domain_at, settings.clock_speed)


def versions() -> dict[str, str]:
    """Return the versions of everything that a decision may depend on; recorded where they change."""
    return {
        "leadclock": version("leadclock"),
        "tzdata": TZDATA_VERSION,
        "phonenumbers": phonenumbers.__version__,
        "law": default_pack().stamp,
        "holidays": version("holidays"),
        "places": places_version(),
        "cldr": version("tzlocal"),
    }


@asynccontextmanager
async def open_context(settings: Settings, log: EmbeddedLog | None = None) -> AsyncIterator[Context]:
    """Connect to the log (or take the embedded one), follow the rules, and close both at the end.

    Raises `LogUnavailableError` where the block ends because the log does not answer.
    """
    is_embedded = log is not None or settings.kafka_bootstrap.startswith(EMBEDDED)
    connection = None if is_embedded else connection_of(settings)
    opened: Log = log or log_of(settings)
    context = Context(settings, opened, connection)
    stop = asyncio.Event()
    follower = asyncio.create_task(context.rules.follow(stop), name="rules")
    try:
        with describing_log_errors(settings):
            yield context
    finally:
        stop.set()
        await asyncio.gather(follower, return_exceptions=True)
        await context.rules.close()
        if log is None:
            await opened.close()


def describe_failure(settings: Settings, error: Exception) -> str:
    """Return one sentence about a failure of the log or of the database, for roles that need both."""
    if isinstance(error, LogError):
        return describe(settings, error)
    # Loaded only where there is a database: a scheduler starts without it.
    database_errors = import_module("adapters.postgres.database_errors")
    cause = error.__cause__
    return (
        str(database_errors.describe_database_error(settings.postgres_dsn, cause))
        if isinstance(cause, database_errors.FAILURES)
        else str(error)
    )


def specs(settings: Settings, identity: Deployment | None = None) -> list[TopicSpec]:
    """Return every topic as this version needs it; a deployment with an identity has its own number of partitions."""
    names = TopicNames(settings.topic_prefix)
    count = settings.partitions if identity is None else identity.partitions
    return [
        TopicSpec(
            names.of(topic.name),
            count,
            _configs(topic),
            AT_LEAST if topic.aligned else AT_LEAST | {PARTITIONS},
            is_fixed=identity is not None,
            was_made=identity is not None and topic.name in identity.topics,
        )
        for topic in TOPICS
    ]


def _configs(topic: Topic) -> dict[str, str]:
    configs = {
        "cleanup.policy": topic.cleanup,
        "message.timestamp.type": "LogAppendTime",
        "max.message.bytes": str(MESSAGE_BYTES_MAX),
    }
    if topic.retention_ms is not None:
        configs["retention.ms"] = str(topic.retention_ms)
    if topic.cleanup == "compact":
        configs["delete.retention.ms"] = str(TOMBSTONE_RETENTION_MS)
        configs["min.cleanable.dirty.ratio"] = "0.1"
        configs["max.compaction.lag.ms"] = str(DAY)
    if topic.name == "deadletter":
        configs["max.message.bytes"] = str(DEADLETTER_BYTES_MAX)
    return configs


async def prepare(context: Context, identity: Deployment | None = None) -> tuple[Sequence[str], Sequence[Drift]]:
    """Create the topics that are missing; return their names and how the others differ. Raises `LogError`.

    It makes a lost one as well: `adapters.roles.identity.make_topics` refuses that before.
    """
    if isinstance(context.log, EmbeddedLog):
        for spec in specs(context.settings, identity):
            limit = int(spec.configs["max.message.bytes"])
            await context.log.create_topic(spec.name, spec.partitions, record_bytes_max=limit)
        return (), ()
    if isinstance(context.log, RemoteLog):
        return (), ()  # the process of the log created them
    settings = context.settings
    return await prepare_topics(connection_of(settings), specs(settings, identity), replicas=settings.replicas)


def compaction(settings: Settings, log: EmbeddedLog) -> Compaction:
    """Return the compaction and retention of an embedded log, by the settings of its topics on Kafka."""
    return Compaction(log, [policy(spec.name, spec.configs) for spec in specs(settings)])


async def smaller_topics(context: Context, kind: str) -> Sequence[Drift]:
    """Return which of the topics that a kind of process writes to take less than its records. Raises `LogError`."""
    if isinstance(context.log, EmbeddedLog | RemoteLog):
        return ()
    names = [context.names.of(topic.name) for topic in ACCESS[kind].writes] if kind in ACCESS else []
    return await find_too_small(connection_of(context.settings), names, MESSAGE_BYTES_MAX) if names else ()


async def compare(context: Context) -> Sequence[Drift]:
    """Return how the topics differ from what this version needs, by the identity as it was read last. Raises `LogError`."""
    if isinstance(context.log, EmbeddedLog | RemoteLog):
        return ()
    settings = context.settings
    identity = context.rules.deployment
    drifts = await compare_topics(connection_of(settings), specs(settings, identity), replicas=settings.replicas)
    return [*drifts, *_setting_drifts(settings, identity)]


def _setting_drifts(settings: Settings, identity: Deployment | None) -> list[Drift]:
    """Return that a number of partitions is set that the deployment does not have; the default says nothing."""
    given = settings.partitions
    if identity is None or given in {identity.partitions, Settings().partitions}:
        return []
    name = f"{PREFIX}PARTITIONS"
    wanted = str(identity.partitions)
    return [Drift("the settings", name, wanted, str(given), f"{name}={wanted}  # fixed when the topics were made")]
