"""Which law holds for one company? The shipped pack, merged with the company's own rule packs.

All rows hold at once, so a company's row can only make the law stricter. The exception: a row with `override` and a written
reason replaces the shipped row of its id.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from engine.law.pack import CompiledRulePack, default_pack, shipped_rows
from engine.rules import Rules
from schemas import records
from schemas.law import PackRows

PACKS_MAX = 1_024
"""Cached packs of companies with their own rows; some 100 KB each, the oldest goes first."""

Bodies = tuple[records.RulePack, ...]

_PACKS: dict[int, tuple[Bodies, CompiledRulePack]] = {}


def law_of(rules: Rules, company_id: int) -> CompiledRulePack:
    """Return the pack that holds for a company, as far as its rules are known here."""
    bodies = rules.rule_packs(company_id)
    if not bodies:
        return default_pack()
    known = _PACKS.get(id(bodies))
    if known is not None and known[0] is bodies:
        return known[1]
    pack = CompiledRulePack(merged(bodies))
    if len(_PACKS) >= PACKS_MAX:
        del _PACKS[next(iter(_PACKS))]
    _PACKS[id(bodies)] = bodies, pack
    return pack


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
