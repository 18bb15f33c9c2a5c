"""Does a bounce hold the address of its e-mail alone, and does a complaint opt its person out? By pipe and by webhook."""

import asyncio
from typing import Any
from urllib.parse import urlsplit

import pytest

from adapters.gateway.bounce_tokens import BounceTokens, SentMail
from adapters.gateway.bounces import MailReport
from engine.identity import contact_key
from schemas.commands import SendEmail
from schemas.topics import CONTACTS_REQUESTS
from tests.adapters.gateway.world import command_of
from tests.adapters.http.conftest import SECRET_KEY, WAIT_SECONDS, Company, Town
from tests.adapters.providers.mail_vendors import (
    SIGNING_KEY,
    TOPIC,
    mailgun_event,
    mailgun_failure,
    mailgun_webhook,
    sendgrid_event,
    sendgrid_public_key,
    sendgrid_webhook,
)

pytestmark = pytest.mark.asyncio(loop_scope="session")

STEPS = [{"id": "pause", "kind": "wait", "duration": "1h"}, {"id": "mail", "kind": "email", "subject": "S", "template": "B"}]


async def lead_with(company: Company, email: str, **fields: Any) -> dict[str, Any]:
    schedule = await company.schedule(steps=STEPS)
    made = await company.send("POST", "/api/v1/leads", json={"lead_token": schedule["lead_token"], "email": email, **fields})
    assert made.status_code == 201, made.text
    found: dict[str, Any] = made.json()["lead"]
    return found


def token_of(company: Company, lead: dict[str, Any], email: str) -> str:
    """The token of an e-mail to a lead."""
    key = contact_key(company.id, None, email)
    command = command_of("email", company_id=company.id, lead_id=lead["id"], contact_key=key, to=email)
    assert isinstance(command, SendEmail)
    return BounceTokens(SECRET_KEY).token(command)


def sent_to(company: Company, lead: dict[str, Any], email: str) -> SentMail:
    """What the token of an e-mail to a lead says, as a mail server returns it."""
    found = BounceTokens(SECRET_KEY).read(token_of(company, lead, email))
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


VENDORS: dict[str, dict[str, Any]] = {
    "mailgun": {"secrets": {"password": "p", "webhook_signing_key": SIGNING_KEY}},
    "sendgrid": {"secrets": {"password": "p"}, "settings": {"webhook_public_key": sendgrid_public_key()}},
    "ses": {"secrets": {"password": "p"}, "settings": {"topic_arn": TOPIC}},
}


async def callback_path(company: Company, vendor: str) -> str:
    """Where a vendor posts for an account that the company has just made."""
    settings = {"host": "smtp.example.com", "username": "leads", "from_address": "leads@sunny.example"}
    about = {"name": vendor, "channel": "email", "provider": vendor, "secrets": VENDORS[vendor]["secrets"]}
    about["settings"] = {**settings, **VENDORS[vendor].get("settings", {})}
    made = await company.record("provider_configurations", about)
    return urlsplit(str(made["callback_url"])).path


async def test_a_bounce_that_mailgun_posts_holds_the_address_once(town: Town, company: Company) -> None:
    email = "gone-at-mailgun@example.org"
    lead = await lead_with(company, email)
    path, token = await callback_path(company, "mailgun"), token_of(company, lead, email)

    content, headers = mailgun_webhook(mailgun_failure(token)), {"Content-Type": "application/json"}
    answer = await town.client.post(path, content=content, headers=headers)
    assert answer.status_code == 200, answer.text
    found = await closed(company, email)
    for event in (mailgun_failure(token), mailgun_event(token, "complained")):
        assert (await town.client.post(path, content=mailgun_webhook(event))).status_code == 200

    assert (await opted_out(company, email))["disabled_until"] == found["disabled_until"]


async def test_each_event_of_a_post_of_sendgrid_counts(town: Town, company: Company) -> None:
    emails = ("gone-at-sendgrid@example.org", "annoyed-at-sendgrid@example.org")
    gone, annoyed = [token_of(company, await lead_with(company, email), email) for email in emails]
    post = sendgrid_webhook([sendgrid_event(None), sendgrid_event(gone), sendgrid_event(annoyed, "spamreport")])

    path, headers = await callback_path(company, "sendgrid"), {"Content-Type": "application/json; charset=utf-8"}
    answer = await town.client.post(path, content=post.body, headers={**post.headers, **headers})

    assert answer.status_code == 200, answer.text
    await closed(company, emails[0])
    await opted_out(company, emails[1])


async def test_a_webhook_changes_nothing_that_is_forged_or_about_another_company(
    town: Town, company: Company, other: Company
) -> None:
    email = "of-the-other@example.org"
    token = token_of(other, await lead_with(other, email), email)
    ours, theirs = [await callback_path(one, "mailgun") for one in (company, other)]
    genuine, forged = mailgun_webhook(mailgun_failure(token)), mailgun_webhook(mailgun_failure(token), key="another")

    assert (await town.client.post(theirs, content=forged)).status_code == 403
    assert (await town.client.post(theirs.replace("mailgun", "sendgrid"), content=genuine)).status_code == 404
    assert (await town.client.post(ours, content=genuine)).status_code == 200
    await bounced(town, sent_to(other, await lead_with(other, email), email), "bounced_soft")  # decided after all those
    assert not (await contact(other, email)).get("disabled_until")
    assert (await town.client.post(theirs, content=genuine)).status_code == 200
    await closed(other, email)


async def test_a_webhook_that_cannot_be_appended_is_not_confirmed(town: Town, company: Company) -> None:
    email = "later@example.org"
    token = token_of(company, await lead_with(company, email), email)
    path, content = await callback_path(company, "mailgun"), mailgun_webhook(mailgun_failure(token))

    town.outage.topics = {"contacts.requests"}
    try:
        failed = await town.client.post(path, content=content)
    finally:
        town.outage.topics = set()
    again = await town.client.post(path, content=content)

    assert (failed.status_code, again.status_code) == (503, 200)
    await closed(company, email)
