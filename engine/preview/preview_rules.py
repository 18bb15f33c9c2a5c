"""On which records does a preview run? On the schedule alone: every referenced record exists, without limits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from engine.account.references import references_of
from engine.rules import Rules
from engine.submission.fields import INTEGER_MAX, FieldError, parse_id
from schemas.instant import EPOCH
from schemas.records import (
    Body,
    Buyer,
    BuyerGroup,
    Company,
    Offer,
    OutgoingWebhook,
    Record,
    RulePack,
    Schedule,
    TrafficSource,
    plain,
)
from schemas.schedule import WaitStep

COMPANY_ID = 1
UNPUBLISHED_ID = INTEGER_MAX
"""The id of an unpublished schedule: no other schedule has it."""

LEAD_TOKEN = "preview-preview-"  # noqa: S105 - opens nothing: these records exist in a preview alone

_BUYER_NUMBER = "+13055550100"
"""A fictitious number (555-0100 to 555-0199 are reserved); nobody is dialled."""


ELSEWHERE = WaitStep(id="elsewhere", duration="52w")
"""A placeholder for another schedule to which a lead moves."""


def rules_for(
    schedule: Schedule, schedule_id: int, lead: Mapping[str, Any], *, company: Company, rule_packs: Sequence[RulePack] = ()
) -> Rules:
    """Return rules that hold the schedule, everything that it and the lead refer to, and the company's own rules.

    Of the company count its country and how it treats countries whose law is not kept.
    """
    rules = Rules()
    offer_id = schedule.offer_id or 1
    made = Company(
        name="preview",
        time_zone=schedule.time_zone,
        country=company.country,
        unreviewed_countries=company.unreviewed_countries,
    )
    _adopt(rules, "company", COMPANY_ID, made)
    _adopt(rules, "offer", offer_id, Offer(name="preview", lead_token=f"{LEAD_TOKEN}offer", country=company.country))
    for record_type, record_id, body in _referred(schedule, lead):
        _adopt(rules, record_type, record_id, body)
    for number, pack in enumerate(rule_packs, 1):
        _adopt(rules, "rule_pack", number, pack)
    tried = structs.replace(schedule, lead_token=LEAD_TOKEN, unpublished=False)
    _adopt(rules, "schedule", schedule_id, tried, version=2)  # may refer to itself
    return rules


def _referred(schedule: Schedule, lead: Mapping[str, Any]) -> Iterator[tuple[str, int, Body]]:
    references = sorted(references_of(schedule))
    buyer_ids = [record_id for record_type, record_id in references if record_type == "buyer"] or [1]
    for buyer_id in buyer_ids:
        yield "buyer", buyer_id, Buyer(name="preview", number=_BUYER_NUMBER)
    for record_type, record_id in references:
        if record_type == "buyer_group":
            yield record_type, record_id, BuyerGroup(name="preview", buyer_ids=tuple(buyer_ids))
        elif record_type == "outgoing_webhook":
            yield record_type, record_id, OutgoingWebhook(name="preview", url="https://preview.invalid")
        elif record_type == "schedule":
            other = Schedule(name="preview", lead_token=f"{LEAD_TOKEN}{record_id}", steps=(ELSEWHERE,))
            yield record_type, record_id, other
    data = lead.get("data")
    for fields in (lead, data if isinstance(data, Mapping) else {}):
        try:
            yield "traffic_source", parse_id(fields.get("traffic_source_id")), TrafficSource(name="preview")
        except FieldError:
            continue  # reading the lead reports the fault


def _adopt(rules: Rules, record_type: str, record_id: int, body: Body, *, version: int = 1) -> None:
    record = Record(
        type=record_type,
        id=record_id,
        uuid=f"preview-{record_type}-{record_id}",
        company_id=COMPANY_ID,
        version=version,
        created_at=EPOCH,
        updated_at=EPOCH,
        body=plain(body),
    )
    rules.apply(0, record)
