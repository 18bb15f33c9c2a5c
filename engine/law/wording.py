"""How is a row of law said in words? Hours, cap, holidays and dates, as the page of the law and the command show them."""

from collections.abc import Iterable

from schemas.law import PURPOSES, HolidayChange, HolidaySet, RuleRow
from schemas.schedule import Day, Window

_DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NAMES = dict(zip(_DAYS, ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"), strict=True))
_EVERY_DAY = "every day"
_KINDS = {"call": "calls", "sms": "texts", "email": "e-mails"}
_SALES = {"telemarketing", "callback_requested"}


def hours_text(windows: Iterable[Window]) -> str:
    """Return windows as `Mon-Fri 09:00-18:00, Sat 10:00-17:00`, the days that none names as closed."""
    windows = tuple(windows)
    if not windows:
        return ""
    spans: dict[tuple[Day, ...], list[str]] = {}
    for window in windows:
        days = tuple(day for day in _DAYS if day in window.days)
        spans.setdefault(days, []).append(f"{window.open}-{window.close}")
    parts = [f"{_days_text(days)} {' and '.join(found)}" for days, found in spans.items()]
    closed = tuple(day for day in _DAYS if not any(day in days for days in spans))
    return ", ".join([*parts, *([f"{_days_text(closed)} closed"] if closed else [])])


def cap_text(row: RuleRow) -> str:
    """Return a cap as `at most 3 calls and texts in 24h`, empty where there is none."""
    if row.cap is None:
        return ""
    kinds = _joined(_KINDS[kind] for kind in row.cap.counts)
    return f"at most {row.cap.count} {kinds if row.cap.count > 1 else kinds.removesuffix('s')} in {row.cap.period}"


def limits_text(row: RuleRow) -> str:
    """Return everything that a row limits."""
    years = f"opt-outs kept {row.opt_out_years} years" if row.opt_out_years else ""
    holidays = f"no contact on holidays ({', '.join(row.holidays)})" if row.holidays else ""
    parts = (
        hours_text(row.windows),
        cap_text(row),
        holidays,
        years,
        "consent first" if row.requires_consent else "",
        "no contact at all" if row.bars else "",
        f"no contact for {row.refusal_days} days after a refusal" if row.refusal_days else "",
        "contracts in progress excepted" if row.excepts_contracts else "",
    )
    return "; ".join(part for part in parts if part)


def scope_text(row: RuleRow) -> str:
    """Return the channels, purposes and sectors of a row."""
    kinds = _joined(_KINDS[channel] for channel in row.channels)
    sectors = f", offers of {_joined(name.replace('_', ' ') for name in row.sectors)}" if row.sectors else ""
    purposes = set(row.purposes)
    if purposes == set(PURPOSES):
        return f"{kinds}, every purpose{sectors}"
    said = "sales and callbacks" if purposes == _SALES else _joined(name.replace("_", " ") for name in row.purposes)
    return f"{kinds}, {said}{sectors}"


def dates_text(row: RuleRow) -> str:
    """Return the first and last date of a row, empty where it always holds."""
    parts = (
        f"from {row.effective_from}" if row.effective_from else "",
        f"to {row.effective_to}" if row.effective_to else "",
    )
    return " ".join(part for part in parts if part)


def change_text(change: HolidayChange) -> str:
    """Return a change of a holiday set as `Flag Day (06-14, on a Sunday Monday too)`."""
    kept = [
        f"on a {day.capitalize()} {instead.capitalize()} too"
        for day, instead in (("saturday", change.saturday), ("sunday", change.sunday))
        if instead
    ]
    years = [] if change.years == "all" else [f"{change.years} years"]
    return f"{change.name} ({', '.join([change.on, *years, *kept])})"


def set_text(named: HolidaySet) -> str:
    """Return what a holiday set holds."""
    where = f"{named.country} {named.state}" if named.state else named.country
    parts = [
        f"public holidays of {where}{', those of every part of it' if named.in_any_part else ''}" if named.country else "",
        f"with {'; '.join(map(change_text, named.adds))}" if named.adds else "",
        f"without {'; '.join(map(change_text, named.removes))}" if named.removes else "",
        "and the day before each" if named.eves else "",
        ", ".join(map(str, named.dates)),
    ]
    return " ".join(part for part in parts if part)


def remarks_text(note: str, conflict: str, unverified: str) -> str:
    """Return what a reader must know about a row besides its limits."""
    parts = (note, conflict and f"Conflict: {conflict}", unverified and f"Unverified: {unverified}")
    return " ".join(part for part in parts if part)


def _days_text(days: tuple[Day, ...]) -> str:
    if len(days) == len(_DAYS):
        return _EVERY_DAY
    runs: list[list[Day]] = []
    for day in days:
        if runs and _DAYS.index(day) == _DAYS.index(runs[-1][-1]) + 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    return ", ".join(_NAMES[run[0]] if len(run) == 1 else f"{_NAMES[run[0]]}-{_NAMES[run[-1]]}" for run in runs)


def _joined(words: Iterable[str]) -> str:
    *some, last = words
    return f"{', '.join(some)} and {last}" if some else last
