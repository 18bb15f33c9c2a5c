"""When does a frequency cap release a number? Exact to the millisecond, from the ledger of the number.

A cap allows `count` contacts in any `period`: the half-open span from a contact on, so exactly a period after the count-th
last one the next is free (never "+1 day"). Commands in flight stand in the ledger from their reservation on, and count.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from schemas.instant import DAY, Instant, Millis

FREQUENCY_CAP_CODE = "frequency_cap"
"""The `status_wait` of a lead that waits for a release."""

CAP_COUNT_MAX = 1_000
CAP_PERIOD_MAX = 31 * DAY
"""The ledger of a number (`engine/contact/facts/ledger.py`) holds this many contacts for this long; no cap looks further."""


class Entry(Protocol):
    """One counted contact: when its command was emitted, and `call` or `sms`.

    No contract suite: the shape of a value, which promises nothing.
    """

    @property
    def at(self) -> Instant: ...  # noqa: D102 - said above

    @property
    def kind(self) -> str: ...  # noqa: D102 - said above


class Cap(Struct, frozen=True):
    """At most `count` contacts of the kinds in any `period` milliseconds; `rule_ids` are the rows that say so."""

    count: int
    period: Millis
    counts: frozenset[str]
    rule_ids: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    def implies(self, other: "Cap") -> bool:
        """Return whether this cap is at least as strict as the other one."""
        return self.count <= other.count and self.period >= other.period and self.counts >= other.counts


class Release(Struct, frozen=True):
    """The instant at which the last cap releases the number, and that cap."""

    at: Instant
    cap: Cap


def release_at(entries: Sequence[Entry], cap: Cap, now: Instant) -> Instant | None:
    """Return when the next contact is free, or None where it is now; `entries` may be in any order."""
    if len(entries) < cap.count:
        return None
    since = now - cap.period
    counted = [entry.at for entry in entries if entry.at > since and entry.kind in cap.counts]
    if len(counted) < cap.count:
        return None
    return sorted(counted)[-cap.count] + cap.period


def last_release(entries: Sequence[Entry], caps: Iterable[Cap], now: Instant) -> Release | None:
    """Return when all caps are free, or None where they are now.

    Valid for a future base, too: nothing enters the ledger before the contact that is being planned.
    """
    last: Release | None = None
    for cap in caps:
        at = release_at(entries, cap, now)
        if at is not None and (last is None or at > last.at):
            last = Release(at, cap)
    return last


def strictest(caps: Iterable[Cap]) -> tuple[Cap, ...]:
    """Return the caps that are not implied by another; of equal ones, one that names the rules of all."""
    same: dict[tuple[int, Millis, frozenset[str]], Cap] = {}
    for cap in caps:
        known = same.get((cap.count, cap.period, cap.counts))
        same[cap.count, cap.period, cap.counts] = cap if known is None else _joined(known, cap)
    merged = tuple(same.values())
    return tuple(cap for cap in merged if not any(other is not cap and other.implies(cap) for other in merged))


def _joined(first: Cap, second: Cap) -> Cap:
    sources = tuple(dict.fromkeys((*first.sources, *second.sources)))
    return Cap(first.count, first.period, first.counts, (*first.rule_ids, *second.rule_ids), sources)
