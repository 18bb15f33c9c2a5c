"""What stands for the ids and tokens of the documented examples in a running deployment? Records made for the purpose."""

from typing import Any

import httpx
import msgspec

from adapters.http.examples import (
    LEAD,
    NUMBER,
    OFFER_TOKEN,
    PLACES,
    RECORDS,
    REQUEST,
    SCHEDULE_TOKEN,
    Example,
)
from adapters.http.exchange import Operation
from tests.adapters.http.conftest import STEPS, Company, Town

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
}


async def make_places(town: Town, company: Company, *examples: Example) -> Places:
    """Make what the examples speak of, anew, and say what stands for what."""
    town.numbers += 1
    mentioned = {place for example in examples for place in _mentioned(example)}
    found = {NUMBER: f"+1305555{town.numbers % 10_000:04d}"}
    for kind, place in RECORDS.items():
        if place in mentioned:
            collection, fields = MADE[kind]
            own = {"number": f"+1212555{town.numbers % 10_000:04d}"} if kind == "number" else {}
            found[place] = str((await company.record(collection, {**fields, **own}))["id"])
    if OFFER_TOKEN in mentioned:
        found[OFFER_TOKEN] = (await company.record("offers", {"name": "O"}))["lead_token"]
    if {SCHEDULE_TOKEN, LEAD, REQUEST, NUMBER} & mentioned:
        found |= await _submitted(town, company, found[NUMBER])
    return found


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
    if operation.access == "token" and not operation.safe:
        return await town.client.request(method, path, **given)
    return await company.send(method, path, **given)


async def _submitted(town: Town, company: Company, number: str) -> Places:
    token = (await company.schedule())["lead_token"]
    fields = {"lead_token": token, "caller_id": number, "data": {"first_name": "Ada"}}
    submitted = await town.client.post("/api/v1/leads", json=fields)
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
    if isinstance(value, str) and value in PLACES:
        return places.get(value, value)
    return value
