"""What if a topic is lost under load? It is deleted, made again, or laid back from an older copy, and then it is settled.

An operator does what is printed, word for word: stops every process, runs `leadclock recover` and what that prints.
"""

import asyncio
import re
import shlex
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient

from adapters.kafka.topics import prepare_topics
from adapters.local.cluster import ClusterNode, bootstrap_of
from adapters.roles.broker import connection_of
from adapters.roles.context import specs
from deploy.proof.faults.strikes import HEAL_SECONDS, Strike, Striker
from deploy.proof.processes import DeploymentError, ProcessGroup
from deploy.proof.progress import Say
from schemas.topics import (
    ACCOUNTS_DECISIONS,
    ACCOUNTS_REQUESTS,
    ACCOUNTS_RULES,
    ACCOUNTS_STATE,
    COMMAND_TOPICS,
    CONTACTS_DECISIONS,
    CONTACTS_REQUESTS,
    CONTACTS_STATE,
)

STRUCK = (
    *(CONTACTS_STATE.name, CONTACTS_REQUESTS.name, ACCOUNTS_STATE.name, ACCOUNTS_RULES.name, CONTACTS_DECISIONS.name),
    *(ACCOUNTS_REQUESTS.name, ACCOUNTS_DECISIONS.name, *(topic.name for topic in COMMAND_TOPICS.values())),
)
"""Every internal topic that a role reads."""

DECISIONS = (CONTACTS_DECISIONS.name, ACCOUNTS_DECISIONS.name)

STOPPED_SECONDS = 20.0
"""Every role looks at the ids of its topics at least this often."""

DRAIN_SECONDS = 240.0
COPY_AGE_SECONDS = 15.0
"""How old the copy is that is laid back."""

REMEDY = re.compile(r"^Settle it: leadclock (.+)$", re.MULTILINE)
RECOVER = "leadclock recover"


class TopicStriker:
    """Makes every strike on a topic of one deployment; `faults` are what an operator would have stumbled over."""

    def __init__(
        self,
        deployment: ProcessGroup,
        nodes: Sequence[ClusterNode],
        striker: Striker,
        follow_again: Callable[[], None],
        say: Say,
    ) -> None:
        self.faults: list[str] = []
        self.struck: list[str] = []
        self._deployment = deployment
        self._nodes = nodes
        self._striker = striker
        self._follow_again = follow_again
        self._say = say

    def bag(self) -> list[Strike]:
        """Return every strike once, topic by topic."""
        ways = {
            "deleted": self._delete,
            "made again": self._make_again,
            "laid back": self._lay_back,
            "partition laid back": self._lay_back_one,
        }
        return [
            Strike(f"{name} {words}", name, lambda name=name, lose=lose: self._strike(name, lose))  # type: ignore[misc]
            for name in STRUCK
            for words, lose in ways.items()
        ]

    async def _strike(self, name: str, lose: Callable[[str], Awaitable[None]]) -> None:
        """Lose records of a topic, and do what is printed. Raises `DeploymentError` where that is no way back."""
        self.struck.append(name)
        await lose(name)
        lost_at = time.monotonic()
        await asyncio.sleep(STOPPED_SECONDS)
        await self._look_at_readiness(name)
        statuses = await self._deployment.stop_within(DRAIN_SECONDS)
        self.faults += [
            f"{role} ended with {status} after the loss of {name}" for role, status in statuses.items() if status
        ]
        remedy = await self._remedy(name)
        begun_at = time.monotonic()
        status, output = await self._deployment.command(*remedy)
        if status:
            raise DeploymentError(f"`leadclock {shlex.join(remedy)}` ended with {status}: {output}")
        settled_at = time.monotonic()
        self._follow_again()
        for role in self._deployment.roles.values():
            role.start()
        await asyncio.gather(*(role.until_ready(seconds=HEAL_SECONDS) for role in self._deployment.roles.values()))
        self._say(
            f"  settled in {settled_at - begun_at:.1f} s, whole {time.monotonic() - lost_at:.1f} s after the loss; "
            f"{len(output.splitlines())} lines were printed"
        )

    async def _look_at_readiness(self, name: str) -> None:
        """Note a loss that no role names with its remedy."""
        words = [(await role.ready())[1] for role in self._deployment.roles.values() if role.is_running]
        if not any(RECOVER in one and name in one for one in words):
            self.faults.append(f"no role says that {name} is lost and `{RECOVER}` settles it")
        self._say(f"  {sum(RECOVER in one for one in words)} of {len(words)} roles name the remedy")

    async def _remedy(self, name: str) -> list[str]:
        """Return the command that `leadclock recover` prints. Raises `DeploymentError` where it prints none."""
        status, output = await self._deployment.command("recover")
        found = REMEDY.search(output)
        if status != 1 or name not in output or found is None:
            raise DeploymentError(f"`{RECOVER}` ended with {status} after the loss of {name}, and printed: {output}")
        return shlex.split(found[1])

    async def _delete(self, name: str) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap_of(self._nodes))
        await admin.start()
        try:
            await admin.delete_topics([self._deployed(name)])
        finally:
            await admin.close()

    async def _make_again(self, name: str) -> None:
        """Do what a tool does that knows the topics, and not the deployment."""
        await self._delete(name)
        settings = self._deployment.settings
        await prepare_topics(connection_of(settings), [one for one in specs(settings) if one.name == self._deployed(name)])

    async def _lay_back(self, name: str) -> None:
        await self._lay_back_partitions(name, "*")

    async def _lay_back_one(self, name: str) -> None:
        await self._lay_back_partitions(name, "0")

    async def _lay_back_partitions(self, name: str, numbers: str) -> None:
        """Copy the partitions while the brokers are stopped; some seconds of load later, lay the copy back the same way."""
        pattern = f"{self._deployed(name)}-{numbers}"
        await self._stop_brokers()
        for folder in self._folders(pattern):
            shutil.copytree(folder, self._copy_of(folder))
        await self._start_brokers()
        await asyncio.sleep(COPY_AGE_SECONDS)
        await self._stop_brokers()
        for folder in self._folders(pattern):
            shutil.rmtree(folder)
            shutil.move(self._copy_of(folder), folder)
        await self._start_brokers()

    def _folders(self, pattern: str) -> list[Path]:
        return [folder for node in self._nodes for folder in sorted(node.folder.rglob(pattern)) if folder.is_dir()]

    def _copy_of(self, folder: Path) -> Path:
        """Return a place outside of what the broker reads."""
        node = next(node for node in self._nodes if folder.is_relative_to(node.folder))
        return self._deployment.folder / "copies" / f"{node.node_id}-{folder.name}"

    async def _stop_brokers(self) -> None:
        await asyncio.gather(*(node.stop() for node in self._nodes))

    async def _start_brokers(self) -> None:
        await asyncio.gather(*(node.start() for node in self._nodes))
        await self._striker.until_whole()

    def _deployed(self, name: str) -> str:
        return self._deployment.settings.topic_prefix + name
