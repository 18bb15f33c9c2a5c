"""How does an open page stay current? It holds one stream of server-sent events, and asks for its part when that says so.

`ready` begins a stream: a page that had lost one asks for what it missed, so no event needs an id. `changed` says that the
part has changed. `still` comes every few seconds: proxies close what is silent for 30 to 60 s, and the page of an agent
shows by it that it is open, as browsers slow down the timers of hidden pages.

The stream ends once its session does, or its rights: the page then asks once more, and reads why.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from adapters.http.agents.events import EVENT_STREAM, HEADERS
from adapters.http.console.visits import Visit
from adapters.http.exchange.exchange import Reply
from adapters.http.exchange.page_changes import ChangeSource, PageStream

CHECK_SECONDS = 4.0
"""How long a stream may outlive its session. The sessions of all open pages are read by one statement in this time."""

STILL_SECONDS = 10.0
"""Between two of them: an agent whose page is not heard of for half a minute is offline."""

STREAM_SECONDS = 3_600.0
"""Longest time that a stream is open; then the page opens another, perhaps at another process."""

IsAdmitted = Callable[[], Awaitable[bool]]
"""Reads again who is signed in, and whether they may see the page."""


async def follow_changes(visit: Visit, source: ChangeSource, is_admitted: IsAdmitted) -> Reply:
    """Answer with the changes of a source. Raises `ProblemError` rate_limited or streams_busy."""
    user = visit.access and (visit.access.company_id, visit.access.user_email)
    stream = await visit.hold_until_answered(visit.services.page_changes.follow(source, user))
    visit.services.short_requests.exclude(visit.request_id)
    visit.request.scope["state"]["is_stream"] = True
    return Reply(stream=_pieces(stream, is_admitted), headers=HEADERS, media_type=EVENT_STREAM)


async def _pieces(stream: PageStream, is_admitted: IsAdmitted) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    ends_at, checked_at, still_at = loop.time() + STREAM_SECONDS, loop.time(), loop.time()
    yield _event("ready")
    while loop.time() < ends_at:
        has_changed = await stream.wait(CHECK_SECONDS)
        if loop.time() - checked_at >= CHECK_SECONDS:
            checked_at = loop.time()
            if not await is_admitted():
                return
        if stream.is_closed:
            return
        if has_changed:
            yield _event("changed")
        if loop.time() - still_at >= STILL_SECONDS:
            yield _event("still")
            still_at = loop.time()


def _event(name: str) -> bytes:
    return b"event: %s\ndata: 1\n\n" % name.encode()  # browsers ignore an event without data
