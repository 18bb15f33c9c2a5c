"""The `api` role: the HTTP interface over the log it writes to and the read schema it reads from."""

import asyncio
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network

from litestar import Litestar

from adapters.http.app import build_app
from adapters.http.requests import LogRequests
from adapters.http.server import serving
from adapters.http.settings import RATES, Rate, Settings, read_rate
from adapters.observability.metrics import Metrics
from adapters.postgres.pool import open_pool
from adapters.postgres.reads import PostgresReads
from adapters.postgres.results import Results
from adapters.postgres.upkeep import PostgresClaims, Purge
from adapters.roles.chores import Chores
from adapters.roles.context import Context
from adapters.settings import PREFIX, SettingsError
from adapters.settings import Settings as Deployment
from engine.partition.ports import LogError

PURGE_MINUTES = 10
"""Results and Idempotency-Keys live for 24 h; ten minutes more do no harm."""


class ApiRole:
    """Serves one port until told to stop; `port` is the one it got."""

    name = "api"

    def __init__(self, context: Context, metrics: Metrics) -> None:
        self._context = context
        self._metrics = metrics
        self._troubles: dict[str, str] = {"http": "starting"}
        self.port = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until told to stop."""
        context, settings = self._context, self._context.settings
        pool = await open_pool(settings.postgres_dsn, size=settings.postgres_pool, name="leadclock api")
        reads = PostgresReads(pool)
        results = Results(pool, reads)
        results.start()
        appender = await context.log.appender()
        requests = LogRequests(
            context.log,
            names=context.names,
            appender=appender,
            rules=context.rules,
            now=context.clock.now,
            wait=results.wait,
        )
        purge = Purge(pool)
        chores = Chores()
        chores.add("purge results", lambda: purge.run(context.clock.now()), minutes=PURGE_MINUTES)
        chores.start()
        try:
            await self._first_rules(stop)
            app = self._app(requests, reads, PostgresClaims(pool))
            async with serving(app, host=settings.http_host, port=settings.http_port) as port:
                self.port = port
                self._troubles.clear()
                await stop.wait()
        finally:
            chores.stop()
            await requests.close()
            await appender.close()
            await results.close()
            await pool.close()

    def _app(self, requests: LogRequests, reads: PostgresReads, claims: PostgresClaims) -> Litestar:
        context = self._context
        return build_app(
            requests=requests,
            reads=reads,
            source=context.rules,
            claims=claims,
            settings=_http_settings(context),
            now=context.clock.now,
            ready=self._ready,
            metrics=self._metrics,
        )

    def troubles(self) -> dict[str, str]:
        """Tell what keeps the interface from answering."""
        trouble = self._context.rules.trouble
        return self._troubles | ({} if trouble is None else {"log": trouble})

    async def _ready(self) -> Mapping[str, str]:
        return self.troubles()

    async def _first_rules(self, stop: asyncio.Event) -> None:
        """Read the keys and tokens once before anybody is refused for an unknown one."""
        while not stop.is_set():
            try:
                await self._context.rules.refresh()
            except LogError as error:
                self._troubles["log"] = str(error)
                await asyncio.sleep(1.0)
            else:
                self._troubles.pop("log", None)
                return


def _http_settings(context: Context) -> Settings:
    settings = context.settings
    kept = {"on": set(RATES), "off": set(), "call_starts": {"call_start"}}[settings.rate_limits]
    rates = {name: _rate(settings, f"rate_{name}s") for name in RATES if name in kept}
    return Settings(
        secret_key=settings.secret_key,
        rates={name: rate for name, rate in rates.items() if rate is not None},
        trusted_proxies=tuple(_network(text) for text in settings.trusted_proxies),
        speed=settings.clock_speed,
    )


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
