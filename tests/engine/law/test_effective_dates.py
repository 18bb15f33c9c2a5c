"""From when to when does a rule hold? In its own zones, first to last date; the stricter reading over a change."""

from datetime import datetime
from importlib.resources import files

import pytest

import engine.law
from engine.calendar import Opening
from engine.law.opening import first_allowed
from engine.law.pack import CompiledRulePack, read_rows
from schemas.instant import EPOCH, Instant, from_datetime

SHIPPED = files(engine.law).joinpath("pack.toml").read_text("utf-8")

ROW = """
[[rules]]
id = "{id}"
country = "{country}"
{more}
purposes = ["telemarketing"]
channels = ["call"]
windows = [{{ days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], open = "{open}", close = "{close}" }}]
source_url = "https://example.org"
reviewed_at = 2026-11-21
"""


def pack(*rows: str) -> CompiledRulePack:
    return CompiledRulePack(read_rows((SHIPPED + "".join(rows)).encode()))


def row(rule_id: str, country: str, more: str, opens: str = "10:00", closes: str = "16:00") -> str:
    return ROW.format(id=rule_id, country=country, more=more, open=opens, close=closes)


def instant(text: str) -> Instant:
    return from_datetime(datetime.fromisoformat(text))


def rules(found: CompiledRulePack, state: str | None, country: str, at: str) -> tuple[str, ...]:
    limits = found.limits((state,) if state else (), (country,), "call", "telemarketing", instant(at))
    return tuple(rule_id for hours in limits.hours for rule_id in hours.rule_ids)


@pytest.mark.parametrize(
    ("at", "holds"),
    [
        ("2026-12-31T23:59:59.999-05:00", False),  # in the eastern part of Tennessee, where the date begins first
        ("2027-01-01T00:00:00-05:00", True),
        ("2027-06-30T23:59:59.999-05:00", True),  # in its western part, an hour behind
        ("2027-07-01T00:00:00-05:00", False),
    ],
)
def test_a_state_rule_holds_from_its_first_date_in_any_of_its_zones_to_its_last_in_all(at: str, *, holds: bool) -> None:
    found = pack(row("us-tn", "US", 'state = "TN"\neffective_from = 2027-01-01\neffective_to = 2027-06-30'))

    assert ("us-tn" in rules(found, "TN", "US", at)) is holds


@pytest.mark.parametrize(
    ("at", "holds"),
    [
        ("2026-12-31T23:59:59.999+14:00", False),
        ("2027-01-01T00:00:00+14:00", True),
        ("2027-01-31T23:59:59.999-12:00", True),
        ("2027-02-01T00:00:00-12:00", False),
    ],
)
def test_a_countrys_rule_holds_as_long_as_its_dates_last_anywhere(at: str, *, holds: bool) -> None:
    found = pack(row("jp", "JP", "effective_from = 2027-01-01\neffective_to = 2027-01-31"))

    assert rules(found, None, "JP", at) == (("jp",) if holds else ("telephone-floor",))


def test_a_country_with_rules_of_its_own_for_calls_keeps_the_floor_for_texts() -> None:
    found = pack(row("jp", "JP", ""))

    texts = found.limits((), ("JP",), "sms", "telemarketing", EPOCH)
    informational = found.limits((), ("JP",), "call", "informational", EPOCH)

    assert [hours.rule_ids for hours in (*texts.hours, *informational.hours)] == [("telephone-floor",)] * 2


def test_where_one_law_follows_another_the_opening_is_that_of_its_own_day() -> None:
    found = pack(
        row("old", "US", 'state = "GA"\neffective_to = 2026-12-31', "09:00", "17:00"),
        row("new", "US", 'state = "GA"\neffective_from = 2027-01-01', "11:00", "15:00"),
    )

    def opening(base: str) -> Opening | None:
        def rules_at(at: Instant) -> object:
            limits = found.limits(("GA",), ("US",), "call", "telemarketing", at)
            return limits.constraints(("America/New_York",)), limits.changes_at

        return first_allowed(instant(base), rules_at)  # type: ignore[arg-type]

    bases = ["2026-12-31T08:30:00-05:00", "2026-12-31T17:00:00-05:00", "2027-01-01T08:30:00-05:00"]
    openings = ["2026-12-31T09:00:00-05:00", "2027-01-01T11:00:00-05:00", "2027-01-01T11:00:00-05:00"]
    found_at = [opening(base) for base in bases]
    assert [first and first.at for first in found_at] == [instant(text) for text in openings]
    assert [first and first.codes for first in found_at][2] == ("quiet_hours_state",)


def test_a_law_that_ends_lets_go_at_that_very_instant() -> None:
    found = pack(row("gone", "US", 'state = "GA"\neffective_to = 2026-12-31', "09:00", "09:30"))

    def rules_at(at: Instant) -> object:
        limits = found.limits(("GA",), ("US",), "call", "telemarketing", at)
        return [
            rule for rule in limits.constraints(("America/New_York",)) if rule.code == "quiet_hours_state"
        ], limits.changes_at

    first = first_allowed(instant("2026-12-31T12:00:00-05:00"), rules_at)  # type: ignore[arg-type]

    midnight = instant("2027-01-01T00:00:00-05:00")
    assert first is not None
    assert (first.at, first.codes, first.zone) == (midnight, ("quiet_hours_state",), "America/New_York")
    assert [move.until for move in first.moves] == [midnight]


def test_company_holidays_are_rows_like_others() -> None:
    holidays = """
[[holiday_sets]]
id = "company"
dates = [2026-12-24]

[[rules]]
id = "company-holidays"
country = "*"
purposes = ["telemarketing"]
channels = ["call", "sms", "email"]
holidays = ["company"]
source_url = "https://example.org/handbook"
reviewed_at = 2026-11-21
"""
    found = pack(holidays)

    for countries in ((), ("US",), ("JP",)):
        email = found.limits((), countries, "email", "telemarketing", instant("2026-12-01T00:00:00Z"))
        call = found.limits((), countries, "call", "telemarketing", instant("2026-12-01T00:00:00Z"))
        assert [(hours.code, len(hours.closed_dates)) for hours in email.hours] == [("holiday", 1)]
        assert [hours.code for hours in call.hours] == ["quiet_hours_federal", "holiday"]
