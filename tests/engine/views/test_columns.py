"""Has every column of the interface a type and a rule that fills it, and do the types agree with the document?"""

from typing import Any

import pytest

from adapters.http.schema.shapes import CALL_TYPES, LEAD_TYPES
from engine.views import call, lead, lead_columns
from engine.views.column import Column
from schemas.instant import EPOCH
from tests.api.seed_table import CALL_COLUMNS_GIVEN, LEAD_COLUMNS_GIVEN

TYPES = {"integer", "number", "string", "boolean", "object", "date-time", "uuid"}
NEVER_FILLED = {"lead": {"legacy_id", "lead_import_id"}, "call": {"legacy_id"}}
"""What comes with importing: the older system's ids, and the imports themselves."""

RECORDS = [
    ("lead", lead_columns.COLUMNS, LEAD_COLUMNS_GIVEN, LEAD_TYPES),
    ("call", call.COLUMNS, CALL_COLUMNS_GIVEN, CALL_TYPES),
]


@pytest.mark.parametrize(("record", "columns", "given", "_types"), RECORDS)
def test_every_column_of_the_interface_has_a_type_and_a_rule(
    record: str, columns: tuple[Column, ...], given: str, _types: object
) -> None:
    names = [column.name for column in columns]
    assert set(given.split()) <= set(names)
    assert len(names) == len(set(names))
    assert [column for column in columns if column.type not in TYPES or not column.rule] == []
    assert {column.name for column in columns if column.rule.startswith("null:")} == NEVER_FILLED[record]


@pytest.mark.parametrize(("_record", "columns", "_given", "types"), RECORDS)
def test_the_document_tells_the_type_that_the_rule_fills(
    _record: str, columns: tuple[Column, ...], _given: str, types: dict[str, dict[str, Any]]
) -> None:
    for column in columns:
        told = types[column.name]
        kinds = told.get("type", [])
        outside = {"date-time": "string", "uuid": "string"}.get(column.type, column.type)
        assert outside in ([kinds] if isinstance(kinds, str) else kinds), column.name
        if column.type in {"date-time", "uuid"}:
            assert told.get("format") == column.type, column.name


def test_a_lead_shows_the_columns_of_the_table_and_no_others() -> None:
    class Empty(dict[str, object]):
        def __missing__(self, key: str) -> object:
            return [] if key == "zones" else None

    assert tuple(lead.lead_view(Empty(status="queue", id=1), EPOCH)) == tuple(one.name for one in lead_columns.COLUMNS)
