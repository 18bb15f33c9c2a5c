"""What do both stores hold, in one form that can be compared? Instants in milliseconds, JSON decoded, lists as lists."""

from typing import Any

import msgspec

from adapters.postgres.tables import IMPRESSION_COLUMNS, TABLES
from adapters.projector.postgres import PostgresStore
from schemas.instant import from_datetime
from tests.adapters.projector.memory import MemoryStore

JSON_COLUMNS = {
    "columns",
    "data",
    "flight",
    "lead_ids",
    "disabled_until",
    "moved",
    "body",
    "answer",
    "token_values",
    "rest",
    "tallies",
    "tokens",
}
LIST_COLUMNS = {"zones", "states", "reasons", "failed_channels"}
HISTORY = (
    *("topic", "partition", "sequence", "ordinal", "at", "type", "company_id", "contact_key", "lead_id", "call_id", "data"),
    "digest",
)
RESULTS = ("request_id", "company_id", "verdict", "answer", "decided_at")
FAULTS = ("topic", "partition", "offset", "sequence", "error")
PLAIN = (
    ("history", HISTORY, 4),
    ("request_results", RESULTS, 1),
    ("faults", FAULTS, 3),
    ("impressions", IMPRESSION_COLUMNS, 2),
)

Tables = dict[str, dict[tuple[Any, ...], dict[str, Any]]]


def named(columns: tuple[str, ...], row: tuple[Any, ...]) -> dict[str, Any]:
    return {name: _plain(name, value) for name, value in zip(columns, row, strict=True)}


def _plain(name: str, value: Any) -> Any:
    if name in JSON_COLUMNS and isinstance(value, str):
        return msgspec.json.decode(value)
    if name in LIST_COLUMNS and isinstance(value, str):
        return value.split(",") if value else []
    return value


def of_memory(store: MemoryStore) -> Tables:
    found: Tables = {}
    for table in TABLES:
        marked = store.deleted_at.get(table.name, {})
        found[table.name] = {
            key: named(table.columns, row) | ({"deleted_at": marked.get(key)} if table.marks else {})
            for key, row in store.tables[table.name].items()
        }
    show_waiting(found)
    plain = {
        "history": store.history.values(),
        "request_results": store.results.values(),
        "faults": store.faults.values(),
        "impressions": store.impressions.values(),
    }
    for name, columns, key in PLAIN:
        found[name] = {row[:key]: named(columns, row) for row in plain[name]}
    return found


def show_waiting(tables: Tables) -> None:
    """Show with each lead that waits in a queue for slots what the queue waits for, as the view `waiting_leads` does."""
    for lead in tables["leads"].values():
        if lead["slot_queue"] is None or "slot_id" in lead["rest"]:
            continue
        queue = tables["slot_queues"].get((lead["company_id"], lead["slot_queue"], lead["partition"]))
        reason = None if queue is None else queue["closed_reason"]
        next_at = lead["planned_at"]
        if queue is not None and reason is not None:
            resets_at = queue["resets_at"]
            too_late = not lead["ending"] and lead["expires_at"] is not None and (resets_at or 0) >= lead["expires_at"]
            next_at = None if resets_at is None or too_late else max(resets_at, next_at)
        reason = reason or "concurrency_cap"
        lead |= {"status_wait": reason, "next_action_at": next_at, "reasons": [reason]}


def removed_from_its_queue(lead: dict[str, Any]) -> dict[str, Any]:
    """Return what a removed lead shows that waited in a queue."""
    if lead["slot_queue"] is None:
        return {}
    return {"slot_queue": None, "status_wait": None, "next_action_at": None, "reasons": []}


async def of_postgres(pool: Any, schema: str = "read") -> Tables:
    found: Tables = {}
    wanted = [(t.name, (*t.columns, "deleted_at") if t.marks else t.columns, t.key) for t in TABLES]
    for name, columns, key in (*wanted, *PLAIN):
        quoted = ", ".join(f'"{column}"' for column in columns)
        rows = await pool.fetch(f"SELECT {quoted} FROM {schema}.{name}")  # noqa: S608 - names of ours
        values = [tuple(_instant(value) for value in row.values()) for row in rows]
        found[name] = {row[:key]: named(columns, row) for row in values}
    return found


def _instant(value: Any) -> Any:
    return from_datetime(value) if hasattr(value, "tzinfo") else value


async def tables_of(store: MemoryStore | PostgresStore) -> Tables:
    return of_memory(store) if isinstance(store, MemoryStore) else await of_postgres(store._pool)


async def rewind(store: MemoryStore | PostgresStore, topic: str, partition: int, offset: int) -> None:
    """Let a partition be read again from an earlier offset: in PostgreSQL an operator does it by hand."""
    if isinstance(store, MemoryStore):
        await store.rewind(topic, partition, offset)
        return
    moved = "UPDATE read.positions SET next_offset = $3 WHERE topic = $1 AND partition = $2 AND next_offset > $3"
    await store._pool.execute(moved, topic, partition, offset)
