"""What does a handler see of a request? An `Exchange`: its fields, its sender, the services, and headers of the answer.

An `Operation` is one row of the API: its path, who may use it, how often. Routing, documentation, and the tests of rules
for all operations are made from these rows.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Literal, TypeVar

import msgspec
import structlog
from litestar import Request
from msgspec import Struct

from adapters.body_fields import PATH_LENGTH_MAX, Fields
from adapters.http.exchange.access import (
    ALL_OF_COMPANY,
    NO_VALID_KEY,
    Access,
    Authenticator,
    TokenTarget,
    actor_of,
    forwarded_for,
    read_credentials,
    unauthenticated,
)
from adapters.http.exchange.active_companies import ActiveCompanies
from adapters.http.exchange.addresses import client_of
from adapters.http.exchange.binding import (
    BODY_BYTES_MAX,
    FIELDS_SHOWN_MAX,
    check_encoding,
    check_storable,
    read_body,
    read_fields,
    read_known_query,
    read_query,
)
from adapters.http.exchange.event_streams import EventStreams
from adapters.http.exchange.export_slots import ExportSlots
from adapters.http.exchange.file_work import FileWork
from adapters.http.exchange.hosts import company_of_host, refuse_host_of_company
from adapters.http.exchange.identity import RequestIds
from adapters.http.exchange.issuers import Issuers
from adapters.http.exchange.limited_reads import limit_reads
from adapters.http.exchange.operator_access import OperatorAccess, OperatorAuthenticator, is_operator_key
from adapters.http.exchange.page_changes import PageChanges
from adapters.http.exchange.parameters import read_id, unknown_parameters
from adapters.http.exchange.passwords import Passwords
from adapters.http.exchange.ports import DeploymentReads, Impressions, Mail, Requests, RulesSource
from adapters.http.exchange.problems import ProblemError, not_found
from adapters.http.exchange.provider_services import ProviderServices
from adapters.http.exchange.public_floods import PublicFloods
from adapters.http.exchange.rates import Limiter
from adapters.http.exchange.recording_services import RecordingServices
from adapters.http.exchange.report_slots import EngineThread, ReportSlots
from adapters.http.exchange.settings import HttpSettings
from adapters.http.exchange.short_requests import ShortRequests
from adapters.reads.ports import (
    CircuitReads,
    Heartbeats,
    IdempotencyKeys,
    LeadBulkJobs,
    LeadImports,
    LeadViews,
    LimitableReads,
    Operators,
    ProjectionJobs,
    Reads,
    ServedChannels,
    SignIns,
    SubscriptionReads,
    WebhookLogReads,
)
from engine.rules import Rules
from schemas.instant import Instant
from schemas.records import Company

HttpRequest = Request[Any, Any, Any]

BODY_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""Methods whose fields are in the body."""

API_PREFIX = "/api/"
"""Of the paths that a company's host serves; probes answer under any host."""

PLACEHOLDER = re.compile(r"\{(\w+)\}")
"""A placeholder of a path, with its name."""

ROOT = "root"
"""Parameter of every operation with an envelope: `root=false` gives the bare record or list."""

Extra = Literal["refused", "checked_by_handler", "tokens", "ignored"]
"""What an operation does with fields that it does not name:

- `refused`: they are mistakes.
- `checked_by_handler`: so are those of the query; the handler reports those of the body with all other faults.
- `tokens`: they are tokens of the lead.
- `ignored`: mail trackers append some to the link by which a person opts out.
"""

JSON = msgspec.json.Encoder(decimal_format="number")

T = TypeVar("T")

logger = structlog.get_logger(__name__)


class Reply(Struct, frozen=True, kw_only=True):
    """An answer. `content` is encoded as JSON unless it is bytes; None means no body. `stream` is sent while it is made."""

    status: int = 200
    content: Any = None
    stream: AsyncIterator[bytes] | None = None
    headers: Mapping[str, str] = {}
    media_type: str = "application/json"


class Services(Struct, frozen=True, kw_only=True):
    """What every handler can use. `now` is domain time, `monotonic` gives wall seconds that never go back.

    `limiter` counts requests by company, `addresses` by network address.
    """

    requests: Requests
    impressions: Impressions
    reads: Reads
    source: RulesSource
    claims: IdempotencyKeys
    served: ServedChannels
    subscriptions: SubscriptionReads
    operators: Operators
    projection_jobs: ProjectionJobs
    deployment: DeploymentReads
    heartbeats: Heartbeats
    sign_ins: SignIns
    issuers: Issuers
    mail: Mail
    webhook_logs: WebhookLogReads
    circuits: CircuitReads
    bulk_jobs: LeadBulkJobs
    imports: LeadImports
    lead_views: LeadViews
    providers: ProviderServices
    recordings: RecordingServices | None
    settings: HttpSettings
    authenticator: Authenticator
    operator_authenticator: OperatorAuthenticator
    limiter: Limiter
    addresses: Limiter
    active: ActiveCompanies
    ids: RequestIds
    passwords: Passwords
    reports: ReportSlots
    exports: ExportSlots
    streams: EventStreams
    page_changes: PageChanges
    engine: EngineThread
    short_requests: ShortRequests
    public_floods: PublicFloods
    files: FileWork
    now: Callable[[], Instant]
    monotonic: Callable[[], float]
    ready: Callable[[], Awaitable[Mapping[str, str]]]


Handler = Callable[["Exchange"], Awaitable[Reply]]


class Operation(Struct, frozen=True, kw_only=True):
    """One row of the API.

    - `access`: a key with `scope`, a lead token (a key is optional), the session of a user, an operator key, or open to all.
    - `also`: a further scope that the key needs, for an operation about two models.
    - `safe`: the operation changes nothing.
    - `suffixes`: endings that the path also takes (`.csv`).
    - `body_bytes_max`: bytes of a body.
    - `raw_body`: the handler reads the body, of any content type and form: a vendor signs its bytes.
    - `auth_token`: the key may also be in a field of that name, for senders that cannot set headers.
    - `leads`: which leads and calls the operation reaches: those that the teams of its sender show, all (refused to a person
      whose teams show some), or none.
    - `records`: the same of the account records that its scope names, which a team may limit by their ids.
    - `parameters`: fields, with a sentence each; `extra` says what happens with any other field.

    The rest is for the documentation:

    - `streams`: the answer may also be a stream of server-sent events.
    - `types`: JSON Schema of fields that differ from `adapters.http.schema.inputs.PARAMETERS`.
    - `required`: fields that must be sent.
    - `body`, `answer`: JSON Schema of the body and of a successful answer; with `created`, that may be a 201.
    - `problems`: codes that only this operation has.
    - `file`: media type of an answer that is a file, of which `Range` gives a part.
    - `has_result`: a change waits for its result, and is answered with 202 if there is none in time.
    """

    name: str
    methods: tuple[str, ...]
    path: str
    summary: str
    handler: Handler
    access: Literal["key", "token", "session", "operator", "open"] = "key"
    scope: str = ""
    also: str = ""
    rate: str | None = "read"
    safe: bool = True
    suffixes: tuple[str, ...] = ("",)
    body_bytes_max: int = BODY_BYTES_MAX
    raw_body: bool = False
    auth_token: bool = False
    leads: Literal["visible", "all", "none"] = "all"
    records: Literal["visible", "all"] = "all"
    extra: Extra = "refused"
    parameters: Mapping[str, str] = {}
    body: Mapping[str, Any] | None = None
    types: Mapping[str, Mapping[str, Any]] = {}
    required: tuple[str, ...] = ()
    answer: Mapping[str, Any] | None = None
    created: bool = False
    problems: tuple[str, ...] = ()
    has_result: bool = True
    streams: bool = False
    file: str = ""

    @property
    def has_root(self) -> bool:
        """Return whether the answer has an envelope, which `root=false` removes."""
        return self.answer is not None and "anyOf" in self.answer

    def known(self) -> Collection[str]:
        """Return the names of all fields of the operation."""
        declared = (*(self.body or {}).get("properties", ()), *self.parameters)
        return dict.fromkeys((*declared, ROOT) if self.has_root else declared)


class Exchange:
    """One request: path, query and merged fields as they were sent, and the access of its sender.

    `sender` is who sends it where that is known already: the console authenticates once for all that a page asks for.
    """

    def __init__(
        self,
        services: Services,
        operation: Operation,
        request: HttpRequest,
        request_id: str,
        *,
        sender: Access | OperatorAccess | None = None,
    ) -> None:
        self.services = services
        self.operation = operation
        self.request = request
        self.request_id = request_id
        self.path: Mapping[str, str] = request.path_params
        self.query: Fields = {}
        self.fields: Fields = {}
        self.body = b""
        self.vendor_key = ""
        """The sender's own id of a post with a key, by its lead map: an Idempotency-Key where none was sent."""
        self.access: Access | None = None
        self._operator: OperatorAccess | None = None
        self._sender = sender
        self.headers: dict[str, str] = {}
        self.warnings: tuple[str, ...] = ()
        """What is wrong with how the request was sent, though it is taken: each answer says it in a header."""
        self.now = services.now()
        self.wait_started = services.monotonic()
        self.host_company_id: int | None = None
        """The company that the host name serves; None where hosts are not set."""

    @property
    def key(self) -> Access:
        """Return the sender's key. Only operations that need a key use this. Raises `ProblemError` unauthenticated."""
        if self.access is None:
            raise unauthenticated("This needs a key.")
        return self.access

    @property
    def operator(self) -> OperatorAccess:
        """Return the sender's operator key. Only operations of operators use this. Raises `ProblemError` unauthenticated."""
        if self._operator is None:
            raise unauthenticated("This needs an operator key.")
        return self._operator

    @property
    def reads(self) -> LimitableReads:
        """Return the reads of leads, calls and account records, without what the sender's teams do not show."""
        scope = self.operation.scope
        visibility = ALL_OF_COMPANY if self.access is None else self.access.visibility(scope)
        return limit_reads(self.services.reads, visibility, scope.partition(":")[0])

    @property
    def company_id(self) -> int:
        """Return the company of the key."""
        return self.key.company_id

    @property
    def actor(self) -> str | None:
        """Return who sends the request and from where, as `ce_actor` says it; None without a key."""
        return None if self.access is None else actor_of(self.access, self.address)

    @property
    def time_zone(self) -> str:
        """Return the person's time zone, or the company's: the default for dates without an offset."""
        return zone_of(self.services.source.rules, self.key)

    @property
    def address(self) -> str:
        """Return the sender's network address."""
        client = self.request.scope["client"]
        return self.services.authenticator.address(client[0] if client else "", forwarded_for(self.request.scope["headers"]))

    def _header(self, name: bytes) -> str:
        """Return a header by its lower-case name, or an empty string; faster than the framework's headers."""
        for sent, value in self.request.scope["headers"]:
            if sent == name:
                return value.decode("latin-1")
        return ""

    async def read(self) -> None:
        """Read query and body, and authenticate the sender. Raises `ProblemError`."""
        operation = self.operation
        if _KEY_IN_QUERY.search(self.request.scope["query_string"]):
            self.warnings = (KEY_IN_ADDRESS,)
        if operation.access == "operator":
            refuse_host_of_company(self._header(b"host"), self.services.settings.hosts)
        elif operation.path.startswith(API_PREFIX):
            self.host_company_id = company_of_host(self._header(b"host"), self.services.settings.hosts)
        # Authenticate before reading the body, unless the key may be in a field of the body.
        early = operation.access in {"key", "session", "operator"} and (
            self._sender is not None or not operation.auth_token or self._header(b"authorization") != ""
        )
        if early:
            await self._authenticate("")
        self._read_query()
        self.fields = self.query
        if self.request.method not in {"GET", "HEAD"}:
            check_encoding(self._header(b"content-encoding"))
            self.body = await read_body(self.request, operation.body_bytes_max)
            if not operation.raw_body:
                self.fields = {**self.query, **read_fields(self.body, self.request.headers.get("content-type", ""))}
        # Remove the credential from the fields wherever it was sent: it must not be stored.
        auth_token = _take_key(self.fields)
        _take_key(self.query)
        if operation.access != "open" and not early:
            await self._authenticate(auth_token)
        check_storable(self.fields)
        check_storable(self.path)
        self._check_names()
        self.wait_started = self.services.monotonic()  # the time of a slow body does not count as waiting

    async def target(self, lead_token: Any, *, field: str = "lead_token", is_opt_out: bool = False) -> TokenTarget:
        """Return the offer or schedule of a lead token sent as `field`. Raises `ProblemError` if the sender may not use it.

        An opt-out is never refused for a rate. An unknown token and another company's token (than that of the key, or of
        the host) get the same text.
        """
        token = _text(lead_token).strip()
        if not token:
            sentence = f"must be the lead token of an offer{'' if field == 'offer_token' else ' or a schedule'}"
            raise ProblemError("validation_failed", f"Send the {field}.", {field: [sentence]})
        target = await self.services.authenticator.target(token, address=self.address if self.access is None else None)
        allowed = self.host_company_id if self.access is None else self.access.company_id
        if target is None or (allowed is not None and target.company_id != allowed):
            raise ProblemError("unknown_lead_token", "No offer or schedule has this lead_token.")
        if self.access is None:
            if target.require_auth:
                raise unauthenticated("This lead token works only together with a key: send both.")
            if is_opt_out:
                self.services.active.record_request(target.company_id)
            else:
                self.limit(target.company_id)
        return target

    def watch_public(self, target: TokenTarget, contact_key: str) -> None:
        """Let a flood of requests without a key be noticed."""
        if self.access is None:
            self.services.public_floods.record(
                target.company_id,
                f"{target.kind}/{target.id}",
                contact_key,
                address=client_of(self.address),
                form=self.operation.name,
                at=self.services.monotonic(),
            )

    async def hold_until_answered(self, block: AbstractAsyncContextManager[T]) -> T:
        """Enter a context that is left when the answer ends, whether sent or aborted. Raises what entering raises."""
        held: AsyncExitStack = self.request.scope["state"].setdefault("held", AsyncExitStack())
        return await held.enter_async_context(block)

    def count_as_long(self) -> None:
        """Let the engine thread compute without pauses for this request: it is a report, an export or a stream itself."""
        self.services.short_requests.exclude(self.request_id)

    async def release_held(self) -> None:
        """Leave the held contexts now: the server may report the end of an answer late."""
        await self.request.scope["state"]["held"].aclose()

    def limit(self, company_id: int, count: int = 1) -> None:
        """Take tokens from the bucket of a company. Raises `ProblemError` rate_limited."""
        self.services.active.record_request(company_id)
        self._limit(self.services.limiter, f"company/{company_id}", count)

    def limit_pages(self, company_id: int, count: int = 1) -> None:
        """Take tokens from the bucket of a company's pages, and of the address. Raises `ProblemError` rate_limited.

        Everybody can post as a page: what they use up is not what the company's own key has left.
        """
        self.services.active.record_request(company_id)
        self.enforce_address_limit(count)
        self._limit(self.services.limiter, f"pages/{company_id}", count)

    def enforce_address_limit(self, count: int = 1) -> None:
        """Take tokens from the bucket of the sender's address. Raises `ProblemError` rate_limited."""
        self._limit(self.services.addresses, client_of(self.address), count)

    def _limit(self, limiter: Limiter, sender: str, count: int = 1) -> None:
        if self.operation.rate is None:
            return
        allowance = limiter.take(self.operation.rate, sender, self.services.monotonic(), count)
        if allowance is None:
            return
        self.headers.update(allowance.headers())
        if not allowance.allowed:
            after = str(allowance.retry_after_seconds)
            raise ProblemError("rate_limited", f"Try again in {after} s.", headers={"Retry-After": after})

    def path_id(self, what: str) -> int | str:
        """Return the internal id (int) or UUID (str) in the path. Raises `ProblemError` not_found for anything else."""
        found = read_id(self.path["id"])
        if found is None:
            raise not_found(what)
        return found

    def _read_query(self) -> None:
        query = self.request.scope["query_string"]
        if self.operation.extra == "ignored":
            self.query, names = read_known_query(query, (*self.operation.known(), "auth_token"))
            self._log_ignored(names)
        else:
            self.query = read_query(query)

    def _check_names(self) -> None:
        """Refuse fields that the operation does not know. Raises `ProblemError` validation_failed."""
        extra = self.operation.extra
        fields = self.query if extra == "checked_by_handler" else self.fields
        if not fields or extra == "tokens":
            return
        known = self.operation.known()
        unknown = [name for name in fields if name not in known]
        if unknown and extra != "ignored" and not self.ignores_unknown:
            raise unknown_parameters(unknown, known)
        self._log_ignored(unknown)
        if unknown and extra != "ignored":
            self.warnings = (*self.warnings, ignored_sentence(unknown))

    def _log_ignored(self, names: list[str]) -> None:
        # Names only: a value in a link may be a secret.
        if names:
            shown = [name[:PATH_LENGTH_MAX] for name in names[:FIELDS_SHOWN_MAX]]
            logger.info("parameters.ignored", operation=self.operation.name, names=shown, request_id=self.request_id)

    @property
    def ignores_unknown(self) -> bool:
        """Return whether the company of the key ignores unknown parameters."""
        company_id = None if self.access is None else self.access.company_id
        company = self.services.source.rules.body(Company, "company", company_id)
        return company is not None and company.unknown_parameters == "ignore"

    async def _authenticate(self, auth_token: str) -> None:
        if isinstance(self._sender, OperatorAccess):
            self._admit_operator(self._sender)
            return
        if self._sender is not None:
            self._admit(self._sender)
            return
        authorization = self._header(b"authorization")
        if not authorization and not auth_token and self.operation.access == "token":
            return
        public, private = read_credentials(authorization, auth_token)
        if is_operator_key(public):
            await self._authenticate_operator(public, private)
            return
        authenticator = self.services.authenticator
        self._admit(await authenticator.authenticate(authorization, auth_token, address=self.address, now=self.now))

    def _admit(self, access: Access) -> None:
        """Take an authenticated sender. Raises `ProblemError` where the operation is not for it."""
        self.access = access
        if self.host_company_id not in {None, access.company_id}:
            raise unauthenticated(NO_VALID_KEY)  # as if there were no such key: a host says nothing of other companies
        if self.operation.access == "operator":
            raise ProblemError("forbidden", "This is the operator's; the key of a company does not reach it.")
        if self.operation.scope:
            check_granted(self.operation, access)
        self.limit(access.company_id)

    async def _authenticate_operator(self, public: str, private: str) -> None:
        # Before the database is asked: it knows these keys alone, and anybody may invent one.
        self.enforce_address_limit()
        self._admit_operator(await self.services.operator_authenticator.authenticate(public, private, address=self.address))

    def _admit_operator(self, found: OperatorAccess) -> None:
        """Take an authenticated operator. Raises `ProblemError` where the operation is not for operators."""
        if self.operation.access != "operator":
            raise ProblemError("forbidden", "An operator key reaches the operator's routes only; send a key of the company.")
        self._operator = found
        self._limit(self.services.limiter, f"operator/{found.key_id}")


def _take_key(fields: Fields) -> str:
    """Take the key out of fields, however its name is written: as another field it would be stored as a token."""
    names = [name for name in fields if len(name) == len(AUTH_TOKEN) and name.lower() == AUTH_TOKEN]
    return next((text for text in [_text(fields.pop(name)) for name in names] if text), "")


AUTH_TOKEN = "auth_token"  # noqa: S105 - the name of a field

_KEY_IN_QUERY = re.compile(rb"(?:^|[&;])auth_token(?:\[|%5B|=)", re.IGNORECASE)

IGNORED_NAMED_MAX = 5
"""Ignored parameters that a warning names."""


def ignored_sentence(names: Sequence[str]) -> str:
    """Return the warning of parameters that were ignored; it is sent in a header, which not every name fits."""
    named = [name for name in names if _HEADER_NAME.fullmatch(name)][:IGNORED_NAMED_MAX]
    more = len(names) - len(named)
    others = f"{more} more" if named else f"{more}"
    said = " and ".join(part for part in (", ".join(named), others if more else "") if part)
    return f"Ignored, because this operation does not know them: {said}."


_HEADER_NAME = re.compile(r"[A-Za-z0-9_.\[\]-]{1,100}", re.ASCII)

KEY_IN_ADDRESS = (
    "auth_token stood in the address, which proxies, browsers and logs of others keep. Send the key in the Authorization "
    "header, or in the body, and replace this key."
)
"""Said where a key came in the query: we keep the address nowhere, and cannot say so of others."""


def zone_of(rules: Rules, access: Access) -> str:
    """Return the time zone of the person of an access, or of the company."""
    email = access.user_email
    found = None if email is None else rules.user_named(access.company_id, email)
    if found is not None and found[1].time_zone is not None:
        return found[1].time_zone
    company = rules.body(Company, "company", access.company_id)
    return Company.time_zone if company is None else company.time_zone


def check_granted(operation: Operation, access: Access) -> None:
    """Refuse an operation that the key or the teams do not grant, or that reaches more than the teams show.

    Raises `ProblemError` forbidden.
    """
    access.require(operation.scope)
    if operation.also:
        access.require(operation.also)
    visibility = access.visibility(operation.scope)
    if operation.leads == "all" and visibility.leads is not None:
        detail = f"The teams of {access.user_email} show some leads; this operation cannot leave out the others yet."
        raise ProblemError("forbidden", detail)
    if operation.records == "all" and visibility.record_ids is not None:
        detail = f"The teams of {access.user_email} name some records; this operation cannot leave out the others yet."
        raise ProblemError("forbidden", detail)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
