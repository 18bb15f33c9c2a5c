"""Which rights does a request need beside its own scope? Those to all that it has sent to another system, or reads of that.

Who says where leads are posted could read them there. So what a person or key may not read, it has sent nowhere: a scope
that is lacking, a team that shows some leads only, and a hidden field (`hidden_fields.py`) each refuse the whole.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from adapters.http.exchange.access import Access
from adapters.http.exchange.exchange import Exchange
from adapters.http.exchange.hidden_fields import sees_whole_leads
from adapters.http.exchange.problems import ProblemError
from engine.account.publishing import DRAFT
from engine.submission.fields import FieldError, is_blank, parse_boolean


class SentData(Struct, frozen=True):
    """What an operation shows or sends: the models that must be readable; all leads, or those that the person sees."""

    models: tuple[str, ...]
    all_leads: bool = True


_POSTED = SentData(("lead", "call"))
_EVENTS = SentData(("lead", "call", "contact"))
_OWN_LEADS = SentData(("lead",), all_leads=False)

SENT: Mapping[str, SentData] = {
    **dict.fromkeys(("create_subscription", "update_subscription", "enable_subscription", "replay_subscription"), _EVENTS),
    **dict.fromkeys(("list_subscription_deliveries", "show_subscription_delivery"), _EVENTS),
    **dict.fromkeys(("create_outgoing_webhook", "update_outgoing_webhook", "create_webhook_manual_fire"), _POSTED),
    **dict.fromkeys(("list_webhook_logs", "show_webhook_log"), _POSTED),
    **dict.fromkeys(("create_provider_configuration", "update_provider_configuration"), _POSTED),
    **dict.fromkeys(("create_lead_bulk_job", "list_lead_bulk_results", "list_lead_import_errors"), _OWN_LEADS),
}
"""Operation -> what it shows or sends. A provider's account gets the numbers, addresses and texts of all leads."""

OF_EVENT: Mapping[str, str] = {
    "agent_status_changed": "agent_status",
    "cap_reached": "buyer",
    "unblock_job_finished": "unblock_contact_job",
}
"""Event -> the model it is about, if no lead, call or contact; events of records hold none of their values."""

TAKES_EVENTS = frozenset({"create_subscription", "update_subscription"})
"""Operations that say which events are sent."""

TARGETS = ("outgoing_webhook_id", "action_group_id")
"""Where a schedule has leads posted: its steps name the webhook, or a group of steps that may hold such."""

FIRED = "fire_outgoing_webhook_ids"
"""A field of changes of calls: they are posted to these webhooks, with their leads."""


def refuse_unseen(exchange: Exchange) -> None:
    """Raise `ProblemError` forbidden where an operation shows or sends what its sender may not read."""
    if exchange.access is None:
        return
    check_sent(exchange.operation.name, exchange.access)
    if FIRED in exchange.operation.parameters and exchange.fields.get(FIRED):
        _require(exchange.access, _POSTED.models, _POSTED)
    if exchange.operation.name in TAKES_EVENTS:
        events = exchange.fields.get("events")
        named = events if isinstance(events, list) else str(events or "").split(",")
        _require(exchange.access, [OF_EVENT[name] for name in named if name in OF_EVENT], _EVENTS)


def check_sent(operation_name: str, access: Access) -> None:
    """Raise `ProblemError` forbidden where a key or person may not read what an operation shows or sends in any case."""
    sent = SENT.get(operation_name)
    if sent is not None:
        _require(access, sent.models, sent)


def refuse_unseen_steps(
    exchange: Exchange, fields: Mapping[str, Any], before: Mapping[str, Any], *, publishes: bool = False
) -> None:
    """Raise `ProblemError` forbidden where a schedule would post leads by a step that it had not, for one who reads none.

    Who publishes answers for all that is published, written by others too; another offer brings other leads to the steps
    that there are. A step that waits in a draft stays in the next draft.
    """
    if exchange.access is None:
        return
    draft = before.get("draft_fields") or {}
    present = {name: value for name, value in before.items() if name != "draft_fields"}
    if _is_draft(fields):
        stays, becomes = dict(before), dict(fields)
    else:
        is_first = bool(before.get("unpublished"))
        stays = {} if is_first else present
        becomes = {**present, **(draft if publishes or is_first else {}), **fields}
    targets = set(_targets(becomes))
    is_moved = becomes.get("offer_id", stays.get("offer_id")) != stays.get("offer_id")
    if targets <= set(_targets(stays)) and not (is_moved and targets):
        return
    _require(exchange.access, _POSTED.models, _POSTED)
    if not sees_whole_leads(exchange):
        detail = f"The teams of {exchange.access.user_email} hide fields of leads or calls; what is sent would hold them."
        raise ProblemError("forbidden", detail)


def _is_draft(fields: Mapping[str, Any]) -> bool:
    value = fields.get(DRAFT)
    try:
        return not is_blank(value) and parse_boolean(value)
    except FieldError:
        return False  # the change is refused where it is decided


def _require(access: Access, models: Iterable[str], sent: SentData) -> None:
    scopes = [f"{model}:read" for model in models]
    lacking = [scope for scope in scopes if not access.has_scope(scope)]
    if lacking:
        detail = f"What is sent holds what takes {', '.join(lacking)} to read, which this key or person has not got."
        raise ProblemError("forbidden", detail)
    if sent.all_leads and any(access.visibility(scope).leads is not None for scope in scopes):
        detail = f"The teams of {access.user_email} show some leads; what is sent would hold the others too."
        raise ProblemError("forbidden", detail)


def _targets(value: Any) -> Iterator[tuple[str, str]]:
    """Yield each part of a record that says where leads are posted, by its id and what it names, at any depth."""
    if isinstance(value, Mapping):
        for name in TARGETS:
            if value.get(name) is not None:
                yield str(value.get("id", "")), f"{name} {value[name]}"
        for one in value.values():
            yield from _targets(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _targets(one)
