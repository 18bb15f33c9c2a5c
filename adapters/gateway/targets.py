"""Which URLs and hosts are refused before a name is resolved (SSRF)? Private addresses, and our own ports.

A webhook, provider or issuer at a private address is refused when it is saved, so that its company learns of it then, not
from failed commands. What a name resolves to is judged when it is connected to (`addresses`).
"""

import socket
from collections.abc import Collection, Sequence
from ipaddress import IPv4Address, ip_address
from urllib.parse import urlsplit

from adapters.gateway.addresses import Address, ForbiddenAddressError, Network, is_allowed

DEFAULT_PORTS = {"http": 80, "https": 443}

LOCALHOST = "localhost"
"""This name and all below it are always this machine (RFC 6761, 6.3)."""


def check_own_port(address: Address, port: int, own_ports: Collection[int]) -> None:
    """Raise `ForbiddenAddressError` for a port of our own on a private address; a public address is not ours."""
    if port in own_ports and not is_allowed(address):
        raise ForbiddenAddressError(
            f"port {port} of {address} belongs to this deployment itself, or is forbidden to webhooks"
        )


def refusal_of(text: str, allowed: Sequence[Network], own_ports: Collection[int]) -> str | None:
    """Return why a URL must not be saved, or None where its host is public or a name.

    Returns None for what is no URL: `schemas.records` refuses that.
    """
    try:
        parts = urlsplit(text)
        port = parts.port or DEFAULT_PORTS.get(parts.scheme, 0)
    except ValueError:
        return None
    return refusal_of_host(parts.hostname or "", port, allowed, own_ports)


def refusal_of_host(host: str, port: int, allowed: Sequence[Network], own_ports: Collection[int]) -> str | None:
    """Return why a host must not be saved, or None where it is public or a name."""
    address = literal(host)
    if address is None:
        return None
    if not is_allowed(address, allowed):
        return "must lead to a public address; an operator can allow its network by LEADCLOCK_WEBHOOK_PRIVATE_NETWORKS"
    try:
        check_own_port(address, port, own_ports)
    except ForbiddenAddressError as error:
        return f"must lead elsewhere: {error}"
    return None


def literal(host: str) -> Address | None:
    """Return the address that a host stands for by itself, None for a name. `127.1` and `0x7f000001` are `127.0.0.1`."""
    name = host.rstrip(".").lower()
    if name == LOCALHOST or name.endswith(f".{LOCALHOST}"):
        return IPv4Address("127.0.0.1")
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return ip_address(str(found[0][4][0]).partition("%")[0])
