"""How many statements do the sessions of open pages cost? One for all of them, every few seconds.

A page that renews itself proves its session each time. The first to ask after `SHARED_SECONDS` reads the sessions of all
open pages in one statement, and the others use what it read. A session that another process ended is refused here at most
`SHARED_SECONDS` later. A page that is opened, and every change, reads its own session.
"""

import asyncio
import hmac
from collections.abc import Callable

from msgspec import Struct, structs

from adapters.reads.ports import SignIns, StoredSession

SHARED_SECONDS = 4.0
"""How old a session may be that a renewal rests on: less than the time between two renewals of most pages."""

OPEN_SECONDS = 15.0
"""A page that has not asked for this long is closed, or hidden: three times the longest interval between renewals."""

OPEN_MAX = 1_000
"""Sessions that are held, as many as the process has connections. A further one is read each time."""


class _Held(Struct):
    stored: StoredSession
    read_at: float
    asked_at: float


class SessionReads:
    """Sessions of the pages that are open at this process; instants are monotonic seconds."""

    def __init__(self, sign_ins: SignIns, monotonic: Callable[[], float]) -> None:
        self._sign_ins = sign_ins
        self._monotonic = monotonic
        self._held: dict[str, _Held] = {}
        self._renewal: asyncio.Task[None] | None = None

    async def find(self, session_id: str, token_sha256: str) -> StoredSession | None:
        """Return a session as it was `SHARED_SECONDS` ago at most. Raises `ReadsUnavailableError`.

        Only a session whose token was sent is held: who knows the id alone keeps no session in use.
        """
        asked_at = self._monotonic()
        held = self._held.get(session_id)
        if held is None or not hmac.compare_digest(held.stored.session.token_sha256, token_sha256):
            stored = await self._sign_ins.find(session_id)
            if stored is not None and hmac.compare_digest(stored.session.token_sha256, token_sha256):
                self._hold(session_id, stored, asked_at)
            return stored
        held.asked_at = asked_at
        if self._is_old(held):
            await self._renew()
            held = self._held.get(session_id)
        if held is not None and self._is_old(held):  # the statement took too long
            return await self._sign_ins.find(session_id)
        return None if held is None else held.stored

    def forget(self, session_id: str) -> None:
        """Read a session again when it is next asked for: it was ended here."""
        self._held.pop(session_id, None)

    def _hold(self, session_id: str, stored: StoredSession, read_at: float) -> None:
        if len(self._held) >= OPEN_MAX:
            self._drop_closed()
        if len(self._held) < OPEN_MAX:
            self._held[session_id] = _Held(structs.replace(stored, is_stale=False), read_at, read_at)

    def _is_old(self, held: _Held) -> bool:
        return self._monotonic() >= held.read_at + SHARED_SECONDS

    async def _renew(self) -> None:
        """Read all sessions, or wait for the statement that does."""
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._read(), name="read the sessions of open pages")
        await asyncio.shield(self._renewal)  # a visitor who leaves must not end it for the others

    async def _read(self) -> None:
        self._drop_closed()
        read_at, asked = self._monotonic(), tuple(self._held)
        found = await self._sign_ins.find_all(asked)
        for session_id in asked:
            stored, held = found.get(session_id), self._held.get(session_id)
            if stored is None:
                self._held.pop(session_id, None)
            elif held is not None:  # not forgotten meanwhile
                held.stored, held.read_at = structs.replace(stored, is_stale=False), read_at
        if stale := [session_id for session_id, stored in found.items() if stored.is_stale]:
            await self._sign_ins.touch(*stale)

    def _drop_closed(self) -> None:
        now = self._monotonic()
        self._held = {name: held for name, held in self._held.items() if now - held.asked_at < OPEN_SECONDS}
