"""Does Today show what is due, late, in progress, done and failed by channel, and what comes in a minute?"""

import re
from html import unescape
from typing import Any

import pytest

from adapters.gateway.ports import WebhookAttempt
from adapters.http.console.channel_table import Figure, make_table
from adapters.http.console.rendering import NONE
from adapters.postgres.webhook_logs import PostgresWebhookLog
from schemas.contact import Flight
from schemas.instant import HOUR, MINUTE
from tests.adapters.gateway.world import command_of
from tests.adapters.http.console_browser import READER, visitor
from tests.adapters.http.test_channels import Rows
from tests.adapters.http.test_outcomes import Outcomes
from tests.adapters.postgres.projected_rows import Shown, call

pytestmark = pytest.mark.asyncio(loop_scope="session")

STEPS: list[dict[str, Any]] = [
    {"id": "first", "kind": "call"},
    {"id": "second", "kind": "sms", "template": "Hi"},
    {"id": "third", "kind": "email", "subject": "Hi", "template": "Hello"},
    {"id": "fourth", "kind": "webhook", "outgoing_webhook_id": 0},
]
ENDED = ("no_answer", "connected_human", "busy", "not_placed", "invalid_number", "canceled", "unknown")
ROW = re.compile(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', re.DOTALL)
CELL = re.compile(r"<td[^>]*>(.*?)</td>", re.DOTALL)
LINK = re.compile(r'<a href="([^"]+)">')


def table_of(page: str) -> dict[str, list[str]]:
    """Return the first cell of each row -> the others, of the tables whose rows have a head."""
    return {head: [re.sub(r"<[^>]+>", "", cell) for cell in CELL.findall(cells)] for head, cells in ROW.findall(page)}


def links_of(page: str, head: str) -> list[str]:
    cells = dict(ROW.findall(page))[head]
    return [unescape(path) for path in LINK.findall(cells)]


async def busy_company(town: Any, company: Any) -> Rows:
    """Give a company leads that are due, late and in progress on each channel, calls that ended, and posts of webhooks."""
    webhook = await company.record("outgoing_webhooks", {"name": "CRM", "url": "https://crm.example.com/x"})
    steps = [*STEPS[:3], {**STEPS[3], "outgoing_webhook_id": webhook["id"]}]
    schedule, rows = await company.schedule(steps=steps), Rows(town, company)
    for step, minutes in (("first", 2), ("first", 7), ("first", 9), ("second", 2), ("third", 8), ("fourth", 2)):
        await rows.wait_at(schedule, step, minutes=minutes)
    for kind in ("call", "sms", "sms"):
        flight = Flight(command_id="c", kind=kind, step_id="first", emitted_at=rows.now, due_at=rows.now + MINUTE)
        about = {"schedule_id": schedule["id"], "step": "first", "next_action_at": rows.now}
        await rows.add(status="running", flight=flight, **about)
    shown = Shown(town.pool, topic=f"calls.{company.id}")
    for number, outcome in enumerate(ENDED):
        span = {"created_at": rows.now - 30 * MINUTE, "ended_at": rows.now - 20 * MINUTE}
        await shown.decide(call(company.id * 1_000 + number, company=company.id, outcome=outcome, **span))
    old = {"created_at": rows.now - 3 * HOUR, "ended_at": rows.now - 2 * HOUR}
    await shown.decide(call(company.id * 1_000 + 99, company=company.id, outcome="busy", **old))
    for number, accepted in enumerate((True, True, True, False)):
        attempt = WebhookAttempt(
            command=command_of("webhook", company_id=company.id, outgoing_webhook_id=webhook["id"], lead_id=1),
            number=number, at=rows.now - 10 * MINUTE, milliseconds=7, method="POST", host="crm.example.com",
            status=200 if accepted else 500, is_accepted=accepted, detail="",
        )  # fmt: skip
        await PostgresWebhookLog(town.pool).add(attempt)
    said = Outcomes(town, company)
    for number, outcome in enumerate(("accepted", "delivered", "delivered", "invalid_number", "unknown", "expired")):
        await said.say("sms", outcome, minutes=12, command=f"text-{number}")
    await said.say("sms", "undelivered", minutes=6.5, command="text-0")
    await said.say("email", "accepted", minutes=50)
    await said.say("email", "bounced_hard", minutes=0.5)
    await said.say("email", "bounced_hard", minutes=90)
    return rows


async def test_each_channel_has_a_row_of_figures(town: Any, company: Any) -> None:
    await busy_company(town, company)
    found = table_of((await (await visitor(town, company)).get("/console")).text)
    assert (
        found.items()
        >= {
            "Calls": ["3", "2", "1", "3", "2"],
            "Texts": ["1", "0", "2", "2", "2"],
            "E-mails": ["1", "1", "0", "1", "1"],
            "Webhooks": ["1", "0", "0", "3", "1"],
            "All": ["6", "3", "3", NONE, NONE],
        }.items()
    )


async def test_figures_lead_to_what_they_count(town: Any, company: Any) -> None:
    await busy_company(town, company)
    browser = await visitor(town, company)
    page = (await browser.get("/console")).text
    due, late, in_progress = links_of(page, "All")
    for path, count in ((due, 6), (late, 3), (in_progress, 3)):
        assert (await browser.get(path)).status_code == 200, path
        leads = await company.send("GET", path.replace("/console", "/api/v1"))
        assert leads.json()["metadata"]["total_count"] == count, path
    done, failed = links_of(page, "Calls")
    assert done == failed
    assert (await browser.get(done)).status_code == 200, done
    report = await company.send("GET", done.replace("/console/reports?of=calls&", "/api/v1/calls/reports?"))
    assert report.json()["totals"]["calls_count"] == len(ENDED), "done, failed, and what is neither"
    for path in links_of(page, "Webhooks"):
        assert (await browser.get(path)).status_code == 200, path


async def test_leads_and_calls_have_a_mean_of_the_minute(town: Any, company: Any) -> None:
    rows = await busy_company(town, company)
    for _ in range(21):
        await rows.add(created_at=rows.now - 10 * MINUTE)
    found = table_of((await (await visitor(town, company)).get("/console")).text)
    lately, hour = (float(text) for text in found["Leads submitted"])
    assert 9 / 6 <= lately <= 9 / 5, "those of the five minutes since a whole one"
    assert 0.4 <= hour <= 0.5, "30 in an hour"
    assert found["Calls placed or received"] == ["0.0", "0.1"]
    lately, hour = (float(text) for text in found["Texts and e-mails sent"])
    assert 0.1 <= lately <= 0.2, "one of the last minutes"
    assert hour == 0.1, "four texts that left, and two e-mails"


async def test_who_sees_no_calls_and_no_webhooks_reads_no_figure_of_them(town: Any, company: Any) -> None:
    await busy_company(town, company)
    page = (await (await visitor(town, company, permissions=READER)).get("/console")).text
    found = table_of(page)
    assert (found["Calls"], found["Webhooks"]) == (["3", "2", "1", NONE, NONE], ["1", "0", "0", NONE, NONE])
    assert "Calls placed or received" not in found
    assert links_of(page, "Calls") == []


async def test_who_sees_no_leads_sees_no_table(town: Any, company: Any) -> None:
    await busy_company(town, company)
    found = table_of(
        (await (await visitor(town, company, permissions={"call": {"actions": ["read"]}})).get("/console")).text
    )
    assert found.keys() == {"Calls placed or received"}


async def test_a_team_reads_the_figures_of_its_leads(town: Any, company: Any) -> None:
    rows = await busy_company(town, company)
    theirs = await company.schedule(name="Theirs", steps=STEPS[1:2])
    await rows.wait_at(theirs, "second", minutes=6)
    team: dict[str, Any] = {"permissions": READER, "lead_filters": {"schedule_ids": [theirs["id"]]}}
    found = table_of((await (await visitor(town, company, **team)).get("/console")).text)
    assert found["All"] == ["1", "1", "0", NONE, NONE]
    assert found["Texts"] == ["1", "1", "0", "0", "0"], "what texts of other leads came to is not counted"


async def test_a_company_without_schedules_has_no_table(town: Any, company: Any) -> None:
    page = (await (await visitor(town, company)).get("/console")).text
    found = table_of(page)
    assert found.keys() == {"Leads submitted", "Calls placed or received", "Texts and e-mails sent"}
    assert all(means == ["0.0", "0.0"] for means in found.values())


async def test_calls_that_a_gateway_dropped_are_neither_done_nor_failed() -> None:
    calls = [{"category": name, "calls_count": 1} for name in ("busy", "congestion", "expired", "rejected_at_gate", None)]
    figures = {"due_count": 0, "late_count": 0, "in_progress_count": 0}
    report = {"channels": [{"channel": "call", **figures}], "totals": figures, "at_least": []}
    found = dict.fromkeys(("accepted", "not_accepted", "contacts"))
    table = make_table({**found, "channels": {"channel_report": report}, "recent": {"reports": calls}}, {})
    assert table is not None
    (row,) = table.rows
    assert (row.done, row.failed) == (Figure("1"), Figure("1", level="bad"))


async def test_of_more_outcomes_than_are_looked_at_the_least_is_said(
    town: Any, company: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.http.reports.outcomes.COUNTED_MAX", 7)
    await busy_company(town, company)
    found = table_of((await (await visitor(town, company)).get("/console")).text)
    assert (found["Texts"][3:], found["E-mails"][3:]) == (["2+", "2+"], ["1", "1"])
    assert found["Texts and e-mails sent"][1] == "0.1+"


async def test_of_a_backlog_the_least_is_said() -> None:
    counted = {"due_count": 10_000, "late_count": 4, "in_progress_count": 0}
    report = {"channels": [{"channel": "call", **counted}], "totals": counted, "at_least": ["due_count"]}
    listed = {"metadata": {"total_count": None}}
    found = {
        "channels": {"channel_report": report}, "recent": None, "accepted": listed, "not_accepted": None, "contacts": None,
    }  # fmt: skip
    table = make_table(found, {})
    assert table is not None
    assert [table.totals.due.text, table.totals.late.text] == ["10,000+", "4"]
