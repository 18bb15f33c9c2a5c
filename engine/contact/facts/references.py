"""Does a request name records that the company has? Wrong references are refused by field, all at once."""

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from engine.contact.facts.person import Person
from engine.partition.draft import RefusedError

Reference = tuple[str, str, Any]
"""Field, type of record, and the id that was given: None and `UNSET` name nothing."""


def check_references(person: Person, named: Iterable[Reference]) -> None:
    """Raise `RefusedError` where an id is that of no live record of the company."""
    errors: dict[str, list[str]] = {}
    for field, record_type, record_id in named:
        if record_id is not UNSET and record_id is not None and not _is_own(person, record_type, record_id):
            errors.setdefault(field, []).append(f"names no {record_type.replace('_', ' ')}: {record_id}")
    if errors:
        raise RefusedError("validation_failed", f"Correct {', '.join(errors)} and resend.", errors)


def _is_own(person: Person, record_type: str, record_id: int) -> bool:
    record = person.rules.record(record_type, record_id)
    return record is not None and record.company_id == person.company_id and record.deleted_at is None
