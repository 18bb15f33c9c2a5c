"""Is a column that is declared once in every part of its table's upsert, and does the database have it?"""

import asyncpg
import msgspec
import pytest

from adapters.postgres.tables import LEADS, TABLES, Table
from adapters.postgres.upserts import upsert_sql, upserts

COLUMNS = """
SELECT attname FROM pg_attribute
WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""


def test_a_column_that_is_declared_once_is_inserted_selected_and_replaced() -> None:
    columns = (*LEADS.columns, "shade", "seen_at", "notes", "tags")
    table = msgspec.structs.replace(LEADS, columns=columns, jsonb=LEADS.jsonb | {"notes"}, lists=LEADS.lists | {"tags"})
    inserted, _, rest = upsert_sql(table).partition("SELECT")
    selected, _, replaced = rest.partition("FROM unnest")
    assert "rest, shade, seen_at, notes, tags)" in inserted
    assert selected.strip().endswith(
        "u.rest::jsonb, u.shade, to_timestamp(u.seen_at::float8 / 1000), u.notes::jsonb, string_to_array(u.tags, ',')"
    )
    for name in ("shade", "seen_at", "notes", "tags"):
        assert f" {name} = excluded.{name}," in replaced


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_but_the_key_is_replaced(table: Table) -> None:
    _, _, replaced = upserts()[table.name].partition("DO UPDATE SET ")
    expected = {f"{name} = excluded.{name}" for name in table.columns[table.key :]}
    assert {part.strip() for part in replaced.partition("\nWHERE")[0].split(",")} == expected | (
        {"deleted_at = NULL"} if table.marks else set()
    )


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
async def test_the_type_in_which_rows_are_sent_has_the_columns_of_the_table_in_their_order(
    migrated_database: str, table: Table
) -> None:
    connection = await asyncpg.connect(migrated_database)
    try:
        sent = [row["attname"] for row in await connection.fetch(COLUMNS, f"read.{table.row_type}")]
        stored = {row["attname"] for row in await connection.fetch(COLUMNS, f"read.{table.name}")}
    finally:
        await connection.close()
    assert tuple(sent) == table.columns
    assert stored >= {*table.columns}
