"""Which limits apply to one contact? Rows of all candidate places at once, edges on both sides, from their first date on."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from engine.calendar import Opening, constraint, first_open, is_open
from engine.law.floor import UNKNOWN_US_HOURS, UNKNOWN_US_ZONES
from engine.law.opening import first_allowed
from engine.law.pack import LIMITS_MAX, LegalLimits, default_pack
from engine.submission.states import STATES
from schemas.instant import DAY, Instant, from_datetime
from schemas.law import PURPOSES, Purpose

NEW_YORK, CHICAGO, TOKYO = "America/New_York", "America/Chicago", "Asia/Tokyo"


def instant(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))


def limits(
    *states: str, channel: str = "call", purpose: Purpose = "telemarketing", at: str = "2026-07-15T12:00:00Z", **more: Any
) -> LegalLimits:
    return default_pack().limits(states, more.get("countries", ("US",)), channel, purpose, instant(at))


def allows(found: LegalLimits, at: str, *zones: str) -> bool:
    return is_open(instant(at), found.constraints(zones or (NEW_YORK,)))


def opening(found: LegalLimits, base: str, *zones: str) -> Opening:
    first = first_open(instant(base), found.constraints(zones))
    assert first is not None
    return first


# State, zone, first and last millisecond of its hours on a Wednesday (2026-07-15), a Saturday (18th) and a Sunday (19th).
EDGES = [
    (None, NEW_YORK, ("08:00", "21:00"), ("08:00", "21:00"), ("08:00", "21:00")),
    ("FL", NEW_YORK, ("08:00", "20:00"), ("08:00", "20:00"), ("08:00", "20:00")),
    ("OK", CHICAGO, ("08:00", "20:00"), ("08:00", "20:00"), ("08:00", "20:00")),
    ("MD", NEW_YORK, ("08:00", "20:00"), ("08:00", "20:00"), ("08:00", "20:00")),
    ("AL", CHICAGO, ("08:00", "20:00"), ("08:00", "20:00"), None),
    ("LA", CHICAGO, ("08:00", "20:00"), ("08:00", "20:00"), None),
    ("MS", CHICAGO, ("08:00", "20:00"), ("08:00", "20:00"), None),
    ("MA", NEW_YORK, ("08:00", "20:00"), ("08:00", "20:00"), ("08:00", "20:00")),
    ("CT", NEW_YORK, ("09:00", "20:00"), ("09:00", "20:00"), ("09:00", "20:00")),
    ("KY", NEW_YORK, ("10:00", "21:00"), ("10:00", "21:00"), ("10:00", "21:00")),
    ("TX", CHICAGO, ("09:00", "21:00"), ("09:00", "21:00"), ("12:00", "21:00")),
    ("RI", NEW_YORK, ("09:00", "18:00"), ("10:00", "17:00"), None),
    ("VA", NEW_YORK, ("08:00", "21:00"), ("08:00", "21:00"), ("08:00", "21:00")),
    ("CA", "America/Los_Angeles", ("08:00", "21:00"), ("08:00", "21:00"), ("08:00", "21:00")),
]


def edge_cases() -> Iterator[Any]:
    for state, zone, *hours in EDGES:
        for day, found in zip((15, 18, 19), hours, strict=True):
            yield pytest.param(state, zone, f"2026-07-{day}", found, id=f"{state}-{day}")


@pytest.mark.parametrize("channel", ["call", "sms"])
@pytest.mark.parametrize(("state", "zone", "day", "hours"), list(edge_cases()))
def test_hours_open_and_close_to_the_millisecond(
    state: str | None, zone: str, day: str, hours: tuple[str, str] | None, channel: str
) -> None:
    offset = {NEW_YORK: "-04:00", CHICAGO: "-05:00"}.get(zone, "-07:00")
    found = limits(*([state] if state else []), channel=channel).constraints((zone,))
    midnight = instant(f"{day}T00:00:00{offset}")

    if hours is None:
        assert not any(is_open(midnight + quarter * 900_000, found) for quarter in range(96))
        return
    opens, closes = (instant(f"{day}T{hour}:00{offset}") for hour in hours)
    verdicts = [is_open(at, found) for at in (midnight, opens - 1, opens, closes - 1, closes, midnight + DAY - 1)]
    assert verdicts == [False, False, True, True, False, False]


def test_e8_a_us_lead_of_unknown_place_is_reached_when_all_zones_allow() -> None:
    # The unknown place is no row of the pack: its hours come on top.
    unknown = constraint("quiet_hours_federal", UNKNOWN_US_HOURS, UNKNOWN_US_ZONES)
    rules = (*limits().constraints(UNKNOWN_US_ZONES), unknown)
    summer, winter = instant("2026-07-15T06:00:00-04:00"), instant("2026-12-15T06:00:00-05:00")

    found = first_open(summer, rules), first_open(winter, rules)

    assert [first and first.at for first in found] == [instant("2026-07-15T18:00:00Z"), instant("2026-12-15T18:00:00Z")]
    assert is_open(instant("2026-07-15T19:59:59.999-04:00"), rules)
    again = first_open(instant("2026-07-15T20:00:00-04:00"), rules)
    assert again is not None
    assert again.at == instant("2026-07-16T18:00:00Z")


def test_e9_zip_and_number_in_two_zones() -> None:
    found = limits()
    zones = "America/Denver", NEW_YORK

    assert opening(found, "2026-07-15T06:00:00-04:00", *zones).at == instant("2026-07-15T14:00:00Z")
    assert allows(found, "2026-07-15T20:59:59-04:00", *zones)
    assert opening(found, "2026-07-15T21:00:00-04:00", *zones).at == instant("2026-07-16T14:00:00Z")


def test_e13_alabama_on_saturday_evening_waits_for_monday() -> None:
    first = opening(limits("AL"), "2026-07-18T20:30:00-05:00", CHICAGO)

    assert first.at == instant("2026-07-20T13:00:00Z")
    assert first.codes == ("quiet_hours_state",)


def test_the_code_names_the_state_only_where_its_hours_moved() -> None:
    florida = limits("FL")

    assert opening(florida, "2026-07-15T20:30:00-04:00", NEW_YORK).codes == ("quiet_hours_state",)
    assert opening(florida, "2026-07-15T21:30:00-04:00", NEW_YORK).codes == ("quiet_hours_federal",)
    assert florida.rule_of("quiet_hours_state") == ("us-fl",)


@pytest.mark.parametrize(
    ("state", "zone", "day", "weekday"),
    [
        ("AL", CHICAGO, "2026-04-27", "Confederate Memorial Day, a Monday"),
        ("AL", CHICAGO, "2026-07-03", "Independence Day, observed"),
        ("LA", CHICAGO, "2026-02-17", "Mardi Gras"),
        ("RI", NEW_YORK, "2026-08-10", "Victory Day"),
        ("RI", NEW_YORK, "2026-07-04", "Independence Day, a Saturday"),
        ("AL", CHICAGO, "2027-12-31", "New Year's Day of 2028, observed in the year before"),
    ],
)
def test_no_lead_is_called_on_the_holidays_of_the_state(state: str, zone: str, day: str, weekday: str) -> None:
    noon = from_datetime(datetime.fromisoformat(f"{day}T18:00:00Z"))
    found = default_pack().limits((state,), ("US",), "call", "telemarketing", noon)

    assert not is_open(noon, found.constraints((zone,))), weekday
    first = first_open(noon, found.constraints((zone,)))
    assert first is not None
    assert "holiday" in first.codes
    assert is_open(noon, limits("FL").constraints((zone,)))


def test_a_holiday_closes_the_local_day_from_its_first_to_its_last_instant() -> None:
    christmas = limits("LA", at="2026-12-24T12:00:00Z")
    holiday = [rule for rule in christmas.constraints((CHICAGO,)) if rule.code == "holiday"]

    edges = ["2026-12-24T23:59:59.999-06:00", "2026-12-25T00:00:00-06:00", "2026-12-25T23:59:59.999-06:00"]
    assert [is_open(instant(at), holiday) for at in edges] == [True, False, False]
    assert is_open(instant("2026-12-26T00:00:00-06:00"), holiday)


def test_holidays_are_known_as_far_as_the_calendar_looks() -> None:
    closed = next(hours.closed_dates for hours in limits("AL", at="2026-12-31T23:59:59Z").hours if hours.code == "holiday")

    assert {date(2025, 12, 25), date(2026, 12, 25), date(2027, 1, 1), date(2028, 1, 17)} <= closed


def test_candidate_states_are_united() -> None:
    found = limits("TX", "CT", "FL", "OK", "AL", "RI")
    sunday, monday_evening = "2026-07-19T13:00:00-04:00", "2026-07-20T18:30:00-04:00"

    assert not allows(found, sunday)
    assert not allows(found, monday_evening)
    assert allows(found, "2026-07-20T11:00:00-04:00")
    assert [(cap.count, cap.period, cap.rule_ids) for cap in found.caps] == [(3, DAY, ("us-fl", "us-ok"))]
    holidays = [hours for hours in found.hours if hours.code == "holiday"]
    assert [hours.rule_ids for hours in holidays] == [("us-al", "us-ri")]
    assert {date(2026, 8, 10), date(2026, 4, 27)} <= holidays[0].closed_dates
    state_hours = [hours.rule_ids for hours in found.hours if hours.code == "quiet_hours_state"]
    assert set(state_hours) == {("us-fl", "us-ok"), ("us-al",), ("us-ct",), ("us-tx",), ("us-ri",)}


def test_the_order_of_the_codes_is_country_state_holiday() -> None:
    assert [hours.code for hours in limits("LA").hours] == ["quiet_hours_federal", "quiet_hours_state", "holiday"]


def test_minimum_of_caps_is_kept() -> None:
    found = limits("FL", "ME")

    assert {(cap.count, cap.rule_ids) for cap in found.caps} == {(3, ("us-fl",)), (1, ("us-me",))}
    assert limits("FL", "ME", channel="sms").caps == limits("FL", channel="sms").caps


@pytest.mark.parametrize("countries", [(), ("SE",), ("US", "SE"), ("JP",)])
def test_the_telephone_floor_holds_wherever_the_pack_has_no_rules_of_its_own(countries: tuple[str, ...]) -> None:
    for channel in ("call", "sms"):
        for purpose in PURPOSES:
            found = default_pack().limits((), countries, channel, purpose, instant("2026-07-15T12:00:00Z"))
            assert "telephone-floor" in found.rule_of("quiet_hours_federal")
            assert not allows(found, "2026-07-15T07:59:59.999+09:00", TOKYO)
            assert allows(found, "2026-07-15T08:00:00+09:00", TOKYO)
            assert allows(found, "2026-07-15T20:59:59.999+09:00", TOKYO)
            assert not allows(found, "2026-07-15T21:00:00+09:00", TOKYO)


def test_the_floor_gives_way_to_the_rules_of_the_country() -> None:
    assert limits().rule_of("quiet_hours_federal") == ("us-federal",)


def test_a_florida_number_brings_florida_along_wherever_the_person_says_to_be() -> None:
    found = limits("FL", countries=("DE",))

    assert not allows(found, "2026-07-15T20:30:00+02:00", "Europe/Berlin")
    assert found.caps


@pytest.mark.parametrize("purpose", ["informational", "collections"])
def test_state_rules_are_for_solicitations(purpose: Purpose) -> None:
    found = limits("FL", "AL", purpose=purpose)

    assert {hours.code for hours in found.hours} == {"quiet_hours_federal"}
    assert not any("us-fl" in cap.rule_ids for cap in found.caps)


def test_a_callback_on_request_keeps_the_same_law() -> None:
    asked = limits("FL", purpose="callback_requested")

    assert [hours.rule_ids for hours in asked.hours] == [hours.rule_ids for hours in limits("FL").hours]
    assert asked.caps == limits("FL").caps


def test_collections_are_limited_to_seven_calls_in_seven_days() -> None:
    found = limits(purpose="collections")

    assert [(cap.count, cap.period, cap.counts) for cap in found.caps] == [(7, 7 * DAY, frozenset({"call"}))]
    assert found.rule_of("quiet_hours_federal") == ("us-federal", "us-reg-f")
    assert limits(purpose="collections", channel="sms").caps == ()


@pytest.mark.parametrize("state", [None, "FL", "AL", "TX"])
def test_an_email_has_no_legal_hours(state: str | None) -> None:
    found = limits(*([state] if state else []), channel="email")

    assert (found.hours, found.caps, found.constraints((NEW_YORK,))) == ((), (), ())


@pytest.mark.parametrize(
    "state", sorted(set(STATES) - {row.state for row in default_pack().rules.values() if row.windows or row.holidays})
)
def test_other_states_have_the_federal_hours_alone(state: str) -> None:
    found = limits(state)

    assert [hours.rule_ids for hours in found.hours] == [("us-federal",)]
    assert found.caps == ()


def test_texts_to_texas_come_under_its_hours_with_their_first_day() -> None:
    day_before, first_day = "2025-08-31T23:59:59.999-05:00", "2025-09-01T00:00:00-05:00"

    before, after = limits("TX", channel="sms", at=day_before), limits("TX", channel="sms", at=first_day)

    assert [hours.rule_ids for hours in before.hours] == [("us-federal",)]
    assert [hours.rule_ids for hours in after.hours] == [("us-federal",), ("us-tx-texts",)]
    assert (before.changes_at, after.changes_at) == (instant(first_day), None)
    assert limits("TX", at=day_before).rule_of("quiet_hours_state") == ("us-tx",)


def test_what_is_planned_over_the_change_of_a_law_keeps_to_the_new_one() -> None:
    def rules_at(at: Instant) -> Any:
        found = default_pack().limits(("TX",), ("US",), "sms", "telemarketing", at)
        return found.constraints((CHICAGO,)), found.changes_at

    late = first_allowed(instant("2025-08-31T21:30:00-05:00"), rules_at)
    early = first_allowed(instant("2025-08-31T05:00:00-05:00"), rules_at)
    now = first_allowed(instant("2026-07-15T12:00:00-05:00"), rules_at)

    assert late is not None
    assert (late.at, late.zone) == (instant("2025-09-01T09:00:00-05:00"), CHICAGO)
    assert late.codes == ("quiet_hours_federal", "quiet_hours_state")
    assert early is not None
    assert early.at == instant("2025-08-31T08:00:00-05:00")
    assert now == Opening(instant("2026-07-15T12:00:00-05:00"))


def test_an_unknown_channel_or_purpose_is_an_error_and_not_without_law() -> None:
    with pytest.raises(ValueError, match="fax"):
        limits(channel="fax")
    with pytest.raises(ValueError, match="sales"):
        limits(purpose="sales")  # type: ignore[arg-type]


def test_what_is_kept_is_the_same_object_within_a_year_and_bounded() -> None:
    assert limits("KY", at="2027-01-02T00:00:00Z") is limits("KY", at="2027-12-31T23:59:59Z")
    assert limits("KY", at="2027-12-31T23:59:59Z") is not limits("KY", at="2028-01-01T00:00:00Z")
    assert default_pack()._kept.cache_parameters()["maxsize"] == LIMITS_MAX


@pytest.mark.parametrize("year", [1960, 1970, 2199, 2300])
def test_every_year_has_its_law(year: int) -> None:
    at = from_datetime(datetime.fromisoformat(f"{year}-06-01T12:00:00Z") + timedelta())

    assert default_pack().limits(("AL",), ("US",), "call", "telemarketing", at).hours


def test_the_close_margin_shortens_the_hours_of_the_law() -> None:
    rules = limits("FL").constraints((NEW_YORK,), close_margin_seconds=60)

    assert is_open(instant("2026-07-15T19:58:59.999-04:00"), rules)
    assert not is_open(instant("2026-07-15T19:59:00-04:00"), rules)
