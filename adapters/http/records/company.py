"""How is a company's own record shown and updated over HTTP? The key says which company."""

from collections.abc import Mapping
from typing import Any

import msgspec

from adapters.gateway.targets import refusal_of
from adapters.http.exchange.answers import PAGING_PARAMETERS, add_etag, read_columns, reply_with_record
from adapters.http.exchange.client_secrets import seal_client_secret
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import ProblemError, not_found
from adapters.http.exchange.writes import read_if_match, submit_change
from adapters.http.records.record_fields import CLIENT_SECRET, read_record_fields, settable
from adapters.http.records.record_warnings import record_warnings
from adapters.http.schema.inputs import record_inputs
from adapters.http.schema.shapes import record_answer
from adapters.reads.ports import Result, Row
from engine.submission.fields import is_blank, parse_text
from engine.views.record import record_columns, record_view
from schemas.records import Company
from schemas.requests import RecordChangeRequested

PATH = "/api/v1/company"

SIGN_IN = "sign_in_"
"""How the names of the fields begin that say by which issuer users sign in."""


async def show(exchange: Exchange) -> Reply:
    """Answer with the company of the key."""
    parameters = Parameters(exchange.query)
    columns = read_columns(parameters, record_columns("company"))
    parameters.finish()
    row = await _row(exchange, exchange.company_id)
    shown = _view(row)
    more = record_warnings(exchange, "company", row)
    reply = reply_with_record(exchange, "company", {name: shown[name] for name in columns or shown}, **more)
    return add_etag(reply, row["version"])


async def update(exchange: Exchange) -> Reply:
    """Update the company of the key."""
    company_id = exchange.company_id
    row = await _row(exchange, company_id)
    fields = read_record_fields(exchange, "company", _view(row), msgspec.convert(row["body"], Company))
    _check_sign_in(exchange, fields, row)
    _check_issuer(exchange, fields)
    _seal_client_secret(exchange, fields)
    message = RecordChangeRequested(
        company_id=company_id,
        type="company",
        operation="update",
        id=company_id,
        fields=fields,
        if_versions=read_if_match(exchange),
    )
    return await submit_change(exchange, message, render)


def _check_issuer(exchange: Exchange, fields: Mapping[str, Any]) -> None:
    """Refuse an issuer at a private address: requests go there. Raises `ProblemError`."""
    issuer, settings = fields.get("sign_in_issuer"), exchange.services.settings
    fault = refusal_of(issuer, settings.webhook_networks, settings.own_ports) if isinstance(issuer, str) else None
    if fault is not None:
        raise ProblemError("validation_failed", "Correct sign_in_issuer and resend.", {"sign_in_issuer": [fault]})


def _check_sign_in(exchange: Exchange, fields: Mapping[str, Any], row: Row) -> None:
    """Let only those who may change users say by which issuer users sign in: it says who somebody is."""
    known = _view(row)
    if any(name.startswith(SIGN_IN) and not _is_same(value, known.get(name)) for name, value in fields.items()):
        exchange.key.require("user:update")


def _is_same(value: Any, known: Any) -> bool:
    return bool(value == known) or (is_blank(value) and not known)


def _seal_client_secret(exchange: Exchange, fields: dict[str, Any]) -> None:
    """Replace the secret of a client by its encrypted form; null removes it, and what is left out stays."""
    if CLIENT_SECRET not in fields:
        return
    secret = fields.pop(CLIENT_SECRET)
    key = exchange.services.settings.secret_key
    fields["sealed_sign_in_secret"] = (
        None if is_blank(secret) else seal_client_secret(key, exchange.company_id, parse_text(secret))
    )


async def render(exchange: Exchange, result: Result) -> Reply:
    """Answer with the company of a request."""
    row = await _row(exchange, result.company_id)
    more = record_warnings(exchange, "company", row)
    return add_etag(reply_with_record(exchange, "company", _view(row), **more), row["version"])


async def _row(exchange: Exchange, company_id: int) -> Row:
    row = await exchange.reads.record(company_id, "company", company_id)
    if row is None:
        raise not_found("company")
    return row


def _view(row: Row) -> dict[str, Any]:
    # The key says which company, so the path needs no id.
    return {**record_view("company", row, PATH), "routes_show_path": PATH, "routes_edit_path": PATH}


_ANSWER = record_answer("company", "company")

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="show_company",
        leads="none",
        methods=("GET",),
        path=PATH,
        summary="Show the company of the key",
        handler=show,
        scope="company:read",
        parameters={"columns": PAGING_PARAMETERS["columns"], "root": "false: the bare record"},
        answer=_ANSWER,
    ),
    Operation(
        name="update_company",
        leads="none",
        methods=("PUT", "PATCH"),
        path=PATH,
        summary="Update the company of the key: pause it, set how far an opt-out reaches, turn auth_token off",
        handler=update,
        scope="company:update",
        rate="write",
        safe=False,
        extra="checked_by_handler",
        body={"type": "object", "required": [], "properties": record_inputs("company", settable("company"))},
        answer=_ANSWER,
        problems=("version_conflict",),
    ),
)
