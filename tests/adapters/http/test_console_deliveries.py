"""Does somebody see what was posted to other systems and what they answered, and get it sent again, by rights alone?"""

import asyncio
import re
from typing import Any

import pytest

from tests.adapters.http.conftest import WAIT_SECONDS
from tests.adapters.http.console_browser import READER, visitor
from tests.adapters.http.furnished import post_webhook
from tests.adapters.http.test_manual_fires import lead_of, webhook
from tests.adapters.http.test_subscriptions import PATH as SUBSCRIPTIONS
from tests.adapters.http.test_subscriptions import delivered, receiver, subscribe, town

pytestmark = pytest.mark.asyncio(loop_scope="session")

__all__ = ["receiver", "town"]

PAGE = "/console/deliveries"
HOSTILE = "<img src=x onerror=alert(1)>"
SHOWN = "&lt;img src=x onerror=alert(1)&gt;"
SENT = {model: {"actions": ["read"]} for model in ("call", "contact")}
READS = {**SENT, **READER, "outgoing_webhook": {"actions": ["read"]}, "subscription": {"actions": ["read"]}}


def leads_in(text: str) -> list[str]:
    """Return the leads that the log names, in its order."""
    return re.findall(r'data-name="About"><a href="/console/leads/(\d+)"', text)


async def test_attempts_are_listed_with_their_answers_and_narrowed(town: Any, company: Any) -> None:
    crm, other = await webhook(company, f"CRM {HOSTILE}"), await webhook(company, "Warehouse")
    first, second = str(await lead_of(town, company)), str(await lead_of(town, company))
    await post_webhook(town, company, crm, int(first), f"no such customer {HOSTILE}")
    await post_webhook(town, company, other, int(second), "busy")
    browser = await visitor(town, company, permissions=READS)

    page = await browser.get(PAGE)

    assert page.status_code == 200, page.text
    assert leads_in(page.text) == [second, first], "the newest first"
    assert f"no such customer {SHOWN}" in page.text
    assert f"CRM {SHOWN}" in page.text
    assert HOSTILE not in page.text
    assert ">Deliveries</a></li>" in page.text
    for query, leads in (
        ({"outgoing_webhook_id": crm}, [first]),
        ({"lead_id": second}, [second]),
        ({"accepted": "false", "lead_id": ""}, [second, first]),
        ({"accepted": "true"}, []),
        ({"page": "2"}, []),
    ):
        assert leads_in((await browser.get(PAGE, params=query)).text) == leads, query
    assert "No attempt fits." in (await browser.get(PAGE, params={"accepted": "true"})).text
    wrong = await browser.get(PAGE, params={"lead_id": "<b>"})
    assert (wrong.status_code, "lead id" in wrong.text, "<b>" in wrong.text) == (422, True, False)


async def test_a_page_of_attempts_leads_to_the_older_ones(town: Any, company: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.http.console.deliveries_page.ATTEMPTS_SHOWN", 1)
    crm = await webhook(company)
    leads = [await lead_of(town, company) for _ in range(2)]
    for lead_id in leads:
        await post_webhook(town, company, crm, lead_id, "no")
    browser = await visitor(town, company)
    newest = await browser.get(PAGE, params={"outgoing_webhook_id": crm})
    assert leads_in(newest.text) == [str(leads[1])]
    (older,) = re.findall(r'href="([^"]+)" rel="next"', newest.text)
    before = await browser.get(older.replace("&amp;", "&"))
    assert leads_in(before.text) == [str(leads[0])]
    assert 'rel="prev"' in before.text


async def test_a_subscription_is_enabled_and_what_was_given_up_is_sent_again(
    town: Any,
    company: Any,
    receiver: Any,
) -> None:
    receiver.answers, receiver.body = [410, 200], f"gone {HOSTILE}".encode()
    made = await subscribe(company, receiver, "lead_created")
    lead_id = await lead_of(town, company)
    await delivered(company, made, 1, "failed")
    async with asyncio.timeout(WAIT_SECONDS):
        while (await company.send("GET", f"{SUBSCRIPTIONS}/{made['id']}")).json()["subscription"]["disabled_at"] is None:
            await asyncio.sleep(0.02)
    browser = await visitor(town, company)
    assert "the receiver answered 410 Gone" in (await browser.get(PAGE)).text
    path = f"{PAGE}/{made['id']}"
    page = await browser.get(path)
    assert page.status_code == 200, page.text
    assert (SHOWN in page.text, HOSTILE in page.text) == (True, False)
    assert f'<a href="/console/leads/{lead_id}">' in page.text
    assert (await browser.post(f"{path}/actions", {"action": "enable"}, headers={"X-CSRF-Token": ""})).status_code == 403
    for action in ("enable", "replay"):
        assert f'value="{action}"' in page.text
        done = await browser.post(f"{path}/actions", {"action": action})
        assert (done.status_code, done.headers["location"]) == (303, f"{path}?done={action}"), done.text
    await delivered(company, made, 1)
    after = await browser.get(f"{path}?done=replay")
    assert "Events that were given up are sent again." in after.text
    assert ('value="enable"' in after.text, 'value="replay"' in after.text) == (False, False), "neither does anything now"
    assert (await browser.post(f"{path}/actions", {"action": "delete"})).status_code == 404


async def test_who_may_only_read_sees_no_button_and_is_refused(town: Any, company: Any, receiver: Any) -> None:
    made = await subscribe(company, receiver, "lead_created")
    reader = await visitor(town, company, permissions=READS)
    assert 'value="enable"' not in (await reader.get(f"{PAGE}/{made['id']}")).text
    assert (await reader.post(f"{PAGE}/{made['id']}/actions", {"action": "replay"})).status_code == 404


async def test_deliveries_of_another_company_and_those_that_no_team_grants_are_not_there(
    town: Any,
    company: Any,
    other: Any,
    receiver: Any,
) -> None:
    theirs = await subscribe(other, receiver, "lead_created")
    await post_webhook(town, other, await webhook(other), await lead_of(town, other), "a secret of others")
    browser = await visitor(town, company)
    page = await browser.get(PAGE)
    assert "a secret of others" not in page.text
    assert "There is no subscription." in page.text
    assert (await browser.get(f"{PAGE}/{theirs['id']}")).status_code == 404
    reader = await visitor(town, company, "reader@example.com", permissions=READER)
    assert (await reader.get(PAGE)).status_code == 404
    assert "Deliveries" not in (await reader.get("/console")).text
    hooks = {**SENT, **READER, "outgoing_webhook": {"actions": ["read"]}}
    some = await visitor(town, company, "some@example.com", permissions=hooks)
    shown = await some.get(PAGE)
    assert ("Webhook log" in shown.text, "<h2>Subscriptions</h2>" in shown.text) == (True, False)
