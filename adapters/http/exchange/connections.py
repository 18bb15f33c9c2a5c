"""How many connections may one network address hold? And how many requests in flight?

The server limits only the connections of all addresses together, and shows a connection to the application only when its
headers are complete. So a task looks through the sockets of this process and shuts down the newest ones of an address
that has too many. The server then closes them as if the client had hung up. Where the addresses of a crowd hold nearly all,
those go first that have said nothing for the longest time: a server that is full accepts nobody.
"""

import asyncio
import os
import socket
import stat
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

import structlog

from adapters.http.exchange.access import is_within
from adapters.http.exchange.addresses import client_of

CHECK_INTERVAL_SECONDS = 0.25
"""Between two checks; an address can exceed its limit for so long. A check of 1,000 sockets takes about 10 ms."""

KEPT_SHARE = 0.8
"""Of the connections that the server takes: the others are for those who come within one interval."""

OPEN_FILES = Path("/dev/fd")

Peer = tuple[str, int]
Networks = tuple[IPv4Network | IPv6Network, ...]

logger = structlog.get_logger(__name__)


class RequestsInFlight:
    """Counts the requests without an answer by address; behind a trusted proxy, by the address that it forwards.

    `busy` are the connections that they came on.
    """

    def __init__(self, per_address_max: int) -> None:
        self._per_address_max = per_address_max
        self._counts: defaultdict[str, int] = defaultdict(int)
        self.busy: set[Peer] = set()

    @contextmanager
    def admit(self, address: str, peer: Peer | None = None) -> Iterator[bool]:
        """Count a request while the block runs; yield False if its address has too many."""
        client = client_of(address)
        self._counts[client] += 1
        if peer is not None:
            self.busy.add(peer)
        try:
            yield self._counts[client] <= self._per_address_max
        finally:
            self._counts[client] -= 1
            if peer is not None:
                self.busy.discard(peer)
            if not self._counts[client]:
                del self._counts[client]


class ConnectionLimiter:
    """Shuts down connections to a port of this process above the limit of an address; trusted proxies have no limit.

    `connections_max` is how many the server takes; `busy` are those on which a request waits for its answer.
    """

    def __init__(
        self,
        port: int,
        *,
        per_address_max: int,
        trusted_proxies: Networks = (),
        connections_max: int = 0,
        busy: Collection[Peer] = (),
    ) -> None:
        self._port = port
        self._kept_max = int(connections_max * KEPT_SHARE)
        self._busy = busy
        self._per_address_max = per_address_max
        self._trusted_proxies = trusted_proxies
        self._ranks: dict[Peer, int] = {}
        """Connection -> its rank by age, 0 for the oldest."""

    async def run(self) -> None:
        """Check at intervals, until cancelled."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL_SECONDS)
            with suppress(OSError):  # no file descriptor is free for the check: the next one may find one
                self.close_excess()

    def close_excess(self) -> int:
        """Shut down the connections above the limit, the newest first; return how many. Raises `OSError`."""
        files = [int(entry.name) for entry in OPEN_FILES.iterdir()]
        if len(files) <= min(self._per_address_max, self._kept_max or self._per_address_max):
            self._ranks.clear()
            return 0
        found = {peer: file for file in files if (peer := self._peer_of(file)) is not None}
        self._ranks = {peer: rank for rank, peer in enumerate(sorted(found, key=self._rank))}
        closed = 0
        for client, peers in self._by_client().items():
            excess = peers[self._per_address_max :]
            closed += sum(self._shut_down(found[peer], peer) for peer in excess)
            if excess:
                logger.warning("connections.closed", address=client, closed=len(excess))
        return closed + self._close_silent(found)

    def _close_silent(self, found: Mapping[Peer, int]) -> int:
        """Shut down connections without a request where nearly all are taken, the oldest first."""
        excess = len(found) - self._kept_max
        if not self._kept_max or excess <= 0:
            return 0
        silent = [peer for peer in sorted(found, key=self._rank) if peer not in self._busy][:excess]
        closed = sum(self._shut_down(found[peer], peer) for peer in silent)
        logger.warning("connections.closed", address="all", closed=closed)
        return closed

    def _rank(self, peer: Peer) -> float:
        return self._ranks.get(peer, float("inf"))

    def _by_client(self) -> Mapping[str, list[Peer]]:
        """Return the connections of each client that is no trusted proxy, the oldest first."""
        clients: defaultdict[str, list[Peer]] = defaultdict(list)
        for peer in self._ranks:
            if not is_within(peer[0], self._trusted_proxies):
                clients[client_of(peer[0])].append(peer)
        return clients

    def _peer_of(self, file: int) -> Peer | None:
        """Return the peer of an open file, or None if it is no connection to our port."""
        with suppress(OSError):  # it was closed since, or is not connected
            if stat.S_ISSOCK(os.fstat(file).st_mode):
                with _duplicate(file) as copy:
                    return self._peer(copy)
        return None

    def _peer(self, connection: socket.socket) -> Peer | None:
        if connection.family not in {socket.AF_INET, socket.AF_INET6} or connection.getsockname()[1] != self._port:
            return None
        address, port = connection.getpeername()[:2]
        return str(address), int(port)

    def _shut_down(self, file: int, peer: Peer) -> bool:
        # The descriptor may belong to another file by now: check a duplicate, and shut that down.
        with suppress(OSError), _duplicate(file) as copy:
            if self._peer(copy) == peer:
                copy.shutdown(socket.SHUT_RDWR)
                return True
        return False


def _duplicate(file: int) -> socket.socket:
    """Return a new socket object on a duplicate of an open file. Raises `OSError`."""
    number = os.dup(file)
    try:
        return socket.socket(fileno=number)
    except OSError:
        os.close(number)
        raise
