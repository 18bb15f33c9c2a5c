"""What counts as one client address? An IPv4 address, or an IPv6 /64: one customer has all addresses of it."""

from ipaddress import IPv6Address, ip_address, ip_network

IPV6_PREFIX = 64
"""The smallest network that a provider gives to one customer (RFC 6177)."""

ADDRESS_LENGTH_MAX = 64
"""Characters that are kept of what a trusted proxy calls an address."""


def holder_of(address: str) -> str:
    """Return what counts as one address: an IPv4 address, the /64 of an IPv6 address, or the text where it is neither."""
    try:
        found = ip_address(address)
    except ValueError:
        return address[:ADDRESS_LENGTH_MAX]
    if isinstance(found, IPv6Address):
        mapped = found.ipv4_mapped
        return str(ip_network((found, IPV6_PREFIX), strict=False)) if mapped is None else str(mapped)
    return str(found)
