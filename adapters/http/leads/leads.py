"""How are leads read over HTTP? One by id or by token and number, lists with filters, and an empty one with the defaults."""

from collections.abc import Sequence
from functools import partial
from typing import Any, get_args

from adapters.http.exchange.answers import (
    PAGING_PARAMETERS,
    add_etag,
    read_columns_of_serializer,
    read_paging,
    reply_with_list,
    reply_with_record,
)
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters, read_span, read_states, read_token
from adapters.http.exchange.people import country_of, find_contact_key
from adapters.http.exchange.problems import ProblemError, require_row
from adapters.http.schema.inputs import choice
from adapters.http.schema.shapes import many_of, one_of
from adapters.reads.ports import LeadFilter, Row
from engine.law.company import law_of
from engine.submission.numbers import find_number
from engine.views.buyers import Capacity, availability, resources, ways
from engine.views.lead import SERIALIZERS, SORTABLE_COLUMNS, lead_view
from engine.views.lead_columns import COLUMNS, LEAD_COLUMNS
from engine.views.periods import LABELS
from schemas.contact import LeadStatus
from schemas.instant import Instant

STATUSES: tuple[str, ...] = get_args(LeadStatus)

COMPLETED_CALLS = {"completed_with_one_call": 1, "completed_with_many_calls": 2}

FILTER_PARAMETERS: dict[str, str] = {
    "serializer": "lead, the default: all columns; lead_grid: the few of a list; lead_external: no internal ids, no money",
    "created_at_label": "a span of creation such as Today or Last 4 Hours",
    "next_action_at_from": "next action at or after",
    "next_action_at_to": "next action before",
    "offer_id": "leads of this offer, by internal id",
    "schedule_id": "leads on this schedule, by internal id",
    "traffic_source_id": "leads of this traffic source, by internal id",
    "buyer_id": "leads of this buyer, by internal id",
    "contact_id": "internal id of a contact, as calls show it",
    "status": "one status; also waiting_to_dial, completed_with_one_call, completed_with_many_calls",
    "status_wait": "why a lead waits, such as quiet_hours_state",
    "number": "telephone number of the lead",
    "email": "e-mail address of the lead",
    "has_next_action": "true: leads that have a next action",
    "buyer_converted": "true: leads that converted with a buyer; false: the others",
    "offer_converted": "true: leads that converted for a traffic source; false: the others",
    "either_converted": "true: leads that converted in either way; false: the others",
    "opt_out": "true: leads that opted out; false: the others",
    "states": "leads of these states, with commas: as submitted, else the first one of their number or zip code",
    "recent_call_disposition_id": "leads whose newest disposition is this one, by internal id",
    "lead_import_id": "leads that this import made",
    "has_invalid_fields": "true: leads that were stored without a wrong field, until that is corrected; false: the others",
    "is_test": "true: leads of test posts; false: the others",
    "tag": "leads with this word among their tags",
    "token_key": "leads with this token",
    "token_value": "leads with this token and value, as token:value; with token_key, the value alone",
}


async def show(exchange: Exchange) -> Reply:
    """Answer with one lead."""
    row = await live_row(exchange)
    parameters = Parameters(exchange.query)
    columns = read_columns_of_serializer(parameters, SERIALIZERS)
    parameters.finish()
    return add_etag(reply_with_record(exchange, "lead", shown(exchange, row, columns)), row["version"])


def shown(exchange: Exchange, row: Row, columns: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a lead as it is shown, the company's numbers known by their ids."""
    rules, company_id = exchange.services.source.rules, row["company_id"]

    def number_id(number: str) -> int | None:
        record = rules.number(company_id, number)
        return None if record is None else record.id

    return lead_view(row, exchange.now, columns, number_id, law_of(rules, company_id))


async def live_row(exchange: Exchange) -> Row:
    """Return the row of the lead in the path. Raises `ProblemError` not_found or deleted."""
    row = await exchange.reads.shown_lead(exchange.company_id, exchange.path_id("lead"))
    return require_row(row, "lead")


async def buyer_is_available(exchange: Exchange) -> Reply:
    """Answer with the buyers that could take a call of a lead now."""
    # With all columns: the filters of a buyer may ask for any.
    row = require_row(await exchange.reads.lead(exchange.company_id, exchange.path_id("lead")), "lead")
    rules = exchange.services.source.rules
    found = ways(row, rules)
    reads, names = exchange.services.reads, resources(row, found, rules)
    held = await reads.slots(exchange.company_id, names)
    tallies = await reads.tallies(exchange.company_id, names)
    granted = await reads.last_grants(exchange.company_id, names)
    contact = await reads.contact(exchange.company_id, row["contact_key"])
    suppressed_by = () if contact is None else contact["rest"].get("suppressed_by", ())
    answer = availability(row, found, Capacity(rules, held, tallies, exchange.now, granted, suppressed_by))
    return Reply(content={"status": 200, "errors": {}, **answer})


async def show_by_caller_number(exchange: Exchange) -> Reply:
    """Answer with the newest live lead of a token and number, else the newest one."""
    target = await exchange.target(exchange.path["lead_token"])
    row = await exchange.reads.newest_lead(
        target.company_id,
        await find_contact_key(exchange, exchange.path["caller_number"], target),
        offer_id=target.offer_id,
        schedule_ids=exchange.services.authenticator.schedule_ids(target),
    )
    if row is None:
        raise ProblemError("not_found", "This token has no lead with this number.")
    return reply_with_record(exchange, "lead", shown(exchange, row))


async def build(exchange: Exchange) -> Reply:
    """Answer with a lead that does not exist, filled with the defaults of the company."""
    built: dict[str, Any] = {column.name: column.initial for column in COLUMNS}
    built["country"] = country_of(exchange.services.source.rules, exchange.company_id)
    return reply_with_record(exchange, "lead", built)


async def index(exchange: Exchange) -> Reply:
    """Answer with a list of leads."""
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, SORTABLE_COLUMNS)
    columns = read_columns_of_serializer(parameters, SERIALIZERS)
    wanted = read_filter(exchange, parameters)
    parameters.finish()
    return await reply_with_list(
        exchange,
        "leads",
        parameters,
        paging=paging,
        columns=columns or LEAD_COLUMNS,
        read=partial(exchange.reads.leads, exchange.company_id, wanted),
        view=lambda row: shown(exchange, row, columns),
    )


def read_filter(exchange: Exchange, parameters: Parameters) -> LeadFilter:
    """Read the filter of leads; faults are collected in the parameters."""
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    moment = partial(parameters.instant, zone_name=zone_name)
    created_from, created_to = read_span(parameters, exchange.now, zone_name)
    status = _status(parameters, exchange.now)
    due_from, due_to = moment("next_action_at_from"), moment("next_action_at_to")
    token_key, token_value = read_token(parameters)
    return LeadFilter(
        ids=parameters.ids("ids"),
        created_from=created_from,
        created_to=created_to,
        next_action_from=due_from,
        next_action_to=_earlier(due_to, status.next_action_to),
        offer_id=parameters.id("offer_id"),
        schedule_id=parameters.id("schedule_id"),
        traffic_source_id=parameters.id("traffic_source_id"),
        buyer_id=parameters.id("buyer_id"),
        contact_id=parameters.id("contact_id"),
        status=status.status,
        completed_calls=status.completed_calls,
        status_wait=_status_wait(parameters),
        caller_id=_number(exchange, parameters),
        email=parameters.text("email"),
        has_next_action=parameters.flag("has_next_action"),
        buyer_converted=parameters.flag("buyer_converted"),
        offer_converted=parameters.flag("offer_converted"),
        either_converted=parameters.flag("either_converted"),
        opt_out=parameters.flag("opt_out"),
        states=read_states(parameters),
        recent_call_disposition_id=parameters.id("recent_call_disposition_id"),
        lead_import_id=parameters.id("lead_import_id"),
        has_invalid_fields=parameters.flag("has_invalid_fields"),
        is_test=parameters.flag("is_test"),
        tag=parameters.text("tag"),
        token_key=token_key,
        token_value=token_value,
        fulltext=parameters.text("fulltext"),
    )


def _status(parameters: Parameters, now: Instant) -> LeadFilter:
    """Return the part of the filter that a status or one of its aliases (such as `waiting_to_dial`) stands for."""
    status = parameters.text("status")
    if status is None:
        return LeadFilter()
    if status == "waiting_to_dial":
        return LeadFilter(status="scheduled", next_action_to=now + 1)
    if status in COMPLETED_CALLS:
        return LeadFilter(completed_calls=COMPLETED_CALLS[status])
    if status not in STATUSES:
        parameters.refuse("status", f"must be one of {', '.join(STATUSES)}")
    return LeadFilter(status=status)


def _status_wait(parameters: Parameters) -> str | None:
    reason = parameters.text("status_wait")
    return "awaiting_disposition" if reason == "waiting_call_disposition" else reason


def _number(exchange: Exchange, parameters: Parameters) -> str | None:
    """Return the number to filter by; an invalid one matches no lead rather than all."""
    text = parameters.text("number")
    if text is None:
        return None
    number = find_number(text, country_of(exchange.services.source.rules, exchange.company_id))
    return text if number is None else number.e164


def _earlier(first: Instant | None, second: Instant | None) -> Instant | None:
    return second if first is None else first if second is None else min(first, second)


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_leads",
        leads="visible",
        methods=("GET",),
        path="/api/v1/leads",
        summary="List leads",
        handler=index,
        scope="lead:read",
        auth_token=True,
        parameters={**PAGING_PARAMETERS, **FILTER_PARAMETERS},
        types={
            "serializer": choice(tuple(SERIALIZERS)),
            "created_at_label": choice(LABELS),
            "order": choice(sorted(SORTABLE_COLUMNS)),
        },
        answer=many_of("leads", "Lead"),
        suffixes=("", ".csv", ".json"),
    ),
    Operation(
        name="new_lead",
        leads="none",
        methods=("GET",),
        path="/api/v1/leads/new",
        summary="Build a lead with the defaults of the company",
        handler=build,
        scope="lead:read",
        auth_token=True,
        parameters={"root": "false: the bare record"},
        answer=one_of("lead", "NewLead"),
    ),
    Operation(
        name="show_lead",
        leads="visible",
        methods=("GET",),
        path="/api/v1/leads/{id}",
        summary="Show a lead",
        handler=show,
        scope="lead:read",
        auth_token=True,
        parameters={
            "serializer": FILTER_PARAMETERS["serializer"],
            "columns": PAGING_PARAMETERS["columns"],
            "root": "false: the bare record",
        },
        types={"serializer": choice(tuple(SERIALIZERS))},
        answer=one_of("lead", "Lead"),
    ),
    Operation(
        name="buyer_is_available",
        leads="visible",
        methods=("GET",),
        path="/api/v1/leads/{id}/buyer_is_available",
        summary="List which buyers could take a call of a lead now, and why the others cannot",
        handler=buyer_is_available,
        scope="lead:read",
        answer={
            "type": "object",
            "required": ["status", "available", "buyer_ids", "next_available_at", "reasons"],
            "properties": {
                "status": {"type": "integer"},
                "errors": {"type": "object"},
                "available": {"type": "boolean"},
                "buyer_ids": {"type": "array", "items": {"type": "integer"}},
                "next_available_at": {"type": ["string", "null"], "format": "date-time"},
                "reasons": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
    ),
    Operation(
        name="show_lead_by_caller_number",
        leads="visible",
        methods=("GET",),
        path="/api/v1/leads/{lead_token}/{caller_number}/by_caller_number",
        summary="Show the newest live lead of a lead token and a number, else the newest one",
        handler=show_by_caller_number,
        scope="lead:read",
        auth_token=True,
        answer=one_of("lead", "Lead"),
        problems=("unknown_lead_token",),
    ),
)
