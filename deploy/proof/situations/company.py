"""Whose console is opened? That of a company of demo size, by a manager who is no operator, and by one who is."""

import hashlib
import secrets
from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx
from argon2 import PasswordHasher
from msgspec import Struct

from adapters.http.exchange.identity import hash_private_key, new_operator_key
from adapters.postgres.operators import PostgresOperators
from adapters.postgres.pool import open_pool
from adapters.roles.context import Context
from adapters.roles.record_client import RecordClient
from adapters.up.demo import BUYERS
from adapters.up.demo_time_zone import zone_at_daytime
from deploy.proof.processes import DeploymentError
from deploy.proof.submissions import AREAS

COMPANY_ID = 1
OURS = "+12125550150"
EMAIL = "manager@demo.example"

CALLS, TEXTS, SOURCE = "Solar calls", "Solar texts", "Acme forms"
TEXT = "Hi {{first_name}}, your solar quote is ready: shall we call? Reply STOP to opt out."

REST = {"id": "rest", "kind": "wait", "duration": "2d"}
"""Leads stay live once they were called or texted."""

REFUSED, ANSWERED = "11", "00"
"""Endings of numbers (sandbox.md): the carrier does not take the call, a person answers."""

ANSWER_SECONDS = 30.0


class Manager(Struct, frozen=True, kw_only=True):
    """How the people of the company get in: a password, and the key of an operator."""

    email: str
    password: str
    operator_key: str


class DemoCompany:
    """The company over HTTP, as its own systems use it."""

    def __init__(
        self, url: str, auth: httpx.BasicAuth, manager: Manager, *, tokens: dict[str, str], ids: dict[str, int]
    ) -> None:
        self.manager = manager
        self._url = url
        self._auth = auth
        self._tokens = tokens
        self._ids = ids
        self._numbers = {ending: _numbers(ending) for ending in (REFUSED, ANSWERED)}
        self._texts = count(1)

    async def change(self, kind: str, name: str, **fields: Any) -> None:
        """Change fields of a record. Raises `DeploymentError` where the API refuses."""
        await self._send("PATCH", f"{kind}s/{self._ids[name]}", fields)

    async def submit(self, schedule: str, number: int, *, ending: str = ANSWERED, source: str | None = None) -> list[str]:
        """Submit leads of new people on a schedule; return their numbers."""
        zone = zone_at_daytime()
        people = [next(self._numbers[ending]) for _ in range(number)]
        more = {} if source is None else {"traffic_source_id": self._ids[source]}
        for person in people:
            fields = {"lead_token": self._tokens[schedule], "caller_id": person, "first_name": "Ann", "time_zone": zone}
            await self._send("POST", "leads", {**fields, **more})
        return people

    async def receive_text(self, person: str, body: str) -> None:
        """Report a text of a person."""
        fields = {"from": person, "to": OURS, "body": body, "text_ref": f"text-{next(self._texts)}"}
        await self._send("POST", "texts/received", fields)

    async def count_texted(self, schedule: str) -> int:
        """Return how many leads of a schedule a text was sent for, of the newest hundred."""
        asked = {"schedule_id": self._ids[schedule], "columns": "sms_count", "page": 1, "per_page": 100}
        answer = await self._send("GET", "leads", params=asked)
        return sum(lead["sms_count"] > 0 for lead in answer.json()["leads"])

    async def _send(self, method: str, path: str, fields: dict[str, Any] | None = None, **more: Any) -> httpx.Response:
        async with httpx.AsyncClient(timeout=ANSWER_SECONDS, auth=self._auth) as client:
            answer = await client.request(method, f"{self._url}/api/v1/{path}", json=fields, **more)
        if not answer.is_success:
            raise DeploymentError(f"the API answers {answer.status_code} to {answer.request.url}: {answer.text[:500]}")
        return answer


def _numbers(ending: str) -> Iterator[str]:
    """Yield numbers that are reserved for fiction and end so."""
    return (f"+1{area}55501{ending}" for area in AREAS)


async def make_company(context: Context, url: str) -> DemoCompany:
    """Make the company and those who look at it; accounts must run. Raises `RecordNotCreatedError`, `LogError`."""
    appender = await context.log.appender()
    try:
        await context.rules.refresh()
        records = RecordClient(context.log, context.names, context.rules, appender, context.clock, company_id=COMPANY_ID)
        manager = Manager(email=EMAIL, password=secrets.token_urlsafe(16), operator_key=await _operator_key(context))
        tokens, ids = await _make(records)
        await _make_manager(records, manager)
        public_key, private_key = f"pk_situations_{secrets.token_hex(8)}", secrets.token_hex(16)
        digest = hashlib.sha256(private_key.encode()).hexdigest()
        key = {"name": "situations", "public_key": public_key, "private_key_sha256": digest}
        await records.ensure("api_key", "public_key", key)
    finally:
        await appender.close()
    return DemoCompany(url, httpx.BasicAuth(public_key, private_key), manager, tokens=tokens, ids=ids)


async def _make(records: RecordClient) -> tuple[dict[str, str], dict[str, int]]:
    """Make the records; return the lead tokens of the schedules, and the ids of what is changed, by name."""
    await records.ensure("company", "name", {"name": "Demo Solar", "country": "US"})
    ids = {buyer["name"]: await records.ensure("buyer", "name", buyer) for buyer in BUYERS}
    group_id = await records.ensure("buyer_group", "name", {"name": "Closers", "buyer_ids": [*ids.values()]})
    offer = {"name": "Solar", "lead_token": f"lt_offer_{secrets.token_hex(8)}", "buyer_group_ids": [group_id]}
    offer_id = await records.ensure("offer", "name", offer)
    await records.ensure("number", "number", {"number": OURS, "offer_id": offer_id})
    ids[SOURCE] = await records.ensure("traffic_source", "name", {"name": SOURCE})
    steps = {
        CALLS: {"id": "call-1", "kind": "call", "connect": {"buyer_group_id": group_id}},
        TEXTS: {"id": "text-1", "kind": "sms", "template": TEXT},
    }
    tokens = {name: f"lt_solar_{secrets.token_hex(8)}" for name in steps}
    for name, step in steps.items():
        fields = {"name": name, "offer_id": offer_id, "lead_token": tokens[name], "steps": [step, REST]}
        ids[name] = await records.ensure("schedule", "name", fields)
    return tokens, ids


async def _make_manager(records: RecordClient, manager: Manager) -> None:
    hashed = PasswordHasher().hash(manager.password)
    user = {"name": "Demo manager", "email": manager.email, "state": "active", "password_hash": hashed}
    await records.ensure("user", "email", user)
    team = {"name": "Managers", "users_emails": [manager.email], "superuser": True}
    await records.ensure("access_control_list", "name", team)


async def _operator_key(context: Context) -> str:
    public, private = new_operator_key(), secrets.token_hex(16)
    pool = await open_pool(context.settings.postgres_dsn)
    try:
        await PostgresOperators(pool).create(public, hash_private_key(private), "situations")
    finally:
        await pool.close()
    return f"{public}.{private}"
