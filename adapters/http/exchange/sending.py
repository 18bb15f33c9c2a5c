"""How is an answer sent? A complete body as one message of our own; a stream through the framework.

HEAD gets the headers of GET with its Content-Length, and no body (RFC 9110, 9.3.2). A stream has no Content-Length.
"""

from collections.abc import Mapping
from typing import Any, cast

from litestar import Response
from litestar.response import Stream
from litestar.response.base import ASGIResponse
from litestar.types import ASGIApp, Receive, Scope, Send

from adapters.http.exchange.exchange import JSON, HttpRequest, Reply

NO_CONTENT = 204
NO_BODY = frozenset({NO_CONTENT, 304})
"""Statuses that never have a body (RFC 9110, 6.4.1)."""

NO_HEADERS: Mapping[str, str] = {}

UTF_8 = "; charset=utf-8"


class StreamResponse(Stream):
    """A streamed answer with its own media type: the framework would use the route's."""

    def to_asgi_response(self, *arguments: Any, **more: Any) -> ASGIResponse:
        """Return the ASGI response."""
        return super().to_asgi_response(*arguments, **{**more, "media_type": None})


class EncodedResponse:
    """An encoded answer, sent as it is: the framework's own response costs more time than most of our handlers."""

    def __init__(self, reply: Reply, headers: Mapping[str, str], *, is_head: bool) -> None:
        self._status = reply.status
        self._headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        body = _body(reply)
        if reply.status not in NO_BODY:
            self._headers.append((b"content-type", reply.media_type.encode()))
            if reply.stream is None:
                self._headers.append((b"content-length", b"%d" % len(body)))
        self._body = b"" if is_head else body

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send the answer."""
        await send({"type": "http.response.start", "status": self._status, "headers": self._headers})
        await send({"type": "http.response.body", "body": self._body, "more_body": False})


def _body(reply: Reply) -> bytes:
    content = reply.content
    return b"" if content is None else content if isinstance(content, bytes) else JSON.encode(content)


def build_response(reply: Reply, request: HttpRequest, headers: Mapping[str, str] = NO_HEADERS) -> Response[Any]:
    """Return an answer as the framework's response, with further headers, and without a body for HEAD."""
    all_headers = {**headers, **reply.headers, "X-Request-Id": request_id_of(request)}
    media_type = reply.media_type.removesuffix(UTF_8)  # the framework adds the charset to text itself
    if reply.stream is not None and request.method != "HEAD":
        return StreamResponse(reply.stream, status_code=reply.status, media_type=media_type, headers=all_headers)
    body = _body(reply)
    if request.method == "HEAD":
        body, all_headers["Content-Length"] = b"", str(len(body))
    return Response(body, status_code=reply.status, media_type=media_type, headers=all_headers)


def build_asgi_response(reply: Reply, request: HttpRequest, headers: Mapping[str, str]) -> ASGIApp:
    """Return the ASGI application that sends an answer."""
    is_head = request.method == "HEAD"
    if reply.stream is not None and not is_head:
        return cast("ASGIApp", build_response(reply, request, headers))
    return EncodedResponse(reply, {**headers, **reply.headers, "X-Request-Id": request_id_of(request)}, is_head=is_head)


def request_id_of(request: HttpRequest) -> str:
    """Return the id that a request got on arrival."""
    return str(request.scope["state"]["request_id"])
