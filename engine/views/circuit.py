"""Which columns has a circuit that is not closed? Each with its type and the rule that fills it."""

from collections.abc import Mapping
from typing import Any

from engine.views.cells import cell
from engine.views.column import Column

STATES = ("open", "half_open")

COLUMNS: tuple[Column, ...] = (
    Column("channel", "string", "what is sent there: webhook, call, sms or email"),
    Column("endpoint", "string", "host and port of webhooks, or the id of a provider configuration; no secrets"),
    Column("state", "string", "open: nothing is sent there until half_open_at; half_open: the next delivery tries it"),
    Column("failure_count", "integer", "failures in a row, of the gateway that has most"),
    Column("opened_at", "date-time", "since when it is spared"),
    Column("half_open_at", "date-time", "from when on one delivery tries it"),
    Column("waiting_count", "integer", "webhooks that wait for it; of other channels none does"),
    Column("gateway_count", "integer", "gateway processes that spare it: each has its own circuit"),
)

CIRCUIT_COLUMNS: tuple[str, ...] = tuple(column.name for column in COLUMNS)
"""Every column, in the order of the API."""

OPERATOR_CIRCUIT_COLUMNS: tuple[str, ...] = (
    *("company_id", *CIRCUIT_COLUMNS[:-1]),
    *("process", "reported_at"),
)
"""Columns of the circuit of one gateway, for operators: whose it is, which process spares it, and when it said so."""


def circuit_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a circuit as the API shows it to its company."""
    return {name: cell(row[name]) for name in CIRCUIT_COLUMNS}
