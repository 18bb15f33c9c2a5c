"""Are the closed hours of a picture those in which no contact is allowed, at changes of clock and law too?"""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert

from engine.contact.schedule.cadence import Cadence
from engine.contact.timing.closed_hours import CLOSED_MAX, SPAN_MAX, closed_hours
from engine.contact.timing.contact_hours import opening
from engine.law.pack import default_pack
from schemas.contact import Lead
from schemas.instant import DAY, EPOCH, HOUR, MINUTE, Instant
from schemas.records import Schedule
from tests.engine.contact.world import KEY, at

WEEKDAYS = ["mon", "tue", "wed", "thu", "fri"]
SCHEDULE = {
    "name": "s",
    "lead_token": "token-of-it",
    "time_zone": "America/New_York",
    "windows": {
        "call": [{"days": WEEKDAYS, "open": "09:30", "close": "21:30"}, {"days": ["sat"], "open": "22:00", "close": "02:30"}]
    },
    "pauses": [{"from": "2026-11-26", "to": "2026-11-27"}],
    "close_margin_seconds": 300,
}


def lead_of(zones: tuple[str, ...], states: tuple[str, ...], country: str = "US") -> Lead:
    """Return a lead of a telephone that may be in these places."""
    return Lead(
        id=1,
        uuid="lead-1",
        company_id=1,
        contact_key=KEY,
        created_at=EPOCH,
        updated_at=EPOCH,
        caller_id="+12125550123",
        zones=zones,
        states=states,
        columns={"country": country},
    )


LEADS = [
    lead_of(("America/New_York",), ("NY",)),
    lead_of(("America/New_York", "America/Chicago"), ("FL",)),
    lead_of((), ()),
    lead_of(("Australia/Lord_Howe",), (), "AU"),
]


@given(
    st.sampled_from(range(len(LEADS))),
    st.sampled_from(["2026-03-05 00:00", "2026-10-29 00:00", "2026-11-20 00:00"]),
    st.integers(0, 14 * 24 * 60 - 1),
)
@settings(deadline=None, max_examples=300)
def test_an_instant_is_closed_just_where_no_contact_is_allowed(which: int, begins: str, minute: int) -> None:
    lead, cadence, law = LEADS[which], Cadence(convert(SCHEDULE, Schedule)), default_pack()
    begins_at = at(begins)
    asked = begins_at + minute * MINUTE

    found = closed_hours(law, lead, cadence, "call", begins_at=begins_at, ends_at=begins_at + 14 * DAY)

    is_closed = any(span.begins_at <= asked < span.ends_at for span in found)
    opens = opening(law, lead, cadence, "call", asked)
    assert is_closed == (opens is None or opens.at != asked)
    for by in ("law", "schedule"):
        own = [span for span in found if span.by == by]
        assert all(span.begins_at < span.ends_at for span in own)
        assert all(first.ends_at < second.begins_at for first, second in pairwise(own))


def test_a_schedule_without_windows_closes_nothing_and_an_email_is_never_closed() -> None:
    cadence = Cadence(Schedule(name="s", lead_token="token-of-it"))
    law, begins_at = default_pack(), at("2026-06-01 00:00")
    calls = closed_hours(law, LEADS[0], cadence, "call", begins_at=begins_at, ends_at=begins_at + DAY)
    assert {span.by for span in calls} == {"law"}
    assert closed_hours(law, LEADS[0], cadence, "email", begins_at=begins_at, ends_at=begins_at + DAY) == ()


EVERY_HOUR = [{"days": WEEKDAYS, "open": f"{hour:02}:00", "close": f"{hour:02}:30"} for hour in range(24)]


@pytest.mark.parametrize("windows", [{}, {"call": EVERY_HOUR}])
def test_closed_hours_are_bounded(windows: dict[str, Any]) -> None:
    cadence = Cadence(convert({**SCHEDULE, "windows": windows}, Schedule))
    begins_at = Instant(1_780_000_000_000)
    found = closed_hours(default_pack(), LEADS[0], cadence, "call", begins_at=begins_at, ends_at=begins_at + 4_000 * DAY)
    assert len(found) <= CLOSED_MAX
    assert max(span.ends_at for span in found) <= begins_at + SPAN_MAX + HOUR
