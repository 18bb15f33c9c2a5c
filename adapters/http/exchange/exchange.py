"""What is one request on its way? Its fields, whoever asks, and the answer that is growing; handlers see nothing else.

An `Operation` is one row of the interface: where it is, who may use it, how often. Routing, documentation and the tests
that hold every operation to the same rules are all made of these rows.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Literal

import msgspec
import structlog
from litestar import Request
from msgspec import Struct

from adapters.http.exchange.access import Access, Authenticator, TokenTarget, forwarded_for, unauthenticated
from adapters.http.exchange.active_companies import ActiveCompanies
from adapters.http.exchange.addresses import client_of
from adapters.http.exchange.binding import (
    FIELDS_SHOWN_MAX,
    PATH_LENGTH_MAX,
    Fields,
    check_encoding,
    check_storable,
    read_body,
    read_fields,
    read_known_query,
    read_query,
)
from adapters.http.exchange.export_slots import ExportSlots
from adapters.http.exchange.identity import RequestIds
from adapters.http.exchange.parameters import read_id, unknown_parameters
from adapters.http.exchange.ports import Requests, RulesSource
from adapters.http.exchange.problems import ProblemError, not_found
from adapters.http.exchange.rates import Limiter
from adapters.http.exchange.report_slots import EngineThread, ReportSlots
from adapters.http.exchange.settings import HttpSettings
from adapters.reads.ports import IdempotencyKeys, Reads, ServedChannels
from schemas.instant import Instant
from schemas.records import Company

HttpRequest = Request[Any, Any, Any]

BODY_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""Methods whose fields stand in the body."""

PLACEHOLDER = re.compile(r"\{(\w+)\}")
"""Of a path: what the sender puts there, and its name."""

ROOT = "root"
"""The parameter of every answer in an envelope: `root=false` gives the bare record or list."""

Extra = Literal["refused", "checked_by_handler", "tokens", "ignored"]
"""What a field is that an operation does not name: a mistake; in a body, a mistake that the handler tells with all others;
a token of the lead; or nothing, such as what a mail tracker appends to the link with which a person opts out."""

JSON = msgspec.json.Encoder()

logger = structlog.get_logger(__name__)


class Reply(Struct, frozen=True, kw_only=True):
    """An answer: `content` is encoded as JSON unless it is bytes; None means no body. `stream` is sent as it comes."""

    status: int = 200
    content: Any = None
    stream: AsyncIterator[bytes] | None = None
    headers: Mapping[str, str] = {}
    media_type: str = "application/json"


class Services(Struct, frozen=True, kw_only=True):
    """What every handler can use. `now` is domain time, `monotonic` wall seconds that never go back.

    `limiter` counts by company, `addresses` by network address.
    """

    requests: Requests
    reads: Reads
    source: RulesSource
    claims: IdempotencyKeys
    served: ServedChannels
    settings: HttpSettings
    authenticator: Authenticator
    limiter: Limiter
    addresses: Limiter
    active: ActiveCompanies
    ids: RequestIds
    reports: ReportSlots
    exports: ExportSlots
    engine: EngineThread
    now: Callable[[], Instant]
    monotonic: Callable[[], float]
    ready: Callable[[], Awaitable[Mapping[str, str]]]


Handler = Callable[["Exchange"], Awaitable[Reply]]


class Operation(Struct, frozen=True, kw_only=True):
    """One row of the interface.

    `access`: a key with `scope`, a lead token (a key is optional), or open to all. `safe` operations change nothing.
    `suffixes` are ends that the path also takes (`.csv`). With `auth_token` the key may also stand in a field of that name,
    for senders that cannot set headers. `parameters` names fields with a sentence each; `extra` says what any other
    field is. The rest is for the documentation: `types` gives the JSON Schema of the fields that are not what
    `adapters.http.schema.inputs.PARAMETERS` says,
    `required` those that must be there, `body` is the JSON Schema of a body, `answer` that of the answer where all is well
    (`created` says that this may be 201), and `problems` are the codes that only this operation has.
    """

    name: str
    methods: tuple[str, ...]
    path: str
    summary: str
    handler: Handler
    access: Literal["key", "token", "open"] = "key"
    scope: str = ""
    rate: str | None = "read"
    safe: bool = True
    suffixes: tuple[str, ...] = ("",)
    auth_token: bool = False
    extra: Extra = "refused"
    parameters: Mapping[str, str] = {}
    body: Mapping[str, Any] | None = None
    types: Mapping[str, Mapping[str, Any]] = {}
    required: tuple[str, ...] = ()
    answer: Mapping[str, Any] | None = None
    created: bool = False
    problems: tuple[str, ...] = ()

    @property
    def has_root(self) -> bool:
        """Whether the answer stands in an envelope, which `root=false` takes away."""
        return self.answer is not None and "anyOf" in self.answer

    def known(self) -> Collection[str]:
        """Return the names of all fields that the operation knows."""
        declared = (*(self.body or {}).get("properties", ()), *self.parameters)
        return dict.fromkeys((*declared, ROOT) if self.has_root else declared)


class Exchange:
    """One request: path, query and merged fields as they came, and who asks."""

    def __init__(self, services: Services, operation: Operation, request: HttpRequest, request_id: str) -> None:
        self.services = services
        self.operation = operation
        self.request = request
        self.request_id = request_id
        self.path: Mapping[str, str] = request.path_params
        self.query: Fields = {}
        self.fields: Fields = {}
        self.body = b""
        self.access: Access | None = None
        self.headers: dict[str, str] = {}
        self.now = services.now()
        self.wait_started = services.monotonic()

    @property
    def key(self) -> Access:
        """The key of whoever asks. Only operations that need one ask for it."""
        if self.access is None:
            raise unauthenticated("This needs a key.")
        return self.access

    @property
    def company_id(self) -> int:
        """The company of the key."""
        return self.key.company_id

    @property
    def time_zone(self) -> str:
        """The zone of dates that name none, in a request that names none: the company's own."""
        company = self.services.source.rules.body(Company, "company", self.company_id)
        return Company.time_zone if company is None else company.time_zone

    @property
    def address(self) -> str:
        """The network address of who is asking."""
        client = self.request.scope["client"]
        return self.services.authenticator.address(client[0] if client else "", forwarded_for(self.request.scope["headers"]))

    def _header(self, name: bytes) -> str:
        """Return a header by its lower-case name, empty where it was not sent: every request is asked for a few."""
        for sent, value in self.request.scope["headers"]:
            if sent == name:
                return value.decode("latin-1")
        return ""

    async def read(self) -> None:
        """Read query and body, and find out who asks. Raises `ProblemError`."""
        operation = self.operation
        # Where a field may hold the key, the body is read before it is known who asks; nowhere else.
        early = operation.access == "key" and (not operation.auth_token or self._header(b"authorization") != "")
        if early:
            await self._authenticate("")
        self._read_query()
        self.fields = self.query
        if self.request.method not in {"GET", "HEAD"}:
            check_encoding(self._header(b"content-encoding"))
            self.body = await read_body(self.request)
            self.fields = {**self.query, **read_fields(self.body, self.request.headers.get("content-type", ""))}
        # A credential is never a field of anything: it is taken out wherever it was sent.
        auth_token = _text(self.fields.pop("auth_token", ""))
        self.query.pop("auth_token", None)
        if operation.access != "open" and not early:
            await self._authenticate(auth_token)
        check_storable(self.fields)
        check_storable(self.path)
        self._check_names()
        self.wait_started = self.services.monotonic()  # a body that came slowly costs nobody the answer

    async def target(self, lead_token: Any, *, field: str = "lead_token") -> TokenTarget:
        """Return what a lead token, sent as `field`, points at; this sender may use it. Raises `ProblemError`.

        An unknown token, and another company's for a sender with a key, are told in the same words.
        """
        token = _text(lead_token).strip()
        if not token:
            sentence = f"must be the lead token of an offer{'' if field == 'offer_token' else ' or a schedule'}"
            raise ProblemError("validation_failed", f"Send the {field}.", {field: [sentence]})
        target = await self.services.authenticator.target(token, address=self.address if self.access is None else None)
        if target is None or (self.access is not None and self.access.company_id != target.company_id):
            raise ProblemError("unknown_lead_token", "No offer or schedule has this lead_token.")
        if self.access is None:
            if target.require_auth:
                raise unauthenticated("This lead token is used together with a key.")
            self.limit(target.company_id)
        return target

    async def hold_until_answered(self, block: AbstractAsyncContextManager[None]) -> None:
        """Enter a block that ends with the answer, however that ends. Raises what entering raises."""
        held: AsyncExitStack = self.request.scope["state"].setdefault("held", AsyncExitStack())
        await held.enter_async_context(block)

    async def release_held(self) -> None:
        """End the blocks that are held: the server may tell late that an answer has ended."""
        await self.request.scope["state"]["held"].aclose()

    def limit(self, company_id: int) -> None:
        """Take one from the allowance of a company. Raises `ProblemError` rate_limited."""
        self.services.active.record_request(company_id)
        self._limit(self.services.limiter, f"company/{company_id}")

    def enforce_address_limit(self) -> None:
        """Take one from the allowance of an address, of which no company is known. Raises `ProblemError` rate_limited."""
        self._limit(self.services.addresses, client_of(self.address))

    def _limit(self, limiter: Limiter, sender: str) -> None:
        if self.operation.rate is None:
            return
        allowance = limiter.take(self.operation.rate, sender, self.services.monotonic())
        if allowance is None:
            return
        self.headers.update(allowance.headers())
        if not allowance.allowed:
            raise ProblemError("rate_limited", f"Try again in {allowance.retry_after_seconds} s.")

    def path_id(self, what: str) -> int | str:
        """Return the internal id (int) or uuid (str) of the path. Raises `ProblemError` not_found for anything else."""
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
        """Refuse what the operation does not know by name. Raises `ProblemError` validation_failed."""
        extra = self.operation.extra
        fields = self.query if extra == "checked_by_handler" else self.fields
        if not fields or extra == "tokens":
            return
        known = self.operation.known()
        unknown = [name for name in fields if name not in known]
        if unknown and extra != "ignored" and not self._ignores_unknown():
            raise unknown_parameters(unknown, known)
        self._log_ignored(unknown)

    def _log_ignored(self, names: list[str]) -> None:
        # Names alone: what stands in a link may be a secret.
        if names:
            shown = [name[:PATH_LENGTH_MAX] for name in names[:FIELDS_SHOWN_MAX]]
            logger.info("parameters.ignored", operation=self.operation.name, names=shown, request_id=self.request_id)

    def _ignores_unknown(self) -> bool:
        """Return whether the company of the key lets unknown parameters be ignored."""
        company_id = None if self.access is None else self.access.company_id
        company = self.services.source.rules.body(Company, "company", company_id)
        return company is not None and company.unknown_parameters == "ignore"

    async def _authenticate(self, auth_token: str) -> None:
        authorization = self._header(b"authorization")
        if not authorization and not auth_token and self.operation.access == "token":
            return
        authenticator = self.services.authenticator
        self.access = await authenticator.authenticate(authorization, auth_token, address=self.address, now=self.now)
        if self.operation.scope:
            self.access.require(self.operation.scope)
        self.limit(self.access.company_id)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
