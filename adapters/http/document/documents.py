"""Where is the API documented? Under one path: OpenAPI of the HTTP operations, and AsyncAPI of the topics.

Each has a page (`adapters.http.document.pages`) that needs no script and loads nothing from the internet, and so have the
guides of `deploy/docs`. Of the operations
there are two documents: `openapi.json` is for programs and client generators, `reference.json` says everything that is
accepted, with examples, as the page does. Each is encoded and compressed once, and a client that has it gets 304.
"""

import gzip
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from hashlib import sha256

import brotli
from msgspec import Struct

from adapters.http.document.areas import AREAS
from adapters.http.document.client_document import client_document
from adapters.http.document.document_parts import part_of
from adapters.http.document.guides import GUIDES_PATH, NAMES
from adapters.http.document.openapi import openapi
from adapters.http.document.pages import (
    HEADERS,
    ICON_PATH,
    INTERFACE_HEADERS,
    SCRIPT_PATH,
    STYLE_PATH,
    TRY_SCRIPT_PATH,
    asset,
    events_page,
    guides_page,
    icon,
    interface_page,
)
from adapters.http.exchange.content_codings import PLAIN, choose_coding
from adapters.http.exchange.exchange import JSON, Exchange, Handler, Operation, Reply
from adapters.http.exchange.problems import DOCUMENTATION_PATH, ProblemError
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

CODINGS = ("br", "gzip")
"""How a document is compressed, the smallest first: of the page, brotli has half the bytes of gzip."""

TAGS = "tags"
PARTS_KEPT = 16
"""Parts of the document that are kept, some 200 kB each. Another takes some 20 ms."""

BROTLI_QUALITY = 9
"""The page takes 50 ms of the loop, once. Quality 11 takes 1,500 for a tenth fewer bytes."""


class _Document(Struct, frozen=True):
    """A document or page as it is sent, plain and compressed, with the ETag of each."""

    media_type: str
    contents: Mapping[str, bytes]
    """By their coding."""
    etag: str

    def reply(self, exchange: Exchange, headers: Mapping[str, str]) -> Reply:
        """Return the answer: compressed where the client takes that, and empty where it has this version already."""
        sent = exchange.request.headers
        coding = choose_coding(sent.get("accept-encoding", ""), CODINGS)
        etag = f'"{self.etag}"' if coding == PLAIN else f'"{self.etag}-{coding}"'
        known = {"ETag": etag, "Cache-Control": "no-cache", "Vary": "Accept, Accept-Encoding", **headers}
        if self.etag in sent.get("if-none-match", ""):
            return Reply(status=NOT_MODIFIED, headers=known)
        if coding != PLAIN:
            known["Content-Encoding"] = coding
        return Reply(content=self.contents[coding], media_type=self.media_type, headers=known)


def _encoded(media_type: str, plain: bytes) -> _Document:
    contents = {"br": brotli.compress(plain, quality=BROTLI_QUALITY), "gzip": gzip.compress(plain, mtime=0), PLAIN: plain}
    return _Document(media_type, contents, sha256(plain).hexdigest()[:HASH_LENGTH])


async def show_documentation(exchange: Exchange) -> Reply:
    """Answer with the page of the HTTP API, or with the OpenAPI document if JSON is requested."""
    return _shown(exchange, _interface_page, _openapi, INTERFACE_HEADERS)


async def show_document(exchange: Exchange) -> Reply:
    """Answer with the OpenAPI document for programs, or with the part of it that has some of its tags."""
    wanted = exchange.query.get(TAGS)
    if wanted is None:
        return _openapi().reply(exchange, {})
    tags = frozenset(str(wanted).replace(" ", "").split(","))
    unknown = sorted(tags - AREAS.keys())
    if unknown:
        sentence = f"must be some of {', '.join(AREAS)}, with commas"
        raise ProblemError("validation_failed", f"{TAGS} {sentence}.", {TAGS: [sentence]})
    return _part(tags).reply(exchange, {})


async def show_reference(exchange: Exchange) -> Reply:
    """Answer with the OpenAPI document of everything that is accepted."""
    return _reference().reply(exchange, {})


async def show_events(exchange: Exchange) -> Reply:
    """Answer with the page of the topics, or with the AsyncAPI document if JSON is requested."""
    return _shown(exchange, _events_page, _asyncapi, HEADERS)


async def show_events_document(exchange: Exchange) -> Reply:
    """Answer with the AsyncAPI document."""
    return _asyncapi().reply(exchange, {})


async def list_guides(exchange: Exchange) -> Reply:
    """Answer with the list of the guides."""
    return _guides_page("").reply(exchange, HEADERS)


async def show_guide(exchange: Exchange) -> Reply:
    """Answer with a guide."""
    name = exchange.path["name"]
    if name not in NAMES:
        raise ProblemError("not_found", f"There is no such guide; {GUIDES_PATH} lists them.")
    return _guides_page(name).reply(exchange, HEADERS)


async def show_style(exchange: Exchange) -> Reply:
    """Answer with the stylesheet of the pages."""
    return _style().reply(exchange, {})


async def show_script(exchange: Exchange) -> Reply:
    """Answer with the script of the pages."""
    return _script("page.js").reply(exchange, {})


async def show_try_script(exchange: Exchange) -> Reply:
    """Answer with the script that tries operations."""
    return _script("try.js").reply(exchange, {})


async def show_icon(exchange: Exchange) -> Reply:
    """Answer with the icon of the pages."""
    return _icon().reply(exchange, {})


def _shown(
    exchange: Exchange, page: Callable[[], _Document], document: Callable[[], _Document], headers: Mapping[str, str]
) -> Reply:
    if "text/html" in exchange.request.headers.get("accept", ""):
        return page().reply(exchange, headers)
    return document().reply(exchange, {})


@cache
def _style() -> _Document:
    return _encoded(CSS, asset("page.css"))


@cache
def _script(name: str) -> _Document:
    return _encoded(JAVASCRIPT, asset(name))


@cache
def _icon() -> _Document:
    return _encoded(SVG, icon())


@cache
def _openapi() -> _Document:
    return _encoded(_JSON, JSON.encode(client_document()))


@lru_cache(maxsize=PARTS_KEPT)
def _part(tags: frozenset[str]) -> _Document:
    return _encoded(_JSON, JSON.encode(part_of(client_document(), tags)))


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


@cache
def _guides_page(name: str) -> _Document:
    return _encoded(HTML, guides_page(name))


def _open(name: str, path: str, summary: str, handler: Handler, parameters: Mapping[str, str] | None = None) -> Operation:
    return Operation(
        name=name,
        methods=("GET",),
        path=path,
        summary=summary,
        handler=handler,
        access="open",
        rate=None,
        extra="ignored",
        parameters=parameters or {},
    )


OPERATIONS: tuple[Operation, ...] = (
    _open("documentation", DOCUMENTATION_PATH, "This documentation", show_documentation),
    _open(
        "openapi",
        f"{DOCUMENTATION_PATH}/openapi.json",
        "The OpenAPI document for programs",
        show_document,
        {TAGS: "only the operations with these tags, with commas"},
    ),
    _open("reference", f"{DOCUMENTATION_PATH}/reference.json", "Everything that is accepted, as OpenAPI", show_reference),
    _open("events_documentation", EVENTS_PATH, "The topics", show_events),
    _open("asyncapi", f"{DOCUMENTATION_PATH}/asyncapi.json", "The AsyncAPI document of the topics", show_events_document),
    _open("guides", GUIDES_PATH, "The guides", list_guides),
    _open("guide", f"{GUIDES_PATH}/{{name}}", "A guide", show_guide),
    _open("page_style", STYLE_PATH, "The stylesheet of the pages", show_style),
    _open("page_script", SCRIPT_PATH, "The script of the pages", show_script),
    _open("try_script", TRY_SCRIPT_PATH, "The script that tries operations", show_try_script),
    _open("page_icon", ICON_PATH, "The icon of the pages", show_icon),
)
