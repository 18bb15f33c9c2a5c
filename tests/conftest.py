"""What does every test share? One real broker and one real database per run, and names of its own on both.

Nothing is started before a test asks for it; where a server cannot be had, the test fails and says why.
`distribution.py` says which worker runs which tests.
"""

import fcntl
import gc
import io
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
import pytest_asyncio
import structlog
from hypothesis import HealthCheck, settings

from adapters.local.process import birth
from adapters.settings import CONFIG_VARIABLE, VARIABLES
from tests.databases import FOLDER_VARIABLE, administer, drop_database, dsn_of, migrated
from tests.distribution import (
    WAITING,
    DurationsWriter,
    LongestFirst,
    count_cores,
    count_own_workers,
    estimate_minutes,
    read_durations,
)
from tests.machine_watch import MachineWatch
from tests.pace import PACE_VARIABLE, bound, measure_pace

if TYPE_CHECKING:
    from tests.adapters.http.conftest import SharedDeployment

RUN_VARIABLE = "LEADCLOCK_TEST_RUN"
"""Set by the run itself and inherited by its pytest-xdist workers, as the folder is: who the run is."""
SERVE_SECONDS = bound(240.0)  # the servers' own bounds are shorter, and say more
END_SECONDS = 60.0

# A busy machine is no counterexample: no law is broken because an example took long to make or to try.
settings.register_profile("leadclock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("leadclock")


QUICK_JAVA = "-XX:TieredStopAtLevel=1"
"""Brokers of tests live for minutes: what Java's second compiler takes a fifth of the machine for, they use no more."""

WATCH = pytest.StashKey[MachineWatch]()
SERVER_LINES = 30
SERVER_LINE_LENGTH = 300
"""Of the log of a server, at the end of a run that failed: its warnings and errors."""

SERVERS = frozenset({"kafka_bootstrap", "postgres_dsn", "s3_server"})
"""The fixtures that stand for the run's servers."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes `durations.json`."""
    parser.addoption("--write-durations", action="store_true", help="write tests/durations.json if all tests pass")


def pytest_xdist_auto_num_workers() -> int:
    """Return what `-n auto` means: as many workers as cores and memory allow."""
    return count_own_workers()


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LongestFirst | None:
    """Return the order of `--dist loadfile`, which the whole suite runs with."""
    return LongestFirst(config, log, read_durations()) if config.getoption("dist") == "loadfile" else None


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say what the run uses of the machine, and about how long a whole one takes here."""
    workers = getattr(config.option, "numprocesses", None)
    if not workers:
        return None
    minutes = estimate_minutes(read_durations(), workers)
    return f"workers: {workers}, with which the whole suite takes about {minutes} minutes"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need a server or start processes, so that `make check` can leave them out."""
    for item in items:
        if not SERVERS.isdisjoint(getattr(item, "fixturenames", ())) or item.nodeid.startswith(WAITING):
            item.add_marker(pytest.mark.servers)


def pytest_collection_finish() -> None:
    """Leave what collection made out of every later `gc.collect()`: it stays until the end, and there is much of it."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Forget the settings that the shell has, and make the run's folder, before any worker is started."""
    if config.getoption("write_durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(DurationsWriter())
    for variable in (CONFIG_VARIABLE, *VARIABLES):  # a test must not find a deployment by chance
        os.environ.pop(variable, None)
    os.environ.setdefault("JAVA_TOOL_OPTIONS", QUICK_JAVA)
    if not hasattr(config, "workerinput"):
        os.environ[FOLDER_VARIABLE] = tempfile.mkdtemp(prefix="leadclock-tests-")
        os.environ[RUN_VARIABLE] = str(os.getpid())
        config.stash[WATCH] = MachineWatch()
        os.environ[PACE_VARIABLE] = str(measure_pace((config.getoption("numprocesses", None) or 1) / count_cores()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    """Say of a run that failed what the machine did meanwhile, and what its servers complained of last."""
    if exitstatus == pytest.ExitCode.OK or hasattr(config, "workerinput"):
        return
    said = {"this machine": config.stash[WATCH].notes}
    for log in sorted(Path(os.environ[FOLDER_VARIABLE]).glob("*/server.log")):
        said[f"{log.parent.name} of the run"] = log.read_text("utf-8", "replace").splitlines()[-SERVER_LINES:]
    for source, lines in said.items():
        if lines:
            terminalreporter.section(source)
            for line in lines:
                terminalreporter.write_line(line[:SERVER_LINE_LENGTH])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the servers and delete their data, once every worker is done."""
    if not hasattr(config, "workerinput"):
        config.stash[WATCH].stop()
        folder = Path(os.environ[FOLDER_VARIABLE])
        for path in folder.glob("*.json"):
            _end(msgspec.json.decode(path.read_bytes())["pid"])
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left_open() -> Iterator[None]:
    """Fail the module that left something open; else a test fails in which the garbage happens to be collected."""
    yield
    found: list[str] = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda args: found.append(repr(args.exc_value))
    try:
        gc.collect()
    finally:
        sys.unraisablehook = hook
    assert not found, f"left open by this module: {found}"


@pytest.fixture(scope="session")
def kafka_bootstrap() -> str:
    """Where a real Kafka answers, `host:port`; shared, so name topics with `topic_prefix`."""
    return _served("kafka")


@pytest.fixture(scope="session")
def postgres_dsn() -> str:
    """A real PostgreSQL; shared, so use `database` or `migrated_database` for anything that is written."""
    return _served("postgres")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_deployment(postgres_dsn: str) -> AsyncIterator["SharedDeployment"]:
    """The deployment in one process that the files of this worker share."""
    from tests.adapters.http.conftest import SharedDeployment  # noqa: PLC0415 - pure tests need none of what it imports

    deployment = SharedDeployment(postgres_dsn)
    yield deployment
    await deployment.close()


@pytest.fixture
def topic_prefix() -> str:
    """A prefix for topic names, group ids and transactional ids that no other test has."""
    return f"t{uuid.uuid4().hex[:12]}."


@pytest.fixture
async def database(postgres_dsn: str) -> AsyncIterator[str]:
    """The DSN of a fresh, empty database, dropped after the test."""
    name = f"test_{uuid.uuid4().hex}"
    await administer(postgres_dsn, f"CREATE DATABASE {name}")
    yield dsn_of(postgres_dsn, name)
    await drop_database(postgres_dsn, name)


@pytest.fixture
async def migrated_database(postgres_dsn: str) -> AsyncIterator[str]:
    """The DSN of a fresh database with our tables, dropped after the test."""
    async with migrated(postgres_dsn) as dsn:
        yield dsn


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """A folder for a server's data, emptied after the test: pytest keeps its own for three runs, and these are large."""
    folder = tmp_path / "data"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that others may enter, as PostgreSQL before 16 needs it when started by root."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    """Where a log may be written; afterwards logging is as it was before."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield io.StringIO()
    root.handlers = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def _served(name: str) -> str:
    """Return the address of the run's server; the first worker that asks starts it, the others wait for it."""
    folder = Path(os.environ[FOLDER_VARIABLE])
    published = folder / f"{name}.json"
    with (folder / f"{name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not published.exists():
            _start(name, folder)
            _wait(published)
    served = msgspec.json.decode(published.read_bytes())
    if served["reason"]:
        pytest.fail(f"This test needs a real {name} server: {served['reason']}", pytrace=False)
    return str(served["address"])


def _start(name: str, folder: Path) -> None:
    script = Path(__file__).with_name("servers.py")
    with (folder / f"{name}.log").open("ab") as log:
        subprocess.run(
            [sys.executable, str(script), name, str(folder), os.environ[RUN_VARIABLE]],
            cwd=script.parent.parent,
            env={**os.environ, "PYTHONPATH": str(script.parent.parent)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            check=True,
        )


def _wait(published: Path) -> None:
    deadline = time.monotonic() + SERVE_SECONDS
    while not published.exists():
        if time.monotonic() > deadline:
            pytest.fail(f"no server within {SERVE_SECONDS:.0f} s: {published.with_suffix('.log').read_text()}")
        time.sleep(0.05)


def _end(pid: int) -> None:
    born, deadline = birth(pid), time.monotonic() + END_SECONDS
    if born is not None:
        os.kill(pid, signal.SIGTERM)
    while born is not None and birth(pid) == born and time.monotonic() < deadline:
        time.sleep(0.05)
