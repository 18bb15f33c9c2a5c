"""Where may a webhook go? To addresses of the public internet, and to private networks that the operator has named.

The check is made on the address that is then connected to: a name that resolves differently a moment later gains nothing.
"""

import asyncio
import socket
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

NAT64 = IPv6Network("64:ff9b::/96")
"""RFC 6052: the last 32 bits are an IPv4 address, which may be a private one."""

UNICAST = IPv6Network("2000::/3")
"""All that was ever given out for the internet (RFC 4291, 2.4). Beside it lie the translators' own prefixes (64:ff9b:1::/48,
::ffff:0:0:0/96), old site-local addresses and others that lead inside, some of which Python calls global."""

ADDRESSES_MAX = 16
"""Of one name; the rest is not looked at."""


class ForbiddenAddressError(Exception):
    """The host has no address that a webhook may go to; `str(error)` says what to do about it."""


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Read an operator's allow-list (`10.20.0.0/16`, `fd00::/8`, `127.0.0.1`). Raises `ValueError`."""
    return tuple(ip_network(text) for text in texts)


def is_allowed(address: Address, allowed: Sequence[Network] = ()) -> bool:
    """Tell whether an address is public, or in one of the networks that the operator allows.

    An IPv6 address that stands for an IPv4 address is judged as that one: the packet ends there.
    """
    judged = _embedded(address) or address
    if any(judged.version == network.version and judged in network for network in allowed):
        return True
    if isinstance(judged, IPv6Address) and judged not in UNICAST:
        return False
    return judged.is_global and not judged.is_multicast


def _embedded(address: Address) -> IPv4Address | None:
    if isinstance(address, IPv4Address):
        return None
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)


async def resolve(host: str, port: int, allowed: Sequence[Network] = ()) -> Address:
    """Return the first address of a host that may be connected to.

    Raises `ForbiddenAddressError` where there is none, and `OSError` where the name cannot be resolved.
    """
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise ForbiddenAddressError(f"{host[:100]} is no name of a host: a part of it is empty or too long") from None
    addresses = [ip_address(str(entry[4][0]).partition("%")[0]) for entry in found[:ADDRESSES_MAX]]
    for address in addresses:
        if is_allowed(address, allowed):
            return address
    raise ForbiddenAddressError(
        f"{host} is not on the public internet; an operator can allow its network by LEADCLOCK_WEBHOOK_PRIVATE_NETWORKS"
    )
