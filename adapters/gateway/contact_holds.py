"""May anything be given to a provider now? Not while a hold covers it, nor where the rules may have a newer one.

The gateway reads holds from `accounts.rules` itself, so that it obeys them while no scheduler decides.
"""

from typing import Protocol

from msgspec import Struct

from adapters.gateway.ports import LeaseLostError
from engine.rules import Rules
from schemas.requests import RulesPlace

READ_WITHIN_SECONDS = 1.0
"""How old the end of `accounts.rules` may be, to which the holds were read, when a command is looked at."""

STALE_SECONDS = 2.0
"""And right before it is given to a provider, in seconds of this process: one that was suspended looks again."""


class CoveringHold(Struct, frozen=True):
    """A hold that covers a command: why, and where it is recorded."""

    reason: str
    place: RulesPlace


class ContactHolds(Protocol):
    """The holds, as far as this process has read them.

    No contract suite: one adapter (`HoldsOfRules`); gateways without rules, of tests, have `NoHolds`.
    """

    async def refresh(self) -> None:
        """Return once the holds are those of the last second. Raises `LogError`."""
        ...

    def find(self, company_id: int, channel: str) -> CoveringHold | None:
        """Return a hold that covers a channel of a company."""
        ...

    def check(self) -> None:
        """Raise `LeaseLostError` where there may be holds that were not read."""
        ...


class NoHolds:
    """Nothing is ever on hold."""

    async def refresh(self) -> None:
        """Return at once."""

    def find(self, company_id: int, channel: str) -> CoveringHold | None:  # noqa: ARG002
        """Return None."""
        return None

    def check(self) -> None:
        """Return at once."""


class FreshRules(Protocol):
    """The rules of this process.

    No contract suite: one adapter (`adapters.partitions.feed.RulesTopic`), tested in tests/adapters/partitions/test_feed.py.
    """

    rules: Rules

    async def read_within(self, seconds: float) -> None:
        """Return once the rules were read to an end that is at most so old. Raises `LogError`."""
        ...

    def age_seconds(self) -> float:
        """Return how old the end is to which the rules were read."""
        ...

    def seen(self, company_id: int) -> tuple[int, int]:
        """Return the partition of a company, and the sequence up to which its rules were read."""
        ...


class HoldsOfRules:
    """Keeps the promises of `ContactHolds` by the rules of this process."""

    def __init__(self, feed: FreshRules) -> None:
        self._feed = feed

    async def refresh(self) -> None:
        """Read the rules, unless they were read within the last second. Raises `LogError`."""
        await self._feed.read_within(READ_WITHIN_SECONDS)

    def check(self) -> None:
        """Raise `LeaseLostError` where the rules were read too long ago."""
        age_seconds = self._feed.age_seconds()
        if age_seconds > STALE_SECONDS:
            raise LeaseLostError(f"the rules were read {age_seconds:.1f} s ago: contacting may be on hold by now")

    def find(self, company_id: int, channel: str) -> CoveringHold | None:
        """Return the oldest hold that covers a channel of a company."""
        record = self._feed.rules.contact_hold(company_id, channel)
        if record is None:
            return None
        partition, _ = self._feed.seen(record.company_id)
        return CoveringHold(str(record.body["reason"]), RulesPlace(partition, record.sequence))
