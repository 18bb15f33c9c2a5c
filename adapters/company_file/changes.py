"""What would change in a company if a file were applied? The records to create and to change, each with its fields."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from adapters.company_file.api import Row
from adapters.company_file.document import AFTER_COMPANY, COMPANY, TYPES, CompanyFileError, Document, Fields
from adapters.company_file.export import DEFAULTS, DRAFT, EXTERNAL_ID, Known, exported, exported_company, fields_of
from engine.account.named_records import replace_references
from schemas.records import CAPPED_TYPES

FAULTS_NAMED = 20
"""References of one file that an error lists."""


class FileChange(Struct, frozen=True):
    """One record that the file has and the company has otherwise (`before`), or not at all (None)."""

    record_type: str
    name: str
    before: Fields | None
    after: Fields

    @property
    def place(self) -> str:
        """Return where the record stands in the file."""
        return COMPANY if self.record_type == COMPANY else f"{TYPES[self.record_type]}/{self.name}"

    @property
    def fields(self) -> list[str]:
        """Return the fields that differ."""
        before = self.before or {}
        return [name for name in {**before, **self.after} if before.get(name) != self.after.get(name)]


class FileDifference(Struct, frozen=True):
    """What a file changes: `changes` in the order of the file, `alike` counts the rest, `beside` are the company's alone."""

    changes: tuple[FileChange, ...]
    alike: int
    beside: tuple[str, ...]


def difference(document: Document, company: Row, known: Known) -> FileDifference:
    """Compare a file with a company. Raises `CompanyFileError` where the file names a record that neither has."""
    _check_references(document, known)
    pairs = [*_pairs(document, company, known)]
    changes = tuple(pair for pair in pairs if pair.before != pair.after)
    for change in changes:
        _check_draft(change)
    beside = tuple(
        f"{TYPES[record_type]}/{row[EXTERNAL_ID] or row['id']}"
        for record_type, of_type in known.rows.items()
        for row in of_type.values()
        if row[EXTERNAL_ID] is None or str(row[EXTERNAL_ID]) not in document.records[record_type]
    )
    return FileDifference(changes, len(pairs) - len(changes), beside)


def _pairs(document: Document, company: Row, known: Known) -> Iterator[FileChange]:
    zone = document.company.get("time_zone", DEFAULTS[COMPANY]["time_zone"]) if document.company else company["time_zone"]
    for record_type in TYPES:
        if document.company and record_type == AFTER_COMPANY:
            yield FileChange(COMPANY, "", _exported_company(company, known), document.company)
        ids = known.ids[record_type]
        for name, after in sorted(document.records[record_type].items()):
            row = known.rows[record_type][ids[name]] if name in ids else None
            if row is None:
                yield FileChange(record_type, name, None, after)
            else:
                whole = _with_zone(after, zone) if record_type in CAPPED_TYPES else after
                yield FileChange(record_type, name, _exported(record_type, row, known), whole)


def _with_zone(fields: Fields, zone: str) -> Fields:
    """Return fields of a record with caps, whose days are those of its company where it names no zone."""
    if {*fields} == {DRAFT}:
        return {DRAFT: {"time_zone": zone, **fields[DRAFT]}}
    return {"time_zone": zone, **fields}


def _exported_company(company: Row, known: Known) -> Fields:
    try:
        return exported_company(company, known)
    except CompanyFileError:
        return fields_of(COMPANY, company)


def _exported(record_type: str, row: Row, known: Known) -> Fields:
    """Return a record as the file would have it; what it names may have no name yet, and then differs."""
    try:
        return exported(record_type, row, known)
    except CompanyFileError:
        return fields_of(record_type, row)


def _check_references(document: Document, known: Known) -> None:
    faults: list[str] = []

    def check(record: str, record_type: str, name: Any, place: str) -> Any:
        is_there = isinstance(name, str) and (
            name in document.records.get(record_type, {}) or name in known.ids[record_type]
        )
        if not is_there:
            words = record_type.replace("_", " ")
            faults.append(
                f"{record}: {place} names {name!r}, which is the external_record_id of no {words}, here or in the file"
            )
        return name

    replace_references(document.company, partial(check, COMPANY))
    for record_type, records in document.records.items():
        for name, fields in records.items():
            replace_references(fields, partial(check, f"{TYPES[record_type]}/{name}"))
    if faults:
        raise CompanyFileError("; ".join(faults[:FAULTS_NAMED]))


def _check_draft(change: FileChange) -> None:
    """Refuse what no change of a schedule can do: take a publishing back, or what waits for one."""
    if change.record_type != "schedule" or change.before is None:
        return
    if {*change.after} == {DRAFT} and {*change.before} != {DRAFT}:
        raise CompanyFileError(
            f"{change.place} was published, and cannot become a draft again: give its fields beside draft"
        )
    lost = change.before.get(DRAFT, {}).keys() - change.after.get(DRAFT, {}).keys()
    if DRAFT in change.before and lost and {*change.before} != {DRAFT}:
        raise CompanyFileError(
            f"{change.place} has a draft of {', '.join(sorted(lost))}: publish it, or put it into the file"
        )


def with_ids(fields: Mapping[str, Any], ids: Mapping[str, Mapping[str, int]]) -> Fields:
    """Return fields of a file with ids in place of names."""
    found: Fields = replace_references(fields, lambda record_type, name, _: ids[record_type][name])
    return found
