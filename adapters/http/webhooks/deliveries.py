"""What became of the events of a subscription? Its deliveries with their attempts; sending them again; enabling it again."""

from functools import partial
from typing import Any

import structlog

from adapters.http.exchange.answers import (
    PAGING_PARAMETERS,
    read_columns,
    read_paging,
    reply_with_list,
    reply_with_record,
)
from adapters.http.exchange.exchange import Exchange, Operation, Reply
from adapters.http.exchange.parameters import Parameters, read_id
from adapters.http.exchange.problems import not_found
from adapters.http.records.records import KINDS_BY_TYPE, live_row, show_row
from adapters.http.schema.inputs import BOOLEAN, ID, LOCAL_MOMENT, choice
from adapters.http.schema.shapes import many_of, one_of, record_answer
from adapters.reads.ports import DeliveryFilter, Paging, Row
from engine.subscriptions.events import EVENT_NAMES
from engine.views.cells import cell
from engine.views.delivery import DELIVERY_COLUMNS, STATES, delivery_view

SUBSCRIPTION = KINDS_BY_TYPE["subscription"]

REPLAYED = ("delivered", "failed")
"""States of events that are sent again; those that wait are sent anyway."""

logger = structlog.get_logger(__name__)


async def index(exchange: Exchange) -> Reply:
    """Answer with a list of deliveries."""
    row = await live_row(exchange, SUBSCRIPTION)
    parameters = Parameters(exchange.query)
    paging = read_paging(parameters, ())
    columns = read_columns(parameters, DELIVERY_COLUMNS)
    zone_name = parameters.zone("time_zone", exchange.time_zone)
    wanted = DeliveryFilter(
        subscription_id=row["id"],
        ids=parameters.ids("ids"),
        created_from=parameters.instant("created_at_from", zone_name),
        created_to=parameters.instant("created_at_to", zone_name),
        state=parameters.choice("state", STATES),
        event=parameters.choice("event", EVENT_NAMES),
        lead_id=parameters.id("lead_id"),
    )
    parameters.finish()
    return await reply_with_list(
        exchange,
        "deliveries",
        parameters,
        paging=paging,
        columns=columns or DELIVERY_COLUMNS,
        read=partial(exchange.services.subscriptions.deliveries, exchange.company_id, wanted),
        view=lambda row: delivery_view(row, columns),
    )


async def show(exchange: Exchange) -> Reply:
    """Answer with one delivery, what it sends, and its attempts."""
    subscription = await live_row(exchange, SUBSCRIPTION)
    delivery = await _delivery(exchange, subscription["id"])
    reads, company_id = exchange.services.subscriptions, exchange.company_id
    body, attempts = await reads.body(company_id, delivery["id"]), await reads.attempts(delivery["id"])
    shown: dict[str, Any] = delivery_view(delivery)
    log = [{name: cell(value) for name, value in dict(attempt).items()} for attempt in attempts]
    return reply_with_record(exchange, "delivery", {**shown, "body": body, "attempts_log": log})


async def replay(exchange: Exchange) -> Reply:
    """Send the events of a span again."""
    subscription = await live_row(exchange, SUBSCRIPTION)
    parameters = Parameters(exchange.fields)
    since = parameters.instant("occurred_at_from", exchange.time_zone)
    until = parameters.instant("occurred_at_to", exchange.time_zone)
    only_failed = parameters.flag("only_failed")
    parameters.require("occurred_at_from")
    parameters.finish()
    count = await exchange.services.subscriptions.replay(
        exchange.company_id,
        subscription["id"],
        since=since or exchange.now,
        until=exchange.now if until is None else until,
        states=("failed",) if only_failed else REPLAYED,
    )
    await _log(exchange, "subscription.replayed", subscription, events=count)
    return reply_with_record(exchange, "replay", {"subscription_id": subscription["id"], "replayed_count": count})


async def enable(exchange: Exchange) -> Reply:
    """Send to a subscription again that was disabled."""
    subscription = await live_row(exchange, SUBSCRIPTION)
    Parameters(exchange.fields).finish()
    await exchange.services.subscriptions.enable(exchange.company_id, subscription["id"])
    await _log(exchange, "subscription.enabled", subscription)
    return await show_row(exchange, SUBSCRIPTION, subscription, None)


async def _delivery(exchange: Exchange, subscription_id: int) -> Row:
    reference = read_id(exchange.path["delivery_id"])
    if isinstance(reference, int):
        wanted = DeliveryFilter(subscription_id=subscription_id, ids=(reference,))
        paging = Paging(per_page=1, counted=False)
        page = await exchange.services.subscriptions.deliveries(exchange.company_id, wanted, paging)
        if page.rows:
            return page.rows[0]
    raise not_found("delivery")


async def _log(exchange: Exchange, event: str, subscription: Row, **about: Any) -> None:
    key_id = exchange.key.key_id
    await logger.ainfo(event, company_id=exchange.company_id, subscription_id=subscription["id"], key_id=key_id, **about)


_PATH = f"{SUBSCRIPTION.path}/{{id}}"
_SHARED = ("page", "per_page", "cursor", "ids", "created_at_from", "created_at_to", "time_zone", "columns", "root")
_BARE = {"root": "false: the bare record"}

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="list_subscription_deliveries",
        methods=("GET",),
        path=f"{_PATH}/deliveries",
        summary="List the deliveries of a subscription",
        handler=index,
        scope="subscription:read",
        records="visible",
        parameters={
            **{name: PAGING_PARAMETERS[name] for name in _SHARED},
            "state": "state to return",
            "event": "event to return",
            "lead_id": "lead whose events to return",
        },
        types={"state": choice(STATES), "event": choice(EVENT_NAMES), "lead_id": ID},
        answer=many_of("deliveries", "Delivery"),
        suffixes=("", ".csv", ".json"),
    ),
    Operation(
        name="show_subscription_delivery",
        methods=("GET",),
        path=f"{_PATH}/deliveries/{{delivery_id}}",
        summary="Show a delivery with what it sends and its attempts",
        handler=show,
        scope="subscription:read",
        records="visible",
        parameters=_BARE,
        answer=one_of("delivery", "DeliveryWithAttempts"),
    ),
    Operation(
        name="replay_subscription",
        methods=("POST",),
        path=f"{_PATH}/replay",
        summary="Send the events of a span again",
        handler=replay,
        scope="subscription:replay",
        rate="write",
        safe=False,
        records="visible",
        parameters={
            "occurred_at_from": "events that were decided from then on",
            "occurred_at_to": "events that were decided before; left out: now",
            "only_failed": "true: only events that were given up",
            **_BARE,
        },
        types={"occurred_at_from": LOCAL_MOMENT, "occurred_at_to": LOCAL_MOMENT, "only_failed": BOOLEAN},
        required=("occurred_at_from",),
        answer=one_of("replay", "Replay"),
        has_result=False,
    ),
    Operation(
        name="enable_subscription",
        methods=("POST",),
        path=f"{_PATH}/enable",
        summary="Send to a disabled subscription again",
        handler=enable,
        scope="subscription:enable",
        rate="write",
        safe=False,
        records="visible",
        parameters=_BARE,
        answer=record_answer("subscription", "subscription"),
        has_result=False,
    ),
)
