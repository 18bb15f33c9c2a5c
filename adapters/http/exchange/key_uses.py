"""When was a key of a person used last? It is noted once a minute, so that reading costs no write each time."""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

from adapters.reads.ports import ReadsUnavailableError, SignIns

NOTED_EVERY_SECONDS = 60.0
"""How exactly it is known: a write a minute for each key and process."""

REMEMBERED_MAX = 10_000
"""Keys that are remembered as noted; each takes about 200 bytes. A forgotten one is noted again."""


class KeyUses:
    """Notes the use of keys, at most once a minute each."""

    def __init__(self, sign_ins: SignIns, monotonic: Callable[[], float]) -> None:
        self._sign_ins = sign_ins
        self._monotonic = monotonic
        self._noted: OrderedDict[tuple[int, int], float] = OrderedDict()

    async def note(self, company_id: int, key_id: int) -> None:
        """Note that a key is used. A database that is away keeps no valid key out."""
        now, key = self._monotonic(), (company_id, key_id)
        if now - self._noted.get(key, float("-inf")) < NOTED_EVERY_SECONDS:
            return
        self._noted[key] = now
        self._noted.move_to_end(key)
        if len(self._noted) > REMEMBERED_MAX:
            self._noted.popitem(last=False)
        with suppress(ReadsUnavailableError):
            await self._sign_ins.note_use(company_id, key_id)
