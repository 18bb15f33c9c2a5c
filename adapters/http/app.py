"""How is a request routed to its operation? The Litestar application, built from the rows in `OPERATIONS`.

Every operation runs the same steps in the same order: authenticate, read the body, limit the rate, handle. Every answer,
also of an error, has our format and a request id.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, cast
from urllib.parse import parse_qs

import structlog
from litestar import Litestar, Response
from litestar.enums import ScopeType
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.types import (
    ASGIApp,
    HTTPScope,
    LifeSpanReceive,
    LifeSpanScope,
    LifeSpanSend,
    Message,
    Method,
    Receive,
    Scope,
    Send,
)

from adapters.http import operations
from adapters.http.console.routes import console_routes
from adapters.http.document import documents
from adapters.http.exchange.access import PUBLISHABLE, Authenticator, forwarded_for
from adapters.http.exchange.active_companies import ActiveCompanies
from adapters.http.exchange.binding import CLOSE_CONNECTION
from adapters.http.exchange.connections import RequestsInFlight
from adapters.http.exchange.event_streams import Announcements, EventStreams
from adapters.http.exchange.exchange import PLACEHOLDER, Exchange, HttpRequest, Operation, Reply, Services
from adapters.http.exchange.export_slots import ExportSlots
from adapters.http.exchange.failures import problem_from_exception, problem_from_framework
from adapters.http.exchange.file_work import FileWork
from adapters.http.exchange.headers import WARNING
from adapters.http.exchange.identity import RequestIds
from adapters.http.exchange.issuers import Issuers
from adapters.http.exchange.operator_access import OperatorAuthenticator
from adapters.http.exchange.page_changes import PageChanges
from adapters.http.exchange.passwords import Passwords
from adapters.http.exchange.ports import DeploymentReads, Impressions, Mail, Requests, RulesSource
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.provider_services import ProviderServices
from adapters.http.exchange.public_floods import PublicFloods
from adapters.http.exchange.rates import Limiter
from adapters.http.exchange.recording_services import RecordingServices
from adapters.http.exchange.report_slots import EngineThread, ReportSlots
from adapters.http.exchange.request_metrics import RequestMetrics
from adapters.http.exchange.running import run_operation
from adapters.http.exchange.sending import NO_CONTENT, EncodedResponse, build_asgi_response, build_response, request_id_of
from adapters.http.exchange.settings import HttpSettings
from adapters.http.exchange.short_requests import ShortRequests
from adapters.http.exchange.unknown_keys import UnknownKeyLimiter
from adapters.http.impressions.impressions import PAGE_PATH, allow_origin
from adapters.observability.metrics import Metrics
from adapters.observability.trace_ids import HEADER, HTTP_PARENT, read_traceparent
from adapters.reads.ports import (
    CircuitReads,
    Heartbeats,
    IdempotencyKeys,
    LeadBulkJobs,
    LeadImports,
    LeadViews,
    Operators,
    ProjectionJobs,
    Reads,
    ServedChannels,
    SignIns,
    SubscriptionReads,
    WebhookLogReads,
)
from schemas.instant import Instant

STALL_SECONDS = 30.0
"""Longest time to send one part of a long answer. A client that reads nothing for so long is gone, and would hold some
megabytes of rows."""

QUERY_LENGTH_MAX = 1_000
"""Characters of the query of a preflight that are read: a key has about 30."""

PREFLIGHT: Mapping[str, str] = {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "600",
}
"""A page may post, and send JSON. Ten minutes later its browser asks again: the key may have been revoked."""

NOSNIFF = (b"x-content-type-options", b"nosniff")
"""On every answer: a browser must not run an export, which holds text of senders, as a page or script."""

PROBES = frozenset({"/livez", "/readyz", "/startupz"})
"""Answered even if the address has too many requests in progress: a flood must not make a probe restart this process."""

TWO_HOSTS = "The request has several Host lines; send one."

TOO_MANY = "Too many requests of this network address are under way. Wait for the answers to some of them."

logger = structlog.get_logger(__name__)

OPERATIONS: tuple[Operation, ...] = (*operations.OPERATIONS, *documents.OPERATIONS)


async def _ready() -> Mapping[str, str]:
    return {}


def build_app(
    *,
    requests: Requests,
    impressions: Impressions,
    reads: Reads,
    source: RulesSource,
    claims: IdempotencyKeys,
    served: ServedChannels,
    subscriptions: SubscriptionReads,
    operators: Operators,
    projection_jobs: ProjectionJobs,
    deployment: DeploymentReads,
    announcements: Announcements,
    heartbeats: Heartbeats,
    sign_ins: SignIns,
    issuers: Issuers,
    mail: Mail,
    webhook_logs: WebhookLogReads,
    circuits: CircuitReads,
    bulk_jobs: LeadBulkJobs,
    imports: LeadImports,
    lead_views: LeadViews,
    providers: ProviderServices,
    settings: HttpSettings,
    now: Callable[[], Instant],
    recordings: RecordingServices | None = None,
    ready: Callable[[], Awaitable[Mapping[str, str]]] = _ready,
    metrics: Metrics | None = None,
) -> "Api":
    """Return the application.

    `now` is domain time; `ready` returns what this process waits for (name -> sentence), nothing where it is ready.
    `recordings` is None where none are kept.
    """
    watch = RequestMetrics((metrics or Metrics()).registry)
    # Not the limiter of companies: addresses can be many, and would push companies out of its table.
    addresses = Limiter(settings.rates)
    unknown_keys = UnknownKeyLimiter(addresses, time.monotonic)
    active = ActiveCompanies(time.monotonic)
    short_requests = ShortRequests(time.monotonic)
    services = Services(
        requests=requests,
        impressions=impressions,
        reads=reads,
        source=source,
        claims=claims,
        served=served,
        subscriptions=subscriptions,
        operators=operators,
        projection_jobs=projection_jobs,
        deployment=deployment,
        heartbeats=heartbeats,
        sign_ins=sign_ins,
        issuers=issuers,
        mail=mail,
        webhook_logs=webhook_logs,
        circuits=circuits,
        bulk_jobs=bulk_jobs,
        imports=imports,
        lead_views=lead_views,
        providers=providers,
        recordings=recordings,
        settings=settings,
        authenticator=Authenticator(
            source, sign_ins=sign_ins, trusted_proxies=settings.trusted_proxies, unknown_key_limiter=unknown_keys
        ),
        operator_authenticator=OperatorAuthenticator(operators, unknown_keys),
        limiter=Limiter(settings.rates),
        addresses=addresses,
        ids=RequestIds(settings.secret_key.encode()),
        passwords=Passwords(),
        reports=ReportSlots(settings.reports_max),
        active=active,
        exports=ExportSlots(active),
        streams=EventStreams(reads, announcements, watch.event_streams),
        page_changes=PageChanges(reads, announcements, time.monotonic, watch.page_streams),
        engine=EngineThread(short_requests.are_expected),
        short_requests=short_requests,
        public_floods=PublicFloods(watch.public_floods.inc),
        files=FileWork(),
        now=now,
        monotonic=time.monotonic,
        ready=ready,
    )
    return Api(services, watch)


class Api(Litestar):
    """The application. It measures every answer, also those of the framework (unknown path, wrong method)."""

    def __init__(self, services: Services, watch: RequestMetrics) -> None:
        self._services = services
        self._watch = watch
        self._in_flight = RequestsInFlight(services.settings.connections_per_address)
        super().__init__(
            route_handlers=[*(_route(services, operation) for operation in OPERATIONS), *console_routes(services)],
            openapi_config=None,
            exception_handlers={HTTPException: self._refuse, Exception: self._fail},
            request_max_body_size=None,  # adapters.http.exchange.binding applies the limit and words the error
            logging_config=None,
            debug=False,
            on_shutdown=[watch.close],
        )

    @property
    def busy(self) -> Collection[tuple[str, int]]:
        """The connections on which a request waits for its answer; what is returned changes with them."""
        return self._in_flight.busy

    def end_streams(self) -> None:
        """End every stream: the server waits for open answers when it stops."""
        self._services.streams.close()
        self._services.page_changes.close()

    async def __call__(
        self, scope: Scope | LifeSpanScope, receive: Receive | LifeSpanReceive, send: Send | LifeSpanSend
    ) -> None:
        """Answer one request of any kind."""
        if scope["type"] == ScopeType.HTTP:
            await self._measure(cast("HTTPScope", scope), cast("Receive", receive), cast("Send", send))
        else:
            await super().__call__(scope, receive, send)

    async def _measure(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        started = time.monotonic()
        request_id = self._services.ids.new(self._services.now())
        state: dict[str, Any] = scope.setdefault("state", {})
        state["request_id"] = request_id
        self._services.short_requests.begin(request_id)
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                sandbox = self._services.served.last.sandbox
                shown = [(b"leadclock-sandbox", ", ".join(sandbox).encode())] if sandbox else []
                message["headers"] = [*message["headers"], NOSNIFF, *shown]
            if message.get("more_body"):
                async with asyncio.timeout(STALL_SECONDS):
                    await send(message)
            else:
                await send(message)

        if self._services.settings.is_traced:
            HTTP_PARENT.set(read_traceparent(dict(scope["headers"]).get(HEADER.encode())))
        try:
            with self._in_flight.admit(self._address(scope), _peer_of(scope)) as is_admitted:
                if _hosts_named(scope) > 1:
                    await _refuse(scope, receive, answer, request_id, ProblemError("unknown_host", TWO_HOSTS))
                elif is_admitted or scope["path"] in PROBES:
                    await self._dispatch(scope, receive, answer, request_id)
                else:
                    error = ProblemError("rate_limited", TOO_MANY, headers={"Retry-After": "1", **CLOSE_CONNECTION})
                    await _refuse(scope, receive, answer, request_id, error)
        except Exception as error:
            # The answer has begun. The server closes the connection inside the body, so no client takes it for complete.
            logger.warning("response.aborted", request_id=request_id, exc_info=error)
            raise
        finally:
            self._services.short_requests.answer(request_id)
            if "held" in state:
                await state["held"].aclose()
            self._watch.record_answer(
                operation=state.get("operation", "none"),
                method=scope["method"],
                path=scope["path"],
                status=status,
                seconds=time.monotonic() - started,
                request_id=request_id,
                company_id=state.get("company_id"),
                is_stream=state.get("is_stream", False),
            )

    async def _dispatch(self, scope: HTTPScope, receive: Receive, send: Send, request_id: str) -> None:
        allowed = methods_of(scope["path"]) if scope["method"] == "OPTIONS" else ()
        if allowed:
            await _send_methods(send, allowed, request_id, self._preflight_headers(scope))
        else:
            await super().__call__(scope, receive, send)

    def _preflight_headers(self, scope: HTTPScope) -> Mapping[str, str]:
        """Return what a browser asks before a page posts impressions: whether the key in the address has its origin."""
        if scope["path"] != PAGE_PATH:
            return {}
        headers = dict(scope["headers"])
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        query = parse_qs(scope["query_string"].decode("latin-1")[:QUERY_LENGTH_MAX])
        (public, *_) = query.get(PUBLISHABLE, [""])
        if self._services.authenticator.find_page_access(public, origin, self._services.now()) is None:
            return {}
        return {**allow_origin(origin), **PREFLIGHT}

    def _address(self, scope: HTTPScope) -> str:
        client = scope["client"]
        return self._services.authenticator.address(client[0] if client else "", forwarded_for(scope["headers"]))

    def _refuse(self, request: HttpRequest, error: HTTPException) -> Response[Any]:
        """Return the answer to an error of the framework."""
        return build_response(problem_from_framework(error, request_id_of(request)), request)

    def _fail(self, request: HttpRequest, error: Exception) -> Response[Any]:
        """Log an unexpected error and return its answer."""
        return build_response(problem_from_exception(error, request_id_of(request)), request)


def _peer_of(scope: HTTPScope) -> tuple[str, int] | None:
    """Return the connection that a request came on."""
    client = scope["client"]
    return None if client is None else (str(client[0]), int(client[1]))


def _hosts_named(scope: HTTPScope) -> int:
    """Count the Host lines of a request: a proxy may go by another one than we do (RFC 9112, 3.2)."""
    return sum(name == b"host" for name, _ in scope["headers"])


async def _refuse(scope: HTTPScope, receive: Receive, send: Send, request_id: str, error: ProblemError) -> None:
    """Refuse a request without reading its body."""
    reply = problem_from_exception(error, request_id)
    headers = {**reply.headers, "X-Request-Id": request_id}
    await EncodedResponse(reply, headers, is_head=scope["method"] == "HEAD")(scope, receive, send)


def methods_of(path: str) -> tuple[str, ...]:
    """Return the methods of a path; empty if it is unknown. The framework would list only those of one operation."""
    fewest = min((count for pattern, count, _ in _PATHS if pattern.fullmatch(path)), default=None)
    taken = {
        method for pattern, count, methods in _PATHS if count == fewest and pattern.fullmatch(path) for method in methods
    }
    return tuple(sorted(taken))


def _path_pattern(path: str) -> re.Pattern[str]:
    between = PLACEHOLDER.split(path)[::2]  # every second part is a name
    return re.compile("[^/]+".join(map(re.escape, between)))


_PATHS = tuple(
    (
        _path_pattern(operation.path + suffix),
        operation.path.count("{"),
        (*operation.methods, "OPTIONS", *(["HEAD"] if "GET" in operation.methods else [])),
    )
    for operation in OPERATIONS
    for suffix in operation.suffixes
)
"""Pattern of a path, how many placeholders it has (if several patterns match, the fewest win), and its methods."""


async def _send_methods(send: Send, methods: tuple[str, ...], request_id: str, more: Mapping[str, str]) -> None:
    headers = [(b"allow", ", ".join(methods).encode()), (b"x-request-id", request_id.encode())]
    headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in more.items()]
    await send({"type": "http.response.start", "status": NO_CONTENT, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _route(services: Services, operation: Operation) -> HTTPRouteHandler:
    """Return the route of an operation; HEAD is allowed wherever GET is."""

    async def handle(request: HttpRequest) -> ASGIApp:
        return await _answer(services, operation, request)

    path = operation.path.replace("}", ":str}")
    heads = ("HEAD",) if "GET" in operation.methods else ()
    route = HTTPRouteHandler(
        [path + suffix for suffix in operation.suffixes],
        http_method=cast("list[Method]", [*operation.methods, *heads]),
        name=operation.name,
        status_code=200,
        media_type="application/json",
    )
    return route(handle)


async def _answer(services: Services, operation: Operation, request: HttpRequest) -> ASGIApp:
    state = request.scope["state"]
    state["operation"] = operation.name
    exchange = Exchange(services, operation, request, request_id_of(request))
    if not operation.safe and _is_prefetch(request):
        reply = Reply(status=NO_CONTENT)
    else:
        reply = await run_operation(exchange)
    if reply.stream is not None:
        exchange.count_as_long()  # it is sent as its reader takes it
    if exchange.access is not None:
        state["company_id"] = exchange.access.company_id
    if services.settings.speed != 1.0:
        exchange.headers["Leadclock-Speed"] = f"{services.settings.speed:g}"
    if exchange.warnings:
        exchange.headers[WARNING] = " ".join(exchange.warnings)
    return build_asgi_response(reply, request, exchange.headers)


def _is_prefetch(request: HttpRequest) -> bool:
    """Return whether this request must change nothing: HEAD, or a browser that prefetches or previews a link."""
    purposes = (request.headers.get(name, "") for name in ("purpose", "sec-purpose", "x-purpose", "x-moz"))
    return request.method == "HEAD" or any("prefetch" in purpose or "preview" in purpose for purpose in purposes)
