"""How is the application served? By granian inside this process's own asyncio loop, beside the producer that it uses.

granian's embedded server runs its network threads in Rust and calls the application in the loop that started it, so
there is one loop, one producer and one pool per process, and no second process to lose.
"""

import asyncio
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.server.embed import Server
from litestar import Litestar

from adapters.http.exchange.connections import ConnectionLimiter, Networks
from adapters.http.exchange.settings import PER_ADDRESS_MAX
from schemas.errors import DependencyError

BACKLOG = 1_024
CONNECTIONS_MAX = 1_000
"""Connections of this process at once; more wait in the backlog of the socket."""

FILES_BESIDE = 200
"""Open files that are not client connections: database, broker, health port, log."""

HEADER_READ_MILLISECONDS = 5_000
"""Longest time to send the headers, and longest idle time between two requests; then the connection is closed. No HTTP/2:
to detect it the server waits for the first bytes without a timeout."""

START_SECONDS = 10.0
STOP_SECONDS = 10.0
"""Requests in progress at shutdown are answered within this: longer than a submission waits."""

POLL_SECONDS = 0.01


class ServerError(DependencyError):
    """The port cannot be served; `str(error)` says why."""


@asynccontextmanager
async def serving(
    app: Litestar, *, host: str, port: int, per_address_max: int = PER_ADDRESS_MAX, trusted_proxies: Networks = ()
) -> AsyncIterator[int]:
    """Serve until the block ends; yield the port (a free one if 0 was requested). Raises `ServerError`.

    One client address holds at most `per_address_max` connections, unless it is in `trusted_proxies`.
    """
    port, connections_max = _checked_port(host, port), _connections_max()
    server = Server(
        app,
        address=host,
        port=port,
        interface=Interfaces.ASGI,
        http=HTTPModes.http1,
        websockets=False,
        backlog=BACKLOG,
        backpressure=connections_max,
        http1_settings=HTTP1Settings(header_read_timeout=HEADER_READ_MILLISECONDS),
        log_enabled=False,
    )
    task = asyncio.create_task(server.serve(), name=f"http {host}:{port}")
    try:
        await _answering(host, port, task)
        watch = ConnectionLimiter(
            port,
            per_address_max=per_address_max,
            trusted_proxies=trusted_proxies,
            connections_max=connections_max,
            busy=getattr(app, "busy", ()),
        )
        watching = asyncio.create_task(watch.run(), name=f"connections {port}")
        try:
            yield port
        finally:
            watching.cancel()
    finally:
        server.stop()  # type: ignore[no-untyped-call]
        await _ended(task)


def _connections_max() -> int:
    """Raise the limit of open files if possible. Return how many connections leave enough files for the process itself."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS_MAX + FILES_BESIDE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, soft - FILES_BESIDE)
    return CONNECTIONS_MAX


def _checked_port(host: str, port: int) -> int:
    """Return the port after checking that it is free: granian itself would share it with another process."""
    try:
        with socket.create_server((host, port)) as found:
            return int(found.getsockname()[1])
    except OSError as error:
        cure = "give another one with --http-port (0 takes a free one)"
        raise ServerError(f"port {port} of {host} cannot be served ({error.strerror}); {cure}") from error


async def _answering(host: str, port: int, task: "asyncio.Task[Any]") -> None:
    deadline = asyncio.get_running_loop().time() + START_SECONDS
    while True:
        if task.done():
            raise ServerError(f"the HTTP server ended at once: {task.exception()}")
        try:
            _, writer = await asyncio.open_connection(host, port)
        except OSError:
            if asyncio.get_running_loop().time() > deadline:
                raise ServerError(f"nothing answers on port {port} of {host}") from None
            await asyncio.sleep(POLL_SECONDS)
        else:
            writer.close()
            await writer.wait_closed()
            return


async def _ended(task: "asyncio.Task[Any]") -> None:
    done, _ = await asyncio.wait([task], timeout=STOP_SECONDS)
    if not done:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
