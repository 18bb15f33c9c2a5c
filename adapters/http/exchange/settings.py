"""What can an operator set about the HTTP interface? One struct, validated once, passed down."""

from collections.abc import Collection
from ipaddress import IPv4Network, IPv6Network
from math import ceil, inf

from msgspec import Struct, field

PER_ADDRESS_MAX = 500
"""Half of all connections of a process: a busy sender needs some hundred, and no single address keeps the others out."""

WAIT_SECONDS = 2.0
"""contracts.md section 3: how long an answer waits for its own projection before it becomes 202."""


REPORTS_MAX = 2
"""Reports, forecasts and previews that are made at once, so that the database has a core left for all else; of one company
one."""


class Rate(Struct, frozen=True):
    """A token bucket: `per_second` come in, at most `burst` are saved up."""

    per_second: float
    burst: int


RATES: dict[str, Rate] = {
    "read": Rate(100, 500),
    "write": Rate(50, 500),
    "submission": Rate(1_000, 5_000),
    "report": Rate(5, 5),
    "call_start": Rate(5, 5),
    "unknown_key": Rate(50, 500),
}
"""Each per company, which a key or a lead token names; `unknown_key` per network address, of requests without either."""


def read_rate(text: str) -> Rate | None:
    """Return the rate of `100:500` (a second, and saved up at most) or `2.5` (nothing saved up); None for `off`.

    Raises `ValueError`.
    """
    if text.strip().lower() == "off":
        return None
    said, _, saved = text.partition(":")
    per_second = float(said)
    if not 0 < per_second < inf:
        raise ValueError("a rate is above 0")
    rate = Rate(per_second, int(saved or ceil(per_second)))
    if rate.burst < 1:
        raise ValueError("where nothing is saved up, nothing is ever allowed")
    return rate


class HttpSettings(Struct, frozen=True, kw_only=True):
    """`secret_key` is the deployment's own (LEADCLOCK_SECRET_KEY): webhook secrets and the seal of request ids rest on it.

    A rate that is missing from `rates` is turned off. `trusted_proxies` are the networks whose X-Forwarded-For is believed.
    `speed` above 1 is said in an answer header: domain time runs faster than the wall's. `connections_per_address` bounds
    the requests under way of one address too, which for a client of a trusted proxy is the one that it forwards. A webhook
    is saved where its host may be public, or lies in `webhook_networks` on another port than `own_ports`. `reports_max`
    bounds the reports, forecasts and previews that are made at once (adapters.http.exchange.report_slots).
    """

    secret_key: str
    wait_seconds: float = WAIT_SECONDS
    rates: dict[str, Rate] = field(default_factory=lambda: dict(RATES))
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    speed: float = 1.0
    connections_per_address: int = PER_ADDRESS_MAX
    webhook_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    own_ports: Collection[int] = ()
    reports_max: int = REPORTS_MAX
