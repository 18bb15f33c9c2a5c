"""Does each period keep its own account: is what it reserved confirmed, given back or open, and never above its limit?

A second account is kept by the rules as users read them: an hour begins at :00, a day at local
midnight, a month on the 1st, in the zone of the record; a reset sets the total to zero; a grant reserves, and an outcome
confirms or gives back in the period of the grant; a period that has begun keeps its end.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.account import Slots
from schemas.instant import DAY, HOUR, MINUTE, SECOND, Instant, Millis, from_datetime, to_datetime
from schemas.requests import SlotAnswered
from tests.engine.account.conftest import AccountWorld
from tests.engine.contact.world import NEW_YORK, at

METRICS = ("attempt", "connection")
PERIODS = ("hourly", "daily", "monthly", "total")
USED = {"unused": (), "attempted": ("attempt",), "connected": METRICS, "unknown": METRICS}
LIMITS = {
    "buyer": {"attempt_hourly": 2, "connection_daily": 3, "attempt_total": 7},
    "buyer_group": {"attempt_daily": 4, "connection_hourly": 2, "connection_monthly": 5},
    "traffic_source": {"connection_hourly": 3, "connection_daily": 5, "connection_total": 9},
}
TIMERS_MAX = 500
"""Of one wait: more is a timer that is due again at once."""

ZONES = (NEW_YORK, "Asia/Kolkata", "America/Santiago")
"""Not that of Lord Howe, whose hours are cut by half twice a year: below."""


@dataclass
class BookedCount:
    """What one metric did in one period."""

    reserved: int = 0
    confirmed: int = 0
    given_back: int = 0

    @property
    def open(self) -> int:
        return self.reserved - self.confirmed - self.given_back


@dataclass
class Period:
    """One period of one record: from when a grant first fell into it, to its end (None: until it is reset)."""

    ends: Instant | None
    of: dict[str, BookedCount] = field(default_factory=lambda: {metric: BookedCount() for metric in METRICS})

    def used(self, metric: str) -> int:
        return self.of[metric].confirmed + self.of[metric].open


def end_of(period: str, now: Instant, zone: str) -> Instant | None:
    """Return when the period ends that begins or goes on now, by the clocks of a zone."""
    local = to_datetime(now).astimezone(ZoneInfo(zone))
    match period:
        case "hourly":  # the next instant at which the minute hand is at the top, or jumps
            found = to_datetime(now).replace(second=0, microsecond=0) + timedelta(minutes=1)
            while found.astimezone(ZoneInfo(zone)).minute and _offset(found, zone) == local.utcoffset():
                found += timedelta(minutes=1)
            return from_datetime(found)
        case "daily":
            return first_instant_of(local.date() + timedelta(days=1), zone)
        case "monthly":
            return first_instant_of((local.date().replace(day=28) + timedelta(days=4)).replace(day=1), zone)
    return None


def _offset(at: datetime, zone: str) -> timedelta | None:
    return at.astimezone(ZoneInfo(zone)).utcoffset()


def first_instant_of(day: Any, zone: str) -> Instant:
    """Return the first instant that carries a date; midnight itself may be missing there."""
    found = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=15)
    while found.astimezone(ZoneInfo(zone)).date() < day:
        found += timedelta(minutes=15)
    return from_datetime(found)


class CapBook:
    """The second book of one record."""

    def __init__(self, zone: str, limits: dict[str, int]) -> None:
        self.zone, self.limits = zone, dict(limits)
        self.present: dict[str, Period] = {}
        self.past: list[Period] = []

    def period(self, name: str, now: Instant) -> Period:
        """Return the period that a grant falls into now; one that has begun keeps its end, whatever becomes of the zone."""
        known = self.present.get(name)
        if known is None or (known.ends is not None and known.ends <= now):
            self.past += [] if known is None else [known]
            known = self.present[name] = Period(end_of(name, now, self.zone))
        return known

    def full(self, now: Instant) -> list[str]:
        """Return the caps that leave no room for one more call."""
        found = []
        for cap, limit in self.limits.items():
            metric, _, name = cap.rpartition("_")
            known = self.present.get(name)
            is_over = known is None or (known.ends is not None and known.ends <= now)
            if (0 if known is None or is_over else known.used(metric)) >= limit:
                found.append(cap)
        return found

    def reserve(self, now: Instant) -> list[Period]:
        """Enter a grant; return the periods that it fell into."""
        held = [self.period(name, now) for name in PERIODS]
        for period in held:
            for metric in METRICS:
                period.of[metric].reserved += 1
        return held

    def reset(self) -> None:
        """Set the total to zero."""
        if "total" in self.present:
            self.past.append(self.present.pop("total"))


def settle(held: list[Period], ended: str) -> None:
    for period in held:
        for metric in METRICS:
            if metric in USED[ended]:
                period.of[metric].confirmed += 1
            else:
                period.of[metric].given_back += 1


class CapTown:
    """An account with a buyer in a group, a traffic source, and a second book of each."""

    def __init__(self, now: Instant) -> None:
        self.account = AccountWorld()
        self.account.now = now
        given = {name: {f"{cap}_limit": limit for cap, limit in caps.items()} for name, caps in LIMITS.items()}
        buyer_id = self.account.buyer(time_zone=NEW_YORK, **given["buyer"])
        self.ids = {
            "buyer": buyer_id,
            "buyer_group": self.account.group(buyer_id, time_zone=NEW_YORK, **given["buyer_group"]),
            "traffic_source": self.account.create(
                "traffic_source", name="Ads", time_zone=NEW_YORK, **given["traffic_source"]
            ),
        }
        self.books = {name: CapBook(NEW_YORK, caps) for name, caps in LIMITS.items()}
        self.ways: list[tuple[dict[str, Any], list[str]]] = [
            ({"buyer_ids": (buyer_id,)}, ["buyer"]),
            ({"buyer_group_id": self.ids["buyer_group"]}, ["buyer", "buyer_group"]),
            (
                {"buyer_group_id": self.ids["buyer_group"], "traffic_source_id": self.ids["traffic_source"]},
                ["buyer", "buyer_group", "traffic_source"],
            ),
        ]
        self.asked: dict[str, list[str]] = {}
        self.held: dict[str, list[Period]] = {}

    def want(self, way: int) -> None:
        asked, records = self.ways[way]
        request_id = f"r{len(self.asked)}"
        self.asked[request_id] = records
        full = [cap for name in records for cap in self.books[name].full(self.account.now)]
        waiting = [key for key in self.queues() if self.queue(key).waiting]
        self.take(self.account.want(request_id, **asked))
        assert request_id in self.held or full or waiting, f"{request_id} got no slot though there was room"

    def take(self, sent: Sequence[SlotAnswered]) -> None:
        """Enter the grants of one decision, none of which may pass a cap."""
        for answer in sent:
            if not answer.granted:
                continue
            held: list[Period] = []
            for name in self.asked[answer.request_id]:
                full = self.books[name].full(self.account.now)
                assert not full, f"{answer.request_id} passes {full} of the {name}"
                held += self.books[name].reserve(self.account.now)
            self.held[answer.request_id] = held

    def release(self, place: int, ended: str) -> None:
        if self.held:
            request_id = list(self.held)[place % len(self.held)]
            settle(self.held.pop(request_id), ended)
            self.take(self.account.release(request_id, ended=ended))

    def wait(self, length: Millis) -> None:
        """Let time pass, and every timer on the way be due when it is."""
        until = self.account.now + length
        for _ in range(TIMERS_MAX):
            due = [(wake_at, key) for key in self.queues() if (wake_at := self.queue(key).wake_at) is not None]
            if not due or min(due)[0] > until:
                self.account.now = until
                return
            self.account.now = max(self.account.now, min(due)[0])
            self.take(self.account.tick(min(due)[1]))
        raise AssertionError("timers never come to rest")

    def change(self, name: str, **fields: Any) -> None:
        """Change a record; where it is counted already, periods that have ended are followed by new ones."""
        book = self.books[name]
        if "reset_total_caps" in fields:
            self.wait(SECOND)  # two resets of one millisecond are one
            book.reset()
        elif (
            fields.items() <= {"time_zone": book.zone, **{f"{cap}_limit": most for cap, most in book.limits.items()}}.items()
        ):
            return
        book.zone = fields.get("time_zone", book.zone)
        book.limits |= {cap: fields[f"{cap}_limit"] for cap in book.limits if f"{cap}_limit" in fields}
        if self.account.state.get(f"slots/1/{name}/{self.ids[name]}", Slots) is not None:
            for period in PERIODS:
                book.period(period, self.account.now)
        self.take(self.account.changed(name, self.ids[name], **fields))

    def queues(self) -> list[str]:
        return [key for key, _ in self.account.state.items() if key.startswith("slots/")]

    def queue(self, key: str) -> Slots:
        found = self.account.state.get(key, Slots)
        assert found is not None
        return found

    def differences(self) -> Iterator[str]:
        """Yield where the account tells another story than the second book."""
        for name, book in self.books.items():
            slots = self.account.state.get(f"slots/1/{name}/{self.ids[name]}", Slots)
            for period, known in book.present.items():
                if known.ends is not None and known.ends <= self.account.now:
                    continue
                tally = None if slots is None else slots.tallies.get(period)
                if tally is None or (tally.ends_at is not None and tally.ends_at <= self.account.now):
                    yield f"{name} {period}: nothing is counted, the book has {known}"
                    continue
                for metric in METRICS:
                    shown = tally.used.get(metric, 0), tally.open.get(metric, 0)
                    mine = known.of[metric].confirmed, known.of[metric].open
                    if shown != mine or tally.ends_at != known.ends:
                        yield f"{name} {period} {metric}: {shown} until {tally.ends_at}, the book {mine} until {known.ends}"


BEGINNINGS = {
    "an hour of New York comes twice": at("2026-10-31 22:10"),
    "an hour of New York is left out": at("2026-03-07 22:10"),
    "Santiago has no midnight": at("2026-09-05 21:40", "America/Santiago"),
    "a month ends": at("2026-02-28 22:10"),
}
NAMES = st.sampled_from(sorted(LIMITS))

things = st.lists(
    st.one_of(
        st.tuples(st.just("want"), st.integers(0, 2)),
        st.tuples(st.just("want"), st.integers(0, 2)),
        st.tuples(st.just("release"), st.integers(0, 30), st.sampled_from(sorted(USED))),
        st.tuples(st.just("wait"), st.sampled_from([10 * MINUTE, 25 * MINUTE, HOUR, 5 * HOUR, DAY])),
        st.tuples(st.just("reset"), NAMES),
        st.tuples(st.just("zone"), NAMES, st.sampled_from(ZONES)),
        st.tuples(st.just("limit"), NAMES, st.integers(0, 12)),
    ),
    max_size=50,
)


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(sorted(BEGINNINGS)), st.sampled_from(ZONES), things)
def test_each_period_confirms_gives_back_or_still_holds_what_it_reserved_and_passes_no_limit(
    beginning: str, zone: str, steps: list[tuple[Any, ...]]
) -> None:
    town = CapTown(BEGINNINGS[beginning])
    for name in LIMITS:
        town.change(name, time_zone=zone)
    for what, *how in steps:
        match what:
            case "want":
                town.want(how[0])
            case "release":
                town.release(*how)
            case "wait":
                town.wait(how[0])
            case "reset":
                town.change(how[0], reset_total_caps=True)
            case "zone":
                town.change(how[0], time_zone=how[1])
            case "limit":
                town.change(how[0], **{f"{next(iter(LIMITS[how[0]]))}_limit": how[1]})
        assert not list(town.differences()), (what, how)
    # What was still under way when its period ended is settled there too, in no period that came later.
    for place in range(len(town.held)):
        town.release(place, "unknown")
    assert not list(town.differences())


@pytest.mark.parametrize("changed_at", ["2026-04-04 15:00", "2026-10-03 15:30"], ids=["back", "forward"])
def test_a_cap_holds_in_an_hour_that_a_change_of_the_clock_by_half_an_hour_cuts(changed_at: str) -> None:
    account = AccountWorld()
    account.now = at(changed_at, "UTC") + 10 * MINUTE
    group_id = account.group(account.buyer(), time_zone="Australia/Lord_Howe", attempt_hourly_limit=1)
    assert account.want("a", buyer_group_id=group_id)[0].granted
    account.release("a", ended="attempted")
    assert [answer.granted for answer in account.want("b", buyer_group_id=group_id)] == [False]
