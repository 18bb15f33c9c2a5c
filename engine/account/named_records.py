"""Which fields of an account record, written as JSON, name other records? By ids here, by names in a file of a company.

A field of one of these names means the same wherever it stands: in a record, in a step, in a filter of a team.
"""

from collections.abc import Callable, Mapping
from typing import Any

NAMING_FIELDS: Mapping[str, str] = {
    "offer_id": "offer",
    "offer_ids": "offer",
    "schedule_id": "schedule",
    "schedule_ids": "schedule",
    "buyer_id": "buyer",
    "buyer_ids": "buyer",
    "buyer_group_id": "buyer_group",
    "buyer_group_ids": "buyer_group",
    "buyer_fleet_ids": "buyer_fleet",
    "traffic_source_id": "traffic_source",
    "number_id": "number",
    "number_ids": "number",
    "traffic_source_ids": "traffic_source",
    "outgoing_webhook_id": "outgoing_webhook",
    "action_group_id": "action_group",
    "agent_status_id": "agent_status",
    "agent_ids": "agent",
    "call_center_id": "call_center",
    "call_center_ids": "call_center",
    "suppression_list_id": "suppression_list",
    "suppression_list_ids": "suppression_list",
    "default_number_id": "number",
}
"""Field -> the type of the record, or records, that it names."""

OF_THE_SENDER = frozenset({"set", "add_tokens", "headers"})
"""Objects whose fields senders choose: a token `offer_id` names nothing."""

PERMISSIONS = "permissions"
"""The field of a team whose models say which type their `scope` names."""

Replace = Callable[[str, Any, str], Any]
"""Replaces what names a record: its type, the id or name, and the place for people, such as `steps[2].schedule_id`."""


def replace_references(fields: Any, replace: Replace, place: str = "") -> Any:
    """Return fields with everything replaced that names a record."""
    if isinstance(fields, Mapping):
        return {name: _replaced(str(name), value, replace, f"{place}.{name}".lstrip(".")) for name, value in fields.items()}
    if isinstance(fields, list | tuple):
        return [replace_references(value, replace, f"{place}[{number}]") for number, value in enumerate(fields)]
    return fields


def _replaced(name: str, value: Any, replace: Replace, place: str) -> Any:
    if name in OF_THE_SENDER:
        return value
    if name == PERMISSIONS and isinstance(value, Mapping):
        return {model: _scoped(str(model), given, replace, f"{place}.{model}.scope") for model, given in value.items()}
    record_type = NAMING_FIELDS.get(name)
    return replace_references(value, replace, place) if record_type is None else _named(record_type, value, replace, place)


def _named(record_type: str, value: Any, replace: Replace, place: str) -> Any:
    if isinstance(value, list | tuple):
        return [replace(record_type, one, f"{place}[{number}]") for number, one in enumerate(value)]
    return None if value is None else replace(record_type, value, place)


def _scoped(model: str, given: Any, replace: Replace, place: str) -> Any:
    """Return what a team may do with a model; a `scope` that is a list names records of it."""
    if not isinstance(given, Mapping) or not isinstance(given.get("scope"), list | tuple):
        return given
    return {**given, "scope": _named(model, given["scope"], replace, place)}
