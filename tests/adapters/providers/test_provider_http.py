"""Is it known whether a request to a vendor was sent? On real sockets that refuse, hang up and stay silent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio

from adapters.gateway.addresses import networks
from adapters.gateway.leases import Lease, under
from adapters.gateway.ports import LeaseLostError, NotPlacedError
from adapters.providers import provider_http
from adapters.providers.ports import ProviderFailedError
from adapters.providers.provider_http import ANSWER_BYTES_MAX, GuardedProviderHttp
from tests.adapters.gateway.world import StillClock


@pytest_asyncio.fixture
async def http() -> AsyncIterator[GuardedProviderHttp]:
    found = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    yield found
    await found.close()


@asynccontextmanager
async def server(answer: bytes | None) -> AsyncIterator[str]:
    """A server that says this to each request; None: it hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if answer is None:
            writer.transport.abort()
            return
        writer.write(answer)
        await writer.drain()
        writer.close()

    found = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{found.sockets[0].getsockname()[1]}/x"
    found.close()
    await found.wait_closed()


def answer(body: bytes, status: int = 200) -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


async def test_an_answer_of_any_status_is_returned_whole(http: GuardedProviderHttp) -> None:
    body = b"x" * 100_000
    async with server(answer(body, 500)) as url:
        found = await http.send("POST", url, headers={}, content=b"a=b")

    assert (found.status, found.body) == (500, body)


async def test_a_huge_answer_is_cut_off(http: GuardedProviderHttp) -> None:
    async with server(answer(b"x" * (4 * ANSWER_BYTES_MAX))) as url:
        assert len((await http.send("GET", url, headers={})).body) == ANSWER_BYTES_MAX


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/x", "http://10.1.2.3/x", "ftp://127.0.0.1/x", "http://no.such.host.invalid/"]
)
async def test_what_cannot_be_connected_to_was_not_sent(http: GuardedProviderHttp, url: str) -> None:
    with pytest.raises(NotPlacedError):
        await http.send("POST", url, headers={})


async def test_a_reset_and_half_an_answer_leave_it_open(http: GuardedProviderHttp) -> None:
    for said in (None, b"HTTP/1.1 200 OK\r\nContent-Le", b""):
        async with server(said) as url:
            with pytest.raises(ProviderFailedError):
                await http.send("POST", url, headers={})


async def test_silence_leaves_it_open(http: GuardedProviderHttp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_http, "ANSWER_SECONDS", 0.2)
    silent = asyncio.Event()

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await silent.wait()
        writer.close()

    found = await asyncio.start_server(serve, "127.0.0.1", 0)
    with pytest.raises(ProviderFailedError):
        await http.send("POST", f"http://127.0.0.1:{found.sockets[0].getsockname()[1]}/", headers={})
    silent.set()
    found.close()
    await found.wait_closed()


async def test_nothing_is_sent_once_the_lease_has_run_out(http: GuardedProviderHttp) -> None:
    lease = Lease("c", "claim", StillClock())
    async with server(answer(b"")) as url:
        with under(lease), pytest.raises(LeaseLostError):
            await http.send("POST", url, headers={})
