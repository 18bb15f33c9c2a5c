"""Are the hours of a state those in which the engine would plan a contact, also where clocks change and on holidays?"""

from datetime import date, timedelta

import pytest

from engine.calendar import day_start, is_open, local_datetime
from engine.law.company import merged
from engine.law.pack import CompiledRulePack, default_pack
from engine.law.state_hours import COUNTRY, MAPPED, StateHours, state_hours
from engine.submission.states import STATE_ZONES
from schemas.instant import HOUR, MINUTE, Instant
from schemas.law import RuleRow
from schemas.records import RulePack
from schemas.schedule import Window

NEW_YORK = "America/New_York"
SPRING, AUTUMN = date(2026, 3, 8), date(2026, 11, 1)
"""The days of 23 and of 25 hours."""
CHRISTMAS, SUMMER = date(2026, 12, 25), date(2026, 6, 17)
LAW_BEGINS = date(2026, 1, 1)


def day_of(day: date, zone: str = NEW_YORK) -> tuple[Instant, Instant]:
    return day_start(day, zone), day_start(day + timedelta(days=1), zone)


def hours(state: str, day: date, *, law: CompiledRulePack | None = None, channel: str = "call") -> StateHours:
    begins, ends = day_of(day)
    return state_hours(law or default_pack(), state, channel, "telemarketing", begins_at=begins, ends_at=ends)


def clock(found: StateHours) -> list[str]:
    return ["-".join(f"{local_datetime(at, NEW_YORK):%H:%M}" for at in span) for span in found.open_spans]


def test_the_map_has_every_state_and_the_district() -> None:
    assert len(MAPPED) == 51
    assert {"DC", "AK", "HI"} < set(MAPPED)


@pytest.mark.parametrize("day", [SPRING, AUTUMN, CHRISTMAS, SUMMER, LAW_BEGINS])
@pytest.mark.parametrize("channel", ["call", "sms"])
def test_every_instant_of_the_day_is_open_where_a_contact_would_be_planned(day: date, channel: str) -> None:
    begins, ends = day_of(day)
    law = default_pack()
    for state in MAPPED:
        found = hours(state, day, channel=channel)
        for at in range(begins, ends, 15 * MINUTE):
            limits = law.limits((state,), (COUNTRY,), channel, "telemarketing", Instant(at))
            planned = is_open(Instant(at), limits.constraints(STATE_ZONES[state]))
            assert found.is_open(Instant(at)) is planned, (state, day, at)


def test_hours_are_those_of_every_zone_of_the_state_and_of_its_own_law() -> None:
    assert clock(hours("NY", SUMMER)) == ["08:00-21:00"]
    assert clock(hours("FL", SUMMER)) == ["09:00-20:00"], "8 to 20 in the east and in the west"
    assert hours("FL", SUMMER).rule_ids == ("us-federal", "us-fl")
    assert clock(hours("AL", CHRISTMAS)) == []
    assert "us-al" in hours("AL", CHRISTMAS).rule_ids


def test_the_hours_of_a_day_on_which_clocks_change_begin_and_end_on_the_clock() -> None:
    for day, length in ((SPRING, 23), (AUTUMN, 25)):
        begins, ends = day_of(day)
        assert ends - begins == length * HOUR
        assert clock(hours("NY", day)) == ["08:00-21:00"]
        (span,) = hours("NY", day).open_spans
        assert span[1] - span[0] == 13 * HOUR
    assert clock(hours("HI", SPRING)) == ["00:00-03:00", "14:00-00:00"], (
        "Hawaii keeps its clock: five hours behind, then six"
    )


def test_a_row_of_the_company_makes_its_state_stricter() -> None:
    row = RuleRow(
        id="own-ny", country="US", state="NY", purposes=("telemarketing",), channels=("call",),
        windows=(Window(days=("wed",), open="10:00", close="12:00"),), source_url="https://example.com", reviewed_at=SUMMER,
    )  # fmt: skip
    law = CompiledRulePack(merged([RulePack(name="own", rules=(row,))]))
    assert clock(hours("NY", SUMMER, law=law)) == ["10:00-12:00"]
    assert hours("NY", SUMMER, law=law).rule_ids == ("us-federal", "own-ny")
    assert clock(hours("NJ", SUMMER, law=law)) == ["08:00-21:00"]


@pytest.mark.parametrize(
    ("state", "day", "until"),
    [
        ("PA", date(2026, 10, 1), date(2026, 10, 18)),
        ("PA", date(2026, 10, 17), date(2026, 10, 18)),
        ("PA", date(2026, 10, 18), None),
        ("FL", date(2021, 6, 1), date(2021, 7, 1)),
        ("MD", date(2023, 12, 1), date(2024, 1, 1)),
        ("NY", date(2026, 10, 1), None),
    ],
)
def test_it_is_said_until_when_the_rules_hold(state: str, day: date, until: date | None) -> None:
    found = hours(state, day).changes_at

    assert found == (None if until is None else day_start(until, STATE_ZONES[state][0]))
