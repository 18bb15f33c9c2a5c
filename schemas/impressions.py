"""What is recorded of an impression? That a visitor saw a page, with its campaign; no aggregate decides it."""

from typing import Any

from schemas.instant import Instant
from schemas.wire import Message

IMPRESSION_TYPE = "impression.recorded"


class Impression(Message, frozen=True, kw_only=True):
    """A visitor saw a page. The key of its record is `company_id|visitor_id`.

    `created_at` is when it was posted. `ip` is a network (a /24, or a /48 of IPv6), never the whole address. The first
    record with a `uuid` counts, a repeat of it changes nothing. One that asked for a number of a ring pool says which one
    was shown, and until when it is held; a pool's default number is held for nobody.
    """

    company_id: int
    uuid: str
    created_at: Instant
    visitor_id: str
    session_id: str | None = None
    offer_id: int | None = None
    traffic_source_id: int | None = None
    page_url: str | None = None
    referrer: str | None = None
    landing_url: str | None = None
    utm_source: str | None = None
    utm_medium: str | None = None
    utm_campaign: str | None = None
    utm_term: str | None = None
    utm_content: str | None = None
    gclid: str | None = None
    fbclid: str | None = None
    sub_id: str | None = None
    ip: str | None = None
    user_agent: str | None = None
    device: str | None = None
    country: str | None = None
    state: str | None = None
    city: str | None = None
    tokens: dict[str, Any] = {}
    ring_pool_id: int | None = None
    number_id: int | None = None
    number_shown: str | None = None
    held_until: Instant | None = None


def impression_key(impression: Impression) -> str:
    """Return the key of an impression's record: all of a visitor are in one partition, in the order of their arrival."""
    return f"{impression.company_id}|{impression.visitor_id}"
