"""Who takes part? A quiet company whose latency is measured, and a hostile one that shares every process with it.

Both are made through the requests that any operator sends. The telephone numbers are the sandbox carrier's.
"""

import hashlib
import secrets

import asyncpg
import httpx
from msgspec import Struct

from adapters.partitions.feed import RulesTopic
from adapters.roles.context import Context
from adapters.roles.record_client import RecordClient

QUIET_COMPANY_ID = 1
HOSTILE_COMPANY_ID = 2

OVERSIZED_TEMPLATE = "{{a}}" * 320
"""With a token `a` of 4,000 letters it renders to 1.28 MB: more than any record may hold."""

STOCK_LEADS = 40_000
"""Rows of the hostile company: an export of some 15 MB, reports of a hundred milliseconds to some seconds."""

_STOCK = """
INSERT INTO read.leads
SELECT made.* FROM read.leads AS model
CROSS JOIN generate_series(1, $3::bigint) AS n
CROSS JOIN LATERAL jsonb_populate_record(model, jsonb_build_object(
    'id', 900000000000 + n, 'uuid', gen_random_uuid(), 'contact_key', $2::bigint || '|+1214' || (2000000 + n),
    'caller_id', '+1214' || (2000000 + n), 'zip_postal_code', lpad((n % 4000)::text, 5, '0'), 'status', 'expired',
    'is_live', false, 'next_action_at', NULL, 'created_at', model.created_at - make_interval(mins => 10 * n::int),
    'data', jsonb_build_object('click', 'c' || n, 'page', n % 500, 'campaign', 'spring ' || n % 20)
)) AS made
WHERE model.company_id = $2 AND model.id = $1
"""
_STOCK_SECONDS = 120.0


class Party(Struct, frozen=True, kw_only=True):
    """One company's credentials: `tokens` maps the kind of a schedule's first step to its lead token."""

    tokens: dict[str, str]
    public_key: str
    private_key: str

    def auth(self) -> httpx.BasicAuth:
        """Return the HTTP Basic credentials."""
        return httpx.BasicAuth(self.public_key, self.private_key)


async def make_parties(context: Context, *, good_port: int, hanging_port: int) -> tuple[Party, Party]:
    """Make the quiet and the hostile company; an accounts role must run. Raises `RecordNotCreatedError`, `LogError`."""
    appender = await context.log.appender()
    try:
        await context.rules.refresh()
        clients = [
            RecordClient(context.log, context.names, context.rules, appender, context.clock, company_id=company_id)
            for company_id in (QUIET_COMPANY_ID, HOSTILE_COMPANY_ID)
        ]
        quiet = await _make(clients[0], "quiet", "Hello {{first_name}}", good_port, context.rules)
        hostile = await _make(clients[1], "hostile", OVERSIZED_TEMPLATE, hanging_port, context.rules)
    finally:
        await appender.close()
    return quiet, hostile


async def _make(records: RecordClient, name: str, template: str, webhook_port: int, rules: RulesTopic) -> Party:
    await records.ensure("company", "name", {"name": name, "country": "US"})
    offer_id = await records.ensure("offer", "name", {"name": name, "lead_token": f"lt_{name}_offer_0123456789abcdef"})
    await records.ensure("number", "number", {"number": "+12125550150", "offer_id": offer_id})
    webhook = {"name": name, "url": f"http://127.0.0.1:{webhook_port}/{name}"}
    webhook_id = await records.ensure("outgoing_webhook", "name", webhook)
    steps = {
        "text": {"id": "first", "kind": "sms", "template": template},
        "hook": {"id": "first", "kind": "webhook", "outgoing_webhook_id": webhook_id},
    }
    tokens = {kind: f"lt_{name}_{kind}_0123456789abcdef" for kind in steps}
    for kind, step in steps.items():
        schedule = {"name": kind, "offer_id": offer_id, "lead_token": tokens[kind], "steps": [step]}
        await records.ensure("schedule", "name", schedule)
    private_key = secrets.token_hex(16)
    digest = hashlib.sha256(private_key.encode()).hexdigest()
    public_key = f"pk_{name}_{secrets.token_hex(8)}"
    await records.ensure("api_key", "public_key", {"name": name, "public_key": public_key, "private_key_sha256": digest})
    await rules.refresh()
    return Party(tokens=tokens, public_key=public_key, private_key=private_key)


async def stock(api_url: str, dsn: str, party: Party) -> None:
    """Give the hostile company many leads that ended, in the read schema alone: only exports and reports look at them."""
    async with httpx.AsyncClient(base_url=api_url, timeout=_STOCK_SECONDS, auth=party.auth()) as client:
        body = {"lead_token": party.tokens["text"], "caller_id": "+12142000000", "first_name": "Ann", "last_name": "Lee"}
        answer = await client.post("/api/v1/leads", json=body)
    model_id = answer.raise_for_status().json()["lead"]["id"]
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(_STOCK, model_id, HOSTILE_COMPANY_ID, STOCK_LEADS, timeout=_STOCK_SECONDS)
        await connection.execute("VACUUM ANALYZE read.leads", timeout=_STOCK_SECONDS)
    finally:
        await connection.close()
