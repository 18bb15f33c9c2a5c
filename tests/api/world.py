"""What stands for the ids and tokens of the documented examples in a running deployment? Records made for the purpose."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
import msgspec
from msgspec import structs
from pyotp import TOTP

from adapters.gateway.ports import WebhookAttempt
from adapters.http.document.examples import (
    BUYER_CONVERSION,
    CALL,
    COMPANY_NUMBER,
    DELIVERY,
    DOUBTER,
    EXAMPLES,
    INVITATION,
    KEPT_SUBMISSION,
    LEAD,
    LEAD_BULK_JOB,
    LEAD_IMPORT,
    MANUAL_FIRE,
    NEW_EMAIL,
    NUMBER,
    OFFER_CONVERSION,
    OFFER_TOKEN,
    OWN_KEY,
    OWN_VIEW,
    PAGE_KEY,
    PAGE_ORIGIN,
    PASSWORD,
    RECORDED_CALL,
    RECORDS,
    REQUEST,
    SCHEDULE_TOKEN,
    SCHEDULED_CALLBACK,
    WEBHOOK_LOG,
    Example,
)
from adapters.http.exchange.exchange import Operation
from adapters.http.sign_in.invitations import ACCEPT_PATH
from adapters.http.sign_in.invitations import PATH as INVITATIONS
from adapters.postgres.subscriptions import PostgresSubscriptionReads, PostgresSubscriptionStore
from adapters.postgres.webhook_logs import PostgresWebhookLog, PostgresWebhookLogReads
from adapters.reads.ports import DeliveryFilter, Paging, WebhookLogFilter
from adapters.subscriptions.ports import NewDelivery
from schemas.commands import PostWebhook
from tests.adapters.http.conftest import DAYTIME_ZONE, STEPS, Company, Town
from tests.adapters.http.furnished import keep_recording, keep_transcription, record_call
from tests.pace import bound
from tests.schemas.corpus import GOLDEN

PLACES: tuple[str, ...] = (
    SCHEDULE_TOKEN,
    OFFER_TOKEN,
    NUMBER,
    COMPANY_NUMBER,
    LEAD,
    REQUEST,
    CALL,
    MANUAL_FIRE,
    DOUBTER,
    DELIVERY,
    BUYER_CONVERSION,
    OFFER_CONVERSION,
    WEBHOOK_LOG,
    LEAD_BULK_JOB,
    LEAD_IMPORT,
    SCHEDULED_CALLBACK,
    KEPT_SUBMISSION,
    RECORDED_CALL,
    PAGE_KEY,
    *RECORDS.values(),
)
"""What stands for something real in the examples: each is replaced, wherever it occurs, by the real one's."""

Places = dict[str, str]

MADE: dict[str, tuple[str, dict[str, Any]]] = {
    "buyer": ("buyers", {"name": "B", "number": "+12125550141"}),
    "buyer_group": ("buyer_groups", {"name": "G"}),
    "offer": ("offers", {"name": "O"}),
    "schedule": ("schedules", {"name": "S", "steps": STEPS}),
    "traffic_source": ("traffic_sources", {"name": "T"}),
    "number": ("numbers", {}),
    "outgoing_webhook": ("outgoing_webhooks", {"name": "W", "url": "https://crm.example.com/x"}),
    "api_key": ("keys", {"name": "K", "scopes": ["lead:read"]}),
    "call_disposition": ("call_dispositions", {"name": "D"}),
    "rule_pack": ("rule_packs", {"name": "R"}),
    "action_group": ("action_groups", {"name": "A", "steps": [STEPS[1]]}),
    "buyer_fleet": ("buyer_fleets", {"name": "F"}),
    "access_control_list": ("access_control_lists", {"name": "Team"}),
    "call_center": ("call_centers", {"name": "C"}),
    "agent_status": ("agent_statuses", {"name": "S", "key": "break"}),
    "agent": ("agents", {"name": "A"}),
    "agent_message": ("agent_messages", {"content": "M"}),
    "subscription": (
        "subscriptions",
        {"name": "S", "url": "https://crm.example.com/x", "events": ["lead_created"]},
    ),
    "user": ("users", {"name": "U"}),
    "provider_configuration": (
        "provider_configurations",
        {"name": "P", "channel": "sms", "provider": "twilio", "settings": {"account_sid": "AC0"}},
    ),
    "suppression_list": ("suppression_lists", {"name": "S"}),
    "holiday": ("holidays", {"name": "H", "first_date": "2026-12-25"}),
    "contact_field_type": ("contact_field_types", {"name": "C"}),
    "ring_pool": ("ring_pools", {"name": "P"}),
    "unblock_contact_job": ("unblock_contact_jobs", {"blocked_at_to": "2020-01-01T00:00:00Z"}),
    "contact_hold": ("contact_holds", {"reason": "wrong prices", "channels": ["webhook"]}),
}


AUDIO = b"RIFF\x04\x00\x00\x00WAVE"

SHOWN_SECONDS = bound(30.0)
"""Longer than a busy machine takes to show an impression."""

OWN_NUMBER = "+13055550188"
"""The number that the example of creating one takes: only once a company."""

OWN_FLEET = "vip_roofers"
"""As the number: the `user_fleet_id` that the example of creating a fleet takes."""


async def make_places(town: Town, company: Company, *examples: Example) -> Places:
    """Make new records for what the examples name, and say what stands for what."""
    town.numbers += 1
    mentioned = {place for example in examples for place in _mentioned(example)}
    # Of an area whose state has no calling rules of its own; where its zone is stated, it is daytime there.
    found = {
        NUMBER: f"+1917555{town.numbers % 10_000:04d}",
        OWN_NUMBER: _own_number(town),
        OWN_FLEET: _own_fleet(town),
        NEW_EMAIL: _own_email(town),
    }
    for kind, place in RECORDS.items():
        if place in mentioned:
            collection, fields = MADE[kind]
            own = {
                "number": {"number": _own_number(town)},
                "buyer_fleet": {"user_fleet_id": _own_fleet(town)},
                "user": {"email": _own_email(town)},
            }.get(kind, {})
            found[place] = str((await company.record(collection, {**fields, **own}))["id"])
    if COMPANY_NUMBER in mentioned:
        found[COMPANY_NUMBER] = (await company.record("numbers", {"number": _own_number(town)}))["number"]
    if PAGE_KEY in mentioned:
        key = {"name": "P", "scopes": ["impression:create"], "origins": [PAGE_ORIGIN]}
        found[PAGE_KEY] = (await company.record("keys", key))["public_key"]
    if OFFER_TOKEN in mentioned:
        offer = await company.record("offers", {"name": "O"})
        found[OFFER_TOKEN] = offer["lead_token"]
        if NUMBER in mentioned:
            await _called(town, company, found[NUMBER], offer_id=offer["id"])
    if {SCHEDULE_TOKEN, LEAD, REQUEST, NUMBER} & mentioned:
        found |= await _submitted(company, found[NUMBER])
    found |= await _made_of_calls(town, company, mentioned)
    if DOUBTER in mentioned:
        found[DOUBTER] = await _doubted(town, company)
    if DELIVERY in mentioned:
        found[DELIVERY] = await _stored(town, company, int(found[RECORDS["subscription"]]))
    return found


async def _made_of_calls(town: Town, company: Company, mentioned: set[str]) -> Places:
    """Make the calls, firings and conversions that are mentioned."""
    found = {
        place: await make(town, company)
        for place, make in (
            (CALL, _started),
            (MANUAL_FIRE, _fired),
            (WEBHOOK_LOG, _logged),
            (LEAD_BULK_JOB, _bulk_job),
            (LEAD_IMPORT, _uploaded),
            (SCHEDULED_CALLBACK, _promised),
            (KEPT_SUBMISSION, _kept),
            (RECORDED_CALL, _recorded),
        )
        if place in mentioned
    }
    return found | (await _converted(town, company) if {BUYER_CONVERSION, OFFER_CONVERSION} & mentioned else {})


async def _converted(town: Town, company: Company) -> Places:
    """Let a call convert for its buyer and its offer; return both conversions."""
    given = {"buyer_converted": True, "offer_converted": True, "revenue": 25.5, "payout": 8}
    path = f"/api/v1/calls/{await _started(town, company)}"
    answer = await company.send("POST", path, json=given)
    assert answer.status_code == 200, answer.text
    call_id = answer.json()["call"]["id"]
    found: Places = {}
    for side, place in (("buyer", BUYER_CONVERSION), ("offer", OFFER_CONVERSION)):
        shown = await company.send("GET", f"/api/v1/{side}_conversions", params={"call_id": str(call_id)})
        found[place] = str(shown.json()[f"{side}_conversions"][0]["id"])
    return found


async def _promised(town: Town, company: Company) -> str:
    """Promise a lead of its own a call; return the id of the promise."""
    town.numbers += 1
    places = await _submitted(company, f"+1917555{town.numbers % 10_000:04d}")
    given = {"lead_id": int(places[LEAD]), "schedule_callback_in_seconds": "3600"}
    answer = await company.send("POST", "/api/v1/scheduled_callbacks", json=given)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["scheduled_callback"]["id"])


async def _kept(town: Town, company: Company) -> str:
    """Submit data for a stored lead without a key; return the id of the kept submission."""
    town.numbers += 1
    number = f"+1646555{town.numbers % 10_000:04d}"
    token = (await _submitted(company, number))[SCHEDULE_TOKEN]
    fields = {"lead_token": token, "caller_id": number, "email": "ada@example.com", "roof": "flat"}
    assert (await town.client.post("/api/v1/leads", json=fields)).status_code == 201
    shown = await company.send("GET", "/api/v1/kept_submissions")
    return str(shown.json()["kept_submissions"][0]["id"])


async def _recorded(town: Town, company: Company) -> str:
    """Let a call have been recorded, its recording fetched and transcribed; return its id."""
    number = (await company.record("numbers", {"number": _own_number(town)}))["number"]
    call = await record_call(town, company, f"+1212557{town.numbers % 10_000:04d}", number)
    await keep_recording(town, company, call, AUDIO)
    await keep_transcription(town, company, call, "Hello, it is about the roof.")
    return str(call["id"])


async def _logged(town: Town, company: Company) -> str:
    """Write an attempt down, as the gateway does; return its id."""
    command = msgspec.json.decode((GOLDEN / "command.webhook.post.json").read_bytes(), type=PostWebhook)
    given = WebhookAttempt(
        command=structs.replace(command, company_id=company.id),
        number=1,
        at=town.context.clock.now(),
        milliseconds=120,
        method="POST",
        host="crm.example.com",
        status=503,
        is_accepted=False,
        detail="try again later",
    )
    await PostgresWebhookLog(town.pool).add(given)
    page = await PostgresWebhookLogReads(town.pool).logs(company.id, WebhookLogFilter(), Paging(per_page=1))
    return str(page.rows[0]["id"])


async def _bulk_job(town: Town, company: Company) -> str:
    """Make a bulk job for no lead, which nothing advances here, and end those of before; return its id."""
    await town.pool.execute("UPDATE work.lead_bulk_jobs SET ended_at = now() WHERE company_id = $1", company.id)
    given = {"action": "stop", "filter": {"tag": "of nobody"}, "leads_max": 1}
    answer = await company.send("POST", "/api/v1/lead_bulk_jobs", json=given)
    assert answer.status_code == CREATED, answer.text
    return str(answer.json()["lead_bulk_job"]["id"])


async def _uploaded(town: Town, company: Company) -> str:
    """Upload a file of leads, which nothing imports here, and end those of before; return the id of its import."""
    await town.pool.execute("UPDATE work.lead_imports SET ended_at = now() WHERE company_id = $1", company.id)
    town.numbers += 1
    token = (await company.schedule())["lead_token"]
    given = {"lead_token": token, "content": f"caller_id,n\n+13055550123,{town.numbers}\n"}
    answer = await company.send("POST", "/api/v1/lead_imports", json=given)
    assert answer.status_code == CREATED, answer.text
    return str(answer.json()["lead_import"]["id"])


async def _fired(town: Town, company: Company) -> str:
    """Fire a webhook for a lead by hand; return the id of the firing."""
    town.numbers += 1
    lead = (await _submitted(company, f"+1212558{town.numbers % 10_000:04d}"))[LEAD]
    webhook = (await company.record("outgoing_webhooks", {"name": "W", "url": "https://crm.example.com/x"}))["id"]
    given = {"outgoing_webhook_id": webhook, "lead_id": int(lead)}
    answer = await company.send("POST", "/api/v1/webhook_manual_fires", json=given)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["webhook_manual_fire"]["id"])


async def _doubted(town: Town, company: Company) -> str:
    """Let somebody text what may be an opt-out; return the number."""
    town.numbers += 1
    number = f"+1917559{town.numbers % 10_000:04d}"
    own = (await company.record("numbers", {"number": _own_number(town), "sms": True}))["number"]
    text = {"from": number, "to": own, "text_ref": f"doubt-{town.numbers}", "body": "Stop by tomorrow?"}
    answer = await company.send("POST", "/api/v1/texts/received", json=text)
    assert answer.json()["text"]["meaning"] == "unclear", answer.text
    return number


async def _stored(town: Town, company: Company, subscription_id: int) -> str:
    """Store an event for a subscription, as the deliverer does; return its id."""
    town.numbers += 1
    given = NewDelivery(
        webhook_id=f"msg_{town.numbers}_{company.id}",
        company_id=company.id,
        subscription_id=subscription_id,
        event="lead_created",
        lead_id=1,
        call_id=None,
        occurred_at=town.context.clock.now(),
        body=b"{}",
    )
    await PostgresSubscriptionStore(town.pool).store("a topic", {}, [given])
    page = await PostgresSubscriptionReads(town.pool).deliveries(
        company.id, DeliveryFilter(subscription_id=subscription_id), Paging(per_page=1)
    )
    return str(page.rows[0]["id"])


async def show_impression(company: Company) -> None:
    """Record an impression and wait until the list has it: a post is answered before that."""
    given = await company.send("POST", "/api/v1/impressions", json={**EXAMPLES["record_impressions"].body, "offer_id": None})
    assert given.status_code == 201, given.text
    async with asyncio.timeout(SHOWN_SECONDS):
        while not (await company.send("GET", "/api/v1/impressions")).json()["impressions"]:
            await asyncio.sleep(0.02)


def placed(example: Example, places: Places) -> Example:
    """Return an example with real ids and tokens in the place of its own."""
    return Example(
        path=_replaced(example.path, places), query=_replaced(example.query, places), body=_replaced(example.body, places)
    )


async def send(town: Town, company: Company, operation: Operation, method: str, example: Example) -> httpx.Response:
    """Send an example as its operation takes it: with a key where one is needed, and the body in the query of a GET."""
    path = operation.path
    for name, value in example.path.items():
        path = path.replace(f"{{{name}}}", value)
    given: dict[str, Any] = {"params": example.query}
    if method == "GET":
        given = {"params": {**example.query, **example.body}}
    elif example.body:
        given["json"] = example.body
    if is_of_user(operation):
        headers, body = await as_user(town, company, operation, example.body)
        path = await with_own(town, operation, path, headers)
        more: dict[str, Any] = {"json": body} if body else {}
        if method == "GET":
            more = {"params": {**example.query, **body}}
        return await town.client.request(method, path, headers=headers, **more)
    return await company.send(method, path, headers={"Origin": PAGE_ORIGIN}, **given)


UNAUTHENTICATED = 401
CREATED = 201
SESSIONS = "/api/v1/sessions"
"""Where users sign in: operations that are asked with no key."""


def is_of_user(operation: Operation) -> bool:
    """Return whether an operation is about sign-in: no key of the company is good for it."""
    return operation.access == "session" or operation.path in {SESSIONS, ACCEPT_PATH}


async def with_own(town: Town, operation: Operation, path: str, headers: dict[str, str]) -> str:
    """Return a path with a token or view of the user where the example has one."""
    if operation.name in {"list_access_tokens", "delete_access_token"}:
        await make_own_key(town, headers)
    if operation.name in {"list_lead_views", "delete_lead_view"}:
        await make_own_view(town, headers)
    return path.replace(OWN_KEY, str(town.own_key)).replace(OWN_VIEW, str(town.own_view))


async def make_own_key(town: Town, headers: Mapping[str, str]) -> None:
    """Make a token of a user; while a server is away the one before stays."""
    fields = {"name": "Old", "expires_at": "2026-12-31 00:00:00 +0000"}
    made = await town.client.post("/api/v1/access_tokens", headers=headers, json=fields)
    if made.status_code == CREATED:
        town.own_key = made.json()["access_token"]["id"]


async def make_own_view(town: Town, headers: Mapping[str, str]) -> None:
    """Save a view of a user; while a server is away the one before stays."""
    made = await town.client.post("/api/v1/lead_views", headers=headers, json=EXAMPLES["save_lead_view"].body)
    if made.status_code in {200, CREATED}:
        town.own_view = made.json()["lead_view"]["id"]


async def as_user(
    town: Town, company: Company, operation: Operation, body: Mapping[str, Any]
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return with which headers and body a user asks an operation about sign-in; values of the example become real ones."""
    email, headers = await sign_in(town, company)
    real = {"email": email, "company_id": company.id, "code": "000000"}
    if operation.name == "finish_second_factor" and body.get("code") == EXAMPLES[operation.name].body["code"]:
        path, own = f"{SESSIONS}/current/second_factor", {"current_password": PASSWORD}
        begun = await town.client.post(path, headers=headers, json=own)
        if begun.is_success:  # not while a server is away
            real["code"] = TOTP(begun.json()["second_factor"]["seed"]).now()
    given = EXAMPLES[operation.name].body
    if body.get("token") == given.get("token") == INVITATION:
        await make_invitation(town, company)
        real["token"] = town.invitation
    same = {name for name in real if name in body and repr(body[name]) == repr(given.get(name))}  # True equals 1
    return {} if operation.access == "open" else headers, {**body, **{name: real[name] for name in same}}


async def make_invitation(town: Town, company: Company) -> None:
    """Invite somebody; while a server is away the invitation before stays."""
    made = await company.send("POST", INVITATIONS, json={"email": _own_email(town)})
    if made.status_code == CREATED:
        town.invitation = made.json()["invitation"]["token"]


async def sign_in(town: Town, company: Company) -> tuple[str, dict[str, str]]:
    """Return the address of a user of a company, and the headers of a session: those of before until it has ended."""
    await town.pool.execute("DELETE FROM work.sign_in_attempts")  # all tests come from one address
    known = town.users.get(company.id)
    if known is not None and (await town.client.get(f"{SESSIONS}/current", headers=known[1])).status_code != UNAUTHENTICATED:
        return known
    if known is not None and (again := await _session(town, company, known[0])).is_success:  # signed out, and not changed
        return _remember(town, company, known[0], again)
    email = _own_email(town)
    await company.record("users", {"name": "Ada", "email": email, "password": PASSWORD})
    return _remember(town, company, email, await _session(town, company, email))


async def _session(town: Town, company: Company, email: str) -> httpx.Response:
    return await town.client.post(SESSIONS, json={"email": email, "password": PASSWORD, "company_id": company.id})


def _remember(town: Town, company: Company, email: str, made: httpx.Response) -> tuple[str, dict[str, str]]:
    town.users[company.id] = (email, {"Authorization": f"Bearer {made.json()['session']['token']}"})
    return town.users[company.id]


def _own_number(town: Town) -> str:
    town.numbers += 1
    return f"+1646555{town.numbers % 10_000:04d}"


def _own_email(town: Town) -> str:
    town.numbers += 1
    return f"user-{town.numbers:06d}@example.com"


def _own_fleet(town: Town) -> str:
    town.numbers += 1
    return f"fleet_{town.numbers:06d}"


async def _called(town: Town, company: Company, caller: str = "", **fields: Any) -> str:
    """Let a person call, else one who is nobody's lead; return the id of the call."""
    number = (await company.record("numbers", {"number": _own_number(town), **fields}))["number"]
    town.numbers += 1
    caller = caller or f"+1212556{town.numbers % 10_000:04d}"
    given = {"from": caller, "to": number, "call_ref": f"x-{town.numbers}", "state": "ringing"}
    answer = await company.send("POST", "/api/v1/calls/received", json=given)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["call"]["id"])


async def _started(town: Town, company: Company) -> str:
    """Have somebody called; return the id of the call, which goes on."""
    town.numbers += 1
    lead = (await _submitted(company, f"+1212557{town.numbers % 10_000:04d}"))[LEAD]
    answer = await company.send("POST", "/api/v1/schedules/make_call", json={"lead_id": lead})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["call"]["id"])


async def _submitted(company: Company, number: str) -> Places:
    token = (await company.schedule())["lead_token"]
    fields = {"lead_token": token, "caller_id": number, "time_zone": DAYTIME_ZONE, "data": {"first_name": "Ada"}}
    submitted = await company.send("POST", "/api/v1/leads", json=fields)
    assert submitted.status_code == 201, submitted.text
    lead_id, request_id = submitted.json()["lead"]["id"], submitted.headers["x-request-id"]
    return {SCHEDULE_TOKEN: token, LEAD: str(lead_id), REQUEST: request_id}


def _mentioned(example: Example) -> set[str]:
    text = msgspec.json.encode([example.path, example.query, example.body]).decode()
    return {place for place in PLACES if place in text}


def _replaced(value: Any, places: Places) -> Any:
    if isinstance(value, dict):
        return {name: _replaced(part, places) for name, part in value.items()}
    if isinstance(value, list):
        return [_replaced(part, places) for part in value]
    if isinstance(value, int) and not isinstance(value, bool) and str(value) in places:
        return int(places[str(value)])
    if isinstance(value, str) and (value in PLACES or value in {OWN_NUMBER, OWN_FLEET, NEW_EMAIL}):
        return places.get(value, value)
    return value
