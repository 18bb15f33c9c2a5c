"""How many leads wait, and for which reason? Counted by the code that the leads themselves carry (`status_wait`)."""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct

from adapters.http.console.visits import Visit
from engine.why.reason_texts import REASON_TEXTS

HELD_BY: Mapping[str, tuple[str, ...]] = {
    "pauses": ("on_hold", "company_paused", "offer_paused", "schedule_paused"),
    "buyers": ("no_buyer_available", "buyer_cap", "concurrency_cap", "traffic_source_cap", "callback_owner_unavailable"),
    "numbers": ("no_number_available", "number_cap"),
    "provider": ("provider_backoff", "commands_open", "rate_limited"),
    "checks": (
        "veto_asked",
        "veto_unanswered",
        "veto_denied",
        "suppression_lookup_failed",
        "rnd_pending",
        "optout_review",
        "text_incomplete",
    ),
    "hours": ("preferred_window", "company_holiday", "window_never_open"),
    "law": (
        "quiet_hours_federal",
        "quiet_hours_state",
        "holiday",
        "frequency_cap",
        "consent_missing",
        "refusal_pause",
        "sector_barred",
        "timezone_unknown",
        "unreviewed_country",
        "country_not_dialled",
        "number_not_dialled",
    ),
    "leads": ("manual_hold", "move_loop_guard", "decision_failed", "reply_pause", "inbound_pause", "min_spacing"),
}
"""Link -> the codes of leads that wait for it."""


class HeldLeads(Struct, frozen=True):
    """How many leads wait for one reason; None: more than 10,000."""

    code: str
    sentence: str
    count: int | None


async def count_held(visit: Visit, codes: Sequence[str]) -> dict[str, HeldLeads]:
    """Return how many leads wait for each reason; 0 where no team of the visitor shows leads."""
    asked = [{"status_wait": code, "page": 1, "per_page": 1, "columns": "id"} for code in codes]
    answers = await asyncio.gather(*(visit.look("list_leads", fields) for fields in asked))
    counts = [0 if one is None else one["metadata"].get("total_count") for one in answers]
    return {code: HeldLeads(code, REASON_TEXTS[code].sentence, count) for code, count in zip(codes, counts, strict=True)}
