"""When does a cap release a number? Exactly a period after the count-th last contact, in any order of the ledger."""

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contact.facts.ledger import LEDGER_FOR, LEDGER_MAX
from engine.law.caps import CAP_COUNT_MAX, CAP_PERIOD_MAX, Cap, last_release, release_at, strictest
from engine.law.pack import default_pack
from schemas.contact import Attempt
from schemas.instant import DAY, EPOCH, HOUR, MINUTE, Instant, from_datetime

BOTH = frozenset({"call", "sms"})
CALLS = frozenset({"call"})
FLORIDA = Cap(3, DAY, BOTH, ("us-fl",))
MAINE = Cap(1, 8 * HOUR, CALLS, ("us-me",))


def instant(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))


def entry(at: Instant, kind: str = "call") -> Attempt:
    return Attempt(at=at, kind=kind, command_id=f"{kind}-{at}")


def eastern(*times: str) -> tuple[Attempt, ...]:
    return tuple(entry(instant(f"2026-07-15T{time}-04:00")) for time in times)


@pytest.mark.parametrize(
    ("now", "release"),
    [
        ("2026-07-15T15:00:00-04:00", "2026-07-16T13:00:00Z"),
        ("2026-07-15T15:30:00-04:00", "2026-07-16T13:00:00Z"),
        ("2026-07-16T12:59:59.999Z", "2026-07-16T13:00:00Z"),
        ("2026-07-16T13:00:00Z", None),
        ("2026-07-20T13:00:00Z", None),
    ],
)
def test_e12_florida_lets_go_24_hours_after_the_first_of_three(now: str, release: str | None) -> None:
    ledger = eastern("09:00", "12:00", "15:00")
    (cap,) = default_pack().limits(("FL",), ("US",), "call", "telemarketing", instant(now)).caps

    found = release_at(ledger, cap, instant(now))

    assert found == (None if release is None else instant(release))


def test_e12_after_the_fourth_the_second_counts() -> None:
    ledger = (*eastern("09:00", "12:00", "15:00"), entry(instant("2026-07-16T13:00:00Z")))

    assert release_at(ledger, FLORIDA, instant("2026-07-16T13:00:00Z")) == instant("2026-07-16T16:00:00Z")


@pytest.mark.parametrize(
    ("kinds", "cap", "release"),
    [
        ((), FLORIDA, None),
        (("call", "call"), FLORIDA, None),
        (("call", "sms", "call"), FLORIDA, EPOCH + DAY),
        (("sms", "sms", "sms"), FLORIDA, EPOCH + DAY),
        (("call", "sms", "call", "call"), FLORIDA, EPOCH + DAY + HOUR),
        (("sms", "sms", "sms"), MAINE, None),
        (("call",), MAINE, EPOCH + 8 * HOUR),
        (("call", "sms"), MAINE, EPOCH + 8 * HOUR),
        (("email", "email", "email"), FLORIDA, None),
    ],
)
def test_only_the_kinds_that_a_cap_counts_are_counted(kinds: tuple[str, ...], cap: Cap, release: Instant | None) -> None:
    ledger = tuple(entry(EPOCH + number * HOUR, kind) for number, kind in enumerate(kinds))

    assert release_at(ledger, cap, EPOCH + len(kinds) * HOUR) == release


def test_commands_in_flight_are_in_the_ledger_and_count() -> None:
    reserved_just_now = entry(instant("2026-07-15T15:00:00-04:00"))

    assert release_at((*eastern("09:00", "12:00"), reserved_just_now), FLORIDA, reserved_just_now.at) is not None
    # Given back: nobody was reached.
    assert release_at(eastern("09:00", "12:00"), FLORIDA, reserved_just_now.at) is None


def test_the_order_of_the_ledger_does_not_matter() -> None:
    ledger = eastern("15:00", "09:00", "12:00")

    assert release_at(ledger, FLORIDA, ledger[0].at) == instant("2026-07-16T13:00:00Z")


def test_a_clock_change_does_not_shorten_a_period() -> None:
    ledger = tuple(entry(instant(f"2026-03-07T{time}:00-05:00")) for time in ("10:00", "10:01", "10:02"))

    # 24 hours later it is 11:00 on the wall.
    assert release_at(ledger, FLORIDA, ledger[-1].at) == instant("2026-03-08T11:00:00-04:00")


def test_the_last_of_several_caps_decides_and_is_named() -> None:
    ledger = eastern("09:00", "12:00", "15:00")
    now = instant("2026-07-15T15:00:00-04:00")

    found = last_release(ledger, (MAINE, FLORIDA), now)

    assert found is not None
    assert (found.at, found.cap.rule_ids) == (instant("2026-07-16T13:00:00Z"), ("us-fl",))
    assert last_release(ledger[-1:], (MAINE, FLORIDA), now) is not None
    assert last_release(ledger[:1], (FLORIDA,), now) is None
    assert last_release(ledger, (), now) is None


def test_a_base_in_the_future_is_asked_about_as_it_will_be() -> None:
    ledger = eastern("09:00", "12:00", "15:00")

    assert last_release(ledger, (FLORIDA,), instant("2026-07-16T13:00:00Z")) is None


def test_equal_caps_are_joined_and_implied_ones_left_out() -> None:
    oklahoma = Cap(3, DAY, BOTH, ("us-ok",))
    lax = Cap(5, DAY, BOTH, ("lax",))
    calls_only = Cap(3, DAY, CALLS, ("calls",))
    weekly = Cap(7, 7 * DAY, CALLS, ("reg-f",))

    found = strictest([FLORIDA, lax, oklahoma, calls_only, weekly])

    assert [(cap.count, cap.rule_ids) for cap in found] == [(3, ("us-fl", "us-ok")), (7, ("reg-f",))]


def test_no_cap_looks_further_than_the_ledger() -> None:
    assert CAP_PERIOD_MAX <= LEDGER_FOR
    assert CAP_COUNT_MAX <= LEDGER_MAX


CAPS = st.builds(
    Cap,
    count=st.integers(1, 4),
    period=st.integers(1, 300).map(lambda minutes: minutes * MINUTE),
    counts=st.sampled_from([BOTH, CALLS, frozenset({"sms"})]),
)
WISHES = st.lists(st.tuples(st.integers(0, 90 * MINUTE), st.sampled_from(["call", "sms"])), max_size=40)


@settings(deadline=None)
@given(caps=st.lists(CAPS, min_size=1, max_size=4), wishes=WISHES)
def test_waiting_for_the_release_never_exceeds_a_cap_and_never_takes_too_long(
    caps: list[Cap], wishes: list[tuple[int, str]]
) -> None:
    ledger: list[Attempt] = []
    now = EPOCH
    kept = strictest(caps)
    for later, kind in wishes:
        now += later
        found = last_release(ledger, (cap for cap in kept if kind in cap.counts), now)
        if found is not None:
            # A millisecond earlier some cap would be broken.
            assert any(over(cap, [*ledger, entry(found.at - 1, kind)]) for cap in caps)
            now = found.at
        ledger.append(entry(now, kind))
    assert not any(over(cap, ledger) for cap in caps)


def over(cap: Cap, ledger: list[Attempt]) -> bool:
    """Whether any rolling period holds more than the cap allows, counted from every contact on."""
    at = [found.at for found in ledger if found.kind in cap.counts]
    return any(sum(start <= other < start + cap.period for other in at) > cap.count for start in at)
