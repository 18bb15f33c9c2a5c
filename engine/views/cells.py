"""How does one value of a row become JSON? Instants as RFC 3339 in UTC, uuids as text, structs with every field."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

_UTC_SUFFIX = "+00:00"


def moment(value: datetime | None) -> str | None:
    """Return `2026-03-08T12:00:00Z`, with milliseconds only where there are any."""
    if value is None:
        return None
    if value.tzinfo is not UTC:
        value = value.astimezone(UTC)
    text = value.isoformat(timespec="milliseconds" if value.microsecond else "seconds")
    return text.removesuffix(_UTC_SUFFIX) + "Z"


def cell(value: Any) -> Any:
    """Return a value of a row as it goes into JSON."""
    if isinstance(value, datetime):
        return moment(value)
    return str(value) if isinstance(value, UUID) else value


def spelled_out(value: Any) -> Any:
    """Return a struct as dictionaries with every field, those at their default included, and its tag first."""
    if isinstance(value, Struct):
        config = value.__struct_config__
        tag = {config.tag_field: config.tag} if config.tag_field else {}
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {**tag, **{encode_name: spelled_out(getattr(value, name)) for encode_name, name in names}}
    if isinstance(value, list | tuple):
        return [spelled_out(item) for item in value]
    if isinstance(value, dict):
        return {name: spelled_out(item) for name, item in value.items()}
    return value
