"""Does one network address get its share of the server and no more, however it holds on to connections?"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import ip_network
from typing import Any

import pytest
from litestar import Litestar
from msgspec import structs

from adapters.http import server
from adapters.http.app import Api
from adapters.http.exchange import binding, connections
from adapters.http.exchange.access import Authenticator, forwarded_for
from adapters.http.exchange.addresses import client_of
from adapters.http.exchange.connections import RequestsInFlight
from adapters.http.server import serving
from adapters.observability.health import HealthServer
from adapters.observability.metrics import Metrics

pytestmark = pytest.mark.asyncio(loop_scope="session")

HOST = "127.0.0.1"
OTHER = "127.0.0.2"
"""Another address of the same machine: to the server, another client."""

MOST = 20
HALF_SENT = b"POST /api/v1/leads HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
HALF_HEADERS = b"GET /livez HTTP/1.1\r\nHo"
FORWARDED = HALF_SENT.replace(b"Host: x", b"Host: x\r\nX-Forwarded-For: 198.51.100.7")
LIVE = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class Client:
    """One connection from an address, and what came back on it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.received = asyncio.create_task(reader.read())

    @property
    def is_open(self) -> bool:
        return not self.received.done()

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    async def close(self) -> None:
        self._writer.close()
        await asyncio.gather(self.received, return_exceptions=True)


@asynccontextmanager
async def clients(port: int, count: int, sent: bytes, *, address: str = HOST) -> AsyncIterator[list[Client]]:
    opened = [await asyncio.open_connection(HOST, port, local_addr=(address, 0)) for _ in range(count)]
    made = [Client(*streams) for streams in opened]
    for client in made:
        client.send(sent)
    yield made
    await asyncio.gather(*(client.close() for client in made))


async def ask(port: int, *, address: str = HOST) -> bytes:
    async with clients(port, 1, LIVE, address=address) as [client]:
        return await client.received


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.02)


def bounded(town: Any, **settings: Any) -> Litestar:
    """Return an application of its own, with other settings."""
    services = town.app._services
    changed = structs.replace(services.settings, connections_per_address=MOST, **settings)
    authenticator = Authenticator(services.source, trusted_proxies=changed.trusted_proxies)
    return Api(structs.replace(services, settings=changed, authenticator=authenticator), town.app._watch)


@pytest.mark.parametrize("sent", [HALF_SENT, HALF_HEADERS, b""], ids=["half a body", "half the headers", "nothing"])
async def test_one_address_holds_no_more_connections_than_its_share(town: Any, sent: bytes) -> None:
    async with (
        serving(bounded(town), host=HOST, port=0, per_address_max=MOST) as port,
        clients(port, 3 * MOST, sent) as held,
    ):
        await until(lambda: sum(client.is_open for client in held) <= MOST)
        assert sum(client.is_open for client in held) == MOST
        assert (await ask(port, address=OTHER)).startswith(b"HTTP/1.1 200 ")


async def test_the_newest_connections_of_an_address_are_closed_and_the_older_ones_work_on(town: Any) -> None:
    async with (
        serving(bounded(town), host=HOST, port=0, per_address_max=MOST) as port,
        clients(port, MOST // 2, b"") as older,
    ):
        await asyncio.sleep(3 * connections.CHECK_INTERVAL_SECONDS)  # they are known
        async with clients(port, 2 * MOST, b"") as newer:
            await until(lambda: sum(client.is_open for client in newer) <= MOST // 2)
            assert all(client.is_open for client in older)
            older[0].send(LIVE)
            assert (await older[0].received).startswith(b"HTTP/1.1 200 ")


async def test_a_look_that_fails_is_followed_by_the_next(town: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(bounded(town), host=HOST, port=0, per_address_max=MOST) as port:
        with monkeypatch.context() as failing:
            failing.setattr(connections, "OPEN_FILES", connections.OPEN_FILES / "missing")
            await asyncio.sleep(3 * connections.CHECK_INTERVAL_SECONDS)
        async with clients(port, 2 * MOST, b"") as held:
            await until(lambda: sum(client.is_open for client in held) <= MOST)


async def test_one_request_too_many_of_an_address_is_429_and_its_connection_is_closed(town: Any) -> None:
    async with serving(bounded(town), host=HOST, port=0) as port, clients(port, 3 * MOST, HALF_SENT) as held:
        await until(lambda: sum(client.is_open for client in held) <= MOST)
        received = [await client.received for client in held if not client.is_open]
        assert (await ask(port)).startswith(b"HTTP/1.1 200 ")  # a probe of the same address
    assert len(received) == 2 * MOST
    assert all(answer.startswith(b"HTTP/1.1 429 ") and b"retry-after: 1" in answer.lower() for answer in received)
    assert all(b'"code":"rate_limited"' in answer for answer in received)


async def test_behind_a_trusted_proxy_the_share_is_that_of_the_address_that_it_forwards(town: Any) -> None:
    proxies = (ip_network("127.0.0.1/32"),)
    app = bounded(town, trusted_proxies=proxies)
    async with (
        serving(app, host=HOST, port=0, per_address_max=MOST, trusted_proxies=proxies) as port,
        clients(port, 3 * MOST, FORWARDED) as held,
    ):
        await until(lambda: sum(client.is_open for client in held) <= MOST)
        assert all([(await client.received).startswith(b"HTTP/1.1 429 ") for client in held if not client.is_open])
        async with clients(port, 3 * MOST, b"") as idle:
            await asyncio.sleep(3 * connections.CHECK_INTERVAL_SECONDS)
            assert all(client.is_open for client in idle)
        assert (await ask(port)).startswith(b"HTTP/1.1 200 ")


async def test_a_place_is_free_again_when_its_request_is_answered(town: Any) -> None:
    async with serving(bounded(town), host=HOST, port=0) as port:
        for _ in range(2 * MOST):
            assert (await ask(port)).startswith(b"HTTP/1.1 200 ")


async def test_health_and_metrics_answer_while_the_public_port_is_full(town: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CONNECTIONS_MAX", MOST)
    health = HealthServer(dict, Metrics())
    await health.start()
    async with (
        serving(town.app, host=HOST, port=0) as port,
        clients(port, 2 * MOST, HALF_SENT),
        clients(port, 1, LIVE) as waiting,
    ):
        for path in ("/livez", "/readyz", "/metrics"):
            async with clients(health.port, 1, LIVE.replace(b"/livez", path.encode())) as [client]:
                assert (await client.received).startswith(b"HTTP/1.1 200 "), path
        assert waiting[0].is_open
    await health.stop()


@pytest.mark.parametrize(
    ("begins", "trickled", "answer"),
    [(HALF_HEADERS, b"o", b""), (HALF_SENT, b" ", b"HTTP/1.1 400 ")],
    ids=["headers", "body"],
)
async def test_who_trickles_is_closed_in_time(
    town: Any, monkeypatch: pytest.MonkeyPatch, begins: bytes, trickled: bytes, answer: bytes
) -> None:
    monkeypatch.setattr(server, "HEADER_READ_MILLISECONDS", 500)
    monkeypatch.setattr(binding, "BODY_SECONDS", 0.5)
    async with serving(town.app, host=HOST, port=0) as port, clients(port, 1, begins) as [client], asyncio.timeout(60):
        while client.is_open:
            client.send(trickled)
            await asyncio.sleep(0.05)
        assert (await client.received)[: len(answer)] == answer


async def test_a_body_that_comes_steadily_may_take_longer_than_one_that_stops(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding, "BODY_SECONDS", 1.0)
    monkeypatch.setattr(binding, "BODY_BYTES_PER_SECOND_MIN", 2)  # a machine that stops for a second must not matter
    body = b'{"name": "Solar"}'
    head = b"POST /api/v1/offers HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
    head += f"Authorization: {company.headers['Authorization']}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    async with serving(town.app, host=HOST, port=0) as port, clients(port, 1, head) as [client]:
        for byte in body:
            client.send(bytes([byte]))
            await asyncio.sleep(0.08)
        assert (await client.received).startswith(b"HTTP/1.1 201 ")


@pytest.mark.parametrize(
    ("address", "holder"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::", "2001:db8:1:3::/64"),
        ("somewhere", "somewhere"),
        ("", ""),
    ],
)
async def test_an_ipv6_network_of_one_customer_counts_as_one_address(address: str, holder: str) -> None:
    assert client_of(address) == holder


async def test_an_address_without_requests_under_way_takes_no_memory() -> None:
    in_flight = RequestsInFlight(2)
    with in_flight.admit("192.0.2.1") as first, in_flight.admit("192.0.2.1") as second:
        with in_flight.admit("192.0.2.1") as third, in_flight.admit("192.0.2.2") as other:
            assert (first, second, third, other) == (True, True, False, True)
        with in_flight.admit("192.0.2.1") as fourth:
            assert not fourth
    assert not in_flight._counts


async def test_an_address_that_a_client_made_up_does_not_hide_the_line_that_its_proxy_added(town: Any) -> None:
    authenticator = Authenticator(town.context.rules, trusted_proxies=(ip_network("10.0.0.0/8"),))
    lines = [(b"x-forwarded-for", b"192.0.2.200"), (b"host", b"x"), (b"x-forwarded-for", b"198.51.100.7, 10.0.0.9")]
    assert authenticator.address("10.0.0.1", forwarded_for(lines)) == "198.51.100.7"


async def test_half_open_connections_of_many_addresses_delay_nobody(town: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each address stays within its limit, and together they hold all connections that the server takes."""
    monkeypatch.setattr(server, "CONNECTIONS_MAX", 60)
    monkeypatch.setattr(server, "HEADER_READ_MILLISECONDS", 60_000)
    app = bounded(town)
    async with serving(app, host=HOST, port=0, per_address_max=MOST) as port, AsyncExitStack() as held:
        waiting = await held.enter_async_context(clients(port, 1, HALF_SENT, address="127.0.0.7"))
        await asyncio.sleep(0.2)  # its request is under way, however long the body takes
        for number in range(10, 15):
            await held.enter_async_context(clients(port, MOST, HALF_HEADERS, address=f"127.0.0.{number}"))
        began = asyncio.get_running_loop().time()
        for _ in range(3):
            assert (await ask(port, address="127.0.0.8")).startswith(b"HTTP/1.1 200 ")
        assert asyncio.get_running_loop().time() - began < 5.0
        assert waiting[0].is_open
