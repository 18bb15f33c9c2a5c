"""Which law holds for one company? The shipped pack, merged with the company's own rule packs; and its own holidays.

All rows hold at once, so a company's row can only make the law stricter. The exception: a row with `override` and a written
reason replaces the shipped row of its id.
"""

from collections.abc import Iterable
from datetime import date

from msgspec.structs import replace

from engine.calendar.wall import dates_from
from engine.law.pack import CompiledRulePack, default_pack, shipped_rows
from engine.rules import Rules
from schemas import records
from schemas.law import PackRows

PACKS_MAX = 1_024
"""Cached packs of companies with their own rows or holidays; some 100 KB each, the oldest goes first."""

Bodies = tuple[records.RulePack, ...]
Holidays = tuple[records.Holiday, ...]

_PACKS: dict[tuple[int, int], tuple[Bodies, Holidays, CompiledRulePack]] = {}


def law_of(rules: Rules, company_id: int) -> CompiledRulePack:
    """Return the pack that holds for a company, as far as its rules are known here."""
    bodies, holidays = rules.own_law(company_id)
    if not bodies and not holidays:
        return default_pack()
    key = id(bodies), id(holidays)
    known = _PACKS.get(key)
    if known is not None and known[0] is bodies and known[1] is holidays:
        return known[2]
    pack = CompiledRulePack(merged(bodies)) if bodies else default_pack()
    if holidays:
        pack = pack.observing(_dates_by_schedule(holidays))
    if len(_PACKS) >= PACKS_MAX:
        del _PACKS[next(iter(_PACKS))]
    _PACKS[key] = bodies, holidays, pack
    return pack


def _dates_by_schedule(holidays: Holidays) -> dict[int | None, frozenset[date]]:
    """Return the dates on which each schedule that a holiday names contacts nobody, and under None every other one."""
    everywhere = _dates(holiday for holiday in holidays if not holiday.schedule_ids)
    named = {schedule_id for holiday in holidays for schedule_id in holiday.schedule_ids}
    own = {one: _dates(holiday for holiday in holidays if one in holiday.schedule_ids) for one in named}
    return {None: everywhere, **{schedule_id: everywhere | dates for schedule_id, dates in own.items()}}


def _dates(holidays: Iterable[records.Holiday]) -> frozenset[date]:
    spans = ((holiday.first_date, holiday.last_date or holiday.first_date) for holiday in holidays)
    return frozenset(day for first, last in spans for day in dates_from(first, last))


def merged(bodies: Iterable[records.RulePack]) -> PackRows:
    """Return the rows of the shipped pack and of a company's: of two overrides of one row the later holds."""
    shipped = shipped_rows()
    bodies = tuple(bodies)
    own = [row for body in bodies for row in body.rules]
    overrides = {row.id: row for row in own if row.override}
    rows = [overrides.get(row.id, row) for row in shipped.rules] + [row for row in own if not row.override]
    sets = {named.id: named for body in bodies for named in body.holiday_sets}
    sets |= {named.id: named for named in shipped.holiday_sets}
    version = "+".join((shipped.version, *(body.name for body in bodies)))
    return replace(shipped, version=version, rules=tuple(rows), holiday_sets=tuple(sets.values()))
