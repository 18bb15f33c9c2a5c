"""Who is asking, and for which company? Keys and lead tokens, read against the account records of this process.

Basic takes `public:private`; `Bearer`, `Token` and the field `auth_token` take `public.private`, or with a colon. Only the
SHA-256 of a private half is known here, and comparing takes the same work whether or not the public half exists.
"""

import hmac
import time
from asyncio import Lock
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterable
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from msgspec import Struct

from adapters.http.exchange.ports import RulesSource
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.rates import Limiter
from adapters.http.exchange.unknown_keys import Allowances, Unknown
from engine.rules import LeadTokenTarget
from schemas.instant import Instant
from schemas.records import ApiKey, Company, Offer, Record, Schedule

CHALLENGE = 'Basic realm="leadclock", charset="UTF-8"'

CREDENTIALS_LENGTH_MAX = 1_000
"""Of an Authorization header: our keys have some hundred characters."""

TOKEN_LENGTH_MAX = 200
"""Of a lead token that is looked up at all."""

_NOBODY = sha256(b"compared with where there is no such key").hexdigest()


class Access(Struct, frozen=True):
    """An authenticated key: it acts for one company, within its scopes."""

    company_id: int
    key_id: int
    scopes: tuple[str, ...]

    def may(self, scope: str) -> bool:
        """Tell whether a scope such as `lead:update` is granted, itself or by `lead:*`, `*:update` or `*`."""
        if "*" in self.scopes or scope in self.scopes:
            return True
        subject, _, action = scope.partition(":")
        return f"{subject}:*" in self.scopes or f"*:{action}" in self.scopes

    def require(self, scope: str) -> None:
        """Raise `ProblemError` forbidden where a scope is not granted."""
        if not self.may(scope):
            raise ProblemError("forbidden", f"This key needs the scope {scope}.")

    def require_named(self, scope: str) -> None:
        """Raise `ProblemError` forbidden where a scope is not granted by its own name: a wildcard does not mean it."""
        if scope not in self.scopes:
            raise ProblemError("forbidden", f"This key needs the scope {scope}, granted by this name.")


def forwarded_for(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return X-Forwarded-For as one list: a proxy may add a line of its own below the one that a client made up."""
    return ",".join(value.decode("latin-1") for name, value in headers if name == b"x-forwarded-for")


class TokenTarget(Struct, frozen=True):
    """What a lead token points at, and whether it asks for a key as well."""

    company_id: int
    kind: str
    id: int
    require_auth: bool

    @property
    def offer_id(self) -> int | None:
        """The offer, where it is one."""
        return self.id if self.kind == "offer" else None

    @property
    def schedule_id(self) -> int | None:
        """The schedule, where it is one."""
        return self.id if self.kind == "schedule" else None


class Gate:
    """Keys and tokens, looked up in what is known; before one is refused as unknown, the rules are read to their end.

    `unknown` remembers what was not found, `allowances` bounds how often an address may send such.
    """

    def __init__(
        self,
        source: RulesSource,
        *,
        trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = (),
        allowances: Allowances | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._trusted_proxies = trusted_proxies
        self._allowances = allowances or Allowances(Limiter({}), monotonic)
        self.unknown = Unknown(lambda: sum(source.rules.positions.values()), monotonic)
        self._refreshing = Lock()
        self._refreshes_begun = 0

    async def authenticate(self, authorization: str, auth_token: str, *, address: str, now: Instant) -> Access:
        """Return whose key this is.

        Raises `ProblemError`: unauthenticated, the same for every reason but the network's; rate_limited where too many
        requests of this address had no good key.
        """
        public, private = credentials(authorization, auth_token)
        given = sha256(private.encode()).hexdigest()
        # A public half that nobody has and a wrong private one take the same way, at the same cost.
        found = self._found(public, given, now)
        if found is None:
            await self._allowances.take(address)
            if public and not self.unknown.holds(f"{public}:{given}"):
                await self.refresh()
                found = self._found(public, given, now)
                if found is None:
                    self.unknown.add(f"{public}:{given}")
        if found is None:
            raise unauthenticated("Send a valid public and private key with HTTP Basic; in one word: public.private.")
        record, key = found
        if key.ip_allow_list and not _listed(address, key.ip_allow_list):
            raise unauthenticated("This key is not for use from this network address.")
        if not authorization and not self._takes_auth_token(record.company_id):
            raise unauthenticated("This company takes keys in the Authorization header only, not as auth_token.")
        return Access(record.company_id, record.id, key.scopes)

    async def target(self, lead_token: str, *, address: str | None) -> TokenTarget | None:
        """Return what a lead token points at, or None where nobody has it.

        `address` is that of a sender who has no good key, None for one who has: whose allowance is the company's. Raises
        `ProblemError` rate_limited where too many requests of the address named nobody's token.
        """
        is_possible = 0 < len(lead_token) <= TOKEN_LENGTH_MAX
        target = self._source.rules.target(lead_token) if is_possible else None
        if target is None:
            if address is not None:
                await self._allowances.take(address)
            if is_possible and not self.unknown.holds(lead_token):
                await self.refresh()
                target = self._source.rules.target(lead_token)
                if target is None:
                    self.unknown.add(lead_token)
        return None if target is None else self._described(target)

    async def refresh(self) -> None:
        """Read the rules to the end that they have now; askers who come meanwhile share the next reading."""
        seen = self._refreshes_begun
        async with self._refreshing:
            # One that began after we asked has read everything that was there when we asked.
            if self._refreshes_begun > seen:
                return
            self._refreshes_begun += 1
            await self._source.refresh()

    def address(self, peer: str, forwarded_for: str) -> str:
        """Return the network address of who is asking: the last one that no trusted proxy has."""
        if not forwarded_for:
            return peer
        hops = [*(hop.strip() for hop in forwarded_for.split(",") if hop.strip()), peer]
        while len(hops) > 1 and within(hops[-1], self._trusted_proxies):
            hops.pop()
        return hops[-1]

    def schedule_ids(self, target: TokenTarget) -> tuple[int, ...]:
        """Return the schedules whose leads a token speaks of: its own one, or those of its offer."""
        if target.kind == "schedule":
            return (target.id,)
        rules = self._source.rules
        return tuple(
            record.id
            for record in rules.records("schedule", target.company_id)
            if (schedule := rules.body(Schedule, "schedule", record.id)) is not None and schedule.offer_id == target.id
        )

    def _found(self, public: str, given: str, now: Instant) -> tuple[Record, ApiKey] | None:
        """Return a key that is in force where the SHA-256 of its private half was given; one comparison in any case."""
        found = self._source.rules.api_key(public)
        known = _NOBODY if found is None else found[1].private_key_sha256
        is_same = hmac.compare_digest(given, known)
        return found if is_same and found is not None and _in_force(found[1], now) else None

    def _takes_auth_token(self, company_id: int) -> bool:
        company = self._source.rules.body(Company, "company", company_id)
        return company is None or company.allow_auth_token

    def _described(self, target: LeadTokenTarget) -> TokenTarget:
        rules = self._source.rules
        body: Schedule | Offer | None = (
            rules.body(Schedule, "schedule", target.id)
            if target.kind == "schedule"
            else rules.body(Offer, "offer", target.id)
        )
        return TokenTarget(target.company_id, target.kind, target.id, body is not None and body.require_auth)


def credentials(authorization: str, auth_token: str) -> tuple[str, str]:
    """Return the public and private half that were sent, or two empty texts where nothing readable was."""
    if len(authorization) > CREDENTIALS_LENGTH_MAX or len(auth_token) > CREDENTIALS_LENGTH_MAX:
        return "", ""
    scheme, _, value = authorization.strip().partition(" ")
    if not scheme:
        public, private = _in_one_word(auth_token)
    elif scheme.lower() == "basic":
        public, _, private = _decoded(value.strip()).partition(":")
    elif scheme.lower() in {"bearer", "token"}:
        public, private = _in_one_word(value)
    else:
        return "", ""
    return public, private


def _in_one_word(text: str) -> tuple[str, str]:
    """Take `public.private` apart; who knows the two from HTTP Basic writes a colon."""
    public, _, private = text.strip().partition(":" if ":" in text else ".")
    return public, private


def unauthenticated(detail: str) -> ProblemError:
    """Return the refusal that asks for keys."""
    return ProblemError("unauthenticated", detail, headers={"WWW-Authenticate": CHALLENGE})


def _decoded(text: str) -> str:
    try:
        return b64decode(text, validate=True).decode()
    except (Base64Error, ValueError):
        return ""


def _in_force(key: ApiKey, now: Instant) -> bool:
    return key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


def _listed(address: str, networks: tuple[str, ...]) -> bool:
    try:
        return within(address, tuple(ip_network(network, strict=False) for network in networks))
    except ValueError:
        return False


def within(address: str, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    """Tell whether an address lies in one of some networks; no text that is not an address does."""
    try:
        return any(ip_address(address) in network for network in networks)
    except ValueError:
        return False
