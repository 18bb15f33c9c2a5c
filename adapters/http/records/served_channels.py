"""Does a gateway serve each channel that a schedule needs? A step on a channel that no gateway serves is not published.

The API checks this, not the engine: what is written straight to `accounts.requests` is not checked. A channel
counts as served for a day after its last gateway, so a restart refuses nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from adapters.http.exchange.binding import FIELDS_SHOWN_MAX
from adapters.http.exchange.exchange import Exchange
from adapters.http.exchange.problems import ProblemError
from adapters.reads.ports import ReadsUnavailableError, Row, Serving
from engine.account.publishing import DRAFT
from engine.submission.fields import FieldError, parse_boolean, parse_id
from schemas.records import ActionGroup, ProviderConfiguration
from schemas.schedule import KIND_OF_STEP

CHANNEL_OF_KIND: Mapping[str, str] = {
    "call": "call",
    "schedule_callback": "call",
    "sms": "sms",
    "email": "email",
    "webhook": "webhook",
}
"""Kind of a step -> the channel that it needs."""

PLANS = ("steps", "end_steps")
NAMED_MAX = 3
"""Most steps that the sentence of a problem names; `errors` has all."""

STEP_ID_LENGTH_MAX = 60
"""Most characters of a step's id in a sentence; the account refuses an id that is too long."""


class Need(Struct, frozen=True):
    """A step that needs a channel: the field of its fault, and its name."""

    field: str
    step: str
    channel: str


async def refuse_unserved(exchange: Exchange, record_type: str, fields: Mapping[str, Any], row: Row | None = None) -> None:
    """Check the steps that a change would publish; `row` is the present record.

    Raises `ProblemError` invalid_schedule, and `ReadsUnavailableError` if the served channels are unknown.
    """
    if record_type not in {"schedule", "action_group"} or _is_draft(fields):
        return
    needs = list(_needs(exchange, _published(fields, row)))
    if not needs:
        return
    serving = await _serving(exchange)
    missing = [need for need in needs if need.channel not in serving.channels]
    if missing:
        raise _refusal(missing, can_wait=record_type == "schedule")
    bare = [need for need in needs if need.channel in serving.configured and not _is_configured(exchange, need.channel)]
    if bare:
        raise _unconfigured(bare)


def _is_configured(exchange: Exchange, channel: str) -> bool:
    """Return whether the company has a provider configuration of a channel that is not paused."""
    rules, record_type = exchange.services.source.rules, "provider_configuration"
    bodies = (
        rules.body(ProviderConfiguration, record_type, record.id)
        for record in rules.records(record_type, exchange.company_id)
    )
    return any(body is not None and body.channel == channel and not body.paused for body in bodies)


def _unconfigured(bare: list[Need]) -> ProblemError:
    channels = ", ".join(dict.fromkeys(need.channel for need in bare))
    steps = ", ".join(need.step for need in bare[:NAMED_MAX]) + (", …" if len(bare) > NAMED_MAX else "")
    return ProblemError(
        "invalid_schedule",
        f"The company has no account to reach anybody by {channels}, so nothing would come of {steps}. "
        "Create a provider configuration first.",
        {
            need.field: [f"needs a provider configuration for {need.channel}, and the company has none that is not paused"]
            for need in bare[:FIELDS_SHOWN_MAX]
        },
    )


def _refusal(missing: list[Need], *, can_wait: bool) -> ProblemError:
    channels = ",".join(dict.fromkeys(need.channel for need in missing))
    steps = ", ".join(need.step for need in missing[:NAMED_MAX]) + (", …" if len(missing) > NAMED_MAX else "")
    keep = ", or keep the change aside with draft: true" if can_wait else ""
    return ProblemError(
        "invalid_schedule",
        f"No gateway serves {channels}, so nothing would come of {steps}. "
        f"Start one (leadclock gateway --channels {channels}){keep}.",
        {
            need.field: [f"needs a gateway that serves {need.channel}, and none has within a day"]
            for need in missing[:FIELDS_SHOWN_MAX]
        },
    )


async def _serving(exchange: Exchange) -> Serving:
    """Return the channels that are served now; if the database is unavailable, those of the last read."""
    served = exchange.services.served
    try:
        return await served.read()
    except ReadsUnavailableError:
        if not served.last.channels:
            raise
        return served.last


def _is_draft(fields: Mapping[str, Any]) -> bool:
    try:
        return parse_boolean(fields.get(DRAFT, False))
    except FieldError:
        return False  # the account refuses it, with any other fault


def _published(fields: Mapping[str, Any], row: Row | None) -> dict[str, Any]:
    """Return the plans that a change would publish: those it sends, or all if the schedule was never published."""
    body: Mapping[str, Any] = {} if row is None else row["body"]
    waiting = {**body, **body.get("draft_fields", {})} if body.get("unpublished") else {}
    return {name: plan for name, plan in {**waiting, **fields}.items() if name in PLANS}


def _needs(exchange: Exchange, plans: Mapping[str, Any]) -> Iterator[Need]:
    """Yield the channels that the steps need; the account refuses what is no step."""
    for name, plan in plans.items():
        for index, step in enumerate(plan if isinstance(plan, list) else ()):
            if not isinstance(step, Mapping):
                continue
            field, kind = f"{name}[{index}]", str(step.get("kind"))
            step_id = f"step {step['id'][:STEP_ID_LENGTH_MAX]}" if isinstance(step.get("id"), str) else field
            if kind in CHANNEL_OF_KIND:
                yield Need(f"{field}.kind", step_id, CHANNEL_OF_KIND[kind])
            elif kind == "action_group":
                for channel in _of_group(exchange, step.get("action_group_id")):
                    yield Need(f"{field}.action_group_id", step_id, channel)


def _of_group(exchange: Exchange, given: Any) -> list[str]:
    """Return the channels that an action group needs; none for an unknown group, which the account refuses."""
    rules = exchange.services.source.rules
    try:
        group_id = parse_id(given)
    except FieldError:
        return []
    group = rules.body(ActionGroup, "action_group", group_id)
    if group is None or not rules.owns(exchange.company_id, "action_group", group_id):
        return []
    kinds = [KIND_OF_STEP[type(step)] for step in group.steps]
    return list(dict.fromkeys(CHANNEL_OF_KIND[kind] for kind in kinds if kind in CHANNEL_OF_KIND))
