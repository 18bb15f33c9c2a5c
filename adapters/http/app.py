"""How does a request find its operation, and what becomes of an error on the way? The Litestar application, made of rows.

Every operation passes the same gates in the same order: identity, body, rate, handler; every way out is an answer in our
form, with a request id.
"""

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import structlog
from litestar import Litestar, Response
from litestar.enums import ScopeType
from litestar.exceptions import ClientException, HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.response import Stream
from litestar.response.base import ASGIResponse
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

from adapters.http import documents, operations
from adapters.http.access import Gate
from adapters.http.exchange import JSON, PLACEHOLDER, Exchange, HttpRequest, Operation, Reply, Services
from adapters.http.identity import RequestIds
from adapters.http.ports import (
    Claims,
    EventsUnavailableError,
    Reads,
    ReadsTooSlowError,
    ReadsUnavailableError,
    Requests,
    RulesSource,
)
from adapters.http.problems import CODES_BY_STATUS, MEDIA_TYPE, ProblemError, problem
from adapters.http.rates import Limiter
from adapters.http.settings import Settings
from adapters.http.watch import Watch
from adapters.observability.metrics import Metrics
from engine.partition.draft import RefusedError
from engine.partition.ports import LogError
from schemas.instant import Instant
from schemas.problems import PROBLEMS

OPERATIONS: tuple[Operation, ...] = (*operations.OPERATIONS, *documents.OPERATIONS)

SERVER_ERROR = 500
NO_CONTENT = 204
RETRY_AFTER_SECONDS = 2
"""Said with 503: as long as a change of owner or a restart of the database takes."""

logger = structlog.get_logger("leadclock.http")


async def _ready() -> Mapping[str, str]:
    return {}


def build_app(
    *,
    requests: Requests,
    reads: Reads,
    source: RulesSource,
    claims: Claims,
    settings: Settings,
    now: Callable[[], Instant],
    ready: Callable[[], Awaitable[Mapping[str, str]]] = _ready,
    metrics: Metrics | None = None,
) -> Litestar:
    """Return the application.

    `now` is domain time; `ready` returns what this process waits for (name -> sentence), nothing where it is ready.
    """
    metrics = metrics or Metrics()
    services = Services(
        requests=requests,
        reads=reads,
        source=source,
        claims=claims,
        settings=settings,
        gate=Gate(source, trusted_proxies=settings.trusted_proxies),
        limiter=Limiter(settings.rates),
        ids=RequestIds(settings.secret_key.encode()),
        now=now,
        monotonic=time.monotonic,
        ready=ready,
        metrics=metrics,
    )
    return Api(services, Watch(metrics.registry))


class Api(Litestar):
    """The application; it also watches what the framework answers itself (unknown paths, wrong methods)."""

    def __init__(self, services: Services, watch: Watch) -> None:
        self._services = services
        self._watch = watch
        super().__init__(
            route_handlers=[_route(services, operation) for operation in OPERATIONS],
            openapi_config=None,
            exception_handlers={HTTPException: self._refuse, Exception: self._fail},
            request_max_body_size=None,  # adapters.http.binding holds the limit, and tells it in our words
            logging_config=None,
            debug=False,
        )

    async def __call__(
        self, scope: Scope | LifeSpanScope, receive: Receive | LifeSpanReceive, send: Send | LifeSpanSend
    ) -> None:
        """Answer one request of any kind."""
        if scope["type"] == ScopeType.HTTP:
            await self._watched(cast("HTTPScope", scope), cast("Receive", receive), cast("Send", send))
        else:
            await super().__call__(scope, receive, send)

    async def _watched(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        started = time.monotonic()
        request_id = self._services.ids.new(self._services.now())
        state: dict[str, Any] = scope.setdefault("state", {})
        state["request_id"] = request_id
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            allowed = methods_of(scope["path"]) if scope["method"] == "OPTIONS" else ()
            if allowed:
                await _tell_methods(answer, allowed, request_id)
            else:
                await super().__call__(scope, receive, answer)
        finally:
            self._watch.answered(
                operation=state.get("operation", "none"),
                method=scope["method"],
                path=scope["path"],
                status=status,
                seconds=time.monotonic() - started,
                request_id=request_id,
                company_id=state.get("company_id"),
            )

    def _refuse(self, request: HttpRequest, error: HTTPException) -> Response[Any]:
        """Tell an error of the framework in our form."""
        code = CODES_BY_STATUS.get(error.status_code)
        if code is None or (isinstance(error, ClientException) and error.status_code >= SERVER_ERROR):
            return self._fail(request, error)
        detail = {
            "not_found": "There is nothing under this path.",
            "method_not_allowed": "This path takes other methods; see the Allow header.",
        }.get(code, error.detail or PROBLEMS[code].title)
        headers = {name: value for name, value in (error.headers or {}).items() if name.lower() == "allow"}
        return _response(_problem_reply(ProblemError(code, detail, headers=headers), _request_id(request)), {}, request)

    def _fail(self, request: HttpRequest, error: Exception) -> Response[Any]:
        """Tell an error of ours, and keep what it was in the log."""
        return _response(_failure_reply(error, _request_id(request)), {}, request)


def methods_of(path: str) -> tuple[str, ...]:
    """Return the methods that a path takes, none where it is unknown. The framework would tell those of one operation."""
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
"""Pattern of a path, its placeholders (where several fit, the one with the fewest is meant), and its methods."""


async def _tell_methods(send: Send, methods: tuple[str, ...], request_id: str) -> None:
    headers = [(b"allow", ", ".join(methods).encode()), (b"x-request-id", request_id.encode())]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _route(services: Services, operation: Operation) -> HTTPRouteHandler:
    """Return the route of an operation; whoever takes GET takes HEAD."""

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
    request_id = _request_id(request)
    exchange = Exchange(services, operation, request, request_id)
    try:
        if not operation.safe and _only_looks(request):
            reply = Reply(status=204)
        else:
            await exchange.read()
            reply = await operation.handler(exchange)
    except ProblemError as error:
        reply = _problem_reply(error, request_id)
    except RefusedError as error:
        reply = _problem_reply(_as_problem(error), request_id)
    except (EventsUnavailableError, LogError) as error:
        logger.warning("http.events_unavailable", request_id=request_id, error=str(error))
        reply = _unavailable("events_unavailable", request_id)
    except ReadsUnavailableError as error:
        code = "reads_too_slow" if isinstance(error, ReadsTooSlowError) else "reads_unavailable"
        logger.warning("http.not_read", code=code, request_id=request_id, error=str(error))
        reply = _unavailable(code, request_id)
    except Exception as error:  # noqa: BLE001 - whatever it was, the sender gets an answer and we get the trace
        reply = _failure_reply(error, request_id)
    if exchange.access is not None:
        state["company_id"] = exchange.access.company_id
    if services.settings.speed != 1.0:
        exchange.headers["Leadclock-Speed"] = f"{services.settings.speed:g}"
    if reply.stream is not None or request.method == "HEAD":
        return cast("ASGIApp", _response(reply, exchange.headers, request))
    return Written(reply, {**exchange.headers, **reply.headers, "X-Request-Id": request_id})


def _only_looks(request: HttpRequest) -> bool:
    """Tell whether this only looks at a link: HEAD, or a browser that fetches ahead."""
    purposes = (request.headers.get(name, "") for name in ("purpose", "sec-purpose", "x-purpose", "x-moz"))
    return request.method == "HEAD" or any("prefetch" in purpose or "preview" in purpose for purpose in purposes)


def _as_problem(error: RefusedError) -> ProblemError:
    headers = {"WWW-Authenticate": 'Basic realm="leadclock", charset="UTF-8"'} if error.code == "unauthenticated" else {}
    return ProblemError(error.code, error.detail, error.errors, headers=headers)


def _problem_reply(error: ProblemError, request_id: str) -> Reply:
    content = problem(error.code, error.detail, request_id=request_id, errors=error.errors)
    return Reply(status=content["status"], content={**error.extra, **content}, headers=error.headers, media_type=MEDIA_TYPE)


def _unavailable(code: str, request_id: str) -> Reply:
    retry = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    detail = {
        "events_unavailable": "Nothing was stored; send it again, with the same Idempotency-Key if it had one.",
        "reads_unavailable": "Try again in a moment; what was submitted is kept.",
        "reads_too_slow": "Ask for fewer days, another filter or another order, or try again when less is going on.",
    }[code]
    return _problem_reply(ProblemError(code, detail, headers=retry), request_id)


def _failure_reply(error: Exception, request_id: str) -> Reply:
    logger.error("http.failed", request_id=request_id, exc_info=error)
    return _problem_reply(ProblemError("internal_error", "Tell us the request_id; it is in our log."), request_id)


UTF_8 = "; charset=utf-8"


class Streamed(Stream):
    """An answer that is sent as it is made, under its own media type: the framework's prefers that of the route."""

    def to_asgi_response(self, *arguments: Any, **more: Any) -> ASGIResponse:
        """Return what the server sends."""
        return super().to_asgi_response(*arguments, **{**more, "media_type": None})


class Written:
    """An answer that is written out already: what the framework's own does with one costs more than most of our handlers."""

    def __init__(self, reply: Reply, headers: Mapping[str, str]) -> None:
        self._status = reply.status
        self._headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        self._body = _body(reply)
        if reply.status != NO_CONTENT:
            self._headers.append((b"content-type", reply.media_type.encode()))
            self._headers.append((b"content-length", b"%d" % len(self._body)))

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": self._status, "headers": self._headers})
        await send({"type": "http.response.body", "body": self._body, "more_body": False})


def _body(reply: Reply) -> bytes:
    content = reply.content
    return b"" if content is None else content if isinstance(content, bytes) else JSON.encode(content)


def _response(reply: Reply, headers: Mapping[str, str], request: HttpRequest) -> Response[Any]:
    said = {**headers, **reply.headers, "X-Request-Id": _request_id(request)}
    media_type = reply.media_type.removesuffix(UTF_8)  # of text the framework says so itself
    if reply.stream is not None and request.method != "HEAD":
        return Streamed(reply.stream, status_code=reply.status, media_type=media_type, headers=said)
    return Response(
        b"" if request.method == "HEAD" else _body(reply),
        status_code=reply.status,
        media_type=media_type,
        headers=said,
    )


def _request_id(request: HttpRequest) -> str:
    return str(request.scope["state"]["request_id"])
