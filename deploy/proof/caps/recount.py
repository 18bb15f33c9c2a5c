"""What do the topics say of caps? Slots as they were granted and ended, counted once more in the order of the log.

Nothing of the account's own counting is used: a grant is what the contacts received; its periods come from the calendar.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from msgspec import Struct

from schemas.account import CapUsage
from schemas.decisions import REMOVED, Change, Decision
from schemas.instant import EPOCH, Instant, from_datetime, to_datetime
from schemas.money import amount as rounded
from schemas.requests import CallEarned, SlotAnswered, SlotReleased, SlotRequested

LIMITED = ("buyer", "buyer_group", "traffic_source", "number")
PERIODS = ("hourly", "daily", "monthly", "total")
RESERVED = ("attempt", "connection")
"""What a grant takes before the outcome is known: never more than the cap, at any instant."""

USED_BY: Mapping[str, tuple[str, ...]] = {
    "unused": (), "attempted": ("attempt",), "connected": RESERVED, "unknown": RESERVED,
}  # fmt: skip
"""How a slot ended -> what it used."""

CONCURRENCY = "concurrency"

Request = SlotRequested | SlotReleased | CallEarned
Span = tuple[str, str, Instant]
"""A record, the name of a period, and when the period began."""


class Limits(Struct, frozen=True):
    """The caps of a record as it stands: `attempt_daily` -> limit; in which zone; since when the total counts."""

    zone: str
    concurrency: int | None
    caps: dict[str, Decimal]
    total_from: Instant


class Slot(Struct, frozen=True):
    """A slot that was granted: the records that it counts for, with its periods, and what it reserves there."""

    records: tuple[str, ...]
    spans: tuple[Span, ...]
    reserves: tuple[str, ...]


class Counters(Struct, frozen=True):
    """What somebody else counted for one record: the changelog of the accounts, or the read tables."""

    in_use: int
    tallies: dict[str, CapUsage]


class Recount:
    """The slots of all records after the decisions taken in so far; `passed` are caps that were, in words."""

    def __init__(self) -> None:
        self.limits: dict[str, Limits] = {}
        self.open: dict[str, Slot] = {}
        self.granted: Counter[str] = Counter()
        """Id of a slot -> how often it was granted."""
        self.ended: list[tuple[str, str]] = []
        """Ids of slots, and how each ended."""
        self.used: defaultdict[Span, defaultdict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
        self.reserved: defaultdict[Span, Counter[str]] = defaultdict(Counter)
        self.in_use: Counter[str] = Counter()
        self.earned: defaultdict[str, defaultdict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
        """Record -> metric -> what calls brought it, whenever."""
        self.highest: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
        """Record and cap -> the most that was used of it at once."""
        self.passed: list[str] = []
        self._sources: dict[str, int] = {}

    def take(self, decision: Decision, request: Request | None, where: str = "") -> None:
        """Take in one decision of an accounts partition, and the request that it decides where that is about slots."""
        if decision.verdict != "done":
            return
        for change in decision.changes:
            self._take_record(change)
        match request:
            case SlotRequested(traffic_source_id=int(source_id)):
                self._sources[request.request_id] = source_id
            case SlotReleased():
                self._end(request)
            case CallEarned():
                self._earn(request)
        for message in decision.messages:
            if message.type == "slot.answered":
                answer = msgspec.json.decode(message.body, type=SlotAnswered)
                if answer.granted and answer.request_id not in self.open:  # else it is a repeat
                    self._grant(answer, decision.decided_at, where)

    def _take_record(self, change: Change) -> None:
        _, _, name = change.key.partition("record/")
        if change.value == REMOVED or name.partition("/")[0] not in LIMITED:
            return
        body: dict[str, Any] = msgspec.json.decode(change.value)["body"]
        self.limits[name] = Limits(
            body.get("time_zone", "UTC"),
            body.get("concurrency_cap_limit"),
            body.get("caps", {}),
            Instant(body.get("total_caps_reset_at") or 0),
        )

    def _grant(self, answer: SlotAnswered, now: Instant, where: str) -> None:
        source_id = self._sources.get(answer.request_id)
        ids = {
            "buyer_group": answer.buyer_group_id,
            "buyer": answer.buyer_id,
            "traffic_source": source_id,
            "number": answer.number_id,
        }
        records = tuple(f"{kind}/{id_}" for kind, id_ in ids.items() if id_ is not None)
        reserves = RESERVED if answer.buyer_id is not None else ("attempt",)
        spans = tuple(self._span(record, period, now) for record in records for period in PERIODS)
        for record in records:
            self.passed += (f"{where}: slot {answer.request_id}: {fault}" for fault in self._reached(record, now))
        for span in spans:
            self.reserved[span].update(reserves)
        self.in_use.update(records)
        self.open[answer.request_id] = Slot(records, spans, reserves)
        self.granted[answer.request_id] += 1
        for record in records:
            self.passed += (f"{where}: slot {answer.request_id}: {fault}" for fault in self._over(record, now))

    def _reached(self, record: str, now: Instant) -> Iterator[str]:
        """Yield the caps on conversions and revenue under which nothing more may be granted."""
        limits = self.limits[record]
        for cap, limit in limits.caps.items():
            metric, _, period = cap.rpartition("_")
            used = self.used[self._span(record, period, now)][metric]
            if metric not in RESERVED and used >= limit:
                yield f"{record} has {used:g} of {cap}, {limit:g} were to be the last"

    def _over(self, record: str, now: Instant) -> Iterator[str]:
        """Yield the caps on attempts, connections and calls at a time that are passed; note the most that was used."""
        limits = self.limits[record]
        found: dict[str, tuple[Decimal, Decimal | int | None]] = {
            CONCURRENCY: (Decimal(self.in_use[record]), limits.concurrency)
        }
        for cap, limit in limits.caps.items():
            metric, _, period = cap.rpartition("_")
            span = self._span(record, period, now)
            if metric in RESERVED:
                found[cap] = self.used[span][metric] + self.reserved[span][metric], limit
        for cap, (amount, most) in found.items():
            self.highest[record, cap] = max(self.highest[record, cap], amount)
            if most is not None and amount > most:
                yield f"{record} has {amount:g} of {cap}, {most:g} are allowed"

    def _end(self, request: SlotReleased) -> None:
        slot = self.open.pop(request.request_id, None)
        if slot is None:
            return  # a request that was taken back before it was granted
        self.ended.append((request.request_id, request.ended))
        self.in_use.subtract(slot.records)
        for span in slot.spans:
            self.reserved[span].subtract(slot.reserves)
            for metric in slot.reserves:
                self.used[span][metric] += metric in USED_BY[request.ended]

    def _earn(self, request: CallEarned) -> None:
        for record, amounts in request.amounts.items():
            for metric, amount in amounts.items():
                self.earned[record][metric] += amount
                for period in PERIODS:
                    span = self._span(record, period, request.at)
                    self.used[span][metric] = rounded(self.used[span][metric] + amount)
                    cap = f"{metric}_{period}"
                    self.highest[record, cap] = max(self.highest[record, cap], self.used[span][metric])

    def _span(self, record: str, period: str, at: Instant) -> Span:
        limits = self.limits[record]
        return record, period, limits.total_from if period == "total" else begin(period, at, limits.zone)

    def differences(self, counters: Mapping[str, Counters]) -> Iterator[str]:
        """Yield what somebody else counted otherwise, of each record with limits."""
        newest: dict[tuple[str, str], Instant] = {}
        for record, period, began_at in {*self.used, *self.reserved}:
            newest[record, period] = max(began_at, newest.get((record, period), EPOCH))
        for record, limits in self.limits.items():
            found = counters.get(record, Counters(0, {}))
            if found.in_use != self.in_use[record]:
                yield f"{record} has {self.in_use[record]} slots in use, {found.in_use} are counted"
            if not limits.caps:
                continue
            for period in PERIODS:
                last = newest.get((record, period))
                if last is not None:
                    yield from self._difference(
                        record, period, found.tallies.get(period, CapUsage(began_at=Instant(-1))), last
                    )

    def _difference(self, record: str, period: str, tally: CapUsage, last: Instant) -> Iterator[str]:
        limits = self.limits[record]
        began_at, ends_at = tally.began_at, None
        if period != "total":
            began_at, ends_at = begin(period, tally.began_at, limits.zone), end(period, tally.began_at, limits.zone)
        if (began_at, ends_at) != (tally.began_at, tally.ends_at) or began_at < last:
            yield f"{record}, {period}: counted from {tally.began_at} to {tally.ends_at}, the last began at {last}"
            return
        span = record, period, began_at
        used, reserved = _some(self.used.get(span, {})), _some(self.reserved.get(span, {}))
        if (used, reserved) != (_some(tally.used), _some(tally.open)):
            yield f"{record}, {period}: used {used}, reserved {reserved}; counted are {tally.used} and {tally.open}"


def begin(period: str, at: Instant, zone: str) -> Instant:
    """Return when the hour, day or month began that an instant lies in, on the clock of a zone."""
    return from_datetime(_floor(period, to_datetime(at).astimezone(ZoneInfo(zone))))


def end(period: str, at: Instant, zone: str) -> Instant:
    """Return when the hour, day or month ends that an instant lies in, on the clock of a zone."""
    began = _floor(period, to_datetime(at).astimezone(ZoneInfo(zone)))
    match period:
        case "hourly":
            return from_datetime(began + timedelta(hours=1))
        case "daily":
            return from_datetime(began + timedelta(days=1))
        case _:
            return from_datetime(_floor("monthly", began + timedelta(days=31)))


def _floor(period: str, local: datetime) -> datetime:
    """Cut a local time to its hour, day or month. No clock of the proof's zones is changed while it runs."""
    local = local.replace(minute=0, second=0, microsecond=0)
    if period == "hourly":
        return local
    local = local.replace(hour=0)
    return local if period == "daily" else local.replace(day=1)


def _some(amounts: Mapping[str, Decimal | int]) -> dict[str, Decimal | int]:
    """Return the amounts that are not nothing."""
    return {metric: amount for metric, amount in amounts.items() if amount}
