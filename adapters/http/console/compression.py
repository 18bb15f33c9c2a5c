"""How much of a page goes over the network? A fifth of it: pages are sent compressed to every browser that takes that."""

import gzip
from collections.abc import Mapping

from msgspec import structs

from adapters.http.console.rendering import HTML
from adapters.http.exchange.content_codings import choose_coding
from adapters.http.exchange.exchange import HttpRequest, Reply

VARY: Mapping[str, str] = {"Vary": "Accept-Encoding"}
GZIP = "gzip"
GZIPPED: Mapping[str, str] = {"Content-Encoding": GZIP}

BYTES_MIN = 1_000
"""Below this a page fits into one packet as it is."""

LEVEL = 5
"""Of zlib's nine: the pages of the console become as small as at 6, in less time."""


def takes_gzip(request: HttpRequest) -> bool:
    """Return whether the browser takes compressed answers."""
    return choose_coding(request.headers.get("accept-encoding", ""), [GZIP]) == GZIP


def compress(reply: Reply, request: HttpRequest) -> Reply:
    """Return a page as it is sent; a file, or what is made while it is sent, stays as it is."""
    content = reply.content
    if reply.media_type != HTML or not isinstance(content, bytes) or len(content) < BYTES_MIN:
        return reply
    if not takes_gzip(request):
        return structs.replace(reply, headers={**reply.headers, **VARY})
    packed = gzip.compress(content, compresslevel=LEVEL, mtime=0)
    return structs.replace(reply, content=packed, headers={**reply.headers, **VARY, **GZIPPED})
