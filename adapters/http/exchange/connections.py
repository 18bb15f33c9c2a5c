"""How much may one network address hold at once? Bounds on its connections and on its requests under way.

The server counts only the connections of all addresses together, and shows one to the application when its headers are
whole. So the sockets of this process are looked through, and the newest ones of an address that holds too many are shut
down: the server then lets them go as if the other side had hung up.
"""

import asyncio
import os
import socket
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

import structlog

from adapters.http.exchange.access import within
from adapters.http.exchange.addresses import holder_of

LOOK_SECONDS = 0.25
"""How long an address may hold more than it may. To look through 1,000 sockets takes some 10 ms."""

OPEN_FILES = Path("/dev/fd")

Peer = tuple[str, int]
Networks = tuple[IPv4Network | IPv6Network, ...]

logger = structlog.get_logger(__name__)


class RequestsUnderWay:
    """Requests that are not answered yet, by address; behind a trusted proxy by the address that it forwards."""

    def __init__(self, per_address_max: int) -> None:
        self._per_address_max = per_address_max
        self._counts: defaultdict[str, int] = defaultdict(int)

    @contextmanager
    def admitted(self, address: str) -> Iterator[bool]:
        """Count a request while the block runs; gives False where its address has too many."""
        holder = holder_of(address)
        self._counts[holder] += 1
        try:
            yield self._counts[holder] <= self._per_address_max
        finally:
            self._counts[holder] -= 1
            if not self._counts[holder]:
                del self._counts[holder]


class ConnectionWatch:
    """Shuts down connections to a port of this process beyond what one address may hold; trusted proxies hold any number."""

    def __init__(self, port: int, *, per_address_max: int, trusted_proxies: Networks = ()) -> None:
        self._port = port
        self._per_address_max = per_address_max
        self._trusted_proxies = trusted_proxies
        self._known: dict[Peer, int] = {}

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            with suppress(OSError):  # no file is free for the look itself: the next one may find one
                self.look()

    def look(self) -> int:
        """Shut down what is over the bound, the newest first; return how many. Raises `OSError`."""
        files = [int(entry.name) for entry in OPEN_FILES.iterdir()]
        if len(files) <= self._per_address_max:
            self._known.clear()
            return 0
        found = {peer: file for file in files if (peer := self._peer_of(file)) is not None}
        self._known = {peer: place for place, peer in enumerate(sorted(found, key=self._age))}
        closed = 0
        for holder, peers in self._by_holder().items():
            excess = peers[self._per_address_max :]
            closed += sum(self._shut_down(found[peer], peer) for peer in excess)
            if excess:
                logger.warning("connections.closed", address=holder, closed=len(excess))
        return closed

    def _age(self, peer: Peer) -> float:
        return self._known.get(peer, float("inf"))

    def _by_holder(self) -> Mapping[str, list[Peer]]:
        """Return the connections of each address that is no trusted proxy, the oldest first."""
        holders: defaultdict[str, list[Peer]] = defaultdict(list)
        for peer in self._known:
            if not within(peer[0], self._trusted_proxies):
                holders[holder_of(peer[0])].append(peer)
        return holders

    def _peer_of(self, file: int) -> Peer | None:
        """Return who is at the other end of an open file, or None where it is no connection to our port."""
        with suppress(OSError):  # it was closed meanwhile, or is not connected
            if stat.S_ISSOCK(os.fstat(file).st_mode):
                with _duplicate(file) as ours:
                    return self._peer(ours)
        return None

    def _peer(self, ours: socket.socket) -> Peer | None:
        if ours.family not in {socket.AF_INET, socket.AF_INET6} or ours.getsockname()[1] != self._port:
            return None
        address, port = ours.getpeername()[:2]
        return str(address), int(port)

    def _shut_down(self, file: int, peer: Peer) -> bool:
        # The number may belong to another file by now: what is shut down is a duplicate that was seen to be the right one.
        with suppress(OSError), _duplicate(file) as ours:
            if self._peer(ours) == peer:
                ours.shutdown(socket.SHUT_RDWR)
                return True
        return False


def _duplicate(file: int) -> socket.socket:
    """Return a socket object of its own for an open file. Raises `OSError`."""
    number = os.dup(file)
    try:
        return socket.socket(fileno=number)
    except OSError:
        os.close(number)
        raise
