"""Who hears the vendors that send nothing to us? One gateway listens to each, and hands every event to our callback URL.

The one is chosen by a lease in the database: where its holder is gone, another gateway listens after `LEASE_SECONDS`. An
event is handed over like a vendor's callback, so the API takes it as such; one that cannot be handed over is tried again for
`HANDED_OVER_SECONDS`, and then left to the look-up of its order.
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Protocol

import httpx
import structlog

from adapters.errors import StoreError
from adapters.gateway.ports import NotPlacedError, RulesReader
from adapters.providers.account_trials import accounts_with
from adapters.providers.callback_tokens import NamedConfiguration
from adapters.providers.connections import Connections, UnusableConfigurationError
from adapters.providers.ports import Callback, EventSource, ProviderFailedError, StreamedEvent

LEASE_SECONDS = 15.0

STREAMS_MAX = 500
"""Of one gateway: each is a connection and a queue. Another gateway listens to the accounts beyond."""

TURN_SECONDS = 3.0
"""Between renewals: four may be lost before another gateway listens."""

AGAIN_SECONDS = 2.0
"""Before a vendor that has closed the connection is connected to again."""

HANDED_OVER_SECONDS = 60.0
"""As long as a restart of the API takes; a person does not wait longer for a buyer."""

ANSWER_SECONDS = 15.0
"""The API answers a callback within ten, also one that waits for a route."""

RETRY_SECONDS = 0.5

WAITING_MAX = 1_000
"""Events of one vendor that wait to be handed over; while there are more, none is read."""

OK_MIN, OK_MAX, TOO_MANY, SERVER_ERROR = 200, 299, 429, 500

logger = structlog.get_logger(__name__)


class StreamLeases(Protocol):
    """Says which process listens to which configuration. Every method raises `StoreError` and nothing else.

    No contract suite: one adapter (`adapters.postgres.stream_leases.PostgresStreamLeases`), tested on a real database in
    tests/adapters/providers/test_streams.py.
    """

    async def hold(self, configuration_ids: Collection[int], holder: str, *, seconds: float, most: int) -> frozenset[int]:
        """Renew one's own leases and take free ones, up to `most` of both; return those held."""
        ...

    async def release(self, configuration_id: int, holder: str) -> None:
        """Give a lease up."""
        ...


def api_client() -> httpx.AsyncClient:
    """Return what posts to our own public URL, which the operator has set; its user closes it."""
    return httpx.AsyncClient(trust_env=False, timeout=ANSWER_SECONDS)


class VendorStreams:
    """Listens to the accounts with the providers of `names` that have events, as far as no other process does."""

    def __init__(
        self,
        names: tuple[str, ...],
        *,
        holder: str,
        leases: StreamLeases,
        connections: Connections,
        rules: RulesReader,
        client: httpx.AsyncClient,
    ) -> None:
        self._names = names
        self._holder = holder
        self._leases = leases
        self._connections = connections
        self._rules = rules
        self._client = client
        self._listening: dict[int, tuple[int, asyncio.Task[None]]] = {}
        self._held_at: dict[int, float] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen meanwhile."""
        task = asyncio.create_task(self._run(), name="event streams")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            for configuration_id in list(self._listening):
                await self._stop(configuration_id)

    def listens_to(self, configuration_id: int) -> bool:
        """Return whether this process listens to a configuration."""
        return configuration_id in self._listening

    async def _run(self) -> None:
        while True:
            try:
                await self.turn()
            except Exception:  # another package's code: whatever it raises, the next turn goes on
                logger.exception("stream.turn_failed")
            await asyncio.sleep(TURN_SECONDS)

    async def turn(self) -> None:
        """Take and renew leases, and listen where one is held."""
        sources = dict(self._sources())
        for configuration_id in self._listening.keys() - sources.keys():
            await self._stop(configuration_id)
        held = await self._hold(sources)
        for configuration_id, (version, source) in sources.items():
            await self._follow(configuration_id, version, source if configuration_id in held else None)

    async def _hold(self, wanted: Collection[int]) -> Collection[int]:
        """Return the leases that this process holds now, of those it wants."""
        asked_at = asyncio.get_running_loop().time()
        try:
            held = await self._leases.hold(wanted, self._holder, seconds=LEASE_SECONDS, most=STREAMS_MAX)
        except StoreError as error:
            logger.info("stream.leases_unknown", reason=str(error))
            # Once a lease has run out that could not be renewed, another process may listen.
            return {one for one, held_at in self._held_at.items() if asked_at < held_at + LEASE_SECONDS}
        self._held_at = dict.fromkeys(held, asked_at)
        if len(held) == STREAMS_MAX < len(wanted):
            logger.warning("stream.full", most=STREAMS_MAX, configurations=len(wanted))
        return held

    def _sources(self) -> list[tuple[int, tuple[int, EventSource]]]:
        found = []
        for name in self._names:
            for configuration in accounts_with(self._rules.rules, name):
                source = self._source(configuration)
                if source is not None:
                    found.append((configuration.record.id, (configuration.record.version, source)))
        return found

    def _source(self, configuration: NamedConfiguration) -> EventSource | None:
        try:
            connection = self._connections.open(configuration).connection
        except UnusableConfigurationError as error:
            logger.info("stream.unusable", configuration_id=configuration.record.id, reason=str(error))
            return None
        return connection if isinstance(connection, EventSource) else None

    async def _follow(self, configuration_id: int, version: int, source: EventSource | None) -> None:
        """Listen to a source by the newest version of its configuration; stop where there is none."""
        known = self._listening.get(configuration_id)
        if known is not None and (source is None or known[0] != version):
            await self._stop(configuration_id, keep_lease=source is not None)
            known = None
        if source is not None and known is None:
            task = asyncio.create_task(_listen(configuration_id, source, self._client), name=f"listen {configuration_id}")
            self._listening[configuration_id] = version, task

    async def _stop(self, configuration_id: int, *, keep_lease: bool = False) -> None:
        _, task = self._listening.pop(configuration_id)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if not keep_lease:
            with suppress(StoreError):
                await self._leases.release(configuration_id, self._holder)


async def _listen(configuration_id: int, source: EventSource, client: httpx.AsyncClient) -> None:
    """Listen until cancelled; connect again whenever the vendor closes the connection."""
    async with HandOver(client).running() as hand_over:
        while True:
            try:
                async with aclosing(source.events()) as events:
                    async for event in events:
                        await hand_over.take(event)
                reason = "closed"
            except (NotPlacedError, ProviderFailedError) as error:
                reason = str(error)
            except Exception as error:  # another package's code: the other accounts go on
                logger.exception("stream.failed", configuration_id=configuration_id)
                reason = type(error).__name__
            logger.warning("stream.ended", configuration_id=configuration_id, reason=reason)
            await asyncio.sleep(AGAIN_SECONDS)


class HandOver:
    """Posts events to our callback URL: those of one key one after the other, those of different keys at once."""

    def __init__(self, client: httpx.AsyncClient, *, seconds: float = HANDED_OVER_SECONDS) -> None:
        self._client = client
        self._seconds = seconds
        self._room = asyncio.Semaphore(WAITING_MAX)
        self._last: dict[str, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator["HandOver"]:
        """Post meanwhile; what is left at the end is dropped."""
        try:
            yield self
        finally:
            tasks = list(self._last.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def take(self, event: StreamedEvent) -> None:
        """Take an event; it is posted once those before it are."""
        await self._room.acquire()
        self._last[event.key] = asyncio.create_task(self._after(self._last.get(event.key), event))

    async def _after(self, earlier: asyncio.Task[None] | None, event: StreamedEvent) -> None:
        try:
            if earlier is not None:
                await asyncio.wait({earlier})
            await self._post(event.callback)
        finally:
            self._room.release()
            if self._last.get(event.key) is asyncio.current_task():
                del self._last[event.key]

    async def _post(self, callback: Callback) -> None:
        """Post until it is taken or refused, for a bounded time."""
        said = ""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                while True:
                    status, said = await self._try(callback)
                    if OK_MIN <= status <= OK_MAX:
                        return
                    if status != TOO_MANY and OK_MAX < status < SERVER_ERROR:
                        break
                    await asyncio.sleep(RETRY_SECONDS)
        logger.warning("event.not_taken", reason=said)

    async def _try(self, callback: Callback) -> tuple[int, str]:
        try:
            answer = await self._client.post(callback.url, content=callback.body, headers=dict(callback.headers))
        except httpx.HTTPError as error:
            return 0, f"{type(error).__name__}: {error}"
        return answer.status_code, f"{answer.status_code} {answer.text[:200]}"
