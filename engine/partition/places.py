"""How many commands of a partition are open, and who may emit one more? Backpressure, counted from entities, never stored.

A command is open from its emission until its outcome is known or timed out. Each channel has `OPEN_COMMANDS_MAX` places
(`engine.limits`), shared by company (`engine.fair_share.may_take`). A lead that finds none waits, due, behind the gate of
its channel and company. A claim follows from the value of the entity alone, so a fold of the same values gives the same
counts.
"""

from collections import Counter
from typing import NamedTuple

from msgspec import Struct

from engine import limits
from engine.fair_share import may_take
from schemas.instant import Instant

GATE_PREFIX = "places/"


class PlaceClaim(NamedTuple):
    """That an entity holds a place on a channel, or (`holds` false) waits for one."""

    channel: str
    company_id: int
    holds: bool


class SharedGate(Struct, frozen=True):
    """The gate of one company before the places of a channel; all gates share the free places."""

    channel: str
    held: int
    free: int

    @property
    def room(self) -> int:
        """How many it admits where no other company takes any."""
        return max(0, (self.free - self.held + 1) // 2)

    def least_urgent(self, now: Instant) -> tuple[()]:
        """Return nothing: an open command never gives up its place."""
        del now
        return ()

    def lets_through(self, passed: int, taken: int) -> bool:
        """Return whether one more may pass, after `passed` of this company and `taken` of all in the same round."""
        return may_take(self.held + passed, self.free - taken)


class Places:
    """The claims of a partition's entities, pending decisions included."""

    def __init__(self) -> None:
        self._claims: dict[str, PlaceClaim] = {}
        self._counts: Counter[PlaceClaim] = Counter()
        self._used: Counter[str] = Counter()
        self._undo: list[tuple[str, PlaceClaim | None]] = []

    def put(self, key: str, claim: PlaceClaim | None) -> None:
        """Note what an entity claims now."""
        before = self._claims.get(key)
        if claim != before:
            self._undo.append((key, before))
            self._write(key, before, claim)

    def commit(self) -> None:
        """Keep what was noted since the last commit."""
        self._undo.clear()

    def rollback(self) -> None:
        """Forget what was noted since the last commit."""
        for key, before in reversed(self._undo):
            self._write(key, self._claims.get(key), before)
        self._undo.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._claims.clear()
        self._counts.clear()
        self._used.clear()
        self._undo.clear()

    def used(self, channel: str) -> int:
        """Return how many commands of a channel are open."""
        return self._used[channel]

    def may_take(self, channel: str, company_id: int, taken: int) -> bool:
        """Return whether a company may take one more place, after `taken` that are not noted yet."""
        return self._gate(channel, company_id).lets_through(taken, taken)

    def are_awaited(self, channel: str, company_id: int) -> bool:
        """Return whether a lead of a company waits for a place."""
        return self._counts[PlaceClaim(channel, company_id, holds=False)] > 0

    def gate(self, key: str) -> SharedGate:
        """Return the gate of a key as `gate_key` makes it."""
        channel, _, company_id = key.removeprefix(GATE_PREFIX).partition("/")
        return self._gate(channel, int(company_id))

    def _gate(self, channel: str, company_id: int) -> SharedGate:
        held = self._counts[PlaceClaim(channel, company_id, holds=True)]
        return SharedGate(channel, held, limits.OPEN_COMMANDS_MAX - self._used[channel])

    def _write(self, key: str, before: PlaceClaim | None, claim: PlaceClaim | None) -> None:
        for one, step in ((before, -1), (claim, 1)):
            if one is not None:
                self._counts[one] += step
                if not self._counts[one]:
                    del self._counts[one]
                if one.holds:
                    self._used[one.channel] += step
        if claim is None:
            self._claims.pop(key, None)
        else:
            self._claims[key] = claim


def gate_key(channel: str, company_id: int) -> str:
    """Return the key of the gate behind which leads of a company wait for a place on a channel."""
    return f"{GATE_PREFIX}{channel}/{company_id}"
