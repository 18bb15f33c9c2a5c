"""Where is the API documented? Under one path: OpenAPI of the HTTP operations, and AsyncAPI of the topics.

Each has a page (`adapters.http.document.pages`) that needs no script and loads nothing from the internet.
"""

from functools import cache
from typing import Any

from adapters.http.document.openapi import openapi
from adapters.http.document.pages import HEADERS, SCRIPT_PATH, STYLE_PATH, asset, events_page, interface_page
from adapters.http.exchange.exchange import JSON, Exchange, Handler, Operation, Reply
from adapters.http.exchange.problems import DOCUMENTATION_PATH
from schemas.documents import asyncapi

EVENTS_PATH = f"{DOCUMENTATION_PATH}/events"
HTML = "text/html; charset=utf-8"
CSS = "text/css; charset=utf-8"
JAVASCRIPT = "text/javascript; charset=utf-8"


async def show_documentation(exchange: Exchange) -> Reply:
    """Answer with the page of the HTTP API, or with the OpenAPI document if JSON is requested."""
    if "text/html" in exchange.request.headers.get("accept", ""):
        return Reply(content=_interface_page(), media_type=HTML, headers=HEADERS)
    return Reply(content=_openapi_json())


async def show_document(_exchange: Exchange) -> Reply:
    """Answer with the OpenAPI document."""
    return Reply(content=_openapi_json())


async def show_events(exchange: Exchange) -> Reply:
    """Answer with the page of the topics, or with the AsyncAPI document if JSON is requested."""
    if "text/html" in exchange.request.headers.get("accept", ""):
        return Reply(content=_events_page(), media_type=HTML, headers=HEADERS)
    return Reply(content=_asyncapi())


async def show_events_document(_exchange: Exchange) -> Reply:
    """Answer with the AsyncAPI document."""
    return Reply(content=_asyncapi())


async def show_style(_exchange: Exchange) -> Reply:
    """Answer with the stylesheet of the pages."""
    return Reply(content=_style(), media_type=CSS)


async def show_script(_exchange: Exchange) -> Reply:
    """Answer with the script of the pages."""
    return Reply(content=_script(), media_type=JAVASCRIPT)


@cache
def _style() -> bytes:
    return asset("page.css")


@cache
def _script() -> bytes:
    return asset("page.js")


@cache
def _openapi_json() -> bytes:
    # Over a megabyte: encoded once, since tools fetch it often.
    return JSON.encode(openapi())


@cache
def _asyncapi() -> dict[str, Any]:
    return asyncapi()


@cache
def _interface_page() -> bytes:
    return interface_page(openapi())


@cache
def _events_page() -> bytes:
    return events_page(_asyncapi())


def _open(name: str, path: str, summary: str, handler: Handler) -> Operation:
    return Operation(
        name=name, methods=("GET",), path=path, summary=summary, handler=handler, access="open", rate=None, extra="ignored"
    )


OPERATIONS: tuple[Operation, ...] = (
    _open("documentation", DOCUMENTATION_PATH, "This documentation", show_documentation),
    _open("openapi", f"{DOCUMENTATION_PATH}/openapi.json", "The OpenAPI document", show_document),
    _open("events_documentation", EVENTS_PATH, "The topics", show_events),
    _open("asyncapi", f"{DOCUMENTATION_PATH}/asyncapi.json", "The AsyncAPI document of the topics", show_events_document),
    _open("page_style", STYLE_PATH, "The stylesheet of the pages", show_style),
    _open("page_script", SCRIPT_PATH, "The script of the pages", show_script),
)
