"""Which holidays may a company have? Of dates that exist, a year at most, for schedules of its own."""

from typing import Any

import pytest

from schemas.records import Holiday
from tests.engine.account.conftest import AccountWorld

DAY: dict[str, Any] = {"name": "Christmas", "first_date": "2026-12-25"}
TOKEN = "0123456789abcdef"
STEPS = [{"id": "text-1", "kind": "sms", "template": "Hi"}]


def test_a_holiday_has_one_date_or_several(account: AccountWorld) -> None:
    one = account.create("holiday", **DAY)
    several = account.create("holiday", **DAY, last_date="2027-01-01")

    assert account.body("holiday", one) == Holiday(name="Christmas", first_date="2026-12-25")
    assert account.body("holiday", several) == Holiday(name="Christmas", first_date="2026-12-25", last_date="2027-01-01")
    assert account.update("holiday", several, last_date=None).status == 200
    assert account.body("holiday", several) == Holiday(name="Christmas", first_date="2026-12-25")


@pytest.mark.parametrize(
    ("fields", "named", "word"),
    [
        ({"first_date": None}, "first_date", "blank"),
        ({"first_date": "2026-02-30"}, "first_date", "exists"),
        ({"first_date": "Christmas"}, "first_date", "YYYY-MM-DD"),
        ({"first_date": 20261225}, "first_date", "YYYY-MM-DD"),
        ({"last_date": "2026-12-24"}, "last_date", "before"),
        ({"last_date": "2027-12-26"}, "last_date", "366 days"),
        ({"schedule_ids": [99]}, "schedule_ids", "99 is no schedule"),
        ({"days": 3}, "days", "is no field of a holiday"),
    ],
)
def test_a_holiday_that_is_wrong_is_refused_by_field(
    account: AccountWorld, fields: dict[str, Any], named: str, word: str
) -> None:
    errors = account.change("create", "holiday", **{**DAY, **fields}).errors

    assert list(errors) == [named]
    assert word in errors[named][0]


def test_a_changed_date_is_checked_against_the_one_that_stays(account: AccountWorld) -> None:
    holiday = account.create("holiday", **DAY, last_date="2027-01-01")

    assert list(account.update("holiday", holiday, first_date="2027-01-02").errors) == ["last_date"]


def test_a_schedule_that_a_holiday_names_stays_while_it_does(account: AccountWorld) -> None:
    schedule = account.create("schedule", name="Days", lead_token=TOKEN, steps=STEPS)
    holiday = account.create("holiday", **DAY, schedule_ids=[schedule])

    assert account.delete("schedule", schedule).code == "record_in_use"
    assert account.delete("holiday", holiday).status == 200
    assert account.delete("schedule", schedule).status == 200
