"""How is an outgoing webhook fired by hand over HTTP? For a lead or a call, whose contact orders the delivery."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from msgspec import structs

from adapters.http.exchange.answers import (
    PAGING_PARAMETERS,
    read_columns,
    read_paging,
    reply_with_list,
    reply_with_record,
)
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.hidden_fields import hidden_for_webhooks
from adapters.http.exchange.parameters import Parameters, parse_local_moment
from adapters.http.exchange.problems import not_found
from adapters.http.exchange.references import is_known
from adapters.http.exchange.writes import submit_change
from adapters.http.records.conversions import find_conversion
from adapters.http.schema.inputs import LOCAL_MOMENT, REFERENCE
from adapters.http.schema.shapes import many_of, one_of
from adapters.reads.ports import ManualFireFilter, Page, Paging, Result, Row
from engine.submission.fields import is_blank
from engine.views.manual_fire import MANUAL_FIRE_COLUMNS, PATH, TYPE_NAME, manual_fire_view
from schemas.instant import to_rfc3339
from schemas.requests import WebhookFireRequested

ABOUT = {
    "lead_id": "the lead that it is about",
    "call_id": "the call that it is about",
    "created_at": "shown as created_at, in place of when it was fired",
    "updated_at": "shown as updated_at, in place of when it was fired",
}
_TYPES = {
    "lead_id": REFERENCE,
    "call_id": REFERENCE,
    "created_at": LOCAL_MOMENT,
    "updated_at": LOCAL_MOMENT,
}
CONVERSIONS: Mapping[str, str] = {"buyer_conversion_id": "buyer", "offer_conversion_id": "offer"}
"""Field -> side of the conversion that it names."""


async def index(exchange: Exchange) -> Reply:
    """Answer with a list of webhooks that were fired by hand."""
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, MANUAL_FIRE_COLUMNS)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    wanted = ManualFireFilter(
        ids=parameters.ids("ids"),
        created_from=parameters.instant("created_at_from", zone_name),
        created_to=parameters.instant("created_at_to", zone_name),
        fulltext=parameters.text("fulltext"),
    )
    parameters.finish()
    return await reply_with_list(
        exchange,
        "webhook_manual_fires",
        parameters,
        paging=paging,
        columns=columns or MANUAL_FIRE_COLUMNS,
        read=partial(_read, exchange, wanted),
        view=lambda row: manual_fire_view(row, columns),
    )


async def show(exchange: Exchange) -> Reply:
    """Answer with one."""
    reference = exchange.path_id("webhook manual fire")
    wanted = ManualFireFilter(ids=(reference,)) if isinstance(reference, int) else ManualFireFilter(uuid=reference)
    return _shown(exchange, await _first(exchange, wanted))


async def build(exchange: Exchange) -> Reply:
    """Answer with one that is not fired, for what is given."""
    parameters = Parameters(exchange.query)
    about = await _about(exchange, parameters)
    parameters.finish()
    built: dict[str, Any] = dict.fromkeys(MANUAL_FIRE_COLUMNS)
    built |= {"type": TYPE_NAME, "company_id": exchange.company_id}
    built |= {name: to_rfc3339(at) for name, at in about.items() if name.endswith("_at") and at is not None}
    built |= {"webhook_log_ids": [], **{name: about[name] for name in ("lead_id", "call_id")}}
    return reply_with_record(exchange, "webhook_manual_fire", built)


async def create(exchange: Exchange) -> Reply:
    """Fire a webhook."""
    parameters = Parameters(exchange.fields)
    webhook_id = parameters.id("outgoing_webhook_id")
    parameters.require("outgoing_webhook_id")
    if webhook_id is not None and not await is_known(exchange, "outgoing_webhook", webhook_id):
        parameters.refuse("outgoing_webhook_id", f"names no outgoing webhook: {webhook_id}")
    about = await _about(exchange, parameters)
    found = await _conversions(exchange, parameters)
    parameters.finish()
    if found:
        about |= await _about_conversions(exchange, parameters, about, found)
    elif is_blank(exchange.fields.get("call_id")):
        parameters.require("lead_id", sentence="must be given, or its counterpart call_id, or a conversion")
    parameters.finish()
    about["hidden"] = hidden_for_webhooks(exchange)
    message = WebhookFireRequested(company_id=exchange.company_id, outgoing_webhook_id=webhook_id or 0, **about)
    return await submit_change(exchange, message, _render)


async def _about(exchange: Exchange, parameters: Parameters) -> dict[str, Any]:
    """Read what it is about and the instants to show; `contact_key` is the person's, where there is a lead or call."""
    reads, company_id = exchange.services.reads, exchange.company_id
    call = await _named(parameters, "call_id", "call", partial(reads.call, company_id))
    lead = await _named(parameters, "lead_id", "lead", partial(reads.lead, company_id))
    if call is not None and lead is not None and call["lead_id"] != lead["id"]:
        parameters.refuse("lead_id", "is not the lead of the call")
    zone_name = exchange.time_zone
    found = call if call is not None else lead
    return {
        "contact_key": "" if found is None else found["contact_key"],
        "lead_id": None if lead is None else lead["id"],
        "call_id": None if call is None else call["id"],
        "created_at": parameters.read("created_at", partial(parse_local_moment, zone_name=zone_name)),
        "updated_at": parameters.read("updated_at", partial(parse_local_moment, zone_name=zone_name)),
    }


async def _conversions(exchange: Exchange, parameters: Parameters) -> Mapping[str, Row]:
    """Read the conversions that it is about: field -> row."""
    found: dict[str, Row] = {}
    for field, side in CONVERSIONS.items():
        reference = parameters.reference(field, "conversion")
        row = None if reference is None else await find_conversion(exchange, side, reference)
        if row is not None and row["taken_back"]:
            parameters.refuse(field, "names a conversion that was taken back")
        elif row is not None:
            found[field] = row
        elif reference is not None:
            parameters.refuse(field, f"names no conversion: {reference}")
    return found


async def _about_conversions(
    exchange: Exchange, parameters: Parameters, about: Mapping[str, Any], found: Mapping[str, Row]
) -> dict[str, Any]:
    """Return the lead or call of the conversions, which all that is named must be about."""
    reads, company_id = exchange.services.reads, exchange.company_id
    named: dict[str, Any] = {}
    for field, row in found.items():
        named[field] = row["id"]
        if any(about[name] not in {None, row[name]} for name in ("lead_id", "call_id")):
            parameters.refuse(field, "is not a conversion of this lead or call")
        elif any(row["call_id"] != other["call_id"] or row["lead_id"] != other["lead_id"] for other in found.values()):
            parameters.refuse(field, "is of another lead or call than the other conversion")
        subject = await (
            reads.lead(company_id, row["lead_id"]) if row["call_id"] is None else reads.call(company_id, row["call_id"])
        )
        if subject is None or subject["deleted_at"] is not None:
            parameters.refuse(field, "is of a lead or call that was deleted")
        else:
            named |= {"contact_key": subject["contact_key"], "lead_id": row["lead_id"], "call_id": row["call_id"]}
    return named


async def _named(parameters: Parameters, field: str, what: str, read: Any) -> Row | None:
    """Return the row that a field names; add a fault if there is none."""
    reference = parameters.reference(field, what)
    if reference is None:
        return None
    row: Row | None = await read(reference)
    if row is None or row["deleted_at"] is not None:
        parameters.refuse(field, f"names no {what}: {reference}")
        return None
    return row


async def _render(exchange: Exchange, result: Result) -> Reply:
    answer = result.answer
    wanted = ManualFireFilter(ids=() if answer is None or answer.record_id is None else (answer.record_id,))
    return _shown(exchange, await _first(exchange, wanted), status=201)


async def _read(exchange: Exchange, wanted: ManualFireFilter, paging: Paging) -> Page:
    """Read a page of firings, each with the attempts of its delivery."""
    page = await exchange.services.reads.manual_fires(exchange.company_id, wanted, paging)
    found = await exchange.services.webhook_logs.ids_of_fires(exchange.company_id, [row["id"] for row in page.rows])
    rows = [{**row, "webhook_log_ids": list(found.get(row["id"], ()))} for row in page.rows]
    return structs.replace(page, rows=rows)


async def _first(exchange: Exchange, wanted: ManualFireFilter) -> Row:
    page = await _read(exchange, wanted, Paging(per_page=1, counted=False))
    if not page.rows:
        raise not_found("webhook manual fire")
    return page.rows[0]


def _shown(exchange: Exchange, row: Row, *, status: int = 200) -> Reply:
    return reply_with_record(exchange, "webhook_manual_fire", manual_fire_view(row), status=status)


_ONE = one_of("webhook_manual_fire", "WebhookManualFire")
_SHARED = (
    "page",
    "per_page",
    "cursor",
    "ids",
    "created_at_from",
    "created_at_to",
    "fulltext",
    "time_zone",
    "columns",
    "root",
)

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_webhook_manual_fires",
        methods=("GET",),
        path=PATH,
        summary="List webhooks that were fired by hand",
        handler=index,
        scope="outgoing_webhook:read",
        parameters={name: PAGING_PARAMETERS[name] for name in _SHARED},
        answer=many_of("webhook_manual_fires", "WebhookManualFire"),
        suffixes=("", ".csv", ".json"),
    ),
    Operation(
        name="build_webhook_manual_fire",
        methods=("GET",),
        path=f"{PATH}/new",
        summary="Build a firing by hand, without firing",
        handler=build,
        scope="outgoing_webhook:read",
        parameters={**ABOUT, "root": "false: the bare record"},
        types=_TYPES,
        answer=one_of("webhook_manual_fire", "NewWebhookManualFire"),
    ),
    Operation(
        name="create_webhook_manual_fire",
        methods=("POST",),
        path=PATH,
        summary="Fire a webhook for a lead or a call",
        handler=create,
        scope="outgoing_webhook:fire",
        safe=False,
        parameters={
            "outgoing_webhook_id": "the webhook to fire",
            "buyer_conversion_id": "the conversion for a buyer that it is about; its lead or call need not be named then",
            "offer_conversion_id": "the same for a conversion of an offer",
            **ABOUT,
        },
        types={**_TYPES, **dict.fromkeys(CONVERSIONS, REFERENCE)},
        required=("outgoing_webhook_id",),
        answer=_ONE,
        created=True,
    ),
    Operation(
        name="show_webhook_manual_fire",
        methods=("GET",),
        path=f"{PATH}/{{id}}",
        summary="Show a webhook that was fired by hand",
        handler=show,
        scope="outgoing_webhook:read",
        parameters={"root": "false: the bare record"},
        answer=_ONE,
    ),
)
