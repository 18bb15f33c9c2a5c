"""How is a whole deployment started and stopped on one machine? In the order in which its parts depend on each other.

Broker and database, topics and migrations, mail server, roles, demo company, ready file; in reverse at Ctrl-C. All roles run
in this process, which starts fast and stops easily. A deployment runs one process per role, with the same settings.
"""

import asyncio
import contextlib
import os
import signal
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Literal, TextIO, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, structs

from adapters.clock import wall_now
from adapters.embedded.compaction import Compaction
from adapters.embedded.log import EmbeddedLog
from adapters.embedded.log_server import serve_log
from adapters.embedded.remote import EMBEDDED
from adapters.gateway.mailbox import Mailbox
from adapters.http.exchange.identity import hash_private_key
from adapters.http.exchange.settings import DemoSignIn
from adapters.local.resolution import Broker, Database, broker, database
from adapters.observability.health import HealthServer
from adapters.observability.logs import configure_logs
from adapters.observability.metrics import Metrics
from adapters.observability.traces import opened_traces
from adapters.postgres.identity import Presence
from adapters.postgres.migrate import migrate
from adapters.postgres.operators import PostgresOperators
from adapters.postgres.pool import open_pool
from adapters.roles.api import ApiRole
from adapters.roles.context import Context, compaction, open_context
from adapters.roles.garbage_collection import configure_garbage_collection
from adapters.roles.identity import (
    IdentityError,
    LostTopicsError,
    check_before_creating,
    establish_database,
    make_topics,
)
from adapters.roles.periodic_jobs import PeriodicJobs
from adapters.roles.process import facts
from adapters.roles.record_client import RecordClient
from adapters.roles.role import Role
from adapters.roles.table import ROLES, build_role
from adapters.settings import CHANNELS, SANDBOX_CHANNELS, Settings, to_environment
from adapters.up.attach import attached_settings, refuse_others
from adapters.up.demo import COMPANY_ID, USER_EMAIL, make_demo
from adapters.up.folder import FRESH, Keys, Ready, Running, claim_folder, load_keys, lock_folder, write_private
from adapters.up.log_file import LogFile
from schemas.deployment import Deployment
from schemas.errors import DependencyError, SenderError
from schemas.instant import EPOCH

PARTITIONS = 4
"""Of every topic of a laptop: enough to see that there are several, few enough to start quickly."""

READY_SECONDS = 120.0
"""The roles are ready within seconds; a machine that needs longer than this has a fault to report."""

COMPACTION_MINUTES = 5
"""How often the embedded log deletes and compacts; Kafka's own interval for retention."""

POSTGRES_PORT = 5432
"""Of a DSN that names none."""

STOP_SECONDS = 15.0
POLL_SECONDS = 0.05

OPERATOR_NAME = "leadclock up"
"""Of the operator key with which one click opens the pages about the deployment."""

Say = Callable[[str], None]


class Options(Struct, frozen=True, kw_only=True):
    """What `leadclock up` was asked for."""

    port: int = 8080
    data_dir: Path | None = None
    ephemeral: bool = False
    speed: float = 1.0
    broker: Literal["auto", "kafka", "embedded"] = "auto"
    ready_file: Path | None = None
    attached: Settings | None = None
    """The deployment of the shell, where `--attach` was typed."""
    is_shared: bool = False
    webhooks_to_own_ports: bool = False


class LocalStack(Struct, frozen=True, kw_only=True):
    """What runs, for the banner."""

    options: Options
    folder: Path
    broker: Broker
    database: Database
    keys: Keys
    settings: Settings
    log_address: str
    api_url: str
    health_urls: dict[str, str]
    seconds: float
    is_demo: bool

    @property
    def console_url(self) -> str:
        """Return where a browser finds the console."""
        return f"{self.api_url}/console"


class PortTakenError(DependencyError):
    """The HTTP port is taken."""

    def __init__(self, port: int) -> None:
        super().__init__(f"port {port} is taken; give another one with --port (0 takes a free one)")


class UnwritablePathError(SenderError):
    """A folder or file that was asked for cannot be written."""

    def __init__(self, flag: str, path: Path, error: OSError) -> None:
        super().__init__(f"{flag} {path} cannot be written: {error.strerror}; give another one")


class RoleEndedError(DependencyError):
    """A role ended by itself."""


async def up(options: Options, *, default_folder: Path, say: Say, welcome: Callable[[LocalStack], None]) -> None:
    """Run everything until SIGINT or SIGTERM. Raises what kept it from starting, or what ended it."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    _check_port(options.port)
    _create_folders(options)
    with _folder(options, default_folder) as folder, lock_folder(folder):
        claim_folder(folder)
        _remove(options.ready_file, folder / "up.json")
        try:
            await _run(options, folder, stop, say, welcome)
        finally:
            _remove(options.ready_file, folder / "up.json")


def _check_port(port: int) -> None:
    """Raise `PortTakenError` before anything is started."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise PortTakenError(port) from error


def _create_folders(options: Options) -> None:
    """Create the folders of the options. Raises `UnwritablePathError` before anything is started."""
    wanted = [("--data-dir", options.data_dir, options.data_dir)]
    if options.ready_file is not None:
        wanted.append(("--ready-file", options.ready_file, options.ready_file.parent))
    for flag, path, folder in wanted:
        if path is None or folder is None:
            continue
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise UnwritablePathError(flag, path, error) from error


@contextlib.contextmanager
def _folder(options: Options, default_folder: Path) -> Iterator[Path]:
    """Yield the data folder; with `--ephemeral` a fresh one that is deleted at the end."""
    folder = options.data_dir or default_folder
    if not options.ephemeral:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder.resolve()
        return
    with tempfile.TemporaryDirectory(prefix=FRESH, dir=options.data_dir) as fresh:
        Path(fresh).chmod(0o755)  # the database may run as another user, who must be able to reach its own folder
        yield Path(fresh).resolve()


async def _run(options: Options, folder: Path, stop: asyncio.Event, say: Say, welcome: Callable[[LocalStack], None]) -> None:
    started = time.monotonic()
    keys = load_keys(folder)
    async with contextlib.AsyncExitStack() as resources:
        # Open to the end of the process: libraries still log while the event loop ends.
        configure_logs("info", form="json", stream=cast("TextIO", LogFile(folder)))
        say("Starting PostgreSQL and the broker …")
        servers = await _servers(resources, options, folder)
        say(servers.broker.sentence)
        mailbox = Mailbox(folder / "mail")
        await mailbox.start()
        resources.push_async_callback(mailbox.stop)
        settings = _settings(options, folder, servers, keys)
        if options.webhooks_to_own_ports:
            settings = structs.replace(settings, webhook_own_ports="allow")
        log = await _embedded(resources, servers.broker, folder)
        log_port = 0 if log is None else await resources.enter_async_context(serve_log(log, keys.secret_key))
        context = await resources.enter_async_context(open_context(settings, log))
        context.traces = await resources.enter_async_context(opened_traces(settings, "up", context.deployment_id))
        context.own(*_ports_of(servers), mailbox.port, log_port)
        is_demo = await _claim(resources, context, options, folder)
        if is_demo:
            context.settings = settings = _as_demo(settings, mailbox.port)
        if log is not None:
            await _compact_periodically(resources, compaction(settings, log))
        configure_garbage_collection()
        say("Starting the roles …")
        demo = await _demo_sign_in(settings.postgres_dsn, keys) if is_demo else None
        roles = await resources.enter_async_context(_running(context, demo))
        await _wait_until_ready(roles, stop, servers)
        if is_demo:
            keys = await _demo(context, keys)
        stack = LocalStack(
            options=options,
            folder=folder,
            broker=servers.broker,
            database=servers.database,
            keys=keys,
            settings=settings,
            log_address=settings.kafka_bootstrap if log is None else f"{EMBEDDED}{log_port}",
            api_url=f"http://127.0.0.1:{roles.api_port}",
            health_urls=roles.health_urls,
            seconds=time.monotonic() - started,
            is_demo=is_demo,
        )
        _announce(stack, mailbox.folder)
        if not stop.is_set():
            welcome(stack)
        await _wait_for_stop(roles, stop, servers, log)
        say("Stopping …")


def _ports_of(servers: "_Servers") -> list[int]:
    """Return the ports of broker and database, ours or given ones: webhooks must not reach them."""
    bootstraps = [address.rpartition(":")[2] for address in servers.broker.bootstrap.split(",")]
    database = urlsplit(servers.database.dsn).port
    return [*servers.broker.ports, *(int(port) for port in bootstraps if port.isdecimal()), database or POSTGRES_PORT]


class _Servers(Struct, frozen=True):
    broker: Broker
    database: Database

    def check(self) -> None:
        """Raise where a server that we run has ended."""
        self.broker.check()
        self.database.check()


async def _servers(resources: contextlib.AsyncExitStack, options: Options, folder: Path) -> _Servers:
    """Start broker and database side by side, or take those that were given; ours are stopped with the resources."""
    bootstrap, dsn = (
        ("", "") if options.attached is None else (options.attached.kafka_bootstrap, options.attached.postgres_dsn)
    )
    opened = await asyncio.gather(
        resources.enter_async_context(broker(folder, choice=options.broker, given=bootstrap)),
        resources.enter_async_context(database(folder, durable=not options.ephemeral, given=dsn)),
    )
    return _Servers(*opened)


async def _embedded(resources: contextlib.AsyncExitStack, opened: Broker, folder: Path) -> EmbeddedLog | None:
    if opened.kind != "embedded":
        return None
    log = EmbeddedLog(folder / "log", now=wall_now)
    resources.push_async_callback(log.close)
    return log


async def _claim(resources: contextlib.AsyncExitStack, context: Context, options: Options, folder: Path) -> bool:
    """Prepare topics and database, compare the identity, and return whether an `up` created this deployment.

    A given deployment is checked before anything is written to it. Raises `IdentityError`, `OthersRunError`.
    """
    dsn = context.settings.postgres_dsn
    presence = Presence(dsn, "leadclock up")
    known = await check_before_creating(context, with_database=True) if options.attached is not None else None
    if options.attached is not None and not options.is_shared:
        await refuse_others(context, presence)
    await resources.enter_async_context(presence)
    if options.attached is None:
        return await _identify(context, folder)
    return (await _make(context, known)).is_demo


async def _make(context: Context, known: Deployment | None) -> Deployment:
    """Make topics and tables, and return the identity that both then have. Raises `IdentityError`, `LostTopicsError`."""
    made, _ = await asyncio.gather(make_topics(context, known, is_demo=True), migrate(context.settings.postgres_dsn))
    if made.identity is None:
        raise IdentityError(f"topics differ: `leadclock topics check` names how ({made.drifts[0].topic})")
    await establish_database(context, made.identity)
    return made.identity


async def _identify(context: Context, folder: Path) -> bool:
    """Give the deployment of this folder its identity.

    Raises `IdentityError`, also where the folder's database was filled from another broker of it.
    """
    try:
        await _make(context, await check_before_creating(context, with_database=True))
    except (IdentityError, LostTopicsError) as error:
        raise type(error)(
            f"{error}. In {folder}: give the --broker that it was begun with, or another --data-dir"
        ) from error
    return True


async def _compact_periodically(resources: contextlib.AsyncExitStack, work: Compaction) -> None:
    """Compact the embedded log, now and every few minutes."""
    jobs = PeriodicJobs()
    jobs.add("compact the log", work.turn, minutes=COMPACTION_MINUTES)
    await jobs.run_now("compact the log")
    jobs.start()
    resources.callback(jobs.stop)


def _settings(options: Options, folder: Path, servers: _Servers, keys: Keys) -> Settings:
    if options.attached is not None:
        return attached_settings(options.attached, folder, keys, port=options.port)
    now = wall_now() if options.speed != 1.0 else EPOCH
    return Settings(
        kafka_bootstrap=servers.broker.bootstrap,
        partitions=PARTITIONS,
        postgres_dsn=servers.database.dsn,
        secret_key=keys.secret_key,
        state_dir=str(folder / "state"),
        recordings_dir=str(folder / "recordings"),
        http_port=options.port,
        clock_wall_at=now,
        clock_domain_at=now,
        clock_speed=options.speed,
    )


def _as_demo(settings: Settings, smtp_port: int) -> Settings:
    """Return the settings of a deployment that an `up` made: nothing that it does may reach a telephone or a mailbox."""
    return structs.replace(
        settings,
        rate_limits="call_starts",
        channels=CHANNELS,
        sandbox=SANDBOX_CHANNELS,
        smtp_host="127.0.0.1",
        smtp_port=smtp_port,
        smtp_username=None,
        smtp_password=None,
        smtp_starttls=False,
        webhook_private_networks=("127.0.0.0/8",),  # a newcomer's first webhook goes to their own machine
    )


class _Roles:
    """All roles in tasks of this process."""

    def __init__(self, context: Context, demo: DemoSignIn | None) -> None:
        metrics = {name: Metrics() for name in ROLES}
        context.skipped.count_in(metrics[ApiRole.name])
        self.api = ApiRole(context, metrics[ApiRole.name], demo=demo)
        self.roles: list[Role] = [build_role(name, context, metrics[name]) for name in ROLES if name != self.api.name]
        self.roles.append(self.api)
        self.health = {
            role.name: HealthServer(
                role.problems, metrics[role.name], facts(role.name, context.settings), context.skipped.notes
            )
            for role in self.roles
        }
        self.stop = asyncio.Event()
        self.tasks = {role.name: asyncio.create_task(role.run(self.stop), name=role.name) for role in self.roles}

    @property
    def api_port(self) -> int:
        """The port that the API really listens on."""
        return self.api.port

    @property
    def health_urls(self) -> dict[str, str]:
        """Where each role answers for its health and metrics."""
        return {name: f"http://127.0.0.1:{server.port}" for name, server in self.health.items()}

    def problems(self) -> dict[str, str]:
        """Return what keeps a role from being ready, by role and part."""
        return {f"{role.name}: {what}": why for role in self.roles for what, why in role.problems().items()}

    def check(self) -> None:
        """Raise where a role has ended."""
        for name, task in self.tasks.items():
            if task.done():
                error = None if task.cancelled() else task.exception()
                raise RoleEndedError(f"the {name} role ended: {error}") from error


@contextlib.asynccontextmanager
async def _running(context: Context, demo: DemoSignIn | None) -> AsyncIterator[_Roles]:
    roles = _Roles(context, demo)
    try:
        for server in roles.health.values():
            await server.start()
            context.own(server.port)
        yield roles
    finally:
        for server in roles.health.values():
            await server.stop()
        roles.stop.set()
        _, late = await asyncio.wait(roles.tasks.values(), timeout=STOP_SECONDS)
        for task in late:
            task.cancel()
        await asyncio.gather(*roles.tasks.values(), return_exceptions=True)


async def _wait_until_ready(roles: _Roles, stop: asyncio.Event, servers: _Servers) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while (problems := roles.problems()) and not stop.is_set():
        roles.check()
        servers.check()
        if time.monotonic() > deadline:
            raise RoleEndedError(f"not ready within {READY_SECONDS:.0f} s: {problems}")
        await asyncio.sleep(POLL_SECONDS)


async def _wait_for_stop(roles: _Roles, stop: asyncio.Event, servers: _Servers, log: EmbeddedLog | None) -> None:
    """Wait for the signal; fail as soon as something that was started has ended, or the log takes nothing more."""
    while not stop.is_set():
        roles.check()
        servers.check()
        if log is not None:
            log.check()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), 1.0)


async def _demo_sign_in(dsn: str, keys: Keys) -> DemoSignIn:
    """Return whom one click signs in; make the operator key of this folder, where the database does not know it yet."""
    public, private = keys.operator_public_key, keys.operator_private_key
    pool = await open_pool(dsn, size=1)
    try:
        operators = PostgresOperators(pool)
        if await operators.key(public) is None:
            await operators.create(public, hash_private_key(private), OPERATOR_NAME)
    finally:
        await pool.close()
    return DemoSignIn(COMPANY_ID, USER_EMAIL, f"{public}.{private}")


async def _demo(context: Context, keys: Keys) -> Keys:
    appender = await context.appender()
    try:
        records = RecordClient(context.log, context.names, context.rules, appender, context.clock, company_id=COMPANY_ID)
        await context.rules.refresh()
        return await make_demo(records, keys)
    finally:
        await appender.close()


def _announce(stack: LocalStack, mail_folder: Path) -> None:
    """Write `up.json` for other commands, and the ready file for waiting scripts."""
    running = Running(
        pid=os.getpid(),
        api_url=stack.api_url,
        started_at=wall_now(),
        environment=to_environment(structs.replace(stack.settings, kafka_bootstrap=stack.log_address)),
        mail_folder=str(mail_folder),
        data_folder=str(stack.folder),
        ephemeral_in=str(Path.cwd()) if stack.options.ephemeral else "",
        health_urls=stack.health_urls,
    )
    write_private(stack.folder / "up.json", msgspec.json.format(msgspec.json.encode(running)))
    if stack.options.ready_file is None:
        return
    ready = Ready(
        api_url=stack.api_url,
        console_url=stack.console_url,
        public_key=stack.keys.public_key if stack.is_demo else "",
        private_key=stack.keys.private_key if stack.is_demo else "",
        offer_lead_token=stack.keys.offer_lead_token if stack.is_demo else "",
        schedule_lead_token=stack.keys.quick_lead_token if stack.is_demo else "",
        kafka_bootstrap=stack.broker.bootstrap,
        postgres_dsn=stack.database.dsn,
    )
    write_private(stack.options.ready_file, msgspec.json.encode(ready))


def _remove(*files: Path | None) -> None:
    for file in files:
        if file is not None:
            file.unlink(missing_ok=True)
