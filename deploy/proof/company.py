"""Whose leads are they? A company with schedules that reach every channel within seconds and then rest for a day.

Made through the requests that any operator sends. The telephone numbers are the sandbox carrier's: no person is called.
"""

from collections.abc import Mapping
from typing import Any

import httpx
from msgspec import Struct

from adapters.http.exchange.identity import hash_private_key
from adapters.partitions.feed import RulesTopic
from adapters.roles.context import open_context
from adapters.roles.record_client import RecordClient
from adapters.settings import Settings

COMPANY_ID = 1
CONCURRENT_CALLS = 200
"""So many slots that calls wait now and then, and so few that a slot which is never given back shows."""

SCHEDULES: dict[str, dict[str, Any]] = {
    "text": {"id": "first", "kind": "sms", "template": "Hello {{first_name}}"},
    "mail": {"id": "first", "kind": "email", "subject": "Hello", "template": "Hello {{first_name}}"},
    "call": {"id": "first", "kind": "call"},
    "rest": {"id": "first", "kind": "wait", "duration": "2d"},
}
"""Token -> first step. A wait of a day and a text follow: nearly every lead is live when the counting begins."""

RETRIED_KINDS = ("text", "mail", "call")
RETRIED = {"unknown": {"delay": "5s"}}
"""Retried where nothing is known of a contact: who was reached after all must not be contacted again."""

REST = [
    {"id": "rest", "kind": "wait", "duration": "1d"},
    {"id": "last", "kind": "sms", "template": "Goodbye {{first_name}}"},
]


PUBLIC_KEY, PRIVATE_KEY = "pk_proof_company", "private half of the proof company"
"""Leads over HTTP state where they are, which is trusted with a key alone."""


class ProofCompany(Struct, frozen=True, kw_only=True):
    """What leads are sent to: kind of the first step -> lead token."""

    tokens: dict[str, str]
    offer_token: str

    def auth(self) -> httpx.BasicAuth:
        """Return the key of the company."""
        return httpx.BasicAuth(PUBLIC_KEY, PRIVATE_KEY)


async def make_company(
    settings: Settings, *, hook_url: str | None = None, retries_unknown: bool = False, lines: int = CONCURRENT_CALLS
) -> ProofCompany:
    """Make the company with offer, numbers, buyer group and schedules; an accounts role must run.

    With `retries_unknown` a contact of which nothing is known is made again. With `hook_url` there is a schedule `hook` too,
    which posts there first. `lines` is how many calls there may be at a time.

    Raises `RecordNotCreatedError`, `LogError`.
    """
    async with open_context(settings) as context:
        appender = await context.log.appender()
        try:
            await context.rules.refresh()
            records = RecordClient(context.log, context.names, context.rules, appender, context.clock, company_id=COMPANY_ID)
            return await _make(records, context.rules, hook_url, RETRIED if retries_unknown else {}, lines)
        finally:
            await appender.close()


async def _make(
    records: RecordClient, rules: RulesTopic, hook_url: str | None, retry: Mapping[str, Any], lines: int
) -> ProofCompany:
    await records.ensure("company", "name", {"name": "Proof", "country": "US"})
    key = {"name": "proof", "public_key": PUBLIC_KEY, "private_key_sha256": hash_private_key(PRIVATE_KEY)}
    await records.ensure("api_key", "public_key", key)
    offer = {"name": "Solar", "lead_token": "lt_proof_offer_0123456789abcdef"}
    offer_id = await records.ensure("offer", "name", offer)
    await records.ensure("number", "number", {"number": "+12125550150", "offer_id": offer_id})
    buyer = {"name": "Roofs", "number": "+12125550160"}
    buyer_id = await records.ensure("buyer", "name", buyer)
    group = {"name": "All", "buyer_ids": [buyer_id], "concurrency_cap_limit": lines}
    group_id = await records.ensure("buyer_group", "name", group)
    tokens = {}
    schedules = dict(SCHEDULES)
    if hook_url is not None:
        hook_id = await records.ensure("outgoing_webhook", "name", {"name": "Receiver", "url": hook_url})
        schedules["hook"] = {"id": "first", "kind": "webhook", "outgoing_webhook_id": hook_id}
    for kind, step in schedules.items():
        first = step | ({"connect": {"buyer_group_id": group_id}} if kind == "call" else {})
        first |= {"retry": retry} if retry and kind in RETRIED_KINDS else {}
        tokens[kind] = f"lt_proof_{kind}_0123456789abcdef"
        schedule = {"name": kind, "offer_id": offer_id, "lead_token": tokens[kind], "steps": [first, *REST]}
        await records.ensure("schedule", "name", schedule)
    await rules.refresh()
    return ProofCompany(tokens=tokens, offer_token=offer["lead_token"])
