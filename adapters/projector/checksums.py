"""Do two projections hold the same rows? Compare the sum of row digests per table and partition, in one snapshot.

A sum needs no sorting and no key: equal rows give equal sums, in whatever order and batches they were written.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from adapters.postgres.sql import Schemas, queries
from adapters.postgres.tables import TABLES
from adapters.reads.ports import RESULT_RETENTION
from schemas.instant import DAY, Instant, to_rfc3339
from schemas.topics import ACCOUNTS_DECISIONS, CONTACTS_DECISIONS, IMPRESSION_RETENTION_MS, IMPRESSIONS

CHECKSUM_SECONDS = 3_600.0
"""Timeout of one table: a million rows take some ten seconds."""

IMPRESSION_MARGIN = DAY
"""Impressions within so long of their deletion are not compared: they are purged in steps."""

EXAMPLES_MAX = 5
"""Differing rows named per table."""

Connection = Any
"""An asyncpg connection, of a pool or not."""


class _ChecksummedTable(Struct, frozen=True):
    """A table, its primary key, and the SQL that names a row's topic and partition (`place`)."""

    name: str
    place: str
    key: tuple[str, ...]


_ACCOUNTS = ("records", "slots")
_OF_TOPIC = "t.topic || '[' || t.partition || ']'"
CHECKSUMMED_TABLES = (
    *(
        _ChecksummedTable(
            table.name,
            f"'{(ACCOUNTS_DECISIONS if table.name in _ACCOUNTS else CONTACTS_DECISIONS).name}[' || t.partition || ']'",
            table.columns[: table.key],
        )
        for table in TABLES
    ),
    _ChecksummedTable("history", _OF_TOPIC, ("topic", "partition", "sequence", "ordinal")),
    _ChecksummedTable("faults", _OF_TOPIC, ("topic", "partition", '"offset"')),
    _ChecksummedTable("request_results", "'all'", ("request_id",)),
    _ChecksummedTable("impressions", f"'{IMPRESSIONS.name}[' || t.partition || ']'", ("company_id", "id")),
)
"""Tables that follow from the topics alone; fulltext, rollups and marks follow from these by triggers and periodic jobs."""


class TableChecksum(Struct, frozen=True, kw_only=True):
    """The rows of a table that come from one partition (`place`, `topic[partition]`), and their checksum."""

    table: str
    place: str
    rows: int
    checksum: str


class TableDifference(Struct, frozen=True, kw_only=True):
    """Rows that differ: how many are shown, how many the decisions give, and the keys of some."""

    table: str
    place: str
    rows_shown: int
    rows_decided: int
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


async def read_checksums(
    connection: Connection,
    schema: str,
    *,
    now: Instant,
    progress: Callable[[str], None] = lambda _: None,
) -> list[TableChecksum]:
    """Return the checksums of a schema by table, without rows that may be purged meanwhile (`now` is the present).

    In a repeatable-read transaction they belong to the positions that it sees.
    """
    text = queries("rebuild")["checksum"].replace("{schema}", schema)
    found: list[TableChecksum] = []
    await connection.execute("SET LOCAL TIME ZONE 'UTC'; SET LOCAL extra_float_digits = 1")
    for table in CHECKSUMMED_TABLES:
        filled = text.replace("{table}", table.name).replace("{place}", table.place)
        rows = await connection.fetch(filled.replace("{only}", _only(table, now)), timeout=CHECKSUM_SECONDS)
        found += [
            TableChecksum(
                table=table.name, place=row["place"], rows=row["rows"], checksum=f"{int(row['digest']) % 2**64:016x}"
            )
            for row in rows
        ]
        progress(table.name)
    return found


async def compare_tables(
    connection: Connection,
    schemas: Schemas,
    rebuild_schema: str,
    *,
    now: Instant,
    progress: Callable[[str], None] = lambda _: None,
) -> list[TableDifference]:
    """Compare the read schema with the rebuild schema in one snapshot; return [] if they are equal."""
    shown = {(one.table, one.place): one for one in await _of(connection, schemas.read, now, progress)}
    decided = {(one.table, one.place): one for one in await _of(connection, rebuild_schema, now, progress)}
    unlike = [key for key in sorted({*shown, *decided}) if shown.get(key) != decided.get(key)]
    examples = {table: await _examples(connection, schemas, rebuild_schema, table, now) for table, _ in unlike}
    return [
        TableDifference(
            table=key[0],
            place=key[1],
            rows_shown=shown[key].rows if key in shown else 0,
            rows_decided=decided[key].rows if key in decided else 0,
            **examples[key[0]],
        )
        for key in unlike
    ]


async def _of(connection: Connection, schema: str, now: Instant, progress: Callable[[str], None]) -> list[TableChecksum]:
    return await read_checksums(connection, schema, now=now, progress=progress)


async def _examples(
    connection: Connection, schemas: Schemas, rebuild_schema: str, name: str, now: Instant
) -> dict[str, tuple[str, ...]]:
    table = next(table for table in CHECKSUMMED_TABLES if table.name == name)
    text = queries("rebuild", schemas)["differing"].replace("{rebuild}", rebuild_schema).replace("{table}", name)
    text = text.replace("{key}", ", ".join(table.key)).replace("{only}", _only(table, now))
    rows = await connection.fetch(text.replace("{examples}", str(EXAMPLES_MAX)), timeout=CHECKSUM_SECONDS)
    return {
        "missing": tuple(row["key"] for row in rows if row["is_missing"]),
        "extra": tuple(row["key"] for row in rows if row["is_extra"]),
        "changed": tuple(row["key"] for row in rows if not row["is_missing"] and not row["is_extra"]),
    }


def _only(table: _ChecksummedTable, now: Instant) -> str:
    if table.name == "request_results":
        return f"WHERE t.decided_at > '{to_rfc3339(now - RESULT_RETENTION // 2)}'"
    if table.name == "impressions":
        return f"WHERE t.created_at > '{to_rfc3339(now - IMPRESSION_RETENTION_MS + IMPRESSION_MARGIN)}'"
    return ""


def combine_checksums(found: Sequence[TableChecksum]) -> str:
    """Return one checksum of many: their sum."""
    return f"{sum(int(one.checksum, 16) for one in found) % 2**64:016x}"
