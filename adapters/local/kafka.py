"""How does a real Apache Kafka run on one machine? One KRaft node, in the data folder, on free ports of 127.0.0.1.

The same data folder gives the same cluster with all its records again. The broker is safe against a killed process,
as Kafka is: an acknowledged record is in the operating system's hands, not yet on the disk.
"""

import asyncio
import base64
import contextlib
import os
import signal
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from adapters.kafka.lifecycle import starting
from adapters.local.class_archive import archive_options
from adapters.local.jars import find_jars, find_java
from adapters.local.process import LOCALHOST, LocalServerError, ServerProcess, free_port, run_to_end

YOUNG_HEAP_MIB = 24  # the serial collector stops the broker for as long as the young part is large: 128 MiB take up to 75 ms
HEAP_MIB = 384  # enough for the whole test suite and the bench; a JVM would else take a quarter of the machine
FORMAT_SECONDS = 60.0  # takes 1 s
START_SECONDS = 90.0  # takes 4 s on two idle cores, and 9 s more after a kill, until the broker's old session is over
STOP_SECONDS = 20.0  # a controlled shutdown takes 1 s
ASK_SECONDS = 5.0
PORT_TRIES = 3  # another process may take a free port before the broker binds it

_LOG4J = Path(__file__).with_name("kafka-log4j2.properties")


class ManagedKafka:
    """A single-node Apache Kafka in a folder; `start` and `stop` it, and read `bootstrap` while it runs.

    Start it from a thread that lives as long as it is needed: the kernel ends the broker when that thread ends.
    """

    def __init__(
        self,
        folder: Path,
        *,
        java: Path,
        jars: Path,
        heap_mib: int = HEAP_MIB,
        name: str = "Apache Kafka",
        broker_options: Sequence[str] = (),
    ) -> None:
        self._folder = folder.resolve()
        self._java = java
        self._jars = jars
        self._heap_mib = heap_mib
        self._broker_options = broker_options
        self._ports = (0, 0)
        self.process = ServerProcess(name, self._folder, stop_signal=signal.SIGTERM, stop_seconds=STOP_SECONDS)

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return self._folder

    @property
    def bootstrap(self) -> str:
        """Where clients connect, `host:port`."""
        return f"{LOCALHOST}:{self._ports[0]}"

    @property
    def ports(self) -> tuple[int, int]:
        """What it listens on: for clients, for itself."""
        return self._ports

    async def start(self) -> None:
        """Start the broker and wait until it answers; raise LocalServerError, with the end of its log, if it does not."""
        await self.process.own()
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop the broker and unlock the folder; harmless when it is not running."""
        await self.process.stop()
        self.process.disown()

    async def kill(self) -> None:
        """Kill -9 the broker and unlock the folder; `start` starts it again with its records."""
        await self.process.kill()
        self.process.disown()

    async def _start(self) -> None:
        for attempt in range(1, PORT_TRIES + 1):
            self._choose_ports()
            self._write_properties()
            await self._format()
            self.process.spawn(self._command(*self._broker_options, "kafka.Kafka", str(self._properties)))
            try:
                return await self.process.until_ready(self._answers, seconds=START_SECONDS)
            except LocalServerError as error:
                if "Address already in use" not in str(error) or attempt == PORT_TRIES:
                    raise
                await self.process.stop()
        return None

    @property
    def _properties(self) -> Path:
        return self._folder / "server.properties"

    def _command(self, *java_arguments: str) -> list[str]:
        return [
            str(self._java),
            f"-Xmx{self._heap_mib}m",
            f"-Xmn{YOUNG_HEAP_MIB}m",
            "-XX:+UseSerialGC",  # on few cores and a small heap the least memory and the quickest start
            # The compiler takes a core for a second at a time while the broker is new: it gives way to everything else (19
            # is a nice value). A later Java may not know these options.
            "-XX:+IgnoreUnrecognizedVMOptions",
            "-XX:ThreadPriorityPolicy=1",
            "-XX:CompilerThreadPriority=19",
            *archive_options(self._java, self._jars),
            "-XX:-UsePerfData",  # else the JVM writes into the system's temporary folder
            f"-Dlog4j2.configurationFile={_LOG4J}",
            f"-Dleadclock.kafka.log={self.process.log}",
            "-cp",
            f"{self._jars}/*",
            *java_arguments,
        ]

    def _choose_ports(self) -> None:
        """Take the ports of the last run if they are still free, so that addresses that were noted keep working."""
        noted = self._folder / "ports"
        former = [int(port) for port in noted.read_text("ascii").split()] if noted.exists() else [None, None]
        self._ports = (free_port(former[0]), free_port(former[1]))
        noted.write_text(f"{self._ports[0]} {self._ports[1]}", "ascii")

    def _write_properties(self) -> None:
        lines = (f"{name}={value}" for name, value in self._settings().items())
        self._properties.write_text("\n".join(lines) + "\n", "utf-8")

    def _settings(self) -> dict[str, str]:
        return broker_properties(self._ports)

    def _cluster_id(self) -> str:
        return new_cluster_id()

    async def _format(self) -> None:
        if (self._folder / "logs" / "meta.properties").exists():
            return
        command = self._command("kafka.tools.StorageTool", "format", "--ignore-formatted")
        command += ["--cluster-id", self._cluster_id(), "--config", str(self._properties)]
        await run_to_end(command, seconds=FORMAT_SECONDS, cwd=self._folder)

    async def _answers(self) -> bool:
        return await port_is_open(*self.bootstrap.split(":")) and await broker_answers(self.bootstrap)


@contextlib.asynccontextmanager
async def managed_kafka(
    data_dir: Path, *, heap_mib: int = HEAP_MIB, environ: Mapping[str, str] = os.environ
) -> AsyncIterator[ManagedKafka]:
    """Run Apache Kafka in `data_dir/kafka`; raise JarsUnavailableError where this machine has no Java or no jars."""
    java = await asyncio.to_thread(find_java, environ)
    jars = await asyncio.to_thread(find_jars, environ)
    kafka = ManagedKafka(data_dir / "kafka", java=java, jars=jars, heap_mib=heap_mib)
    await kafka.start()
    try:
        yield kafka
    finally:
        await kafka.stop()


def broker_properties(ports: tuple[int, int]) -> dict[str, str]:
    """Return the settings of a single node that listens on `ports` (for clients, for itself)."""
    clients, controller = (f"{LOCALHOST}:{port}" for port in ports)
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{controller}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{clients},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{clients}",
        "inter.broker.listener.name": "PLAINTEXT",
        # Below the folder that it is started in: a full path would be cut at its commas.
        "log.dirs": "logs",
        # Topics are made on purpose, with their partition counts; a mistyped name must fail.
        "auto.create.topics.enable": "false",
        # One node: everything has one replica. Few partitions, so that coordinators load at once.
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "5",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "5",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "5",
        "group.initial.rebalance.delay.ms": "0",
        # Its default of 128 MiB is taken from the heap at start.
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
        "num.network.threads": "2",
        "num.io.threads": "4",
    }


def new_cluster_id() -> str:
    """Return a fresh cluster id: 16 random bytes in Kafka's base 64, not starting with a dash, which reads as an option."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        continue
    return text


async def port_is_open(host: str, port: str | int, *, seconds: float = ASK_SECONDS) -> bool:
    """Return whether something accepts connections there."""
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), seconds)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True


async def broker_answers(bootstrap: str) -> bool:
    """Return whether a broker is there that names a controller: from then on topics can be made."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=int(ASK_SECONDS * 1000))
    try:
        with starting():
            await asyncio.wait_for(admin.start(), ASK_SECONDS)
        cluster = await asyncio.wait_for(admin.describe_cluster(), ASK_SECONDS)
    except (KafkaError, OSError, TimeoutError):
        return False
    else:
        return bool(cluster.get("controller_id", -1) >= 0)
    finally:
        await admin.close()
