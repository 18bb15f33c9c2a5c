"""Does a bounce hold the address of its e-mail alone, and does a complaint opt its person out?"""

import asyncio
from typing import Any

import pytest

from adapters.gateway.bounce_tokens import BounceTokens, SentMail
from adapters.gateway.bounces import MailReport
from engine.identity import contact_key
from schemas.commands import SendEmail
from schemas.topics import CONTACTS_REQUESTS
from tests.adapters.gateway.world import command_of
from tests.adapters.http.conftest import SECRET_KEY, WAIT_SECONDS, Company, Town

pytestmark = pytest.mark.asyncio(loop_scope="module")

STEPS = [{"id": "pause", "kind": "wait", "duration": "1h"}, {"id": "mail", "kind": "email", "subject": "S", "template": "B"}]


async def lead_with(company: Company, email: str, **fields: Any) -> dict[str, Any]:
    schedule = await company.schedule(steps=STEPS)
    made = await company.send("POST", "/api/v1/leads", json={"lead_token": schedule["lead_token"], "email": email, **fields})
    assert made.status_code == 201, made.text
    found: dict[str, Any] = made.json()["lead"]
    return found


def sent_to(company: Company, lead: dict[str, Any], email: str) -> SentMail:
    """What the token of an e-mail to a lead says, as a mail server returns it."""
    key = contact_key(company.id, None, email)
    command = command_of("email", company_id=company.id, lead_id=lead["id"], contact_key=key, to=email)
    assert isinstance(command, SendEmail)
    tokens = BounceTokens(SECRET_KEY)
    found = tokens.read(tokens.token(command))
    assert found is not None
    return found


async def bounced(town: Town, sent: SentMail, outcome: str = "bounced_hard") -> None:
    report = MailReport(sent=sent, outcome=outcome, detail="failed 5.1.1: No such user")
    message = report.request(occurred_at=town.context.clock.now())
    await town.requests.submit(
        CONTACTS_REQUESTS.name,
        message.contact_key,
        message,
        request_id=report.request_id,
        company_id=message.company_id,
        source="/gateway/email",
    )


async def contact(company: Company, email: str) -> dict[str, Any]:
    """The contact that is known by an address alone, with its history; empty while there is none."""
    rows = (await company.send("GET", "/api/v1/contacts")).json()["contacts"]
    known = next((row["uuid"] for row in rows if row["email"] == email and row["caller_id"] is None), None)
    if known is None:
        return {}
    found: dict[str, Any] = (await company.send("GET", f"/api/v1/contacts/{known}")).json()["contact"]
    return found


async def closed(company: Company, email: str) -> dict[str, Any]:
    """The contact of an address, once its e-mails are held."""
    async with asyncio.timeout(WAIT_SECONDS):
        while "email" not in ((found := await contact(company, email)).get("disabled_until") or {}):
            await asyncio.sleep(0.02)
    return found


async def opted_out(company: Company, email: str) -> dict[str, Any]:
    """The contact of an address, once it is opted out."""
    async with asyncio.timeout(WAIT_SECONDS):
        while "contact.opted_out" not in history(found := await contact(company, email)):
            await asyncio.sleep(0.02)
    return found


def history(found: dict[str, Any]) -> list[str]:
    return [fact["type"] for fact in found.get("history", [])]


async def test_a_hard_bounce_holds_the_address_and_a_soft_one_changes_nothing(town: Town, company: Company) -> None:
    email = "gone@example.org"
    lead = await lead_with(company, email)
    sent = sent_to(company, lead, email)
    await bounced(town, sent)
    found = await closed(company, email)
    await bounced(town, sent, "bounced_soft")
    await bounced(town, sent, "complained")  # of the same contact, so it is decided after those

    after = await opted_out(company, email)
    assert after["disabled_until"] == found["disabled_until"]
    assert history(after).count("channel.closed") == history(found).count("channel.closed")


async def test_a_bounce_reaches_the_address_of_a_lead_that_is_known_by_its_number(town: Town, company: Company) -> None:
    email = "of-a-number@example.org"
    lead = await lead_with(company, email, caller_id="+13055550177")
    await bounced(town, sent_to(company, lead, email))

    assert "email" in (await closed(company, email))["disabled_until"]


async def test_a_complaint_opts_out_of_e_mails(town: Town, company: Company) -> None:
    email = "annoyed@example.org"
    lead = await lead_with(company, email)
    await bounced(town, sent_to(company, lead, email), "complained")

    await opted_out(company, email)


async def test_a_bounce_for_one_company_holds_nothing_at_another(town: Town, company: Company, other: Company) -> None:
    email = "shared@example.org"
    lead = await lead_with(company, email)
    await lead_with(other, email)
    await bounced(town, sent_to(company, lead, email))
    await closed(company, email)

    assert not (await contact(other, email)).get("disabled_until")
