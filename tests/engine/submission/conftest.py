"""Which company do these submissions go to? One with an offer and its schedule; another company exists beside it."""

from collections.abc import Callable
from typing import Any

import pytest

from engine.rules import Rules
from engine.submission.normalise import Normalised, normalise
from schemas.instant import Instant
from schemas.records import Body, Company, Offer, Record, RingPool, Schedule, TrafficSource, plain
from schemas.schedule import SmsStep

RECEIVED_AT = Instant(1_773_000_000_000)

OFFER_ID, SCHEDULE_ID, EMPTY_ID, GUARDED_ID, SOURCE_ID, PAUSED_SOURCE_ID, POOL_ID, STRANGER_ID = (
    11,
    12,
    13,
    14,
    15,
    16,
    17,
    21,
)


def record(kind: str, record_id: int, body: Body, company_id: int = 1) -> Record:
    return Record(
        type=kind,
        id=record_id,
        uuid=f"{kind}-{record_id}",
        company_id=company_id,
        version=1,
        sequence=record_id,
        created_at=Instant(1),
        updated_at=Instant(1),
        body=plain(body),
    )


def folded() -> Rules:
    found = Rules()
    steps = (SmsStep(id="text", template="Hi"),)
    for entry in (
        record("company", 1, Company(name="Sunny")),
        record("company", 2, Company(name="Other")),
        record("company", 3, Company(name="British", country="GB")),
        record("schedule", 31, Schedule(name="Days", lead_token="british-token", steps=steps), company_id=3),
        record("offer", OFFER_ID, Offer(name="Solar", lead_token="offer-token", country="US")),
        record("schedule", SCHEDULE_ID, Schedule(name="Days", lead_token="schedule-token", offer_id=OFFER_ID, steps=steps)),
        record("schedule", EMPTY_ID, Schedule(name="Empty", lead_token="empty-token")),
        record("offer", GUARDED_ID, Offer(name="Guarded", lead_token="guarded-token", require_auth=True, country="GB")),
        record("traffic_source", SOURCE_ID, TrafficSource(name="Ads")),
        record("traffic_source", PAUSED_SOURCE_ID, TrafficSource(name="Switched off", paused=True)),
        record("ring_pool", POOL_ID, RingPool(name="Website")),
        record("traffic_source", STRANGER_ID, TrafficSource(name="Not ours"), company_id=2),
    ):
        found.apply(0, entry)
    return found


@pytest.fixture
def rules() -> Rules:
    return folded()


Submit = Callable[..., Normalised]


@pytest.fixture
def submit(rules: Rules) -> Submit:
    def send(raw: dict[str, Any] | None = None, /, **options: Any) -> Normalised:
        body = {"lead_token": "schedule-token", "caller_id": "+13055550123"} | (raw or {})
        return normalise(body, rules, received_at=RECEIVED_AT, **{"is_trusted": True, **options})

    return send
