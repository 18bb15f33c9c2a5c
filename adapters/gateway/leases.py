"""Until when may this process give a claimed command to a provider? Until its lease ends.

A process can be suspended between any two statements (SIGSTOP, swapping, a closed laptop) while its leases run out and
others take its claims over. So each lease carries its end by this process's own clock, and that end is checked
right before a provider is called, with nothing awaited in between. `Lease.claim_id` is the generation of the claim: each
attempt has its own, and the database renews, records and releases only that one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from adapters.gateway.ports import Deliveries, LeaseLostError
from engine.partition.ports import Clock

LEASE_SECONDS = 30.0
"""A claim whose claimant is silent for this long is taken over; renewed three times within it."""

LEASE_MARGIN_SECONDS = 10.0
"""What must be left of a lease before a provider is called. A lease that is renewed in time has 20 s or more."""

RENEWALS_PER_LEASE = 3
RENEWED_AT_ONCE_MAX = 500
"""Claims in one statement: some milliseconds of work for the server."""


class Lease:
    """One claim in progress; `ends_at` is in monotonic seconds, counted from before the database was asked."""

    __slots__ = ("_clock", "claim_id", "command_id", "ends_at")

    def __init__(self, command_id: str, claim_id: str, clock: Clock) -> None:
        self.command_id = command_id
        self.claim_id = claim_id
        self.ends_at = float("-inf")
        self._clock = clock

    def check(self) -> None:
        """Raise `LeaseLostError` where another gateway may have taken the claim over, or may soon."""
        if self._clock.monotonic() + LEASE_MARGIN_SECONDS > self.ends_at:
            raise LeaseLostError(f"the lease on {self.command_id} has not been renewed in time")


class Leases:
    """The leases of one claimant."""

    def __init__(self, claimant: str, deliveries: Deliveries, clock: Clock) -> None:
        self._claimant = claimant
        self._deliveries = deliveries
        self._clock = clock
        self._by_command: dict[str, Lease] = {}

    def begin(self, command_id: str, claim_id: str) -> Lease:
        """Begin a lease for a command that is being claimed; until it is renewed, no provider may be called under it."""
        lease = self._by_command[command_id] = Lease(command_id, claim_id, self._clock)
        return lease

    def end(self, lease: Lease) -> None:
        """Stop renewing a lease; may be repeated."""
        if self._by_command.get(lease.command_id) is lease:
            del self._by_command[lease.command_id]

    async def renew(self, *, lease_seconds: float = LEASE_SECONDS) -> None:
        """Renew every claim in progress; with 0, release them. Raises `StoreError`."""
        leases = sorted(self._by_command.values(), key=lambda lease: lease.command_id)
        for first in range(0, len(leases), RENEWED_AT_ONCE_MAX):
            group = leases[first : first + RENEWED_AT_ONCE_MAX]
            asked_at = self._clock.monotonic()
            claims = {lease.command_id: lease.claim_id for lease in group}
            renewed = await self._deliveries.renew(claims, claimant=self._claimant, lease_seconds=lease_seconds)
            for lease in group:
                if lease.command_id in renewed:
                    lease.ends_at = asked_at + lease_seconds


_current: ContextVar[Lease | None] = ContextVar("lease", default=None)


@contextmanager
def under(lease: Lease) -> Iterator[None]:
    """Make this the lease that `check_lease` checks."""
    token = _current.set(lease)
    try:
        yield
    finally:
        _current.reset(token)


def current_claim_id() -> str | None:
    """Return the claim under which an order is given; None outside of a delivery."""
    lease = _current.get()
    return None if lease is None else lease.claim_id


def check_lease() -> None:
    """Raise `LeaseLostError` where another gateway may have taken the command over by now.

    A provider that prepares first, or retries, calls it right before each request, with nothing awaited in between.
    """
    lease = _current.get()
    if lease is not None:
        lease.check()
