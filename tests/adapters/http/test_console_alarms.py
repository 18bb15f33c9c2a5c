"""Does Today name the cause in its first sentences: buyers full, provider down, a pause, a clock, opt-outs, no projector?"""

import asyncio
import re
from html import unescape
from typing import Any

import pytest

from adapters.http.console.today_page import LAG_MAX, find_alarms
from schemas.instant import HOUR, MINUTE, Instant, to_rfc3339
from schemas.requests import OutcomeRecorded
from tests.adapters.http.conftest import WAIT_SECONDS
from tests.adapters.http.console_browser import visitor
from tests.adapters.http.furnished import OURS, submit

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALARM = re.compile(r'<div class="says (bad|warn)"><p class="any">(.*?)</p></div>', re.DOTALL)
NOW = Instant(1_781_715_600_000)
QUESTIONS = (
    "late", "submitted", "schedules", "buyers", "own_company", "reviews", "recent", "statuses", "lags", "gateways",
)  # fmt: skip


async def alarms(town: Any, company: Any) -> list[str]:
    """Return the sentences of a page that is opened by somebody who may see everything of the company."""
    browser = await visitor(town, company)
    page = await browser.get("/console")
    assert page.status_code == 200, page.text
    assert page.text.index("says ") < page.text.index('class="tiles"'), "before everything else"
    return [unescape(re.sub(r"<[^>]+>", "", sentence)) for _, sentence in ALARM.findall(page.text)]


def said(**answers: Any) -> list[str]:
    found = {**dict.fromkeys(QUESTIONS), **answers}
    return [alarm.sentence for alarm in find_alarms(found, [], NOW)]


def rows(name: str, *found: dict[str, Any]) -> dict[str, Any]:
    return {name: list(found), "metadata": {"root": name, "total_count": len(found)}}


def report(count: str, **counts: int) -> dict[str, Any]:
    return {"reports": [{"category": name, count: value} for name, value in counts.items()]}


async def test_nothing_is_said_of_a_company_where_all_is_well(town: Any, company: Any) -> None:
    await company.record("buyers", {"name": "Bright Roofs", "number": "+12125550160"})
    await submit(company, await company.schedule(), "+12125550177")
    assert await alarms(town, company) == []


async def test_all_buyers_are_full(town: Any, company: Any) -> None:
    for last in (160, 161):
        await company.record("buyers", {"name": f"Roofs {last}", "number": f"+12125550{last}", "attempt_daily_limit": 0})
    assert await alarms(town, company) == ["No buyer can take a call: each is paused or has used up a cap."]


async def test_a_schedule_is_paused(town: Any, company: Any) -> None:
    await company.schedule(name="Winter <b>", paused=True)
    assert await alarms(town, company) == ["Paused: Winter <b>. Leads on it wait until somebody resumes it."]


async def test_the_provider_carries_no_call(town: Any, company: Any) -> None:
    await company.record("numbers", {"number": OURS})
    schedule = await company.schedule()
    for last in range(178, 184):
        lead = await submit(company, schedule, f"+12125550{last}")
        started = await company.send("POST", "/api/v1/schedules/make_call", json={"lead_id": lead["id"], "from": OURS})
        assert started.status_code == 201, started.text
        await fail_call(town, company, lead, started.json()["call"])
    (sentence,) = await alarms(town, company)
    assert sentence.startswith("6 of 6 calls of the last hour reached no telephone: the provider")


async def fail_call(town: Any, company: Any, lead: dict[str, Any], call: dict[str, Any]) -> None:
    """Let a gateway report that it could not place a call, and wait until that is shown."""
    row = await town.pool.fetchrow("SELECT command_id, contact_key FROM read.calls WHERE id = $1", call["id"])
    message = OutcomeRecorded(
        company_id=company.id, contact_key=row["contact_key"], lead_id=lead["id"], command_id=row["command_id"], kind="call",
        outcome="not_placed", occurred_at=town.context.clock.now(), call_id=call["id"],
    )  # fmt: skip
    await town.requests.submit(
        "contacts.requests", message.contact_key, message, request_id=f"alarm-{call['id']}", company_id=company.id
    )
    async with asyncio.timeout(WAIT_SECONDS):
        while (await company.send("GET", f"/api/v1/calls/{call['id']}")).json()["call"]["outcome"] is None:
            await asyncio.sleep(0.02)


async def test_many_people_opt_out(town: Any, company: Any) -> None:
    schedule = await company.schedule()
    for last in range(100, 112):
        number = f"+12125550{last}"
        lead = await submit(company, schedule, number)
        answer = await company.send("PATCH", f"/api/v1/leads/{lead['id']}", json={"opt_out": True})
        assert answer.status_code == 200, answer.text
    (sentence,) = await alarms(town, company)
    assert sentence.startswith("12 of 12 leads of the last 24 hours have opted out. Pause what contacts them")


async def test_a_clock_has_jumped() -> None:
    ahead = rows("leads", {"id": 1, "created_at": to_rfc3339(NOW + 2 * HOUR)})
    (sentence,) = said(submitted=ahead)
    assert sentence.startswith("The newest lead is dated 2 h in the future: the clock of a machine has jumped.")
    assert said(submitted=rows("leads", {"id": 1, "created_at": to_rfc3339(NOW - MINUTE)})) == []
    assert said(submitted=rows("leads")) == []
    assert said(submitted=rows("leads", {"id": 1})) == [], "a team may hide the instant"


async def test_no_projector_runs() -> None:
    stopped = {"role": "projector", "topic": "contacts.decisions", "members": 0, "lag": 7}
    (sentence,) = said(lags={"lags": [stopped], "not_known_here": {}})
    records = "7 records of contacts.decisions wait"
    assert sentence == f"No projector runs: what these pages show is old, {records}. Start `leadclock projector`."
    assert said(lags={"lags": [{**stopped, "lag": 0}], "not_known_here": {}}) == []
    assert said(lags={"lags": [{**stopped, "members": 1}], "not_known_here": {}}) == []
    assert said(lags={"lags": [stopped], "not_known_here": {"owner": "no groups"}}) == [], "without groups nobody knows"
    (sentence,) = said(lags={"lags": [{**stopped, "lag": LAG_MAX + 1}], "not_known_here": {"owner": "no groups"}})
    assert sentence == "The projector role is 1,001 records behind on contacts.decisions."
    (sentence,) = said(lags={"lags": [{**stopped, "role": "intake.bulk"}], "not_known_here": {}})
    assert sentence == f"No intake runs: {records}. Start `leadclock intake`."
    assert said(lags={"lags": [{**stopped, "role": "gateway.call"}], "not_known_here": {}}) == []


async def test_a_gateway_has_stopped() -> None:
    gone = {"channel": "call", "provider": "sandbox", "is_live": False}
    (sentence,) = said(gateways={"gateways": [gone]})
    assert sentence == "No gateway for the channel call runs any more: nothing is sent there. Start `leadclock gateway`."
    assert said(gateways={"gateways": [gone, {**gone, "is_live": True}]}) == []


async def test_single_failures_and_opt_outs_are_no_alarm() -> None:
    assert said(recent=report("calls_count", not_placed=4)) == []
    assert said(recent=report("calls_count", not_placed=5, no_answer=6)) == []
    assert len(said(recent=report("calls_count", not_placed=3, congestion=3, no_answer=6))) == 1
    assert said(statuses=report("leads_count", opt_out=9)) == []
    assert said(statuses=report("leads_count", opt_out=10, scheduled=91)) == []
    assert len(said(statuses=report("leads_count", opt_out=10, scheduled=90))) == 1
