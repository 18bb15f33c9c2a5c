"""Which number does a page show? Its ring pool decides, and the answer waits for that: a page cannot wait any longer.

The number is shown only once the projection has the decision, so whatever is read later knows of the hold.
"""

from typing import Any

from msgspec import structs

from adapters.http.exchange.exchange import Exchange
from adapters.http.exchange.failures import RETRY_AFTER_SECONDS
from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.writes import raise_refusal, remaining_wait_seconds
from adapters.reads.ports import Result
from schemas.impressions import Impression
from schemas.instant import Instant
from schemas.records import Number, RingPool
from schemas.requests import NumberHoldRequested
from schemas.topics import ACCOUNTS_REQUESTS

CAMPAIGN_FIELDS = (
    *("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content"),
    *("gclid", "fbclid", "sub_id"),
)
"""Fields of an impression that become tokens of the calls that are attributed to it, and of their leads."""

UNDECIDED = (
    "No number was decided in time, and the impression was not stored. Show a number of your own, or resend: a visitor for "
    "whom one is held by now gets the same."
)


async def ask_for_number(exchange: Exchange, impression: Impression, request_id: str) -> Impression:
    """Return the impression with the number that its ring pool holds for the visitor. Raises `ProblemError`."""
    services = exchange.services
    result = None
    if request_id != exchange.request_id:  # a repeat under an Idempotency-Key
        result = await services.requests.wait(request_id, 0)
    if result is None:
        message = _request(exchange, impression)
        await services.requests.submit(
            ACCOUNTS_REQUESTS.name,
            message.partition_key,
            message,
            request_id=request_id,
            company_id=exchange.company_id,
        )
        result = await services.requests.wait(request_id, remaining_wait_seconds(exchange))
    if result is None:
        headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
        raise ProblemError("events_unavailable", UNDECIDED, headers=headers)
    raise_refusal(result)
    return _with_number(exchange, impression, result)


def _request(exchange: Exchange, impression: Impression) -> NumberHoldRequested:
    rules, pool_id = exchange.services.source.rules, impression.ring_pool_id or 0
    record, pool = rules.record("ring_pool", pool_id), rules.body(RingPool, "ring_pool", pool_id)
    if record is None or pool is None:  # deleted since the impression was read
        fault = {"ring_pool_id": [f"names no ring pool: {pool_id}"]}
        raise ProblemError("validation_failed", "Correct ring_pool_id and resend; nothing was stored.", fault)
    return NumberHoldRequested(
        company_id=exchange.company_id,
        ring_pool_id=pool_id,
        visitor_id=impression.visitor_id,
        impression_uuid=impression.uuid,
        pool_version=record.version,
        number_ids=pool.number_ids,
        hold_seconds=pool.hold_seconds,
        grace_seconds=pool.grace_seconds,
        default_number_id=pool.default_number_id,
        offer_id=impression.offer_id,
        traffic_source_id=impression.traffic_source_id,
        tokens=_tokens(impression),
    )


def _tokens(impression: Impression) -> dict[str, Any]:
    """Return the tokens that a call gets which is attributed to an impression: its own, and those of its campaign."""
    campaign = {name: getattr(impression, name) for name in CAMPAIGN_FIELDS}
    return {**{name: value for name, value in campaign.items() if value is not None}, **impression.tokens}


def _with_number(exchange: Exchange, impression: Impression, result: Result) -> Impression:
    decided = {} if result.answer is None else result.answer.extra
    number_id, held_until = decided.get("number_id"), decided.get("held_until")
    number = exchange.services.source.rules.body(Number, "number", number_id)
    return structs.replace(
        impression,
        number_id=number_id,
        number_shown=None if number is None else number.number,
        held_until=None if held_until is None else Instant(held_until),
    )
