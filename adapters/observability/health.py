"""How does an orchestrator check a role? Four pages on a port of its own: `/livez /readyz /startupz /metrics`.

`livez`     the event loop answers; a broker or database that is down is no reason to restart us.
`startupz`  the role has been ready once.
`readyz`    no problem now; otherwise 503 with each problem and since when.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from http import HTTPStatus

import h11
import msgspec

from adapters.clock import wall_now
from adapters.observability.metrics import CONTENT_TYPE, Metrics
from schemas.errors import DependencyError
from schemas.instant import Instant, to_rfc3339

Problems = Callable[[], Mapping[str, str]]

CONNECTIONS_MAX = 32
"""One orchestrator and a few scrapers; further connections are closed."""

POLL_SECONDS = 1.0
"""How late the start of a problem is noted between requests; one that ends and returns in between counts as one."""

REQUEST_SECONDS_MAX = 5.0
HEAD_BYTES_MAX = 8_192
READ_BYTES = 4_096

Answer = tuple[HTTPStatus, str, bytes]


class HealthPortError(DependencyError):
    """The port for health and metrics cannot be opened."""

    def __init__(self, host: str, port: int, error: OSError) -> None:
        why = error.strerror or str(error)
        cure = "give another one with --health-port (0 takes a free one)"
        super().__init__(f"port {port} of {host} cannot be served ({why}); {cure}")


class HealthServer:
    """Serves the four pages of one process. `problems` returns why it is not ready: source -> sentence.

    `/readyz` also shows `facts` (settings that an operator must know while the process runs) and `notes` (what has happened
    to it: source -> sentence). `now` is wall time, because operators compare it with their clocks.
    """

    def __init__(
        self,
        problems: Problems,
        metrics: Metrics,
        facts: Mapping[str, object] | None = None,
        notes: Problems = dict,
        now: Callable[[], Instant] = wall_now,
    ) -> None:
        self._problems = problems
        self._metrics = metrics
        self._facts = dict(facts or {})
        self._notes = notes
        self._now = now
        self._since: dict[str, Instant] = {}
        self._polling: asyncio.Task[None] | None = None
        self._server: asyncio.Server | None = None
        self._was_ready = False
        self._open = 0
        self.port = 0

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; `port` 0 takes a free one, which `self.port` holds. Raises `HealthPortError` where the port is in use."""
        try:
            self._server = await asyncio.start_server(self._serve, host, port)
        except OSError as error:
            raise HealthPortError(host, port, error) from error
        self.port = self._server.sockets[0].getsockname()[1]
        self._polling = asyncio.create_task(self._poll_problems(), name="health")

    async def stop(self) -> None:
        """Stop listening."""
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)
            self._polling = None
        if self._server is not None:
            self._server.close()
            self._server = None

    def answer(self, method: str, path: str) -> Answer:
        """Return status, content type and body of a page."""
        if method not in {"GET", "HEAD"}:
            return _json(HTTPStatus.METHOD_NOT_ALLOWED, {"detail": "only GET and HEAD"})
        problems = self.note_problems()
        match path:
            case "/livez":
                return _json(HTTPStatus.OK, {"live": True})
            case "/readyz":
                return _json(_status(not problems), self._readiness(problems))
            case "/startupz":
                return _json(_status(self._was_ready), {"started": self._was_ready})
            case "/metrics":
                return HTTPStatus.OK, CONTENT_TYPE, self._metrics.text()
            case _:
                return _json(HTTPStatus.NOT_FOUND, {"detail": "/livez /readyz /startupz /metrics"})

    def note_problems(self) -> dict[str, str]:
        """Return the problems of now, and note when each began."""
        problems, now = dict(self._problems()), self._now()
        self._since = {source: self._since.get(source, now) for source in problems}
        self._was_ready = self._was_ready or not problems
        return problems

    def _readiness(self, problems: Mapping[str, str]) -> dict[str, object]:
        since = {source: to_rfc3339(instant) for source, instant in self._since.items()}
        notes = dict(self._notes())
        found: dict[str, object] = {"ready": not problems, "problems": problems}
        return found | ({"since": since} if since else {}) | ({"notes": notes} if notes else {}) | self._facts

    async def _poll_problems(self) -> None:
        """Poll, so that a problem has the time when it began, not that of the next request."""
        while True:
            self.note_problems()
            await asyncio.sleep(POLL_SECONDS)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= CONNECTIONS_MAX:
                async with asyncio.timeout(REQUEST_SECONDS_MAX):
                    await self._exchange(reader, writer)
        except (OSError, TimeoutError, h11.ProtocolError):
            pass  # the client has left, or does not speak HTTP
        finally:
            self._open -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)
        request = await _request(connection, reader)
        if request is None:
            return
        path = request.target.decode("ascii", "replace").partition("?")[0]
        status, content_type, body = self.answer(request.method.decode(), path)
        headers = [("content-type", content_type), ("content-length", str(len(body))), ("connection", "close")]
        writer.write(connection.send(h11.Response(status_code=status, headers=headers)) or b"")
        if request.method != b"HEAD":
            writer.write(connection.send(h11.Data(data=body)) or b"")
        await writer.drain()


async def _request(connection: h11.Connection, reader: asyncio.StreamReader) -> h11.Request | None:
    """Return the head of the first request, or None where the client leaves before it is complete."""
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Request):
            return event
        if event is not h11.NEED_DATA:
            return None
        connection.receive_data(await reader.read(READ_BYTES))


def _status(is_fine: bool) -> HTTPStatus:
    return HTTPStatus.OK if is_fine else HTTPStatus.SERVICE_UNAVAILABLE


def _json(status: HTTPStatus, body: Mapping[str, object]) -> Answer:
    return status, "application/json", msgspec.json.encode(body)
