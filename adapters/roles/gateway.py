"""The `gateway` role: carry out the commands of every channel that this process has a provider for."""

import asyncio
import os
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial

import structlog

from adapters.errors import StoreError
from adapters.gateway.addresses import networks
from adapters.gateway.bounce_tokens import BounceTokens
from adapters.gateway.channels import (
    Channel,
    configured_call_channel,
    configured_email_channel,
    configured_sms_channel,
    sandbox_call_channel,
    sandbox_sms_channel,
    webhook_channel,
)
from adapters.gateway.compared_clock import ComparedClock
from adapters.gateway.configured import ConfiguredProviders
from adapters.gateway.contact_holds import ContactHolds
from adapters.gateway.delivery import SHUTDOWN_SECONDS
from adapters.gateway.gateway import Gateway
from adapters.gateway.mail_by_company import MailByCompany
from adapters.gateway.ports import GatewayRegistry, Kind, SandboxOrders
from adapters.gateway.providers import CONFIGURED, SANDBOX, provider_names, providers
from adapters.gateway.sandbox import SandboxSms, SandboxVoice
from adapters.gateway.smtp import SmtpEmail
from adapters.gateway.webhook import SignedWebhooks
from adapters.http.exchange.requests import LogRequests
from adapters.observability.metrics import Metrics
from adapters.postgres.deliveries import PostgresDeliveries
from adapters.postgres.gateways import RENEW_SECONDS, PostgresGateways
from adapters.postgres.pool import Pool, open_pool
from adapters.postgres.provider_orders import PostgresOrders
from adapters.postgres.recordings import PostgresRecordings
from adapters.postgres.sandbox_orders import PostgresSandboxOrders
from adapters.postgres.stream_leases import PostgresStreamLeases
from adapters.postgres.transcriptions import PostgresTranscriptions
from adapters.postgres.webhook_logs import PostgresWebhookLog
from adapters.providers.checks import OrderChecks
from adapters.providers.connections import Connections
from adapters.providers.orders import Orders
from adapters.providers.reports import ProviderReports
from adapters.providers.sessions import ProviderSessions
from adapters.providers.streams import StreamLeases, VendorStreams, api_client
from adapters.recordings.download import RecordingDownloads
from adapters.recordings.keeping import RecordingKeeper
from adapters.recordings.transcribing import RecordingTranscription
from adapters.retry import Backoff, retry_until_stopped
from adapters.roles.context import Context, describe_failure
from adapters.roles.group_membership import GroupMembership
from adapters.roles.mail_server import mail_server, unsubscribe_fault, unsubscribe_links
from adapters.roles.periodic_jobs import PeriodicJobs
from adapters.roles.provider_connections import provider_connections, provider_http
from adapters.roles.recordings import is_transcribed, recording_files
from adapters.roles.site import ACCEPT, SiteHolds, find_site, keep_held
from adapters.roles.transcriber import open_transcriber
from engine.partition.ports import LogError
from schemas.instant import DAY, SECOND
from schemas.records import ProviderChannel
from schemas.topics import COMMAND_TOPICS

logger = structlog.get_logger(__name__)

CLAIMS_RETENTION = 8 * DAY
"""A day more than the retention of the commands topics: while a command can be read, its claim must exist."""

FORGET_MINUTES = 60
RETRY_SECONDS = 2.0

LEAVE_SECONDS = 1.0
"""How long a gateway that stops keeps its partitions while deliveries end: then others take them over."""


class GatewayRole:
    """Runs one gateway per channel, each on the partitions that the channel's own consumer group assigns to it.

    One group per channel: processes may serve different channels, and each partition of each channel needs a member.
    """

    name = "gateway"

    def __init__(self, context: Context, metrics: Metrics) -> None:
        self._context = context
        self._metrics = metrics
        self._providers = providers(context.settings)
        self._gateways: list[Gateway] = []
        self._memberships: list[GroupMembership] = []
        self._process = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4()}"
        self._unregistered: str | None = "not registered yet"
        self._compared = ComparedClock(context.clock)
        self._holds: SiteHolds | None = None
        self._problem = "starting"

    async def run(self, stop: asyncio.Event) -> None:
        """Carry out commands until `stop` is set."""
        context = self._context
        await retry_until_stopped(self._find_site, stop, on=(LogError,), backoff=Backoff(), failed=self._report)
        if (holds := self._holds) is None:
            return
        size = context.settings.postgres_pool
        pool = await open_pool(context.settings.postgres_dsn, size=size, name="leadclock gateway", plans="force_custom_plan")
        deliveries = PostgresDeliveries(pool)
        register = PostgresGateways(pool)
        webhook_log = PostgresWebhookLog(pool)
        webhooks = self._webhooks(webhook_log)
        orders, sandboxed, vendors = PostgresOrders(pool), PostgresSandboxOrders(pool), provider_http(context)
        jobs = PeriodicJobs()
        jobs.add("forget claims", lambda: deliveries.forget(context.clock.now() - CLAIMS_RETENTION), minutes=FORGET_MINUTES)
        jobs.add("purge webhook logs", lambda: webhook_log.purge(context.clock.now()), minutes=FORGET_MINUTES)
        jobs.add("forget gateways", register.forget, minutes=FORGET_MINUTES)
        jobs.add("forget orders", lambda: orders.forget(CLAIMS_RETENTION / SECOND), minutes=FORGET_MINUTES)
        jobs.add("forget sandbox", lambda: sandboxed.forget(context.clock.now() - CLAIMS_RETENTION), minutes=FORGET_MINUTES)
        jobs.start()
        if SANDBOX in self._providers.values():
            channels = [channel for channel, provider in self._providers.items() if provider == SANDBOX]
            await logger.awarning("sandbox.enabled", channels=channels)
        if "email" in self._providers and (fault := unsubscribe_fault(context.settings)) is not None:
            await logger.awarning("unsubscribe.incomplete", reason=fault)
        connections = provider_connections(context, vendors)
        built = self._channels(webhooks, lambda kind: self._configured(kind, orders, connections), sandboxed)
        pairs = [self._gateway(channel, deliveries, holds) for channel in built]
        self._gateways = [gateway for gateway, _ in pairs]
        self._memberships = [membership for _, membership in pairs]
        registering = asyncio.create_task(self._register(register), name="register")
        holding = asyncio.create_task(keep_held(context, holds), name="site")
        try:
            async with self._checking(pool, orders, connections), self._listening(PostgresStreamLeases(pool), connections):
                await self._carry_out(stop)
        finally:
            jobs.stop()
            for task in (registering, holding):
                task.cancel()
            await asyncio.gather(registering, holding, return_exceptions=True)
            with suppress(StoreError, TimeoutError):
                async with asyncio.timeout(SHUTDOWN_SECONDS):
                    await register.stop(self._process)
            await webhooks.close()
            await vendors.close()
            await pool.close()

    async def _find_site(self) -> None:
        self._holds = SiteHolds(self._context, await find_site(self._context))

    async def _report(self, error: LogError, seconds: float) -> None:
        self._problem = describe_failure(self._context.settings, error)
        await logger.awarning("site.unknown", reason=self._problem, retry_in_seconds=seconds)

    async def _register(self, register: GatewayRegistry) -> None:
        """Renew the registration of the served channels and their circuits, and compare the clocks, until cancelled.

        At once where a hold was made or released.
        """
        rules = self._context.rules.rules
        while True:
            circuits = {gateway.channel.kind: gateway.channel.report_circuits() for gateway in self._gateways}
            held_by = rules.newest("contact_hold")
            self._metrics.contact_holds.set(sum(1 for _ in rules.of_type("contact_hold")))
            read = {partition: sequence for partition, sequence in rules.positions.items() if sequence}
            try:
                await self._compared.compare(partial(register.renew, self._process, self._providers, circuits, read))
                self._unregistered = None
            except StoreError as error:
                self._unregistered = describe_failure(self._context.settings, error)
            with suppress(TimeoutError):
                async with asyncio.timeout(RENEW_SECONDS if self._unregistered is None else RETRY_SECONDS):
                    while rules.newest("contact_hold") == held_by:  # somebody waits to hear that a hold is obeyed
                        await self._context.rules.next_records()

    async def _carry_out(self, stop: asyncio.Event) -> None:
        """Run the gateways for as long as the groups are followed; one that fails ends them all.

        Returns once every gateway has ended: they share a pool and a client.
        """
        working = [asyncio.create_task(gateway.run(), name=f"gateway {gateway.channel.kind}") for gateway in self._gateways]
        leave = asyncio.Event()
        following = [asyncio.create_task(membership.run(leave)) for membership in self._memberships]
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({*following, *working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            for gateway in self._gateways:
                gateway.stop()
            if stop.is_set():  # those that end at once still report to their group how far they have come
                await asyncio.wait(working, timeout=LEAVE_SECONDS)
                leave.set()
            else:
                for membership in following:
                    membership.cancel()
            ended = await asyncio.gather(*working, *following, return_exceptions=True)
        finally:
            for task in (*working, *following, stopping):
                task.cancel()
            await asyncio.shield(asyncio.gather(*working, *following, stopping, return_exceptions=True))
        for error in ended:
            if isinstance(error, Exception):
                raise error

    def problems(self) -> dict[str, str]:
        """Return what keeps commands from being carried out."""
        if not self._memberships:
            return {"gateway": self._problem}
        found = {} if self._unregistered is None else {"database": self._unregistered}
        if self._unregistered is None and self._compared.problem is not None:
            found["clock"] = f"the clock of this machine {self._compared.problem}"
        if self._holds is not None and (elsewhere := self._holds.problem) is not None:
            found["site"] = f"{elsewhere}. Nobody is contacted; once it is meant, run `{ACCEPT}`"
        for gateway, membership in zip(self._gateways, self._memberships, strict=True):
            problems = gateway.problems()
            if membership.problem is not None:
                problems["partitions"] = membership.problem
            found |= {f"{gateway.channel.kind} {source}": sentence for source, sentence in problems.items()}
        return found

    def _gateway(
        self, channel: Channel, deliveries: PostgresDeliveries, holds: ContactHolds
    ) -> tuple[Gateway, GroupMembership]:
        """Return the gateway of a channel, and what gives it its partitions and takes its reports."""
        context, kind = self._context, channel.kind

        def assign(partitions: frozenset[int]) -> None:
            gateway.assign(partitions)

        membership = GroupMembership(context, f"{self.name}.{kind}", COMMAND_TOPICS[kind], assign)
        gateway = Gateway(
            channel,
            log=context.log,
            deliveries=deliveries,
            clock=context.clock,
            metrics=self._metrics,
            names=context.names,
            drain_seconds=context.settings.drain_seconds,
            clock_problem=lambda: self._compared.problem,
            describe=partial(describe_failure, context.settings),
            traces=context.traces,
            holds=holds,
            reached=membership,
            made_topics=context.made_topics,
        )
        return gateway, membership

    def _webhooks(self, log: PostgresWebhookLog) -> SignedWebhooks:
        settings = self._context.settings
        return SignedWebhooks(
            self._context.rules,
            self._context.clock,
            deployment_secret=settings.secret_key,
            allowed=networks(settings.webhook_private_networks),
            own_ports=self._context.own_ports,
            log=log,
        )

    def _configured(self, kind: ProviderChannel, orders: Orders, connections: Connections) -> ConfiguredProviders:
        context = self._context
        return ConfiguredProviders(
            kind,
            provider_names(context.settings, kind),
            rules=context.rules,
            orders=orders,
            connections=connections,
            clock=context.clock,
        )

    @asynccontextmanager
    async def _listening(self, leases: StreamLeases, connections: Connections) -> AsyncIterator[None]:
        """Listen meanwhile to vendors of calls that report by a stream, where calls go by provider configurations."""
        names = provider_names(self._context.settings, "call")
        if self._providers.get("call", SANDBOX) == SANDBOX or not names:
            yield
            return
        async with api_client() as client:
            streams = VendorStreams(
                names,
                holder=self._process,
                leases=leases,
                connections=connections,
                rules=self._context.rules,
                client=client,
            )
            async with streams.running():
                yield

    @asynccontextmanager
    async def _checking(self, pool: Pool, orders: Orders, connections: Connections) -> AsyncIterator[None]:
        """Look up open orders, keep sessions with vendors and fetch recordings meanwhile.

        On channels that go by provider configurations.
        """
        context = self._context
        kinds: list[ProviderChannel] = [
            kind
            for kind in CONFIGURED
            if self._providers.get(kind, SANDBOX) != SANDBOX and provider_names(context.settings, kind)
        ]
        if not kinds:
            yield
            return
        appender = await context.appender()
        requests = LogRequests(
            context.log, names=context.names, appender=appender, rules=context.rules, now=context.clock.now, wait=_no_result
        )
        files = recording_files(context.settings)
        recordings = None if files is None else PostgresRecordings(pool)
        reports = ProviderReports(requests, orders, context.clock.now, recordings)
        downloads = transcriber = None
        tasks = [
            asyncio.create_task(work)
            for kind in kinds
            for work in (
                self._checks(kind, orders, connections, reports).run(),
                self._sessions(kind, orders, connections, reports).run(),
            )
        ]
        if files is not None and recordings is not None and "call" in kinds:
            downloads = self._downloads()
            keeper = RecordingKeeper(
                recordings, files, downloads=downloads, connections=connections, requests=requests, rules=context.rules
            )
            tasks.append(asyncio.create_task(keeper.run()))
            if is_transcribed(context.settings):
                transcriber = open_transcriber(context.settings, context.own_ports)
                work = RecordingTranscription(PostgresTranscriptions(pool), files, transcriber, requests)
                tasks.append(asyncio.create_task(work.run()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if downloads is not None:
                await downloads.close()
            if transcriber is not None:
                await transcriber.close()
            await requests.close()
            await appender.close()

    def _downloads(self) -> RecordingDownloads:
        allowed = networks(self._context.settings.webhook_private_networks)
        return RecordingDownloads(allowed=allowed, own_ports=self._context.own_ports)

    def _checks(
        self, kind: ProviderChannel, orders: Orders, connections: Connections, reports: ProviderReports
    ) -> OrderChecks:
        return OrderChecks(kind, orders=orders, connections=connections, reports=reports, rules=self._context.rules.rules)

    def _sessions(
        self, kind: ProviderChannel, orders: Orders, connections: Connections, reports: ProviderReports
    ) -> ProviderSessions:
        context = self._context
        names = provider_names(context.settings, kind)
        return ProviderSessions(kind, names, rules=context.rules, orders=orders, connections=connections, reports=reports)

    def _channels(
        self,
        webhooks: SignedWebhooks,
        configured: Callable[[ProviderChannel], ConfiguredProviders],
        sandboxed: SandboxOrders,
    ) -> list[Channel]:
        clock, settings = self._context.clock, self._context.settings
        built: Mapping[Kind, Callable[[], Channel]] = {
            "call": lambda: (
                sandbox_call_channel(SandboxVoice(clock, sandboxed))
                if self._providers["call"] == SANDBOX
                else configured_call_channel(configured("call"))
            ),
            "sms": lambda: (
                sandbox_sms_channel(SandboxSms(clock, sandboxed))
                if self._providers["sms"] == SANDBOX
                else configured_sms_channel(configured("sms"))
            ),
            "email": lambda: configured_email_channel(
                MailByCompany(
                    configured("email"),
                    SmtpEmail(
                        mail_server(settings),
                        clock,
                        unsubscribe=unsubscribe_links(settings),
                        bounces=BounceTokens(settings.secret_key),
                    ),
                    has_server=bool(settings.smtp_host),
                )
            ),
            "webhook": lambda: webhook_channel(webhooks),
        }
        return [built[kind]() for kind in self._providers]


async def _no_result(_request_id: str, _timeout_seconds: float) -> None:
    """Return at once: no caller reads the result of a report."""
