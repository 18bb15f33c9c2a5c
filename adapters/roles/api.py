"""The `api` role: the HTTP interface over the log it writes to and the read schema it reads from."""

import asyncio
import time
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network

import structlog
from msgspec import structs

from adapters.gateway.addresses import networks
from adapters.gateway.own_mail import OwnMail
from adapters.http.app import Api, build_app
from adapters.http.exchange.hosts import read_hosts
from adapters.http.exchange.impression_log import LogImpressions
from adapters.http.exchange.issuers import Issuers
from adapters.http.exchange.provider_services import ProviderServices
from adapters.http.exchange.recording_services import RecordingServices
from adapters.http.exchange.requests import LogRequests
from adapters.http.exchange.settings import RATES, DemoSignIn, HttpSettings, Rate, read_rate
from adapters.http.server import serving
from adapters.observability.metrics import Metrics
from adapters.operator.deployment import LogDeployment
from adapters.postgres.circuits import PostgresCircuits
from adapters.postgres.gateways import PostgresServing
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
from adapters.providers.provider_http import GuardedProviderHttp
from adapters.providers.reports import ProviderReports
from adapters.recordings.links import RecordingLinks
from adapters.retry import Backoff, retry_until_stopped
from adapters.roles.api_jobs import JOB_CONNECTIONS, ApiJobs
from adapters.roles.broker import describe
from adapters.roles.context import Context
from adapters.roles.mail_server import mail_server
from adapters.roles.provider_connections import provider_connections, provider_http
from adapters.roles.recordings import is_transcribed, recording_files
from adapters.settings import PREFIX, SettingsError
from adapters.settings import Settings as Deployment
from engine.partition.ports import LogError

CONNECTIONS_PER_REPORT = 5
"""Connections of the pool for each report that runs at once: 10 allow 2. A report keeps a core of the database busy."""

logger = structlog.get_logger(__name__)


class ApiRole:
    """Serve HTTP on one port until `stop` is set; `port` is the one that was bound.

    `demo` is whom one click signs in to the console, on this machine.
    """

    name = "api"

    def __init__(self, context: Context, metrics: Metrics, *, demo: DemoSignIn | None = None) -> None:
        self._context = context
        self._metrics = metrics
        self._demo = demo
        self._problems: dict[str, str] = {"http": "starting"}
        self._jobs: ApiJobs | None = None
        self.port = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set."""
        context, settings = self._context, self._context.settings
        pool = await open_pool(settings.postgres_dsn, size=settings.postgres_pool, name="leadclock api")
        job_pool = await open_pool(settings.postgres_dsn, size=JOB_CONNECTIONS, name="leadclock api jobs")
        reads = PostgresReads(pool)
        results = ResultWaiter(pool, reads)
        results.start()
        appender = await context.appender()
        requests = LogRequests(
            context.log,
            names=context.names,
            appender=appender,
            rules=context.rules,
            now=context.clock.now,
            wait=results.wait,
            traces=context.traces,
        )
        # With a producer of their own: a flood of impressions fills its buffers, not those of requests.
        impression_appender = await context.appender()
        impressions = LogImpressions(context.log, names=context.names, appender=impression_appender)
        vendors = provider_http(context)
        jobs = self._jobs = ApiJobs(context, job_pool, requests)
        jobs.start()
        try:
            await self._read_first_rules(stop)
            app = self._app(pool, requests, impressions, reads, results, jobs.served, vendors)
            serve = serving(
                app,
                host=settings.http_host,
                port=settings.http_port,
                per_address_max=settings.http_connections_per_address,
                trusted_proxies=trusted_proxies(settings),
            )
            async with serve as port:
                self.port = port
                context.own(port)
                del self._problems["http"]
                await stop.wait()
                app.end_streams()
        finally:
            await jobs.stop()
            await requests.close()
            await appender.close()
            await impressions.close()
            await impression_appender.close()
            await results.close()
            await vendors.close()
            await job_pool.close()
            await pool.close()

    def _app(  # noqa: PLR0917 - what the process opened
        self,
        pool: Pool,
        requests: LogRequests,
        impressions: LogImpressions,
        reads: PostgresReads,
        results: ResultWaiter,
        served: PostgresServing,
        vendors: GuardedProviderHttp,
    ) -> Api:
        context, orders = self._context, PostgresOrders(pool)
        recordings = _recordings(context, pool)
        return build_app(
            requests=requests,
            impressions=impressions,
            reads=reads,
            source=context.rules,
            claims=PostgresIdempotencyKeys(pool),
            served=served,
            subscriptions=PostgresSubscriptionReads(pool),
            operators=PostgresOperators(pool),
            projection_jobs=PostgresProjectionJobs(pool),
            deployment=LogDeployment(context, pool),
            announcements=results,
            providers=ProviderServices(
                connections=provider_connections(context, vendors),
                orders=orders,
                reports=ProviderReports(
                    requests, orders, context.clock.now, None if recordings is None else recordings.recordings
                ),
            ),
            recordings=recordings,
            heartbeats=PostgresHeartbeats(pool),
            sign_ins=PostgresSignIns(pool),
            issuers=Issuers(vendors, time.monotonic),
            mail=OwnMail(mail_server(context.settings)),
            webhook_logs=PostgresWebhookLogReads(pool),
            circuits=PostgresCircuits(pool),
            bulk_jobs=PostgresLeadBulkJobs(pool),
            imports=PostgresLeadImports(pool),
            lead_views=PostgresLeadViews(pool),
            settings=structs.replace(_http_settings(context), demo=self._demo),
            now=context.clock.now,
            ready=self._ready,
            metrics=self._metrics,
        )

    def problems(self) -> dict[str, str]:
        """Return what keeps the interface from answering."""
        found = {"database": "not asked yet" if self._jobs is None else self._jobs.database_problem}
        found["log"] = self._context.rules.problem
        return self._problems | {name: problem for name, problem in found.items() if problem is not None}

    async def _ready(self) -> Mapping[str, str]:
        return self.problems()

    async def _read_first_rules(self, stop: asyncio.Event) -> None:
        """Read the account records once: until then, a valid key would be refused as unknown."""
        refresh = self._context.rules.refresh
        await retry_until_stopped(refresh, stop, on=(LogError,), backoff=Backoff(), failed=self._report)
        if not stop.is_set():
            self._problems.pop("log", None)

    async def _report(self, error: LogError, seconds: float) -> None:
        self._problems["log"] = describe(self._context.settings, error)
        await logger.awarning("log.disconnected", role=self.name, error=self._problems["log"], retry_in_seconds=seconds)


def _recordings(context: Context, pool: Pool) -> RecordingServices | None:
    settings = context.settings
    files = recording_files(settings)
    if files is None:
        return None
    links = RecordingLinks(settings.secret_key, settings.public_url)
    return RecordingServices(
        recordings=PostgresRecordings(pool),
        files=files,
        links=links,
        transcriptions=PostgresTranscriptions(pool),
        transcribes=is_transcribed(settings),
    )


def _http_settings(context: Context) -> HttpSettings:
    settings = context.settings
    limited = {"on": set(RATES), "off": set(), "call_starts": {"call_start", "unknown_key"}}[settings.rate_limits]
    rates = {name: _rate(settings, f"rate_{name}s") for name in RATES if name in limited}
    return HttpSettings(
        secret_key=settings.secret_key,
        rates={name: rate for name, rate in rates.items() if rate is not None},
        trusted_proxies=trusted_proxies(settings),
        hosts=_hosts(settings),
        connections_per_address=settings.http_connections_per_address,
        speed=settings.clock_speed,
        public_url=settings.public_url,
        is_traced=bool(settings.otlp_endpoint),
        webhook_networks=networks(settings.webhook_private_networks),
        own_ports=context.own_ports,
        reports_max=max(1, settings.postgres_pool // CONNECTIONS_PER_REPORT),
    )


def trusted_proxies(settings: Deployment) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks whose X-Forwarded-For is believed. Raises `SettingsError`."""
    return tuple(_network(text) for text in settings.trusted_proxies)


def _hosts(settings: Deployment) -> dict[str, int]:
    try:
        return read_hosts(settings.hosts)
    except ValueError as error:
        raise SettingsError(f"{PREFIX}HOSTS: {error}") from None


def _rate(settings: Deployment, name: str) -> Rate | None:
    try:
        return read_rate(getattr(settings, name))
    except ValueError:
        raise SettingsError(f"{PREFIX}{name.upper()}: say 100:500 (a second, and saved up at most), or off") from None


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text.strip())
    except ValueError as error:
        raise SettingsError(f"{PREFIX}TRUSTED_PROXIES: {error}") from None
