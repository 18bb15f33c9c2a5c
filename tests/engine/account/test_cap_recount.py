"""Does the judge of `make prove-caps` agree with an account that counts rightly, and does it see what is wrong?"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from deploy.proof.caps.recount import Counters, Recount, Request, begin, end
from engine.partition.decider import Sealed
from schemas.account import CapUsage
from schemas.decisions import Decision
from schemas.instant import HOUR, MINUTE, from_datetime, to_datetime
from schemas.requests import AccountRequest, CallEarned, SlotReleased, SlotRequested
from tests.engine.account.conftest import AccountWorld
from tests.engine.contact.world import NEW_YORK, at

CAPS = {"attempt_hourly_limit": 2, "connection_daily_limit": 3, "revenue_total_limit": 100}


class RecountedAccount(AccountWorld):
    """An account whose decisions are kept with their requests, as on the log."""

    def __init__(self) -> None:
        self.log: list[tuple[Decision, Request | None]] = []
        super().__init__()
        self.now = at("2026-07-15 13:50")

    def ask(self, request: AccountRequest, *, request_id: str | None = None, actor: str | None = None) -> Sealed:
        sealed = super().ask(request, request_id=request_id, actor=actor)
        about_slots = request if isinstance(request, SlotRequested | SlotReleased | CallEarned) else None
        self.log.append((sealed.decision, about_slots))
        return sealed

    def counters(self) -> dict[str, Counters]:
        found = [self.slots(record) for record in recount(self).limits]
        return {slots.resource: Counters(slots.in_use, slots.tallies) for slots in found}


def recount(account: RecountedAccount, without: int | None = None) -> Recount:
    """Count the log once more, without the decision at one place."""
    found = Recount()
    for place, (decision, request) in enumerate(account.log):
        if place != without:
            found.take(decision, request)
    return found


@pytest.fixture
def busy() -> RecountedAccount:
    """Three calls, of which one is open, and one that earned something."""
    account = RecountedAccount()
    group_id = account.group(account.buyer(concurrency_cap_limit=2, **CAPS), time_zone=NEW_YORK, **CAPS)
    for request_id in "ab":
        assert account.want(request_id, buyer_group_id=group_id)[0].granted
    account.release("a", ended="connected")
    account.earned(account.now, **{f"buyer_group_{group_id}": {"revenue": 60.0}})
    account.release("b", ended="unused")
    assert account.want("c", buyer_group_id=group_id)[0].granted
    return account


def group_of(account: RecountedAccount) -> str:
    return next(record for record in account.counters() if record.startswith("buyer_group/"))


def test_a_right_account_is_found_right(busy: RecountedAccount) -> None:
    found = recount(busy)

    assert found.passed == []
    assert list(found.differences(busy.counters())) == []
    assert (found.granted.total(), len(found.ended), list(found.open)) == (3, 2, ["c"])


def _one_more_used(tally: CapUsage) -> CapUsage:
    return CapUsage(tally.began_at, tally.ends_at, tally.after, {**tally.used, "attempt": Decimal(9)}, tally.open)


def _nothing_open(tally: CapUsage) -> CapUsage:
    return CapUsage(tally.began_at, tally.ends_at, tally.after, tally.used, {})


def _begun_elsewhere(tally: CapUsage) -> CapUsage:
    return CapUsage(tally.began_at + MINUTE, tally.ends_at, tally.after, tally.used, tally.open)


@pytest.mark.parametrize("period", ["hourly", "daily", "monthly", "total"])
@pytest.mark.parametrize("plant", [_one_more_used, _nothing_open, _begun_elsewhere])
def test_a_planted_counter_is_found(busy: RecountedAccount, period: str, plant: Any) -> None:
    counters, group = busy.counters(), group_of(busy)
    tallies = counters[group].tallies
    counters[group] = replace(counters[group], tallies={**tallies, period: plant(tallies[period])})

    (fault,) = recount(busy).differences(counters)

    assert fault.startswith(f"{group}, {period}")


def test_a_slot_too_many_and_a_missing_record_are_found(busy: RecountedAccount) -> None:
    counters, group = busy.counters(), group_of(busy)
    more = {**counters, group: replace(counters[group], in_use=2)}
    del counters[group]

    assert list(recount(busy).differences(more)) == [f"{group} has 1 slots in use, 2 are counted"]
    assert len(list(recount(busy).differences(counters))) == 5


def test_a_cap_that_is_passed_is_found_at_the_grant_that_passes_it(busy: RecountedAccount) -> None:
    # Without the decision that gave it back, the attempt of `b` is a third within the hour, where two are allowed.
    gave_back = next(
        n for n, (_, asked) in enumerate(busy.log) if isinstance(asked, SlotReleased) and asked.request_id == "b"
    )

    found = recount(busy, without=gave_back)

    assert [fault.partition(": slot ")[2] for fault in found.passed] == [
        f"c: {record} has 3 of attempt_hourly, 2 are allowed" for record in (group_of(busy), "buyer/" + busy_buyer(busy))
    ]


def busy_buyer(account: RecountedAccount) -> str:
    return next(record for record in account.counters() if record.startswith("buyer/")).partition("/")[2]


def test_a_grant_after_the_revenue_was_reached_is_found(busy: RecountedAccount) -> None:
    place = next(n for n, (_, asked) in enumerate(busy.log) if isinstance(asked, CallEarned))
    decision, earned = busy.log[place]
    assert isinstance(earned, CallEarned)
    busy.log[place] = decision, replace(earned, amounts={group_of(busy): {"revenue": Decimal(100)}})

    assert [fault.partition(": slot ")[2] for fault in recount(busy).passed] == [
        f"c: {group_of(busy)} has 100 of revenue_total, 100 were to be the last"
    ]


def test_a_slot_over_the_calls_at_a_time_is_found(busy: RecountedAccount) -> None:
    ended = [n for n, (_, asked) in enumerate(busy.log) if isinstance(asked, SlotReleased)]
    del busy.log[ended[1]], busy.log[ended[0]]

    assert any("of concurrency, 2 are allowed" in fault for fault in recount(busy).passed)


def test_periods_are_those_of_the_calendar_of_the_zone() -> None:
    now = at("2026-07-15 13:50")
    for zone, minute in ((NEW_YORK, 0), ("Asia/Kolkata", 30)):
        assert to_datetime(begin("hourly", now, zone)).minute == to_datetime(end("hourly", now, zone)).minute == minute
    assert (begin("daily", now, NEW_YORK), end("daily", now, NEW_YORK)) == (at("2026-07-15 00:00"), at("2026-07-16 00:00"))
    assert (begin("monthly", now, NEW_YORK), end("monthly", now, NEW_YORK)) == (
        at("2026-07-01 00:00"),
        at("2026-08-01 00:00"),
    )
    assert from_datetime(to_datetime(now)) == now


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["want", "want", "release", "release", "earn", "wait", "raise"]),
        st.integers(0, 9),
        st.sampled_from(["unused", "attempted", "connected", "unknown"]),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_whatever_happens_a_right_account_is_found_right(steps: list[tuple[str, int, str]]) -> None:
    account = RecountedAccount()
    group_id = account.group(account.buyer(concurrency_cap_limit=3, **CAPS), time_zone=NEW_YORK, **CAPS)
    source_id = account.create("traffic_source", name="Ads", connection_hourly_limit=3)
    for number, (what, which, ended) in enumerate(steps):
        match what:
            case "want":
                account.want(f"{number}", buyer_group_id=group_id, traffic_source_id=source_id if which % 2 else None)
            case "release":
                account.release(_open(account, which), ended=ended)
            case "earn":
                account.earned(account.now, **{f"buyer_group_{group_id}": {"revenue": 30.0}})
            case "wait":
                account.now += which * HOUR // 5
            case _:
                account.update("buyer_group", group_id, attempt_hourly_limit=which)

    found = recount(account)
    assert found.passed == []
    assert list(found.differences(_known(account))) == []


def _open(account: RecountedAccount, which: int) -> str:
    """Return the id of a slot that is open, or one that nobody has."""
    ids = sorted(recount(account).open)
    return ids[which % len(ids)] if ids else "nobody"


def _known(account: RecountedAccount) -> dict[str, Counters]:
    def some() -> Iterator[tuple[str, Counters]]:
        for record in recount(account).limits:
            try:
                slots = account.slots(record)
            except AssertionError:
                continue  # nobody asked yet
            yield record, Counters(slots.in_use, slots.tallies)

    return dict(some())
