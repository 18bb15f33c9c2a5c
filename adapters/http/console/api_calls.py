"""How does a page read and change anything? It calls the API's own operations, in this process, as who is signed in.

So a page can do what its user may do by HTTP, and nothing else: the same rights, rates, checks and refusals, and the same
record of who did it. A call is shown on the page, so that a newcomer learns the API from the console.
"""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, cast
from urllib.parse import quote, urlencode

import msgspec
from litestar import Request
from litestar.types import HTTPScope, Receive
from msgspec import Struct

from adapters.http.exchange.access import Access
from adapters.http.exchange.exchange import JSON, Exchange, HttpRequest, Operation, Reply, Services, check_granted
from adapters.http.exchange.operator_access import OperatorAccess
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.running import run_operation
from adapters.http.exchange.sent_data import check_sent
from adapters.http.operations import OPERATIONS

REFUSED = 400
"""The least status of a problem."""

PASSED_ON = (b"host", b"x-forwarded-for", b"idempotency-key")
"""Headers of the browser's request that an operation reads."""

_BY_NAME: Mapping[str, Operation] = {operation.name: operation for operation in OPERATIONS}


class ApiCall(Struct, frozen=True):
    """A call as a page shows it."""

    method: str
    url: str
    body: str = ""


class ApiAnswer(Struct, frozen=True):
    """What an operation answered."""

    status: int
    content: Mapping[str, Any]

    @property
    def is_refused(self) -> bool:
        """Return whether this is a problem."""
        return self.status >= REFUSED


class ApiCalls:
    """Calls operations for one request of a browser, and remembers which."""

    def __init__(self, services: Services, request: HttpRequest, request_id: str) -> None:
        self._services = services
        self._request = request
        self._request_id = request_id
        self.made: list[ApiCall] = []
        self._has_changed = False

    async def run(
        self,
        name: str,
        *,
        sender: Access | OperatorAccess | None,
        path: Mapping[str, Any],
        fields: Mapping[str, Any],
        method: str = "",
        suffix: str = "",
        if_version: int | None = None,
    ) -> Reply:
        """Return what an operation answers; `fields` go into the query of a GET, else into a JSON body.

        With `if_version` nothing is changed where the record has another version by now.
        """
        operation = _BY_NAME[name]
        method = method or operation.methods[0]
        url, query, body = _encode(operation, method, path, fields, suffix)
        self.note(name, path, fields, method=method, suffix=suffix)
        named = {key: str(value) for key, value in path.items()}
        request = self._build(method, url, named, query.encode(), body, if_version)
        request_id = self._id_for(operation)
        return await run_operation(Exchange(self._services, operation, request, request_id, sender=sender))

    def note(
        self, name: str, path: Mapping[str, Any], fields: Mapping[str, Any], *, method: str = "GET", suffix: str = ""
    ) -> None:
        """Remember a call, to be shown on the page; without its body where that has a password."""
        operation = _BY_NAME[name]
        url, query, body = _encode(operation, method, path, fields, suffix)
        shown = "" if operation.access == "open" else body.decode()
        self.made.append(ApiCall(method, f"{url}?{query}" if query else url, shown))

    def _id_for(self, operation: Operation) -> str:
        """Return the id of a call. A second change under one id would count as a repeat of the first, and change nothing."""
        if operation.safe:
            return self._request_id
        is_second, self._has_changed = self._has_changed, True
        return self._services.ids.new(self._services.now()) if is_second else self._request_id

    def _build(  # noqa: PLR0917 - the parts of a request
        self, method: str, url: str, path: Mapping[str, str], query: bytes, body: bytes, if_version: int | None
    ) -> HttpRequest:
        outer = self._request.scope
        headers = [(name, value) for name, value in outer["headers"] if name in PASSED_ON]
        headers += [] if if_version is None else [(b"if-match", b'"%d"' % if_version)]
        scope = {
            **outer,
            "method": method,
            "path": url,
            "raw_path": url.encode(),
            "query_string": query,
            "path_params": path,
            "headers": [*headers, (b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))],
            "state": {"request_id": self._request_id, "held": outer["state"].setdefault("held", AsyncExitStack())},
        }

        parts = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return parts.pop() if parts else await self._request.receive()

        return Request(cast("HTTPScope", scope), cast("Receive", receive))


def _encode(
    operation: Operation, method: str, path: Mapping[str, Any], fields: Mapping[str, Any], suffix: str
) -> tuple[str, str, bytes]:
    """Return the path, the query and the body of a call."""
    url = operation.path.format(**{key: quote(str(value), safe="") for key, value in path.items()}) + suffix
    if method == "GET":
        given = {key: value for key, value in fields.items() if value is not None and value != ""}
        return url, urlencode(given, doseq=True), b""
    return url, "", JSON.encode(dict(fields)) if fields else b""


def decode(reply: Reply) -> ApiAnswer:
    """Return an answer of an operation as plain values, as a client would read them."""
    content = reply.content
    if content is None:
        return ApiAnswer(reply.status, {})
    plain = msgspec.json.decode(content if isinstance(content, bytes) else JSON.encode(content))
    return ApiAnswer(reply.status, plain if isinstance(plain, dict) else {"rows": plain})


def is_granted_to(name: str, access: Access | None, operator: OperatorAccess | None) -> bool:
    """Return whether a call would be let in: pages and buttons that a team lacks are not shown."""
    operation = _BY_NAME[name]
    if operation.access == "operator":
        return operator is not None
    if access is None:
        return operation.access == "open"
    try:
        if operation.scope:
            check_granted(operation, access)
            check_sent(operation.name, access)
    except ProblemError:
        return False
    return True
