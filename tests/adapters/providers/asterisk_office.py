"""Who moves the calls of an Asterisk on in tests without an API? A listener whose events are taken here as an API would."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, Self

from adapters.clock import wall_now
from adapters.gateway.addresses import networks
from adapters.gateway.ports import DeliveryResult, NotPlacedError
from adapters.providers.asterisk import PROVIDER
from adapters.providers.asterisk.provider import AsteriskConnection
from adapters.providers.ports import (
    Callback,
    InboundCallReport,
    InboundRoute,
    Order,
    OrderReport,
    Placed,
    ProviderAccount,
    ProviderFailedError,
)
from adapters.providers.provider_http import GuardedProviderHttp
from adapters.providers.provider_sockets import GuardedProviderSockets
from adapters.providers.registry import read_settings
from adapters.providers.testing import CALLBACK_URL
from schemas.commands import PlaceCall
from schemas.instant import Instant
from tests.pace import bound

WAIT_SECONDS = bound(60.0)
LOOK_SECONDS = 0.01


async def until(found: Callable[[], Any], *, what: str, seconds: float = WAIT_SECONDS) -> Any:
    """Wait until something is found; `what` is what is missing else."""
    try:
        async with asyncio.timeout(seconds):
            while not (value := found()):
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        raise AssertionError(f"missing after {seconds:g} s: {what}") from None
    return value


class Office:
    """An account with an Asterisk, the orders that it was given, and the routes that calls of people get."""

    def __init__(self, connection: AsteriskConnection) -> None:
        self.connection = connection
        self.orders: dict[str, Order] = {}
        self.results: dict[str, DeliveryResult] = {}
        self.reports: list[OrderReport] = []
        self.inbound: list[InboundCallReport] = []
        self.routes: list[InboundRoute] = []
        """What people's calls get, one after the other."""
        self.callbacks: list[Callback] = []
        self.listens = asyncio.Event()

    async def place(self, command: PlaceCall) -> str:
        """Give an order as a gateway does; return the name of the lead's leg."""
        self.orders[command.command_id] = Order(command=command, asked_at=wall_now())
        answer = await self.connection.place(command)
        assert isinstance(answer, Placed)
        self._add(command.command_id, {}, answer.provider_ref)
        return answer.provider_ref

    async def outcome(self, command: PlaceCall) -> DeliveryResult:
        """Wait for the outcome of an order."""
        known = self.orders[command.command_id]
        await until(lambda: command.command_id in self.results, what=f"the outcome, of {known.facts}")
        return self.results[command.command_id]

    async def take(self, callback: Callback) -> None:
        """Take an event, as the API does."""
        self.callbacks.append(callback)
        reading = self.connection.read_callback(callback)
        if isinstance(reading, OrderReport):
            self.reports.append(reading)
            order = self._add(reading.command_id, dict(reading.facts), reading.provider_ref)
            result = self.connection.conclude(order)
            if result is not None:
                self.results[reading.command_id] = result
            await self.connection.reply_to(callback, order)
        elif isinstance(reading, InboundCallReport) and reading.asks:
            self.inbound.append(reading)
            await self.connection.reply_with_route(callback, reading, self.routes.pop(0))
        else:
            if isinstance(reading, InboundCallReport):
                self.inbound.append(reading)
            await self.connection.reply_to(callback, None)

    def _add(self, command_id: str, facts: dict[str, str], reference: str) -> Order:
        known = self.orders[command_id]
        order = Order(command=known.command, asked_at=known.asked_at, provider_ref=reference, facts={**known.facts, **facts})
        self.orders[command_id] = order
        return order

    async def listen(self) -> None:
        """Take events until cancelled; connect again as a gateway does."""
        while True:
            with suppress(NotPlacedError, ProviderFailedError):
                async with aclosing(self.connection.events()) as events:
                    async for event in events:
                        await self.take(event.callback)
            await asyncio.sleep(LOOK_SECONDS)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Self]:
        """Listen meanwhile."""
        listening = asyncio.create_task(self.listen())
        try:
            yield self
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening


def connect(
    url: str,
    http: Any,
    *,
    password: str,
    now: Callable[[], Instant] = wall_now,
    tls: ssl.SSLContext | None = None,
    **settings: Any,
) -> AsteriskConnection:
    """A connection to an Asterisk."""
    given = {
        "url": url,
        "user": "leadclock",
        "endpoint": "PJSIP/{number}@carrier",
        "sip_endpoint": "PJSIP/carrier/{uri}",
        "from_number": "+12125550199",
        "detects_machines": True,
        **settings,
    }
    connection = PROVIDER.connect(
        ProviderAccount(
            company_id=1,
            configuration_id=1,
            channel="call",
            settings=read_settings(PROVIDER, {name: value for name, value in given.items() if value is not None}),
            secrets={"password": password},
            callback_url=CALLBACK_URL,
            http=http,
            now=now,
            sockets=GuardedProviderSockets(allowed=networks(["127.0.0.1"]), tls=tls),
        )
    )
    assert isinstance(connection, AsteriskConnection)
    return connection


@asynccontextmanager
async def local_http() -> AsyncIterator[GuardedProviderHttp]:
    """A client that may reach this machine."""
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    try:
        yield http
    finally:
        await http.close()
