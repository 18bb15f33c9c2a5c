"""How does a deployment run as separate processes that can be killed? Each role by `leadclock ROLE`, as an operator runs it.

Each has the priority of its unit of systemd. The processes end with the one that started them, however it ends. Their logs
are files in the deployment's folder.
"""

import asyncio
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import msgspec
from prometheus_client.parser import text_string_to_metric_families

from adapters.local.process import LOCALHOST, free_port, tied_to_parent
from adapters.settings import PREFIX, Settings, to_environment
from schemas.errors import DependencyError

READY_SECONDS = 180.0
"""A role is ready within seconds; two cores that also run a broker, a database and other tests have needed over a minute."""

STOP_SECONDS = 30.0
COMMAND_SECONDS = 900.0
"""The longest command is the audit of a large log."""

UNITS = Path(__file__).parents[1] / "systemd"
CPU_WEIGHT = "CPUWeight="
WEIGHT_OF_A_NICE_STEP = 1.25
"""By how much the kernel divides the share of a processor for each step of a nice value."""

AUTOGROUP_TRIES = 50
AUTOGROUP_RETRY_SECONDS = 0.05
"""Linux lets the users of a machine set one nice value of a session in 0.1 s, all together; root is free."""

ASK_SECONDS = 5.0
SCRAPE_SECONDS = 30.0
LOOK_SECONDS = 0.1
LOG_TAIL_BYTES = 3_000

SUFFIXES = {"counter": "_total", "gauge": ""}
"""Of the name of a metric that is one series: it is shown before a label has its first value."""


class DeploymentError(DependencyError):
    """A process of the deployment did not do what it must; `str(error)` ends with what it logged last."""


class RoleProcess:
    """One role as a process, started again under the same port and log file after it was killed."""

    def __init__(self, role: str, name: str, folder: Path, environment: Mapping[str, str]) -> None:
        self.role = role
        self.name = name
        self.log = folder / f"{name}.log"
        self._environment = environment
        self._http_port = free_port()
        self._health_port = free_port()
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where the HTTP interface of an api role is."""
        return f"http://{LOCALHOST}:{self._http_port}"

    @property
    def health_url(self) -> str:
        """Where the role answers for its health and metrics."""
        return f"http://{LOCALHOST}:{self._health_port}"

    @property
    def pid(self) -> int:
        """The process id of the running role."""
        assert self._child is not None  # noqa: S101 - asked of a started role
        return self._child.pid

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        """Start the role; `until_ready` waits for it."""
        http = ["--http-port", str(self._http_port)] if self.role == "api" else []
        command = [*program(), self.role, "--health-port", str(self._health_port), *http]
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(  # noqa: S603 - our own program
                tied_to_parent(command, signal.SIGKILL),
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        give_way(self._child.pid, niceness(self.role))

    def kill(self) -> None:
        """Kill -9, and see it dead."""
        assert self._child is not None  # noqa: S101 - asked of a started role
        self._child.kill()
        self._child.wait(STOP_SECONDS)

    def stop(self) -> int:
        """Ask the role to end, and return its exit status. Raises `DeploymentError` where it takes too long."""
        self.ask_to_stop()
        return self.wait()

    def ask_to_stop(self) -> None:
        """Send SIGTERM, once."""
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()

    def wait(self) -> int:
        """Return the exit status of a role that was asked to stop. Raises `DeploymentError` where it takes too long."""
        assert self._child is not None  # noqa: S101 - asked of a started role
        try:
            return self._child.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait(STOP_SECONDS)
            raise DeploymentError(f"{self.name} did not end within {STOP_SECONDS:.0f} s\n{self.tail()}") from None

    async def ready(self) -> tuple[bool, str]:
        """Return whether `/readyz` says yes, and its words."""
        try:
            async with httpx.AsyncClient(timeout=ASK_SECONDS) as client:
                answer = await client.get(f"{self.health_url}/readyz")
        except httpx.HTTPError as error:
            return False, repr(error)
        return answer.is_success, answer.text

    async def until_ready(self, *, seconds: float = READY_SECONDS) -> None:
        """Wait until the role is ready. Raises `DeploymentError` where it ends or takes too long."""
        deadline = time.monotonic() + seconds
        while True:
            is_ready, words = await self.ready()
            if is_ready:
                return
            if not self.is_running or time.monotonic() > deadline:
                raise DeploymentError(f"{self.name} is not ready: {words}\n{self.tail()}")
            await asyncio.sleep(LOOK_SECONDS)

    async def figures(self) -> Mapping[str, float]:
        """Return each series that the role shows to a scraper, summed over its labels.

        A gauge or counter whose labels have no values yet is 0; a name that the role does not have is missing.
        """
        async with httpx.AsyncClient(timeout=SCRAPE_SECONDS) as client:
            answer = await client.get(f"{self.health_url}/metrics")
        found: dict[str, float] = {}
        for family in text_string_to_metric_families(answer.raise_for_status().text):
            if family.type in SUFFIXES:
                found[family.name + SUFFIXES[family.type]] = 0.0
            for sample in family.samples:
                found[sample.name] = found.get(sample.name, 0.0) + sample.value
        return found

    def tail(self) -> str:
        """Return the end of the log."""
        return self.log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace") if self.log.exists() else ""


class ProcessGroup:
    """The processes of one deployment, and the commands of an operator; of this code, or of that in another folder."""

    def __init__(self, folder: Path, settings: Settings, *, code: Path | None = None) -> None:
        self.folder = folder.absolute()
        self.settings = settings
        self.roles: dict[str, RoleProcess] = {}
        own = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        self.environment = own | to_environment(settings) | ({} if code is None else {"PYTHONPATH": str(code)})

    def add(self, role: str, name: str | None = None, **changed: Any) -> RoleProcess:
        """Start one more process of a role, with settings of its own where some are changed."""
        environment = self.environment
        if changed:
            own = msgspec.structs.replace(self.settings, **changed)
            environment = {k: v for k, v in self.environment.items() if not k.startswith(PREFIX)} | to_environment(own)
        process = RoleProcess(role, name or role, self.folder, environment)
        self.roles[process.name] = process
        process.start()
        return process

    def __getitem__(self, name: str) -> RoleProcess:
        return self.roles[name]

    async def until_ready(self) -> None:
        """Wait until every role is ready."""
        await asyncio.gather(*(role.until_ready() for role in self.roles.values()))

    async def prepare(self) -> None:
        """Create the topics and the tables, as an operator does."""
        for arguments in (("topics", "create"), ("db", "migrate")):
            status, output = await self.command(*arguments)
            if status != 0:
                raise DeploymentError(f"leadclock {' '.join(arguments)} ended with {status}: {output}")

    async def command(self, *arguments: str) -> tuple[int, str]:
        """Run one `leadclock` command; return its exit status and what it printed (both streams)."""
        child = await asyncio.create_subprocess_exec(
            *program(),
            *arguments,
            cwd=self.folder,  # an `up` that runs in our own folder is another deployment
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output, _ = await asyncio.wait_for(child.communicate(), COMMAND_SECONDS)
        except BaseException:
            child.kill()
            await child.wait()
            raise
        return child.returncode or 0, output.decode()

    def stop(self, *, spared: str | None = None) -> dict[str, int]:
        """Stop every process side by side, except those of the role that is `spared`; return their exit statuses."""
        stopped = {name: process for name, process in self.roles.items() if process.role != spared}
        for process in stopped.values():
            process.ask_to_stop()
        return {name: process.wait() for name, process in stopped.items()}

    async def stop_within(self, seconds: float) -> dict[str, int]:
        """Stop every process; a gateway first lets the calls end that are under way. Raises `DeploymentError`."""
        for process in self.roles.values():
            process.ask_to_stop()
        deadline = time.monotonic() + seconds
        while running := [name for name, process in self.roles.items() if process.is_running]:
            if time.monotonic() > deadline:
                raise DeploymentError(f"{', '.join(running)} did not end within {seconds:.0f} s")
            await asyncio.sleep(LOOK_SECONDS)
        return {name: process.wait() for name, process in self.roles.items()}

    def kill(self) -> None:
        """End whatever still runs."""
        for role in self.roles.values():
            if role.is_running:
                role.kill()


def niceness(role: str) -> int:
    """Return the nice value with the share of a processor that the role's unit of systemd has: higher numbers give way."""
    unit = (UNITS / f"leadclock-{role}@.service").read_text()
    weight = next((int(line.removeprefix(CPU_WEIGHT)) for line in unit.splitlines() if line.startswith(CPU_WEIGHT)), 100)
    return round(math.log(100 / weight, WEIGHT_OF_A_NICE_STEP))


def give_way(pid: int, by: int) -> None:
    """Lower the priority of a process that leads a session: without more rights it cannot be raised again.

    Linux may divide the processors between sessions first (autogroup), as systemd divides them between units: then what
    counts is the nice value of the session.
    """
    if by == 0:
        return
    os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, 0) + by)
    autogroup = Path(f"/proc/{pid}/autogroup")
    for _ in range(AUTOGROUP_TRIES):
        try:
            autogroup.write_text(str(by), "ascii")
        except BlockingIOError:
            time.sleep(AUTOGROUP_RETRY_SECONDS)
        except OSError:  # no Linux, or one without autogroups
            return
        else:
            return
    raise DeploymentError(f"{autogroup} takes no nice value; others set theirs all the time")


def program() -> list[str]:
    """Return how `leadclock` is called with the interpreter that runs this."""
    return [str(Path(sys.executable).with_name("leadclock"))]
