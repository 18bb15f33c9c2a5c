"""How is a server of ours started, watched and stopped, and never confused with another process?

One `ServerProcess` owns one folder. The folder holds a lock (held as long as the owner lives, so a second owner is
refused), the record of the process (its number and birth, so a reused number is never taken for ours), and the log.
"""

import asyncio
import contextlib
import fcntl
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from adapters.local import parent_death
from schemas.errors import DependencyError

LOCALHOST = "127.0.0.1"
INSTALL_LOCAL = "install it with `pip install 'leadclock[local]'` (`make install` does)"
POLL_SECONDS = 0.05  # how often a starting or stopping process is looked at
KILL_SECONDS = 5.0  # a killed process is gone at once; this bounds a machine that is swapping
TAIL_LINES = 25  # what an error shows of a log: a Java stack trace's head fits
LOG_BYTES_MAX = 10 * 1024 * 1024  # an older log is set aside at start, so two of these is all a server keeps

PORTS = range(20_000, 32_000)
"""Ports of servers of ours: below those that Linux (from 32768) and macOS (from 49152) give to outgoing connections,
which may take a port between the moment it is chosen and the moment its server begins to listen."""

PORTS_TRIED = 20


class LocalServerError(DependencyError):
    """A server on this machine did not start, or stopped by itself; says which, why, and the end of its log."""


class FolderInUseError(LocalServerError):
    """Another live process owns the folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"another leadclock is running on {folder}; stop it, or choose another folder with --data-dir")


class Account(msgspec.Struct, frozen=True):
    """The operating system's user that a server runs as."""

    name: str
    uid: int
    gid: int


class ProcessRecord(msgspec.Struct, frozen=True):
    """What identifies a running process after a restart."""

    pid: int
    born: str
    leftovers: list[str] = []


class ServerProcess:
    """One server process in one folder, which dies with its parent; see the module's docstring."""

    def __init__(self, name: str, folder: Path, *, stop_signal: signal.Signals, stop_seconds: float) -> None:
        self.name = name
        self.folder = folder
        self.log = folder / "server.log"
        self._stop_signal = stop_signal
        self._stop_seconds = stop_seconds
        self._record = folder / "process.json"
        self._lock: IO[str] | None = None
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process number while it runs, else None."""
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    async def own(self) -> None:
        """Lock the folder, and stop what a former owner left running there; raise FolderInUseError if it has a live one."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (self.folder / "lock").open("a", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise FolderInUseError(self.folder) from None
        self._lock = lock
        self._set_log_aside()
        await self._stop_left_behind()

    def disown(self) -> None:
        """Unlock the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def spawn(
        self,
        command: Sequence[str],
        *,
        account: Account | None = None,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        leftovers: Sequence[Path] = (),
    ) -> None:
        """Start the server; `leftovers` are folders elsewhere that are deleted after it, at the next start if need be."""
        self.log.touch(mode=0o600)  # a log may quote what people typed
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(  # noqa: S603 - a list of arguments that we made, no shell
                tied_to_parent(command, self._stop_signal, account),
                cwd=cwd or self.folder,
                env=None if environment is None else dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Its own session: Ctrl-C in the terminal reaches us alone, and we stop servers in the right order.
                start_new_session=True,
            )
        pid = self._child.pid
        record = ProcessRecord(pid=pid, born=birth(pid) or "", leftovers=[str(path) for path in leftovers])
        self._record.write_bytes(msgspec.json.encode(record))

    async def until_ready(self, answers: Callable[[], Awaitable[bool]], *, seconds: float) -> None:
        """Wait until the server answers; raise LocalServerError if it ends or the time is over before."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not await answers():
            self.check()
            if asyncio.get_running_loop().time() > deadline:
                raise LocalServerError(f"{self.name} did not answer within {seconds:.0f} s.\n{self.tail()}")
            await asyncio.sleep(POLL_SECONDS)
        self.check()

    def check(self) -> None:
        """Raise LocalServerError if the server has ended by itself."""
        status = None if self._child is None else self._child.poll()
        if status is not None:
            raise LocalServerError(f"{self.name} ended with status {status}.\n{self.tail()}")

    async def stop(self) -> None:
        """Stop the server by its signal, then by SIGKILL after the bound; harmless when it is not running."""
        child, self._child = self._child, None
        if child is not None:
            if child.poll() is None:
                child.send_signal(self._stop_signal)
                if not await _until(lambda: child.poll() is not None, self._stop_seconds):
                    child.kill()
                    await _until(lambda: child.poll() is not None, KILL_SECONDS)
            self._forget()

    async def kill(self) -> None:
        """Kill -9 the server and see it dead; harmless when it is not running."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            await _until(lambda: child.poll() is not None, KILL_SECONDS)
            self._forget()

    def tail(self) -> str:
        """Return the end of the server's log, headed by where the whole of it is."""
        lines = self.log.read_text("utf-8", errors="replace").splitlines() if self.log.exists() else []
        return "\n".join([f"The end of {self.log}:", *(f"  {line}" for line in lines[-TAIL_LINES:])])

    def _set_log_aside(self) -> None:
        if self.log.exists() and self.log.stat().st_size > LOG_BYTES_MAX:
            self.log.replace(self.log.with_suffix(".log.1"))

    async def _stop_left_behind(self) -> None:
        try:
            record = msgspec.json.decode(self._record.read_bytes(), type=ProcessRecord)
        except (FileNotFoundError, msgspec.DecodeError):
            return
        if record.born and birth(record.pid) == record.born:
            await _end(record, self._stop_signal, self._stop_seconds)
        self._forget(record)

    def _forget(self, record: ProcessRecord | None = None) -> None:
        with contextlib.suppress(FileNotFoundError):
            record = record or msgspec.json.decode(self._record.read_bytes(), type=ProcessRecord)
            for path in record.leftovers:
                shutil.rmtree(path, ignore_errors=True)
            self._record.unlink()


def tied_to_parent(command: Sequence[str], death_signal: signal.Signals, account: Account | None = None) -> list[str]:
    """Return the command that runs `command` as `account` and ends it when this process dies."""
    uid, gid = (account.uid, account.gid) if account else (parent_death.KEEP_USER, parent_death.KEEP_USER)
    launcher = [sys.executable, "-I", "-S", "-B", str(Path(parent_death.__file__).resolve())]
    return [*launcher, str(os.getpid()), str(int(death_signal)), str(uid), str(gid), *command]


async def run_to_end(
    command: Sequence[str],
    *,
    seconds: float,
    account: Account | None = None,
    cwd: Path | None = None,
    pass_fds: Sequence[int] = (),
) -> str:
    """Return what a short command printed. It dies with this process.

    Raises `LocalServerError` where it fails or takes too long.
    """

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - as in spawn
            tied_to_parent(command, signal.SIGKILL, account),
            cwd=cwd,
            pass_fds=pass_fds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )

    program = Path(command[0]).name
    try:
        done = await asyncio.to_thread(run)
    except subprocess.TimeoutExpired:
        raise LocalServerError(f"{program} did not end within {seconds:.0f} s") from None
    if done.returncode != 0:
        last = "\n".join(done.stdout.splitlines()[-TAIL_LINES:])
        raise LocalServerError(f"{program} ended with status {done.returncode}:\n{last}")
    return done.stdout


def birth(pid: int) -> str | None:
    """Return when a process started, in a form that no other process of that number shares; None if there is none."""
    if not sys.platform.startswith("linux"):
        ps = ["/bin/ps", "-o", "lstart=", "-p", str(pid)]
        return subprocess.run(ps, capture_output=True, text=True, check=False).stdout.strip() or None  # noqa: S603
    try:
        status = Path(f"/proc/{pid}/stat").read_text("ascii", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return None
    fields = status.rpartition(")")[2].split()  # the name in parentheses may hold spaces
    state, threads, started = fields[0], int(fields[17]), fields[19]
    # Ended and only not yet waited for; while other threads of it run, it still holds its files and ports.
    ended = state in "ZX" and threads <= 1
    return None if ended else f"{boot}/{started}"


def free_port(wish: int | None = None) -> int:
    """Return a free port of this machine: the wished one if it is free, else any."""
    tried = random.sample(PORTS, PORTS_TRIED)  # not in order: two commands that start at once should not choose the same
    for port in (*([] if wish is None else [wish]), *tried, 0):
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((LOCALHOST, port))
            return int(listener.getsockname()[1])
    raise LocalServerError("this machine has no free port")


async def _end(record: ProcessRecord, stop_signal: signal.Signals, seconds: float) -> None:
    def gone() -> bool:
        return birth(record.pid) != record.born

    for signal_number, bound in ((stop_signal, seconds), (signal.SIGKILL, KILL_SECONDS)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(record.pid, signal_number)
        if await _until(gone, bound):
            return
    raise LocalServerError(f"process {record.pid}, left behind by an earlier run, could not be stopped")


async def _until(holds: Callable[[], bool], seconds: float) -> bool:
    deadline = asyncio.get_running_loop().time() + seconds
    while not holds():
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True
