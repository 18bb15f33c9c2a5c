"""Which ACLs does each role need, and no more? One table, shown as commands of `kafka-acls.sh` and applied by a request.

With an authorizer on the cluster only these are allowed, so a process with the password of one role cannot write what
another one decides. Operations imply `Describe`, so that is listed only where nothing else is.
"""

import asyncio
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Literal

from aiokafka import errors
from aiokafka.client import AIOKafkaClient
from aiokafka.protocol.admin import CreateAclsRequest
from msgspec import Struct

from adapters.kafka.connection import CLIENT_ERRORS, DEADLINE_SECONDS, KafkaConnection, to_log_error
from adapters.kafka.lifecycle import close, starting
from adapters.kafka.topics import INTERNAL
from engine.partition.runner import TopicNames
from schemas.topics import (
    ACCOUNTS_DECISIONS,
    ACCOUNTS_REQUESTS,
    ACCOUNTS_RULES,
    ACCOUNTS_STATE,
    COMMAND_TOPICS,
    CONTACTS_DECISIONS,
    CONTACTS_REQUESTS,
    CONTACTS_STATE,
    DEADLETTER,
    IMPRESSIONS,
    INBOXES,
    LEADS_INBOX,
    LEADS_INBOX_BULK,
    TOPICS,
    WRITTEN_WITH,
    Topic,
)

Resource = Literal["topic", "group", "transactional-id"]
Operation = Literal["Read", "Write", "Describe", "DescribeConfigs", "Create"]
Pattern = Literal["literal", "prefixed"]

COMMANDS = tuple(COMMAND_TOPICS.values())

ALLOW = 3
ANY_HOST = "*"
RESOURCE_CODES: Mapping[Resource, int] = {"topic": 2, "group": 3, "transactional-id": 5}
PATTERN_CODES: Mapping[Pattern, int] = {"literal": 3, "prefixed": 4}
OPERATION_CODES: Mapping[Operation, int] = {"Read": 3, "Write": 4, "Create": 5, "Describe": 8, "DescribeConfigs": 10}
"""The numbers of Kafka's protocol (org.apache.kafka.common.acl and .resource)."""


class RoleAccess(Struct, frozen=True, kw_only=True):
    """What one kind of process does on the cluster.

    `writes` includes topics that messages are sent to after a commit. `group` is the role whose consumer group it joins,
    `groups` those of each channel, `asks` the group whose progress it reads, `owns` the topics whose partitions it owns.
    """

    reads: tuple[Topic, ...] = ()
    writes: tuple[Topic, ...] = ()
    groups: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    owns: tuple[Topic, ...] = ()
    creates: bool = False


ACCESS: Mapping[str, RoleAccess] = {
    "api": RoleAccess(
        reads=(
            *(ACCOUNTS_RULES, DEADLETTER, IMPRESSIONS, *INBOXES, CONTACTS_REQUESTS, ACCOUNTS_REQUESTS),
            *(CONTACTS_DECISIONS, ACCOUNTS_DECISIONS, *COMMANDS),
        ),
        writes=(CONTACTS_REQUESTS, ACCOUNTS_REQUESTS, IMPRESSIONS, *INBOXES),
        asks=(
            *("intake", "intake.bulk", "scheduler", "accounts", "projector", "deliverer"),
            *(f"gateway.{channel}" for channel in COMMAND_TOPICS),
        ),
    ),
    "intake": RoleAccess(
        reads=(*INBOXES, ACCOUNTS_RULES, CONTACTS_STATE),
        writes=(CONTACTS_REQUESTS, DEADLETTER),
        groups=("intake", "intake.bulk"),
        asks=("scheduler",),
    ),
    "scheduler": RoleAccess(
        reads=(CONTACTS_REQUESTS, CONTACTS_DECISIONS, CONTACTS_STATE, ACCOUNTS_RULES),
        writes=(*WRITTEN_WITH[CONTACTS_REQUESTS.name], CONTACTS_REQUESTS, ACCOUNTS_REQUESTS),
        groups=("scheduler",),
        owns=(CONTACTS_REQUESTS,),
    ),
    "accounts": RoleAccess(
        reads=(ACCOUNTS_REQUESTS, ACCOUNTS_DECISIONS, ACCOUNTS_STATE, ACCOUNTS_RULES),
        writes=(*WRITTEN_WITH[ACCOUNTS_REQUESTS.name], CONTACTS_REQUESTS),
        groups=("accounts",),
        owns=(ACCOUNTS_REQUESTS,),
    ),
    "projector": RoleAccess(
        reads=(CONTACTS_DECISIONS, ACCOUNTS_DECISIONS, IMPRESSIONS, ACCOUNTS_RULES), groups=("projector",)
    ),
    "gateway": RoleAccess(
        reads=(*COMMANDS, ACCOUNTS_RULES),
        writes=(CONTACTS_REQUESTS, ACCOUNTS_REQUESTS, DEADLETTER),
        groups=tuple(f"gateway.{channel}" for channel in COMMAND_TOPICS),
    ),
    "deliverer": RoleAccess(reads=(CONTACTS_DECISIONS, ACCOUNTS_DECISIONS, ACCOUNTS_RULES), groups=("deliverer",)),
    "producer": RoleAccess(writes=(LEADS_INBOX,)),
    "bulk-producer": RoleAccess(writes=(LEADS_INBOX_BULK,)),
    "auditor": RoleAccess(reads=tuple(topic for topic in TOPICS if topic not in {*INBOXES, DEADLETTER, IMPRESSIONS})),
    "operator": RoleAccess(
        reads=TOPICS,
        writes=(*INBOXES, CONTACTS_REQUESTS, ACCOUNTS_REQUESTS, ACCOUNTS_RULES, *COMMANDS),
        groups=("intake", "intake.bulk"),
        creates=True,
    ),
    "recovery": RoleAccess(
        reads=TOPICS,
        writes=(
            *(CONTACTS_REQUESTS, CONTACTS_DECISIONS, CONTACTS_STATE),
            *(ACCOUNTS_DECISIONS, ACCOUNTS_STATE, ACCOUNTS_RULES),
        ),
        owns=(CONTACTS_REQUESTS, ACCOUNTS_REQUESTS),
        asks=("scheduler", "accounts", "projector"),
        creates=True,
    ),
}
"""`gateway` asks the accounts for a hold where this is not the recorded site.

`api` reads what an operator asks about, and sends dead letters again; `auditor` verifies and
explains; `operator` runs every command of `leadclock` but `recover --settle`, which writes the identity of the
deployment to `accounts.rules` once, sends dead letters again and restores offsets of intake; `recovery` runs
`recover --settle`, whose decisions stand beside those of schedulers; `producer` puts leads into `leads.inbox`,
`bulk-producer` imports into the other inbox."""


class Acl(Struct, frozen=True, order=True):
    """One thing that a principal is allowed, as Kafka stores it."""

    principal: str
    operation: Operation
    pattern: Pattern
    resource: Resource
    name: str


def acls(kind: str, principal: str, *, app: str, prefix: str) -> list[Acl]:
    """Return what a kind of process of `ACCESS` needs, in the deployment of an app and topic prefix."""
    access, names = ACCESS[kind], TopicNames(prefix)
    found: set[Acl] = set()

    def allow(operation: Operation, resource: Resource, name: str, pattern: Pattern = "literal") -> None:
        found.add(Acl(principal, operation, pattern, resource, name))

    for topic in access.reads:
        allow("Read", "topic", names.of(topic.name))
    for topic in access.writes:
        allow("Write", "topic", names.of(topic.name))
        allow("DescribeConfigs", "topic", names.of(topic.name))  # the largest record that it takes
    for group in access.groups:
        allow("Read", "group", f"{app}.{prefix}{group}")
    for group in access.asks:
        allow("Describe", "group", f"{app}.{prefix}{group}")
    for topic in access.owns:
        allow("Write", "transactional-id", f"{app}.{names.of(topic.name)}.", "prefixed")
    if access.creates:
        for topic in TOPICS:
            allow("Create", "topic", names.of(topic.name))
            allow("DescribeConfigs", "topic", names.of(topic.name))
        for name in INTERNAL:
            allow("Describe", "topic", name)  # how many replicas they have: `topics check`
    return sorted(found)


def commands(found: Iterable[Acl], bootstrap: str) -> list[str]:
    """Return the commands of `kafka-acls.sh` that add ACLs: one for what is alike, with all of its resources."""
    tool = f"kafka-acls.sh --bootstrap-server {bootstrap} --add"
    lines = []
    for (principal, operation, pattern), alike in groupby(
        sorted(found), key=lambda acl: (acl.principal, acl.operation, acl.pattern)
    ):
        resources = " ".join(f"--{acl.resource} {shlex.quote(acl.name)}" for acl in alike)
        patterns = "" if pattern == "literal" else f" --resource-pattern-type {pattern}"
        lines.append(f"{tool} --allow-principal {shlex.quote(principal)} --operation {operation}{patterns} {resources}")
    return lines


async def apply(connection: KafkaConnection, found: Sequence[Acl]) -> None:
    """Add ACLs to the cluster; existing ones stay. Raises `LogError`."""
    client = AIOKafkaClient(**connection.options())
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            with starting():
                await client.bootstrap()
        for acl in found:
            async with asyncio.timeout(DEADLINE_SECONDS):
                response = await client.send(client.get_random_node(), _request(acl))
            for error_code, message in response.creation_responses:
                if error_code:
                    raise errors.for_code(error_code)(message)
    except CLIENT_ERRORS as error:
        raise to_log_error(error, "adding ACLs") from error
    finally:
        await close(client)


def _request(acl: Acl) -> CreateAclsRequest:
    return CreateAclsRequest(
        RESOURCE_CODES[acl.resource],
        acl.name,
        PATTERN_CODES[acl.pattern],
        acl.principal,
        ANY_HOST,
        OPERATION_CODES[acl.operation],
        ALLOW,
    )
