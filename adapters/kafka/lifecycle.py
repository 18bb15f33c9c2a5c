"""How does a client of aiokafka start and stop so that nothing of it stays open, however either fails?

aiokafka forgets the connection of a start that is cancelled, and leaves its own stopping half done where that is cancelled
or waits for a broker that does not answer. The garbage collector finds that and logs it.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from aiokafka import AIOKafkaConsumer, client, errors
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection, create_conn
from aiokafka.producer import sender
from aiokafka.producer.sender import Sender
from aiokafka.util import create_task

CONNECT_SECONDS = 2.0
"""To connect, with TLS and authentication. A broker that hangs accepts connections and never answers: a client that starts
must come to the other brokers within its deadline, and tries them in random order."""

CLOSE_SECONDS = 2.0
CANCELS_MAX = 8
"""Each cancel frees a task of one thing that it waits for."""


class _Opened:
    """Connections of a client that is being started; None once it is."""

    def __init__(self) -> None:
        self.connections: list[AIOKafkaConnection] | None = []


_closed: WeakSet[AIOKafkaClient] = WeakSet()
_opened: ContextVar[_Opened | None] = ContextVar("_opened", default=None)


async def _connected(*arguments: Any, **options: Any) -> AIOKafkaConnection:
    async with asyncio.timeout(CONNECT_SECONDS):
        connection = await create_conn(*arguments, **options)
    if getattr(options.get("on_close"), "__self__", None) in _closed:
        connection.close()  # it was closed meanwhile, and would not close this one
        raise errors.KafkaConnectionError("the client is closed")
    opened = _opened.get()
    if opened is not None and opened.connections is not None:
        opened.connections.append(connection)
    return connection


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """Close every connection that a client opens inside the block, where the block raises."""
    opened = _Opened()
    token = _opened.set(opened)
    try:
        yield
    except BaseException:
        for connection in opened.connections or ():
            connection.close()
        raise
    finally:
        opened.connections = None  # a task that was begun inside lives on with this value
        _opened.reset(token)


async def stop(consumer: AIOKafkaConsumer, *, seconds: float) -> None:
    """Stop a consumer: gracefully within a bound, else by force. Raises nothing but what cancels us.

    The library ends its own stopping, as if it were cancelled, where a failed fetch waits for its retry: a task of its
    own keeps that from ending ours.
    """
    stopping = asyncio.create_task(consumer.stop())
    try:
        await asyncio.wait({stopping}, timeout=seconds)
    finally:
        # After a graceful stop nothing of this is left to do.
        await end(stopping)
        await _end_work(consumer)
        await close(consumer._client)  # noqa: SLF001 - there is no public way


async def close(of: AIOKafkaClient) -> None:
    """Close every connection of a client, now. Never raises."""
    await end(of._sync_task)  # noqa: SLF001 - as above; it would open them again
    of._sync_task = None  # noqa: SLF001
    of._get_conn = _no_connection  # noqa: SLF001 - a task that lives for a moment longer must not connect again
    _closed.add(of)
    for connection in of._conns.values():  # noqa: SLF001
        connection.close()
    with contextlib.suppress(Exception):
        async with asyncio.timeout(CLOSE_SECONDS):
            await of.close()


async def finish(closing: Coroutine[Any, Any, None]) -> None:
    """Wait for what closes a client, also where we are cancelled meanwhile, however often: its own bounds end it.

    A shield alone ends with the second cancel (of a deadline, then of a role that stops), and what it protects is left half
    done when its loop ends.
    """
    task, cancelled = asyncio.ensure_future(closing), None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None and not task.cancelled():
        raise cancelled
    await task


async def end(task: asyncio.Task[Any] | None) -> None:
    """Cancel a task until it has ended, or for a bounded time. Never raises."""
    for _ in range(CANCELS_MAX):
        if task is None or task.done():
            break
        task.cancel()
        await asyncio.wait([task], timeout=CLOSE_SECONDS / CANCELS_MAX)
    mark_retrieved(task)


def mark_retrieved(future: asyncio.Future[Any] | None) -> None:
    """Retrieve the error of what a broken client left behind; asyncio reports those that are never retrieved."""
    if future is not None and future.done() and not future.cancelled():
        future.exception()


def tasks_of(owner: Sender) -> list[asyncio.Task[Any]]:
    """Return the tasks of a producer's sender, its own among them; the library has no public way to them."""
    return [task for task in _tasks.get(owner, ()) if not task.done()]


def mark_commits_retrieved(consumer: AIOKafkaConsumer) -> None:
    """Retrieve errors of offset commits, also where we stopped waiting: aiokafka shields them from a cancel."""
    coordinator = consumer._coordinator  # noqa: SLF001 - as above
    commit = coordinator._do_commit_offsets  # noqa: SLF001

    def seen(*arguments: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.create_task(commit(*arguments))
        task.add_done_callback(mark_retrieved)
        return task

    coordinator._do_commit_offsets = seen  # noqa: SLF001


async def _no_connection(*_arguments: Any, **_options: Any) -> None:
    return None


_tasks: WeakKeyDictionary[Sender, WeakSet[asyncio.Task[Any]]] = WeakKeyDictionary()


def _create_task(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    task: asyncio.Task[Any] = create_task(work)
    frame = getattr(work, "cr_frame", None)
    owner = None if frame is None else frame.f_locals.get("self")
    if isinstance(owner, Sender):
        _tasks.setdefault(owner, WeakSet()).add(task)
    return task


async def _end_work(consumer: AIOKafkaConsumer) -> None:
    """End the tasks of a consumer that its own stopping left behind."""
    fetcher, coordinator = consumer._fetcher, consumer._coordinator  # noqa: SLF001 - as above
    tasks = []
    if fetcher is not None:
        tasks += [fetcher._fetch_task, *fetcher._pending_tasks]  # noqa: SLF001
    for name in ("_coordination_task", "_heartbeat_task", "_commit_refresh_task", "_reset_committed_task"):
        tasks.append(getattr(coordinator, name, None))
    for task in tasks:
        await end(task)


client.create_conn = _connected
sender.create_task = _create_task
