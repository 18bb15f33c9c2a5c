"""Does a link of an e-mail unsubscribe its own recipient alone, by a post and by nothing else?"""

import asyncio
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from msgspec.structs import replace

from adapters.gateway.unsubscribe_links import UnsubscribeLinks
from adapters.http.exchange.settings import Rate
from engine.identity import contact_key
from schemas.commands import SendEmail
from tests.adapters.gateway.world import command_of
from tests.adapters.http.conftest import SECRET_KEY, UNLIMITED, Company, Town, deployed

pytestmark = pytest.mark.asyncio(loop_scope="session")

ONE_CLICK = {"List-Unsubscribe": "One-Click"}
ADA = "ada@example.org"
NUMBER = "+13055550142"
STEPS = [
    {"id": "pause", "kind": "wait", "duration": "1h"},
    {"id": "mail", "kind": "email", "subject": "Hello", "template": "B"},
    {"id": "text", "kind": "sms", "template": "Hi"},
]


def link(company_id: int, lead_id: int, email: str = ADA, secret: str = SECRET_KEY) -> str:
    """Return the path of the link that a gateway puts into an e-mail."""
    key = contact_key(company_id, None, email)
    command = command_of("email", company_id=company_id, lead_id=lead_id, contact_key=key, to=email)
    assert isinstance(command, SendEmail)
    return urlsplit(UnsubscribeLinks(secret, "https://leads.example.com").url(command)).path


async def lead_of(company: Company, **fields: Any) -> dict[str, Any]:
    schedule = await company.schedule(steps=STEPS)
    made = await company.send("POST", "/api/v1/leads", json={"lead_token": schedule["lead_token"], "email": ADA, **fields})
    assert made.status_code == 201, made.text
    found: dict[str, Any] = made.json()["lead"]
    return found


async def contact(company: Company, known_as: str) -> dict[str, Any] | None:
    """Return a contact by its key's number or address alone, with its history."""
    rows = (await company.send("GET", "/api/v1/contacts", params={"number": known_as} if "+" in known_as else {})).json()
    found = next((row for row in rows["contacts"] if known_as in {row["caller_id"], row["email"]}), None)
    if found is None:
        return None
    shown: dict[str, Any] = (await company.send("GET", f"/api/v1/contacts/{found['uuid']}")).json()["contact"]
    return shown


async def status_of(company: Company, lead: dict[str, Any]) -> str:
    return str((await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]["status"])


def sources(found: dict[str, Any] | None) -> list[str]:
    return [fact["data"]["source"] for fact in (found or {"history": []})["history"] if fact["type"] == "contact.opted_out"]


async def test_looking_at_a_link_changes_nothing(town: Town, company: Company) -> None:
    lead = await lead_of(company)
    path = link(company.id, lead["id"])
    for method in ("GET", "HEAD", "GET"):
        page = await town.client.request(method, path)
        assert page.status_code == 200, page.text
    asked = await town.client.get(path)

    assert asked.text.count("<button") == 1
    assert 'method="post"' in asked.text
    assert f"Company {company.id}" in asked.text
    assert ADA not in asked.text
    assert "default-src 'none'" in asked.headers["content-security-policy"]
    assert (asked.headers["cache-control"], asked.headers["referrer-policy"]) == ("no-store", "no-referrer")
    prefetched = await town.client.post(path, data=ONE_CLICK, headers={"Sec-Purpose": "prefetch"})
    assert prefetched.status_code == 204
    assert await status_of(company, lead) == lead["status"]
    assert sources(await contact(company, ADA)) == []


@pytest.mark.parametrize(
    "sent",
    [
        {"data": ONE_CLICK},
        {"files": {"List-Unsubscribe": (None, "One-Click")}},
        {},
        {"data": {**ONE_CLICK, "utm_source": "x", "company_id": "2"}},
    ],
    ids=["form", "multipart", "nothing", "more"],
)
async def test_a_post_ends_the_lead_of_the_address(town: Town, company: Company, sent: dict[str, Any]) -> None:
    lead = await lead_of(company)
    answer = await town.client.post(link(company.id, lead["id"]), **sent)

    assert answer.status_code == 200, answer.text
    assert "You are unsubscribed" in answer.text
    assert await status_of(company, lead) == "opt_out"
    assert sources(await contact(company, ADA)) == ["unsubscribe_link"]


async def test_a_link_that_is_posted_many_times_at_once_is_one_opt_out(town: Town, company: Company) -> None:
    lead = await lead_of(company)
    path = link(company.id, lead["id"])
    answers = await asyncio.gather(*(town.client.post(path, data=ONE_CLICK) for _ in range(8)))

    assert {answer.status_code for answer in answers} == {200}
    assert sources(await contact(company, ADA)) == ["unsubscribe_link"]


async def test_the_number_of_the_lead_is_opted_out_as_far_as_the_company_says(town: Town, company: Company) -> None:
    whole = await lead_of(company, caller_id=NUMBER)
    assert (await town.client.post(link(company.id, whole["id"]))).status_code == 200
    await ended(company, whole, "opt_out")
    await company.send("PUT", "/api/v1/company", json={"optout_scope": "channel"})
    part = await lead_of(company, caller_id="+13055550143", email="bea@example.org")
    assert (await town.client.post(link(company.id, part["id"], "bea@example.org"))).status_code == 200

    async with asyncio.timeout(30):
        while not sources(await contact(company, "+13055550143")):
            await asyncio.sleep(0.05)
    assert await status_of(company, part) == part["status"]


async def ended(company: Company, lead: dict[str, Any], status: str) -> None:
    """Wait until a lead has a status: that of its number is decided beside that of the address."""
    async with asyncio.timeout(30):
        while await status_of(company, lead) != status:
            await asyncio.sleep(0.05)


async def test_a_lead_that_has_another_address_by_now_is_left_alone(town: Town, company: Company) -> None:
    lead = await lead_of(company, caller_id=NUMBER)
    await company.send("PUT", f"/api/v1/leads/{lead['id']}", json={"email": "right@example.org"})
    assert (await town.client.post(link(company.id, lead["id"]))).status_code == 200

    assert sources(await contact(company, ADA)) == ["unsubscribe_link"]
    assert sources(await contact(company, NUMBER)) == []
    assert await status_of(company, lead) != "opt_out"


async def test_a_deleted_lead_still_unsubscribes_its_address(town: Town, company: Company) -> None:
    lead = await lead_of(company, caller_id=NUMBER)
    await company.send("DELETE", f"/api/v1/leads/{lead['id']}")
    assert (await town.client.post(link(company.id, lead["id"]))).status_code == 200

    assert sources(await contact(company, ADA)) == ["unsubscribe_link"]


async def test_forged_and_altered_links_are_not_found(town: Town, company: Company) -> None:
    lead = await lead_of(company)
    path = link(company.id, lead["id"])
    forged = (
        link(company.id, lead["id"], secret="guessed"),
        path[:-4] + "AAAA",
        "/unsubscribe/x",
        f"/unsubscribe/{company.id}",
    )
    for bad in forged:
        for method in ("GET", "POST"):
            answer = await town.client.request(method, bad)
            assert answer.status_code == 404, answer.text
            assert answer.headers["content-type"].startswith("application/problem+json")

    assert await status_of(company, lead) == lead["status"]
    assert await contact(company, ADA) is None or sources(await contact(company, ADA)) == []


async def test_a_link_reaches_no_other_company(town: Town, company: Company, other: Company) -> None:
    ours, theirs = await lead_of(company), await lead_of(other)
    # The lead of another company beside one's own company and address, as only this deployment could have written it.
    assert (await town.client.post(link(company.id, theirs["id"]))).status_code == 200

    assert await status_of(company, ours) == "opt_out"
    assert await status_of(other, theirs) == theirs["status"]
    assert sources(await contact(other, ADA)) == []


async def test_a_link_is_answered_when_the_request_is_stored_and_not_before(town: Town, company: Company) -> None:
    lead = await lead_of(company)
    town.outage.topics = {"contacts.requests"}
    try:
        refused = await town.client.post(link(company.id, lead["id"]))
    finally:
        town.outage.topics = set()
    assert refused.status_code == 503
    assert (await town.client.post(link(company.id, lead["id"]))).status_code == 200
    assert await status_of(company, lead) == "opt_out"


async def test_an_address_may_try_so_many_links(migrated_database: str) -> None:
    async with deployed(migrated_database, replace(UNLIMITED, rates={"unknown_key": Rate(0.001, 3)})) as town:
        answers: list[httpx.Response] = [await town.client.get(f"/unsubscribe/guess{number}") for number in range(4)]
        assert [answer.status_code for answer in answers] == [404, 404, 404, 429]
        assert "retry-after" in answers[-1].headers
