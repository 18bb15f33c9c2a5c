"""Did other systems get what we posted to them? The newest attempts of outgoing webhooks, and the events of subscriptions.

A subscription that was disabled is enabled here, and events that were given up are sent again. What other systems answer is
theirs: it is shown as text.
"""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from adapters.http.console.spared_endpoints import LEFT_OUT_RULE, SPARED_RULE
from adapters.http.console.visits import RECORDS_READ, ConsolePage, Visit, filled, rows_of
from adapters.http.exchange.exchange import Reply
from adapters.http.exchange.problems import ProblemError
from engine.views.delivery import DELIVERY_COLUMNS
from engine.views.record import record_columns
from engine.views.webhook_log import WEBHOOK_LOG_COLUMNS
from schemas.instant import DAY, to_rfc3339

PATH = "/console/deliveries"
SUBSCRIPTION = f"{PATH}/{{record:str}}"

ATTEMPTS_SHOWN = 50
EVENTS_SHOWN = 50
"""Rows of one page; the API lists the others."""

FILTERS = ("accepted", "outgoing_webhook_id", "lead_id")
"""Filters of attempts that the form has; the names are the API's."""

REPLAYED = 30 * DAY
"""Events that were given up are sent again from so long ago on: as long as they are kept."""

DONE = {"enable": "The subscription is enabled.", "replay": "Events that were given up are sent again."}


async def show(visit: Visit) -> Reply:
    """Show the attempts of webhooks, the subscriptions, and the endpoints that are spared."""
    asked = {name: str(visit.query.get(name, "")).strip() for name in FILTERS}
    page = str(visit.query.get("page", "")) or "1"
    wanted = {name: value for name, value in asked.items() if value}
    logs, webhooks, subscriptions, circuits = await asyncio.gather(
        _attempts(visit, {**wanted, "page": page, "per_page": ATTEMPTS_SHOWN}),
        visit.look("list_outgoing_webhooks", {"per_page": RECORDS_READ}),
        visit.ask("list_subscriptions", {"per_page": RECORDS_READ}),
        visit.ask("list_circuits"),
    )
    number = 1 if logs is None else logs["metadata"]["page"] or 1
    attempts = None if logs is None else [filled(row, WEBHOOK_LOG_COLUMNS) for row in rows_of(logs)]
    return visit.page(
        "deliveries.html",
        title="Deliveries",
        attempts=attempts,
        typed=asked,
        circuits=circuits,
        spared_rule=SPARED_RULE,
        left_out_rule=LEFT_OUT_RULE,
        accounts=await _accounts(visit, circuits),
        webhooks=_names(webhooks, "outgoing_webhook"),
        subscriptions=None
        if subscriptions is None
        else [filled(row, record_columns("subscription")) for row in rows_of(subscriptions)],
        page_number=number,
        earlier=_url(wanted, number + 1) if attempts is not None and len(attempts) == ATTEMPTS_SHOWN else "",
        later=_url(wanted, number - 1) if number > 1 else "",
    )


async def show_subscription(visit: Visit) -> Reply:
    """Show one subscription and the newest events for it."""
    path = {"id": visit.request.path_params["record"]}
    record = filled((await visit.fetch("show_subscription", path=path))["subscription"], record_columns("subscription"))
    events = await visit.fetch("list_subscription_deliveries", {"page": 1, "per_page": EVENTS_SHOWN}, path=path)
    return visit.page(
        "subscription.html",
        title=str(record["name"] or record["id"]),
        shown=record,
        events=[filled(row, DELIVERY_COLUMNS) for row in rows_of(events)],
        done=DONE.get(str(visit.query.get("done", ""))),
    )


async def act(visit: Visit) -> Reply:
    """Enable a subscription, or send its events again that were given up."""
    reference, key = str(visit.request.path_params["record"]), str(visit.form.get("action", ""))
    if key not in DONE or not visit.may(f"{key}_subscription"):
        raise ProblemError("not_found", "There is no such button, or no team of yours grants it.")
    since = to_rfc3339(visit.now - REPLAYED)
    fields = {"occurred_at_from": since, "only_failed": "true"} if key == "replay" else {}
    await visit.fetch(f"{key}_subscription", fields, path={"id": reference})
    return visit.go_to(f"{PATH}/{reference}?done={key}")


async def _attempts(visit: Visit, wanted: dict[str, Any]) -> Mapping[str, Any] | None:
    """Return the attempts of a filter; None where no team grants them. Raises `ApiRefusedError` for a wrong filter."""
    return await visit.fetch("list_webhook_logs", wanted) if visit.may("list_webhook_logs") else None


async def _accounts(visit: Visit, circuits: Mapping[str, Any] | None) -> dict[str, str]:
    """Return endpoint -> name of the accounts with providers, where any is spared."""
    if circuits is None or all(row["channel"] == "webhook" for row in circuits["circuits"]):
        return {}
    answer = await visit.look("list_provider_configurations", {"per_page": RECORDS_READ})
    return {f"provider_configuration {id_}": name for id_, name in _names(answer, "provider_configuration").items()}


def _names(answer: Mapping[str, Any] | None, record_type: str) -> dict[int, str]:
    rows = [] if answer is None else [filled(row, record_columns(record_type)) for row in rows_of(answer)]
    return {row["id"]: str(row["name"] or row["id"]) for row in rows}


def _url(wanted: Mapping[str, str], page: int) -> str:
    return f"{PATH}?{urlencode({**wanted, 'page': page})}"


_EITHER = ("list_webhook_logs", "list_subscription_deliveries")
_NEEDS = ("show_subscription", "list_subscription_deliveries")

PAGES: tuple[ConsolePage, ...] = (
    ConsolePage(path=PATH, handler=show, label="Deliveries", needs_any=_EITHER),
    ConsolePage(path=SUBSCRIPTION, handler=show_subscription, needs=_NEEDS),
    ConsolePage(
        path=f"{SUBSCRIPTION}/actions",
        handler=act,
        needs=_NEEDS,
        needs_any=("enable_subscription", "replay_subscription"),
        method="POST",
    ),
)
