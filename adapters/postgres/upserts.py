"""How is a projected row inserted or replaced? By one statement per table, generated from its columns.

A later decision of the same partition wins; between partitions the higher version wins (`queries/projection.sql`).
"""

from adapters.postgres.sql import Schemas
from adapters.postgres.tables import TABLES, Table


def upserts(schemas: Schemas = Schemas()) -> dict[str, str]:  # noqa: B008 - frozen
    """Return the upsert of each table by the table's name."""
    return {table.name: schemas.fill(upsert_sql(table)) for table in TABLES}


def upsert_sql(table: Table) -> str:
    """Return the statement that upserts an array of rows, with `{read}` for the schema."""
    key, others = table.columns[: table.key], table.columns[table.key :]
    replaced = [f"{name} = excluded.{name}" for name in others] + ["deleted_at = NULL"] * table.marks
    return f"""INSERT INTO {{read}}.{table.name} AS t ({", ".join(table.columns)})
SELECT {", ".join(_converted(table, name) for name in table.columns)}
FROM unnest($1::{{read}}.{table.row_type}[]) AS u
ON CONFLICT ({", ".join(key)}) DO UPDATE SET {", ".join(replaced)}
WHERE CASE WHEN excluded.partition = t.partition THEN excluded.sequence > t.sequence ELSE excluded.version > t.version END"""  # noqa: S608 - names of this repository only


def _converted(table: Table, name: str) -> str:
    """Return a column of the row type as the type of the table."""
    if name.endswith("_at"):
        return f"to_timestamp(u.{name}::float8 / 1000)"
    if name in table.lists:
        return f"string_to_array(u.{name}, ',')"
    if name in table.jsonb:
        return f"u.{name}::jsonb"
    return f"u.{name}::uuid" if name == "uuid" else f"u.{name}"
