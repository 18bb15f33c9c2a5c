"""What does one row of a report hold? Its category with a label, and its metrics: as JSON, or flat as a CSV row."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adapters.http.exchange.exchange import Exchange
from adapters.http.exchange.parameters import read_id
from adapters.http.exchange.references import is_own
from adapters.http.exchange.report_slots import in_slices
from engine.rules import Rules
from engine.views.lead import SENTENCES
from engine.views.report import NO_VALUE, Key, Measure, Number, Report

NO_CATEGORY = "all"
"""The label of the one row of a report without a category."""

_RECORDS: Mapping[str, str] = {
    "offer_id": "offer",
    "schedule_id": "schedule",
    "traffic_source_id": "traffic_source",
    "buyer_id": "buyer",
    "buyer_group_id": "buyer_group",
    "recent_call_disposition_id": "call_disposition",
    "disposition_id": "call_disposition",
    "call_center_id": "call_center",
    **dict.fromkeys(("agent_id", "called_agent_id"), "agent"),
    "ring_pool_id": "ring_pool",
    "number_id": "number",
}
"""Grouping by an account record -> type of the record, whose name is the label."""

_HEADS = {status: sentence.partition(":")[0] for status, sentence in SENTENCES.items()}
_STATUS_LABELS: Mapping[str, str] = {
    status: head for status, head in _HEADS.items() if list(_HEADS.values()).count(head) == 1
}
"""Status of a lead -> its label, if no other status has the same first words (the completed ones have)."""

Cell = Mapping[str, Number | None]


class Rows(Sequence[dict[str, Any]]):
    """The rows of a report, each built on access, in the engine thread: a page shows few of them."""

    def __init__(self, keys: Sequence[Key], row: Callable[[Key], dict[str, Any]]) -> None:
        self._keys = keys
        self._row = row

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, index: Any) -> Any:
        found = self._keys[index]
        return [self._row(key) for key in in_slices(found)] if isinstance(index, slice) else self._row(found)


def row_of(
    exchange: Exchange,
    names: tuple[str | None, str | None],
    made: Report,
    key: Key,
    *,
    columns: Sequence[str] | None,
    measure: Measure,
) -> dict[str, Any]:
    """Return a row: its category and its metrics, or those of each pivot and their total. `names`: category and pivot."""
    named = {"category": key, "category_label": label(exchange, names[0], key)}
    if names[1] is None:
        row = {**named, **made.totals[key]}
        return {name: row[name] for name in columns} if columns else row
    wanted = [name for name in columns or measure.columns if name in measure.columns]
    pivots = {text_of(pivot): _chosen(made.cells[key, pivot], wanted) for pivot in made.pivots}
    return {**named, "pivots": pivots, "total": _chosen(made.totals[key], wanted)}


def _chosen(cell: Cell, wanted: Sequence[str]) -> dict[str, Number | None]:
    return {name: cell[name] for name in wanted}


def flat_columns(made: Report, shown: Sequence[str], measure: Measure) -> list[str]:
    """Return the CSV columns of a report with pivots."""
    wanted = [name for name in shown if name in measure.columns]
    pivots = (*map(text_of, made.pivots), total_of(made))
    across = [f"{pivot}.{name}" for pivot in pivots for name in wanted]
    return ["category", "category_label", *across]


def total_of(made: Report) -> str:
    """Return the CSV prefix of a row's totals, which differs from every pivot."""
    return "(total)" if "total" in made.pivots else "total"


def flat(row: Mapping[str, Any], *, total: str) -> dict[str, Any]:
    """Return a row with pivots as a CSV row: a column `<pivot>.<metric>` each; `total` is the prefix of the totals."""
    parts = {**row["pivots"], total: row["total"]}
    across = {f"{pivot}.{name}": value for pivot, cell in parts.items() for name, value in cell.items()}
    return {"category": row["category"], "category_label": row["category_label"], **across}


def text_of(key: Key) -> str:
    """Return the name of a pivot: names in JSON are text."""
    if key is None:
        return NO_VALUE
    return str(key).lower() if isinstance(key, bool) else str(key)


def label(exchange: Exchange, name: str | None, key: Key) -> str:
    """Return the label of a category: the name of a record, the first words of a status."""
    if name is None:
        return NO_CATEGORY
    if key is None:
        return NO_VALUE
    if name in _RECORDS and isinstance(key, int):
        return _record_name(exchange.services.source.rules, _RECORDS[name], key) or str(key)
    if name == "contact_field_type" and isinstance(key, str):
        return _field_type_name(exchange, key) or key
    if name == "status" and isinstance(key, str):
        return status_label(key)
    return _worded(key) if isinstance(key, str) and name in {"outcome", "origin", "promised_by"} else text_of(key)


def status_label(status: str) -> str:
    """Return the label of a status of leads or calls; no two statuses of leads share one."""
    return _STATUS_LABELS.get(status) or _worded(status)


def _worded(code: str) -> str:
    return code.replace("_", " ").replace("-", " ").capitalize()


def _field_type_name(exchange: Exchange, text: str) -> str | None:
    """Return the name of a contact field type of the company; a sender may have written anything, also a foreign id."""
    type_id = read_id(text)
    if not isinstance(type_id, int) or not is_own(exchange, "contact_field_type", type_id):
        return None
    return _record_name(exchange.services.source.rules, "contact_field_type", type_id)


def _record_name(rules: Rules, record_type: str, record_id: int) -> str | None:
    record = rules.record(record_type, record_id)
    return None if record is None else record.body.get("name")
