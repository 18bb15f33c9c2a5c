"""What can happen to a deployment? Each process killed or paused, each broker too, the database restarted, gateways rolled.

A strike ends with everything running again; how long the submissions waited is measured from its beginning.
"""

import asyncio
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from msgspec import Struct

from adapters.kafka.cluster_metadata import ClusterMetadata
from adapters.kafka.connection import KafkaConnection
from adapters.kafka.topics import INTERNAL
from adapters.local.cluster import ClusterNode, bootstrap_of
from adapters.local.postgres import ManagedPostgres
from adapters.roles.context import specs
from deploy.proof.faults.claims import Claims
from deploy.proof.processes import ProcessGroup, RoleProcess
from engine.partition.ports import LogError

PAUSE_SECONDS = (5.0, 40.0)
STALL_SECONDS = 60.0
"""Twice a lease of a gateway: another one has taken its commands over, asked, and reported what it could."""

DOWN_SECONDS = (1.0, 25.0)
"""How long a killed broker is away. A killed role is started again at once, as a supervisor does."""

ROLLED_SECONDS = 120.0
HEAL_SECONDS = 300.0
LOOK_SECONDS = 0.2
ASK_SECONDS = 1.0


class Strike(Struct, frozen=True):
    """One thing that can happen: the `row` of the table it counts for, its target, and how it is done.

    `run` returns once everything runs again, with the seconds that Kafka needed for its elections, where there were any.
    """

    row: str
    target: str
    run: Callable[[], Awaitable[float | None]]


class Striker:
    """Makes every strike on one deployment."""

    def __init__(
        self,
        deployment: ProcessGroup,
        nodes: Sequence[ClusterNode],
        postgres: ManagedPostgres,
        claims: Claims,
        rng: random.Random,
    ) -> None:
        self._deployment = deployment
        self._nodes = nodes
        self._postgres = postgres
        self._claims = claims
        self._rng = rng
        self._topics = [spec.name for spec in specs(deployment.settings)] + list(INTERNAL)

    def bag(self) -> list[Strike]:
        """Return every strike once, in random order."""
        strikes = [Strike("PostgreSQL restarted", "PostgreSQL", self._restart_postgres)]
        for role in self._deployment.roles.values():
            strikes.append(Strike(f"{role.role} killed", role.name, lambda role=role: self._kill_role(role)))  # type: ignore[misc]
            strikes.append(Strike(f"{role.role} paused", role.name, lambda role=role: self._pause_role(role)))  # type: ignore[misc]
            if role.role == "gateway":
                strikes.append(Strike("gateway stalled", role.name, lambda role=role: self._stall(role)))  # type: ignore[misc]
        gateways = [role for role in self._deployment.roles.values() if role.role == "gateway"]
        strikes += [
            Strike("broker and gateway killed", role.name, lambda role=role: self._kill_both(role))  # type: ignore[misc]
            for role in gateways
        ]
        for node in self._nodes:
            name = f"broker {node.node_id}"
            strikes.append(Strike("broker killed", name, lambda node=node: self._kill_broker(node)))  # type: ignore[misc]
            strikes.append(Strike("broker paused", name, lambda node=node: self._pause_broker(node)))  # type: ignore[misc]
        self._rng.shuffle(strikes)
        return strikes

    def rolling(self) -> Strike:
        """Return the graceful stop and start of every gateway, one after the other."""
        return Strike("gateways rolled", "gateways", self._roll_gateways)

    async def _kill_role(self, role: RoleProcess) -> None:
        role.kill()
        struck_at = datetime.now(UTC)
        role.start()
        if role.role == "gateway":
            await self._claims.note_open(struck_at)
        await role.until_ready(seconds=HEAL_SECONDS)

    async def _stall(self, role: RoleProcess) -> None:
        """Let a gateway stand still until others have reported its commands, and then go on with what it knows."""
        await self._pause(role, STALL_SECONDS)

    async def _kill_both(self, role: RoleProcess) -> float:
        """Kill a broker, and a gateway at the same moment."""
        killing = asyncio.create_task(self._kill_broker(self._rng.choice(list(self._nodes))))
        await self._kill_role(role)
        return await killing

    async def _pause_role(self, role: RoleProcess) -> None:
        await self._pause(role, self._rng.uniform(*PAUSE_SECONDS))

    async def _pause(self, role: RoleProcess, seconds: float) -> None:
        os.kill(role.pid, signal.SIGSTOP)
        struck_at = datetime.now(UTC)
        try:
            if role.role == "gateway":
                await self._claims.note_open(struck_at)
            await asyncio.sleep(seconds)
        finally:
            os.kill(role.pid, signal.SIGCONT)
        await role.until_ready(seconds=HEAL_SECONDS)

    async def _roll_gateways(self) -> None:
        for role in [role for role in self._deployment.roles.values() if role.role == "gateway"]:
            role.ask_to_stop()
            async with asyncio.timeout(ROLLED_SECONDS):
                while role.is_running:  # noqa: ASYNC110 - another process
                    await asyncio.sleep(LOOK_SECONDS)
            if status := role.wait():
                self._claims.faults.append(f"{role.name} ended with {status} after SIGTERM")
            role.start()
            await role.until_ready(seconds=HEAL_SECONDS)

    async def _restart_postgres(self) -> None:
        await self._postgres.stop()
        await self._postgres.start()

    async def _kill_broker(self, node: ClusterNode) -> float:
        await node.kill()
        elected = await self._elected_without(node)
        await asyncio.sleep(self._rng.uniform(*DOWN_SECONDS))
        await node.start()
        await self.until_whole()
        return elected

    async def _pause_broker(self, node: ClusterNode) -> float | None:
        pid = node.process.pid
        assert pid is not None  # noqa: S101 - every broker runs between two strikes
        seconds = self._rng.uniform(*PAUSE_SECONDS)
        os.kill(pid, signal.SIGSTOP)
        electing = asyncio.create_task(self._elected_without(node))
        try:
            await asyncio.sleep(seconds)
        finally:
            os.kill(pid, signal.SIGCONT)
            elected = electing.result() if electing.done() and not electing.cancelled() else None
            electing.cancel()
            await asyncio.gather(electing, return_exceptions=True)
        await self.until_whole()
        return elected

    async def _elected_without(self, node: ClusterNode) -> float:
        """Return after how many seconds every partition has another leader."""
        struck_at = time.monotonic()
        others = [other for other in self._nodes if other is not node]
        async with self._asking(others) as catalog:
            while True:
                if all(leader not in {-1, node.node_id} for leader in await self._leaders(catalog)):
                    return time.monotonic() - struck_at
                await asyncio.sleep(LOOK_SECONDS)

    async def _leaders(self, catalog: ClusterMetadata) -> list[int]:
        try:
            found = await catalog.find(self._topics)
        except LogError:
            return [-1]
        return [leader for topic in found.values() for leader in topic.leaders.values()]

    async def until_whole(self) -> None:
        """Wait until every broker has every record again: a second one must not be struck before."""
        async with self._asking(self._nodes) as catalog, asyncio.timeout(HEAL_SECONDS):
            while True:
                try:
                    found = await catalog.find(self._topics)
                except LogError:
                    found = {}
                whole = [len(topic.insync[p]) == len(topic.replicas[p]) for topic in found.values() for p in topic.replicas]
                if whole and all(whole):
                    return
                await asyncio.sleep(LOOK_SECONDS)

    @staticmethod
    @asynccontextmanager
    async def _asking(nodes: Sequence[ClusterNode]) -> AsyncIterator[ClusterMetadata]:
        catalog = ClusterMetadata(KafkaConnection(bootstrap_of(nodes), "faults"), deadline_seconds=ASK_SECONDS)
        try:
            yield catalog
        finally:
            await catalog.close()
