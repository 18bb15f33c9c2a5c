"""Where may a webhook go? The guard against SSRF: public addresses, and private networks that the operator allows.

The check is on the address that is then connected to, so DNS rebinding (a name that resolves differently a moment later)
gains nothing.
"""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from adapters.gateway.resolver import BadNameError, Resolver
from schemas.errors import SenderError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

NAT64 = IPv6Network("64:ff9b::/96")
"""RFC 6052: the last 32 bits are an IPv4 address, which may be a private one."""

SPECIAL_IPV4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private use
        "100.64.0.0/10",  # shared by the customers of a carrier
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link local, the metadata services of clouds
        "172.16.0.0/12",  # private use
        "192.0.0.0/24",  # IETF protocol assignments, with the anycast addresses in it
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112-v4: a sink for reverse look-ups of private addresses
        "192.52.193.0/24",  # AMT: relays of multicast
        "192.88.99.0/24",  # once the relays of 6to4 (RFC 7526), with 6a44
        "192.168.0.0/16",  # private use
        "192.175.48.0/24",  # AS112, delegated directly
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast (RFC 5771)
        "240.0.0.0/4",  # reserved, with the broadcast address
    )
)
"""IANA IPv4 Special-Purpose Address Registry (RFC 6890), and multicast, which has a registry of its own.

All rows, whatever the column "globally reachable" says: what is reachable is a sink or a relay, not a web server.
Python's `is_global` leaves out some of these, and other ones in each version."""

SPECIAL_IPV6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocol assignments: Teredo, benchmarks, AMT, AS112, ORCHID, remote identification of drones
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4 (RFC 7526)
        "2620:4f:8000::/48",  # AS112, delegated directly
        "3fff::/20",  # documentation (RFC 9637)
    )
)
"""IANA IPv6 Special-Purpose Address Registry (RFC 6890), as far as it lies in `UNICAST`; all of it, as for IPv4.

An address that embeds an IPv4 address is judged as that one first (`_embedded`)."""

UNICAST = IPv6Network("2000::/3")
"""Global unicast: IANA assigns no other addresses (registry "Internet Protocol Version 6 Address Space").

Outside lie loopback, private (fc00::/7), link-local and discard-only addresses, multicast, segment routing (5f00::/16), the
translators' own prefixes (64:ff9b:1::/48, ::ffff:0:0:0/96), and old site-local addresses."""

ADDRESSES_MAX = 16
"""Of one name; further ones are not tried."""


class ForbiddenAddressError(SenderError):
    """The host has no address that a webhook may go to; `str(error)` says what to do about it."""


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Read an operator's allow-list (`10.20.0.0/16`, `fd00::/8`, `127.0.0.1`). Raises `ValueError`."""
    return tuple(ip_network(text) for text in texts)


def is_allowed(address: Address, allowed: Sequence[Network] = ()) -> bool:
    """Return whether an address is public, or in one of the networks that the operator allows.

    An IPv6 address that embeds an IPv4 address is judged as that one: the packet ends there.
    """
    judged = _embedded(address) or address
    if any(judged.version == network.version and judged in network for network in allowed):
        return True
    if isinstance(judged, IPv4Address):
        return not any(judged in network for network in SPECIAL_IPV4)
    return judged in UNICAST and not any(judged in network for network in SPECIAL_IPV6)


def _embedded(address: Address) -> IPv4Address | None:
    if isinstance(address, IPv4Address):
        return None
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)


async def resolve(host: str, resolver: Resolver, allowed: Sequence[Network] = ()) -> Address:
    """Return the first address of a host that may be connected to.

    Raises `ForbiddenAddressError` where there is none, and `OSError` where the name cannot be resolved.
    """
    try:
        found = await resolver.addresses(host)
    except BadNameError as error:
        raise ForbiddenAddressError(str(error)) from None
    addresses = [ip_address(text.partition("%")[0]) for text in found[:ADDRESSES_MAX]]
    for address in addresses:
        if is_allowed(address, allowed):
            return address
    raise ForbiddenAddressError(
        f"{host} is not on the public internet; an operator can allow its network by LEADCLOCK_WEBHOOK_PRIVATE_NETWORKS"
    )
