"""How does a request for a page run? Who sends it, from which page, may they; then the page; an error is a page, too."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from adapters.http.console.assets import CACHED, CACHED_FOR_A_DAY, ICON, PREFIX, Asset, asset_at, assets
from adapters.http.console.change_streams import follow_changes
from adapters.http.console.compression import GZIPPED, VARY, compress, takes_gzip
from adapters.http.console.cookies import OPERATOR, SESSION, read_cookie, unseal_operator
from adapters.http.console.origins import CSRF_FIELD, CSRF_HEADER, check_csrf, check_origin
from adapters.http.console.page_table import PAGES
from adapters.http.console.rendering import HEADERS, HTML, render
from adapters.http.console.shared_answers import SharedAnswers
from adapters.http.console.sign_in_pages import HOME, SIGN_IN
from adapters.http.console.staleness import Staleness
from adapters.http.console.visits import CHANGES, ApiRefusedError, Changes, ConsolePage, Visit, require_page
from adapters.http.exchange.access import Access
from adapters.http.exchange.binding import check_storable, read_body, read_fields, read_query
from adapters.http.exchange.exchange import HttpRequest, Reply, Services
from adapters.http.exchange.failures import problem_from_exception
from adapters.http.exchange.hosts import company_of_host
from adapters.http.exchange.operator_access import OperatorAccess
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.sending import build_asgi_response, request_id_of
from adapters.reads.ports import ReadsUnavailableError

UNAUTHENTICATED = 401
AWAY = 503

Answer = Callable[[HttpRequest], Awaitable[ASGIApp]]


def console_routes(services: Services) -> list[HTTPRouteHandler]:
    """Return the routes of the console, and of the address that people type first."""
    shared = SharedAnswers(services.monotonic)
    staleness = Staleness(services.deployment, services.monotonic)
    return [
        *(_route(page.path, page.method, _answer_of(services, page, shared, staleness)) for page in PAGES),
        *(
            _route(page.path + CHANGES, "GET", _stream_of(services, page, page.changes, shared), operation="console_changes")
            for page in PAGES
            if page.changes is not None
        ),
        _route(PREFIX + "/{name:str}", "GET", _show_asset),
        _route("/", "GET", _show_root),
        _route("/favicon.ico", "GET", _show_icon),
    ]


def _route(path: str, method: Any, answer: Answer, *, operation: str = "console") -> HTTPRouteHandler:
    async def handle(request: HttpRequest) -> ASGIApp:
        request.scope["state"]["operation"] = operation  # an open stream is not a slow page
        return await answer(request)

    methods = [method, "HEAD"] if method == "GET" else [method]
    return HTTPRouteHandler([path], http_method=methods, status_code=200, media_type="text/html")(handle)


def _answer_of(services: Services, page: ConsolePage, shared: SharedAnswers, staleness: Staleness) -> Answer:
    async def answer(request: HttpRequest) -> ASGIApp:
        visit = Visit(services, request, request_id_of(request), pages=PAGES, shared=shared)
        reply = compress(await _run(page, visit, staleness), request)
        response = build_asgi_response(reply, request, {})
        return response if not visit.cookies else _with_cookies(response, visit.cookies)

    return answer


def _stream_of(services: Services, page: ConsolePage, changes: Changes, shared: SharedAnswers) -> Answer:
    """Return what answers with the changes of a part: to those who may see it, as long as they may."""

    async def answer(request: HttpRequest) -> ASGIApp:
        visit = Visit(services, request, request_id_of(request), pages=PAGES, shared=shared)

        async def is_admitted() -> bool:
            try:
                await _admit(page, visit)
            except (ProblemError, ReadsUnavailableError):
                return False
            return True

        try:
            await _admit(page, visit)
            reply = await follow_changes(visit, await changes(visit), is_admitted)
        except ApiRefusedError as error:
            reply = error.reply
        except Exception as error:  # noqa: BLE001 - as for a page
            reply = problem_from_exception(error, visit.request_id)
        return build_asgi_response(reply, request, {})

    return answer


async def _run(page: ConsolePage, visit: Visit, staleness: Staleness) -> Reply:
    """Return the page, or a page that says why not."""
    try:
        await _admit(page, visit)
        visit.unshown = await staleness.look() if page.access != "open" else None
        return await page.handler(visit)
    except ApiRefusedError as error:
        return _problem(page, visit, error.reply)
    except Exception as error:  # noqa: BLE001 - the person gets a page for any error, the log gets the trace
        return _problem(page, visit, problem_from_exception(error, visit.request_id))


async def _admit(page: ConsolePage, visit: Visit) -> None:
    """Read who is signed in and what was sent. Raises `ProblemError`."""
    request, settings = visit.request, visit.services.settings
    company_of_host(request.headers.get("host", ""), settings.hosts)
    if page.method == "POST":
        check_origin(request, settings.public_url)
    # Only a page that is open already may rest on a session that was read for another one.
    await _authenticate(visit, is_renewal=page.method == "GET" and visit.is_part)
    signed_in = {"user": visit.access, "operator": visit.operator, "either": visit.access or visit.operator, "open": True}
    if not signed_in[page.access]:
        raise ProblemError("unauthenticated", "Sign in to see this page.")
    if visit.access is not None:
        request.scope["state"]["company_id"] = visit.access.company_id
    visit.query = read_query(request.scope["query_string"])
    check_storable(visit.query)
    if page.method == "POST":
        visit.form = read_fields(await read_body(request), request.headers.get("content-type", ""))
        check_storable(visit.form)
        if page.access != "open":
            check_csrf(str(visit.form.get(CSRF_FIELD) or request.headers.get(CSRF_HEADER, "")), visit.token)
    require_page(page, visit)


async def _authenticate(visit: Visit, *, is_renewal: bool) -> None:
    """Find who is signed in by the cookies; an ended session is as none. Raises `ReadsUnavailableError`."""
    services, request = visit.services, visit.request
    token = read_cookie(request, SESSION)
    sealed = read_cookie(request, OPERATOR)
    visit.credential = token or sealed
    visit.access = await _user(visit, token, is_renewal=is_renewal) if token else None
    key = unseal_operator(services.settings.secret_key, sealed) if sealed else None
    visit.operator = await _operator(visit, key, is_renewal=is_renewal) if key is not None else None


async def _user(visit: Visit, token: str, *, is_renewal: bool) -> Access | None:
    authenticate = visit.services.authenticator.authenticate
    try:
        found = await authenticate(f"Bearer {token}", "", address=visit.address, now=visit.now, is_renewal=is_renewal)
    except ProblemError as error:
        if error.code == "unauthenticated":
            return None
        raise
    return found if found.session is not None else None  # a key is not for browsers


async def _operator(visit: Visit, key: tuple[str, str], *, is_renewal: bool) -> OperatorAccess | None:
    authenticate = visit.services.operator_authenticator.authenticate
    try:
        return await authenticate(*key, address=visit.address, is_renewal=is_renewal)
    except ProblemError as error:
        if error.code == "unauthenticated":
            return None
        raise


def _problem(page: ConsolePage, visit: Visit, reply: Reply) -> Reply:
    """Return the page of a problem. Without a session that is the sign-in, which leads back to the page."""
    if reply.status == UNAUTHENTICATED and page.access != "open" and page.method == "GET" and not visit.is_part:
        query = visit.request.scope["query_string"].decode("latin-1")
        wanted = visit.request.scope["path"] + (f"?{query}" if query else "")
        operator = "&for=operator" if page.access == "operator" else ""
        return visit.go_to(f"{SIGN_IN}?next={quote(wanted, safe='')}{operator}")
    problem = reply.content
    template = "problem_part.html" if visit.is_part else "problem.html"
    shown = visit.page(template, status=reply.status, problem=problem, is_away=reply.status == AWAY)
    return Reply(
        status=shown.status,
        content=shown.content,
        media_type=shown.media_type,
        headers={**shown.headers, **{key: value for key, value in reply.headers.items() if key == "Retry-After"}},
    )


def _with_cookies(response: ASGIApp, cookies: list[str]) -> ASGIApp:
    """Return the response with a header for each cookie: a mapping of headers has room for one only."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        async def send_with(message: Any) -> None:
            if message["type"] == "http.response.start":
                more = [(b"set-cookie", cookie.encode("latin-1")) for cookie in cookies]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await response(scope, receive, send_with)

    return answer


async def _show_asset(request: HttpRequest) -> ASGIApp:
    """Answer with a file of the pages, compressed where the browser takes that."""
    asset = asset_at(request.scope["path"])
    if asset is None:
        reply = problem_from_exception(ProblemError("not_found", "There is no such file."), request_id_of(request))
        return build_asgi_response(reply, request, {})
    return _answer_with(asset, request, CACHED)


async def _show_icon(request: HttpRequest) -> ASGIApp:
    """Answer with the icon where a browser looks for one that no page names, such as beside the documentation of the API."""
    return _answer_with(assets()[ICON], request, CACHED_FOR_A_DAY)


def _answer_with(asset: Asset, request: HttpRequest, cached: str) -> ASGIApp:
    headers = {"Cache-Control": cached, **VARY}
    if takes_gzip(request):
        gzipped = Reply(content=asset.gzipped, media_type=asset.media_type)
        return build_asgi_response(gzipped, request, {**headers, **GZIPPED})
    return build_asgi_response(Reply(content=asset.plain, media_type=asset.media_type), request, headers)


async def _show_root(request: HttpRequest) -> ASGIApp:
    """Answer with the two addresses that a person looks for: the console, and the documentation of the API."""
    content = render("root.html", {"home": HOME})
    return build_asgi_response(Reply(content=content, media_type=HTML, headers=HEADERS), request, {})
