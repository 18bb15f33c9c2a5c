"""What does an answer say of a record beside its fields? The warnings about a schedule, an offer or the company."""

from typing import Any

import msgspec

from adapters.http.exchange.exchange import Exchange
from adapters.http.schema.shapes import WARNED_TYPES
from adapters.reads.ports import Row
from engine.account.record_warnings import warnings_of
from schemas.records import RECORD_BODIES


def record_warnings(exchange: Exchange, record_type: str, row: Row) -> dict[str, Any]:
    """Return the field `warnings` of an answer, none where there is nothing to know or the record is deleted."""
    if record_type not in WARNED_TYPES or row["deleted_at"] is not None:
        return {}
    body = msgspec.convert(row["body"], RECORD_BODIES[record_type])
    found = warnings_of(exchange.services.source.rules, row["company_id"], body, exchange.now)
    return {"warnings": list(found)} if found else {}
