"""How do three Kafka brokers run on one machine? As three processes, each of them broker and controller.

Every topic, also Kafka's own, has three replicas of which two acknowledge, so that the cluster survives a broker.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from msgspec import Struct

from adapters.local.jars import find_jars, find_java
from adapters.local.kafka import ManagedKafka, broker_properties, new_cluster_id
from adapters.local.process import LOCALHOST, free_port

BROKERS = 3
INSYNC = 2
HEAP_MIB = 256
"""Three brokers with some dozens of partitions each; a third of a gigabyte of memory each in all."""


class NodeAddress(Struct, frozen=True):
    """One broker of a cluster: its number, and its ports for clients and for the other controllers."""

    node_id: int
    ports: tuple[int, int]


class ClusterNode(ManagedKafka):
    """One broker of a cluster; `start`, `stop` and `kill` it, or pause its `process`."""

    def __init__(
        self,
        folder: Path,
        *,
        java: Path,
        jars: Path,
        address: NodeAddress,
        addresses: Sequence[NodeAddress],
        cluster_id: str,
        heap_mib: int,
    ) -> None:
        super().__init__(folder, java=java, jars=jars, heap_mib=heap_mib, name=f"Kafka broker {address.node_id}")
        self.node_id = address.node_id
        self._address = address
        self._addresses = addresses
        self._given_cluster_id = cluster_id
        self._ports = address.ports

    def _choose_ports(self) -> None:
        """Keep the ports that the other brokers know."""

    def _settings(self) -> dict[str, str]:
        return cluster_properties(self._address, self._addresses)

    def _cluster_id(self) -> str:
        return self._given_cluster_id


@contextlib.asynccontextmanager
async def managed_cluster(
    data_dir: Path,
    *,
    brokers: int = BROKERS,
    heap_mib: int = HEAP_MIB,
    make_node: Callable[..., ClusterNode] = ClusterNode,
) -> AsyncIterator[list[ClusterNode]]:
    """Run a fresh cluster in `data_dir`; raise JarsUnavailableError where this machine has no Java or no jars."""
    java = await asyncio.to_thread(find_java)
    jars = await asyncio.to_thread(find_jars)
    ports = _distinct_ports(2 * brokers)
    addresses = [NodeAddress(number + 1, (ports[2 * number], ports[2 * number + 1])) for number in range(brokers)]
    cluster_id = new_cluster_id()
    nodes = [
        make_node(
            data_dir / f"kafka-{address.node_id}",
            java=java,
            jars=jars,
            address=address,
            addresses=addresses,
            cluster_id=cluster_id,
            heap_mib=heap_mib,
        )
        for address in addresses
    ]
    try:
        await asyncio.gather(*(node.start() for node in nodes))
        yield nodes
    finally:
        await asyncio.gather(*(node.kill() for node in nodes), return_exceptions=True)


def bootstrap_of(nodes: Sequence[ClusterNode]) -> str:
    """Return the addresses of brokers, `host:port,host:port`."""
    return ",".join(node.bootstrap for node in nodes)


def cluster_properties(address: NodeAddress, addresses: Sequence[NodeAddress]) -> dict[str, str]:
    """Return the settings of one broker of a cluster; what differs from a single node."""
    copies, insync = str(len(addresses)), str(INSYNC)
    return broker_properties(address.ports) | {
        "node.id": str(address.node_id),
        "controller.quorum.voters": ",".join(f"{one.node_id}@{LOCALHOST}:{one.ports[1]}" for one in addresses),
        "default.replication.factor": copies,
        "min.insync.replicas": insync,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": insync,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": insync,
    }


def _distinct_ports(count: int) -> list[int]:
    """Return free ports, each once; none is bound yet, so the machine may offer one twice."""
    ports: dict[int, None] = {}
    while len(ports) < count:
        ports[free_port()] = None
    return list(ports)
