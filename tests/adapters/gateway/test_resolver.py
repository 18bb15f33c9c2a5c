"""Do names that nobody answers hold up other names? Asked of a real name server on this machine."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from adapters.gateway import resolver as resolver_module
from adapters.gateway.addresses import ForbiddenAddressError, networks, resolve
from adapters.gateway.resolver import BadNameError, Resolver
from tests.adapters.gateway.world import until

ADDRESS = bytes((127, 0, 0, 5))


class NameServer(asyncio.DatagramProtocol):
    """Answers questions for `good` names with an address, says nothing of others (RFC 1035, 4.1)."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, address: Any) -> None:
        labels, place = [], 12
        while data[place]:
            labels.append(data[place + 1 : place + 1 + data[place]].decode())
            place += data[place] + 1
        name, kind = ".".join(labels), struct.unpack("!H", data[place + 1 : place + 3])[0]
        self.asked.add(name)
        if not name.startswith("good"):
            return
        has_address = kind == 1
        head = data[:2] + struct.pack("!HHHHH", 0x8580, 1, int(has_address), 0, 0)
        answer = struct.pack("!HHHIH", 0xC00C, 1, 1, 60, 4) + ADDRESS if has_address else b""
        self._transport.sendto(head + data[12 : place + 5] + answer, address)


@asynccontextmanager
async def asking() -> AsyncIterator[tuple[Resolver, NameServer]]:
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(NameServer, local_addr=("127.0.0.1", 0))
    resolver = Resolver([f"127.0.0.1:{transport.get_extra_info('sockname')[1]}"])
    try:
        yield resolver, server
    finally:
        await resolver.close()
        transport.close()


async def test_names_that_nobody_answers_hold_up_no_other_name() -> None:
    async with asking() as (resolver, server):
        slow = [asyncio.create_task(resolver.addresses(f"slow-{number}.test")) for number in range(50)]
        await until(lambda: len(server.asked) == 50)

        assert await resolver.addresses("good.test") == ["127.0.0.5"]
        assert not any(task.done() for task in slow)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)


async def test_a_name_that_nobody_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver_module, "LOOKUP_SECONDS", 0.05)
    async with asking() as (resolver, _):
        with pytest.raises(OSError, match=r"slow\.test cannot be resolved: no name server answered in 0\.05 s"):
            await resolver.addresses("slow.test")


async def test_what_a_name_server_says_is_checked_before_it_is_connected_to() -> None:
    async with asking() as (resolver, _):
        with pytest.raises(ForbiddenAddressError, match="not on the public internet"):
            await resolve("good.test", resolver)
        assert str(await resolve("good.test", resolver, networks(["127.0.0.0/8"]))) == "127.0.0.5"


@pytest.mark.parametrize("name", ["a..b", f"{'a' * 70}.com", "\uff11\uff12\uff17.0.0.1"])
async def test_an_invalid_name_is_distinguished_from_a_name_without_an_address(name: str) -> None:
    async with asking() as (resolver, _):
        with pytest.raises(BadNameError):
            await resolver.addresses(name)
