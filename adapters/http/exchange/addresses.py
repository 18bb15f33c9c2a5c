"""What counts as one client address? An IPv4 address, or an IPv6 /64, since one customer has all addresses of a /64."""

from ipaddress import IPv6Address, ip_address, ip_network

IPV6_PREFIX = 64
"""The prefix of one subnet (RFC 4291, 2.5.4); a provider gives a customer one or more (RFC 6177)."""

ADDRESS_LENGTH_MAX = 64
"""Characters that are used of what a trusted proxy forwards as an address."""


def client_of(address: str) -> str:
    """Return the client to count for an address: the IPv4 address, the /64 of an IPv6 address, or else the text."""
    try:
        found = ip_address(address)
    except ValueError:
        return address[:ADDRESS_LENGTH_MAX]
    if isinstance(found, IPv6Address):
        mapped = found.ipv4_mapped
        return str(ip_network((found, IPV6_PREFIX), strict=False)) if mapped is None else str(mapped)
    return str(found)
