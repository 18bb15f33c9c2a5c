"""What does the deliverer need from a database? To store events with the position behind them, and to lease what is due."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from engine.partition.continuity import ReadMark
from schemas.instant import Instant


class NewDelivery(Struct, frozen=True, kw_only=True):
    """An event for one subscription. `webhook_id` is the same whenever the event is read."""

    webhook_id: str
    company_id: int
    subscription_id: int
    event: str
    lead_id: int | None
    call_id: int | None
    occurred_at: Instant
    body: bytes


class DueDelivery(Struct, frozen=True, kw_only=True):
    """A delivery that this process may send until its lease ends; `tries` were made before."""

    id: int
    webhook_id: str
    company_id: int
    subscription_id: int
    event: str
    lead_id: int | None
    body: str
    tries: int


class DeliveryPlaces(Struct, frozen=True, kw_only=True):
    """How many more events of a subscription, and of its company, may be under way."""

    subscription_id: int
    company_id: int
    of_subscription: int
    of_company: int


class PostAttempt(Struct, frozen=True, kw_only=True):
    """What came of one attempt. `retry_in_seconds` None: it is delivered, or given up."""

    is_delivered: bool
    status: int | None
    detail: str
    milliseconds: int
    retry_in_seconds: float | None


class SubscriptionStore(Protocol):
    """Events that wait, and what became of them. Every method raises `StoreError` when the database fails.

    No contract suite: PostgreSQL alone keeps them; tests/adapters/subscriptions/test_store.py runs on a real one.
    """

    async def progress(self, topic: str, partition: int) -> ReadMark | None:
        """Return how far every event of a partition is stored, of a former topic of that name too, or None."""
        ...

    async def store(self, topic: str, marks: Mapping[int, ReadMark], deliveries: Sequence[NewDelivery]) -> None:
        """Store events and how far each partition was read, all or nothing. A mark of another topic than stored is ignored.

        An event that is stored already stays as it is. Of a subscription with `WAITING_MAX` waiting events further ones are
        counted and not stored.
        """
        ...

    async def disabled(self) -> frozenset[int]:
        """Return the subscriptions that are not sent to any more."""
        ...

    async def claim(
        self, places: Sequence[DeliveryPlaces], *, most: int, claimant: str, lease_seconds: float
    ) -> list[DueDelivery]:
        """Lease at most `most` deliveries that are due, within the places of each subscription and company.

        An event waits for earlier ones of its lead, each for at most `HELD_BACK_SECONDS` after it first failed.
        """
        ...

    async def record(self, delivery_id: int, attempt: PostAttempt, *, claimant: str) -> bool:
        """Record an attempt. Return whether the receiver has accepted nothing since this delivery began to fail."""
        ...

    async def release(self, delivery_ids: Sequence[int], *, claimant: str) -> None:
        """Give leases back under which nothing was sent."""
        ...

    async def disable(self, subscription_id: int, reason: str) -> None:
        """Stop sending to a subscription until it is enabled again."""
        ...

    async def purge(self) -> int:
        """Delete deliveries and attempts that are older than `RETENTION_SECONDS`; return how many."""
        ...


WAITING_MAX = 100_000
"""Waiting events of one subscription: some 200 MB. A receiver that is down for a day misses nothing of 1 event a second."""

HELD_BACK_SECONDS = 300.0
"""How long one failing event holds later ones of its lead back: order matters, but less than that they arrive."""

RETENTION_SECONDS = 30 * 86_400.0
"""How long an event can be looked up and sent again."""
