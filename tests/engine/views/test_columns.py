"""Has every column of the interface a type and a rule that fills it, and do the types agree with the document?"""

import subprocess
import sys
from typing import Any

import pytest

from adapters.http.schema.shapes import CALL_TYPES, LEAD_TYPES
from engine.views import call, lead, lead_columns
from engine.views.column import Column
from schemas.instant import EPOCH
from tests.api.seed_table import CALL_COLUMNS_GIVEN, LEAD_COLUMNS_GIVEN

TYPES = {"integer", "number", "string", "boolean", "object", "date-time", "uuid"}
NEVER_FILLED = {"lead": {"legacy_id"}, "call": {"legacy_id"}}
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
        described = types[column.name]
        kinds = described.get("type", [])
        outside = {"date-time": "string", "uuid": "string"}.get(column.type, column.type)
        assert outside in ([kinds] if isinstance(kinds, str) else kinds), column.name
        if column.type in {"date-time", "uuid"}:
            assert described.get("format") == column.type, column.name


def test_a_lead_shows_the_columns_of_the_table_and_no_others() -> None:
    class Empty(dict[str, object]):
        def __missing__(self, key: str) -> object:
            return [] if key == "zones" else None

    assert tuple(lead.lead_view(Empty(status="queue", id=1), EPOCH)) == tuple(one.name for one in lead_columns.COLUMNS)


MADE_UP = """
from engine.views import lead_columns
from engine.views.column import Column

lead_columns.COLUMNS += (Column("shade", "integer", "made up"), Column("shaded_at", "date-time", "made up"))
lead_columns.LEAD_COLUMNS += ("shade", "shaded_at")

from adapters.http.exchange.exports import write_csv
from adapters.http.schema.shapes import components
from adapters.postgres.reads import SHOWN_COLUMNS
from engine.views.lead import SERIALIZERS, lead_view
from schemas.instant import EPOCH, to_datetime


class Row(dict):
    def __missing__(self, key):
        return [] if key == "zones" else None


shown = lead_view(Row(status="queue", id=1, shade=7, shaded_at=to_datetime(EPOCH)), EPOCH)
assert list(shown)[-2:] == ["shade", "shaded_at"]
assert (shown["shade"], shown["shaded_at"][:10]) == (7, "1970-01-01")
assert {"shade", "shaded_at"} <= set(SHOWN_COLUMNS.replace(",", " ").split())
header, row, _ = write_csv(SERIALIZERS["lead"], [shown]).decode().split("\\r\\n")
assert header.endswith(',"shade","shaded_at"') and ',7,"1970-01-01' in row
document = components()["Lead"]["properties"]
assert document["shade"] == {"type": ["integer", "null"]}
assert document["shaded_at"] == {"type": ["string", "null"], "format": "date-time"}
"""


def test_a_made_up_column_is_selected_shown_typed_and_exported() -> None:
    subprocess.run([sys.executable, "-c", MADE_UP], check=True)
