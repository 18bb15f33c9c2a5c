"""Which dates may a holiday have? From its first date to its last one, a year of them at most."""

from collections.abc import Mapping
from typing import Any

from engine.account.plans import Errors
from engine.account.values import PAUSE_DAYS_MAX, date_text, required_text
from engine.calendar.wall import parse_date


def holiday_date(value: Any) -> str:
    """Return a date as `YYYY-MM-DD`."""
    return date_text(required_text(value).strip())


def check_dates(given: Mapping[str, Any], values: dict[str, Any], errors: Errors) -> None:
    """Check the dates of a holiday together."""
    del given
    first, last = values.get("first_date"), values.get("last_date")
    if first is None or last is None or errors.keys() & {"first_date", "last_date"}:
        return
    days = (parse_date(last) - parse_date(first)).days + 1
    if days < 1:
        errors.setdefault("last_date", []).append("must not be before first_date")
    elif days > PAUSE_DAYS_MAX:
        sentence = f"must be within {PAUSE_DAYS_MAX} days of first_date; pause the schedule or company to hold all leads"
        errors.setdefault("last_date", []).append(sentence)
