"""Are a company's own rules of the law right? Each row by itself, and all of them laid over the shipped ones.

A row may add limits or tighten them. A row that loosens a shipped one names it in `override` and says why: the sentence is
stored with the record and its history.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from engine.account.plans import Errors, sentence
from engine.law.company import merged
from engine.law.faults import pack_faults
from engine.law.pack import shipped_rows
from schemas.law import HolidaySet, LawRow, RuleRow
from schemas.records import RulePack

LAW_FIELDS = frozenset({"rules", "holiday_sets"})

ROWS_MAX = 500
"""Rows of one pack of a company: all states several times over, and well below what one record may hold."""

REASON_LENGTH = (10, 500)
"""Characters of a reason: long enough to understand, too short for an essay."""

Fault = tuple[str, str]


def read_rule_pack(given: Mapping[str, Any], values: dict[str, Any], errors: Errors) -> None:
    """Read the rows where they were given, and check them together with the shipped ones; places are `rules[2].cap`."""
    if not LAW_FIELDS & given.keys():
        return
    known = dict(errors)
    rules = _read("rules", RuleRow, given, values, errors)
    sets = _read("holiday_sets", HolidaySet, given, values, errors)
    values |= {"rules": rules, "holiday_sets": sets}
    if errors != known:
        return
    for place, row in enumerate(rules):
        for field, fault in _override_faults(row):
            _add(errors, f"rules[{place}].{field}", fault)
    for field, fault in _faults(rules, sets):
        _add(errors, field, fault)


def _read(
    name: str, kind: type[LawRow], given: Mapping[str, Any], values: Mapping[str, Any], errors: Errors
) -> tuple[Any, ...]:
    raw = given.get(name, values.get(name, ()))
    if raw is None or raw == "":
        return ()
    if isinstance(raw, str | bytes | Mapping) or not isinstance(raw, Sequence) or len(raw) > ROWS_MAX:
        _add(errors, name, f"must be a list of at most {ROWS_MAX} rows")
        return ()
    found = []
    for place, row in enumerate(raw):
        try:
            found.append(row if isinstance(row, kind) else msgspec.convert(row, kind))
        except msgspec.ValidationError as error:
            path, fault = sentence("", error, kind)
            _add(errors, f"{name}[{place}]{path}", fault)
    return tuple(found)


def _override_faults(row: RuleRow) -> Iterator[Fault]:
    shipped = {known.id: known for known in shipped_rows().rules}.get(row.id)
    if not row.override:
        if shipped is not None:
            yield "id", "is the id of a shipped rule; choose another, or say override and a reason to take its place"
        if row.reason:
            yield "reason", "goes with override only; leave it out"
        return
    if shipped is None:
        yield "override", "is for a shipped rule, and none has this id; leave it out"
    elif (row.country, row.state, row.gives_way) != (shipped.country, shipped.state, shipped.gives_way):
        yield "override", f"must be for the place of the shipped rule: {shipped.country} {shipped.state or ''}".rstrip()
    least, most = REASON_LENGTH
    if not least <= len(row.reason.strip()) <= most:
        yield "reason", f"must say in {least} to {most} characters why the shipped rule does not hold for this company"


def _faults(rules: tuple[RuleRow, ...], sets: tuple[HolidaySet, ...]) -> Iterator[Fault]:
    """Yield what is wrong with the rows once they stand beside the shipped ones, under the places of this record."""
    places = [(row.id, f"rules[{number}]") for number, row in enumerate(rules)]
    places += [(named.id, f"holiday_sets[{number}]") for number, named in enumerate(sets)]
    for where, fault in pack_faults(merged([RulePack(name="these", rules=rules, holiday_sets=sets)])):
        found = [f"{place}.{where.removeprefix(f'{name}.')}" for name, place in places if where.startswith(f"{name}.")]
        yield (found[-1] if found else where), fault


def _add(errors: Errors, field: str, fault: str) -> None:
    errors.setdefault(field, []).append(fault)
