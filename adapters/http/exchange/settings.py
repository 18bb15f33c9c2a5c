"""What can an operator set for the HTTP API? One struct, validated once and passed on."""

from collections.abc import Collection, Mapping
from ipaddress import IPv4Network, IPv6Network
from math import ceil, inf

from msgspec import Struct, field

PER_ADDRESS_MAX = 500
"""Half of all connections of a process: a busy sender needs about a hundred, and no single address shuts out the others."""

WAIT_SECONDS = 2.0
"""How long a change waits for its result in the projection before it is answered with 202, as the OpenAPI document says."""


REPORTS_MAX = 2
"""Reports, forecasts and previews at once, of one company one. It leaves a database core for everything else."""


class Rate(Struct, frozen=True):
    """A token bucket: refilled with `per_second` tokens, it holds at most `burst`."""

    per_second: float
    burst: int


RATES: dict[str, Rate] = {
    "read": Rate(100, 500),
    "write": Rate(50, 500),
    "submission": Rate(1_000, 5_000),
    "impression": Rate(1_000, 5_000),
    "report": Rate(5, 5),
    "call_start": Rate(5, 5),
    "unknown_key": Rate(50, 500),
}
"""Class of operations -> its rate per company, which the key or lead token names. `unknown_key` counts requests without a
valid key or token per network address, `impression` impressions: a batch takes as many tokens as it has."""


def read_rate(text: str) -> Rate | None:
    """Return the rate of `100:500` (per second and burst) or `2.5` (burst of one second, rounded up); None for `off`.

    Raises `ValueError`.
    """
    if text.strip().lower() == "off":
        return None
    rate_text, _, burst_text = text.partition(":")
    per_second = float(rate_text)
    if not 0 < per_second < inf:
        raise ValueError("a rate must be above 0")
    rate = Rate(per_second, int(burst_text or ceil(per_second)))
    if rate.burst < 1:
        raise ValueError("a burst must be at least 1, or every request is refused")
    return rate


class DemoSignIn(Struct, frozen=True):
    """Whom one click signs in to the console of `leadclock up`; `operator_key` is `public.private`, or empty."""

    company_id: int
    email: str
    operator_key: str = ""


class HttpSettings(Struct, frozen=True, kw_only=True):
    """The settings of one API process.

    - `secret_key`: the deployment's LEADCLOCK_SECRET_KEY; it derives webhook secrets and signs request ids.
    - `rates`: a class that is missing has no limit.
    - `trusted_proxies`: networks whose X-Forwarded-For is used.
    - `hosts`: host name -> the company that it serves; empty: every host serves all companies.
    - `speed`: above 1, domain time runs faster than wall time; the answers say so in `Leadclock-Speed`.
    - `connections_per_address`: also limits requests in flight. Behind a trusted proxy it counts the forwarded address.
    - `webhook_networks`, `own_ports`: a webhook's host must be public, or be in these networks on a port not of our own.
    - `public_url`: the address at which vendors reach this deployment; empty: none can.
    - `is_traced`: a request's `traceparent` is the parent of what the process makes of it.
    - `reports_max`: reports, forecasts and previews at once (`adapters.http.exchange.report_slots`).
    - `demo`: whom one click signs in, on this machine only; None but under `leadclock up` with a demo company.
    """

    secret_key: str
    wait_seconds: float = WAIT_SECONDS
    rates: dict[str, Rate] = field(default_factory=lambda: dict(RATES))
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    hosts: Mapping[str, int] = field(default_factory=dict)
    speed: float = 1.0
    connections_per_address: int = PER_ADDRESS_MAX
    webhook_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    own_ports: Collection[int] = ()
    reports_max: int = REPORTS_MAX
    public_url: str = ""
    is_traced: bool = False
    demo: DemoSignIn | None = None
