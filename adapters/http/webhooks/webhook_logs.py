"""What came of each attempt to post an outgoing webhook? A list and single ones, of the last 30 days."""

from functools import partial

from adapters.http.exchange.answers import (
    PAGING_PARAMETERS,
    read_columns,
    read_paging,
    reply_with_list,
    reply_with_record,
)
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters
from adapters.http.exchange.problems import not_found
from adapters.http.schema.inputs import BOOLEAN, ID
from adapters.http.schema.shapes import many_of, one_of
from adapters.reads.ports import Paging, WebhookLogFilter
from engine.views.webhook_log import WEBHOOK_LOG_COLUMNS, webhook_log_view

_NAMED = {
    "outgoing_webhook_id": "attempts of this webhook",
    "webhook_manual_fire_id": "attempts of this firing by hand",
    "lead_id": "attempts about this lead",
    "call_id": "attempts about this call",
}
_SHARED = ("page", "per_page", "cursor", "ids", "created_at_from", "created_at_to", "time_zone", "columns", "root")


async def index(exchange: Exchange) -> Reply:
    """Answer with a list of attempts."""
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, WEBHOOK_LOG_COLUMNS)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    wanted = WebhookLogFilter(
        ids=parameters.ids("ids"),
        created_from=parameters.instant("created_at_from", zone_name),
        created_to=parameters.instant("created_at_to", zone_name),
        accepted=parameters.flag("accepted"),
        **{name: parameters.id(name) for name in _NAMED},
    )
    parameters.finish()
    return await reply_with_list(
        exchange,
        "webhook_logs",
        parameters,
        paging=paging,
        columns=columns or WEBHOOK_LOG_COLUMNS,
        read=partial(exchange.services.webhook_logs.logs, exchange.company_id, wanted),
        view=lambda row: webhook_log_view(row, columns),
    )


async def show(exchange: Exchange) -> Reply:
    """Answer with one attempt."""
    reference = exchange.path_id("webhook log")
    if isinstance(reference, int):
        wanted, paging = WebhookLogFilter(ids=(reference,)), Paging(per_page=1, counted=False)
        page = await exchange.services.webhook_logs.logs(exchange.company_id, wanted, paging)
        if page.rows:
            return reply_with_record(exchange, "webhook_log", webhook_log_view(page.rows[0]))
    raise not_found("webhook log")


_PATH = "/api/v1/webhook_logs"

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_webhook_logs",
        methods=("GET",),
        path=_PATH,
        summary="List attempts to post outgoing webhooks",
        handler=index,
        scope="outgoing_webhook:read",
        parameters={
            **{name: PAGING_PARAMETERS[name] for name in _SHARED},
            **_NAMED,
            "accepted": "true: attempts that the receiver took; false: the others",
        },
        types={**dict.fromkeys(_NAMED, ID), "accepted": BOOLEAN},
        answer=many_of("webhook_logs", "WebhookLog"),
        suffixes=("", ".csv", ".json"),
    ),
    Operation(
        name="show_webhook_log",
        methods=("GET",),
        path=f"{_PATH}/{{id}}",
        summary="Show an attempt to post an outgoing webhook",
        handler=show,
        scope="outgoing_webhook:read",
        parameters={"root": "false: the bare record"},
        answer=one_of("webhook_log", "WebhookLog"),
    ),
)
