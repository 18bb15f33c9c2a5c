"""How do the records of a company become a document? Read over the API, with names in place of ids."""

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, count
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct

from adapters.company_file.api import CompanyApi, Row
from adapters.company_file.document import COMPANY, TYPES, CompanyFileError, Document, Fields
from engine.account.groups import CAPS_OF
from engine.account.named_records import replace_references
from schemas.records import CAPPED_TYPES, RECORD_BODIES, plain

EXTERNAL_ID = "external_record_id"
DRAFT = "draft"
"""The field of a schedule in the file that holds what waits for its publishing; alone, the schedule was never published."""

NOT_IN_FILE: Mapping[str, frozenset[str]] = {
    "company": frozenset({"sealed_sign_in_secret"}),
    "outgoing_webhook": frozenset({"headers", "secret_generation"}),
    "subscription": frozenset({"secret_generation", "secret_rotated_at"}),
    "provider_configuration": frozenset({"sealed_secrets", "callback_generation"}),
    "schedule": frozenset({"lead_token", "sealed_signing_secret", "migrate", "draft_fields", "unpublished", "published_at"}),
    "offer": frozenset({"lead_token", "sealed_signing_secret"}),
    "call_disposition": frozenset({"system"}),
}
"""Fields that are secret or belong to one company's history. Headers of webhooks may hold another system's secret."""

NEVER_IN_FILE = frozenset(
    {EXTERNAL_ID, "unpause_at", "paused_at", "unpaused_at", "paused_by_user_id", "total_caps_reset_at", "caps"}
)
"""Names and moments. Caps stand in the file by the names that the API gives them."""

NAMED_AT_ONCE = 20
"""Records that one sentence names."""

DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    record_type: {
        field.name: msgspec.to_builtins(field.default)
        for field in msgspec.structs.fields(body)
        if field.default is not NODEFAULT
    }
    for record_type, body in RECORD_BODIES.items()
}
"""Record type -> field -> its default, as JSON has it."""

_REQUIRED = {"lead_token": "given-by-the-company"}


class Known(Struct):
    """The records of a company: type -> row by id, and the id by name."""

    rows: dict[str, dict[int, Row]]
    ids: dict[str, dict[str, int]]

    def name_of(self, record_type: str, record_id: Any, place: str) -> str:
        """Return the name of a record. Raises `CompanyFileError` where there is none, as where it was deleted."""
        row = self.rows.get(record_type, {}).get(record_id)
        if row is None:
            raise CompanyFileError(
                f"{place} names {record_type.replace('_', ' ')} {record_id}, which was deleted; take it out"
            )
        return str(row[EXTERNAL_ID])


async def read_company(api: CompanyApi) -> Known:
    """Read every record that a file holds."""
    rows = {record_type: {row["id"]: row for row in await api.records(record_type)} for record_type in TYPES}
    ids = {
        record_type: {str(row[EXTERNAL_ID]): row_id for row_id, row in of_type.items() if row[EXTERNAL_ID] is not None}
        for record_type, of_type in rows.items()
    }
    return Known(rows, ids)


def export(company: Row, known: Known) -> Document:
    """Return the document of a company. Raises `CompanyFileError` where a record has no name."""
    nameless = [_place(record_type, row) for record_type, row in unnamed(known)]
    if nameless:
        shown = ", ".join(nameless[:NAMED_AT_ONCE]) + (
            f" and {len(nameless) - NAMED_AT_ONCE} more" * (len(nameless) > NAMED_AT_ONCE)
        )
        raise CompanyFileError(f"these records have no external_record_id: {shown}; set one, or let --assign make them up")
    records = {
        record_type: {str(row[EXTERNAL_ID]): exported(record_type, row, known) for row in of_type.values()}
        for record_type, of_type in known.rows.items()
    }
    return Document(exported_company(company, known), records)


def exported_company(company: Row, known: Known) -> Fields:
    """Return the company's own fields as they stand in the file."""
    return _named(fields_of(COMPANY, company), COMPANY, known)


def exported(record_type: str, row: Row, known: Known) -> Fields:
    """Return a record as it stands in the file."""
    fields = fields_of(record_type, row)
    if record_type == "schedule":
        fields = _with_draft(row, fields)
    record = f"{TYPES[record_type]}/{row[EXTERNAL_ID]}"
    return _named(fields, record, known)


def _named(fields: Fields, record: str, known: Known) -> Fields:
    """Return fields with names in place of ids."""
    named: Fields = replace_references(fields, lambda of_type, one, place: known.name_of(of_type, one, f"{record}: {place}"))
    return named


def fields_of(record_type: str, row: Row) -> Fields:
    """Return the fields of a row that people decide, without those that have their default."""
    kind = RECORD_BODIES[record_type]
    left_out = NEVER_IN_FILE | NOT_IN_FILE.get(record_type, frozenset())
    given = {name: row[name] for name in kind.__struct_fields__ if name in row and name not in left_out}
    required = {name: value for name, value in _REQUIRED.items() if name in kind.__struct_fields__}
    # As JSON has it, so that it can be compared with what a file says.
    fields = msgspec.json.decode(msgspec.json.encode(plain(msgspec.convert({**given, **required}, kind))))
    # `omit_defaults` compares identities, and an equal text that was read is another object.
    default = DEFAULTS[record_type]
    found = {
        name: value
        for name, value in fields.items()
        if name not in required and (name not in default or value != default[name])
    }
    caps = {name: row[name] for name in CAPS_OF.get(record_type, ()) if row.get(name) is not None}
    # A record with caps that is made without a zone gets that of its company, whatever the default of the field says.
    zone = {"time_zone": row["time_zone"]} if record_type in CAPPED_TYPES else {}
    return {**found, **caps, **zone}


def _with_draft(row: Row, fields: Fields) -> Fields:
    waiting = {name: value for name, value in (row["draft_fields"] or {}).items() if name not in NEVER_IN_FILE}
    if row["unpublished"]:
        return {DRAFT: {**fields, **waiting}}
    return {**fields, DRAFT: waiting} if waiting else fields


def unnamed(known: Known) -> Iterable[tuple[str, Row]]:
    """Yield the records that have no `external_record_id`."""
    for record_type, of_type in known.rows.items():
        yield from ((record_type, row) for row in of_type.values() if row[EXTERNAL_ID] is None)


def assigned_name(row: Row, is_taken: Callable[[str], bool]) -> str:
    """Return a name for a record: its own in small letters, with a number where another record has that."""
    text = row.get("user_fleet_id") or row.get("name") or row.get("number") or ""
    base = re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-")[:60] or f"record-{row['id']}"
    return next(name for name in chain([base], (f"{base}-{number}" for number in count(2))) if not is_taken(name))


def _place(record_type: str, row: Row) -> str:
    return f"{record_type.replace('_', ' ')} {row['id']} ({row.get('name') or row.get('number') or ''})"
