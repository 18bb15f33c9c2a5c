"""Who sends a request, and for which company? Keys, lead tokens and users, looked up in the account records of this process.

HTTP Basic takes `public:private`. `Bearer`, `Token` and the field `auth_token` take `public.private` or `public:private`.
`Bearer` takes the token of a session, too. Only the SHA-256 of a private half is stored. A comparison takes the same time
whether or not the public half exists.
"""

import hmac
import time
from asyncio import Lock
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterable
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from msgspec import Struct, structs

from adapters.http.exchange.key_uses import KeyUses
from adapters.http.exchange.ports import RulesSource
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.rates import Limiter
from adapters.http.exchange.session_reads import SessionReads
from adapters.http.exchange.session_tokens import SESSION_PREFIX, user_of
from adapters.http.exchange.unknown_keys import UnknownCredentials, UnknownKeyLimiter
from adapters.reads.ports import SignIns, UserSession
from engine.account.teams import Visibility, is_granted, restricted_fields, visibility_of
from engine.rules import LeadTokenTarget
from schemas.instant import Instant
from schemas.records import AccessControlList, ApiKey, Company, Offer, Record, Schedule

CHALLENGE = 'Basic realm="leadclock", charset="UTF-8"'

NO_VALID_KEY = "Send a valid key: public:private with HTTP Basic, or public.private with Bearer."

PAGE_SCOPE = "impression:create"
"""All that the public half of a key gives to a page: everybody who reads the page can send it."""

PUBLISHABLE = "publishable_key"

NO_PAGE_KEY = "names no valid key that has the Origin of this page among its origins"

CREDENTIALS_LENGTH_MAX = 1_000
"""Characters of an Authorization header; our keys have about 100."""

TOKEN_LENGTH_MAX = 200
"""Characters of a lead token; a longer one is not looked up."""

ALL_OF_COMPANY = Visibility()

_HASH_OF_NO_KEY = sha256(b"compared with where there is no such key").hexdigest()


class Access(Struct, frozen=True):
    """An authenticated key, or session of a user, which acts for one company within its scopes.

    `user_email`: the person for whom it acts. `teams` are those of that person; one of them must grant a scope too.
    `invited`: by an invitation, which sets the password of that user and does nothing else.
    """

    company_id: int
    key_id: int | None
    scopes: tuple[str, ...]
    user_email: str | None = None
    teams: tuple[AccessControlList, ...] = ()
    session: UserSession | None = None
    invited: bool = False

    @property
    def is_superuser(self) -> bool:
        """Return whether no team limits the key: it is the company's own, or a superuser's."""
        return self.user_email is None or any(team.superuser for team in self.teams)

    def has_scope(self, scope: str) -> bool:
        """Return whether a scope such as `lead:update` is granted: by its own name, or by `lead:*`, `*:update` or `*`."""
        return self._is_in_scopes(scope) and self._is_granted_by_team(scope)

    def require(self, scope: str) -> None:
        """Raise `ProblemError` forbidden if a scope is not granted."""
        if not self._is_in_scopes(scope):
            raise ProblemError("forbidden", f"This key needs the scope {scope}.")
        self._require_team(scope)

    def require_named(self, scope: str) -> None:
        """Raise `ProblemError` forbidden if a scope is not granted by its own name; a wildcard does not count."""
        if scope not in self.scopes:
            raise ProblemError("forbidden", f"This key needs the scope {scope} by its name; a wildcard does not grant it.")
        self._require_team(scope)

    def visibility(self, scope: str) -> Visibility:
        """Return what may be reached under a granted scope."""
        return ALL_OF_COMPANY if self.user_email is None else visibility_of(self.teams, scope)

    def restricted(self, model: str, *modes: str) -> frozenset[str]:
        """Return the fields of a model that the teams restrict in one of the modes (`none`, `read`)."""
        return frozenset() if self.user_email is None else restricted_fields(self.teams, model, modes)

    def _is_in_scopes(self, scope: str) -> bool:
        if "*" in self.scopes or scope in self.scopes:
            return True
        subject, _, action = scope.partition(":")
        return f"{subject}:*" in self.scopes or f"*:{action}" in self.scopes

    def _is_granted_by_team(self, scope: str) -> bool:
        return self.user_email is None or is_granted(self.teams, scope)

    def _require_team(self, scope: str) -> None:
        if not self._is_granted_by_team(scope):
            raise ProblemError("forbidden", f"No team of {self.user_email} grants {scope}.")


def actor_of(access: Access, address: str) -> str:
    """Return who asks and from where, as `ce_actor` says it."""
    how = "session" if access.key_id is None else f"key/{access.key_id}"
    how = "invitation" if access.invited else how
    return f"{how};{access.user_email or ''};{sender_of(address)}"


def sender_of(address: str) -> str:
    """Return a network address, or nothing: a proxy may send anything as one."""
    try:
        return str(ip_address(address))
    except ValueError:
        return ""


def forwarded_for(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return all X-Forwarded-For headers as one list: a proxy may add its own line below one that a client invented."""
    return ",".join(value.decode("latin-1") for name, value in headers if name == b"x-forwarded-for")


class TokenTarget(Struct, frozen=True):
    """The offer or schedule of a lead token; `require_auth` says that the sender must send a key too."""

    company_id: int
    kind: str
    id: int
    require_auth: bool

    @property
    def offer_id(self) -> int | None:
        """Return the id if this is an offer."""
        return self.id if self.kind == "offer" else None

    @property
    def schedule_id(self) -> int | None:
        """Return the id if this is a schedule."""
        return self.id if self.kind == "schedule" else None


class Authenticator:
    """Looks up keys and tokens; reads the rules to their current end before it refuses one as unknown.

    `unknown` remembers what was not found. `unknown_key_limiter` limits how often an address may send unknown ones.
    """

    def __init__(
        self,
        source: RulesSource,
        *,
        sign_ins: SignIns | None = None,
        trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = (),
        unknown_key_limiter: UnknownKeyLimiter | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._sign_ins = sign_ins
        self._uses = None if sign_ins is None else KeyUses(sign_ins, monotonic)
        self._session_reads = None if sign_ins is None else SessionReads(sign_ins, monotonic)
        self._trusted_proxies = trusted_proxies
        self._unknown_key_limiter = unknown_key_limiter or UnknownKeyLimiter(Limiter({}), monotonic)
        self.unknown = UnknownCredentials(lambda: sum(source.rules.positions.values()), monotonic)
        self._refreshing = Lock()
        self._refreshes_begun = 0

    async def authenticate(
        self, authorization: str, auth_token: str, *, address: str, now: Instant, is_renewal: bool = False
    ) -> Access:
        """Return the access that a key gives, or a session. That of a page that renews itself may be some seconds old.

        Raises `ProblemError`: unauthenticated, with one text for an unknown, wrong, revoked or expired key; rate_limited
        after too many requests of this address without a valid key.
        """
        public, private = read_credentials(authorization, auth_token)
        given = sha256(private.encode()).hexdigest()
        if public.startswith(SESSION_PREFIX) and self._sign_ins is not None and _is_bearer(authorization):
            return await self._access_of_session(self._sign_ins, public, given, address, is_renewal=is_renewal)
        # An unknown public half and a wrong private half take the same path, at the same cost.
        found = self._find_key(public, given, now)
        if found is None:
            await self._unknown_key_limiter.take(address)
            if public and not self.unknown.contains(f"{public}:{given}"):
                await self.refresh()
                found = self._find_key(public, given, now)
                if found is None:
                    self.unknown.add(f"{public}:{given}")
        if found is None:
            raise unauthenticated(NO_VALID_KEY)
        record, key = found
        if key.ip_allow_list and not _is_listed(address, key.ip_allow_list):
            raise unauthenticated("This key may not be used from this network address.")
        if not authorization and not self._takes_auth_token(record.company_id):
            raise unauthenticated("This company takes keys in the Authorization header only, not as auth_token.")
        if key.user_email is not None and self._uses is not None:
            await self._uses.note(record.company_id, record.id)
        teams = () if key.user_email is None else self._source.rules.teams_of(record.company_id, key.user_email)
        return Access(record.company_id, record.id, key.scopes, key.user_email, teams)

    async def _access_of_session(
        self, sign_ins: SignIns, session_id: str, given: str, address: str, *, is_renewal: bool
    ) -> Access:
        """Return the access that a session gives. Raises `ProblemError` as `authenticate`."""
        shared = self._session_reads if is_renewal else None
        stored = await (sign_ins.find(session_id) if shared is None else shared.find(session_id, given))
        known = _HASH_OF_NO_KEY if stored is None else stored.session.token_sha256
        is_same = hmac.compare_digest(given, known)
        if stored is None:
            self.forget_session(session_id)
        if stored is None or not is_same:
            await self._unknown_key_limiter.take(address)
            raise unauthenticated(NO_VALID_KEY)
        found = user_of(stored.session, self._source.rules)
        if found is None:
            await self.refresh()  # the user may have been changed at another process, just before the sign-in
            found = user_of(stored.session, self._source.rules)
        if found is None:
            await sign_ins.end(session_id)
            self.forget_session(session_id)
            raise unauthenticated(NO_VALID_KEY)
        if stored.is_stale:
            await sign_ins.touch(session_id)
        record, user = found
        teams = self._source.rules.teams_of(record.company_id, user.email)
        return Access(record.company_id, None, ("*",), user.email, teams, stored.session)

    def forget_session(self, session_id: str) -> None:
        """Let no open page go on with a session that was ended here."""
        if self._session_reads is not None:
            self._session_reads.forget(session_id)

    def renew(self, access: Access, *, address: str, now: Instant) -> Access | None:
        """Return what a key or session that was authenticated before gives now; None if it is not valid any more."""
        if access.session is not None:
            return self._renew_session(access, access.session)
        key = self._source.rules.body(ApiKey, "api_key", access.key_id)
        if key is None or not _is_valid(key, now) or (key.ip_allow_list and not _is_listed(address, key.ip_allow_list)):
            return None
        if key.user_email is not None and self._source.rules.is_shut_out(access.company_id, key.user_email):
            return None
        teams = () if key.user_email is None else self._source.rules.teams_of(access.company_id, key.user_email)
        return Access(access.company_id, access.key_id, key.scopes, key.user_email, teams)

    def _renew_session(self, access: Access, session: UserSession) -> Access | None:
        """Return what a session gives now. That it was ended or expired is seen by its next request alone."""
        found = user_of(session, self._source.rules)
        if found is None:
            return None
        return structs.replace(access, teams=self._source.rules.teams_of(access.company_id, found[1].email))

    def find_page_access(self, public: str, origin: str, now: Instant) -> Access | None:
        """Return what the public half of a key gives to a page of an origin: impressions, and nothing else; or None."""
        found = self._source.rules.api_key(public) if origin else None
        if found is None or not _is_valid(found[1], now) or origin not in found[1].origins:
            return None
        record, key = found
        teams = () if key.user_email is None else self._source.rules.teams_of(record.company_id, key.user_email)
        whole = Access(record.company_id, record.id, key.scopes, key.user_email, teams)
        if not whole.has_scope(PAGE_SCOPE):
            return None
        return Access(record.company_id, record.id, (PAGE_SCOPE,), key.user_email, teams)

    async def authenticate_page(self, public: str, origin: str, *, address: str, now: Instant) -> Access:
        """Return what a page may do. Raises `ProblemError`: the same for a wrong key and a wrong origin."""
        found = self.find_page_access(public, origin, now)
        if found is None:
            await self._unknown_key_limiter.take(address)
            mark = f"{public}@{origin}"
            if 0 < len(mark) <= CREDENTIALS_LENGTH_MAX and not self.unknown.contains(mark):
                await self.refresh()
                found = self.find_page_access(public, origin, now)
                if found is None:
                    self.unknown.add(mark)
        if found is None:
            raise no_page_key()
        return found

    async def target(self, lead_token: str, *, address: str | None) -> TokenTarget | None:
        """Return the offer or schedule of a lead token, or None if no company has this token.

        `address` is the sender's if it sent no valid key. It is None if it did: then the company's rate limit applies.
        Raises `ProblemError` rate_limited after too many unknown tokens from the address.
        """
        is_possible = 0 < len(lead_token) <= TOKEN_LENGTH_MAX
        target = self._source.rules.target(lead_token) if is_possible else None
        if target is None:
            if address is not None:
                await self._unknown_key_limiter.take(address)
            if is_possible and not self.unknown.contains(lead_token):
                await self.refresh()
                target = self._source.rules.target(lead_token)
                if target is None:
                    self.unknown.add(lead_token)
        return None if target is None else self._with_require_auth(target)

    async def refresh(self) -> None:
        """Read the rules to their current end. Calls that arrive during a read share the next one."""
        seen = self._refreshes_begun
        async with self._refreshing:
            # A read that began after this call has read all that was there at the call.
            if self._refreshes_begun > seen:
                return
            self._refreshes_begun += 1
            await self._source.refresh()

    def address(self, peer: str, forwarded_for: str) -> str:
        """Return the sender's network address: the last hop that is no trusted proxy."""
        if not forwarded_for:
            return peer
        hops = [*(hop.strip() for hop in forwarded_for.split(",") if hop.strip()), peer]
        while len(hops) > 1 and is_within(hops[-1], self._trusted_proxies):
            hops.pop()
        return hops[-1]

    def schedule_ids(self, target: TokenTarget) -> tuple[int, ...]:
        """Return the schedules whose leads a token may address: its own schedule, or all of its offer."""
        if target.kind == "schedule":
            return (target.id,)
        rules = self._source.rules
        return tuple(
            record.id
            for record in rules.records("schedule", target.company_id)
            if (schedule := rules.body(Schedule, "schedule", record.id)) is not None and schedule.offer_id == target.id
        )

    def _find_key(self, public: str, given: str, now: Instant) -> tuple[Record, ApiKey] | None:
        """Return the key if it is valid and `given` is the SHA-256 of its private half; always compare once."""
        found = self._source.rules.api_key(public)
        known = _HASH_OF_NO_KEY if found is None else found[1].private_key_sha256
        is_same = hmac.compare_digest(given, known)
        if not is_same or found is None or not _is_valid(found[1], now) or self._is_shut_out(*found):
            return None
        return found

    def _is_shut_out(self, record: Record, key: ApiKey) -> bool:
        """Return whether the person of a key may not use this deployment any more."""
        return key.user_email is not None and self._source.rules.is_shut_out(record.company_id, key.user_email)

    def _takes_auth_token(self, company_id: int) -> bool:
        company = self._source.rules.body(Company, "company", company_id)
        return company is None or company.allow_auth_token

    def _with_require_auth(self, target: LeadTokenTarget) -> TokenTarget:
        rules = self._source.rules
        body: Schedule | Offer | None = (
            rules.body(Schedule, "schedule", target.id)
            if target.kind == "schedule"
            else rules.body(Offer, "offer", target.id)
        )
        return TokenTarget(target.company_id, target.kind, target.id, body is not None and body.require_auth)


def read_credentials(authorization: str, auth_token: str) -> tuple[str, str]:
    """Return the public and private half that were sent, or two empty strings if nothing readable was."""
    if len(authorization) > CREDENTIALS_LENGTH_MAX or len(auth_token) > CREDENTIALS_LENGTH_MAX:
        return "", ""
    scheme, _, value = authorization.strip().partition(" ")
    if not scheme:
        public, private = _split_token(auth_token)
    elif scheme.lower() == "basic":
        public, _, private = _decode_base64(value.strip()).partition(":")
    elif scheme.lower() in {"bearer", "token"}:
        public, private = _split_token(value)
    else:
        return "", ""
    return public, private


def _is_bearer(authorization: str) -> bool:
    return authorization.strip().lower().startswith("bearer ")


def no_page_key() -> ProblemError:
    """Return the refusal of a page: one text, whether the key is unknown or is not for its origin."""
    return ProblemError("validation_failed", "Send a key that is for this page.", {PUBLISHABLE: [NO_PAGE_KEY]})


def _split_token(text: str) -> tuple[str, str]:
    """Split `public.private`, or `public:private` as in HTTP Basic."""
    public, _, private = text.strip().partition(":" if ":" in text else ".")
    return public, private


def unauthenticated(detail: str) -> ProblemError:
    """Return the error that asks for a key."""
    return ProblemError("unauthenticated", detail, headers={"WWW-Authenticate": CHALLENGE})


def _decode_base64(text: str) -> str:
    try:
        return b64decode(text, validate=True).decode()
    except (Base64Error, ValueError):
        return ""


def _is_valid(key: ApiKey, now: Instant) -> bool:
    return key.revoked_at is None and (key.expires_at is None or now < key.expires_at)


def _is_listed(address: str, networks: tuple[str, ...]) -> bool:
    try:
        return is_within(address, tuple(ip_network(network, strict=False) for network in networks))
    except ValueError:
        return False


def is_within(address: str, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    """Return whether an address is in one of the networks; False for text that is no address."""
    try:
        return any(ip_address(address) in network for network in networks)
    except ValueError:
        return False
