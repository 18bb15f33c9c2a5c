"""Are the public holidays those of the state, in the year asked for?"""

import subprocess
import sys
from datetime import date

import pytest

from engine.law.public_holidays import HOLIDAY_YEARS_MAX, dates_of, has_holidays, public_holidays
from engine.submission.states import STATES
from schemas.law import HolidaySet

CANADA = {"AB", "BC", "MB", "NB", "NL", "NS", "NT", "NU", "ON", "PE", "QC", "SK", "YT"}


@pytest.mark.parametrize("state", sorted(STATES))
def test_every_state_that_a_lead_can_be_in_has_holidays(state: str) -> None:
    assert has_holidays("CA" if state in CANADA else "US", state)


def test_federal_holidays_of_2026() -> None:
    assert public_holidays("US", None, 2026) == {
        date(2026, 1, 1),
        date(2026, 1, 19),
        date(2026, 2, 16),
        date(2026, 5, 25),
        date(2026, 6, 19),
        date(2026, 7, 3),
        date(2026, 7, 4),
        date(2026, 9, 7),
        date(2026, 10, 12),
        date(2026, 11, 11),
        date(2026, 11, 26),
        date(2026, 12, 25),
    }


def test_a_set_is_its_country_and_its_own_dates_within_the_years() -> None:
    named = HolidaySet(id="x", country="US", state="AL", dates=(date(2026, 12, 24), date(2029, 12, 24)))

    found = dates_of(named, [2026])

    assert found == public_holidays("US", "AL", 2026) | {date(2026, 12, 24)}


def test_holidays_are_kept_within_a_bound() -> None:
    assert public_holidays.cache_parameters()["maxsize"] == HOLIDAY_YEARS_MAX


def test_a_lead_without_state_holidays_does_not_load_the_package() -> None:
    program = (
        "import sys; from engine.law.pack import default_pack; "
        "default_pack().limits(('FL',), ('US',), 'call', 'telemarketing', 0); assert 'holidays' not in sys.modules"
    )

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
