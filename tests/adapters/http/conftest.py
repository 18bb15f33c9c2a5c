"""What does every test of the HTTP interface run on? A whole deployment in one process: log, roles, a real PostgreSQL.

Only the broker is the embedded one; requests are decided, projected and read as they are in production.
"""

import asyncio
import time
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from ssl import SSLContext
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest
import pytest_asyncio
from argon2 import PasswordHasher

from adapters.clock import wall_now
from adapters.embedded.faults import FaultPoint
from adapters.embedded.log import EmbeddedLog
from adapters.gateway.addresses import networks
from adapters.gateway.ports import MailError
from adapters.http.app import Api, build_app
from adapters.http.console import today_page
from adapters.http.exchange.identity import hash_private_key
from adapters.http.exchange.impression_log import LogImpressions
from adapters.http.exchange.issuers import Issuers
from adapters.http.exchange.provider_services import ProviderServices
from adapters.http.exchange.recording_services import RecordingServices
from adapters.http.exchange.requests import LogRequests
from adapters.http.exchange.settings import HttpSettings
from adapters.observability.metrics import Metrics
from adapters.operator.deployment import LogDeployment
from adapters.postgres.circuits import PostgresCircuits
from adapters.postgres.gateways import PostgresGateways, PostgresServing
from adapters.postgres.heartbeats import PostgresHeartbeats
from adapters.postgres.idempotency import PostgresIdempotencyKeys
from adapters.postgres.lead_bulk_jobs import PostgresLeadBulkJobs
from adapters.postgres.lead_imports import PostgresLeadImports
from adapters.postgres.lead_views import PostgresLeadViews
from adapters.postgres.operators import PostgresOperators
from adapters.postgres.pool import Pool, open_pool
from adapters.postgres.projection_jobs import PostgresProjectionJobs
from adapters.postgres.provider_orders import PostgresOrders
from adapters.postgres.reads import PostgresReads
from adapters.postgres.recordings import PostgresRecordings
from adapters.postgres.results import ResultWaiter
from adapters.postgres.sign_ins import PostgresSignIns
from adapters.postgres.subscriptions import PostgresSubscriptionReads
from adapters.postgres.transcriptions import PostgresTranscriptions
from adapters.postgres.webhook_logs import PostgresWebhookLogReads
from adapters.providers.connections import Connections
from adapters.providers.provider_http import GuardedProviderHttp
from adapters.providers.reports import ProviderReports
from adapters.recordings.folder import FolderRecordings
from adapters.recordings.links import RecordingLinks
from adapters.roles.context import Context, open_context, prepare
from adapters.roles.deciders import accounts, scheduler
from adapters.roles.identity import establish, establish_database
from adapters.roles.projector import ProjectorRole
from adapters.roles.role import Role
from adapters.settings import CHANNELS
from adapters.settings import Settings as Deployment
from engine.partition.ports import LogError
from schemas.instant import Instant
from schemas.requests import RecordChangeRequested
from tests.databases import migrated
from tests.pace import bound

GATEWAY = "a gateway that serves every channel"
SECRET_KEY = "a secret of the deployment, long enough"
PARTITIONS = 2
WAIT_SECONDS = bound(30.0)
"""Longer than a busy machine takes for anything."""

UNLIMITED = HttpSettings(
    secret_key=SECRET_KEY,
    wait_seconds=WAIT_SECONDS,
    rates={},
    public_url="https://leads.example.com",
    webhook_networks=networks(["127.0.0.1"]),  # the vendors and issuers of tests are on this machine
)
"""Rates off, as a test of rates says otherwise; a slow machine must not turn a 201 into a 202."""

BEGUN_AT = Instant(1_781_715_600_000)
"""Wednesday, 17 June 2026, 17:00 UTC, as each deployment begins: no hours are closed from New York to Los Angeles,
and no test knows on which day it runs."""
DAYTIME_ZONE = "America/New_York"
"""It is 13:00 there then."""

START_SECONDS = bound(60.0)

DATABASE_BYTES_MAX = 500_000_000
"""What the files of a worker may leave together in the database that they share."""

CHEAP_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""Some thousand people sign in in tests: at the product's cost of 0.1 s of a core each, that would take minutes."""

WEEK = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
STEPS: list[dict[str, Any]] = [
    {"id": "pause", "kind": "wait", "duration": "1h"},
    {"id": "text-1", "kind": "sms", "template": "Hi {{first_name}}"},
]


class Outage:
    """Refuses appends to the topics named, as a broker does that has lost its leaders."""

    def __init__(self) -> None:
        self.topics: set[str] = set()

    def reach(self, point: FaultPoint, topic: str, partition: int) -> None:
        if topic in self.topics and point is FaultPoint.BEFORE_APPEND:
            raise LogError(f"{topic}[{partition}] has no leader")


class SentMail:
    """Stores e-mails in place of a mail server; there is none until a test says so."""

    def __init__(self) -> None:
        self.is_set_up = False
        self.is_away = False
        self.sent: list[tuple[str, str, str]] = []

    async def send(self, to: str, subject: str, body: str) -> None:
        if self.is_away:
            raise MailError("away")
        self.sent.append((to, subject, body))


ANYWHERE = {"dial_countries": [], "unreviewed_countries": "floor"}
"""What a company has that was made before these settings: it dials every country."""


class Company:
    """A company with a key; `client` speaks with it, `record` makes what it needs."""

    def __init__(self, town: "Town", company_id: int) -> None:
        self.town = town
        self.id = company_id
        self.public_key = f"pk_company_{company_id}"
        self.private_key = f"sk_{company_id}_private"
        self.headers = basic(self.public_key, self.private_key)

    async def create(self) -> None:
        await self.town.change(self.id, "company", {"name": f"Company {self.id}", "country": "US", **ANYWHERE})
        fields = {"name": "key", "public_key": self.public_key, "private_key_sha256": hash_private_key(self.private_key)}
        await self.town.change(self.id, "api_key", fields)

    async def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {**self.headers, **more.pop("headers", {})}
        return await self.town.client.request(method, path, headers=headers, **more)

    async def record(self, collection: str, fields: dict[str, Any]) -> dict[str, Any]:
        answer = await self.send("POST", f"/api/v1/{collection}", json=fields)
        assert answer.status_code == 201, answer.text
        root = answer.json()["metadata"]["root"]
        found: dict[str, Any] = answer.json()[root]
        return found

    def contact_id(self, number: str) -> int:
        return self.town.context.contact_ids().id_of(f"{self.id}|{number}")

    async def schedule(self, **more: Any) -> dict[str, Any]:
        return await self.record("schedules", {"name": "Solar", "steps": STEPS, **more})


class Town:
    """The deployment, and a client without a key."""

    def __init__(self, context: Context, requests: LogRequests, app: Api, results: ResultWaiter) -> None:
        self.context = context
        self.requests = requests
        self.app = app
        self.results = results
        self.numbers = 0
        self.company_ids = count(1)
        self.users: dict[int, tuple[str, dict[str, str]]] = {}
        self.own_key = 0
        self.own_view = 0
        self.invitation = ""
        self.outage = Outage()
        self.pool: Any = None
        self.metrics = Metrics()
        self.mail = SentMail()
        self.recordings: Any = None
        self.issuers: Any = None
        self.roles: list[asyncio.Task[None]] = []
        self.client = httpx.AsyncClient(
            timeout=WAIT_SECONDS,
            transport=httpx.ASGITransport(app=app, raise_app_exceptions=False),  # type: ignore[arg-type]
            base_url="http://leadclock.test",
        )

    def for_next_file(self) -> "Town":
        """Return the same deployment as another file meets it: nobody is signed in, no mail was sent."""
        town = Town(self.context, self.requests, self.app, self.results)
        town.company_ids = self.company_ids
        town.outage, town.pool, town.metrics, town.mail = self.outage, self.pool, self.metrics, self.mail
        town.recordings, town.issuers, town.roles = self.recordings, self.issuers, self.roles
        self.mail.is_set_up = False
        self.mail.sent.clear()
        town.reopen_streams()
        return town

    def reopen_streams(self) -> None:
        """Let pages have streams again: a server that ended has closed them, and what is served next is another process."""
        self.app._services.page_changes._is_closed = False
        self.app._services.streams._is_closed = False

    def ended_roles(self) -> list[str]:
        """Name the roles that have ended, with what ended them."""
        ended = [role for role in self.roles if role.done()]
        return [f"{role.get_name()} has ended: {'' if role.cancelled() else role.exception()!r}" for role in ended]

    async def company(self) -> Company:
        company = Company(self, next(self.company_ids))
        await company.create()
        return company

    async def change(self, company_id: int, record_type: str, fields: dict[str, Any]) -> None:
        self.numbers += 1
        request_id = f"town-{company_id}-{self.numbers}"
        message = RecordChangeRequested(company_id=company_id, type=record_type, operation="create", fields=fields)
        await self.requests.submit(
            "accounts.requests", str(company_id), message, request_id=request_id, company_id=company_id
        )
        result = await self.requests.wait(request_id, WAIT_SECONDS)
        assert result is not None, f"{record_type} was not decided in time"
        assert result.answer is not None
        assert result.answer.code is None, result.answer


def unquoted(table: str) -> str:
    """Return CSV without quotes, for cells that need none: each text has them."""
    return table.replace('"', "")


def basic(public_key: str, private_key: str) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{public_key}:{private_key}".encode()).decode()}


@asynccontextmanager
async def deployed(dsn: str, http_settings: HttpSettings, tls: SSLContext | None = None) -> AsyncIterator[Town]:
    """A deployment without any company over a fresh, migrated database; `tls` says which certificates it takes."""
    settings = Deployment(
        postgres_dsn=dsn, secret_key=SECRET_KEY, partitions=PARTITIONS, clock_wall_at=wall_now(), clock_domain_at=BEGUN_AT
    )
    outage = Outage()
    log = EmbeddedLog(None, now=wall_now, faults=outage)
    async with AsyncExitStack() as stack:
        context = await stack.enter_async_context(open_context(settings, log))
        stack.push_async_callback(log.close)
        await prepare(context)
        await establish_database(context, await establish(context))
        roles = await _start(stack, context)
        pool = await open_pool(dsn)
        stack.push_async_callback(pool.close)
        reads = PostgresReads(pool)
        results = ResultWaiter(pool, reads)
        results.start()
        stack.push_async_callback(results.close)
        appender = await log.appender()
        requests = LogRequests(
            log, names=context.names, appender=appender, rules=context.rules, now=context.clock.now, wait=results.wait
        )
        stack.push_async_callback(requests.close)
        impressions = LogImpressions(log, names=context.names, appender=await log.appender())
        stack.push_async_callback(impressions.close)
        # The vendors and issuers of tests are on this machine.
        vendors = GuardedProviderHttp(allowed=networks(["127.0.0.1"]), tls=tls)
        issuers = Issuers(vendors, time.monotonic)
        recordings = RecordingServices(
            recordings=PostgresRecordings(pool),
            files=FolderRecordings(Path(stack.enter_context(TemporaryDirectory()))),
            links=RecordingLinks(SECRET_KEY, http_settings.public_url),
            transcriptions=PostgresTranscriptions(pool),
            transcribes=True,
        )
        mail = SentMail()
        stack.push_async_callback(vendors.close)
        metrics = Metrics()
        await serve_every_channel(pool)
        app = build_app(
            requests=requests,
            impressions=impressions,
            reads=reads,
            source=context.rules,
            claims=PostgresIdempotencyKeys(pool),
            served=PostgresServing(pool),
            subscriptions=PostgresSubscriptionReads(pool),
            operators=PostgresOperators(pool),
            projection_jobs=PostgresProjectionJobs(pool),
            deployment=LogDeployment(context, pool),
            announcements=results,
            heartbeats=PostgresHeartbeats(pool),
            sign_ins=PostgresSignIns(pool),
            issuers=issuers,
            mail=mail,
            webhook_logs=PostgresWebhookLogReads(pool),
            circuits=PostgresCircuits(pool),
            bulk_jobs=PostgresLeadBulkJobs(pool),
            imports=PostgresLeadImports(pool),
            lead_views=PostgresLeadViews(pool),
            providers=ProviderServices(
                connections=Connections(
                    http=vendors, deployment_secret=SECRET_KEY, public_url=http_settings.public_url, now=wall_now
                ),
                orders=PostgresOrders(pool),
                reports=ProviderReports(requests, PostgresOrders(pool), context.clock.now, recordings.recordings),
            ),
            recordings=recordings,
            settings=http_settings,
            now=context.clock.now,
            metrics=metrics,
        )
        app._services.passwords._hasher = CHEAP_HASHER
        stack.callback(app.end_streams)
        place = Town(context, requests, app, results)
        place.recordings = recordings
        place.issuers = issuers
        place.outage, place.pool, place.metrics, place.mail, place.roles = outage, pool, metrics, mail, roles
        stack.push_async_callback(place.client.aclose)
        yield place


class SharedDeployment:
    """The deployment that the files of a worker share; the first one opens it, and one that breaks it is named.

    Companies know nothing of each other. A file that reads over all companies, or that breaks servers, mail, rates or
    time, has a deployment of its own: it asks for `own_town`.
    """

    def __init__(self, postgres_dsn: str) -> None:
        self._dsn = postgres_dsn
        self._stack = AsyncExitStack()
        self._town: Town | None = None

    async def open(self) -> Town:
        """Return the deployment as the next file meets it."""
        if self._town is None:
            self._town = await self._stack.enter_async_context(alone(self._dsn))
        await serve_every_channel(self._town.pool)
        await self._town.pool.execute("DELETE FROM work.sign_in_attempts")  # all files have one address
        return self._town.for_next_file()

    async def inspect(self) -> list[str]:
        """Return what a file has left behind that others would meet; then the next file gets a fresh deployment."""
        assert self._town is not None
        town, faults = self._town, self._town.ended_roles()
        faults += [f"{topic} takes no record" for topic in town.outage.topics]
        faults += ["mail is away"] if town.mail.is_away else []
        if not faults:
            size = await town.pool.fetchval("SELECT pg_database_size(current_database())")
            faults = [f"the database has {size:,} bytes"] if size > DATABASE_BYTES_MAX else []
        if faults:
            await self.close()
        return faults

    async def close(self) -> None:
        """Stop it."""
        self._town = None
        await self._stack.aclose()


@asynccontextmanager
async def alone(postgres_dsn: str) -> AsyncIterator[Town]:
    """A deployment over a database of its own."""
    async with migrated(postgres_dsn) as dsn, deployed(dsn, UNLIMITED) as place:
        yield place


@pytest.fixture(autouse=True)
def today_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Today wait for all of its answers, which a busy machine does not have within a second."""
    monkeypatch.setattr(today_page, "LOAD_SECONDS", WAIT_SECONDS)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(shared_deployment: SharedDeployment, request: pytest.FixtureRequest) -> AsyncIterator[Town]:
    """The deployment that files share: each test has a company of its own."""
    town = await shared_deployment.open()
    yield town
    faults = await shared_deployment.inspect()
    if faults:
        pytest.fail(f"{request.node.nodeid} left the shared deployment with: {'; '.join(faults)}", pytrace=False)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def own_town(postgres_dsn: str) -> AsyncIterator[Town]:
    """A deployment of one file, which says why by a fixture `town` of its own."""
    async with alone(postgres_dsn) as place:
        yield place


@pytest_asyncio.fixture(loop_scope="session")
async def company(town: Town, request: pytest.FixtureRequest) -> AsyncIterator[Company]:
    """The company of a test."""
    company = await town.company()
    yield company
    faults = town.ended_roles()
    if faults:
        pytest.fail(f"{request.node.nodeid}, company {company.id}: {'; '.join(faults)}", pytrace=False)


@pytest_asyncio.fixture(loop_scope="session")
async def other(town: Town) -> Company:
    """Another company."""
    return await town.company()


async def serve_every_channel(pool: Pool) -> None:
    """Let the API believe that gateways serve every channel, for as long as a gateway counts as there."""
    await PostgresGateways(pool).renew(GATEWAY, dict.fromkeys(CHANNELS, "test"))


async def _start(stack: AsyncExitStack, context: Context) -> list[asyncio.Task[None]]:
    metrics = Metrics()
    roles: list[Role] = [accounts(context, metrics), scheduler(context, metrics), ProjectorRole(context, metrics)]
    stop = asyncio.Event()
    tasks = [asyncio.create_task(role.run(stop), name=role.name) for role in roles]

    async def end() -> None:
        stop.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        failed = [error for error in ends if isinstance(error, Exception)]
        if failed:
            raise ExceptionGroup("roles failed", failed)

    stack.push_async_callback(end)
    async with asyncio.timeout(START_SECONDS):
        while any(role.problems() for role in roles):
            await asyncio.sleep(0.02)
    return tasks


__all__ = ["BEGUN_AT", "DAYTIME_ZONE", "STEPS", "WEEK", "Company", "Town", "basic", "deployed"]
