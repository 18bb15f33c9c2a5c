"""How does an agent's page stay current without asking again and again? By events: as a stream, or those since the last.

With `Accept: text/event-stream` the answer stays open (server-sent events, https://html.spec.whatwg.org/#server-sent-events)
and resumes behind `Last-Event-ID`. Otherwise it is the list of events since `last_event_id`.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from typing import Any

from adapters.http.agents.agents import AGENT, check_is_own, is_own
from adapters.http.exchange.access import Access
from adapters.http.exchange.answers import wants_bare
from adapters.http.exchange.event_streams import BATCH_ROWS, EventStream
from adapters.http.exchange.exchange import JSON, Exchange, Operation, Reply
from adapters.http.exchange.hidden_fields import without_hidden
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import not_found
from adapters.http.records.records import live_row
from adapters.http.schema.inputs import ref
from adapters.http.schema.shapes import one_of
from adapters.reads.ports import Row
from engine.submission.fields import INTEGER_MAX
from engine.views.agent_event import Watched, agent_event_view
from schemas.records import Agent, BuyerGroup

EVENT_STREAM = "text/event-stream"

HEARTBEAT_SECONDS = 15.0
"""Between two comments on a quiet stream: proxies close what is silent for 30 to 60 s."""

KEY_CHECK_SECONDS = 2.0
"""How long a stream may outlive its key; the account records of this process are some tenths of a second old."""

STREAM_SECONDS = 3_600.0
"""Longest time that a stream is open; then the client opens another, perhaps at another process."""

RETRY_MILLISECONDS = 2_000
"""How long a browser waits before it opens the stream again."""

READ_MAX = BATCH_ROWS
"""Facts of the company that one read looks at; a stream that resumes further back gets `reset` instead."""

HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""No cache or proxy holds events back."""

EVENT_MODELS = ("agent_message", "agent", "agent_status")
"""What the events of a page show."""

STATUS_SCOPE, MESSAGE_SCOPE = "agent_status:read", "agent_message:read"


async def follow(exchange: Exchange) -> Reply:
    """Answer with the events of an agent: a stream of those to come, or a list of those since one."""
    row = await live_row(exchange, AGENT)
    check_is_own(exchange, row["id"])
    parameters = Parameters(exchange.query)
    after = parameters.whole("last_event_id", least=0, most=INTEGER_MAX)
    if _wants_stream(exchange):
        resumed = _last_event_id(exchange)
        parameters.finish()
        after = after if resumed is None else resumed  # the browser knows better than the address that it repeats
        return await _stream(exchange, row["id"], after)
    parameters.finish()
    return await _list(exchange, row["id"], after)


async def _list(exchange: Exchange, agent_id: int, after: int | None) -> Reply:
    """Return the events behind one; without one none, but where to begin."""
    reads, company_id = exchange.services.reads, exchange.company_id
    rows: Sequence[Row] = ()
    if after is None:
        after = await reads.newest_agent_event(company_id)
    else:
        rows = await reads.agent_events({company_id: after}, READ_MAX)
    page = await _open_page(exchange, agent_id)
    events = page.events(rows)
    last = str(rows[-1]["id"] if rows else after)
    if wants_bare(exchange):
        return Reply(content=events, headers={"X-Last-Event-Id": last})
    metadata = {"root": "agent_events"}
    content = {"status": 200, "errors": {}, "agent_events": events, "last_event_id": last, "metadata": metadata}
    return Reply(content=content)


async def _stream(exchange: Exchange, agent_id: int, after: int | None) -> Reply:
    """Open a stream; what fails before the answer begins is a problem. Raises `ProblemError`."""
    services, company_id = exchange.services, exchange.company_id
    stream = await exchange.hold_until_answered(services.streams.open(company_id))
    exchange.request.scope["state"]["is_stream"] = True
    # Read once the stream is open: what is decided meanwhile is in one of both, and what is in both is sent once.
    page = await _open_page(exchange, agent_id)
    missed = () if after is None else await services.reads.agent_events({company_id: after}, READ_MAX)
    return Reply(stream=_pieces(page, stream, after, missed), headers=HEADERS, media_type=EVENT_STREAM)


class _Page:
    """What one agent's page may see now: `renew` asks again, as keys, teams and agents change while it is open."""

    def __init__(self, exchange: Exchange, agent_id: int, agent: Agent, status_id: int | None) -> None:
        self._exchange = exchange
        self._access: Access = exchange.key
        self._agent_id = agent_id
        self._agent = agent
        self._status_id = status_id

    def renew(self) -> bool:
        """Return whether the page may go on: its key is valid and grants it, and the agent is there."""
        exchange = self._exchange
        services = exchange.services
        access = services.authenticator.renew(self._access, address=exchange.address, now=services.now())
        agent = services.source.rules.body(Agent, "agent", self._agent_id)
        if access is None or agent is None or not access.has_scope(MESSAGE_SCOPE):
            return False
        self._access = exchange.access = access
        self._agent = agent
        return is_own(exchange, self._agent_id)

    def events(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return the events of the page among facts of its company, in order."""
        found = []
        for row in rows:
            event = agent_event_view(row, self._watched())
            if row["type"] == "agent.status_changed" and row["data"]["agent_id"] == self._agent_id:
                self._status_id = row["data"]["agent_status_id"]  # messages may be for agents in a status
            if event is not None:
                found.append({**event, "data": without_hidden(self._access, EVENT_MODELS, event["data"])})
        return found

    def _watched(self) -> Watched:
        rules = self._exchange.services.source.rules

        def buyers_of(group_id: int) -> Collection[int]:
            group = rules.body(BuyerGroup, "buyer_group", group_id)
            return () if group is None else group.buyer_ids

        return Watched(
            agent_id=self._agent_id,
            agent=self._agent,
            agent_status_id=self._status_id,
            status_ids=_seen(self._access, STATUS_SCOPE),
            message_ids=_seen(self._access, MESSAGE_SCOPE),
            buyers_of=buyers_of,
        )


async def _open_page(exchange: Exchange, agent_id: int) -> _Page:
    agent = exchange.services.source.rules.body(Agent, "agent", agent_id)
    if agent is None:
        raise not_found("agent")  # deleted since its row was read, or not read by this process yet
    status = (await exchange.services.reads.agent_statuses(exchange.company_id, [agent_id])).get(agent_id)
    return _Page(exchange, agent_id, agent, None if status is None else status["agent_status_id"])


def _seen(access: Access, scope: str) -> Collection[int] | None:
    """Return the records that a scope shows, None for all of them; none without the scope."""
    return access.visibility(scope).record_ids if access.has_scope(scope) else ()


async def _pieces(page: _Page, stream: EventStream, after: int | None, missed: Sequence[Row]) -> AsyncIterator[bytes]:
    """Yield the pieces of a stream: what was missed, `ready`, then what happens, and a comment where nothing does."""
    yield b"retry: %d\n\n" % RETRY_MILLISECONDS
    last, name = stream.position, "ready"
    if after is not None and after <= last and len(missed) < READ_MAX:
        last = max(last, missed[-1]["id"]) if missed else last
        yield _encoded(page.events(missed))
    elif after is not None:
        name = "reset"
    yield _event(last, name, b"{}")
    async for piece in _live_pieces(page, stream, last):
        yield piece


async def _live_pieces(page: _Page, stream: EventStream, last: int) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    ends_at, sent_at = loop.time() + STREAM_SECONDS, loop.time()
    while loop.time() < ends_at:
        rows = await stream.take(KEY_CHECK_SECONDS)
        if stream.is_closed or not page.renew():
            return
        piece = _encoded(page.events([row for row in rows if row["id"] > last]))
        if not piece and loop.time() - sent_at >= HEARTBEAT_SECONDS:
            piece = b": still here\n\n"
        if piece:
            yield piece
            sent_at = loop.time()


def _encoded(events: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(_event(event["id"], event["event"], JSON.encode(event)) for event in events)


def _event(event_id: int, name: str, data: bytes) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event_id, name.encode(), data)


def _wants_stream(exchange: Exchange) -> bool:
    return EVENT_STREAM in exchange.request.headers.get("accept", "").lower()


def _last_event_id(exchange: Exchange) -> int | None:
    """Return the event behind which a browser resumes. Raises `ProblemError` for one that no stream has sent."""
    header = exchange.request.headers.get("last-event-id")
    if not header:
        return None
    parameters = Parameters({"Last-Event-ID": header})
    found = parameters.whole("Last-Event-ID", least=0, most=INTEGER_MAX)
    parameters.finish()
    return found


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="follow_agent",
        methods=("GET",),
        path=f"{AGENT.path}/{{id}}/events",
        summary="Follow the statuses of an agent and the messages for it",
        handler=follow,
        scope=MESSAGE_SCOPE,
        records="visible",
        leads="none",
        parameters={"last_event_id": "the event behind which to begin; left out: from now on"},
        types={"last_event_id": {"type": "integer", "minimum": 0, "maximum": INTEGER_MAX}},
        answer=one_of("agent_events", {"type": "array", "items": ref("AgentEvent")}, last_event_id={"type": "string"}),
        problems=("streams_busy",),
        streams=True,
    ),
)
