"""How is a lead submitted over HTTP? The engine normalises it, a request is sent, the answer follows from the projection."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from adapters.body_fields import Fields
from adapters.http.exchange.access import TokenTarget
from adapters.http.exchange.answers import add_etag, reply_with_record
from adapters.http.exchange.exchange import Exchange, Handler, Operation, Reply
from adapters.http.exchange.problems import not_found
from adapters.http.exchange.writes import submit_change
from adapters.http.leads.leads import shown
from adapters.http.leads.signed_forms import is_signed, read_signed_form
from adapters.http.schema.inputs import choice
from adapters.http.schema.shapes import TOKEN_ANSWER
from adapters.reads.ports import Result, Row
from engine.contact.commands.numbers import public_number
from engine.submission.fields import FieldError, is_blank, parse_boolean
from engine.submission.normalise import Normalised, normalise, normalise_signed
from engine.submission.reading import json_object
from engine.views.cells import moment

CREATED = 201

SUBMISSION_PARAMETERS: Mapping[str, str] = {
    "lead_token": "lead token of an offer or a schedule",
    "caller_id": "telephone number to call and text",
    "email": "address to mail",
    "contact_field_type": "id of an agent script and field type",
    "schedule_callback_at": "when to call back",
    "schedule_callback_in_seconds": "after how many seconds to call back",
    "update_all_matching_leads": "true: apply the data to every lead of the token and number",
    "apply_to": "calls: apply the data to the calls of the lead too",
    "unblock_contact": "true: take the number off the company's block list; needs a key with lead:update",
    "opt_out": "true: opt the person out",
    "blocked": "true: block the person; false is refused of one who is blocked (unblock_contact lifts a block)",
    "assign_svc_number": "true: assign a number to dial from, returned as svc_number_plain",
    "svc_assign_number": "the same as assign_svc_number",
    "assign_trackdrive_number": "the same as assign_svc_number",
    "assign_sms_number": "true: assign a number to text from, returned as sms_number_plain",
    "expire_existing": "true: live leads of this token and number expire",
    "delete_existing": "true: leads of this token and number are deleted",
    "update_only": "true: only a live lead is updated, none is created",
    "lead_priority": "decimal; lower goes first",
    "restart_schedule": "true: the schedule restarts",
    "auto_format_nested_fields": "true: find the contact's fields inside another structure",
    "next_action_at": "when the next step may start at the earliest",
    "hours_to_expire": "whole hours until the lead expires",
    "max_contact_attempts": "calls and texts until the lead ends",
    "lead_import_id": "a number of yours for the import that it belongs to; a new lead keeps it",
    "time_zone": "the person's time zone; trusted alone with a key, else one candidate more",
    "country": "the person's country, as two letters",
    "state_province": "state or province; also as state",
    "zip_postal_code": "postal code; also as zip",
    "full_name": "name of the person",
    "name": "name of the lead",
    "sub_id": "sub id of the traffic source",
    "traffic_source_id": "the traffic source that sent the lead, by internal id; not a paused one",
    "external_record_id": "id of the lead in the sender's system; with a key it finds the lead to update, also alone",
    "remote_ip": "address the person came from",
    "data": "object of tokens; any other field is a token as well",
    "form_signature": "of a signed form: HMAC-SHA256 of what it signs, in hexadecimal digits",
    "form_signed_at": "of a signed form: when it was signed, in seconds since 1970",
    "form_nonce": "of a signed form: 16 to 100 random letters and digits, good once",
    "form_signed_fields": "of a signed form: the names of the further fields that it signs, with commas between them",
}


async def submit(exchange: Exchange, *, create_or_update: bool = False) -> Reply:
    """Submit a lead."""
    if "root" in exchange.query:  # it says how to answer, so it is not a token of the lead
        exchange.fields.pop("root")
    token = exchange.fields.get("lead_token")
    # Without a token no company is known, so no rules; `normalise` reports every fault at once.
    target = None if is_blank(token) else await exchange.target(token, is_opt_out=_is_opt_out(exchange.fields))
    access = exchange.access
    if access is None and target is not None and is_signed(exchange.fields) and not _is_opt_out(exchange.fields):
        return await _submit_signed(exchange, target, create_or_update=create_or_update)
    fields = exchange.fields if target is None or access is None else await _reached(exchange, target)
    found = normalise(
        fields,
        exchange.services.source.rules,
        received_at=exchange.now,
        api_company_id=None if access is None or target is None else target.company_id,
        may_update=access is not None and access.has_scope("lead:update"),
        create_or_update=create_or_update,
        idempotency_key=exchange.request.headers.get("idempotency-key") or None,
    )
    if access is not None:
        if found.request.vendor_key is not None:
            exchange.vendor_key = f"lead_map/{found.request.vendor_key}"
        warnings = (*found.warnings, *exchange.warnings)
        return await submit_change(exchange, found.request, partial(render, warnings=warnings))
    return await _submit_public(exchange, target, found)


async def _submit_signed(exchange: Exchange, target: TokenTarget, *, create_or_update: bool) -> Reply:
    """Submit what a form signed as sent with a key, and the rest as sent without one."""
    form = read_signed_form(exchange, target)
    found = normalise_signed(
        exchange.fields,
        form.fields,
        exchange.services.source.rules,
        received_at=exchange.now,
        create_or_update=create_or_update,
        idempotency_key=exchange.request.headers.get("idempotency-key") or None,
    )
    return await _submit_public(exchange, target, found, nonce=form.nonce)


async def _submit_public(exchange: Exchange, target: TokenTarget | None, found: Normalised, *, nonce: str = "") -> Reply:
    """Send a submission of a sender without a key; the answer says nothing of who is stored."""
    if target is not None:
        exchange.watch_public(target, found.request.contact_key)
    rules = exchange.services.source.rules
    accepted = accepted_by_token(
        svc_number_plain=public_number(rules, found.request, "voice"),
        sms_number_plain=public_number(rules, found.request, "sms"),
        warnings=list(found.warnings),
    )
    answer = partial(_render_accepted, reply=accepted)
    return await submit_change(exchange, found.request, answer, hides_refusals=True, nonce=nonce)


def accepted_by_token(status: int = CREATED, **more: Any) -> Reply:
    """Return the answer to a sender without a key: the same for everybody, and for every decision."""
    return Reply(status=status, content={"status": "accepted", **more})


async def _render_accepted(exchange: Exchange, result: Result, *, reply: Reply) -> Reply:
    del exchange, result
    return reply


def _is_opt_out(fields: Fields) -> bool:
    """Return whether a submission opts out, which no rate refuses; a faulty word is a fault later."""
    with suppress(FieldError):
        return "opt_out" in fields and parse_boolean(fields["opt_out"])
    return False


async def _reached(exchange: Exchange, target: TokenTarget) -> Fields:
    """Return the fields; if only `external_record_id` is given, with the number and address of its lead."""
    fields = exchange.fields
    if not (is_blank(fields.get("caller_id")) and is_blank(fields.get("email"))):
        return fields
    name = fields.get("external_record_id") or _inside(fields.get("data")).get("external_record_id")
    if is_blank(name) or not isinstance(name, str | int):
        return fields
    row = await exchange.services.reads.newest_named(
        target.company_id,
        str(name).strip(),
        offer_id=target.offer_id,
        schedule_ids=exchange.services.authenticator.schedule_ids(target),
    )
    return fields if row is None else {**fields, "caller_id": row["caller_id"], "email": row["email"]}


def _inside(data: Any) -> Mapping[str, Any]:
    """Return the tokens of `data`, which a form may send as JSON; none if it is no object (`normalise` adds the fault)."""
    if isinstance(data, str):
        with suppress(FieldError):
            data = json_object(data)
    return data if isinstance(data, Mapping) else {}


async def render(exchange: Exchange, result: Result, *, warnings: tuple[str, ...] = ()) -> Reply:
    """Answer a sender with a key with the lead of a request."""
    answer = result.answer
    row = None if answer is None or answer.record_id is None else await _row(exchange, result, answer.record_id)
    if answer is None or row is None:
        raise not_found("lead")
    created = answer.status == CREATED
    fields: dict[str, Any] = {
        "created": created,
        "dedupe_action": answer.dedupe_action,
        "schedule_id": row["schedule_id"],
        "next_action_at": moment(row["next_action_at"]),
        "svc_number_plain": row["svc_number"],
        "sms_number_plain": row["sms_number"],
    }
    fields["request_id"] = result.request_id
    if warnings:
        fields["warnings"] = list(warnings)
    if len(answer.record_ids) > 1:
        fields["lead_ids"] = list(answer.record_ids)
    reply = reply_with_record(exchange, "lead", shown(exchange, row), status=answer.status, **fields)
    return add_etag(reply, row["version"])


async def _row(exchange: Exchange, result: Result, lead_id: int) -> Row | None:
    return await exchange.services.reads.shown_lead(result.company_id, lead_id)


_PROBLEMS = (
    *("unknown_lead_token", "schedule_inactive", "duplicate_lead", "too_many_leads", "lead_not_live"),
    *("invalid_signature", "stale_signature", "replayed_signature"),
)
_TYPES = {"apply_to": choice(["calls"])}


def _operation(name: str, path: str, summary: str, handler: Handler) -> Operation:
    return Operation(
        name=name,
        path=path,
        summary=summary,
        handler=handler,
        methods=("POST",),
        access="token",
        scope="lead:create",
        rate="submission",
        safe=False,
        extra="tokens",
        parameters=SUBMISSION_PARAMETERS,
        types=_TYPES,
        required=("lead_token",),
        answer=TOKEN_ANSWER,
        created=True,
        problems=_PROBLEMS,
    )


OPERATIONS: tuple[Operation, ...] = (
    _operation("submit_lead", "/api/v1/leads", "Submit a lead", submit),
    _operation(
        "create_or_update_lead",
        "/api/v1/leads/create_or_update",
        "Create a lead where none is live on the offer, else update that one",
        partial(submit, create_or_update=True),
    ),
)
