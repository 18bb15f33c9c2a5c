"""What does a stranger get who tries what nobody is meant to? Each case was tried as an attacker would; what held stays."""

import asyncio
import re
from typing import Any

import httpx
import pytest
from msgspec import structs

from adapters.http.exchange.settings import Rate
from tests.adapters.http.conftest import UNLIMITED, basic, deployed
from tests.adapters.http.test_agent_events import heard, set_status
from tests.adapters.http.test_agents import agent, status

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAGE = "/api/v1/impressions/from_page"
ORIGIN = "https://shop.example.com"
SECRETS = re.compile(r"\+1\d{10}|[\w.]+@example|sk_|private")


async def test_a_stream_is_not_resumed_into_the_events_of_another_company(town: Any, company: Any, other: Any) -> None:
    """A foreign id says where to begin, and shows nothing of what it was."""
    ours, theirs = await agent(company), await agent(other)
    available = await status(company)
    await set_status(company, ours, available)
    await set_status(other, theirs, await status(other))
    shown = await company.send("GET", f"/api/v1/agents/{ours}/events", params={"last_event_id": 0})
    foreign = [int(event["id"]) for event in shown.json()["agent_events"]]
    assert {event["data"]["collaborator_id"] for event in shown.json()["agent_events"]} == {ours}
    for after in (0, *foreign):
        listed = await other.send("GET", f"/api/v1/agents/{theirs}/events", params={"last_event_id": after})
        assert {event["data"]["collaborator_id"] for event in listed.json()["agent_events"]} <= {theirs}
        async with heard(town, other, theirs, after=after) as page:
            assert (await page.next())[1] in {"ready", "reset", "agent_status"}
    assert (await other.send("GET", f"/api/v1/agents/{ours}/events")).status_code == 404


async def page_key(company: Any) -> dict[str, Any]:
    fields = {"name": "page", "scopes": ["impression:create"], "origins": [ORIGIN]}
    made: dict[str, Any] = await company.record("keys", fields)
    return made


async def test_pages_of_strangers_store_nothing_and_use_up_no_rate_of_the_companys_own(migrated_database: str) -> None:
    limits = structs.replace(UNLIMITED, rates={"impression": Rate(0.1, 20)})
    async with deployed(migrated_database, limits) as town:
        company = await town.company()
        key = await page_key(company)
        await town.context.rules.refresh()
        seen = {"visitor_id": "v1"}
        for headers, public in (
            ({}, key["public_key"]),
            ({"Origin": "null"}, key["public_key"]),
            ({"Origin": "https://shop.example.com.evil.test"}, key["public_key"]),
            ({"Origin": f"{ORIGIN}:8443"}, key["public_key"]),
            ({"Origin": ORIGIN.replace("https", "http")}, key["public_key"]),
            ({"Origin": ORIGIN}, company.public_key),
            ({"Origin": ORIGIN}, key["private_key"]),
            ({"Origin": ORIGIN}, ["x"]),
        ):
            answer = await town.client.post(PAGE, json={**seen, "publishable_key": public}, headers=headers)
            assert answer.status_code in {401, 422}, (headers, answer.text)
            assert "access-control-allow-origin" not in answer.headers
        seen_by = {**seen, "publishable_key": key["public_key"]}
        flood = [(await town.client.post(PAGE, json=seen_by, headers={"Origin": ORIGIN})).status_code for _ in range(40)]
        assert flood[-1] == 429
        batch = {"impressions": [seen] * 15, "publishable_key": key["public_key"]}
        app: Any = town.app
        elsewhere = httpx.ASGITransport(app=app, client=("198.51.100.9", 1))
        async with httpx.AsyncClient(transport=elsewhere, base_url="http://leadclock.test") as client:
            many = [(await client.post(PAGE, json=batch, headers={"Origin": ORIGIN})).status_code for _ in range(3)]
        assert many[-1] == 429  # each of a batch counts
        assert (await company.send("POST", "/api/v1/impressions", json=seen)).status_code == 201


async def test_an_address_that_a_client_invents_is_not_believed(town: Any, company: Any) -> None:
    """Without a trusted proxy the address is that of the connection, whatever headers say."""
    key = await company.record("keys", {"name": "office", "ip_allow_list": ["198.51.100.0/24"]})
    await town.context.rules.refresh()
    headers = basic(key["public_key"], key["private_key"])
    for name in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "True-Client-IP", "CF-Connecting-IP", "X-Client-IP"):
        for value in ("198.51.100.7", "198.51.100.7, 10.0.0.1", "for=198.51.100.7"):
            answer = await town.client.get("/api/v1/leads", headers={**headers, name: value})
            assert answer.status_code == 401, (name, value)
    from_there = httpx.ASGITransport(app=town.app, client=("198.51.100.7", 1))
    async with httpx.AsyncClient(transport=from_there, base_url="http://leadclock.test") as client:
        assert (await client.get("/api/v1/leads", headers=headers)).status_code == 200


async def test_one_company_that_uses_up_its_rate_takes_nothing_from_another(migrated_database: str) -> None:
    limits = structs.replace(UNLIMITED, rates={"read": Rate(0.5, 5)})
    async with deployed(migrated_database, limits) as town:
        first, second = await town.company(), await town.company()
        asked = await asyncio.gather(*(first.send("GET", "/api/v1/leads") for _ in range(12)))
        assert [answer.status_code for answer in asked].count(429) >= 6
        assert (await second.send("GET", "/api/v1/leads")).status_code == 200
        # A key of the same company is no way around its limit, and a wrong key does not use it up.
        key = await first.record("keys", {"name": "another"})
        await town.context.rules.refresh()
        again = await town.client.get("/api/v1/leads", headers=basic(key["public_key"], key["private_key"]))
        assert again.status_code == 429
        wrong = basic(second.public_key, "sk_guessed")
        for _ in range(10):
            assert (await town.client.get("/api/v1/leads", headers=wrong)).status_code in {401, 429}
        assert (await second.send("GET", "/api/v1/leads")).status_code == 200


async def test_metrics_name_no_person_or_company_and_do_not_grow_by_what_strangers_send(town: Any, company: Any) -> None:
    schedule = await company.schedule(name="Sunny names")
    body = {"lead_token": schedule["lead_token"], "caller_id": "+13055550177", "email": "ada@example.com"}
    await company.send("POST", "/api/v1/leads", json=body)
    sizes = []
    for begun in (0, 60):
        for number in range(begun, begun + 60):
            trace = f"00-{number + 1:032x}-{number + 1:016x}-01"
            odd = {"User-Agent": f"agent-{number}", "traceparent": trace, "Idempotency-Key": f"k{number}"}
            await town.client.get(f"/made/up/{number}", headers=odd)
            await town.client.get(f"/api/v1/leads/{number}?columns=c{number}", headers=odd)
            await town.client.request(f"VERB{number}", "/api/v1/leads", headers=odd)
        sizes.append(len(town.metrics.text()))
    figures = town.metrics.text().decode()
    assert not SECRETS.search(figures), SECRETS.search(figures)
    for word in ("Sunny", schedule["lead_token"], company.public_key, "agent-1", "VERB", "made/up"):
        assert word not in figures, word
    assert sizes[1] - sizes[0] < 500, sizes


async def test_a_strangers_trace_header_is_no_way_into_the_traces_of_leads(company: Any) -> None:
    """It is answered like any other, and shows in no answer."""
    sampled = f"00-{'f' * 32}-{'f' * 16}-01"
    for value in (sampled, "00-0-0-0", "x" * 5_000, f"00-{'0' * 32}-{'0' * 16}-01"):
        plain = await company.send("GET", "/api/v1/leads")
        traced = await company.send("GET", "/api/v1/leads", headers={"traceparent": value, "tracestate": "a=b"})
        assert (traced.status_code, traced.json()) == (plain.status_code, plain.json())
        assert "traceparent" not in {*traced.headers}
