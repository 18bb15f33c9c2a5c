"""Which addresses are public? Judged against the IANA special-purpose address registries, entry by entry."""

from ipaddress import IPv6Address, ip_address, ip_network

import pytest

from adapters.gateway.addresses import is_allowed

REGISTRY = [
    "0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32",
    "192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.88.99.2/32",
    "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
    "255.255.255.255/32", "224.0.0.0/4", "::1/128", "::/128", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64",
    "2001::/23", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48",
    "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2620:4f:8000::/48", "3fff::/20", "5f00::/16",
    "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
]  # fmt: skip
"""Both registries (RFC 6890) with multicast and site-local addresses; without those of IPv6 that carry an IPv4 address."""

PUBLIC = [
    "1.0.0.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
    "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0",
    "192.31.195.255", "192.31.197.0", "192.52.192.255", "192.52.194.0", "192.88.98.255", "192.88.100.0",
    "192.167.255.255", "192.169.0.0", "192.175.47.255", "192.175.49.0", "198.17.255.255", "198.20.0.0",
    "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255", "2001:200::1",
    "2001:4860:4860::8888", "2001:db7:ffff::1", "2001:db9::1", "2003::1", "2620:4f:7fff::1", "2620:4f:8001::1",
    "2a00::1", "3ffe::1", "3fff:1000::1",
]  # fmt: skip
"""The neighbours of those."""


@pytest.mark.parametrize("network", REGISTRY)
def test_no_address_of_the_special_purpose_registries_is_public(network: str) -> None:
    found = ip_network(network)

    assert not is_allowed(found[0])
    assert not is_allowed(found[-1])


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_beside_a_special_network_is_public(address: str) -> None:
    assert is_allowed(ip_address(address))


@pytest.mark.parametrize(
    ("carrier", "of_public", "of_private"),
    [
        ("IPv4-mapped (RFC 4291)", "::ffff:93.184.215.14", "::ffff:10.0.0.1"),
        ("NAT64 (RFC 6052)", "64:ff9b::93.184.215.14", "64:ff9b::192.88.99.1"),
        ("6to4 (RFC 3056)", "2002:5db8:d70e::1", "2002:c058:6301::1"),
        ("Teredo (RFC 4380)", "2001:0:5db8:d70e:0:0:a247:28f1", "2001:0:5db8:d70e:0:0:80ff:fffe"),
    ],
)
def test_an_address_that_carries_an_ipv4_address_is_judged_as_that_one(
    carrier: str, of_public: str, of_private: str
) -> None:
    assert is_allowed(IPv6Address(of_public)), carrier
    assert not is_allowed(IPv6Address(of_private)), carrier
