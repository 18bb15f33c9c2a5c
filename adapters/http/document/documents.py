"""Where is the API documented? Under one path: OpenAPI of the HTTP operations, and AsyncAPI of the topics.

Each has a page (`adapters.http.document.pages`) that needs no script and loads nothing from the internet. Of the operations
there are two documents: `openapi.json` is for programs and client generators, `reference.json` says everything that is
accepted, with examples, as the page does. Each is encoded and compressed once, and a client that has it gets 304.
"""

import gzip
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import sha256

from msgspec import Struct

from adapters.http.document.client_document import client_document
from adapters.http.document.openapi import openapi
from adapters.http.document.pages import (
    HEADERS,
    ICON_PATH,
    SCRIPT_PATH,
    STYLE_PATH,
    asset,
    events_page,
    icon,
    interface_page,
)
from adapters.http.exchange.exchange import JSON, Exchange, Handler, Operation, Reply
from adapters.http.exchange.problems import DOCUMENTATION_PATH
from schemas.documents import asyncapi

EVENTS_PATH = f"{DOCUMENTATION_PATH}/events"
HTML = "text/html; charset=utf-8"
CSS = "text/css; charset=utf-8"
SVG = "image/svg+xml"
JAVASCRIPT = "text/javascript; charset=utf-8"
_JSON = "application/json"


HASH_LENGTH = 16
"""Hexadecimal digits of an ETag: two versions of a document never share 64 bits by chance."""

NOT_MODIFIED = 304


class _Document(Struct, frozen=True):
    """A document or page as it is sent, plain and compressed, with the ETag of each."""

    media_type: str
    plain: bytes
    gzipped: bytes
    etag: str

    def reply(self, exchange: Exchange, headers: Mapping[str, str]) -> Reply:
        """Return the answer: compressed where the client takes that, and empty where it has this version already."""
        sent = exchange.request.headers
        is_gzipped = "gzip" in sent.get("accept-encoding", "")
        etag = f'"{self.etag}-gzip"' if is_gzipped else f'"{self.etag}"'
        known = {"ETag": etag, "Cache-Control": "no-cache", "Vary": "Accept, Accept-Encoding", **headers}
        if self.etag in sent.get("if-none-match", ""):
            return Reply(status=NOT_MODIFIED, headers=known)
        if is_gzipped:
            return Reply(content=self.gzipped, media_type=self.media_type, headers={**known, "Content-Encoding": "gzip"})
        return Reply(content=self.plain, media_type=self.media_type, headers=known)


def _encoded(media_type: str, plain: bytes) -> _Document:
    return _Document(media_type, plain, gzip.compress(plain, mtime=0), sha256(plain).hexdigest()[:HASH_LENGTH])


async def show_documentation(exchange: Exchange) -> Reply:
    """Answer with the page of the HTTP API, or with the OpenAPI document if JSON is requested."""
    return _shown(exchange, _interface_page, _openapi)


async def show_document(exchange: Exchange) -> Reply:
    """Answer with the OpenAPI document for programs."""
    return _openapi().reply(exchange, {})


async def show_reference(exchange: Exchange) -> Reply:
    """Answer with the OpenAPI document of everything that is accepted."""
    return _reference().reply(exchange, {})


async def show_events(exchange: Exchange) -> Reply:
    """Answer with the page of the topics, or with the AsyncAPI document if JSON is requested."""
    return _shown(exchange, _events_page, _asyncapi)


async def show_events_document(exchange: Exchange) -> Reply:
    """Answer with the AsyncAPI document."""
    return _asyncapi().reply(exchange, {})


async def show_style(exchange: Exchange) -> Reply:
    """Answer with the stylesheet of the pages."""
    return _style().reply(exchange, {})


async def show_script(exchange: Exchange) -> Reply:
    """Answer with the script of the pages."""
    return _script().reply(exchange, {})


async def show_icon(exchange: Exchange) -> Reply:
    """Answer with the icon of the pages."""
    return _icon().reply(exchange, {})


def _shown(exchange: Exchange, page: Callable[[], _Document], document: Callable[[], _Document]) -> Reply:
    if "text/html" in exchange.request.headers.get("accept", ""):
        return page().reply(exchange, HEADERS)
    return document().reply(exchange, {})


@cache
def _style() -> _Document:
    return _encoded(CSS, asset("page.css"))


@cache
def _script() -> _Document:
    return _encoded(JAVASCRIPT, asset("page.js"))


@cache
def _icon() -> _Document:
    return _encoded(SVG, icon())


@cache
def _openapi() -> _Document:
    return _encoded(_JSON, JSON.encode(client_document()))


@cache
def _reference() -> _Document:
    return _encoded(_JSON, JSON.encode(openapi()))


@cache
def _asyncapi() -> _Document:
    return _encoded(_JSON, JSON.encode(asyncapi()))


@cache
def _interface_page() -> _Document:
    return _encoded(HTML, interface_page(openapi()))


@cache
def _events_page() -> _Document:
    return _encoded(HTML, events_page(asyncapi()))


def _open(name: str, path: str, summary: str, handler: Handler) -> Operation:
    return Operation(
        name=name, methods=("GET",), path=path, summary=summary, handler=handler, access="open", rate=None, extra="ignored"
    )


OPERATIONS: tuple[Operation, ...] = (
    _open("documentation", DOCUMENTATION_PATH, "This documentation", show_documentation),
    _open("openapi", f"{DOCUMENTATION_PATH}/openapi.json", "The OpenAPI document for programs", show_document),
    _open("reference", f"{DOCUMENTATION_PATH}/reference.json", "Everything that is accepted, as OpenAPI", show_reference),
    _open("events_documentation", EVENTS_PATH, "The topics", show_events),
    _open("asyncapi", f"{DOCUMENTATION_PATH}/asyncapi.json", "The AsyncAPI document of the topics", show_events_document),
    _open("page_style", STYLE_PATH, "The stylesheet of the pages", show_style),
    _open("page_script", SCRIPT_PATH, "The script of the pages", show_script),
    _open("page_icon", ICON_PATH, "The icon of the pages", show_icon),
)
