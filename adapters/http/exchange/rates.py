"""How many requests per second may a company send? One token bucket per company and class of operations, in this process.

A valid key or a lead token names the company. Requests without either have a bucket per network address. Each API process
allows the whole rate: the limit protects a process from one sender, it is not a quota.
"""

from collections import OrderedDict
from math import ceil

from msgspec import Struct

from adapters.http.exchange.settings import Rate

BUCKETS_MAX = 10_000
"""Buckets in memory. The one unused for longest is dropped, so its sender starts with a full one, as after a wait."""


class Bucket(Struct):
    """What is left in a token bucket at a moment of the monotonic clock."""

    left: float
    at: float


class Allowance(Struct, frozen=True):
    """Whether a request is allowed. `limit` is per second; the bucket is full again in `reset_seconds`."""

    allowed: bool
    limit: int
    remaining: int
    reset_seconds: int
    retry_after_seconds: int

    def headers(self) -> dict[str, str]:
        """Return the RateLimit headers, with Retry-After if the request is not allowed."""
        headers = {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset_seconds),
        }
        return headers if self.allowed else {**headers, "Retry-After": str(self.retry_after_seconds)}


class Limiter:
    """The token buckets of one process. A sender is a company or a network address."""

    def __init__(self, rates: dict[str, Rate]) -> None:
        self._rates = rates
        self._buckets: OrderedDict[tuple[str, str], Bucket] = OrderedDict()

    def take(self, rate_name: str, sender: str, at: float, count: int = 1) -> Allowance | None:
        """Take tokens from a sender's bucket at a moment of the monotonic clock (seconds); None if the rate is off.

        More than the bucket holds are taken from a full one, and are owed: the sender waits for them afterwards.
        """
        rate = self._rates.get(rate_name)
        if rate is None:
            return None
        bucket = self._bucket(rate_name, sender, rate, at)
        needed = min(count, rate.burst)
        allowed = bucket.left >= needed
        if allowed:
            bucket.left -= count
        return Allowance(
            allowed=allowed,
            limit=ceil(rate.per_second),
            remaining=max(0, int(bucket.left)),
            reset_seconds=ceil((rate.burst - bucket.left) / rate.per_second),
            retry_after_seconds=max(1, ceil((needed - bucket.left) / rate.per_second)),
        )

    def _bucket(self, rate_name: str, sender: str, rate: Rate, at: float) -> Bucket:
        bucket = self._buckets.pop((rate_name, sender), None) or Bucket(rate.burst, at)
        bucket.left = min(rate.burst, bucket.left + (at - bucket.at) * rate.per_second)
        bucket.at = at
        self._buckets[rate_name, sender] = bucket
        if len(self._buckets) > BUCKETS_MAX:
            self._buckets.popitem(last=False)
        return bucket
